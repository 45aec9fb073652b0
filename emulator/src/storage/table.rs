//! A table: its shape, its partitions, its global indexes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::attached::Attached;
use super::capacity::TableCapacity;
use super::census::Censuses;
use super::delay::Propagation;
use super::history::Past;
use super::index::{GlobalIndex, VectorEntries};
use super::job::{Job, Recent, Work};
use super::partition::{Contents, Partition};
use super::range::{Page, Walk};
use super::recovery::{Recovery, RecoveryLogs};
use super::snapshot::{Restored, Snapshot};
use super::stream::Stream;
use crate::capacity::Ledger;
use crate::chance;
use crate::change::Change;
use crate::clock::Moment;
use crate::conditions::{Conditions, Lag, Shards, TimeToLive};
use crate::key::Key;
use crate::limits;
use crate::reclaim::Reclaimer;
use crate::schema::Definition;
use crate::sync::{AtomicU64, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::value::{AttributeValue, Item, Name};

/// Partitions of a new table: an on-demand one starts with 12,000 read and 4,000 write units a second, which is what four
/// partitions can serve.
pub const PARTITIONS: usize = 4;

/// Items that are scheduled while the lock of their partition is held: a fraction of a millisecond.
const SLICE: usize = 64;

/// The number of the partition, of so many, that a token belongs to.
pub(super) fn place_of(token: u64, partitions: usize) -> usize {
    // The ring is divided evenly: the high half of a product is at most `len - 1`.
    ((u128::from(token) * partitions as u128) >> 64) as usize
}

/// What may change about a table while it stands. A plan is made for one shape, and made again if the epoch has moved.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Raised by each change of the shape, under all partition locks.
    pub epoch: u64,
    /// Keys, indexes, billing.
    pub definition: Arc<Definition>,
    /// The global indexes' contents, in the definition's order.
    pub indexes: Vec<Arc<GlobalIndex>>,
    /// The vector indexes' contents, in the definition's order.
    pub vectors: Vec<Arc<VectorEntries>>,
    /// The stream that takes the records of changes, while there is one.
    pub stream: Option<Arc<Stream>>,
    /// The latest stream there was, open or closed.
    pub latest_stream: Option<Arc<Stream>>,
    /// The attribute that says when an item expires, while time to live is on.
    pub time_to_live: Option<Name>,
    /// When time to live was last changed.
    pub time_to_live_changed: Option<Moment>,
    /// How the table behaves.
    pub conditions: Conditions,
    /// How long writes take to reach those of its global indexes that differ from `conditions`.
    pub index_lags: BTreeMap<Name, Lag>,
    /// What the table's decisions are made of.
    pub seed: u64,
    /// From when on the table is `ACTIVE`.
    pub active_at: Moment,
    /// When the table is gone; `None` while nobody has deleted it.
    pub deleted_at: Option<Moment>,
    /// Changes on their way. Those that are done are dropped when the next one begins.
    pub jobs: Vec<Job>,
    /// When what may change only so often was changed last.
    pub recent: Recent,
    /// How far back the table can be laid, while point-in-time recovery is on.
    pub recovery: Option<Recovery>,
    /// What was in the table before, while point-in-time recovery is on.
    pub recovery_logs: Option<Arc<RecoveryLogs>>,
    /// What the table was restored from, if it was.
    pub restored: Option<Arc<Restored>>,
    /// What hangs on the table beside its items.
    pub attached: Arc<Attached>,
}

/// How far a table is in its life, as the interfaces beside the table's own know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has just been made, and they do not know of it (measured: the first 1 to 5 s).
    Unknown,
    /// It is being made.
    Creating,
    /// It stands.
    Standing,
    /// It is being removed.
    Deleting,
}

impl Shape {
    /// When an item expires, in seconds, whenever it may be deleted: what its time to live attribute says, if that is a
    /// number.
    fn expires(&self, item: &Item) -> Option<i64> {
        match item.get(self.time_to_live.as_ref()?) {
            Some(AttributeValue::N(number)) => number.to_i64_floor(),
            _ => None,
        }
    }

