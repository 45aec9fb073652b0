//! Where items are: tables of partitions, their local index views, and global indexes fed by queues.
//!
//! Knows no requests. Lock order: partitions by (table, token); index queues, index partitions, the shards of streams,
//! recovery logs, and ledgers are leaves.

mod agenda;
mod attached;
mod backfill;
mod backup;
mod capacity;
mod catalog;
mod census;
mod delay;
mod held;
mod history;
mod index;
mod items;
mod job;
mod partition;
mod range;
mod recovery;
mod snapshot;
mod stream;
mod table;
mod transfers;

pub use attached::{Attached, Destination, Insights, Phase, Policy, Revision};
pub use backup::{Backup, BackupKind, Backups};
pub use capacity::TableCapacity;
pub use catalog::{Catalog, Region, Scope};
pub use census::{Census, Count};
pub use delay::Propagation;
pub use history::{History, Past};
pub use index::{GlobalIndex, IndexEntry, QueuedChange, QueuedIndex, Update, VectorEntries};
pub use items::Items;
pub use job::{Job, Recent, Work};
pub use partition::{Contents, Due, Expiry, Partition, PendingTransaction};
pub use range::{KeyRange, Page, PageLimit, Segment, Walk};
pub use recovery::{ItemChange, Recovery, RecoveryLog, RecoveryLogs};
pub use snapshot::{Restored, Snapshot};
pub use stream::{
    Event, Position, Reader, Record, Sequence, ShardView, Slice, Stream, StreamSettings, StreamStatus, Unreadable,
};
pub use table::{PARTITIONS, Shape, Stage, Table};
pub use transfers::{Counts, IndexBytes, Progress, StartOutcome, Transfer, TransferKind, TransferRequest, Transfers};
