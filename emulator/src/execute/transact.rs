//! The write pipeline for several items: all partitions are locked, in order, before the first item is read, and
//! nothing is applied unless everything can be. If transactions take time, the items are only locked at first, and the
//! changes are applied when they are due.

use std::sync::Arc;
use std::time::Duration;

use super::authorize::{Refusals, cancels};
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
use crate::storage::{Committed, Contents, Mutation, Origin, Partition, PendingTransaction, Shape};
use crate::sync::RwLockWriteGuard;

/// Executes all writes or none, now or at [`Context::done_at`]. An entry that could not be planned carries its error:
/// it cancels the transaction like one that fails now.
pub fn transact_write(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    refusals: Refusals,
) -> Result<Vec<Change>, ApiError> {
    let written = carry_out(context, writes, refusals);
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
    refusals: Refusals,
) -> Result<Vec<Change>, ApiError> {
    for write in writes.iter().flatten() {
        strong::admit_transaction(&write.target.table)?;
    }
    let mut failures = failures(writes, refusals)?;
    let locked = lock(context, writes)?;
    let changes = plan_changes(context, writes, &locked, &mut failures)?;
    if failures.iter().any(Option::is_some) {
        return Err(cancelled(context, writes, failures));
    }
    reserve(context, writes, &changes)?;
    let ends = context.now.plus(time_in_flight(context, writes));
    // There is one: a transaction without actions is rejected earlier.
    let Some(first) = writes.iter().flatten().next() else {
        return Ok(Vec::new());
    };
    let log = first.target.table.log();
    let begun = log.begin(context.now, Origin::Request, || {
        mutations(context, writes, &changes, ends)
    });
    let committed = match begun {
        Ok(committed) => committed,
        Err(error) => {
            let error = ApiError::from(error);
            context.record(|recorder| trace::refused_all(recorder, writes, &error));
            return Err(error);
        }
    };
    context.record(|recorder| trace::wrote_all(recorder, writes, changes.iter().map(|planned| &planned.change)));
    if ends > context.now {
        hold(context, committed, writes, &changes, locked, ends);
    } else {
        apply(context, committed, writes, &changes, locked);
    }
    Ok(changes.into_iter().map(|planned| planned.change).collect())
}

/// The position of a partition in the lock order: its table's ordinal, and its number.
type PartitionPlace = (u64, usize);

/// A partition that a transaction has locked, with its table's present shape.
struct LockedPartition<'w> {
    place: PartitionPlace,
    contents: RwLockWriteGuard<'w, Contents>,
    shape: Arc<Shape>,
    partition: &'w Partition,
}

/// The change that a write will make, computed but not applied.
struct PlannedChange {
    /// The index of the write's partition among the locked ones.
    at: usize,
    /// Whether there is something to apply: not for a condition check, nor for a deletion of a missing item.
    applies: bool,
    change: Change,
}

fn place(write: &Write<'_>) -> PartitionPlace {
    let table = &write.target.table;
    (table.ordinal, table.partition_of(write.key.token))
}

/// The error of each entry that fails before its item is read, if it is one that cancels the transaction.
fn failures(writes: &[Result<Write<'_>, ApiError>], mut refusals: Refusals) -> Result<Vec<Option<ApiError>>, ApiError> {
    let mut failures = Vec::with_capacity(writes.len());
    let mut planned = 0;
    for write in writes {
        match write {
            Ok(_) => {
                failures.push(refusals.of(planned).err());
                planned += 1;
            }
            Err(error) if !cancels(error) => return Err(error.clone()),
            Err(error) => failures.push(Some(error.clone())),
        }
    }
    Ok(failures)
}

/// Locks the partitions of all writes in the lock order, and applies what is due in them.
fn lock<'w>(
    context: &Context<'_>,
    writes: &'w [Result<Write<'_>, ApiError>],
) -> Result<Vec<LockedPartition<'w>>, ApiError> {
    let mut places: Vec<_> = writes.iter().flatten().map(|write| (place(write), write)).collect();
    sort::sort_by_key(&mut places, |(place, _)| *place);
    for ((_, at), write) in &places {
        let table = &write.target.table;
        let partition = table.partition(*at);
        due::run_before_lock(table, &write.target.shape, partition, &write.key, context.now);
    }
    let mut locked = Vec::with_capacity(places.len());
    for writes in places.chunk_by(|(one, _), (other, _)| one == other) {
        let (place, write) = writes[0];
        let table = &write.target.table;
        let partition = table.partition(place.1);
        let mut contents = partition.write();
        let shape: Arc<Shape> = if contents.epoch == write.target.shape.epoch {
            Arc::clone(&write.target.shape)
        } else {
            table.shape()
        };
        if shape.deleted_at.is_some() {
            return Err(ApiError::table_not_found());
        }
        let due_by = partition.due_by(context.now);
        if partition.is_due(due_by) {
            let keys = writes.iter().map(|(_, write)| &write.key);
            due::run_before_changes(table, &shape, (partition, &mut contents), keys, due_by);
        }
        locked.push(LockedPartition {
            place,
            contents,
            shape,
            partition,
        });
    }
    Ok(locked)
}

