//! The reasons of a cancelled transaction when some actions fail by themselves and a rule throttles another.
//!
//! An action that cannot be planned accesses nothing; the rule still applies to the actions after it.

use crate::common::{Twin, error_text};
use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
use serde_json::{Value, json};

const INVALID: &str = "ValidationError";
const FAILED: &str = "ConditionalCheckFailed";
const THROTTLED: &str = "ThrottlingError";

/// Returns a twin with the tables `tab`, which has a global index on `g`, and `other`. Both have the items `a` to `d`.
fn twin() -> Twin {
    let twin = Twin::new(1);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": [attribute("pk"), attribute("g")],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}}]}),
    );
    twin.ok(
        "CreateTable",
        &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": [attribute("pk")]}),
    );
    for table in ["tab", "other"] {
        for pk in ["a", "b", "c", "d"] {
            twin.ok(
                "PutItem",
                &json!({"TableName": table, "Item": {"pk": {"S": pk}, "s": {"S": "text"}}}),
            );
        }
    }
    twin
}

/// Throttles the operation in a partition of every table.
fn throttle(twin: &Twin, operation: &str, pk: &str) {
    let rule = Rule::new(Verdict::Throttle(None)).operation(operation);
    twin.engine
        .add_fault(rule.key(KeyMatch::Partition(pk.to_owned())))
        .unwrap();
}

fn items(twin: &Twin) -> [Value; 2] {
    ["tab", "other"].map(|table| twin.ok("Scan", &json!({"TableName": table}))["Items"].clone())
}

/// Checks the reasons of a transaction that fails, and that it has written nothing.
fn check(twin: &Twin, operation: &str, body: &Value, expect: &[&str]) {
    let before = items(twin);
    let (status, answer) = twin.send(operation, body);
    assert_eq!(status, 400, "{operation} {body}: {answer}");
    let reasons = answer["CancellationReasons"].as_array();
    let reasons = reasons.unwrap_or_else(|| panic!("{operation} {body}: {answer}"));
    let codes: Vec<&str> = reasons.iter().filter_map(|reason| reason["Code"].as_str()).collect();
    assert_eq!(codes, expect, "{operation} {body}: {answer}");
    for reason in reasons {
        assert_eq!(
            reason["Code"] == "None",
            reason["Message"].is_null(),
            "{operation} {body}: {reason}"
        );
    }
    let listed = format!("specific reasons [{}]", expect.join(", "));
    assert!(error_text(&answer).ends_with(&listed), "{operation} {body}: {answer}");
    assert_eq!(items(twin), before, "{operation} {body}");
}

/// The orders of `count` entries in which the entry `failing` stands at each position.
fn positions<T: Clone>(failing: &T, others: &[T]) -> Vec<Vec<T>> {
    let at = |at: usize| [&others[..at], std::slice::from_ref(failing), &others[at..]].concat();
    (0..=others.len()).map(at).collect()
}

