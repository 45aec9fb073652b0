//! The items that a new replica is given: in slices, so that no request waits for all of them.
//!
//! The new replica belongs to the group before the first slice is read, so every write of the source after that reaches it
//! too.

use std::ops::Bound;

use super::super::commit::AppendError;
use super::super::table::Table;
use crate::clock::Moment;
use crate::key::Key;
use crate::value::Item;

/// Items of a slice, for which the lock of their partition is held.
const SLICE: usize = 64;

/// Puts the copy of an item that its region's source has.
fn put_copy(target: &Table, key: Key, item: Item, now: Moment) -> Result<(), AppendError> {
    target.fill([(key, item)], now)
}

impl Table {
    /// Puts a copy of each item of another table into this one, and returns how many there were. No lock of one table is held
    /// while the other's is taken.
    pub fn copy_items(&self, source: &Table, now: Moment) -> Result<usize, AppendError> {
        let mut count = 0;
        for partition in source.partitions() {
            let mut from: Bound<Key> = Bound::Unbounded;
            loop {
                let contents = partition.read();
                let items = contents.by_key().range((from.as_ref(), Bound::Unbounded)).take(SLICE);
                let slice: Vec<(Key, Item)> = items.map(|(key, item)| (key.clone(), item.clone())).collect();
                drop(contents);
                let Some((last, _)) = slice.last() else { break };
                from = Bound::Excluded(last.clone());
                count += slice.len();
                for (key, item) in slice {
                    put_copy(self, key, item, now)?;
                }
            }
        }
        Ok(count)
    }
}
