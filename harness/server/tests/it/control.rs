//! The controls over a socket: their effects, their errors, and the refusal of web pages.

use crate::support::twin::{JSON, ME, Twin, read};
use dynatwin_engine::operation::{Allowed, CONTROLS};
use serde_json::{Value, json};

/// A step: method and path, body, status, and the expected content of the answer (an object's members, at any depth;
/// otherwise the whole answer).
type Step = (&'static str, Value, u16, Value);

/// Returns whether `answer` contains everything in `expect`.
fn has(answer: &Value, expect: &Value) -> bool {
    match (answer, expect) {
        (Value::Object(answer), Value::Object(expect)) => expect
            .iter()
            .all(|(name, expect)| answer.get(name).is_some_and(|answer| has(answer, expect))),
        (Value::Array(answer), Value::Array(expect)) => {
            answer.len() == expect.len() && answer.iter().zip(expect).all(|(answer, expect)| has(answer, expect))
        }
        (Value::Number(answer), Value::Number(expect)) => answer.as_f64() == expect.as_f64(),
        _ => answer == expect,
    }
}

fn run(twin: &mut Twin, steps: Vec<Step>) {
    for (request, body, status, expect) in steps {
        let (method, path) = request.split_once(' ').unwrap();
        let (found, answer) = twin.control(method, path, (!body.is_null()).then_some(&body));
        assert!(
            found == status && has(&answer, &expect),
            "{request} {body}: {found} {answer}, and not {status} {expect}"
        );
    }
}

fn error(sentence: &str) -> Value {
    json!({ "error": sentence })
}

fn nothing() -> Value {
    Value::Null
}

#[test]
fn the_clock() {
    let now = |now: &str| json!({ "now": now });
    run(
        &mut Twin::new(Allowed::All, false),
        vec![
            (
                "GET clock",
                nothing(),
                200,
                json!({"now": "2026-01-01T00:00:00.000Z", "milliseconds": 1_767_225_600_000_u64, "settable": true, "frozen": false, "speed": 0}),
            ),
            (
                "POST clock/advance",
                json!({"seconds": 1.5}),
                200,
                now("2026-01-01T00:00:01.500Z"),
            ),
            ("POST clock/freeze", nothing(), 200, json!({"frozen": true})),
            (
                "POST clock/advance",
                json!({"seconds": 0}),
                200,
                json!({"frozen": true}),
            ),
            ("POST clock/unfreeze", json!({}), 200, json!({"frozen": false})),
            (
                "PUT clock",
                now("2026-02-01T00:00:00Z"),
                200,
                now("2026-02-01T00:00:00.000Z"),
            ),
            (
                "PUT clock",
                now("2025-01-01T00:00:00Z"),
                400,
                error("Time never goes back: it is 2026-02-01T00:00:00.000Z, which is after 2025-01-01T00:00:00.000Z."),
            ),
            (
                "PUT clock",
                now("tomorrow"),
                400,
                error("\"tomorrow\" is no moment: write it like 2026-01-01T00:00:00Z."),
            ),
            (
                "PUT clock",
                json!({}),
                400,
                error("clock.now is the moment to go to, like 2026-01-01T00:00:00Z."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": -1}),
                400,
                error("advance.seconds takes a number of seconds from 0 on, and -1 is none."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": 1e300}),
                400,
                error("The clock goes no further than 9999-12-31T23:59:59.000Z."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": "60"}),
                400,
                error("advance.seconds is a number."),
            ),
            (
                "POST clock/advance",
                json!({"hours": 1}),
                400,
                error("advance has no member \"hours\": there are seconds."),
            ),
            (
                "POST clock/advance",
                json!(60),
                400,
                error("advance is an object with some of seconds."),
            ),
            (
                "POST clock/advance",
                nothing(),
                400,
                error("POST /_dynatwin/clock/advance takes a body, and there is none."),
            ),
            (
                "POST clock/freeze",
                json!({"seconds": 1}),
                400,
                error("POST /_dynatwin/clock/freeze takes no body, and there is one."),
            ),
            ("GET clock", nothing(), 200, now("2026-02-01T00:00:00.000Z")),
        ],
    );
}

#[test]
fn conditions() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let calm = json!({"timeToLive": 0, "indexPropagation": 0, "readStaleness": 0, "staleReads": 1, "monotonicReads": false, "transactionTime": 0, "replicationLag": 0, "regionRoundTrip": 0, "streamLag": 0, "streamShards": 1, "tableStatus": 0, "statisticsAge": 0, "itemCollectionSize": 10_737_418_240_u64, "streamBytes": 1_073_741_824, "recoveryBytes": 1_073_741_824, "capacity": "reported", "internalErrors": 0, "throttles": 0});
    let own = json!({"timeToLive": "off", "indexPropagation": 1, "readStaleness": {"typical": 1, "longest": 2}, "staleReads": 0.5, "monotonicReads": true, "transactionTime": 3, "replicationLag": {"typical": 1, "longest": 2}, "regionRoundTrip": 0.5, "streamLag": {"typical": 1, "longest": 2}, "streamShards": "throughput", "tableStatus": 0, "statisticsAge": 5, "itemCollectionSize": 1000, "streamBytes": 1000, "recoveryBytes": "unlimited", "capacity": {"burst": 1, "adaptive": false, "partitionRead": 2, "partitionWrite": 3, "partitionSize": 4, "heatSplit": 5, "growth": 6, "shardReaders": 7}, "internalErrors": 0.5, "throttles": 0.25});
    let no_table =
        "Nobody has a table Carts; if it is yet to be made, say whose by the credentials of an Authorization header.";
    run(
        &mut twin,
        vec![
            ("GET conditions", nothing(), 200, calm.clone()),
            ("PUT conditions", own.clone(), 200, own.clone()),
            ("GET conditions", nothing(), 200, own.clone()),
            (
                "GET tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": false, "conditions": own}),
            ),
            (
                "PUT tables/Orders/conditions",
                json!({"throttles": 1}),
                200,
                json!({"own": true, "conditions": {"throttles": 1, "internalErrors": 0.5}}),
            ),
            ("PUT conditions", json!("calm"), 200, calm.clone()),
            (
                "GET tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": true, "conditions": {"throttles": 1}}),
            ),
            (
                "DELETE tables/Orders/conditions",
                nothing(),
                200,
                json!({"own": false, "conditions": calm}),
            ),
            ("DELETE tables/Orders/conditions", nothing(), 200, json!({"own": false})),
            (
                "PUT conditions",
                json!({"base": "storm", "throttles": 0}),
                200,
                json!({"throttles": 0, "internalErrors": 0.01}),
            ),
            (
                "PUT conditions",
                json!("sunny"),
                400,
                error("There are no conditions called \"sunny\": there are calm, aws and storm."),
            ),
            (
                "PUT tables/Orders/conditions",
                json!({"throttles": 2}),
                400,
                error("conditions.throttles is a number from 0 to 1."),
            ),
            ("GET tables/Carts/conditions", nothing(), 404, error(no_table)),
            ("PUT tables/Carts/conditions", json!("aws"), 404, error(no_table)),
            ("DELETE tables/Carts/conditions", nothing(), 404, error(no_table)),
        ],
    );
}

