//! Client tokens: what makes a request a repetition of an earlier one, and how long.

use std::time::Duration;

use crate::common::{Twin, caller, error_text};
use dynatwin_engine::Caller;
use serde_json::{Value, json};

/// The result of a request with the token of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// A repetition: nothing is written.
    Repeated,
    /// Another request under the same token.
    Mismatch,
    /// A request of its own.
    New,
}
use Outcome::{Mismatch, New, Repeated};

/// Sets up the tables `tab` and `other` of a caller.
fn create(twin: &Twin, caller: &Caller) {
    for table in ["tab", "other"] {
        let request = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]});
        assert_eq!(send(twin, caller, "CreateTable", &request).0, 200);
    }
}

fn send(twin: &Twin, caller: &Caller, operation: &str, body: &Value) -> (u16, Value) {
    let answer = twin.engine.dispatch(caller, operation, body.to_string().as_bytes());
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Sends a transaction, and tells its outcome from the sum of the writes to the items `a` and `b`.
fn outcome(twin: &Twin, caller: &Caller, operation: &str, body: &Value) -> Outcome {
    let before = written(twin, caller);
    let (status, answer) = send(twin, caller, operation, body);
    let changed = written(twin, caller) != before;
    match (status, changed) {
        (200, true) => New,
        (200, false) => Repeated,
        _ => {
            let mismatch = "IdempotentParameterMismatchException: Specified idempotent token was used with different request parameters within the idempotency window";
            assert_eq!(error_text(&answer), mismatch, "{operation} {body}");
            assert!(!changed, "{operation} {body}");
            Mismatch
        }
    }
}

fn written(twin: &Twin, caller: &Caller) -> Vec<Value> {
    let scan = |table: &str| send(twin, caller, "Scan", &json!({"TableName": table})).1["Items"].clone();
    ["tab", "other"].map(scan).into()
}

/// Adds one to `n` of an item.
fn update(pk: &str) -> Value {
    json!({"Update": {"TableName": "tab", "Key": {"pk": {"S": pk}}, "UpdateExpression": "ADD #n :one",
        "ConditionExpression": "attribute_not_exists(#x) OR #n < :most",
        "ExpressionAttributeNames": {"#n": "n", "#x": "x"},
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":most": {"N": "100"}}}})
}

/// The request with a member of its first action replaced.
fn changed(path: &str, value: &Value) -> Value {
    let mut first = update("a");
    *first.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value.clone();
    json!({"TransactItems": [first, update("b")]})
}

fn added(name: &str, value: &Value) -> Value {
    let mut request = json!({"TransactItems": [update("a"), update("b")]});
    request["TransactItems"][0]["Update"][name] = value.clone();
    request
}