/// Each kind of action that fails, and its reason.
fn failing_actions() -> Vec<(Value, &'static str)> {
    let long = "x".repeat(2049);
    let key = json!({"pk": {"S": "d"}});
    let wrong = json!({"pk": {"N": "1"}});
    let update = |key: &Value, expression: &str| {
        json!({"Update": {"TableName": "tab", "Key": key, "UpdateExpression": expression,
            "ExpressionAttributeValues": {":v": {"N": "1"}}}})
    };
    let put = |item: Value| json!({"Put": {"TableName": "tab", "Item": item}});
    let missing = "attribute_not_exists(pk)";
    vec![
        (put(json!({"pk": {"N": "1"}})), INVALID),
        (put(json!({"q": {"S": "d"}})), INVALID),
        (put(json!({"pk": {"S": "d"}, "g": {"N": "1"}})), INVALID),
        (put(json!({"pk": {"S": long}})), INVALID),
        (json!({"Delete": {"TableName": "tab", "Key": wrong}}), INVALID),
        (
            json!({"Delete": {"TableName": "other", "Key": {"pk": {"S": "d"}, "sk": {"S": "d"}}}}),
            INVALID,
        ),
        (
            json!({"ConditionCheck": {"TableName": "tab", "Key": wrong, "ConditionExpression": missing}}),
            INVALID,
        ),
        (update(&wrong, "SET v = :v"), INVALID),
        (update(&key, "SET pk = :v"), INVALID),
        // These fail when the item is read.
        (update(&key, "SET g = :v"), INVALID),
        (update(&key, "ADD s :v"), INVALID),
        (update(&key, "SET v = w + :v"), INVALID),
        (
            json!({"ConditionCheck": {"TableName": "tab", "Key": key, "ConditionExpression": missing}}),
            FAILED,
        ),
        (
            json!({"Delete": {"TableName": "tab", "Key": key, "ConditionExpression": missing}}),
            FAILED,
        ),
        (
            json!({"Put": {"TableName": "other", "Item": key, "ConditionExpression": missing}}),
            FAILED,
        ),
    ]
}

#[test]
fn actions_that_fail_do_not_move_the_reason_of_a_throttle() {
    let put = |pk: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": pk}, "new": {"BOOL": true}}}});
    let others = [(put("a"), "None"), (put("b"), "None"), (put("c"), "None")];
    for throttled in ["a", "b", "c"] {
        let twin = twin();
        throttle(&twin, "TransactWriteItems", throttled);
        for failing in failing_actions() {
            for actions in positions(&failing, &others) {
                let expect: Vec<&str> = actions
                    .iter()
                    .map(|(action, code)| if *action == put(throttled) { THROTTLED } else { code })
                    .collect();
                let sent: Vec<&Value> = actions.iter().map(|(action, _)| action).collect();
                check(&twin, "TransactWriteItems", &json!({"TransactItems": sent}), &expect);
            }
        }
    }
}

#[test]
fn several_actions_that_fail_have_their_own_reasons() {
    let put = |table: &str, pk: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": pk}}}});
    let wrong = |pk: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": pk}, "g": {"N": "1"}}}});
    let unmet = |pk: &str| {
        json!({"Delete": {"TableName": "other", "Key": {"pk": {"S": pk}},
            "ConditionExpression": "attribute_not_exists(pk)"}})
    };
    let twin = twin();
    throttle(&twin, "TransactWriteItems", "b");
    for (actions, expect) in [
        (
            vec![wrong("a"), wrong("c"), put("tab", "b"), put("tab", "d")],
            vec![INVALID, INVALID, THROTTLED, "None"],
        ),
        (
            vec![wrong("a"), put("tab", "b"), wrong("c"), put("other", "b")],
            vec![INVALID, THROTTLED, INVALID, THROTTLED],
        ),
        // Neither a throttled action nor one that is wrong is tried.
        (
            vec![unmet("b"), unmet("a"), put("other", "c")],
            vec![THROTTLED, FAILED, "None"],
        ),
        (
            vec![wrong("b"), unmet("b"), unmet("a")],
            vec![INVALID, THROTTLED, FAILED],
        ),
        (
            vec![unmet("a"), wrong("b"), unmet("d"), unmet("b")],
            vec![FAILED, INVALID, FAILED, THROTTLED],
        ),
    ] {
        check(&twin, "TransactWriteItems", &json!({"TransactItems": actions}), &expect);
    }
}

/// A rule of an index meets each write of its table.
#[test]
fn a_throttled_index_is_the_reason_of_the_writes_of_its_table() {
    let put = |table: &str, pk: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": pk}}}});
    let wrong = json!({"Put": {"TableName": "other", "Item": {"pk": {"N": "1"}}}});
    let twin = twin();
    let rule = Rule::new(Verdict::Throttle(None)).operation("TransactWriteItems");
    twin.engine.add_fault(rule.index("by-g")).unwrap();
    for (actions, expect) in [
        (
            vec![put("other", "a"), put("tab", "a"), put("other", "b")],
            vec!["None", THROTTLED, "None"],
        ),
        (
            vec![wrong.clone(), put("other", "a"), put("tab", "a")],
            vec![INVALID, "None", THROTTLED],
        ),
        (
            vec![put("tab", "a"), wrong, put("other", "a"), put("tab", "b")],
            vec![THROTTLED, INVALID, "None", THROTTLED],
        ),
    ] {
        check(&twin, "TransactWriteItems", &json!({"TransactItems": actions}), &expect);
    }
}

