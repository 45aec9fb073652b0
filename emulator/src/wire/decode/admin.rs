//! What hangs on a table: Kinesis destinations, Contributor Insights, resource policies, replicas.

use super::fault::ValueLayer;
use super::shape::{requests, structures};
use super::{Decode, Decoder, Place};
use crate::error::ApiError;
use crate::request::{
    AutoScaling, ContributorInsights, GlobalTable, IndexAutoScaling, KinesisConfiguration, KinesisDestination,
    LegacyReplicaUpdate, ListContributorInsights, ListGlobalTables, RegionOnly, ReplicaAction, ReplicaAutoScaling,
    ReplicaUpdate, ResourcePolicy, UpdateKinesisDestination, UpdateReplicaAutoScaling,
};

/// No attribute value stands in these requests, so no layer judges them.
const NO_VALUES: ValueLayer = ValueLayer::Current { enveloped: false };

/// What a replica's throughput is to be, in place of the table's.
struct ReadOverride;

/// UpdateKinesisStreamingDestination has a name of its own for its configuration.
struct UpdateDestination;

requests! {
    KinesisDestination: NO_VALUES,
    ContributorInsights: NO_VALUES,
    ListContributorInsights: NO_VALUES,
    ResourcePolicy: NO_VALUES,
    GlobalTable: NO_VALUES,
    ListGlobalTables: NO_VALUES,
    UpdateReplicaAutoScaling: NO_VALUES,
}

impl Decode for UpdateKinesisDestination {
    fn decode(body: &[u8]) -> Result<Self, ApiError> {
        super::decode::<UpdateDestination>(body, NO_VALUES).map(|destination| UpdateKinesisDestination { destination })
    }
}

structures! {
    KinesisDestination => KinesisDestination, "KinesisStreamingDestinationInput" {
        "TableName" => table_name = Decoder::text,
        "StreamArn" => stream_arn = Decoder::text,
        "EnableKinesisStreamingConfiguration" => configuration = |decoder| decoder.structure::<KinesisConfiguration>(Place::Member),
    }

    UpdateDestination => KinesisDestination, "UpdateKinesisStreamingDestinationInput" {
        "TableName" => table_name = Decoder::text,
        "StreamArn" => stream_arn = Decoder::text,
        "UpdateKinesisStreamingConfiguration" => configuration = |decoder| decoder.structure::<KinesisConfiguration>(Place::Member),
    }

    KinesisConfiguration => KinesisConfiguration, "EnableKinesisStreamingConfiguration" {
        "ApproximateCreationDateTimePrecision" => precision = Decoder::text,
    }

    ContributorInsights => ContributorInsights, "UpdateContributorInsightsInput" {
        "TableName" => table_name = Decoder::text,
        "IndexName" => index_name = Decoder::text,
        "ContributorInsightsAction" => action = Decoder::text,
        "ContributorInsightsMode" => mode = Decoder::text,
    }

    ListContributorInsights => ListContributorInsights, "ListContributorInsightsInput" {
        "TableName" => table_name = Decoder::text,
        "NextToken" => next_token = Decoder::text,
        "MaxResults" => max_results = Decoder::integer,
    }

    ResourcePolicy => ResourcePolicy, "PutResourcePolicyInput" {
        "ResourceArn" => resource_arn = Decoder::text,
        "Policy" => policy = Decoder::text,
        "ExpectedRevisionId" => expected_revision_id = Decoder::text,
        "ConfirmRemoveSelfResourceAccess" => confirm_remove_self_resource_access = Decoder::boolean,
    }

    RegionOnly => RegionOnly, "Replica" {
        "RegionName" => region_name = Decoder::text,
    }

    ReadOverride => ReplicaAction, "ProvisionedThroughputOverride" {
        "ReadCapacityUnits" => read_capacity_units = Decoder::long,
    }

    ReplicaUpdate => ReplicaUpdate, "ReplicationGroupUpdate" {
        "Create" => create = |decoder| decoder.structure::<ReplicaAction>(Place::Member),
        "Update" => update = |decoder| decoder.structure::<ReplicaAction>(Place::Member),
        "Delete" => delete = |decoder| decoder.structure::<ReplicaAction>(Place::Member),
        "Disassociate" => disassociate = |decoder| decoder.structure::<ReplicaAction>(Place::Member),
    }

    AutoScaling => AutoScaling, "AutoScalingSettingsUpdate" {
        "MinimumUnits" => minimum_units = Decoder::long,
        "MaximumUnits" => maximum_units = Decoder::long,
    }

    IndexAutoScaling => IndexAutoScaling, "GlobalSecondaryIndexAutoScalingUpdate" {
        "IndexName" => index_name = Decoder::text,
        "ProvisionedWriteCapacityAutoScalingUpdate" => write = |decoder| decoder.structure::<AutoScaling>(Place::Member),
    }

    ReplicaAutoScaling => ReplicaAutoScaling, "ReplicaAutoScalingUpdate" {
        "RegionName" => region_name = Decoder::text,
        "ReplicaProvisionedReadCapacityAutoScalingUpdate" => read = |decoder| decoder.structure::<AutoScaling>(Place::Member),
    }

    UpdateReplicaAutoScaling => UpdateReplicaAutoScaling, "UpdateTableReplicaAutoScalingInput" {
        "TableName" => table_name = Decoder::text,
        "GlobalSecondaryIndexUpdates" => index_updates = Decoder::structure_list::<IndexAutoScaling>,
        "ProvisionedWriteCapacityAutoScalingUpdate" => write = |decoder| decoder.structure::<AutoScaling>(Place::Member),
        "ReplicaUpdates" => replica_updates = Decoder::structure_list::<ReplicaAutoScaling>,
    }

    LegacyReplicaUpdate => LegacyReplicaUpdate, "ReplicaUpdate" {
        "Create" => create = |decoder| decoder.structure::<RegionOnly>(Place::Member),
        "Delete" => delete = |decoder| decoder.structure::<RegionOnly>(Place::Member),
    }

    GlobalTable => GlobalTable, "GlobalTableInput" {
        "GlobalTableName" => global_table_name = Decoder::text,
        "ReplicationGroup" => replication_group = Decoder::structure_list::<RegionOnly>,
        "ReplicaUpdates" => replica_updates = Decoder::structure_list::<LegacyReplicaUpdate>,
        "GlobalTableBillingMode" => billing_mode = Decoder::text,
        "GlobalTableProvisionedWriteCapacityUnits" => write_capacity_units = Decoder::long,
    }

    ListGlobalTables => ListGlobalTables, "ListGlobalTablesInput" {
        "ExclusiveStartGlobalTableName" => exclusive_start_global_table_name = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "RegionName" => region_name = Decoder::text,
    }
}

impl super::Shape for ReplicaAction {
    type Into = ReplicaAction;
    const CLASS: &'static str = "CreateReplicationGroupMemberAction";

    fn member(into: &mut ReplicaAction, name: &str, decoder: &mut Decoder<'_>) -> super::Read<()> {
        match name {
            "RegionName" => into.region_name = decoder.optional(Decoder::text)?,
            "KMSMasterKeyId" => into.kms_master_key_id = decoder.optional(Decoder::text)?,
            "DisassociationMode" => into.disassociation_mode = decoder.optional(Decoder::text)?,
            "ProvisionedThroughputOverride" => {
                let read = decoder.optional(|decoder| decoder.structure::<ReadOverride>(Place::Member))?;
                into.read_capacity_units = read.and_then(|read| read.read_capacity_units);
            }
            _ => decoder.reader.skip()?,
        }
        Ok(())
    }
}
