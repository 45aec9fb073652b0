//! The path of a conditional write, from the driver to the stored change: at most five modules besides the driver's own.

use std::backtrace::Backtrace;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::json;

use crate::common::{Twin, create_table_with_ttl};
use crate::{imports, layers};

/// The module of the driver and the operations.
const DRIVER: &str = "operation";

/// The number of modules on the path besides the driver's.
const MOST: usize = 5;

/// The functions on the path of a conditional PutItem: their file, their name, and what they call to continue on it.
/// ARCHITECTURE.md names them, too.
const PATH: &[(&str, &str, &[&str])] = &[
    ("operation/drive.rs", "drive", &["O::plan", "O::execute"]),
    ("operation/items/put_item.rs", "plan", &["plan::put"]),
    ("plan/write.rs", "put", &["whole"]),
    ("plan/write.rs", "whole", &["change::check_entries"]),
    ("operation/items/put_item.rs", "execute", &["execute::write"]),
    ("execute/write.rs", "write", &["carry_out"]),
    (
        "execute/write.rs",
        "carry_out",
        &["write.change", "begin", "table.apply"],
    ),
    ("execute/write.rs", "change", &["condition.matches", "Change::new"]),
    ("expression/condition.rs", "matches", &["self.test"]),
    ("change.rs", "new", &[]),
    ("storage/commit/log.rs", "begin", &["self.log.append"]),
    ("storage/table.rs", "apply", &["partition.apply"]),
    ("storage/partition.rs", "apply", &["contents.apply", "self.place"]),
    ("storage/partition.rs", "place", &["self.items.put"]),
];

/// Modules whose values the functions on the path pass on and compute with: the request's context, capacity units, keys
/// and so on.
const VALUES: &[&str] = &[
    "capacity", "clock", "context", "error", "key", "limits", "schema", "value",
];

fn module(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

/// The bodies of the functions of a name.
fn bodies(code: TokenStream, name: &str) -> Vec<TokenStream> {
    let mut found = Vec::new();
    let mut tokens = code.into_iter();
    while let Some(token) = tokens.next() {
        let is_function = matches!(&token, TokenTree::Ident(word) if word == "fn");
        if is_function && tokens.next().is_some_and(|named| named.to_string() == name) {
            let body = tokens.find_map(|token| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
                _ => None,
            });
            found.extend(body);
        } else if let TokenTree::Group(group) = token {
            found.extend(bodies(group.stream(), name));
        }
    }
    found
}

#[test]
fn a_conditional_write_crosses_five_modules() {
    let modules: BTreeSet<&str> = PATH.iter().map(|(file, ..)| module(file)).collect();
    assert!(modules.contains(DRIVER) && modules.len() <= 1 + MOST, "{modules:?}");
    let (engine, sources) = (imports::engine(), layers::sources());
    for (file, function, calls) in PATH {
        let (_, _, code) = sources.iter().find(|(place, ..)| place == file).unwrap();
        let bodies = bodies(code.parse().unwrap(), function);
        let code: String = bodies.iter().map(ToString::to_string).collect();
        let code: String = code.split_whitespace().collect();
        assert!(!code.is_empty(), "{file} has no function {function}");
        for call in *calls {
            assert!(
                code.contains(&format!("{call}(")),
                "{file}: {function} does not call {call}"
            );
        }
        for used in bodies.into_iter().flat_map(|body| engine.named_by(file, body)) {
            let used = module(&used);
            assert!(
                modules.contains(used) || VALUES.contains(&used),
                "{file}: {function} uses {used}"
            );
        }
    }
}

#[test]
fn the_architecture_names_the_path() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let page = fs::read_to_string(page).unwrap();
    for (file, function, _) in PATH {
        let mut rows = page.lines().filter(|line| line.starts_with("| `"));
        let is_named = rows.any(|row| row.contains(&format!("`{file}`")) && row.contains(&format!("`{function}`")));
        assert!(is_named, "{file}: {function}");
    }
}

/// The call stack of the last commit.
#[derive(Default)]
struct Stack(Mutex<String>);

impl CommitSink for Stack {
    fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
        *self.0.lock().unwrap() = Backtrace::force_capture().to_string();
        Ok(())
    }
}

/// The file of the engine that a line of a call stack names.
fn engine_file(line: &str) -> Option<&str> {
    let place = line.trim_start().strip_prefix("at ")?;
    let absolute = || Some(place.split_once("/emulator/src/")?.1);
    place.strip_prefix("./src/").or_else(absolute)
}

/// The engine's modules on a call stack, from the driver down to the commit.
fn modules_below_driver(stack: &str) -> BTreeSet<&str> {
    let mut modules = BTreeSet::new();
    for file in stack.lines().filter_map(engine_file) {
        modules.insert(module(file));
        if file.starts_with("operation/drive.rs") {
            return modules;
        }
    }
    panic!("the driver is not on the stack:\n{stack}");
}

#[test]
fn operations_commit_through_execute_alone() {
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let stack = Arc::new(Stack::default());
    twin.engine.attach_sink(Arc::clone(&stack) as Arc<dyn CommitSink>, 0);
    let key = json!({"pk": {"S": "a"}});
    let (absent, present) = ("attribute_not_exists(pk)", "attribute_exists(pk)");
    for (operation, body) in [
        (
            "PutItem",
            json!({"TableName": "tab", "Item": key, "ConditionExpression": absent}),
        ),
        (
            "UpdateItem",
            json!({"TableName": "tab", "Key": key, "ConditionExpression": present, "UpdateExpression": "SET a = pk"}),
        ),
        (
            "DeleteItem",
            json!({"TableName": "tab", "Key": key, "ConditionExpression": present}),
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": key, "ConditionExpression": absent}}]}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "UPDATE tab SET a = 1 WHERE pk = 'a' AND attribute_not_exists(a)"}),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [{"DeleteRequest": {"Key": key}}]}}),
        ),
    ] {
        twin.ok(operation, &body);
        let stack = std::mem::take(&mut *stack.0.lock().unwrap());
        let modules: Vec<&str> = modules_below_driver(&stack).into_iter().collect();
        assert_eq!(modules, ["execute", "operation", "storage"], "{operation}:\n{stack}");
    }
}
