//! The histories that a fuzzer begins with: the cases of the engine's tests, and the named histories of `regressions.txt`.
//!
//! `seeds HISTORIES COMMITS SNAPSHOTS POLICIES` writes them into the first folder, one file each, for the fuzzing of the
//! decoders the commits and snapshots of the states that the histories leave, and for the fuzzing of policies random ones.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::{env, fs, io};

use dynatwin_case::{Case, File, Step};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
use dynatwin_fuzz::policies;
use serde_json::json;

/// The number of random policies.
const POLICIES: u64 = 300;

fn main() -> io::Result<()> {
    let folders: Vec<_> = env::args_os().skip(1).collect();
    let [histories, commits, snapshots, policies] = folders.as_slice() else {
        return Err(io::Error::other("usage: seeds HISTORIES COMMITS SNAPSHOTS POLICIES"));
    };
    for history in cases()?.into_iter().chain(regressions()?) {
        let engine = engine_after(&history);
        write(Path::new(snapshots), &engine.snapshot().to_bytes())?;
        for commit in engine.checkpoint() {
            let mut encoded = Vec::new();
            commit.encode(&mut encoded);
            write(Path::new(commits), &encoded)?;
        }
        write(Path::new(histories), history.as_bytes())?;
    }
    for number in 0..POLICIES {
        write(Path::new(policies), policies::document(number).as_bytes())?;
    }
    Ok(())
}

fn write(folder: &Path, seed: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    fs::write(folder.join(format!("seed-{:016x}", hasher.finish())), seed)
}

/// An engine that has received the requests of a history.
fn engine_after(history: &str) -> Engine {
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions: Conditions::CALM,
        shared_db: false,
    });
    let caller = Caller {
        access_key: "fuzz".into(),
        region: "us-east-1".into(),
    };
    for (operation, request) in history.lines().filter_map(|line| line.split_once(' ')) {
        engine.dispatch(&caller, operation, request.as_bytes());
    }
    engine
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
