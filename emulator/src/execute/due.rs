//! What is due happens before the next request looks: time to live deletes by the same change as everybody else.

use std::sync::Arc;

use crate::change::Change;
use crate::clock::Moment;
use crate::storage::{Contents, Partition, Shape, Table};
use crate::sync::RwLockReadGuard;

/// Makes every deletion of a table that is due by `now`, partition by partition, and lets its indexes catch up.
pub fn run_due(table: &Table, now: Moment) {
    let shape = table.shape();
    run_partitions(table, &shape, now);
    for index in &shape.indexes {
        index.drain(now);
    }
    for index in &shape.vectors {
        index.drain(now);
    }
}

/// Makes every deletion of all partitions that is due by `now`.
pub(super) fn run_partitions(table: &Table, shape: &Shape, now: Moment) {
    for partition in table.partitions() {
        run_partition(table, shape, partition, now);
    }
}

/// Makes every deletion of a partition that is due by `now`.
pub(super) fn run_partition(table: &Table, shape: &Shape, partition: &Partition, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let mut guard = partition.write();
    if guard.epoch == shape.epoch {
        run_locked(table, shape, partition, Arc::make_mut(&mut guard), now);
    } else {
        // The table has changed since its shape was read; the partition lock keeps it as it is now.
        let shape = table.shape();
        run_locked(table, &shape, partition, Arc::make_mut(&mut guard), now);
    }
}

/// Locks a partition for reading, with nothing in it that is due by `now`.
pub(super) fn read<'p>(
    table: &Table,
    shape: &Shape,
    partition: &'p Partition,
    now: Moment,
) -> RwLockReadGuard<'p, Arc<Contents>> {
    loop {
        run_partition(table, shape, partition, now);
        let guard = partition.read();
        // A request of an earlier moment may have written what is due by now before the lock was had. What is due is
        // published under the lock, so this look is exact.
        if !partition.is_due(now) {
            return guard;
        }
    }
}

/// The same as [`run_partition`], by who holds the partition's lock. Deletions happen in the order of their due times, each
/// at its own.
pub(super) fn run_locked(table: &Table, shape: &Shape, partition: &Partition, contents: &mut Contents, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let mut count = 0;
    while let Some(expiry) = contents.take_due(now) {
        // An overwrite has removed its old entry, so the item is there and still expired.
        let Some(item) = contents.get(&expiry.key).cloned() else {
            continue;
        };
        let change = Change::new(&shape.definition, expiry.key, Some(item), None);
        contents.apply(shape, &change, expiry.due);
        count += 1;
    }
    partition.publish_due(contents);
    table.count_expired(count);
}
