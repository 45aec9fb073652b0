//! Each model of `tests/loom.rs` is run once with the lock taken out that it is about, and must fail.
//!
//! `DYNATWIN_UNLOCKED=1 cargo test -p dynatwin-engine --test unlocked -- --nocapture` does it, in a copy of the engine
//! under `target/unlocked`. Without the variable only the patches are checked: that they still fit the source.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod patches;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use patches::{PATCHES, Patch};

fn engine() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn patched(patch: &Patch) -> String {
    let text = fs::read_to_string(engine().join(patch.file)).unwrap();
    let count = text.matches(patch.locked).count();
    assert_eq!(
        count, 1,
        "{}: what is to be replaced is there {count} times:\n{}",
        patch.file, patch.locked
    );
    text.replace(patch.locked, patch.unlocked)
}

#[test]
fn every_patch_fits_the_source() {
    for patch in PATCHES {
        assert_ne!(patch.locked, patch.unlocked);
        patched(patch);
    }
}

#[test]
fn every_model_has_a_patch() {
    let models = fs::read_to_string(engine().join("tests/loom.rs")).unwrap();
    let mut names: Vec<&str> = models
        .split("\nfn ")
        .filter(|function| function.contains("explore(|| {"))
        .filter_map(|function| function.split('(').next())
        .filter(|name| *name != "explore")
        .collect();
    names.sort_unstable();
    let mut patched: Vec<&str> = PATCHES.iter().flat_map(|patch| patch.models).copied().collect();
    patched.sort_unstable();
    patched.dedup();
    assert_eq!(names, patched);
}

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

fn run_model(copied: &Path, model: &str) -> Output {
    Command::new(env!("CARGO"))
        .args(["test", "--offline", "-p", "dynatwin-engine", "--test", "loom"])
        .arg("--target-dir")
        .arg(copied.parent().unwrap().join("build"))
        .args(["--", "--exact", model])
        .env("RUSTFLAGS", "--cfg loom")
        .env("RUST_BACKTRACE", "0")
        .current_dir(copied)
        .output()
        .unwrap()
}

/// The sentence with which a model has failed; `None` if it passed. A tree that does not build is an error here.
fn failure(output: &Output, model: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("running 1 test"), "{model} was not run:\n{text}");
    if output.status.success() {
        return None;
    }
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
    Some(lines.nth(1).unwrap_or("aborted").to_owned())
}

#[test]
fn without_its_lock_a_model_fails() {
    if std::env::var_os("DYNATWIN_UNLOCKED").is_none() {
        println!("set DYNATWIN_UNLOCKED=1 to run the models without their locks");
        return;
    }
    let mut survivors = Vec::new();
    for patch in PATCHES {
        for model in patch.models {
            let copied = copy_of_the_engine();
            write(&copied.join("emulator").join(patch.file), patched(patch).as_bytes());
            let failed = failure(&run_model(&copied, model), model);
            let verdict = failed.as_deref().unwrap_or("PASSED");
            println!("{model}\n  without: {}\n  {verdict}", patch.what);
            if failed.is_none() {
                survivors.push(format!("{model} passes without: {}", patch.what));
            }
        }
    }
    let copied = copy_of_the_engine();
    for model in PATCHES.iter().flat_map(|patch| patch.models) {
        assert_eq!(
            failure(&run_model(&copied, model), model),
            None,
            "{model}, with all locks"
        );
    }
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}
