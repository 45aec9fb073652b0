//! A partition: the items of a range of tokens, their local index views and their due deletions, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::history::{History, Recovery};
use super::range::{KeyRange, Page, PageLimit};
use super::table::Shape;
use crate::change::Change;
use crate::clock::Moment;
use crate::key::Key;
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
    contents: RwLock<Arc<Contents>>,
    /// When something is due here next, in microseconds; to be asked without the lock.
    next_due: AtomicI64,
}

/// What a partition holds.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The table's epoch when its shape last changed: a plan made in another epoch is made again.
    pub epoch: u64,
    items: BTreeMap<Key, Item>,
    locals: Vec<BTreeMap<Key, Item>>,
    due: BTreeSet<Expiry>,
    bytes: usize,
    /// What was here before, while point-in-time recovery is on.
    history: Option<Box<History>>,
}

impl Partition {
    /// An empty partition of a table with so many local indexes.
    pub fn new(epoch: u64, locals: usize) -> Partition {
        let contents = Contents {
            epoch,
            locals: vec![BTreeMap::new(); locals],
            ..Contents::default()
        };
        Partition {
            contents: RwLock::new(Arc::new(contents)),
            next_due: AtomicI64::new(Moment::NEVER.micros()),
        }
    }

    /// Locks for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, Arc<Contents>> {
        self.contents.read()
    }

    /// Locks for writing. Who has changed what is due calls [`publish_due`](Partition::publish_due) before unlocking.
    pub fn write(&self) -> RwLockWriteGuard<'_, Arc<Contents>> {
        self.contents.write()
    }

    /// Whether something is due by `now`.
    pub fn is_due(&self, now: Moment) -> bool {
        self.next_due.load(Ordering::Acquire) <= now.micros()
    }

    /// When something is due next.
    pub fn next_due(&self) -> Moment {
        Moment::from_micros(self.next_due.load(Ordering::Acquire))
    }

    /// Makes what `contents` has due known to those who ask without the lock. The caller holds the lock for writing.
    pub fn publish_due(&self, contents: &Contents) {
        let next = contents.due.first().map_or(Moment::NEVER, |expiry| expiry.due);
        self.next_due.store(next.micros(), Ordering::Release);
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
    pub fn map(&self) -> &BTreeMap<Key, Item> {
        &self.items
    }

    /// What was here before, while point-in-time recovery is on.
    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Keeps what was here before from now on, goes on with it, or lets go of it.
    pub fn keep_history(&mut self, recovery: Option<Recovery>) {
        self.history = recovery.map(|recovery| match self.history.take() {
            Some(mut history) if history.is_of(recovery) => {
                history.set(recovery);
                history
            }
            _ => Box::new(History::new(recovery)),
        });
    }

    /// The entries of a local index, in order.
    pub fn local_entries(&self, local: usize) -> impl Iterator<Item = (&Key, &Item)> {
        self.locals.get(local).into_iter().flatten()
    }

    /// Adds to a page from the table, or from a local index.
    pub fn page(&self, local: Option<usize>, range: &KeyRange, forward: bool, limit: PageLimit, page: &mut Page) {
        let map = match local {
            None => Some(&self.items),
            Some(at) => self.locals.get(at),
        };
        if let Some(map) = map {
            page.fill_from(map, range, forward, limit);
        }
    }

    /// Reads from the table what the entries of a page stand for, those that have not been read yet.
    pub fn fetch_bases(&self, schema: &KeySchema, page: &mut Page) {
        for entry in &page.items[page.bases.len()..] {
            let base = Key::read(schema, entry.attributes()).and_then(|key| self.get(&key).cloned());
            // A local index and its table change together: the item is there.
            page.bases.push(base.unwrap_or_else(|| entry.clone()));
        }
    }

    /// Takes out the first deletion that is due by `now`.
    pub fn take_due(&mut self, now: Moment) -> Option<Expiry> {
        if self.due.first()?.due > now {
            None
        } else {
            self.due.pop_first()
        }
    }

    /// Applies a change to the items, the local indexes and what is due, and hands its global arms on. This cannot fail.
    ///
    /// `now` is when it happens; `shape` the table's, of the partition's epoch.
    pub fn apply(&mut self, shape: &Shape, change: &Change, now: Moment) {
        self.reschedule(shape, change, now);
        if let Some(history) = &mut self.history {
            history.note(change, now);
        }
        self.bytes += change.new.as_ref().map_or(0, Item::size);
        self.bytes -= change.old.as_ref().map_or(0, Item::size);
        match &change.new {
            Some(item) => self.items.insert(change.key.clone(), item.clone()),
            None => self.items.remove(&change.key),
        };
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
        for arm in &change.globals {
            let Some(index) = shape.indexes.get(arm.index) else {
                continue;
            };
            let due = shape.arrival(&change.key, arm.index, now);
            index.push(due, arm.remove.clone(), arm.insert.clone());
        }
    }

    /// Replaces the old item's due deletion by the new one's.
    fn reschedule(&mut self, shape: &Shape, change: &Change, now: Moment) {
        if shape.time_to_live.is_none() {
            return;
        }
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

    /// Makes the due deletions anew, after the table's time to live or its lag has changed.
    pub fn reschedule_all(&mut self, shape: &Shape, now: Moment) {
        let due = self.items.iter().filter_map(|(key, item)| {
            let due = shape.expiry_from(key, item, now)?;
            Some(Expiry { due, key: key.clone() })
        });
        self.due = due.collect();
    }
}
