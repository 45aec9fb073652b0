//! A commit: mutations, with their time and their cause.

use super::mutation::Mutation;
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
    /// Earlier commits and the clock: time to live, pending transactions, shards that are replaced, conditions that apply to a
    /// table.
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
