//! What forks and restored snapshots have of their engine, and what they begin without.

use std::time::Duration;

use crate::common::{Twin, caller, settings};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::http::{Answer, HealthCheck, HttpRequest};
use dynatwin_engine::{
    Allowed, Capacity, Clock, Conditions, Enforcement, Engine, Lag, Moment, Settings, StateSnapshot, TimeToLive,
};
use serde_json::{Value, json};

/// Sends a request of the caller to a path: a control, or the health check.
fn send(engine: &Engine, method: &str, target: &str, body: &str) -> Answer {
    let authorization = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, \
        SignedHeaders=host, Signature=00";
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("authorization", authorization),
    ];
    engine.handle(&HttpRequest {
        method,
        target,
        headers: &headers,
        body: body.as_bytes(),
    })
}

fn control(engine: &Engine, method: &str, path: &str, body: &str) -> Value {
    let answer = send(engine, method, &format!("/_dynatwin/{path}"), body);
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn get(engine: &Engine, path: &str) -> String {
    control(engine, "GET", path, "").to_string()
}

fn call(engine: &Engine, operation: &str, body: &Value) -> Value {
    let answer = engine.dispatch(&caller(), operation, body.to_string().as_bytes());
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// Returns a twin with the global table `tab` and its index `by-g`.
fn twin() -> Twin {
    let twin = Twin::new(1);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes, "KeySchema": key("pk"),
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}}]}),
    );
    let live = json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}});
    twin.ok("UpdateTimeToLive", &live);
    let replica = json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    twin.ok("UpdateTable", &replica);
    put(&twin.engine, "a");
    twin
}

fn put(engine: &Engine, key: &str) {
    let item = json!({"pk": {"S": key}, "g": {"S": "x"}});
    call(engine, "PutItem", &json!({"TableName": "tab", "Item": item}));
}

/// The same transaction each time.
fn transaction(engine: &Engine) -> String {
    let put =
        json!({"TableName": "tab", "Item": {"pk": {"S": "t"}}, "ConditionExpression": "attribute_not_exists(pk)"});
    let body = json!({"TransactItems": [{"Put": put}], "ClientRequestToken": "t"});
    call(engine, "TransactWriteItems", &body).to_string()
}

fn describe(engine: &Engine) -> Value {
    call(engine, "DescribeTable", &json!({"TableName": "tab"}))["Table"].clone()
}

fn set_conditions(engine: &Engine, conditions: &Conditions) {
    engine.set_conditions(*conditions).unwrap();
}

fn resources(engine: &Engine) -> String {
    let heat = engine.account(&caller()).heat("tab").unwrap();
    heat.resources.len().to_string()
}

const LAG: Lag = Lag::Fixed(Duration::from_secs(30));
const CALM: Conditions = Conditions::CALM;

