//! Global tables with strong consistency between their regions (docs/behavior: 08 1, 08 7).

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::global::{Twin, caller};
use crate::common::{copies, settings};
use dynatwin_engine::{Conditions, Engine, Lag};
use serde_json::{Value, json};

const US: &str = "us-east-1";
const OHIO: &str = "us-east-2";
const OREGON: &str = "us-west-2";
const ALL: [&str; 3] = [US, OHIO, OREGON];

fn put(pk: &str, v: &str) -> Value {
    json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "v": {"S": v}, "g": {"S": "g"}}})
}

/// The status and the exception of a put.
fn try_put(twin: &Twin, region: &str, pk: &str) -> (u16, String) {
    let (status, answer) = twin.send(region, "PutItem", &put(pk, "x"));
    let kind = answer["__type"].as_str().unwrap_or_default();
    (status, kind.rsplit(['#', '.']).next().unwrap_or_default().to_owned())
}

fn try_get(twin: &Twin, region: &str, consistent: bool) -> u16 {
    let body = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": consistent});
    twin.send(region, "GetItem", &body).0
}

fn increment(twin: &Twin, region: &str) -> u16 {
    let update = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}, "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}});
    twin.send(region, "UpdateItem", &update).0
}

/// All three regions must support strong consistency, the one of the request too.
#[test]
fn a_group_needs_three_regions_that_support_it() {
    for (region, unable) in [("us-west-1", Some("us-west-1")), ("us-west-2", None)] {
        let mut twin = crate::common::Twin::new(1);
        twin.caller.region = region.into();
        twin.ok(
            "CreateTable",
            &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
        );
        let replicas = [US, OHIO].map(|region| json!({"Create": {"RegionName": region}}));
        let update = json!({"TableName": "tab", "MultiRegionConsistency": "STRONG", "ReplicaUpdates": replicas});
        let (status, answer) = twin.send("UpdateTable", &update);
        let text = unable.map(|region| {
            format!("Unsupported Region(s) specified for global tables with MultiRegionConsistency set to STRONG: [{region}].")
        });
        assert_eq!(
            (status == 200, answer["message"].as_str()),
            (text.is_none(), text.as_deref()),
            "{region}"
        );
    }
}

