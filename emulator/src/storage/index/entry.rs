//! The entries of an index, and the updates that change them.

use crate::change::vector;
use crate::clock::Moment;
use crate::key::Key;
use crate::value::Item;

/// An entry of an index, with its size.
pub trait IndexEntry: Clone + Send + 'static {
    /// Its counted size in bytes.
    fn bytes(&self) -> usize;
    fn item(&self) -> &Item;
}

impl IndexEntry for Item {
    fn bytes(&self) -> usize {
        self.size()
    }

    fn item(&self) -> &Item {
        self
    }
}

impl IndexEntry for vector::VectorEntry {
    fn bytes(&self) -> usize {
        self.size()
    }

    fn item(&self) -> &Item {
        vector::VectorEntry::item(self)
    }
}

/// The effect of a change on an index.
#[derive(Debug)]
pub struct IndexUpdate<E> {
    /// The entry that it removes.
    pub remove: Option<Key>,
    /// The entry that it inserts or replaces.
    pub insert: Option<(Key, E)>,
}

/// A change on its arrival.
#[derive(Debug)]
pub(super) struct Arrival<E> {
    pub(super) due: Moment,
    /// Whether that is later than it was queued.
    pub(super) delayed: bool,
    pub(super) update: IndexUpdate<E>,
}
