//! `cargo xtask plant`: plants bugs in a copy of the engine, and checks that the conformance suite or the engine's own tests
//! find them.
//!
//! All bugs are in one build, under `target/planted`; an environment variable selects the active one.

mod bugs;

use std::fmt;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::patch::{copy, read, write};
use crate::shell::{Outcome, cargo, output, root, run, shown};
use bugs::{BUGS, planted};

/// The suite's targets: the twin in process, under the conditions `calm`, `aws` and `storm`.
const TARGETS: [&str; 3] = ["in-process", "in-process-aws", "in-process-storm"];

/// The modules of the engine's integration tests that are run when the suite passes, beside its unit tests.
const ENGINE_TESTS: [&str; 24] = [
    "access::",
    "account::",
    "attribution::",
    "backups::",
    "bounds::",
    "conflicts::",
    "explain::",
    "faults::",
    "inspect::",
    "journal::",
    "lag::",
    "memory::",
    "replicas::",
    "replication::",
    "slices::",
    "snapshots::",
    "stale::",
    "statements::",
    "streams::",
    "strong::",
    "table_life::",
    "tables::",
    "throughput::",
    "transfers::",
];

/// The time limit of the suite and of each test. A bug that makes one of them hang is found.
const TIME_LIMIT: Duration = Duration::from_mins(5);

/// The environment variable with the number of the active bug; `SWITCH` reads it.
const ACTIVE: &str = "DYNATWIN_PLANTED";

/// A module of the copy of the engine.
const SWITCH: &str = "\
use std::sync::LazyLock;

static ACTIVE: LazyLock<Option<usize>> =
    LazyLock::new(|| std::env::var(\"DYNATWIN_PLANTED\").ok().and_then(|number| number.parse().ok()));

pub fn is(number: usize) -> bool {
    *ACTIVE == Some(number)
}
";

/// The members of the copied workspace: the suite and its dependencies.
const MEMBERS: &str = r#"members = ["emulator", "harness/files", "harness/dynatwin", "harness/server", "conformance"]"#;

/// The programs that must find a bug.
struct Suite {
    conformance: PathBuf,
    /// The engine's tests: their names and executables.
    tests: Vec<(String, PathBuf)>,
}

/// The result of the suite and the tests.
enum SuiteResult {
    /// All tests pass: the bug was not found.
    Passes,
    /// These scenarios and cases fail against this target.
    Fails(String, Vec<String>),
    /// The suite hangs against this target.
    Hangs(String),
    /// The suite passes, and this test program of the engine fails.
    FailsTest(String),
}

impl fmt::Display for SuiteResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuiteResult::Passes => formatter.write_str("SLIPS THROUGH"),
            SuiteResult::Hangs(target) => write!(formatter, "found: {target} does not end"),
            SuiteResult::FailsTest(name) => write!(formatter, "found by the engine's tests alone: {name}"),
            SuiteResult::Fails(target, names) => {
                let first = names.first().map_or("the run itself", String::as_str);
                write!(formatter, "found by {}, {target}: {first}", names.len())
            }
        }
    }
}

/// Plants every bug, or those whose description contains one of `words`; it is an error if one is not found.
pub fn all(words: &[&str]) -> Outcome<()> {
    let suite = build()?;
    if !matches!(run_suite(&suite, None)?, SuiteResult::Passes) {
        return Err("the suite fails without a bug".into());
    }
    let wanted = |what: &str| words.is_empty() || words.iter().any(|word| what.contains(word));
    let bugs: Vec<usize> = (0..BUGS.len()).filter(|number| wanted(BUGS[*number].what)).collect();
    let next = AtomicUsize::new(0);
    let (slipped, failed) = (AtomicUsize::new(0), Mutex::new(Ok(())));
    let work = || {
        while let Some(number) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match run_suite(&suite, Some(*number)) {
                Ok(result) => {
                    slipped.fetch_add(usize::from(matches!(result, SuiteResult::Passes)), Ordering::Relaxed);
                    println!("{}\n    {result}", BUGS[*number].what);
                }
                Err(sentence) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(sentence);
                    return;
                }
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    match slipped.into_inner() {
        0 => {
            println!("all {} were found", bugs.len());
            Ok(())
        }
        slipped => Err(format!("of {} bugs the suite misses {slipped}", bugs.len())),
    }
}

/// Builds the suite and the engine's tests, with all bugs inactive.
fn build() -> Outcome<Suite> {
    let work = root().join("target/planted");
    let tree = work.join("tree");
    // The engine's tests read the documents.
    for folder in ["emulator", "harness", "conformance", "docs"] {
        copy(&root().join(folder), &tree.join(folder), &contents)?;
    }
    for file in ["README.md", "ARCHITECTURE.md"] {
        write(&tree.join(file), &read(&root().join(file))?)?;
    }
    write(&tree.join("emulator/src/planted.rs"), SWITCH.as_bytes())?;
    write(&tree.join("Cargo.lock"), &read(&root().join("Cargo.lock"))?)?;
    let workspace = String::from_utf8_lossy(&read(&root().join("Cargo.toml"))?).into_owned();
    let line = |line: &str| match line.split_once(" = ") {
        Some(("members", _)) => MEMBERS.to_owned(),
        Some(("exclude" | "default-members", _)) => String::new(),
        _ => line.to_owned(),
    };
    let alone: Vec<String> = workspace.lines().map(line).collect();
    write(&tree.join("Cargo.toml"), alone.join("\n").as_bytes())?;
    let built = work.join("build");
    run(cargo()
        .args(["build", "--quiet", "-p", "dynatwin-conformance", "--target-dir"])
        .arg(&built)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .current_dir(&tree))?;
    let mut tests = cargo();
    tests
        .args([
            "test",
            "--quiet",
            "--no-run",
            "--message-format=json",
            "-p",
            "dynatwin-engine",
            "--lib",
            "--test",
            "it",
            "--target-dir",
        ])
        .arg(&built);
    let messages = output(tests.env("CARGO_PROFILE_DEV_DEBUG", "0").current_dir(&tree))?;
    Ok(Suite {
        conformance: built.join("debug/dynatwin-conformance"),
        tests: executables(&messages),
    })
}

/// The names and executables among cargo's messages.
fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter_map(|message| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, message["executable"].as_str()?.into()))
    });
    built.collect()
}

