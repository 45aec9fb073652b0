//! The shards of a range of tokens: one after the other, and side by side after a split.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::super::delay::{Delays, Propagation};
use super::record::Record;
use super::sequence::{Numbers, Sequence};
use crate::clock::Moment;
use crate::key::Key;
use crate::limits;

/// The time for which a shard takes records before another one continues it.
const LIFE: Duration = Duration::from_secs(limits::SHARD_LIFE_SECONDS);

/// The time for which a record, or a closed stream, can be read.
pub(super) const RETENTION: Duration = Duration::from_secs(limits::STREAM_RETENTION_SECONDS);

/// A shard, as DescribeStream shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardView {
    pub id: String,
    pub parent: Option<String>,
    pub start: Sequence,
    /// Its last sequence number, once it is closed.
    pub end: Option<Sequence>,
}

/// A position in a shard where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    TrimHorizon,
    Latest,
    At(Sequence),
    After(Sequence),
    /// At the first record of this moment or later.
    AtTime(Moment),
}

/// A reader of a shard, and how many may read at the same time.
///
/// A reader is a consumer that follows `NextShardIterator` from one GetShardIterator. It counts for a second after each
/// GetRecords except the first. A poll with a new iterator therefore counts as a reader for a second if it reads more than one
/// page, and not at all if it reads one.
#[derive(Clone, Copy, Debug)]
pub struct ShardReader {
    /// The reader's number; 0 for the first GetRecords of an iterator.
    pub number: u64,
    /// The maximum number of concurrent readers.
    pub most: u32,
}

/// The time for which a reader counts as active after a read: consumers poll at least once a second.
const READS: Duration = Duration::from_secs(1);

/// The result of reading a shard.
#[derive(Clone, Debug)]
pub struct ShardPage {
    pub records: Vec<Record>,
    /// Whether it has reached its limit of records or bytes.
    pub is_full: bool,
    /// The position of the next read; `None` at the end of a closed shard.
    pub next: Option<Sequence>,
}

/// Why a shard cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardReadError {
    /// The shard does not exist.
    NoShard,
    /// The sequence number is outside the shard.
    NotOfShard,
    /// The record was dropped: it was too old, or the stream had no room for it.
    Trimmed,
    /// The maximum number of readers are reading it.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub(in crate::storage) id: String,
    pub(in crate::storage) parent: Option<String>,
    /// The tokens whose records it takes, the last one inclusive.
    pub(in crate::storage) tokens: (u64, u64),
    pub(in crate::storage) start: Sequence,
    pub(in crate::storage) opened: Moment,
    pub(in crate::storage) end: Option<(Sequence, Moment)>,
    pub(in crate::storage) records: VecDeque<Record>,
    /// The last record that was dropped.
    pub(in crate::storage) trimmed: Option<Sequence>,
    /// The numbers of its readers, and when they last read. They are not part of a checkpoint.
    pub(in crate::storage) readers: Vec<(u64, Moment)>,
}

/// A lineage in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageState {
    /// Its shards, parents before children.
    pub(in crate::storage) shards: Vec<Shard>,
    /// The number of delays of each item, by its hash.
    pub(in crate::storage) delays: BTreeMap<u64, u64>,
}

impl Shard {
    fn open(tokens: (u64, u64), parent: Option<&Shard>, numbers: &Numbers, now: Moment) -> Shard {
        Shard {
            id: numbers.shard_id(now),
            parent: parent.map(|parent| parent.id.clone()),
            tokens,
            start: numbers.sequence(),
            opened: now,
            end: None,
            records: VecDeque::new(),
            trimmed: None,
            readers: Vec::new(),
        }
    }

    /// Admits a reader, unless the maximum number of others read at the moment.
    fn admit(&mut self, reader: ShardReader, now: Moment) -> Result<(), ShardReadError> {
        if reader.number == 0 {
            return Ok(());
        }
        self.readers.retain(|(_, read)| read.plus(READS) > now);
        if let Some((_, read)) = self.readers.iter_mut().find(|(number, _)| *number == reader.number) {
            *read = now;
            return Ok(());
        }
        if self.readers.len() as u64 >= u64::from(reader.most) {
            return Err(ShardReadError::Busy);
        }
        self.readers.push((reader.number, now));
        Ok(())
    }

