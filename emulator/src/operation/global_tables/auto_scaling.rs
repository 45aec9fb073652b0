//! What the operations on the scaling of replicas share: they know global tables alone (docs/behavior: 04 1.1 and
//! 12.6), and no table has a replica yet.

use crate::error::{ApiError, ErrorKind};

/// The answer on a table that is not there, or has no replica.
pub fn not_global(name: &str) -> ApiError {
    ApiError::new(
        ErrorKind::ResourceNotFound,
        format!("Global table with name: '{name}' does not exist."),
    )
}
