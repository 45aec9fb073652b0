//! A table's stream: its changes, item by item, kept for a day in shards.
//!
//! The tokens of the partition keys are divided among lineages of shards, so the records of an item are in one line of
//! descent, in the order in which they happened. The number of lineages depends on the table's throughput, not on how
//! the table is stored. A stream outlives its table: after it is closed, it can be read for another day.

mod lineage;
mod record;
mod sequence;
mod state;
mod streams;

pub use lineage::{LineageState, Position, Shard, ShardPage, ShardReadError, ShardReader, ShardView};
pub use record::{Record, RecordKind};
pub use sequence::Sequence;
pub(super) use state::label_of;
pub use state::{StreamEnd, StreamState};
pub(super) use streams::Streams;

use super::commit::{Committed, Mutation, RegionLog};
use super::delay::Propagation;
use super::held::ByteBudget;
use super::scope::Scope;
use crate::chance;
use crate::change::Change;
use crate::clock::Moment;
use crate::schema::{KeySchema, StreamView};
use crate::sort;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::value::Name;
use lineage::{Lineage, RETENTION};
use sequence::Numbers;

/// The parameters of a new stream.
#[derive(Clone, Debug)]
pub struct StreamSettings<'a> {
    pub table: Name,
    pub table_arn: &'a str,
    pub key: KeySchema,
    /// The view of its records.
    pub view: StreamView,
    /// When the stream was requested. Its label is this moment, so no two streams of a table share it.
    pub created: Moment,
    /// From when on it is `ENABLED`.
    pub enabled_at: Moment,
    /// The seed of its random decisions.
    pub seed: u64,
    /// The first token of each shard, in order; the first one is 0.
    pub starts: Vec<u64>,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStatus {
    Enabling,
    Enabled,
    /// Its closing has been requested.
    Disabling,
    Disabled,
}

impl StreamStatus {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            StreamStatus::Enabling => "ENABLING",
            StreamStatus::Enabled => "ENABLED",
            StreamStatus::Disabling => "DISABLING",
            StreamStatus::Disabled => "DISABLED",
        }
    }
}

/// A stream of an existing or former table.
#[derive(Debug)]
pub struct Stream {
    pub arn: String,
    /// Its label: the moment of its creation.
    pub label: String,
    pub table: Name,
    pub key: KeySchema,
    /// The view of its records.
    pub view: StreamView,
    pub created: Moment,
    enabled_at: Moment,
    seed: u64,
    end: Mutex<Option<StreamEnd>>,
    numbers: Numbers,
    held: ByteBudget,
    /// The number of readers so far.
    readers: AtomicU64,
    scope: Scope,
    log: RegionLog,
    /// The first token of each lineage, in order.
    starts: Vec<u64>,
    /// Writers hold the lock of the item's partition; these are leaves below it.
    lineages: Vec<Mutex<Lineage>>,
}

impl Stream {
    /// A stream with an open shard for each of the ranges of tokens.
    pub fn new(settings: StreamSettings<'_>) -> Stream {
        let label = label_of(settings.created);
        let seed = chance::decide(settings.seed, "stream", label.as_bytes(), 0);
        let numbers = Numbers::new(seed);
        let ends = settings.starts.iter().skip(1).map(|start| start - 1);
        let ranges = settings.starts.iter().copied().zip(ends.chain([u64::MAX]));
        let lineages = ranges
            .map(|tokens| Mutex::new(Lineage::new(tokens, &numbers, settings.created)))
            .collect();
        Stream {
            arn: format!("{}/stream/{label}", settings.table_arn),
            label,
            table: settings.table,
            key: settings.key,
            view: settings.view,
            created: settings.created,
            enabled_at: settings.enabled_at,
            seed,
            end: Mutex::new(None),
            numbers,
            held: ByteBudget::new(),
            readers: AtomicU64::new(0),
            scope: Scope::default(),
            log: RegionLog::default(),
            starts: settings.starts,
            lineages,
        }
    }

    /// The stream for a checkpoint, without records that are expired by `now`.
    pub(super) fn save(&self, now: Moment) -> StreamState {
        self.trim(now);
        StreamState {
            arn: self.arn.clone(),
            label: self.label.clone(),
            table: self.table.clone(),
            key: self.key.clone(),
            view: self.view,
            created: self.created,
            enabled_at: self.enabled_at,
            seed: self.seed,
            end: *self.end.lock(),
            numbers: self.numbers.save(),
            starts: self.starts.clone(),
            lineages: self.lineages.iter().map(|lineage| lineage.lock().save()).collect(),
        }
    }

