//! Runs due work before the next request reads: transactions are executed, changes of other regions arrive, and time to
//! live deletes items, through the same changes as other writes.

use std::time::Duration;

use super::{capacity, item_events};
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::key::{Key, KeyBytes};
use crate::limits;
use crate::sort;
use crate::storage::{
    ChangePosition, Contents, DueWork, Expiry, History, KeyRange, Mutation, Partition, PendingTransaction,
    ReplicatedChange, Shape, Table,
};
use crate::sync::RwLockReadGuard;
use crate::value::Item;

/// The number of deletions and arrivals that are applied under one lock, which takes about 0.1 ms.
const SLICE: usize = 128;
/// The number of deletions and arrivals that a request applies in a partition if it may leave others for later.
const FEW: usize = 16;
/// The number of slices that a read of records applies at most if it may leave others for later: enough for a full page.
const SLICES_OF_PAGE: usize = (limits::STREAM_RECORDS as usize).div_ceil(SLICE);
/// A read of more keys than this applies all due work of their partition.
const MANY: usize = 1024;
/// More bytes than one request adds to an item collection: the items of a transaction, and their entries in five local indexes.
const MOST_GROWTH: u64 = (limits::TRANSACTION_ACTIONS * limits::ITEM_SIZE * (1 + limits::LOCAL_INDEXES)) as u64;

/// Runs the work of a table that is due by `now`, partition by partition, and drains its index queues.
pub fn run_due(table: &Table, now: Moment) {
    let _batch = table.events().batch();
    for partition in table.partitions() {
        run_all(table, partition, now);
    }
    drain(table, now);
}

/// Runs the work of a table that is due by `now` as a request does, which may leave deletions for later, and drains its index
/// queues.
pub fn notice_due(table: &Table, now: Moment) {
    let _batch = table.events().batch();
    run_partitions(table, now);
    drain(table, now);
}

fn drain(table: &Table, now: Moment) {
    table.shape().queues().for_each(|queue| queue.drain(now));
}

/// Runs the work that is due by `now` in a partition, slice by slice.
fn run_all(table: &Table, partition: &Partition, now: Moment) {
    while partition.is_due(now) {
        run_slice(table, partition, SLICE, now);
    }
}

/// Runs the work that is due by `now` in a partition, with at most this many deletions and arrivals that could be left for later;
/// returns the number of deletions.
fn run_slice(table: &Table, partition: &Partition, most: usize, now: Moment) -> u64 {
    let mut guard = partition.write();
    // The partition lock keeps the settings unchanged.
    let shape = table.shape();
    let run = Run::new(table, &guard, (SLICE, most), now);
    let deleted = run.apply(table, &shape, (partition, &mut guard), now);
    drop(guard);
    capacity::follow_due_splits(table, now);
    if run.deferrable > Moment::FIRST {
        shape.queues().for_each(|queue| queue.drain_if_full(now));
    }
    deleted
}

/// Runs the work that is due by `now` in all partitions: all of it, or few deletions of each.
pub(super) fn run_partitions(table: &Table, now: Moment) {
    for partition in table.partitions() {
        run_partition(table, partition, now);
    }
}

/// Runs the work that is due by `now` in a partition: all of it, or few deletions.
pub(super) fn run_partition(table: &Table, partition: &Partition, now: Moment) {
    if !table.is_sliced() {
        run_all(table, partition, now);
    } else if partition.is_due(now) {
        run_few(table, partition, now);
    }
}

/// Runs the work that is due by `now` in a partition, except for most deletions; returns the number of those it runs.
fn run_few(table: &Table, partition: &Partition, now: Moment) -> u64 {
    let mut deleted = run_slice(table, partition, FEW, now);
    while partition.has_transaction_or_arrival_due(now) {
        deleted += run_slice(table, partition, SLICE, now);
    }
    deleted
}

/// The moment by which deletions must be due that may be left for later: changes of other items may precede them.
/// [`FIRST`](Moment::FIRST) if changes of different items must be applied in the order of their times.
///
/// A history records a deletion at the time at which it was due, whenever it is applied, unless reads are monotonic. While events
/// have subscribers, those deletions may be left that a step of the clock applies, since it holds all events back and sorts them by
/// time. Replicas leave theirs to a step as well: the other regions depend on when they receive a deletion. Records of a stream are
/// in the order in which the changes are applied.
fn deferrable(table: &Table, contents: &Contents, now: Moment) -> Moment {
    if table.is_sliced() {
        return now;
    }
    let is_ordered = has_ordered_history(contents);
    if table.is_replica() {
        let is_left_to_step = now <= table.steps().until() && !is_ordered;
        return if is_left_to_step { now } else { Moment::FIRST };
    }
    let deferrable = if is_ordered { Moment::FIRST } else { now };
    if table.events().has_subscribers() {
        return deferrable.min(table.steps().until());
    }
    deferrable
}

