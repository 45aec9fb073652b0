//! The timer misses no due work, although it visits only accounts that can have some.

use std::time::Duration;

use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Lag, Moment, Settings, TimeToLive};
use serde_json::{Value, json};

use crate::common::commits::dump;
use crate::common::{Twin, create_table_with_ttl};

const ACCOUNTS: usize = 12;
const CREATE: &str = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}],
    "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}"#;

fn engine() -> Engine {
    let conditions = Conditions {
        transaction_time: Lag::Fixed(Duration::from_millis(50)),
        internal_errors: 0.0,
        throttles: 0.0,
        ..Conditions::AWS
    };
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions,
        shared_db: false,
    })
}

fn caller(account: usize) -> Caller {
    Caller {
        access_key: format!("account-{account}").into(),
        region: "us-east-1".into(),
    }
}

fn ask(engine: &Engine, account: usize, operation: &str, body: &str) {
    let answer = engine.dispatch(&caller(account), operation, body.as_bytes());
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{operation} {body}: {text}");
}

/// Runs the timer, and checks that it left no due work.
fn look(engine: &Engine, what: &str) -> Moment {
    let next = engine.run_background_work();
    assert_eq!(next, engine.next_due(), "{what}: it knows when something is due next");
    assert!(next > engine.clock().now(), "{what}: it does all that is due");
    next
}

