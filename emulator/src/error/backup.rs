//! Texts about backups, point-in-time recovery and restores.

use super::{ApiError, ErrorKind};
use crate::clock::Moment;

impl ApiError {
    /// The table to back up, restore or export does not exist.
    pub fn no_table_to_back_up(table: &str) -> ApiError {
        ApiError::new(ErrorKind::TableNotFound, format!("Table not found: {table}"))
    }

    /// The backup does not exist, or no longer exists.
    pub fn backup_not_found(arn: &str) -> ApiError {
        ApiError::new(ErrorKind::BackupNotFound, format!("Backup not found: {arn}"))
    }

    /// The backup is in use; the text names by what, such as `Backup is being used to restore table`.
    pub fn backup_in_use(state: &str, arn: &str) -> ApiError {
        ApiError::new(ErrorKind::BackupInUse, format!("{state}: {arn}"))
    }

    /// A table that is too young to be backed up.
    pub fn backups_being_enabled(table: &str) -> ApiError {
        ApiError::new(
            ErrorKind::ContinuousBackupsUnavailable,
            format!("Backups are being enabled for the table: {table}. Please retry later"),
        )
    }

    /// A restore or export of a table without point-in-time recovery.
    pub fn recovery_off(table: &str) -> ApiError {
        ApiError::new(
            ErrorKind::PointInTimeRecoveryUnavailable,
            format!("Point in time recovery is not enabled for table '{table}'"),
        )
    }

    /// A moment to restore to that is not in the window. It is recorded that the text quotes both bounds, not how.
    pub fn invalid_restore_time(earliest: Moment, latest: Moment) -> ApiError {
        ApiError::new(
            ErrorKind::InvalidRestoreTime,
            format!("RestoreDateTime must be between {earliest} and {latest}"),
        )
    }

    /// A table of the target's name.
    pub fn restore_target_exists(table: &str) -> ApiError {
        ApiError::new(ErrorKind::TableAlreadyExists, format!("Table already exists: {table}"))
    }

    /// A target that another restore is filling.
    pub fn restore_target_in_use(table: &str, source_arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::TableInUse,
            format!("Table: {table} is already being restored from backup: {source_arn}"),
        )
    }

    /// `ValidationException`: `Invalid Request: ` and the rest.
    pub fn invalid_request(rest: impl std::fmt::Display) -> ApiError {
        ApiError::validation(format!("Invalid Request: {rest}"))
    }

    /// A resource of another account.
    pub fn access_denied(account: &str, operation: &str, arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::AccessDenied,
            format!(
                "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on resource: {arn}"
            ),
        )
    }
}
