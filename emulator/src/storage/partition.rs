//! A partition: the items of a range of tokens, their local index views and their due deletions, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::commit::Committed;
use super::history::History;
use super::index::IndexUpdate;
use super::items::Items;
use super::range::{KeyRange, Page, PageLimit};
use super::recovery::RecoveryLog;
use super::replication::{Arrival, Inbox, ReplicaVersions};
use super::snapshot::PartitionSnapshot;
use super::table::Shape;
use crate::change::Change;
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::key::Key;
use crate::reclaim::Reclaimer;
use crate::schema::KeySchema;
use crate::sync::{AtomicI64, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::value::Item;

/// An item's deletion that time to live will make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    /// When it happens.
    pub due: Moment,
    /// Whose.
    pub key: Key,
}

/// One partition of a table.
#[derive(Debug, Default)]
pub struct Partition {
    contents: RwLock<Contents>,
    /// When something is due here next, in microseconds; to be asked without the lock.
    next_due: AtomicI64,
    /// When a transaction is carried out here next.
    next_landing: AtomicI64,
    /// The changes on their way from other regions.
    pub inbox: Inbox,
}

/// What a partition holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// The table's epoch when its shape last changed: a plan made in another epoch is made again.
    pub epoch: u64,
    items: Items,
    locals: Vec<BTreeMap<Key, Item>>,
    due: BTreeSet<Expiry>,
    bytes: usize,
    /// The sizes of the item collections by token, in a table with local indexes.
    collections: BTreeMap<u64, u64>,
    /// What was there, while reads may be stale.
    history: Option<Box<History>>,
    /// The items that running transactions hold.
    marks: BTreeMap<Key, TransactionHold>,
    /// When those transactions are carried out.
    landings: BTreeSet<(Moment, Key)>,
    /// The versions of the items, once the table has replicas.
    versions: Option<Box<ReplicaVersions>>,
    reclaimer: Reclaimer,
}

impl Drop for Contents {
    fn drop(&mut self) {
        // The items are freed alike, by themselves: snapshots have some of them too.
        let entries = self.due.len() + self.locals.iter().map(BTreeMap::len).sum::<usize>();
        let beside = (std::mem::take(&mut self.locals), std::mem::take(&mut self.due));
        self.reclaimer
            .reclaim(entries, (beside, std::mem::take(&mut self.collections)));
    }
}

/// An item that a running transaction holds.
#[derive(Clone, Debug)]
struct TransactionHold {
    lands: Moment,
    then: PendingTransaction,
    /// A deletion that fell due meanwhile, and waits.
    expired: Option<Expiry>,
}

/// What a running transaction does to an item when it is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingTransaction {
    /// It has only looked at the item.
    Checks,
    /// It puts, changes or removes it.
    Writes(Option<Item>),
}

/// What falls due in a partition.
#[derive(Debug)]
pub enum DueWork {
    /// A transaction is carried out on an item.
    PendingTransaction(Moment, Key, PendingTransaction),
    /// Time to live deletes an item.
    Expiry(Expiry),
    /// A change of another region has arrived at a moment.
    Arrival(Moment, Arrival),
}

impl Partition {
    /// An empty partition of a table, whose items are freed by `reclaimer`.
    pub fn new(shape: &Shape, reclaimer: Reclaimer) -> Partition {
        let mut contents = Contents::default();
        contents.epoch = shape.epoch;
        contents.locals = vec![BTreeMap::new(); shape.definition.locals.len()];
        contents.items = Items::new(reclaimer.clone());
        contents.reclaimer = reclaimer;
        contents.keep_history(&shape.conditions);
        Partition {
            contents: RwLock::new(contents),
            next_due: AtomicI64::new(Moment::NEVER.micros()),
            next_landing: AtomicI64::new(Moment::NEVER.micros()),
            inbox: Inbox::default(),
        }
    }

