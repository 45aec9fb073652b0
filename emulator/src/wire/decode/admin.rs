//! Decodes requests on Kinesis destinations, Contributor Insights, resource policies and replicas.

use super::shape::{aliases, narrowed, requests, structures};
use super::value_errors::ValueLayer;
use super::{Decode, Decoder, scaling};
use crate::error::ApiError;
use crate::request::{
    ContributorInsights, GlobalTable, IndexScalingUpdate, KinesisConfiguration, KinesisDestination,
    LegacyReplicaUpdate, ListContributorInsights, ListGlobalTables, OnDemandThroughput, ProvisionedThroughput,
    RegionOnly, ReplicaAction, ReplicaScalingUpdate, ReplicaUpdate, ResourcePolicy, ScalingPolicyUpdate, ScalingUpdate,
    SecondaryIndex, TargetTrackingUpdate, UpdateKinesisDestination, UpdateReplicaAutoScaling, WitnessUpdate,
};

/// These requests contain no attribute values, so the layer does not matter.
const NO_VALUES: ValueLayer = ValueLayer::Current { enveloped: false };

/// The overrides of a replica's index.
struct ReplicaIndex;
struct ReplicaIndexScaling;

/// UpdateKinesisStreamingDestination has another name for its configuration.
struct UpdateDestination;

requests! {
    KinesisDestination: NO_VALUES,
    ContributorInsights: NO_VALUES,
    ListContributorInsights: NO_VALUES,
    ResourcePolicy: NO_VALUES,
    ListGlobalTables: NO_VALUES,
    UpdateReplicaAutoScaling: NO_VALUES,
}

impl Decode for UpdateKinesisDestination {
    fn decode(body: &[u8]) -> Result<Self, ApiError> {
        super::decode::<UpdateDestination>(body, NO_VALUES).map(|destination| UpdateKinesisDestination { destination })
    }
}

narrowed! {
    GetResourcePolicy of ResourcePolicy, "GetResourcePolicyInput": "ResourceArn";
    DeleteResourcePolicy of ResourcePolicy, "DeleteResourcePolicyInput": "ResourceArn", "ExpectedRevisionId";
    DescribeContributorInsights of ContributorInsights, "DescribeContributorInsightsInput": "TableName", "IndexName";
    /// The member of DescribeGlobalTable and DescribeGlobalTableSettings.
    GlobalTableOnly of GlobalTable, "DescribeGlobalTableInput": "GlobalTableName";
    CreateGlobalTable of GlobalTable, "CreateGlobalTableInput": "GlobalTableName", "ReplicationGroup";
    UpdateGlobalTable of GlobalTable, "UpdateGlobalTableInput": "GlobalTableName", "ReplicaUpdates";
    UpdateGlobalTableSettings of GlobalTable, "UpdateGlobalTableSettingsInput":
        "GlobalTableName", "GlobalTableBillingMode", "GlobalTableProvisionedWriteCapacityUnits",
        "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate", "GlobalTableGlobalSecondaryIndexSettingsUpdate",
        "ReplicaSettingsUpdate";
}

aliases! {
    UpdateKinesisConfiguration of KinesisConfiguration, "UpdateKinesisStreamingConfiguration";
    CreateReplicaAction of RegionOnly, "CreateReplicaAction";
    DeleteReplicaAction of RegionOnly, "DeleteReplicaAction";
}

