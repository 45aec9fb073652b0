//! Items that expired before they could be deleted: before they were written, or before time to live was enabled. They are
//! readable until a lag that begins at that moment, and nothing that records their deletion dates it earlier.

use std::time::Duration;

use dynatwin_engine::{Conditions, Engine, Lag, Moment, TimeToLive};
use serde_json::json;

use crate::common::{Twin, caller, settings};

const SECOND: Duration = Duration::from_secs(1);
const LAG: Duration = Duration::from_hours(1);

fn conditions(time_to_live: TimeToLive) -> Conditions {
    Conditions {
        time_to_live,
        ..Conditions::CALM
    }
}

fn time_to_live(twin: &Twin, attribute: &str, enabled: bool) {
    let specification = json!({"Enabled": enabled, "AttributeName": attribute});
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": specification}),
    );
}

fn put(twin: &Twin, key: &str, expires: i64) {
    let expires = json!({"N": expires.to_string()});
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": key}, "t": expires, "u": expires}}),
    );
}

fn count(twin: &Twin, table: &str) -> u64 {
    let page = json!({"TableName": table, "ConsistentRead": true, "Select": "COUNT"});
    twin.ok("Scan", &page)["Count"].as_u64().unwrap()
}

/// The number of items in a restore of the table at a moment.
fn restored(twin: &Twin, at: i64) -> u64 {
    let target = format!("restored-{at}-{}", twin.seconds());
    twin.ok(
        "RestoreTableToPointInTime",
        &json!({"SourceTableName": "tab", "TargetTableName": target, "RestoreDateTime": at}),
    );
    count(twin, &target)
}

/// The times of the deletions in the table's stream.
fn removals(twin: &Twin) -> Vec<i64> {
    let stream = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"].clone();
    let shards = twin.ok("DescribeStream", &json!({"StreamArn": stream}))["StreamDescription"]["Shards"].clone();
    let mut removals = Vec::new();
    for shard in shards.as_array().unwrap() {
        let from = json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = twin.ok("GetShardIterator", &from)["ShardIterator"].clone();
        let records = twin.ok("GetRecords", &json!({"ShardIterator": iterator}))["Records"].clone();
        let records = records.as_array().unwrap().iter();
        let removed = records.filter(|record| record["eventName"] == "REMOVE");
        let times = removed.map(|record| record["dynamodb"]["ApproximateCreationDateTime"].as_f64());
        removals.extend(times.map(|time| time.unwrap() as i64));
    }
    removals
}

/// A table with two items that are expired, the deletion of which has just become possible.
fn possible(way: &str, lag: TimeToLive) -> Twin {
    let twin = Twin::new(1);
    twin.engine.set_conditions(conditions(lag)).unwrap();
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
    );
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
    );
    twin.engine.advance(Duration::from_mins(10));
    let put_both = || {
        put(&twin, "a", twin.seconds() - 500);
        put(&twin, "b", twin.seconds() - 30 * 86_400);
    };
    match way {
        "written" => {
            time_to_live(&twin, "t", true);
            put_both();
        }
        "enabled" => {
            put_both();
            twin.engine.advance(Duration::from_mins(30));
            time_to_live(&twin, "t", true);
        }
        "expired, then enabled" => {
            put(&twin, "a", twin.seconds() + 600);
            put(&twin, "b", twin.seconds() + 60);
            twin.engine.advance(Duration::from_mins(30));
            time_to_live(&twin, "t", true);
        }
        "another attribute" => {
            time_to_live(&twin, "other", true);
            put_both();
            twin.engine.advance(Duration::from_mins(30));
            time_to_live(&twin, "other", false);
            time_to_live(&twin, "u", true);
        }
        "resumed" => {
            twin.engine.set_conditions(conditions(TimeToLive::Off)).unwrap();
            time_to_live(&twin, "t", true);
            put_both();
            twin.engine.advance(Duration::from_mins(30));
            twin.engine.set_conditions(conditions(lag)).unwrap();
        }
        _ => unreachable!("{way}"),
    }
    twin
}

const WAYS: [&str; 5] = [
    "written",
    "enabled",
    "expired, then enabled",
    "another attribute",
    "resumed",
];

