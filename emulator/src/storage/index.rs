//! A global or vector index: a separate map of entries, fed by a queue.
//!
//! A write appends to the queue under its base partition's lock; a reader of the index first applies the changes that
//! are due. So no lock of one table nests inside another's, and an index can lag or be paused.

mod entry;
mod events;
mod queue;
mod saved;

use std::collections::BTreeMap;

pub use entry::{IndexEntry, IndexUpdate};
pub(super) use events::IndexEvents;
pub use saved::{IndexState, QueuedUpdate, SavedIndex};

use super::commit::Committed;
use super::delay::Propagation;
use super::page::{Page, Walk};
use super::range::KeyRange;
use crate::change::vector;
use crate::clock::Moment;
use crate::key::Key;
use crate::reclaim::Reclaimer;
use crate::sync::{AtomicUsize, Mutex, Ordering, RwLock};
use crate::value::Item;
use queue::Queue;

/// The queue length at which a writer applies due changes itself, so that the queue of an index without readers stays short.
const LONG_QUEUE: usize = 64;

/// The entries of an index that is fed by a queue, and its queued changes.
#[derive(Debug)]
pub struct QueuedIndex<E: IndexEntry> {
    entries: RwLock<IndexEntries<E>>,
    queue: Mutex<Queue<E>>,
    /// The queue's length, readable without its lock.
    waiting: AtomicUsize,
}

/// The common interface of indexes fed by a queue, for any type of entry.
pub trait IndexQueue {
    /// Applies the changes that are due.
    fn drain(&self, now: Moment);

    /// Applies the changes that are due if the queue is long, which a writer does after it has unlocked.
    fn drain_if_full(&self, now: Moment);

    /// When the next change arrives; `None` if none is queued, or the index is paused.
    fn next_due(&self) -> Option<Moment>;
}

impl<E: IndexEntry> IndexQueue for QueuedIndex<E> {
    fn drain(&self, now: Moment) {
        QueuedIndex::drain(self, now);
    }

    fn drain_if_full(&self, now: Moment) {
        if self.waiting.load(Ordering::Acquire) >= LONG_QUEUE {
            QueuedIndex::drain(self, now);
        }
    }

    fn next_due(&self) -> Option<Moment> {
        let queue = self.queue.lock();
        queue.next_due().filter(|_| !queue.paused)
    }
}

/// A queued change of an index.
#[derive(Clone, Debug)]
pub struct QueuedChange<E> {
    /// When it arrives, unless the index is paused.
    pub due: Moment,
    /// The entry that it removes, if that has arrived already.
    pub remove: Option<E>,
    /// The entry that it inserts or replaces.
    pub insert: Option<E>,
}

pub type GlobalIndex = QueuedIndex<Item>;
/// The entries of a vector index.
pub type VectorEntries = QueuedIndex<vector::VectorEntry>;

#[derive(Debug)]
struct IndexEntries<E: IndexEntry> {
    map: BTreeMap<Key, E>,
    bytes: usize,
    reclaimer: Reclaimer,
}

impl<E: IndexEntry> Drop for IndexEntries<E> {
    fn drop(&mut self) {
        self.reclaimer.reclaim(self.map.len(), std::mem::take(&mut self.map));
    }
}

impl<E: IndexEntry> Default for QueuedIndex<E> {
    fn default() -> QueuedIndex<E> {
        QueuedIndex::new(Reclaimer::default())
    }
}

