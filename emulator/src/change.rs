//! A change of one item, computed completely before the state is modified: the item before and after, and the changes
//! of every index. Everything that can fail has been computed by then.

mod entries;
pub mod vector;

pub use entries::{check_changed, check_entries, with_local_entries};

use crate::capacity::Consumed;
use crate::capacity::units::{self, Units};
use crate::clock::Moment;
use crate::key::Key;
use crate::schema::{Definition, Index, VectorIndex};
use crate::value::{Item, Name};

/// The effect of an item's change on one index.
#[derive(Clone, Debug)]
pub struct IndexChange {
    /// The index's position among those of its kind.
    pub index: usize,
    /// Its name. The indexes may differ between planning and execution.
    pub name: Name,
    /// The key of the removed entry.
    pub remove: Option<Key>,
    pub insert: Option<(Key, Item)>,
    /// How much larger the index is afterwards, in bytes.
    pub growth: i64,
    /// The cost of the removed entry, where the change pays for it apart from the added one.
    pub removal: Units,
    /// The cost of the added entry.
    pub insertion: Units,
}

impl IndexChange {
    /// The cost of the change of the index.
    pub fn units(&self) -> Units {
        self.removal + self.insertion
    }
}

/// A part of a change's cost: the units of one token of a table or of one of its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostPart<'c> {
    /// The global index; none for the table and its local indexes, which use the table's capacity.
    pub global: Option<&'c Name>,
    pub token: u64,
    pub units: Units,
}

/// The effect of an item's change on one vector index.
#[derive(Clone, Debug)]
pub struct VectorChange {
    /// The index's place among the vector indexes.
    pub index: usize,
    pub name: Name,
    /// The key of the removed entry.
    pub remove: Option<Key>,
    pub insert: Option<(Key, vector::VectorEntry)>,
    /// The bytes that it is charged for.
    pub bytes: u64,
}

/// The cause of an item's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Request,
    /// Time to live has deleted the item.
    TimeToLive,
    /// A change of another region has arrived.
    Replication,
}

/// The position at which an item was found in its partition. Another item may be there by the time it is used.
#[derive(Clone, Copy, Debug)]
pub struct ItemPosition {
    /// The number of its chunk.
    pub chunk: u32,
    /// Its place in the chunk.
    pub entry: u32,
}

/// A change of one item.
#[derive(Clone, Debug)]
pub struct Change {
    pub cause: Cause,
    /// When the change was due, for due work that is noticed later; `None` if it happens when it is applied.
    pub due: Option<Moment>,
    /// Whether it is a due deletion that has been taken out of the due work. The caller publishes what remains of that.
    pub is_unscheduled: bool,
    pub key: Key,
    pub old: Option<Item>,
    /// The position at which the previous item was found.
    pub position: Option<ItemPosition>,
    pub new: Option<Item>,
    /// The effects on local indexes.
    pub locals: Vec<IndexChange>,
    /// The effects on global indexes.
    pub globals: Vec<IndexChange>,
    /// The effects on vector indexes.
    pub vectors: Vec<VectorChange>,
    /// The cost of the table's own part: twice the write units in a transaction.
    pub units: Units,
    /// The size of the item collection afterwards, in a table with local indexes.
    pub collection: u64,
}

impl Change {
    /// The deletion of an item of a table without indexes.
    #[cfg(test)]
    pub fn deletion(token: u64, old: Option<Item>) -> Change {
        let key = Key {
            token,
            bytes: crate::key::KeyBytes::new(),
        };
        let schema = crate::schema::KeySchema::new([], []);
        Change::new(&Definition::of_key(schema), key, old, None)
    }

    /// The change from `old` to `new` of the item under `key`.
    pub fn new(definition: &Definition, key: Key, old: Option<Item>, new: Option<Item>) -> Change {
        let size = |item: &Option<Item>| item.as_ref().map_or(0, Item::size);
        let units = units::write(size(&old).max(size(&new)));
        let mut change = Change {
            cause: Cause::Request,
            due: None,
            is_unscheduled: false,
            key,
            old,
            position: None,
            new,
            locals: Vec::new(),
            globals: Vec::new(),
            vectors: Vec::new(),
            units,
            collection: 0,
        };
        if definition.has_indexes() {
            change.globals = change.of_indexes(definition, &definition.globals);
            change.locals = change.of_indexes(definition, &definition.locals);
            if !definition.vectors.is_empty() {
                change.of_vectors(definition);
            }
        }
        change
    }

    /// How much larger the item collection is afterwards, in bytes.
    pub fn growth(&self) -> i64 {
        let locals: i64 = self.locals.iter().map(|arm| arm.growth).sum();
        difference(self.old.as_ref(), self.new.as_ref()) + locals
    }

    fn of_vectors(&mut self, definition: &Definition) {
        let size = |item: &Option<Item>| item.as_ref().map_or(0, |item| vector::written_size(definition, item));
        self.units = units::write(size(&self.old).max(size(&self.new)));
        let indexes = definition.vectors.iter().enumerate();
        self.vectors = indexes
            .filter_map(|(at, index)| self.of_vector(definition, at, index))
            .collect();
    }

