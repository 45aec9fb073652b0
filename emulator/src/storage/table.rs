//! A table: its settings, its partitions, its global indexes.

mod census;

use std::ops::{Bound, Deref};
use std::sync::Arc;

use super::capacity::TableCapacity;
use super::census::Censuses;
use super::commit::{AppendError, Committed, Mutation, Origin, RegionLog};
use super::due::PendingTransaction;
use super::earlier_state::EarlierState;
use super::history::ChangePosition;
use super::host::{ClockSteps, Host};
use super::identity::TableIdentity;
use super::index::{IndexEvents, IndexQueue, SavedIndex};
use super::page::{Page, Walk};
use super::partition::{Contents, Partition};
use super::partitioning::{PARTITIONS, place_of};
use super::replica::{self, GroupState, Membership};
use super::replication::ReplicationCounts;
use super::settings::{TableSettings, TableStage};
use super::shape::Shape;
use super::snapshot::Snapshot;
use super::stream::Streams;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::conditions::{Conditions, TimeToLive};
use crate::journal::{EventKind, TableEvents};
use crate::key::Key;
use crate::sync::{AtomicU64, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::value::{Item, Name};

/// The number of items that are scheduled under one lock of their partition: a fraction of a millisecond.
const SLICE: usize = 64;

/// A table whose settings are being changed: the locks of all its partitions, and of its shape.
struct LockedSettings<'t> {
    contents: Vec<RwLockWriteGuard<'t, Contents>>,
    shape: RwLockWriteGuard<'t, Arc<Shape>>,
}

#[derive(Debug)]
pub struct Table {
    identity: TableIdentity,
    host: Host,
    /// The streams of its region.
    streams: Arc<Streams>,
    shape: RwLock<Arc<Shape>>,
    partitions: Vec<Partition>,
    pub capacity: TableCapacity,
    pub(super) membership: Membership,
    /// The number of deletions by time to live.
    expired: AtomicU64,
    /// The recorder of its events.
    events: TableEvents,
    /// The counters of changes from other regions.
    pub replicated: ReplicationCounts,
    /// Its item counts at the last census.
    pub(super) censuses: Censuses,
}

impl Deref for Table {
    type Target = TableIdentity;

    fn deref(&self) -> &TableIdentity {
        &self.identity
    }
}

impl Table {
    pub(super) fn new(identity: TableIdentity, settings: TableSettings, host: Host, streams: Arc<Streams>) -> Table {
        let created = identity.created;
        let shape = Shape::new(&identity, settings, &host, &streams);
        let partitions = (0..PARTITIONS)
            .map(|_| Partition::new(&shape, host.reclaimer.clone(), host.sliced))
            .collect();
        let events = TableEvents::new(Arc::clone(&host.events), identity.scope.owner(), identity.name.clone());
        let shape = Arc::new(shape);
        let table = Table {
            identity,
            capacity: TableCapacity::new(&shape, created),
            shape: RwLock::new(Arc::clone(&shape)),
            partitions,
            streams,
            host,
            membership: Membership::default(),
            expired: AtomicU64::new(0),
            events,
            replicated: ReplicationCounts::default(),
            censuses: Censuses::default(),
        };
        table.connect(&shape);
        table
    }

    /// The state that the tables of the engine share.
    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// The log of its commits.
    pub fn log(&self) -> &RegionLog {
        &self.host.log
    }

    /// The recorder of its events.
    pub fn events(&self) -> &TableEvents {
        &self.events
    }

    /// Connects the indexes of a shape to the recorder of events.
    fn connect(&self, shape: &Shape) {
        let (events, definition) = (&self.events, &shape.definition);
        let of = |index: &Name, own| IndexEvents::new(events.clone(), index.clone(), definition.key.clone(), own);
        for (index, entries) in definition.globals.iter().zip(&shape.indexes) {
            let own = index.key.attributes().map(|attribute| attribute.name.clone());
            entries.connect(|| of(&index.name, own.collect()));
        }
        for (index, entries) in definition.vectors.iter().zip(&shape.vectors) {
            let own = index.hash().map(|attribute| attribute.name.clone());
            entries.connect(|| of(&index.name, own.into_iter().collect()));
        }
    }

    /// Whether a request runs only some of many due deletions.
    pub fn is_sliced(&self) -> bool {
        self.host.sliced
    }

    /// The steps of a settable clock whose due work is being applied.
    pub fn steps(&self) -> &ClockSteps {
        &self.host.steps
    }

    /// The ARN of the table, or of its index of this name.
    pub fn resource_arn(&self, index: Option<&str>) -> String {
        match index {
            Some(index) => format!("{}/index/{index}", self.arn),
            None => self.arn.clone(),
        }
    }

