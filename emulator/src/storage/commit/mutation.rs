//! The changes in a commit.

use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::key::Key;
use crate::storage::identity::TableId;
use crate::storage::{
    BackupRecord, Census, ClientToken, GroupState, PendingTransaction, PriorItem, Progress, Record, ReplicaVersion,
    SavedInbox, SavedIndex, Scope, StreamState, TableIdentity, TableSettings, TransferKind, TransferRecord,
};
use crate::value::{Item, Name};

/// A change of one thing. It has all values that a replay needs, including the results of random decisions.
#[derive(Clone, Debug, PartialEq)]
pub enum Mutation {
    /// An item is put, or removed.
    ChangeItem {
        table: TableId,
        key: Key,
        /// The new item; `None` removes it.
        item: Option<Item>,
        /// The cause of the change.
        cause: Cause,
        /// When it was due, if that was before the commit.
        due: Option<Moment>,
    },
    /// A transaction locks an item until it is executed.
    HoldItem {
        table: TableId,
        key: Key,
        /// When the transaction is executed.
        until: Moment,
        /// Its pending effect on the item.
        then: PendingTransaction,
    },
    /// A transaction releases an item. Its effect on the item follows as a `ChangeItem`.
    ReleaseItem { table: TableId, key: Key },
    /// A table is created. Requests do not see it before it is listed.
    CreateTable {
        identity: TableIdentity,
        settings: Box<TableSettings>,
    },
    /// A table becomes visible under its name, replacing a deleted one.
    ListTable { table: TableId },
    /// A deleted table, or one that was never listed, is dropped.
    RemoveTable { table: TableId },
    /// A table's settings change: its definition, time to live, stream, jobs, recovery, tags, policies, conditions.
    ChangeTable {
        table: TableId,
        settings: Box<TableSettings>,
    },
    /// A new index has the entries of all items that existed before it.
    EndBackfill {
        table: TableId,
        index: Name,
        /// When the index becomes `ACTIVE`.
        end: Moment,
    },
    /// A global index is paused or resumed.
    PauseIndex { table: TableId, index: Name, paused: bool },
    /// A shard of a table's stream is split.
    SplitShard {
        table: TableId,
        /// The first token of the second half.
        at: u64,
    },
    /// Expired shards of a stream are replaced.
    RotateShards {
        /// The scope of the stream.
        scope: Scope,
        stream: String,
    },
    /// A backup of a table's present state is created.
    CreateBackup {
        /// The scope of the backup.
        scope: Scope,
        table: TableId,
        record: Box<BackupRecord>,
    },
    DeleteBackup {
        /// The scope of the backup.
        scope: Scope,
        arn: String,
    },
    /// A table is being restored from a backup.
    ClaimBackup {
        /// The scope of the backup.
        scope: Scope,
        arn: String,
        until: Moment,
    },
    /// An export, import or bulk operation begins.
    StartTransfer {
        scope: Scope,
        record: Box<TransferRecord>,
        /// The id of its table, if that exists.
        table_id: String,
        progress: Box<Progress>,
    },
    /// The progress of an export, import or bulk operation.
    ChangeTransfer {
        scope: Scope,
        kind: TransferKind,
        arn: String,
        /// The id of its table, if that exists.
        table_id: String,
        progress: Box<Progress>,
    },
    /// A client token is used by a request that is executed at a moment.
    UseToken { token: ClientToken },
    /// The conditions of all tables without their own change. The tables' settings change in separate mutations.
    SetConditions { conditions: Box<Conditions> },
    /// The conditions of one table change, existing or not.
    SetTableConditions {
        /// The scope of the table.
        scope: Scope,
        table: Name,
        /// Its new conditions, or `None` to follow those of all tables.
        conditions: Option<Box<Conditions>>,
    },
    /// Part of a checkpoint of a table that is not listed yet: items.
    RestoreItems {
        table: TableId,
        /// The items and their keys.
        items: Vec<(Key, Item)>,
    },
    /// Part of a checkpoint of a table that is not listed yet: the due moments of deletions by time to live that do not follow
    /// from their items. It follows the items.
    RestoreDeletions {
        table: TableId,
        deletions: Vec<(Key, Moment)>,
    },
    /// Part of a checkpoint of a table that is not listed yet: a global or vector index, also one that is being
    /// deleted. It follows all items.
    RestoreIndex {
        table: TableId,
        index: Name,
        /// The pending changes of the index.
        state: Box<SavedIndex>,
    },
    /// Part of a checkpoint of a table that is not listed yet: more of an index that has been restored.
    RestoreEntries {
        table: TableId,
        index: Name,
        /// Further entries and pending changes.
        state: Box<SavedIndex>,
    },
    /// Part of a checkpoint of a table that is not listed yet: history for point-in-time recovery.
    RestoreRecovery {
        table: TableId,
        /// Earlier versions of items, in the order of their changes.
        versions: Vec<PriorItem>,
        /// The newest change that was dropped because of the size limit.
        dropped: Moment,
    },
    /// A change from another region arrives. It is applied if it is newer than the present version.
    ReplicateItem {
        table: TableId,
        key: Key,
        /// The new item; `None` removes it.
        item: Option<Item>,
        version: ReplicaVersion,
        due: Moment,
    },
    /// Replication from another region is paused or resumed.
    PauseReplication { table: TableId, source: Name, paused: bool },
    /// Part of a checkpoint of a table that is not listed yet: the versions of its items. It follows the items.
    RestoreVersions {
        table: TableId,
        /// The versions by key, including those of deleted items.
        versions: Vec<(Key, ReplicaVersion)>,
    },
    /// Part of a checkpoint of a table that is not listed yet: queued changes of a partition, in order.
    RestoreInbox {
        table: TableId,
        place: usize,
        /// The changes of one region.
        state: Box<SavedInbox>,
    },
    /// The first description of a table in a period counts its items and the entries of its indexes.
    TakeCensus {
        table: TableId,
        period: u64,
        census: Census,
    },
    /// A completed write of a global table with strong consistency excludes those of other regions from its item.
    ClaimItem { table: TableId, key: Key, until: Moment },
    /// Part of a checkpoint: a stream, without its records. It precedes its table.
    RestoreStream {
        /// The scope of the stream.
        scope: Scope,
        stream: Box<StreamState>,
    },
    /// The replicas of a global table change; all of them exist already.
    ChangeReplicas { group: Box<GroupState> },
    /// Part of a checkpoint: further records of a shard of a stream.
    RestoreRecords {
        /// The scope of the stream.
        scope: Scope,
        stream: String,
        shard: String,
        records: Vec<Record>,
    },
    /// The operations in progress are those of a process that has ended: what is incomplete is completed, or fails. Each
    /// table gets the conditions that hold for it, and tables that are not listed are dropped.
    EndInterrupted,
    /// Everything is removed: tables, backups, tokens, conditions of single tables.
    Reset,
}

impl Mutation {
    /// The mutation for a change of an item.
    pub fn of_change(table: TableId, change: &Change) -> Mutation {
        Mutation::ChangeItem {
            table,
            key: change.key.clone(),
            item: change.new.clone(),
            cause: change.cause,
            due: change.due,
        }
    }
}
