//! Adding a replica: its table is created in the other region, and receives a copy of the items (docs/behavior: 08 2.2
//! and 2.5).

use std::sync::Arc;

use super::check::region_of;
use super::group_update::{GroupUpdate, in_use};
use crate::clock::Moment;
use crate::error::ApiError;
use crate::operation::tables::create_table::{self, Extras};
use crate::operation::tables::kms;
use crate::request::ReplicaAction;
use crate::schema::{Adjustments, BillingMode, Definition, StreamView};
use crate::storage::{Consistency, GroupState, Replica, Scope, Table, TableStream, TransferKind, Witness};

/// Measured: 14 to 49 s, until a replica of an empty table is `ACTIVE`.
const EMPTY: f64 = 5.0;
/// Measured: 494 to 686 s with one item, 175 s of them with the source `ACTIVE`.
const WITH_ITEMS: f64 = 100.0;
const COPIED: f64 = 0.36;
/// Measured: 161 s with an override.
const WITH_OVERRIDE: f64 = 27.0;
/// Measured: 6 s until the source lists the replica.
const SHOWS: f64 = 1.0;
/// Measured: 10 s until calls in its region find it.
const APPEARS: f64 = 1.7;
/// Measured: 15.6 s for two replicas with strong consistency, 59.5 to 86 s with a witness.
const STRONG: f64 = 2.6;
const WITH_WITNESS: f64 = 12.0;

