//! Checks of an UpdateTable that need only the request: the model's constraints, and which changes can be combined
//! (docs/behavior: 04 5.1).

use super::replicas;
use super::stream;
use crate::error::{ApiError, Violations};
use crate::operation::tables::create_table::shape;
use crate::request::{IndexUpdate, OnDemandThroughput, UpdateTable, VectorIndexUpdate, WarmThroughput};
use crate::sorted::SortedMap;

/// The possible changes, as the service lists them.
const CHANGES: [&str; 12] = [
    "ProvisionedThroughput",
    "BillingMode",
    "UpdateStreamEnabled",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "MultiAccountReplicaReady",
    "ReplicaTransitRoleArn",
    "MultiRegionConsistency",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
];

pub(super) const ONE_ONLINE_INDEX: &str = "Only 1 online index can be created or deleted simultaneously per table";

/// Drops empty structures of limits that accompany another change (measured).
pub(super) fn drop_empty(request: &mut UpdateTable) {
    if requested(request).len() < 2 {
        return;
    }
    let empty = OnDemandThroughput::default();
    request.on_demand_throughput.take_if(|limits| *limits == empty);
    let empty = WarmThroughput::default();
    request.warm_throughput.take_if(|limits| *limits == empty);
}

pub(super) fn check(request: &UpdateTable) -> Result<(), ApiError> {
    check_members(request)?;
    check_has_change(request)?;
    check_together(request)?;
    replicas::check_together(request)?;
    shape::check_settings_replication(request.global_table_settings_replication_mode.as_ref())?;
    stream::check(request.stream_specification.as_ref())?;
    check_indexes(request.global_secondary_index_updates.as_deref())?;
    check_vectors(request.vector_index_updates.as_deref())?;
    if online(request).count() > 1 {
        return Err(ApiError::subscriber_limit(ONE_ONLINE_INDEX));
    }
    Ok(())
}

fn check_members(request: &UpdateTable) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    shape::billing_mode(&mut violations, request.billing_mode.as_ref(), "billingMode");
    let throughput = request.provisioned_throughput.as_ref();
    shape::throughput(&mut violations, throughput, "provisionedThroughput");
    shape::definitions(
        &mut violations,
        request.attribute_definitions.as_deref().unwrap_or_default(),
        "attributeDefinitions",
    );
    replicas::check_members(&mut violations, request);
    shape::settings_replication(&mut violations, request.global_table_settings_replication_mode.as_ref());
    shape::stream(&mut violations, request.stream_specification.as_ref());
    shape::encryption(&mut violations, request.sse_specification.as_ref(), "sSESpecification");
    let updates = request.global_secondary_index_updates.iter().flatten();
    for (at, update) in updates.enumerate() {
        let path = format!("globalSecondaryIndexUpdates.{}.member", at + 1);
        if let Some(update) = &update.update {
            let path = format!("{path}.update");
            shape::index_name(&mut violations, update.index_name.as_ref(), &path);
            let units = update.provisioned_throughput.as_ref();
            shape::throughput(&mut violations, units, &format!("{path}.provisionedThroughput"));
        }
        if let Some(create) = &update.create {
            shape::index(&mut violations, create, &format!("{path}.create"), 8);
        }
        if let Some(delete) = &update.delete {
            shape::index_name(&mut violations, delete.index_name.as_ref(), &format!("{path}.delete"));
        }
    }
    for (at, update) in request.vector_index_updates.iter().flatten().enumerate() {
        let path = format!("vectorIndexUpdates.{}.member", at + 1);
        if let Some(create) = &update.create {
            shape::vector_index(&mut violations, create, &format!("{path}.create"));
        }
        if let Some(delete) = &update.delete {
            shape::index_name(&mut violations, delete.index_name.as_ref(), &format!("{path}.delete"));
        }
    }
    violations.finish()
}

/// The changes in a request, by the names of its members.
fn requested(request: &UpdateTable) -> Vec<&'static str> {
    let indexes = request.global_secondary_index_updates.as_ref();
    let vectors = request.vector_index_updates.as_ref();
    [
        ("ProvisionedThroughput", request.provisioned_throughput.is_some()),
        ("BillingMode", request.billing_mode.is_some()),
        ("StreamSpecification", request.stream_specification.is_some()),
        (
            "GlobalSecondaryIndexUpdates",
            indexes.is_some_and(|each| !each.is_empty()),
        ),
        ("SSESpecification", request.sse_specification.is_some()),
        ("ReplicaUpdates", request.replica_updates.is_some()),
        (
            "DeletionProtectionEnabled",
            request.deletion_protection_enabled.is_some(),
        ),
        (
            "DisassociationProtectionEnabled",
            request.disassociation_protection_enabled.is_some(),
        ),
        ("OnDemandThroughput", request.on_demand_throughput.is_some()),
        ("WarmThroughput", request.warm_throughput.is_some()),
        ("TableClass", request.table_class.is_some()),
        ("VectorIndexUpdates", vectors.is_some_and(|each| !each.is_empty())),
    ]
    .into_iter()
    .filter_map(|(name, there)| there.then_some(name))
    .collect()
}

