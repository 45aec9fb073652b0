//! The records of a stream: which writes have one, and its content.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, TimeToLive};
use serde_json::{Value, json};

use super::{HOUR, create, delete, iterator, latest, put, records, shards, summaries, text, with_stream};

const VIEWS: [&str; 4] = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"];

#[test]
fn every_kind_of_write_has_a_record() {
    let twin = with_stream();
    put(&twin, "a", 1);
    put(&twin, "a", 2);
    let add = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "ADD v :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}});
    twin.ok("UpdateItem", &add);
    delete(&twin, "a");
    twin.ok("UpdateItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}}));
    let item = |pk: &str| json!({"pk": {"S": pk}, "v": {"N": "7"}});
    twin.ok(
        "BatchWriteItem",
        &json!({"RequestItems": {"tab": [
            {"PutRequest": {"Item": item("c")}}, {"DeleteRequest": {"Key": {"pk": {"S": "b"}}}}]}}),
    );
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [
            {"Put": {"TableName": "tab", "Item": item("d")}},
            {"Delete": {"TableName": "tab", "Key": {"pk": {"S": "c"}}}},
            {"ConditionCheck": {"TableName": "tab", "Key": {"pk": {"S": "e"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]}),
    );
    assert_eq!(
        summaries(&records(&twin, &latest(&twin))),
        [
            "INSERT a 1",
            "MODIFY a 2",
            "MODIFY a 3",
            "REMOVE a 3",
            "INSERT b -",
            "INSERT c 7",
            "REMOVE b -",
            "INSERT d 7",
            "REMOVE c 7"
        ]
    );
}

#[test]
fn writes_without_a_change_have_no_record() {
    let twin = with_stream();
    let item = json!({"pk": {"S": "a"}, "set": {"SS": ["x", "y"]}, "n": {"N": "1"}, "map": {"M": {"k": {"S": "v"}, "l": {"S": "w"}}}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    let same = json!({"map": {"M": {"l": {"S": "w"}, "k": {"S": "v"}}}, "n": {"N": "1.0"}, "set": {"SS": ["y", "x"]}, "pk": {"S": "a"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": same}));
    let update =
        |expression: &str| json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": expression});
    twin.ok("UpdateItem", &update("REMOVE zz"));
    twin.ok("UpdateItem", &update("SET n = n"));
    delete(&twin, "missing");
    let mut condition = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}});
    condition["ConditionExpression"] = "attribute_not_exists(pk)".into();
    assert_eq!(twin.send("PutItem", &condition).0, 400);
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [{"Put": {"TableName": "tab", "Item": same}}]}),
    );
    assert_eq!(summaries(&records(&twin, &latest(&twin))), ["INSERT a -"]);
}

#[test]
fn a_record_has_the_images_of_its_view() {
    let key = json!({"pk": {"S": "a"}});
    let image = |v: &str| json!({"pk": {"S": "a"}, "v": {"N": v}});
    for view in VIEWS {
        let twin = Twin::new(1);
        create(&twin, view);
        put(&twin, "a", 1);
        put(&twin, "a", 20);
        let records = records(&twin, &latest(&twin));
        let second = &records[1]["dynamodb"];
        let (new, old) = (view.starts_with("NEW"), view.contains("OLD"));
        assert_eq!(second["Keys"], key);
        assert_eq!(second.get("NewImage"), new.then(|| image("20")).as_ref(), "{view}");
        assert_eq!(second.get("OldImage"), old.then(|| image("1")).as_ref(), "{view}");
        // A key of 3 bytes, images of 3 + 1 + 2.
        assert_eq!(second["SizeBytes"], 3 + 6 * (i32::from(new) + i32::from(old)), "{view}");
        assert_eq!(second["StreamViewType"], view);
        assert_eq!(second["ApproximateCreationDateTime"], twin.seconds() as f64);
        assert_eq!(records[1]["awsRegion"], "us-east-1");
        assert_eq!(records[1]["eventSource"], "aws:dynamodb");
        assert_eq!(records[1]["eventVersion"], "1.1");
        assert!(records[1].get("userIdentity").is_none());
        assert_ne!(records[0]["eventID"], records[1]["eventID"]);
        assert_eq!(text(&records[0]["eventID"]).len(), 32);
        assert_eq!(text(&second["SequenceNumber"]).len(), 21);
    }
}

#[test]
fn a_ttl_record_has_its_user_identity_and_due_time() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    let mut conditions = Conditions::CALM;
    conditions.time_to_live = TimeToLive::Deletes(Lag::Fixed(HOUR));
    twin.engine.set_conditions(conditions).unwrap();
    let start = twin.seconds();
    put(&twin, "a", start + 60);
    put(&twin, "b", start + 120);
    // Longer than a record is kept: one that could not be read yet is kept for a day.
    twin.engine.advance(HOUR * 48);
    let arn = latest(&twin);
    let found = records(&twin, &arn);
    // Each is in its own shard; sequence numbers of different shards are not comparable.
    let mut lines = summaries(&found);
    lines.sort();
    let expect = [("a", 60), ("b", 120)].map(|(pk, after)| format!("REMOVE {pk} {}", start + after));
    assert_eq!(lines, expect);
    for record in &found {
        assert_eq!(
            record["userIdentity"],
            json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"})
        );
        let expired: i64 = text(&record["dynamodb"]["OldImage"]["v"]["N"]).parse().unwrap();
        assert_eq!(
            record["dynamodb"]["ApproximateCreationDateTime"],
            (expired + 3600) as f64
        );
    }
    twin.engine.advance(HOUR * 24);
    assert!(records(&twin, &arn).is_empty());
}

#[test]
fn due_work_is_recorded_before_the_stream_is_read() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    put(&twin, "a", twin.seconds() + 60);
    let arn = latest(&twin);
    let ends: Vec<String> = shards(&twin, &arn)
        .iter()
        .map(|shard| iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), "LATEST"))
        .collect();
    // Only the clock advances, without requests in between.
    twin.engine.clock().advance(Duration::from_secs(61));
    let found: Vec<Value> = ends
        .iter()
        .flat_map(|end| {
            twin.ok("GetRecords", &json!({"ShardIterator": end}))["Records"]
                .as_array()
                .unwrap()
                .clone()
        })
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["eventName"], "REMOVE");
}

#[test]
fn due_work_is_recorded_before_the_end_of_the_stream_is_read() {
    let twin = with_stream();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "v"}}),
    );
    put(&twin, "a", twin.seconds() + 60);
    let arn = latest(&twin);
    let shards = shards(&twin, &arn);
    twin.engine.clock().advance(Duration::from_secs(61));
    for shard in shards {
        let end = iterator(&twin, &arn, shard["ShardId"].as_str().unwrap(), "LATEST");
        let answer = twin.ok("GetRecords", &json!({"ShardIterator": end}));
        assert_eq!(answer["Records"], json!([]));
    }
    assert_eq!(records(&twin, &arn).len(), 2);
}