    /// Registers the table's streams in its region.
    pub(super) fn register_streams(&self) {
        if let Some(stream) = &self.shape().latest_stream {
            self.streams.add(stream);
        }
    }

    pub fn shape(&self) -> Arc<Shape> {
        Arc::clone(&self.shape.read())
    }

    pub fn stage(&self, shape: &TableSettings, now: Moment) -> TableStage {
        let known = self.created.plus(shape.active_at.since(self.created) / 3);
        if shape.is_deleting() {
            TableStage::Deleting
        } else if now >= shape.active_at {
            TableStage::Active
        } else if now >= known && !self.is_replica() {
            TableStage::Creating
        } else {
            TableStage::Unknown
        }
    }

    /// The number of the partition that a token belongs to.
    pub fn partition_of(&self, token: u64) -> usize {
        place_of(token, self.partitions.len())
    }

    pub fn partition(&self, at: usize) -> &Partition {
        &self.partitions[at.min(self.partitions.len() - 1)]
    }

    /// All partitions in the order of their tokens, which is also the order of their locks.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Starts or stops recording how the table's capacity is used.
    pub fn watch(&self, watches: bool, now: Moment) {
        self.capacity.set_watched(watches);
        let unchanged: Result<_, AppendError> = self.reshape(now, |_| Ok(()));
        drop(unchanged);
    }

    /// Starts recording how the capacity of a table is used that is not listed yet. Its shape is unchanged.
    pub fn watch_from_creation(&self) {
        self.capacity.set_watched(true);
        self.capacity.adapt(&self.shape(), std::iter::empty(), self.created);
    }

    /// Changes the settings under all partition locks, and increments the epoch. `change` may fail. An index that it
    /// adds receives every later write, and is filled by [`backfill`](Table::backfill).
    pub fn reshape<E: From<AppendError>>(
        &self,
        now: Moment,
        change: impl FnOnce(&mut TableSettings) -> Result<(), E>,
    ) -> Result<Arc<Shape>, E> {
        let locked = self.lock_settings();
        let mut settings = locked.shape.settings.clone();
        change(&mut settings)?;
        Ok(self.commit_settings(locked, settings, None, now)?)
    }

    /// Replaces the conditions. They follow from an earlier commit, so they are applied even if the sink rejects this one: the
    /// end of a replay gives each table the conditions that hold for it.
    pub fn set_conditions(&self, conditions: &Conditions, now: Moment) {
        let locked = self.lock_settings();
        let mut settings = locked.shape.settings.clone();
        settings.conditions = *conditions;
        settings.epoch += 1;
        let committed = self.host.log.begin_due(now, || {
            let settings = Box::new(settings.clone());
            let table = self.ordinal;
            vec![Mutation::ChangeTable { table, settings }]
        });
        self.apply_settings(locked, committed, settings, now);
    }

    /// Changes the settings together with the state of the table's replica group, in one commit.
    pub fn reshape_replica<E: From<AppendError>>(
        &self,
        now: Moment,
        group: &GroupState,
        tables: &[Arc<Table>],
        change: impl FnOnce(&mut TableSettings) -> Result<(), E>,
    ) -> Result<Arc<Shape>, E> {
        let locked = self.lock_settings();
        let mut settings = locked.shape.settings.clone();
        change(&mut settings)?;
        Ok(self.commit_settings(locked, settings, Some((group, tables)), now)?)
    }

