//! `cargo xtask test`: every test there is, one runner after the other, and one sum.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::shell::{self, Outcome, cargo, command, run, shown};
use crate::{dist, examples, fuzz, plant, python, setup, snippets, wasm};

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}

type Step = (&'static str, fn() -> Outcome<Counts>);

/// In the order in which they need each other: the binaries come from the first, the packages from `wasm` and `python`.
const STEPS: [Step; 13] = [
    ("build", build),
    ("cargo test", workspace),
    ("loom", loom),
    ("wasm", || wasm::build().map(|()| Counts::default())),
    ("node", node),
    ("samples", samples),
    ("python", python::test),
    ("doors", doors),
    ("browser", browser),
    ("conformance", conformance),
    ("examples", examples::run_all),
    ("snippets", snippets::run_all),
    ("fuzz", fuzzing),
];

/// Steps that take too long for each change, and run each night.
const NIGHTLY: [Step; 5] = [
    ("lessons", lessons),
    ("unlocked", unlocked),
    ("plant", planted),
    ("image", dist::test_image),
    ("kills", kills),
];

/// Runs the steps of these names, or with none all steps but the nightly ones, or with `--all` every step. A step that
/// fails stops no other; returns whether all passed.
pub fn steps(names: &[&str]) -> Outcome<bool> {
    let all = names == ["--all"];
    let names = if all { &[] } else { names };
    let known = || STEPS.iter().chain(&NIGHTLY);
    if let Some(unknown) = names.iter().find(|name| known().all(|(step, _)| step != *name)) {
        let known: Vec<&str> = known().map(|(step, _)| *step).collect();
        return Err(format!("there is no step {unknown:?} among {}", known.join(", ")));
    }
    let nightly = NIGHTLY.iter().filter(|(step, _)| all || names.contains(step));
    let mut sum = Counts::default();
    let mut lines = Vec::new();
    for (name, step) in STEPS
        .iter()
        .filter(|(step, _)| names.is_empty() || names.contains(step))
        .chain(nightly)
    {
        println!("\n── {name}");
        let start = Instant::now();
        let (counts, said) = match step() {
            Ok(counts) => (counts, counts.to_string()),
            Err(sentence) => (Counts { passed: 0, failed: 1 }, format!("could not run: {sentence}")),
        };
        sum.add(counts);
        lines.push(format!("{name:12} {:6.1} s  {said}", start.elapsed().as_secs_f64()));
        println!("── {}", lines.last().map_or("", String::as_str));
    }
    println!("\n{}", lines.join("\n"));
    println!("{sum}");
    Ok(sum.failed == 0)
}

/// One build of everything, so that no step after it has another selection of packages and builds the SDK again.
fn build() -> Outcome<Counts> {
    run(cargo().args(["build", "--workspace", "--bins", "--tests", "--examples"]))?;
    Ok(Counts::default())
}

fn workspace() -> Outcome<Counts> {
    counted(cargo().args(["test", "--workspace", "--no-fail-fast"]), of_cargo)
}

fn loom() -> Outcome<Counts> {
    if !shell::root().join("emulator/tests/loom.rs").is_file() {
        println!("there is no emulator/tests/loom.rs");
        return Ok(Counts::default());
    }
    let mut cargo = cargo();
    cargo
        .env("RUSTFLAGS", "--cfg loom")
        .args(["test", "--package", "dynatwin-engine", "--release"]);
    cargo.args(["--test", "loom", "--target-dir", "target/loom"]);
    counted(&mut cargo, of_cargo)
}

fn node() -> Outcome<Counts> {
    built_package()?;
    setup::npm("wasm/npm")?;
    counted(command("npm", "wasm/npm").args(["test", "--silent"]), of_node)
}

/// The packed npm package in small projects of its users' test runners, bundlers and runtimes, in a clean directory.
fn samples() -> Outcome<Counts> {
    built_package()?;
    setup::program("npm", "npm")?;
    setup::program("chromium", "chromium")?;
    let mut prepare = command("node", "wasm/npm/samples");
    run(prepare
        .args(["prepare.js", "../../../target/samples"])
        .arg(binary("dynatwin")?))?;
    let mut tests = command("node", "target/samples");
    counted(tests.args(["--test", "--test-reporter=tap", "run.test.js"]), of_node)
}

/// Compares the answers of the server and of the packages for JavaScript and Python with the engine's.
fn doors() -> Outcome<Counts> {
    built_package()?;
    let mut cargo = cargo();
    cargo.args([
        "test",
        "--package",
        "dynatwin-conformance",
        "--features",
        "doors",
        "--test",
        "doors",
    ]);
    counted(&mut cargo, of_cargo)
}

/// The playground and the console in Chromium.
fn browser() -> Outcome<Counts> {
    setup::program("chromium", "chromium")?;
    page_tests("test")
}

/// Firefox, and the playground's lessons in both browsers, in the tab and against the server.
fn lessons() -> Outcome<Counts> {
    setup::program("chromium", "chromium")?;
    setup::program("firefox-esr", "firefox-esr")?;
    page_tests("test:nightly")
}

fn page_tests(script: &str) -> Outcome<Counts> {
    wasm::page()?;
    // The console is a part of the server only with this feature.
    run(cargo().args(["build", "--package", "dynatwin-server", "--features", "ui"]))?;
    let server = binary("dynatwin")?;
    counted(
        command("npm", "web")
            .args(["run", script, "--silent"])
            .env("DYNATWIN_BIN", server),
        of_node,
    )
}

fn conformance() -> Outcome<Counts> {
    // For DynamoDB Local, which the suite fetches and starts by itself.
    setup::program("java", "default-jre-headless")?;
    setup::program("npm", "npm")?;
    let mut suite = Command::new(binary("dynatwin-conformance")?);
    counted(
        suite
            .current_dir(shell::root())
            .env("DYNATWIN_BIN", binary("dynatwin")?),
        of_ours,
    )
}

/// One test: that a short run over what is known and what is new finds nothing.
fn fuzzing() -> Outcome<Counts> {
    fuzz::run_for(fuzz::SHORT).map(|()| Counts { passed: 1, failed: 0 })
}

/// One test: that each loom model fails without the lock that it is about.
fn unlocked() -> Outcome<Counts> {
    run(cargo().args([
        "run",
        "--quiet",
        "--package",
        "dynatwin-engine",
        "--example",
        "unlocked",
    ]))?;
    Ok(Counts { passed: 1, failed: 0 })
}

/// One test: that every planted bug is found.
fn planted() -> Outcome<Counts> {
    plant::all(&[]).map(|()| Counts { passed: 1, failed: 0 })
}

/// How often the nightly step kills the server and the store under load.
const KILLS: &str = "200";

/// That what was acknowledged survives `kill -9`, many times over.
fn kills() -> Outcome<Counts> {
    let mut cargo = cargo();
    cargo.args(["test", "--package", "dynatwin-server", "--package", "dynatwin-store"]);
    cargo.args(["--test", "kill"]).env("DYNATWIN_KILLS", KILLS);
    counted(&mut cargo, of_cargo)
}

fn built_package() -> Outcome<()> {
    if shell::root().join("wasm/npm/dist/dynatwin.wasm").is_file() {
        Ok(())
    } else {
        Err("the package for JavaScript was not built".into())
    }
}

/// A binary of the `build` step.
pub fn binary(name: &str) -> Outcome<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let path = folder.join("debug").join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} was not built", path.display()))
    }
}

