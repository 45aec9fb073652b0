//! All tables, by account and region, then by name.

use std::ops::Deref;
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use super::agenda::Agenda;
use super::backup::Backups;
use super::commit::{AppendError, CommitLog, Committed, Mutation, Origin, RegionLog};
use super::defaults::Defaults;
use super::host::Host;
use super::identity::TableIdentity;
use super::replica::{self, GroupState};
use super::scope::Scope;
use super::settings::TableSettings;
use super::stream::{Stream, StreamState, Streams};
use super::table::Table;
use super::tokens::Tokens;
use super::transfers::{Transfer, TransferCounts, Transfers};
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::sort;
use crate::sorted::SortedMap;
use crate::sync::{AtomicU64, Hint, Mutex, MutexGuard, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::transfer::Failure;
use crate::value::Name;

/// The tables of a region by name, in the order of ListTables.
#[derive(Debug, Default)]
pub struct Tables {
    listed: RwLock<SortedMap<Name, Arc<Table>>>,
    /// Tables that have been created and not listed: while they are filled, only a checkpoint sees them. The lock encloses
    /// no other.
    unlisted: Mutex<Vec<Weak<Table>>>,
}

/// The tables of a region, locked for writing.
pub struct TablesGuard<'t> {
    listed: RwLockWriteGuard<'t, SortedMap<Name, Arc<Table>>>,
    unlisted: &'t Mutex<Vec<Weak<Table>>>,
}

impl Deref for TablesGuard<'_> {
    type Target = SortedMap<Name, Arc<Table>>;

    fn deref(&self) -> &SortedMap<Name, Arc<Table>> {
        &self.listed
    }
}

impl Tables {
    pub fn read(&self) -> RwLockReadGuard<'_, SortedMap<Name, Arc<Table>>> {
        self.listed.read()
    }

    pub fn write(&self) -> TablesGuard<'_> {
        TablesGuard {
            listed: self.listed.write(),
            unlisted: &self.unlisted,
        }
    }

    /// The tables that have been created and not listed.
    pub(super) fn unlisted(&self) -> Vec<Arc<Table>> {
        self.unlisted.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl TablesGuard<'_> {
    /// Lists a table under its name.
    pub fn insert(&mut self, table: &Arc<Table>, now: Moment) -> Result<(), AppendError> {
        let committed = table.log().begin(now, Origin::Request, || {
            vec![Mutation::ListTable { table: table.ordinal }]
        })?;
        self.list(&committed, table);
        Ok(())
    }

    /// Lists the table of an import, which has the outcome `failure` and `counts` from `end` on.
    pub fn insert_imported(
        &mut self,
        table: &Arc<Table>,
        import: &Transfer,
        times: (Moment, Moment),
        (failure, counts): (Option<Failure>, TransferCounts),
    ) -> Result<(), AppendError> {
        import.finish_with_table(times, failure, counts, (table.ordinal, &table.id), |committed| {
            self.list(committed, table);
        })
    }

    pub(super) fn list(&mut self, _: &Committed<'_>, table: &Arc<Table>) {
        table.register_streams();
        self.listed.insert(table.name.clone(), Arc::clone(table));
        // A table that was dropped is forgotten, too.
        let is_unlisted = |each: &Weak<Table>| each.upgrade().is_some_and(|each| !Arc::ptr_eq(&each, table));
        self.unlisted.lock().retain(is_unlisted);
    }

    /// Creates a table and lists it, as a replica of a group whose other tables are `others`.
    pub fn insert_replica(
        &mut self,
        region: &Region,
        (identity, settings): (TableIdentity, TableSettings),
        (group, others): (&GroupState, &[Arc<Table>]),
        now: Moment,
    ) -> Result<Arc<Table>, AppendError> {
        let committed = region.host.log.begin(now, Origin::Request, || {
            let table = identity.ordinal;
            let create = Mutation::CreateTable {
                identity: identity.clone(),
                settings: Box::new(settings.clone()),
            };
            vec![create, Mutation::ListTable { table }, replica::mutation(group)]
        })?;
        let table = Arc::new(region.new_table(&committed, identity, settings));
        self.list(&committed, &table);
        let tables: Vec<_> = others.iter().chain([&table]).cloned().collect();
        replica::apply(&committed, group, &tables);
        Ok(table)
    }

    /// Drops the table of a name.
    pub(super) fn remove(&mut self, _: &Committed<'_>, name: &str) -> Option<Arc<Table>> {
        self.listed.remove(name)
    }
}

