//! The items of a partition, in order: in chunks shared with snapshots, so that the first write after a snapshot copies
//! one chunk and not the partition.

mod chunk;

use std::ops::Bound;
use std::sync::Arc;

use self::chunk::Chunk;
use crate::change::ItemPosition;
use crate::key::Key;
use crate::reclaim::Reclaimer;
use crate::sort;
use crate::value::Item;

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

    fn chunk(&self, place: usize) -> &Chunk {
        match place.checked_sub(1) {
            None => &self.first,
            Some(at) => &self.rest[at],
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
        let at = chunk.find(key)?;
        let position = ItemPosition {
            chunk: place as u32,
            entry: at as u32,
        };
        Some((&chunk.entries()[at].1, position))
    }

    /// Puts an item. It is not searched for if it is still at the position where it was found.
    #[inline]
    pub fn put(&mut self, key: &Key, found: Option<ItemPosition>, item: Item) {
        if let Some(found) = found
            && found.chunk as usize <= self.rest.len()
            && let chunk = self.chunk_mut(found.chunk as usize)
            && chunk.has_at(found.entry as usize, key)
        {
            chunk.replace(found.entry as usize, item);
            return;
        }
        self.insert(key.clone(), item);
    }

    /// Puts an item, and returns the one before.
    pub fn insert(&mut self, key: Key, item: Item) -> Option<Item> {
        let place = self.place(&key);
        let chunk = self.chunk_mut(place);
        if let Some(at) = chunk.find(&key) {
            return Some(chunk.replace(at, item));
        }
        chunk.insert(key, item);
        if chunk.is_full() {
            self.split(place);
        }
        self.len += 1;
        None
    }

    #[cold]
    fn split(&mut self, place: usize) {
        let upper = self.chunk_mut(place).split();
        let Some((middle, _)) = upper.entries().first() else {
            return;
        };
        self.bounds.insert(place, middle.clone());
        self.rest.insert(place, Arc::new(upper));
    }

    /// Removes and returns the item under a key. It is not searched for if it is still at the position where it was found.
    pub fn remove(&mut self, key: &Key, found: Option<ItemPosition>) -> Option<Item> {
        let found = found.filter(|found| {
            let place = found.chunk as usize;
            place <= self.rest.len() && self.chunk(place).has_at(found.entry as usize, key)
        });
        let (place, at) = if let Some(found) = found {
            (found.chunk as usize, found.entry as usize)
        } else {
            let place = self.place(key);
            (place, self.chunk(place).find(key)?)
        };
        let chunk = self.chunk_mut(place);
        let gone = chunk.remove(at);
        if chunk.entries().is_empty() {
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
            let before = chunk.entries().len();
            chunk.remove_found(of_chunk);
            let removed = before - chunk.entries().len();
            if chunk.entries().is_empty() {
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
        chunks.flat_map(|chunk| chunk.entries()).map(|(key, item)| (key, item))
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
            let lower = if place == first { lower } else { Bound::Unbounded };
            let upper = if place == last { upper } else { Bound::Unbounded };
            self.chunk(place).range(lower, upper)
        });
        entries.map(|(key, item)| (key, item))
    }
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
