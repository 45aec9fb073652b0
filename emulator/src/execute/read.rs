//! Reads of one item, or of several items at one moment.

use super::authorize::Refusals;
use super::capacity::{self, TransactionDemands};
use super::transact::reason;
use super::{due, stale, strong, trace};
use crate::capacity::Direction;
use crate::context::Context;
use crate::error::ApiError;
use crate::plan::Get;
use crate::sort;
use crate::storage::EarlierState;
use crate::value::Item;

pub fn get(context: &Context<'_>, get: &Get<'_>) -> Result<Option<Item>, ApiError> {
    admit(context, get)?;
    spend_and_record(context, get, find(context, get))
}

/// A strongly consistent read of a replica may need another region.
fn admit(context: &Context<'_>, get: &Get<'_>) -> Result<(), ApiError> {
    if get.consistent && get.target.table.is_replica() {
        return strong::admit_read(context, &get.target.table, Some(&get.key));
    }
    Ok(())
}

/// Pays for a read item.
fn spend_and_record(context: &Context<'_>, get: &Get<'_>, item: Option<Item>) -> Result<Option<Item>, ApiError> {
    let item = spend_get(context, get, item.as_ref()).map(|()| item);
    context.record(|recorder| trace::read_item(recorder, get, item.as_ref().map(Option::as_ref)));
    item
}

/// Reads one item of at most `room` bytes. Returns `None` if it is larger, at no cost.
#[allow(clippy::option_option)] // no room, or what there is room for, which may be no item
pub fn get_within(context: &Context<'_>, get: &Get<'_>, room: usize) -> Result<Option<Option<Item>>, ApiError> {
    admit(context, get)?;
    let item = find(context, get);
    if item.as_ref().is_some_and(|found| found.size() > room) {
        return Ok(None);
    }
    spend_and_record(context, get, item).map(Some)
}

fn spend_get(context: &Context<'_>, get: &Get<'_>, item: Option<&Item>) -> Result<(), ApiError> {
    let table = &get.target.table;
    if table.capacity.is_counted() {
        let paid = capacity::reserve_item(
            context,
            table,
            Direction::Read,
            (get.key.token, get.partition()),
            get.units(item),
        );
        capacity::follow_splits(context, table);
        return paid;
    }
    Ok(())
}

fn find(context: &Context<'_>, get: &Get<'_>) -> Option<Item> {
    let table = &get.target.table;
    let place = table.partition_of(get.key.token);
    let partition = table.partition(place);
    let contents = due::read_items(table, partition, std::iter::once(&get.key), context.now);
    let visible = || due::visible(table, partition, &contents, &get.key, context.now);
    if let Some(history) = contents.history()
        && let Some(state) = stale::state(
            context,
            table,
            place,
            (&contents, history),
            &get.key.bytes,
            get.consistent,
        )
    {
        let earlier = EarlierState::new(&contents, history, state);
        let visible = || due::visible_in_state(table, partition, &contents, &get.key, state);
        return earlier.get_or(&get.key, visible).cloned();
    }
    visible().cloned()
}

/// Reads several items at one moment: all their partitions are locked, in order, before the first is read.
///
/// A read that is throttled, or conflicts with a running transaction, cancels all of them.
pub fn transact_get(
    context: &Context<'_>,
    gets: &[Get<'_>],
    refusals: Refusals,
) -> Result<Vec<Option<Item>>, ApiError> {
    all_allowed(context, gets, refusals)?;
    gets.iter()
        .try_for_each(|get| strong::admit_transaction(&get.target.table))?;
    let place = |get: &Get<'_>| (get.target.table.ordinal, get.target.table.partition_of(get.key.token));
    let mut partitions: Vec<_> = gets.iter().map(|get| (place(get), get)).collect();
    sort::sort_by_key(&mut partitions, |(place, _)| *place);
    let partitions: Vec<_> = partitions.chunk_by(|(one, _), (other, _)| one == other).collect();
    let guards: Vec<_> = partitions
        .iter()
        .map(|gets| {
            let (place, get) = gets[0];
            let (table, keys) = (&get.target.table, gets.iter().map(|(_, get)| &get.key));
            (
                place,
                due::read_items(table, table.partition(place.1), keys, context.now),
            )
        })
        .collect();
    for (gets, (_, contents)) in partitions.iter().zip(&guards) {
        let (_, get) = gets[0];
        if let Some(history) = contents.history() {
            // It sees the present state, which later reads of this caller may depend on.
            stale::state(context, &get.target.table, place(get).1, (contents, history), &[], true);
        }
    }
    let contents = |get: &Get<'_>| {
        let at = guards.binary_search_by_key(&place(get), |(place, _)| *place).ok()?;
        Some(&*guards[at].1)
    };
    let read = |get: &Get<'_>| {
        let (table, at) = (&get.target.table, place(get).1);
        due::visible(table, table.partition(at), contents(get)?, &get.key, context.now).cloned()
    };
    let held = |get: &Get<'_>| contents(get).is_some_and(|contents| contents.is_marked(&get.key));
    if gets.iter().any(held) {
        let failures = gets.iter().map(|get| held(get).then(ApiError::transaction_conflict));
        return Err(cancelled(context, gets, failures.collect()));
    }
    let items: Vec<Option<Item>> = gets.iter().map(read).collect();
    drop(guards);
    spend_all(context, gets, &items)?;
    record_reads(context, gets, &items);
    Ok(items)
}

/// Reads several items, one after the other, and pays for all or for none: the cost of a repeated transaction.
/// Conflicts with other transactions are ignored.
pub fn read_again(context: &Context<'_>, gets: &[Get<'_>], refusals: Refusals) -> Result<Vec<Option<Item>>, ApiError> {
    all_allowed(context, gets, refusals)?;
    let items: Vec<Option<Item>> = gets.iter().map(|get| find(context, get)).collect();
    spend_all(context, gets, &items)?;
    record_reads(context, gets, &items);
    Ok(items)
}

/// A rejected read cancels all.
fn all_allowed(context: &Context<'_>, gets: &[Get<'_>], mut refusals: Refusals) -> Result<(), ApiError> {
    if !refusals.any() {
        return Ok(());
    }
    let failures = (0..gets.len()).map(|entry| refusals.of(entry).err());
    Err(cancelled(context, gets, failures.collect()))
}

/// Pays for all of them, or for none.
fn spend_all(context: &Context<'_>, gets: &[Get<'_>], items: &[Option<Item>]) -> Result<(), ApiError> {
    if !gets.iter().any(|get| get.target.table.capacity.is_counted()) {
        return Ok(());
    }
    let mut demands = TransactionDemands::default();
    for (entry, (get, item)) in gets.iter().zip(items).enumerate() {
        let units = get.units(item.as_ref());
        demands.add_read(entry, &get.target.table, get.key.token, units, get.partition());
    }
    let paid = demands.reserve(gets.len(), context.now);
    gets.iter()
        .for_each(|get| capacity::follow_splits(context, &get.target.table));
    paid.map_err(|lacking| cancelled(context, gets, lacking))
}

fn record_reads(context: &Context<'_>, gets: &[Get<'_>], items: &[Option<Item>]) {
    context.record(|recorder| {
        let read = gets.iter().zip(items);
        read.for_each(|(get, item)| trace::read_item(recorder, get, Ok(item.as_ref())));
    });
}

fn cancelled(context: &Context<'_>, gets: &[Get<'_>], failures: Vec<Option<ApiError>>) -> ApiError {
    context.record(|recorder| trace::cancelled_gets(recorder, gets, &failures));
    ApiError::transaction_cancelled(failures.into_iter().map(reason).collect())
}
