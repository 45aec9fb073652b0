//! Capacity that runs out, over time: which requests pass, which are throttled, and that the units add up.

mod changes;
mod keys;
mod limits;
mod model;
mod partitions;
mod refusals;
mod sizes;
mod spending;

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::monitoring::Heat;
use dynatwin_engine::{Capacity, Conditions, Enforcement, Shards};
use serde_json::{Value, json};

fn enforced(rules: Enforcement) -> Twin {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(rules),
            stream_shards: Shards::ByThroughput,
            ..Conditions::CALM
        })
        .unwrap();
    twin
}

fn create(twin: &Twin, more: &Value) {
    let mut table = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    twin.ok("CreateTable", &table);
}

fn provisioned(read: u64, write: u64) -> Value {
    json!({"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}})
}

fn on_demand() -> Value {
    json!({"BillingMode": "PAY_PER_REQUEST"})
}

/// Puts an item of this many units; returns whether it passed.
fn put(twin: &Twin, key: &str, units: usize) -> bool {
    let filler = "v".repeat((units * 1024).saturating_sub(100));
    let item = json!({"pk": {"S": key}, "v": {"S": filler}});
    let (status, body) = twin.send("PutItem", &json!({"TableName": "tab", "Item": item}));
    assert!(status == 200 || is_throttle(&body), "{body}");
    status == 200
}

fn is_throttle(body: &Value) -> bool {
    let kind = body["__type"].as_str().unwrap_or_default();
    kind.ends_with("#ProvisionedThroughputExceededException") || kind.ends_with("#ThrottlingException")
}

/// Writes units to a key, in items of `each`; returns how many passed.
fn write(twin: &Twin, key: &str, units: usize, each: usize) -> usize {
    (0..units / each).filter(|_| put(twin, key, each)).count() * each
}

fn seconds(twin: &Twin, seconds: u64) {
    twin.engine.advance(Duration::from_secs(seconds));
}

fn heat(twin: &Twin) -> Heat {
    twin.engine.account(&twin.caller).heat("tab").unwrap()
}