/// Computes the changes of all writes that have not failed, and adds the errors of those that fail now.
fn plan_changes(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    locked: &[LockedPartition<'_>],
    failures: &mut [Option<ApiError>],
) -> Result<Vec<PlannedChange>, ApiError> {
    let mut changes: Vec<PlannedChange> = Vec::with_capacity(writes.len());
    for (write, failure) in writes.iter().zip(failures) {
        let (Ok(write), None) = (write, &failure) else { continue };
        let place = place(write);
        let at = locked
            .binary_search_by_key(&place, |locked| locked.place)
            .unwrap_or_default();
        let token = write.key.token;
        let same = |planned: &&PlannedChange| planned.at == at && planned.change.key.token == token;
        let pending = changes.iter().filter(same).map(|planned| planned.change.growth()).sum();
        match write.change(&locked[at].shape, &locked[at].contents, &write.names(), pending) {
            Ok(change) if context.engine.refuses(&change) => return Err(ApiError::out_of_memory()),
            Ok(mut change) => {
                change.pay_for_transaction();
                let applies = write.changes(&change);
                changes.push(PlannedChange { at, applies, change });
            }
            Err(error) if fails_transaction(write, &error) => return Err(error),
            Err(error) => *failure = Some(error),
        }
    }
    Ok(changes)
}

/// Whether the error of a write is its deferred one, and that one fails the whole transaction.
fn fails_transaction(write: &Write<'_>, error: &ApiError) -> bool {
    let deferred = write.deferred.as_ref();
    deferred.is_some_and(|deferred| deferred.fails_transaction && deferred.error == *error)
}

/// Locks the items of a transaction that takes time until it ends.
fn hold(
    context: &Context<'_>,
    committed: Committed<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[PlannedChange],
    mut locked: Vec<LockedPartition<'_>>,
    ends: Moment,
) {
    for planned in changes {
        let LockedPartition {
            contents, partition, ..
        } = &mut locked[planned.at];
        partition.hold(&committed, contents, &planned.change.key, ends, pending(planned));
    }
    drop(committed);
    drop(locked);
    for (planned, write) in changes.iter().zip(writes.iter().flatten()) {
        context.record_hold(write, (&planned.change, planned.applies), ends);
    }
    context.answer_at(ends);
}

/// Applies the changes of a transaction that takes no time, then unlocks the partitions.
fn apply(
    context: &Context<'_>,
    committed: Committed<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[PlannedChange],
    mut locked: Vec<LockedPartition<'_>>,
) {
    let of_writes = || changes.iter().zip(writes.iter().flatten());
    for (planned, write) in of_writes() {
        let LockedPartition {
            contents,
            shape,
            partition,
            ..
        } = &mut locked[planned.at];
        if planned.applies {
            write
                .target
                .table
                .apply(&committed, partition, contents, shape, &planned.change);
        }
    }
    drop(committed);
    for (planned, write) in of_writes() {
        capacity::resize(&write.target.table, &planned.change, context.now);
    }
    let shapes: Vec<Arc<Shape>> = locked.into_iter().map(|locked| locked.shape).collect();
    for (planned, write) in of_writes() {
        let shape = &shapes[planned.at];
        if shape.records_changes() {
            note_limits(context, &write.target.table, shape);
        }
    }
    for (planned, write) in of_writes().filter(|(planned, _)| planned.applies) {
        context.record_change(&write.target.table, &shapes[planned.at], &planned.change);
    }
    for planned in changes {
        let queues = shapes[planned.at].queues_of(&planned.change);
        queues.for_each(|queue| queue.drain_if_full(context.now));
    }
}

/// The mutations of a transaction: its changes, or the locks on its items until it is executed, and its client token.
fn mutations(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[PlannedChange],
    ends: Moment,
) -> Vec<Mutation> {
    let in_flight = ends > context.now;
    let mut mutations = Vec::with_capacity(changes.len() + 1);
    for (planned, write) in changes.iter().zip(writes.iter().flatten()) {
        let table = write.target.table.ordinal;
        if in_flight {
            mutations.push(Mutation::HoldItem {
                table,
                key: planned.change.key.clone(),
                until: ends,
                then: pending(planned),
            });
        } else if planned.applies {
            mutations.push(Mutation::of_change(table, &planned.change));
        }
    }
    let token = context.token(ends);
    mutations.extend(token.map(|token| Mutation::UseToken { token }));
    mutations
}

/// The pending effect of a transaction that takes time on one item.
fn pending(planned: &PlannedChange) -> PendingTransaction {
    if planned.applies {
        PendingTransaction::Writes(planned.change.new.clone())
    } else {
        PendingTransaction::Checks
    }
}

/// Spends capacity for all writes or for none. Afterwards only the log can fail the transaction.
fn reserve(
    context: &Context<'_>,
    writes: &[Result<Write<'_>, ApiError>],
    changes: &[PlannedChange],
) -> Result<(), ApiError> {
    let targets = || writes.iter().flatten().map(|write| (write, &*write.target.table));
    if !targets().any(|(_, table)| table.capacity.is_counted()) {
        return Ok(());
    }
    let mut demands = TransactionDemands::default();
    for (entry, ((write, table), planned)) in targets().zip(changes).enumerate() {
        demands.add_write(entry, table, &planned.change, write.partition());
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