    /// Whether an item is expired at `now`, and not for more than five years.
    pub fn is_expired(&self, item: &Item, now: Moment) -> bool {
        self.expires(item)
            .is_some_and(|seconds| (now.seconds() - limits::TTL_OLDEST_SECONDS..=now.seconds()).contains(&seconds))
    }

    /// When time to live deletes an item; `None` if it never does.
    pub fn expiry(&self, key: &Key, item: &Item) -> Option<Moment> {
        let seconds = self.expires(item)?;
        let TimeToLive::Deletes(lag) = self.conditions.time_to_live else {
            return None;
        };
        let decision = chance::decide(self.seed, "time to live", &key.bytes, seconds as u64);
        Some(Moment::from_seconds(seconds).plus(lag.of(decision)))
    }

    /// The same for an item that is written, or looked at for the first time, at `now`: one that expired more than five
    /// years before is left alone.
    pub fn expiry_from(&self, key: &Key, item: &Item, now: Moment) -> Option<Moment> {
        if self.expires(item)? < now.seconds() - limits::TTL_OLDEST_SECONDS {
            return None;
        }
        self.expiry(key, item)
    }

    /// When a change is done that begins at `now` and takes so many times as long as a table takes to be made (measured:
    /// about 6 s); `what` names the change and `subject` what is changed.
    pub fn later(&self, now: Moment, what: &str, subject: &str, times: f64) -> Moment {
        let decision = chance::decide(self.seed, what, subject.as_bytes(), self.epoch);
        let status = self.conditions.table_status.of(decision).as_secs_f64();
        now.plus(Duration::try_from_secs_f64(status * times).unwrap_or(Duration::MAX))
    }

    /// Whether changes take time, and may come only so often.
    pub fn takes_time(&self) -> bool {
        self.conditions.table_status != Lag::None
    }

    /// Whether writes leave something to be done later, without being asked again.
    pub fn has_due_work(&self) -> bool {
        self.time_to_live.is_some() || self.conditions.transaction_time != Lag::None
    }

