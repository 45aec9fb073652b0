//! Runs each model of `tests/loom.rs` with the lock taken out that it is about: it must fail. At the end all models are
//! run with all locks, and must pass. It works on a copy of the engine, under `target/unlocked`.
#![allow(clippy::unwrap_used)]

mod patches;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use patches::{PATCHES, engine, patched};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            write(&target, &fs::read(&path).unwrap());
        }
    }
}

/// Writes a file if it differs, so that cargo builds only what does.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).ok().as_deref() != Some(bytes) {
        fs::write(path, bytes).unwrap();
    }
}

/// A workspace with nothing but the engine and its models.
fn copy_of_the_engine() -> PathBuf {
    let root = engine().parent().unwrap();
    let copied = root.join("target/unlocked/tree");
    copy(&engine().join("src"), &copied.join("emulator/src"));
    copy(&engine().join("benches"), &copied.join("emulator/benches"));
    copy(
        &engine().join("tests/unlocked"),
        &copied.join("emulator/tests/unlocked"),
    );
    fs::create_dir_all(copied.join("emulator/tests")).unwrap();
    for file in ["emulator/Cargo.toml", "emulator/tests/loom.rs", "Cargo.lock"] {
        write(&copied.join(file), &fs::read(root.join(file)).unwrap());
    }
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let alone = workspace.lines().map(|line| match line.split_once(" = ") {
        Some(("members" | "default-members", _)) => "members = [\"emulator\"]",
        _ => line,
    });
    let mut lines: Vec<&str> = alone.collect();
    let first = lines.iter().position(|line| line.starts_with("members")).unwrap();
    let mut at = 0;
    lines.retain(|line| {
        at += 1;
        !line.starts_with("members") || at == first + 1
    });
    write(&copied.join("Cargo.toml"), lines.join("\n").as_bytes());
    copied
}

/// Builds the models of a copy, and says where they are. A tree that does not build is an error here.
fn build(copied: &Path) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "test",
            "--offline",
            "--no-run",
            "-p",
            "dynatwin-engine",
            "--test",
            "loom",
        ])
        .arg("--target-dir")
        .arg(copied.parent().unwrap().join("build"))
        .env("RUSTFLAGS", "--cfg loom")
        // loom runs each thread on a small stack, which the frames of a build without optimization overflow.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .current_dir(copied)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let place = text.lines().find(|line| line.contains("Executable tests/loom.rs"));
    let place = place.and_then(|line| line.split_once('(')?.1.strip_suffix(')'));
    PathBuf::from(place.unwrap_or_else(|| panic!("nothing was built:\n{text}")))
}

/// How long a model that has failed has to end. One that has blocked itself may hold what its end needs.
const END: Duration = Duration::from_secs(5);

/// The sentence with which a model has failed; `None` if it passed.
fn failure(models: &Path, model: &str) -> Option<String> {
    let said = models.with_file_name("said.txt");
    let file = File::create(&said).unwrap();
    let mut child = Command::new(models)
        .args(["--nocapture", "--exact", model])
        .env("RUST_BACKTRACE", "0")
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .unwrap();
    let mut failed = None;
    let text = loop {
        let ended = child.try_wait().unwrap();
        let text = String::from_utf8_lossy(&fs::read(&said).unwrap()).into_owned();
        if let Some(status) = ended {
            if status.success() {
                assert!(text.contains("running 1 test"), "{model} was not run:\n{text}");
                return None;
            }
            break text;
        }
        let since = text
            .contains("panicked at")
            .then(|| *failed.get_or_insert_with(Instant::now));
        if since.is_some_and(|since| since.elapsed() > END) {
            child.kill().unwrap();
            child.wait().unwrap();
            break text;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
    // A stack that overflows, say, shows nothing about a lock.
    let sentence = lines.nth(1);
    Some(
        sentence
            .unwrap_or_else(|| panic!("{model} fails for another reason:\n{text}"))
            .to_owned(),
    )
}

fn main() -> ExitCode {
    // All models, or those that are named.
    let named: Vec<String> = std::env::args().skip(1).collect();
    let is_meant = |model: &&&str| named.is_empty() || named.iter().any(|name| name == **model);
    let mut survivors = 0;
    for patch in PATCHES {
        let meant: Vec<&&str> = patch.models.iter().filter(is_meant).collect();
        if meant.is_empty() {
            continue;
        }
        let copied = copy_of_the_engine();
        write(&copied.join("emulator").join(patch.file), patched(patch).as_bytes());
        let models = build(&copied);
        for model in meant {
            let failed = failure(&models, model);
            survivors += usize::from(failed.is_none());
            let verdict = failed.map_or("PASSES".to_owned(), |sentence| format!("fails: {sentence}"));
            println!("{model}\n  without {}\n  {verdict}", patch.what);
        }
    }
    let copied = copy_of_the_engine();
    let mut models: Vec<&str> = PATCHES
        .iter()
        .flat_map(|patch| patch.models)
        .filter(is_meant)
        .copied()
        .collect();
    models.sort_unstable();
    models.dedup();
    let built = build(&copied);
    for model in models {
        assert_eq!(failure(&built, model), None, "{model}, with all locks");
    }
    println!("with all locks every model passes; without its lock {survivors} do");
    ExitCode::from(u8::from(survivors > 0))
}
