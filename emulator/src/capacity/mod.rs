//! Capacity: the units that requests cost and tables have. Arithmetic only, no locks.
//!
//! A [`Ledger`] holds the capacity of a table and of its global indexes. Each of these resources has, for reading and for
//! writing, one [`Bucket`] for all of it, and one for each of its capacity partitions, which are ranges of tokens. A request
//! spends from all buckets that it touches, or from none.

mod bucket;
mod consumed;
mod growth;
mod heat;
mod ledger;
mod partition;
mod resource;
mod sample;
pub mod units;

pub use bucket::Level;
pub use consumed::{Consumed, Direction};
pub use heat::{Heat, KeyCounts, PartitionHeat, ResourceHeat, ThrottleCounts};
pub use ledger::{Demand, Ledger, Shortage};

pub use crate::error::Exceeded;
