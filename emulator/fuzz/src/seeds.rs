//! The histories that a fuzzer begins with: the cases of the engine's tests, and the named histories of `regressions.txt`.
//!
//! `seeds FOLDER` writes them into the folder, one file each.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::{env, fs, io};

use dynatwin_case::{Case, File, Step};
use serde_json::json;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or(io::Error::other("usage: seeds FOLDER"))?;
    fs::create_dir_all(&folder)?;
    for history in cases()?.into_iter().chain(regressions()?) {
        let mut hasher = DefaultHasher::new();
        history.hash(&mut hasher);
        let name = format!("seed-{:016x}", hasher.finish());
        fs::write(Path::new(&folder).join(name), history)?;
    }
    Ok(())
}

/// Each named history, without its title.
fn regressions() -> io::Result<Vec<String>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions.txt"))?;
    let histories = text.split("\n\n").filter_map(|history| history.split_once('\n'));
    Ok(histories.map(|(_, lines)| lines.trim_end().to_owned()).collect())
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
