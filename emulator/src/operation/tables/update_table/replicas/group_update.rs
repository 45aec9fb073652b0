//! A change of the replicas of a table, and what every kind of change checks.

use std::sync::Arc;
use std::time::Duration;

use super::super::edit::check_active;
use super::check::{ReplicaChangeKind, ReplicaChanges, region_of};
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::storage::{Consistency, GroupState, Shape, Table};

/// Measured: 34 to 39 s in which all replicas are `UPDATING` after a change of settings.
pub(in crate::operation) const UPDATE: f64 = 6.0;

/// The time for which the replica of a region that was the source of a new one cannot be deleted.
const SOURCE_STAYS: Duration = Duration::from_hours(24);

/// A change of the replicas of a table.
pub(super) struct GroupUpdate<'u> {
    pub(super) context: &'u Context<'u>,
    pub(super) table: &'u Arc<Table>,
    pub(super) shape: Arc<Shape>,
    /// The table's group, if it has other replicas.
    pub(super) state: Option<Arc<GroupState>>,
    pub(super) changes: ReplicaChanges<'u>,
}

impl GroupUpdate<'_> {
    /// When a change is complete that takes this many times as long as the creation of a table (measured: about 6 s).
    pub(super) fn after(&self, what: &str, region: &str, times: f64) -> Moment {
        self.shape.later(self.context.now, what, region, times)
    }

    /// The existing replicas, including the table.
    pub(super) fn group(&self) -> GroupState {
        let now = self.context.now;
        let mut group = match &self.state {
            Some(state) => GroupState::clone(state),
            None => GroupState::new(self.table, Consistency::Eventual, now),
        };
        group.drop_gone(now);
        group
    }

    /// Whether the table is in a group with strong consistency.
    pub(super) fn is_strong(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(|state| state.consistency == Consistency::Strong)
    }

    /// The tables of the group, the one that is changed included.
    pub(super) fn tables(&self) -> Vec<Arc<Table>> {
        let group = self.table.replica_group().filter(|_| self.state.is_some());
        group.map_or_else(|| vec![Arc::clone(self.table)], |group| group.tables())
    }

    /// Rejects changes of replicas of a table that is being created or deleted.
    pub(super) fn check_active(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        if self.table.is_replica() && now < self.shape.active_at && !self.shape.is_deleting() {
            if self.changes.kind == Some(ReplicaChangeKind::Delete) {
                self.check_sources()?;
            }
            return Err(ApiError::validation(format!(
                "Create/Update/Delete of replica is not allowed while the replica is being added to table with name: ‘{}’ in region: ‘{}’.",
                self.table.name, self.context.region
            )));
        }
        check_active(self.table, &self.shape, now)
    }

    /// Rejects a change while another one is in progress.
    pub(super) fn check_free(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        let changing = self.state.as_ref().is_some_and(|state| state.is_changing(now));
        if changing || self.shape.running(now).next().is_some() {
            return Err(in_use());
        }
        Ok(())
    }

    /// Refuses to delete the source of a replica that was added less than a day before.
    pub(super) fn check_sources(&self) -> Result<(), ApiError> {
        for action in &self.changes.replicas {
            check_source(self.context, &self.shape, self.state.as_deref(), region_of(action))?;
        }
        Ok(())
    }

    /// Refuses regions that have no replica, or whose replica is not listed yet.
    pub(super) fn check_members(&self) -> Result<(), ApiError> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        Err(not_members(&missing))
    }

    pub(super) fn missing(&self) -> Vec<&str> {
        let regions = self.changes.replicas.iter().map(|action| region_of(action));
        let other = |region: &str| {
            let state = self.state.as_ref()?;
            state.other_in(region, self.table.ordinal, self.context.now)
        };
        regions.filter(|region| other(region).is_none()).collect()
    }

    pub(super) fn not_members(&self) -> ApiError {
        not_members(&self.missing())
    }
}

/// Refuses regions that have no replica of a global table.
pub(in crate::operation) fn check_regions_listed<'r>(
    table: &Table,
    regions: impl Iterator<Item = &'r str>,
    now: Moment,
) -> Result<(), ApiError> {
    let state = table.global_state(now);
    let is_there = |region: &str| {
        let mut there = state.iter().flat_map(|state| &state.replicas);
        there.any(|replica| replica.region == region && replica.is_there(now))
    };
    let missing: Vec<&str> = regions.filter(|region| !is_there(region)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(not_members(&missing))
}

pub(super) fn not_members(regions: &[&str]) -> ApiError {
    ApiError::validation(format!(
        "Update global table operation failed because one or more replicas were not part of the global table. Please retry the request without these replicas: [{}].",
        regions.join(", ")
    ))
}

/// Refuses to delete the replica of a region that was the source of another one less than a day before.
pub(in crate::operation) fn check_source(
    context: &Context<'_>,
    shape: &Shape,
    state: Option<&GroupState>,
    region: &str,
) -> Result<(), ApiError> {
    let now = context.now;
    let Some(state) = state.filter(|_| shape.takes_time()) else {
        return Ok(());
    };
    let mut sourced = state.sourced_by(region, now);
    if sourced.any(|replica| replica.added.plus(SOURCE_STAYS) > now) {
        return Err(ApiError::validation(
            "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the table in the last 24 hours.",
        ));
    }
    Ok(())
}

/// The error of a change while another one is in progress.
pub(in crate::operation) fn in_use() -> ApiError {
    ApiError::new(
        ErrorKind::ResourceInUse,
        "The resource which you are attempting to change is in use.",
    )
}
