//! The packed crates: a project that uses them from a clean directory, and the installed command.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::dist;
use crate::shell::{self, Outcome, output, run};
use crate::test::{Counts, counted, of_cargo};

const PROJECT: &str = "harness/dynatwin/sample";

/// Runs the project's tests and the README's example with the packed crates, and installs the command from its crate.
pub fn test() -> Outcome<Counts> {
    let folder = shell::root().join("target/sample-rust");
    let text = |error: std::io::Error| error.to_string();
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(text)?;
    }
    copy(&shell::root().join(PROJECT), &folder).map_err(text)?;
    // The versions of the dependencies are those that the workspace is tested with.
    fs::copy(shell::root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(text)?;
    dist::unpack_crates(&folder)?;
    let readme = format!("crates/dynatwin-{}/README.md", env!("CARGO_PKG_VERSION"));
    let readme = fs::read_to_string(folder.join(readme)).map_err(text)?;
    let example = readme
        .split_once("```rust\n")
        .and_then(|(_, rest)| rest.split_once("```\n"));
    let (example, _) = example.ok_or("the README of the crate has no example")?;
    fs::write(folder.join("tests/readme.rs"), example).map_err(text)?;

    let mut counts = counted(cargo(&folder).arg("test"), of_cargo)?;
    let server = format!("crates/dynatwin-server-{}", env!("CARGO_PKG_VERSION"));
    run(cargo(&folder).args(["install", "--debug", "--root", ".", "--path", &server]))?;
    let version = output(Command::new(folder.join("bin/dynatwin")).arg("--version"))?;
    counts.add(if version.contains(env!("CARGO_PKG_VERSION")) {
        Counts { passed: 1, failed: 0 }
    } else {
        println!("the installed command has the version {version:?}");
        Counts { passed: 0, failed: 1 }
    });
    Ok(counts)
}

/// Cargo in the project, with a target directory outside of it that the next run reuses.
fn cargo(folder: &Path) -> Command {
    let mut cargo = shell::cargo();
    cargo.current_dir(folder).stdin(Stdio::null());
    cargo
        .env("CARGO_TARGET_DIR", shell::root().join("target/sample-rust-build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "false");
    cargo
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &copied)?;
        } else {
            fs::copy(&path, &copied)?;
        }
    }
    Ok(())
}
