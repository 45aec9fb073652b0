//! loom explores the interleavings of two threads over the real engine: its `dispatch`, storage and execute, with
//! loom's locks and atomics in `sync`.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p dynatwin-engine --test loom --target-dir target/loom`.
//! `cargo xtask unlocked` shows that each model fails without its lock.
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dynatwin_engine::attributes::{AttributeValue, partition_token};
use dynatwin_engine::commits::{AppendError, Commit, CommitSink, EncodedCommit};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::iam::{Directory, SessionRequest};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings, Shards};
use loom::thread;

/// The number of preemptions explored: two reveal nearly all locking errors, and a third is cheap in models this small.
/// `DYNATWIN_PREEMPTIONS` overrides it.
const PREEMPTIONS: usize = 3;

/// The minimum number of interleavings of a model: with fewer its threads would not interact.
const FEWEST: usize = 5;

/// Two partition keys of different partitions.
const NEAR: &str = "a";
const FAR: &str = "c";

const TABLE: &str = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

const INDEXED: &str = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],
    "Projection":{"ProjectionType":"ALL"}}]}"#;

const VECTORS: &str = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
    "VectorIndexes":[{"IndexName":"near","VectorAttribute":{"AttributeName":"v"},"Dimensions":1,
    "DistanceFunction":"EUCLIDEAN","Projection":{"ProjectionType":"KEYS_ONLY"}}]}"#;
const TOLD: &str = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
    "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;

const METERED: &str = r#"{"TableName":"tab","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

const LIVING: &str = r#"{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}"#;

#[derive(Clone)]
struct Twin(Arc<Engine>);

fn caller() -> Caller {
    Caller {
        access_key: "loom".into(),
        region: "us-east-1".into(),
    }
}

impl Twin {
    fn empty() -> Twin {
        let settings = Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: true,
        };
        Twin(Arc::new(Engine::new(settings)))
    }

    fn with(table: &str) -> Twin {
        let twin = Twin::empty();
        twin.ok("CreateTable", table);
        twin
    }

    /// Returns a twin whose table has a stream with this many shards.
    fn with_stream(shards: u32) -> Twin {
        let twin = Twin::empty();
        twin.0
            .set_conditions(Conditions {
                stream_shards: Shards::Fixed(shards),
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok("CreateTable", TOLD);
        twin
    }

    fn send(&self, operation: &str, body: &str) -> (u16, String) {
        let answer = self.0.dispatch(&caller(), operation, body.as_bytes());
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    fn ok(&self, operation: &str, body: &str) -> String {
        let (status, answer) = self.send(operation, body);
        assert_eq!(status, 200, "{operation}: {answer}");
        answer
    }

    /// Puts an item with these further members of its JSON.
    fn put(&self, key: &str, more: &str) {
        self.ok(
            "PutItem",
            &format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{key}"}}{more}}}}}"#),
        );
    }

    fn get(&self, key: &str) -> String {
        self.ok(
            "GetItem",
            &format!(r#"{{"TableName":"tab","Key":{{"pk":{{"S":"{key}"}}}},"ConsistentRead":true}}"#),
        )
    }

    fn get_stale(&self, key: &str) -> String {
        self.ok(
            "GetItem",
            &format!(r#"{{"TableName":"tab","Key":{{"pk":{{"S":"{key}"}}}}}}"#),
        )
    }

    fn query(&self, g: &str) -> String {
        self.ok(
            "Query",
            &format!(
                r#"{{"TableName":"tab","IndexName":"by-g","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{{":g":{{"S":"{g}"}}}}}}"#
            ),
        )
    }

    /// Returns an iterator at the start of the shard with a key's records, in a stream of four shards or one.
    fn shard_of(&self, key: &str) -> String {
        let streams = self.ok("ListStreams", "{}");
        let arn = member(&streams, "StreamArn", 0);
        let shards = self.ok("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
        // Shards are listed in the order of their partitions.
        let alone = shards.matches(r#""ShardId""#).count() == 1;
        let shard = member(&shards, "ShardId", if alone { 0 } else { partition(key) });
        let body = format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
        member(&self.ok("GetShardIterator", &body), "ShardIterator", 0).to_owned()
    }

    /// Returns the records at an iterator.
    fn records(&self, iterator: &str) -> String {
        self.ok("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#))
    }

    fn spawn<T: 'static>(&self, work: impl FnOnce(&Twin) -> T + 'static) -> thread::JoinHandle<T> {
        let twin = self.clone();
        thread::spawn(move || work(&twin))
    }
}

/// Returns the text value of the `at`-th member with this name.
fn member<'j>(json: &'j str, name: &str, at: usize) -> &'j str {
    let name = format!(r#""{name}":""#);
    let rest = json.split(name.as_str()).nth(1 + at);
    rest.and_then(|rest| rest.split('"').next()).unwrap()
}

/// Returns the number of the partition of a key. A new table has four, each a quarter of the tokens.
fn partition(key: &str) -> usize {
    let token = partition_token(&AttributeValue::string(key)).unwrap();
    (token >> 62) as usize
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let setting = std::env::var("DYNATWIN_PREEMPTIONS").ok();
    builder.preemption_bound = Some(setting.map_or(PREEMPTIONS, |setting| setting.parse().unwrap()));
    builder.max_branches = 100_000;
    let explored = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&explored);
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let explored = explored.load(Ordering::Relaxed);
    println!("{explored} interleavings");
    assert!(explored >= FEWEST, "only {explored} interleavings");
}

#[test]
fn the_two_keys_lie_in_different_partitions() {
    assert_ne!(partition(NEAR), partition(FAR));
}

#[test]
fn a_conditional_put_has_one_winner() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let put = |twin: &Twin, owner: &str| {
            let body = format!(
                r#"{{"TableName":"tab","Item":{{"pk":{{"S":"a"}},"owner":{{"S":"{owner}"}}}},"ConditionExpression":"attribute_not_exists(pk)"}}"#
            );
            twin.send("PutItem", &body).0 == 200
        };
        let other = twin.spawn(move |twin| put(twin, "one"));
        let won = [put(&twin, "two"), other.join().unwrap()];
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let owner = if won[0] { "two" } else { "one" };
        assert!(twin.get("a").contains(owner));
    });
}

#[test]
fn no_increment_is_lost() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let add = r#"{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}"#;
        let other = twin.spawn(move |twin| drop(twin.ok("UpdateItem", add)));
        twin.ok("UpdateItem", add);
        other.join().unwrap();
        assert!(twin.get("a").contains(r#""n":{"N":"2"}"#));
    });
}

