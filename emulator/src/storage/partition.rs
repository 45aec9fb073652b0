//! A partition: the items of a range of tokens, their local index views and their due deletions, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use super::commit::Committed;
use super::due::{DueWork, Expiry, PendingTransaction};
use super::history::History;
use super::index::IndexUpdate;
use super::items::Items;
use super::page::{Page, PageLimit};
use super::range::KeyRange;
use super::recovery::RecoveryLog;
use super::replication::{Inbox, ReplicaVersions};
use super::shape::Shape;
use super::snapshot::PartitionSnapshot;
use crate::change::{Change, ItemPosition};
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::key::{Key, KeyBytes};
use crate::reclaim::Reclaimer;
use crate::schema::KeySchema;
use crate::sync::{AtomicI64, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::value::Item;

/// One partition of a table.
#[derive(Debug, Default)]
pub struct Partition {
    contents: RwLock<Contents>,
    /// When the next work is due, in microseconds; readable without the lock.
    next_due: AtomicI64,
    /// When the next transaction is executed.
    next_transaction_end: AtomicI64,
    /// The latest moment by which work is due for every request, also for one of an earlier moment.
    due_by: AtomicI64,
    /// Queued changes from other regions.
    pub inbox: Inbox,
}

/// The contents of a partition.
#[derive(Debug, Default)]
pub struct Contents {
    /// The table's epoch when its settings last changed: a plan made in another epoch is made again.
    pub epoch: u64,
    items: Items,
    locals: Vec<BTreeMap<Key, Item>>,
    due: BTreeSet<Expiry>,
    /// The due moments of items that were already expired when they were written, or when time to live was enabled. The due moment
    /// of any other item follows from the item.
    late: BTreeMap<Key, Moment>,
    /// While deletions are applied together: the positions of the deleted items, which are still there.
    deleted: Option<Vec<ItemPosition>>,
    bytes: usize,
    /// The sizes of the item collections by token, in a table with local indexes.
    collections: BTreeMap<u64, u64>,
    /// Earlier states, while reads may be stale.
    history: Option<Box<History>>,
    /// The items locked by running transactions.
    held: BTreeMap<Key, Box<TransactionHold>>,
    /// When those transactions are executed.
    transaction_ends: BTreeSet<(Moment, Key)>,
    /// The versions of the items, once the table has replicas.
    versions: Option<Box<ReplicaVersions>>,
    reclaimer: Reclaimer,
}

impl Drop for Contents {
    fn drop(&mut self) {
        // The items are freed in the same way, separately: some may be shared with snapshots.
        let entries = self.due.len() + self.late.len() + self.locals.iter().map(BTreeMap::len).sum::<usize>();
        let due = (std::mem::take(&mut self.due), std::mem::take(&mut self.late));
        let beside = (std::mem::take(&mut self.locals), due);
        self.reclaimer
            .reclaim(entries, (beside, std::mem::take(&mut self.collections)));
    }
}

/// An item locked by a running transaction.
#[derive(Clone, Debug)]
struct TransactionHold {
    ends: Moment,
    then: PendingTransaction,
    /// A deletion that became due meanwhile, and waits.
    expired: Option<Expiry>,
}

impl Partition {
    /// An empty partition of a table, whose items are freed by `reclaimer`. `sliced` is whether requests run only some of many due
    /// deletions.
    pub fn new(shape: &Shape, reclaimer: Reclaimer, sliced: bool) -> Partition {
        let mut contents = Contents::default();
        contents.epoch = shape.epoch;
        contents.locals = vec![BTreeMap::new(); shape.definition.locals.len()];
        contents.items = Items::new(reclaimer.clone());
        contents.reclaimer = reclaimer;
        contents.keep_history(&shape.conditions, sliced);
        Partition {
            contents: RwLock::new(contents),
            next_due: AtomicI64::new(Moment::NEVER.micros()),
            next_transaction_end: AtomicI64::new(Moment::NEVER.micros()),
            due_by: AtomicI64::new(i64::MIN),
            inbox: Inbox::default(),
        }
    }

    pub fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read()
    }

    /// Locks for writing. A caller that takes due work out must call [`publish_due`](Partition::publish_due) before unlocking.
    pub fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write()
    }

    /// Whether work is due by `now`.
    pub fn is_due(&self, now: Moment) -> bool {
        self.next_due.load(Ordering::Acquire) <= now.micros() || self.inbox.is_due(now)
    }

    /// Makes work that is due by `now` due for every request: a read has hidden an item whose deletion is due by then, or the history has
    /// a change of that moment. The caller holds the lock.
    pub fn raise_due_by(&self, now: Moment) {
        self.due_by.fetch_max(now.micros(), Ordering::AcqRel);
    }

    /// The moment by which work is due for a request at `now`. It is later than `now` if a read of a later moment was faster and hid
    /// an item, which may not be observed again, or if a stale read may find a change of a later moment, before which that work
    /// happens. It does not decrease; it is exact while the caller holds the lock.
    pub fn due_by(&self, now: Moment) -> Moment {
        now.max(Moment::from_micros(self.due_by.load(Ordering::Acquire)))
    }

    /// Whether a transaction is due by `now` and has not been executed.
    pub fn has_transaction_due(&self, now: Moment) -> bool {
        self.next_transaction_end.load(Ordering::Acquire) <= now.micros()
    }

    /// Whether a transaction is due by `now` and has not been executed, or a change of another region has arrived.
    pub fn has_transaction_or_arrival_due(&self, now: Moment) -> bool {
        self.has_transaction_due(now) || self.inbox.is_due(now)
    }

    /// When the next work is due.
    pub fn next_due(&self) -> Moment {
        Moment::from_micros(self.next_due.load(Ordering::Acquire)).min(self.inbox.next())
    }

    /// Takes the first work that is due by `now`; of the deletions, only those that are due later than `after`, and changes of
    /// other regions only if `takes_arrivals`. Of work due at the same time, transactions precede changes of other regions,
    /// which precede deletions.
    pub fn take_due(
        &self,
        contents: &mut Contents,
        (after, takes_arrivals): (Moment, bool),
        now: Moment,
    ) -> Option<DueWork> {
        let next = self.inbox.next();
        if takes_arrivals
            && next <= now
            && next < contents.next_transaction_end()
            && contents.next_deletion(after).is_none_or(|expiry| next <= expiry.due)
            && let Some((arrived, arrival)) = self.inbox.pop(now)
        {
            return Some(DueWork::Arrival(arrived, arrival));
        }
        contents.take_due(after, now)
    }

    /// Publishes the due work of `contents` to callers without the lock. The caller holds the lock for writing.
    pub fn publish_due(&self, contents: &Contents) {
        self.next_transaction_end
            .store(contents.next_transaction_end().micros(), Ordering::Release);
        self.next_due.store(contents.next_due().micros(), Ordering::Release);
    }

    /// Publishes the due time of `contents` if it is earlier than the published one.
    fn lower_due(&self, contents: &Contents) {
        self.next_transaction_end
            .fetch_min(contents.next_transaction_end().micros(), Ordering::AcqRel);
        self.next_due.fetch_min(contents.next_due().micros(), Ordering::AcqRel);
    }

    /// Applies a change to the items, the local indexes and the due work, and passes its global arms and its record on.
    /// This cannot fail. The caller holds the lock for writing; `shape` is the table's, of the partition's epoch.
    #[inline]
    pub fn apply(&self, committed: &Committed<'_>, contents: &mut Contents, shape: &Shape, change: &Change) {
        let now = committed.time;
        if let Some(history) = &mut contents.history {
            history.observe(self.due_by(Moment::FIRST));
        }
        if shape.time_to_live.is_none() || change.is_unscheduled {
            contents.late.remove(&change.key);
            contents.apply(shape, change, now);
            return self.order(contents);
        }
        contents.reschedule(shape, change, change.happened(now));
        // Added work is published before an index can return the item, and removed work only when no index can.
        self.lower_due(contents);
        contents.apply(shape, change, now);
        self.publish_due(contents);
        self.order(contents);
    }

    /// Orders later requests after the changes in the history, unless it is in their order anyway.
    #[inline]
    fn order(&self, contents: &Contents) {
        if let Some(history) = contents.history().filter(|history| !history.is_ordered()) {
            self.raise_due_by(history.present().at);
        }
    }

    /// Locks an item for a running transaction until it is executed. The caller holds the lock for writing.
    pub fn hold(&self, _: &Committed<'_>, contents: &mut Contents, key: &Key, ends: Moment, then: PendingTransaction) {
        let hold = TransactionHold {
            ends,
            then,
            expired: None,
        };
        contents.transaction_ends.insert((ends, key.clone()));
        contents.held.insert(key.clone(), Box::new(hold));
        self.lower_due(contents);
    }
}

