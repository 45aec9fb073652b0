//! The whole state as commits: the shortest list that recreates it.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use crate::clock::Moment;
use crate::key::Key;
use crate::sort;
use crate::storage::commit::{Commit, Mutation, Origin};
use crate::storage::identity::TableId;
use crate::storage::replica;
use crate::storage::transfers::is_kept;
use crate::storage::{
    Backup, Catalog, Census, Contents, GroupState, Items, Partition, PendingTransaction, Region, ReplicaVersions,
    SavedInbox, SavedIndex, Scope, Shape, StreamState, Table, TableIdentity, Transfer,
};
use crate::sync::RwLockReadGuard;
use crate::value::Item;

/// The maximum number of items, entries, versions or records in a commit. So no commit is longer than about 200 MB,
/// however large a table is.
const SLICE: usize = 256;

/// The size in bytes at which a commit takes no more items.
const SLICE_BYTES: usize = 4 * 1024 * 1024;

/// Divides a list into parts of bounded number and size.
fn slices<T>(list: impl IntoIterator<Item = T>, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut slices, mut last, mut bytes) = (Vec::new(), Vec::new(), 0);
    for element in list {
        bytes += size(&element);
        last.push(element);
        if last.len() >= SLICE || bytes >= SLICE_BYTES {
            slices.push(std::mem::take(&mut last));
            bytes = 0;
        }
    }
    if !last.is_empty() {
        slices.push(last);
    }
    slices
}

/// A state at one moment, as the commits that recreate it. It shares its items with the tables, and is built commit by commit.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// let checkpoint = engine.checkpoint();
/// assert_eq!(checkpoint.sequence(), 0, "no sink is attached");
/// assert!(checkpoint.count() > 0);
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    time: Moment,
    sequence: u64,
    parts: VecDeque<CheckpointPart>,
}

#[derive(Debug)]
enum CheckpointPart {
    Mutation(Box<Mutation>),
    Items {
        table: TableId,
        items: Items,
        after: Option<Key>,
    },
}

