//! Commits: everything that changes the state, in the order in which it happens.
//!
//! A change of state takes three steps. [`CommitLog::begin`] appends a [`Commit`] to the sink, if one is attached, and
//! returns a [`Committed`]. The functions that change the state take that as proof. Until it is dropped, no other commit is
//! appended or applied, so the state is the fold of its commits in their order. [`Replay`](super::Replay) reads commits and calls the
//! same functions.
//!
//! Without a sink nothing is built and nothing is locked: a change costs one relaxed load.

mod codec;
mod log;
mod mutation;
mod record;

pub use codec::{DecodeError, EncodedCommit};
pub use log::{AppendError, CommitLog, CommitSink, Committed, RegionLog};
pub use mutation::Mutation;
pub use record::{Commit, Origin};