/// Something that an engine can have: how it gets it, how that shows, and whether a fork, another engine that restores its
/// snapshot, and the engine itself have it after that.
type Aspect = (&'static str, fn(&Engine), fn(&Engine) -> String, [bool; 3]);

const STATE: [bool; 3] = [true; 3];
/// Belongs to the engine, whatever its state is.
const ENGINE: [bool; 3] = [false, false, true];
const LOST: [bool; 3] = [false; 3];

const ASPECTS: &[Aspect] = &[
    (
        "an item",
        |engine| put(engine, "b"),
        |engine| get(engine, "tables"),
        STATE,
    ),
    (
        "the time",
        |engine| engine.advance(Duration::from_mins(1)),
        |engine| engine.clock().now().to_string(),
        STATE,
    ),
    (
        "a frozen clock",
        |engine| drop(control(engine, "POST", "clock/freeze", "")),
        |engine| engine.clock().is_frozen().to_string(),
        LOST,
    ),
    (
        "conditions",
        |engine| set_conditions(engine, &Conditions::STORM),
        |engine| get(engine, "conditions"),
        STATE,
    ),
    (
        "conditions of a table",
        |engine| drop(control(engine, "PUT", "tables/tab/conditions", r#"{"streamLag":5}"#)),
        |engine| get(engine, "tables/tab/conditions"),
        STATE,
    ),
    (
        "conditions of a future table",
        |engine| drop(control(engine, "PUT", "tables/later/conditions", r#"{"streamLag":5}"#)),
        |engine| get(engine, "tables/later/conditions"),
        STATE,
    ),
    (
        "a paused index",
        |engine| drop(control(engine, "POST", "tables/tab/indexes/by-g/pause", "")),
        |engine| get(engine, "tables/tab/indexes"),
        STATE,
    ),
    (
        "the lag of an index",
        |engine| drop(control(engine, "PUT", "tables/tab/indexes/by-g/lag", "5")),
        |engine| get(engine, "tables/tab/indexes"),
        STATE,
    ),
    (
        "a change on its way to an index",
        |engine| {
            control(engine, "POST", "tables/tab/indexes/by-g/pause", "");
            put(engine, "b");
        },
        |engine| get(engine, "tables/tab/pending"),
        STATE,
    ),
    (
        "paused replication",
        |engine| drop(control(engine, "POST", "tables/tab/replication/pause", "")),
        |engine| get(engine, "tables/tab/replication"),
        STATE,
    ),
    (
        "the lag of replication",
        |engine| drop(control(engine, "PUT", "tables/tab/replication/eu-west-1/lag", "5")),
        |engine| get(engine, "tables/tab/replication"),
        STATE,
    ),
    (
        "a write on its way to another region",
        |engine| {
            control(engine, "POST", "tables/tab/replication/pause", "");
            put(engine, "b");
        },
        |engine| get(engine, "tables/tab/replication"),
        STATE,
    ),
    (
        "a pending deletion",
        |engine| {
            let time_to_live = TimeToLive::Deletes(LAG);
            set_conditions(engine, &Conditions { time_to_live, ..CALM });
            let item = json!({"pk": {"S": "b"}, "ttl": {"N": Moment::START.seconds().to_string()}});
            call(engine, "PutItem", &json!({"TableName": "tab", "Item": item}));
        },
        |engine| get(engine, "tables/tab/pending"),
        STATE,
    ),
    (
        "a record that cannot be read yet",
        |engine| {
            set_conditions(
                engine,
                &Conditions {
                    stream_lag: LAG,
                    ..CALM
                },
            );
            put(engine, "b");
        },
        |engine| get(engine, "tables/tab/pending"),
        STATE,
    ),
    (
        "a change of the table",
        |engine| {
            set_conditions(
                engine,
                &Conditions {
                    table_status: LAG,
                    ..CALM
                },
            );
            let class = json!({"TableName": "tab", "TableClass": "STANDARD_INFREQUENT_ACCESS"});
            call(engine, "UpdateTable", &class);
        },
        |engine| describe(engine)["TableStatus"].to_string() + &get(engine, "tables/tab/pending"),
        STATE,
    ),
    (
        "a transaction in flight",
        |engine| {
            set_conditions(
                engine,
                &Conditions {
                    transaction_time: LAG,
                    ..CALM
                },
            );
            transaction(engine);
        },
        |engine| get(engine, "tables/tab/pending"),
        STATE,
    ),
    (
        "tags",
        |engine| {
            let tags = json!({"ResourceArn": describe(engine)["TableArn"], "Tags": [{"Key": "a", "Value": "b"}]});
            call(engine, "TagResource", &tags);
        },
        |engine| {
            call(
                engine,
                "ListTagsOfResource",
                &json!({"ResourceArn": describe(engine)["TableArn"]}),
            )
            .to_string()
        },
        STATE,
    ),
    (
        "protection",
        |engine| {
            drop(call(
                engine,
                "UpdateTable",
                &json!({"TableName": "tab", "DeletionProtectionEnabled": true}),
            ));
        },
        |engine| describe(engine)["DeletionProtectionEnabled"].to_string(),
        STATE,
    ),
    (
        "a backup",
        |engine| {
            drop(call(
                engine,
                "CreateBackup",
                &json!({"TableName": "tab", "BackupName": "one"}),
            ));
        },
        |engine| call(engine, "ListBackups", &json!({})).to_string(),
        STATE,
    ),
    (
        "split shards",
        |engine| drop(control(engine, "POST", "tables/tab/split-shards", "")),
        |engine| {
            let stream = json!({"StreamArn": describe(engine)["LatestStreamArn"]});
            call(engine, "DescribeStream", &stream)["StreamDescription"]["Shards"].to_string()
        },
        STATE,
    ),
    (
        "enforced capacity",
        |engine| {
            let capacity = Capacity::Enforced(Enforcement::AWS);
            set_conditions(engine, &Conditions { capacity, ..CALM });
        },
        resources,
        STATE,
    ),
    (
        "the heat of a table",
        |engine| engine.account(&caller()).watch_heat("tab", true).unwrap(),
        resources,
        LOST,
    ),
    (
        "a rule",
        |engine| {
            engine.add_fault(Rule::new(Verdict::Reset)).unwrap();
        },
        |engine| get(engine, "faults"),
        LOST,
    ),
    (
        "access control",
        |engine| {
            let root = r#"{"accounts":{"111111111111":{"accessKeys":[{"accessKeyId":"ROOT","secretAccessKey":"s"}]}}}"#;
            control(engine, "PUT", "access", root);
        },
        |engine| get(engine, "access"),
        LOST,
    ),
    (
        "requests that count for rates",
        |engine| {
            set_conditions(
                engine,
                &Conditions {
                    control_limits: true,
                    ..CALM
                },
            );
            (0..10).for_each(|_| drop(call(engine, "DescribeLimits", &json!({}))));
        },
        |engine| call(engine, "DescribeLimits", &json!({}))["__type"].to_string(),
        LOST,
    ),
    (
        "the log of requests",
        |engine| {
            engine.watch(true);
            put(engine, "a");
            engine.watch(false);
        },
        |engine| get(engine, "requests"),
        LOST,
    ),
    (
        "watching",
        |engine| engine.watch(true),
        |engine| engine.is_watched().to_string(),
        ENGINE,
    ),
    (
        "bodies and events",
        |engine| drop(control(engine, "POST", "watch", r#"{"bodies":true,"events":true}"#)),
        |engine| get(engine, "requests"),
        ENGINE,
    ),
    (
        "full memory",
        |engine| engine.refuse_growth(true),
        |engine| {
            let item = json!({"pk": {"S": "new"}});
            call(engine, "PutItem", &json!({"TableName": "tab", "Item": item})).to_string()
        },
        ENGINE,
    ),
];

/// Forks and snapshots have the state, and nothing that belongs to the engine.
#[test]
fn the_state_is_copied_and_nothing_else() {
    for (name, set, show, expect) in ASPECTS {
        let twin = twin();
        let fork = || twin.engine.fork(Clock::settable(Moment::START)).unwrap();
        let without = show(&fork());
        set(&twin.engine);
        let (fork, snapshot) = (fork(), twin.engine.snapshot());
        let restored = Engine::new(settings(1));
        let bytes = snapshot.to_bytes();
        restored.restore(&StateSnapshot::from_bytes(&bytes).unwrap()).unwrap();
        let with = show(&twin.engine);
        assert_ne!(with, without, "{name}");
        let copies = [show(&fork), show(&restored)];
        twin.engine.restore(&snapshot).unwrap();
        let [of_fork, of_restored] = copies;
        for ((who, shown), has) in [
            ("fork", of_fork),
            ("other", of_restored),
            ("itself", show(&twin.engine)),
        ]
        .into_iter()
        .zip(expect)
        {
            assert_eq!(&shown, if *has { &with } else { &without }, "{name}: {who}");
        }
    }
}

/// A repeated transaction is recognized by its token in every copy.
#[test]
fn client_tokens_are_copied() {
    let twin = twin();
    transaction(&twin.engine);
    let fork = twin.engine.fork(Clock::settable(Moment::START)).unwrap();
    let snapshot = twin.engine.snapshot();
    let restored = Engine::new(settings(1));
    restored.restore(&snapshot).unwrap();
    twin.engine.restore(&snapshot).unwrap();
    for engine in [&fork, &restored, &twin.engine] {
        assert_eq!(transaction(engine), "{}");
        engine.advance(Duration::from_mins(11));
        assert!(transaction(engine).contains("ConditionalCheckFailed"));
    }
}

/// What is set of an engine from outside: its controls, health check, tables of all callers, seed and first conditions.
fn shown(engine: &Engine) -> Vec<String> {
    let overview = control(engine, "GET", "", "");
    let health = send(engine, "GET", "/", "").status;
    let status = |method: &str, path: &str| send(engine, method, &format!("/_dynatwin/{path}"), "").status;
    let changes = [
        ("POST", "clock/freeze"),
        ("DELETE", "faults"),
        ("POST", "clock/unfreeze"),
    ];
    let changes = changes.map(|(method, path)| status(method, path));
    let before = engine.clock().now();
    let request = HttpRequest {
        method: "GET",
        target: "/",
        headers: &[("host", "localhost"), ("x-dynatwin-advance", "0.25")],
        body: b"",
    };
    engine.handle(&request);
    let advanced = engine.clock().now().since(before);
    vec![
        format!("health {health}"),
        format!("controlled {} {changes:?} {advanced:?}", overview["controlled"]),
        format!("shared {}", overview["sharedTables"]),
        format!("seed {}", overview["seed"]),
        status("GET", "conditions").to_string(),
    ]
}

#[test]
fn a_fork_has_the_settings_of_its_engine() {
    for (allowed, health_check, shared_db, seed) in [
        (Allowed::All, HealthCheck::Healthy, false, 1),
        (Allowed::ReadOnly, HealthCheck::Healthy, false, 2),
        (Allowed::All, HealthCheck::Refused, false, 3),
        (Allowed::All, HealthCheck::Healthy, true, 4),
        (Allowed::ReadOnly, HealthCheck::Refused, true, 5),
    ] {
        let new = || {
            let settings = Settings {
                clock: Clock::settable(Moment::START),
                seed,
                conditions: CALM,
                shared_db,
            };
            Engine::new(settings).allowing(allowed).with_health_check(health_check)
        };
        let engine = new();
        let copy = |engine: &Engine| engine.fork(Clock::settable(Moment::START)).unwrap();
        let fork = copy(&engine);
        let of_fork = copy(&fork);
        let restored = new();
        restored.restore(&twin().engine.snapshot()).unwrap();
        let of_restored = copy(&restored);
        let reset = copy(&engine);
        reset.reset_all().unwrap();
        let (controlled, changes, advanced) = match allowed {
            Allowed::All => (true, [200; 3], "250ms"),
            Allowed::ReadOnly => (false, [403; 3], "0ns"),
        };
        let status = if health_check == HealthCheck::Healthy { 200 } else { 400 };
        let expect = [
            format!("health {status}"),
            format!("controlled {controlled} {changes:?} {advanced}"),
            format!("shared {shared_db}"),
            format!("seed \"{seed}\""),
            "200".to_owned(),
        ];
        for (who, engine) in [
            ("engine", &engine),
            ("fork", &fork),
            ("fork of a fork", &of_fork),
            ("restored", &restored),
            ("fork of restored", &of_restored),
            ("reset", &reset),
        ] {
            assert_eq!(shown(engine), expect, "{who}");
        }
    }
}
