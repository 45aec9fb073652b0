//! The division of a table's tokens among its partitions.

/// The number of partitions of a new table: an on-demand one starts with 12,000 read and 4,000 write units per second,
/// which is what four partitions can serve.
pub const PARTITIONS: usize = 4;

/// The number of the partition, of `partitions`, that a token belongs to.
pub(super) fn place_of(token: u64, partitions: usize) -> usize {
    // The ring is divided evenly: the high half of a product is at most `len - 1`.
    ((u128::from(token) * partitions as u128) >> 64) as usize
}
