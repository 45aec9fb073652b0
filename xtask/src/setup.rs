//! Installs missing dependencies of a task: packages of Debian, npm and PyPI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::shell::{self, Outcome, as_root, command, find, run};

/// Installs `package` with apt-get if `program` is missing, with sudo unless the user is root.
pub fn program(program: &str, package: &str) -> Outcome<()> {
    if find(program).is_some() {
        return Ok(());
    }
    println!("{program} is missing: installing {package}");
    packages(&[package])?;
    match find(program) {
        Some(_) => Ok(()),
        None => Err(format!("{package} was installed, but there is still no {program}")),
    }
}

pub fn packages(names: &[&str]) -> Outcome<()> {
    let apt = |words: &[&str]| {
        let mut apt = as_root("env");
        run(apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(words))
    };
    let install = || apt(&[&["install", "--yes", "--no-install-recommends", "-qq"], names].concat());
    // The package lists may be missing or outdated: update them after a first failure.
    install().or_else(|_| {
        apt(&["update", "-qq"])?;
        install()
    })
}

/// Installs the npm packages of `folder`'s lock file, if they are missing or outdated.
pub fn npm(folder: &str) -> Outcome<()> {
    program("npm", "npm")?;
    let lock = shell::root().join(folder).join("package-lock.json");
    let installed = shell::root().join(folder).join("node_modules/.package-lock.json");
    if changed(&installed).is_some_and(|installed| changed(&lock).is_some_and(|lock| lock <= installed)) {
        return Ok(());
    }
    run(command("npm", folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
}

/// Creates a virtual environment in `folder` with the packages of its `requirements.txt`, and returns its Python.
pub fn python(folder: &str) -> Outcome<PathBuf> {
    program("python3", "python3")?;
    let home = shell::root().join(folder);
    let (wanted, installed) = (home.join("requirements.txt"), home.join(".venv/requirements.txt"));
    let python = home.join(".venv/bin/python");
    let read = |path: &Path| std::fs::read(path).ok();
    if python.is_file() && read(&installed).is_some() && read(&installed) == read(&wanted) {
        return Ok(python);
    }
    let make = || run(command("python3", folder).args(["-m", "venv", "--clear", ".venv"]));
    // Debian has that module in a separate package.
    make().or_else(|_| packages(&["python3-venv"]).and_then(|()| make()))?;
    let mut pip = Command::new(&python);
    pip.current_dir(&home).stdin(Stdio::null());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(["--requirement", "requirements.txt"]))?;
    std::fs::copy(&wanted, &installed).map_err(|error| format!("{}: {error}", installed.display()))?;
    Ok(python)
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}
