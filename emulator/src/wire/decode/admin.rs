//! What hangs on a table: Kinesis destinations, Contributor Insights, resource policies, replicas.

use super::fault::ValueLayer;
use super::shape::{requests, structures};
use super::{Decode, Decoder, Place};
use crate::error::ApiError;
use crate::request::{
    ContributorInsights, GlobalTable, KinesisConfiguration, KinesisDestination, LegacyReplicaUpdate,
    ListContributorInsights, ListGlobalTables, RegionOnly, ResourcePolicy, UpdateKinesisDestination,
};

/// No attribute value stands in these requests, so no layer judges them.
const NO_VALUES: ValueLayer = ValueLayer::Current { enveloped: false };

/// UpdateKinesisStreamingDestination has a name of its own for its configuration.
struct UpdateDestination;

requests! {
    KinesisDestination: NO_VALUES,
    ContributorInsights: NO_VALUES,
    ListContributorInsights: NO_VALUES,
    ResourcePolicy: NO_VALUES,
    GlobalTable: NO_VALUES,
    ListGlobalTables: NO_VALUES,
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