impl Contents {
    /// The item under a key.
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    /// The item under a key, and its position.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<(&Item, ItemPosition)> {
        self.items.find(key)
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The total size of the items.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn items(&self) -> impl Iterator<Item = (&Key, &Item)> {
        self.items.iter()
    }

    /// The items by their keys.
    pub fn by_key(&self) -> &Items {
        &self.items
    }

    /// A snapshot of the present items, with their history, if that is recorded.
    pub fn part(&self, log: Option<RecoveryLog>) -> PartitionSnapshot {
        PartitionSnapshot {
            items: self.items.clone(),
            log,
        }
    }

    /// The entries of a local index, in order.
    pub fn local_entries(&self, local: usize) -> impl Iterator<Item = (&Key, &Item)> {
        self.locals.get(local).into_iter().flatten()
    }

    /// The entries of a local index.
    pub(super) fn local(&self, at: usize) -> Option<&BTreeMap<Key, Item>> {
        self.locals.get(at)
    }

    /// Frees removed items.
    pub fn reclaim(&self, removed: Vec<Item>) {
        self.reclaimer.reclaim(removed.len(), removed);
    }

    /// Adds to a page from the table, or from a local index.
    pub fn page(&self, local: Option<usize>, range: &KeyRange, forward: bool, limit: PageLimit, page: &mut Page) {
        match local {
            None => page.fill_from(&self.items, range, forward, limit),
            Some(at) => {
                if let Some(entries) = self.locals.get(at) {
                    page.fill_from(entries, range, forward, limit);
                }
            }
        }
    }