impl<E: IndexEntry> QueuedIndex<E> {
    /// An empty index, whose entries are freed by `reclaimer`.
    pub fn new(reclaimer: Reclaimer) -> QueuedIndex<E> {
        QueuedIndex {
            entries: RwLock::new(IndexEntries {
                map: BTreeMap::new(),
                bytes: 0,
                reclaimer,
            }),
            queue: Mutex::new(Queue::new()),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Adds entries without the queue: those of items that existed before the index.
    pub fn fill(&self, entries: impl Iterator<Item = (Key, E)>) {
        let mut there = self.entries.write();
        for insert in entries {
            there.apply(IndexUpdate {
                remove: None,
                insert: Some(insert),
            });
        }
    }

    /// Queues a change of the item under `key`. It happened at the first moment and is applied at the second, which is
    /// later for due work that is noticed late. The caller holds the lock of the item's partition.
    pub fn push(&self, key: &Key, moments: (Moment, Moment), propagation: &Propagation<'_>, update: IndexUpdate<E>) {
        let mut queue = self.queue.lock();
        queue.push(key, moments, propagation, update);
        self.waiting.store(queue.len(), Ordering::Release);
    }

    /// Applies the changes that are due by `now`, in order.
    pub fn drain(&self, now: Moment) {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return;
        }
        self.arrive(&mut self.queue.lock(), now);
    }

    /// Applies the changes that are due by `now`. The queue stays locked meanwhile, so that two drains cannot be reordered.
    fn arrive(&self, queue: &mut Queue<E>, now: Moment) {
        if queue.paused {
            return;
        }
        let Some(mut arrival) = queue.pop(now) else { return };
        let mut entries = self.entries.write();
        let events = queue.events.take_if(|events| events.has_subscribers());
        loop {
            if let Some(events) = &events {
                events.record(&arrival, &entries.map);
            }
            entries.apply(arrival.update);
            match queue.pop(now) {
                Some(next) => arrival = next,
                None => break,
            }
        }
        if events.is_some() {
            queue.events = events;
        }
        self.waiting.store(queue.len(), Ordering::Release);
    }

    /// Pauses the index: changes that are already due are still applied.
    pub fn pause(&self, committed: &Committed<'_>) {
        let mut queue = self.queue.lock();
        self.arrive(&mut queue, committed.time);
        queue.paused = true;
    }

    /// Resumes the index: all changes are applied when they are due, starting with those that were due during the pause.
    pub fn resume(&self, committed: &Committed<'_>) {
        let mut queue = self.queue.lock();
        queue.paused = false;
        queue.resumed = committed.time;
    }

    /// Sets where arrivals are recorded, unless it is set already.
    pub(super) fn connect(&self, events: impl FnOnce() -> IndexEvents) {
        self.queue.lock().events.get_or_insert_with(|| Box::new(events()));
    }

    /// When the last change of the item under `key`, which was just queued, arrives; `None` if the index is paused.
    pub fn arrival(&self, key: &Key, propagation: &Propagation<'_>) -> Option<Moment> {
        let queue = self.queue.lock();
        queue.last_arrival(key, propagation).filter(|_| !queue.paused)
    }

    pub fn is_paused(&self) -> bool {
        self.queue.lock().paused
    }

    /// The number of queued changes.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// The first queued changes, at most `most`, in the order of their arrival.
    pub fn changes(&self, most: usize) -> Vec<QueuedChange<E>> {
        let queue = self.queue.lock();
        let entries = self.entries.read();
        let change = |(due, update): (Moment, &IndexUpdate<E>)| QueuedChange {
            due,
            remove: update.remove.as_ref().and_then(|key| entries.map.get(key)).cloned(),
            insert: update.insert.as_ref().map(|(_, entry)| entry.clone()),
        };
        queue.iter().take(most).map(change).collect()
    }

    /// The index for a checkpoint, besides the items of its table.
    pub(super) fn save(&self, now: Moment) -> IndexState<E> {
        let mut queue = self.queue.lock();
        self.arrive(&mut queue, now);
        let (waiting, delays) = queue.save();
        let entries = || {
            self.entries
                .read()
                .map
                .iter()
                .map(|(key, entry)| (key.clone(), entry.clone()))
                .collect()
        };
        IndexState {
            paused: queue.paused,
            entries: (!waiting.is_empty()).then(entries),
            waiting,
            delays,
        }
    }

    /// The entries alone for a checkpoint, of an index that receives no more changes.
    pub(super) fn save_entries(&self) -> IndexState<E> {
        let entries = self.entries.read();
        let entries = entries.map.iter().map(|(key, entry)| (key.clone(), entry.clone()));
        IndexState {
            paused: false,
            entries: Some(entries.collect()),
            waiting: Vec::new(),
            delays: BTreeMap::new(),
        }
    }

    /// Restores the index from a checkpoint, except entries that are derived from items.
    pub(super) fn restore(&self, _: &Committed<'_>, state: IndexState<E>) {
        let mut queue = self.queue.lock();
        let restored = Queue::restored(state.waiting, state.delays);
        let events = std::mem::replace(&mut *queue, restored).events;
        queue.events = events;
        queue.paused = state.paused;
        self.waiting.store(queue.len(), Ordering::Release);
        drop(queue);
        self.fill(state.entries.into_iter().flatten());
    }

    /// Adds entries and queued changes from a checkpoint.
    pub(super) fn restore_more(&self, _: &Committed<'_>, state: IndexState<E>) {
        let mut queue = self.queue.lock();
        queue.restore(state.waiting);
        self.waiting.store(queue.len(), Ordering::Release);
        drop(queue);
        self.fill(state.entries.into_iter().flatten());
    }

    /// Reads the entries that have arrived by `now`.
    fn arrived<R>(&self, now: Moment, read: impl FnOnce(&BTreeMap<Key, E>) -> R) -> R {
        self.drain(now);
        read(&self.entries.read().map)
    }

    /// Reads the entries that have arrived by `now`; `None` if work of the base table is due and not done.
    ///
    /// Due work is published before its effect can be seen here, and done before it is unpublished: so with the queue
    /// locked, work that `is_due` does not report is in the queue or has arrived.
    fn settled<R>(
        &self,
        now: Moment,
        is_due: impl FnOnce() -> bool,
        read: impl FnOnce(&BTreeMap<Key, E>) -> R,
    ) -> Option<R> {
        let entries = {
            let mut queue = self.queue.lock();
            self.arrive(&mut queue, now);
            if is_due() {
                return None;
            }
            self.entries.read()
        };
        Some(read(&entries.map))
    }

    /// The number of entries that have arrived, and their total size.
    pub fn count(&self) -> (usize, usize) {
        let entries = self.entries.read();
        (entries.map.len(), entries.bytes)
    }
}

impl GlobalIndex {
    /// Reads a page of the entries that have arrived by `now`.
    pub fn page(&self, walk: &Walk<'_>, now: Moment) -> Page {
        self.arrived(now, |map| Page::of(map, walk))
    }