/// Returns the body of a transaction that puts two items.
fn put_both(first: &str, second: &str) -> String {
    let put = |key| format!(r#"{{"Put":{{"TableName":"tab","Item":{{"pk":{{"S":"{key}"}}}}}}}}"#);
    format!(r#"{{"TransactItems":[{},{}]}}"#, put(first), put(second))
}

#[test]
fn a_transaction_is_never_observed_in_part() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let writer = twin.spawn(|twin| drop(twin.ok("TransactWriteItems", &put_both(NEAR, FAR))));
        let get = |key| format!(r#"{{"Get":{{"TableName":"tab","Key":{{"pk":{{"S":"{key}"}}}}}}}}"#);
        let body = format!(r#"{{"TransactItems":[{},{}]}}"#, get(FAR), get(NEAR));
        let seen = twin.ok("TransactGetItems", &body);
        let count = seen.matches("Item\"").count();
        assert!(count == 0 || count == 2, "{seen}");
        writer.join().unwrap();
    });
}

#[test]
fn transactions_in_opposite_order_do_not_block_each_other() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let other = twin.spawn(|twin| drop(twin.ok("TransactWriteItems", &put_both(NEAR, FAR))));
        twin.ok("TransactWriteItems", &put_both(FAR, NEAR));
        other.join().unwrap();
    });
}

#[test]
fn a_transaction_with_a_token_is_applied_once() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let body = r#"{"ClientRequestToken":"t","TransactItems":[{"Update":{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}"#;
        let send = move |twin: &Twin| {
            let (status, answer) = twin.send("TransactWriteItems", body);
            assert!(
                status == 200 || answer.contains("TransactionInProgressException"),
                "{answer}"
            );
            status == 200
        };
        let other = twin.spawn(send);
        let done = [send(&twin), other.join().unwrap()];
        assert!(done.contains(&true));
        assert!(twin.get("a").contains(r#""n":{"N":"1"}"#));
    });
}

