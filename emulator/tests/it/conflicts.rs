//! Pending transactions: the locks on their items, the conflicts of other requests, and when they are applied.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{Choice, Twin, create_table_with_ttl, setting};
use dynatwin_engine::{Clock, Conditions, Lag, Moment, TimeToLive};
use serde_json::{Value, json};

const FLIGHT: Duration = Duration::from_millis(50);

fn flying(lag: Lag) -> Conditions {
    Conditions {
        transaction_time: lag,
        ..Conditions::CALM
    }
}

/// Returns a twin on whose table transactions are pending for 50 ms.
fn twin() -> Twin {
    let twin = Twin::new(7);
    twin.engine.set_conditions(flying(Lag::Fixed(FLIGHT))).unwrap();
    create_table_with_ttl(&twin);
    twin
}

fn key(pk: &str) -> Value {
    json!({"TableName": "tab", "Key": {"pk": {"S": pk}}})
}

fn put(pk: &str, v: &str) -> Value {
    json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "v": {"S": v}, "g": {"S": "x"}}})
}

fn transaction(actions: &[Value]) -> Value {
    json!({"TransactItems": actions})
}

fn stored(twin: &Twin, pk: &str) -> Option<String> {
    let mut body = key(pk);
    body["ConsistentRead"] = true.into();
    let answer = twin.ok("GetItem", &body);
    answer["Item"]["v"]["S"].as_str().map(str::to_owned)
}

fn kind(answer: &Value) -> &str {
    answer["__type"]
        .as_str()
        .unwrap_or("success")
        .rsplit('#')
        .next()
        .unwrap()
}

