//! The fuzzer's named histories, each in a few lines that show what it is about: no panic, and no answer that a client could
//! not read. The fuzzer starts from them too.

#[allow(dead_code, unused_imports, missing_docs)]
#[path = "../../fuzz/src/history.rs"]
mod history;

use std::collections::BTreeSet;

/// A history of each, below a line `# name: what must hold`.
const HISTORIES: &str = include_str!("../../fuzz/regressions.txt");

#[test]
fn each_history_gets_readable_answers() {
    let mut names = BTreeSet::new();
    for text in HISTORIES.split("\n\n") {
        let (title, history) = text.split_once('\n').unwrap_or((text, ""));
        let (name, about) = title
            .strip_prefix("# ")
            .and_then(|title| title.split_once(": "))
            .unwrap_or_default();
        assert!(about.ends_with('.') && !history.is_empty(), "{title}");
        assert!(names.insert(name), "{name} occurs twice");
        println!("{name}");
        history::run(history.trim_end().as_bytes());
    }
}