    /// Locks for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read()
    }

    /// Locks for writing. Who has taken out what is due calls [`publish_due`](Partition::publish_due) before unlocking.
    pub fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write()
    }

    /// Whether something is due by `now`.
    pub fn is_due(&self, now: Moment) -> bool {
        self.next_due.load(Ordering::Acquire) <= now.micros() || self.inbox.is_due(now)
    }

    /// Whether a transaction is due by `now`, and has not been carried out, or a change of another region has arrived.
    pub fn is_landing(&self, now: Moment) -> bool {
        self.next_landing.load(Ordering::Acquire) <= now.micros() || self.inbox.is_due(now)
    }

    /// When something is due next.
    pub fn next_due(&self) -> Moment {
        Moment::from_micros(self.next_due.load(Ordering::Acquire)).min(self.inbox.next())
    }

    /// Takes out the first of what is due by `now`; no deletion unless `deletes`. At the same time transactions come first, then
    /// changes of other regions, then deletions.
    pub fn take_due(&self, contents: &mut Contents, now: Moment, deletes: bool) -> Option<DueWork> {
        let next = self.inbox.next();
        if next <= now
            && next < contents.next_landing()
            && next <= contents.next_due()
            && let Some((arrived, arrival)) = self.inbox.pop(now)
        {
            return Some(DueWork::Arrival(arrived, arrival));
        }
        if deletes {
            contents.take_due(now)
        } else {
            contents.take_landing(now)
        }
    }

    /// Makes what `contents` has due known to those who ask without the lock. The caller holds the lock for writing.
    pub fn publish_due(&self, contents: &Contents) {
        self.next_landing
            .store(contents.next_landing().micros(), Ordering::Release);
        self.next_due.store(contents.next_due().micros(), Ordering::Release);
    }

    /// The same if it is earlier than what was known.
    fn lower_due(&self, contents: &Contents) {
        self.next_landing
            .fetch_min(contents.next_landing().micros(), Ordering::AcqRel);
        self.next_due.fetch_min(contents.next_due().micros(), Ordering::AcqRel);
    }

    /// Applies a change to the items, the local indexes and what is due, and hands its global arms and its record
    /// on. This cannot fail. The caller holds the lock for writing; `shape` is the table's, of the partition's epoch.
    #[inline]
    pub fn apply(&self, committed: &Committed<'_>, contents: &mut Contents, shape: &Shape, change: &Change) {
        let now = committed.time;
        if shape.time_to_live.is_none() {
            return contents.apply(shape, change, now);
        }
        contents.reschedule(shape, change, change.happened(now));
        // What comes is known to be due before an index can show the item, and what goes until no index can.
        self.lower_due(contents);
        contents.apply(shape, change, now);
        self.publish_due(contents);
    }

    /// Lets a running transaction hold an item until it is carried out. The caller holds the lock for writing.
    pub fn mark(&self, _: &Committed<'_>, contents: &mut Contents, key: &Key, lands: Moment, then: PendingTransaction) {
        let mark = TransactionHold {
            lands,
            then,
            expired: None,
        };
        contents.landings.insert((lands, key.clone()));
        contents.marks.insert(key.clone(), mark);
        self.lower_due(contents);
    }
}

impl Contents {
    /// The item under a key.
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sizes of all items together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The items in order.
    pub fn items(&self) -> impl Iterator<Item = (&Key, &Item)> {
        self.items.iter()
    }

    /// The items by their keys.
    pub fn by_key(&self) -> &Items {
        &self.items
    }

    /// What frees the items.
    pub fn reclaimer(&self) -> &Reclaimer {
        &self.reclaimer
    }

