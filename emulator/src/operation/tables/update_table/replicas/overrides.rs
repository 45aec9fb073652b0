//! Settings of a replica that differ from the others' (docs/behavior: 08 3).

use std::sync::Arc;

use super::check::region_of;
use super::group_update::{GroupUpdate, UPDATE};
use crate::error::ApiError;
use crate::operation::tables::create_table::definition::table_class;
use crate::operation::tables::create_table::quota::{self, ThroughputOwner};
use crate::operation::tables::kms;
use crate::request::{OnDemandThroughput as OnDemandRequest, ProvisionedThroughput, ReplicaAction};
use crate::schema::{BillingMode, Definition, Encryption, OnDemandThroughput};

impl GroupUpdate<'_> {
    /// Sets the overrides of replicas.
    pub(super) fn set_overrides(&self) -> Result<(), ApiError> {
        let now = self.context.now;
        self.check_members()?;
        self.check_free()?;
        let billing = self.shape.definition.billing;
        for action in &self.changes.replicas {
            check_billing(action, billing)?;
            if action.kms_master_key_id.is_some() && self.shape.definition.encryption.is_none() {
                // The service's text, although the key is not missing.
                return Err(ApiError::invalid("KMSMasterKeyId must be specified for each replica."));
            }
            // If one is rejected, none is applied.
            self.override_settings(action, &mut Definition::clone(&self.shape.definition))?;
        }
        let mut group = self.group();
        group.updating_until = self.after("replica settings", self.context.region, UPDATE);
        let tables = self.tables();
        for action in &self.changes.replicas {
            let region = region_of(action);
            let Some(table) = tables.iter().find(|table| table.scope.region == region) else {
                return Err(self.not_members());
            };
            table.reshape_replica::<ApiError>(now, &group, &tables, |settings| {
                settings.jobs.retain(|job| job.runs(now));
                let definition = Arc::make_mut(&mut settings.definition);
                self.override_settings(action, definition)?;
                if let Some(key) = &action.kms_master_key_id {
                    let key_arn = kms::key_arn_in(self.context, region, Some(key));
                    definition.encryption = Some(Encryption { key_arn });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Applies the overrides of an action to a definition. Those for another billing mode, and for missing indexes, are
    /// ignored.
    pub(super) fn override_settings(
        &self,
        action: &ReplicaAction,
        definition: &mut Definition,
    ) -> Result<(), ApiError> {
        let billing = definition.billing;
        let units = |requested: Option<&ProvisionedThroughput>| {
            let units = requested.and_then(|requested| requested.read_capacity_units)?;
            (billing == BillingMode::Provisioned).then_some(units.max(0) as u64)
        };
        if let Some(read) = units(action.provisioned_throughput.as_ref()) {
            definition.throughput.read = read;
        }
        if billing == BillingMode::PayPerRequest {
            let requested = action.on_demand_throughput.as_ref();
            self.override_limit(requested, &mut definition.on_demand, &ThroughputOwner::Table)?;
        }
        for requested in action.global_secondary_indexes.iter().flatten() {
            let mut indexes = definition.globals.iter_mut();
            let found = indexes.find(|index| Some(&index.name) == requested.index_name.as_ref());
            let Some(index) = found else { continue };
            if let Some(read) = units(requested.provisioned_throughput.as_ref()) {
                index.throughput.read = read;
            }
            if billing == BillingMode::PayPerRequest {
                let of = ThroughputOwner::Index(&index.name);
                self.override_limit(requested.on_demand_throughput.as_ref(), &mut index.on_demand, &of)?;
            }
        }
        if let Some(word) = &action.table_class {
            definition.class = Some(table_class(word)?);
            definition.class_changed = Some(self.context.now);
        }
        Ok(())
    }

    /// Overrides a limit on reads; -1 removes it.
    fn override_limit(
        &self,
        requested: Option<&OnDemandRequest>,
        there: &mut Option<OnDemandThroughput>,
        of: &ThroughputOwner<'_>,
    ) -> Result<(), ApiError> {
        let Some(limit) = requested.and_then(|requested| requested.max_read_request_units) else {
            return Ok(());
        };
        quota::on_demand(self.context, limit, "MaxReadRequestUnits", of)?;
        let mut limits = there.unwrap_or_default();
        limits.max_read = match limit {
            -1 => None,
            1.. => Some(limit),
            _ => {
                return Err(ApiError::invalid(format_args!(
                    "Requested MaxReadRequestUnits for OnDemandThroughput for {} is outside of valid range",
                    of.spaced()
                )));
            }
        };
        *there = Some(limits).filter(|limits| *limits != OnDemandThroughput::default());
        Ok(())
    }
}

/// Rejects overrides for the other billing mode.
fn check_billing(action: &ReplicaAction, billing: BillingMode) -> Result<(), ApiError> {
    let indexes = || action.global_secondary_indexes.iter().flatten();
    let provisioned =
        action.provisioned_throughput.is_some() || indexes().any(|index| index.provisioned_throughput.is_some());
    let on_demand =
        action.on_demand_throughput.is_some() || indexes().any(|index| index.on_demand_throughput.is_some());
    match billing {
        BillingMode::PayPerRequest if provisioned => Err(ApiError::validation(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        )),
        BillingMode::Provisioned if on_demand => Err(ApiError::validation(
            "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
        )),
        _ => Ok(()),
    }
}