/// Runs a test runner, shows what it prints, and sums what its closing lines count. A runner that counts nothing proves
/// nothing, and one that fails without a failing test has failed by itself.
pub fn counted(command: &mut Command, read: fn(&str) -> Option<Counts>) -> Outcome<Counts> {
    let name = shown(command);
    let mut child = command
        .env("CI", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    let mut sum = Counts::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            sum.add(read(line.trim_end()).unwrap_or_default());
        }
    }
    let status = child.wait().map_err(|error| format!("{name}: {error}"))?;
    if sum == Counts::default() {
        return Err(format!("{name}: no test ran, {status}"));
    }
    if !status.success() && sum.failed == 0 {
        println!("{name}: {status}");
        sum.failed = 1;
    }
    Ok(sum)
}

/// `test result: ok. 12 passed; 0 failed; …`
fn of_cargo(line: &str) -> Option<Counts> {
    let mut words = line.strip_prefix("test result: ")?.split_once(". ")?.1.split("; ");
    Some(Counts {
        passed: words.next()?.strip_suffix(" passed")?.parse().ok()?,
        failed: words.next()?.strip_suffix(" failed")?.parse().ok()?,
    })
}

/// `# pass 12`, `# fail 0` and `# cancelled 0`, as Node's TAP reporter ends.
pub fn of_node(line: &str) -> Option<Counts> {
    let (what, number) = line.strip_prefix("# ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    match what {
        "pass" => Some(Counts {
            passed: number,
            failed: 0,
        }),
        "fail" | "cancelled" => Some(Counts {
            passed: 0,
            failed: number,
        }),
        _ => None,
    }
}

