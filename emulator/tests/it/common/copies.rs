//! Copies of an engine's state, in every way in which they are made.

use std::collections::BTreeSet;

use dynatwin_engine::{Clock, Engine, Moment, Settings, StateSnapshot};
use serde_json::Value;

use super::commits::{self, Recorder};

/// The copies of an engine's state, and how each was made. The recorder has all commits of the engine.
pub fn of(engine: &Engine, recorder: &Recorder, settings: impl Fn() -> Settings) -> Vec<(&'static str, Engine)> {
    let fork = |engine: &Engine| engine.fork(Clock::settable(Moment::START)).unwrap();
    let from_bytes = Engine::new(settings());
    let bytes = engine.snapshot().to_bytes();
    from_bytes.restore(&StateSnapshot::from_bytes(&bytes).unwrap()).unwrap();
    let checkpoint: Vec<_> = engine.checkpoint().collect();
    vec![
        ("fork", fork(engine)),
        ("fork of a fork", fork(&fork(engine))),
        ("snapshot", from_bytes),
        ("checkpoint", commits::replayed(settings(), &checkpoint, engine)),
        ("log", commits::replayed(settings(), &recorder.commits(), engine)),
    ]
}

/// The first place in which two answers differ, and what is there.
pub fn difference(left: &Value, right: &Value) -> Option<String> {
    match (left, right) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            names.into_iter().find_map(|name| {
                let [left, right] = [one, other].map(|object| object.get(name).unwrap_or(&Value::Null));
                Some(format!(".{name}{}", difference(left, right)?))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(at, (left, right))| Some(format!("[{at}]{}", difference(left, right)?)))
        }
        _ => (left != right).then(|| format!(": {left} becomes {right}")),
    }
}
