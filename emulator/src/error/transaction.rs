//! Texts about batches and transactions.

use super::{ApiError, CancellationReason, Detail, ErrorKind};

impl ApiError {
    /// One key twice in a batch.
    pub fn duplicate_keys() -> ApiError {
        ApiError::validation("Provided list of item keys contains duplicates")
    }

    /// One item twice in a transaction.
    pub fn duplicate_transaction_item() -> ApiError {
        ApiError::validation("Transaction request cannot include multiple operations on one item")
    }

    /// A cancelled transaction, with a reason for each action.
    pub fn transaction_cancelled(reasons: Vec<CancellationReason>) -> ApiError {
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code).collect();
        ApiError::new(
            ErrorKind::TransactionCanceled,
            format!(
                "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
                codes.join(", ")
            ),
        )
        .with(Detail::Cancellation(reasons))
    }

    /// An item that a running transaction holds.
    pub fn transaction_conflict() -> ApiError {
        ApiError::new(ErrorKind::TransactionConflict, "Transaction is ongoing for the item")
    }

    /// The request of this token still runs. The text was seen in 2021 (aws-sdk-java-v2, issue 2518).
    pub fn transaction_in_progress() -> ApiError {
        ApiError::new(
            ErrorKind::TransactionInProgress,
            "Transaction from previous request is still in progress",
        )
    }

    /// A new token while the maximum number of tokens is remembered.
    pub fn too_many_tokens() -> ApiError {
        ApiError::new(ErrorKind::InternalServerError, "Too many client tokens are in use")
    }

    /// Another request under a token that was used.
    pub fn idempotent_mismatch() -> ApiError {
        ApiError::new(
            ErrorKind::IdempotentParameterMismatch,
            "Specified idempotent token was used with different request parameters within the idempotency window",
        )
    }
}