    /// Restores a stream from a checkpoint.
    pub(super) fn restored(_: &Committed<'_>, state: StreamState, scope: Scope, log: RegionLog) -> Stream {
        let lineages: Vec<Lineage> = state.lineages.into_iter().map(Lineage::restored).collect();
        let held = ByteBudget::new();
        held.replace(0, lineages.iter().map(Lineage::held).sum());
        Stream {
            arn: state.arn,
            label: state.label,
            table: state.table,
            key: state.key,
            view: state.view,
            created: state.created,
            enabled_at: state.enabled_at,
            seed: state.seed,
            end: Mutex::new(state.end),
            numbers: Numbers::restored(state.seed, state.numbers),
            held,
            readers: AtomicU64::new(0),
            scope,
            log,
            starts: state.starts,
            lineages: lineages.into_iter().map(Mutex::new).collect(),
        }
    }

    /// Adds records from a checkpoint to a shard; returns whether the stream has it.
    pub(super) fn restore_records(&self, _: &Committed<'_>, shard: &str, records: &[Record]) -> bool {
        let mut lineages = self.lineages.iter().map(Mutex::lock);
        let added = lineages.find_map(|mut lineage| lineage.restore(shard, records));
        self.held.replace(0, added.unwrap_or_default());
        added.is_some()
    }

    /// The stream with its owner and the log of its commits.
    #[must_use]
    pub(super) fn logged(self, scope: Scope, log: RegionLog) -> Stream {
        Stream { scope, log, ..self }
    }

    /// The position of the lineage that takes the records of a token.
    fn place_of(&self, token: u64) -> usize {
        self.starts.partition_point(|start| *start <= token).saturating_sub(1)
    }

    /// The tokens of the lineage at a position, the last one inclusive.
    pub fn tokens_of_place(&self, place: usize) -> (u64, u64) {
        let end = self.starts.get(place + 1).map_or(u64::MAX, |next| next - 1);
        (self.starts.get(place).copied().unwrap_or(0), end)
    }

    /// Adds the record of a change that is applied at `now`, unless it changes nothing. The oldest records are dropped
    /// while all take more than `limit` bytes. The caller holds the lock of the item's partition for writing.
    pub fn record(&self, change: &Change, propagation: &Propagation<'_>, limit: Option<u64>, now: Moment) {
        let Some(record) = Record::of(change, self.view, &self.key, now) else {
            return;
        };
        if limit.is_some_and(|limit| self.held.bytes().saturating_add(record.held()) > limit) {
            // Records that are too old take no room, whether or not they were trimmed before.
            self.trim(now);
        }
        while self.held.is_full(limit, record.held()) && self.drop_oldest() {}
        let lineage = &self.lineages[self.place_of(change.key.token)];
        self.locked(lineage, |lineage| {
            lineage.push(&change.key, record, propagation, &self.numbers, now);
        });
    }

    /// The kind of the record just added for a change, and when it can be read; `None` if there is none.
    pub fn record_of(&self, change: &Change, now: Moment) -> Option<(&'static str, Moment)> {
        let record = Record::of(change, self.view, &self.key, now)?;
        let lineage = self.lineages[self.place_of(change.key.token)].lock();
        Some((record.event.action(), lineage.newest(change.key.token)?.arrived))
    }

    /// Locks a lineage, and counts the bytes by which its records grow or shrink.
    fn locked<R>(&self, lineage: &Mutex<Lineage>, act: impl FnOnce(&mut Lineage) -> R) -> R {
        let mut lineage = lineage.lock();
        let before = lineage.held();
        let result = act(&mut lineage);
        self.held.replace(before, lineage.held());
        result
    }

    /// Drops the oldest record. Returns whether there was one.
    fn drop_oldest(&self) -> bool {
        let oldest = self
            .lineages
            .iter()
            .filter_map(|lineage| Some((lineage.lock().oldest()?, lineage)));
        let Some((_, lineage)) = oldest.min_by_key(|(sequence, _)| *sequence) else {
            return false;
        };
        self.locked(lineage, Lineage::drop_oldest);
        true
    }

    /// The bytes that its records take.
    pub fn held(&self) -> &ByteBudget {
        &self.held
    }

    /// Splits the open shard of the token `at`, as its partition is split: the parent is closed, and replaced by two
    /// children, the second of which begins at `at`. Returns whether there was anything to split: a shard that begins
    /// at `at` needs no split. The caller holds the lock of the token's partition for writing.
    pub fn split(&self, committed: &Committed<'_>, at: u64) -> bool {
        let lineage = &self.lineages[self.place_of(at)];
        self.locked(lineage, |lineage| lineage.split(at, &self.numbers, committed.time))
    }

    /// Replaces the shards whose life was over by `now`, if there are any. The caller holds no lock of a stream.
    pub(super) fn rotate_due(&self, now: Moment) {
        let mut lineages = self.lineages.iter();
        if lineages.any(|lineage| lineage.lock().is_over(now)) {
            let committed = self.log.begin_due(now, || {
                vec![Mutation::RotateShards {
                    scope: self.scope.clone(),
                    stream: self.arn.clone(),
                }]
            });
            self.rotate(&committed);
        }
    }

