//! `cargo xtask unlocked`: runs each model of `emulator/tests/loom.rs` without the lock that it tests: it must fail. At
//! the end all models run with all locks, and must pass. It works on a copy of the engine, under `target/unlocked`.

mod patches;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::patch::{copy, read, write};
use crate::shell::{Outcome, cargo, root};
use patches::{PATCHES, patched};

/// The time that a failed model has to end. A deadlocked one may hold a lock that it needs to end.
const END: Duration = Duration::from_secs(5);

/// Runs all models, or those that are named. It is an error if one passes without its lock, or fails with it.
pub fn all(names: &[&str]) -> Outcome<()> {
    let is_meant = |model: &&&str| names.is_empty() || names.contains(*model);
    let mut survivors = 0;
    for patch in PATCHES {
        let meant: Vec<&&str> = patch.models.iter().filter(is_meant).collect();
        if meant.is_empty() {
            continue;
        }
        let copied = copy_of_the_engine()?;
        write(&copied.join("emulator").join(patch.file), patched(patch)?.as_bytes())?;
        let models = build(&copied)?;
        for model in meant {
            let failed = failure(&models, model)?;
            survivors += usize::from(failed.is_none());
            let verdict = failed.map_or("PASSES".to_owned(), |sentence| format!("fails: {sentence}"));
            println!("{model}\n  without {}\n  {verdict}", patch.what);
        }
    }
    let built = build(&copy_of_the_engine()?)?;
    let mut models: Vec<&&str> = PATCHES.iter().flat_map(|patch| patch.models).filter(is_meant).collect();
    models.sort_unstable();
    models.dedup();
    for model in models {
        if let Some(sentence) = failure(&built, model)? {
            return Err(format!("{model} fails with all locks: {sentence}"));
        }
    }
    match survivors {
        0 => Ok(()),
        survivors => Err(format!("{survivors} models pass without their lock")),
    }
}

/// A workspace with nothing but the engine and its models.
fn copy_of_the_engine() -> Outcome<PathBuf> {
    let copied = root().join("target/unlocked/tree");
    // Cargo reads the manifest of `conformance/case`, which other tests of the engine depend on.
    for folder in ["emulator/src", "emulator/benches", "conformance/case"] {
        copy(&root().join(folder), &copied.join(folder), &read)?;
    }
    fs::create_dir_all(copied.join("emulator/tests")).map_err(|error| error.to_string())?;
    for file in ["emulator/Cargo.toml", "emulator/tests/loom.rs", "Cargo.lock"] {
        write(&copied.join(file), &read(&root().join(file))?)?;
    }
    let workspace = String::from_utf8_lossy(&read(&root().join("Cargo.toml"))?).into_owned();
    let line = |line: &str| match line.split_once(" = ") {
        Some(("members", _)) => "members = [\"emulator\"]".to_owned(),
        Some(("default-members" | "exclude", _)) => String::new(),
        _ => line.to_owned(),
    };
    let alone: Vec<String> = workspace.lines().map(line).collect();
    write(&copied.join("Cargo.toml"), alone.join("\n").as_bytes())?;
    Ok(copied)
}

/// Builds the models of a copy, and returns their executable. A tree that does not build is an error.
fn build(copied: &Path) -> Outcome<PathBuf> {
    let mut build = cargo();
    build.args([
        "test",
        "--offline",
        "--no-run",
        "-p",
        "dynatwin-engine",
        "--test",
        "loom",
        "--target-dir",
    ]);
    let output = build
        .arg(root().join("target/unlocked/build"))
        .env("RUSTFLAGS", "--cfg loom")
        // loom runs each thread on a small stack, which the frames of a build without optimization overflow.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .current_dir(copied)
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let place = text.lines().find(|line| line.contains("Executable tests/loom.rs"));
    let place = place.and_then(|line| line.split_once('(')?.1.strip_suffix(')'));
    place
        .map(PathBuf::from)
        .ok_or_else(|| format!("nothing was built:\n{text}"))
}

/// The message with which a model has failed; `None` if it passed.
fn failure(models: &Path, model: &str) -> Outcome<Option<String>> {
    let failed = |error: std::io::Error| format!("{model}: {error}");
    let log = models.with_file_name("output.txt");
    let file = File::create(&log).map_err(failed)?;
    let mut child = Command::new(models)
        .args(["--nocapture", "--exact", model])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .spawn()
        .map_err(failed)?;
    let mut since = None;
    let text = loop {
        let ended = child.try_wait().map_err(failed)?;
        let text = String::from_utf8_lossy(&fs::read(&log).map_err(failed)?).into_owned();
        match ended {
            Some(status) if status.success() && text.contains("running 1 test") => return Ok(None),
            Some(status) if status.success() => return Err(format!("{model} was not run:\n{text}")),
            Some(_) => break text,
            None => {}
        }
        if text.contains("panicked at") && since.get_or_insert_with(Instant::now).elapsed() > END {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            break text;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
    // A stack overflow, for example, shows nothing about a lock.
    match lines.nth(1) {
        Some(sentence) => Ok(Some(sentence.to_owned())),
        None => Err(format!("{model} fails for another reason:\n{text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_fits_the_source() {
        for patch in PATCHES {
            assert_ne!(patch.locked, patch.unlocked);
            patched(patch).unwrap();
        }
    }

    #[test]
    fn every_model_has_a_patch() {
        let models = fs::read_to_string(root().join("emulator/tests/loom.rs")).unwrap();
        let mut names: Vec<&str> = models
            .split("\nfn ")
            .filter(|function| function.contains(" explore("))
            .filter_map(|function| function.split('(').next())
            .filter(|name| *name != "explore")
            .collect();
        names.sort_unstable();
        let mut patched: Vec<&str> = PATCHES.iter().flat_map(|patch| patch.models).copied().collect();
        patched.sort_unstable();
        patched.dedup();
        assert_eq!(names, patched);
    }
}
