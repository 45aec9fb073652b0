//! The limits of an account in a region on the control plane, if they are enforced.

use std::sync::Arc;

use crate::context::Context;
use crate::error::ApiError;
use crate::limits;
use crate::schema::{BillingMode, Definition, Throughput};
use crate::storage::Table;

/// Whether a table's conditions have limits for the control plane.
fn are_on(context: &Context<'_>, name: &str) -> bool {
    context.engine.conditions_of(&context.scope, name).control_limits
}

/// Rejects another operation on a table, if the maximum number of others are being created, changed or deleted.
pub fn check_operations(context: &Context<'_>, name: &str) -> Result<(), ApiError> {
    if !are_on(context, name) {
        return Ok(());
    }
    let others = tables(context, name);
    let busy = others.iter().filter(|table| table.shape().is_busy(context.now));
    if busy.count() >= limits::TABLE_OPERATIONS {
        return Err(ApiError::too_many_table_operations());
    }
    Ok(())
}

/// Rejects a new table, if too many others are changing or its units exceed the quota. `there` are all tables of the region.
pub fn check_new<'t>(
    context: &Context<'_>,
    (name, definition): (&str, &Definition),
    there: impl Iterator<Item = &'t Arc<Table>>,
) -> Result<(), ApiError> {
    if !are_on(context, name) {
        return Ok(());
    }
    let (mut busy, mut indexed, mut reserved) = (0, 0, Throughput::default());
    for table in there {
        let shape = table.shape();
        if shape.is_busy(context.now) {
            busy += 1;
            indexed += usize::from(shape.definition.has_indexes() && context.now < shape.active_at);
        }
        if !shape.is_gone(context.now) {
            reserved = sum(reserved, units(&shape.definition));
        }
    }
    if busy >= limits::TABLE_OPERATIONS {
        return Err(ApiError::too_many_table_operations());
    }
    if definition.has_indexes() && indexed >= limits::INDEXED_TABLE_OPERATIONS {
        return Err(ApiError::too_many_indexed_tables());
    }
    check_units(context, reserved, units(definition))
}

/// The units that the account has reserved for tables other than this one; `None` if its limits are not enforced.
pub fn reserved_by_others(context: &Context<'_>, name: &str) -> Option<Throughput> {
    are_on(context, name).then(|| {
        let others = tables(context, name);
        let shapes = others.iter().map(|table| table.shape());
        let reserving = shapes.filter(|shape| !shape.is_gone(context.now));
        reserving
            .map(|shape| units(&shape.definition))
            .fold(Throughput::default(), sum)
    })
}

/// Rejects a change of a table's units that exceeds the account's quota.
pub fn check_change(
    context: &Context<'_>,
    others: Throughput,
    was: &Definition,
    becomes: &Definition,
) -> Result<(), ApiError> {
    let (was, becomes) = (units(was), units(becomes));
    let more = Throughput {
        read: becomes.read.saturating_sub(was.read),
        write: becomes.write.saturating_sub(was.write),
    };
    check_units(context, sum(others, was), more)
}

fn check_units(context: &Context<'_>, reserved: Throughput, more: Throughput) -> Result<(), ApiError> {
    for (name, reserved, more) in [
        ("ReadCapacityUnits", reserved.read, more.read),
        ("WriteCapacityUnits", reserved.write, more.write),
    ] {
        if more > 0 && reserved.saturating_add(more) > limits::ACCOUNT_UNITS as u64 {
            return Err(ApiError::account_units(context.region, name, reserved, more));
        }
    }
    Ok(())
}

/// The other tables of the caller's account in its region.
fn tables(context: &Context<'_>, name: &str) -> Vec<Arc<Table>> {
    let Some(region) = context.engine.catalog().region(&context.scope) else {
        return Vec::new();
    };
    let tables = region.tables.read();
    let others = tables.iter().filter(|(there, _)| there.as_str() != name);
    others.map(|(_, table)| Arc::clone(table)).collect()
}

/// The units that a table and its global indexes reserve: zero on demand.
fn units(definition: &Definition) -> Throughput {
    if definition.billing != BillingMode::Provisioned {
        return Throughput::default();
    }
    let indexes = definition.globals.iter().map(|index| index.throughput);
    indexes.fold(definition.throughput, sum)
}

fn sum(left: Throughput, right: Throughput) -> Throughput {
    Throughput {
        read: left.read.saturating_add(right.read),
        write: left.write.saturating_add(right.write),
    }
}