#[test]
fn the_lag_begins_when_a_deletion_becomes_possible() {
    for way in WAYS {
        let twin = possible(way, TimeToLive::Deletes(Lag::Fixed(LAG)));
        let start = twin.seconds();
        let end = start + LAG.as_secs() as i64;
        assert_eq!(count(&twin, "tab"), 2, "{way}: at once");
        twin.engine.advance(LAG.checked_sub(SECOND).unwrap());
        assert_eq!(count(&twin, "tab"), 2, "{way}: before the end of the lag");
        // What is due does not depend on where the state is.
        let copy = Twin {
            engine: Engine::new(settings(1)),
            caller: caller(),
        };
        copy.engine.restore(&twin.engine.snapshot()).unwrap();
        for (twin, place) in [(&twin, way), (&copy, "a copy")] {
            twin.engine.advance(SECOND);
            assert_eq!(count(twin, "tab"), 0, "{way}, {place}: after the lag");
            assert_eq!(removals(twin), [end, end], "{way}, {place}");
            twin.engine.advance(Duration::from_hours(1));
            for (at, items) in [(start, 2), (end - 1, 2), (end, 0)] {
                assert_eq!(restored(twin, at), items, "{way}, {place}: {at} of {start} to {end}");
            }
        }
    }
}

#[test]
fn without_a_lag_items_are_deleted_when_that_becomes_possible() {
    for way in WAYS {
        let twin = possible(way, TimeToLive::Deletes(Lag::Fixed(Duration::ZERO)));
        let now = twin.seconds();
        assert_eq!(count(&twin, "tab"), 0, "{way}");
        assert_eq!(removals(&twin), [now, now], "{way}");
        twin.engine.advance(Duration::from_hours(1));
        let before = if way == "written" { 0 } else { 2 };
        for (at, items) in [(now - 1, before), (now, 0)] {
            assert_eq!(restored(&twin, at), items, "{way}: {at} of {now}");
        }
    }
}

/// A change of the lag does not date deletions before it.
#[test]
fn a_shorter_lag_counts_from_the_expiry_but_not_before_the_change() {
    let lag = |hours| conditions(TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(hours))));
    for (elapsed, shorter, left) in [(1, 3, 2), (3, 3, 0), (4, 3, 0), (1, 0, 0)] {
        let twin = possible("written", TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48))));
        let expires = twin.seconds() + 60;
        put(&twin, "a", expires);
        twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}}));
        let start = removals(&twin).len();
        twin.engine.advance(Duration::from_mins(1));
        twin.engine.advance(Duration::from_hours(elapsed));
        let change = twin.engine.clock().now();
        twin.engine.set_conditions(lag(shorter)).unwrap();
        let due = Moment::from_seconds(expires)
            .plus(Duration::from_hours(shorter))
            .max(change);
        assert_eq!(due, change.plus(Duration::from_hours(left)), "{elapsed} {shorter}");
        if left > 0 {
            twin.engine
                .advance(Duration::from_hours(left).checked_sub(SECOND).unwrap());
            assert_eq!(count(&twin, "tab"), 1, "{elapsed} {shorter}: before {left} h");
            twin.engine.advance(SECOND);
        }
        assert_eq!(count(&twin, "tab"), 0, "{elapsed} {shorter}");
        assert_eq!(removals(&twin)[start..], [due.seconds()], "{elapsed} {shorter}");
    }
}

/// An expired item that is written again or deleted leaves no deletion behind.
#[test]
fn a_new_item_is_not_deleted_in_place_of_an_expired_one() {
    for (then, left) in [("put", 1), ("deleted", 1), ("expired", 0), ("expired now", 0)] {
        let twin = possible("written", TimeToLive::Deletes(Lag::Fixed(LAG)));
        match then {
            "deleted" => drop(twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}))),
            "expired" => twin.engine.advance(LAG),
            "expired now" => drop(twin.engine.account(&twin.caller).expire_now("tab")),
            _ => {}
        }
        put(&twin, "a", twin.seconds() + 2 * 3600);
        assert_eq!(count(&twin, "tab"), left + 1, "{then}");
        twin.engine.advance(LAG);
        assert_eq!(count(&twin, "tab"), 1, "{then}: b is deleted");
        twin.engine.advance(LAG);
        assert_eq!(count(&twin, "tab"), 1, "{then}: a is not due yet");
        twin.engine.advance(LAG.checked_sub(SECOND).unwrap());
        assert_eq!(count(&twin, "tab"), 1, "{then}: a is not due yet");
        twin.engine.advance(SECOND);
        assert_eq!(count(&twin, "tab"), 0, "{then}: a is due");
    }
}
