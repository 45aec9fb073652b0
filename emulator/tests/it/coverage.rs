//! Counts the cases of `cases/*.json` against the operation table: each operation has a success, a validation error,
//! and every error that the service's model lists for it.
//!
//! `model/uncovered.json` lists what has no case, and why. A listed entry that has a case also fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use dynatwin_case::{Case, Expect};
use dynatwin_engine::api::OPERATIONS;
use serde_json::Value;

/// The results that the cases of an operation expect.
#[derive(Default)]
struct Seen {
    cases: usize,
    succeeds: bool,
    errors: BTreeSet<String>,
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn tests() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

/// Returns the name of the exception that a case expects.
fn exception(case: &Case) -> Option<String> {
    let text = match &case.expect {
        Expect::Error(text) => text.split(':').next(),
        Expect::Body(body) => body["__type"].as_str().and_then(|kind| kind.rsplit('#').next()),
        Expect::Answer(_) | Expect::Has(_) => None,
    };
    text.map(str::to_owned)
}

fn seen() -> BTreeMap<String, Seen> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let files = dynatwin_case::files(&dynatwin_case::folder()).unwrap();
    for case in files.iter().flat_map(|file| &file.cases) {
        let operation = seen.entry(case.operation.clone()).or_default();
        operation.cases += 1;
        match exception(case) {
            Some(error) => drop(operation.errors.insert(error)),
            None => operation.succeeds = true,
        }
    }
    seen
}

/// The rows of `uncovered.json`: what has no case (`success`, `fault` or an error's name), of which operations, and
/// why.
struct Uncovered(Vec<Value>);

impl Uncovered {
    fn load() -> Uncovered {
        let file = read(&tests().join("model/uncovered.json"));
        let rows = file["rows"].as_array().unwrap().clone();
        assert!(rows.iter().all(|row| row["why"].is_string()), "a row without a reason");
        Uncovered(rows)
    }

    /// Returns whether a row names it; `everywhere` if that row is for all operations.
    fn names(&self, operation: &str, what: &str) -> Option<bool> {
        let row = self.0.iter().find(|row| {
            let of = row["operations"].as_array();
            row["what"] == what && of.is_none_or(|of| of.iter().any(|each| each == operation))
        })?;
        Some(row["operations"].is_null())
    }
}

#[test]
fn every_operation_has_its_cases() {
    let (seen, uncovered) = (seen(), Uncovered::load());
    let model = read(&tests().join("model/constraints.json"));
    let nothing = Seen::default();
    let (mut report, mut cases, mut errors) = (String::new(), 0, 0);
    for operation in OPERATIONS {
        let name = operation.name;
        let seen = seen.get(name).unwrap_or(&nothing);
        cases += seen.cases;
        let faults = ["ValidationException", "SerializationException"];
        let mut needed = vec![
            ("success", seen.succeeds),
            ("fault", faults.iter().any(|fault| seen.errors.contains(*fault))),
        ];
        for error in model["operations"][name]["errors"].as_array().unwrap() {
            let error = error.as_str().unwrap();
            errors += 1;
            needed.push((error, seen.errors.contains(error)));
        }
        for (what, there) in needed {
            match (there, uncovered.names(name, what)) {
                (false, None) => writeln!(report, "{name} has no case of {what}").unwrap(),
                (true, Some(false)) => {
                    writeln!(report, "{name} has a case of {what}: uncovered.json says not").unwrap();
                }
                _ => {}
            }
        }
    }
    for row in &uncovered.0 {
        for operation in row["operations"].as_array().into_iter().flatten() {
            let known = &model["operations"][operation.as_str().unwrap()]["errors"];
            let what = &row["what"];
            let is_one = matches!(what.as_str(), Some("success" | "fault")) || known.as_array().unwrap().contains(what);
            assert!(is_one, "{operation} is not modelled with {what}");
        }
    }
    assert!(
        report.is_empty(),
        "of {cases} cases for {} operations and their {errors} errors\n{report}",
        OPERATIONS.len()
    );
    println!(
        "{cases} cases for {} operations and their {errors} errors",
        OPERATIONS.len()
    );
}
