//! A state that twins are restored to.

use dynatwin_engine::clock::Moment;
use dynatwin_engine::engine::Engine;
use dynatwin_engine::storage::{Commit, ReplayError};
use pyo3::prelude::*;

/// The state of an engine at one moment. It shares its items with the engines that it was taken from and restored into.
#[pyclass(frozen, module = "dynatwin._dynatwin")]
pub struct Snapshot {
    commits: Vec<Commit>,
    now: Moment,
}

impl Snapshot {
    /// The present state of an engine.
    pub fn of(engine: &Engine) -> Snapshot {
        Snapshot {
            commits: engine.checkpoint().collect(),
            now: engine.clock().now(),
        }
    }

    /// Resets an engine, and then gives it this state, with its clock at the snapshot's moment.
    pub fn restore_into(&self, engine: &Engine) -> Result<(), ReplayError> {
        engine.reset_all();
        engine.clock().set(self.now);
        let mut replay = engine.replay();
        self.commits.iter().try_for_each(|commit| replay.apply(commit))?;
        replay.finish(engine.clock().now());
        Ok(())
    }
}
