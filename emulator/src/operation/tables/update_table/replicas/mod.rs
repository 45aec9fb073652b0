//! `ReplicaUpdates`: replicas in other regions (docs/behavior: 04 12.4 and 08).

mod check;
mod create;
mod delete;
mod disassociate;
mod overrides;

use std::sync::Arc;

pub(super) use check::{check_members, check_together};
pub(in crate::operation) use delete::only_one_replica;
pub(super) use disassociate::set_protection;

use self::check::{ReplicaChangeKind, ReplicaChanges, region_of};
use super::edit::Outcome;
use super::settings::PROTECTION_COOLDOWN;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::operation::tables::description::GlobalView;
use crate::operation::tables::kms;
use crate::plan::RegionActions;
use crate::request::UpdateTable;
use crate::schema::Encryption;
use crate::storage::{Consistency, GroupState, Shape, Table, TableSettings};

/// Measured: 34 to 39 s in which all replicas are `UPDATING` after a change of settings.
pub(in crate::operation) const UPDATE: f64 = 6.0;

/// The IAM actions that a request needs in other regions (docs/behavior: 08 8).
pub(super) fn needed_actions(context: &Context<'_>, request: &UpdateTable) -> Vec<RegionActions> {
    if request.replica_updates.is_none() || context.identity().is_none() {
        return Vec::new();
    }
    let changes = ReplicaChanges::read(request);
    let actions: &[&str] = match changes.kind {
        Some(ReplicaChangeKind::Create) => &[
            "CreateTable",
            "CreateTableReplica",
            "Query",
            "Scan",
            "UpdateItem",
            "PutItem",
            "GetItem",
            "DeleteItem",
            "BatchWriteItem",
        ],
        Some(ReplicaChangeKind::Delete) => &["DeleteTable", "DeleteTableReplica"],
        Some(ReplicaChangeKind::Disassociate) => &["DisassociateTableReplica"],
        _ => &[],
    };
    let on = |region: &str, actions| RegionActions {
        region: region.into(),
        actions,
    };
    let replicas = || changes.replicas.iter().map(|action| region_of(action));
    let mut needed: Vec<_> = replicas().map(|region| on(region, actions)).collect();
    let witnesses: [(_, &'static [&'static str]); 2] = [
        (&changes.new_witnesses, &["CreateGlobalTableWitness"]),
        (&changes.old_witnesses, &["DeleteGlobalTableWitness"]),
    ];
    for (witnesses, actions) in witnesses {
        for witness in witnesses {
            // In the regions of all three.
            let all = replicas().chain([context.region, witness]);
            needed.extend(all.map(|region| on(region, actions)));
        }
    }
    needed
}