    /// Earlier states, while reads may be stale.
    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Starts or stops recording a history, according to the table's conditions.
    pub fn keep_history(&mut self, conditions: &Conditions, sliced: bool) {
        let (staleness, monotonic) = (conditions.read_staleness, conditions.monotonic_reads);
        if staleness.is_none() {
            self.history = None;
            return;
        }
        let locals = self.locals.len();
        let history = self
            .history
            .get_or_insert_with(|| Box::new(History::new(staleness, monotonic, sliced, locals)));
        history.staleness = staleness;
        history.share = conditions.stale_reads;
        history.monotonic = monotonic;
    }

    /// Reads the table's items of a page's local index entries that have not been read yet.
    pub fn fetch_bases(&self, schema: &KeySchema, most: usize, page: &mut Page) {
        page.fetch_bases(schema, most, |key| self.get(key).cloned());
    }

    /// When the next work is due.
    fn next_due(&self) -> Moment {
        let expiry = self.due.first().map_or(Moment::NEVER, |expiry| expiry.due);
        expiry.min(self.next_transaction_end())
    }

    /// When the next transaction is executed.
    fn next_transaction_end(&self) -> Moment {
        self.transaction_ends.first().map_or(Moment::NEVER, |(ends, _)| *ends)
    }

    /// Takes the first transaction that is due by `now`, even if deletions are due before it.
    fn take_ended_transaction(&mut self, now: Moment) -> Option<DueWork> {
        self.transaction_ends.first().filter(|(ends, _)| *ends <= now)?;
        let (ends, key) = self.transaction_ends.pop_first()?;
        let hold = self.held.remove(&key)?;
        self.due.extend(hold.expired);
        Some(DueWork::PendingTransaction(ends, key, hold.then))
    }

    /// The first deletion that is due later than `after`.
    fn next_deletion(&self, after: Moment) -> Option<&Expiry> {
        if after == Moment::FIRST {
            return self.due.first();
        }
        let from = Expiry {
            due: after.plus(Duration::from_micros(1)),
            key: Key {
                token: 0,
                bytes: KeyBytes::new(),
            },
        };
        self.due.range(from..).next()
    }