/// A table that is created later has them then.
#[test]
fn conditions_of_a_table_that_is_not_there_yet() {
    let mut twin = Twin::new(Allowed::All, false);
    let path = "/_dynatwin/tables/Orders/conditions";
    let ask = |twin: &mut Twin, method, body: &str| {
        let headers = [JSON, ("authorization", ME)];
        read(&twin.send(method, path, &headers, body.as_bytes()))
    };
    assert_eq!(ask(&mut twin, "GET", "").0, 404);
    assert_eq!(ask(&mut twin, "DELETE", "").0, 404);
    let (status, answer) = ask(&mut twin, "PUT", r#"{"internalErrors": 1}"#);
    assert_eq!((status, &answer["own"]), (200, &json!(true)));
    assert_eq!(ask(&mut twin, "GET", "").0, 200);
    twin.create("me", "Orders");
    let scan = json!({"TableName": "Orders"});
    assert_eq!(twin.operation("me", "Scan", &scan).0, 500);
    assert_eq!(ask(&mut twin, "DELETE", "").0, 200);
    assert_eq!(twin.operation("me", "Scan", &scan).0, 200);
    for (name, status) in [("ab", 400), ("a%20b", 400), ("a.b-c_D", 200)] {
        let path = format!("/_dynatwin/tables/{name}/conditions");
        let headers = [JSON, ("authorization", ME)];
        assert_eq!(twin.send("PUT", &path, &headers, b"\"aws\"").status(), status, "{name}");
    }
}

#[test]
fn fault_rules() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let rule = json!({"verdict": "throttle", "operation": "PutItem", "table": "Orders", "first": 2});
    let wait = json!({"verdict": {"wait": 1.5}, "partitionPrefix": "a", "everyNth": 3});
    let report = |fired: u64| json!({"id": 1, "rule": "Throttle(None) on PutItem, Orders, First(2)", "told": rule, "matched": fired, "fired": fired});
    run(
        &mut twin,
        vec![
            ("GET faults", nothing(), 200, json!({"rules": [], "neverFired": []})),
            ("POST faults", rule.clone(), 200, report(0)),
            (
                "POST faults",
                wait.clone(),
                200,
                json!({"id": 2, "told": wait, "matched": 0, "fired": 0}),
            ),
        ],
    );
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "b"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 400);
    run(
        &mut twin,
        vec![
            ("GET faults/1", nothing(), 200, report(1)),
            (
                "GET faults",
                nothing(),
                200,
                json!({"rules": [{"id": 1}, {"id": 2}], "neverFired": [{"id": 2}]}),
            ),
            ("DELETE faults/2", nothing(), 200, json!({"id": 2, "fired": 0})),
            (
                "GET faults",
                nothing(),
                200,
                json!({"rules": [{"id": 1}], "neverFired": [{"id": 2}]}),
            ),
            ("GET faults/2", nothing(), 404, error("There is no rule 2.")),
            ("DELETE faults/2", nothing(), 404, error("There is no rule 2.")),
            ("DELETE faults/all", nothing(), 404, error("There is no rule all.")),
            ("DELETE faults", nothing(), 200, json!({"rules": [], "neverFired": []})),
            (
                "POST faults",
                json!({"verdict": "reset", "tabel": "T"}),
                400,
                error(
                    "rule has no member \"tabel\": there are verdict, first, nth, everyNth, share, movesClock, operation, table, index, caller, region, partition, partitionPrefix, after, until, for.",
                ),
            ),
            (
                "POST faults",
                json!({"verdict": "reset", "first": 0}),
                400,
                error("rule.first is a whole number from 1 on."),
            ),
            (
                "POST faults",
                json!({"verdict": {"exception": "TransactionConflictException"}, "operation": "GetItem"}),
                400,
                error("GetItem is not modelled with TransactionConflictException."),
            ),
            (
                "POST outages",
                json!({"outage": "az-loss", "table": "Nowhere", "for": 30}),
                200,
                json!({"rules": [
                    {"outage": "az-loss", "until": "2026-01-01T00:00:30.000Z"},
                    {"outage": "az-loss"},
                    {"outage": "az-loss", "until": "2026-01-01T00:00:10.000Z"},
                    {"outage": "az-loss"},
                ]}),
            ),
            (
                "POST outages",
                json!({"outage": "flood"}),
                400,
                error("There is no outage called \"flood\": there are brownout, throttle-storm and az-loss."),
            ),
        ],
    );
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
}