    /// Reads a page of the entries that have arrived by `now`; `None` if work of the base table is due and not done.
    pub fn settled_page(&self, walk: &Walk<'_>, now: Moment, is_due: impl FnOnce() -> bool) -> Option<Page> {
        self.settled(now, is_due, |map| Page::of(map, walk))
    }
}

impl VectorEntries {
    /// The entries of a range of keys that have arrived by `now`, at one moment: clones of shared values, so that the
    /// lock is not held while they are measured.
    pub fn within(&self, range: &KeyRange, now: Moment) -> Vec<vector::VectorEntry> {
        self.arrived(now, |map| clones(map, range))
    }

    /// The entries of a range of keys that have arrived by `now`; `None` if work of the base table is due and not done.
    pub fn settled_within(
        &self,
        range: &KeyRange,
        now: Moment,
        is_due: impl FnOnce() -> bool,
    ) -> Option<Vec<vector::VectorEntry>> {
        self.settled(now, is_due, |map| clones(map, range))
    }
}

fn clones(map: &BTreeMap<Key, vector::VectorEntry>, range: &KeyRange) -> Vec<vector::VectorEntry> {
    if range.is_empty() {
        return Vec::new();
    }
    let found = map.range((range.lower.as_ref(), range.upper.as_ref()));
    found.map(|(_, entry)| entry.clone()).collect()
}

impl<E: IndexEntry> IndexEntries<E> {
    fn apply(&mut self, update: IndexUpdate<E>) {
        let gone = update.remove.and_then(|key| self.map.remove(&key));
        self.bytes -= gone.map_or(0, |entry| entry.bytes());
        if let Some((key, entry)) = update.insert {
            self.bytes += entry.bytes();
            let replaced = self.map.insert(key, entry);
            self.bytes -= replaced.map_or(0, |entry| entry.bytes());
        }
    }
}