#[test]
fn a_read_of_an_index_sees_the_writes_before_it() {
    explore(|| {
        let twin = Twin::with(INDEXED);
        let write_and_look = |twin: &Twin, key: &str| {
            twin.put(key, r#","g":{"S":"x"}"#);
            let seen = twin.query("x");
            assert!(
                seen.contains(&format!(r#""pk":{{"S":"{key}"}}"#)),
                "{key} is missing: {seen}"
            );
        };
        let other = twin.spawn(move |twin| write_and_look(twin, NEAR));
        write_and_look(&twin, FAR);
        other.join().unwrap();
        assert!(twin.query("x").contains(r#""Count":2"#));
    });
}

#[test]
fn an_index_converges_to_its_item() {
    explore(|| {
        let twin = Twin::with(INDEXED);
        let other = twin.spawn(|twin| {
            twin.put("a", r#","g":{"S":"x"}"#);
            twin.query("x");
        });
        twin.put("a", r#","g":{"S":"y"}"#);
        twin.query("y");
        other.join().unwrap();
        let (stays, goes) = if twin.get("a").contains(r#""g":{"S":"x"}"#) {
            ("x", "y")
        } else {
            ("y", "x")
        };
        assert!(twin.query(stays).contains(r#""Count":1"#));
        assert!(twin.query(goes).contains(r#""Count":0"#));
    });
}

#[test]
fn a_backfill_brings_nothing_back() {
    const ADD: &str = r#"{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],
        "GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}}]}"#;
    const REMOVE: &str = r#"{"TableName":"tab","Key":{"pk":{"S":"a"}}}"#;
    for removes in [true, false] {
        explore(move || {
            let twin = Twin::with(TABLE);
            twin.put("a", r#","g":{"S":"x"}"#);
            let other = twin.spawn(move |twin| {
                if removes {
                    twin.ok("DeleteItem", REMOVE);
                } else {
                    twin.put("a", r#","g":{"S":"y"}"#);
                }
                // Applies the queued change while the index is filled.
                twin.0.run_due();
            });
            twin.ok("UpdateTable", ADD);
            other.join().unwrap();
            assert!(twin.query("x").contains(r#""Count":0"#));
            assert!(removes || twin.query("y").contains(r#""Count":1"#));
        });
    }
}

#[test]
fn a_vector_index_converges_to_its_item() {
    explore(|| {
        let twin = Twin::with(VECTORS);
        let search = |twin: &Twin| {
            let body = r#"{"TableName":"tab","IndexName":"near","TopK":5,"SearchVector":[{"N":"0"}],"ProjectionExpression":"v"}"#;
            twin.ok("SearchVectors", body)
        };
        let other = twin.spawn(move |twin| {
            twin.put("a", r#","v":{"L":[{"N":"1"}]}"#);
            search(twin);
        });
        twin.put("a", r#","v":{"L":[{"N":"2"}]}"#);
        search(&twin);
        other.join().unwrap();
        let stays = if twin.get("a").contains(r#"{"N":"1"}"#) {
            "1.0"
        } else {
            "2.0"
        };
        let found = search(&twin);
        assert_eq!(found.matches("Score").count(), 1, "{found}");
        assert!(found.contains(&format!(r#"{{"N":"{stays}"}}"#)), "{found}");
    });
}

#[test]
fn due_work_is_never_observed() {
    explore(|| {
        let twin = Twin::with(TABLE);
        twin.ok("UpdateTimeToLive", LIVING);
        let expires = Moment::START.seconds() + 10;
        let writer = twin.spawn(move |twin| twin.put("a", &format!(r#","ttl":{{"N":"{expires}"}}"#)));
        twin.0.clock().set(Moment::from_seconds(expires + 1));
        // A read of a single item hides what is due; other reads apply it.
        assert_eq!(twin.get("a"), "{}");
        assert!(twin.ok("Scan", r#"{"TableName":"tab"}"#).contains(r#""Count":0"#));
        writer.join().unwrap();
        assert_eq!(twin.get("a"), "{}");
    });
}

#[test]
fn a_hidden_item_is_not_observed_again() {
    for is_stale in [false, true] {
        explore(move || hide_and_replace(if is_stale { stale(false) } else { Twin::with(TABLE) }));
    }
}

/// One thread reads an item whose deletion is due, another replaces it.
fn hide_and_replace(twin: Twin) {
    twin.ok("UpdateTimeToLive", LIVING);
    let expires = Moment::START.seconds() + 10;
    twin.put("a", &format!(r#","ttl":{{"N":"{expires}"}}"#));
    let put = r#"{"TableName":"tab","Item":{"pk":{"S":"a"}},"ReturnValues":"ALL_OLD"}"#;
    let writer = twin.spawn(move |twin| twin.ok("PutItem", put));
    twin.0.clock().set(Moment::from_seconds(expires + 1));
    let was_hidden = twin.get("a") == "{}";
    let old = writer.join().unwrap();
    assert!(!was_hidden || old == "{}", "hidden, and then replaced: {old}");
}

#[test]
fn an_index_shows_nothing_due() {
    explore(|| {
        let twin = Twin::with(INDEXED);
        twin.ok("UpdateTimeToLive", LIVING);
        let expired = Moment::START.seconds() - 10;
        let item = format!(r#","g":{{"S":"x"}},"ttl":{{"N":"{expired}"}}"#);
        let writer = twin.spawn(move |twin| twin.put("a", &item));
        assert!(twin.query("x").contains(r#""Count":0"#));
        writer.join().unwrap();
        assert!(twin.query("x").contains(r#""Count":0"#));
    });
}

#[test]
fn one_of_two_conflicting_transactions_succeeds() {
    explore(|| {
        let twin = Twin::empty();
        let flight = Duration::from_secs(1);
        twin.0
            .set_conditions(Conditions {
                transaction_time: Lag::Fixed(flight),
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok("CreateTable", TABLE);
        let send = |twin: &Twin, body: &str| {
            let (status, answer) = twin.send("TransactWriteItems", body);
            assert!(status == 200 || answer.contains("TransactionConflict"), "{answer}");
            status == 200
        };
        let other = twin.spawn(move |twin| send(twin, &put_both(NEAR, FAR)));
        let mine = send(&twin, &put_both(FAR, NEAR));
        assert_ne!(mine, other.join().unwrap());
        assert_eq!(twin.get(NEAR), "{}");
        twin.0.advance(flight);
        assert_ne!(twin.get(NEAR), "{}");
        assert_ne!(twin.get(FAR), "{}");
    });
}

#[test]
fn a_write_planned_before_time_to_live_was_enabled_expires() {
    explore(|| {
        let twin = Twin::with(TABLE);
        let expires = Moment::START.seconds() + 10;
        let writer = twin.spawn(move |twin| twin.put("a", &format!(r#","ttl":{{"N":"{expires}"}}"#)));
        twin.ok("UpdateTimeToLive", LIVING);
        writer.join().unwrap();
        twin.0.clock().set(Moment::from_seconds(expires + 1));
        assert_eq!(twin.get("a"), "{}");
    });
}

#[test]
fn a_table_is_created_once() {
    explore(|| {
        let twin = Twin::empty();
        let create = |twin: &Twin| twin.send("CreateTable", TABLE).0 == 200;
        let other = twin.spawn(create);
        let made = [create(&twin), other.join().unwrap()];
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
    });
}

#[test]
fn no_unit_of_capacity_is_spent_twice() {
    explore(|| {
        let twin = Twin::empty();
        twin.0
            .set_conditions(Conditions {
                capacity: Conditions::AWS.capacity,
                ..Conditions::CALM
            })
            .unwrap();
        twin.ok("CreateTable", METERED);
        // Items of two partitions, so that only the ledger's lock serializes them.
        let put = |twin: &Twin, key: &str| {
            let body = format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{key}"}}}}}}"#);
            twin.send("PutItem", &body).0 == 200
        };
        let other = twin.spawn(move |twin| put(twin, NEAR));
        let passed = [put(&twin, FAR), other.join().unwrap()];
        assert_eq!(passed.iter().filter(|passed| **passed).count(), 1);
    });
}

#[test]
fn a_fault_rule_acts_once() {
    explore(|| {
        let twin = Twin::with(TABLE);
        twin.0
            .add_fault(Rule::new(Verdict::Throttle(None)).operation("GetItem").first(1))
            .unwrap();
        let get = |twin: &Twin| {
            let body = r#"{"TableName":"tab","Key":{"pk":{"S":"a"}}}"#;
            twin.send("GetItem", body).0 == 400
        };
        let other = twin.spawn(get);
        let throttled = [get(&twin), other.join().unwrap()];
        assert_eq!(throttled.iter().filter(|throttled| **throttled).count(), 1);
    });
}

#[test]
fn the_records_of_an_item_are_in_order() {
    explore(|| {
        let twin = Twin::with_stream(4);
        let shard = twin.shard_of("a");
        let other = twin.spawn(|twin| twin.put("a", r#","v":{"S":"one"}"#));
        twin.put("a", r#","v":{"S":"two"}"#);
        other.join().unwrap();
        let text = twin.records(&shard);
        let (first, last) = if twin.get("a").contains("one") {
            ("two", "one")
        } else {
            ("one", "two")
        };
        let image = |name: &str, v: &str| format!(r#""{name}":{{"pk":{{"S":"a"}},"v":{{"S":"{v}"}}}}"#);
        let records: Vec<&str> = text.split("eventID").skip(1).collect();
        assert_eq!(records.len(), 2, "{text}");
        assert!(
            records[0].contains("INSERT") && records[0].contains(&image("NewImage", first)),
            "{text}"
        );
        assert!(
            records[1].contains("MODIFY") && records[1].contains(&image("OldImage", first)),
            "{text}"
        );
        assert!(records[1].contains(&image("NewImage", last)), "{text}");
    });
}

#[test]
fn a_stream_has_all_records_of_a_transaction_or_none() {
    explore(|| {
        let twin = Twin::with_stream(4);
        let shards = [twin.shard_of(NEAR), twin.shard_of(FAR)];
        let writer = twin.spawn(|twin| drop(twin.ok("TransactWriteItems", &put_both(NEAR, FAR))));
        let seen = shards.map(|shard| twin.records(&shard).contains("INSERT"));
        assert!(!seen[0] || seen[1], "one record was there before the other");
        writer.join().unwrap();
    });
}

#[test]
fn a_shard_of_two_partitions_has_all_records_of_a_transaction_or_none() {
    explore(|| {
        let twin = Twin::with_stream(1);
        let shard = twin.shard_of(NEAR);
        let writer = twin.spawn(|twin| drop(twin.ok("TransactWriteItems", &put_both(NEAR, FAR))));
        let count = twin.records(&shard).matches("INSERT").count();
        assert!(count == 0 || count == 2, "{count} of two records are there");
        writer.join().unwrap();
    });
}

#[test]
fn a_sequence_number_is_used_once() {
    explore(|| {
        let twin = Twin::with_stream(4);
        let shards = [twin.shard_of(NEAR), twin.shard_of(FAR)];
        let other = twin.spawn(|twin| twin.put(NEAR, ""));
        twin.put(FAR, "");
        other.join().unwrap();
        let [near, far] = shards.map(|shard| member(&twin.records(&shard), "SequenceNumber", 0).to_owned());
        assert_ne!(near, far);
    });
}

#[test]
fn a_reader_of_a_stream_finds_a_due_deletion() {
    explore(|| {
        let twin = Twin::with_stream(4);
        twin.ok("UpdateTimeToLive", LIVING);
        let expires = Moment::START.seconds() + 10;
        twin.put("a", &format!(r#","ttl":{{"N":"{expires}"}}"#));
        let shard = twin.shard_of("a");
        twin.0.clock().set(Moment::from_seconds(expires + 1));
        let writer = twin.spawn(|twin| twin.put("a", ""));
        let read = || {
            let text = twin.records(&shard);
            let names = text.split(r#""eventName":""#).skip(1);
            names.map(|rest| rest[..6].to_owned()).collect::<Vec<_>>()
        };
        let seen = read();
        writer.join().unwrap();
        let all = read();
        assert_eq!(all, ["INSERT", "REMOVE", "INSERT"]);
        assert!(seen.len() >= 2 && all.starts_with(&seen), "{seen:?}");
    });
}

/// Returns a twin whose reads are stale by a second, with further conditions.
fn stale(monotonic: bool) -> Twin {
    let twin = Twin::empty();
    twin.0
        .set_conditions(Conditions {
            read_staleness: Lag::Fixed(STALE),
            monotonic_reads: monotonic,
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok("CreateTable", TABLE);
    twin
}

const STALE: Duration = Duration::from_secs(1);

/// Returns another key in the partition of [`NEAR`].
fn beside() -> String {
    let mut keys = ('d'..='z').map(String::from);
    keys.find(|key| partition(key) == partition(NEAR)).unwrap()
}

#[test]
fn a_stale_read_returns_one_state() {
    explore(|| {
        let (twin, beside) = (stale(false), beside());
        [NEAR, &beside]
            .iter()
            .for_each(|key| twin.put(key, r#","v":{"S":"old"}"#));
        twin.0.clock().advance(STALE);
        let key = beside.clone();
        let other = twin.spawn(move |twin| twin.put(&key, r#","v":{"S":"new"}"#));
        twin.put(NEAR, r#","v":{"S":"new"}"#);
        assert!(twin.get_stale(&beside).contains("old"), "a second ago it was there");
        other.join().unwrap();
        for key in [NEAR, &beside] {
            assert!(twin.get_stale(key).contains("old"));
            assert!(twin.get(key).contains("new"));
        }
    });
}

#[test]
fn monotonic_reads_never_go_back() {
    explore(|| {
        let twin = stale(true);
        twin.put("a", "");
        // One read returns the current state, the other may not; afterwards none is older.
        let other = twin.spawn(|twin| drop(twin.get_stale("a")));
        assert!(twin.get("a").contains("Item"));
        other.join().unwrap();
        assert!(twin.get_stale("a").contains("Item"));
    });
}

#[test]
fn a_paused_index_does_not_change() {
    explore(|| {
        let twin = Twin::with(INDEXED);
        let count = |twin: &Twin| twin.query("x").matches(r#""pk""#).count();
        let put = |twin: &Twin, key: &str| twin.put(key, r#","g":{"S":"x"}"#);
        put(&twin, NEAR);
        let other = twin.spawn(move |twin| count(twin));
        twin.0.account(&caller()).pause_index("tab", "by-g").unwrap();
        put(&twin, FAR);
        assert_eq!((count(&twin), other.join().unwrap()), (1, 1));
        assert_eq!(count(&twin), 1);
        twin.0.account(&caller()).resume_index("tab", "by-g").unwrap();
        assert_eq!(count(&twin), 2);
    });
}

#[test]
fn transactions_on_two_ledgers_do_not_block_each_other() {
    explore(|| {
        let twin = Twin::empty();
        twin.0
            .set_conditions(Conditions {
                capacity: Conditions::AWS.capacity,
                ..Conditions::CALM
            })
            .unwrap();
        let units = r#""ReadCapacityUnits":10,"WriteCapacityUnits":10"#;
        let table = METERED.replace(r#""ReadCapacityUnits":1,"WriteCapacityUnits":1"#, units);
        twin.ok("CreateTable", &table);
        twin.ok("CreateTable", &table.replace("tab", "tub"));
        // No partition is used by both.
        let both = |first: &str, second: &str, key: &str| {
            let put = |table: &str| format!(r#"{{"Put":{{"TableName":"{table}","Item":{{"pk":{{"S":"{key}"}}}}}}}}"#);
            format!(r#"{{"TransactItems":[{},{}]}}"#, put(first), put(second))
        };
        let other = twin.spawn(move |twin| drop(twin.ok("TransactWriteItems", &both("tub", "tab", NEAR))));
        twin.ok("TransactWriteItems", &both("tab", "tub", FAR));
        other.join().unwrap();
    });
}

const HERE: &str = "us-east-1";
const THERE: &str = "eu-west-1";

/// A region whose replica is strongly consistent with the one [`HERE`].
const NEARBY: &str = "us-east-2";

const REPLICA: &str = r#"{"TableName":"tab","ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]}"#;

/// A twin whose table has a replica in another region.
fn global() -> Twin {
    let twin = Twin::separate();
    twin.ok_in(HERE, "CreateTable", TABLE);
    twin.ok_in(HERE, "UpdateTable", REPLICA);
    twin
}

impl Twin {
    /// Returns a twin whose regions have their own tables.
    fn separate() -> Twin {
        Twin(Arc::new(Engine::new(Settings {
            clock: Clock::settable(Moment::START),
            seed: 1,
            conditions: Conditions::CALM,
            shared_db: false,
        })))
    }

    /// Returns the keys of a region's records, shard by shard.
    fn keys_in_stream(&self, region: &str) -> Vec<String> {
        let streams = self.ok_in(region, "ListStreams", "{}");
        let arn = member(&streams, "StreamArn", 0);
        let shards = self.ok_in(region, "DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
        let mut keys = Vec::new();
        for at in 0..shards.matches(r#""ShardId""#).count() {
            let shard = member(&shards, "ShardId", at);
            let body = format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
            let iterator = self.ok_in(region, "GetShardIterator", &body);
            let body = format!(r#"{{"ShardIterator":"{}"}}"#, member(&iterator, "ShardIterator", 0));
            let records = self.ok_in(region, "GetRecords", &body);
            let count = records.matches(r#""eventID""#).count();
            keys.extend((0..count).map(|at| member(&records, "S", at).to_owned()));
        }
        keys
    }

    fn send_in(&self, region: &str, operation: &str, body: &str) -> (u16, String) {
        let caller = Caller {
            access_key: "loom".into(),
            region: region.into(),
        };
        let answer = self.0.dispatch(&caller, operation, body.as_bytes());
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    fn ok_in(&self, region: &str, operation: &str, body: &str) -> String {
        let (status, answer) = self.send_in(region, operation, body);
        assert_eq!(status, 200, "{region} {operation}: {answer}");
        answer
    }

    fn put_in(&self, region: &str, key: &str, value: &str) {
        let body = format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{key}"}},"v":{{"S":"{value}"}}}}}}"#);
        self.ok_in(region, "PutItem", &body);
    }

    fn get_in(&self, region: &str, key: &str) -> String {
        let body = format!(r#"{{"TableName":"tab","Key":{{"pk":{{"S":"{key}"}}}},"ConsistentRead":true}}"#);
        self.ok_in(region, "GetItem", &body)
    }
}

/// A twin whose table has replicas in two other regions, which are strongly consistent.
fn strong() -> Twin {
    let twin = Twin::separate();
    twin.ok_in(HERE, "CreateTable", TABLE);
    let replicas = r#"{"TableName":"tab","MultiRegionConsistency":"STRONG","ReplicaUpdates":[{"Create":{"RegionName":"us-east-2"}}],
        "GlobalTableWitnessUpdates":[{"Create":{"RegionName":"us-west-2"}}]}"#;
    twin.ok_in(HERE, "UpdateTable", replicas);
    twin
}

#[test]
fn a_conditional_put_in_two_regions_has_one_winner() {
    explore(|| {
        let twin = strong();
        let put = |twin: &Twin, region: &str| {
            let body =
                r#"{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)"}"#;
            twin.send_in(region, "PutItem", body).0 == 200
        };
        let other = twin.spawn(move |twin| put(twin, NEARBY));
        let won = [put(&twin, HERE), other.join().unwrap()];
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
    });
}

#[test]
fn regions_that_write_one_item_agree_in_the_end() {
    explore(|| {
        let twin = global();
        let other = twin.spawn(|twin| twin.put_in(THERE, "a", "there"));
        twin.put_in(HERE, "a", "here");
        other.join().unwrap();
        assert_eq!(twin.get_in(HERE, "a"), twin.get_in(THERE, "a"));
    });
}

#[test]
fn no_arrival_is_missed() {
    explore(|| {
        let twin = global();
        twin.put_in(HERE, "a", "old");
        let other = twin.spawn(|twin| twin.get_in(THERE, "a"));
        twin.put_in(HERE, "a", "new");
        assert!(other.join().unwrap().contains(r#""S":"#));
        assert!(twin.get_in(THERE, "a").contains("new"));
    });
}

#[test]
fn a_read_beside_a_step_finds_what_has_arrived() {
    for expires in [false, true] {
        explore(move || arrive_in_a_step(expires));
    }
}

/// A change arrives while a thread moves the clock and another reads the item, which expires in the same step or not at all.
fn arrive_in_a_step(expires: bool) {
    let twin = global();
    let second = Duration::from_secs(1);
    let conditions = Conditions {
        replication_lag: Lag::Fixed(second),
        ..Conditions::CALM
    };
    twin.0.set_conditions(conditions).unwrap();
    if expires {
        twin.ok_in(HERE, "UpdateTimeToLive", LIVING);
        let at = Moment::START.seconds() + 2;
        let item = format!(r#"{{"pk":{{"S":"a"}},"v":{{"S":"new"}},"ttl":{{"N":"{at}"}}}}"#);
        twin.ok_in(HERE, "PutItem", &format!(r#"{{"TableName":"tab","Item":{item}}}"#));
    } else {
        twin.put_in(HERE, "a", "old");
        twin.0.advance(second);
        twin.put_in(HERE, "a", "new");
    }
    let step = twin.spawn(move |twin| {
        twin.0.advance(2 * second);
        twin.get_in(THERE, "a")
    });
    let seen = [(); 2].map(|()| twin.get_in(THERE, "a"));
    let after = step.join().unwrap();
    if expires {
        assert!(seen.iter().all(|seen| seen == "{}") && after == "{}", "{seen:?}");
    } else {
        assert!(seen.iter().all(|seen| seen.contains(r#""S":"#)), "{seen:?}");
        let is_new = seen.map(|seen| seen.contains("new"));
        assert!(is_new.is_sorted() && after.contains("new"), "{is_new:?}, {after}");
    }
}

#[test]
fn a_write_beside_a_new_replica_reaches_it() {
    explore(|| {
        let twin = Twin::separate();
        twin.ok_in(HERE, "CreateTable", TABLE);
        let other = twin.spawn(|twin| twin.put_in(HERE, "a", "new"));
        twin.ok_in(HERE, "UpdateTable", REPLICA);
        other.join().unwrap();
        assert!(twin.get_in(THERE, "a").contains("new"));
    });
}

#[test]
fn strongly_consistent_regions_have_the_same_records() {
    explore(|| {
        let (twin, beside) = (strong(), beside());
        for region in [HERE, NEARBY] {
            let stream =
                r#"{"TableName":"tab","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}"#;
            twin.ok_in(region, "UpdateTable", stream);
        }
        let other = twin.spawn(move |twin| twin.put_in(NEARBY, &beside, "there"));
        twin.put_in(HERE, NEAR, "here");
        other.join().unwrap();
        let [here, there] = [HERE, NEARBY].map(|region| twin.keys_in_stream(region));
        assert_eq!(here.len(), 2);
        assert_eq!(here, there);
    });
}

const ACCOUNT: &str = "123456789012";

/// An account with a role and a user, which may do what a policy allows, as far as the organization does.
fn access(policy: &str, organization: &str) -> Directory {
    let configuration = format!(
        r#"{{"accounts": {{"{ACCOUNT}": {{"roles": {{"Reader": {{}}}}, "serviceControlPolicies": [{organization}],
            "users": {{"ann": {{"accessKeys": [{{"accessKeyId": "loom", "secretAccessKey": "s"}}], "policies": [{policy}]}}}}}}}}}}"#
    );
    Directory::read(&configuration, Moment::START).unwrap()
}

const ALLOW: &str = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;

const DENY: &str = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}"#;

#[test]
fn an_access_key_is_issued_once() {
    explore(|| {
        let twin = Twin::empty();
        twin.0.configure_access(Some(access(ALLOW, ALLOW)));
        let issue = |twin: &Twin| {
            let request = SessionRequest::new(format!("arn:aws:iam::{ACCOUNT}:role/Reader"));
            twin.0.issue_session(&request).unwrap().access_key_id
        };
        let other = twin.spawn(move |twin| [issue(twin), issue(twin)]);
        let mine = [issue(&twin), issue(&twin)];
        let keys = BTreeSet::from_iter(mine.into_iter().chain(other.join().unwrap()));
        assert_eq!(keys.len(), 4);
    });
}

#[test]
fn a_request_is_decided_by_one_configuration() {
    explore(|| {
        let twin = Twin::empty();
        // Neither configuration allows the request: in one the organization denies it, in the other the user's policy.
        twin.0.configure_access(Some(access(ALLOW, DENY)));
        let other = twin.spawn(|twin| twin.send("ListTables", "{}"));
        twin.0.configure_access(Some(access(DENY, ALLOW)));
        let (status, answer) = other.join().unwrap();
        assert_eq!(status, 400, "{answer}");
        assert!(answer.contains("AccessDeniedException"), "{answer}");
    });
}

/// A commit sink that keeps the commits.
#[derive(Default)]
struct Commits(loom::sync::Mutex<Vec<Commit>>);

impl CommitSink for Commits {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        self.0.lock().unwrap().push(Commit::clone(commit));
        Ok(())
    }
}

impl Twin {
    fn with_sink(self) -> (Twin, Arc<Commits>) {
        let commits = Arc::new(Commits::default());
        self.0.attach_sink(commits.clone(), 0);
        (self, commits)
    }
}

#[test]
fn commits_are_appended_in_their_order() {
    explore(|| {
        let (twin, commits) = Twin::empty().with_sink();
        twin.ok("CreateTable", TABLE);
        let other = twin.spawn(|twin| twin.put(NEAR, ""));
        twin.put(FAR, "");
        other.join().unwrap();
        let copy = Twin::empty();
        let mut replay = copy.0.replay();
        for (commit, sequence) in commits.0.lock().unwrap().iter().zip(1..) {
            assert_eq!(commit.sequence, sequence);
            replay.apply(commit).unwrap();
        }
        replay.finish(copy.0.clock().now());
        assert!(copy.get(NEAR).contains(NEAR) && copy.get(FAR).contains(FAR));
    });
}

#[test]
fn a_checkpoint_contains_the_commits_up_to_its_number() {
    explore(|| {
        let (twin, _) = Twin::empty().with_sink();
        let other = twin.spawn(|twin| twin.0.set_conditions(Conditions::STORM));
        let checkpoint = twin.0.checkpoint();
        let is_set = checkpoint.sequence() == 1;
        let copy = Twin::empty();
        let mut replay = copy.0.replay();
        checkpoint.for_each(|commit| replay.apply(&commit).unwrap());
        replay.finish(copy.0.clock().now());
        let expected = if is_set { Conditions::STORM } else { Conditions::CALM };
        assert!(copy.0.conditions() == expected, "set: {is_set}");
        other.join().unwrap().unwrap();
    });
}