fn codes(answer: &Value) -> Vec<&str> {
    let reasons = answer["CancellationReasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["Code"].as_str().unwrap()).collect()
}

/// Starts a transaction that puts `a`, deletes `b` and checks `c`.
fn begin(twin: &Twin) -> Moment {
    let mut check = key("c");
    check["ConditionExpression"] = "attribute_not_exists(nothing)".into();
    let body = transaction(&[
        json!({"Put": put("a", "new")}),
        json!({"Delete": key("b")}),
        json!({"ConditionCheck": check}),
    ]);
    let answer = twin
        .engine
        .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
    assert_eq!(answer.status, 200);
    answer.at
}

#[test]
fn a_transaction_is_applied_when_it_is_answered() {
    let twin = twin();
    twin.ok("PutItem", &put("b", "old"));
    let start = twin.engine.clock().now();
    twin.engine.run_due();
    let at = begin(&twin);
    assert_eq!(at, start.plus(FLIGHT));
    assert_eq!(twin.engine.next_due(), at);
    twin.engine.clock().set(at.minus(Duration::from_micros(1)));
    assert_eq!((stored(&twin, "a"), stored(&twin, "b")), (None, Some("old".into())));
    // The next request applies it.
    twin.engine.clock().set(at);
    assert_eq!((stored(&twin, "a"), stored(&twin, "b")), (Some("new".into()), None));
    twin.engine.run_due();
    assert_eq!(twin.engine.next_due(), Moment::NEVER);
}

#[test]
fn writes_to_locked_items_are_refused() {
    let twin = twin();
    twin.ok("PutItem", &put("b", "old"));
    begin(&twin);
    let mut update = key("a");
    update["UpdateExpression"] = "SET v = :v".into();
    update["ExpressionAttributeValues"] = json!({":v": {"S": "mine"}});
    let check_fails =
        json!({"TableName": "tab", "Key": {"pk": {"S": "free"}}, "ConditionExpression": "attribute_exists(pk)"});
    for (operation, body) in [
        ("PutItem", put("a", "mine")),
        ("UpdateItem", update.clone()),
        ("DeleteItem", key("b")),
        // An item with only a condition check is locked as well.
        ("PutItem", put("c", "mine")),
    ] {
        let (status, answer) = twin.send(operation, &body);
        assert_eq!(
            (status, kind(&answer)),
            (400, "TransactionConflictException"),
            "{operation} {body}"
        );
        assert_eq!(answer["message"], "Transaction is ongoing for the item");
    }
    // Every action has its own reason, in the order of the request.
    let (_, answer) = twin.send(
        "TransactWriteItems",
        &transaction(&[
            json!({"Put": put("other", "mine")}),
            json!({"Update": update}),
            json!({"ConditionCheck": check_fails}),
            json!({"Put": put("c", "mine")}),
        ]),
    );
    let expected = [
        "None",
        "TransactionConflict",
        "ConditionalCheckFailed",
        "TransactionConflict",
    ];
    assert_eq!(
        (kind(&answer), codes(&answer)),
        ("TransactionCanceledException", expected.to_vec())
    );
    assert_eq!(
        answer["Message"],
        "Transaction cancelled, please refer cancellation reasons for specific reasons \
         [None, TransactionConflict, ConditionalCheckFailed, TransactionConflict]"
    );
    assert_eq!(
        answer["CancellationReasons"][1],
        json!({"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"})
    );
    let (_, answer) = twin.send(
        "TransactGetItems",
        &transaction(&[
            json!({"Get": key("b")}),
            json!({"Get": key("free")}),
            json!({"Get": key("a")}),
        ]),
    );
    assert_eq!(codes(&answer), ["TransactionConflict", "None", "TransactionConflict"]);
    // Plain reads return the current state, and unlocked items can be written.
    assert_eq!(stored(&twin, "b"), Some("old".into()));
    twin.ok("PutItem", &put("free", "mine"));
    let scanned = twin.ok("Scan", &json!({"TableName": "tab"}));
    assert_eq!(scanned["Count"], 2);
    twin.engine.advance(FLIGHT);
    twin.ok("PutItem", &put("a", "mine"));
    assert_eq!(
        (stored(&twin, "a"), stored(&twin, "other")),
        (Some("mine".into()), None)
    );
}

#[test]
fn a_batch_returns_locked_items_as_unprocessed() {
    let twin = twin();
    begin(&twin);
    let batch = |keys: &[&str]| {
        let puts: Vec<Value> = keys
            .iter()
            .map(|pk| json!({"PutRequest": {"Item": put(pk, "mine")["Item"]}}))
            .collect();
        json!({"RequestItems": {"tab": puts}})
    };
    let answer = twin.ok("BatchWriteItem", &batch(&["a", "free"]));
    assert_eq!(answer["UnprocessedItems"], batch(&["a"])["RequestItems"]);
    assert_eq!(stored(&twin, "free"), Some("mine".into()));
    let answer = twin.ok("BatchWriteItem", &batch(&["a"]));
    assert_eq!(answer["UnprocessedItems"], batch(&["a"])["RequestItems"]);
}

/// A transaction of several tables takes as long as that of the slowest, and locks the items of all until then.
#[test]
fn a_transaction_takes_the_time_of_its_slowest_table() {
    let second = Duration::from_secs(1);
    for (of_tab, of_other, takes) in [(0, 0, 0), (0, 3, 3), (3, 0, 3), (2, 5, 5), (5, 2, 5)] {
        for first in ["tab", "other"] {
            let twin = Twin::new(7);
            create_table_with_ttl(&twin);
            twin.ok(
                "CreateTable",
                &json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
            );
            for (table, seconds) in [("tab", of_tab), ("other", of_other)] {
                let lag = Lag::Fixed(second * seconds);
                let account = twin.engine.account(&twin.caller);
                account.set_table_conditions(table, flying(lag)).unwrap();
            }
            let second_table = if first == "tab" { "other" } else { "tab" };
            let put = |table: &str, v: &str| json!({"TableName": table, "Item": {"pk": {"S": "a"}, "v": {"S": v}}});
            let begun = twin.send(
                "TransactWriteItems",
                &transaction(&[
                    json!({"Put": put(first, "new")}),
                    json!({"Put": put(second_table, "new")}),
                ]),
            );
            assert_eq!(begun.0, 200, "{}", begun.1);
            for at in 0..=takes {
                let about = format!("{of_tab} {of_other}, {first} first, after {at} s");
                for table in ["tab", "other"] {
                    let (status, answer) = twin.send("PutItem", &put(table, "mine"));
                    let expect = if at < takes {
                        (400, "TransactionConflictException")
                    } else {
                        (200, "success")
                    };
                    assert_eq!((status, kind(&answer)), expect, "{about}: {table}");
                }
                twin.engine.advance(second);
            }
        }
    }
}

#[test]
fn a_concurrent_request_with_the_same_token_is_in_progress() {
    let twin = twin();
    let mut body = transaction(&[json!({"Put": put("a", "new")})]);
    body["ClientRequestToken"] = "once".into();
    body["ReturnConsumedCapacity"] = "TOTAL".into();
    let cost = |kind: &str| twin.ok("TransactWriteItems", &body)["ConsumedCapacity"][0][kind].clone();
    assert_eq!(cost("WriteCapacityUnits"), 3.0);
    let (status, answer) = twin.send("TransactWriteItems", &body);
    assert_eq!((status, kind(&answer)), (400, "TransactionInProgressException"));
    let text = "Transaction from previous request is still in progress";
    assert_eq!(answer["Message"], text);
    let mut other = body.clone();
    other["TransactItems"][0] = json!({"Put": put("a", "different")});
    let (_, answer) = twin.send("TransactWriteItems", &other);
    assert_eq!(kind(&answer), "IdempotentParameterMismatchException");
    twin.engine.advance(FLIGHT);
    assert_eq!(cost("ReadCapacityUnits"), 2.0);
    // The ten minutes start when it is applied.
    let moment = Duration::from_millis(1);
    twin.engine.advance(Duration::from_mins(10).saturating_sub(moment));
    assert_eq!(cost("ReadCapacityUnits"), 2.0);
    twin.engine.advance(moment);
    // The index has the item once it is put, and costs nothing.
    assert_eq!(cost("WriteCapacityUnits"), 2.0);
}

#[test]
fn a_failed_transaction_locks_nothing() {
    let twin = twin();
    let mut check = key("b");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    let body = transaction(&[json!({"Put": put("a", "new")}), json!({"ConditionCheck": check})]);
    let answer = twin
        .engine
        .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
    assert_eq!((answer.status, answer.at), (400, twin.engine.clock().now()));
    twin.ok("PutItem", &put("a", "mine"));
    twin.ok("PutItem", &put("b", "mine"));
}

#[test]
fn an_item_that_expires_during_a_transaction_is_deleted_after_it() {
    let lives = |pk: &str, until: Moment| {
        let mut body = put(pk, "old");
        body["Item"]["ttl"] = json!({"N": until.seconds().to_string()});
        body
    };
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(flying(Lag::Fixed(Duration::from_secs(10))))
        .unwrap();
    create_table_with_ttl(&twin);
    let soon = twin.engine.clock().now().plus(Duration::from_secs(5));
    for pk in ["a", "b", "c", "d"] {
        twin.ok("PutItem", &lives(pk, soon));
    }
    let mut check = key("c");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    let longer = soon.plus(Duration::from_secs(100));
    let at = {
        let body = transaction(&[
            json!({"Put": lives("a", longer)}),
            json!({"Delete": key("b")}),
            json!({"ConditionCheck": check}),
        ]);
        twin.ok("TransactWriteItems", &body);
        twin.engine.clock().now().plus(Duration::from_secs(10))
    };
    twin.engine.clock().set(at.minus(Duration::from_secs(1)));
    let there = |twin: &Twin| ["a", "b", "c", "d"].map(|pk| stored(twin, pk).is_some());
    assert_eq!(there(&twin), [true, true, true, false]);
    // A snapshot contains the deletions that wait.
    let fork = Twin {
        engine: twin.engine.fork(Clock::settable(Moment::START)).unwrap(),
        caller: twin.caller.clone(),
    };
    assert_eq!(there(&fork), [true, true, true, false]);
    fork.engine.clock().set(at);
    assert_eq!(there(&fork), [true, false, false, false]);
    twin.engine.clock().set(at);
    assert_eq!(there(&twin), [true, false, false, false]);
    let found = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": "by-g"}));
    assert_eq!(found["Count"], 1);
    twin.engine.clock().set(longer);
    assert_eq!(there(&twin), [false; 4]);
    twin.engine.run_due();
    assert_eq!(twin.engine.next_due(), Moment::NEVER);
    // The condition for deletions may change meanwhile.
    twin.ok("PutItem", &lives("a", longer.plus(Duration::from_secs(5))));
    let mut check = key("a");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    twin.ok("TransactWriteItems", &transaction(&[json!({"ConditionCheck": check})]));
    twin.engine.clock().advance(Duration::from_secs(6));
    let off = Conditions {
        time_to_live: TimeToLive::Off,
        ..flying(Lag::Fixed(Duration::from_secs(10)))
    };
    assert!(stored(&twin, "a").is_some());
    twin.engine.set_conditions(off).unwrap();
    twin.engine.advance(Duration::from_mins(1));
    assert!(stored(&twin, "a").is_some());
}

/// A fork has the pending transactions of its original: what they put, change, remove and check.
#[test]
fn a_fork_executes_the_transactions_that_are_pending() {
    let twin = twin();
    for pk in ["changed", "removed", "checked"] {
        twin.ok("PutItem", &put(pk, "old"));
    }
    let mut update = key("changed");
    update["UpdateExpression"] = "SET v = pk".into();
    let mut check = key("checked");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    let actions = [
        json!({"Put": put("made", "new")}),
        json!({"Update": update}),
        json!({"Delete": key("removed")}),
        json!({"ConditionCheck": check}),
    ];
    twin.ok("TransactWriteItems", &transaction(&actions));
    let fork = Twin {
        engine: twin.engine.fork(Clock::settable(Moment::START)).unwrap(),
        caller: twin.caller.clone(),
    };
    for twin in [&twin, &fork] {
        let state = || ["made", "changed", "removed", "checked"].map(|pk| stored(twin, pk));
        let some = |value: &str| Some(value.to_owned());
        assert_eq!(state(), [None, some("old"), some("old"), some("old")]);
        let (_, answer) = twin.send("PutItem", &put("checked", "mine"));
        assert_eq!(kind(&answer), "TransactionConflictException");
        twin.engine.advance(FLIGHT);
        assert_eq!(state(), [some("new"), some("changed"), None, some("old")]);
        twin.ok("PutItem", &put("checked", "mine"));
    }
}

/// An item that expires while a transaction holds it is read until the transaction ends. So it is deleted at that moment in the
/// stream and in point-in-time recovery too.
#[test]
fn an_item_is_deleted_when_the_transaction_that_held_it_ends() {
    let twin = twin();
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": stream}),
    );
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
    );
    twin.engine
        .set_conditions(flying(Lag::Fixed(Duration::from_secs(10))))
        .unwrap();
    let begins = twin.seconds();
    for pk in ["checked", "written"] {
        let expires = json!({"N": (begins + 5).to_string()});
        let item = json!({"pk": {"S": pk}, "v": {"S": "x"}, "ttl": expires});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let mut check = key("checked");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    let mut update = key("written");
    update["UpdateExpression"] = "SET n = pk".into();
    twin.ok(
        "TransactWriteItems",
        &transaction(&[json!({"ConditionCheck": check}), json!({"Update": update})]),
    );
    twin.engine.advance(Duration::from_secs(7));
    let present = || ["checked", "written"].map(|pk| stored(&twin, pk).is_some());
    assert_eq!(present(), [true; 2]);
    // The emulator applies the deletions late.
    twin.engine.clock().advance(Duration::from_mins(10));
    assert_eq!(present(), [false; 2]);
    for (second, count) in [(7, 2), (9, 2), (10, 0), (11, 0)] {
        let target = format!("restored{second}");
        let restore = json!({"SourceTableName": "tab", "TargetTableName": target, "RestoreDateTime": begins + second});
        twin.ok("RestoreTableToPointInTime", &restore);
        let found = twin.ok("Scan", &json!({"TableName": target}));
        assert_eq!(found["Count"], count, "after {second} s");
    }
    let described = twin.ok("DescribeTable", &json!({"TableName": "tab"}));
    let arn = &described["Table"]["LatestStreamArn"];
    let stream = twin.ok("DescribeStream", &json!({"StreamArn": arn}));
    for shard in stream["StreamDescription"]["Shards"].as_array().unwrap() {
        let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = twin.ok("GetShardIterator", &from)["ShardIterator"].clone();
        let records = twin.ok("GetRecords", &json!({"ShardIterator": iterator}));
        for record in records["Records"].as_array().unwrap() {
            let created = record["dynamodb"]["ApproximateCreationDateTime"].as_f64().unwrap() as i64;
            let expected = if record["eventName"] == "INSERT" {
                begins
            } else {
                begins + 10
            };
            assert_eq!(created, expected, "{record}");
        }
    }
}

