//! Reads of many items: Query, Scan and SearchVectors.

pub(super) mod query;
pub(super) mod reading;
pub(super) mod scan;
pub(super) mod search_vectors;