    fn of_vector(&self, definition: &Definition, at: usize, index: &VectorIndex) -> Option<VectorChange> {
        let entry = |item: &Option<Item>| vector::entry(index, item.as_ref()?, &definition.key, &self.key);
        let bytes = |entry: &vector::VectorEntry| units::vector_bytes(entry.size());
        let (remove, insert, bytes) = match (entry(&self.old), entry(&self.new)) {
            (None, None) => return None,
            (None, Some(new)) => {
                let bytes = bytes(&new.1);
                (None, Some(new), bytes)
            }
            (Some((key, old)), None) => (Some(key), None, bytes(&old)),
            (Some((old_key, old)), Some((key, new))) if old_key == key => {
                if old.same_view(&new, &index.attribute) {
                    return None;
                }
                let bytes = bytes(&old).max(bytes(&new));
                (None, Some((key, new)), bytes)
            }
            (Some((old_key, old)), Some((key, new))) => {
                let bytes = bytes(&old) + bytes(&new);
                (Some(old_key), Some((key, new)), bytes)
            }
        };
        Some(VectorChange {
            index: at,
            name: index.name.clone(),
            remove,
            insert,
            bytes,
        })
    }

    /// When a change that is applied at `now` happens.
    pub fn happened(&self, now: Moment) -> Moment {
        self.due.unwrap_or(now)
    }

    fn of_indexes(&self, definition: &Definition, indexes: &[Index]) -> Vec<IndexChange> {
        indexes
            .iter()
            .enumerate()
            .filter_map(|(at, index)| self.of_index(definition, at, index))
            .collect()
    }

    fn of_index(&self, definition: &Definition, at: usize, index: &Index) -> Option<IndexChange> {
        let entry = |item: &Option<Item>| {
            let item = item.as_ref()?;
            let key = Key::of_entry(index, item, &self.key)?;
            Some((key, index.project(item, &definition.key)))
        };
        let (old, new) = (entry(&self.old), entry(&self.new));
        let growth = difference(old.as_ref().map(|(_, item)| item), new.as_ref().map(|(_, item)| item));
        let (remove, insert, removal, insertion) = match (old, new) {
            (None, None) => return None,
            (None, Some((key, item))) => {
                let insertion = units::write(item.size());
                (None, Some((key, item)), Units::ZERO, insertion)
            }
            (Some((key, item)), None) => (Some(key), None, units::write(item.size()), Units::ZERO),
            (Some((old_key, old)), Some((new_key, new))) if old_key == new_key => {
                if old == new {
                    // The entry is unchanged. If it is the item itself, the newer copy need not replace it.
                    return None;
                }
                let insertion = units::write(old.size().max(new.size()));
                (None, Some((new_key, new)), Units::ZERO, insertion)
            }
            (Some((old_key, old)), Some((new_key, new))) => {
                let (removal, insertion) = (units::write(old.size()), units::write(new.size()));
                (Some(old_key), Some((new_key, new)), removal, insertion)
            }
        };
        Some(IndexChange {
            index: at,
            name: index.name.clone(),
            remove,
            insert,
            growth,
            removal,
            insertion,
        })
    }

    /// Makes the change one of a transaction, which pays twice for the table. Indexes follow outside of the transaction and
    /// are paid for once.
    pub fn pay_for_transaction(&mut self) {
        self.units = self.units.times(2);
    }

    /// The change's cost in capacity, part by part, the table's first.
    pub fn cost(&self) -> impl Iterator<Item = CostPart<'_>> {
        let locals: Units = self.locals.iter().map(IndexChange::units).sum();
        let table = CostPart {
            global: None,
            token: self.key.token,
            units: self.units + locals,
        };
        let globals = self.globals.iter().flat_map(|arm| {
            let part = move |token, units| CostPart {
                global: Some(&arm.name),
                token,
                units,
            };
            let removed = arm.remove.as_ref().map(|key| part(key.token, arm.removal));
            let inserted = arm.insert.as_ref().map(|(key, _)| part(key.token, arm.insertion));
            removed.into_iter().chain(inserted)
        });
        std::iter::once(table).chain(globals)
    }

    /// The change's cost by table and index, as a response reports it.
    pub fn consumed(&self, table: &Name) -> Consumed {
        let mut consumed = Consumed::new(table.clone());
        consumed.table = self.units;
        for arm in &self.globals {
            consumed.add_global(arm.name.clone(), arm.units());
        }
        for arm in &self.locals {
            consumed.add_local(arm.name.clone(), arm.units());
        }
        for arm in &self.vectors {
            consumed.add_vector(arm.name.clone(), arm.bytes);
        }
        consumed
    }
}

/// The cost of a write whose condition fails for this item, or for the absence of one.
pub fn failure_units(definition: &Definition, item: Option<&Item>) -> Units {
    units::write(item.map_or(0, |item| vector::written_size(definition, item)))
}

/// The growth of an item in bytes; negative if it shrinks.
fn difference(old: Option<&Item>, new: Option<&Item>) -> i64 {
    let size = |item: Option<&Item>| item.map_or(0, Item::size) as i64;
    size(new) - size(old)
}