/// Whether a history has changes in the order in which they are applied.
fn has_ordered_history(contents: &Contents) -> bool {
    contents.history().is_some_and(History::is_ordered)
}

/// Whether arrivals may be left for later, where deletions due by `deferrable` may.
fn leaves_arrivals(table: &Table, contents: &Contents, deferrable: Moment, now: Moment) -> bool {
    table.is_replica() && deferrable >= now && !has_ordered_history(contents)
}

/// Whether work is due by `now` that may not be left for later.
fn must_run(table: &Table, partition: &Partition, contents: &Contents, now: Moment) -> bool {
    let deferrable = deferrable(table, contents, now);
    partition.has_transaction_due(now)
        || deferrable < now && contents.is_deletion_due(deferrable, now)
        || partition.inbox.is_due(now) && !leaves_arrivals(table, contents, deferrable, now)
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
    let mut now = now;
    loop {
        run_partition(table, partition, now);
        let guard = partition.read();
        now = partition.due_by(now);
        // A request of an earlier moment may have written work that is due by now before the lock was acquired. Due
        // work is published under the lock, so this check is exact.
        if !precedes_reads(table, partition, now) {
            return guard;
        }
    }
}

/// Locks a partition for reading the items under these keys by [`visible`], after the work that is due by `now` has run, but for
/// deletions, and arrivals of other items.
#[inline]
pub(super) fn read_items<'p, 'k>(
    table: &Table,
    partition: &'p Partition,
    keys: impl Iterator<Item = &'k Key> + Clone,
    now: Moment,
) -> RwLockReadGuard<'p, Contents> {
    let now = partition.due_by(now);
    if table.is_sliced() && partition.is_due(now) {
        run_slice(table, partition, FEW, now);
    }
    while partition.is_due(now) {
        let arrived = |now| {
            let arrived = keys.clone().filter(|key| partition.inbox.is_due_for(key, now));
            arrived.cloned().collect()
        };
        if let Some(guard) = read_with_arrivals(table, partition, arrived, now) {
            return guard;
        }
    }
    read(table, partition, now)
}

/// Locks a partition for reading, unless work is due by `now` that may not be left for later, or a change of an item has arrived,
/// one of those whose keys `arrived` returns: runs it, and other work is due then.
fn read_with_arrivals<'p>(
    table: &Table,
    partition: &'p Partition,
    arrived: impl Fn(Moment) -> Vec<Key>,
    now: Moment,
) -> Option<RwLockReadGuard<'p, Contents>> {
    let guard = partition.read();
    let now = partition.due_by(now);
    if must_run(table, partition, &guard, now) {
        drop(guard);
        run_slice(table, partition, FEW, now);
        return None;
    }
    let arrived = arrived(now);
    if arrived.is_empty() {
        return Some(guard);
    }
    drop(guard);
    let mut guard = partition.write();
    let shape = table.shape();
    run_with(table, &shape, (partition, &mut guard), (&arrived, now), |_| Vec::new());
    drop(guard);
    capacity::follow_due_splits(table, now);
    None
}

/// The item under a key, unless its deletion is due and may not be observed.
#[inline]
pub(super) fn visible<'c>(
    table: &Table,
    partition: &Partition,
    contents: &'c Contents,
    key: &Key,
    now: Moment,
) -> Option<&'c Item> {
    let item = contents.get(key)?;
    let now = partition.due_by(now);
    (!partition.is_due(now) || !hides(table, (partition, contents), key, now)).then_some(item)
}

/// The item under a key that has not changed since an earlier state, unless its deletion was due then.
pub(super) fn visible_in_state<'c>(
    table: &Table,
    partition: &Partition,
    contents: &'c Contents,
    key: &Key,
    state: ChangePosition,
) -> Option<&'c Item> {
    let item = contents.get(key)?;
    let has_deletions = || contents.history().is_some_and(|history| history.scheduled <= state.at);
    let is_hidden = partition.is_due(state.at) && has_deletions() && hides(table, (partition, contents), key, state.at);
    (!is_hidden).then_some(item)
}

