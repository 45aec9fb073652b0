//! Reads all records of a stream, parents before children, and replays them into a table.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Twin;

/// Returns all records of the latest stream of a table, each shard after its parent, so that each item's records are in
/// order.
pub fn records(twin: &Twin, table: &str) -> Vec<Value> {
    let table = twin.ok("DescribeTable", &json!({"TableName": table}));
    let arn = table["Table"]["LatestStreamArn"].clone();
    let mut shards = shards(twin, &arn);
    let mut records = Vec::new();
    while !shards.is_empty() {
        let unread = |parent: &Value| shards.iter().any(|shard| shard["ShardId"] == *parent);
        let at = shards.iter().position(|shard| !unread(&shard["ParentShardId"]));
        let shard = shards.remove(at.expect("no shard is its own ancestor"));
        records.extend(records_of(twin, &arn, &shard));
    }
    records
}

fn shards(twin: &Twin, arn: &Value) -> Vec<Value> {
    let mut shards = Vec::new();
    let mut body = json!({"StreamArn": arn, "Limit": 5});
    loop {
        let page = twin.ok("DescribeStream", &body)["StreamDescription"].clone();
        shards.extend(page["Shards"].as_array().unwrap().clone());
        match page.get("LastEvaluatedShardId") {
            Some(last) => body["ExclusiveStartShardId"] = last.clone(),
            None => return shards,
        }
    }
}

fn records_of(twin: &Twin, arn: &Value, shard: &Value) -> Vec<Value> {
    let body = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
    let mut next = twin.ok("GetShardIterator", &body)["ShardIterator"].clone();
    let mut records = Vec::new();
    while !next.is_null() {
        let page = twin.ok("GetRecords", &json!({"ShardIterator": next, "Limit": 4}));
        let found = page["Records"].as_array().unwrap();
        let at_end = found.is_empty();
        records.extend(found.clone());
        next = page["NextShardIterator"].clone();
        let open = shard["SequenceNumberRange"].get("EndingSequenceNumber").is_none();
        assert!(open || !at_end || next.is_null(), "a closed shard has an end");
        if at_end {
            break;
        }
    }
    let number = |record: &Value| -> u128 { record["dynamodb"]["SequenceNumber"].as_str().unwrap().parse().unwrap() };
    assert!(records.is_sorted_by(|left, right| number(left) < number(right)));
    records
}

/// Returns the items after replaying the records, by the text of their keys; the view must include new images.
pub fn rebuilt(records: &[Value]) -> BTreeMap<String, Value> {
    let mut items = BTreeMap::new();
    for record in records {
        let of = &record["dynamodb"];
        let key = of["Keys"].to_string();
        match record["eventName"].as_str().unwrap() {
            "REMOVE" => drop(items.remove(&key)),
            _ => drop(items.insert(key, of["NewImage"].clone())),
        }
    }
    items
}

/// Returns the items before the records by undoing them in reverse; the view must include old images.
pub fn undone(records: &[Value], mut items: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    for record in records.iter().rev() {
        let of = &record["dynamodb"];
        let key = of["Keys"].to_string();
        match record["eventName"].as_str().unwrap() {
            "INSERT" => drop(items.remove(&key)),
            _ => drop(items.insert(key, of["OldImage"].clone())),
        }
    }
    items
}