/// Each verdict has its effect over a socket.
#[test]
fn verdicts() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    for (verdict, status, word) in [
        (json!("throttle"), 400, "ThrottlingException"),
        (
            json!({"throttle": "KeyRangeThroughput"}),
            400,
            "KeyRangeThroughputExceeded",
        ),
        (json!("internalServerError"), 500, "InternalServerError"),
        (json!("serviceUnavailable"), 503, "ServiceUnavailable"),
        (
            json!("itemCollectionSizeLimitExceeded"),
            400,
            "ItemCollectionSizeLimitExceeded",
        ),
        (
            json!({"exception": "TransactionConflictException"}),
            400,
            "TransactionConflictException",
        ),
        (json!({"kms": "AccessDenied"}), 400, "KMS key access denied error"),
        (json!("internalServerErrorAfterApply"), 500, "InternalServerError"),
        (json!({"wait": 0.05}), 200, "{}"),
    ] {
        let rule = json!({"verdict": verdict, "operation": "PutItem", "partition": "a", "caller": "me"});
        assert_eq!(twin.control("POST", "faults", Some(&rule)).0, 200);
        let put = json!({"TableName": "Orders", "Item": {"id": {"S": "a"}}});
        let (found, answer) = twin.operation("me", "PutItem", &put);
        assert!(
            found == status && answer.to_string().contains(word),
            "{verdict}: {found} {answer}"
        );
        assert_eq!(twin.control("DELETE", "faults", None).0, 200);
    }
    let (_, clock) = twin.control("GET", "clock", None);
    assert_eq!(clock["now"], "2026-01-01T00:00:00.000Z", "the wait has moved no clock");
}

