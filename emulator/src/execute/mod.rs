//! Reads, writes and transactions: the only code that changes items.
//!
//! Every authorized write goes through these steps: the partition's lock and the work that is due there, then the
//! condition; the [`Change`](crate::change::Change) with its effects on every index; capacity for all of it or for
//! none; apply. Nothing after capacity can fail: everything that can is computed before.

mod account;
mod advise;
mod authorize;
mod capacity;
mod control;
mod due;
mod gauges;
mod injected;
mod inspect;
mod item_events;
mod page;
mod page_cost;
mod pending;
mod permit;
mod read;
mod replication;
mod search;
mod stale;
mod stream;
mod strong;
mod trace;
mod transact;
mod write;

pub use account::{AccountControls, IndexStatus};
pub use authorize::{RefusalScope, Refusals, authorize, is_throttle};
pub use control::{ControlFailure, Controls, NotFound};
pub use due::{notice_due, run_due};
pub use inspect::{ItemsQuery, KeyPlacement};
pub use page::{PageResult, page};
pub use pending::{Pending, PendingWork, WaitingItem};
pub use permit::{attached as attached_policy, facts, unplanned, unplanned_actions};
pub use read::{get, get_within, read_again, transact_get};
pub use replication::ReplicationState;
pub use search::{SearchHit, search};
pub use stream::{read_stream, settle_stream};
pub use transact::{reason as cancellation_reason, transact_write};
pub use write::{load, write};