    /// How long a write takes to reach a global or vector index.
    pub fn propagation<'s>(&self, index: &'s Name) -> Propagation<'s> {
        let own = if self.index_lags.is_empty() {
            None
        } else {
            self.index_lags.get(index).copied()
        };
        Propagation {
            seed: self.seed,
            place: index,
            lag: own.unwrap_or(self.conditions.index_propagation),
        }
    }

    /// How long a change takes to show in the table's stream.
    pub fn stream_propagation(&self) -> Propagation<'static> {
        Propagation {
            seed: self.seed,
            place: "/stream",
            lag: self.conditions.stream_lag,
        }
    }

    /// Whether a stream or point-in-time recovery keeps changes of the table.
    pub fn keeps_past(&self) -> bool {
        self.stream.is_some() || self.recovery_logs.is_some()
    }

    /// How far back the table can be laid, while point-in-time recovery is on: changes that were dropped because there was no
    /// room for them cannot be undone.
    pub fn restorable(&self) -> Option<Recovery> {
        let dropped = self.recovery_logs.as_ref().map_or(Moment::FIRST, |logs| logs.dropped());
        self.recovery.map(|recovery| Recovery {
            since: recovery.since.max(dropped),
            ..recovery
        })
    }

    /// The changes on their way at `now`.
    pub fn running(&self, now: Moment) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(move |job| job.runs(now))
    }

    /// Whether an index is still being made, and cannot be read.
    pub fn is_creating(&self, index: &str, now: Moment) -> bool {
        self.running(now)
            .any(|job| matches!(&job.work, Work::CreateIndex { index: made, .. } if made == index))
    }

    /// Whether the service is still looking for room for an index.
    pub fn is_allocating(&self, index: &str, now: Moment) -> bool {
        self.running(now)
            .any(|job| matches!(&job.work, Work::CreateIndex { index: made, allocated, .. } if made == index && *allocated > now))
    }

    /// Whether the table is still being made of a backup or of another table's past.
    pub fn is_restoring(&self, now: Moment) -> bool {
        self.restored.is_some() && now < self.active_at && !self.is_deleting()
    }

    /// Whether the table is being created, changed or deleted.
    pub fn is_busy(&self, now: Moment) -> bool {
        let gone = self.deleted_at.is_some_and(|gone| gone <= now);
        let deleting = self.is_deleting();
        !gone && (deleting || now < self.active_at || self.running(now).next().is_some())
    }

    /// Whether the table is being deleted, or was. One whose restore fails goes without that.
    pub fn is_deleting(&self) -> bool {
        let fails = self.restored.as_ref().is_some_and(|restored| restored.fails);
        self.deleted_at.is_some() && !fails
    }

    /// Whether what hangs on the table still answers though it is being deleted, for so long.
    pub fn lingers(&self, now: Moment, long: Duration) -> bool {
        let begun = self.recent.deletion;
        begun.is_some_and(|begun| now < begun.plus(long)) && self.deleted_at.is_some_and(|gone| gone > now)
    }

    /// The first token of each shard of a stream that the table is given at `now`.
    pub fn shard_starts(&self, now: Moment) -> Vec<u64> {
        match self.conditions.stream_shards {
            Shards::Fixed(count) => {
                let count = u128::from(count.clamp(1, Shards::MOST));
                (0..count).map(|at| (at << 64).div_ceil(count) as u64).collect()
            }
            Shards::ByThroughput => {
                let ledger = Ledger::new(&self.definition, self.conditions.capacity, now);
                ledger.partition_starts()
            }
        }
    }

    /// Gives the table a stream.
    pub fn open_stream(&mut self, stream: Stream) -> Arc<Stream> {
        let stream = Arc::new(stream);
        self.latest_stream = Some(Arc::clone(&stream));
        self.stream = Some(Arc::clone(&stream));
        stream
    }

    /// Closes the table's stream, under all partition locks; `settled` is from when on it is `DISABLED`.
    pub fn close_stream(&mut self, now: Moment, settled: Moment) {
        if let Some(stream) = self.stream.take() {
            stream.close(now, settled);
        }
    }

    /// Whether the table can be read and written.
    pub fn is_active(&self, now: Moment) -> bool {
        now >= self.active_at && self.deleted_at.is_none()
    }
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: Name,
    /// Its ARN.
    pub arn: String,
    /// Its id, a UUID.
    pub id: String,
    /// Its place in the order of locks: no two tables of an engine share one.
    pub ordinal: u64,
    /// When it was created.
    pub created: Moment,
    shape: RwLock<Arc<Shape>>,
    partitions: Vec<Partition>,
    /// What it has to spend.
    pub capacity: TableCapacity,
    /// Whether requests that notice deletions that are due make only some of them.
    sliced: bool,
    /// Deletions that time to live has made.
    expired: AtomicU64,
    /// How much was in it when that was last counted.
    pub(super) censuses: Censuses,
}

impl Table {
    /// A new, empty table.
    pub fn new(
        name: Name,
        arn: String,
        id: String,
        ordinal: u64,
        created: Moment,
        shape: Shape,
        reclaimer: &Reclaimer,
    ) -> Table {
        let partitions = (0..PARTITIONS)
            .map(|_| Partition::new(&shape, reclaimer.clone()))
            .collect();
        Table {
            name,
            arn,
            id,
            ordinal,
            created,
            capacity: TableCapacity::new(&shape, created),
            shape: RwLock::new(Arc::new(shape)),
            partitions,
            sliced: false,
            expired: AtomicU64::new(0),
            censuses: Censuses::default(),
        }
    }

    /// The same with deletions that are made in slices, because time passes by itself and requests wait for them.
    #[must_use]
    pub fn sliced(self, sliced: bool) -> Table {
        Table { sliced, ..self }
    }

    /// Whether a request that notices many deletions that are due makes only some of them.
    pub fn is_sliced(&self) -> bool {
        self.sliced
    }

    /// The ARN of the table, or of its index of this name.
    pub fn resource_arn(&self, index: Option<&str>) -> String {
        match index {
            Some(index) => format!("{}/index/{index}", self.arn),
            None => self.arn.clone(),
        }
    }

    /// The shape as it is now.
    pub fn shape(&self) -> Arc<Shape> {
        Arc::clone(&self.shape.read())
    }

