//! Reads: one item, a page, or several items at one moment.

use super::capacity::{self, Basket};
use super::judge::is_throttle;
use super::transact::reason;
use super::{Context, Entry, Target};
use super::{due, stale, trace};
use crate::capacity::units::{self, Units};
use crate::error::{ApiError, ErrorKind};
use crate::key::Key;
use crate::storage::{Page, Past, Walk};
use crate::value::{AttributeValue, Item, Map};

/// A read of one item.
pub struct Get<'r> {
    /// The table.
    pub target: Target,
    /// The item's key.
    pub key: Key,
    /// The attributes that the key is among, for the journal.
    pub attributes: &'r Map,
    /// The value of its partition key, for the fault rules.
    pub partition: Option<&'r AttributeValue>,
    /// Whether it sees the item as it is, and not as it may have been a moment ago.
    pub consistent: bool,
    /// How often it is paid for: twice in transactions.
    pub factor: u64,
}

impl Get<'_> {
    /// What the read costs that has brought this.
    pub fn units(&self, item: Option<&Item>) -> Units {
        units::read(item.map_or(0, Item::size), self.consistent).times(self.factor)
    }

    pub(super) fn entry(&self) -> Entry<'_> {
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
    let item = find(context, get);
    paid(context, get, item)
}

/// What was read, if it can be paid for.
fn paid(context: &Context<'_>, get: &Get<'_>, item: Result<Option<Item>, ApiError>) -> Result<Option<Item>, ApiError> {
    let item = item.and_then(|item| pay(context, get, item.as_ref()).map(|()| item));
    context.tell(|draft| trace::got(draft, get, item.as_ref().map(Option::as_ref)));
    item
}

/// Reads one item for which there are so many bytes of room. `None` if it is larger: then nobody pays.
pub fn get_within(context: &Context<'_>, get: &Get<'_>, room: usize) -> Result<Option<Option<Item>>, ApiError> {
    let item = find(context, get);
    if let Ok(Some(found)) = &item
        && found.size() > room
    {
        return Ok(None);
    }
    paid(context, get, item).map(Some)
}

fn pay(context: &Context<'_>, get: &Get<'_>, item: Option<&Item>) -> Result<(), ApiError> {
    let table = &get.target.table;
    if table.capacity.is_counted() {
        let paid = capacity::reserve_read(context, table, get.key.token, get.units(item), get.partition);
        capacity::follow_splits(context, table);
        return paid;
    }
    Ok(())
}

fn find(context: &Context<'_>, get: &Get<'_>) -> Result<Option<Item>, ApiError> {
    context.judge(&get.entry())?;
    Ok(look(context, get))
}

fn look(context: &Context<'_>, get: &Get<'_>) -> Option<Item> {
    let table = &get.target.table;
    let place = table.partition_of(get.key.token);
    let partition = table.partition(place);
    let contents = due::read(table, partition, context.now);
    if let Some(history) = contents.history()
        && let Some(state) = stale::state(context, table, place, history, &get.key.bytes, get.consistent)
    {
        return Past::new(&contents, history, state).get(&get.key).cloned();
    }
    contents.get(&get.key).cloned()
}

/// Reads a page. A read that is not `consistent` may see each partition as it was a moment ago.
pub fn page(context: &Context<'_>, target: &Target, source: Source, walk: &Walk<'_>, consistent: bool) -> Page {
    let table = &target.table;
    match source {
        Source::Global(at) => {
            let (index, now) = (&target.shape.indexes[at], context.now);
            let settled = |is_due: &dyn Fn() -> bool| index.settled_page(walk, now, is_due);
            due::with_nothing_due(table, &target.shape, now, || index.page(walk, now), settled)
        }
        Source::Table | Source::Local(_) => {
            let local = if let Source::Local(at) = source { Some(at) } else { None };
            let look = |at| {
                let contents = due::read(table, table.partition(at), context.now);
                let state = contents
                    .history()
                    .and_then(|history| stale::state_of_page(context, table, at, history, walk, consistent));
                (contents, state)
            };
            table.page(local, walk, look)
        }
    }
}

