//! Copies of an engine's state, in every way in which they are made.

use dynatwin_engine::{Clock, Engine, Moment, Settings, StateSnapshot};

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
