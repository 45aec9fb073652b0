//! The invariants of ARCHITECTURE.md that the engine's source can be asked for: which module imports which, and what none
//! of them may use.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The modules, lowest row first. A module imports from rows below its own, and from its own.
const ROWS: &[&[&str]] = &[
    &["sync", "limits", "chance", "number"],
    &["clock", "value", "size"],
    &["answer", "conditions", "error", "request", "schema", "capacity"],
    &["fault", "key", "expression"],
    &["change"],
    &["storage"],
    &["wire"],
    &["plan", "execute"],
    &["operation"],
    &["engine"],
];

/// Imports that go up: the surroundings of a request hold the engine, and credentials become its `Caller`.
const UPWARDS: &[(&str, &str)] = &[("execute", "engine"), ("wire", "engine")];

/// What belongs to the doors: clocks, threads, files, sockets, entropy. And serde, since `wire` reads and writes JSON.
const FOREIGN: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "SystemTime::now",
    "Instant::now",
    "std::thread",
    "std::fs",
    "std::net",
    "stdout",
    "stderr",
    "println!",
    "std::env",
    "std::process",
    "collections::HashMap",
    "collections::HashSet",
    "RandomState",
    "serde",
];

/// The engine's source files, each with its module and without comments and unit tests.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect(&root, &root, &mut files);
    assert!(files.len() > 50, "only {} files", files.len());
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem == "tests" || stem == "lib" {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
            continue;
        }
        let inner = path.strip_prefix(root).unwrap();
        let module = inner.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        files.push((module.to_owned(), code(&fs::read_to_string(&path).unwrap())));
    }
}

/// A file without comment lines, and without what follows `#[cfg(test)]`, which ends it.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn row(module: &str) -> usize {
    let at = ROWS.iter().position(|row| row.contains(&module));
    at.unwrap_or_else(|| panic!("{module} is in no row"))
}

fn imports(code: &str) -> BTreeSet<String> {
    let paths = code.split("crate::").skip(1);
    let name = |path: &str| {
        path.chars()
            .take_while(|letter| letter.is_ascii_lowercase() || *letter == '_')
            .collect()
    };
    paths.map(name).filter(|name: &String| !name.is_empty()).collect()
}

#[test]
fn imports_go_one_way() {
    let mut upwards = BTreeSet::new();
    for (module, code) in sources() {
        for import in imports(&code) {
            if row(&import) > row(&module) {
                upwards.insert((module.clone(), import));
            }
        }
    }
    let allowed = UPWARDS.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
    assert_eq!(upwards, allowed.collect());
}

#[test]
fn the_engine_is_pure() {
    for (module, code) in sources() {
        for word in FOREIGN {
            assert!(!code.contains(word), "{word} in {module}");
        }
    }
}

#[test]
fn locks_and_atomics_come_through_sync() {
    for (module, code) in sources().iter().filter(|(module, _)| module != "sync") {
        assert!(!code.contains("parking_lot"), "parking_lot in {module}");
        for path in code.split("std::sync::").skip(1) {
            let plain = ["Arc", "OnceLock", "{Arc, OnceLock}"];
            assert!(plain.iter().any(|name| path.starts_with(name)), "std::sync in {module}");
        }
    }
}
