//! Streams as consumers read them: which records they have, in which order, and for how long.

mod contents;
mod lifetime;
mod readers;
mod shards;

use std::time::Duration;

use crate::common::{Twin, error_text};
use dynatwin_engine::{Conditions, Shards};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

fn create(twin: &Twin, view: &str) {
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": view}}),
    );
}

/// A twin whose table has a stream of four shards.
fn with_stream() -> Twin {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            stream_shards: Shards::Fixed(4),
            ..Conditions::CALM
        })
        .unwrap();
    create(&twin, "NEW_AND_OLD_IMAGES");
    twin
}

fn switch(twin: &Twin, view: Option<&str>) -> (u16, Value) {
    let mut specification = json!({"StreamEnabled": view.is_some()});
    if let Some(view) = view {
        specification["StreamViewType"] = view.into();
    }
    twin.send(
        "UpdateTable",
        &json!({"TableName": "tab", "StreamSpecification": specification}),
    )
}

fn put(twin: &Twin, pk: &str, v: i64) {
    let item = json!({"pk": {"S": pk}, "v": {"N": v.to_string()}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

fn delete(twin: &Twin, pk: &str) {
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": pk}}}));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn latest(twin: &Twin) -> String {
    text(&twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["LatestStreamArn"])
}

fn describe(twin: &Twin, arn: &str) -> Value {
    twin.ok("DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"].clone()
}

fn shards(twin: &Twin, arn: &str) -> Vec<Value> {
    describe(twin, arn)["Shards"].as_array().unwrap().clone()
}

fn iterator(twin: &Twin, arn: &str, shard: &str, kind: &str) -> String {
    let body = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind});
    text(&twin.ok("GetShardIterator", &body)["ShardIterator"])
}

/// Returns all records of a stream, in the listed order of shards: parents first.
fn records(twin: &Twin, arn: &str) -> Vec<Value> {
    let mut records = Vec::new();
    for shard in shards(twin, arn) {
        let mut next = iterator(twin, arn, shard["ShardId"].as_str().unwrap(), "TRIM_HORIZON");
        loop {
            let answer = twin.ok("GetRecords", &json!({"ShardIterator": next}));
            let found = answer["Records"].as_array().unwrap().clone();
            next = text(&answer["NextShardIterator"]);
            let done = found.is_empty() || next.is_empty();
            records.extend(found);
            if done {
                break;
            }
        }
    }
    records
}

/// Returns records in short, such as `INSERT a 1`, in the order of their sequence numbers.
fn summaries(records: &[Value]) -> Vec<String> {
    let mut records = records.to_vec();
    records.sort_by_key(|record| text(&record["dynamodb"]["SequenceNumber"]));
    let summary = |record: &Value| {
        let of = &record["dynamodb"];
        let image = of.get("NewImage").or(of.get("OldImage"));
        let value = image.and_then(|image| image["v"]["N"].as_str()).unwrap_or("-");
        format!(
            "{} {} {value}",
            text(&record["eventName"]),
            text(&of["Keys"]["pk"]["S"])
        )
    };
    records.iter().map(summary).collect()
}

#[track_caller]
fn refused(answer: (u16, Value), expect: &str) {
    let (status, body) = answer;
    assert_eq!((status, error_text(&body).as_str()), (400, expect), "{body}");
}
