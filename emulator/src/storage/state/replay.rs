//! The state as the fold of its commits.

use std::fmt;
use std::sync::Arc;

use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::sort;
use crate::sorted::SortedMap;
use crate::storage::commit::{Commit, Committed, Mutation};
use crate::storage::identity::TableId;
use crate::storage::replica;
use crate::storage::{Catalog, GroupState, Region, Replica, Scope, Table, TableSettings};
use crate::value::Name;

/// A commit that does not fit the state it is replayed into.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// let commits: Vec<_> = engine.checkpoint().collect();
/// # let clock = Clock::settable(Moment::START);
/// # let copy = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let mut replay = copy.replay();
/// let error = replay.apply(commits.last().unwrap()).unwrap_err();
/// assert!(error.to_string().contains("there is no"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    sequence: u64,
    lacks: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "commit {}: there is no {}", self.sequence, self.lacks)
    }
}

impl std::error::Error for ReplayError {}

/// Applies commits to a state, in order. No request may run concurrently.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// let commits: Vec<_> = engine.checkpoint().collect();
/// # let clock = Clock::settable(Moment::START);
/// # let copy = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let mut replay = copy.replay();
/// commits.iter().try_for_each(|commit| replay.apply(commit))?;
/// replay.finish(copy.clock().now());
/// assert_eq!(copy.tables(&caller), ["Orders"]);
/// # Ok::<(), dynatwin_engine::commits::ReplayError>(())
/// ```
pub struct Replay<'c> {
    catalog: &'c Catalog,
    tables: SortedMap<TableId, Arc<Table>>,
    /// The tables that are not listed yet.
    unlisted: Vec<TableId>,
    conditions: Option<Conditions>,
}