#[test]
fn every_region_has_a_write_that_was_answered() {
    let twin = Twin::strong(&ALL);
    twin.engine
        .set_conditions(Conditions {
            replication_lag: Conditions::STORM.replication_lag,
            ..Conditions::CALM
        })
        .unwrap();
    for (number, region) in ALL.iter().cycle().take(12).enumerate() {
        twin.put(region, "a", &number.to_string());
        let expect = [number.to_string(), number.to_string(), number.to_string()].join(" ");
        assert_eq!(twin.all(&ALL, "a"), expect);
        assert_eq!(increment(&twin, region), 200);
    }
    let body = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}, "ConsistentRead": true});
    for region in ALL {
        assert_eq!(twin.ok(region, "GetItem", &body)["Item"]["n"]["N"], "12");
        let query = json!({"TableName": "tab", "ConsistentRead": true, "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "a"}}});
        assert_eq!(twin.ok(region, "Query", &query)["Count"], 1);
        let batch = json!({"RequestItems": {"tab": {"ConsistentRead": true, "Keys": [{"pk": {"S": "n"}}]}}});
        assert_eq!(
            twin.ok(region, "BatchGetItem", &batch)["Responses"]["tab"][0]["n"]["N"],
            "12"
        );
    }
}

#[test]
fn a_write_of_another_region_is_a_conflict_until_a_write_is_answered() {
    let twin = Twin::strong(&ALL);
    twin.engine
        .set_conditions(Conditions {
            region_round_trip: Lag::Fixed(Duration::from_millis(100)),
            ..Conditions::CALM
        })
        .unwrap();
    let conflict = (400, "ReplicatedWriteConflictException".to_owned());
    let done = (200, String::new());
    // The region, the item, and what is answered, each after so many milliseconds.
    for (after, region, pk, expect) in [
        (0, US, "a", &done),
        (0, OHIO, "a", &conflict),
        (0, US, "a", &done),
        (0, OHIO, "b", &done),
        (99, OREGON, "a", &conflict),
        (1, OREGON, "a", &done),
        (0, OREGON, "b", &done),
    ] {
        twin.engine.advance(Duration::from_millis(after));
        assert_eq!(try_put(&twin, region, pk), *expect, "{region} {pk} after {after} ms");
    }
    twin.engine.advance(Duration::from_secs(1));
    // The answers of writes and of strongly consistent reads wait for another region.
    let at = |operation: &str, body: &Value| {
        let answer = twin
            .engine
            .dispatch(&caller(US), operation, body.to_string().as_bytes());
        answer.at.since(twin.engine.clock().now())
    };
    let get = |consistent: bool| json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": consistent});
    let waits = [
        at("PutItem", &put("a", "x")),
        at("GetItem", &get(true)),
        at("GetItem", &get(false)),
    ];
    assert_eq!(waits.map(|wait| wait.as_millis()), [100, 100, 0]);
    // Nothing that fails keeps another region out.
    twin.engine.advance(Duration::from_secs(1));
    let mut never = put("a", "x");
    never["ConditionExpression"] = json!("attribute_not_exists(pk)");
    assert_eq!(twin.send(US, "PutItem", &never).0, 400);
    assert_eq!(try_put(&twin, OHIO, "a"), done);
}

/// A copy of the state excludes other regions from an item for as long as the original does.
#[test]
fn a_copy_has_the_claims_of_completed_writes() {
    let twin = Twin::strong(&ALL);
    twin.engine
        .set_conditions(Conditions {
            region_round_trip: Lag::Fixed(Duration::from_millis(100)),
            ..Conditions::CALM
        })
        .unwrap();
    let status = |engine: &Engine, region: &str, pk: &str| {
        let body = put(pk, "x").to_string();
        engine.dispatch(&caller(region), "PutItem", body.as_bytes()).status
    };
    // A claim that has ended, of another region, is none.
    assert_eq!(status(&twin.engine, OHIO, "b"), 200);
    twin.engine.advance(Duration::from_millis(100));
    for (region, pk) in [(US, "a"), (OREGON, "b")] {
        assert_eq!(status(&twin.engine, region, pk), 200);
    }
    twin.engine.advance(Duration::from_millis(50));
    let copies = copies::of(&twin.engine, twin.recorder(), || settings(7));
    let original = [("original", &twin.engine)];
    for (what, engine) in original
        .into_iter()
        .chain(copies.iter().map(|(what, copy)| (*what, copy)))
    {
        // After so many milliseconds.
        for (after, region, pk, expect) in [
            (0, OHIO, "a", 400),
            (0, OHIO, "b", 400),
            (0, US, "b", 400),
            (0, OHIO, "c", 200),
            (49, OREGON, "a", 400),
            (0, US, "a", 200),
            (1, OHIO, "a", 400),
            (0, OHIO, "b", 200),
            (99, OHIO, "a", 200),
        ] {
            engine.advance(Duration::from_millis(after));
            let found = status(engine, region, pk);
            assert_eq!(found, expect, "{what}: {region} {pk} after {after} ms");
        }
    }
}

#[test]
fn a_region_that_is_cut_off_answers_eventually_consistent_reads_alone() {
    let twin = Twin::strong(&ALL);
    twin.put(US, "a", "1");
    twin.pause(OHIO, None);
    let alone = (500, "InternalServerError".to_owned());
    assert_eq!(try_put(&twin, OHIO, "a"), alone);
    assert_eq!((try_get(&twin, OHIO, true), try_get(&twin, OHIO, false)), (500, 200));
    let key = json!({":p": {"S": "a"}});
    for (operation, body) in [
        (
            "Query",
            json!({"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": key}),
        ),
        ("Scan", json!({})),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT * FROM tab WHERE pk = 'a'"}),
        ),
        ("ExecuteStatement", json!({"Statement": "SELECT * FROM tab"})),
    ] {
        let statuses = [true, false].map(|consistent| {
            let mut body = body.clone();
            body["ConsistentRead"] = json!(consistent);
            if operation != "ExecuteStatement" {
                body["TableName"] = json!("tab");
            }
            twin.send(OHIO, operation, &body).0
        });
        assert_eq!(statuses, [500, 200], "{operation} {body}");
    }
    let statuses = [true, false].map(|consistent| {
        let keys = json!({"ConsistentRead": consistent, "Keys": [{"pk": {"S": "a"}}]});
        twin.send(OHIO, "BatchGetItem", &json!({"RequestItems": {"tab": keys}}))
            .0
    });
    assert_eq!(statuses, [500, 200], "BatchGetItem");
    // The others are two of three.
    twin.put(US, "a", "2");
    twin.put(OREGON, "a", "3");
    assert_eq!(twin.all(&[US, OREGON], "a"), "3 3");
    let body = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}});
    assert_eq!(twin.ok(OHIO, "GetItem", &body)["Item"]["v"]["S"], "1");
    // One of three is too few, cut off or not.
    twin.pause(OREGON, None);
    assert_eq!(
        (try_put(&twin, US, "a"), try_get(&twin, US, true)),
        (alone.clone(), 500)
    );
    twin.resume(OHIO, None);
    assert_eq!(twin.all(&[US, OHIO], "a"), "3 3");
    assert_eq!(try_put(&twin, OREGON, "a"), alone);
    twin.put(OHIO, "a", "4");
    twin.resume(OREGON, None);
    assert_eq!(twin.all(&ALL, "a"), "4 4 4");
    let refused = twin
        .engine
        .account(&caller(US))
        .pause_replication("tab", Some(OHIO))
        .unwrap_err();
    assert!(refused.to_string().contains("strongly consistent"), "{refused}");
}

