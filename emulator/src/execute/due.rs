//! What is due happens before the next request looks: transactions are carried out, and time to live deletes, by the same
//! change as everybody else.

use std::sync::Arc;

use crate::change::Change;
use crate::clock::Moment;
use crate::key::Key;
use crate::storage::{Contents, Due, Expiry, Landing, Partition, Shape, Table};
use crate::sync::RwLockReadGuard;
use crate::value::Item;

/// Does all that is due in a table by `now`, partition by partition, and lets its global indexes catch up.
pub fn run_due(table: &Table, now: Moment) {
    let shape = table.shape();
    run_partitions(table, &shape, now);
    for index in &shape.indexes {
        index.drain(now);
    }
}

/// Does all that is due in all partitions by `now`.
pub(super) fn run_partitions(table: &Table, shape: &Shape, now: Moment) {
    for partition in table.partitions() {
        run_partition(table, shape, partition, now);
    }
}

/// Does all that is due in a partition by `now`.
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

/// The same as [`run_partition`], by who holds the partition's lock. All happens in the order of the due times, each at
/// its own.
pub(super) fn run_locked(table: &Table, shape: &Shape, partition: &Partition, contents: &mut Contents, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let mut count = 0;
    while let Some(due) = contents.take_due(now) {
        match due {
            // An overwrite has removed its old entry, so the item is there and still expired.
            Due::Expiry(Expiry { due, key }) if contents.get(&key).is_some() => {
                expire(shape, partition, contents, key, due, now);
                count += 1;
            }
            // The indexes may be others than when the transaction began; the item is not.
            Due::Landing(at, key, Landing::Writes(new)) => change(shape, partition, contents, key, new, at),
            Due::Expiry(_) | Due::Landing(_, _, Landing::Checks) => {}
        }
    }
    partition.publish_due(contents);
    table.count_expired(count);
}

/// Deletes every item of a table that is expired by `now`, however long its deletion would have lagged; says how many.
/// Items that running transactions hold stay.
pub fn expire_now(table: &Table, now: Moment) -> u64 {
    let mut count = 0;
    for partition in table.partitions() {
        let mut guard = partition.write();
        let shape = table.shape();
        let contents = Arc::make_mut(&mut guard);
        run_locked(table, &shape, partition, contents, now);
        let expired = contents
            .items()
            .filter(|(key, item)| shape.is_expired(item, now) && !contents.is_marked(key));
        let keys: Vec<Key> = expired.map(|(key, _)| key.clone()).collect();
        count += keys.len() as u64;
        for key in keys {
            expire(&shape, partition, contents, key, now, now);
        }
    }
    table.count_expired(count);
    count
}

/// Deletes an item because of time to live, at `now`, as of the moment at which that was due.
fn expire(shape: &Shape, partition: &Partition, contents: &mut Contents, key: Key, due: Moment, now: Moment) {
    if let Some(item) = contents.get(&key).cloned() {
        let change = Change::expiry(&shape.definition, key, item, due);
        partition.apply(contents, shape, &change, now);
    }
}

/// Makes an item `new`, or removes it, at a moment.
fn change(shape: &Shape, partition: &Partition, contents: &mut Contents, key: Key, new: Option<Item>, at: Moment) {
    let old = contents.get(&key).cloned();
    if old.is_some() || new.is_some() {
        let change = Change::new(&shape.definition, key, old, new);
        partition.apply(contents, shape, &change, at);
    }
}
