//! The items of a partition, in order: in chunks shared with snapshots, so that the first write after a snapshot copies
//! one chunk and not the partition.

use std::cmp::Ordering;
use std::hint;
use std::ops::Bound;
use std::sync::Arc;

use crate::change::ItemPosition;
use crate::key::Key;
use crate::reclaim::Reclaimer;
use crate::sort;
use crate::value::{self, Item};

/// A chunk with this many entries is split. Copying one takes some microseconds.
const CHUNK: usize = 256;

/// Entries sorted by key: a binary search in one allocation takes half the instructions of a search in a B-tree. Items are
/// packed when their chunk is split. An item that replaces another has an allocation of its own until the next split, so
/// that items that are often replaced are not packed each time.
#[derive(Clone, Debug, Default)]
struct Chunk {
    entries: Vec<(Key, Item)>,
    /// The number of packed items that were replaced or removed since items were last packed again.
    gone: u32,
}

/// Items by their keys. A clone shares all chunks until one of the two is written to.
#[derive(Clone, Debug, Default)]
pub struct Items {
    /// The items before the first of `bounds`, or all without one.
    first: Arc<Chunk>,
    /// The other chunks, each with the lower bound of its keys.
    rest: Vec<Arc<Chunk>>,
    bounds: Vec<Key>,
    len: usize,
    reclaimer: Reclaimer,
}

impl Drop for Items {
    fn drop(&mut self) {
        let chunks = (std::mem::take(&mut self.rest), std::mem::take(&mut self.bounds));
        self.reclaimer.reclaim(self.len, chunks);
    }
}

impl Items {
    /// No items; removed ones are freed by `reclaimer`.
    pub fn new(reclaimer: Reclaimer) -> Items {
        let mut items = Items::default();
        items.reclaimer = reclaimer;
        items
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of the chunk that a key belongs to: 0 for the first.
    fn place(&self, key: &Key) -> usize {
        self.bounds.partition_point(|bound| bound <= key)
    }

    fn chunk(&self, place: usize) -> &[(Key, Item)] {
        match place.checked_sub(1) {
            None => &self.first.entries,
            Some(at) => &self.rest[at].entries,
        }
    }

    fn chunk_mut(&mut self, place: usize) -> &mut Chunk {
        Arc::make_mut(match place.checked_sub(1) {
            None => &mut self.first,
            Some(at) => &mut self.rest[at],
        })
    }

    /// The item under a key.
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.find(key).map(|(item, _)| item)
    }

