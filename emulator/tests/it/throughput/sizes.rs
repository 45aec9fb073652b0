//! The sizes of partitions: what is not written counts in none, however it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::{Capacity, Clock, Conditions, Enforcement, Engine, Lag, Moment};
use serde_json::{Value, json};

use super::heat;

/// A sink of commits that may be full.
struct Sink(AtomicBool);

impl CommitSink for Sink {
    fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(AppendError::new("disk full"));
        }
        Ok(())
    }
}

/// What makes a write fail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    /// Nothing: it is applied.
    None,
    Condition,
    Throttle,
    ServerError,
    /// The sink of commits refuses it.
    Sink,
    /// Memory is full.
    Memory,
    /// A transaction in flight holds the item.
    Conflict,
}

fn bytes(twin: &Twin) -> (u64, Value) {
    let of_partitions = heat(twin).resources[0].partitions.iter().map(|each| each.bytes).sum();
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    (of_partitions, described["Table"]["TableSizeBytes"].clone())
}

/// A restored or forked table has the sizes of its partitions, and those of its indexes.
#[test]
fn copies_have_the_sizes_of_their_original() {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "Projection": {"ProjectionType": "KEYS_ONLY"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}]});
    twin.ok("CreateTable", &create);
    for at in 0..50 {
        let item = json!({"pk": {"S": at.to_string()}, "g": {"S": "x".repeat(at)}, "v": {"S": "y".repeat(100 * at)}});
        let item = if at == 0 { json!({"pk": {"S": "0"}}) } else { item };
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let sizes = |engine: &Engine| -> Vec<Vec<u64>> {
        let heat = engine.account(&twin.caller).heat("tab").unwrap();
        let resources = heat.resources.iter();
        resources
            .map(|each| each.partitions.iter().map(|partition| partition.bytes).collect())
            .collect()
    };
    let before = sizes(&twin.engine);
    assert!(
        before.len() == 2 && before.iter().flatten().sum::<u64>() > 100_000,
        "{before:?}"
    );
    assert_eq!(
        sizes(&twin.engine.fork(Clock::settable(Moment::START)).unwrap()),
        before
    );
    twin.engine.restore(&twin.engine.snapshot()).unwrap();
    assert_eq!(sizes(&twin.engine), before);
}

#[test]
fn a_write_that_fails_counts_in_no_size() {
    let long = "x".repeat(3000);
    let on_tab = |mut body: Value, is_unmet: bool| {
        body["TableName"] = "tab".into();
        if is_unmet {
            body["ConditionExpression"] = "attribute_exists(nothing)".into();
        }
        body
    };
    let key = |pk: &str| json!({"pk": {"S": pk}});
    let item = |pk: &str| json!({"pk": {"S": pk}, "v": {"S": long}});
    let put = |pk: &str, is_unmet| on_tab(json!({"Item": item(pk)}), is_unmet);
    let delete = |pk: &str, is_unmet| on_tab(json!({"Key": key(pk)}), is_unmet);
    let update = |pk: &str, is_unmet| {
        let values = json!({":v": {"S": long}});
        let update = json!({"Key": key(pk), "UpdateExpression": "SET v = :v", "ExpressionAttributeValues": values});
        on_tab(update, is_unmet)
    };
    let batch = json!([{"PutRequest": {"Item": item("a")}}, {"DeleteRequest": {"Key": key("b")}}]);
    let statement = |condition: bool| {
        let condition = if condition { " AND nothing = 1" } else { "" };
        let statement = format!("UPDATE tab SET v = ? WHERE pk = 'a'{condition}");
        json!({"Statement": statement, "Parameters": [{"S": long}]})
    };
    use Cause::{Condition, Conflict, Memory, ServerError, Throttle};
    for cause in [
        Cause::None,
        Condition,
        Throttle,
        ServerError,
        Cause::Sink,
        Memory,
        Conflict,
    ] {
        let unmet = cause == Condition;
        let rows: Vec<(&str, Value)> = vec![
            ("PutItem", put("a", unmet)),
            ("PutItem", put("new", unmet)),
            ("UpdateItem", update("a", unmet)),
            ("UpdateItem", update("new", unmet)),
            ("DeleteItem", delete("a", unmet)),
            ("BatchWriteItem", json!({"RequestItems": {"tab": batch}})),
            (
                "TransactWriteItems",
                json!({"TransactItems": [{"Put": put("a", false)}, {"Delete": delete("b", unmet)}]}),
            ),
            (
                "TransactWriteItems",
                json!({"TransactItems": [{"Update": update("new", unmet)}, {"Put": put("b", false)}]}),
            ),
            ("ExecuteStatement", statement(unmet)),
            ("BatchExecuteStatement", json!({"Statements": [statement(unmet)]})),
            ("ExecuteTransaction", json!({"TransactStatements": [statement(unmet)]})),
        ];
        for (operation, body) in rows {
            if (cause, operation) == (Condition, "BatchWriteItem") {
                // It has no conditions.
                continue;
            }
            let twin = Twin::new(1);
            let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
            twin.ok("CreateTable", &create);
            let conditions = Conditions {
                capacity: Capacity::Enforced(Enforcement::AWS),
                transaction_time: Lag::Fixed(Duration::from_secs(5)),
                ..Conditions::CALM
            };
            twin.engine.set_conditions(conditions).unwrap();
            for pk in ["a", "b"] {
                let item = json!({"pk": {"S": pk}, "v": {"S": "short"}});
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
            }
            let before = bytes(&twin);
            let sink = Arc::new(Sink(AtomicBool::new(false)));
            match cause {
                Cause::None | Condition => {}
                Throttle => drop(twin.engine.add_fault(Rule::new(Verdict::Throttle(None)))),
                ServerError => drop(twin.engine.add_fault(Rule::new(Verdict::InternalServerError))),
                Cause::Sink => {
                    twin.engine.attach_sink(sink.clone(), 0);
                    sink.0.store(true, Ordering::Relaxed);
                }
                Memory => twin.engine.refuse_growth(true),
                Conflict => {
                    let checks = ["a", "b", "new"].map(|pk| {
                        let condition = "attribute_not_exists(nothing)";
                        json!({"ConditionCheck": {"TableName": "tab", "Key": key(pk), "ConditionExpression": condition}})
                    });
                    twin.ok("TransactWriteItems", &json!({"TransactItems": checks}));
                }
            }
            twin.send(operation, &body);
            sink.0.store(false, Ordering::Relaxed);
            twin.engine.faults().clear();
            twin.engine.advance(Duration::from_secs(10));
            let (of_partitions, of_table) = bytes(&twin);
            assert_eq!(json!(of_partitions), of_table, "{cause:?} {operation} {body}");
            // Deletes make room.
            let may_change = cause == Cause::None || cause == Memory && body.to_string().contains("\"Key\"");
            let changed = (of_partitions, of_table) != before;
            assert!(may_change || !changed, "{cause:?} {operation} {body}");
            assert!(cause != Cause::None || changed, "{operation} {body}");
        }
    }
}
