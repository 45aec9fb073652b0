//! The only mutator: reads, writes and transactions, entry by entry, in one order.
//!
//! A write, wherever it comes from, goes through five steps: fault rules; the partition's lock and what is due there, then
//! the condition; the [`Change`](crate::change::Change) and all its arms; capacity for all arms or for none; apply. Nothing
//! after the fourth can fail: what could, was computed before.

mod capacity;
mod context;
mod control;
mod due;
mod gauges;
mod injected;
mod inspect;
mod judge;
mod pending;
mod rates;
mod read;
mod search;
mod stale;
mod state;
mod stream;
mod target;
mod trace;
mod transact;
mod write;

pub use crate::storage::{Known, MOST_TOKENS, Tokens};
pub use capacity::{admit_page, spend_page};
pub use context::Context;
pub use control::{Controls, IndexState, NotFound};
pub use due::{expire_now, notice_due, run_due};
pub use inspect::{ItemsPage, ItemsQuery, Place, StoredItem};
pub use judge::Entry;
pub use judge::is_throttle;
pub use pending::{Pending, PendingIndex, Waiting, WaitingItem};
pub use read::{Get, Source, get, get_within, page, read_again, transact_get};
pub use search::{Found, Search, search};
pub use stale::Readers;
pub use state::State;
pub use stream::{read_stream, settle_stream};
pub use target::Target;
pub use transact::{reason as cancellation_reason, transact_write};
pub use write::{Action, Write, check_entries, load, write};
