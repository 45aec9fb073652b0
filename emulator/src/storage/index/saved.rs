//! An index as checkpoints contain it.

use std::collections::BTreeMap;

use crate::change::vector;
use crate::clock::Moment;
use crate::key::Key;
use crate::value::Item;

/// A global or vector index in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedIndex {
    Global(IndexState<Item>),
    Vector(IndexState<vector::VectorEntry>),
}

impl SavedIndex {
    /// Divides it into parts of at most `most` entries and changes each. The first is to be restored, the others are to
    /// be added.
    pub(in crate::storage) fn divided(self, most: usize) -> Vec<SavedIndex> {
        match self {
            SavedIndex::Global(state) => state.divided(most).map(SavedIndex::Global).collect(),
            SavedIndex::Vector(state) => state.divided(most).map(SavedIndex::Vector).collect(),
        }
    }
}

/// An index in a checkpoint, besides the items of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexState<E> {
    pub paused: bool,
    /// Its entries, unless all changes have arrived: then they are derived from the items.
    pub entries: Option<Vec<(Key, E)>>,
    pub waiting: Vec<QueuedUpdate<E>>,
    /// The number of delays of each item, by its hash.
    pub delays: BTreeMap<u64, u64>,
}

impl<E> IndexState<E> {
    /// Divides it into parts of at most `most` entries and changes each.
    pub(super) fn divided(self, most: usize) -> impl Iterator<Item = IndexState<E>> {
        let is_derived = self.entries.is_none();
        let mut entries = self.entries.unwrap_or_default().into_iter();
        let mut waiting = self.waiting.into_iter();
        let mut next = move || {
            let entries: Vec<_> = entries.by_ref().take(most).collect();
            let waiting: Vec<_> = waiting.by_ref().take(most).collect();
            (entries, waiting)
        };
        let (first, changes) = next();
        let first = IndexState {
            paused: self.paused,
            entries: (!is_derived).then_some(first),
            waiting: changes,
            delays: self.delays,
        };
        let others = std::iter::from_fn(move || {
            let (entries, waiting) = next();
            (!entries.is_empty() || !waiting.is_empty()).then(|| IndexState {
                paused: false,
                entries: Some(entries),
                waiting,
                delays: BTreeMap::new(),
            })
        });
        std::iter::once(first).chain(others)
    }
}

/// A queued change in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedUpdate<E> {
    /// When it arrives, or was due.
    pub arrives: Moment,
    /// The hash of its item, if it was not yet due when it was queued.
    pub item: Option<u64>,
    /// The entry that it removes.
    pub remove: Option<Key>,
    /// The entry that it inserts or replaces.
    pub insert: Option<(Key, E)>,
}
