//! Runs due work before the next request reads: transactions are executed, changes of other regions arrive, and time to
//! live deletes items, through the same changes as other writes.

use super::{capacity, item_events};
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::key::Key;
use crate::storage::{
    Contents, DueWork, Expiry, Mutation, Partition, PendingTransaction, ReplicatedChange, Shape, Table,
};
use crate::sync::RwLockReadGuard;
use crate::value::Item;

/// The number of deletions that are made under one lock, where they are made in slices: some 0.1 ms.
const SLICE: usize = 16;

/// Runs the work of a table that is due by `now`, partition by partition, and drains its index queues.
pub fn run_due(table: &Table, now: Moment) {
    let _batch = table.events().batch();
    for partition in table.partitions() {
        while partition.is_due(now) {
            run_partition(table, partition, now);
        }
    }
    drain(table, now);
}

/// Runs the work of a table that is due by `now`, in the amount that a request does on its way, and drains its index queues.
pub fn notice_due(table: &Table, now: Moment) {
    let _batch = table.events().batch();
    run_partitions(table, now);
    drain(table, now);
}

fn drain(table: &Table, now: Moment) {
    table.shape().queues().for_each(|queue| queue.drain(now));
}

/// Runs the work that is due by `now` in all partitions: all of it, or one slice of each.
pub(super) fn run_partitions(table: &Table, now: Moment) {
    for partition in table.partitions() {
        run_partition(table, partition, now);
    }
}

/// Runs the work that is due by `now` in a partition: all of it, or one slice.
pub(super) fn run_partition(table: &Table, partition: &Partition, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let mut guard = partition.write();
    // The partition lock keeps the settings unchanged.
    let shape = table.shape();
    run_locked(table, &shape, partition, &mut guard, now);
    drop(guard);
    if table.is_sliced() {
        shape.queues().for_each(|queue| queue.drain_if_full(now));
    }
}

/// Whether work is due that must run before a request reads: where deletions are made in slices, those may wait.
fn precedes_reads(table: &Table, partition: &Partition, now: Moment) -> bool {
    if table.is_sliced() {
        partition.has_transaction_or_arrival_due(now)
    } else {
        partition.is_due(now)
    }
}

/// Reads an index with no due work of its table outstanding: through `arrived` if there can be none, and else through
/// `settled`, which checks, and reads nothing if there is some.
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
        let is_due = || {
            let mut partitions = table.partitions().iter();
            partitions.any(|partition| precedes_reads(table, partition, now))
        };
        if let Some(read) = settled(&is_due) {
            return read;
        }
    }
}

/// Locks a partition for reading, after the work that is due by `now` has run.
pub(super) fn read<'p>(table: &Table, partition: &'p Partition, now: Moment) -> RwLockReadGuard<'p, Contents> {
    loop {
        run_partition(table, partition, now);
        let guard = partition.read();
        // A request of an earlier moment may have written work that is due by now before the lock was acquired. Due
        // work is published under the lock, so this check is exact.
        if !precedes_reads(table, partition, now) {
            return guard;
        }
    }
}

/// Does the same as [`run_partition`] for a caller that holds the partition's lock. Work runs in the order of the due
/// times, each at its own; only transactions do not wait for deletions that are left for later.
pub(super) fn run_locked(table: &Table, shape: &Shape, partition: &Partition, contents: &mut Contents, now: Moment) {
    if !partition.is_due(now) {
        return;
    }
    let most = if table.is_sliced() { SLICE } else { usize::MAX };
    let mut count = 0;
    let mut deleted = Vec::new();
    while let Some(due) = partition.take_due(contents, now, count < most) {
        match due {
            // An overwrite has removed its old entry, so the item exists and is still expired.
            DueWork::Expiry(Expiry { due, key }) => {
                let (place, cause) = ((partition, &mut *contents), Cause::TimeToLive);
                deleted.extend(change(table, shape, place, (key, None), cause, (due, now), true));
                count += 1;
            }
            // The indexes may have changed since the transaction began; the item has not.
            DueWork::PendingTransaction(at, key, PendingTransaction::Writes(new)) => {
                let (place, cause) = ((partition, &mut *contents), Cause::Request);
                change(table, shape, place, (key, new), cause, (at, now), false);
            }
            DueWork::PendingTransaction(_, key, PendingTransaction::Checks) => release(table, key, now),
            DueWork::Arrival(at, arrival) => arrive(table, shape, (partition, contents), (at, arrival), now),
        }
    }
    partition.publish_due(contents);
    contents.reclaim(deleted);
    table.count_expired(count as u64);
}

