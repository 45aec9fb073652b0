//! The Python package: its wheel, and its tests against the installed wheel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::patch;
use crate::setup;
use crate::shell::{self, Outcome, command, root, run};
use crate::test::{Counts, Extent, counted, of_pytest};

const FOLDER: &str = "harness/python";

/// A project that uses the installed wheel.
const SAMPLE: &str = "harness/python/sample";

/// The minor versions of Python 3 that are tested if they are on this machine.
const MINORS: std::ops::Range<u32> = 10..20;

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
    pip(&python, &["--force-reinstall", "--no-deps", &wheel.to_string_lossy()])?;
    Ok(python)
}

/// Runs the package's tests and the examples of its documentation. With every test also a project that uses the wheel in
/// a clean folder, and the tests with each other version of Python that is on this machine.
pub fn test(extent: Extent) -> Outcome<Counts> {
    let python = installed()?;
    let mut counts = package_tests(&python)?;
    if extent == Extent::All {
        let tested = version(&python).ok_or("the virtual environment has no Python")?;
        for (version, python) in interpreters() {
            println!("Python {version}");
            let python = sample_environment(&version, &python)?;
            counts.add(sample_tests(&version, &python)?);
            if version != tested {
                pip(&python, &["--requirement", &in_folder("requirements.txt")])?;
                counts.add(package_tests(&python)?);
            }
        }
    }
    Ok(counts)
}

fn package_tests(python: &Path) -> Outcome<Counts> {
    let mut tests = Command::new(python);
    tests.current_dir(root().join(FOLDER));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    counted(
        tests.args(["--doctest-modules", "--pyargs", "dynatwin", "tests"]),
        of_pytest,
    )
}

/// Installs the wheel and what the sample project needs in a new virtual environment, and returns its Python.
fn sample_environment(version: &str, python: &Path) -> Outcome<PathBuf> {
    let environment = sample_folder(version).join(".venv");
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
    let python = environment.join("bin/python");
    let wheel = built_wheel("dev")?;
    let requirements = root().join(SAMPLE).join("requirements.txt");
    let words = [
        &wheel.to_string_lossy(),
        "--requirement",
        &requirements.to_string_lossy(),
    ];
    pip(&python, &words)?;
    Ok(python)
}

/// Runs the tests of a copy of the sample project, without any setting of this machine.
fn sample_tests(version: &str, python: &Path) -> Outcome<Counts> {
    let project = sample_folder(version).join("project");
    if project.exists() {
        std::fs::remove_dir_all(&project).map_err(|error| format!("{}: {error}", project.display()))?;
    }
    patch::copy(&root().join(SAMPLE), &project, &patch::read)?;
    let mut tests = Command::new(python);
    tests.current_dir(&project).env_clear().env("HOME", &project);
    counted(tests.args(["-m", "pytest", "-q"]), of_pytest)
}

fn sample_folder(version: &str) -> PathBuf {
    root().join("target/sample-python").join(version)
}

/// Returns the supported Pythons on `PATH` and of pyenv, by their versions.
fn interpreters() -> BTreeMap<String, PathBuf> {
    let mut candidates: Vec<PathBuf> = shell::find("python3").into_iter().collect();
    let pyenv = std::env::var_os("PYENV_ROOT").map(|folder| PathBuf::from(folder).join("versions"));
    let installed = pyenv.and_then(|folder| folder.read_dir().ok());
    let installed: Vec<PathBuf> = installed
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    for name in MINORS.map(|minor| format!("python3.{minor}")) {
        candidates.extend(shell::find(&name));
        candidates.extend(installed.iter().map(|folder| folder.join("bin").join(&name)));
    }
    let found = candidates.into_iter().filter_map(|python| {
        let version = version(&python)?;
        let minor: u32 = version.strip_prefix("3.")?.parse().ok()?;
        MINORS.contains(&minor).then_some((version, python))
    });
    found.collect()
}

/// Returns the version of a Python, such as `3.11`, or nothing if it does not run.
fn version(python: &Path) -> Option<String> {
    let mut print = Command::new(python);
    print.args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let output = print.stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().to_owned())
}

fn pip(python: &Path, words: &[&str]) -> Outcome<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(words))
}

fn in_folder(file: &str) -> String {
    root().join(FOLDER).join(file).to_string_lossy().into_owned()
}

/// Builds a wheel with a Cargo profile.
pub fn build(profile: &str) -> Outcome<PathBuf> {
    let python = setup::python(FOLDER)?;
    let wheels = wheels(profile);
    // Only the wheel of this build is kept.
    if wheels.is_dir() {
        std::fs::remove_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    }
    let mut maturin = command(python.with_file_name("maturin"), FOLDER);
    maturin
        .args(["build", "--quiet", "--locked", "--profile", profile, "--interpreter"])
        .arg(&python);
    run(maturin.arg("--out").arg(&wheels))?;
    built_wheel(profile)
}

fn wheels(profile: &str) -> PathBuf {
    root().join("target/wheels").join(profile)
}

fn built_wheel(profile: &str) -> Outcome<PathBuf> {
    let wheels = wheels(profile);
    let mut built = std::fs::read_dir(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let wheel = built.next().and_then(Result::ok).ok_or("maturin built no wheel")?;
    Ok(wheel.path())
}