    fn lock_settings(&self) -> LockedSettings<'_> {
        LockedSettings {
            contents: self.partitions.iter().map(Partition::write).collect(),
            shape: self.shape.write(),
        }
    }

    /// Commits settings, and the state of a replica group with its tables, and applies both.
    fn commit_settings(
        &self,
        locked: LockedSettings<'_>,
        mut settings: TableSettings,
        group: Option<(&GroupState, &[Arc<Table>])>,
        now: Moment,
    ) -> Result<Arc<Shape>, AppendError> {
        settings.epoch += 1;
        let committed = self.host.log.begin(now, Origin::Request, || {
            let settings = Box::new(settings.clone());
            let table = self.ordinal;
            let mut mutations = vec![Mutation::ChangeTable { table, settings }];
            mutations.extend(group.map(|(group, _)| replica::mutation(group)));
            mutations
        })?;
        if let Some((group, tables)) = group {
            replica::apply(&committed, group, tables);
        }
        Ok(self.apply_settings(locked, committed, settings, now))
    }

    /// Replaces the settings by committed ones.
    fn apply_settings(
        &self,
        locked: LockedSettings<'_>,
        committed: Committed<'_>,
        settings: TableSettings,
        now: Moment,
    ) -> Arc<Shape> {
        let LockedSettings {
            mut contents,
            shape: mut current,
        } = locked;
        let begins =
            settings.time_to_live != current.time_to_live || current.conditions.time_to_live == TimeToLive::Off;
        let reschedule = settings.time_to_live != current.time_to_live
            || settings.conditions.time_to_live != current.conditions.time_to_live;
        for (guard, partition) in contents.iter_mut().zip(&self.partitions) {
            let contents = guard;
            contents.epoch = settings.epoch;
            contents.keep_history(&settings.conditions, self.host.sliced);
            if reschedule {
                contents.unschedule(now);
                partition.publish_due(contents);
            }
        }
        let shape = Arc::new(current.with(&committed, (self, &self.host), settings));
        if let Some(stream) = &shape.stream {
            self.streams.add(stream);
        }
        let items = contents.iter().flat_map(|contents| contents.items());
        self.capacity.adapt(&shape, items, now);
        self.connect(&shape);
        *current = Arc::clone(&shape);
        drop(committed);
        drop(current);
        drop(contents);
        if reschedule {
            self.schedule(begins, now);
        }
        shape
    }

    /// Schedules the deletions of all items by time to live, slice by slice: see [`Contents::schedule`]. Writes schedule those of
    /// their items.
    fn schedule(&self, begins: bool, now: Moment) {
        for partition in &self.partitions {
            let mut from = Bound::Unbounded;
            loop {
                let mut contents = partition.write();
                // The lock of a partition keeps the settings unchanged.
                let last = contents.schedule(&self.shape(), from.as_ref(), SLICE, begins, now);
                partition.publish_due(&contents);
                let Some(last) = last else { break };
                from = Bound::Excluded(last);
            }
        }
    }

    /// Sets when the creation of an index that is being filled ends. The epoch does not change, since writes and plans
    /// do not depend on it.
    pub fn end_backfill(&self, name: &Name, end: Moment, now: Moment) -> Result<(), AppendError> {
        let mut current = self.shape.write();
        let committed = self.host.log.begin(now, Origin::Request, || {
            vec![Mutation::EndBackfill {
                table: self.ordinal,
                index: name.clone(),
                end,
            }]
        })?;
        set_end(&committed, &mut current, name, end);
        Ok(())
    }
    pub(super) fn replay_end_backfill(&self, committed: &Committed<'_>, name: &Name, end: Moment) {
        set_end(committed, &mut self.shape.write(), name, end);
    }

    /// Splits the shard of the table's stream with the token `at`, which is the first one of the second half. Returns
    /// whether there was anything to split: the table may have no stream, or a shard that begins at `at`.
    pub fn split_stream(&self, at: u64, now: Moment) -> Result<bool, AppendError> {
        let partition = self.partition(self.partition_of(at));
        let locked = partition.write();
        let Some(stream) = self.shape().stream.clone() else {
            return Ok(false);
        };
        let committed = self.host.log.begin(now, Origin::Request, || {
            vec![Mutation::SplitShard {
                table: self.ordinal,
                at,
            }]
        })?;
        let split = stream.split(&committed, at);
        drop(committed);
        drop(locked);
        if split && self.events.has_subscribers() {
            self.events.record(now, EventKind::ShardSplit(at));
        }
        Ok(split)
    }

    /// Pauses or resumes a global index.
    pub fn pause_index(&self, name: &Name, paused: bool, now: Moment) -> Result<(), AppendError> {
        let shape = self.shape();
        let committed = self.host.log.begin(now, Origin::Request, || {
            vec![Mutation::PauseIndex {
                table: self.ordinal,
                index: name.clone(),
                paused,
            }]
        })?;
        shape.set_paused(&committed, name, paused);
        Ok(())
    }

    /// Locks an item for a transaction.
    pub(super) fn hold_item(&self, committed: &Committed<'_>, key: &Key, until: Moment, then: PendingTransaction) {
        let partition = self.partition(self.partition_of(key.token));
        partition.hold(committed, &mut partition.write(), key, until, then);
    }

    /// Ends a transaction's lock on an item.
    pub(super) fn release_item(&self, committed: &Committed<'_>, key: &Key) {
        let partition = self.partition(self.partition_of(key.token));
        let mut contents = partition.write();
        contents.release(committed, key);
        partition.publish_due(&contents);
    }

    /// Replays a change of the settings.
    pub(super) fn replay_settings(&self, committed: &Committed<'_>, settings: TableSettings) {
        let now = committed.time;
        self.apply_settings(self.lock_settings(), Committed::replayed(now), settings, now);
    }

    /// Inserts items from a checkpoint.
    pub(super) fn restore_items(&self, committed: &Committed<'_>, items: &[(Key, Item)]) {
        let shape = self.shape();
        for (key, item) in items {
            let partition = self.partition(self.partition_of(key.token));
            let mut contents = partition.write();
            contents.restore(committed, &shape, key.clone(), item.clone());
            partition.publish_due(&contents);
        }
    }

    /// Sets the due moments of deletions from a checkpoint.
    pub(super) fn restore_late(&self, committed: &Committed<'_>, deletions: &[(Key, Moment)]) {
        let shape = self.shape();
        for (key, due) in deletions {
            let partition = self.partition(self.partition_of(key.token));
            let mut contents = partition.write();
            contents.restore_late(committed, &shape, key, *due);
            partition.publish_due(&contents);
        }
    }

    /// Adds entries and changes from a checkpoint to a global or vector index.
    pub(super) fn restore_entries(&self, committed: &Committed<'_>, name: &Name, state: SavedIndex) {
        let shape = self.shape();
        match state {
            SavedIndex::Global(state) => {
                if let Some(index) = shape.global(name) {
                    index.restore_more(committed, state);
                }
            }
            SavedIndex::Vector(state) => {
                if let Some(index) = shape.vector(name) {
                    index.restore_more(committed, state);
                }
            }
        }
    }

    /// Restores a global index from a checkpoint.
    pub(super) fn restore_index(&self, committed: &Committed<'_>, name: &Name, state: SavedIndex) {
        let shape = self.shape();
        let derived = match state {
            SavedIndex::Global(state) => {
                let Some(index) = shape.global(name) else { return };
                let derived = state.entries.is_none();
                index.restore(committed, state);
                derived
            }
            SavedIndex::Vector(state) => {
                let Some(index) = shape.vector(name) else { return };
                let derived = state.entries.is_none();
                index.restore(committed, state);
                derived
            }
        };
        if derived {
            self.backfill(name);
        }
    }

    /// Recounts capacity, as if all of it were unspent.
    pub(super) fn recount_capacity(&self, now: Moment) {
        let contents: Vec<_> = self.partitions.iter().map(Partition::write).collect();
        let items = contents.iter().flat_map(|contents| contents.items());
        *self.capacity.lock() = None;
        self.capacity.adapt(&self.shape(), items, now);
    }

    /// When the next work is due in a partition or a global index.
    pub fn next_due(&self) -> Moment {
        let partitions = self.partitions.iter().map(Partition::next_due);
        let shape = self.shape();
        let arrivals = shape.queues().filter_map(IndexQueue::next_due);
        let gone = shape.deleted_at;
        partitions.chain(arrivals).chain(gone).min().unwrap_or(Moment::NEVER)
    }

    /// Reads a page of the table or a local index, partition by partition, each under its own lock, which `look`
    /// acquires for the partition's number, and for which it returns the earlier state to read, if any.
    ///
    /// With `walk.fetch` the table's items of a local index's entries are read in the same state, into [`Page::bases`].
    pub fn page<'t>(
        &'t self,
        local: Option<usize>,
        walk: &Walk<'_>,
        look: impl Fn(usize) -> (RwLockReadGuard<'t, Contents>, Option<ChangePosition>),
    ) -> Page {
        let mut page = Page::new(walk);
        let Walk {
            range,
            forward,
            limit,
            fetch,
            encodes: _,
        } = *walk;
        if range.is_empty() {
            return page;
        }
        let (first, last) = (range.tokens().0, range.last_token());
        let (first, last) = (self.partition_of(first), self.partition_of(last));
        let mut read = |at: usize| {
            let (contents, state) = look(at);
            if let (Some(state), Some(history)) = (state, contents.history()) {
                let past = EarlierState::new(&contents, history, state);
                past.page(local, range, forward, limit, &mut page);
                fetch.inspect(|schema| past.fetch_bases(schema, limit.bytes, &mut page));
            } else {
                contents.page(local, range, forward, limit, &mut page);
                fetch.inspect(|schema| contents.fetch_bases(schema, limit.bytes, &mut page));
            }
            page.cut
        };
        if forward {
            (first..=last).any(&mut read);
        } else {
            (first..=last).rev().any(&mut read);
        }
        page
    }

    /// The whole table at one moment: all partitions are locked, in order, before the first is read.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_of(&self.read_all())
    }

    /// Locks the shape, so that no backfill ends.
    pub(super) fn lock_shape(&self) -> RwLockReadGuard<'_, Arc<Shape>> {
        self.shape.read()
    }

    /// Locks all partitions for reading, in order: no commit changes the table until the locks are released.
    pub(super) fn read_all(&self) -> Vec<RwLockReadGuard<'_, Contents>> {
        self.partitions.iter().map(Partition::read).collect()
    }

    /// A snapshot of the whole table, whose partitions are locked.
    pub(super) fn snapshot_of(&self, guards: &[RwLockReadGuard<'_, Contents>]) -> Snapshot {
        let shape = self.shape();
        let log = |place| shape.recovery_logs.as_ref().map(|logs| logs.of_partition(place));
        let parts = guards.iter().enumerate();
        let partitions = parts.map(|(place, contents)| contents.part(log(place))).collect();
        Snapshot { shape, partitions }
    }

    /// Inserts items into a table that is not listed yet, and into its indexes.
    pub fn fill(&self, items: impl IntoIterator<Item = (Key, Item)>, now: Moment) -> Result<(), AppendError> {
        let mut items = items.into_iter();
        loop {
            let slice: Vec<(Key, Item)> = items.by_ref().take(SLICE).collect();
            if slice.is_empty() {
                break;
            }
            // Before the log: no request knows the table yet, but a checkpoint does.
            let mut locked: Vec<_> = self.partitions.iter().map(Partition::write).collect();
            let shape = self.shape();
            let committed = self.host.log.begin(now, Origin::Request, || {
                let put = |(key, item): &(Key, Item)| Mutation::ChangeItem {
                    table: self.ordinal,
                    key: key.clone(),
                    item: Some(item.clone()),
                    cause: Cause::Request,
                    due: None,
                };
                slice.iter().map(put).collect()
            })?;
            for (key, item) in slice {
                if let Some(ledger) = self.capacity.lock().as_mut() {
                    ledger.weigh(key.token, item.size());
                }
                let place = self.partition_of(key.token);
                if let Some(contents) = locked.get_mut(place) {
                    let old = contents.get(&key).cloned();
                    let change = Change::new(&shape.definition, key, old, Some(item));
                    self.apply(&committed, self.partition(place), contents, &shape, &change);
                }
            }
            drop(committed);
            self.complete_indexes();
        }
        Ok(())
    }

    /// Applies all queued changes of the indexes of a table that is filled as a whole, without their delays.
    pub(super) fn complete_indexes(&self) {
        self.shape().queues().for_each(|queue| queue.drain(Moment::NEVER));
    }

    /// Applies a change, as [`Partition::apply`] does, and replicates it.
    #[inline]
    pub fn apply(
        &self,
        committed: &Committed<'_>,
        partition: &Partition,
        contents: &mut Contents,
        shape: &Shape,
        change: &Change,
    ) {
        partition.apply(committed, contents, shape, change);
        if self.is_replica() {
            self.replicate(committed, partition, contents, shape, change);
        }
    }

    /// Puts or removes an item without a request: without conditions, and without spending capacity.
    pub(super) fn change_item(
        &self,
        committed: &Committed<'_>,
        key: Key,
        new: Option<Item>,
        cause: Cause,
        due: Option<Moment>,
    ) {
        let partition = self.partition(self.partition_of(key.token));
        let mut contents = partition.write();
        // The partition's lock keeps the settings unchanged.
        let shape = self.shape();
        let old = contents.get(&key).cloned();
        if old.is_none() && new.is_none() {
            return;
        }
        let mut change = Change::new(&shape.definition, key, old, new);
        change.cause = cause;
        change.due = due;
        self.apply(committed, partition, &mut contents, &shape, &change);
        drop(contents);
        if cause == Cause::TimeToLive {
            self.count_expired(1);
        }
        shape
            .queues_of(&change)
            .for_each(|queue| queue.drain_if_full(committed.time));
    }

    /// All items, in the table's order.
    pub fn items(&self) -> Vec<Item> {
        self.partitions
            .iter()
            .flat_map(|partition| {
                partition
                    .read()
                    .items()
                    .map(|(_, item)| item.clone())
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The number of deletions by time to live.
    pub fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Adds to the number of deletions by time to live.
    pub fn count_expired(&self, count: u64) {
        self.expired.fetch_add(count, Ordering::Relaxed);
    }
}

/// Sets when the creation of an index ends, in a shape of the same epoch.
fn set_end(_: &Committed<'_>, current: &mut Arc<Shape>, name: &Name, end: Moment) {
    let mut shape = Shape::clone(current);
    for job in shape.settings.jobs.iter_mut().filter(|job| job.is_filling()) {
        if job.index() == Some(name) {
            job.until = end;
        }
    }
    *current = Arc::new(shape);
}
