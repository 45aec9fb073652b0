//! Where items are: tables of partitions, their local index views, and global indexes fed by queues.
//!
//! Knows no requests. Lock order: partitions by (table, token); index queues and index partitions are leaves.

mod catalog;
mod index;
mod job;
mod partition;
mod range;
mod table;

pub use catalog::{Catalog, Region, Scope};
pub use index::{Fed, GlobalIndex, Kept, VectorEntries};
pub use job::{Job, Recent, Work};
pub use partition::{Contents, Expiry, Partition};
pub use range::{KeyRange, Page, PageLimit, Segment};
pub use table::{Shape, Table};
