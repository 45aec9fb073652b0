//! `ReplicaUpdates`: replicas in other regions (docs/behavior: 04 12.4 and 08).

mod check;
mod create;
mod delete;
mod disassociate;
mod group_update;
mod overrides;
mod shared_settings;

use std::sync::Arc;

pub(super) use check::{check_members, check_together};
pub(in crate::operation) use delete::only_one_replica;
pub(super) use disassociate::set_protection;
pub(in crate::operation) use group_update::{UPDATE, check_regions_listed, check_source, in_use};
pub(super) use shared_settings::check_settings;
pub(in crate::operation) use shared_settings::{reshape, synchronize};

use self::check::{ReplicaChangeKind, ReplicaChanges, check_regions, region_of};
use self::group_update::GroupUpdate;
use super::edit::Outcome;
use crate::context::Context;
use crate::error::ApiError;
use crate::operation::tables::description::GlobalView;
use crate::plan::RegionActions;
use crate::request::UpdateTable;
use crate::storage::Table;

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

/// Executes the `ReplicaUpdates` of a request. Called under
/// [`Catalog::change_replicas`](crate::storage::Catalog::change_replicas).
pub(super) fn change(context: &Context<'_>, table: &Arc<Table>, request: &UpdateTable) -> Result<Outcome, ApiError> {
    let changes = ReplicaChanges::read(request);
    check_regions(context, &table.name, &changes)?;
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
