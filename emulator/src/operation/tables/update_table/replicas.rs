//! `ReplicaUpdates`: replicas in other regions (docs/behavior: 04 12.4 and 08).

use std::sync::Arc;

use super::{Outcome, check_standing};
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::operation::check::words;
use crate::operation::tables::create_table::{self, Extras};
use crate::operation::tables::kms;
use crate::request::{ReplicaAction, ReplicaUpdate, UpdateTable, Validated};
use crate::schema::{Adjustments, BillingMode, Definition, StreamView};
use crate::storage::{Consistency, GroupState, Removal, Replica, Scope, Shape, Table, TableStream};

/// The regions that a replica can be in (AWS General Reference). In which order the service lists them was not captured.
const REGIONS: [&str; 34] = [
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// Measured: 14 to 49 s, until a replica of an empty table is `ACTIVE`.
const CREATION: f64 = 5.0;
/// Measured: 0 to 47 s until the deletion of a replica shows, and 97 to 244 s until the replica is gone.
const REMOVAL_SHOWS: f64 = 4.0;
const REMOVAL: f64 = 28.0;

/// The framework's checks.
pub(super) fn check_members(violations: &mut Violations, request: &UpdateTable) {
    if let Some(word) = request.multi_region_consistency.as_deref()
        && !matches!(word, "EVENTUAL" | "STRONG")
    {
        let set = constraint::one_of(words::MULTI_REGION_CONSISTENCY);
        violations.value(word, "multiRegionConsistency", set);
    }
    if let Some(witnesses) = &request.global_table_witness_updates {
        match witnesses.kept[..] {
            [] => violations.value("[]", "globalTableWitnessUpdates", constraint::min_length(1)),
            [_, _, ..] => violations.silent_value("globalTableWitnessUpdates", constraint::max_length(1)),
            [_] => violations.add(Some(&witnesses.violations)),
        }
    }
    violations.add(request.replica_updates.as_ref().map(|updates| &updates.violations));
}

/// The actions of an element, with the names of their members.
fn actions(update: &ReplicaUpdate) -> impl Iterator<Item = (&ReplicaAction, &'static str)> {
    [
        (&update.create, "create"),
        (&update.update, "update"),
        (&update.delete, "delete"),
        (&update.disassociate, "disassociate"),
    ]
    .into_iter()
    .filter_map(|(action, name)| Some((action.as_ref()?, name)))
}

/// Which actions go together, as far as the request alone tells.
pub(super) fn check_together(request: &UpdateTable) -> Result<(), ApiError> {
    let Some(Validated { kept: updates, .. }) = &request.replica_updates else {
        return Ok(());
    };
    let strong = request.multi_region_consistency.as_deref() == Some("STRONG");
    if request.global_table_witness_updates.is_some() && !strong {
        return Err(ApiError::validation(
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is present.",
        ));
    }
    let all: Vec<&str> = updates.iter().flat_map(actions).map(|(_, name)| name).collect();
    if updates.iter().any(|update| actions(update).next().is_none()) {
        return Err(ApiError::validation(
            "There are no actions specified in the Replica Update Action of the request.",
        ));
    }
    if request.multi_region_consistency.is_some() && all.iter().any(|name| *name != "create") {
        return Err(ApiError::validation(
            "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.",
        ));
    }
    if all.iter().any(|name| *name != all[0]) {
        return Err(ApiError::validation(
            "Update table operation with more than one type of replica actions not allowed.",
        ));
    }
    if all.len() > 1 && all[0] != "update" && !strong {
        return Err(ApiError::validation(
            "Update table operation with more than one create or delete replica actions not allowed",
        ));
    }
    Ok(())
}

/// Carries out the `ReplicaUpdates` of a request. The caller has [`Catalog::change_replicas`](crate::storage::Catalog).
pub(super) fn change(context: &Context<'_>, table: &Arc<Table>, request: &UpdateTable) -> Result<Outcome, ApiError> {
    let shape = table.shape();
    check_standing(&shape, &table.name, context.now)?;
    let updates = request.replica_updates.iter().flat_map(|updates| &updates.kept);
    let asked: Vec<(&ReplicaAction, &str)> = updates.flat_map(actions).collect();
    for (action, _) in &asked {
        check_region(context, region_of(action))?;
    }
    let update = GroupUpdate {
        context,
        table,
        shape,
        state: table.global_state(context.now),
    };
    let before = update.group();
    match asked[..] {
        [(action, "create")] => update.create(action)?,
        [(action, "delete")] => update.delete(action)?,
        _ => return Err(not_members(&asked)),
    }
    Ok(Outcome {
        shape: table.shape(),
        now: context.now,
        replicas: Some(before),
    })
}

fn region_of(action: &ReplicaAction) -> &str {
    action.region_name.as_deref().unwrap_or_default()
}

fn check_region(context: &Context<'_>, region: &str) -> Result<(), ApiError> {
    if region == context.region {
        return Err(ApiError::validation(
            "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or UpdateTable as required.",
        ));
    }
    if REGIONS.contains(&region) {
        return Ok(());
    }
    Err(ApiError::validation(format!(
        "Region {region} is not supported. The latest version of global tables are only supported in the following regions: [{}]",
        REGIONS.join(", ")
    )))
}

/// A change of the replicas of a table.
struct GroupUpdate<'u> {
    context: &'u Context<'u>,
    table: &'u Arc<Table>,
    shape: Arc<Shape>,
    /// The table's group, if it has other replicas.
    state: Option<Arc<GroupState>>,
}

