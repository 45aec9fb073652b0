//! `ReplicaUpdates`: replicas in other regions (docs/behavior: 04 12.4). All that the service refuses is refused in its
//! words; a replica itself is not made.

use super::TableUpdate;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::operation::check::words;
use crate::operation::tables::kms;
use crate::request::{ReplicaAction, ReplicaUpdate, UpdateTable, Validated};
use crate::schema::BillingMode;

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
const NOT_SERVED: &str = "ReplicaUpdates: replicas are not served by this endpoint yet";

/// The framework's checks.
pub(super) fn check_members(faults: &mut Violations, request: &UpdateTable) {
    if let Some(word) = request.multi_region_consistency.as_deref()
        && !matches!(word, "EVENTUAL" | "STRONG")
    {
        let set = constraint::one_of(words::MULTI_REGION_CONSISTENCY);
        faults.value(word, "multiRegionConsistency", set);
    }
    if let Some(witnesses) = &request.global_table_witness_updates {
        match witnesses.kept[..] {
            [] => faults.value("[]", "globalTableWitnessUpdates", constraint::min_length(1)),
            [_, _, ..] => faults.silent_value("globalTableWitnessUpdates", constraint::max_length(1)),
            [_] => faults.add(Some(&witnesses.faults)),
        }
    }
    faults.add(request.replica_updates.as_ref().map(|updates| &updates.faults));
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

impl TableUpdate<'_> {
    /// Refuses what the service refuses of a table that has no replica, and the making of the first one.
    pub(super) fn replicas(&self) -> Result<(), ApiError> {
        let updates = self.request.replica_updates.iter().flat_map(|updates| &updates.kept);
        let asked: Vec<(&ReplicaAction, &str)> = updates.flat_map(actions).collect();
        if asked.is_empty() {
            return Ok(());
        }
        for (action, name) in &asked {
            self.check_region(action.region_name.as_deref().unwrap_or_default())?;
            if *name != "create" {
                return Err(not_members(&asked));
            }
        }
        if !self.shape.jobs.is_empty() {
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
        if own_key && asked.iter().any(|(action, _)| action.kms_master_key_id.is_none()) {
            return Err(ApiError::invalid("KMSMasterKeyId must be specified for each replica."));
        }
        Err(ApiError::invalid(NOT_SERVED))
    }

    fn check_region(&self, region: &str) -> Result<(), ApiError> {
        if region == self.context.region {
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
}

fn not_members(asked: &[(&ReplicaAction, &str)]) -> ApiError {
    let regions = asked.iter().filter_map(|(action, _)| action.region_name.as_deref());
    ApiError::validation(format!(
        "Update global table operation failed because one or more replicas were not part of the global table. Please retry the request without these replicas: [{}].",
        regions.collect::<Vec<_>>().join(", ")
    ))
}