/// Requests after one with the actions `update("a")` and `update("b")`.
fn actions() -> Vec<(&'static str, Value, Outcome)> {
    let whole = |items: Value, more: Value| {
        let mut request = json!({"TransactItems": items});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    let both = json!([update("a"), update("b")]);
    let check = json!({"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "z"}}, "ConditionExpression": "attribute_not_exists(pk)"}});
    vec![
        ("the same request", whole(both.clone(), json!({})), Repeated),
        (
            "units",
            whole(both.clone(), json!({"ReturnConsumedCapacity": "TOTAL"})),
            Repeated,
        ),
        (
            "units by index",
            whole(both.clone(), json!({"ReturnConsumedCapacity": "INDEXES"})),
            Repeated,
        ),
        ("another table", changed("/Update/TableName", &json!("other")), Mismatch),
        ("another key", changed("/Update/Key/pk/S", &json!("c")), Mismatch),
        (
            "another update",
            changed("/Update/UpdateExpression", &json!("SET #n = :one")),
            Mismatch,
        ),
        (
            "another condition",
            changed(
                "/Update/ConditionExpression",
                &json!("attribute_not_exists(#x) OR #n <= :most"),
            ),
            Mismatch,
        ),
        (
            "another name",
            changed("/Update/ExpressionAttributeNames/#x", &json!("y")),
            Mismatch,
        ),
        (
            "another value",
            changed("/Update/ExpressionAttributeValues/:one/N", &json!("2")),
            Mismatch,
        ),
        (
            "a value of another type",
            changed("/Update/ExpressionAttributeValues/:most", &json!({"S": "100"})),
            Mismatch,
        ),
        (
            "the failed item",
            added("ReturnValuesOnConditionCheckFailure", &json!("ALL_OLD")),
            Mismatch,
        ),
        (
            "another order",
            whole(json!([update("b"), update("a")]), json!({})),
            Mismatch,
        ),
        (
            "the first action alone",
            whole(json!([update("a")]), json!({})),
            Mismatch,
        ),
        (
            "the second action alone",
            whole(json!([update("b")]), json!({})),
            Mismatch,
        ),
        (
            "another action",
            whole(json!([update("a"), update("b"), update("c")]), json!({})),
            Mismatch,
        ),
        (
            "another condition check",
            whole(json!([update("a"), update("b"), check]), json!({})),
            Mismatch,
        ),
        (
            "another kind of action",
            whole(
                json!([update("a"), {"Delete": {"TableName": "tab", "Key": {"pk": {"S": "b"}}}}]),
                json!({}),
            ),
            Mismatch,
        ),
    ]
}

/// Statements that add to the items `a` and `b`, whose values are parameters.
fn statements() -> Vec<(&'static str, Value, Outcome)> {
    let statement = |text: &str, parameters: Value| json!({"Statement": text, "Parameters": parameters});
    let text = "UPDATE tab SET n = n + ? WHERE pk = ?";
    let of = |pk: &str, by: &str| statement(text, json!([{"N": by}, {"S": pk}]));
    let whole = |statements: Value| json!({"TransactStatements": statements});
    let both = || whole(json!([of("a", "1"), of("b", "1")]));
    let with = |name: &str, value: Value| {
        let mut request = both();
        request[name] = value;
        request
    };
    let mut shown = both();
    shown["TransactStatements"][1]["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
    vec![
        ("the same request", both(), Repeated),
        ("units", with("ReturnConsumedCapacity", json!("TOTAL")), Repeated),
        (
            "another first parameter",
            whole(json!([of("a", "2"), of("b", "1")])),
            Mismatch,
        ),
        (
            "another parameter of the second statement",
            whole(json!([of("a", "1"), of("b", "2")])),
            Mismatch,
        ),
        (
            "another key in the parameters",
            whole(json!([of("a", "1"), of("c", "1")])),
            Mismatch,
        ),
        (
            "the parameters of the statements exchanged",
            whole(json!([of("b", "1"), of("a", "1")])),
            Mismatch,
        ),
        ("a statement fewer", whole(json!([of("a", "1")])), Mismatch),
        (
            "a statement more",
            whole(json!([of("a", "1"), of("b", "1"), of("c", "1")])),
            Mismatch,
        ),
        (
            "another text",
            whole(json!([
                of("a", "1"),
                statement("UPDATE tab SET n = ? WHERE pk = ?", json!([{"N": "1"}, {"S": "b"}]))
            ])),
            Mismatch,
        ),
        (
            "another table in the text",
            whole(json!([
                of("a", "1"),
                statement(
                    "UPDATE other SET n = n + ? WHERE pk = ?",
                    json!([{"N": "1"}, {"S": "b"}])
                )
            ])),
            Mismatch,
        ),
        ("the failed item", shown, Mismatch),
    ]
}

fn with_token(mut request: Value) -> Value {
    request["ClientRequestToken"] = "token".into();
    request
}

/// Returns a twin with the items `a` to `c` in both tables, after the request with the token.
fn after(operation: &str, first: &Value) -> Twin {
    let twin = Twin::new(1);
    create(&twin, &twin.caller);
    for table in ["tab", "other"] {
        for pk in ["a", "b", "c"] {
            twin.ok(
                "PutItem",
                &json!({"TableName": table, "Item": {"pk": {"S": pk}, "n": {"N": "0"}}}),
            );
        }
    }
    assert_eq!(outcome(&twin, &twin.caller, operation, &with_token(first.clone())), New);
    twin
}

/// A request is repeated by its content: the order of members, aliases and attributes makes no difference.
#[test]
fn the_order_of_members_is_not_part_of_a_request() {
    let first = r##"{"ClientRequestToken":"t","TransactItems":[{"Update":{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET #a = :a, #b = :b","ExpressionAttributeNames":{"#a":"a","#b":"b"},"ExpressionAttributeValues":{":a":{"N":"1"},":b":{"M":{"c":{"N":"1"},"d":{"N":"2"}}}}}},{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"},"n":{"N":"1"}}}}]}"##;
    for (from, to) in [
        (r#""pk":{"S":"b"},"n":{"N":"1"}"#, r#""n":{"N":"1"},"pk":{"S":"b"}"#),
        (r##""#a":"a","#b":"b""##, r##""#b":"b","#a":"a""##),
        (r#""c":{"N":"1"},"d":{"N":"2"}"#, r#""d":{"N":"2"},"c":{"N":"1"}"#),
        (
            r#"":a":{"N":"1"},":b":{"M":{"c":{"N":"1"},"d":{"N":"2"}}}"#,
            r#"":b":{"M":{"c":{"N":"1"},"d":{"N":"2"}}},":a":{"N":"1"}"#,
        ),
        (
            r#""TableName":"tab","Key":{"pk":{"S":"a"}}"#,
            r#""Key":{"pk":{"S":"a"}},"TableName":"tab""#,
        ),
    ] {
        let (twin, caller) = (Twin::new(1), caller());
        create(&twin, &caller);
        let repeated = first.replace(from, to);
        assert_ne!(first, repeated);
        for body in [first, &repeated] {
            let answer = twin.engine.dispatch(&caller, "TransactWriteItems", body.as_bytes());
            assert_eq!((answer.status, &answer.body[..]), (200, &b"{}"[..]), "{body}");
        }
    }
}

#[test]
fn every_part_of_a_transaction_belongs_to_its_token() {
    for (operation, requests) in [("TransactWriteItems", actions()), ("ExecuteTransaction", statements())] {
        let first = &requests[0].1;
        for (what, request, expect) in &requests {
            let twin = after(operation, first);
            let caller = &twin.caller;
            let request = with_token(request.clone());
            assert_eq!(
                outcome(&twin, caller, operation, &request),
                *expect,
                "{operation}: {what}"
            );
            // A mismatch leaves the token as it was, and another token makes another request.
            assert_eq!(
                outcome(&twin, caller, operation, &with_token(first.clone())),
                Repeated,
                "{operation}: {what}"
            );
            let mut other = request;
            for token in ["Token", "token ", "toke", "another"] {
                other["ClientRequestToken"] = token.into();
                let (status, answer) = send(&twin, caller, operation, &other);
                assert_ne!(
                    error_text(&answer).split(':').next(),
                    Some("IdempotentParameterMismatchException"),
                    "{what} {token}"
                );
                assert!(
                    status == 200 || answer["CancellationReasons"].is_array(),
                    "{what} {token}: {answer}"
                );
            }
        }
    }
}

#[test]
fn a_token_belongs_to_an_account_and_a_region() {
    let caller = |access_key: &str, region: &str| Caller {
        access_key: access_key.into(),
        region: region.into(),
    };
    let first = caller("111111111111", "us-east-1");
    for (operation, request) in [
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}}}}]}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": "INSERT INTO tab VALUE {'pk': 'a'}"}]}),
        ),
    ] {
        let twin = Twin::new(1);
        let request = with_token(request);
        let callers = [
            first.clone(),
            caller("111111111111", "eu-west-1"),
            caller("222222222222", "us-east-1"),
        ];
        for caller in &callers {
            create(&twin, caller);
        }
        for caller in &callers {
            assert_eq!(
                outcome(&twin, caller, operation, &request),
                New,
                "{operation} {caller:?}"
            );
        }
        for caller in &callers {
            assert_eq!(
                outcome(&twin, caller, operation, &request),
                Repeated,
                "{operation} {caller:?}"
            );
        }
    }
}

/// Ten minutes from the end of the request. A repetition does not make them longer.
#[test]
fn a_token_is_forgotten_after_ten_minutes() {
    for (operation, requests) in [("TransactWriteItems", actions()), ("ExecuteTransaction", statements())] {
        let (same, other) = (with_token(requests[0].1.clone()), with_token(requests[4].1.clone()));
        for (seconds, expect) in [(0, Repeated), (300, Repeated), (599, Repeated), (600, New), (601, New)] {
            let twin = after(operation, &requests[0].1);
            twin.engine.advance(Duration::from_secs(seconds / 2));
            assert_eq!(outcome(&twin, &twin.caller, operation, &same), Repeated);
            twin.engine.advance(Duration::from_secs(seconds - seconds / 2));
            assert_eq!(
                outcome(&twin, &twin.caller, operation, &same),
                expect,
                "{operation} after {seconds} s"
            );
            let twin = after(operation, &requests[0].1);
            twin.engine.advance(Duration::from_secs(seconds));
            let expect = if expect == New { New } else { Mismatch };
            assert_eq!(
                outcome(&twin, &twin.caller, operation, &other),
                expect,
                "{operation} after {seconds} s"
            );
        }
    }
}
