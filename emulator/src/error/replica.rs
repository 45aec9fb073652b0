//! Texts about replicas and global tables.

use super::{ApiError, ErrorKind};

impl ApiError {
    /// An item that another region is writing (API Reference).
    pub fn replicated_write_conflict() -> ApiError {
        ApiError::new(
            ErrorKind::ReplicatedWriteConflict,
            "The request was rejected because one or more items in the request are being modified by a request in another Region.",
        )
    }

    /// The global table exists already (API Reference; the service's text is not recorded).
    pub fn global_table_exists(table: &str) -> ApiError {
        ApiError::new(
            ErrorKind::GlobalTableAlreadyExists,
            format!("Global table with name: '{table}' already exists"),
        )
    }

    /// The table does not exist, or is not a global table.
    pub fn global_table_not_found(table: &str) -> ApiError {
        ApiError::new(
            ErrorKind::GlobalTableNotFound,
            format!("Global table with name: '{table}' does not exist."),
        )
    }

    /// An index of a global table does not exist (API Reference; the service's text is not recorded).
    pub fn global_index_not_found() -> ApiError {
        ApiError::new(
            ErrorKind::IndexNotFound,
            "The operation tried to access a nonexistent index",
        )
    }

    /// The replica exists already (API Reference; the service's text is not recorded).
    pub fn replica_exists() -> ApiError {
        ApiError::new(
            ErrorKind::ReplicaAlreadyExists,
            "The specified replica is already part of the global table",
        )
    }

    /// The replica does not exist (API Reference; the service's text is not recorded).
    pub fn replica_not_found() -> ApiError {
        ApiError::new(
            ErrorKind::ReplicaNotFound,
            "The specified replica is no longer part of the global table",
        )
    }
}
