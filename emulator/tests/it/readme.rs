//! `docs/operations.md` marks exactly the served operations as served, and the tests that ARCHITECTURE.md
//! and `docs/internals.md` name exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use dynatwin_engine::api::{OPERATIONS, Service};

const README: &str = include_str!("../../../README.md");
const LISTED: &str = include_str!("../../../docs/operations.md");
const ARCHITECTURE: &str = concat!(
    include_str!("../../../ARCHITECTURE.md"),
    include_str!("../../../docs/internals.md")
);
/// One operation per line: the service, then the name.
const API: &str = include_str!("../operations.txt");
const SERVED: &str = "served";
const NOT_YET: &str = "not yet";

/// Returns the API's operations by name, and whether each belongs to DynamoDB Streams.
fn api() -> BTreeMap<&'static str, bool> {
    let lines = API.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(' ') {
            Some(("dynamodb", name)) => (name, false),
            Some(("streams", name)) => (name, true),
            _ => panic!("operations.txt: {line}"),
        })
        .collect()
}

/// Returns the rows of a page's tables whose second cell is `served` or `not yet`, as name and word.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let row = |line| -> Option<(&str, &str)> {
        let mut cells = str::strip_prefix(line, "|")?.split('|').map(str::trim);
        Some((cells.next()?.trim_matches('`'), cells.next()?))
    };
    let rows = page.lines().filter_map(row);
    rows.filter(|(_, word)| [SERVED, NOT_YET].contains(word)).collect()
}

#[test]
fn every_operation_of_the_api_is_listed_once() {
    let listed = rows(LISTED);
    let names: BTreeSet<&str> = listed.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed.len(), names.len(), "an operation is listed twice");
    assert_eq!(names, api().into_keys().collect());
}

#[test]
fn exactly_the_served_operations_are_marked_as_served() {
    let marked: BTreeSet<&str> = rows(LISTED)
        .into_iter()
        .filter_map(|(name, word)| (word == SERVED).then_some(name))
        .collect();
    let served: BTreeSet<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    assert_eq!(marked, served);
}

#[test]
fn the_number_of_served_operations_is_right() {
    let sentence = format!("serves {} of the API's {} operations", OPERATIONS.len(), api().len());
    assert!(README.contains(&sentence), "{sentence}");
}

#[test]
fn every_served_operation_is_one_of_its_service() {
    let api = api();
    for operation in OPERATIONS {
        let streams = operation.service == Service::Streams;
        assert_eq!(api.get(operation.name), Some(&streams), "{}", operation.name);
    }
}

#[test]
fn rows_are_read() {
    let page = "| Operation | |\n|---|---|\n| `GetItem` | served |\n| `Nothing` | not yet | more |\n| other | row |";
    assert_eq!(rows(page), [("GetItem", SERVED), ("Nothing", NOT_YET)]);
}

/// Collects the Rust files under a folder as one text, without build results and dependencies.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with("target") && name != "node_modules" {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_tests_named_in_the_architecture_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for folder in ["emulator", "harness", "xtask"] {
        sources(&root.join(folder), &mut text);
    }
    // A test's name has at least four words joined by underscores.
    let named: BTreeSet<&str> = ARCHITECTURE
        .split('`')
        .filter(|word| {
            word.matches('_').count() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        })
        .collect();
    assert!(named.len() > 5, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !text.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