/// `expire_now` deletes no item that a transaction has locked, and counts only the items that it deletes.
#[test]
fn expire_now_deletes_no_locked_items() {
    let twin = Twin::new(7);
    twin.engine
        .set_conditions(Conditions {
            time_to_live: TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(1))),
            ..flying(Lag::Fixed(FLIGHT))
        })
        .unwrap();
    create_table_with_ttl(&twin);
    let expired = twin.seconds() - 1;
    for pk in ["written", "deleted", "checked", "free"] {
        let mut body = put(pk, "old");
        body["Item"]["ttl"] = json!({"N": expired.to_string()});
        twin.ok("PutItem", &body);
    }
    let mut check = key("checked");
    check["ConditionExpression"] = "attribute_exists(pk)".into();
    let body = transaction(&[
        json!({"Put": put("written", "new")}),
        json!({"Delete": key("deleted")}),
        json!({"ConditionCheck": check}),
    ]);
    let answer = twin
        .engine
        .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
    assert_eq!(answer.status, 200);
    let stored = || ["written", "deleted", "checked", "free"].map(|pk| stored(&twin, pk));
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(1));
    let old = Some("old".to_owned());
    assert_eq!(stored(), [old.clone(), old.clone(), old.clone(), None]);
    twin.engine.clock().set(answer.at);
    assert_eq!(stored(), [Some("new".to_owned()), None, old, None]);
    // The item with only a condition check can be deleted now.
    assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), Ok(1));
    assert_eq!(stored(), [Some("new".to_owned()), None, None, None]);
}

