//! The controls of the clock.

use super::{error, nothing, run};
use crate::support::twin::Twin;
use dynatwin_engine::Allowed;
use serde_json::json;

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
                error(
                    "The clock cannot go back: it is 2026-02-01T00:00:00.000Z, which is after 2025-01-01T00:00:00.000Z.",
                ),
            ),
            (
                "PUT clock",
                now("tomorrow"),
                400,
                error("\"tomorrow\" is not a time such as 2026-01-01T00:00:00Z."),
            ),
            (
                "PUT clock",
                json!({}),
                400,
                error("clock.now must be the time to move to, such as 2026-01-01T00:00:00Z."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": -1}),
                400,
                error("advance.seconds must be a number of seconds from 0, not -1."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": 1e300}),
                400,
                error("The clock cannot go past 9999-12-31T23:59:59.000Z."),
            ),
            (
                "POST clock/advance",
                json!({"seconds": "60"}),
                400,
                error("advance.seconds must be a number."),
            ),
            (
                "POST clock/advance",
                json!({"hours": 1}),
                400,
                error("advance has no member \"hours\"; its members are seconds."),
            ),
            (
                "POST clock/advance",
                json!(60),
                400,
                error("advance must be an object with some of seconds."),
            ),
            (
                "POST clock/advance",
                nothing(),
                400,
                error("POST /_dynatwin/clock/advance requires a body."),
            ),
            (
                "POST clock/freeze",
                json!({"seconds": 1}),
                400,
                error("POST /_dynatwin/clock/freeze does not accept a body."),
            ),
            ("GET clock", nothing(), 200, now("2026-02-01T00:00:00.000Z")),
        ],
    );
}
