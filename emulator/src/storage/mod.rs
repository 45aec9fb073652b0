//! Storage of items: tables of partitions, their local index views, and global indexes fed by queues.
//!
//! Storage does not depend on requests. Lock order: partitions by (table, token); index queues, index partitions, the
//! shards of streams, recovery logs, ledgers, and the inboxes of other regions' changes are leaves.
//!
//! ARCHITECTURE.md lists the files from the bottom up: plain data, commits, the parts of a table, tables, regions, the
//! whole state.

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
mod due;
mod earlier_state;
mod held;
mod history;
mod host;
mod identity;
mod index;
mod items;
mod job;
mod page;
mod partition;
mod partitioning;
mod range;
mod recovery;
mod replica;
mod replication;
mod scope;
mod settings;
mod shape;
mod snapshot;
mod state;
mod stream;
mod table;
mod tokens;
mod transfers;

pub use attached::{AttachedResourcePolicy, Attachments, Destination, Insights, Phase, Revision, revision_id};
pub use backup::{Backup, BackupKind, BackupRecord};
pub use catalog::{Catalog, Region};
pub use census::Census;
pub use commit::{AppendError, Commit, CommitSink, Committed, DecodeError, EncodedCommit, Mutation, Origin};
pub use due::{DueWork, Expiry, PendingTransaction};
pub use earlier_state::EarlierState;
pub use history::{ChangePosition, History};
pub use host::ClockSteps;
pub use identity::TableIdentity;
pub use index::{GlobalIndex, IndexState, QueuedChange, QueuedUpdate, SavedIndex, VectorEntries};
pub use items::Items;
pub use job::{Job, JobKind, RecentChanges};
pub use page::{EncodedItems, Page, PageLimit, Walk};
pub use partition::{Contents, Partition};
pub use range::{KeyRange, Segment};
pub use recovery::{ItemChange, PriorItem, Recovery};
pub use replica::{
    Consistency, GroupState, Removal, Replica, ReplicaGroup, Scaling, ScalingPolicy, Synchronization, Witness,
};
pub use replication::{ReplicaVersion, ReplicaVersions, ReplicatedChange, SavedInbox, Stamp, VersionComparison};
pub use scope::Scope;
pub use settings::{Restored, TableSettings, TableStage, TableStream};
pub use shape::Shape;
pub use snapshot::Snapshot;
pub use state::{Checkpoint, InvalidSnapshot, Replay, ReplayError, RestoreError, StateSnapshot};
pub use stream::{
    LineageState, Position, Record, RecordKind, Sequence, Shard, ShardPage, ShardReadError, ShardReader, ShardView,
    Stream, StreamEnd, StreamState,
};
pub use table::Table;
pub use tokens::{ClientToken, MOST_TOKENS, TokenStatus, Tokens};
pub use transfers::{
    IndexBytes, Progress, StartOutcome, Transfer, TransferCounts, TransferKind, TransferRecord, TransferRequest,
};
