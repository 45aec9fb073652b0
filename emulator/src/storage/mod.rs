//! Where items are: tables of partitions, their local index views, and global indexes fed by queues.
//!
//! Knows no requests. Lock order: partitions by (table, token); index queues and index partitions are leaves.

mod backup;
mod catalog;
mod history;
mod index;
mod job;
mod partition;
mod range;
mod snapshot;
mod table;
mod transfers;

pub use backup::{Backup, BackupKind, Backups};
pub use catalog::{Catalog, Region, Scope};
pub use history::{History, ItemChange, Recovery};
pub use index::GlobalIndex;
pub use job::{Job, Recent, Work};
pub use partition::{Contents, Expiry, Partition};
pub use range::{KeyRange, Page, PageLimit, Segment};
pub use snapshot::{Restored, Snapshot};
pub use table::{Shape, Table};
pub use transfers::{About, Begun, Counts, IndexBytes, Progress, Transfer, TransferKind, Transfers};
