//! Resets and snapshots.

use super::{error, nothing, run};
use crate::support::twin::{JSON, Twin, read};
use dynatwin_engine::Allowed;
use serde_json::json;

#[test]
fn a_reset_removes_everything() {
    let mut twin = Twin::with_example_data();
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
    let mut twin = Twin::with_example_data();
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
                error("reset.all must be true or false."),
            ),
            (
                "POST reset",
                json!({"al": true}),
                400,
                error("reset has no member \"al\"; its members are all."),
            ),
        ],
    );
}

#[test]
fn snapshots_are_got_and_restored() {
    const PATH: &str = "/_dynatwin/snapshot";
    const BYTES: (&str, &str) = ("content-type", "application/octet-stream");
    let mut twin = Twin::with_example_data();
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
            "The body is not a snapshot: its format or version is unknown.",
        ),
        (&[], b"", 400, "PUT /_dynatwin/snapshot requires a body."),
        (
            &[JSON],
            b"{}",
            415,
            "Send it with the header content-type: application/octet-stream.",
        ),
        (
            &[],
            b"{}",
            415,
            "Send it with the header content-type: application/octet-stream.",
        ),
        (
            &[("content-type", "text/plain")],
            &snapshot,
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