impl Checkpoint {
    /// The sequence number of the last commit contained in the state.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn push(&mut self, mutation: Mutation) {
        self.parts.push_back(CheckpointPart::Mutation(Box::new(mutation)));
    }

    /// A table, without its listing.
    fn push_table(&mut self, table: &Table, shape: &Shape, contents: &[RwLockReadGuard<'_, Contents>]) {
        let id = table.ordinal;
        self.push(Mutation::CreateTable {
            identity: TableIdentity::clone(table),
            settings: Box::new(shape.settings.clone()),
        });
        let (period, census) = table.censuses.last();
        if (period, &*census) != (0, &Census::default()) {
            let census = Census::clone(&census);
            self.push(Mutation::TakeCensus {
                table: id,
                period,
                census,
            });
        }
        for contents in contents {
            self.push_items(id, contents.by_key().clone());
        }
        let late = contents.iter().flat_map(|contents| contents.late_deletions());
        for deletions in slices(late.map(|(key, due)| (key.clone(), due)), |_| 0) {
            self.push(Mutation::RestoreDeletions { table: id, deletions });
        }
        for contents in contents {
            for (until, key, then) in contents.holds() {
                self.push(Mutation::HoldItem {
                    table: id,
                    key: key.clone(),
                    until,
                    then: then.cloned().unwrap_or(PendingTransaction::Checks),
                });
            }
        }
        self.push_indexes(id, shape);
        let is_replica = group_of(table, self.time).is_some();
        for (place, (contents, partition)) in contents.iter().zip(table.partitions()).enumerate() {
            // Without replicas the next write forgets the versions.
            if is_replica || !partition.inbox.is_empty() {
                self.push_versions(id, contents);
            }
            self.push_inbox(id, place, partition);
        }
        if let Some(logs) = &shape.recovery_logs {
            let dropped = logs.dropped();
            let mut slices = slices(logs.save(), |version| version.old.as_ref().map_or(0, Item::size));
            if slices.is_empty() {
                slices.push(Vec::new());
            }
            for versions in slices {
                self.push(Mutation::RestoreRecovery {
                    table: id,
                    versions,
                    dropped,
                });
            }
        }
    }

    /// The versions of items.
    fn push_versions(&mut self, table: TableId, contents: &Contents) {
        let versions = contents.versions().into_iter().flat_map(ReplicaVersions::iter);
        for versions in slices(versions.map(|(key, version)| (key.clone(), version.clone())), |_| 0) {
            self.push(Mutation::RestoreVersions { table, versions });
        }
    }

    /// The queued changes from other regions.
    fn push_inbox(&mut self, table: TableId, place: usize, partition: &Partition) {
        for mut saved in partition.inbox.save() {
            let waiting = std::mem::take(&mut saved.waiting);
            let state = Box::new(saved.clone());
            self.push(Mutation::RestoreInbox { table, place, state });
            saved.delays.clear();
            for waiting in slices(waiting, |(_, arrival)| arrival.item.as_ref().map_or(0, Item::size)) {
                let state = Box::new(SavedInbox {
                    waiting,
                    ..saved.clone()
                });
                self.push(Mutation::RestoreInbox { table, place, state });
            }
        }
    }

    /// The claims of completed writes of a group with strong consistency.
    fn push_claims(&mut self, tables: &[&Arc<Table>], group: &GroupState) {
        let replicas = tables.iter().filter(|table| group.replica(table.ordinal).is_some());
        let live = replicas.clone().next().and_then(|table| table.replica_group());
        let claims = live.map(|group| group.claims().save(self.time));
        for (key, region, until) in claims.into_iter().flatten() {
            let mut replicas = replicas.clone();
            if let Some(table) = replicas.find(|table| table.scope.region == region) {
                let table = table.ordinal;
                self.push(Mutation::ClaimItem { table, key, until });
            }
        }
    }

    fn push_items(&mut self, table: TableId, items: Items) {
        let after = None;
        self.parts.push_back(CheckpointPart::Items { table, items, after });
    }

    fn push_indexes(&mut self, table: TableId, shape: &Shape) {
        let definition = &shape.definition;
        let globals = definition.globals.iter().zip(&shape.indexes);
        let globals = globals.map(|(index, there)| (&index.name, SavedIndex::Global(there.save(self.time))));
        let vectors = definition.vectors.iter().zip(&shape.vectors);
        let vectors = vectors.map(|(index, there)| (&index.name, SavedIndex::Vector(there.save(self.time))));
        let leaving = shape.leaving(self.time);
        let leaving = leaving.map(|(name, contents)| (name, contents.save()));
        let indexes: Vec<_> = globals.chain(vectors).chain(leaving).collect();
        for (index, state) in indexes {
            for (part, state) in state.divided(SLICE).into_iter().enumerate() {
                let (index, state) = (index.clone(), Box::new(state));
                self.push(if part == 0 {
                    Mutation::RestoreIndex { table, index, state }
                } else {
                    Mutation::RestoreEntries { table, index, state }
                });
            }
        }
    }

    fn push_stream(&mut self, scope: &Scope, mut stream: StreamState) {
        let arn = stream.arn.clone();
        let records: Vec<_> = stream.take_records().collect();
        self.push(Mutation::RestoreStream {
            scope: scope.clone(),
            stream: Box::new(stream),
        });
        for (shard, records) in records {
            for records in slices(records, |record| record.size as usize) {
                self.push(Mutation::RestoreRecords {
                    scope: scope.clone(),
                    stream: arn.clone(),
                    shard: shard.clone(),
                    records,
                });
            }
        }
    }

    /// A backup is created from a table that is never listed.
    fn push_backup(&mut self, scope: &Scope, backup: &Backup, table: TableId) {
        let mut settings = backup.snapshot.shape.settings.clone();
        settings.recovery = None;
        self.push(Mutation::CreateTable {
            identity: TableIdentity {
                scope: scope.clone(),
                name: backup.table_name.clone(),
                arn: backup.table_arn.clone(),
                id: backup.table_id.clone(),
                ordinal: table,
                created: backup.table_created,
            },
            settings: Box::new(settings),
        });
        for items in backup.snapshot.items() {
            self.push_items(table, items);
        }
        self.push(Mutation::CreateBackup {
            scope: scope.clone(),
            table,
            record: Box::new(backup.record.clone()),
        });
        self.push(Mutation::RemoveTable { table });
        if backup.is_restoring(self.time) {
            self.push(Mutation::ClaimBackup {
                scope: scope.clone(),
                arn: backup.arn.clone(),
                until: backup.restored_until(),
            });
        }
    }

    fn push_transfer(&mut self, scope: &Scope, transfer: &Transfer) {
        if is_kept(transfer, self.time) {
            self.push(Mutation::StartTransfer {
                scope: scope.clone(),
                record: Box::new(transfer.record.clone()),
                table_id: transfer.table_id(),
                progress: Box::new(transfer.progress()),
            });
        }
    }
}

impl Iterator for Checkpoint {
    type Item = Commit;

    fn next(&mut self) -> Option<Commit> {
        let mutation = loop {
            match self.parts.pop_front()? {
                CheckpointPart::Mutation(mutation) => break *mutation,
                CheckpointPart::Items { table, items, after } => {
                    let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                    let mut left = SLICE_BYTES;
                    let there = items.range((from, Bound::Unbounded)).take(SLICE);
                    let there = there.take_while(|(_, item)| {
                        let fits = left > 0;
                        left = left.saturating_sub(item.size());
                        fits
                    });
                    let slice: Vec<_> = there.map(|(key, item)| (key.clone(), item.clone())).collect();
                    let Some((last, _)) = slice.last() else { continue };
                    let after = Some(last.clone());
                    self.parts.push_front(CheckpointPart::Items { table, items, after });
                    break Mutation::RestoreItems { table, items: slice };
                }
            }
        };
        Some(Commit {
            time: self.time,
            origin: Origin::Request,
            sequence: self.sequence,
            mutations: vec![mutation],
        })
    }
}