    fn close(&mut self, numbers: &Numbers, now: Moment) {
        if self.end.is_none() {
            self.end = Some((numbers.sequence(), now));
        }
    }

    /// Whether it is open although its life was over by `now`.
    fn is_over(&self, now: Moment) -> bool {
        self.end.is_none() && self.opened.plus(LIFE) <= now
    }

    fn takes(&self, token: u64) -> bool {
        self.end.is_none() && (self.tokens.0..=self.tokens.1).contains(&token)
    }

    /// Drops records that are too old, and returns the bytes that they took.
    fn trim(&mut self, now: Moment) -> u64 {
        let mut freed = 0;
        while let Some(record) = self
            .records
            .pop_front_if(|record| record.arrived.plus(RETENTION) <= now)
        {
            self.trimmed = Some(record.sequence);
            freed += record.held();
        }
        if self.records.is_empty() && self.trimmed.is_some() {
            self.records = VecDeque::new();
        }
        freed
    }

    /// The bytes that its records take.
    fn held(&self) -> u64 {
        self.records.iter().map(Record::held).sum()
    }

    fn is_gone(&self, now: Moment) -> bool {
        self.end.is_some_and(|(_, closed)| closed.plus(RETENTION) <= now)
    }

    /// The number after its last record.
    fn after_last(&self) -> Sequence {
        let last = self.records.back().map(|record| record.sequence).or(self.trimmed);
        last.map_or(self.start, Sequence::next)
    }

    /// The number of its records that can be read by `now`.
    fn readable(&self, now: Moment) -> usize {
        self.records.partition_point(|record| record.arrived <= now)
    }

    /// The sequence number after the last record that can be read by `now`.
    fn after_last_readable(&self, now: Moment) -> Sequence {
        let last = self.readable(now).checked_sub(1).and_then(|at| self.records.get(at));
        let last = last.map(|record| record.sequence).or(self.trimmed);
        last.map_or(self.start, Sequence::next)
    }

    fn check(&self, number: Sequence) -> Result<(), ShardReadError> {
        let beyond = match self.end {
            Some((end, _)) => number > end,
            None => number >= self.after_last() && number != self.start,
        };
        if number < self.start || beyond {
            return Err(ShardReadError::NotOfShard);
        }
        match self.trimmed {
            Some(trimmed) if number <= trimmed => Err(ShardReadError::Trimmed),
            _ => Ok(()),
        }
    }
}

/// The shards of a range of tokens, which is divided among the open ones.
#[derive(Debug)]
pub(super) struct Lineage {
    shards: Vec<Shard>,
    delays: Delays,
    /// The bytes that its records take.
    held: u64,
}

impl Lineage {
    /// The lineage of these tokens, the last one inclusive.
    pub(super) fn new(tokens: (u64, u64), numbers: &Numbers, now: Moment) -> Lineage {
        Lineage {
            shards: vec![Shard::open(tokens, None, numbers, now)],
            delays: Delays::default(),
            held: 0,
        }
    }

    /// The lineage for a checkpoint.
    pub(super) fn save(&self) -> LineageState {
        let shards = self.shards.iter().map(|shard| Shard {
            readers: Vec::new(),
            ..shard.clone()
        });
        LineageState {
            shards: shards.collect(),
            delays: self.delays.0.clone(),
        }
    }

    /// Restores a lineage from a checkpoint.
    pub(super) fn restored(state: LineageState) -> Lineage {
        Lineage {
            held: state.shards.iter().map(Shard::held).sum(),
            shards: state.shards,
            delays: Delays(state.delays),
        }
    }

    /// Adds records from a checkpoint to a shard; returns how many bytes they take, or `None` if the shard is not in
    /// the lineage.
    pub(super) fn restore(&mut self, shard: &str, records: &[Record]) -> Option<u64> {
        let shard = self.shards.iter_mut().find(|known| known.id == shard)?;
        shard.records.extend(records.iter().cloned());
        let added = records.iter().map(Record::held).sum();
        self.held += added;
        Some(added)
    }