/// The delays of an answer, and their effect on a settable clock: a rule's wait only on request, latency never.
#[test]
fn delays_and_the_clock() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let rule = json!({"verdict": {"wait": 3600}, "operation": "PutItem", "movesClock": true});
    assert_eq!(twin.control("POST", "faults", Some(&rule)).0, 200);
    let latency = json!({"latency": {"write": 5, "perKilobyte": 0}});
    assert_eq!(twin.control("PUT", "conditions", Some(&latency)).0, 200);
    assert_eq!(twin.control("POST", "watch", None).0, 200);
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "a"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    let (_, clock) = twin.control("GET", "clock", None);
    assert_eq!(clock["now"], "2026-01-01T01:00:00.000Z");
    let (_, metrics) = twin.control("GET", "metrics/minutes", None);
    let points = metrics[0]["datapoints"].as_array().unwrap();
    let took = points.iter().find(|point| point["name"] == "SuccessfulRequestLatency");
    assert_eq!(took.unwrap()["sum"].as_f64(), Some(3_605_000.0), "{metrics}");
    let not_a_wait = json!({"verdict": "reset", "movesClock": true});
    let refused = error("Only a rule with a wait can move the clock.");
    assert_eq!(twin.control("POST", "faults", Some(&not_a_wait)), (400, refused));
}

#[test]
fn the_number_of_rules_is_limited() {
    let mut twin = Twin::new(Allowed::All, false);
    let rule = json!({"verdict": "reset", "table": "Nowhere"});
    for _ in 0..1000 {
        assert_eq!(twin.control("POST", "faults", Some(&rule)).0, 200);
    }
    let full = error("There can be at most 1000 fault rules.");
    assert_eq!(twin.control("POST", "faults", Some(&rule)), (400, full));
    assert_eq!(twin.control("DELETE", "faults/1000", None).0, 200);
    assert_eq!(twin.control("POST", "faults", Some(&rule)).0, 200);
}

#[test]
fn expired_items_are_deleted_on_request() {
    let mut twin = Twin::furnished();
    run(
        &mut twin,
        vec![
            (
                "GET tables",
                nothing(),
                200,
                json!([{"table": "Orders", "accessKey": "me", "region": "us-east-1", "items": 1, "bytes": 20}]),
            ),
            ("POST tables/Orders/expire-now", nothing(), 200, json!({"deleted": 1})),
            ("POST tables/Orders/expire-now", nothing(), 200, json!({"deleted": 0})),
            (
                "GET tables",
                nothing(),
                200,
                json!([{"table": "Orders", "items": 0, "bytes": 0}]),
            ),
        ],
    );
}

#[test]
fn indexes() {
    let mut twin = Twin::furnished();
    let index = |paused: bool, waiting: u64| json!({"index": "by-date", "paused": paused, "waiting": waiting});
    let put = |twin: &mut Twin, id: &str| {
        let item = json!({"id": {"S": id}, "date": {"S": "d"}});
        assert_eq!(
            twin.operation("me", "PutItem", &json!({"TableName": "Orders", "Item": item}))
                .0,
            200
        );
    };
    let no_index = error("Table Orders has no global index by-name.");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 0)])),
            (
                "POST tables/Orders/indexes/by-date/pause",
                nothing(),
                200,
                index(true, 0),
            ),
        ],
    );
    put(&mut twin, "b");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(true, 1)])),
            (
                "POST tables/Orders/indexes/by-date/resume",
                nothing(),
                200,
                index(false, 0),
            ),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!(10),
                200,
                json!({"lag": 10}),
            ),
        ],
    );
    put(&mut twin, "c");
    run(
        &mut twin,
        vec![
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 1)])),
            ("POST clock/advance", json!({"seconds": 10}), 200, json!({})),
            ("GET tables/Orders/indexes", nothing(), 200, json!([index(false, 0)])),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!({"typical": 1, "longest": 2}),
                200,
                json!({"lag": {"typical": 1, "longest": 2}}),
            ),
            (
                "DELETE tables/Orders/indexes/by-date/lag",
                nothing(),
                200,
                index(false, 0),
            ),
            (
                "POST tables/Orders/indexes/by-name/pause",
                nothing(),
                404,
                no_index.clone(),
            ),
            (
                "POST tables/Orders/indexes/by-name/resume",
                nothing(),
                404,
                no_index.clone(),
            ),
            ("PUT tables/Orders/indexes/by-name/lag", json!(1), 404, no_index.clone()),
            ("DELETE tables/Orders/indexes/by-name/lag", nothing(), 404, no_index),
            (
                "PUT tables/Orders/indexes/by-date/lag",
                json!({"typical": 2, "longest": 1}),
                400,
                error(
                    "lag takes a number of seconds, or { typical, longest } with longest not below typical, and p99 between them.",
                ),
            ),
        ],
    );
    let path = "/_dynatwin/tables/Orders/indexes/by-date/lag";
    assert_eq!(twin.send("PUT", path, &[JSON], b"null").status(), 400);
    let (_, listed) = twin.control("GET", "tables/Orders/indexes", None);
    assert_eq!(listed[0].get("lag"), None);
}

