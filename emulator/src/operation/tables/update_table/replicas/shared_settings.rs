//! Settings that all replicas of a table share: a change of one replica's is copied to the others.

use std::sync::Arc;

use super::super::edit::check_active;
use super::super::settings::PROTECTION_COOLDOWN;
use super::group_update::in_use;
use crate::context::Context;
use crate::error::ApiError;
use crate::execute;
use crate::operation::tables::kms;
use crate::request::UpdateTable;
use crate::storage::{Consistency, GroupState, Shape, Synchronization, Table, TableSettings};

/// Rejects changes of settings that a replica does not allow, or not at this time. Called under
/// [`Catalog::change_replicas`](crate::storage::Catalog::change_replicas).
pub(in super::super) fn check_settings(
    context: &Context<'_>,
    table: &Table,
    request: &UpdateTable,
) -> Result<(), ApiError> {
    let Some(state) = table.global_state(context.now) else {
        return Ok(());
    };
    let shape = table.shape();
    check_active(table, &shape, context.now)?;
    if request.stream_specification.is_some() && state.consistency == Consistency::Eventual {
        return Err(ApiError::invalid(
            "Disabling Stream is not allowed for a Global Table replica.",
        ));
    }
    // A second change of deletion protection is throttled instead.
    let last = shape
        .recent
        .protection
        .filter(|_| request.deletion_protection_enabled.is_some());
    let throttled = last.is_some_and(|last| last.plus(PROTECTION_COOLDOWN) > context.now);
    if state.is_changing(context.now) && !throttled {
        return Err(in_use());
    }
    Ok(())
}

/// Changes the settings of a table. If it is a replica, the same commit notes that the others do not have them yet; then
/// [`synchronize`] follows.
pub(in crate::operation) fn reshape(
    context: &Context<'_>,
    table: &Table,
    change: impl FnOnce(&mut TableSettings) -> Result<(), ApiError>,
) -> Result<Arc<Shape>, ApiError> {
    let now = context.now;
    let Some((group, state)) = table.replica_group().zip(table.global_state(now)) else {
        return table.reshape(now, change);
    };
    let key = |replica: Arc<Table>| {
        let region = replica.scope.region.clone();
        let key_arn = kms::key_arn_in(context, &region, None);
        (region, key_arn)
    };
    let mut state = GroupState::clone(&state);
    state.drop_gone(now);
    state.synchronizing = Some(Box::new(Synchronization {
        table: table.ordinal,
        // Settings are changed under the lock that serializes changes of replicas.
        before: table.shape().settings.clone(),
        keys: group.peers(table.ordinal).into_iter().map(key).collect(),
    }));
    table.reshape_replica(now, &state, &group.tables(), change)
}

/// A replica whose settings were changed with those of another one, and its shape then.
type Synchronized = (Arc<Table>, Arc<Shape>);

/// Copies a change of the settings that all replicas share to the other replicas. All of them are `UPDATING` for `times`
/// the time in which a table is created. Returns the tables that may have new indexes.
pub(in crate::operation) fn synchronize(
    context: &Context<'_>,
    table: &Table,
    (before, after): (&Shape, &Shape),
    times: f64,
) -> Result<Vec<Synchronized>, ApiError> {
    let now = context.now;
    let Some((group, state)) = table.replica_group().zip(table.global_state(now)) else {
        return Ok(Vec::new());
    };
    let mut changed = Vec::new();
    for replica in group.peers(table.ordinal) {
        // What is due happens under the old settings.
        execute::run_due(&replica, now);
        let shape = replica.reshape::<ApiError>(now, |settings| {
            settings.jobs.retain(|job| job.runs(now));
            let key_arn = kms::key_arn_in(context, &replica.scope.region, None);
            settings.synchronize(before, after, Some(&key_arn));
            Ok(())
        })?;
        changed.push((replica, shape));
    }
    let mut state = GroupState::clone(&state);
    state.drop_gone(now);
    state.synchronizing = None;
    state.updating_until = after.later(now, "replica settings", &table.scope.region, times);
    group.change(table, &state, now)?;
    Ok(changed)
}
