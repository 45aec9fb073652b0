//! Which rule the journal names for a failed entry.

use crate::common::{Twin, create_table_with_ttl};
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use dynatwin_engine::monitoring::Injected;
use serde_json::{Value, json};

/// Rules that fail different entries of one request alike are told apart.
#[test]
fn each_failed_entry_names_its_rule() {
    let key = |pk: &str| json!({"pk": {"S": pk}});
    let on_tab = |member: &str, value: Value| json!({"TableName": "tab", member: value});
    let keys = ["b", "none", "a", "c"];
    let of_keys = |of_key: &dyn Fn(&str) -> Value| -> Vec<Value> { keys.iter().map(|pk| of_key(pk)).collect() };
    let of_batch = |of_key: &dyn Fn(&str) -> Value| json!({"RequestItems": {"tab": of_keys(of_key)}});
    let get = |pk: &str| json!({"Get": on_tab("Key", key(pk))});
    let put = |pk: &str| json!({"Put": on_tab("Item", key(pk))});
    let select = |pk: &str| json!({"Statement": format!("SELECT * FROM tab WHERE pk = '{pk}'")});
    for (operation, body) in [
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": {"Keys": of_keys(&key)}}}),
        ),
        (
            "BatchWriteItem",
            of_batch(&|pk| json!({"PutRequest": {"Item": key(pk)}})),
        ),
        ("TransactGetItems", json!({"TransactItems": of_keys(&get)})),
        ("TransactWriteItems", json!({"TransactItems": of_keys(&put)})),
        ("BatchExecuteStatement", json!({"Statements": of_keys(&select)})),
        ("ExecuteTransaction", json!({"TransactStatements": of_keys(&select)})),
    ] {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        twin.engine.watch(true);
        let rules = ["a", "b", "c"].map(|pk| {
            let rule = Rule::new(Verdict::Throttle(None)).key(KeyMatch::Partition(pk.into()));
            twin.engine.add_fault(rule).unwrap().0
        });
        twin.send(operation, &body);
        let requests = twin.engine.requests();
        let accesses = requests.last().unwrap().accesses.iter();
        let mut named: Vec<_> = accesses
            .map(|access| {
                let key = access.key.iter().map(|(_, value)| format!("{value:?}"));
                (key.collect::<String>(), access.injected)
            })
            .collect();
        // Entries that fail may be recorded before those that are read.
        named.sort_by(|left, right| left.0.cmp(&right.0));
        let [a, b, c] = rules.map(|rule| Some(Injected::Rule(rule)));
        let expect = [("a", a), ("b", b), ("c", c), ("none", None)].map(|(pk, rule)| (format!("S({pk:?})"), rule));
        assert_eq!(named, expect, "{operation}");
    }
}