#[test]
fn what_was_asked() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let seen = |watched: bool, seen: u64| json!({"watched": watched, "seen": seen});
    let step = |request, expect| (request, nothing(), 200, expect);
    let empty = json!([{"accessKey": "me", "region": "us-east-1", "metrics": []}]);
    run(
        &mut twin,
        vec![
            step("GET metrics", empty),
            step("GET requests", json!({"watched": false, "seen": 0, "requests": []})),
            step("POST watch", seen(true, 0)),
        ],
    );
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "a"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    assert_eq!(twin.operation("you", "PutItem", &put).0, 400);
    assert_eq!(twin.operation("me", "Scan", &json!({"TableName": "Orders"})).0, 200);
    let (me, you) = (
        json!({"accessKey": "me", "region": "us-east-1"}),
        json!({"accessKey": "you", "region": "us-east-1"}),
    );
    let touch = json!({"act": "Put", "table": "Orders", "key": {"id": {"S": "a"}}, "readUnits": 0, "writeUnits": 1});
    let put = json!({
        "number": 1, "at": "2026-01-01T00:00:00.000Z", "caller": me, "operation": "PutItem", "tables": ["Orders"], "touches": [touch],
        "status": 200, "delivery": {"kind": "whole"}, "readUnits": 0, "writeUnits": 1, "scanned": 0, "returned": 0,
    });
    let refused = json!({"number": 2, "caller": you, "status": 400, "error": "ResourceNotFoundException"});
    let scan = json!({"number": 3, "operation": "Scan", "scanned": 1, "returned": 1, "readUnits": 0.5});
    let kind = json!({
        "operation": "Scan", "table": "Orders", "caller": me, "first": "2026-01-01T00:00:00.000Z", "times": 1, "scanned": 1,
        "partitionKeys": [{"attribute": "id"}, {"index": "by-date", "attribute": "date"}],
    });
    run(
        &mut twin,
        vec![
            step(
                "GET requests",
                json!({"watched": true, "seen": 3, "requests": [put, refused, scan]}),
            ),
            step("GET scans", json!([kind])),
            step("GET ", json!({"watched": true, "counts": {"requests": 3}})),
            step("POST unwatch", seen(false, 3)),
        ],
    );
    let (_, metrics) = twin.control("GET", "metrics", None);
    let table = json!({"TableName": "Orders"});
    let operation = json!({"TableName": "Orders", "Operation": "Scan"});
    let of =
        |name: &str, dimensions: &Value, value: f64| json!({"name": name, "dimensions": dimensions, "value": value});
    let expect = json!([
        {"accessKey": "me", "metrics": [
            of("ConsumedReadCapacityUnits", &table, 0.5),
            of("ConsumedWriteCapacityUnits", &table, 1.0),
            of("ReturnedItemCount", &operation, 1.0),
        ]},
        {"accessKey": "you", "metrics": [of("UserErrors", &json!({}), 1.0)]},
    ]);
    assert!(has(&metrics, &expect), "{metrics}");
    // Credentials select the caller's own records.
    for (path, key) in [("requests", "requests"), ("metrics", ""), ("scans", "")] {
        let path = format!("/_dynatwin/{path}");
        let you = ME.replace("me/", "you/");
        let (_, answer) = read(&twin.send("GET", &path, &[("authorization", &you)], b""));
        let list = if key.is_empty() { &answer } else { &answer[key] };
        let count = list.as_array().unwrap().len();
        assert_eq!(count, usize::from(path != "/_dynatwin/scans"), "{path}: {answer}");
    }
    run(
        &mut twin,
        vec![
            step("DELETE requests", seen(false, 0)),
            step("GET scans", json!([])),
            step("GET requests", json!({"requests": []})),
        ],
    );
}

#[test]
fn heat_and_shards() {
    let mut twin = Twin::furnished();
    let heat = |twin: &mut Twin| twin.control("GET", "tables/Orders/heat", None).1;
    assert_eq!(heat(&mut twin), json!({"resources": [], "keys": []}));
    assert_eq!(twin.control("POST", "tables/Orders/heat/watch", None).0, 200);
    let put = json!({"TableName": "Orders", "Item": {"id": {"S": "hot"}}});
    assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
    let seen = heat(&mut twin);
    assert_eq!(seen["keys"], json!([{"key": {"S": "hot"}, "units": 1}]));
    assert_eq!(seen["resources"][0]["write"]["units"], 1);
    assert_eq!(seen["resources"][1]["index"], "by-date");
    let partitions = seen["resources"][0]["partitions"].as_array().unwrap();
    assert_eq!(partitions[0]["first"], "0000000000000000");
    assert_eq!(partitions.last().unwrap()["last"], "ffffffffffffffff");
    run(
        &mut twin,
        vec![
            (
                "POST tables/Orders/heat/unwatch",
                nothing(),
                200,
                json!({"resources": [], "keys": []}),
            ),
            (
                "POST tables/Orders/split-shards",
                nothing(),
                200,
                json!({"split": true}),
            ),
        ],
    );
}

