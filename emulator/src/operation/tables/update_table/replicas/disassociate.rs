//! Disassociating a replica, whose table becomes independent (docs/behavior: 08 2.7). The service's texts are not recorded.

use std::sync::Arc;

use super::super::edit::{Outcome, check_active};
use super::group_update::{GroupUpdate, UPDATE, in_use, not_members};
use crate::clock::Moment;
use crate::context::Context;
use crate::error::ApiError;
use crate::operation::tables::description::GlobalView;
use crate::storage::{Consistency, GroupState, Removal, Table};

/// Refuses what needs a replica with eventual consistency; returns the state of its group.
fn eventual(table: &Table, now: Moment) -> Result<Arc<GroupState>, ApiError> {
    let state = table
        .global_state(now)
        .ok_or_else(|| not_members(&[&table.scope.region]))?;
    if state.consistency == Consistency::Strong {
        return Err(ApiError::validation(
            "Disassociation of replicas is not supported for global tables with MultiRegionConsistency set to STRONG.",
        ));
    }
    Ok(state)
}

impl GroupUpdate<'_> {
    /// Lets the replica leave its group, after what is queued between it and the others has arrived. New writes are
    /// replicated no more. While replication is paused and something is queued, it does not leave.
    pub(super) fn disassociate(&self) -> Result<(), ApiError> {
        let (now, table) = (self.context.now, self.table);
        let state = eventual(table, now)?;
        if state.replica(table.ordinal).is_some_and(|replica| !replica.unprotected) {
            return Err(ApiError::validation(
                "Replica cannot be disassociated as it is currently protected against disassociation. Disable disassociation protection first.",
            ));
        }
        self.check_free()?;
        let mut group = self.group();
        let others = self.tables().into_iter().filter(|other| other.ordinal != table.ordinal);
        let arrivals = others.map(|other| {
            let own = &table.scope.region;
            other.settled_at(own).max(table.settled_at(&other.scope.region))
        });
        let end = self.after("disassociation", &table.scope.region, UPDATE);
        match arrivals.max().unwrap_or(now) {
            Moment::NEVER => group.updating_until = end,
            arrived => {
                let gone_at = end.max(arrived);
                if let Some(own) = group.replica_mut(table.ordinal) {
                    own.removal = Some(Removal {
                        shows_at: gone_at,
                        gone_at,
                        keeps_table: true,
                    });
                }
                // The table may begin a group of its own, whose number is its own.
                if group.id == table.ordinal
                    && let Some(other) = group.replicas.iter().find(|other| other.table != table.ordinal)
                {
                    group.id = other.table;
                }
            }
        }
        change(table, &group, now)
    }
}

fn change(table: &Table, state: &GroupState, now: Moment) -> Result<(), ApiError> {
    let group = table
        .replica_group()
        .ok_or_else(|| not_members(&[&table.scope.region]))?;
    group.change(table, state, now)?;
    Ok(())
}

/// Enables or disables the protection of a replica from disassociation. Called under
/// [`Catalog::change_replicas`](crate::storage::Catalog::change_replicas).
pub(in super::super) fn set_protection(
    context: &Context<'_>,
    table: &Arc<Table>,
    enabled: bool,
) -> Result<Outcome, ApiError> {
    let (now, shape) = (context.now, table.shape());
    check_active(table, &shape, now)?;
    let state = eventual(table, now)?;
    if state.is_changing(now) {
        return Err(in_use());
    }
    let shown = GlobalView::of(table, &state, now);
    let mut state = GroupState::clone(&state);
    state.drop_gone(now);
    if let Some(own) = state.replica_mut(table.ordinal)
        && own.unprotected == enabled
    {
        own.unprotected = !enabled;
        state.updating_until = shape.later(now, "disassociation protection", &table.scope.region, UPDATE);
        change(table, &state, now)?;
    }
    Ok(Outcome {
        shape,
        now,
        replicas: Some(shown),
    })
}
