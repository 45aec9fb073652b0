//! What HTTP adds: paths, methods, bodies, origins and permissions.

use super::{error, nothing, run};
use crate::support::twin::{JSON, Twin, read};
use dynatwin_engine::Allowed;
use dynatwin_engine::controls::CONTROLS;
use serde_json::json;

#[test]
fn paths_and_methods() {
    let mut twin = Twin::with_example_data();
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
                error("/_dynatwin/clock accepts GET, PUT, not POST."),
            ),
            (
                "GET reset",
                nothing(),
                405,
                error("/_dynatwin/reset accepts POST, not GET."),
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
            "The body does not match its content-encoding.",
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
    let mut twin = Twin::with_example_data();
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
    let mut twin = Twin::new(Allowed::ReadOnly, false);
    twin.create("me", "Orders");
    let sentence = "This twin was started with --no-control: it can be read but not changed.";
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
