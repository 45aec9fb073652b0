//! Reads: one item, a page, or several items at one moment.

use std::sync::Arc;

use super::due;
use super::{Context, Entry, Target};
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
}

impl Get<'_> {
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
    context.judge(&get.entry())?;
    let table = &get.target.table;
    let partition = table.partition(table.partition_of(get.key.token));
    let contents = due::read(table, &get.target.shape, partition, context.now);
    Ok(contents.get(&get.key).cloned())
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
pub fn transact_get(context: &Context<'_>, gets: &[Get<'_>]) -> Result<Vec<Option<Item>>, (usize, ApiError)> {
    for (at, get) in gets.iter().enumerate() {
        context.judge(&get.entry()).map_err(|error| (at, error))?;
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
    Ok(gets.iter().map(read).collect())
}