/// Replication with a region that is cut off is paused, in the view of each region.
#[test]
fn each_region_shows_which_others_are_cut_off() {
    let twin = Twin::strong(&ALL);
    let paused = || {
        ALL.map(|region| {
            let states = twin.engine.account(&caller(region)).replication("tab").unwrap();
            let mut paused: Vec<(String, bool)> = Vec::new();
            paused.extend(states.into_iter().map(|state| (state.region.into(), state.paused)));
            paused.sort();
            paused.into_iter().map(|(_, paused)| paused).collect::<Vec<_>>()
        })
    };
    // In the order of regions; a region is not in its own view.
    for (region, expect) in [
        (None, [[false, false], [false, false], [false, false]]),
        (Some(US), [[true, true], [true, false], [true, false]]),
        (Some(OHIO), [[true, false], [true, true], [false, true]]),
        (Some(OREGON), [[false, true], [false, true], [true, true]]),
    ] {
        if let Some(region) = region {
            twin.pause(region, None);
        }
        assert_eq!(paused(), expect, "{region:?}");
        if let Some(region) = region {
            twin.resume(region, None);
        }
        assert_eq!(paused(), [[false; 2]; 3], "{region:?}");
    }
}

#[test]
fn a_region_and_its_witness_are_two_of_three() {
    let twin = Twin::strong(&[US, OHIO]);
    twin.put(OHIO, "a", "1");
    twin.pause(US, None);
    twin.put(OHIO, "a", "2");
    assert_eq!(twin.get(OHIO, "a"), "2");
    assert_eq!(try_get(&twin, US, true), 500);
    twin.resume(US, None);
    assert_eq!(twin.all(&[US, OHIO], "a"), "2 2");
}

/// A region and a witness are created in 59.5 to 86 seconds where a table takes six.
#[test]
fn a_witness_is_created_over_time() {
    let twin = Twin::new(&[US]);
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(6)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(slow).unwrap();
    let request = json!({"TableName": "tab", "MultiRegionConsistency": "STRONG",
        "ReplicaUpdates": [{"Create": {"RegionName": OHIO}}],
        "GlobalTableWitnessUpdates": [{"Create": {"RegionName": OREGON}}]});
    twin.ok(US, "UpdateTable", &request);
    for (seconds, expect) in [(59, "CREATING"), (27, "ACTIVE")] {
        twin.engine.advance(Duration::from_secs(seconds));
        let described = twin.ok(US, "DescribeTable", &json!({"TableName": "tab"}));
        let witnesses = json!([{"RegionName": OREGON, "WitnessStatus": expect}]);
        assert_eq!(described["Table"]["GlobalTableWitnesses"], witnesses);
    }
}

#[test]
fn a_region_that_has_lost_the_others_is_a_table_of_its_own() {
    let twin = Twin::strong(&ALL);
    twin.put(US, "a", "1");
    let deleted = |region: &str| json!({"Delete": {"RegionName": region}});
    let update = |regions: &[&str]| {
        let updates: Vec<Value> = regions.iter().map(|region| deleted(region)).collect();
        twin.send(
            US,
            "UpdateTable",
            &json!({"TableName": "tab", "ReplicaUpdates": updates}),
        )
    };
    // One that is protected from deletion keeps all.
    let protect = |on: bool| {
        let protected = json!({"TableName": "tab", "DeletionProtectionEnabled": on});
        twin.ok(OREGON, "UpdateTable", &protected);
    };
    protect(true);
    assert_eq!(update(&[OHIO, OREGON]).0, 400);
    twin.put(OHIO, "a", "2");
    assert_eq!(twin.all(&ALL, "a"), "2 2 2");
    protect(false);
    assert_eq!(update(&[OHIO, OREGON]).0, 200);
    twin.put(US, "a", "3");
    assert_eq!(twin.get(US, "a"), "3");
    twin.ok(
        US,
        "TransactWriteItems",
        &json!({"TransactItems": [{"Put": put("a", "4")}]}),
    );
    for region in [OHIO, OREGON] {
        assert!(twin.engine.tables(&caller(region)).is_empty(), "{region}");
    }
}