/// Deletes every item of a table that is expired by `now`, without the lag of time to live; returns their number. Items
/// locked by running transactions are kept.
pub fn expire_now(table: &Table, now: Moment) -> u64 {
    let mut count = 0;
    for partition in table.partitions() {
        run_partition(table, partition, now);
        let keys = expired(table, partition, now);
        count += keys
            .chunks(SLICE)
            .map(|keys| expire(table, partition, keys, now))
            .sum::<u64>();
    }
    table.count_expired(count);
    count
}

/// The keys of the items of a partition that are expired by `now`.
fn expired(table: &Table, partition: &Partition, now: Moment) -> Vec<Key> {
    let guard = partition.read();
    let shape = table.shape();
    let expired = guard.items().filter(|(_, item)| shape.is_expired(item, now));
    expired.map(|(key, _)| key.clone()).collect()
}

/// Deletes the items under these keys that are still expired by `now` and not locked by a transaction; returns their number.
fn expire(table: &Table, partition: &Partition, keys: &[Key], now: Moment) -> u64 {
    let mut guard = partition.write();
    let shape = table.shape();
    let contents = &mut guard;
    run_locked(table, &shape, partition, contents, now);
    let mut count = 0;
    for key in keys {
        let expired = contents.get(key).is_some_and(|item| shape.is_expired(item, now));
        if expired && !contents.is_marked(key) {
            let (deleted, cause) = ((key.clone(), None), Cause::TimeToLive);
            change(table, &shape, (partition, contents), deleted, cause, (now, now), false);
            count += 1;
        }
    }
    count
}

/// Replaces an item by `new`, or removes it, without spending capacity: a transaction has paid already. The change was
/// due at the first moment, and is applied at the second. Returns the item before, so that the caller decides when to free
/// it.
fn change(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    (key, new): (Key, Option<Item>),
    cause: Cause,
    (at, now): (Moment, Moment),
    is_unscheduled: bool,
) -> Option<Item> {
    let (old, position) = contents
        .find(&key)
        .map(|(old, position)| (old.clone(), position))
        .unzip();
    if old.is_none() && new.is_none() {
        if cause == Cause::Request {
            release(table, key, now);
        }
        None
    } else {
        let mut change = Change::new(&shape.definition, key, old, new);
        change.position = position;
        change.is_unscheduled = is_unscheduled;
        change.cause = cause;
        change.due = Some(at);
        let committed = table.log().begin_due(now, || {
            let release = Mutation::ReleaseItem {
                table: table.ordinal,
                key: change.key.clone(),
            };
            let released = (cause == Cause::Request).then_some(release);
            released
                .into_iter()
                .chain([Mutation::of_change(table.ordinal, &change)])
                .collect()
        });
        table.apply(&committed, partition, contents, shape, &change);
        drop(committed);
        item_events::record_due(table, shape, &change, (at, now));
        capacity::resize(table, &change, now);
        change.old
    }
}

/// Applies a change of another region on its arrival. It waits while a transaction locks its item.
#[cold]
fn arrive(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    (at, arrival): (Moment, ReplicatedChange),
    now: Moment,
) {
    if let Some(until) = contents.held_until(&arrival.key) {
        partition.inbox.defer(until, arrival);
        return;
    }
    let (change, comparison) = table.receive((partition, contents), shape, (at, &arrival), now);
    let latency = at.since(arrival.happened);
    table
        .replicated
        .add(&arrival.version.stamp.region, latency, change.as_ref());
    let there = contents.get(&arrival.key);
    item_events::record_arrival(table, shape, (&arrival, change.as_ref(), there, &comparison), (at, now));
    if let Some(change) = &change {
        capacity::spend_replicated(table, change, now);
    }
}

/// Commits that a transaction has released an unchanged item. The partition has released it already.
fn release(table: &Table, key: Key, now: Moment) {
    let mutation = Mutation::ReleaseItem {
        table: table.ordinal,
        key,
    };
    drop(table.log().begin_due(now, || vec![mutation]));
}