fn check_has_change(request: &UpdateTable) -> Result<(), ApiError> {
    let empty_indexes = request
        .global_secondary_index_updates
        .as_ref()
        .is_some_and(Vec::is_empty);
    if !requested(request).is_empty() {
        let empty_vectors = request.vector_index_updates.as_ref().is_some_and(Vec::is_empty);
        return match (empty_indexes, empty_vectors) {
            (true, _) => Err(ApiError::invalid("List of GlobalSecondaryIndexUpdates is empty")),
            (_, true) => Err(ApiError::invalid("List of VectorIndexUpdates is empty")),
            _ => Ok(()),
        };
    }
    // Members that are not changes are not in the list.
    let missing: Vec<&str> = CHANGES
        .into_iter()
        .filter(|name| match *name {
            "GlobalSecondaryIndexUpdates" => !empty_indexes,
            "MultiRegionConsistency" => request.multi_region_consistency.is_none(),
            _ => true,
        })
        .collect();
    Err(ApiError::validation(format!(
        "At least one of {} or TableClass is required",
        missing.join(", ")
    )))
}

/// Changes that cannot be combined, in the order in which the service checks for them.
const ALONE: [(&str, &str); 6] = [
    (
        "SSESpecification",
        "Server-Side Encryption modification must be the only operation in the request",
    ),
    (
        "TableClass",
        "TableClass modification must be the only operation in the request",
    ),
    (
        "DeletionProtectionEnabled",
        "DeletionProtection modification must be the only operation in the request",
    ),
    (
        "DisassociationProtectionEnabled",
        "DisassociationProtection modification must be the only operation in the request",
    ),
    (
        "WarmThroughput",
        "WarmThroughput must be the only operation in the request",
    ),
    (
        "ReplicaUpdates",
        "Replica modification must be the only operation in the request",
    ),
];

fn check_together(request: &UpdateTable) -> Result<(), ApiError> {
    let requested = requested(request);
    let has = |name: &str| requested.contains(&name);
    let creates = request
        .global_secondary_index_updates
        .iter()
        .flatten()
        .any(|update| update.create.is_some());
    if has("WarmThroughput") && creates && requested.len() == 2 {
        return Err(ApiError::invalid(
            "Create global secondary index cannot be specified when updating WarmThroughput",
        ));
    }
    let witnesses = request.global_table_witness_updates.is_some();
    if has("ReplicaUpdates") && witnesses && requested.len() > 1 {
        return Err(ApiError::invalid(
            "Requests that modify replicas or witnesses must not also modify other fields",
        ));
    }
    if requested.len() > 1
        && let Some((_, text)) = ALONE.into_iter().find(|(name, _)| has(name))
    {
        return Err(ApiError::invalid(text));
    }
    let others = requested
        .iter()
        .any(|name| !matches!(*name, "OnDemandThroughput" | "BillingMode"));
    if has("OnDemandThroughput") && others {
        return Err(ApiError::invalid(
            "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
        ));
    }
    let units = has("ProvisionedThroughput");
    let stream = has("StreamSpecification");
    let online = online(request).next().is_some();
    let text = if stream && (units || request.billing_mode.as_deref() == Some("PROVISIONED")) {
        "You cannot modify stream status while updating table IOPS"
    } else if online && units {
        "You cannot create or delete index while updating table IOPS"
    } else if online && stream {
        "You cannot create or delete index while changing stream status"
    } else {
        return Ok(());
    };
    Err(ApiError::invalid(text))
}

/// The created and deleted indexes of all kinds.
fn online(request: &UpdateTable) -> impl Iterator<Item = ()> {
    let keyed = request.global_secondary_index_updates.iter().flatten();
    let keyed = keyed.filter(|update| update.create.is_some() || update.delete.is_some());
    let vectors = request.vector_index_updates.iter().flatten();
    keyed.map(drop).chain(vectors.map(drop))
}

fn check_indexes(updates: Option<&[IndexUpdate]>) -> Result<(), ApiError> {
    let updates = updates.unwrap_or_default();
    let mut names = SortedMap::new();
    for element in updates {
        let mut actions = [&element.update, &element.create, &element.delete]
            .into_iter()
            .flatten();
        let Some(action) = actions.next() else {
            return Err(ApiError::invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
            ));
        };
        if actions.next().is_some() {
            return Err(ApiError::invalid(
                "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
            ));
        }
        let name = action.index_name.as_deref().unwrap_or_default();
        if names.insert(name, ()).is_some() {
            return Err(ApiError::invalid(format_args!(
                "Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )));
        }
    }
    Ok(())
}

fn check_vectors(updates: Option<&[VectorIndexUpdate]>) -> Result<(), ApiError> {
    for element in updates.unwrap_or_default() {
        match (&element.create, &element.delete) {
            (None, None) => {
                return Err(ApiError::invalid(
                    "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(ApiError::invalid(
                    "Only one vector index action is allowed per VectorIndexUpdate object",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
