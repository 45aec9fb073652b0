//! An engine to load and copy into, and its caller.

use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};

/// Returns an engine without tables, on a settable clock.
pub fn engine(conditions: &Conditions) -> Engine {
    Engine::new(Settings {
        clock: Clock::settable(Moment::START),
        seed: 7,
        conditions: *conditions,
        shared_db: false,
    })
}

pub fn caller() -> Caller {
    Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    }
}