/// Rejects changes of settings that a replica does not allow, or not at this time. Called under
/// [`Catalog::change_replicas`](crate::storage::Catalog::change_replicas).
pub(super) fn check_settings(context: &Context<'_>, table: &Table, request: &UpdateTable) -> Result<(), ApiError> {
    let Some(state) = table.global_state(context.now) else {
        return Ok(());
    };
    let shape = table.shape();
    super::edit::check_active(table, &shape, context.now)?;
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
    table: &Table,
    now: Moment,
    change: impl FnOnce(&mut TableSettings) -> Result<(), ApiError>,
) -> Result<Arc<Shape>, ApiError> {
    let Some((group, state)) = table.replica_group().zip(table.global_state(now)) else {
        return table.reshape(now, change);
    };
    let mut state = GroupState::clone(&state);
    state.drop_gone(now);
    state.synchronizing = Some(table.ordinal);
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
        let shape = replica.reshape::<ApiError>(now, |settings| {
            settings.jobs.retain(|job| job.runs(now));
            settings.synchronize(before, after);
            let encrypted = |shape: &Shape| shape.definition.encryption.is_some();
            if encrypted(before) != encrypted(after) {
                let key_arn = || kms::key_arn_in(context, &replica.scope.region, None);
                let encryption = encrypted(after).then(|| Encryption { key_arn: key_arn() });
                Arc::make_mut(&mut settings.definition).encryption = encryption;
            }
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

/// The error of a change while another one is in progress.
pub(in crate::operation) fn in_use() -> ApiError {
    ApiError::new(
        ErrorKind::ResourceInUse,
        "The resource which you are attempting to change is in use.",
    )
}

/// Executes the `ReplicaUpdates` of a request. Called under
/// [`Catalog::change_replicas`](crate::storage::Catalog::change_replicas).
pub(super) fn change(context: &Context<'_>, table: &Arc<Table>, request: &UpdateTable) -> Result<Outcome, ApiError> {
    let changes = ReplicaChanges::read(request);
    check::check_regions(context, &table.name, &changes)?;
    let update = GroupUpdate {
        context,
        table,
        shape: table.shape(),
        state: table.global_state(context.now),
        changes,
    };
    update.check_active()?;
    let before = update.group();
    let shown = GlobalView::of(table, &before, context.now);
    match update.changes.kind {
        Some(ReplicaChangeKind::Create) => update.create()?,
        Some(ReplicaChangeKind::Delete) => update.delete()?,
        Some(ReplicaChangeKind::Update) => update.set_overrides()?,
        Some(ReplicaChangeKind::Disassociate) => update.disassociate()?,
        None => return Err(update.not_members()),
    }
    let strong = update.changes.is_strong();
    Ok(Outcome {
        shape: table.shape(),
        now: context.now,
        replicas: Some(if strong { shown.with_strong() } else { shown }),
    })
}

/// A change of the replicas of a table.
struct GroupUpdate<'u> {
    context: &'u Context<'u>,
    table: &'u Arc<Table>,
    shape: Arc<Shape>,
    /// The table's group, if it has other replicas.
    state: Option<Arc<GroupState>>,
    changes: ReplicaChanges<'u>,
}

impl GroupUpdate<'_> {
    /// When a change is complete that takes this many times as long as the creation of a table (measured: about 6 s).
    fn after(&self, what: &str, region: &str, times: f64) -> Moment {
        self.shape.later(self.context.now, what, region, times)
    }

    /// The replicas that are there, the table among them.
    fn group(&self) -> GroupState {
        let now = self.context.now;
        let mut group = match &self.state {
            Some(state) => GroupState::clone(state),
            None => GroupState::new(self.table, Consistency::Eventual, now),
        };
        group.drop_gone(now);
        group
    }

    /// Whether the table is in a group with strong consistency.
    fn is_strong(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(|state| state.consistency == Consistency::Strong)
    }

    /// The tables of the group, the one that is changed included.
    fn tables(&self) -> Vec<Arc<Table>> {
        let group = self.table.replica_group().filter(|_| self.state.is_some());
        group.map_or_else(|| vec![Arc::clone(self.table)], |group| group.tables())
    }

    /// Rejects changes of replicas of a table that is being created or deleted.
    fn check_active(&self) -> Result<(), ApiError> {
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
        super::edit::check_active(self.table, &self.shape, now)
    }

    /// Rejects a change while another one is in progress.
    fn check_free(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        let changing = self.state.as_ref().is_some_and(|state| state.is_changing(now));
        if changing || self.shape.running(now).next().is_some() {
            return Err(in_use());
        }
        Ok(())
    }

    /// Refuses to delete the source of a replica that was added less than a day before.
    fn check_sources(&self) -> Result<(), ApiError> {
        for action in &self.changes.replicas {
            check_source(self.context, &self.shape, self.state.as_deref(), region_of(action))?;
        }
        Ok(())
    }

    /// Refuses regions that have no replica, or whose replica is not listed yet.
    fn check_members(&self) -> Result<(), ApiError> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        Err(not_members(&missing))
    }

    fn missing(&self) -> Vec<&str> {
        let regions = self.changes.replicas.iter().map(|action| region_of(action));
        let other = |region: &str| {
            let state = self.state.as_ref()?;
            state.other_in(region, self.table.ordinal, self.context.now)
        };
        regions.filter(|region| other(region).is_none()).collect()
    }

    fn not_members(&self) -> ApiError {
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

fn not_members(regions: &[&str]) -> ApiError {
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
    if sourced.any(|replica| replica.added.plus(delete::SOURCE_STAYS) > now) {
        return Err(ApiError::validation(
            "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the table in the last 24 hours.",
        ));
    }
    Ok(())
}
