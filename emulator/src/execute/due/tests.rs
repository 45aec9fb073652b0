use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::SLICE;
use crate::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings};

thread_local! {
    /// The most arrivals that this thread has applied under one lock.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn note(arrived: usize) {
    MOST.set(MOST.get().max(arrived));
}

const ITEMS: usize = 1000;

/// Stale reads on a running clock make all arrivals precede a write: they are applied in slices before the write's lock.
#[test]
fn a_write_applies_few_arrivals_under_one_lock() {
    let key = json!({"pk": {"S": "7"}});
    let named = |more: Value| {
        let mut request = json!({"TableName": "tab"});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        request
    };
    let cases = [
        ("PutItem", named(json!({"Item": key}))),
        ("DeleteItem", named(json!({"Key": key}))),
        ("UpdateItem", named(json!({"Key": key}))),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [{"DeleteRequest": {"Key": key}}]}}),
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Delete": named(json!({"Key": key}))}]}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "DELETE FROM tab WHERE pk = '7'"}),
        ),
    ];
    for (operation, request) in cases {
        let (engine, micros) = running();
        let here = Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        };
        let there = Caller {
            region: "eu-west-1".into(),
            ..here.clone()
        };
        let send = |caller: &Caller, operation: &str, body: &Value| {
            let answer = engine.dispatch(caller, operation, body.to_string().as_bytes());
            assert_eq!(answer.status, 200, "{operation} {body}");
            serde_json::from_slice::<Value>(&answer.body).unwrap()
        };
        let create = json!({"BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        send(&here, "CreateTable", &named(create));
        let replica = json!({"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
        send(&here, "UpdateTable", &named(replica));
        for number in 0..ITEMS {
            let item = json!({"pk": {"S": number.to_string()}});
            send(&here, "PutItem", &named(json!({"Item": item})));
        }
        micros.fetch_add(8_000_000, Ordering::SeqCst);
        MOST.set(0);
        send(&there, operation, &request);
        assert!((1..=SLICE).contains(&MOST.get()), "{operation}: {}", MOST.get());
        let count = send(&there, "Scan", &named(json!({"ConsistentRead": true})))["Count"].clone();
        let deleted = usize::from(operation != "PutItem" && operation != "UpdateItem");
        assert_eq!(count, ITEMS - deleted, "{operation}");
    }
}

/// An engine whose clock runs as fast as the test defines.
fn running() -> (Engine, Arc<AtomicI64>) {
    let micros = Arc::new(AtomicI64::new(Moment::START.micros()));
    let source = Arc::clone(&micros);
    let mut conditions = Conditions::CALM;
    conditions.replication_lag = Lag::Fixed(Duration::from_secs(5));
    conditions.read_staleness = Lag::Fixed(Duration::from_secs(1));
    let engine = Engine::new(Settings {
        clock: Clock::system(move || Moment::from_micros(source.load(Ordering::SeqCst))),
        seed: 1,
        conditions,
        shared_db: false,
    });
    (engine, micros)
}