#[test]
fn statements_that_fail_do_not_move_the_reason_of_a_throttle() {
    let insert = |pk: &str| json!({"Statement": format!("INSERT INTO other VALUE {{'pk': '{pk}'}}")});
    let delete = |pk: &str| json!({"Statement": format!("DELETE FROM tab WHERE pk = '{pk}'")});
    let others = [(delete("a"), "None"), (delete("b"), "None"), (delete("c"), "None")];
    for throttled in ["a", "b", "c"] {
        let twin = twin();
        throttle(&twin, "ExecuteTransaction", throttled);
        for (text, code) in [
            ("INSERT INTO tab VALUE {'pk': 1}", INVALID),
            ("INSERT INTO tab VALUE {'pk': 'e', 'g': 1}", INVALID),
            ("DELETE FROM tab WHERE pk = 1", INVALID),
            ("UPDATE tab SET v = 1 WHERE pk = 1", INVALID),
            ("UPDATE tab SET v = 1 WHERE pk = 'e'", FAILED),
            ("DELETE FROM tab WHERE pk = 'd' AND s = 'other'", FAILED),
            ("EXISTS(SELECT * FROM other WHERE pk = 'd' AND s = 'other')", FAILED),
            ("INSERT INTO other VALUE {'pk': 'd'}", "DuplicateItem"),
            ("DELETE FROM nosuch WHERE pk = 'd'", "ResourceNotFound"),
        ] {
            for statements in positions(&(json!({"Statement": text}), code), &others) {
                let expect: Vec<&str> = statements
                    .iter()
                    .map(|(sent, code)| if *sent == delete(throttled) { THROTTLED } else { code })
                    .collect();
                let sent: Vec<&Value> = statements.iter().map(|(sent, _)| sent).collect();
                check(
                    &twin,
                    "ExecuteTransaction",
                    &json!({"TransactStatements": sent}),
                    &expect,
                );
            }
        }
        // A throttled statement is not executed: that its item exists is not the reason.
        let sent = [insert("e"), insert(throttled)];
        check(
            &twin,
            "ExecuteTransaction",
            &json!({"TransactStatements": sent}),
            &["None", THROTTLED],
        );
    }
}

/// Reads are all planned before one of them is throttled.
#[test]
fn reads_that_cannot_be_planned_cancel_alone() {
    let get = |table: &str, pk: Value| json!({"Get": {"TableName": table, "Key": {"pk": pk}}});
    let good = |pk: &str| get("tab", json!({"S": pk}));
    let wrong = || get("other", json!({"N": "1"}));
    let twin = twin();
    throttle(&twin, "TransactGetItems", "b");
    for (actions, expect) in [
        (vec![good("a"), good("b"), good("c")], vec!["None", THROTTLED, "None"]),
        (
            vec![good("b"), get("other", json!({"S": "b"}))],
            vec![THROTTLED, THROTTLED],
        ),
        (
            vec![good("a"), get("other", json!({"S": "b"}))],
            vec!["None", THROTTLED],
        ),
        (vec![wrong(), good("a"), good("b")], vec![INVALID, "None", "None"]),
        (vec![good("b"), wrong(), good("c")], vec!["None", INVALID, "None"]),
        (vec![good("c"), good("b"), wrong()], vec!["None", "None", INVALID]),
    ] {
        check(&twin, "TransactGetItems", &json!({"TransactItems": actions}), &expect);
    }
}