/// The contents of a file of the copy.
fn contents(path: &Path) -> Outcome<Vec<u8>> {
    let of_engine = path.strip_prefix(root().join("emulator/src")).ok();
    match of_engine.and_then(Path::to_str) {
        Some("lib.rs") => Ok([&read(path)?, b"mod planted;\n".as_slice()].concat()),
        Some(file) if BUGS.iter().any(|bug| bug.file == file) => planted(file).map(String::into_bytes),
        _ => read(path),
    }
}

/// Runs the suite with this bug active, or none, against each target, and then the engine's tests, until
/// something fails.
fn run_suite(suite: &Suite, bug: Option<usize>) -> Outcome<SuiteResult> {
    for target in TARGETS {
        let result = run_target(&suite.conformance, bug, target)?;
        if !matches!(result, SuiteResult::Passes) {
            return Ok(result);
        }
    }
    for (name, test) in &suite.tests {
        let selected: &[&str] = if name == "it" { &ENGINE_TESTS } else { &[] };
        if succeeds(Command::new(test).arg("--quiet").args(selected), bug)? != Some(true) {
            return Ok(SuiteResult::FailsTest(name.clone()));
        }
    }
    Ok(SuiteResult::Passes)
}

fn run_target(suite: &Path, bug: Option<usize>, target: &str) -> Outcome<SuiteResult> {
    let name = bug.map_or("none".to_owned(), |number| number.to_string());
    let report = root().join("target/planted").join(format!("{name}.json"));
    let mut command = Command::new(suite);
    command.args(["--target", target, "--json"]).arg(&report);
    match succeeds(&mut command, bug)? {
        None => return Ok(SuiteResult::Hangs(target.to_owned())),
        Some(true) => return Ok(SuiteResult::Passes),
        Some(false) => {}
    }
    let report: Value = serde_json::from_slice(&read(&report)?).map_err(|error| error.to_string())?;
    Ok(SuiteResult::Fails(target.to_owned(), failures(&report)))
}

/// Runs a program with this bug active, and returns whether it succeeds; `None` if it reaches the time limit.
fn succeeds(command: &mut Command, bug: Option<usize>) -> Outcome<Option<bool>> {
    command
        .env_remove(ACTIVE)
        .envs(bug.map(|number| (ACTIVE, number.to_string())));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let program = shown(command);
    let failed = |error| format!("{program}: {error}");
    let mut running = command.spawn().map_err(failed)?;
    let begin = Instant::now();
    loop {
        if let Some(status) = running.try_wait().map_err(failed)? {
            return Ok(Some(status.success()));
        }
        if begin.elapsed() > TIME_LIMIT {
            running.kill().and_then(|()| running.wait()).map_err(failed)?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// The names of failed entries, in the report's order.
fn failures(report: &Value) -> Vec<String> {
    let entries = report["entries"].as_array().into_iter().flatten();
    let failed = entries.filter(|entry| entry["status"] == "failed");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    failed
        .map(|entry| text(&entry["group"]) + ": " + &text(&entry["name"]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_bug_fits_the_source() {
        let files: BTreeSet<&str> = BUGS.iter().map(|bug| bug.file).collect();
        let unfit: Vec<String> = files.iter().filter_map(|file| planted(file).err()).collect();
        assert!(unfit.is_empty(), "{unfit:#?}");
        for file in files {
            assert!(!planted(file).unwrap().contains("PLANTED"), "{file}");
        }
        for bug in BUGS.iter() {
            assert!(bug.wrong.contains("PLANTED"), "{}", bug.what);
        }
    }

    #[test]
    fn executables_are_those_of_artifacts() {
        let messages = "{\"target\": {\"name\": \"bounds\"}, \"executable\": \"/a\"}\nnoise\n{\"target\": {\"name\": \"lib\"}, \"executable\": null}";
        assert_eq!(executables(messages), [("bounds".to_owned(), PathBuf::from("/a"))]);
    }

    #[test]
    fn failed_tests_are_named() {
        let entry = |name: &str, status: &str| serde_json::json!({"group": "reads", "name": name, "status": status});
        let report = serde_json::json!({"entries": [entry("a", "ok"), entry("b", "failed"), entry("c", "known")]});
        assert_eq!(failures(&report), ["reads: b"]);
    }
}