#[cold]
fn hides(table: &Table, (partition, contents): (&Partition, &Contents), key: &Key, now: Moment) -> bool {
    let hides = !table.is_sliced() && contents.due_deletion(&table.shape(), key, now).is_some();
    if hides {
        partition.raise_due_by(now);
    }
    hides
}

/// Reads a page of records under the locks of all these partitions, after the transactions that are due by `now` have run in
/// them, and deletions and arrivals until the page is final. `read` returns the page, and whether it is final: further records
/// would not change it. A page that is not final may leave deletions and arrivals to a step of the clock; on a clock that runs by
/// itself, to later requests.
pub(super) fn read_records<R>(table: &Table, partitions: &[Partition], now: Moment, read: impl Fn() -> (R, bool)) -> R {
    if table.is_sliced() {
        for partition in partitions.iter().filter(|partition| partition.is_due(now)) {
            run_slice(table, partition, FEW, now);
        }
    }
    let leaves_rest = table.is_sliced() || now <= table.steps().until();
    let mut slices = if leaves_rest { SLICES_OF_PAGE } else { usize::MAX };
    loop {
        let locked: Vec<_> = partitions.iter().map(Partition::read).collect();
        let precedes = |(partition, contents): &(&Partition, &RwLockReadGuard<'_, Contents>)| {
            let leaves_arrivals = || leaves_arrivals(table, contents, deferrable(table, contents, now), now);
            let precedes = !leaves_rest && partition.inbox.is_due(now) && !leaves_arrivals();
            partition.has_transaction_due(now) || precedes
        };
        let mut next = partitions.iter().zip(&locked).find(precedes).map(|(next, _)| next);
        if next.is_none() {
            let (page, is_final) = read();
            let is_left = |partition: &&Partition| !is_final && precedes_reads(table, partition, now);
            next = partitions.iter().find(is_left).filter(|_| slices > 0);
            if next.is_none() {
                return page;
            }
            slices -= 1;
        }
        // Others may write between two slices.
        drop(locked);
        if let Some(partition) = next {
            run_slice(table, partition, SLICE, now);
        }
    }
}

/// Locks a partition for reading a range of keys, of the table or of a local index, after the work that is due by `now` has
/// run. If the range has few keys, only the deletions and arrivals of these need to have run.
pub(super) fn read_range<'p>(
    table: &Table,
    partition: &'p Partition,
    (range, is_local): (&KeyRange, bool),
    now: Moment,
) -> RwLockReadGuard<'p, Contents> {
    let (first, last) = range.tokens();
    let mut now = partition.due_by(now);
    while first == last && partition.is_due(now) && !table.is_sliced() {
        // The keys of a local index have another order.
        let range = &if is_local { collection(first) } else { range.clone() };
        let bounds = (range.lower.as_ref(), range.upper.as_ref());
        if partition.inbox.due_in(bounds, now, MANY).len() >= MANY {
            break;
        }
        let arrived = |now| partition.inbox.due_in(bounds, now, MANY);
        let Some(guard) = read_with_arrivals(table, partition, arrived, now) else {
            continue;
        };
        now = partition.due_by(now);
        let shape = table.shape();
        let keys = guard.by_key().range(bounds);
        let keys: Vec<&Key> = keys.take(MANY).map(|(key, _)| key).collect();
        if keys.len() == MANY {
            break;
        }
        let is_due = |key: &&&Key| guard.due_deletion(&shape, key, now).is_some();
        let hidden: Vec<Key> = keys
            .iter()
            .filter(is_due)
            .take(SLICE)
            .map(|key| (*key).clone())
            .collect();
        if hidden.is_empty() {
            return guard;
        }
        drop(guard);
        let mut guard = partition.write();
        let shape = table.shape();
        run_with(table, &shape, (partition, &mut guard), (&hidden, now), |contents| {
            let deletions = hidden.iter().map(|key| contents.due_deletion(&shape, key, now));
            deletions.flatten().collect()
        });
        drop(guard);
        capacity::follow_due_splits(table, now);
    }
    read(table, partition, now)
}

/// The keys of an item collection, by its token.
fn collection(token: u64) -> KeyRange {
    KeyRange::of_token(token, KeyBytes::new(), None)
}

