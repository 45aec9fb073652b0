//! Controls that are called twice: what the second call keeps of the first.

use super::{CREATE, answered, ask_as, me, text};
use crate::common::settings;
use dynatwin_engine::Engine;
use serde_json::{Value, json};

/// Returns an engine with the global table `tab` in two regions, with the index `by-g` and an item that has expired.
fn engine() -> Engine {
    let engine = Engine::new(settings(1));
    let send = |operation: &str, body: &str| {
        let answer = engine.dispatch(&me(), operation, body.as_bytes());
        assert_eq!(answer.status, 200, "{body}: {}", text(&answer));
    };
    engine.dispatch(&me(), "CreateTable", CREATE);
    for update in [
        r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST"}"#,
        r#"{"TableName":"tab","StreamSpecification":{"StreamEnabled":false}}"#,
        r#"{"TableName":"tab","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#,
        r#"{"TableName":"tab","ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]}"#,
    ] {
        send("UpdateTable", update);
    }
    send(
        "UpdateTimeToLive",
        r#"{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}"#,
    );
    let off = r#"{"timeToLive":"off"}"#;
    ask_as(&engine, &me(), "PUT", "conditions", off);
    send(
        "PutItem",
        r#"{"TableName":"tab","Item":{"pk":{"S":"a"},"g":{"S":"x"},"ttl":{"N":"1767225600"}}}"#,
    );
    engine
}

/// The value at a JSON pointer, or null.
fn at(answer: &Value, pointer: &str) -> Value {
    answer.pointer(pointer).cloned().unwrap_or_default()
}

/// Calls (method, path, body and status), then what a control shows at JSON pointers.
type Row<'a> = (
    &'a [(&'a str, &'a str, &'a str, u16)],
    &'a str,
    &'a [(&'a str, &'a str)],
);

const CONDITIONS: &str = "tables/tab/conditions";
const INDEXES: &str = "tables/tab/indexes";
const REPLICATION: &str = "tables/tab/replication";
const PAUSE: &str = "tables/tab/indexes/by-g/pause";
const RESUME: &str = "tables/tab/indexes/by-g/resume";
const LAG: &str = "tables/tab/indexes/by-g/lag";
const PAUSE_THERE: &str = "tables/tab/replication/eu-west-1/pause";
const RESUME_THERE: &str = "tables/tab/replication/eu-west-1/resume";
const LAG_THERE: &str = "tables/tab/replication/eu-west-1/lag";
const HEAT: &str = "tables/tab/heat";
const USER_A: &str = r#"{"accounts":{"111111111111":{"accessKeys":[{"accessKeyId":"ROOTA","secretAccessKey":"s"}]}}}"#;
const USER_B: &str = r#"{"accounts":{"222222222222":{"accessKeys":[{"accessKeyId":"ROOTB","secretAccessKey":"s"}]}}}"#;

