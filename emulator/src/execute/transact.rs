//! The write pipeline for several items: all partitions are locked, in order, before the first item is read, and
//! nothing is applied unless everything can be. If transactions take time, the items are only locked at first, and the
//! changes are applied when they are due.

use std::sync::Arc;
use std::time::Duration;

use super::authorize::{Verdicts, cancels};
use super::capacity::{self, TransactionDemands};
use super::due;
use super::strong;
use super::trace;
use super::write::note_limits;
use crate::chance::{self, StableHash};
use crate::change::Change;
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::context::Context;
use crate::error::{ApiError, CancellationReason, Detail, ErrorKind};
use crate::plan::Write;
use crate::sort;
use crate::storage::{Mutation, Origin, PendingTransaction, Shape};

/// Executes all writes or none, now or at [`Context::done_at`]. An entry that could not be planned carries its error:
/// it cancels the transaction like one that fails now.
pub fn transact_write(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    verdicts: Verdicts,
) -> Result<Vec<Change>, ApiError> {
    let written = carry_out(context, writes, verdicts);
    for write in writes.iter().flatten() {
        if write.target.table.capacity.is_counted() {
            capacity::follow_splits(context, &write.target.table);
        }
    }
    written
}

fn carry_out(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    mut verdicts: Verdicts,
) -> Result<Vec<Change>, ApiError> {
    for write in writes.iter().flatten() {
        strong::admit_transaction(&write.target.table)?;
    }
    let mut failures: Vec<Option<ApiError>> = Vec::with_capacity(writes.len());
    let mut planned = 0;
    for write in writes {
        match write {
            Ok(_) => {
                failures.push(verdicts.of(planned).err());
                planned += 1;
            }
            Err(error) if !cancels(error) => return Err(error.clone()),
            Err(error) => failures.push(Some(error.clone())),
        }
    }
    let place = |write: &Write<'_>| {
        (
            write.target.table.ordinal,
            write.target.table.partition_of(write.key.token),
        )
    };
    let mut places: Vec<_> = writes.iter().flatten().map(|write| (place(write), write)).collect();
    sort::sort_by_key(&mut places, |(place, _)| *place);
    places.dedup_by_key(|(place, _)| *place);
    let mut locked = Vec::with_capacity(places.len());
    for (place, write) in places {
        let table = &write.target.table;
        let partition = table.partition(place.1);
        let mut guard = partition.write();
        let shape: Arc<Shape> = if guard.epoch == write.target.shape.epoch {
            Arc::clone(&write.target.shape)
        } else {
            table.shape()
        };
        if shape.deleted_at.is_some() {
            return Err(ApiError::table_not_found());
        }
        if partition.is_due(context.now) {
            due::run_locked(table, &shape, partition, &mut guard, context.now);
        }
        locked.push((place, guard, shape, partition));
    }
    let of = |write: &Write<'_>| {
        locked
            .binary_search_by_key(&place(write), |(place, ..)| *place)
            .unwrap_or_default()
    };
    let mut changes = Vec::with_capacity(writes.len());
    for (write, failure) in writes.iter().zip(&mut failures) {
        let (Ok(write), None) = (write, &failure) else { continue };
        let at = of(write);
        let same = |(place, _, change): &&(usize, bool, Change)| *place == at && change.key.token == write.key.token;
        let pending = changes.iter().filter(same).map(|(_, _, change)| change.growth()).sum();
        match write.change(&locked[at].2, &locked[at].1, pending) {
            Ok(change) if context.engine.refuses(&change) => return Err(ApiError::out_of_memory()),
            Ok(mut change) => {
                change.pay_for_transaction();
                changes.push((at, write.changes(&change), change));
            }
            Err(error) => *failure = Some(error),
        }
    }
    if failures.iter().any(Option::is_some) {
        return Err(cancelled(context, writes, failures));
    }
    reserve(context, writes, &changes)?;
    context.record(|recorder| trace::wrote_all(recorder, writes, changes.iter().map(|(_, _, change)| change)));
    let ends = context.now.plus(time_in_flight(context, writes));
    // There is one: a transaction without actions is rejected earlier.
    let Some(first) = writes.iter().flatten().next() else {
        return Ok(Vec::new());
    };
    let log = first.target.table.log();
    let committed = log.begin(context.now, Origin::Request, || {
        mutations(context, writes, &changes, ends)
    })?;
    if ends > context.now {
        for (at, applies, change) in &changes {
            let (_, guard, _, partition) = &mut locked[*at];
            let then = pending(*applies, change);
            partition.hold(&committed, guard, &change.key, ends, then);
        }
        for ((_, applies, change), write) in changes.iter().zip(writes.iter().flatten()) {
            context.record_hold(write, (change, *applies), ends);
        }
        context.answer_at(ends);
        return Ok(changes.into_iter().map(|(_, _, change)| change).collect());
    }
    for ((at, applies, change), write) in changes.iter().zip(writes.iter().flatten()) {
        let (_, guard, shape, partition) = &mut locked[*at];
        if *applies {
            write.target.table.apply(&committed, partition, guard, shape, change);
        }
    }
    drop(committed);
    for ((_, _, change), write) in changes.iter().zip(writes.iter().flatten()) {
        capacity::resize(&write.target.table, change, context.now);
    }
    let shapes: Vec<Arc<Shape>> = locked.into_iter().map(|(_, _, shape, _)| shape).collect();
    for ((at, _, _), write) in changes.iter().zip(writes.iter().flatten()) {
        if shapes[*at].records_changes() {
            note_limits(context, &write.target.table, &shapes[*at]);
        }
    }
    for ((at, applies, change), write) in changes.iter().zip(writes.iter().flatten()) {
        if *applies {
            context.record_change(&write.target.table, &shapes[*at], change);
        }
    }
    for (at, _, change) in &changes {
        let queues = shapes[*at].queues_of(change);
        queues.for_each(|queue| queue.drain_if_full(context.now));
    }
    Ok(changes.into_iter().map(|(_, _, change)| change).collect())
}

