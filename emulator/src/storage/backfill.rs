//! Filling an index that was added to a table: in slices, so that no request waits for all of it.
//!
//! From the addition on every write reaches the index through its queue. The backfill adds an entry for each item under
//! the lock of its partition, which is the same that the item's latest write has put or will put there: so it does not
//! matter in which order the two arrive, and a deleted item adds nothing.

use std::ops::Bound;
use std::sync::Arc;

use super::shape::Shape;
use super::table::Table;
use crate::capacity::units::{self, Units};
use crate::change::vector;
use crate::key::Key;
use crate::schema::{Index, VectorIndex};
use crate::value::{Item, Name};

/// The number of items in a slice, for which the lock of their partition is held: a fraction of a millisecond.
const SLICE: usize = 64;

/// An index that is being filled: its entries, which distinguish it from a later one of its name.
enum BackfilledIndex {
    Global(Arc<super::GlobalIndex>),
    Vector(Arc<super::VectorEntries>),
}

impl BackfilledIndex {
    fn of(shape: &Shape, name: &str) -> Option<BackfilledIndex> {
        let definition = &shape.definition;
        let global = definition.globals.iter().position(|index| index.name == name);
        if let Some(entries) = global.and_then(|at| shape.indexes.get(at)) {
            return Some(BackfilledIndex::Global(Arc::clone(entries)));
        }
        let vector = definition.vectors.iter().position(|index| index.name == name);
        let entries = vector.and_then(|at| shape.vectors.get(at))?;
        Some(BackfilledIndex::Vector(Arc::clone(entries)))
    }

    /// Adds the entries of some items, and returns their cost; `None` if the index has been removed.
    fn add(&self, shape: &Shape, items: &[(&Key, &Item)]) -> Option<Units> {
        match self {
            BackfilledIndex::Global(entries) => {
                let at = shape.indexes.iter().position(|there| Arc::ptr_eq(there, entries))?;
                let index = shape.definition.globals.get(at)?;
                let mut cost = Units::default();
                entries.fill(items.iter().filter_map(|(key, item)| {
                    let (key, entry) = global_entry(index, shape, key, item)?;
                    cost += units::write(entry.size());
                    Some((key, entry))
                }));
                Some(cost)
            }
            BackfilledIndex::Vector(entries) => {
                let at = shape.vectors.iter().position(|there| Arc::ptr_eq(there, entries))?;
                let index = shape.definition.vectors.get(at)?;
                entries.fill(
                    items
                        .iter()
                        .filter_map(|(key, item)| vector_entry(index, shape, key, item)),
                );
                Some(Units::default())
            }
        }
    }
}

fn global_entry(index: &Index, shape: &Shape, key: &Key, item: &Item) -> Option<(Key, Item)> {
    let entry = Key::of_entry(index, item, key)?;
    Some((entry, index.project(item, &shape.definition.key)))
}

fn vector_entry(index: &VectorIndex, shape: &Shape, key: &Key, item: &Item) -> Option<(Key, vector::VectorEntry)> {
    vector::entry(index, item, &shape.definition.key, key)
}

impl Table {
    /// Fills an index of this name with an entry for each item, and returns their cost. It stops if the index is
    /// removed meanwhile.
    pub fn backfill(&self, name: &Name) -> Units {
        let mut cost = Units::default();
        let Some(filled) = BackfilledIndex::of(&self.shape(), name) else {
            return cost;
        };
        for partition in self.partitions() {
            let mut from: Bound<Key> = Bound::Unbounded;
            loop {
                let contents = partition.read();
                let items = contents.by_key().range((from.as_ref(), Bound::Unbounded));
                let slice: Vec<(&Key, &Item)> = items.take(SLICE).collect();
                // The lock of a partition keeps the settings unchanged.
                match filled.add(&self.shape(), &slice) {
                    Some(units) => cost += units,
                    None => return cost,
                }
                match slice.last() {
                    Some((last, _)) if slice.len() == SLICE => from = Bound::Excluded((*last).clone()),
                    _ => break,
                }
            }
        }
        cost
    }
}
