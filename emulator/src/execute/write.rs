//! The write pipeline for one item.

use super::{capacity, due, strong, trace};
use crate::capacity::Direction;
use crate::change::{self, Change};
use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::expression::{AttributeNames, Update};
use crate::limits;
use crate::plan::{Write, WriteAction};
use crate::storage::{Contents, Mutation, Origin, Shape, Table};
use crate::value::{Item, Map, PartialItem};

impl Write<'_> {
    /// Checks the plan against settings that are newer than those it was created for.
    fn replan(&self, shape: &Shape) -> Result<(), ApiError> {
        if shape.deleted_at.is_some() {
            return Err(ApiError::table_not_found());
        }
        if let WriteAction::Put(item) | WriteAction::Insert(item) = &self.action {
            change::check_entries(&shape.definition, item)?;
        }
        Ok(())
    }

    /// Steps two and three: checks that no running transaction locks the current item, evaluates the condition, and
    /// computes the whole change. `names` are those of [`Write::names`], and `pending` is what earlier writes of a transaction
    /// add to the item collection.
    pub(super) fn change(
        &self,
        shape: &Shape,
        contents: &Contents,
        names: &AttributeNames<'_>,
        pending: i64,
    ) -> Result<Change, ApiError> {
        if shape.epoch != self.target.shape.epoch {
            self.replan(shape)?;
        }
        if contents.is_marked(&self.key) {
            return Err(ApiError::transaction_conflict());
        }
        let (old, position) = contents.find(&self.key).unzip();
        let seen = old.map(|old| old.pick_places(names, |at| names.is_read(at)));
        if let Some(condition) = &self.condition
            && !condition.matches(seen.as_ref().map(|seen| &seen.attributes))
            && !(self.passes_if_missing && old.is_none())
        {
            return Err(ApiError::condition_failed(old.filter(|_| self.show_item).cloned()));
        }
        if let Some(deferred) = &self.deferred {
            return Err(deferred.error.clone());
        }
        let new = match &self.action {
            WriteAction::Insert(_) if old.is_some() => return Err(ApiError::duplicate_item()),
            WriteAction::Put(item) | WriteAction::Insert(item) => Some(item.clone()),
            WriteAction::Delete => None,
            WriteAction::Check => old.cloned(),
            WriteAction::Update { update, charged } => updated(
                shape,
                old.zip(seen.as_ref()),
                update.as_ref(),
                &self.attributes,
                *charged,
            )?,
        };
        let mut change = Change::new(&shape.definition, self.key.clone(), old.cloned(), new);
        change.position = position;
        if shape.definition.locals.is_empty() {
            return Ok(change);
        }
        weigh(shape, contents, &mut change, pending)?;
        Ok(change)
    }

    /// The attributes that the condition and the update use.
    pub(super) fn names(&self) -> AttributeNames<'_> {
        let mut names = AttributeNames::new();
        if let Some(condition) = &self.condition {
            condition.add_names(&mut names);
        }
        if let WriteAction::Update {
            update: Some(update), ..
        } = &self.action
        {
            update.add_names(&mut names);
        }
        names
    }

    /// Whether there is a change to apply.
    pub(super) fn changes(&self, change: &Change) -> bool {
        !matches!(self.action, WriteAction::Check) && (change.old.is_some() || change.new.is_some())
    }
}

/// Records the item collection's size after a change. A collection over the limit may shrink, but not grow.
fn weigh(shape: &Shape, contents: &Contents, change: &mut Change, pending: i64) -> Result<(), ApiError> {
    let growth = change.growth();
    let there = contents.collection(change.key.token);
    change.collection = there.saturating_add_signed(pending + growth);
    if growth > 0 && change.collection > shape.conditions.item_collection_size {
        return Err(ApiError::item_collection_too_large());
    }
    Ok(())
}