impl GroupUpdate<'_> {
    /// When a change is done that takes so many times as long as a table takes to be made (measured: about 6 s).
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

    fn create(&self, action: &ReplicaAction) -> Result<(), ApiError> {
        let (context, now) = (self.context, self.context.now);
        let catalog = context.engine.catalog();
        self.check_create(action)?;
        let scope = Scope {
            account: context.scope.account.clone(),
            region: if context.scope.region.is_empty() {
                context.scope.region.clone()
            } else {
                region_of(action).into()
            },
        };
        let region = catalog.region_or_new(&scope);
        let mut tables = region.tables.write();
        let name = &self.table.name;
        let there = tables.get(name).map(|there| there.shape());
        if there.is_some_and(|there| there.deleted_at.is_none_or(|gone| gone > now)) {
            return Err(already_exists(name));
        }
        let definition = self.definition(action);
        let view = self.shape.stream.as_ref();
        let extras = Extras::of_replica(view.map_or(StreamView::NewAndOldImages, |stream| stream.view));
        let (identity, mut settings) = create_table::plan_table(context, &region, name.clone(), definition, extras);
        settings.time_to_live.clone_from(&self.shape.time_to_live);
        settings.time_to_live_changed = self.shape.time_to_live_changed;
        settings.active_at = Moment::NEVER;
        let mut group = self.group();
        group.replicas.push(Replica {
            region: scope.region,
            table: identity.ordinal,
            source: Some(self.table.scope.region.clone()),
            added: now,
            active_at: Moment::NEVER,
            removal: None,
        });
        let mut others = self.tables();
        let replica = tables.insert_replica(&region, (identity, settings), (&group, &others), now)?;
        create_table::watch(context, &replica);
        drop(tables);
        self.enable_stream()?;
        replica.copy_items(self.table, now)?;
        let end = self.after("replica", &replica.scope.region, CREATION);
        if let Some(made) = group.replica_mut(replica.ordinal) {
            made.active_at = end;
        }
        others.push(Arc::clone(&replica));
        replica.reshape_replica::<ApiError>(now, &group, &others, |settings| {
            settings.active_at = end;
            Ok(())
        })?;
        Ok(())
    }

    fn check_create(&self, action: &ReplicaAction) -> Result<(), ApiError> {
        if self.shape.running(self.context.now).next().is_some() {
            return Err(ApiError::new(
                ErrorKind::ResourceInUse,
                "The resource which you are attempting to change is in use.",
            ));
        }
        let definition = &self.shape.definition;
        if definition.billing == BillingMode::Provisioned {
            // Nothing scales by itself here, so provisioned capacity never will do.
            return Err(ApiError::validation(
                "Table write capacity should either be Pay-Per-Request or AutoScaled.",
            ));
        }
        // A key of the service's own needs no counterpart.
        let own_key = definition.encryption.as_ref();
        let own_key = own_key.is_some_and(|key| key.key_arn != kms::key_arn(self.context, None));
        if own_key && action.kms_master_key_id.is_none() {
            return Err(ApiError::invalid("KMSMasterKeyId must be specified for each replica."));
        }
        Ok(())
    }

    /// The definition of a new replica: the table's, without what each region has of its own.
    fn definition(&self, _: &ReplicaAction) -> Definition {
        Definition {
            adjustments: Adjustments::default(),
            deletion_protection: false,
            tags: Vec::new(),
            ..Definition::clone(&self.shape.definition)
        }
    }

    /// The tables of the group, the one that is changed included.
    fn tables(&self) -> Vec<Arc<Table>> {
        let group = self.table.replica_group().filter(|_| self.state.is_some());
        group.map_or_else(|| vec![Arc::clone(self.table)], |group| group.tables())
    }

    /// Switches on the stream that replication needs.
    fn enable_stream(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        if self.shape.has_stream() {
            return Ok(());
        }
        let region = self.context.engine.catalog().region_or_new(&self.table.scope);
        self.table.reshape::<ApiError>(now, |shape| {
            shape.jobs.retain(|job| job.runs(now));
            let stream = TableStream {
                created: region.stream_label(&self.table.arn, now),
                view: StreamView::NewAndOldImages,
                enabled_at: now,
                starts: shape.shard_starts(now),
                end: None,
            };
            shape.open_stream(stream);
            Ok(())
        })?;
        Ok(())
    }

    fn delete(&self, action: &ReplicaAction) -> Result<(), ApiError> {
        let now = self.context.now;
        let region = region_of(action);
        let missing = || not_members(&[(action, "delete")]);
        let mut group = self.group();
        let tables = self.tables();
        let replica = tables.iter().find(|table| table.scope.region == region);
        let replica = replica.ok_or_else(missing)?;
        let removed = group.replica_mut(replica.ordinal).ok_or_else(missing)?;
        let gone_at = self.after("replica removal", region, REMOVAL);
        removed.removal = Some(Removal {
            shows_at: self.after("replica removal shows", region, REMOVAL_SHOWS).min(gone_at),
            gone_at,
        });
        replica.reshape_replica::<ApiError>(now, &group, &tables, |settings| {
            settings.deleted_at = Some(gone_at);
            settings.recent.deletion = Some(now);
            settings.close_stream(now, gone_at);
            Ok(())
        })?;
        if let Some(region) = self.context.engine.catalog().region(&replica.scope) {
            region.forget_deleted(&replica.name, now);
        }
        Ok(())
    }
}

fn already_exists(table: &str) -> ApiError {
    ApiError::validation(format!(
        "Failed to create a the new replica of table with name: ‘{table}’ because one or more replicas already existed as tables."
    ))
}

fn not_members(asked: &[(&ReplicaAction, &str)]) -> ApiError {
    let regions = asked.iter().filter_map(|(action, _)| action.region_name.as_deref());
    ApiError::validation(format!(
        "Update global table operation failed because one or more replicas were not part of the global table. Please retry the request without these replicas: [{}].",
        regions.collect::<Vec<_>>().join(", ")
    ))
}
