//! loom explores the interleavings of two or three threads over the real engine: the same `dispatch`, storage and execute
//! that everybody uses, with loom's locks and atomics behind `sync`.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p dynatwin-engine --test loom`.
#![cfg(loom)]

use std::sync::Arc;

use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::Conditions;
use dynatwin_engine::engine::{Caller, Engine, Settings};
use loom::thread;

/// Preemptions explored: two are where nearly all errors of locking show, and three take hours.
const PREEMPTIONS: usize = 2;

#[derive(Clone)]
struct Twin(Arc<Engine>);

impl Twin {
    fn new() -> Twin {
        let settings = Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: true,
        };
        let twin = Twin(Arc::new(Engine::new(settings)));
        twin.send(
            "CreateTable",
            r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
                "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}"#,
        );
        twin
    }

    fn send(&self, operation: &str, body: &str) -> (u16, String) {
        let caller = Caller {
            access_key: "loom".into(),
            region: "us-east-1".into(),
        };
        let answer = self.0.dispatch(&caller, operation, body.as_bytes());
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    fn get(&self, key: &str) -> String {
        self.send(
            "GetItem",
            &format!(r#"{{"TableName":"tab","Key":{{"pk":{{"S":"{key}"}}}},"ConsistentRead":true}}"#),
        )
        .1
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_branches = 100_000;
    builder.check(model);
}

#[test]
fn a_conditional_put_has_one_winner() {
    explore(|| {
        let twin = Twin::new();
        let put = |twin: Twin, owner: &'static str| {
            thread::spawn(move || {
                let body = format!(
                    r#"{{"TableName":"tab","Item":{{"pk":{{"S":"a"}},"owner":{{"S":"{owner}"}}}},"ConditionExpression":"attribute_not_exists(pk)"}}"#
                );
                twin.send("PutItem", &body).0 == 200
            })
        };
        let other = put(twin.clone(), "one");
        let body = r#"{"TableName":"tab","Item":{"pk":{"S":"a"},"owner":{"S":"two"}},"ConditionExpression":"attribute_not_exists(pk)"}"#;
        let won = [twin.send("PutItem", body).0 == 200, other.join().unwrap()];
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let owner = if won[0] { "two" } else { "one" };
        assert!(twin.get("a").contains(owner));
    });
}

#[test]
fn a_counter_loses_no_step() {
    explore(|| {
        let twin = Twin::new();
        let add = r#"{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}"#;
        let other = {
            let twin = twin.clone();
            thread::spawn(move || twin.send("UpdateItem", add).0)
        };
        assert_eq!((twin.send("UpdateItem", add).0, other.join().unwrap()), (200, 200));
        assert!(twin.get("a").contains(r#""n":{"N":"2"}"#));
    });
}

#[test]
fn a_transaction_is_never_seen_half_done() {
    explore(|| {
        let twin = Twin::new();
        let writer = {
            let twin = twin.clone();
            thread::spawn(move || {
                // These two keys live in different partitions.
                let body = r#"{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"}}}},{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"}}}}]}"#;
                assert_eq!(twin.send("TransactWriteItems", body).0, 200);
            })
        };
        let body = r#"{"TransactItems":[{"Get":{"TableName":"tab","Key":{"pk":{"S":"b"}}}},{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}]}"#;
        let (status, seen) = twin.send("TransactGetItems", body);
        assert_eq!(status, 200);
        let count = seen.matches("Item").count();
        assert!(count == 0 || count == 2, "{seen}");
        writer.join().unwrap();
    });
}

#[test]
fn transactions_in_opposite_order_do_not_block_each_other() {
    explore(|| {
        let twin = Twin::new();
        let body = |first: &str, second: &str| {
            format!(
                r#"{{"TransactItems":[{{"Put":{{"TableName":"tab","Item":{{"pk":{{"S":"{first}"}}}}}}}},{{"Put":{{"TableName":"tab","Item":{{"pk":{{"S":"{second}"}}}}}}}}]}}"#
            )
        };
        let other = {
            let (twin, body) = (twin.clone(), body("a", "b"));
            thread::spawn(move || twin.send("TransactWriteItems", &body).0)
        };
        assert_eq!(twin.send("TransactWriteItems", &body("b", "a")).0, 200);
        assert_eq!(other.join().unwrap(), 200);
    });
}

#[test]
fn an_index_ends_up_with_every_write() {
    explore(|| {
        let twin = Twin::new();
        let put = |key: &str| format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{key}"}},"g":{{"S":"x"}}}}}}"#);
        let query = r#"{"TableName":"tab","IndexName":"by-g","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}},"Select":"COUNT"}"#;
        let other = {
            let (twin, put) = (twin.clone(), put("a"));
            thread::spawn(move || {
                twin.send("PutItem", &put);
                // A read after one's own write sees it.
                assert!(!twin.send("Query", query).1.contains(r#""Count":0"#));
            })
        };
        twin.send("PutItem", &put("b"));
        other.join().unwrap();
        assert!(twin.send("Query", query).1.contains(r#""Count":2"#));
    });
}

#[test]
fn nothing_due_is_skipped() {
    explore(|| {
        let twin = Twin::new();
        twin.send(
            "UpdateTimeToLive",
            r#"{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}"#,
        );
        let expires = Moment::START.seconds() + 10;
        let put = format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"a"}},"ttl":{{"N":"{expires}"}}}}}}"#);
        let writer = {
            let twin = twin.clone();
            thread::spawn(move || {
                twin.send("PutItem", &put);
            })
        };
        twin.0.clock().set(Moment::from_seconds(expires + 1));
        twin.get("a");
        writer.join().unwrap();
        assert_eq!(twin.get("a"), "{}");
    });
}
