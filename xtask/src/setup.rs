//! Installing what a task needs and the machine has not: Debian's packages, npm's, and nothing a second time.

use std::path::Path;
use std::time::SystemTime;

use crate::shell::{self, Outcome, command, find, run};

/// Sees to it that `program` is there, else installs `package` with apt-get, with sudo if one is not root.
pub fn program(program: &str, package: &str) -> Outcome<()> {
    if find(program).is_some() {
        return Ok(());
    }
    println!("{program} is not here: installing {package}");
    packages(&[package])?;
    match find(program) {
        Some(_) => Ok(()),
        None => Err(format!("{package} was installed, but there is still no {program}")),
    }
}

/// Installs Debian packages.
pub fn packages(names: &[&str]) -> Outcome<()> {
    let apt = |words: &[&str]| {
        let root = shell::output(command("id", "").arg("-u")).is_ok_and(|id| id.trim() == "0");
        let mut apt = if root {
            command("apt-get", "")
        } else {
            let mut sudo = command("sudo", "");
            sudo.arg("--non-interactive").arg("apt-get");
            sudo
        };
        run(apt.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    let install = || apt(&[&["install", "--yes", "--no-install-recommends", "-qq"], names].concat());
    // The lists may be missing or old, so a first failure proves nothing.
    install().or_else(|_| {
        apt(&["update", "-qq"])?;
        install()
    })
}

/// Sees to it that the npm packages of `folder`'s lock file are installed as it says.
pub fn npm(folder: &str) -> Outcome<()> {
    program("npm", "npm")?;
    let lock = shell::root().join(folder).join("package-lock.json");
    let installed = shell::root().join(folder).join("node_modules/.package-lock.json");
    if changed(&installed).is_some_and(|installed| changed(&lock).is_some_and(|lock| lock <= installed)) {
        return Ok(());
    }
    run(command("npm", folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
