//! What is due happens before the next request looks: transactions are carried out, and time to live deletes, by the same
//! change as everybody else.

use std::sync::Arc;

use super::capacity;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::key::Key;
use crate::storage::{Contents, Due, Expiry, Landing, Partition, Shape, Table};
use crate::sync::RwLockReadGuard;
use crate::value::Item;

/// Does all that is due in a table by `now`, partition by partition, and lets its indexes catch up.
pub fn run_due(table: &Table, now: Moment) {
    let shape = table.shape();
    run_partitions(table, now);
    for index in &shape.indexes {
        index.drain(now);
    }
    for index in &shape.vectors {
        index.drain(now);
    }
}

/// Does all that is due in all partitions by `now`.
pub(super) fn run_partitions(table: &Table, now: Moment) {
    for partition in table.partitions() {
        run_partition(table, partition, now);
    }
}

/// Does all that is due in a partition by `now`.
pub(super) fn run_partition(table: &Table, partition: &Partition, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let mut guard = partition.write();
    // The partition lock keeps the shape as it is now.
    let shape = table.shape();
    run_locked(table, &shape, partition, Arc::make_mut(&mut guard), now);
}

/// Reads an index with nothing of its table due and not done: `arrived` if nothing can be, and else `settled`, which asks
/// whether something is and then reads nothing.
pub(super) fn with_nothing_due<R>(
    table: &Table,
    shape: &Shape,
    now: Moment,
    arrived: impl FnOnce() -> R,
    settled: impl Fn(&dyn Fn() -> bool) -> Option<R>,
) -> R {
    loop {
        run_partitions(table, now);
        if !shape.has_due_work() {
            return arrived();
        }
        let is_due = || table.partitions().iter().any(|partition| partition.is_due(now));
        if let Some(read) = settled(&is_due) {
            return read;
        }
    }
}

/// Locks a partition for reading, with nothing in it that is due by `now`.
pub(super) fn read<'p>(table: &Table, partition: &'p Partition, now: Moment) -> RwLockReadGuard<'p, Arc<Contents>> {
    loop {
        run_partition(table, partition, now);
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
            Due::Expiry(Expiry { due, key }) => {
                change(
                    table,
                    shape,
                    partition,
                    contents,
                    (key, None),
                    Cause::TimeToLive,
                    (due, now),
                );
                count += 1;
            }
            // The indexes may be others than when the transaction began; the item is not.
            Due::Landing(at, key, Landing::Writes(new)) => {
                change(table, shape, partition, contents, (key, new), Cause::Request, (at, now));
            }
            Due::Landing(_, _, Landing::Checks) => {}
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
            change(
                table,
                &shape,
                partition,
                contents,
                (key, None),
                Cause::TimeToLive,
                (now, now),
            );
        }
    }
    table.count_expired(count);
    count
}

/// Makes an item `new`, or removes it: what costs no capacity, or what a transaction has paid for. That happens at the first
/// moment, and is noticed at the second.
fn change(
    table: &Table,
    shape: &Shape,
    partition: &Partition,
    contents: &mut Contents,
    (key, new): (Key, Option<Item>),
    cause: Cause,
    (at, now): (Moment, Moment),
) {
    let old = contents.get(&key).cloned();
    if old.is_some() || new.is_some() {
        let mut change = Change::new(&shape.definition, key, old, new);
        change.cause = cause;
        change.due = Some(at);
        partition.apply(contents, shape, &change, now);
        capacity::resize(table, &change, now);
    }
}