#[test]
fn a_reset_removes_everything() {
    let mut twin = Twin::furnished();
    let counts = json!({"tables": 1, "items": 1, "bytes": 20, "faults": 1});
    let none = json!({"tables": 0, "items": 0, "bytes": 0, "faults": 0});
    run(
        &mut twin,
        vec![
            (
                "GET ",
                nothing(),
                200,
                json!({"name": "Dynatwin", "version": env!("CARGO_PKG_VERSION"), "seed": "18446744073709551615", "sharedTables": false, "controlled": true, "clock": {"settable": true}, "conditions": {"throttles": 0}, "counts": counts}),
            ),
            ("POST clock/advance", json!({"seconds": 1}), 200, json!({})),
            (
                "POST reset",
                nothing(),
                200,
                json!({"counts": none, "clock": {"now": "2026-01-01T00:00:01.000Z"}}),
            ),
            ("GET tables", nothing(), 200, json!([])),
        ],
    );
}

#[test]
fn a_reset_of_all_restores_the_initial_state() {
    let mut twin = Twin::furnished();
    let moved = json!({"counts": {"tables": 0}, "clock": {"now": "2026-01-09T00:00:00.000Z"}, "conditions": {"throttles": 0.05}});
    let started = json!({"counts": {"tables": 0, "faults": 0}, "seed": "18446744073709551615", "conditions": {"throttles": 0},
        "clock": {"now": "2026-01-01T00:00:00.000Z"}});
    run(
        &mut twin,
        vec![
            ("POST clock/advance", json!({"seconds": 8 * 86_400}), 200, json!({})),
            ("PUT conditions", json!("storm"), 200, json!({})),
            ("POST reset", json!({"all": false}), 200, moved),
            ("POST reset", json!({"all": true}), 200, started),
            (
                "POST reset",
                json!({"all": 1}),
                400,
                error("reset.all is true or false."),
            ),
            (
                "POST reset",
                json!({"al": true}),
                400,
                error("reset has no member \"al\": there are all."),
            ),
        ],
    );
}

/// A control finds the table if only one caller has it, all callers share tables, or the credentials select it.
#[test]
fn whose_table() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    twin.create("you", "Carts");
    let expire = |twin: &mut Twin, table: &str, authorization: Option<&str>| {
        let headers: Vec<_> = authorization
            .map(|value| ("authorization", value))
            .into_iter()
            .collect();
        let path = format!("/_dynatwin/tables/{table}/expire-now");
        read(&twin.send("POST", &path, &headers, b""))
    };
    let deleted = json!({"deleted": 0});
    assert_eq!(expire(&mut twin, "Orders", None), (200, deleted.clone()));
    assert_eq!(expire(&mut twin, "Carts", None), (200, deleted.clone()));
    assert_eq!(
        expire(&mut twin, "Carts", Some(ME)),
        (404, error("There is no table Carts for access key me in us-east-1."))
    );
    twin.create("you", "Orders");
    let sentence = "me in us-east-1 and you in us-east-1 have a table Orders: say whose by the credentials of an Authorization header.";
    assert_eq!(expire(&mut twin, "Orders", None), (400, error(sentence)));
    assert_eq!(expire(&mut twin, "Orders", Some(ME)), (200, deleted.clone()));
    let headers = [("authorization", ME)];
    let (_, listed) = read(&twin.send("GET", "/_dynatwin/tables", &headers, b""));
    assert!(
        has(&listed, &json!([{"table": "Orders", "accessKey": "me"}])),
        "{listed}"
    );

    let mut shared = Twin::new(Allowed::All, true);
    shared.create("me", "Orders");
    shared.create("you", "Carts");
    assert_eq!(expire(&mut shared, "Carts", Some(ME)), (200, deleted.clone()));
    assert_eq!(expire(&mut shared, "Orders", None), (200, deleted));
    assert_eq!(
        expire(&mut shared, "Lists", None),
        (404, error("There is no table Lists."))
    );
    let (_, listed) = shared.control("GET", "tables", None);
    assert_eq!(listed[0].get("accessKey"), None);
    assert!(
        has(&listed, &json!([{"table": "Carts"}, {"table": "Orders"}])),
        "{listed}"
    );
}

