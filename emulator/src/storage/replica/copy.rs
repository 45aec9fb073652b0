//! Copying the items to a new replica: in slices, so that no request waits for all of them.
//!
//! The new replica joins the group before the first slice is read, so every later write of the source reaches it too.

use std::convert::Infallible;
use std::ops::Bound;

use super::super::commit::{AppendError, Committed};
use super::super::replication::ReplicaVersion;
use super::super::table::Table;
use crate::clock::Moment;
use crate::key::Key;
use crate::value::Item;

/// The number of items in a slice, for which the lock of their partition is held.
const SLICE: usize = 64;

/// Passes all items of a table and their versions to `put`, without holding a lock. Stops at its first error.
fn each_item<E>(source: &Table, mut put: impl FnMut(Key, Item, ReplicaVersion) -> Result<(), E>) -> Result<usize, E> {
    let mut count = 0;
    for partition in source.partitions() {
        let mut from: Bound<Key> = Bound::Unbounded;
        loop {
            let contents = partition.read();
            let items = contents.by_key().range((from.as_ref(), Bound::Unbounded)).take(SLICE);
            let version = |key| contents.versions().and_then(|versions| versions.get(key)).cloned();
            let items = items.map(|(key, item)| (key.clone(), item.clone(), version(key).unwrap_or_default()));
            let slice: Vec<(Key, Item, ReplicaVersion)> = items.collect();
            drop(contents);
            let Some((last, ..)) = slice.last() else { break };
            from = Bound::Excluded(last.clone());
            count += slice.len();
            slice
                .into_iter()
                .try_for_each(|(key, item, version)| put(key, item, version))?;
        }
    }
    Ok(count)
}

impl Table {
    /// Copies each item of another table into this one, and returns their number. Locks of the two tables are never nested.
    pub fn copy_items(&self, source: &Table, now: Moment) -> Result<usize, AppendError> {
        let count = each_item(source, |key, item, version| self.put_copy(key, item, &version, now))?;
        self.complete_indexes();
        Ok(count)
    }

    /// Repeats a copy that was incomplete at the end of a replay, and makes the table `ACTIVE`.
    pub(super) fn replay_copy(&self, committed: &Committed<'_>, source: &Table) {
        let Ok(_) = each_item::<Infallible>(source, |key, item, version| {
            self.replay_arrival(committed, &key, Some(&item), &version, committed.time);
            Ok(())
        });
        self.complete_indexes();
        let mut settings = self.shape().settings.clone();
        settings.active_at = committed.time;
        self.replay_settings(committed, settings);
    }
}