/// The tables of an account in a region.
#[derive(Debug)]
pub struct Region {
    scope: Scope,
    host: Host,
    /// By name, in the order of ListTables.
    pub tables: Tables,
    /// Backups, including those of deleted tables. Their lock encloses none but a backup's own.
    pub backups: Backups,
    /// Exports, imports and bulk operations. Their lock encloses none but their own.
    pub transfers: Transfers,
    streams: Arc<Streams>,
    /// Whether the agenda knows that the region is used.
    touched: Hint,
}

impl Region {
    fn new(scope: Scope, host: Host) -> Region {
        let log = host.log.of_another();
        let host = Host { log, ..host };
        Region {
            backups: Backups::new(scope.clone(), host.log.clone()),
            transfers: Transfers::new(scope.clone(), host.log.clone()),
            scope,
            host,
            tables: Tables::default(),
            streams: Arc::default(),
            touched: Hint::new(false),
        }
    }

    /// The owner of these tables.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The log of its commits.
    fn log(&self) -> &RegionLog {
        &self.host.log
    }

    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Creates a stream from a checkpoint.
    pub(super) fn restore_stream(&self, committed: &Committed<'_>, state: StreamState) {
        let (scope, log) = (self.scope.clone(), self.host.log.clone());
        self.streams
            .add(&Arc::new(Stream::restored(committed, state, scope, log)));
    }

    /// Creates a table that no request sees before it is listed.
    pub fn create_table(
        &self,
        identity: TableIdentity,
        settings: TableSettings,
        now: Moment,
    ) -> Result<Arc<Table>, AppendError> {
        let committed = self.host.log.begin(now, Origin::Request, || {
            vec![Mutation::CreateTable {
                identity: identity.clone(),
                settings: Box::new(settings.clone()),
            }]
        })?;
        let table = Arc::new(self.new_table(&committed, identity, settings));
        self.tables.unlisted.lock().push(Arc::downgrade(&table));
        Ok(table)
    }

    pub(super) fn new_table(&self, _: &Committed<'_>, identity: TableIdentity, settings: TableSettings) -> Table {
        Table::new(identity, settings, self.host.clone(), Arc::clone(&self.streams))
    }

    /// The moment of the label of a new stream of a table.
    pub fn stream_label(&self, table_arn: &str, now: Moment) -> Moment {
        self.streams.new_label(table_arn, now)
    }

    /// Finds the stream of this ARN.
    pub fn stream(&self, arn: &str, now: Moment) -> Option<Arc<Stream>> {
        self.streams.find(arn, now)
    }

    /// The streams whose ARNs come after this one, in order.
    pub fn streams_after(&self, arn: Option<&str>, now: Moment) -> Vec<Arc<Stream>> {
        self.streams.after(arn, now)
    }

    /// Drops records, shards and streams that are too old to be read.
    pub fn trim_streams(&self, now: Moment) {
        self.streams.trim(now);
    }

    /// Removes a table whose deletion has completed.
    pub fn forget_deleted(&self, table: &str, now: Moment) {
        let mut tables = self.tables.write();
        // Under the lock, so that a new table of the same name is kept.
        if tables.get(table).is_some_and(|found| found.shape().is_gone(now)) {
            let committed = self.host.log.begin_due(now, || {
                let found = tables.get(table).map(|found| found.ordinal);
                found.map(|table| Mutation::RemoveTable { table }).into_iter().collect()
            });
            let gone = tables.remove(&committed, table);
            drop(committed);
            // Large values are not freed under the lock.
            drop(tables);
            drop(gone);
        }
    }

