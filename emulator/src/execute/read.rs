//! Reads: one item, a page, or several items at one moment.

use std::sync::Arc;

use super::capacity::{self, Basket};
use super::due;
use super::{Context, Entry, Target};
use crate::capacity::units::{self, Units};
use crate::error::ApiError;
use crate::key::Key;
use crate::schema::KeySchema;
use crate::storage::{KeyRange, Page, PageLimit};
use crate::value::{AttributeValue, Item};

/// A read of one item.
pub struct Get<'r> {
    /// The table.
    pub target: Target,
    /// The item's key.
    pub key: Key,
    /// The value of its partition key, for the fault rules.
    pub partition: Option<&'r AttributeValue>,
    /// Whether it costs as a consistent read.
    pub consistent: bool,
    /// How often it costs that: 2 in transactions.
    pub factor: u64,
}

impl Get<'_> {
    /// What the read costs that has brought this.
    pub fn units(&self, item: Option<&Item>) -> Units {
        units::read(item.map_or(0, Item::size), self.consistent).times(self.factor)
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            table: &self.target.table,
            shape: &self.target.shape,
            index: None,
            partition: self.partition,
            writes: false,
        }
    }
}

/// Where a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The table.
    Table,
    /// One of its local indexes.
    Local(usize),
    /// One of its global indexes.
    Global(usize),
}

/// Reads one item.
pub fn get(context: &Context<'_>, get: &Get<'_>) -> Result<Option<Item>, ApiError> {
    let item = find(context, get)?;
    pay(context, get, item.as_ref())?;
    Ok(item)
}

/// Reads one item for which there are so many bytes of room. `None` if it is larger: then nobody pays.
pub fn get_within(context: &Context<'_>, get: &Get<'_>, room: usize) -> Result<Option<Option<Item>>, ApiError> {
    let item = find(context, get)?;
    if item.as_ref().is_some_and(|item| item.size() > room) {
        return Ok(None);
    }
    pay(context, get, item.as_ref())?;
    Ok(Some(item))
}

fn find(context: &Context<'_>, get: &Get<'_>) -> Result<Option<Item>, ApiError> {
    context.judge(&get.entry())?;
    let table = &get.target.table;
    let partition = table.partition(table.partition_of(get.key.token));
    let contents = due::read(table, &get.target.shape, partition, context.now);
    Ok(contents.get(&get.key).cloned())
}

fn pay(context: &Context<'_>, get: &Get<'_>, item: Option<&Item>) -> Result<(), ApiError> {
    let table = &get.target.table;
    if table.capacity.is_counted() {
        capacity::reserve_read(context, table, get.key.token, get.units(item), get.partition)?;
    }
    Ok(())
}

/// Reads a page. `fetch` is the table's key if what a local index does not project is wanted from the table.
pub fn page(
    context: &Context<'_>,
    target: &Target,
    source: Source,
    range: &KeyRange,
    forward: bool,
    limit: PageLimit,
    fetch: Option<&KeySchema>,
) -> Page {
    let table = &target.table;
    match source {
        Source::Global(at) => {
            due::run_partitions(table, &target.shape, context.now);
            let index = &target.shape.indexes[at];
            index.drain(context.now);
            index.page(range, forward, limit)
        }
        Source::Table | Source::Local(_) => {
            let local = if let Source::Local(at) = source { Some(at) } else { None };
            let lock = |at| due::read(table, &target.shape, table.partition(at), context.now);
            table.page(local, range, forward, limit, fetch, lock)
        }
    }
}

/// Reads several items at one moment: all their partitions are locked, in order, before the first is read.
///
/// If it fails, it says at which of them, and how.
pub fn transact_get(context: &Context<'_>, gets: &[Get<'_>]) -> Result<Vec<Option<Item>>, Vec<(usize, ApiError)>> {
    for (at, get) in gets.iter().enumerate() {
        context.judge(&get.entry()).map_err(|error| vec![(at, error)])?;
    }
    let mut partitions: Vec<(u64, usize, &Get<'_>)> = gets
        .iter()
        .map(|get| {
            (
                get.target.table.ordinal,
                get.target.table.partition_of(get.key.token),
                get,
            )
        })
        .collect();
    partitions.sort_by_key(|(table, partition, _)| (*table, *partition));
    partitions.dedup_by_key(|(table, partition, _)| (*table, *partition));
    let guards: Vec<_> = partitions
        .iter()
        .map(|(ordinal, at, get)| {
            let Target { table, shape } = &get.target;
            (
                (*ordinal, *at),
                due::read(table, shape, table.partition(*at), context.now),
            )
        })
        .collect();
    let read = |get: &Get<'_>| {
        let place = (get.target.table.ordinal, get.target.table.partition_of(get.key.token));
        let at = guards.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        Arc::as_ref(&guards[at].1).get(&get.key).cloned()
    };
    let items: Vec<Option<Item>> = gets.iter().map(read).collect();
    drop(guards);
    if gets.iter().any(|get| get.target.table.capacity.is_counted()) {
        let mut basket = Basket::default();
        for (entry, (get, item)) in gets.iter().zip(&items).enumerate() {
            let units = get.units(item.as_ref());
            basket.add_read(entry, &get.target.table, get.key.token, units, get.partition);
        }
        basket.reserve(context.now)?;
    }
    Ok(items)
}
