//! A change of one item, computed in full before anything is touched: the item before and after, and what follows from it
//! for every index. Whatever could fail has failed by then.

use smallvec::SmallVec;

use crate::capacity::Consumed;
use crate::capacity::units::{self, Units};
use crate::clock::Moment;
use crate::key::Key;
use crate::schema::{Definition, Index};
use crate::value::{Item, Name};

/// What an item's change does to one index.
#[derive(Clone, Debug)]
pub struct IndexChange {
    /// The index's place among those of its kind.
    pub index: usize,
    /// Its name: whoever made the plan may have known other indexes than whoever carried it out.
    pub name: Name,
    /// The entry that goes.
    pub remove: Option<Key>,
    /// The entry that comes.
    pub insert: Option<(Key, Item)>,
    /// What that costs.
    pub units: Units,
}

/// What makes an item change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody has asked for it.
    Request,
    /// Time to live has deleted the item.
    TimeToLive {
        /// When that was due, which is when it happened, whenever it was noticed.
        due: Moment,
    },
}

/// A change of one item.
#[derive(Clone, Debug)]
pub struct Change {
    /// What made it.
    pub cause: Cause,
    /// The item's key.
    pub key: Key,
    /// The item before.
    pub old: Option<Item>,
    /// The item after.
    pub new: Option<Item>,
    /// What happens to local indexes.
    pub locals: SmallVec<[IndexChange; 1]>,
    /// What happens to global indexes.
    pub globals: SmallVec<[IndexChange; 1]>,
    /// What the table's own part costs.
    pub units: Units,
}

impl Change {
    /// The change from `old` to `new` of the item under `key`.
    pub fn new(definition: &Definition, key: Key, old: Option<Item>, new: Option<Item>) -> Change {
        let size = |item: &Option<Item>| item.as_ref().map_or(0, Item::size);
        let units = units::write(size(&old).max(size(&new)));
        let mut change = Change {
            cause: Cause::Request,
            key,
            old,
            new,
            locals: SmallVec::new(),
            globals: SmallVec::new(),
            units,
        };
        if definition.has_indexes() {
            change.globals = change.of_indexes(definition, &definition.globals);
            change.locals = change.of_indexes(definition, &definition.locals);
        }
        change
    }

    /// The deletion of an item by time to live, which was due at this moment.
    pub fn expiry(definition: &Definition, key: Key, item: Item, due: Moment) -> Change {
        Change {
            cause: Cause::TimeToLive { due },
            ..Change::new(definition, key, Some(item), None)
        }
    }

    /// When a change that is applied at `now` happens.
    pub fn happened(&self, now: Moment) -> Moment {
        match self.cause {
            Cause::Request => now,
            Cause::TimeToLive { due } => due,
        }
    }

    fn of_indexes(&self, definition: &Definition, indexes: &[Index]) -> SmallVec<[IndexChange; 1]> {
        indexes
            .iter()
            .enumerate()
            .filter_map(|(at, index)| self.of_index(definition, at, index))
            .collect()
    }

    fn of_index(&self, definition: &Definition, at: usize, index: &Index) -> Option<IndexChange> {
        let entry = |item: &Option<Item>| {
            let item = item.as_ref()?;
            let key = Key::of_entry(index, item.attributes(), &self.key)?;
            Some((key, index.project(item, &definition.key)))
        };
        let (remove, insert, units) = match (entry(&self.old), entry(&self.new)) {
            (None, None) => return None,
            (None, Some((key, item))) => {
                let units = units::write(item.size());
                (None, Some((key, item)), units)
            }
            (Some((key, item)), None) => (Some(key), None, units::write(item.size())),
            (Some((old_key, old)), Some((new_key, new))) if old_key == new_key => {
                if old == new {
                    // The entry is as it was; where it is the item itself, the newer one need not replace it.
                    return None;
                }
                let units = units::write(old.size().max(new.size()));
                (None, Some((new_key, new)), units)
            }
            (Some((old_key, old)), Some((new_key, new))) => {
                let units = units::write(old.size()) + units::write(new.size());
                (Some(old_key), Some((new_key, new)), units)
            }
        };
        Some(IndexChange {
            index: at,
            name: index.name.clone(),
            remove,
            insert,
            units,
        })
    }

    /// What the whole change costs. Transactions pay the table's part `factor` = 2 times; indexes follow outside of the
    /// transaction and are paid once.
    pub fn consumed(&self, table: &Name, factor: u64) -> Consumed {
        let mut consumed = Consumed::new(table.clone());
        consumed.table = self.units.times(factor);
        for arm in &self.globals {
            consumed.add_global(arm.name.clone(), arm.units);
        }
        for arm in &self.locals {
            consumed.add_local(arm.name.clone(), arm.units);
        }
        consumed
    }
}