/// Runs the work that is due by `now` in a partition and that a change of the item under this key would apply under its lock, slice
/// by slice, if it may be much. Called before a write locks the partition, so that [`run_before_changes`] finds little to apply.
#[inline]
pub(super) fn run_before_lock(table: &Table, shape: &Shape, partition: &Partition, key: &Key, now: Moment) {
    let now = partition.due_by(now);
    if partition.is_due(now) {
        run_required(table, partition, now);
        if !shape.definition.locals.is_empty() && !table.is_sliced() {
            run_before_large_collection(table, partition, key, now);
        }
    }
}

/// Runs the work that is due by `now` in a partition and may not be left for later, slice by slice.
#[cold]
fn run_required(table: &Table, partition: &Partition, now: Moment) {
    while must_run(table, partition, &partition.read(), now) {
        run_slice(table, partition, SLICE, now);
    }
}

/// Runs the work that is due by `now` in a partition, slice by slice, if the item collection of this key, or what arrives at it, is
/// large.
fn run_before_large_collection(table: &Table, partition: &Partition, key: &Key, now: Moment) {
    let KeyRange { lower, upper } = collection(key.token);
    let bounds = (lower.as_ref(), upper.as_ref());
    let guard = partition.read();
    let is_large = || {
        let keys = guard.by_key().range(bounds);
        is_size_relevant(&guard, &table.shape(), key.token) && keys.take(MANY).count() == MANY
    };
    let is_large = partition.inbox.due_in(bounds, now, MANY).len() >= MANY || is_large();
    drop(guard);
    if is_large {
        run_all(table, partition, now);
    }
}

/// Whether the limit of an item collection, or the estimate of its size in an answer, can depend on due deletions.
fn is_size_relevant(contents: &Contents, shape: &Shape, token: u64) -> bool {
    // The unit of the estimate: below it, all sizes have the same one.
    let unit = shape.conditions.item_collection_size / 10;
    contents.collection(token).saturating_add(MOST_GROWTH) >= unit
}

/// The deletions that are due by `now` and precede changes of the items under these keys: those of the items, and in a table
/// with local indexes, where the size of an item collection is limited, those of their collections, if the size is relevant.
fn deletions_before_changes<'k>(
    contents: &Contents,
    shape: &Shape,
    keys: impl Iterator<Item = &'k Key>,
    now: Moment,
) -> Vec<Expiry> {
    let deletion = |key: &Key| contents.due_deletion(shape, key, now);
    if shape.definition.locals.is_empty() {
        return keys.filter_map(deletion).collect();
    }
    let (mut tokens, mut deletions) = (Vec::new(), Vec::new());
    for key in keys {
        if is_size_relevant(contents, shape, key.token) {
            tokens.push(key.token);
        } else {
            deletions.extend(deletion(key));
        }
    }
    sort::sort_unique(&mut tokens);
    for KeyRange { lower, upper } in tokens.into_iter().map(collection) {
        let keys = contents.by_key().range((lower.as_ref(), upper.as_ref()));
        deletions.extend(keys.filter_map(|(key, _)| deletion(key)));
    }
    sort::sort_unique(&mut deletions);
    deletions
}

/// The keys of the items that changes have arrived at by `now` and that changes of the items under these keys may depend on: the
/// items themselves, and in a table with local indexes, where the size of an item collection is limited, their collections.
fn arrivals_before_changes<'k>(
    partition: &Partition,
    shape: &Shape,
    keys: impl Iterator<Item = &'k Key>,
    now: Moment,
) -> Vec<Key> {
    let inbox = &partition.inbox;
    if !inbox.is_due(now) {
        return Vec::new();
    }
    if shape.definition.locals.is_empty() {
        return keys.filter(|key| inbox.is_due_for(key, now)).cloned().collect();
    }
    let mut tokens: Vec<u64> = keys.map(|key| key.token).collect();
    sort::sort_unique(&mut tokens);
    let collections = tokens.into_iter().map(collection);
    let arrived = |KeyRange { lower, upper }| inbox.due_in((lower.as_ref(), upper.as_ref()), now, usize::MAX);
    collections.flat_map(arrived).collect()
}

/// Runs the work that is due by `now`, for a caller that holds the partition's lock and will change the items under these
/// keys: all of it, or few deletions and arrivals besides those of these items and, with local indexes, of their item collections.
/// Returns the number of deletions.
#[cold]
pub(super) fn run_before_changes<'k>(
    table: &Table,
    shape: &Shape,
    place: (&Partition, &mut Contents),
    keys: impl Iterator<Item = &'k Key> + Clone,
    now: Moment,
) -> u64 {
    let arrived = arrivals_before_changes(place.0, shape, keys.clone(), now);
    run_with(table, shape, place, (&arrived, now), |contents| {
        deletions_before_changes(contents, shape, keys, now)
    })
}

