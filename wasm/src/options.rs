//! Reads the options of a twin, which are JSON, with the functions that read the bodies of controls.

use dynatwin_engine::controls::{self, ControlError, Json, Members};
use dynatwin_engine::{Clock, Conditions, Moment};
use std::time::Duration;
use wasm_bindgen::JsError;

use crate::{Outcome, running};

/// Converts a sentence to an `Error`.
pub fn refusal(sentence: &str) -> JsError {
    JsError::new(sentence)
}

fn refused(refused: ControlError) -> JsError {
    refusal(&refused.to_string())
}

/// Parses `"system"`, `"settable"`, a moment at which a settable clock starts, or `{ start?, speed? }` for a running
/// one.
pub fn clock(json: &str) -> Outcome<Clock> {
    let given = Json::read(json.as_bytes()).map_err(refused)?;
    match &given {
        Json::Null => return Ok(running(None, None)),
        Json::Text(text) if text == "system" => return Ok(running(None, None)),
        Json::Text(text) if text == "settable" => return Ok(Clock::settable(Moment::START)),
        Json::Text(text) => return Ok(Clock::settable(moment(text)?)),
        _ => {}
    }
    let members = Members::of("clock", &given, &["start", "speed"]).map_err(refused)?;
    let start = members.text("start").map_err(refused)?.map(moment).transpose()?;
    let speed = members.number("speed").map_err(refused)?;
    if speed.is_some_and(|speed| !(0.001..=1_000_000_000.0).contains(&speed)) {
        return Err(refusal("clock.speed must be a number from 0.001 to 1000000000."));
    }
    Ok(running(start, speed))
}

/// Parses a moment such as `2026-01-01T00:00:00Z`.
pub fn moment(text: &str) -> Outcome<Moment> {
    controls::moment(text).map_err(refused)
}

/// Converts a number of seconds to a duration.
pub fn seconds(what: &str, given: f64) -> Outcome<Duration> {
    controls::seconds(what, given).map_err(refused)
}

/// Reads a name, or an object whose members replace those of its `base`; without a `base`, those of
/// [`Conditions::CALM`].
pub fn conditions(json: &str) -> Outcome<Conditions> {
    match Json::read(json.as_bytes()).map_err(refused)? {
        Json::Null => Ok(Conditions::CALM),
        given => controls::read_conditions(&given, &Conditions::CALM).map_err(refused),
    }
}
