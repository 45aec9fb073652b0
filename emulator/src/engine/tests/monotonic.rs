//! Monotonic reads of more callers than are remembered.

use serde_json::{Value, json};

use super::*;
use crate::storage::ChangePosition;

/// Callers and partitions that are remembered at most.
const MOST: u64 = 1 << 18;

fn caller(access_key: &str) -> Caller {
    Caller {
        access_key: access_key.into(),
        region: "us-east-1".into(),
    }
}

fn send(engine: &Engine, access_key: &str, operation: &str, body: &Value) -> Value {
    let answer = engine.dispatch(&caller(access_key), operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).unwrap()
}

/// A caller is remembered for as long as reads may be stale at most, however short they typically are: until then it reads
/// nothing older than it has seen, and new callers beyond the limit read the present state.
#[test]
fn callers_are_remembered_for_the_longest_staleness() {
    let engine = Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: Conditions {
            read_staleness: Lag::Seeded {
                typical: Duration::from_secs(1),
                longest: Duration::from_secs(100),
            },
            monotonic_reads: true,
            ..Conditions::CALM
        },
        shared_db: true,
    });
    let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    send(&engine, "owner", "CreateTable", &table);
    let put = |v: &str| {
        let item = json!({"pk": {"S": "a"}, "v": {"N": v}});
        send(&engine, "owner", "PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    let read = |access_key: &str, is_consistent: bool| -> String {
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": is_consistent});
        let answer = send(&engine, access_key, "GetItem", &body);
        answer["Item"]["v"]["N"].as_str().unwrap().to_owned()
    };
    let names = |prefix: &str| -> Vec<String> { (0..20).map(|at| format!("{prefix}{at}")).collect() };
    put("1");
    engine.advance(Duration::from_secs(200));
    put("2");
    for name in names("early") {
        assert_eq!(read(&name, true), "2");
    }
    let now = engine.clock().now();
    let seen = ChangePosition { at: now, number: 0 };
    for reader in 20..MOST {
        engine.state.readers().advance(reader, seen, seen, (now, now));
    }
    engine.advance(Duration::from_secs(2));
    for name in names("late") {
        assert_eq!(read(&name, false), "2", "{name}: a caller beyond the limit");
    }
    for name in names("early") {
        assert_eq!(read(&name, false), "2", "{name}: it has seen this version");
    }
    // All of them are forgotten once none of the versions before those they have seen can be read.
    engine.advance(Duration::from_secs(110));
    put("3");
    engine.advance(Duration::from_secs(1));
    let found: Vec<String> = names("new").iter().map(|name| read(name, false)).collect();
    let stale = found.iter().filter(|version| *version == "2").count();
    assert!((1..20).contains(&stale), "{found:?}");
    assert!(
        found.iter().all(|version| version == "2" || version == "3"),
        "{found:?}"
    );
}