    /// The item under a key, and its position.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<(&Item, ItemPosition)> {
        let place = self.place(key);
        let chunk = self.chunk(place);
        let at = position(chunk, key).ok()?;
        let position = ItemPosition {
            chunk: place as u32,
            entry: at as u32,
        };
        Some((&chunk[at].1, position))
    }

    /// Puts an item. It is not searched for if it is still at the position where it was found.
    #[inline]
    pub fn put(&mut self, key: &Key, found: Option<ItemPosition>, item: Item) {
        if let Some(found) = found
            && found.chunk as usize <= self.rest.len()
            && let chunk = self.chunk_mut(found.chunk as usize)
            && let Some((other, there)) = chunk.entries.get_mut(found.entry as usize)
            && other == key
        {
            let before = std::mem::replace(there, item);
            if before.is_packed() {
                chunk.count_gone();
            }
            return;
        }
        self.insert(key.clone(), item);
    }

    /// Puts an item, and returns the one before.
    pub fn insert(&mut self, key: Key, item: Item) -> Option<Item> {
        let place = self.place(&key);
        let chunk = self.chunk_mut(place);
        match position(&chunk.entries, &key) {
            Ok(at) => {
                let before = std::mem::replace(&mut chunk.entries[at].1, item);
                if before.is_packed() {
                    chunk.count_gone();
                }
                Some(before)
            }
            Err(at) => {
                if chunk.entries.len() == chunk.entries.capacity() {
                    chunk.grow();
                }
                chunk.entries.insert(at, (key, item));
                if chunk.entries.len() >= CHUNK {
                    self.split(place);
                }
                self.len += 1;
                None
            }
        }
    }

    #[cold]
    fn split(&mut self, place: usize) {
        let chunk = self.chunk_mut(place);
        let entries = chunk.entries.split_off(CHUNK / 2);
        chunk.entries.shrink_to_fit();
        chunk.pack();
        let Some((middle, _)) = entries.first() else { return };
        let middle = middle.clone();
        let mut upper = Chunk {
            entries,
            gone: chunk.gone,
        };
        upper.pack();
        self.rest.insert(place, Arc::new(upper));
        self.bounds.insert(place, middle);
    }

    /// Removes and returns the item under a key. It is not searched for if it is still at the position where it was found.
    pub fn remove(&mut self, key: &Key, found: Option<ItemPosition>) -> Option<Item> {
        let found = found.filter(|found| {
            let place = found.chunk as usize;
            place <= self.rest.len()
                && self
                    .chunk(place)
                    .get(found.entry as usize)
                    .is_some_and(|(other, _)| other == key)
        });
        let (place, at) = if let Some(found) = found {
            (found.chunk as usize, found.entry as usize)
        } else {
            let place = self.place(key);
            (place, position(self.chunk(place), key).ok()?)
        };
        let chunk = self.chunk_mut(place);
        let (_, gone) = chunk.entries.remove(at);
        if gone.is_packed() {
            chunk.count_gone();
        }
        if chunk.entries.is_empty() {
            self.remove_chunk(place);
        }
        self.len -= 1;
        Some(gone)
    }

    /// Removes the items at these positions, at which they have been found since the last change. Takes a time that is
    /// linear in the sizes of their chunks, while removing the entries of a chunk one by one is quadratic.
    pub fn remove_found(&mut self, found: &mut [ItemPosition]) {
        sort::sort_by_key(found, |found| (found.chunk, found.entry));
        // From the last chunk on, since an empty chunk is removed.
        for of_chunk in found.chunk_by(|one, other| one.chunk == other.chunk).rev() {
            let place = of_chunk[0].chunk as usize;
            if place > self.rest.len() {
                continue;
            }
            let chunk = self.chunk_mut(place);
            let before = chunk.entries.len();
            chunk.remove_found(of_chunk);
            let removed = before - chunk.entries.len();
            if chunk.entries.is_empty() {
                self.remove_chunk(place);
            }
            self.len -= removed;
        }
    }

    /// Removes an empty chunk: its keys now belong to the chunk before it.
    fn remove_chunk(&mut self, place: usize) {
        if let Some(at) = place.checked_sub(1) {
            self.rest.remove(at);
            self.bounds.remove(at);
        }
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Item)> {
        let chunks = std::iter::once(&self.first).chain(&self.rest);
        chunks
            .flat_map(|chunk| chunk.entries.iter())
            .map(|(key, item)| (key, item))
    }

    /// The items of a range that is not empty.
    pub fn range<'i>(
        &'i self,
        (lower, upper): (Bound<&'i Key>, Bound<&'i Key>),
    ) -> impl DoubleEndedIterator<Item = (&'i Key, &'i Item)> {
        let first = match lower {
            Bound::Included(key) | Bound::Excluded(key) => self.place(key),
            Bound::Unbounded => 0,
        };
        let last = match upper {
            Bound::Included(key) | Bound::Excluded(key) => match self.bounds.get(first) {
                Some(bound) if bound <= key => self.place(key),
                // Most ranges end in the chunk in which they start.
                _ => first,
            },
            Bound::Unbounded => self.rest.len(),
        };
        let entries = (first..=last).flat_map(move |place| {
            let chunk = self.chunk(place);
            let start = if place == first { start(chunk, lower) } else { 0 };
            let end = if place == last {
                end(chunk, start, upper)
            } else {
                chunk.len()
            };
            chunk.get(start..end).unwrap_or_default()
        });
        entries.map(|(key, item)| (key, item))
    }
}

