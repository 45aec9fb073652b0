//! The bugs that are planted, and where, by subject.

mod access;
mod backups;
mod capacity;
mod expressions;
mod faults;
mod items;
mod replication;
mod statements;
mod streams;
mod tables;
mod transactions;

use std::fs;
use std::sync::LazyLock;

use crate::patch::replaced;
use crate::shell::{Outcome, root};

/// A bug: code of the engine, and its replacement.
pub struct Bug {
    /// The effect of the bug.
    pub what: &'static str,
    /// The file's path in `emulator/src`.
    pub file: &'static str,
    /// The replaced code, which occurs once in the file.
    pub right: &'static str,
    /// The replacement, which has the same effect while `PLANTED` is false.
    pub wrong: &'static str,
}

/// The text of a file of the engine with all of its bugs, each inactive.
pub fn planted(file: &str) -> Outcome<String> {
    let path = root().join("emulator/src").join(file);
    let mut text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    for (number, bug) in BUGS.iter().enumerate().filter(|(_, bug)| bug.file == file) {
        let wrong = bug.wrong.replace("PLANTED", &format!("crate::planted::is({number})"));
        text = replaced(&text, bug.right, &wrong).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(text)
}

/// All bugs. A bug is known by its position.
pub static BUGS: LazyLock<Vec<&Bug>> = LazyLock::new(|| {
    let bugs = [
        access::BUGS,
        backups::BUGS,
        capacity::BUGS,
        expressions::BUGS,
        faults::BUGS,
        items::BUGS,
        replication::BUGS,
        statements::BUGS,
        streams::BUGS,
        tables::BUGS,
        transactions::BUGS,
    ];
    bugs.into_iter().flatten().collect()
});
