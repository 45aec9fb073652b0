//! Spends the capacity of an entry: for everything that it touches, or for none of it.

use smallvec::SmallVec;

use crate::capacity::units::Units;
use crate::capacity::{Demand, Direction, Shortage};
use crate::change::Change;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, Throttle};
use crate::journal::EventKind;
use crate::schema::BillingMode;
use crate::sorted::SortedMap;
use crate::storage::Table;
use crate::value::{AttributeValue, Item, Name};

/// The demands of one request on one table.
type Demands<'a> = SmallVec<[Demand<'a>; 4]>;

/// The demands of a change on the table and its global indexes.
fn demands_of<'a>(change: &'a Change, key: Option<&'a AttributeValue>, entry: usize, demands: &mut Demands<'a>) {
    demands.extend(change.cost().map(|part| Demand {
        entry,
        index: part.global.map(Name::as_str),
        direction: Direction::Write,
        units: part.units,
        token: part.token,
        key,
    }));
}

/// Spends the capacity for a write; the error reports the shortage.
pub(super) fn reserve_write(
    context: &Context<'_>,
    table: &Table,
    change: &Change,
    key: Option<&AttributeValue>,
) -> Result<(), ApiError> {
    let mut demands = Demands::new();
    demands_of(change, key, 0, &mut demands);
    reserve(context, table, &demands)?;
    // Nothing can fail any more.
    resize(table, change, context.now);
    Ok(())
}

/// The demands of a transaction, grouped by table.
#[derive(Default)]
pub(super) struct TransactionDemands<'a>(SortedMap<u64, (Option<&'a Table>, Demands<'a>)>);

impl<'a> TransactionDemands<'a> {
    fn demands(&mut self, table: &'a Table) -> &mut Demands<'a> {
        let (there, demands) = self.0.get_or_default(&table.ordinal);
        *there = Some(table);
        demands
    }

    pub(super) fn add_write(
        &mut self,
        entry: usize,
        table: &'a Table,
        change: &'a Change,
        key: Option<&'a AttributeValue>,
    ) {
        demands_of(change, key, entry, self.demands(table));
    }

    pub(super) fn add_read(
        &mut self,
        entry: usize,
        table: &'a Table,
        token: u64,
        units: Units,
        key: Option<&'a AttributeValue>,
    ) {
        self.demands(table).push(Demand {
            entry,
            index: None,
            direction: Direction::Read,
            units,
            token,
            key,
        });
    }

    /// Spends everything, under the locks of all ledgers, or nothing: then the error lists the shortage of each of the
    /// `entries`.
    pub(super) fn reserve(self, entries: usize, now: Moment) -> Result<(), Vec<Option<ApiError>>> {
        let tables = self
            .0
            .into_iter()
            .filter_map(|(_, (table, demands))| Some((table?, demands)));
        let mut locked: Vec<_> = tables
            .filter(|(table, _)| table.capacity.is_counted())
            .map(|(table, demands)| (table, demands, table.capacity.lock()))
            .collect();
        let mut lacking: Vec<Option<ApiError>> = vec![None; entries];
        for (table, demands, ledger) in &mut locked {
            let Some(ledger) = ledger.as_mut() else { continue };
            let shortages = ledger.check(demands, now);
            ledger.refuse(&shortages, now);
            for of_entry in shortages.chunk_by(|left, right| left.entry == right.entry) {
                lacking[of_entry[0].entry] = Some(throttled(table, of_entry.iter()));
            }
        }
        if lacking.iter().any(Option::is_some) {
            return Err(lacking);
        }
        for (_, demands, ledger) in &mut locked {
            if let Some(ledger) = ledger.as_mut() {
                ledger.spend(demands, now);
            }
        }
        Ok(())
    }
}

/// Spends the cost of a read of one item, or of a write whose condition has failed.
#[cold]
pub(super) fn reserve_item(
    context: &Context<'_>,
    table: &Table,
    direction: Direction,
    (token, key): (u64, Option<&AttributeValue>),
    units: Units,
) -> Result<(), ApiError> {
    let demand = Demand {
        entry: 0,
        index: None,
        direction,
        units,
        token,
        key,
    };
    reserve(context, table, &[demand])
}

fn reserve(context: &Context<'_>, table: &Table, demands: &[Demand<'_>]) -> Result<(), ApiError> {
    let mut ledger = table.capacity.lock();
    let Some(ledger) = ledger.as_mut() else { return Ok(()) };
    ledger
        .reserve(demands, context.now)
        .map_err(|shortages| throttled(table, shortages.iter()))
}

