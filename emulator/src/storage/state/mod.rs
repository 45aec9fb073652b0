//! The whole state: recreated from commits, and written as the fewest commits that recreate it.

mod checkpoint;
mod replay;
mod snapshot;

pub use checkpoint::Checkpoint;
pub use replay::{Replay, ReplayError};
pub use snapshot::{InvalidSnapshot, RestoreError, StateSnapshot};