    /// When the next work is due in a table or a stream.
    pub fn next_due(&self) -> Moment {
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        let tables = tables.iter().map(|table| table.next_due());
        tables.fold(self.next_trim(), Moment::min)
    }

    /// When the next part of a stream becomes too old to be read.
    pub fn next_trim(&self) -> Moment {
        self.streams.next_trim()
    }
}

/// The tables of an engine. Its hasher has a fixed key: the engine has no entropy.
#[derive(Debug, Default)]
pub struct Catalog {
    regions: DashMap<Scope, Arc<Region>, FxBuildHasher>,
    agenda: Agenda,
    tables_made: AtomicU64,
    host: Host,
    tokens: Tokens,
    defaults: Defaults,
    /// Held by a request that changes replicas or their shared settings. No lock encloses it.
    replicas: Mutex<()>,
}

impl Catalog {
    /// An empty catalog with these conditions.
    pub fn new(conditions: &Conditions) -> Catalog {
        Catalog {
            defaults: Defaults::new(conditions),
            ..Catalog::default()
        }
    }

    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// Sets the conditions of all tables without their own. Listed tables are changed by the caller.
    pub fn set_conditions(&self, conditions: &Conditions, now: Moment) -> Result<(), AppendError> {
        let committed = self.log().begin(now, Origin::Request, || {
            vec![Mutation::SetConditions {
                conditions: Box::new(*conditions),
            }]
        })?;
        self.defaults.set(&committed, conditions);
        Ok(())
    }

    /// Sets or removes the conditions of one table. A listed table is changed by the caller.
    pub fn set_table_conditions(
        &self,
        scope: &Scope,
        table: &Name,
        conditions: Option<&Conditions>,
        now: Moment,
    ) -> Result<(), AppendError> {
        let committed = self.log().begin(now, Origin::Request, || {
            vec![Mutation::SetTableConditions {
                scope: scope.clone(),
                table: table.clone(),
                conditions: conditions.copied().map(Box::new),
            }]
        })?;
        self.defaults.set_table(&committed, scope, table, conditions);
        Ok(())
    }

