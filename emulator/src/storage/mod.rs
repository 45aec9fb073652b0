//! Where items are: tables of partitions, their local index views, and global indexes fed by queues.
//!
//! Knows no requests. Lock order: partitions by (table, token); index queues and index partitions are leaves.

mod attached;
mod catalog;
mod history;
mod index;
mod job;
mod partition;
mod range;
mod table;

pub use attached::{Attached, Destination, Insights, Phase, Policy, Revision};
pub use catalog::{Catalog, Region, Scope};
pub use history::{History, Past};
pub use index::GlobalIndex;
pub use job::{Job, Recent, Work};
pub use partition::{Contents, Due, Expiry, Landing, Partition};
pub use range::{KeyRange, Page, PageLimit, Segment, Walk};
pub use table::{Shape, Stage, Table};
