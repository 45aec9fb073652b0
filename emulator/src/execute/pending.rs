//! Pending work: deletions by time to live, queued index changes, transactions in flight, stream records that cannot be
//! read yet, and tables and indexes that are being created or changed.

use std::ops::Deref;
use std::sync::Arc;

use super::account::AccountControls;
use super::control::{Controls, NotFound};
use super::due;
use crate::clock::Moment;
use crate::key::{self, Key};
use crate::schema::{Definition, Index};
use crate::sort;
use crate::storage::{Expiry, PendingTransaction, QueuedChange, Scope, Shape, Table};
use crate::value::{Item, Map, Name};

/// An item with pending work.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingItem {
    /// When the work is due.
    pub due: Moment,
    pub action: &'static str,
    /// The item's key attributes, and the index's for an index change; `None` if all that is known is that the item is missing.
    pub key: Option<Map>,
    /// The token of the table's partition key, if known.
    pub token: Option<u64>,
    /// When the item expires, for a deletion by time to live.
    pub expires: Option<Moment>,
}

/// Pending work of one kind: its amount, when the next of it is due, and the first entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingWork {
    pub count: usize,
    /// When the first is due.
    pub next: Option<Moment>,
    /// The first entries, in the order in which they are due.
    pub first: Vec<WaitingItem>,
}

/// Pending changes of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingIndex {
    pub index: Name,
    pub paused: bool,
    pub changes: PendingWork,
}

/// The pending work of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    pub scope: Scope,
    pub table: Name,
    /// When the next work is due.
    pub next: Option<Moment>,
    /// When the table, or a change of it or of an index, becomes active.
    pub status: Option<Moment>,
    /// Deletions by time to live of existing items.
    pub time_to_live: PendingWork,
    /// Items locked by transactions in flight.
    pub transactions: PendingWork,
    /// Queued changes of global indexes.
    pub indexes: Vec<PendingIndex>,
    /// Stream records that cannot be read yet.
    pub stream: PendingWork,
    /// Queued changes from the other regions of a global table; `first` has those that are not paused.
    pub arrivals: PendingWork,
}

impl PendingWork {
    /// The first `most` entries of several ordered lists.
    fn of(mut first: Vec<WaitingItem>, count: usize, most: usize) -> PendingWork {
        sort::sort_by_key(&mut first, |item| item.due);
        first.truncate(most);
        PendingWork {
            count,
            next: first.first().map(|item| item.due),
            first,
        }
    }
}

fn deletions(table: &Table, shape: &Shape, most: usize) -> PendingWork {
    let (mut first, mut count) = (Vec::new(), 0);
    for partition in table.partitions() {
        let contents = partition.read();
        let deletion = |expiry: &Expiry| {
            let item = contents.get(&expiry.key);
            WaitingItem {
                due: expiry.due,
                action: "delete",
                key: item.map(|item| key::key_attributes(item, &shape.definition.key, None)),
                token: Some(expiry.key.token),
                expires: item.and_then(|item| shape.expires(item)).map(Moment::from_seconds),
            }
        };
        count += contents.expiries().len();
        first.extend(contents.expiries().take(most.max(1)).map(deletion));
    }
    PendingWork::of(first, count, most.max(1))
}

fn transactions(table: &Table, definition: &Definition, most: usize) -> PendingWork {
    let (mut first, mut count) = (Vec::new(), 0);
    for partition in table.partitions() {
        let contents = partition.read();
        let hold = |(due, held, then): (Moment, &Key, Option<&PendingTransaction>)| {
            let (action, new) = match then {
                Some(PendingTransaction::Writes(Some(new))) => ("put", Some(new)),
                Some(PendingTransaction::Writes(None)) => ("delete", None),
                Some(PendingTransaction::Checks) | None => ("check", None),
            };
            let item = new.or_else(|| contents.get(held));
            WaitingItem {
                due,
                action,
                key: item.map(|item| key::key_attributes(item, &definition.key, None)),
                token: Some(held.token),
                expires: None,
            }
        };
        count += contents.holds().len();
        first.extend(contents.holds().take(most.max(1)).map(hold));
    }
    PendingWork::of(first, count, most.max(1))
}

fn arrivals(table: &Table, definition: &Definition, most: usize) -> PendingWork {
    let (mut first, mut count) = (Vec::new(), 0);
    for partition in table.partitions() {
        let contents = partition.read();
        count += partition.inbox.count();
        for (due, arrival) in partition.inbox.first(most.max(1)) {
            let item = arrival.item.as_ref().or_else(|| contents.get(&arrival.key));
            first.extend(due.map(|due| WaitingItem {
                due,
                action: if arrival.item.is_some() { "put" } else { "delete" },
                key: item.map(|item| key::key_attributes(item, &definition.key, None)),
                token: Some(arrival.key.token),
                expires: None,
            }));
        }
    }
    PendingWork::of(first, count, most.max(1))
}

