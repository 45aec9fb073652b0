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

pub use codec::{DecodeError, EncodedCommit};
pub use log::{AppendError, CommitLog, CommitSink, Committed, RegionLog};
pub use mutation::Mutation;

use crate::clock::Moment;

/// The cause of a commit.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// use dynatwin_engine::commits::Origin;
///
/// assert!(engine.checkpoint().all(|commit| commit.origin == Origin::Request));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A request or a control.
    Request,
    /// The clock: time to live, pending transactions, shards that are replaced. It follows from earlier commits.
    Clock,
    /// A change of another region that arrives.
    Replication,
}

/// A change of the state, applied atomically.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// use dynatwin_engine::commits::Commit;
///
/// let commit = engine.checkpoint().next().unwrap();
/// let mut bytes = Vec::new();
/// commit.encode(&mut bytes);
/// assert_eq!(Commit::decode(&bytes), Ok(commit));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The moment at which the commit is applied.
    pub time: Moment,
    /// The cause of the commit: a request, a control or due work.
    pub origin: Origin,
    /// Its position in the order of all commits, from 1.
    pub sequence: u64,
    pub(crate) mutations: Vec<Mutation>,
}