#[test]
fn paths_and_methods() {
    let mut twin = Twin::furnished();
    let unknown = |path: &str| {
        error(&format!(
            "There is no control at /_dynatwin/{path}: /_dynatwin/openapi.json lists them."
        ))
    };
    run(
        &mut twin,
        vec![
            ("GET nothing", nothing(), 404, unknown("nothing")),
            ("GET tables/Orders", nothing(), 404, unknown("tables/Orders")),
            ("GET tables//conditions", nothing(), 404, unknown("tables//conditions")),
            ("POST clock/advance/more", json!({}), 404, unknown("clock/advance/more")),
            ("GET clock/?verbose", nothing(), 200, json!({})),
            ("GET tables/Orde%72s/heat", nothing(), 200, json!({})),
            (
                "POST clock",
                json!({}),
                405,
                error("/_dynatwin/clock takes GET, PUT, and not POST."),
            ),
            (
                "GET reset",
                nothing(),
                405,
                error("/_dynatwin/reset takes POST, and not GET."),
            ),
        ],
    );
    let long = format!("/_dynatwin/{}", "é".repeat(10).replace('é', "%C3%A9").repeat(50));
    let (status, answer) = read(&twin.send("GET", &long, &[], b""));
    assert_eq!(status, 404);
    assert!(answer.to_string().len() < 250, "{answer}");
    let refused = twin.send("PATCH", "/_dynatwin/faults", &[], b"");
    assert_eq!(
        (refused.status(), refused.header("allow")),
        (405, Some("get, post, delete"))
    );
    assert_eq!(refused.header("content-type"), Some("application/json"));
    // The path without its slash works too; a longer name does not.
    assert_eq!(twin.send("GET", "/_dynatwin", &[], b"").status(), 200);
    assert_eq!(twin.send("GET", "/_dynatwins", &[], b"").status(), 404);
}

#[test]
fn bodies_are_small_and_json() {
    let mut twin = Twin::new(Allowed::All, false);
    let path = "/_dynatwin/conditions";
    for (headers, body, status, sentence) in [
        (
            &[JSON][..],
            &b"{"[..],
            400,
            "The body is not valid JSON: see line 1, column 1.",
        ),
        (
            &[JSON],
            b"\n\"aws\" x",
            400,
            "The body is not valid JSON: see line 2, column 6.",
        ),
        (&[JSON], b"\xff", 400, "The body is not UTF-8."),
        (&[JSON], &vec![b'['; 60_000], 400, "The body is deeper than 20 levels."),
        (
            &[JSON],
            &vec![b' '; 65_537],
            413,
            "The body has more than 65536 bytes, which is more than any control takes.",
        ),
        (
            &[],
            b"\"aws\"",
            415,
            "Send it with the header content-type: application/json (curl --json does).",
        ),
        (
            &[("content-type", "text/plain")],
            b"\"aws\"",
            415,
            "Send it with the header content-type: application/json (curl --json does).",
        ),
        (
            &[JSON, ("content-encoding", "gzip")],
            b"\"aws\"",
            400,
            "The body is not what its content-encoding says.",
        ),
    ] {
        let answer = read(&twin.send("PUT", path, headers, body));
        assert_eq!(answer, (status, error(sentence)));
    }
    let (_, conditions) = twin.control("GET", "conditions", None);
    assert_eq!(conditions["capacity"], "reported", "nothing has changed");
}

/// A form, a beacon or a fetch of a page of another origin changes nothing, and reads nothing.
#[test]
fn pages_of_other_origins_are_refused() {
    let mut twin = Twin::furnished();
    for control in CONTROLS {
        for origin in ["https://example.com", "http://localhost:3000", "null"] {
            let path = control
                .path
                .replace("{table}", "Orders")
                .replace("{index}", "by-date")
                .replace("{id}", "1");
            for headers in [
                &[("origin", origin)][..],
                &[("origin", origin), ("content-type", "text/plain")],
                &[("origin", origin), JSON],
            ] {
                let answer = twin.send(control.method, &path, headers, b"");
                assert_eq!(answer.status(), 403, "{} {path} {headers:?}", control.method);
                assert_eq!(answer.header("access-control-allow-origin"), None);
            }
        }
    }
    // A browser's preflight allows nothing either.
    let asks = [
        ("origin", "https://example.com"),
        ("access-control-request-method", "PUT"),
    ];
    let preflight = twin.send("OPTIONS", "/_dynatwin/conditions", &asks, b"");
    assert_eq!(preflight.status(), 403);
    for name in ["origin", "methods", "headers"] {
        assert_eq!(preflight.header(&format!("access-control-allow-{name}")), None);
    }
    // A page of the server's own origin is allowed.
    assert_eq!(
        twin.send("GET", "/_dynatwin/", &[("origin", "http://localhost:8000")], b"")
            .status(),
        200
    );
    let (_, overview) = twin.control("GET", "", None);
    assert_eq!(overview["counts"]["faults"], 1);
}

