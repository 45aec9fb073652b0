//! Random bodies for the controls: no body causes a panic, and the twin keeps answering.

mod repeated;

use std::time::Duration;

use crate::common::settings;
use dynatwin_engine::controls::{CONTROLS, Takes};
use dynatwin_engine::faults::{Rule, Verdict};
use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::quotas::OWN_CONDITIONS;
use dynatwin_engine::{Allowed, Caller, Clock, Conditions, Engine, Moment, Settings};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

const CREATE: &[u8] = br#"{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},"GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#;
/// Requests that exercise what conditions and rules act on.
const WORK: &[(&str, &str)] = &[
    (
        "UpdateTimeToLive",
        r#"{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}}"#,
    ),
    (
        "PutItem",
        r#"{"TableName":"tab","Item":{"pk":{"S":"a"},"g":{"S":"x"},"ttl":{"N":"1767225601"}}}"#,
    ),
    ("GetItem", r#"{"TableName":"tab","Key":{"pk":{"S":"a"}}}"#),
    ("Scan", r#"{"TableName":"tab","IndexName":"by-g"}"#),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"},"g":{"S":"y"}}}}]}"#,
    ),
    (
        "BatchGetItem",
        r#"{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}},{"pk":{"S":"b"}}]}}}"#,
    ),
    ("UpdateTable", r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST"}"#),
    ("DescribeTable", r#"{"TableName":"tab"}"#),
];

fn number() -> BoxedStrategy<String> {
    one_of(&[
        "0",
        "-0",
        "0.1",
        "1",
        "2",
        "1e-300",
        "1e9",
        "1.5e15",
        "9007199254740993",
        "1e18",
        "1e19",
        "1e300",
        "1e999",
        "-1",
        "60",
        "172800",
    ])
}

fn lag() -> BoxedStrategy<String> {
    let seeded =
        (number(), number()).prop_map(|(typical, longest)| format!(r#"{{"typical":{typical},"longest":{longest}}}"#));
    prop_oneof![number(), seeded].boxed()
}

fn some(members: Vec<BoxedStrategy<String>>) -> BoxedStrategy<String> {
    let maybe = |member: BoxedStrategy<String>| proptest::option::weighted(0.4, member);
    let members: Vec<_> = members.into_iter().map(maybe).collect();
    let object = |members: Vec<Option<String>>| {
        let members: Vec<String> = members.into_iter().flatten().collect();
        format!("{{{}}}", members.join(","))
    };
    members.prop_map(object).boxed()
}

fn member(name: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    value.prop_map(move |value| format!("\"{name}\":{value}")).boxed()
}

fn one_of(values: &'static [&'static str]) -> BoxedStrategy<String> {
    select(values).prop_map(str::to_owned).boxed()
}

fn conditions() -> BoxedStrategy<String> {
    let capacity = some(vec![
        member("burst", number()),
        member("adaptive", one_of(&["true", "false"])),
        member("partitionRead", number()),
        member("partitionWrite", number()),
        member("partitionSize", number()),
        member("heatSplit", number()),
        member("growth", number()),
    ]);
    let lags = [
        "timeToLive",
        "indexPropagation",
        "readStaleness",
        "transactionTime",
        "replicationLag",
        "regionRoundTrip",
        "tableStatus",
    ];
    let mut members: Vec<_> = lags.map(|name| member(name, lag())).into();
    members.extend([
        member("base", one_of(&["\"calm\"", "\"aws\"", "\"storm\"", "\"x\""])),
        member("statisticsAge", number()),
        member("itemCollectionSize", number()),
        member("monotonicReads", one_of(&["true", "false", "1"])),
        member(
            "capacity",
            prop_oneof![capacity, one_of(&["\"enforced\"", "\"reported\""])].boxed(),
        ),
        member("throttles", number()),
        member("internalErrors", number()),
    ]);
    some(members)
}

fn rule() -> BoxedStrategy<String> {
    some(vec![
        member(
            "verdict",
            one_of(&[
                "\"throttle\"",
                "\"reset\"",
                "{\"throttle\":\"AccountLimit\"}",
                "\"limitExceeded\"",
            ]),
        ),
        member(
            "verdict",
            number().prop_map(|number| format!("{{\"wait\":{number}}}")).boxed(),
        ),
        member(
            "verdict",
            number().prop_map(|number| format!("{{\"truncate\":{number}}}")).boxed(),
        ),
        member("index", one_of(&["\"by-g\""])),
        member("partitionPrefix", one_of(&["\"\"", "\"a\"", "null"])),
        member("first", number()),
        member("everyNth", number()),
        member("share", number()),
        member("movesClock", one_of(&["true", "false"])),
    ])
}

/// A control by its name, and a body that mostly has its format.
fn control_request() -> impl Strategy<Value = (&'static str, String)> {
    let moment = one_of(&[
        "\"2026-01-02T00:00:00Z\"",
        "\"9999-12-31T23:59:59Z\"",
        "\"1970-01-01T00:00:00.5Z\"",
        "\"now\"",
    ]);
    let names: Vec<&'static str> = CONTROLS.iter().map(|control| control.name).collect();
    let anything = prop_oneof![
        conditions(),
        rule(),
        lag(),
        r#"[\[\]{}:,"a0 .e\\ntu-]{0,12}"#.boxed(),
        one_of(&["", "{}", "null"]),
    ];
    prop_oneof![
        3 => (Just("setConditions"), conditions()),
        1 => (Just("setTableConditions"), conditions()),
        2 => (Just("addFault"), rule()),
        1 => (Just("setIndexLag"), lag()),
        1 => (Just("advanceClock"), some(vec![member("seconds", number())])),
        1 => (Just("setClock"), some(vec![member("now", moment)])),
        2 => (select(names), anything),
    ]
}

fn ask(engine: &Engine, method: &str, target: &str, body: &str) -> Answer {
    let headers = [("content-type", "application/json"), ("host", "localhost")];
    engine.handle(&HttpRequest {
        method,
        target,
        headers: &headers,
        body: body.as_bytes(),
    })
}

fn me() -> Caller {
    Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_control_request_panics(requests in proptest::collection::vec(control_request(), 1..6), table in "tab|tab|.{0,4}") {
        let engine = Engine::new(settings(1));
        engine.dispatch(&me(), "CreateTable", CREATE);
        for (name, body) in requests {
            let control = CONTROLS.iter().find(|control| control.name == name).unwrap();
            let path = control.path.replace("{table}", &table).replace("{index}", "by-g").replace("{id}", "1");
            let body = if control.takes == Takes::Nothing { "" } else { body.as_str() };
            let answer = ask(&engine, control.method, &path, body);
            prop_assert!([200, 400, 404, 405, 415].contains(&answer.status), "{} {path} {body}: {}", control.method, answer.status);
            let read: Result<serde_json::Value, _> = serde_json::from_slice(&answer.body);
            prop_assert!(read.is_ok() || name == "getSnapshot", "{}", String::from_utf8_lossy(&answer.body));
            for (operation, body) in WORK {
                engine.dispatch(&me(), operation, body.as_bytes());
            }
            engine.next_due();
            engine.run_due();
        }
    }
}

/// Each control has its own format of body; these valid bodies are accepted.
#[test]
fn valid_control_bodies_are_accepted() {
    let engine = Engine::new(settings(1));
    engine.dispatch(&me(), "CreateTable", CREATE);
    for (method, path, body) in [
        (
            "PUT",
            "/_dynatwin/conditions",
            r#"{"capacity":{"partitionRead":1e19,"burst":1e300},"timeToLive":1e300}"#,
        ),
        (
            "PUT",
            "/_dynatwin/tables/tab/conditions",
            r#"{"tableStatus":{"typical":0,"longest":1e18}}"#,
        ),
        (
            "POST",
            "/_dynatwin/faults",
            r#"{"verdict":{"wait":1e300},"first":1e19}"#,
        ),
        ("PUT", "/_dynatwin/tables/tab/indexes/by-g/lag", "1e300"),
        ("PUT", "/_dynatwin/clock", r#"{"now":"9999-12-31T23:59:59Z"}"#),
    ] {
        let answer = ask(&engine, method, path, body);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    }
}

/// Returns an engine with shared tables, so that a table can be named without credentials.
fn shared() -> Engine {
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 1,
        conditions: Conditions::CALM,
        shared_db: true,
    })
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[test]
fn time_never_goes_back() {
    let engine = shared();
    for (now, status) in [
        ("2026-01-02T00:00:00Z", 200),
        ("2026-01-01T23:59:59Z", 400),
        ("2026-01-02T00:00:00Z", 200),
        ("2026-01-02T00:00:01Z", 200),
    ] {
        let answer = ask(&engine, "PUT", "/_dynatwin/clock", &format!("{{\"now\":\"{now}\"}}"));
        assert_eq!(answer.status, status, "{now}: {}", text(&answer));
        assert_eq!(text(&answer).contains("The clock cannot go back"), status == 400);
    }
}

/// A table that is missing is named, with the account where accounts have their own.
#[test]
fn a_missing_table_is_named() {
    let owned = Engine::new(settings(1));
    let credentials = "AWS4-HMAC-SHA256 Credential=me/20260101/eu-west-1/dynamodb/aws4_request, \
        SignedHeaders=host, Signature=0";
    for (engine, expect) in [
        (&shared(), "There is no table nope."),
        (&owned, "There is no table nope for access key me in eu-west-1."),
    ] {
        for path in ["items", "pending", "heat"] {
            let answer = engine.handle(&HttpRequest {
                method: "GET",
                target: &format!("/_dynatwin/tables/nope/{path}"),
                headers: &[("host", "localhost"), ("authorization", credentials)],
                body: b"",
            });
            assert_eq!(answer.status, 404, "{path}");
            assert!(text(&answer).contains(expect), "{path}: {}", text(&answer));
        }
    }
}

/// A method that a path does not have is refused with those that it has.
#[test]
fn a_refused_method_names_the_others() {
    let engine = shared();
    for (method, path, status, allowed) in [
        ("PATCH", "/_dynatwin/clock", 405, Some("GET, PUT")),
        ("DELETE", "/_dynatwin/requests/1/explain", 405, Some("GET")),
        ("GET", "/_dynatwin/clock", 200, None),
        ("GET", "/_dynatwin/nowhere", 404, None),
    ] {
        let answer = ask(&engine, method, path, "");
        let allow = answer.headers.iter().find(|(name, _)| *name == "allow");
        let allow = allow.map(|(_, value)| value.to_owned());
        assert_eq!(
            (answer.status, allow.as_deref()),
            (status, allowed),
            "{method} {path}: {}",
            text(&answer)
        );
    }
}

#[test]
fn a_limited_number_of_tables_has_its_own_conditions() {
    let engine = shared();
    let own = |table: &str| ask(&engine, "PUT", &format!("/_dynatwin/tables/{table}/conditions"), "{}");
    for table in 1..OWN_CONDITIONS {
        engine
            .account(&me())
            .set_table_conditions(&format!("t{table}"), Some(Conditions::AWS))
            .unwrap();
    }
    assert_eq!(own("last").status, 200);
    let refused = own("late");
    assert_eq!(refused.status, 400);
    assert!(
        text(&refused).contains("10000 tables have conditions of their own"),
        "{}",
        text(&refused)
    );
    // Those of a table that has some can still change, and a table that loses its own makes room.
    assert_eq!(own("t1000").status, 200);
    let path = "/_dynatwin/tables/t1000/conditions";
    assert_eq!(ask(&engine, "DELETE", path, "").status, 200);
    assert_eq!(own("late").status, 200);
}

/// Conditions are set for tables that do not exist yet, so their names are checked as CreateTable checks them.
#[test]
fn only_a_table_name_can_have_its_own_conditions() {
    let engine = shared();
    let (longest, longer) = ("n".repeat(255), "n".repeat(256));
    for (name, status) in [
        ("a_b", 200),
        ("a.b", 200),
        ("a-b", 200),
        ("Zz9", 200),
        ("___", 200),
        ("abc", 200),
        ("ab", 400),
        (&longest, 200),
        (&longer, 400),
        ("a%20b", 400),
        ("a%2Fb", 400),
        ("a%3Ab", 400),
        ("a@b", 400),
        ("%C3%A4bc", 400),
    ] {
        let answer = ask(&engine, "PUT", &format!("/_dynatwin/tables/{name}/conditions"), "{}");
        assert_eq!(answer.status, status, "{name}: {}", text(&answer));
        assert_eq!(text(&answer).contains("is not a valid table name"), status == 400);
    }
}

#[test]
fn own_conditions_are_those_of_a_table_or_of_a_future_one() {
    let engine = shared();
    let at = |method: &str, table: &str| {
        let body = if method == "PUT" { "{}" } else { "" };
        let answer = ask(&engine, method, &format!("/_dynatwin/tables/{table}/conditions"), body);
        let own = serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap()["own"].as_bool();
        (answer.status, own)
    };
    engine.dispatch(&me(), "CreateTable", CREATE);
    for (method, table, expect) in [
        ("GET", "none", (404, None)),
        ("DELETE", "none", (404, None)),
        ("PUT", "none", (200, Some(true))),
        ("GET", "none", (200, Some(true))),
        ("DELETE", "none", (200, Some(false))),
        ("DELETE", "none", (404, None)),
        ("GET", "tab", (200, Some(false))),
        ("DELETE", "tab", (200, Some(false))),
        ("PUT", "tab", (200, Some(true))),
        ("DELETE", "tab", (200, Some(false))),
        ("DELETE", "tab", (200, Some(false))),
    ] {
        assert_eq!(at(method, table), expect, "{method} {table}");
    }
}

#[test]
fn the_texts_of_a_session_are_texts() {
    let engine = shared();
    for name in ["role", "name", "accessKeyId", "secretAccessKey", "sessionToken"] {
        let body = format!(r#"{{"{name}":5}}"#);
        let answer = ask(&engine, "POST", "/_dynatwin/access/sessions", &body);
        assert_eq!(answer.status, 400);
        assert!(
            text(&answer).contains(&format!("session.{name} must be a string")),
            "{}",
            text(&answer)
        );
    }
}

/// Sends a control request as a caller.
fn answered(engine: &Engine, caller: &Caller, method: &str, path: &str, body: &str) -> Answer {
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/20260101/{}/dynamodb/aws4_request, SignedHeaders=host, Signature=00",
        caller.access_key, caller.region
    );
    let headers = [
        ("content-type", "application/json"),
        ("host", "localhost"),
        ("authorization", authorization.as_str()),
    ];
    engine.handle(&HttpRequest {
        method,
        target: &format!("/_dynatwin/{path}"),
        headers: &headers,
        body: body.as_bytes(),
    })
}

/// Sends a control request as a caller, and returns the answer's JSON.
fn ask_as(engine: &Engine, caller: &Caller, method: &str, path: &str, body: &str) -> serde_json::Value {
    let answer = answered(engine, caller, method, path, body);
    assert_eq!(answer.status, 200, "{method} {path}: {}", text(&answer));
    serde_json::from_slice(&answer.body).unwrap()
}

/// What is paused, resumed or delayed in one region leaves the others as they are.
#[test]
fn replication_is_controlled_region_by_region() {
    let engine = Engine::new(settings(1));
    engine.dispatch(&me(), "CreateTable", CREATE);
    let on_demand = br#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST"}"#;
    assert_eq!(engine.dispatch(&me(), "UpdateTable", on_demand).status, 200);
    for region in ["eu-west-1", "ap-south-1"] {
        let body = format!(r#"{{"TableName":"tab","ReplicaUpdates":[{{"Create":{{"RegionName":"{region}"}}}}]}}"#);
        assert_eq!(engine.dispatch(&me(), "UpdateTable", body.as_bytes()).status, 200);
    }
    for (method, path, body, expect) in [
        ("POST", "/eu-west-1/pause", "", "ap-south-1 false - eu-west-1 true -"),
        ("POST", "/ap-south-1/pause", "", "ap-south-1 true - eu-west-1 true -"),
        ("POST", "/eu-west-1/resume", "", "ap-south-1 true - eu-west-1 false -"),
        ("POST", "/resume", "", "ap-south-1 false - eu-west-1 false -"),
        ("POST", "/pause", "", "ap-south-1 true - eu-west-1 true -"),
        ("POST", "/ap-south-1/resume", "", "ap-south-1 false - eu-west-1 true -"),
        ("PUT", "/eu-west-1/lag", "5", "ap-south-1 false - eu-west-1 true 5"),
        ("PUT", "/ap-south-1/lag", "7", "ap-south-1 false 7 eu-west-1 true 5"),
        ("DELETE", "/eu-west-1/lag", "", "ap-south-1 false 7 eu-west-1 true -"),
    ] {
        let at = "tables/tab/replication";
        let answer = ask_as(&engine, &me(), method, &format!("{at}{path}"), body);
        let listed = ask_as(&engine, &me(), "GET", at, "");
        let mut states: Vec<String> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|state| {
                let lag = state.get("lag").map_or("-".to_owned(), serde_json::Value::to_string);
                format!("{} {} {lag}", state["region"].as_str().unwrap(), state["paused"])
            })
            .collect();
        states.sort_unstable();
        assert_eq!(states.join(" "), expect, "{method} {path}");
        // A request about one region answers with its state, one about all with a list.
        let shown = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|state| path.contains(state["region"].as_str().unwrap()));
        assert_eq!(answer, *shown.unwrap_or(&listed), "{method} {path}");
    }
}

/// The clock shows the first event of all tables, regions and accounts.
#[test]
fn the_next_event_is_that_of_any_table() {
    let there = Caller {
        region: "eu-west-1".into(),
        ..me()
    };
    let other = Caller {
        access_key: "other".into(),
        ..me()
    };
    let places = [(&me(), "one"), (&me(), "two"), (&there, "one"), (&other, "three")];
    for expiries in [
        [None, None, None, None],
        [Some(100), Some(50), None, None],
        [Some(50), Some(100), None, None],
        [None, Some(50), None, Some(100)],
        [Some(100), None, Some(50), None],
        [Some(100), None, Some(75), Some(50)],
        [None, Some(100), None, Some(75)],
    ] {
        let engine = Engine::new(settings(1));
        for ((caller, table), expiry) in places.into_iter().zip(expiries) {
            let send = |operation: &str, body: &serde_json::Value| {
                let answer = engine.dispatch(caller, operation, body.to_string().as_bytes());
                assert_eq!(answer.status, 200, "{operation}: {}", text(&answer));
            };
            send(
                "CreateTable",
                &serde_json::json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
            );
            let specification = serde_json::json!({"Enabled": true, "AttributeName": "ttl"});
            send(
                "UpdateTimeToLive",
                &serde_json::json!({"TableName": table, "TimeToLiveSpecification": specification}),
            );
            if let Some(expiry) = expiry {
                let ttl = (Moment::START.seconds() + expiry).to_string();
                let item = serde_json::json!({"pk": {"S": "a"}, "ttl": {"N": ttl}});
                send("PutItem", &serde_json::json!({"TableName": table, "Item": item}));
            }
        }
        let clock = ask_as(&engine, &me(), "GET", "clock", "");
        let first = expiries.into_iter().flatten().min();
        let first = first.map(|expiry| Moment::from_seconds(Moment::START.seconds() + expiry).to_string());
        assert_eq!(clock["nextDue"].as_str(), first.as_deref(), "{expiries:?}");
    }
}

/// Items whose deletion is due are not counted, whoever has moved the clock.
#[test]
fn the_overview_counts_no_expired_items() {
    let engine = shared();
    engine.dispatch(&me(), "CreateTable", CREATE);
    for (operation, body) in &WORK[..2] {
        assert_eq!(engine.dispatch(&me(), operation, body.as_bytes()).status, 200);
    }
    let counts = || {
        let overview: serde_json::Value = serde_json::from_slice(&ask(&engine, "GET", "/_dynatwin/", "").body).unwrap();
        ["tables", "items"].map(|name| overview["counts"][name].as_u64().unwrap())
    };
    assert_eq!(counts(), [1, 1]);
    engine.clock().set(Moment::START.plus(Duration::from_secs(2)));
    assert_eq!(counts(), [1, 0]);
}

#[test]
fn a_lag_is_a_number_or_an_object() {
    let engine = shared();
    engine.dispatch(&me(), "CreateTable", CREATE);
    for (path, body) in [
        ("indexes/by-g/lag", "null"),
        ("indexes/by-g/lag", "true"),
        ("replication/eu-west-1/lag", "null"),
        ("replication/eu-west-1/lag", "[]"),
    ] {
        let answer = ask(&engine, "PUT", &format!("/_dynatwin/tables/tab/{path}"), body);
        assert_eq!(answer.status, 400, "{path} {body}");
        assert!(text(&answer).contains("lag must be "), "{}", text(&answer));
        let hints = text(&answer).contains("DELETE lets");
        assert_eq!(hints, body == "null", "{}", text(&answer));
    }
}

#[test]
fn hot_keys_are_kept_while_heat_is_watched() {
    let engine = Engine::new(settings(1));
    engine.dispatch(&me(), "CreateTable", CREATE);
    let keys = |method: &str, path: &str| {
        let heat = ask_as(&engine, &me(), method, &format!("tables/tab/heat{path}"), "");
        engine.dispatch(&me(), "GetItem", br#"{"TableName":"tab","Key":{"pk":{"S":"a"}}}"#);
        heat["keys"].as_array().unwrap().len()
    };
    let found = [
        ("GET", ""),
        ("POST", "/watch"),
        ("GET", ""),
        ("POST", "/unwatch"),
        ("GET", ""),
    ]
    .map(|(method, path)| keys(method, path));
    assert_eq!(found, [0, 0, 1, 0, 0]);
}

/// While the engine is watched, the hot keys of tables and replicas are kept from their creation on.
#[test]
fn a_watched_engine_keeps_the_hot_keys_of_new_tables() {
    for watched in [false, true] {
        let engine = Engine::new(settings(1));
        engine.watch(watched);
        engine.dispatch(&me(), "CreateTable", CREATE);
        let mut there = me();
        there.region = "eu-west-1".into();
        for update in [
            r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST"}"#,
            r#"{"TableName":"tab","ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]}"#,
        ] {
            assert_eq!(engine.dispatch(&me(), "UpdateTable", update.as_bytes()).status, 200);
        }
        for caller in [me(), there] {
            engine.dispatch(&caller, "GetItem", br#"{"TableName":"tab","Key":{"pk":{"S":"a"}}}"#);
            let heat = ask_as(&engine, &caller, "GET", "tables/tab/heat", "");
            assert_eq!(
                heat["keys"].as_array().unwrap().len(),
                usize::from(watched),
                "{}",
                caller.region
            );
        }
    }
}

/// Requests that an access key sends to another region are not shown in this one.
#[test]
fn a_caller_sees_what_it_has_done_in_one_region() {
    let engine = Engine::new(settings(1));
    engine.watch(true);
    assert_eq!(
        ask(&engine, "POST", "/_dynatwin/watch", r#"{"events":true}"#).status,
        200
    );
    let mut there = me();
    there.region = "eu-west-1".into();
    for caller in [me(), there.clone()] {
        engine.dispatch(&caller, "CreateTable", CREATE);
        engine.dispatch(&caller, "Scan", br#"{"TableName":"tab"}"#);
    }
    for (caller, own, others) in [(me(), 1, 3), (there, 3, 1)] {
        let region = &caller.region;
        let requests = ask_as(&engine, &caller, "GET", "requests", "");
        let numbers: Vec<u64> = requests["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| request["number"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, [own, own + 1], "{region}");
        for (number, status) in [(own, 200), (others, 404)] {
            let found = answered(&engine, &caller, "GET", &format!("requests/{number}"), "").status;
            assert_eq!(found, status, "{region} {number}");
        }
        let scans = ask_as(&engine, &caller, "GET", "scans", "");
        assert_eq!(scans.as_array().unwrap().len(), 1, "{region}");
        let events = ask_as(&engine, &caller, "GET", "events", "");
        let events = events["events"].as_array().unwrap();
        assert!(!events.is_empty(), "{region}");
        for event in events {
            assert_eq!(event["region"], region.as_str(), "{event}");
        }
    }
}

/// A request about one index is answered with its state, whichever of the table's it is.
#[test]
fn a_request_about_an_index_shows_that_index() {
    let engine = Engine::new(settings(1));
    engine.dispatch(&me(), "CreateTable", CREATE);
    // The last name is a prefix of the first.
    for index in ["again", "by-"] {
        let more = r#"{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"NAME","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}}]}"#;
        let more = more.replace("NAME", index);
        assert_eq!(engine.dispatch(&me(), "UpdateTable", more.as_bytes()).status, 200);
    }
    for (index, method, control, body) in [
        ("by-", "PUT", "lag", "3"),
        ("by-g", "POST", "pause", ""),
        ("by-", "POST", "pause", ""),
        ("again", "PUT", "lag", "5"),
        ("again", "POST", "pause", ""),
        ("by-g", "POST", "resume", ""),
        ("again", "POST", "resume", ""),
        ("by-g", "PUT", "lag", "7"),
        ("again", "DELETE", "lag", ""),
    ] {
        let answer = ask_as(
            &engine,
            &me(),
            method,
            &format!("tables/tab/indexes/{index}/{control}"),
            body,
        );
        let listed = ask_as(&engine, &me(), "GET", "tables/tab/indexes", "");
        let mut listed = listed.as_array().unwrap().iter();
        let shown = listed.find(|state| state["index"] == index);
        assert_eq!(Some(&answer), shown, "{method} {index} {control}");
    }
}

/// A caller that credentials name sees its own requests and scans, and a request without credentials all.
#[test]
fn each_caller_sees_its_own_requests() {
    let engine = Engine::new(settings(1));
    engine.watch(true);
    let mut you = me();
    you.access_key = "you".into();
    for caller in [me(), you.clone()] {
        engine.dispatch(&caller, "CreateTable", CREATE);
        engine.dispatch(&caller, "Scan", br#"{"TableName":"tab"}"#);
    }
    let numbers = |list: &serde_json::Value| -> Vec<u64> {
        let requests = list["requests"].as_array().unwrap().iter();
        requests.map(|request| request["number"].as_u64().unwrap()).collect()
    };
    for (query, mine, yours, all) in [
        ("", &[1, 2][..], &[3, 4][..], &[1, 2, 3, 4][..]),
        ("?after=0", &[1, 2], &[3, 4], &[1, 2, 3, 4]),
        ("?after=1", &[2], &[3, 4], &[2, 3, 4]),
        ("?limit=1", &[1], &[3], &[1]),
        ("?after=2&limit=2", &[], &[3, 4], &[3, 4]),
        ("?after=4", &[], &[], &[]),
    ] {
        let path = format!("requests{query}");
        assert_eq!(numbers(&ask_as(&engine, &me(), "GET", &path, "")), mine, "{query}");
        assert_eq!(numbers(&ask_as(&engine, &you, "GET", &path, "")), yours, "{query}");
        let everyone = ask(&engine, "GET", &format!("/_dynatwin/{path}"), "");
        assert_eq!(
            numbers(&serde_json::from_slice(&everyone.body).unwrap()),
            all,
            "{query}"
        );
    }
    for (caller, number, status) in [
        (me(), 1, 200),
        (me(), 3, 404),
        (you.clone(), 3, 200),
        (you.clone(), 1, 404),
    ] {
        for path in ["", "/explain"] {
            let found = answered(&engine, &caller, "GET", &format!("requests/{number}{path}"), "").status;
            assert_eq!(found, status, "{} {number}{path}", caller.access_key);
        }
    }
    let scans = |list: &serde_json::Value| list.as_array().unwrap().len();
    assert_eq!(scans(&ask_as(&engine, &me(), "GET", "scans", "")), 1);
    assert_eq!(scans(&ask_as(&engine, &you, "GET", "scans", "")), 1);
    let everyone = ask(&engine, "GET", "/_dynatwin/scans", "");
    assert_eq!(scans(&serde_json::from_slice(&everyone.body).unwrap()), 2);
}

/// Tables, pending work and counters of all callers are listed with their account and region, unless callers share their tables.
#[test]
fn lists_name_the_account_and_the_region() {
    let mut you = me();
    you.access_key = "you".into();
    you.region = "eu-west-1".into();
    for is_shared in [false, true] {
        let engine = if is_shared { shared() } else { Engine::new(settings(1)) };
        engine.watch(true);
        engine.dispatch(&me(), "CreateTable", CREATE);
        engine.dispatch(&you, "CreateTable", CREATE);
        for path in ["tables", "pending", "metrics", "metrics/minutes"] {
            let owners = |list: &serde_json::Value| -> Vec<String> {
                let text = |one: &serde_json::Value, name: &str| one[name].as_str().unwrap_or("-").to_owned();
                let all = list.as_array().unwrap().iter();
                let mut all: Vec<String> = all
                    .map(|one| text(one, "accessKey") + " " + &text(one, "region"))
                    .collect();
                all.sort_unstable();
                all
            };
            let everyone = ask(&engine, "GET", &format!("/_dynatwin/{path}"), "");
            let everyone = owners(&serde_json::from_slice(&everyone.body).unwrap());
            let mine = owners(&ask_as(&engine, &me(), "GET", path, ""));
            let yours = owners(&ask_as(&engine, &you, "GET", path, ""));
            if is_shared {
                assert_eq!([everyone, mine, yours], [["- -"]; 3], "{path}");
            } else {
                assert_eq!(everyone, ["me us-east-1", "you eu-west-1"], "{path}");
                assert_eq!(
                    (mine, yours),
                    (vec!["me us-east-1".to_owned()], vec!["you eu-west-1".to_owned()]),
                    "{path}"
                );
            }
        }
    }
}

/// The overview counts the rules that are there, whether they have acted or not.
#[test]
fn the_overview_counts_no_removed_rules() {
    let engine = shared();
    let counted = || {
        let overview: serde_json::Value = serde_json::from_slice(&ask(&engine, "GET", "/_dynatwin/", "").body).unwrap();
        overview["counts"]["faults"].as_u64().unwrap()
    };
    let add = || engine.add_fault(Rule::new(Verdict::Reset).operation("Scan")).unwrap();
    let first = add();
    add();
    assert_eq!(counted(), 2);
    engine.faults().remove(first);
    assert_eq!(counted(), 1);
    engine.faults().clear();
    assert_eq!(counted(), 0);
}

/// Rules are added over HTTP up to a maximum, and those of one outage together or not at all.
#[test]
fn a_limited_number_of_fault_rules_is_added() {
    let engine = shared();
    for _ in 0..998 {
        engine.add_fault(Rule::new(Verdict::Reset)).unwrap();
    }
    let add = |path: &str, body: &str| ask(&engine, "POST", &format!("/_dynatwin/{path}"), body).status;
    let rules = || engine.faults().report().len();
    let (rule, outage) = (r#"{"verdict":"reset"}"#, r#"{"outage":"brownout"}"#);
    assert_eq!((add("faults", rule), rules()), (200, 999));
    assert_eq!((add("outages", outage), rules()), (400, 999));
    assert_eq!((add("faults", rule), rules()), (200, 1000));
    assert_eq!((add("faults", rule), rules()), (400, 1000));
}

#[test]
fn a_path_has_all_parts_of_its_control() {
    let engine = shared();
    engine.dispatch(&me(), "CreateTable", CREATE);
    for (path, found) in [
        ("tables/tab/conditions", true),
        ("tables/tab/conditions/", true),
        ("tables//conditions", false),
        ("tables/tab", false),
        ("tables/tab/conditions/more", false),
        ("tables/tab//conditions", false),
        ("tables", true),
        ("table", false),
        ("", true),
    ] {
        let answer = ask(&engine, "GET", &format!("/_dynatwin/{path}"), "");
        let unknown = text(&answer).contains("There is no control at ");
        assert_eq!(
            (answer.status == 200, !unknown),
            (found, found),
            "{path}: {}",
            text(&answer)
        );
    }
}

/// The tables of a caller are those of its access key and region.
#[test]
fn tables_are_listed_for_one_caller() {
    let engine = Engine::new(Settings {
        shared_db: false,
        ..settings(1)
    });
    let caller = |access_key: &str, region: &str| Caller {
        access_key: access_key.into(),
        region: region.into(),
    };
    let callers = [("me", "us-east-1"), ("me", "eu-west-1"), ("other", "us-east-1")];
    for (access_key, region) in callers {
        let body = String::from_utf8_lossy(CREATE).replace("\"tab\"", &format!("\"{access_key}.{region}\""));
        let created = engine.dispatch(&caller(access_key, region), "CreateTable", body.as_bytes());
        assert_eq!(created.status, 200, "{}", text(&created));
    }
    for (access_key, region) in callers {
        let tables = ask_as(&engine, &caller(access_key, region), "GET", "tables", "");
        let names: Vec<_> = tables.as_array().unwrap().iter().map(|table| &table["table"]).collect();
        assert_eq!(names, [&format!("{access_key}.{region}")]);
    }
}

#[test]
fn a_read_only_engine_can_be_read() {
    for allowed in [Allowed::All, Allowed::ReadOnly] {
        let engine = shared().allowing(allowed);
        engine.dispatch(&me(), "CreateTable", CREATE);
        for control in CONTROLS {
            let path = control.path.replace("{table}", "tab").replace("{index}", "by-g");
            let refused = ask(&engine, control.method, &path, "").status == 403;
            let expect = allowed == Allowed::ReadOnly && control.method != "GET";
            assert_eq!(refused, expect, "{} {path}", control.method);
        }
    }
}

/// Only events are server-sent events, and only where those are accepted.
#[test]
fn an_answer_has_the_media_type_of_its_control() {
    let engine = shared();
    let (json, events) = ("application/json", "text/event-stream");
    for (path, accept, media) in [
        ("clock", "*/*", json),
        ("clock", events, json),
        ("events", "*/*", json),
        ("events", events, events),
        ("events", "text/html, text/event-stream;q=0.5", events),
        ("snapshot", events, "application/octet-stream"),
    ] {
        let headers = [("host", "localhost"), ("accept", accept)];
        let answer = engine.handle(&HttpRequest {
            method: "GET",
            target: &format!("/_dynatwin/{path}"),
            headers: &headers,
            body: b"",
        });
        assert_eq!(answer.status, 200);
        let found = answer.header("content-type").unwrap();
        assert!(found.starts_with(media), "{path} {accept}: {found}");
    }
}

#[test]
fn the_declaration_describes_every_control() {
    let answer = ask(&shared(), "GET", "/_dynatwin/openapi.json", "");
    assert_eq!(answer.status, 200);
    let declared: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    for control in CONTROLS {
        let method = control.method.to_lowercase();
        let operation = &declared["paths"][control.path][method]["operationId"];
        assert_eq!(operation, control.name, "{} {}", control.method, control.path);
    }
}

#[test]
fn a_body_is_taken_as_its_control_declares() {
    let engine = shared();
    let snapshot = engine.snapshot().to_bytes();
    let (json, bytes) = ("application/json", "application/octet-stream");
    for (method, path, media, body, status, part) in [
        ("PUT", "snapshot", bytes, &snapshot[..], 200, ""),
        (
            "PUT",
            "snapshot",
            bytes,
            b"",
            400,
            "PUT /_dynatwin/snapshot requires a body.",
        ),
        (
            "PUT",
            "snapshot",
            json,
            b"",
            400,
            "PUT /_dynatwin/snapshot requires a body.",
        ),
        (
            "PUT",
            "snapshot",
            json,
            b"{}",
            415,
            "content-type: application/octet-stream",
        ),
        ("PUT", "snapshot", bytes, &snapshot[1..], 400, "The body is "),
        ("PUT", "clock", json, b"", 400, "PUT /_dynatwin/clock requires a body."),
        ("PUT", "clock", bytes, b"{}", 415, "content-type: application/json"),
        ("POST", "reset", json, b"", 200, ""),
        ("POST", "reset", json, b"{}", 200, ""),
        ("POST", "reset", json, b"{\"all\": true}", 200, ""),
        ("POST", "reset", bytes, b"{}", 415, "content-type: application/json"),
        ("GET", "clock", json, b"", 200, ""),
        ("GET", "clock", json, b"{}", 200, ""),
        (
            "GET",
            "clock",
            json,
            b"{\"now\": 1}",
            400,
            "GET /_dynatwin/clock does not accept a body.",
        ),
        ("GET", "clock", json, b"{", 400, ""),
    ] {
        let headers = [("content-type", media), ("host", "localhost")];
        let answer = engine.handle(&HttpRequest {
            method,
            target: &format!("/_dynatwin/{path}"),
            headers: &headers,
            body,
        });
        assert_eq!(answer.status, status, "{method} {path} {media}: {}", text(&answer));
        assert!(text(&answer).contains(part), "{}", text(&answer));
    }
}

#[test]
fn counters_are_listed_for_accounts_with_requests_or_tables() {
    let engine = Engine::new(settings(1));
    engine.dispatch(&me(), "CreateTable", CREATE);
    engine.watch(true);
    for access_key in ["you", "she", "he"] {
        let caller = Caller {
            access_key: access_key.into(),
            ..me()
        };
        engine.dispatch(&caller, "GetItem", b"{}");
    }
    let metrics: serde_json::Value =
        serde_json::from_slice(&ask(&engine, "GET", "/_dynatwin/metrics", "").body).unwrap();
    let access_keys: Vec<_> = metrics
        .as_array()
        .unwrap()
        .iter()
        .map(|scope| &scope["accessKey"])
        .collect();
    assert_eq!(access_keys, ["he", "me", "she", "you"]);
}

/// The clock goes back to its start: an answer that was to be delivered when the control began would wait for it.
#[test]
fn the_answer_to_a_complete_reset_does_not_wait() {
    let engine = shared();
    engine.advance(Duration::from_hours(24 * 8));
    for (body, waits_until) in [("{}", engine.clock().now()), (r#"{"all": true}"#, Moment::START)] {
        let answer = ask(&engine, "POST", "/_dynatwin/reset", body);
        assert_eq!((answer.status, answer.at), (200, waits_until), "{body}");
        assert_eq!(engine.clock().now(), waits_until, "{body}");
    }
}

/// A client in real time advances a clock that stands still by its backoff.
#[test]
fn a_header_advances_a_settable_clock() {
    for (allowed, text, expect) in [
        (Allowed::All, "0.25", 250),
        (Allowed::All, "86400", 86_400_000),
        (Allowed::All, " 5 ", 5000),
        (Allowed::All, "86401", 0),
        (Allowed::All, "-1", 0),
        (Allowed::All, "soon", 0),
        (Allowed::All, "inf", 0),
        (Allowed::ReadOnly, "0.25", 0),
    ] {
        let engine = Engine::new(settings(1)).allowing(allowed);
        let headers = [("host", "localhost"), ("x-dynatwin-advance", text)];
        engine.handle(&HttpRequest {
            method: "GET",
            target: "/",
            headers: &headers,
            body: b"",
        });
        let passed = engine.clock().now().since(Moment::START).as_millis();
        assert_eq!(passed, expect, "{text}");
    }
}

/// A transport with one thread carries these out elsewhere.
#[test]
fn requests_that_may_take_long_are_known_in_advance() {
    let engine = shared();
    for (target, operation, expect) in [
        ("/", Some("DynamoDB_20120810.DeleteTable"), true),
        ("/", Some("DynamoDB_20120810.RestoreTableFromBackup"), true),
        ("/", Some("DynamoDB_20120810.GetItem"), false),
        ("/", Some("DynamoDB_20120810.PutItem"), false),
        ("/_dynatwin/snapshot", None, true),
        ("/_dynatwin/clock", None, true),
        ("/", None, false),
        ("/healthy", None, false),
    ] {
        let headers: Vec<(String, String)> = operation
            .map(|name| ("x-amz-target".to_owned(), name.to_owned()))
            .into_iter()
            .collect();
        let request = HttpRequest {
            method: "POST",
            target,
            headers: &headers,
            body: b"{}",
        };
        assert_eq!(engine.may_take_long(&request), expect, "{target} {operation:?}");
    }
}

#[test]
fn a_refused_method_is_answered_with_those_that_are_allowed() {
    let engine = shared();
    for (method, path, status, allow) in [
        ("DELETE", "/_dynatwin/clock", 405, Some("GET, PUT")),
        ("PUT", "/_dynatwin/clock/advance", 405, Some("POST")),
        ("GET", "/_dynatwin/clock", 200, None),
        ("GET", "/_dynatwin/nothing", 404, None),
    ] {
        let answer = ask(&engine, method, path, "");
        assert_eq!(
            (answer.status, answer.header("allow")),
            (status, allow),
            "{method} {path}"
        );
    }
}

/// Rates are whole numbers of 64 bits with a sign.
#[test]
fn the_largest_rates_are_shown() {
    let engine = shared();
    let conditions = r#"{"capacity": {"partitionRead": 1e19, "partitionWrite": 7}}"#;
    assert_eq!(ask(&engine, "PUT", "/_dynatwin/conditions", conditions).status, 200);
    let create = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;
    engine.dispatch(&me(), "CreateTable", create.as_bytes());
    ask(&engine, "POST", "/_dynatwin/tables/tab/heat/watch", "");
    let heat = ask(&engine, "GET", "/_dynatwin/tables/tab/heat", "");
    let heat: serde_json::Value = serde_json::from_slice(&heat.body).unwrap();
    let partition = &heat["resources"][0]["partitions"][0];
    assert_eq!(partition["read"]["rate"], i64::MAX, "{heat}");
    assert_eq!(partition["write"]["rate"], 7);
}

/// Without credentials a control acts on the only table of a name; of several, it is refused and none is changed.
#[test]
fn a_table_of_several_accounts_is_named_with_its_account() {
    let engine = Engine::new(settings(1));
    let other = Caller {
        access_key: "other".into(),
        region: "us-east-1".into(),
    };
    let away = Caller {
        region: "eu-west-1".into(),
        ..me()
    };
    let requests = [
        ("GET", "conditions", ""),
        ("PUT", "conditions", "{}"),
        ("DELETE", "conditions", ""),
        ("GET", "pending", ""),
        ("GET", "items", ""),
        ("GET", "heat", ""),
        ("POST", "expire-now", ""),
        ("POST", "split-shards", ""),
        ("GET", "indexes", ""),
        ("POST", "indexes/by-g/pause", ""),
        ("POST", "indexes/by-g/resume", ""),
    ];
    let check = |refusal: Option<&str>| {
        for (method, path, body) in requests {
            let answer = ask(&engine, method, &format!("/_dynatwin/tables/tab/{path}"), body);
            match refusal {
                None => assert_eq!(answer.status, 200, "{method} {path}: {}", text(&answer)),
                Some(refusal) => {
                    assert_eq!(answer.status, 400, "{method} {path}: {}", text(&answer));
                    assert!(text(&answer).contains(refusal), "{method} {path}: {}", text(&answer));
                }
            }
        }
    };
    let send = |caller: &Caller, operation: &str, body: &[u8]| {
        assert_eq!(engine.dispatch(caller, operation, body).status, 200);
    };
    send(&me(), "CreateTable", CREATE);
    check(None);
    for second in [&other, &away] {
        send(second, "CreateTable", CREATE);
        check(Some(
            " have a table tab: name the account and the region in the credentials",
        ));
        for (method, path, body) in requests {
            let answer = answered(&engine, second, method, &format!("tables/tab/{path}"), body);
            assert_eq!(answer.status, 200, "{method} {path}: {}", text(&answer));
        }
        send(second, "DeleteTable", br#"{"TableName":"tab"}"#);
        check(None);
    }
}

/// Each of several tables, rules and indexes is listed, and each rule and index can be named.
#[test]
fn each_of_several_is_shown() {
    let engine = shared();
    let get = |path: &str| -> serde_json::Value {
        let answer = ask(&engine, "GET", &format!("/_dynatwin/{path}"), "");
        assert_eq!(answer.status, 200, "{path}: {}", text(&answer));
        serde_json::from_slice(&answer.body).unwrap()
    };
    let names = |list: &serde_json::Value, member: &str| -> Vec<String> {
        let all = list.as_array().unwrap().iter();
        all.map(|one| one[member].as_str().unwrap_or("-").to_owned()).collect()
    };
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let several = ["one", "three", "two"];
    for table in several {
        let indexes = several
            .map(|name| json!({"IndexName": name, "KeySchema": key(name), "Projection": {"ProjectionType": "ALL"}}));
        let attributes = ["pk", "one", "two", "three"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let create = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": key("pk"), "GlobalSecondaryIndexes": indexes});
        let created = engine.dispatch(&me(), "CreateTable", create.to_string().as_bytes());
        assert_eq!(created.status, 200, "{}", text(&created));
    }
    for (list, member) in [
        (get("tables"), "table"),
        (get("pending"), "table"),
        (get("pending")[1]["indexes"].clone(), "index"),
        (get("tables/two/pending")["indexes"].clone(), "index"),
        (get("tables/two/indexes"), "index"),
    ] {
        assert_eq!(names(&list, member), several, "{list}");
    }
    assert_eq!(engine.tables(&me()), several);
    for (at, operation) in ["GetItem", "Scan", "Query"].into_iter().enumerate() {
        engine
            .add_fault(Rule::new(Verdict::Reset).operation(operation))
            .unwrap();
        let rule = get(&format!("faults/{}", at + 1));
        assert_eq!(rule["rule"]["operation"], operation, "{rule}");
        assert_eq!(get("faults")["rules"][at], rule);
    }
    for index in several {
        let path = format!("/_dynatwin/tables/one/indexes/{index}/pause");
        let paused = ask(&engine, "POST", &path, "");
        let paused: serde_json::Value = serde_json::from_slice(&paused.body).unwrap();
        assert_eq!((&paused["index"], &paused["paused"]), (&json!(index), &json!(true)));
    }
}

/// A clock shows whether it can be set, and how fast it runs.
#[test]
fn a_clock_shows_its_kind() {
    for (clock, settable, speed) in [
        (Clock::settable(Moment::START), true, 0.0),
        (Clock::system(|| Moment::START), false, 1.0),
        (Clock::accelerated(|| Moment::START, Moment::START, 60.0), false, 60.0),
    ] {
        let engine = Engine::new(Settings { clock, ..settings(1) });
        let answer = ask(&engine, "GET", "/_dynatwin/clock", "");
        let shown: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(shown["settable"], settable, "{shown}");
        assert_eq!(shown["speed"], speed, "{shown}");
        assert_eq!(shown["frozen"], false, "{shown}");
    }
}
