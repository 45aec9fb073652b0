//! The errors that fault rules inject.

use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::fault::{JobFault, KmsFault};
use crate::transfer::Failure;

impl Context<'_> {
    /// An exception with the service's text for it, about this table. Throttles are created elsewhere.
    pub(super) fn injected(&self, kind: ErrorKind, table: &str) -> ApiError {
        let arn = self.table_arn(table);
        match kind {
            ErrorKind::ConditionalCheckFailed => ApiError::condition_failed(None),
            // A cancelled transaction has a reason; this one cancels it without an error of its own.
            ErrorKind::TransactionCanceled | ErrorKind::TransactionConflict => ApiError::transaction_conflict(),
            ErrorKind::TransactionInProgress => ApiError::transaction_in_progress(),
            ErrorKind::IdempotentParameterMismatch => ApiError::idempotent_mismatch(),
            ErrorKind::ItemCollectionSizeLimitExceeded => ApiError::item_collection_too_large(),
            ErrorKind::ReplicatedWriteConflict => ApiError::replicated_write_conflict(),
            ErrorKind::DuplicateItem => ApiError::duplicate_item(),
            ErrorKind::LimitExceeded => ApiError::too_many_table_operations(),
            ErrorKind::ResourceNotFound => ApiError::table_not_found(),
            ErrorKind::ResourceInUse => ApiError::in_use(format_args!("Table is being updated: {table}")),
            ErrorKind::ExpiredIterator => ApiError::expired_iterator(),
            ErrorKind::TrimmedDataAccess => ApiError::trimmed(),
            ErrorKind::AccessDenied => ApiError::not_authorized(self.account, self.operation, &arn),
            ErrorKind::UnrecognizedClient => ApiError::unrecognized_client(),
            ErrorKind::ExpiredToken => ApiError::expired_token(),
            ErrorKind::ServiceUnavailable => ApiError::unavailable(),
            ErrorKind::TableNotFound => ApiError::no_table_to_back_up(table),
            ErrorKind::TableAlreadyExists => ApiError::restore_target_exists(table),
            ErrorKind::TableInUse => ApiError::restore_target_in_use(table, &arn),
            ErrorKind::BackupNotFound => ApiError::backup_not_found(&arn),
            ErrorKind::BackupInUse => ApiError::backup_in_use("Backup is being used to restore another table", &arn),
            ErrorKind::ContinuousBackupsUnavailable => ApiError::backups_being_enabled(table),
            ErrorKind::PointInTimeRecoveryUnavailable => ApiError::recovery_off(table),
            ErrorKind::InvalidRestoreTime => ApiError::invalid_restore_time(self.now, self.now),
            ErrorKind::InvalidExportTime => ApiError::invalid_export_time("Export Time is invalid"),
            ErrorKind::ExportConflict => ApiError::export_conflict(),
            ErrorKind::ExportNotFound => ApiError::export_not_found(&arn),
            ErrorKind::ImportConflict => ApiError::import_conflict(),
            ErrorKind::ImportNotFound => ApiError::import_not_found(&arn),
            ErrorKind::PolicyNotFound => ApiError::policy_not_found(&arn),
            ErrorKind::GlobalTableNotFound => ApiError::global_table_not_found(table),
            ErrorKind::GlobalTableAlreadyExists => ApiError::global_table_exists(table),
            ErrorKind::IndexNotFound => ApiError::global_index_not_found(),
            ErrorKind::ReplicaAlreadyExists => ApiError::replica_exists(),
            ErrorKind::ReplicaNotFound => ApiError::replica_not_found(),
            ErrorKind::Validation => ApiError::validation("One or more parameter values were invalid"),
            _ => ApiError::internal(),
        }
    }

    /// The table's encryption key, or one of the account's if it has none, cannot be used.
    ///
    /// The texts for a disabled and for a missing key were recorded from CreateTable (October 2026), that for a denied
    /// one is in reports on PutItem and CreateTable (aws-cdk issue 18616, 2022).
    pub(super) fn kms_error(&self, fault: KmsFault, key_arn: Option<&str>) -> ApiError {
        let service_key = || format!("arn:aws:kms:{}:{}:alias/aws/dynamodb", self.region, self.account);
        let key = key_arn.map_or_else(service_key, str::to_owned);
        let model = "com.amazonaws.services.kms.model";
        let by = |code: &str| {
            let id = "00000000-0000-0000-0000-000000000000";
            format!("(Service: AWSKMS; Status Code: 400; Error Code: {code}; Request ID: {id}; Proxy: null)")
        };
        match fault {
            KmsFault::AccessDenied => ApiError::new(
                ErrorKind::AccessDenied,
                format!(
                    "KMS key access denied error: {model}.AWSKMSException: The ciphertext refers to a customer master key that does not exist, does not exist in this region, or you are not allowed to access. {}",
                    by("AccessDeniedException")
                ),
            ),
            KmsFault::Disabled => ApiError::validation(format!(
                "KMS key disabled error: {model}.DisabledException: {key} is disabled. {}",
                by("DisabledException")
            )),
            KmsFault::NotFound => ApiError::validation(format!(
                "KMS validation error: {model}.NotFoundException: Key '{key}' does not exist {}",
                by("NotFoundException")
            )),
        }
    }

    /// The failure of the job that this request starts, if a rule injects one.
    pub fn job_failure(&self) -> Option<Failure> {
        let failure = |code, message: &str| Failure {
            code,
            message: message.to_owned(),
        };
        Some(match self.effects().job_fault? {
            JobFault::Internal => Failure::internal(),
            JobFault::NoSuchBucket => Failure::no_such_bucket(),
            JobFault::AccessDenied => failure("S3AccessDenied", "Access Denied"),
            JobFault::KmsNotFound => failure("KmsNotFoundException", "The specified KMS key does not exist"),
        })
    }
}
