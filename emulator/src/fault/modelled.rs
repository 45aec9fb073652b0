//! The exceptions that the service's model declares for each operation.

use crate::error::ErrorKind;

/// Exceptions that any operation can answer with, declared or not ("Common Errors" in the API Reference).
const COMMON: [ErrorKind; 7] = [
    ErrorKind::AccessDenied,
    ErrorKind::InternalServerError,
    ErrorKind::ServiceUnavailable,
    ErrorKind::Throttling,
    ErrorKind::UnrecognizedClient,
    ErrorKind::ExpiredToken,
    ErrorKind::Validation,
];

/// Exceptions that can fail an action of a transaction or a statement of a batch, as a reason in its answer.
const REASONS: [ErrorKind; 3] = [
    ErrorKind::ConditionalCheckFailed,
    ErrorKind::ItemCollectionSizeLimitExceeded,
    ErrorKind::TransactionConflict,
];

macro_rules! modelled {
    ($($operation:literal => [$($kind:ident),*],)*) => {
        &[$(($operation, &[$(ErrorKind::$kind),*]),)*]
    };
}

/// The exceptions that each operation's model declares besides `COMMON`; `emulator/tests/model` compares it with the model.
pub static MODELLED: &[(&str, &[ErrorKind])] = modelled! {
    "BatchExecuteStatement" => [RequestLimitExceeded],
    "BatchGetItem" => [ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound],
    "BatchWriteItem" => [ItemCollectionSizeLimitExceeded, ProvisionedThroughputExceeded, ReplicatedWriteConflict, RequestLimitExceeded, ResourceNotFound],
    "CancelBulkOperation" => [ResourceNotFound],
    "CreateBackup" => [BackupInUse, ContinuousBackupsUnavailable, LimitExceeded, TableInUse, TableNotFound],
    "CreateGlobalTable" => [GlobalTableAlreadyExists, LimitExceeded, TableNotFound],
    "CreateTable" => [LimitExceeded, ResourceInUse],
    "DeleteBackup" => [BackupInUse, BackupNotFound, LimitExceeded],
    "DeleteItem" => [ConditionalCheckFailed, ItemCollectionSizeLimitExceeded, ProvisionedThroughputExceeded, ReplicatedWriteConflict, RequestLimitExceeded, ResourceNotFound, TransactionConflict],
    "DeleteResourcePolicy" => [LimitExceeded, PolicyNotFound, ResourceInUse, ResourceNotFound],
    "DeleteTable" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "DescribeBackup" => [BackupNotFound],
    "DescribeBulkOperation" => [ResourceNotFound],
    "DescribeContinuousBackups" => [TableNotFound],
    "DescribeContributorInsights" => [ResourceNotFound],
    "DescribeEndpoints" => [],
    "DescribeExport" => [ExportNotFound, LimitExceeded],
    "DescribeGlobalTable" => [GlobalTableNotFound],
    "DescribeGlobalTableSettings" => [GlobalTableNotFound],
    "DescribeImport" => [ImportNotFound],
    "DescribeKinesisStreamingDestination" => [ResourceNotFound],
    "DescribeLimits" => [],
    "DescribeStream" => [ResourceNotFound],
    "DescribeTable" => [ResourceNotFound],
    "DescribeTableReplicaAutoScaling" => [ResourceNotFound],
    "DescribeTimeToLive" => [ResourceNotFound],
    "DisableKinesisStreamingDestination" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "EnableKinesisStreamingDestination" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "ExecuteStatement" => [ConditionalCheckFailed, DuplicateItem, ItemCollectionSizeLimitExceeded, ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound, TransactionConflict],
    "ExecuteTransaction" => [IdempotentParameterMismatch, ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound, TransactionCanceled, TransactionInProgress],
    "ExportTableToPointInTime" => [ExportConflict, InvalidExportTime, LimitExceeded, PointInTimeRecoveryUnavailable, TableNotFound],
    "GetItem" => [ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound],
    "GetRecords" => [ExpiredIterator, LimitExceeded, ResourceNotFound, TrimmedDataAccess],
    "GetResourcePolicy" => [PolicyNotFound, ResourceNotFound],
    "GetShardIterator" => [ResourceNotFound, TrimmedDataAccess],
    "ImportTable" => [ImportConflict, LimitExceeded, ResourceInUse],
    "ListBackups" => [],
    "ListBulkOperations" => [],
    "ListContributorInsights" => [ResourceNotFound],
    "ListExports" => [LimitExceeded],
    "ListGlobalTables" => [],
    "ListImports" => [LimitExceeded],
    "ListStreams" => [ResourceNotFound],
    "ListTables" => [],
    "ListTagsOfResource" => [ResourceNotFound],
    "PutItem" => [ConditionalCheckFailed, ItemCollectionSizeLimitExceeded, ProvisionedThroughputExceeded, ReplicatedWriteConflict, RequestLimitExceeded, ResourceNotFound, TransactionConflict],
    "PutResourcePolicy" => [LimitExceeded, PolicyNotFound, ResourceInUse, ResourceNotFound],
    "Query" => [ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound],
    "RestoreTableFromBackup" => [BackupInUse, BackupNotFound, LimitExceeded, TableAlreadyExists, TableInUse],
    "RestoreTableToPointInTime" => [InvalidRestoreTime, LimitExceeded, PointInTimeRecoveryUnavailable, TableAlreadyExists, TableInUse, TableNotFound],
    "Scan" => [ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound],
    "SearchVectors" => [RequestLimitExceeded, ResourceNotFound],
    "StartBulkPutItems" => [IdempotentParameterMismatch, LimitExceeded, ResourceInUse, ResourceNotFound],
    "TagResource" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "TransactGetItems" => [ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound, TransactionCanceled],
    "TransactWriteItems" => [IdempotentParameterMismatch, ProvisionedThroughputExceeded, RequestLimitExceeded, ResourceNotFound, TransactionCanceled, TransactionInProgress],
    "UntagResource" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "UpdateContinuousBackups" => [ContinuousBackupsUnavailable, TableNotFound],
    "UpdateContributorInsights" => [ResourceNotFound],
    "UpdateGlobalTable" => [GlobalTableNotFound, ReplicaAlreadyExists, ReplicaNotFound, TableNotFound],
    "UpdateGlobalTableSettings" => [GlobalTableNotFound, IndexNotFound, LimitExceeded, ReplicaNotFound, ResourceInUse],
    "UpdateItem" => [ConditionalCheckFailed, ItemCollectionSizeLimitExceeded, ProvisionedThroughputExceeded, ReplicatedWriteConflict, RequestLimitExceeded, ResourceNotFound, TransactionConflict],
    "UpdateKinesisStreamingDestination" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "UpdateTable" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "UpdateTableReplicaAutoScaling" => [LimitExceeded, ResourceInUse, ResourceNotFound],
    "UpdateTimeToLive" => [LimitExceeded, ResourceInUse, ResourceNotFound],
};