    /// How far it is in its life.
    pub fn stage(&self, shape: &Shape, now: Moment) -> Stage {
        let known = self.created.plus(shape.active_at.since(self.created) / 3);
        if shape.is_deleting() {
            Stage::Deleting
        } else if now >= shape.active_at {
            Stage::Standing
        } else if now >= known {
            Stage::Creating
        } else {
            Stage::Unknown
        }
    }

    /// The number of the partition that a token belongs to.
    pub fn partition_of(&self, token: u64) -> usize {
        place_of(token, self.partitions.len())
    }

    /// A partition.
    pub fn partition(&self, at: usize) -> &Partition {
        &self.partitions[at.min(self.partitions.len() - 1)]
    }

    /// All partitions in the order of their tokens, which is also the order of their locks.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Begins or ends to watch what the table's capacity is spent on.
    pub fn watch(&self, watches: bool, now: Moment) {
        self.capacity.set_watched(watches);
        let unchanged: Result<_, std::convert::Infallible> = self.reshape(now, |_| Ok(()));
        drop(unchanged);
    }

    /// The same for a table that nobody has seen yet. Its shape stays what it is.
    pub fn watch_from_birth(&self) {
        self.capacity.set_watched(true);
        self.capacity.adapt(&self.shape(), std::iter::empty(), self.created);
    }

    /// Changes the shape under all partition locks, and raises the epoch. `change` may refuse. An index that it adds gets
    /// every later write, and is filled by [`backfill`](Table::backfill).
    pub fn reshape<E>(&self, now: Moment, change: impl FnOnce(&mut Shape) -> Result<(), E>) -> Result<Arc<Shape>, E> {
        let mut contents: Vec<RwLockWriteGuard<'_, Contents>> = self.partitions.iter().map(Partition::write).collect();
        let mut current = self.shape.write();
        let mut shape = Shape::clone(&current);
        change(&mut shape)?;
        shape.epoch += 1;
        if shape.recovery.is_none() {
            shape.recovery_logs = None;
        } else if shape.recovery_logs.is_none() {
            let reclaimer = contents.first().map(|contents| contents.reclaimer().clone());
            let logs = RecoveryLogs::new(self.partitions.len(), reclaimer.unwrap_or_default());
            shape.recovery_logs = Some(Arc::new(logs));
        }
        let reschedule = shape.time_to_live != current.time_to_live
            || shape.conditions.time_to_live != current.conditions.time_to_live;
        for (guard, partition) in contents.iter_mut().zip(&self.partitions) {
            let contents = guard;
            contents.epoch = shape.epoch;
            contents.keep_history(&shape.conditions);
            if reschedule {
                contents.unschedule();
                partition.publish_due(contents);
            }
        }
        let items = contents.iter().flat_map(|contents| contents.items());
        self.capacity.adapt(&shape, items, now);
        let shape = Arc::new(shape);
        *current = Arc::clone(&shape);
        drop(current);
        drop(contents);
        if reschedule {
            self.schedule(now);
        }
        Ok(shape)
    }

    /// Lets the deletions of all items be due that time to live is to make, slice by slice. Writes do the same for theirs.
    fn schedule(&self, now: Moment) {
        for partition in &self.partitions {
            let mut from = Bound::Unbounded;
            loop {
                let mut contents = partition.write();
                // The lock of a partition keeps the shape as it is.
                let last = contents.schedule(&self.shape(), from.as_ref(), SLICE, now);
                partition.publish_due(&contents);
                let Some(last) = last else { break };
                from = Bound::Excluded(last);
            }
        }
    }

    /// Sets when the creation of an index ends that is being filled. What writes and plans go by stays as it is, and with it
    /// the epoch.
    pub fn end_backfill(&self, name: &Name, end: Moment) {
        let mut current = self.shape.write();
        let mut shape = Shape::clone(&current);
        for job in shape.jobs.iter_mut().filter(|job| job.is_filling()) {
            if job.index() == Some(name) {
                job.until = end;
            }
        }
        *current = Arc::new(shape);
    }

    /// Splits the shard of the table's stream that takes the records of the token `at`, which is the first one of the second
    /// half. Says whether that was done: the table may have no stream, or the shard its border there already.
    pub fn split_stream(&self, at: u64, now: Moment) -> bool {
        let partition = self.partition(self.partition_of(at));
        let locked = partition.write();
        let stream = self.shape().stream.clone();
        let split = stream.is_some_and(|stream| stream.split(at, now));
        drop(locked);
        split
    }