impl Chunk {
    /// Removes the entries at these positions, which are in order.
    fn remove_found(&mut self, found: &[ItemPosition]) {
        if let [one] = found
            && (one.entry as usize) < self.entries.len()
        {
            self.entries.remove(one.entry as usize);
        } else {
            let mut gone = found.iter().map(|found| found.entry as usize).peekable();
            let mut at = 0;
            self.entries.retain(|_| {
                let stays = gone.next_if_eq(&at).is_none();
                at += 1;
                stays
            });
        }
        self.gone += found.len() as u32 - 1;
        self.count_gone();
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
        self.entries.reserve_exact(capacity.max(4) - self.entries.len());
    }
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
    let (mut within, mut step) = (start, 1);
    while chunk.get(within + step - 1).is_some_and(is_within) {
        within += step;
        step *= 2;
    }
    let rest = chunk.get(within..).unwrap_or_default();
    within + rest[..rest.len().min(step - 1)].partition_point(is_within)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::key::KeyBytes;
    use crate::value::AttributeValue;

    fn key(number: u64) -> Key {
        Key {
            token: number / 3,
            bytes: KeyBytes::from_slice(&number.to_be_bytes()),
        }
    }

    fn item(number: u64) -> Item {
        let value = AttributeValue::string(&number.to_string());
        Item::new(&[("pk".into(), value)].into_iter().collect())
    }

    /// The next number of a sequence that visits its numbers out of order.
    fn next(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) % below
    }

    #[test]
    fn items_are_those_of_one_map() {
        let (mut items, mut model) = (Items::default(), BTreeMap::new());
        let mut state = 1;
        let mut snapshots = Vec::new();
        for step in 0..40_000 {
            let number = next(&mut state, 5000);
            // First mostly insertions, then mostly removals.
            if next(&mut state, 10) < if step < 20_000 { 7 } else { 2 } {
                if next(&mut state, 2) == 0 {
                    // The position at which another item is found, or at which this one was.
                    let found = items.find(&key(next(&mut state, 5000))).map(|(_, position)| position);
                    let found = items.find(&key(number)).map_or(found, |(_, position)| Some(position));
                    items.put(&key(number), found, item(step));
                    model.insert(key(number), item(step));
                } else {
                    assert_eq!(
                        items.insert(key(number), item(step)),
                        model.insert(key(number), item(step))
                    );
                }
            } else {
                // The position at which another item is found, or at which this one is, or none.
                let found = items.find(&key(next(&mut state, 5000))).map(|(_, position)| position);
                let own = items.find(&key(number)).map(|(_, position)| position);
                let found = if step % 2 == 0 { own } else { found };
                assert_eq!(items.remove(&key(number), found), model.remove(&key(number)));
            }
            assert_eq!(items.len(), model.len());
            assert_eq!(items.get(&key(number)), model.get(&key(number)));
            if step % 4000 == 0 {
                snapshots.push((items.clone(), model.clone()));
            }
            if step % 100 == 0 {
                let (one, two) = (next(&mut state, 5000), next(&mut state, 5000));
                // Half of the ranges are short.
                let two = if step % 200 == 0 { one + two % 20 } else { two };
                let (lower, upper) = (key(one.min(two)), key(one.max(two)));
                for bounds in [
                    (Bound::Included(&lower), Bound::Excluded(&upper)),
                    (Bound::Included(&lower), Bound::Included(&upper)),
                    (Bound::Excluded(&lower), Bound::Unbounded),
                    (Bound::Unbounded, Bound::Excluded(&upper)),
                ] {
                    assert!(items.range(bounds).eq(model.range(bounds)));
                    assert!(items.range(bounds).rev().eq(model.range(bounds).rev()));
                }
            }
        }
        snapshots.push((items, model));
        for (items, model) in snapshots {
            assert!(items.iter().eq(model.iter()), "a snapshot stays as it was");
        }
    }

    #[test]
    fn a_write_after_a_snapshot_copies_one_chunk() {
        let mut items = Items::default();
        (0..10_000).for_each(|number| drop(items.insert(key(number), item(number))));
        let snapshot = items.clone();
        items.insert(key(7000), item(0));
        let chunks = |items: &Items| items.rest.iter().chain([&items.first]).cloned().collect::<Vec<_>>();
        let (now, then) = (chunks(&items), chunks(&snapshot));
        let copied = now
            .iter()
            .zip(&then)
            .filter(|(now, then)| !Arc::ptr_eq(now, then))
            .count();
        assert_eq!((now.len() > 20, copied), (true, 1));
    }
}