fn index_change(definition: &Definition, index: &Index, change: &QueuedChange<Item>) -> WaitingItem {
    let action = match (&change.remove, &change.insert) {
        (_, Some(_)) => "put",
        (_, None) => "delete",
    };
    let item = change.insert.as_ref().or(change.remove.as_ref());
    let base = item.and_then(|item| Key::read(&definition.key, item));
    WaitingItem {
        due: change.due,
        action,
        key: item.map(|item| key::key_attributes(item, &definition.key, Some(index))),
        token: base.map(|key| key.token),
        expires: None,
    }
}

fn indexes(shape: &Shape, most: usize) -> Vec<PendingIndex> {
    let globals = shape.definition.globals.iter().zip(&shape.indexes);
    let pending = globals.map(|(index, entries)| {
        let changes = entries.changes(most.max(1));
        let first = changes
            .iter()
            .map(|change| index_change(&shape.definition, index, change))
            .collect();
        PendingIndex {
            index: index.name.clone(),
            paused: entries.is_paused(),
            changes: PendingWork::of(first, entries.waiting(), most.max(1)),
        }
    });
    pending.collect()
}

fn records(shape: &Shape, now: Moment, most: usize) -> PendingWork {
    let Some(stream) = &shape.stream else {
        return PendingWork::default();
    };
    let records = stream.unreadable(now);
    let first = records.iter().take(most.max(1)).map(|record| {
        let keys = record.keys(&shape.definition.key);
        WaitingItem {
            due: record.arrived,
            action: record.event.action(),
            token: Key::read(&shape.definition.key, &keys).map(|key| key.token),
            key: Some(keys.filter(|_| true)),
            expires: None,
        }
    });
    PendingWork::of(first.collect(), records.len(), most.max(1))
}

/// When the table, or a change of it, becomes active.
fn status(shape: &Shape, now: Moment) -> Option<Moment> {
    let jobs = shape.running(now).map(|job| job.until);
    let ends = jobs.chain([shape.active_at]).chain(shape.deleted_at);
    ends.filter(|end| *end > now && *end < Moment::NEVER).min()
}

impl Pending {
    /// The pending work of a table at `now`, with lists of at most `most` elements.
    fn of(scope: Scope, table: &Table, now: Moment, most: usize) -> Pending {
        due::run_due(table, now);
        let shape = table.shape();
        let definition = &shape.definition;
        let mut pending = Pending {
            scope,
            table: table.name.clone(),
            next: None,
            status: status(&shape, now),
            time_to_live: deletions(table, &shape, most),
            transactions: transactions(table, definition, most),
            indexes: indexes(&shape, most),
            stream: records(&shape, now, most),
            arrivals: arrivals(table, definition, most),
        };
        let arrivals = pending.indexes.iter().filter(|index| !index.paused);
        let arrivals = arrivals.filter_map(|index| index.changes.next);
        let others = [
            &pending.time_to_live,
            &pending.transactions,
            &pending.stream,
            &pending.arrivals,
        ];
        let others = others.into_iter().filter_map(|waiting| waiting.next);
        pending.next = arrivals.chain(others).chain(pending.status).min();
        if most == 0 {
            let indexes = pending.indexes.iter_mut().map(|index| &mut index.changes);
            let others = [
                &mut pending.time_to_live,
                &mut pending.transactions,
                &mut pending.stream,
                &mut pending.arrivals,
            ];
            indexes.chain(others).for_each(|waiting| waiting.first.clear());
        }
        pending
    }
}

impl<E: Deref<Target: AsRef<Controls>>> AccountControls<E> {
    /// The pending work of a table, with lists of at most `most` elements.
    pub(crate) fn pending(&self, table: &str, most: usize) -> Result<Pending, NotFound> {
        let table = self.table(table)?;
        Ok(Pending::of(self.scope(), &table, self.controls().clock.now(), most))
    }
}

impl Controls {
    /// The pending work of all tables of a scope, or of all scopes.
    pub(crate) fn all_pending(&self, scope: Option<&Scope>, most: usize) -> Vec<Pending> {
        let now = self.clock.now();
        let mut all = Vec::new();
        for (of, region) in self.state.catalog().scopes() {
            if scope.is_none_or(|scope| *scope == of) {
                let tables: Vec<Arc<Table>> = region.tables.read().values().cloned().collect();
                all.extend(tables.iter().map(|table| Pending::of(of.clone(), table, now, most)));
            }
        }
        all
    }

    /// When the next visible event happens in any table: a deletion by time to live, the arrival of an index change,
    /// the end of a transaction, a stream record that can be read, the end of a change of a table.
    pub(crate) fn next_event(&self) -> Option<Moment> {
        self.all_pending(None, 0)
            .iter()
            .filter_map(|pending| pending.next)
            .min()
    }
}