impl Catalog {
    /// The whole state at `now`, without what has expired. All tables are locked while their items are shared, so it
    /// contains each commit fully or not at all.
    pub fn checkpoint(&self, now: Moment) -> Checkpoint {
        loop {
            if let Some(checkpoint) = self.checkpoint_of(&self.scopes(), now) {
                return checkpoint;
            }
        }
    }

    /// The whole state, if these are its regions while the log is paused.
    fn checkpoint_of(&self, scopes: &[(Scope, Arc<Region>)], now: Moment) -> Option<Checkpoint> {
        let listed: Vec<_> = scopes.iter().map(|(_, region)| region.tables.read()).collect();
        let unlisted =
            || -> Vec<Arc<Table>> { scopes.iter().flat_map(|(_, region)| region.tables.unlisted()).collect() };
        let ordinal = |table: &Arc<Table>| table.ordinal;
        let filled = unlisted();
        let hidden: Vec<TableId> = filled.iter().map(ordinal).collect();
        let mut tables: Vec<&Arc<Table>> = listed
            .iter()
            .flat_map(|tables| tables.values())
            .chain(&filled)
            .collect();
        sort::sort_by_key(&mut tables, |table| table.ordinal);
        let locked: Vec<_> = tables.iter().map(|table| table.read_all()).collect();
        let transfers: Vec<_> = scopes.iter().map(|(_, region)| region.transfers.lock()).collect();
        let backups: Vec<_> = scopes.iter().map(|(_, region)| region.backups.lock()).collect();
        let shapes: Vec<_> = tables.iter().map(|table| table.lock_shape()).collect();
        let paused = self.log().pause(now);
        if !self.consists_of(scopes) || !unlisted().iter().map(ordinal).eq(hidden.iter().copied()) {
            return None;
        }
        let mut checkpoint = Checkpoint {
            time: now,
            sequence: self.log().last(),
            parts: VecDeque::new(),
        };
        let conditions = Box::new(self.defaults().conditions());
        checkpoint.push(Mutation::SetConditions { conditions });
        for ((scope, table), conditions) in self.defaults().tables() {
            checkpoint.push(Mutation::SetTableConditions {
                scope,
                table,
                conditions: Some(conditions),
            });
        }
        for (scope, region) in scopes {
            for stream in region.streams().all().iter().filter(|stream| !stream.is_gone(now)) {
                checkpoint.push_stream(scope, stream.save(now));
            }
        }
        for ((table, contents), shape) in tables.iter().zip(&locked).zip(&shapes) {
            if !shape.is_gone(now) {
                checkpoint.push_table(table, shape, contents);
                if !hidden.contains(&table.ordinal) {
                    checkpoint.push(Mutation::ListTable { table: table.ordinal });
                }
            }
        }
        let mut groups: Vec<_> = tables.iter().filter_map(|table| group_of(table, now)).collect();
        sort::sort_by_key(&mut groups, |group| group.id);
        groups.dedup_by_key(|group| group.id);
        for group in groups {
            checkpoint.push(replica::mutation(&group));
            checkpoint.push_claims(&tables, &group);
        }
        let mut unused = TableId::MAX;
        for (((scope, _), backups), transfers) in scopes.iter().zip(&backups).zip(&transfers) {
            let is_kept = |backup: &&Arc<Backup>| backup.expires.is_none_or(|end| now < end);
            for backup in backups.by_place.values().filter(is_kept) {
                checkpoint.push_backup(scope, backup, unused);
                unused -= 1;
            }
            // Their ARNs are not used again.
            for arn in backups.deleted(now) {
                checkpoint.push(Mutation::DeleteBackup {
                    scope: scope.clone(),
                    arn: arn.to_owned(),
                });
            }
            for transfer in transfers.values() {
                checkpoint.push_transfer(scope, transfer);
            }
        }
        for token in self.tokens().done(now) {
            checkpoint.push(Mutation::UseToken { token });
        }
        drop(paused);
        Some(checkpoint)
    }
}

/// The group of a table at `now`, also if its other replicas are gone: then its writes may still have to be compared with
/// queued changes of these.
fn group_of(table: &Table, now: Moment) -> Option<GroupState> {
    let mut group = GroupState::clone(&*table.replica_group()?.state());
    group.drop_gone(now);
    group.replica(table.ordinal).is_some().then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Replay;

    #[test]
    fn the_conditions_come_first() {
        let state = Catalog::default();
        let commits: Vec<_> = state.checkpoint(Moment::START).collect();
        assert!(matches!(commits[..1], [ref first] if matches!(first.mutations[..], [Mutation::SetConditions { .. }])));
        let copy = Catalog::default();
        let mut replay = Replay::new(&copy);
        assert!(commits.iter().all(|commit| replay.apply(commit).is_ok()));
    }
}
