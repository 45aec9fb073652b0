//! Requests on Kinesis destinations, Contributor Insights, resource policies and replicas.

use super::{OnDemandThroughput, ProvisionedThroughput, SecondaryIndex};
use crate::error::Violations;
use crate::value::Text;

/// A member of which only a part is used, and the violations of the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validated<T> {
    /// The part that is used.
    pub kept: T,
    /// The violations of the model.
    pub violations: Violations,
}

requests! {
    KinesisDestination {
        table_name: Option<Text>,
        stream_arn: Option<Text>,
        configuration: Option<KinesisConfiguration>,
    }

    UpdateKinesisDestination {
        destination: KinesisDestination,
    }

    KinesisConfiguration {
        precision: Option<Text>,
    }

    /// [`UpdateContributorInsights`](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html);
    /// DescribeContributorInsights has the first two members.
    ContributorInsights {
        table_name: Option<Text>,
        index_name: Option<Text>,
        action: Option<Text>,
        mode: Option<Text>,
    }

    ListContributorInsights {
        table_name: Option<Text>,
        next_token: Option<Text>,
        max_results: Option<i64>,
    }

    /// [`PutResourcePolicy`](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html);
    /// GetResourcePolicy and DeleteResourcePolicy have fewer members.
    ResourcePolicy {
        resource_arn: Option<Text>,
        policy: Option<Text>,
        expected_revision_id: Option<Text>,
        confirm_remove_self_resource_access: Option<bool>,
    }

    /// `Replica` of the older global tables, and other members that only name a region.
    RegionOnly {
        region_name: Option<Text>,
    }

    /// An action of `ReplicationGroupUpdate`; the settings are the overrides of the replica.
    ReplicaAction {
        region_name: Option<Text>,
        kms_master_key_id: Option<Text>,
        provisioned_throughput: Option<ProvisionedThroughput>,
        on_demand_throughput: Option<OnDemandThroughput>,
        global_secondary_indexes: Option<Vec<SecondaryIndex>>,
        table_class: Option<Text>,
    }

    /// `ReplicationGroupUpdate`, an element of `ReplicaUpdates` of UpdateTable.
    ReplicaUpdate {
        create: Option<ReplicaAction>,
        update: Option<ReplicaAction>,
        delete: Option<ReplicaAction>,
        disassociate: Option<ReplicaAction>,
    }

    WitnessUpdate {
        create: Option<RegionOnly>,
        delete: Option<RegionOnly>,
    }

    UpdateReplicaAutoScaling {
        table_name: Option<Text>,
        index_updates: Option<Validated<Vec<IndexScalingUpdate>>>,
        write: Option<Validated<ScalingUpdate>>,
        replica_updates: Option<Validated<Vec<ReplicaScalingUpdate>>>,
    }

    ScalingUpdate {
        minimum_units: Option<i64>,
        maximum_units: Option<i64>,
        auto_scaling_disabled: Option<bool>,
        role_arn: Option<Text>,
        policy: Option<ScalingPolicyUpdate>,
    }

    ScalingPolicyUpdate {
        policy_name: Option<Text>,
        target_tracking: Option<TargetTrackingUpdate>,
    }

    TargetTrackingUpdate {
        disable_scale_in: Option<bool>,
        scale_in_cooldown: Option<i64>,
        scale_out_cooldown: Option<i64>,
        target_value: Option<f64>,
    }

    /// The scaling of an index's reads in a replica, or of its writes in all.
    IndexScalingUpdate {
        index_name: Option<Text>,
        scaling: Option<ScalingUpdate>,
    }

    ReplicaScalingUpdate {
        region_name: Option<Text>,
        index_updates: Option<Vec<IndexScalingUpdate>>,
        read: Option<ScalingUpdate>,
    }

    /// `ReplicaUpdate` of the older global tables.
    LegacyReplicaUpdate {
        create: Option<RegionOnly>,
        delete: Option<RegionOnly>,
    }

    /// The requests on older global tables that name one: CreateGlobalTable, DescribeGlobalTable, UpdateGlobalTable,
    /// DescribeGlobalTableSettings, UpdateGlobalTableSettings.
    GlobalTable {
        global_table_name: Option<Text>,
        replication_group: Option<Vec<RegionOnly>>,
        replica_updates: Option<Vec<LegacyReplicaUpdate>>,
        billing_mode: Option<Text>,
        write_capacity_units: Option<i64>,
        write_scaling: Option<Violations>,
        index_settings: Option<Violations>,
        replica_settings: Option<Violations>,
    }

    ListGlobalTables {
        exclusive_start_global_table_name: Option<Text>,
        limit: Option<i64>,
        region_name: Option<Text>,
    }
}