/// Runs the work that is due by `now`, for a caller that holds the partition's lock: all of it, or few deletions and arrivals
/// besides the arrivals at the items under these keys and the deletions that `required` then returns. Returns the number of
/// deletions.
fn run_with(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    (arrived, now): (&[Key], Moment),
    required: impl FnOnce(&Contents) -> Vec<Expiry>,
) -> u64 {
    if !partition.is_due(now) {
        return 0;
    }
    let run = Run::new(table, contents, (usize::MAX, FEW), now);
    let mut deleted = run.apply(table, shape, (partition, contents), now);
    for key in arrived.iter().filter(|_| run.leaves_arrivals) {
        while let Some((at, arrival)) = partition.inbox.pop_of(key, now) {
            let count = arrive(table, shape, (partition, contents), (at, arrival), now) as u64;
            table.count_expired(count);
            deleted += count;
        }
    }
    if table.is_sliced() || run.deferrable == Moment::FIRST {
        partition.publish_due(contents);
        return deleted;
    }
    let required = required(contents);
    let count = required.len() as u64;
    for expiry in required {
        contents.take_deletion(&expiry);
        let deletion = DueChange::deletion(expiry.due, now);
        change(table, shape, (partition, contents), (expiry.key, None), deletion);
    }
    partition.publish_due(contents);
    table.count_expired(count);
    deleted + count
}

/// How much due work runs under one lock.
struct Run {
    /// The maximum number of arrivals under one lock, and of deletions that may not be left for later.
    most: usize,
    /// The number of deletions and arrivals from which on deferrable ones are left for later.
    few: usize,
    /// Deletions due by this moment are deferrable. Transactions and all other deletions run before them, in the order of their
    /// times.
    deferrable: Moment,
    /// Whether arrivals are deferrable.
    leaves_arrivals: bool,
}

/// The circumstances of a change that was due.
struct DueChange {
    cause: Cause,
    /// When it was due.
    at: Moment,
    /// When it is applied.
    now: Moment,
    /// Whether it is a deletion that has been taken out of the due work.
    is_unscheduled: bool,
}

impl DueChange {
    /// A deletion that has been taken out of the due work.
    fn deletion(at: Moment, now: Moment) -> DueChange {
        DueChange {
            cause: Cause::TimeToLive,
            at,
            now,
            is_unscheduled: true,
        }
    }
}

impl Run {
    fn new(table: &Table, contents: &Contents, (most, few): (usize, usize), now: Moment) -> Run {
        let deferrable = deferrable(table, contents, now);
        Run {
            most,
            few,
            deferrable,
            leaves_arrivals: leaves_arrivals(table, contents, deferrable, now),
        }
    }

    /// Runs work that is due by `now`, each at its own time; returns the number of deletions. The caller holds the partition's
    /// lock.
    fn apply(
        &self,
        table: &Table,
        shape: &Shape,
        (partition, contents): (&Partition, &mut Contents),
        now: Moment,
    ) -> u64 {
        let (mut count, mut arrived) = (0, 0);
        let mut deleted = Vec::new();
        // What may not be left for later runs first.
        let mut only_required = self.deferrable < now;
        while arrived < self.most && (!only_required || count + arrived < self.most) {
            let takes_deferrable = !only_required && count + arrived < self.few;
            // Where deletions may be observed, arrivals do not wait for them.
            let precedes_deletions = self.leaves_arrivals && table.is_sliced() && partition.inbox.is_due(now);
            let after = if takes_deferrable && !precedes_deletions {
                Moment::FIRST
            } else {
                self.deferrable
            };
            let takes_arrivals = takes_deferrable || !self.leaves_arrivals;
            let Some(due) = partition.take_due(contents, (after, takes_arrivals), now) else {
                if !only_required {
                    break;
                }
                only_required = false;
                continue;
            };
            if !matches!(due, DueWork::Expiry(_)) {
                contents.end_deletions();
            } else if !table.is_replica() {
                // A replica examines the partition after each deletion.
                contents.begin_deletions();
            }
            match due {
                // An overwrite has removed its old entry, so the item exists and is still expired.
                DueWork::Expiry(expiry) => {
                    let deletion = DueChange::deletion(expiry.due, now);
                    let place = (partition, &mut *contents);
                    deleted.extend(change(table, shape, place, (expiry.key, None), deletion));
                    count += 1;
                }
                // The indexes may have changed since the transaction began; the item has not.
                DueWork::PendingTransaction(at, key, PendingTransaction::Writes(new)) => {
                    let write = DueChange {
                        cause: Cause::Request,
                        is_unscheduled: false,
                        ..DueChange::deletion(at, now)
                    };
                    partition.inbox.delay(&key, at);
                    change(table, shape, (partition, contents), (key.clone(), new), write);
                    count += delete_due(table, shape, (partition, contents), key, (at, at, now));
                }
                DueWork::PendingTransaction(at, key, PendingTransaction::Checks) => {
                    partition.inbox.delay(&key, at);
                    release(table, key.clone(), now);
                    count += delete_due(table, shape, (partition, contents), key, (at, at, now));
                }
                DueWork::Arrival(at, arrival) => {
                    count += arrive(table, shape, (partition, contents), (at, arrival), now);
                    arrived += 1;
                }
            }
        }
        #[cfg(test)]
        tests::note(arrived);
        contents.end_deletions();
        partition.publish_due(contents);
        contents.reclaim(deleted);
        table.count_expired(count as u64);
        count as u64
    }
}