    /// When the first deletion is due that is due later than `after`.
    pub fn next_deletion_due(&self, after: Moment) -> Option<Moment> {
        self.next_deletion(after).map(|expiry| expiry.due)
    }

    /// Whether a deletion is due later than `after` and by `now`.
    pub fn is_deletion_due(&self, after: Moment, now: Moment) -> bool {
        self.next_deletion(after).is_some_and(|expiry| expiry.due <= now)
    }

    /// Takes the first work that is due by `now`; of the deletions, only those that are due later than `after`. A deletion of an
    /// item locked by a transaction waits until the transaction is executed, and then happens if the item is unchanged.
    fn take_due(&mut self, after: Moment, now: Moment) -> Option<DueWork> {
        loop {
            let ends = self.next_transaction_end();
            let expiry = self.next_deletion(after);
            let Some(expiry) = expiry.filter(|expiry| expiry.due <= now && expiry.due < ends) else {
                return self.take_ended_transaction(now);
            };
            let expiry = expiry.clone();
            self.due.remove(&expiry);
            match self.held.get_mut(&expiry.key) {
                Some(hold) => hold.expired = Some(expiry),
                None => return Some(DueWork::Expiry(expiry)),
            }
        }
    }

    /// The future deletions by time to live, in the order in which they are due.
    pub fn expiries(&self) -> impl ExactSizeIterator<Item = &Expiry> {
        self.due.iter()
    }

    /// The items locked by running transactions, in the order of their execution, and the effect of each.
    pub fn holds(&self) -> impl ExactSizeIterator<Item = (Moment, &Key, Option<&PendingTransaction>)> {
        let then = |key| self.held.get(key).map(|hold| &hold.then);
        self.transaction_ends
            .iter()
            .map(move |(ends, key)| (*ends, key, then(key)))
    }

    /// Ends a transaction's lock on an item, if there is one.
    pub(super) fn release(&mut self, _: &Committed<'_>, key: &Key) {
        let Some(hold) = self.held.remove(key) else { return };
        self.transaction_ends.remove(&(hold.ends, key.clone()));
        self.due.extend(hold.expired);
    }

    /// When the transaction that locks an item ends.
    pub fn held_until(&self, key: &Key) -> Option<Moment> {
        self.held.get(key).map(|hold| hold.ends)
    }

    /// The versions of the items, once the table has replicas.
    #[inline]
    pub fn versions(&self) -> Option<&ReplicaVersions> {
        self.versions.as_deref()
    }

    /// The versions of the items, for a table that has replicas.
    pub(super) fn versions_mut(&mut self) -> &mut ReplicaVersions {
        self.versions.get_or_insert_default()
    }

    /// Forgets all versions: the table has no replicas.
    pub(super) fn forget_versions(&mut self) {
        self.versions = None;
    }

    /// Whether a running transaction locks an item.
    pub fn is_marked(&self, key: &Key) -> bool {
        !self.held.is_empty() && self.held.contains_key(key)
    }

    /// Applies a change to the items and the local indexes, and passes its global arms and its record on.
    fn apply(&mut self, shape: &Shape, change: &Change, now: Moment) {
        let happened = change.happened(now);
        if let Some(logs) = &shape.recovery_logs
            && let Some(recovery) = shape.recovery
        {
            logs.record(change, recovery, shape.conditions.recovery_bytes, happened);
        }
        if let Some(history) = &mut self.history {
            history.record(change, &self.locals, now);
        }
        self.place(change);
        for arm in &change.globals {
            let Some(index) = shape.indexes.get(arm.index) else {
                continue;
            };
            let update = IndexUpdate {
                remove: arm.remove.clone(),
                insert: arm.insert.clone(),
            };
            index.push(&change.key, (happened, now), &shape.propagation(&arm.name), update);
        }
        for arm in &change.vectors {
            let Some(index) = shape.vectors.get(arm.index) else {
                continue;
            };
            let update = IndexUpdate {
                remove: arm.remove.clone(),
                insert: arm.insert.clone(),
            };
            index.push(&change.key, (happened, now), &shape.propagation(&arm.name), update);
        }
        if let Some(stream) = &shape.stream {
            stream.record(change, &shape.stream_propagation(), shape.conditions.stream_bytes, now);
        }
    }