    /// Serializes changes of replicas, and of settings that replicas share, until the result is dropped. The caller
    /// holds no other lock.
    pub fn change_replicas(&self) -> MutexGuard<'_, ()> {
        self.replicas.lock()
    }

    /// The state that the tables of the engine share.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The state that the tables of the engine share, to be set before the first table is created.
    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The log of all commits.
    pub fn log(&self) -> &CommitLog {
        self.host.log.all()
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The tables of a scope, if it ever had any.
    pub fn region(&self, scope: &Scope) -> Option<Arc<Region>> {
        let region = self.peek(scope)?;
        self.note(scope, &region);
        Some(region)
    }

    /// Makes the next [`examine`](Catalog::examine) include this scope.
    pub fn touch(&self, scope: &Scope) {
        drop(self.region(scope));
    }

    /// The tables of a scope, without marking it as used.
    fn peek(&self, scope: &Scope) -> Option<Arc<Region>> {
        // The map's guard is dropped before another lock is acquired.
        self.regions.get(scope).map(|region| Arc::clone(&region))
    }

    /// Records that a scope is used.
    fn note(&self, scope: &Scope, region: &Region) {
        // A load first: all requests of a scope share this flag.
        if !region.touched.load(Ordering::Relaxed) && !region.touched.swap(true, Ordering::AcqRel) {
            self.agenda.touch(scope);
        }
    }

    /// The tables of a scope, which is created if needed.
    pub fn region_or_new(&self, scope: &Scope) -> Arc<Region> {
        self.region(scope).unwrap_or_else(|| {
            let new = || Arc::new(Region::new(scope.clone(), self.host.clone()));
            let region = Arc::clone(&self.regions.entry(scope.clone()).or_insert_with(new));
            self.note(scope, &region);
            region
        })
    }

    /// Examines every scope that may have work due by `now`; `examine` runs it. Returns when more work is due.
    pub fn examine(&self, now: Moment, mut examine: impl FnMut(&Region)) -> Moment {
        for scope in self.host.wakes.take() {
            self.agenda.touch(&scope);
        }
        self.agenda.examine(
            now,
            || self.regions.iter().map(|entry| entry.key().clone()).collect(),
            |scope| {
                if let Some(region) = self.peek(scope) {
                    region.touched.store(false, Ordering::Release);
                }
            },
            |scope| {
                let region = self.peek(scope)?;
                examine(&region);
                Some(region.next_due())
            },
        )
    }

    /// Makes the next [`examine`](Catalog::examine) include all scopes: after a change that may affect any of them.
    pub fn examine_all(&self) {
        self.agenda.touch_all();
    }

    pub fn table(&self, scope: &Scope, name: &str) -> Option<Arc<Table>> {
        self.region(scope)?.tables.read().get(name).cloned()
    }

    /// The position of a new table in the order of locks.
    pub fn next_ordinal(&self) -> u64 {
        self.tables_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Every scope that has or had tables, in order.
    pub fn scopes(&self) -> Vec<(Scope, Arc<Region>)> {
        let mut scopes: Vec<_> = self
            .regions
            .iter()
            .map(|entry| (entry.key().clone(), Arc::clone(entry.value())))
            .collect();
        sort::sort_by(&mut scopes, |left, right| left.0.cmp(&right.0));
        scopes
    }

    pub fn all(&self) -> Vec<Arc<Table>> {
        self.scopes()
            .iter()
            .flat_map(|(_, region)| region.tables.read().values().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Whether these are all regions. A region that was removed and recreated differs.
    pub(super) fn consists_of(&self, scopes: &[(Scope, Arc<Region>)]) -> bool {
        self.regions.len() == scopes.len() && scopes.iter().all(|(_, region)| !region.log().is_removed())
    }

    /// An empty catalog, to be filled and then to [replace](Catalog::replace) this one.
    pub(super) fn staged(&self) -> Catalog {
        Catalog {
            host: self.host.clone(),
            ..Catalog::default()
        }
    }

    /// Replaces the whole state by another.
    pub(super) fn replace(&self, committed: &Committed<'_>, staged: Catalog) {
        self.remove_all(committed);
        self.defaults.replace(committed, staged.defaults);
        self.tokens.replace(committed, staged.tokens);
        self.note_ordinal(staged.tables_made.load(Ordering::Relaxed));
        for (scope, region) in staged.regions {
            // The agenda of this state does not know it.
            region.touched.store(false, Ordering::Release);
            if let Some(before) = self.regions.insert(scope, region) {
                before.log().end(committed);
            }
        }
    }

    /// Removes everything: tables, backups, transfers, tokens, and conditions of single tables.
    pub fn clear(&self, now: Moment) -> Result<(), AppendError> {
        let committed = self.log().begin(now, Origin::Request, || vec![Mutation::Reset])?;
        self.remove_all(&committed);
        drop(committed);
        self.forget_due();
        Ok(())
    }

    pub(super) fn remove_all(&self, committed: &Committed<'_>) {
        let mut gone = Vec::new();
        self.regions.retain(|_, region| {
            region.log().end(committed);
            gone.push(Arc::clone(region));
            false
        });
        // Large values are freed after the map's locks are released.
        drop(gone);
        self.tokens.clear();
        self.defaults.clear_tables(committed);
    }

    /// Makes the next pass examine all scopes, and forgets the known ones. The agenda is locked while due work is
    /// committed, so it must not be locked within a commit.
    pub(super) fn forget_due(&self) {
        self.agenda.clear();
        self.examine_all();
    }

    /// Ensures that later tables have higher numbers than this one.
    pub(super) fn note_ordinal(&self, ordinal: u64) {
        self.tables_made.fetch_max(ordinal, Ordering::Relaxed);
    }
}
