//! The Python package: its wheel, and its tests against the installed wheel.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::setup;
use crate::shell::{Outcome, root, run};
use crate::test::{Counts, counted, of_pytest};

const FOLDER: &str = "harness/python";

/// Builds the wheel for release, and prints its path and size.
pub fn wheel() -> Outcome<()> {
    let wheel = build("release")?;
    let size = wheel.metadata().map_err(|error| error.to_string())?.len();
    println!("{}: {:.1} MB", wheel.display(), size as f64 / 1e6);
    Ok(())
}

/// Installs the wheel of a debug build in the package's virtual environment, and returns its Python.
pub fn installed() -> Outcome<PathBuf> {
    installed_from("dev")
}

/// Compares tests with the wheel of a release build with tests that use moto, and DynamoDB Local at this endpoint.
pub fn compare(dynamodb_local: &str) -> Outcome<()> {
    let mut compare = Command::new(installed_from("release")?);
    compare.current_dir(root().join(FOLDER)).arg("bench/compare.py");
    run(compare.env("DYNAMODB_LOCAL", dynamodb_local))
}

fn installed_from(profile: &str) -> Outcome<PathBuf> {
    let python = setup::python(FOLDER)?;
    let wheel = build(profile)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
    Ok(python)
}

/// Runs the package's tests and the examples of its documentation.
pub fn test() -> Outcome<Counts> {
    let mut tests = Command::new(installed()?);
    tests.current_dir(root().join(FOLDER));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    counted(
        tests.args(["--doctest-modules", "--pyargs", "dynatwin", "tests"]),
        of_pytest,
    )
}

/// Builds a wheel with a Cargo profile.
pub fn build(profile: &str) -> Outcome<PathBuf> {
    let python = setup::python(FOLDER)?;
    let wheels = root().join("target/wheels").join(profile);
    // Only the wheel of this build is kept.
    if wheels.is_dir() {
        std::fs::remove_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    }
    let mut maturin = Command::new(python.with_file_name("maturin"));
    maturin.current_dir(root().join(FOLDER)).stdin(Stdio::null());
    maturin
        .args(["build", "--quiet", "--locked", "--profile", profile, "--interpreter"])
        .arg(&python);
    run(maturin.arg("--out").arg(&wheels))?;
    let mut built = std::fs::read_dir(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let wheel = built.next().and_then(Result::ok).ok_or("maturin built no wheel")?;
    Ok(wheel.path())
}