    /// Replaces an item and its entries in local indexes.
    #[inline]
    fn place(&mut self, change: &Change) {
        self.bytes += change.new.as_ref().map_or(0, Item::size);
        self.bytes -= change.old.as_ref().map_or(0, Item::size);
        match &change.new {
            Some(item) => self.items.put(&change.key, change.position, item.clone()),
            None => self.remove(change),
        }
        if !self.locals.is_empty() {
            self.collect(change);
        }
        for arm in &change.locals {
            let Some(view) = self.locals.get_mut(arm.index) else {
                continue;
            };
            if let Some(key) = &arm.remove {
                view.remove(key);
            }
            if let Some((key, item)) = &arm.insert {
                view.insert(key.clone(), item.clone());
            }
        }
    }

    fn remove(&mut self, change: &Change) {
        match (&mut self.deleted, change.position) {
            (Some(deleted), Some(position)) => deleted.push(position),
            _ => drop(self.items.remove(&change.key, change.position)),
        }
    }

    /// Makes the next changes, which are deletions of different items, leave the items in place until
    /// [`end_deletions`](Contents::end_deletions) removes them together. Nobody may look for them meanwhile.
    pub fn begin_deletions(&mut self) {
        self.deleted.get_or_insert_default();
    }

    /// Removes the items deleted since [`begin_deletions`](Contents::begin_deletions).
    pub fn end_deletions(&mut self) {
        if let Some(mut deleted) = self.deleted.take() {
            self.items.remove_found(&mut deleted);
        }
    }

    /// The deletion of the item under a key that is due by `now` and has not been applied, unless it waits for a transaction.
    pub fn due_deletion(&self, shape: &Shape, key: &Key, now: Moment) -> Option<Expiry> {
        let due = self.deletion_due(shape, key, self.items.get(key)?);
        let due = due.filter(|due| *due <= now)?;
        let expiry = Expiry { due, key: key.clone() };
        (self.due.contains(&expiry) && !self.is_marked(key)).then_some(expiry)
    }

    /// When the deletion of a stored item is due.
    fn deletion_due(&self, shape: &Shape, key: &Key, item: &Item) -> Option<Moment> {
        self.late.get(key).copied().or_else(|| shape.expiry(key, item))
    }

    /// Schedules the deletion of the item under a key; `own` is the moment that follows from the item.
    fn schedule_item(&mut self, key: Key, own: Option<Moment>, due: Moment) {
        if own != Some(due) {
            self.late.insert(key.clone(), due);
        }
        self.due.insert(Expiry { due, key });
    }

    /// The due moments of deletions that do not follow from their items.
    pub fn late_deletions(&self) -> impl Iterator<Item = (&Key, Moment)> {
        self.late.iter().map(|(key, due)| (key, *due))
    }

    /// Takes a deletion out of the due work.
    pub fn take_deletion(&mut self, expiry: &Expiry) {
        self.due.remove(expiry);
    }

    /// Inserts an item from a checkpoint.
    pub(super) fn restore(&mut self, committed: &Committed<'_>, shape: &Shape, key: Key, item: Item) {
        if shape.expiry_from(&key, &item, committed.time).is_some()
            && let Some(due) = shape.expiry(&key, &item)
        {
            let key = key.clone();
            self.due.insert(Expiry { due, key });
        }
        self.place(&Change::new(&shape.definition, key, None, Some(item)));
    }

    /// Replaces the due moment of a deletion by that of a checkpoint.
    pub(super) fn restore_late(&mut self, _: &Committed<'_>, shape: &Shape, key: &Key, due: Moment) {
        let own = self.items.get(key).and_then(|item| shape.expiry(key, item));
        if let Some(due) = own {
            let key = key.clone();
            self.due.remove(&Expiry { due, key });
        }
        self.schedule_item(key.clone(), own, due);
    }

    /// The size of an item collection, with its entries in local indexes; 0 in a table without local indexes.
    pub fn collection(&self, token: u64) -> u64 {
        self.collections.get(&token).copied().unwrap_or(0)
    }

