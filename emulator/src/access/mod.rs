//! Access control: what a request asks to do.

mod request;

pub use request::{AccessRequest, PartitionKeyValues};