    /// Replaces the shards whose life is over.
    pub(super) fn rotate(&self, committed: &Committed<'_>) {
        for lineage in &self.lineages {
            self.locked(lineage, |lineage| lineage.rotate(&self.numbers, committed.time));
        }
    }

    /// The tokens that each open shard takes, the last one inclusive.
    pub fn open_tokens(&self, now: Moment) -> Vec<(u64, u64)> {
        self.rotate_due(now);
        let mut tokens = Vec::new();
        for lineage in &self.lineages {
            self.locked(lineage, |lineage| {
                lineage.trim(now);
                tokens.extend(lineage.open_tokens());
            });
        }
        tokens
    }

    /// Closes every shard. The caller holds the locks of all partitions for writing.
    pub fn close(&self, _: &Committed<'_>, end: StreamEnd) {
        *self.end.lock() = Some(end);
        for lineage in &self.lineages {
            self.locked(lineage, |lineage| lineage.close(&self.numbers, end.at));
        }
    }

    pub fn status(&self, now: Moment) -> StreamStatus {
        match *self.end.lock() {
            Some(end) if now < end.settled => StreamStatus::Disabling,
            Some(_) => StreamStatus::Disabled,
            None if now < self.enabled_at => StreamStatus::Enabling,
            None => StreamStatus::Enabled,
        }
    }

    /// Whether it was closed long enough ago that it can no longer be found.
    pub fn is_gone(&self, now: Moment) -> bool {
        self.end.lock().is_some_and(|end| end.at.plus(RETENTION) <= now)
    }

    /// Drops expired records and shards.
    pub fn trim(&self, now: Moment) {
        for lineage in &self.lineages {
            self.locked(lineage, |lineage| lineage.trim(now));
        }
    }

    /// When the next record or shard becomes too old to be read.
    pub fn next_trim(&self) -> Moment {
        let end = (*self.end.lock()).map(|end| end.at.plus(RETENTION));
        let oldest = self.lineages.iter().filter_map(|lineage| lineage.lock().next_trim());
        oldest.chain(end).min().unwrap_or(Moment::NEVER)
    }

    /// Its shards, parents before children.
    pub fn shards(&self, now: Moment) -> Vec<ShardView> {
        self.rotate_due(now);
        let mut shards = Vec::new();
        for lineage in &self.lineages {
            self.locked(lineage, |lineage| {
                lineage.trim(now);
                shards.extend(lineage.views());
            });
        }
        // Ids begin with a number that increases with every shard.
        sort::sort_by(&mut shards, |left, right| left.id.cmp(&right.id));
        shards
    }

    /// The position of the lineage that has this shard.
    pub fn place_of_shard(&self, shard: &str, now: Moment) -> Option<usize> {
        self.rotate_due(now);
        self.lineages.iter().position(|lineage| {
            self.locked(lineage, |lineage| {
                lineage.trim(now);
                lineage.has(shard)
            })
        })
    }

    /// The sequence number from which a reader continues that starts at `position` of a shard at this place.
    pub fn position(
        &self,
        place: usize,
        shard: &str,
        position: Position,
        now: Moment,
    ) -> Result<Sequence, ShardReadError> {
        self.rotate_due(now);
        let lineage = self.lineages.get(place).ok_or(ShardReadError::NoShard)?;
        self.locked(lineage, |lineage| {
            lineage.trim(now);
            lineage.position(shard, position, now)
        })
    }

    /// Reads a shard at this place from a sequence number on. The caller holds the locks of the partitions with the
    /// tokens of the place, if the table still exists: so the changes of a transaction are seen as a whole.
    pub fn read(
        &self,
        place: usize,
        shard: &str,
        from: Sequence,
        most: usize,
        reader: ShardReader,
        now: Moment,
    ) -> Result<ShardPage, ShardReadError> {
        self.rotate_due(now);
        let lineage = self.lineages.get(place).ok_or(ShardReadError::NoShard)?;
        self.locked(lineage, |lineage| {
            lineage.trim(now);
            lineage.read(shard, from, most, reader, now)
        })
    }

    /// The records that cannot be read yet, in the order in which they can be read.
    pub fn unreadable(&self, now: Moment) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        for lineage in &self.lineages {
            records.extend(lineage.lock().unreadable(now).cloned());
        }
        sort::sort_by_key(&mut records, |record| (record.arrived, record.sequence));
        records
    }

    /// The number of a new reader of one of its shards, from 1 on.
    pub fn new_reader(&self) -> u64 {
        self.readers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The id of a record's event: 32 hexadecimal digits.
    pub fn event_id(&self, record: &Record) -> String {
        let half = |which: u8| chance::decide(self.seed, "event", &[which], record.sequence.ordinal());
        format!("{:016x}{:016x}", half(0), half(1))
    }
}

#[cfg(test)]
mod tests;