    /// Updates the size of a change's item collection.
    fn collect(&mut self, change: &Change) {
        let token = change.key.token;
        match self.collection(token).saturating_add_signed(change.growth()) {
            0 => self.collections.remove(&token),
            size => self.collections.insert(token, size),
        };
    }

    /// Replaces the old item's future deletion by the new one's.
    fn reschedule(&mut self, shape: &Shape, change: &Change, now: Moment) {
        let key = &change.key;
        let old = change.old.as_ref();
        if let Some(due) = old.and_then(|old| self.deletion_due(shape, key, old)) {
            self.late.remove(key);
            let key = key.clone();
            self.due.remove(&Expiry { due, key });
        }
        if let Some(new) = &change.new
            && let Some(due) = shape.expiry_from(key, new, now)
        {
            self.schedule_item(key.clone(), shape.expiry(key, new), due);
        }
    }

    /// Removes all future deletions, after the table's time to live or its lag has changed.
    pub fn unschedule(&mut self, now: Moment) {
        if let Some(history) = &mut self.history {
            history.schedule(now);
        }
        let before = (std::mem::take(&mut self.due), std::mem::take(&mut self.late));
        self.reclaimer.reclaim(before.0.len() + before.1.len(), before);
        self.held.values_mut().for_each(|hold| hold.expired = None);
    }

    /// Schedules the deletions of at most `most` items from a key on, none of them due before `now`. The lag of an expired item
    /// begins at `now` if `begins` is set, otherwise at its expiry. Returns the last of these items, if more may follow.
    pub fn schedule(
        &mut self,
        shape: &Shape,
        from: Bound<&Key>,
        most: usize,
        begins: bool,
        now: Moment,
    ) -> Option<Key> {
        let (mut last, mut count, mut scheduled) = (None, 0, Vec::new());
        for (key, item) in self.items.range((from, Bound::Unbounded)).take(most) {
            last = Some(key);
            count += 1;
            let own = shape.expiry(key, item);
            // An item that has been written since `now` has a deletion already.
            if let Some(from_now) = shape
                .expiry_from(key, item, now)
                .filter(|_| !self.late.contains_key(key))
            {
                let due = if begins {
                    from_now
                } else {
                    own.map_or(now, |due| due.max(now))
                };
                scheduled.push((key.clone(), own, due));
            }
        }
        let last = last.filter(|_| count == most).cloned();
        for (key, own, due) in scheduled {
            self.schedule_item(key, own, due);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deletion that waits for a transaction is due again once the item is released without a change.
    #[test]
    fn a_released_item_is_deleted_if_that_was_due() {
        let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
        let key = Key {
            token: 0,
            bytes: KeyBytes::from_slice(b"a"),
        };
        let expiry = Expiry {
            due: at(1),
            key: key.clone(),
        };
        let (partition, committed) = (Partition::default(), Committed::replayed(at(0)));
        let mut contents = Contents::default();
        contents.due.insert(expiry.clone());
        partition.hold(&committed, &mut contents, &key, at(5), PendingTransaction::Checks);
        assert!(contents.take_due(Moment::FIRST, at(2)).is_none() && contents.expiries().len() == 0);
        contents.release(&committed, &key);
        assert!(contents.holds().len() == 0 && contents.expiries().eq([&expiry]));
        // Once time to live has ended, nothing waits.
        partition.hold(&committed, &mut contents, &key, at(5), PendingTransaction::Checks);
        assert!(contents.take_due(Moment::FIRST, at(2)).is_none());
        contents.unschedule(at(2));
        contents.release(&committed, &key);
        assert_eq!(contents.expiries().len(), 0);
    }

    /// What a read of a later moment has hidden stays hidden, whichever read was last.
    #[test]
    fn deletions_are_due_by_the_latest_moment_of_a_read() {
        let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
        let partition = Partition::default();
        assert_eq!(partition.due_by(at(0)), at(0));
        for (hidden, expect) in [(5, 5), (3, 5), (5, 5), (6, 6), (1, 6)] {
            partition.raise_due_by(at(hidden));
            for now in [0, expect, expect + 1] {
                assert_eq!(partition.due_by(at(now)), at(expect.max(now)), "{hidden} {now}");
            }
        }
    }
}
