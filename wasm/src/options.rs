//! Converts JavaScript values to the tree that the engine's controls read, so that both are parsed by the same code.

use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::{Conditions, Lag};
use dynatwin_engine::fault::{Outage, Rule};
use dynatwin_engine::wire::control::{self, ControlError, Json, Members};
use dynatwin_engine::wire::encode::Writer;
use js_sys::{Array, JSON, Object, Reflect};
use std::time::Duration;
use wasm_bindgen::{JsCast, JsError, JsValue};

use crate::{Outcome, running};

/// The levels of a value that are converted: a rule or a set of conditions has three.
const MOST_DEPTH: usize = 8;

/// Converts a sentence to an `Error`.
pub fn refusal(sentence: &str) -> JsError {
    JsError::new(sentence)
}

fn refused(refused: ControlError) -> JsError {
    refusal(&refused.to_string())
}

/// Converts a value to a tree. Parts that have no representation, or are too deep, become an invalid value.
fn tree(given: &JsValue, depth: usize) -> Json {
    if given.is_undefined() || given.is_null() {
        return Json::Null;
    }
    if let Some(text) = given.as_string() {
        return Json::Text(text);
    }
    if let Some(flag) = given.as_bool() {
        return Json::Flag(flag);
    }
    match given.dyn_ref::<Object>().filter(|_| depth > 0) {
        Some(object) if Array::is_array(object) => {
            let list = Array::from(object);
            Json::List(list.iter().map(|element| tree(&element, depth - 1)).collect())
        }
        Some(object) => {
            let names = Object::keys(object);
            let member = |name: JsValue| {
                let value = Reflect::get(object, &name).unwrap_or_default();
                Some((name.as_string()?, tree(&value, depth - 1)))
            };
            Json::Object(names.iter().filter_map(member).collect())
        }
        None => Json::Number(given.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Parses `"system"`, `"settable"`, a moment at which a settable clock starts, or `{ start?, speed? }` for a running
/// one.
pub fn clock(given: &JsValue) -> Outcome<Clock> {
    let told = tree(given, MOST_DEPTH);
    match &told {
        Json::Null => return Ok(running(None, None)),
        Json::Text(text) if text == "system" => return Ok(running(None, None)),
        Json::Text(text) if text == "settable" => return Ok(Clock::settable(Moment::START)),
        Json::Text(text) => return Ok(Clock::settable(moment(text)?)),
        _ => {}
    }
    let members = Members::of("clock", &told, &["start", "speed"]).map_err(refused)?;
    let start = members.text("start").map_err(refused)?.map(moment).transpose()?;
    let speed = members.number("speed").map_err(refused)?;
    if speed.is_some_and(|speed| !(0.001..=1_000_000_000.0).contains(&speed)) {
        return Err(refusal("clock.speed is a number from 0.001 to 1000000000."));
    }
    Ok(running(start, speed))
}

/// Parses a moment such as `2026-01-01T00:00:00Z`.
pub fn moment(text: &str) -> Outcome<Moment> {
    control::moment(text).map_err(refused)
}

/// Converts a number of seconds to a duration.
pub fn seconds(what: &str, given: f64) -> Outcome<Duration> {
    control::seconds(what, given).map_err(refused)
}

/// Reads a name, or an object whose members replace those of its `base`; without a `base`, those of `current`.
pub fn conditions(given: &JsValue, current: &Conditions) -> Outcome<Conditions> {
    match tree(given, MOST_DEPTH) {
        Json::Null => Ok(*current),
        told => control::read_conditions(&told, current).map_err(refused),
    }
}

/// Converts conditions to the object that [`conditions`] reads.
pub fn conditions_object(conditions: &Conditions) -> JsValue {
    let mut writer = Writer::new();
    control::write_conditions(conditions, &mut writer);
    let text = String::from_utf8(writer.finish()).unwrap_or_default();
    JSON::parse(&text).unwrap_or_default()
}

/// Reads a fault rule; `npm/src/types.ts` describes its members.
pub fn rule(given: &JsValue) -> Outcome<Rule> {
    control::read_rule(&tree(given, MOST_DEPTH)).map_err(refused)
}

/// Reads a named outage with its scope and window.
pub fn outage(given: &JsValue) -> Outcome<(Outage, Rule)> {
    control::read_outage(&tree(given, MOST_DEPTH)).map_err(refused)
}

/// Reads a number of seconds, or `{ typical, longest }` in seconds.
pub fn lag(what: &str, given: &JsValue) -> Outcome<Lag> {
    control::read_lag(what, &tree(given, MOST_DEPTH)).map_err(refused)
}