/// A transaction in flight over two tables lands in the one that is left when the other is deleted.
#[test]
fn a_table_deleted_with_a_pending_transaction_leaves_other_tables_intact() {
    let twin = twin();
    let table = json!({"TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    twin.ok("CreateTable", &table);
    let mut other = put("a", "new");
    other["TableName"] = "other".into();
    let body = transaction(&[json!({"Put": other}), json!({"Put": put("a", "new")})]);
    let answer = twin
        .engine
        .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
    twin.engine
        .dispatch(&twin.caller, "DeleteTable", br#"{"TableName": "other"}"#);
    twin.ok("CreateTable", &table);
    twin.engine.clock().set(answer.at);
    twin.engine.run_due();
    assert_eq!(stored(&twin, "a"), Some("new".to_owned()));
    assert_eq!(twin.ok("Scan", &json!({"TableName": "other"}))["Count"], 0);
}

#[test]
fn an_index_created_during_a_transaction_contains_its_items() {
    let twin = twin();
    begin(&twin);
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "AttributeDefinitions": [{"AttributeName": "v", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-v", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}]}}]}),
    );
    twin.engine.advance(FLIGHT);
    let found = twin.ok("Scan", &json!({"TableName": "tab", "IndexName": "by-v"}));
    assert_eq!(found["Items"][0]["pk"]["S"], "a");
}

#[test]
fn transactions_are_pending_for_the_time_of_the_condition() {
    let twin = Twin::new(7);
    for (conditions, least, most) in [
        (Conditions::AWS.transaction_time, 1, 10),
        (Conditions::STORM.transaction_time, 100, 5000),
    ] {
        twin.engine.set_conditions(flying(conditions)).unwrap();
        twin.engine.reset().unwrap();
        create_table_with_ttl(&twin);
        let mut flights = Vec::new();
        for at in 0..50 {
            let body = transaction(&[json!({"Put": put(&at.to_string(), "new")})]);
            let now = twin.engine.clock().now();
            let answer = twin
                .engine
                .dispatch(&twin.caller, "TransactWriteItems", body.to_string().as_bytes());
            flights.push(answer.at.since(now));
        }
        assert!(
            flights.iter().all(|flight| *flight <= Duration::from_millis(most)),
            "{flights:?}"
        );
        assert!(
            flights.iter().any(|flight| *flight >= Duration::from_millis(least)),
            "{flights:?}"
        );
    }
}

#[test]
fn an_applied_transaction_has_records_of_that_time() {
    let twin = twin();
    let view = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    twin.ok("UpdateTable", &json!({"TableName": "tab", "StreamSpecification": view}));
    let at = begin(&twin);
    // Two days later the record is there still: its day begins when it is noticed.
    twin.engine.advance(Duration::from_hours(48));
    let streams = |operation: &str, body: &Value| {
        let target = format!("DynamoDBStreams_20120810.{operation}");
        twin.ok(&target, body)
    };
    let arn = streams("ListStreams", &json!({}))["Streams"][0]["StreamArn"].clone();
    let shards = streams("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
    let mut records = Vec::new();
    for shard in shards.as_array().unwrap() {
        let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = streams("GetShardIterator", &from)["ShardIterator"].clone();
        let found = streams("GetRecords", &json!({"ShardIterator": iterator}));
        records.extend(found["Records"].as_array().unwrap().clone());
    }
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(
        (&records[0]["eventName"], &records[0]["userIdentity"]),
        (&json!("INSERT"), &Value::Null)
    );
    assert_eq!(
        records[0]["dynamodb"]["ApproximateCreationDateTime"].as_f64().unwrap() as i64,
        at.seconds()
    );
}

/// Keys, and the values that they get.
type Writes = Vec<(String, Option<String>)>;

/// Random transactions, writes and moves of the clock against a model that keeps what is in flight.
#[test]
fn conflicts_are_those_of_a_naive_model() {
    let seeds = match setting("DYNATWIN_SEED") {
        Some(seed) => vec![seed],
        None => (0..setting("DYNATWIN_HISTORIES").unwrap_or(200)).collect(),
    };
    for seed in seeds {
        let mut choice = Choice(seed);
        let twin = twin();
        let mut items: BTreeMap<String, String> = BTreeMap::new();
        let mut flights: Vec<(Moment, Writes)> = Vec::new();
        for step in 0..80 {
            let now = twin.engine.clock().now();
            flights.retain(|(at, writes)| {
                if *at > now {
                    return true;
                }
                for (pk, new) in writes {
                    match new {
                        Some(new) => drop(items.insert(pk.clone(), new.clone())),
                        None => drop(items.remove(pk)),
                    }
                }
                false
            });
            let held = |pk: &str| {
                flights
                    .iter()
                    .any(|(_, writes)| writes.iter().any(|(key, _)| key == pk))
            };
            let value = step.to_string();
            let mut keys: Vec<String> = (0..=choice.below(3)).map(|_| format!("k{}", choice.below(8))).collect();
            keys.sort();
            keys.dedup();
            let pk = keys[0].clone();
            match choice.below(6) {
                0 => {
                    let (_, answer) = twin.send("PutItem", &put(&pk, &value));
                    let expected = if held(&pk) {
                        "TransactionConflictException"
                    } else {
                        "success"
                    };
                    assert_eq!(kind(&answer), expected, "DYNATWIN_SEED={seed}");
                    if !held(&pk) {
                        items.insert(pk, value);
                    }
                }
                1..=2 => {
                    let deletes = choice.one_in(3);
                    let actions = keys.iter().map(|pk| {
                        if deletes {
                            json!({"Delete": key(pk)})
                        } else {
                            json!({"Put": put(pk, &value)})
                        }
                    });
                    let (_, answer) = twin.send("TransactWriteItems", &transaction(&actions.collect::<Vec<_>>()));
                    if keys.iter().any(|pk| held(pk)) {
                        let code = |pk: &String| if held(pk) { "TransactionConflict" } else { "None" };
                        let expected: Vec<&str> = keys.iter().map(code).collect();
                        assert_eq!(codes(&answer), expected, "DYNATWIN_SEED={seed}");
                    } else {
                        assert_eq!(kind(&answer), "success", "DYNATWIN_SEED={seed}");
                        let new = (!deletes).then_some(value);
                        let writes = keys.into_iter().map(|pk| (pk, new.clone())).collect();
                        flights.push((now.plus(FLIGHT), writes));
                    }
                }
                3 => {
                    let gets: Vec<Value> = keys.iter().map(|pk| json!({"Get": key(pk)})).collect();
                    let (_, answer) = twin.send("TransactGetItems", &transaction(&gets));
                    let conflicts = keys.iter().any(|pk| held(pk));
                    assert_eq!(kind(&answer) != "success", conflicts, "DYNATWIN_SEED={seed}");
                }
                4 => assert_eq!(stored(&twin, &pk), items.get(&pk).cloned(), "DYNATWIN_SEED={seed}"),
                _ => twin.engine.clock().advance(Duration::from_millis(choice.below(40))),
            }
        }
        twin.engine.advance(FLIGHT);
        for (_, writes) in flights {
            for (pk, new) in writes {
                match new {
                    Some(new) => drop(items.insert(pk, new)),
                    None => drop(items.remove(&pk)),
                }
            }
        }
        for index in [
            json!({"TableName": "tab"}),
            json!({"TableName": "tab", "IndexName": "by-g"}),
        ] {
            let answer = twin.ok("Scan", &index);
            let found = answer["Items"].as_array().unwrap().iter();
            let found: BTreeMap<String, String> = found
                .map(|item| {
                    (
                        item["pk"]["S"].as_str().unwrap().into(),
                        item["v"]["S"].as_str().unwrap().into(),
                    )
                })
                .collect();
            assert_eq!(found, items, "DYNATWIN_SEED={seed}");
        }
    }
}