    /// The items as they are now, with what was here before, if that is kept.
    pub fn part(&self, log: Option<RecoveryLog>) -> PartitionSnapshot {
        PartitionSnapshot {
            items: self.items.clone(),
            bytes: self.bytes,
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

    /// What was there, while reads may be stale.
    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Keeps a history from now on, or none, as the table's conditions have it.
    pub fn keep_history(&mut self, conditions: &Conditions) {
        let (staleness, monotonic) = (conditions.read_staleness, conditions.monotonic_reads);
        if staleness.is_none() {
            self.history = None;
            return;
        }
        let locals = self.locals.len();
        let history = self
            .history
            .get_or_insert_with(|| Box::new(History::new(staleness, monotonic, locals)));
        history.staleness = staleness;
        history.share = conditions.stale_reads;
        history.monotonic = monotonic;
    }

    /// Reads from the table what the entries of a page stand for, those that have not been read yet.
    pub fn fetch_bases(&self, schema: &KeySchema, page: &mut Page) {
        page.fetch_bases(schema, |key| self.get(key).cloned());
    }

    /// When something is due next.
    fn next_due(&self) -> Moment {
        let expiry = self.due.first().map_or(Moment::NEVER, |expiry| expiry.due);
        expiry.min(self.next_landing())
    }

    /// When a transaction is carried out next.
    fn next_landing(&self) -> Moment {
        self.landings.first().map_or(Moment::NEVER, |(lands, _)| *lands)
    }

    /// Takes out the first transaction that is due by `now`, though deletions are that are due before it.
    fn take_landing(&mut self, now: Moment) -> Option<DueWork> {
        self.landings.first().filter(|(lands, _)| *lands <= now)?;
        let (lands, key) = self.landings.pop_first()?;
        let mark = self.marks.remove(&key)?;
        self.due.extend(mark.expired);
        Some(DueWork::PendingTransaction(lands, key, mark.then))
    }

    /// Takes out the first of what is due by `now`. A deletion of an item that a transaction holds waits until the
    /// transaction is carried out, and happens then if the item is still there as it was.
    fn take_due(&mut self, now: Moment) -> Option<DueWork> {
        loop {
            let next = self.next_due();
            if next > now || next == Moment::NEVER {
                return None;
            }
            if self.landings.first().is_some_and(|(lands, _)| *lands == next) {
                return self.take_landing(now);
            }
            let expiry = self.due.pop_first()?;
            match self.marks.get_mut(&expiry.key) {
                Some(mark) => mark.expired = Some(expiry),
                None => return Some(DueWork::Expiry(expiry)),
            }
        }
    }

    /// The deletions that time to live will make, in the order in which they are due.
    pub fn expiries(&self) -> impl ExactSizeIterator<Item = &Expiry> {
        self.due.iter()
    }

    /// The items that running transactions hold, in the order in which those are carried out, and what each then does.
    pub fn holds(&self) -> impl ExactSizeIterator<Item = (Moment, &Key, Option<&PendingTransaction>)> {
        let then = |key| self.marks.get(key).map(|hold| &hold.then);
        self.landings.iter().map(move |(lands, key)| (*lands, key, then(key)))
    }

    /// Ends the hold of a transaction on an item, if one holds it.
    pub(super) fn release(&mut self, _: &Committed<'_>, key: &Key) {
        let Some(mark) = self.marks.remove(key) else { return };
        self.landings.remove(&(mark.lands, key.clone()));
        self.due.extend(mark.expired);
    }

    /// When the transaction ends that holds an item.
    pub fn held_until(&self, key: &Key) -> Option<Moment> {
        self.marks.get(key).map(|mark| mark.lands)
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

    /// Whether a running transaction holds an item.
    pub fn is_marked(&self, key: &Key) -> bool {
        !self.marks.is_empty() && self.marks.contains_key(key)
    }

    /// Applies a change to the items and the local indexes, and hands its global arms and its record on.
    fn apply(&mut self, shape: &Shape, change: &Change, now: Moment) {
        let happened = change.happened(now);
        if let Some(logs) = &shape.recovery_logs
            && let Some(recovery) = shape.recovery
        {
            logs.record(change, recovery, shape.conditions.recovery_bytes, happened);
        }
        if let Some(history) = &mut self.history {
            history.record(change, &self.locals, happened);
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
            Some(item) => self.items.insert(change.key.clone(), item.clone()),
            None => self.items.remove(&change.key),
        };
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

    /// Puts an item that a checkpoint has.
    pub(super) fn restore(&mut self, committed: &Committed<'_>, shape: &Shape, key: Key, item: Item) {
        let change = Change::new(&shape.definition, key, None, Some(item));
        self.reschedule(shape, &change, committed.time);
        self.place(&change);
    }

    /// The size of an item collection, with its entries in local indexes; nothing is known of it in a table without them.
    pub fn collection(&self, token: u64) -> u64 {
        self.collections.get(&token).copied().unwrap_or(0)
    }

    /// Notes how a change makes its item collection larger or smaller.
    fn collect(&mut self, change: &Change) {
        let token = change.key.token;
        match self.collection(token).saturating_add_signed(change.growth()) {
            0 => self.collections.remove(&token),
            size => self.collections.insert(token, size),
        };
    }

    /// Replaces the old item's due deletion by the new one's.
    fn reschedule(&mut self, shape: &Shape, change: &Change, now: Moment) {
        // When an item is due depends on the item alone, so the old entry is found by what it was made of.
        if let Some(due) = change.old.as_ref().and_then(|old| shape.expiry(&change.key, old)) {
            self.due.remove(&Expiry {
                due,
                key: change.key.clone(),
            });
        }
        if let Some(due) = change
            .new
            .as_ref()
            .and_then(|new| shape.expiry_from(&change.key, new, now))
        {
            self.due.insert(Expiry {
                due,
                key: change.key.clone(),
            });
        }
    }

    /// Lets no deletion be due, after the table's time to live or its lag has changed.
    pub fn unschedule(&mut self) {
        let before = std::mem::take(&mut self.due);
        self.reclaimer.reclaim(before.len(), before);
        self.marks.values_mut().for_each(|mark| mark.expired = None);
    }

    /// Lets the deletions be due of so many items from a key on, as if they were written at `now`. Returns the last of these
    /// items, if more may follow.
    pub fn schedule(&mut self, shape: &Shape, from: Bound<&Key>, most: usize, now: Moment) -> Option<Key> {
        let mut last = None;
        let mut count = 0;
        for (key, item) in self.items.range((from, Bound::Unbounded)).take(most) {
            let due = shape.expiry_from(key, item, now);
            self.due.extend(due.map(|due| Expiry { due, key: key.clone() }));
            last = Some(key);
            count += 1;
        }
        last.filter(|_| count == most).cloned()
    }
}
