//! The controls of fault rules.

use super::{error, nothing, run};
use crate::support::twin::Twin;
use dynatwin_engine::Allowed;
use serde_json::json;

#[test]
fn fault_rules() {
    let mut twin = Twin::new(Allowed::All, false);
    twin.create("me", "Orders");
    let rule = json!({"verdict": "throttle", "operation": "PutItem", "table": "Orders", "first": 2});
    let wait = json!({"verdict": {"wait": 1.5}, "partitionPrefix": "a", "everyNth": 3});
    let report = |fired: u64| json!({"id": 1, "rule": rule, "matched": fired, "fired": fired});
    run(
        &mut twin,
        vec![
            ("GET faults", nothing(), 200, json!({"rules": [], "neverFired": []})),
            ("POST faults", rule.clone(), 200, report(0)),
            (
                "POST faults",
                wait.clone(),
                200,
                json!({"id": 2, "rule": wait, "matched": 0, "fired": 0}),
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
                    "rule has no member \"tabel\"; its members are verdict, first, nth, everyNth, share, movesClock, operation, table, index, caller, region, partition, partitionPrefix, after, until, for.",
                ),
            ),
            (
                "POST faults",
                json!({"verdict": "reset", "first": 0}),
                400,
                error("rule.first must be a whole number greater than 0."),
            ),
            (
                "POST faults",
                json!({"verdict": {"exception": "TransactionConflictException"}, "operation": "GetItem"}),
                400,
                error("GetItem never returns TransactionConflictException."),
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
                error("There is no outage \"flood\"; the outages are brownout, throttle-storm and az-loss."),
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