/// The exceptions that the model declares for an operation besides the common ones; `None` if there is no such operation.
fn declared(operation: &str) -> Option<&'static [ErrorKind]> {
    let at = MODELLED.binary_search_by_key(&operation, |(name, _)| name).ok()?;
    Some(MODELLED[at].1)
}

/// Whether there is an operation of this name.
pub fn is_operation(operation: &str) -> bool {
    declared(operation).is_some()
}

/// Whether an operation can answer with an exception, also as the reason of one of its actions.
pub fn can_answer(operation: &str, kind: ErrorKind) -> bool {
    let Some(declared) = declared(operation) else {
        return false;
    };
    let as_reason = match operation {
        "TransactWriteItems" | "ExecuteTransaction" | "BatchExecuteStatement" => REASONS.contains(&kind),
        "TransactGetItems" => kind == ErrorKind::TransactionConflict,
        _ => false,
    };
    as_reason || COMMON.contains(&kind) || declared.contains(&kind)
}

/// Whether any operation can answer with an exception.
pub fn is_modelled(kind: ErrorKind) -> bool {
    MODELLED.iter().any(|(operation, _)| can_answer(operation, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_modelled_for_writes_only() {
        assert!(can_answer("PutItem", ErrorKind::TransactionConflict));
        assert!(can_answer("TransactWriteItems", ErrorKind::TransactionConflict));
        assert!(!can_answer("GetItem", ErrorKind::TransactionConflict));
    }

    /// Exceptions that no model of the operation declares, but an answer has as a reason.
    #[test]
    fn reasons_are_those_of_transactions_and_batches() {
        let reasons = |operation| {
            let kinds = [
                ErrorKind::ConditionalCheckFailed,
                ErrorKind::ItemCollectionSizeLimitExceeded,
                ErrorKind::TransactionConflict,
                ErrorKind::DuplicateItem,
                ErrorKind::ReplicatedWriteConflict,
            ];
            kinds.map(|kind| can_answer(operation, kind))
        };
        for (operation, expect) in [
            ("TransactWriteItems", [true, true, true, false, false]),
            ("ExecuteTransaction", [true, true, true, false, false]),
            ("BatchExecuteStatement", [true, true, true, false, false]),
            ("TransactGetItems", [false, false, true, false, false]),
            ("BatchWriteItem", [false, true, false, false, true]),
            ("BatchGetItem", [false; 5]),
            ("ExecuteStatement", [true, true, true, true, false]),
            ("PutItem", [true, true, true, false, true]),
            ("Query", [false; 5]),
            ("NoOperation", [false; 5]),
        ] {
            assert_eq!(reasons(operation), expect, "{operation}");
        }
        for (operation, _) in MODELLED {
            for kind in COMMON {
                assert!(can_answer(operation, kind), "{operation} {kind:?}");
            }
        }
        assert!(!can_answer("NoOperation", ErrorKind::Validation) && !is_operation("NoOperation"));
        for (kind, expect) in [
            (ErrorKind::TransactionConflict, true),
            (ErrorKind::ReplicaNotFound, true),
            (ErrorKind::Serialization, false),
            (ErrorKind::UnknownOperation, false),
            (ErrorKind::IncompleteSignature, false),
        ] {
            assert_eq!(is_modelled(kind), expect, "{kind:?}");
        }
    }
}
