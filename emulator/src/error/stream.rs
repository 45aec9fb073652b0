//! Texts about streams.

use super::{ApiError, ErrorKind};

impl ApiError {
    /// There is no such stream.
    pub fn stream_not_found(arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Stream: {arn} not found"),
        )
    }

    /// The stream has no such shard (seen of the service in July 2021).
    pub fn shard_not_found() -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            "Requested resource not found: Shard does not exist",
        )
    }

    /// The record at this position is too old (seen from the service in February 2019).
    pub fn trimmed() -> ApiError {
        ApiError::new(
            ErrorKind::TrimmedDataAccess,
            "The data you are trying to access has been trimmed",
        )
    }

    /// An iterator that was used too late (API Reference, without its full stop as the service leaves it out elsewhere).
    pub fn expired_iterator() -> ApiError {
        ApiError::new(
            ErrorKind::ExpiredIterator,
            "The provided iterator exceeds the maximum age allowed",
        )
    }
}
