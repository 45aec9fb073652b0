//! Reads: one item, a page, or several items at one moment.

use std::sync::Arc;

use super::judge::is_throttle;
use super::transact::reason;
use super::{Context, Entry, Target};
use super::{due, stale};
use crate::error::ApiError;
use crate::key::Key;
use crate::storage::{Page, Past, Walk};
use crate::value::{AttributeValue, Item};

/// A read of one item.
pub struct Get<'r> {
    /// The table.
    pub target: Target,
    /// The item's key.
    pub key: Key,
    /// The value of its partition key, for the fault rules.
    pub partition: Option<&'r AttributeValue>,
    /// Whether it sees the item as it is, and not as it may have been a moment ago.
    pub consistent: bool,
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
    let place = table.partition_of(get.key.token);
    let partition = table.partition(place);
    let contents = due::read(table, &get.target.shape, partition, context.now);
    if let Some(history) = contents.history()
        && let Some(state) = stale::state(context, table, place, history, &get.key.bytes, get.consistent)
    {
        return Ok(Past::new(&contents, history, state).get(&get.key).cloned());
    }
    Ok(contents.get(&get.key).cloned())
}

/// Reads a page. A read that is not `consistent` may see each partition as it was a moment ago.
pub fn page(context: &Context<'_>, target: &Target, source: Source, walk: &Walk<'_>, consistent: bool) -> Page {
    let table = &target.table;
    match source {
        Source::Global(at) => {
            let (shape, now) = (&target.shape, context.now);
            let index = &shape.indexes[at];
            loop {
                due::run_partitions(table, shape, now);
                if !shape.has_due_work() {
                    return index.page(walk, now);
                }
                let is_due = || table.partitions().iter().any(|partition| partition.is_due(now));
                if let Some(page) = index.settled_page(walk, now, is_due) {
                    return page;
                }
            }
        }
        Source::Table | Source::Local(_) => {
            let local = if let Source::Local(at) = source { Some(at) } else { None };
            let look = |at| {
                let contents = due::read(table, &target.shape, table.partition(at), context.now);
                let state = contents
                    .history()
                    .and_then(|history| stale::state_of_page(context, table, at, history, walk, consistent));
                (contents, state)
            };
            table.page(target.definition(), local, walk, look)
        }
    }
}

/// Reads several items at one moment: all their partitions are locked, in order, before the first is read.
///
/// A read that is throttled, or meets a running transaction, cancels all of them.
pub fn transact_get(context: &Context<'_>, gets: &[Get<'_>]) -> Result<Vec<Option<Item>>, ApiError> {
    for (at, get) in gets.iter().enumerate() {
        context.judge(&get.entry()).map_err(|error| {
            if !is_throttle(&error) {
                return error;
            }
            let failures = (0..gets.len()).map(|other| (other == at).then(|| error.clone()));
            cancelled(failures)
        })?;
    }
    let place = |get: &Get<'_>| (get.target.table.ordinal, get.target.table.partition_of(get.key.token));
    let mut partitions: Vec<_> = gets.iter().map(|get| (place(get), get)).collect();
    partitions.sort_by_key(|(place, _)| *place);
    partitions.dedup_by_key(|(place, _)| *place);
    let guards: Vec<_> = partitions
        .iter()
        .map(|(place, get)| {
            let Target { table, shape } = &get.target;
            (*place, due::read(table, shape, table.partition(place.1), context.now))
        })
        .collect();
    for ((_, get), (_, contents)) in partitions.iter().zip(&guards) {
        if let Some(history) = contents.history() {
            // It sees the present, and later reads of this caller may have to know.
            stale::state(context, &get.target.table, place(get).1, history, &[], true);
        }
    }
    let contents = |get: &Get<'_>| {
        let at = guards.binary_search_by_key(&place(get), |(place, _)| *place).ok()?;
        Some(Arc::as_ref(&guards[at].1))
    };
    let read = |get: &Get<'_>| contents(get)?.get(&get.key).cloned();
    let held = |get: &Get<'_>| contents(get).is_some_and(|contents| contents.is_marked(&get.key));
    if gets.iter().any(|get| held(get)) {
        let failures = gets.iter().map(|get| held(get).then(ApiError::transaction_conflict));
        return Err(cancelled(failures));
    }
    Ok(gets.iter().map(read).collect())
}

fn cancelled(failures: impl Iterator<Item = Option<ApiError>>) -> ApiError {
    ApiError::transaction_cancelled(failures.map(reason).collect())
}
