//! A chunk of a partition's items.

use std::cmp::Ordering;
use std::hash::Hasher;
use std::hint;
use std::ops::Bound;

use rustc_hash::FxHasher;

use crate::change::ItemPosition;
use crate::key::Key;
use crate::value::{self, Item};

/// A chunk with this many entries is split. Copying one takes some microseconds.
const MOST_ENTRIES: usize = 256;

/// Entries sorted by key: a binary search in one allocation takes half the instructions of a search in a B-tree. Items are
/// packed when their chunk is split. An item that replaces another has an allocation of its own until the next split, so
/// that items that are often replaced are not packed each time.
///
/// A single key is found by its fingerprint. The steps of a binary search read up to eight entries that are seldom in the
/// processor's cache; all fingerprints of a chunk are in four cache lines.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    entries: Vec<(Key, Item)>,
    /// The fingerprint of each entry's key.
    fingerprints: Vec<u8>,
    /// The number of packed items that were replaced or removed since items were last packed again.
    gone: u32,
}

/// A byte of the hash of a key.
fn fingerprint(key: &Key) -> u8 {
    let mut hasher = FxHasher::default();
    hasher.write(&key.bytes);
    hasher.finish() as u8
}

impl Chunk {
    /// The entries, in the order of their keys.
    pub fn entries(&self) -> &[(Key, Item)] {
        &self.entries
    }

    /// Whether it has reached the number of entries at which it is split.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= MOST_ENTRIES
    }

    /// The place of a key's entry.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<usize> {
        let is_at = |at: &usize| self.entries.get(*at).is_some_and(|(other, _)| other == key);
        memchr::memchr_iter(fingerprint(key), &self.fingerprints).find(is_at)
    }

    /// Whether a key's entry is at this place.
    #[inline]
    pub fn has_at(&self, at: usize, key: &Key) -> bool {
        self.entries.get(at).is_some_and(|(other, _)| other == key)
    }

    /// Replaces the item at a place, and returns the one before.
    #[inline]
    pub fn replace(&mut self, at: usize, item: Item) -> Item {
        let before = std::mem::replace(&mut self.entries[at].1, item);
        if before.is_packed() {
            self.count_gone();
        }
        before
    }

    /// Adds an entry, whose key the chunk does not have.
    pub fn insert(&mut self, key: Key, item: Item) {
        if self.entries.len() == self.entries.capacity() {
            self.grow();
        }
        let at = position(&self.entries, &key).unwrap_or_else(|at| at);
        self.fingerprints.insert(at, fingerprint(&key));
        self.entries.insert(at, (key, item));
    }

    /// Removes the entry at a place, and returns its item.
    pub fn remove(&mut self, at: usize) -> Item {
        self.fingerprints.remove(at);
        let (_, item) = self.entries.remove(at);
        if item.is_packed() {
            self.count_gone();
        }
        item
    }

    /// Removes the entries at these positions, which are in order.
    pub fn remove_found(&mut self, found: &[ItemPosition]) {
        retain_others(&mut self.entries, found);
        retain_others(&mut self.fingerprints, found);
        self.gone += found.len() as u32 - 1;
        self.count_gone();
    }

    /// Splits off the upper half of the entries.
    #[cold]
    pub fn split(&mut self) -> Chunk {
        let middle = MOST_ENTRIES / 2;
        let mut upper = Chunk {
            entries: self.entries.split_off(middle),
            fingerprints: self.fingerprints.split_off(middle),
            gone: self.gone,
        };
        self.entries.shrink_to_fit();
        self.fingerprints.shrink_to_fit();
        self.pack();
        upper.pack();
        upper
    }

    fn pack(&mut self) {
        value::pack(self.entries.iter_mut().map(|(_, item)| item));
    }

    /// Counts an item that has left its block. Once these are many, the others of their blocks are packed again.
    #[cold]
    fn count_gone(&mut self) {
        self.gone += 1;
        if self.gone as usize >= (self.entries.len() / 8).max(16) {
            self.gone = 0;
            value::repack(self.entries.iter_mut().map(|(_, item)| item));
        }
    }

    /// Makes room for more entries: not for twice as many, of which half would stay empty, but as an allocator does.
    #[cold]
    fn grow(&mut self) {
        let size = size_of::<(Key, Item)>();
        let capacity = value::size_class((self.entries.len() + 1) * size) / size;
        let more = capacity.max(4) - self.entries.len();
        self.entries.reserve_exact(more);
        self.fingerprints.reserve_exact(more);
    }

    /// The entries of a range.
    pub fn range(&self, lower: Bound<&Key>, upper: Bound<&Key>) -> &[(Key, Item)] {
        let start = start(&self.entries, lower);
        let end = end(&self.entries, start, upper);
        self.entries.get(start..end).unwrap_or_default()
    }
}

/// Removes the members at these positions, which are in order.
fn retain_others<T>(members: &mut Vec<T>, found: &[ItemPosition]) {
    if let [one] = found
        && (one.entry as usize) < members.len()
    {
        members.remove(one.entry as usize);
        return;
    }
    let mut gone = found.iter().map(|found| found.entry as usize).peekable();
    let mut at = 0;
    members.retain(|_| {
        let stays = gone.next_if_eq(&at).is_none();
        at += 1;
        stays
    });
}

/// The position of a key in a chunk, or where it would be inserted.
fn position(chunk: &[(Key, Item)], key: &Key) -> Result<usize, usize> {
    let (mut start, mut length) = (0, chunk.len());
    while length > 1 {
        let middle = start + length / 2;
        length -= length / 2;
        // Reads both entries that the next step may compare. Most are not in the processor's cache, and a step that began
        // to read its entry only after the one before would wait for each of them.
        for next in [start, middle] {
            hint::black_box(chunk[next + length / 2].0.token);
        }
        start = hint::select_unpredictable(chunk[middle].0 <= *key, middle, start);
    }
    match chunk.get(start).map(|(other, _)| other.cmp(key)) {
        Some(Ordering::Equal) => Ok(start),
        Some(Ordering::Less) => Err(start + 1),
        Some(Ordering::Greater) | None => Err(start),
    }
}

/// The position of the first entry within a lower bound.
fn start(chunk: &[(Key, Item)], lower: Bound<&Key>) -> usize {
    match lower {
        Bound::Included(key) => position(chunk, key).unwrap_or_else(|at| at),
        Bound::Excluded(key) => position(chunk, key).map_or_else(|at| at, |at| at + 1),
        Bound::Unbounded => 0,
    }
}

/// The position after the last entry within an upper bound, from `start` on. Most ranges are short, and the processor's
/// cache has the entries near their start: the search looks there first, in steps that double.
fn end(chunk: &[(Key, Item)], start: usize, upper: Bound<&Key>) -> usize {
    let is_within = |(other, _): &(Key, Item)| match upper {
        Bound::Included(key) => other <= key,
        Bound::Excluded(key) => other < key,
        Bound::Unbounded => true,
    };
    if upper == Bound::Unbounded {
        return chunk.len();
    }
    let (mut within, mut step) = (start, 1);
    while chunk.get(within + step - 1).is_some_and(is_within) {
        within += step;
        step *= 2;
    }
    let rest = chunk.get(within..).unwrap_or_default();
    within + rest[..rest.len().min(step - 1)].partition_point(is_within)
}