/// Reads several items at one moment: all their partitions are locked, in order, before the first is read.
///
/// A read that is throttled, or meets a running transaction, cancels all of them.
pub fn transact_get(context: &Context<'_>, gets: &[Get<'_>]) -> Result<Vec<Option<Item>>, ApiError> {
    judge_all(context, gets)?;
    let place = |get: &Get<'_>| (get.target.table.ordinal, get.target.table.partition_of(get.key.token));
    let mut partitions: Vec<_> = gets.iter().map(|get| (place(get), get)).collect();
    partitions.sort_by_key(|(place, _)| *place);
    partitions.dedup_by_key(|(place, _)| *place);
    let guards: Vec<_> = partitions
        .iter()
        .map(|(place, get)| {
            let table = &get.target.table;
            (*place, due::read(table, table.partition(place.1), context.now))
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
        Some(&*guards[at].1)
    };
    let read = |get: &Get<'_>| contents(get)?.get(&get.key).cloned();
    let held = |get: &Get<'_>| contents(get).is_some_and(|contents| contents.is_marked(&get.key));
    if gets.iter().any(held) {
        let failures = gets.iter().map(|get| held(get).then(ApiError::transaction_conflict));
        return Err(cancelled(context, gets, failures.collect()));
    }
    let items: Vec<Option<Item>> = gets.iter().map(read).collect();
    drop(guards);
    pay_all(context, gets, &items)?;
    tell_all(context, gets, &items);
    Ok(items)
}

/// Reads several items, one after the other, and pays for all or for none: what a transaction costs that comes a second
/// time. That another one holds an item is nothing to it.
pub fn read_again(context: &Context<'_>, gets: &[Get<'_>]) -> Result<Vec<Option<Item>>, ApiError> {
    judge_all(context, gets)?;
    let items: Vec<Option<Item>> = gets.iter().map(|get| look(context, get)).collect();
    pay_all(context, gets, &items)?;
    tell_all(context, gets, &items);
    Ok(items)
}

/// Applies the fault rules and conditions to all of them. A throttle or a conflict cancels all.
fn judge_all(context: &Context<'_>, gets: &[Get<'_>]) -> Result<(), ApiError> {
    for (at, get) in gets.iter().enumerate() {
        context.judge(&get.entry()).map_err(|error| {
            if !is_throttle(&error) && error.kind() != ErrorKind::TransactionConflict {
                return error;
            }
            let failures = (0..gets.len()).map(|other| (other == at).then(|| error.clone()));
            cancelled(context, gets, failures.collect())
        })?;
    }
    Ok(())
}

/// Pays for all of them, or for none.
fn pay_all(context: &Context<'_>, gets: &[Get<'_>], items: &[Option<Item>]) -> Result<(), ApiError> {
    if !gets.iter().any(|get| get.target.table.capacity.is_counted()) {
        return Ok(());
    }
    let mut basket = Basket::default();
    for (entry, (get, item)) in gets.iter().zip(items).enumerate() {
        let units = get.units(item.as_ref());
        basket.add_read(entry, &get.target.table, get.key.token, units, get.partition);
    }
    let paid = basket.reserve(gets.len(), context.now);
    gets.iter()
        .for_each(|get| capacity::follow_splits(context, &get.target.table));
    paid.map_err(|lacking| cancelled(context, gets, lacking))
}

fn tell_all(context: &Context<'_>, gets: &[Get<'_>], items: &[Option<Item>]) {
    context.tell(|draft| {
        let read = gets.iter().zip(items);
        read.for_each(|(get, item)| trace::got(draft, get, Ok(item.as_ref())));
    });
}

fn cancelled(context: &Context<'_>, gets: &[Get<'_>], failures: Vec<Option<ApiError>>) -> ApiError {
    context.tell(|draft| trace::cancelled_gets(draft, gets, &failures));
    ApiError::transaction_cancelled(failures.into_iter().map(reason).collect())
}
