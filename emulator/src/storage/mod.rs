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
mod commit;
mod defaults;
mod delay;
mod held;
mod history;
mod index;
mod items;
mod job;
mod partition;
mod range;
mod recovery;
mod replica;
mod settings;
mod snapshot;
mod stream;
mod table;
mod tokens;
mod transfers;

pub use attached::{Attached, Destination, Insights, Phase, Policy, Revision};
pub use backup::{Backup, BackupKind, BackupRecord, Backups};
pub use capacity::TableCapacity;
pub use catalog::{Catalog, Region, Scope, Streams, Tables, TablesGuard};
pub use census::{Census, Count};
pub use commit::{
    AppendError, Checkpoint, Commit, CommitLog, CommitSink, Committed, DecodeError, EncodedCommit, InvalidSnapshot,
    Mutation, Origin, RegionLog, Replay, ReplayError, RestoreError, StateSnapshot, TableId,
};
pub use defaults::Defaults;
pub use delay::Propagation;
pub use history::{History, Past};
pub use index::{
    GlobalIndex, IndexEntry, IndexQueue, IndexState, QueuedChange, QueuedIndex, Update, VectorEntries, Waiting,
};
pub use items::Items;
pub use job::{Job, Recent, Work};
pub use partition::{Contents, Due, Expiry, Partition, PendingTransaction};
pub use range::{KeyRange, Page, PageLimit, Segment, Walk};
pub use recovery::{ItemChange, Recovery, RecoveryLog, RecoveryLogs, Version};
pub use replica::{Consistency, GroupState, Removal, Replica, ReplicaGroup, Witness};
pub use settings::{Stage, TableSettings, TableStream};
pub use snapshot::{Restored, Snapshot};
pub use stream::{
    Event, LineageState, Position, Reader, Record, Sequence, Shard, ShardView, Slice, Stream, StreamEnd,
    StreamSettings, StreamState, StreamStatus, Unreadable,
};
pub use table::{Host, PARTITIONS, SavedIndex, Shape, Table, TableIdentity};
pub use tokens::{Known, MOST_TOKENS, Token, Tokens};
pub use transfers::{
    Counts, IndexBytes, Progress, StartOutcome, Transfer, TransferKind, TransferRecord, TransferRequest, Transfers,
};
