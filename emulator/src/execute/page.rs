//! Reads of a page of a table or index.

use std::ops::Bound;

use super::page_cost::{PageCost, tokens_read};
use super::{capacity, due, stale, strong, trace};
use crate::context::Context;
use crate::error::ApiError;
use crate::plan::{PageRange, PageRead, ReadSource, Select};
use crate::storage::{EarlierState, EncodedItems, Page, PageLimit, Walk};
use crate::value::Item;

/// The result of reading a table or index.
pub struct PageResult {
    /// The returned items, unless they are encoded: those that pass the filter, from the table where they are fetched for a
    /// local index.
    pub items: Vec<Item>,
    /// The returned items as JSON, if the read encodes them.
    pub encoded: Option<EncodedItems>,
    /// The number of items read.
    pub scanned: usize,
    /// The sizes of the items read.
    pub bytes: usize,
    /// Where the next page starts, if a limit has ended this one: the range, and its last item that was read.
    pub next: Option<(usize, Item)>,
    pub cost: PageCost,
}

impl PageResult {
    /// The number of returned items.
    pub fn count(&self) -> usize {
        self.encoded.as_ref().map_or(self.items.len(), |encoded| encoded.count)
    }
}

/// Reads ranges of keys, one after the other, up to a limit. Where capacity is enforced, a range is read if any
/// capacity is available, and its cost is spent afterwards.
pub fn page(context: &Context<'_>, read: &PageRead<'_>) -> Result<PageResult, ApiError> {
    if read.consistent && read.target.table.is_replica() {
        strong::admit_read(context, &read.target.table, None)?;
    }
    let mut limit = PageLimit::new(read.limit.and_then(|limit| usize::try_from(limit).ok()));
    if read.select == Some(Select::Count) && read.filter.is_none() {
        limit.preload = 0;
    }
    let fetch = read.fetches().then_some(&read.target.definition().key);
    let mut all = Page::default();
    let mut next = None;
    let mut cost = PageCost::default();
    for (at, range) in read.ranges.iter().enumerate() {
        let walk = Walk {
            range: &range.keys,
            forward: read.forward,
            limit,
            fetch,
            encodes: read.encodes,
        };
        let before = (at > 0).then_some(all.bytes);
        let page = read_and_spend(context, read, range, &walk, before);
        context.record(|recorder| trace::paged(recorder, read, range, page.as_ref().map(|(page, cost)| (page, *cost))));
        let (page, of_page) = page?;
        cost += of_page;
        limit.items -= page.count().min(limit.items);
        limit.bytes -= (page.bytes + page.base_bytes).min(limit.bytes);
        next = page.cut_after().map(|last| (at, last.clone()));
        if at == 0 {
            all = page;
        } else {
            all.append(page);
        }
        if next.is_some() {
            break;
        }
    }
    let scanned = all.count();
    let items = if all.encoded.is_some() {
        Vec::new()
    } else if fetch.is_none() && (read.filter.is_none() || read.is_key) {
        all.items
    } else {
        shown(read, all.items, all.bases)
    };
    let result = PageResult {
        items,
        encoded: all.encoded,
        scanned,
        bytes: all.bytes,
        next,
        cost,
    };
    context.record(|recorder| recorder.answer_of_range(&read.target.table.name, result.count() as u64));
    Ok(result)
}

/// The items that pass the filter.
fn shown(read: &PageRead<'_>, mut items: Vec<Item>, bases: Vec<Item>) -> Vec<Item> {
    let Some(filter) = &read.filter else {
        return if read.fetches() { bases } else { items };
    };
    if bases.is_empty() {
        items.retain(|item| filter.matches_item(item));
        return items;
    }
    bases.into_iter().filter(|base| filter.matches_item(base)).collect()
}

/// Reads a range and pays for it. `before` is the bytes of the ranges read before it, and `None` for the first.
fn read_and_spend(
    context: &Context<'_>,
    read: &PageRead<'_>,
    range: &PageRange<'_>,
    walk: &Walk<'_>,
    before: Option<usize>,
) -> Result<(Page, PageCost), ApiError> {
    let table = &read.target.table;
    if !table.capacity.is_counted() {
        let page = read_page_items(context, read, walk);
        let cost = PageCost::new(&page, before, read.consistent);
        return Ok((page, cost));
    }
    // A local index uses the table's capacity.
    let global = read.index().filter(|index| !index.local);
    let name = global.map(|index| index.name.as_str());
    capacity::admit_page(context, table, name, walk.range.tokens().0)?;
    let page = read_page_items(context, read, walk);
    let cost = PageCost::new(&page, before, read.consistent);
    let tokens_read = tokens_read(read, walk.range, page.cut_after());
    let units = cost.read + cost.fetched;
    capacity::spend_page(context, table, (name, units), range.first_value(), tokens_read);
    Ok((page, cost))
}

/// Reads a page. An eventually consistent read may see an earlier state of each partition.
#[inline]
fn read_page_items(context: &Context<'_>, read: &PageRead<'_>, walk: &Walk<'_>) -> Page {
    let (table, shape) = (&read.target.table, &read.target.shape);
    match read.source {
        ReadSource::Table if read.is_key => look_up(context, read, walk),
        ReadSource::Global(at) => {
            let (index, now) = (&shape.indexes[at], context.now);
            let settled = |is_due: &dyn Fn() -> bool| index.settled_page(walk, now, is_due);
            due::with_nothing_due(table, shape, now, || index.page(walk, now), settled)
        }
        ReadSource::Table | ReadSource::Local(_) => {
            let local = if let ReadSource::Local(at) = read.source {
                Some(at)
            } else {
                None
            };
            let look = |at| {
                let contents = due::read_range(table, table.partition(at), (walk.range, local.is_some()), context.now);
                let state = contents.history().and_then(|history| {
                    stale::state_of_page(context, table, at, (&contents, history), walk, read.consistent)
                });
                (contents, state)
            };
            table.page(local, walk, look)
        }
    }
}

/// Reads the item of a range that is one key.
fn look_up(context: &Context<'_>, read: &PageRead<'_>, walk: &Walk<'_>) -> Page {
    let Bound::Included(key) = &walk.range.lower else {
        return Page::default();
    };
    let table = &read.target.table;
    let place = table.partition_of(key.token);
    let partition = table.partition(place);
    let contents = due::read_items(table, partition, std::iter::once(key), context.now);
    let visible = || due::visible(table, partition, &contents, key, context.now);
    let past = contents.history().and_then(|history| {
        let state = stale::state_of_page(context, table, place, (&contents, history), walk, read.consistent)?;
        let visible = || due::visible_in_state(table, partition, &contents, key, state);
        Some(EarlierState::new(&contents, history, state).get_or(key, visible))
    });
    Page::of_item(past.unwrap_or_else(visible).cloned(), walk.limit)
}
