//! The order of the modules: each imports only from rows above its own. Also checks what the engine must not use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, row by row. A new module needs a place here and in `ARCHITECTURE.md`.
const ROWS: &[&[&str]] = &[
    &[
        "limits", "number", "sync", "chance", "caller", "reclaim", "sort", "sorted",
    ],
    &["cache", "clock", "conditions", "digest", "value"],
    &["error", "answer", "schema"],
    &["request"],
    &["key", "expression", "capacity", "fault", "transfer"],
    &["journal", "partiql"],
    &["change", "wire"],
    &["access", "storage"],
    &["context"],
    &["plan"],
    &["execute"],
    &["operation"],
    &["engine"],
];

/// What the engine must not use: its host provides time, threads, files and entropy.
const FOREIGN: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    " rand::",
    "getrandom",
    "RandomState",
    "serde",
    "tokio",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the code outside of tests, without comments: test modules are at the end of their file or in separate files.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns every file of the engine outside of tests: its path, its module, its code.
pub(super) fn sources() -> Vec<(String, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort();
    let mut sources = Vec::new();
    for path in found {
        let place = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if place == "lib.rs" || place.ends_with("tests.rs") || place.contains("/tests/") {
            continue;
        }
        let module = place.split(['/', '.']).next().unwrap().to_owned();
        sources.push((place, module, code(&fs::read_to_string(&path).unwrap())));
    }
    sources
}

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// Returns the top-level modules that code imports with `crate::`, also in braces: `use crate::{error::ApiError,
/// value}`.
fn imports(code: &str) -> BTreeSet<String> {
    let word = |text: &str| {
        let end = text.find(|char: char| !char.is_alphanumeric() && char != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.insert(word(rest));
            continue;
        };
        let mut depth = 1;
        let mut part = String::new();
        for char in group.chars() {
            match char {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && char == ',') {
                names.insert(word(part.trim()));
                part.clear();
            } else {
                part.push(char);
            }
            if depth == 0 {
                break;
            }
        }
    }
    names.remove("");
    names
}

#[test]
fn imports_are_found() {
    let code = "use crate::{error::ApiError, value::{Item, Map}, key};\nuse crate::clock::Moment;\nlet a = crate::chance::decide();";
    let found: Vec<String> = imports(code).into_iter().collect();
    assert_eq!(found, ["chance", "clock", "error", "key", "value"]);
}

#[test]
fn modules_import_only_from_rows_above() {
    let mut faults = Vec::new();
    for (place, module, code) in sources() {
        let Some(own) = row(&module) else {
            faults.push(format!("{place}: the module {module} has no row"));
            continue;
        };
        for name in imports(&code) {
            if name == module {
                continue;
            }
            match row(&name) {
                Some(above) if above < own => {}
                Some(_) => faults.push(format!("{place} imports {name}, which is not above {module}")),
                None => faults.push(format!("{place} imports {name}, which has no row")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Statements are lowered to plans and not executed.
#[test]
fn statements_are_only_lowered() {
    for (place, module, code) in sources() {
        if module == "partiql" {
            assert!(!imports(&code).contains("execute"), "{place} imports execute");
        }
    }
}

#[test]
fn every_row_has_its_modules() {
    let there: BTreeSet<String> = sources().into_iter().map(|(_, module, _)| module).collect();
    for module in ROWS.iter().flat_map(|row| row.iter()) {
        assert!(there.contains(*module), "there is no module {module}");
    }
}

/// Returns the names in code in one column of a table of `ARCHITECTURE.md`, row by row.
pub(super) fn architecture_rows(header: &str, column: usize) -> Vec<BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().skip_while(|line| *line != header).skip(2);
    let names = |row: &str| {
        let cell = row.split('|').nth(column + 1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    rows.take_while(|line| line.starts_with('|')).map(names).collect()
}

#[test]
fn the_architecture_has_the_same_rows() {
    let mut rows = architecture_rows("| Row | Modules | Contents |", 1);
    rows.reverse();
    let own = ROWS
        .iter()
        .map(|row| row.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(rows, own.collect::<Vec<BTreeSet<String>>>());
}

/// The driver authorizes each request, and nothing else does.
#[test]
fn requests_are_authorized_in_one_place() {
    for function in ["execute::authorize(", "execute::unplanned("] {
        let sources = sources();
        let calls = sources
            .iter()
            .flat_map(|(place, _, code)| code.matches(function).map(move |_| place));
        assert_eq!(calls.collect::<Vec<_>>(), ["operation/drive.rs"], "{function}");
    }
}

#[test]
fn every_module_is_private() {
    let facade = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    for line in fs::read_to_string(facade).unwrap().lines() {
        assert!(!(line.starts_with("pub mod") && line.ends_with(';')), "{line}");
    }
}

#[test]
fn the_engine_knows_no_host() {
    let mut faults = Vec::new();
    for (place, module, code) in sources() {
        for foreign in FOREIGN.iter().filter(|foreign| code.contains(**foreign)) {
            faults.push(format!("{place}: {foreign}"));
        }
        // Locks and atomics come from `sync`, where loom can replace them.
        let locks = [
            "parking_lot",
            "std::sync::atomic",
            "std::sync::Mutex",
            "std::sync::RwLock",
            "OnceLock",
            "LazyLock",
            "loom::sync",
        ];
        for lock in locks.iter().filter(|lock| module != "sync" && code.contains(**lock)) {
            faults.push(format!("{place}: {lock}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