#[test]
fn a_timer_misses_nothing() {
    let engine = engine();
    let expires = Moment::START.plus(Duration::from_hours(1)).seconds();
    let ttl = r#"{"TableName": "tab", "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": true}}"#;
    let put = |key: &str| {
        format!(
            r#"{{"TableName": "tab", "Item": {{"pk": {{"S": "{key}"}}, "g": {{"S": "g"}}, "t": {{"N": "{expires}"}}}}}}"#
        )
    };
    let transaction = format!(r#"{{"TransactItems": [{{"Put": {}}}]}}"#, put("of a transaction"));
    for account in 0..ACCOUNTS {
        ask(&engine, account, "CreateTable", CREATE);
        look(&engine, "a table");
    }
    engine.clock().advance(Duration::from_mins(1));
    for account in 0..ACCOUNTS {
        ask(&engine, account, "UpdateTimeToLive", ttl);
    }
    look(&engine, "time to live");
    engine.clock().advance(Duration::from_hours(2));
    // Each account is idle for longer than the timer keeps it.
    for account in 0..ACCOUNTS {
        for looks in 0..20 {
            look(&engine, &format!("rest {account} {looks}"));
        }
        ask(&engine, account, "PutItem", &put("a"));
        look(&engine, "a write");
        ask(&engine, account, "TransactWriteItems", &transaction);
        look(&engine, "a transaction");
    }
    ask(&engine, 0, "DeleteTable", r#"{"TableName": "tab"}"#);
    // From one due moment to the next: arrivals at indexes, deletions, the end of tables, records, shards and streams.
    let (end, mut steps) = (engine.clock().now().plus(Duration::from_hours(100)), 0);
    while engine.clock().now() < end {
        let next = look(&engine, &format!("step {steps}"));
        assert!(engine.clock().set(next));
        steps += 1;
    }
    assert!(steps > ACCOUNTS, "{steps}");
    // Changed conditions change the due work of all accounts.
    for account in 0..ACCOUNTS {
        if account > 0 {
            ask(
                &engine,
                account,
                "PutItem",
                &put("b").replace(&expires.to_string(), "99999999999"),
            );
        }
    }
    for _ in 0..20 {
        look(&engine, "rest");
    }
    engine.set_conditions(Conditions::CALM).unwrap();
    look(&engine, "other conditions");
    engine.reset().unwrap();
    assert_eq!(look(&engine, "a reset"), Moment::NEVER);
}

/// The answer of a control of the table `tab`.
fn control(twin: &Twin, path: &str) -> Value {
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: &format!("/_dynatwin/tables/tab/{path}"),
        headers: &[("host", "here")],
        body: b"",
    });
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// On a clock that runs by itself nothing applies due work before a control does.
#[test]
fn controls_find_due_work_applied() {
    let count = |twin: &Twin, index: Option<&str>| {
        let mut scan = json!({"TableName": "tab"});
        if let Some(index) = index {
            scan["IndexName"] = index.into();
        }
        twin.ok("Scan", &scan)["Count"].clone()
    };
    let off = Conditions {
        time_to_live: TimeToLive::Off,
        ..Conditions::CALM
    };
    // Item `a` expired and is deleted; item `b` stays, and is in the index.
    type Check<'c> = &'c dyn Fn(&Twin) -> Value;
    let checks: [(&str, Check<'_>, Value); 9] = [
        (
            "items",
            &|twin| json!(control(twin, "items")["items"].as_array().unwrap().len()),
            json!(1),
        ),
        (
            "entries",
            &|twin| json!(control(twin, "items?index=by-g")["items"].as_array().unwrap().len()),
            json!(1),
        ),
        (
            "all items",
            &|twin| json!(twin.engine.items(&twin.caller, "tab").unwrap().len()),
            json!(1),
        ),
        (
            "indexes",
            &|twin| control(twin, "indexes")[0]["waiting"].clone(),
            json!(0),
        ),
        (
            "pending",
            &|twin| control(twin, "pending")["timeToLive"]["count"].clone(),
            json!(1),
        ),
        (
            "metrics",
            &|twin| {
                let metrics = twin.engine.metrics(&twin.caller);
                let deleted = metrics
                    .iter()
                    .find(|metric| metric.name == "TimeToLiveDeletedItemCount");
                json!(deleted.map(|deleted| deleted.value))
            },
            json!(1.0),
        ),
        (
            "pause of an index",
            &|twin| {
                twin.engine.account(&twin.caller).pause_index("tab", "by-g").unwrap();
                count(twin, Some("by-g"))
            },
            json!(1),
        ),
        (
            "conditions",
            &|twin| {
                twin.engine.set_conditions(off).unwrap();
                count(twin, None)
            },
            json!(1),
        ),
        (
            "conditions of the table",
            &|twin| {
                twin.engine
                    .account(&twin.caller)
                    .set_table_conditions("tab", off)
                    .unwrap();
                count(twin, None)
            },
            json!(1),
        ),
    ];
    for (name, check, expect) in checks {
        let twin = Twin::new(7);
        create_table_with_ttl(&twin);
        let conditions = Conditions {
            index_propagation: Lag::Fixed(Duration::from_secs(5)),
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        for (pk, ttl) in [("a", 10), ("b", 1_000_000)] {
            let ttl = (twin.seconds() + ttl).to_string();
            let item = json!({"pk": {"S": pk}, "g": {"S": "g"}, "ttl": {"N": ttl}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        // Not `advance`, which applies what is due.
        twin.engine.clock().advance(Duration::from_mins(1));
        assert_eq!(check(&twin), expect, "{name}");
    }
}

/// A clock that is set or advanced applies what is due by then, before any request; one that is ahead stays.
#[test]
fn a_step_of_the_clock_applies_due_work() {
    type Step = fn(&Engine) -> bool;
    let set: Step = |engine| engine.set_clock(Moment::START.plus(Duration::from_mins(1)));
    let advance: Step = |engine| {
        engine.advance(Duration::from_mins(1));
        true
    };
    let stay: Step = |engine| engine.set_clock(Moment::START);
    let back: Step = |engine| engine.set_clock(Moment::from_seconds(0));
    for (step, moves, left) in [(set, true, 0), (advance, true, 0), (stay, true, 1), (back, false, 1)] {
        let twin = Twin::new(7);
        create_table_with_ttl(&twin);
        let ttl = (twin.seconds() + 10).to_string();
        let item = json!({"pk": {"S": "expiring"}, "ttl": {"N": ttl}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        assert_eq!(step(&twin.engine), moves);
        // A checkpoint applies nothing.
        let state = format!("{:?}", dump(&twin.engine));
        assert_eq!(state.matches("expiring").count() > 0, left > 0, "{left}");
    }
}

/// After a restore, the timer knows the work of accounts that it examined before, and of those that it did not know.
#[test]
fn a_timer_knows_the_work_of_a_restored_state() {
    let engine = engine();
    let ttl = r#"{"TableName": "tab", "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": true}}"#;
    let put = |engine: &Engine, account: usize, key: &str| {
        let expires = engine.clock().now().plus(Duration::from_mins(5)).seconds();
        let item = format!(r#"{{"pk": {{"S": "{key}"}}, "g": {{"S": "g"}}, "t": {{"N": "{expires}"}}}}"#);
        ask(
            engine,
            account,
            "PutItem",
            &format!(r#"{{"TableName": "tab", "Item": {item}}}"#),
        );
    };
    for account in 0..3 {
        ask(&engine, account, "CreateTable", CREATE);
    }
    engine.clock().advance(Duration::from_mins(1));
    for account in 0..3 {
        ask(&engine, account, "UpdateTimeToLive", ttl);
    }
    engine.clock().advance(Duration::from_hours(2));
    put(&engine, 0, "a");
    look(&engine, "before");
    let snapshot = engine.snapshot();
    let other = self::engine();
    for engine in [&engine, &other] {
        engine.restore(&snapshot).unwrap();
        for looks in 0..20 {
            look(engine, &format!("after the restore {looks}"));
        }
        for account in 0..3 {
            put(engine, account, "b");
            look(engine, &format!("a write of {account}"));
        }
        let mut steps = 0;
        let end = engine.clock().now().plus(Duration::from_hours(100));
        while engine.clock().now() < end {
            let next = look(engine, &format!("step {steps}"));
            assert!(engine.clock().set(next));
            steps += 1;
        }
        for account in 0..3 {
            assert_eq!(
                engine.items(&caller(account), "tab").map(|items| items.len()),
                Some(0),
                "{account}"
            );
        }
    }
}