#[test]
fn transactions_are_refused() {
    let twin = Twin::strong(&ALL);
    let item = put("a", "1");
    let write = json!({"TransactItems": [{"Put": item}]});
    let read = json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": {"pk": {"S": "a"}}}}]});
    let statement = json!({"TransactStatements": [{"Statement": "SELECT * FROM tab WHERE pk = 'a'"}]});
    for (operation, body) in [
        ("TransactWriteItems", write),
        ("TransactGetItems", read),
        ("ExecuteTransaction", statement),
    ] {
        let (status, answer) = twin.send(US, operation, &body);
        let text = answer["message"].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{operation}: {answer}");
        assert!(
            text.contains("MultiRegionConsistency set to STRONG"),
            "{operation}: {answer}"
        );
    }
    // Nor may one of several tables be strongly consistent.
    twin.ok(
        US,
        "CreateTable",
        &json!({"TableName": "plain", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
    );
    let member =
        |kind: &str, member: &str, table: &str| json!({kind: {"TableName": table, member: {"pk": {"S": "b"}}}});
    for tables in [["plain", "tab"], ["tab", "plain"]] {
        let puts = tables.map(|table| member("Put", "Item", table));
        let gets = tables.map(|table| member("Get", "Key", table));
        let reads = tables.map(|table| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = 'b'")}));
        let writes = tables.map(|table| json!({"Statement": format!("INSERT INTO {table} VALUE {{'pk': 'b'}}")}));
        for (operation, body) in [
            ("TransactWriteItems", json!({"TransactItems": puts})),
            ("TransactGetItems", json!({"TransactItems": gets})),
            ("ExecuteTransaction", json!({"TransactStatements": reads})),
            ("ExecuteTransaction", json!({"TransactStatements": writes})),
        ] {
            let (status, answer) = twin.send(US, operation, &body);
            let text = answer["message"].as_str().unwrap_or_default();
            assert_eq!(status, 400, "{body}: {answer}");
            assert!(
                text.contains("MultiRegionConsistency set to STRONG"),
                "{body}: {answer}"
            );
        }
    }
    let (_, plain) = twin.send(US, "Scan", &json!({"TableName": "plain"}));
    assert_eq!(plain["Count"], 0);
    // A batch is not a transaction.
    let batch = json!({"RequestItems": {"tab": [{"PutRequest": {"Item": {"pk": {"S": "a"}, "v": {"S": "1"}}}}]}});
    twin.ok(OHIO, "BatchWriteItem", &batch);
    assert_eq!(twin.all(&ALL, "a"), "1 1 1");
}

#[test]
fn threads_in_three_regions_write_one_history() {
    let twin = Twin::strong(&ALL);
    let (written, latest) = (AtomicU64::new(0), AtomicU64::new(0));
    let version = |region: &str| {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}, "ConsistentRead": true});
        let item = twin.ok(region, "GetItem", &body);
        let digits = item["Item"]["n"]["N"].as_str();
        digits.map_or(0, |digits| digits.parse::<u64>().unwrap())
    };
    let run = |region: &str| {
        for _ in 0..60 {
            // What somebody has seen before, everybody sees now.
            let before = latest.load(Ordering::SeqCst);
            let seen = version(region);
            assert!(seen >= before, "{region} sees {seen} after {before}");
            latest.fetch_max(seen, Ordering::SeqCst);
            let swap = json!({"TableName": "tab", "Key": {"pk": {"S": "n"}}, "UpdateExpression": "SET n = :to",
                "ConditionExpression": "n = :from OR attribute_not_exists(n)",
                "ExpressionAttributeValues": {":from": {"N": seen.to_string()}, ":to": {"N": (seen + 1).to_string()}}});
            let (status, answer) = twin.send(region, "UpdateItem", &swap);
            if status == 200 {
                written.fetch_add(1, Ordering::SeqCst);
                latest.fetch_max(seen + 1, Ordering::SeqCst);
            } else {
                let kind = answer["__type"].as_str().unwrap();
                let known = ["ConditionalCheckFailedException", "ReplicatedWriteConflictException"];
                assert!(known.iter().any(|known| kind.ends_with(known)), "{answer}");
            }
        }
    };
    thread::scope(|scope| ALL.iter().for_each(|region| drop(scope.spawn(|| run(region)))));
    let count = written.load(Ordering::SeqCst);
    assert!(count > 0);
    assert_eq!(ALL.map(version), [count; 3]);
}