/// The mutations of a transaction: its changes, or the locks on its items until it is executed, and its client token.
fn mutations(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[(usize, bool, Change)],
    ends: Moment,
) -> Vec<Mutation> {
    let in_flight = ends > context.now;
    let mut mutations = Vec::with_capacity(changes.len() + 1);
    for ((_, applies, change), write) in changes.iter().zip(writes.iter().flatten()) {
        let table = write.target.table.ordinal;
        if in_flight {
            mutations.push(Mutation::HoldItem {
                table,
                key: change.key.clone(),
                until: ends,
                then: pending(*applies, change),
            });
        } else if *applies {
            mutations.push(Mutation::of_change(table, change));
        }
    }
    let token = context.token(ends);
    mutations.extend(token.map(|token| Mutation::UseToken { token }));
    mutations
}

/// The pending effect of a transaction that takes time on one item.
fn pending(applies: bool, change: &Change) -> PendingTransaction {
    if applies {
        PendingTransaction::Writes(change.new.clone())
    } else {
        PendingTransaction::Checks
    }
}

/// Spends capacity for all writes or for none. Afterwards only the log can fail the transaction.
fn reserve(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[(usize, bool, Change)],
) -> Result<(), ApiError> {
    let planned = || writes.iter().flatten().map(|write| (write, &*write.target.table));
    if !planned().any(|(_, table)| table.capacity.is_counted()) {
        return Ok(());
    }
    let mut demands = TransactionDemands::default();
    for (entry, ((write, table), (_, _, change))) in planned().zip(changes).enumerate() {
        demands.add_write(entry, table, change, write.partition());
    }
    let reserved = demands.reserve(writes.len(), context.now);
    reserved.map_err(|lacking| cancelled(context, writes, lacking))
}

fn cancelled(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    failures: Vec<Option<ApiError>>,
) -> ApiError {
    context.record(|recorder| trace::cancelled_writes(recorder, writes, &failures));
    ApiError::transaction_cancelled(failures.into_iter().map(reason).collect())
}

/// How long a transaction runs: the longest delay that the conditions of its tables give for its first item.
fn time_in_flight(context: &Context<'_>, writes: &[Result<Write<'_>, ApiError>]) -> Duration {
    let lags = || {
        writes
            .iter()
            .flatten()
            .map(|write| write.target.shape.conditions.transaction_time)
    };
    let Some(Ok(first)) = writes.first().filter(|_| !lags().all(Lag::is_none)) else {
        return Duration::ZERO;
    };
    let seed = context.engine.seed();
    let name = StableHash::new(seed).bytes(b"transaction");
    let id = name
        .bytes(first.target.table.name.as_bytes())
        .bytes(&first.key.bytes)
        .finish();
    let ordinal = context.engine.decided().next(context.scope.hash(), id);
    let decision = chance::decide(seed, "transaction", &id.to_le_bytes(), ordinal);
    lags().map(|lag| lag.of(decision)).max().unwrap_or_default()
}

/// The cancellation reason of an action, from its error.
pub fn reason(failure: Option<ApiError>) -> CancellationReason {
    let Some(error) = failure else {
        return CancellationReason::NONE;
    };
    let code = match error.kind() {
        ErrorKind::ConditionalCheckFailed => "ConditionalCheckFailed",
        ErrorKind::DuplicateItem => "DuplicateItem",
        ErrorKind::ResourceNotFound => "ResourceNotFound",
        ErrorKind::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
        ErrorKind::TransactionConflict => "TransactionConflict",
        ErrorKind::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
        ErrorKind::Throttling | ErrorKind::RequestLimitExceeded => "ThrottlingError",
        _ => "ValidationError",
    };
    let item = if let Detail::Item(item) = error.detail() {
        Some(item.clone())
    } else {
        None
    };
    CancellationReason {
        code,
        message: error.message().map(|text| text.to_owned().into()),
        item,
    }
}