/// Whether a page that starts at this token may be read: it needs capacity above zero, and is paid for after the read.
#[cold]
pub(super) fn admit_page(
    context: &Context<'_>,
    table: &Table,
    index: Option<&str>,
    token: u64,
) -> Result<(), ApiError> {
    let demand = page_demand(index, token, Units::ZERO, None);
    let admitted = match table.capacity.lock().as_mut() {
        Some(ledger) => ledger.admit(&demand, context.now),
        None => Ok(()),
    };
    admitted.map_err(|shortage| {
        follow_splits(context, table);
        throttled(table, std::iter::once(&shortage))
    })
}

fn page_demand<'a>(index: Option<&'a str>, token: u64, units: Units, key: Option<&'a AttributeValue>) -> Demand<'a> {
    Demand {
        entry: 0,
        index,
        direction: Direction::Read,
        units,
        token,
        key,
    }
}

/// Spends units of a page on the table, or on one of its global indexes.
pub(super) fn spend_page(
    context: &Context<'_>,
    table: &Table,
    (index, units): (Option<&str>, Units),
    key: Option<&AttributeValue>,
    (first, last): (u64, u64),
) {
    if units.is_zero() {
        return;
    }
    if let Some(ledger) = table.capacity.lock().as_mut() {
        ledger.spend_page(&page_demand(index, first, units, key), last, context.now);
    }
}

/// Spends the cost of another region's change, even if it exceeds what is left: later requests then lack these units.
pub(super) fn spend_replicated(table: &Table, change: &Change, now: Moment) {
    if !table.capacity.is_counted() {
        return;
    }
    let mut demands = Demands::new();
    demands_of(change, None, 0, &mut demands);
    if let Some(ledger) = table.capacity.lock().as_mut() {
        // Accrued units are added first.
        let _ = ledger.check(&demands, now);
        ledger.spend(&demands, now);
    }
    resize(table, change, now);
}

/// Splits the shards of the table's stream where its partitions were split. The caller must not hold a lock of the table.
#[cold]
pub(super) fn follow_splits(context: &Context<'_>, table: &Table) {
    split_shards(table, context.now, |split| {
        context.record(|recorder| recorder.cause(context.now, &table.name, split));
    });
}

/// Splits the shards of the table's stream where due work has split its partitions. The caller must not hold a lock of the
/// table.
pub(super) fn follow_due_splits(table: &Table, now: Moment) {
    if !table.capacity.is_counted() {
        return;
    }
    split_shards(table, now, |split| {
        if table.events().has_subscribers() {
            table.events().record_due(now, split);
        }
    });
}

#[cold]
fn split_shards(table: &Table, now: Moment, record: impl Fn(EventKind)) {
    let splits = table.capacity.lock().as_mut().map(|ledger| ledger.take_splits());
    for token in splits.into_iter().flatten() {
        record(EventKind::PartitionSplit(token));
        // If the commit fails, the shard is unchanged.
        let _ = table.split_stream(token, now);
    }
}

/// Updates the sizes of the partitions after a change.
pub(super) fn resize(table: &Table, change: &Change, now: Moment) {
    resize_item(table, change.key.token, [&change.old, &change.new], now);
}

/// Restores the sizes of the partitions, which count a change that is not applied.
#[cold]
pub(super) fn restore_size(table: &Table, change: &Change, now: Moment) {
    resize_item(table, change.key.token, [&change.new, &change.old], now);
}

fn resize_item(table: &Table, token: u64, items: [&Option<Item>; 2], now: Moment) {
    if !table.capacity.is_counted() {
        return;
    }
    if let Some(ledger) = table.capacity.lock().as_mut() {
        let [before, after] = items.map(|item| item.as_ref().map_or(0, Item::size));
        ledger.resize(token, before, after, now);
    }
}

/// The service's error for exceeded limits, table before indexes, each reason once.
pub(super) fn throttled<'s>(table: &Table, shortages: impl Iterator<Item = &'s Shortage>) -> ApiError {
    let mut throttles: Vec<Throttle> = Vec::new();
    for shortage in shortages {
        let throttle = Throttle {
            exceeded: shortage.exceeded,
            of_index: shortage.index.is_some(),
            writes: shortage.direction == Direction::Write,
            provisioned: shortage.billing == BillingMode::Provisioned,
            resource: table.resource_arn(shortage.index.as_deref()),
        };
        if !throttles.contains(&throttle) {
            throttles.push(throttle);
        }
    }
    ApiError::throttled(throttles)
}