#[test]
fn every_change_is_refused_without_control() {
    let mut twin = Twin::new(Allowed::Looking, false);
    twin.create("me", "Orders");
    let sentence = "This twin was started with --no-control: it can be looked at, and not changed.";
    for control in CONTROLS {
        let path = control
            .path
            .replace("{table}", "Orders")
            .replace("{index}", "by-date")
            .replace("{id}", "1");
        let response = twin.send(control.method, &path, &[], b"");
        if control.name == "getSnapshot" {
            assert_eq!(response.status(), 200);
            continue;
        }
        let answer = read(&response);
        match control.path.rsplit('/').next().unwrap() {
            _ if control.changes() => assert_eq!(answer, (403, error(sentence)), "{} {path}", control.method),
            "{id}" | "{number}" | "explain" => assert_eq!(answer.0, 404, "{path}"),
            "place" | "expression" => assert_eq!(answer.0, 400, "{path}"),
            _ => assert_eq!(answer.0, 200, "{path}"),
        }
    }
    let (_, overview) = twin.control("GET", "", None);
    assert_eq!(overview["controlled"], false);
}

#[test]
fn snapshots_are_got_and_restored() {
    const PATH: &str = "/_dynatwin/snapshot";
    const BYTES: (&str, &str) = ("content-type", "application/octet-stream");
    let mut twin = Twin::furnished();
    let response = twin.send("GET", PATH, &[], b"");
    assert_eq!(
        (response.status(), response.header("content-type")),
        (200, Some("application/octet-stream"))
    );
    let snapshot = response.body;
    let before = twin.operation("me", "Scan", &json!({"TableName": "Orders"}));
    let (_, clock) = twin.control("GET", "clock", None);

    let change = |twin: &mut Twin| {
        let put = json!({"TableName": "Orders", "Item": {"id": {"S": "new"}}});
        assert_eq!(twin.operation("me", "PutItem", &put).0, 200);
        twin.create("another", "Others");
        twin.control("POST", "clock/advance", Some(&json!({"seconds": 60})));
    };
    change(&mut twin);
    let changed = twin.send("GET", PATH, &[], b"").body;
    // Damaged bytes change nothing.
    let mut damaged = snapshot.clone();
    damaged[snapshot.len() / 2] ^= 1;
    let cut = &snapshot[..snapshot.len() - 1];
    for (headers, body, status, sentence) in [
        (
            &[BYTES][..],
            &damaged[..],
            400,
            "The body is not a snapshot: its checksum is wrong.",
        ),
        (&[BYTES], cut, 400, "The body is not a snapshot: its checksum is wrong."),
        (
            &[BYTES],
            b"{}",
            400,
            "The body is not a snapshot: it begins otherwise, or its version is unknown.",
        ),
        (
            &[],
            b"",
            400,
            "PUT /_dynatwin/snapshot takes a body, and there is none.",
        ),
        (
            &[JSON],
            b"{}",
            415,
            "Send it with the header content-type: application/octet-stream.",
        ),
    ] {
        let answer = read(&twin.send("PUT", PATH, headers, body));
        assert_eq!(answer, (status, error(sentence)));
    }
    assert_eq!(twin.send("GET", PATH, &[], b"").body, changed);

    let (status, overview) = read(&twin.send("PUT", PATH, &[BYTES], &snapshot));
    assert_eq!((status, &overview["counts"]["tables"]), (200, &json!(1)), "{overview}");
    assert_eq!(overview["counts"]["faults"], 0);
    assert_eq!(twin.operation("me", "Scan", &json!({"TableName": "Orders"})), before);
    assert_eq!(twin.control("GET", "clock", None).1, clock);
    assert_eq!(twin.send("GET", PATH, &[], b"").body, snapshot);

    // Another server then has the same state.
    let mut other = Twin::with(Allowed::All, |limits| limits.snapshot = changed.len());
    assert_eq!(read(&other.send("PUT", PATH, &[BYTES], &changed)).0, 200);
    assert_eq!(other.send("GET", PATH, &[], b"").body, changed);
    assert_eq!(
        other.send("PUT", PATH, &[BYTES], &vec![0; changed.len() + 1]).status(),
        413
    );
}

/// `X-Amz-Target` selects no control, and `/` has none.
#[test]
fn targets_lead_to_no_control() {
    let mut twin = Twin::new(Allowed::All, false);
    for control in CONTROLS {
        let (status, answer) = twin.operation("me", control.name, &json!({}));
        let unknown = json!({"__type": "com.amazon.coral.service#UnknownOperationException"});
        assert_eq!((status, answer), (400, unknown), "{}", control.name);
    }
}