const ROWS: &[Row<'_>] = &[
    // Conditions of all tables are refined, and those of a table start from them each time.
    (
        &[
            ("PUT", "conditions", r#"{"transactionTime":1}"#, 200),
            ("PUT", "conditions", r#"{"streamLag":2}"#, 200),
        ],
        "conditions",
        &[("/transactionTime", "1"), ("/streamLag", "2")],
    ),
    (
        &[
            ("PUT", "conditions", r#"{"transactionTime":1}"#, 200),
            ("PUT", "conditions", r#""calm""#, 200),
        ],
        "conditions",
        &[("/transactionTime", "0")],
    ),
    (
        &[
            ("PUT", CONDITIONS, r#"{"transactionTime":1}"#, 200),
            ("PUT", CONDITIONS, r#"{"streamLag":2}"#, 200),
        ],
        CONDITIONS,
        &[
            ("/own", "true"),
            ("/conditions/transactionTime", "0"),
            ("/conditions/streamLag", "2"),
        ],
    ),
    (
        &[
            ("PUT", "tables/later/conditions", r#"{"transactionTime":1}"#, 200),
            ("PUT", "tables/later/conditions", r#"{"streamLag":2}"#, 200),
        ],
        "tables/later/conditions",
        &[
            ("/own", "true"),
            ("/conditions/transactionTime", "0"),
            ("/conditions/streamLag", "2"),
        ],
    ),
    (
        &[
            ("PUT", "conditions", r#"{"streamLag":3}"#, 200),
            ("PUT", CONDITIONS, r#"{"transactionTime":1}"#, 200),
            ("PUT", "conditions", r#"{"streamLag":4}"#, 200),
        ],
        CONDITIONS,
        &[("/conditions/transactionTime", "1"), ("/conditions/streamLag", "3")],
    ),
    (
        &[
            ("PUT", CONDITIONS, r#"{"transactionTime":1}"#, 200),
            ("PUT", "conditions", r#"{"streamLag":4}"#, 200),
            ("PUT", CONDITIONS, r#"{"tableStatus":5}"#, 200),
        ],
        CONDITIONS,
        &[
            ("/conditions/transactionTime", "0"),
            ("/conditions/streamLag", "4"),
            ("/conditions/tableStatus", "5"),
        ],
    ),
    (
        &[
            ("PUT", CONDITIONS, r#"{"transactionTime":1}"#, 200),
            ("DELETE", CONDITIONS, "", 200),
            ("DELETE", CONDITIONS, "", 200),
        ],
        CONDITIONS,
        &[("/own", "false"), ("/conditions/transactionTime", "0")],
    ),
    // What is paused twice is resumed at once.
    (
        &[("POST", PAUSE, "", 200), ("POST", PAUSE, "", 200)],
        INDEXES,
        &[("/0/paused", "true")],
    ),
    (
        &[
            ("POST", PAUSE, "", 200),
            ("POST", PAUSE, "", 200),
            ("POST", RESUME, "", 200),
        ],
        INDEXES,
        &[("/0/paused", "false")],
    ),
    (
        &[("POST", RESUME, "", 200), ("POST", RESUME, "", 200)],
        INDEXES,
        &[("/0/paused", "false")],
    ),
    (
        &[("PUT", LAG, "5", 200), ("PUT", LAG, "7", 200)],
        INDEXES,
        &[("/0/lag", "7")],
    ),
    (
        &[
            ("PUT", LAG, "5", 200),
            ("PUT", LAG, r#"{"typical":1,"longest":2}"#, 200),
        ],
        INDEXES,
        &[("/0/lag", r#"{"longest":2,"typical":1}"#)],
    ),
    (
        &[
            ("PUT", LAG, "5", 200),
            ("DELETE", LAG, "", 200),
            ("DELETE", LAG, "", 200),
        ],
        INDEXES,
        &[("/0/lag", "null")],
    ),
    (
        &[("PUT", LAG, "5", 200), ("PUT", LAG, "0", 200)],
        INDEXES,
        &[("/0/lag", "0")],
    ),
    (
        &[("PUT", LAG, "5", 200), ("PUT", LAG, "true", 400)],
        INDEXES,
        &[("/0/lag", "5")],
    ),
    (
        &[
            ("POST", PAUSE_THERE, "", 200),
            ("POST", "tables/tab/replication/pause", "", 200),
        ],
        REPLICATION,
        &[("/0/paused", "true")],
    ),
    (
        &[
            ("POST", PAUSE_THERE, "", 200),
            ("POST", "tables/tab/replication/pause", "", 200),
            ("POST", RESUME_THERE, "", 200),
        ],
        REPLICATION,
        &[("/0/paused", "false")],
    ),
    (
        &[
            ("POST", PAUSE_THERE, "", 200),
            ("POST", PAUSE_THERE, "", 200),
            ("POST", "tables/tab/replication/resume", "", 200),
            ("POST", "tables/tab/replication/resume", "", 200),
        ],
        REPLICATION,
        &[("/0/paused", "false")],
    ),
    (
        &[("PUT", LAG_THERE, "5", 200), ("PUT", LAG_THERE, "7", 200)],
        REPLICATION,
        &[("/0/lag", "7")],
    ),
    (
        &[
            ("PUT", LAG_THERE, "5", 200),
            ("DELETE", LAG_THERE, "", 200),
            ("DELETE", LAG_THERE, "", 200),
        ],
        REPLICATION,
        &[("/0/lag", "null")],
    ),
    // The clock.
    (
        &[("POST", "clock/freeze", "", 200), ("POST", "clock/freeze", "", 200)],
        "clock",
        &[("/frozen", "true")],
    ),
    (
        &[
            ("POST", "clock/freeze", "", 200),
            ("POST", "clock/freeze", "", 200),
            ("POST", "clock/unfreeze", "", 200),
        ],
        "clock",
        &[("/frozen", "false")],
    ),
    (
        &[
            ("POST", "clock/advance", r#"{"seconds":5}"#, 200),
            ("POST", "clock/advance", r#"{"seconds":5}"#, 200),
        ],
        "clock",
        &[("/now", r#""2026-01-01T00:00:10.000Z""#)],
    ),
    (
        &[
            ("POST", "clock/advance", r#"{"seconds":0.25}"#, 200),
            ("POST", "clock/advance", r#"{"seconds":1.5}"#, 200),
        ],
        "clock",
        &[("/now", r#""2026-01-01T00:00:01.750Z""#)],
    ),
    (
        &[
            ("PUT", "clock", r#"{"now":"2026-01-01T00:00:10Z"}"#, 200),
            ("PUT", "clock", r#"{"now":"2026-01-01T00:00:10Z"}"#, 200),
            ("PUT", "clock", r#"{"now":"2026-01-01T00:00:09Z"}"#, 400),
        ],
        "clock",
        &[("/now", r#""2026-01-01T00:00:10.000Z""#)],
    ),
    // What a second watch does not name stays as it is; unwatching ends all of it.
    (
        &[
            ("POST", "watch", r#"{"bodies":true}"#, 200),
            ("POST", "watch", r#"{"events":true}"#, 200),
        ],
        "requests",
        &[("/watched", "true"), ("/bodies", "true"), ("/events", "true")],
    ),
    (
        &[
            ("POST", "watch", r#"{"bodies":true,"events":true}"#, 200),
            ("POST", "watch", "", 200),
        ],
        "requests",
        &[("/watched", "true"), ("/bodies", "true"), ("/events", "true")],
    ),
    (
        &[
            ("POST", "watch", r#"{"bodies":true,"events":true}"#, 200),
            ("POST", "watch", r#"{"bodies":false}"#, 200),
        ],
        "requests",
        &[("/watched", "true"), ("/bodies", "false"), ("/events", "true")],
    ),
    (
        &[
            ("POST", "watch", r#"{"bodies":true,"events":true}"#, 200),
            ("POST", "watch", r#"{"events":false}"#, 200),
        ],
        "requests",
        &[("/watched", "true"), ("/bodies", "true"), ("/events", "false")],
    ),
    (
        &[
            ("POST", "watch", "", 200),
            ("POST", "watch", "", 200),
            ("POST", "unwatch", "", 200),
        ],
        "requests",
        &[("/watched", "false"), ("/bodies", "false"), ("/events", "false")],
    ),
    (
        &[
            ("POST", "watch", r#"{"bodies":true,"events":true}"#, 200),
            ("POST", "unwatch", "", 200),
            ("POST", "unwatch", "", 200),
            ("POST", "watch", "", 200),
        ],
        "requests",
        &[("/watched", "true"), ("/bodies", "false"), ("/events", "false")],
    ),
    (
        &[
            ("POST", "tables/tab/heat/watch", "", 200),
            ("POST", "tables/tab/heat/watch", "", 200),
        ],
        HEAT,
        &[("/resources/0/read/units", "0"), ("/resources/2", "null")],
    ),
    (
        &[
            ("POST", "tables/tab/heat/watch", "", 200),
            ("POST", "tables/tab/heat/watch", "", 200),
            ("POST", "tables/tab/heat/unwatch", "", 200),
        ],
        HEAT,
        &[("/resources", "[]"), ("/keys", "[]")],
    ),
    // Each rule and each outage is another.
    (
        &[
            ("POST", "faults", r#"{"verdict":"reset"}"#, 200),
            ("POST", "faults", r#"{"verdict":"reset"}"#, 200),
            ("DELETE", "faults/1", "", 200),
            ("DELETE", "faults/1", "", 404),
        ],
        "faults",
        &[
            ("/rules/0/id", "2"),
            ("/rules/1", "null"),
            ("/neverFired/0/id", "1"),
            ("/neverFired/1/id", "2"),
        ],
    ),
    (
        &[
            ("POST", "faults", r#"{"verdict":"reset"}"#, 200),
            ("DELETE", "faults", "", 200),
            ("DELETE", "faults", "", 200),
            ("POST", "faults", r#"{"verdict":"reset"}"#, 200),
        ],
        "faults",
        &[("/rules/0/id", "2"), ("/rules/1", "null"), ("/neverFired/1", "null")],
    ),
    (
        &[
            ("POST", "outages", r#"{"outage":"throttle-storm"}"#, 200),
            ("POST", "outages", r#"{"outage":"throttle-storm"}"#, 200),
        ],
        "faults",
        &[
            ("/rules/0/id", "1"),
            ("/rules/1/id", "2"),
            ("/rules/2", "null"),
            ("/neverFired", "[]"),
        ],
    ),
    // A configuration of access control replaces the one before.
    (
        &[("PUT", "access", USER_A, 200), ("PUT", "access", USER_B, 200)],
        "access",
        &[
            ("/configured", "true"),
            ("/accounts/0/id", r#""222222222222""#),
            ("/accounts/1", "null"),
            ("/accessKeys/1", "null"),
        ],
    ),
    (
        &[("PUT", "access", USER_A, 200), ("PUT", "access", "{", 400)],
        "access",
        &[("/configured", "true"), ("/accounts/0/id", r#""111111111111""#)],
    ),
    (
        &[
            ("PUT", "access", USER_A, 200),
            ("DELETE", "access", "", 200),
            ("DELETE", "access", "", 200),
        ],
        "access",
        &[("/configured", "false"), ("/accounts", "[]")],
    ),
    // Everything is gone after the first time.
    (
        &[
            ("POST", "tables/tab/expire-now", "", 200),
            ("POST", "tables/tab/expire-now", "", 200),
        ],
        "tables",
        &[("/0/items", "0")],
    ),
    (
        &[("POST", "reset", "", 200), ("POST", "reset", "", 200)],
        "tables",
        &[("", "[]")],
    ),
    (
        &[
            ("PUT", "conditions", r#"{"transactionTime":1}"#, 200),
            ("POST", "clock/advance", r#"{"seconds":5}"#, 200),
            ("POST", "reset", "", 200),
        ],
        "",
        &[
            ("/conditions/transactionTime", "1"),
            ("/clock/now", r#""2026-01-01T00:00:05.000Z""#),
        ],
    ),
    (
        &[
            ("PUT", "conditions", r#"{"transactionTime":1}"#, 200),
            ("POST", "clock/advance", r#"{"seconds":5}"#, 200),
            ("POST", "reset", r#"{"all":false}"#, 200),
        ],
        "",
        &[
            ("/conditions/transactionTime", "1"),
            ("/clock/now", r#""2026-01-01T00:00:05.000Z""#),
        ],
    ),
    (
        &[
            ("PUT", "conditions", r#"{"transactionTime":1}"#, 200),
            ("POST", "clock/advance", r#"{"seconds":5}"#, 200),
            ("POST", "reset", r#"{"all":true}"#, 200),
            ("POST", "reset", r#"{"all":true}"#, 200),
        ],
        "",
        &[
            ("/conditions/transactionTime", "0"),
            ("/clock/now", r#""2026-01-01T00:00:00.000Z""#),
        ],
    ),
    (
        &[
            ("POST", "watch", "", 200),
            ("DELETE", "requests", "", 200),
            ("DELETE", "requests", "", 200),
        ],
        "requests",
        &[("/watched", "true"), ("/seen", "0"), ("/requests", "[]")],
    ),
];

#[test]
fn a_second_call_finds_what_the_first_has_left() {
    for (calls, shown, expect) in ROWS {
        let engine = engine();
        for (method, path, body, status) in *calls {
            let answer = answered(&engine, &me(), method, path, body);
            assert_eq!(answer.status, *status, "{method} {path} {body}: {}", text(&answer));
        }
        let answer = ask_as(&engine, &me(), "GET", shown, "");
        for (pointer, value) in *expect {
            assert_eq!(
                at(&answer, pointer).to_string(),
                *value,
                "{calls:?}: {pointer} of {answer}"
            );
        }
    }
}

/// The answers of controls that act at once: the second call has nothing left to do, or does it again.
#[test]
fn the_second_answer_tells_what_was_done() {
    for (path, pointer, first, second) in [
        ("tables/tab/expire-now", "/deleted", "1", "0"),
        ("tables/tab/split-shards", "/split", "true", "true"),
    ] {
        let engine = engine();
        for expect in [first, second] {
            let answer = ask_as(&engine, &me(), "POST", path, "");
            assert_eq!(at(&answer, pointer).to_string(), expect, "{path}");
        }
    }
}

/// A snapshot is restored as often as wanted.
#[test]
fn a_snapshot_is_restored_twice() {
    let engine = engine();
    let count = || at(&ask_as(&engine, &me(), "GET", "tables", ""), "/0/items");
    let snapshot = engine.snapshot();
    for _ in 0..2 {
        assert_eq!(count(), 1);
        ask_as(&engine, &me(), "POST", "tables/tab/expire-now", "");
        assert_eq!(count(), 0);
        engine.restore(&snapshot).unwrap();
        engine.restore(&snapshot).unwrap();
    }
    assert_eq!(count(), 1);
}

/// Each condition of a table is its own until conditions are set for it again, and each condition of all tables stays until it
/// is set itself.
#[test]
fn each_condition_is_kept_or_not() {
    let members = [
        ("timeToLive", json!(7)),
        ("indexPropagation", json!(7)),
        ("readStaleness", json!(7)),
        ("staleReads", json!(0.5)),
        ("monotonicReads", json!(true)),
        ("transactionTime", json!(7)),
        ("replicationLag", json!(7)),
        ("regionRoundTrip", json!(7)),
        ("streamLag", json!(7)),
        ("streamShards", json!(4)),
        ("tableStatus", json!(7)),
        ("statisticsAge", json!(7)),
        ("itemCollectionSize", json!(1000)),
        ("streamBytes", json!(1000)),
        ("recoveryBytes", json!(1000)),
        ("capacity", json!({"burst": 1})),
        ("controlLimits", json!(true)),
        ("internalErrors", json!(0.5)),
        ("throttles", json!(0.5)),
        ("latency", json!({"read": 1})),
    ];
    for (at, (name, value)) in members.iter().enumerate() {
        let engine = engine();
        let (other, of_other) = &members[(at + 1) % members.len()];
        let [first, second] = [(name, value), (other, of_other)].map(|(name, value)| json!({*name: value}).to_string());
        let before = ask_as(&engine, &me(), "GET", "conditions", "");
        let set = |path: &str, body: &str| ask_as(&engine, &me(), "PUT", path, body);
        let once = set(CONDITIONS, &first)["conditions"].clone();
        assert_ne!(once[name], before[name], "{name}");
        let twice = set(CONDITIONS, &second)["conditions"].clone();
        assert_eq!(
            (&twice[name], twice[other] == before[other]),
            (&before[name], false),
            "{name}"
        );
        assert_eq!(ask_as(&engine, &me(), "GET", "conditions", ""), before, "{name}");
        set("conditions", &first);
        let both = set("conditions", &second);
        assert_eq!((&both[name], &both[other]), (&once[name], &twice[other]), "{name}");
        // Own conditions are not affected by later ones of all tables.
        assert_eq!(
            ask_as(&engine, &me(), "GET", CONDITIONS, "")["conditions"],
            twice,
            "{name}"
        );
        // They start from the common ones of the time.
        let anew = set(CONDITIONS, "{}")["conditions"].clone();
        assert_eq!(anew, both, "{name}");
    }
}