/// `2 failed, 12 passed, 1 error in 3.21s`, as pytest ends, without its frame of `=`.
pub fn of_pytest(line: &str) -> Option<Counts> {
    let (said, took) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    took.split(' ').next()?.strip_suffix('s')?.parse::<f64>().ok()?;
    let mut counts = Counts::default();
    for outcome in said.split(", ") {
        let (number, what) = outcome.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            _ => {}
        }
    }
    Some(counts)
}

/// `12 passed, 0 failed`
fn of_ours(line: &str) -> Option<Counts> {
    let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
    Some(Counts {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: fn(&str) -> Option<Counts>, line: &str, expect: Option<(u64, u64)>) {
        let expect = expect.map(|(passed, failed)| Counts { passed, failed });
        assert_eq!(read(line), expect, "{line}");
    }

    #[test]
    fn closing_lines() {
        check(
            of_cargo,
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            Some((12, 0)),
        );
        check(
            of_cargo,
            "test result: FAILED. 1 passed; 2 failed; 0 ignored",
            Some((1, 2)),
        );
        check(of_cargo, "test clock::tests::dates ... ok", None);
        check(of_node, "# pass 7", Some((7, 0)));
        check(of_node, "# fail 1", Some((0, 1)));
        check(of_node, "# cancelled 2", Some((0, 2)));
        check(of_node, "# tests 7", None);
        check(of_node, "# pass the salt", None);
        check(of_pytest, "34 passed in 34.08s", Some((34, 0)));
        check(
            of_pytest,
            "=== 2 failed, 1 passed, 1 warning, 3 errors in 66.97s (0:01:06) ===",
            Some((1, 5)),
        );
        check(of_pytest, "no tests ran in 0.01s", None);
        check(of_pytest, "FAILED test_guide.py::test_one - 1 passed in vain", None);
        check(of_ours, "120 passed, 3 failed", Some((120, 3)));
        check(of_ours, "local: 120 passed, 3 failed", None);
    }

    #[test]
    fn a_runner_that_says_nothing_has_not_passed() {
        assert!(counted(&mut Command::new("true"), of_ours).is_err());
        let said = |line: &str, code: &str| {
            let script = format!("echo '{line}'; exit {code}");
            counted(Command::new("sh").args(["-c", &script]), of_ours)
        };
        assert_eq!(said("2 passed, 0 failed", "0"), Ok(Counts { passed: 2, failed: 0 }));
        assert_eq!(said("2 passed, 0 failed", "3"), Ok(Counts { passed: 2, failed: 1 }));
        assert_eq!(said("2 passed, 4 failed", "1"), Ok(Counts { passed: 2, failed: 4 }));
    }
}
