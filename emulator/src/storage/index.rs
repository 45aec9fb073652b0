//! A global index: a table of its own, fed by a queue.
//!
//! A write appends to the queue under its base partition's lock; whoever reads the index first applies what is due. So no
//! lock of one table nests inside another's, and an index can lag or stand still.

use std::collections::{BTreeMap, VecDeque};

use super::range::{Page, Walk};
use crate::clock::Moment;
use crate::key::Key;
use crate::sync::{AtomicUsize, Mutex, Ordering, RwLock};
use crate::value::Item;

/// Entries after which a writer applies what is due itself, so that the queue of an index that nobody reads stays short.
const LONG_QUEUE: usize = 64;

#[derive(Debug)]
struct Arrival {
    due: Moment,
    remove: Option<Key>,
    insert: Option<(Key, Item)>,
}

/// The entries of a global index, and those on their way to it.
#[derive(Debug, Default)]
pub struct GlobalIndex {
    entries: RwLock<Entries>,
    queue: Mutex<Queue>,
    /// The queue's length, to be asked without its lock.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    arrivals: VecDeque<Arrival>,
    /// Whether nothing arrives, however long it waits.
    paused: bool,
}

#[derive(Debug, Default)]
struct Entries {
    map: BTreeMap<Key, Item>,
    bytes: usize,
}

impl GlobalIndex {
    /// An empty index.
    pub fn new() -> GlobalIndex {
        GlobalIndex::default()
    }

    /// Fills a new index, before anybody else knows of it.
    pub fn fill(&self, entries: impl Iterator<Item = (Key, Item)>) {
        let mut there = self.entries.write();
        for insert in entries {
            there.apply(Arrival {
                due: Moment::FIRST,
                remove: None,
                insert: Some(insert),
            });
        }
    }

    /// Puts a change of the index in the queue, to arrive at `due` and not before those in front of it.
    /// The caller holds the lock of the item's partition.
    pub fn push(&self, due: Moment, remove: Option<Key>, insert: Option<(Key, Item)>) {
        let mut queue = self.queue.lock();
        let due = queue.arrivals.back().map_or(due, |last| last.due.max(due));
        queue.arrivals.push_back(Arrival { due, remove, insert });
        self.waiting.store(queue.arrivals.len(), Ordering::Release);
    }

    /// Applies what is due by `now`, in order.
    pub fn drain(&self, now: Moment) {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return;
        }
        self.arrive(&mut self.queue.lock(), now);
    }

    /// Applies what is due by `now`. The queue stays locked while its front is applied, so that two drains cannot change
    /// places.
    fn arrive(&self, queue: &mut Queue, now: Moment) {
        if queue.paused || queue.arrivals.front().is_none_or(|arrival| arrival.due > now) {
            return;
        }
        let mut entries = self.entries.write();
        while let Some(arrival) = queue.arrivals.pop_front_if(|arrival| arrival.due <= now) {
            entries.apply(arrival);
        }
        self.waiting.store(queue.arrivals.len(), Ordering::Release);
    }

    /// Lets nothing arrive from now on: what is due by `now` still does.
    pub fn pause(&self, now: Moment) {
        let mut queue = self.queue.lock();
        self.arrive(&mut queue, now);
        queue.paused = true;
    }

    /// Lets everything arrive again when it is due, beginning with what has been due for long.
    pub fn resume(&self) {
        self.queue.lock().paused = false;
    }

    /// Applies what is due if much is waiting: what a writer does after it has unlocked.
    pub fn drain_if_long(&self, now: Moment) {
        if self.waiting.load(Ordering::Acquire) >= LONG_QUEUE {
            self.drain(now);
        }
    }

    /// When the next entry arrives; `None` if none is on its way, or the index is paused.
    pub fn next_due(&self) -> Option<Moment> {
        let queue = self.queue.lock();
        queue
            .arrivals
            .front()
            .filter(|_| !queue.paused)
            .map(|arrival| arrival.due)
    }

    /// Reads a page of what has arrived by `now`.
    pub fn page(&self, walk: &Walk<'_>, now: Moment) -> Page {
        self.drain(now);
        Page::of(&self.entries.read().map, walk)
    }

    /// The same if nothing of the table that feeds the index is due and not done; `None` if something is.
    ///
    /// What is due is known before it can be seen here, and done before it is known no more: so with the queue locked, what
    /// `is_due` does not know is in the queue or has arrived.
    pub fn settled_page(&self, walk: &Walk<'_>, now: Moment, is_due: impl FnOnce() -> bool) -> Option<Page> {
        let entries = {
            let mut queue = self.queue.lock();
            self.arrive(&mut queue, now);
            if is_due() {
                return None;
            }
            self.entries.read()
        };
        Some(Page::of(&entries.map, walk))
    }

    /// How many entries have arrived, and their sizes together.
    pub fn count(&self) -> (usize, usize) {
        let entries = self.entries.read();
        (entries.map.len(), entries.bytes)
    }

    /// The entries that have arrived, in order.
    pub fn entries(&self) -> Vec<(Key, Item)> {
        self.entries
            .read()
            .map
            .iter()
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect()
    }
}

impl Entries {
    fn apply(&mut self, arrival: Arrival) {
        let gone = arrival.remove.and_then(|key| self.map.remove(&key));
        self.bytes -= gone.map_or(0, |item| item.size());
        if let Some((key, item)) = arrival.insert {
            self.bytes += item.size();
            let replaced = self.map.insert(key, item);
            self.bytes -= replaced.map_or(0, |item| item.size());
        }
    }
}
