//! Requests on backups, point-in-time recovery and restores.

use super::{OnDemandThroughput, ProvisionedThroughput, SecondaryIndex, SseSpecification, VectorIndex};
use crate::clock::Moment;
use crate::value::Text;

requests! {
    CreateBackup {
        table_name: Option<Text>,
        backup_name: Option<Text>,
    }

    /// A request that names one backup: DescribeBackup, DeleteBackup.
    BackupOnly {
        backup_arn: Option<Text>,
    }

    ListBackups {
        table_name: Option<Text>,
        limit: Option<i64>,
        time_range_lower_bound: Option<Moment>,
        time_range_upper_bound: Option<Moment>,
        exclusive_start_backup_arn: Option<Text>,
        backup_type: Option<Text>,
    }

    PointInTimeRecoverySpecification {
        enabled: Option<bool>,
        recovery_period_in_days: Option<i64>,
    }

    UpdateContinuousBackups {
        table_name: Option<Text>,
        specification: Option<PointInTimeRecoverySpecification>,
    }

    /// The overrides of a restore.
    Overrides {
        billing_mode: Option<Text>,
        global_secondary_indexes: Option<Vec<SecondaryIndex>>,
        local_secondary_indexes: Option<Vec<SecondaryIndex>>,
        vector_indexes: Option<Vec<VectorIndex>>,
        provisioned_throughput: Option<ProvisionedThroughput>,
        on_demand_throughput: Option<OnDemandThroughput>,
        sse_specification: Option<SseSpecification>,
    }

    RestoreTableFromBackup {
        target_table_name: Option<Text>,
        backup_arn: Option<Text>,
        overrides: Overrides,
    }

    RestoreTableToPointInTime {
        source_table_arn: Option<Text>,
        source_table_name: Option<Text>,
        target_table_name: Option<Text>,
        use_latest_restorable_time: Option<bool>,
        restore_date_time: Option<Moment>,
        overrides: Overrides,
    }
}