    /// Appends the record of a change of the item under `key` to the open shard of its token, readable after its delay
    /// and not before the previous record. The lineage of a closed stream has no open shard.
    pub(super) fn push(
        &mut self,
        key: &Key,
        mut record: Record,
        propagation: &Propagation<'_>,
        numbers: &Numbers,
        now: Moment,
    ) {
        self.settle(numbers, now);
        let Some(shard) = self.shards.iter_mut().rev().find(|shard| shard.takes(key.token)) else {
            return;
        };
        record.sequence = numbers.sequence();
        if !propagation.lag.is_none() {
            let delay = self.delays.next(propagation.item(key), propagation);
            record.arrived = record.arrived.max(record.created.plus(delay));
        }
        if let Some(last) = shard.records.back() {
            record.arrived = record.arrived.max(last.arrived);
        }
        self.held += record.held();
        shard.records.push_back(record);
    }

    pub(super) fn split(&mut self, at: u64, numbers: &Numbers, now: Moment) -> bool {
        self.settle(numbers, now);
        let Some(place) = self.shards.iter().position(|shard| shard.takes(at)) else {
            return false;
        };
        let (first, last) = self.shards[place].tokens;
        if first == at {
            return false;
        }
        self.shards[place].close(numbers, now);
        for tokens in [(first, at - 1), (at, last)] {
            let child = Shard::open(tokens, Some(&self.shards[place]), numbers, now);
            self.shards.push(child);
        }
        true
    }

    pub(super) fn close(&mut self, numbers: &Numbers, now: Moment) {
        self.settle(numbers, now);
        self.shards.iter_mut().for_each(|shard| shard.close(numbers, now));
    }

    /// Brings the lineage up to `now`: replaces shards that have reached their maximum age, and drops expired ones.
    pub(super) fn settle(&mut self, numbers: &Numbers, now: Moment) {
        self.rotate(numbers, now);
        self.trim(now);
    }

    /// Whether the life of an open shard was over by `now`.
    pub(super) fn is_over(&self, now: Moment) -> bool {
        self.shards.iter().any(|shard| shard.is_over(now))
    }

    /// Replaces shards whose life was over by `now`.
    pub(super) fn rotate(&mut self, numbers: &Numbers, now: Moment) {
        let mut at = 0;
        while at < self.shards.len() {
            if let Some(child) = self.follow(at, numbers, now) {
                // It is examined in its turn: its life may be over as well.
                self.shards.push(child);
            }
            at += 1;
        }
    }

    /// Drops the records and shards that are too old.
    pub(super) fn trim(&mut self, now: Moment) {
        let mut freed = 0;
        self.shards.retain_mut(|shard| {
            freed += shard.trim(now);
            let is_gone = shard.is_gone(now);
            // The last records of a closed shard may have arrived after its end.
            freed += if is_gone { shard.held() } else { 0 };
            !is_gone
        });
        self.held -= freed;
    }

    /// The bytes that its records take.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// The number of its oldest record.
    pub(super) fn oldest(&self) -> Option<Sequence> {
        let oldest = self.shards.iter().filter_map(|shard| shard.records.front());
        oldest.map(|record| record.sequence).min()
    }

    /// Drops its oldest record, as if it were too old.
    pub(super) fn drop_oldest(&mut self) {
        let oldest = self.oldest();
        let is_oldest = |record: &mut Record| Some(record.sequence) == oldest;
        for shard in &mut self.shards {
            if let Some(record) = shard.records.pop_front_if(is_oldest) {
                shard.trimmed = Some(record.sequence);
                self.held -= record.held();
            }
        }
    }