/// The finished item of an update, if there is one and it may be stored. `old` is the stored item, and those of its
/// attributes that the update names.
fn updated(
    shape: &Shape,
    old: Option<(&Item, &PartialItem<'_>)>,
    update: Option<&Update<'_>>,
    key: &Map,
    charged: bool,
) -> Result<Option<Item>, ApiError> {
    let Some(update) = update else {
        return Ok(Some(old.map_or_else(|| Item::new(key), |(old, _)| old.clone())));
    };
    let item = match old {
        Some((old, seen)) => old.replace(seen, &update.changes(&seen.attributes)?),
        None => match update.apply(None, key)? {
            Some(new) => Item::new(&new),
            None => return Ok(None),
        },
    };
    let weighed = charged && update.may_be_overcharged(item.size());
    let charge = if weighed { update.charge(&item) } else { 0 };
    if item.size().max(charge) > limits::ITEM_SIZE {
        return Err(ApiError::updated_item_too_large());
    }
    if shape.definition.has_indexes() {
        change::check_changed(&shape.definition, old.map(|(old, _)| old), &item)?;
        if change::with_local_entries(&shape.definition, &item) > limits::ITEM_SIZE {
            return Err(ApiError::updated_item_too_large());
        }
    }
    Ok(Some(item))
}

/// Step four: capacity for the change, or for the failed condition.
#[cold]
fn spend_write(
    context: &Context<'_>,
    write: &Write<'_>,
    contents: &Contents,
    change: &Result<Change, ApiError>,
) -> Result<(), ApiError> {
    let table = &write.target.table;
    match change {
        Ok(change) => capacity::reserve_write(context, table, change, write.partition()),
        Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {
            let units = change::failure_units(write.target.definition(), contents.get(&write.key));
            capacity::reserve_item(
                context,
                table,
                Direction::Write,
                (write.key.token, write.partition()),
                units,
            )
        }
        Err(_) => Ok(()),
    }
}

/// Notes for the operator, once each, that a table's stream or its recovery logs have reached their limit in bytes.
#[cold]
pub(super) fn note_limits(context: &Context<'_>, table: &Table, shape: &Shape) {
    let stream = shape.stream.as_ref();
    if stream.is_some_and(|stream| stream.held().take_report()) {
        context.note(format!(
            "{}: the stream of table {} has reached its limit (streamBytes): its oldest records are trimmed before they are a day old.",
            context.operation, table.name
        ));
    } else if let Some(logs) = &shape.recovery_logs
        && logs.held().take_report()
    {
        context.note(format!(
            "{}: point-in-time recovery of table {} has reached its limit (recoveryBytes): the oldest changes are dropped, and EarliestRestorableDateTime moves forward.",
            context.operation, table.name
        ));
    }
}

/// Executes a write of one item. On success the change is applied; otherwise nothing is.
pub fn write(context: &Context<'_>, write: &Write<'_>) -> Result<Change, ApiError> {
    let written = if write.target.table.is_replica() {
        strong::write(context, write, || carry_out(context, write, true))
    } else {
        carry_out(context, write, true)
    };
    if write.target.table.capacity.is_counted() {
        capacity::follow_splits(context, &write.target.table);
    }
    written
}

/// Executes a write of a bulk operation, which costs no units: the operation is paid for by the byte, and the service
/// retries throttled writes.
pub fn load(context: &Context<'_>, write: &Write<'_>) -> Result<Change, ApiError> {
    let written = carry_out(context, write, false);
    if write.target.table.capacity.is_counted() {
        capacity::follow_splits(context, &write.target.table);
    }
    written
}

#[inline(always)]
fn carry_out(context: &Context<'_>, write: &Write<'_>, paid: bool) -> Result<Change, ApiError> {
    let table = &write.target.table;
    let partition = table.partition(table.partition_of(write.key.token));
    due::run_before_lock(table, &write.target.shape, partition, &write.key, context.now);
    // Before the lock is taken, so that others wait less for it.
    let names = write.names();
    let mut guard = partition.write();
    let newer;
    let mut shape = &write.target.shape;
    if guard.epoch != shape.epoch {
        // The lock keeps the settings unchanged from here on.
        newer = table.shape();
        shape = &newer;
    }
    let due_by = partition.due_by(context.now);
    if partition.is_due(due_by) {
        let keys = std::iter::once(&write.key);
        due::run_before_changes(table, shape, (partition, &mut guard), keys, due_by);
    }
    let mut change = write.change(shape, &guard, &names, 0);
    if change.as_ref().is_ok_and(|change| context.engine.refuses(change)) {
        change = Err(ApiError::out_of_memory());
    }
    if table.capacity.is_counted() {
        if !paid {
            if let Ok(change) = &change {
                capacity::resize(table, change, context.now);
            }
        } else if let Err(error) = spend_write(context, write, &guard, &change) {
            change = Err(error);
        }
    }
    // A change is large: it is returned in place.
    let mut committed = None;
    if let Ok(planned) = &change
        && write.changes(planned)
    {
        let mutations = || vec![Mutation::of_change(table.ordinal, planned)];
        match table.log().begin(context.now, Origin::Request, mutations) {
            Ok(begun) => committed = Some(begun),
            Err(error) => {
                capacity::restore_size(table, planned, context.now);
                change = Err(error.into());
            }
        }
    }
    context.record(|recorder| {
        trace::wrote(recorder, write, change.as_ref(), guard.get(&write.key));
    });
    if let Ok(change) = &change {
        let applies = committed.is_some();
        if let Some(committed) = committed {
            table.apply(&committed, partition, &mut guard, shape, change);
        }
        drop(guard);
        if applies {
            context.record_change(table, shape, change);
        }
        if shape.records_changes() {
            note_limits(context, table, shape);
        }
        shape
            .queues_of(change)
            .for_each(|queue| queue.drain_if_full(context.now));
    }
    change
}
