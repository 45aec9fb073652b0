//! The histories that a fuzzer begins with: the cases of the engine's tests, and `corpus.txt`, which keeps those that
//! longer runs have found. In the file a blank line stands between two histories.
//!
//! `seeds write FOLDER` writes them, one file each; `seeds keep FOLDER` makes `corpus.txt` of the folder.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use dynatwin_case::{Case, File, Step};
use serde_json::json;

/// Longer histories are not kept: a person should be able to read the file.
const MAX_KEPT: usize = 400;

fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", folder] => write(Path::new(folder)),
        ["keep", folder] => keep(Path::new(folder)),
        _ => Err(io::Error::other("usage: seeds write FOLDER | seeds keep FOLDER")),
    }
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus.txt")
}

fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut histories = cases()?;
    if kept().is_file() {
        let text = fs::read_to_string(kept())?;
        histories.extend(text.split("\n\n").map(|history| history.trim_end().to_owned()));
    }
    for history in histories {
        let mut hasher = DefaultHasher::new();
        history.hash(&mut hasher);
        fs::write(folder.join(format!("seed-{:016x}", hasher.finish())), history)?;
    }
    Ok(())
}

fn keep(folder: &Path) -> io::Result<()> {
    let known: BTreeSet<String> = cases()?.into_iter().collect();
    let mut histories = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let Ok(history) = String::from_utf8(fs::read(entry?.path())?) else {
            continue;
        };
        let plain = !history.contains("\n\n") && !history.chars().any(|sign| sign.is_control() && sign != '\n');
        if plain && (1..MAX_KEPT).contains(&history.len()) && !known.contains(&history) {
            histories.insert(history.trim_matches('\n').to_owned());
        }
    }
    let text: Vec<String> = histories.into_iter().collect();
    fs::write(kept(), text.join("\n\n") + "\n")
}

fn cases() -> io::Result<Vec<String>> {
    let files = dynatwin_case::files(&dynatwin_case::folder()).map_err(io::Error::other)?;
    let histories = files
        .iter()
        .flat_map(|file| file.cases.iter().map(|case| history(file, case)));
    Ok(histories.collect())
}

/// The requests that a case sends, without those that make tables it does not name.
fn history(file: &File, case: &Case) -> String {
    let steps = case.before.iter().map(|step| match step {
        Step::Request { operation, request, .. } => format!("{operation} {request}"),
        Step::Advance(by) => format!("$advance {}", by.as_secs_f64()),
        Step::SetConditions(name) => format!("$conditions {}", json!(name)),
    });
    let own: Vec<String> = steps.chain([format!("{} {}", case.operation, case.request)]).collect();
    let named = |name: &str| {
        let names = [format!("\"{name}"), format!("/{name}")];
        own.iter().any(|line| names.iter().any(|name| line.contains(name)))
    };
    let mut lines = Vec::new();
    for table in &file.tables {
        let name = table["TableName"].as_str().unwrap_or_default();
        if named(name) {
            lines.push(format!("CreateTable {table}"));
            for item in file.items.get(name).into_iter().flatten() {
                lines.push(format!("PutItem {}", json!({"TableName": name, "Item": item})));
            }
        }
    }
    lines.extend(own);
    lines.join("\n")
}
