//! Prints how long requests wait while all items of a table expire in one step of a settable clock.
//!
//! `cargo run --release -p dynatwin-engine --example expiry_waits [ITEMS [CASE]...]`; the default is 1,000,000 items and all cases.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings};

const STREAM: &str = r#","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}"#;
const LOCAL: &str = r#","LocalSecondaryIndexes":[{"IndexName":"local","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"g","KeyType":"RANGE"}]}]"#;

struct Twin(Engine);

impl Twin {
    fn send(&self, operation: &str, body: &str) -> String {
        let caller = Caller {
            access_key: "waits".into(),
            region: "us-east-1".into(),
        };
        let answer = self.0.dispatch(&caller, operation, body.as_bytes());
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{operation}: {text}");
        text
    }

    fn create(&self, name: &str, more: &str) {
        let g = if more == LOCAL {
            r#",{"AttributeName":"g","AttributeType":"S"}"#
        } else {
            ""
        };
        self.send("CreateTable", &format!(
            r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}},{{"AttributeName":"sk","AttributeType":"S"}}{g}],"KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"sk","KeyType":"RANGE"}}]{more}}}"#
        ));
        self.send(
            "UpdateTimeToLive",
            &format!(r#"{{"TableName":"{name}","TimeToLiveSpecification":{{"Enabled":true,"AttributeName":"ttl"}}}}"#),
        );
    }

    /// Puts the first items of the table, which expire one second after the start.
    fn fill(&self, items: u64) {
        for number in 0..items {
            self.send(
                "PutItem",
                &format!(
                    r#"{{"TableName":"big","Item":{{{},"g":{{"S":"g"}},"ttl":{{"N":"{}"}},"note":{{"S":"{}"}}}}}}"#,
                    key(number),
                    Moment::START.seconds() + 1,
                    "x".repeat(60)
                ),
            );
        }
    }
}

fn key(number: u64) -> String {
    let (pk, sk) = (number / 10, number % 10);
    format!(r#""pk":{{"S":"user#{pk:06}"}},"sk":{{"S":"order#{sk:04}"}}"#)
}

/// The value of the first member of this name.
fn member<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

/// The longest time that a request takes until `done`; the requests are numbered.
fn longest(done: &AtomicBool, mut request: impl FnMut(u64)) -> Duration {
    let mut longest = Duration::ZERO;
    for number in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        request(number);
        longest = longest.max(begun.elapsed());
        thread::sleep(Duration::from_micros(200));
    }
    longest
}

/// How long reads are stale, as in the `aws` preset.
fn staleness() -> Conditions {
    let Conditions {
        read_staleness,
        stale_reads,
        ..
    } = Conditions::AWS;
    Conditions {
        read_staleness,
        stale_reads,
        ..Conditions::CALM
    }
}

/// A delay of arrivals in other regions.
fn delayed() -> Conditions {
    Conditions {
        replication_lag: Lag::Fixed(Duration::from_secs(1)),
        ..Conditions::CALM
    }
}

/// What is measured: a table, its conditions, and whether its events are recorded.
struct Case<'c> {
    name: &'c str,
    /// Further members of the table's definition.
    more: &'c str,
    conditions: Conditions,
    is_observed: bool,
    has_replica: bool,
    /// The seconds by which the clock advances; all items expire in the first.
    seconds: u64,
}

const CALM: Case<'_> = Case {
    name: "no index",
    more: "",
    conditions: Conditions::CALM,
    is_observed: false,
    has_replica: false,
    seconds: 10,
};

fn measure(case: &Case<'_>, items: u64) {
    let twin = Twin(Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions: case.conditions,
        shared_db: false,
    }));
    twin.create("big", case.more);
    twin.create("small", "");
    if case.has_replica {
        let replica = r#"{"TableName":"big","ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]}"#;
        twin.send("UpdateTable", replica);
    }
    twin.fill(items);
    twin.0.listen(case.is_observed);
    let (done, records) = (AtomicBool::new(false), AtomicU64::new(0));
    let get = |table: &str, number: u64| {
        twin.send(
            "GetItem",
            &format!(r#"{{"TableName":"{table}","Key":{{{}}}}}"#, key(number)),
        );
    };
    let spread = |number: u64| number.wrapping_mul(7919) % items;
    let follow = || {
        let arn = member(&twin.send("ListStreams", "{}"), "StreamArn")?.to_owned();
        let shards = twin.send("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
        let shard = member(&shards, "ShardId")?;
        let latest = format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"LATEST"}}"#);
        member(&twin.send("GetShardIterator", &latest), "ShardIterator").map(str::to_owned)
    };
    let next = follow();
    let (step, waits) = thread::scope(|scope| {
        let put = scope.spawn(|| {
            longest(&done, |number| {
                let key = key(spread(number));
                twin.send(
                    "PutItem",
                    &format!(r#"{{"TableName":"big","Item":{{{key},"g":{{"S":"h"}}}}}}"#),
                );
            })
        });
        let same = scope.spawn(|| longest(&done, |number| get("big", spread(number))));
        let other = scope.spawn(|| longest(&done, |number| get("small", number)));
        let read = scope.spawn(|| {
            let mut next = next;
            longest(&done, |_| {
                let Some(iterator) = next.as_deref() else { return };
                let page = twin.send("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#));
                records.fetch_add(page.matches("\"eventID\"").count() as u64, Ordering::Relaxed);
                next = member(&page, "NextShardIterator").map(str::to_owned);
            })
        });
        thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        twin.0.advance(Duration::from_secs(case.seconds));
        let step = begun.elapsed();
        thread::sleep(Duration::from_millis(200));
        done.store(true, Ordering::Relaxed);
        let waits = [same, put, read, other].map(|thread| thread.join().unwrap_or_default());
        (step, waits)
    });
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let [same, put, read, other] = waits.map(millis);
    let records = records.into_inner();
    println!(
        "{:18}{:>8.0}{same:>12.1}{put:>12.1}{read:>12.1}{other:>12.1}{records:>10}",
        case.name,
        millis(step)
    );
}

fn main() {
    let items = std::env::args().nth(1).and_then(|items| items.parse().ok());
    let items = items.unwrap_or(1_000_000);
    println!(
        "ms, {items} items\n{:18}{:>8}{:>12}{:>12}{:>12}{:>12}{:>10}",
        "", "step", "GetItem", "PutItem", "GetRecords", "other table", "records"
    );
    let selected: Vec<String> = std::env::args().skip(2).collect();
    let cases = [
        CALM,
        Case {
            name: "stream",
            more: STREAM,
            ..CALM
        },
        Case {
            name: "local index",
            more: LOCAL,
            ..CALM
        },
        Case {
            name: "stale reads",
            conditions: staleness(),
            ..CALM
        },
        Case {
            name: "stale reads, 1 s",
            conditions: staleness(),
            seconds: 1,
            ..CALM
        },
        Case {
            name: "event subscriber",
            is_observed: true,
            ..CALM
        },
        Case {
            name: "replica",
            more: STREAM,
            has_replica: true,
            conditions: delayed(),
            ..CALM
        },
    ];
    for case in &cases {
        if selected.is_empty() || selected.iter().any(|name| name == case.name) {
            measure(case, items);
        }
    }
}