/// Applies the deletion of an item that is due by a moment and was left for later or waited for a transaction; returns the number
/// of deletions. The deletion is dated when it was due, but not before `earliest`: requests read an item that a transaction
/// holds until the transaction ends.
fn delete_due(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    key: Key,
    (earliest, by, now): (Moment, Moment, Moment),
) -> usize {
    let Some(expiry) = contents.due_deletion(shape, &key, by) else {
        return 0;
    };
    contents.take_deletion(&expiry);
    let deletion = DueChange::deletion(expiry.due.max(earliest), now);
    change(table, shape, (partition, contents), (key, None), deletion);
    1
}

/// Deletes every item of a table that is expired by `now`, without the lag of time to live; returns their number. Items
/// locked by running transactions are kept. Due deletions that it applies count too on a clock that runs by itself, where
/// requests may still observe their items.
pub fn expire_now(table: &Table, now: Moment) -> u64 {
    let mut count = 0;
    for partition in table.partitions() {
        if table.is_sliced() {
            count += run_few(table, partition, now);
        } else {
            run_all(table, partition, now);
        }
        let keys = expired(table, partition, now);
        count += keys
            .chunks(SLICE)
            .map(|keys| expire(table, partition, keys, now))
            .sum::<u64>();
    }
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
    let due = run_before_changes(table, &shape, (partition, contents), keys.iter(), now);
    let mut count = 0;
    for key in keys {
        let expired = contents.get(key).is_some_and(|item| shape.is_expired(item, now));
        if expired && !contents.is_marked(key) {
            let deletion = DueChange {
                is_unscheduled: false,
                ..DueChange::deletion(partition.due_by(now), now)
            };
            change(table, &shape, (partition, contents), (key.clone(), None), deletion);
            count += 1;
        }
    }
    table.count_expired(count);
    drop(guard);
    capacity::follow_due_splits(table, now);
    due + count
}

/// Replaces an item by `new`, or removes it, without spending capacity: a transaction has paid already. Returns the item before,
/// so that the caller decides when to free it.
fn change(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    (key, new): (Key, Option<Item>),
    due: DueChange,
) -> Option<Item> {
    let DueChange {
        cause,
        at,
        now,
        is_unscheduled,
    } = due;
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

/// Applies a change of another region on its arrival, after a deletion of the item that was due before; returns the number of
/// deletions. It waits while a transaction locks its item.
#[cold]
fn arrive(
    table: &Table,
    shape: &Shape,
    (partition, contents): (&Partition, &mut Contents),
    (at, arrival): (Moment, ReplicatedChange),
    now: Moment,
) -> usize {
    let before = at.minus(Duration::from_micros(1));
    let deleted = delete_due(
        table,
        shape,
        (partition, contents),
        arrival.key.clone(),
        (Moment::FIRST, before, now),
    );
    if let Some(until) = contents.held_until(&arrival.key) {
        partition.inbox.defer(until, arrival);
        return deleted;
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
    deleted
}

/// Commits that a transaction has released an unchanged item. The partition has released it already.
fn release(table: &Table, key: Key, now: Moment) {
    let mutation = Mutation::ReleaseItem {
        table: table.ordinal,
        key,
    };
    drop(table.log().begin_due(now, || vec![mutation]));
}

#[cfg(test)]
mod tests;