impl<'c> Replay<'c> {
    /// Continues from the present state.
    pub(crate) fn new(catalog: &'c Catalog) -> Replay<'c> {
        let tables = catalog.all().into_iter();
        Replay {
            catalog,
            tables: tables.map(|table| (table.ordinal, table)).collect(),
            unlisted: Vec::new(),
            conditions: None,
        }
    }

    /// The conditions that the commits have set for all tables without their own; `None` if none has.
    pub fn conditions(&self) -> Option<Conditions> {
        self.conditions
    }

    /// Sets the conditions of all tables without their own before any work is due under those that the commits have set.
    pub fn set_conditions(&mut self, conditions: &Conditions) {
        let committed = Committed::replayed(Moment::FIRST);
        self.catalog.defaults().set(&committed, conditions);
        self.conditions = Some(*conditions);
    }

    /// Applies a commit to the state that the commits before it produced.
    pub fn apply(&mut self, commit: &Commit) -> Result<(), ReplayError> {
        let committed = Committed::replayed(commit.time);
        commit.mutations.iter().try_for_each(|mutation| {
            self.mutate(&committed, mutation).map_err(|lacks| ReplayError {
                sequence: commit.sequence,
                lacks,
            })
        })
    }

    /// Ends the replay at `now`: completes the operations that no commit has completed, or lets them fail; gives each table the
    /// conditions that hold for it; and recounts capacity. If this changes the state, a sink that is attached later receives
    /// the change as its first commit.
    pub fn finish(self, now: Moment) {
        let catalog = self.catalog;
        if self.end(now) {
            catalog.log().owe(now, Mutation::EndInterrupted);
        }
    }

    /// Ends the replay at `now`, and returns whether [`Mutation::EndInterrupted`] has to follow its commits.
    pub(super) fn end(mut self, now: Moment) -> bool {
        let changed = self.end_interrupted(&Committed::replayed(now));
        for table in self.tables.values() {
            table.recount_capacity(now);
        }
        self.catalog.examine_all();
        changed
    }

    /// Ends the operations of a process that has ended, and returns whether that changes anything.
    fn end_interrupted(&mut self, committed: &Committed<'_>) -> bool {
        let now = committed.time;
        let mut changed = !self.unlisted.is_empty();
        for table in std::mem::take(&mut self.unlisted) {
            self.tables.remove(&table);
        }
        let groups = self.tables.values().filter_map(|table| table.replica_group());
        let mut groups: Vec<_> = groups.map(|group| (group.state().id, group)).collect();
        sort::sort_by_key(&mut groups, |(id, _)| *id);
        groups.dedup_by_key(|(id, _)| *id);
        for (_, group) in groups {
            changed |= group.end_interrupted(committed);
        }
        for table in self.tables.values() {
            changed |= self.apply_conditions(committed, table);
            let shape = table.shape();
            for job in shape.jobs.iter().filter(|job| job.is_filling()) {
                if let Some((index, earliest)) = job.creates() {
                    table.replay_end_backfill(committed, index, earliest.max(now));
                    changed = true;
                }
            }
        }
        for (_, region) in self.catalog.scopes() {
            changed |= region.transfers.end_interrupted(committed);
        }
        changed
    }

    /// Gives a table its conditions, and returns whether it had others. It has if a load, or a change of all tables'
    /// conditions, was interrupted.
    fn apply_conditions(&self, committed: &Committed<'_>, table: &Table) -> bool {
        let (conditions, shape) = (self.catalog.defaults().of(&table.scope, &table.name), table.shape());
        let changed = shape.conditions != conditions;
        if changed {
            let settings = TableSettings {
                conditions,
                ..shape.settings.clone()
            };
            table.replay_settings(committed, settings);
        }
        changed
    }

    fn table(&self, id: TableId) -> Result<&Arc<Table>, String> {
        self.tables.get(&id).ok_or_else(|| format!("table {id}"))
    }

    fn region(&self, scope: &Scope) -> Arc<Region> {
        self.catalog.region_or_new(scope)
    }

    fn mutate(&mut self, committed: &Committed<'_>, mutation: &Mutation) -> Result<(), String> {
        match mutation {
            Mutation::ChangeItem {
                table,
                key,
                item,
                cause,
                due,
            } => {
                let is_unlisted = self.unlisted.contains(table);
                let table = self.table(*table)?;
                table.change_item(committed, key.clone(), item.clone(), *cause, *due);
                if is_unlisted {
                    table.complete_indexes();
                }
            }
            Mutation::HoldItem {
                table,
                key,
                until,
                then,
            } => self.table(*table)?.hold_item(committed, key, *until, then.clone()),
            Mutation::ReleaseItem { table, key } => self.table(*table)?.release_item(committed, key),
            Mutation::CreateTable { identity, settings } => {
                let region = self.region(&identity.scope);
                let table = region.new_table(committed, identity.clone(), TableSettings::clone(settings));
                self.tables.insert(identity.ordinal, Arc::new(table));
                self.unlisted.push(identity.ordinal);
            }
            Mutation::ListTable { table } => self.list(committed, *table)?,
            Mutation::RemoveTable { table } => self.remove(committed, *table),
            Mutation::ChangeTable { table, settings } => {
                change_table(committed, self.table(*table)?, settings);
            }
            Mutation::EndBackfill { table, index, end } => {
                self.table(*table)?.replay_end_backfill(committed, index, *end);
            }
            Mutation::PauseIndex { table, index, paused } => {
                self.table(*table)?.shape().set_paused(committed, index, *paused);
            }
            Mutation::SplitShard { table, at } => {
                if let Some(stream) = &self.table(*table)?.shape().stream {
                    stream.split(committed, *at);
                }
            }
            Mutation::RotateShards { scope, stream } => {
                let found = self.region(scope).stream(stream, Moment::FIRST);
                found.ok_or_else(|| format!("stream {stream}"))?.rotate(committed);
            }
            Mutation::CreateBackup { scope, table, record } => {
                let region = self.region(scope);
                let table = self.table(*table)?;
                region.backups.replay_create(committed, table, (**record).clone());
            }
            Mutation::DeleteBackup { scope, arn } => self.region(scope).backups.replay_remove(committed, arn),
            Mutation::ClaimBackup { scope, arn, until } => {
                let found = self.region(scope).backups.find(arn);
                found
                    .ok_or_else(|| format!("backup {arn}"))?
                    .set_claim(committed, *until);
            }
            Mutation::StartTransfer {
                scope,
                record,
                table_id,
                progress,
            } => {
                let state = (table_id.clone(), (**progress).clone());
                let region = self.region(scope);
                region.transfers.replay_begin(committed, (**record).clone(), state);
            }
            Mutation::ChangeTransfer {
                scope,
                kind,
                arn,
                table_id,
                progress,
            } => {
                let found = self.region(scope).transfers.find(*kind, arn);
                let found = found.ok_or_else(|| format!("transfer {arn}"))?;
                found.set(committed, table_id.clone(), (**progress).clone());
            }
            Mutation::UseToken { token } => self.catalog.tokens().keep(committed, *token),
            Mutation::SetConditions { conditions } => {
                self.catalog.defaults().set(committed, conditions);
                self.conditions = Some(**conditions);
            }
            Mutation::SetTableConditions {
                scope,
                table,
                conditions,
            } => {
                let conditions = conditions.as_deref();
                self.catalog.defaults().set_table(committed, scope, table, conditions);
            }
            Mutation::RestoreItems { table, items } => self.table(*table)?.restore_items(committed, items),
            Mutation::RestoreDeletions { table, deletions } => self.table(*table)?.restore_late(committed, deletions),
            Mutation::RestoreIndex { table, index, state } => {
                self.table(*table)?.restore_index(committed, index, (**state).clone());
            }
            Mutation::RestoreEntries { table, index, state } => {
                self.table(*table)?.restore_entries(committed, index, (**state).clone());
            }
            Mutation::RestoreRecords {
                scope,
                stream,
                shard,
                records,
            } => {
                let found = self.region(scope).streams().get(stream);
                let found = found.filter(|found| found.restore_records(committed, shard, records));
                found.ok_or_else(|| format!("shard {shard} of stream {stream}"))?;
            }
            Mutation::RestoreRecovery {
                table,
                versions,
                dropped,
            } => {
                if let Some(logs) = &self.table(*table)?.shape().recovery_logs {
                    logs.restore(committed, versions.clone(), *dropped);
                }
            }
            Mutation::RestoreStream { scope, stream } => {
                self.region(scope).restore_stream(committed, (**stream).clone());
            }
            Mutation::ChangeReplicas { group } => self.change_replicas(committed, group),
            Mutation::ReplicateItem {
                table,
                key,
                item,
                version,
                due,
            } => {
                let table = self.table(*table)?;
                table.replay_arrival(committed, key, item.as_ref(), version, *due);
            }
            Mutation::PauseReplication { table, source, paused } => {
                self.table(*table)?.set_replication_paused(committed, source, *paused);
            }
            Mutation::TakeCensus { table, period, census } => {
                // The answer of a deletion describes a table that may be gone.
                if let Some(table) = self.tables.get(table) {
                    table.set_census(committed, *period, Arc::new(census.clone()));
                }
            }
            Mutation::ClaimItem { table, key, until } => {
                self.table(*table)?.restore_claim(committed, key, *until);
            }
            Mutation::RestoreVersions { table, versions } => {
                self.table(*table)?.restore_versions(committed, versions);
            }
            Mutation::RestoreInbox { table, place, state } => {
                self.table(*table)?.restore_inbox(committed, *place, (**state).clone());
            }
            Mutation::EndInterrupted => {
                self.end_interrupted(committed);
            }
            Mutation::Reset => {
                self.catalog.remove_all(committed);
                self.catalog.forget_due();
                self.tables.clear();
                self.unlisted.clear();
            }
        }
        Ok(())
    }

    fn change_replicas(&mut self, committed: &Committed<'_>, group: &GroupState) {
        let found = |replica: &Replica| self.tables.get(&replica.table).cloned();
        let tables: Vec<_> = group.replicas.iter().filter_map(found).collect();
        for table in &tables {
            let is_filled = |state: &GroupState| {
                let replica = state.replica(table.ordinal);
                replica.is_some_and(|replica| replica.active_at != Moment::NEVER)
            };
            let before = table.replica_group().map(|group| group.state());
            if before.is_some_and(|before| !is_filled(&before)) && is_filled(group) {
                table.complete_indexes();
            }
        }
        replica::apply(committed, group, &tables);
    }

    fn list(&mut self, committed: &Committed<'_>, id: TableId) -> Result<(), String> {
        let table = Arc::clone(self.table(id)?);
        self.unlisted.retain(|unlisted| *unlisted != id);
        let region = self.region(&table.scope);
        let mut tables = region.tables.write();
        if let Some(before) = tables.get(&table.name) {
            self.tables.remove(&before.ordinal);
        }
        tables.list(committed, &table);
        self.catalog.note_ordinal(id);
        Ok(())
    }

    /// Removes a table, which may have been replaced before.
    fn remove(&mut self, committed: &Committed<'_>, id: TableId) {
        let Some(table) = self.tables.remove(&id) else { return };
        self.unlisted.retain(|unlisted| *unlisted != id);
        let region = self.region(&table.scope);
        let mut tables = region.tables.write();
        if tables.get(&table.name).is_some_and(|listed| listed.ordinal == id) {
            tables.remove(committed, &table.name);
        }
    }
}

/// Changes a table's settings, and fills new indexes at once.
fn change_table(committed: &Committed<'_>, table: &Table, settings: &TableSettings) {
    let before = table.shape();
    table.replay_settings(committed, settings.clone());
    let is_new = |name: &&Name| !before.definition.has_index(name);
    for name in table.shape().index_names().filter(is_new) {
        table.backfill(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Origin;

    #[test]
    fn an_unknown_table_is_reported() {
        let catalog = Catalog::default();
        let mutations = vec![Mutation::ListTable { table: 7 }];
        let commit = Commit {
            time: Moment::START,
            origin: Origin::Request,
            sequence: 1,
            mutations,
        };
        let error = Replay::new(&catalog).apply(&commit).unwrap_err();
        assert_eq!(error.to_string(), "commit 1: there is no table 7");
    }
}
