//! What a commit changes.

use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::key::Key;
use crate::storage::{
    BackupRecord, ClientToken, GroupState, PendingTransaction, PriorItem, Progress, Record, SavedIndex, Scope,
    StreamState, TableIdentity, TableSettings, TransferKind, TransferRecord,
};
use crate::value::{Item, Name};

/// The number of a table: no two tables of an engine share one, whatever their names.
pub type TableId = u64;

/// A change of one thing. It has all values that a replay needs: none of them is decided again.
#[derive(Clone, Debug, PartialEq)]
pub enum Mutation {
    /// An item is put, or removed.
    ChangeItem {
        /// The table.
        table: TableId,
        /// The item's key.
        key: Key,
        /// The item from now on.
        item: Option<Item>,
        /// What changes it.
        cause: Cause,
        /// When it was due, if that was before the commit.
        due: Option<Moment>,
    },
    /// A transaction holds an item until it is carried out.
    HoldItem {
        /// The table.
        table: TableId,
        /// The item's key.
        key: Key,
        /// When the transaction is carried out.
        until: Moment,
        /// What it does to the item then.
        then: PendingTransaction,
    },
    /// A transaction holds an item no longer. What it does to the item follows as a `ChangeItem`.
    ReleaseItem {
        /// The table.
        table: TableId,
        /// The item's key.
        key: Key,
    },
    /// A table is made. No request sees it before it is listed.
    CreateTable {
        /// What it is.
        identity: TableIdentity,
        /// Its settings.
        settings: Box<TableSettings>,
    },
    /// A table appears under its name, in the place of a deleted one.
    ListTable {
        /// The table.
        table: TableId,
    },
    /// A deleted table, or one that was never listed, is dropped.
    RemoveTable {
        /// The table.
        table: TableId,
    },
    /// A table's settings change: its definition, time to live, stream, jobs, recovery, tags, policies, conditions.
    ChangeTable {
        /// The table.
        table: TableId,
        /// All its settings from now on.
        settings: Box<TableSettings>,
    },
    /// A new index has all entries of the items that were there before it.
    EndBackfill {
        /// The table.
        table: TableId,
        /// The index.
        index: Name,
        /// When the index becomes `ACTIVE`.
        end: Moment,
    },
    /// A global index takes no more changes, or takes them again.
    PauseIndex {
        /// The table.
        table: TableId,
        /// The index.
        index: Name,
        /// Whether it is paused.
        paused: bool,
    },
    /// A shard of a table's stream is split.
    SplitShard {
        /// The table.
        table: TableId,
        /// The first token of the second half.
        at: u64,
    },
    /// Shards of a stream whose time is over are replaced.
    RotateShards {
        /// Whose stream.
        scope: Scope,
        /// The stream's ARN.
        stream: String,
    },
    /// A backup is made of a table as it is.
    CreateBackup {
        /// Whose backup.
        scope: Scope,
        /// The table.
        table: TableId,
        /// The backup.
        record: Box<BackupRecord>,
    },
    /// A backup is deleted.
    DeleteBackup {
        /// Whose backup.
        scope: Scope,
        /// Its ARN.
        arn: String,
    },
    /// A table is being restored from a backup.
    ClaimBackup {
        /// Whose backup.
        scope: Scope,
        /// Its ARN.
        arn: String,
        /// Until when.
        until: Moment,
    },
    /// An export, import or bulk operation begins.
    StartTransfer {
        /// Whose.
        scope: Scope,
        /// What was asked for.
        record: Box<TransferRecord>,
        /// The id of its table, if that is there.
        table_id: String,
        /// How far it is.
        progress: Box<Progress>,
    },
    /// An export, import or bulk operation goes on or ends.
    ChangeTransfer {
        /// Whose.
        scope: Scope,
        /// Its kind.
        kind: TransferKind,
        /// Its ARN.
        arn: String,
        /// The id of its table, if that is there.
        table_id: String,
        /// How far it is.
        progress: Box<Progress>,
    },
    /// A client token was used for a request that is done at a moment.
    UseToken {
        /// The token.
        token: ClientToken,
    },
    /// The conditions of all tables without their own change. The tables' settings change by mutations of their own.
    SetConditions {
        /// The conditions from now on.
        conditions: Box<Conditions>,
    },
    /// The conditions of one table change, there or not.
    SetTableConditions {
        /// Whose table.
        scope: Scope,
        /// Its name.
        table: Name,
        /// Its conditions from now on, unless it follows the others.
        conditions: Option<Box<Conditions>>,
    },
    /// A checkpoint's part of a table that is not listed yet: items.
    RestoreItems {
        /// The table.
        table: TableId,
        /// The items and their keys.
        items: Vec<(Key, Item)>,
    },
    /// A checkpoint's part of a table that is not listed yet: a global or vector index. All items come before it.
    RestoreIndex {
        /// The table.
        table: TableId,
        /// The index.
        index: Name,
        /// The changes on their way to it.
        state: Box<SavedIndex>,
    },
    /// A checkpoint's part of a table that is not listed yet: more of an index that has been restored.
    RestoreEntries {
        /// The table.
        table: TableId,
        /// The index.
        index: Name,
        /// Further entries and changes on their way.
        state: Box<SavedIndex>,
    },
    /// A checkpoint's part of a table that is not listed yet: what point-in-time recovery keeps, or more of it.
    RestoreRecovery {
        /// The table.
        table: TableId,
        /// Earlier versions of items, in the order of their changes.
        versions: Vec<PriorItem>,
        /// The newest change that was dropped for want of room.
        dropped: Moment,
    },
    /// A checkpoint's stream, without its records. It comes before its table.
    RestoreStream {
        /// Whose stream.
        scope: Scope,
        /// The stream.
        stream: Box<StreamState>,
    },
    /// A global table has these replicas from now on, all of which have been made.
    ChangeReplicas {
        /// All of its state.
        group: Box<GroupState>,
    },
    /// Records of a checkpoint's stream, behind those that its shard has.
    RestoreRecords {
        /// Whose stream.
        scope: Scope,
        /// The stream's ARN.
        stream: String,
        /// The shard.
        shard: String,
        /// The records.
        records: Vec<Record>,
    },
    /// Everything is removed: tables, backups, tokens, conditions of single tables.
    Reset,
}

impl Mutation {
    /// The mutation of an item's change.
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
