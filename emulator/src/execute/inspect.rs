//! Unmetered reads of stored items: page by page, and the position of a key.

use std::ops::{Bound, Deref};
use std::sync::Arc;

use super::account::AccountControls;
use super::control::{Controls, NotFound};
use super::due;
use crate::capacity::Ledger;
use crate::key::{self, Key, KeyBytes};
use crate::schema::Index;
use crate::storage::{KeyRange, Page, PageLimit, Shape, Table, Walk};
use crate::value::{Item, Map};

#[derive(Clone, Debug, Default)]
pub struct ItemsQuery<'a> {
    /// The global or local index whose entries are listed; `None`: the table's items.
    pub index: Option<&'a str>,
    /// The number of the capacity partition whose items are listed; `None`: all.
    pub partition: Option<u64>,
    /// The key after which the page starts.
    pub after: Option<Key>,
    /// How many items to skip before the page.
    pub skip: usize,
    /// The maximum number of items; a page also ends after 1 MB.
    pub limit: usize,
}

/// An item, or an entry of an index, and its position.
#[derive(Clone, Debug)]
pub struct StoredItem {
    /// The key attributes: the table's, and those of the index that is listed.
    pub key: Map,
    pub place: KeyPlacement,
    pub item: Item,
}

/// The position of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlacement {
    /// The token of the partition key.
    pub token: u64,
    /// The number of the capacity partition that the token belongs to.
    pub partition: usize,
}

#[derive(Clone, Debug, Default)]
pub struct ItemsPage {
    /// The items, in the order of tokens and keys.
    pub items: Vec<StoredItem>,
    /// The number of skipped items: fewer than requested if there are no more.
    pub skipped: usize,
    /// The key after which the next page starts; `None` if this is the last.
    pub next: Option<Key>,
}

/// The first token of each capacity partition of a table or global index: of a new one, if capacity is not counted.
fn partition_starts(table: &Table, shape: &Shape, index: Option<&str>) -> Vec<u64> {
    let counted = table.capacity.lock();
    if let Some(ledger) = counted.as_ref() {
        return ledger.partition_starts_of(index);
    }
    drop(counted);
    let new = Ledger::new(&shape.definition, shape.conditions.capacity, table.created);
    new.partition_starts_of(index)
}

fn place(starts: &[u64], token: u64) -> KeyPlacement {
    let partition = starts.partition_point(|start| *start <= token).saturating_sub(1);
    KeyPlacement { token, partition }
}

/// The keys of a capacity partition; `None` if the partition does not exist.
fn tokens(starts: &[u64], partition: u64) -> Option<KeyRange> {
    let at = usize::try_from(partition).ok()?;
    let first = |token: u64| Key {
        token,
        bytes: KeyBytes::new(),
    };
    Some(KeyRange {
        lower: Bound::Included(first(*starts.get(at)?)),
        upper: starts
            .get(at + 1)
            .map_or(Bound::Unbounded, |next| Bound::Excluded(first(*next))),
    })
}

impl<E: Deref<Target: AsRef<Controls>>> AccountControls<E> {
    /// A page of a table's present items, or of an index's entries. It costs no capacity and is not logged.
    pub(crate) fn items_page(&self, table: &str, query: &ItemsQuery<'_>) -> Result<ItemsPage, NotFound> {
        let table = self.table(table)?;
        let now = self.controls().clock.now();
        due::run_due(&table, now);
        let shape = table.shape();
        let found = query.index.map(|name| {
            let found = shape.definition.index(name);
            found.ok_or_else(|| NotFound(format!("Table {} has no index {name} that can be listed.", table.name)))
        });
        let index: Option<&Index> = found.transpose()?.map(|(_, index)| index);
        let global = index.filter(|index| !index.local).map(|index| index.name.as_str());
        let starts = partition_starts(&table, &shape, global);
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let mut range = match query.partition {
            None => everything,
            Some(partition) => tokens(&starts, partition).ok_or_else(|| {
                let count = starts.len();
                NotFound(format!(
                    "There is no partition {partition}; there are {count}, counted from 0."
                ))
            })?,
        };
        if let Some(after) = &query.after {
            let rest = KeyRange {
                lower: Bound::Excluded(after.clone()),
                upper: Bound::Unbounded,
            };
            range = range.intersection(rest);
        }
        let walk = Walk {
            range: &range,
            forward: true,
            limit: match query.skip {
                0 => PageLimit::new(Some(query.limit)),
                skip => PageLimit {
                    items: skip.saturating_add(query.limit),
                    bytes: usize::MAX,
                    preload: 0,
                },
            },
            fetch: None,
            encodes: false,
        };
        let mut page = page(&table, &shape, index, &walk, now);
        let skipped = page.skip(query.skip);
        let key_of = |item: &Item| {
            let base = Key::read(&shape.definition.key, item)?;
            match index {
                Some(index) => Key::place(index, item, &base),
                None => Some(base),
            }
        };
        let next = page.cut_after().and_then(key_of);
        let stored = |item: Item| {
            let token = key_of(&item)?.token;
            Some(StoredItem {
                key: key::key_attributes(&item, &shape.definition.key, index),
                place: place(&starts, token),
                item,
            })
        };
        Ok(ItemsPage {
            items: page.items.into_iter().filter_map(stored).collect(),
            skipped,
            next,
        })
    }

    /// The position of an item of a table, existing or not, by its key.
    pub(crate) fn place(&self, table: &str, key: &Map) -> Result<Option<KeyPlacement>, NotFound> {
        let table = self.table(table)?;
        let shape = table.shape();
        let key = Key::of_key(&shape.definition.key, key).ok();
        Ok(key.map(|key| place(&partition_starts(&table, &shape, None), key.token)))
    }
}

fn page(table: &Arc<Table>, shape: &Shape, index: Option<&Index>, walk: &Walk<'_>, now: crate::clock::Moment) -> Page {
    let named = |indexes: &[Index]| {
        indexes
            .iter()
            .position(|there| index.is_some_and(|index| there.name == index.name))
    };
    if let Some(entries) = named(&shape.definition.globals).and_then(|at| shape.indexes.get(at)) {
        return entries.page(walk, now);
    }
    let local = named(&shape.definition.locals);
    table.page(local, walk, |at| (table.partition(at).read(), None))
}