    /// Closes a shard whose life was over by `now`, and opens its successor.
    fn follow(&mut self, at: usize, numbers: &Numbers, now: Moment) -> Option<Shard> {
        let shard = &mut self.shards[at];
        let over = shard.opened.plus(LIFE);
        if !shard.is_over(now) {
            return None;
        }
        shard.close(numbers, over);
        // Of successors whose life is over, only the last ones are created: the others are already dropped.
        let unseen = now.since(over).saturating_sub(RETENTION).as_micros() / LIFE.as_micros();
        let skipped = LIFE.saturating_mul(u32::try_from(unseen).unwrap_or(u32::MAX));
        let shard = &self.shards[at];
        Some(Shard::open(shard.tokens, Some(shard), numbers, over.plus(skipped)))
    }

    pub(super) fn open_tokens(&self) -> impl Iterator<Item = (u64, u64)> {
        self.shards
            .iter()
            .filter(|shard| shard.end.is_none())
            .map(|shard| shard.tokens)
    }

    pub(super) fn next_trim(&self) -> Option<Moment> {
        let of = |shard: &Shard| {
            let record = shard.records.front().map(|record| record.arrived);
            let closed = shard.end.map(|(_, closed)| closed);
            record.into_iter().chain(closed).min()
        };
        let oldest = self.shards.iter().filter_map(of).min()?;
        Some(oldest.plus(RETENTION))
    }

    pub(super) fn views(&self) -> impl Iterator<Item = ShardView> {
        self.shards.iter().map(|shard| ShardView {
            id: shard.id.clone(),
            parent: shard.parent.clone(),
            start: shard.start,
            end: shard.end.map(|(end, _)| end),
        })
    }

    /// The records that cannot be read yet, in no particular order.
    pub(super) fn unreadable(&self, now: Moment) -> impl Iterator<Item = &Record> {
        let of = move |shard: &Shard| shard.readable(now);
        self.shards
            .iter()
            .flat_map(move |shard| shard.records.range(of(shard)..))
    }

    /// The newest record of the open shard that takes the records of a token.
    pub(super) fn newest(&self, token: u64) -> Option<&Record> {
        let mut shards = self.shards.iter().rev();
        shards.find(|shard| shard.takes(token))?.records.back()
    }

    fn find(&self, id: &str) -> Result<&Shard, ShardReadError> {
        self.shards
            .iter()
            .find(|shard| shard.id == id)
            .ok_or(ShardReadError::NoShard)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.find(id).is_ok()
    }

    pub(super) fn position(&self, id: &str, position: Position, now: Moment) -> Result<Sequence, ShardReadError> {
        let shard = self.find(id)?;
        match position {
            Position::TrimHorizon => Ok(shard.trimmed.map_or(shard.start, Sequence::next)),
            Position::Latest => Ok(shard.after_last_readable(now)),
            Position::At(number) => shard.check(number).map(|()| number),
            Position::After(number) => shard.check(number).map(|()| number.next()),
            Position::AtTime(moment) => {
                let first = shard.records.iter().find(|record| record.created >= moment);
                Ok(first.map_or(shard.after_last(), |record| record.sequence))
            }
        }
    }

    pub(super) fn read(
        &mut self,
        id: &str,
        from: Sequence,
        most: usize,
        reader: ShardReader,
        now: Moment,
    ) -> Result<ShardPage, ShardReadError> {
        let shard = self.shards.iter_mut().find(|shard| shard.id == id);
        let shard = shard.ok_or(ShardReadError::NoShard)?;
        shard.admit(reader, now)?;
        if shard.trimmed.is_some_and(|trimmed| from <= trimmed) {
            return Err(ShardReadError::Trimmed);
        }
        let readable = shard.readable(now);
        let first = shard.records.partition_point(|record| record.sequence < from);
        let mut bytes = 0;
        let mut records = Vec::new();
        let mut is_full = false;
        for record in shard.records.range(first.min(readable)..readable).take(most) {
            bytes += record.size();
            if bytes > limits::STREAM_PAGE_SIZE && !records.is_empty() {
                is_full = true;
                break;
            }
            records.push(record.clone());
        }
        is_full |= records.len() == most;
        let next = records.last().map_or(from, |record| record.sequence.next());
        let ended = shard.end.is_some() && next >= shard.after_last();
        Ok(ShardPage {
            records,
            is_full,
            next: (!ended).then_some(next),
        })
    }
}
