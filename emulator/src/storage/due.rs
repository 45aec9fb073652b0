//! Work that becomes due in a partition.

use super::replication::ReplicatedChange;
use crate::clock::Moment;
use crate::key::Key;
use crate::value::Item;

/// A future deletion of an item by time to live.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    pub due: Moment,
    pub key: Key,
}

/// The effect of a running transaction on an item when it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingTransaction {
    /// It only checks the item.
    Checks,
    /// It puts, changes or removes the item.
    Writes(Option<Item>),
}

/// Work that is due in a partition.
#[derive(Debug)]
pub enum DueWork {
    /// A transaction is executed on an item.
    PendingTransaction(Moment, Key, PendingTransaction),
    /// Time to live deletes an item.
    Expiry(Expiry),
    /// A change of another region has arrived at a moment.
    Arrival(Moment, ReplicatedChange),
}