structures! {
    KinesisDestination => KinesisDestination, "KinesisStreamingDestinationInput" {
        "TableName" => table_name = Decoder::text,
        "StreamArn" => stream_arn = Decoder::text,
        "EnableKinesisStreamingConfiguration" => configuration = Decoder::structure::<KinesisConfiguration>,
    }

    UpdateDestination => KinesisDestination, "UpdateKinesisStreamingDestinationInput" {
        "TableName" => table_name = Decoder::text,
        "StreamArn" => stream_arn = Decoder::text,
        "UpdateKinesisStreamingConfiguration" => configuration = Decoder::structure::<UpdateKinesisConfiguration>,
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

    ReplicaAction => ReplicaAction, "CreateReplicationGroupMemberAction" {
        "RegionName" => region_name = Decoder::text,
        "KMSMasterKeyId" => kms_master_key_id = Decoder::text,
        "ProvisionedThroughputOverride" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughputOverride" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "GlobalSecondaryIndexes" => global_secondary_indexes = Decoder::structure_list::<ReplicaIndex>,
        "TableClassOverride" => table_class = Decoder::text,
    }

    ReplicaIndex => SecondaryIndex, "ReplicaGlobalSecondaryIndex" {
        "IndexName" => index_name = Decoder::text,
        "ProvisionedThroughputOverride" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughputOverride" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
    }

    ReplicaUpdate => ReplicaUpdate, "ReplicationGroupUpdate" {
        "Create" => create = Decoder::structure::<ReplicaAction>,
        "Update" => update = Decoder::structure::<ReplicaAction>,
        "Delete" => delete = Decoder::structure::<ReplicaAction>,
        "Disassociate" => disassociate = Decoder::structure::<ReplicaAction>,
    }

    WitnessUpdate => WitnessUpdate, "GlobalTableWitnessGroupUpdate" {
        "Create" => create = Decoder::structure::<RegionOnly>,
        "Delete" => delete = Decoder::structure::<RegionOnly>,
    }

    UpdateReplicaAutoScaling => UpdateReplicaAutoScaling, "UpdateTableReplicaAutoScalingInput" {
        "TableName" => table_name = Decoder::text,
        "GlobalSecondaryIndexUpdates" => index_updates = |decoder|
            decoder.validated_and(scaling::INDEXES, "globalSecondaryIndexUpdates", Decoder::structure_list::<IndexScalingUpdate>),
        "ProvisionedWriteCapacityAutoScalingUpdate" => write = |decoder|
            decoder.validated_and(scaling::WRITES, "provisionedWriteCapacityAutoScalingUpdate",
                Decoder::structure::<ScalingUpdate>),
        "ReplicaUpdates" => replica_updates = |decoder|
            decoder.validated_and(scaling::REPLICAS, "replicaUpdates", Decoder::structure_list::<ReplicaScalingUpdate>),
    }

    ScalingUpdate => ScalingUpdate, "AutoScalingSettingsUpdate" {
        "MinimumUnits" => minimum_units = Decoder::long,
        "MaximumUnits" => maximum_units = Decoder::long,
        "AutoScalingDisabled" => auto_scaling_disabled = Decoder::boolean,
        "AutoScalingRoleArn" => role_arn = Decoder::text,
        "ScalingPolicyUpdate" => policy = Decoder::structure::<ScalingPolicyUpdate>,
    }

    ScalingPolicyUpdate => ScalingPolicyUpdate, "AutoScalingPolicyUpdate" {
        "PolicyName" => policy_name = Decoder::text,
        "TargetTrackingScalingPolicyConfiguration" => target_tracking =
            Decoder::structure::<TargetTrackingUpdate>,
    }

    TargetTrackingUpdate => TargetTrackingUpdate, "AutoScalingTargetTrackingScalingPolicyConfigurationUpdate" {
        "DisableScaleIn" => disable_scale_in = Decoder::boolean,
        "ScaleInCooldown" => scale_in_cooldown = Decoder::integer,
        "ScaleOutCooldown" => scale_out_cooldown = Decoder::integer,
        "TargetValue" => target_value = Decoder::double,
    }

    IndexScalingUpdate => IndexScalingUpdate, "GlobalSecondaryIndexAutoScalingUpdate" {
        "IndexName" => index_name = Decoder::text,
        "ProvisionedWriteCapacityAutoScalingUpdate" => scaling =
            Decoder::structure::<ScalingUpdate>,
    }

    ReplicaIndexScaling => IndexScalingUpdate, "ReplicaGlobalSecondaryIndexAutoScalingUpdate" {
        "IndexName" => index_name = Decoder::text,
        "ProvisionedReadCapacityAutoScalingUpdate" => scaling =
            Decoder::structure::<ScalingUpdate>,
    }

    ReplicaScalingUpdate => ReplicaScalingUpdate, "ReplicaAutoScalingUpdate" {
        "RegionName" => region_name = Decoder::text,
        "ReplicaGlobalSecondaryIndexUpdates" => index_updates = Decoder::structure_list::<ReplicaIndexScaling>,
        "ReplicaProvisionedReadCapacityAutoScalingUpdate" => read =
            Decoder::structure::<ScalingUpdate>,
    }

    LegacyReplicaUpdate => LegacyReplicaUpdate, "ReplicaUpdate" {
        "Create" => create = Decoder::structure::<CreateReplicaAction>,
        "Delete" => delete = Decoder::structure::<DeleteReplicaAction>,
    }

    GlobalTable => GlobalTable, "GlobalTableInput" {
        "GlobalTableName" => global_table_name = Decoder::text,
        "ReplicationGroup" => replication_group = Decoder::structure_list::<RegionOnly>,
        "ReplicaUpdates" => replica_updates = Decoder::structure_list::<LegacyReplicaUpdate>,
        "GlobalTableBillingMode" => billing_mode = Decoder::text,
        "GlobalTableProvisionedWriteCapacityUnits" => write_capacity_units = Decoder::long,
        "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate" => write_scaling = |decoder|
            decoder.validated(scaling::WRITES, "globalTableProvisionedWriteCapacityAutoScalingSettingsUpdate"),
        "GlobalTableGlobalSecondaryIndexSettingsUpdate" => index_settings = |decoder|
            decoder.validated(scaling::INDEX_SETTINGS, "globalTableGlobalSecondaryIndexSettingsUpdate"),
        "ReplicaSettingsUpdate" => replica_settings = |decoder|
            decoder.validated(scaling::REPLICA_SETTINGS, "replicaSettingsUpdate"),
    }

    ListGlobalTables => ListGlobalTables, "ListGlobalTablesInput" {
        "ExclusiveStartGlobalTableName" => exclusive_start_global_table_name = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "RegionName" => region_name = Decoder::text,
    }
}
