//! Decodes requests on backups, point-in-time recovery and restores.

use super::Decoder;
use super::shape::{requests, structures};
use super::table::{LocalSecondaryIndex, NO_VALUES};
use crate::request::{
    BackupOnly, CreateBackup, ListBackups, OnDemandThroughput, PointInTimeRecoverySpecification, ProvisionedThroughput,
    RestoreTableFromBackup, RestoreTableToPointInTime, SecondaryIndex, SseSpecification, UpdateContinuousBackups,
    VectorIndex,
};

requests! {
    CreateBackup: NO_VALUES,
    BackupOnly: NO_VALUES,
    ListBackups: NO_VALUES,
    UpdateContinuousBackups: NO_VALUES,
    RestoreTableFromBackup: NO_VALUES,
    RestoreTableToPointInTime: NO_VALUES,
}

structures! {
    CreateBackup => CreateBackup, "CreateBackupInput" {
        "TableName" => table_name = Decoder::text,
        "BackupName" => backup_name = Decoder::text,
    }

    BackupOnly => BackupOnly, "BackupInput" {
        "BackupArn" => backup_arn = Decoder::text,
    }

    ListBackups => ListBackups, "ListBackupsInput" {
        "TableName" => table_name = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "TimeRangeLowerBound" => time_range_lower_bound = Decoder::timestamp,
        "TimeRangeUpperBound" => time_range_upper_bound = Decoder::timestamp,
        "ExclusiveStartBackupArn" => exclusive_start_backup_arn = Decoder::text,
        "BackupType" => backup_type = Decoder::text,
    }

    PointInTimeRecoverySpecification => PointInTimeRecoverySpecification, "PointInTimeRecoverySpecification" {
        "PointInTimeRecoveryEnabled" => enabled = Decoder::boolean,
        "RecoveryPeriodInDays" => recovery_period_in_days = Decoder::integer,
    }

    UpdateContinuousBackups => UpdateContinuousBackups, "UpdateContinuousBackupsInput" {
        "TableName" => table_name = Decoder::text,
        "PointInTimeRecoverySpecification" => specification = Decoder::structure::<PointInTimeRecoverySpecification>,
    }

    RestoreTableFromBackup => RestoreTableFromBackup, "RestoreTableFromBackupInput" {
        "TargetTableName" => target_table_name = Decoder::text,
        "BackupArn" => backup_arn = Decoder::text,
        "BillingModeOverride" => overrides.billing_mode = Decoder::text,
        "GlobalSecondaryIndexOverride" => overrides.global_secondary_indexes = Decoder::structure_list::<SecondaryIndex>,
        "LocalSecondaryIndexOverride" => overrides.local_secondary_indexes = Decoder::structure_list::<LocalSecondaryIndex>,
        "VectorIndexOverride" => overrides.vector_indexes = Decoder::structure_list::<VectorIndex>,
        "ProvisionedThroughputOverride" => overrides.provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughputOverride" => overrides.on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "SSESpecificationOverride" => overrides.sse_specification = Decoder::structure::<SseSpecification>,
    }

    RestoreTableToPointInTime => RestoreTableToPointInTime, "RestoreTableToPointInTimeInput" {
        "SourceTableArn" => source_table_arn = Decoder::text,
        "SourceTableName" => source_table_name = Decoder::text,
        "TargetTableName" => target_table_name = Decoder::text,
        "UseLatestRestorableTime" => use_latest_restorable_time = Decoder::boolean,
        "RestoreDateTime" => restore_date_time = Decoder::timestamp,
        "BillingModeOverride" => overrides.billing_mode = Decoder::text,
        "GlobalSecondaryIndexOverride" => overrides.global_secondary_indexes = Decoder::structure_list::<SecondaryIndex>,
        "LocalSecondaryIndexOverride" => overrides.local_secondary_indexes = Decoder::structure_list::<LocalSecondaryIndex>,
        "VectorIndexOverride" => overrides.vector_indexes = Decoder::structure_list::<VectorIndex>,
        "ProvisionedThroughputOverride" => overrides.provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughputOverride" => overrides.on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "SSESpecificationOverride" => overrides.sse_specification = Decoder::structure::<SseSpecification>,
    }
}
