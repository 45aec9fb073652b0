//! Which rule the journal names for a failed entry.

use crate::common::{Twin, create_table_with_ttl};
use dynatwin_engine::Conditions;
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

/// The log names the condition that has made a request fail.
#[test]
fn a_failed_request_names_its_condition() {
    let key = json!({"pk": {"S": "a"}});
    for (internal_errors, throttles, name) in [
        (1.0, 0.0, "internalErrors"),
        (0.0, 1.0, "throttles"),
        (1.0, 1.0, "internalErrors"),
    ] {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let conditions = Conditions {
            internal_errors,
            throttles,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        twin.engine.watch(true);
        for (operation, body) in [
            ("PutItem", json!({"TableName": "tab", "Item": key})),
            ("GetItem", json!({"TableName": "tab", "Key": key})),
            ("Scan", json!({"TableName": "tab"})),
            ("BatchGetItem", json!({"RequestItems": {"tab": {"Keys": [key]}}})),
        ] {
            twin.send(operation, &body);
            let requests = twin.engine.requests();
            let injected: Vec<_> = requests
                .last()
                .unwrap()
                .accesses
                .iter()
                .map(|access| access.injected)
                .collect();
            assert_eq!(injected, [Some(Injected::Condition(name))], "{operation}");
        }
    }
}