impl GroupUpdate<'_> {
    /// Adds the replicas, and the witness.
    pub(super) fn create(&self) -> Result<(), ApiError> {
        self.check_create()?;
        let mut group = self.group();
        if self.changes.is_strong() {
            group.consistency = Consistency::Strong;
        }
        let mut tables = self.tables();
        for action in &self.changes.replicas {
            self.add(action, &mut group, &mut tables)?;
        }
        if group.consistency == Consistency::Eventual {
            self.enable_stream()?;
        }
        let made = self.changes.replicas.iter().map(|action| region_of(action));
        for region in made {
            self.fill(region, &mut group, &tables)?;
        }
        Ok(())
    }

    fn check_create(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        if let Some(state) = &self.state {
            if self.changes.consistency.is_some() {
                return Err(ApiError::validation(
                    "MultiRegionConsistency parameter is unsupported on existing global table",
                ));
            }
            if state.consistency == Consistency::Strong {
                return Err(ApiError::validation(
                    "Cannot add replicas to a global table with strong MultiRegionConsistency",
                ));
            }
        }
        self.check_free()?;
        if self.has_bulk_put() {
            return Err(in_use());
        }
        let definition = &self.shape.definition;
        if definition.billing == BillingMode::Provisioned {
            let scales = |index: Option<&str>| {
                let state = self.state.as_ref();
                state.is_some_and(|state| state.scaling_of(None, index).is_some())
            };
            let mut indexes = definition.globals.iter();
            let what = if scales(None) {
                indexes.any(|index| !scales(Some(&index.name))).then_some("GSI")
            } else {
                Some("Table")
            };
            if let Some(what) = what {
                return Err(ApiError::validation(format!(
                    "{what} write capacity should either be Pay-Per-Request or AutoScaled."
                )));
            }
        }
        self.changes
            .replicas
            .iter()
            .try_for_each(|action| self.check_key(action))?;
        if self.changes.is_strong() {
            self.check_strong()?;
        }
        for action in &self.changes.replicas {
            let region = self.context.engine.catalog().region(&self.scope(region_of(action)));
            let there = region.and_then(|region| region.tables.read().get(&self.table.name).cloned());
            if there.is_some_and(|there| !there.shape().is_gone(now)) {
                return Err(already_exists(&self.table.name));
            }
        }
        Ok(())
    }

    /// Whether a bulk operation writes to the table.
    fn has_bulk_put(&self) -> bool {
        let region = self.context.engine.catalog().region(&self.context.scope);
        region.is_some_and(|region| {
            let kind = TransferKind::BulkPut;
            region.transfers.is_running(kind, &self.table.id, self.context.now)
        })
    }

    /// Checks that a table with a customer managed key has one in each region, and one without has none.
    fn check_key(&self, action: &ReplicaAction) -> Result<(), ApiError> {
        let service_key = kms::key_arn(self.context, None);
        let own_key = self.shape.definition.encryption.as_ref();
        let own_key = own_key.is_some_and(|key| key.key_arn != service_key);
        match action.kms_master_key_id.as_deref() {
            None if own_key => Err(ApiError::invalid("KMSMasterKeyId must be specified for each replica.")),
            Some(key) if own_key == kms::is_service_key(key) => Err(ApiError::invalid(
                "All replica keys must either be Customer Managed CMK or AWS Managed CMK.",
            )),
            _ => Ok(()),
        }
    }

    /// Rejects features that a table with strong consistency cannot have (Developer Guide). The service's texts are not
    /// recorded.
    fn check_strong(&self) -> Result<(), ApiError> {
        let text = if !self.shape.definition.locals.is_empty() {
            "Local secondary indexes are not supported for global tables with MultiRegionConsistency set to STRONG."
        } else if self.shape.time_to_live.is_some() {
            "Time to Live is not supported for global tables with MultiRegionConsistency set to STRONG."
        } else if self.table.count().0 > 0 {
            "Table must be empty to create a global table with MultiRegionConsistency set to STRONG."
        } else {
            return Ok(());
        };
        Err(ApiError::validation(text))
    }

    /// The scope of the caller's account in a region. With tables shared by all callers, all regions are one.
    fn scope(&self, region: &str) -> Scope {
        let own = &self.table.scope;
        Scope {
            account: own.account.clone(),
            region: if own.region.is_empty() {
                own.region.clone()
            } else {
                region.into()
            },
        }
    }

    /// Creates a replica without items, which takes all writes from now on.
    fn add(
        &self,
        action: &ReplicaAction,
        group: &mut GroupState,
        tables: &mut Vec<Arc<Table>>,
    ) -> Result<(), ApiError> {
        let (context, now) = (self.context, self.context.now);
        let strong = group.consistency == Consistency::Strong;
        let region = context.engine.catalog().region_or_new(&self.scope(region_of(action)));
        let mut listed = region.tables.write();
        let name = &self.table.name;
        let there = listed.get(name).map(|there| there.shape());
        // A concurrent request may have created it since the check.
        if there.is_some_and(|there| !there.is_gone(now)) {
            return Err(already_exists(name));
        }
        let definition = self.definition(action)?;
        let view = self.shape.stream.as_ref().map(|stream| stream.view);
        let view = (!strong).then(|| view.unwrap_or(StreamView::NewAndOldImages));
        let extras = Extras::of_replica(view);
        let (identity, mut settings) = create_table::plan_table(context, &region, name.clone(), definition, extras);
        settings.time_to_live.clone_from(&self.shape.time_to_live);
        settings.time_to_live_changed = self.shape.time_to_live_changed;
        settings.active_at = Moment::NEVER;
        let shows_at = self.after("replica", region_of(action), SHOWS);
        group.replicas.push(Replica {
            region: region.scope().region.clone(),
            table: identity.ordinal,
            source: Some(self.table.scope.region.clone()),
            added: now,
            shows_at,
            appears_at: self.after("replica", region_of(action), APPEARS),
            copied_until: None,
            active_at: Moment::NEVER,
            removal: None,
            unprotected: false,
        });
        if let Some(witness) = self.changes.new_witnesses.first() {
            let active_at = self.after("witness", witness, WITH_WITNESS);
            let region = (*witness).into();
            group.witness = Some(Witness { region, active_at });
        }
        let replica = listed.insert_replica(&region, (identity, settings), (group, tables), now)?;
        create_table::watch(context, &replica);
        drop(listed);
        tables.push(replica);
        Ok(())
    }

    /// Copies the items to a new replica.
    fn fill(&self, region: &str, group: &mut GroupState, tables: &[Arc<Table>]) -> Result<(), ApiError> {
        let now = self.context.now;
        // A deleted replica's table may still be listed.
        let is_new = |table: &&Arc<Table>| table.scope.region == region && !table.shape().is_gone(now);
        let Some(replica) = tables.iter().find(is_new) else {
            return Ok(());
        };
        let copied = replica.copy_items(self.table, now)?;
        let overrides = |action: &&&ReplicaAction| region_of(action) == region && action.on_demand_throughput.is_some();
        let times = match (group.consistency, &group.witness) {
            (Consistency::Strong, None) => STRONG,
            (Consistency::Strong, Some(_)) => WITH_WITNESS,
            _ if copied > 0 => WITH_ITEMS,
            _ if self.changes.replicas.iter().any(|action| overrides(&action)) => WITH_OVERRIDE,
            _ => EMPTY,
        };
        let end = self.after("replica", region, times);
        if let Some(made) = group.replica_mut(replica.ordinal) {
            made.active_at = end;
            made.copied_until = (times == WITH_ITEMS).then(|| now.plus(end.since(now).mul_f64(COPIED)));
            made.shows_at = made.shows_at.min(end);
            made.appears_at = made.appears_at.min(end);
        }
        replica.reshape_replica::<ApiError>(now, group, tables, |settings| {
            settings.active_at = end;
            Ok(())
        })?;
        Ok(())
    }

    /// The definition of a new replica: the table's, without the settings that each region has separately, and with its
    /// overrides.
    fn definition(&self, action: &ReplicaAction) -> Result<Definition, ApiError> {
        let mut definition = Definition {
            adjustments: Adjustments::default(),
            deletion_protection: false,
            tags: Vec::new(),
            ..Definition::clone(&self.shape.definition)
        };
        for index in &mut definition.globals {
            index.adjustments = Adjustments::default();
        }
        self.override_settings(action, &mut definition)?;
        if let Some(encryption) = &mut definition.encryption {
            encryption.key_arn = kms::key_arn_in(self.context, region_of(action), action.kms_master_key_id.as_deref());
        }
        Ok(definition)
    }

    /// Enables the stream that replication requires.
    fn enable_stream(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        if self.shape.has_stream() {
            return Ok(());
        }
        let region = self.context.engine.catalog().region_or_new(&self.table.scope);
        self.table.reshape::<ApiError>(now, |shape| {
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
}

fn already_exists(table: &str) -> ApiError {
    ApiError::validation(format!(
        "Failed to create a the new replica of table with name: ‘{table}’ because one or more replicas already existed as tables."
    ))
}