    /// When something is due in a partition or a global index next.
    pub fn next_due(&self) -> Moment {
        let partitions = self.partitions.iter().map(Partition::next_due);
        let shape = self.shape();
        let arrivals = shape.indexes.iter().filter_map(|index| index.next_due());
        let vectors = shape.vectors.iter().filter_map(|index| index.next_due());
        let gone = shape.deleted_at;
        partitions
            .chain(arrivals)
            .chain(vectors)
            .chain(gone)
            .min()
            .unwrap_or(Moment::NEVER)
    }

    /// Reads a page of the table or a local index, partition by partition, each under its own lock, which `look` takes by the
    /// partition's number, and says in which state of the past it is read, if not as it is.
    ///
    /// With `walk.fetch` the items that the entries of a local index stand for are read from the table in the same state, into
    /// [`Page::bases`].
    pub fn page<'t>(
        &'t self,
        local: Option<usize>,
        walk: &Walk<'_>,
        look: impl Fn(usize) -> (RwLockReadGuard<'t, Contents>, Option<u64>),
    ) -> Page {
        let mut page = Page::default();
        let Walk {
            range,
            forward,
            limit,
            fetch,
        } = *walk;
        if range.is_empty() {
            return page;
        }
        let (first, last) = range.tokens();
        let (first, last) = (self.partition_of(first), self.partition_of(last));
        let mut read = |at: usize| {
            let (contents, state) = look(at);
            if let (Some(state), Some(history)) = (state, contents.history()) {
                let past = Past::new(&contents, history, state);
                past.page(local, range, forward, limit, &mut page);
                fetch.inspect(|schema| past.fetch_bases(schema, &mut page));
            } else {
                contents.page(local, range, forward, limit, &mut page);
                fetch.inspect(|schema| contents.fetch_bases(schema, &mut page));
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

    /// The whole table at one moment: all partitions are locked, in order, before the first is looked at.
    pub fn snapshot(&self) -> Snapshot {
        let guards: Vec<_> = self.partitions.iter().map(Partition::read).collect();
        let shape = self.shape();
        let log = |place| shape.recovery_logs.as_ref().map(|logs| logs.of_partition(place));
        let parts = guards.iter().enumerate();
        let partitions = parts.map(|(place, contents)| contents.part(log(place))).collect();
        Snapshot { shape, partitions }
    }

    /// Puts items into a table that nobody else knows of yet, and into its indexes.
    pub fn fill(&self, items: impl IntoIterator<Item = (Key, Item)>, now: Moment) {
        let shape = self.shape();
        for (key, item) in items {
            if let Some(ledger) = self.capacity.lock().as_mut() {
                ledger.weigh(key.token, item.size());
            }
            let partition = self.partition(self.partition_of(key.token));
            let mut contents = partition.write();
            let old = contents.get(&key).cloned();
            let change = Change::new(&shape.definition, key, old, Some(item));
            partition.apply(&mut contents, &shape, &change, now);
        }
        for index in &shape.indexes {
            index.drain(Moment::NEVER);
        }
        for index in &shape.vectors {
            index.drain(Moment::NEVER);
        }
    }

    /// How many items there are, and their sizes together.
    pub fn count(&self) -> (usize, usize) {
        self.partitions.iter().fold((0, 0), |(count, bytes), partition| {
            let contents = partition.read();
            (count + contents.len(), bytes + contents.bytes())
        })
    }

    /// How many entries a local index has, and their sizes together.
    pub fn count_local(&self, local: usize) -> (usize, usize) {
        self.partitions.iter().fold((0, 0), |sum, partition| {
            let contents = partition.read();
            contents
                .local_entries(local)
                .fold(sum, |(count, bytes), (_, item)| (count + 1, bytes + item.size()))
        })
    }

    /// All items in the table's order.
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

    /// How many deletions time to live has made.
    pub fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Adds to the count of deletions that time to live has made.
    pub fn count_expired(&self, count: u64) {
        self.expired.fetch_add(count, Ordering::Relaxed);
    }
}
