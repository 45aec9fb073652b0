//! The settings of a table: everything about it that is neither items nor derived from them, as plain data.

use std::sync::Arc;
use std::time::Duration;

use super::attached::Attachments;
use super::delay::Propagation;
use super::job::{Job, JobKind, RecentChanges};
use super::recovery::Recovery;
use super::stream::{StreamEnd, label_of};
use crate::capacity::Ledger;
use crate::chance;
use crate::clock::Moment;
use crate::conditions::{Conditions, Lag, Shards, TimeToLive};
use crate::key::Key;
use crate::limits;
use crate::schema::{Definition, StreamView};
use crate::sorted::SortedMap;
use crate::value::{AttributeValue, Item, Name};

/// The latest stream of a table, open or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStream {
    /// When it was requested: its label.
    pub created: Moment,
    /// The view of its records.
    pub view: StreamView,
    /// From when on it is `ENABLED`.
    pub enabled_at: Moment,
    /// The first token of each of its first shards, in order.
    pub starts: Vec<u64>,
    /// When it was closed, if it was.
    pub end: Option<StreamEnd>,
}

impl TableStream {
    pub fn label(&self) -> String {
        label_of(self.created)
    }
}

/// The settings of a table. A change of them is one mutation, which contains them all.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSettings {
    /// Incremented by each change of the settings, under all partition locks.
    pub epoch: u64,
    pub definition: Arc<Definition>,
    /// The latest stream, open or closed.
    pub stream_settings: Option<TableStream>,
    /// The attribute with the expiry of an item, while time to live is enabled.
    pub time_to_live: Option<Name>,
    /// When time to live was last changed.
    pub time_to_live_changed: Option<Moment>,
    pub conditions: Conditions,
    /// The lags of those of its global indexes that differ from `conditions`.
    pub index_lags: SortedMap<Name, Lag>,
    /// The lags of those of the table's replicas that differ from `conditions`, by region.
    pub replication_lags: SortedMap<Name, Lag>,
    /// The seed of the table's decisions.
    pub seed: u64,
    /// From when on the table is `ACTIVE`.
    pub active_at: Moment,
    /// When the table's deletion completes; `None` unless it is being deleted.
    pub deleted_at: Option<Moment>,
    /// Changes in progress. Completed ones are dropped when the next one begins.
    pub jobs: Vec<Job>,
    /// When settings with a cooldown were last changed.
    pub recent: RecentChanges,
    /// The recovery window, while point-in-time recovery is enabled.
    pub recovery: Option<Recovery>,
    /// The source of the table, if it was restored.
    pub restored: Option<Arc<Restored>>,
    /// Kinesis destinations, Contributor Insights, resource policies and the tags of streams.
    pub attached: Arc<Attachments>,
}

/// The origin of a restored table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The backup; `None` for a restore to a point in time.
    pub backup_arn: Option<String>,
    pub table_arn: String,
    /// The moment that was restored.
    pub at: Moment,
    /// Whether the restore fails: then the table is removed when it would be active.
    pub fails: bool,
}

/// The stage of a table in its life cycle, as calls on its tags, backups and similar resources see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStage {
    /// It has just been created, and they do not find it (measured: the first 1 to 5 s).
    Unknown,
    Creating,
    Active,
    Deleting,
}

impl TableSettings {
    /// When an item expires, in seconds, whether or not it may be deleted: the value of its time to live attribute, if
    /// that is a number.
    pub fn expires(&self, item: &Item) -> Option<i64> {
        match item.get(self.time_to_live.as_ref()?) {
            Some(AttributeValue::N(number)) => number.to_i64_floor(),
            _ => None,
        }
    }

    /// Whether an item is expired at `now`, by at most five years.
    pub fn is_expired(&self, item: &Item, now: Moment) -> bool {
        self.expires(item)
            .is_some_and(|seconds| (now.seconds() - limits::TTL_OLDEST_SECONDS..=now.seconds()).contains(&seconds))
    }

    /// When time to live deletes an item that was written before it expired; `None` if it never does.
    pub fn expiry(&self, key: &Key, item: &Item) -> Option<Moment> {
        let seconds = self.expires(item)?;
        Some(Moment::from_seconds(seconds).plus(self.expiry_lag(key, seconds)?))
    }

    /// When time to live deletes an item that is written, or first examined, at `now`; `None` if it never does, such as
    /// for an item that expired more than five years before. If the item is expired already, the lag begins at `now`.
    pub fn expiry_from(&self, key: &Key, item: &Item, now: Moment) -> Option<Moment> {
        let seconds = self.expires(item)?;
        if seconds < now.seconds() - limits::TTL_OLDEST_SECONDS {
            return None;
        }
        Some(
            Moment::from_seconds(seconds)
                .max(now)
                .plus(self.expiry_lag(key, seconds)?),
        )
    }

    /// The lag of the deletion of an item that expires at this second.
    fn expiry_lag(&self, key: &Key, seconds: i64) -> Option<Duration> {
        let TimeToLive::Deletes(lag) = self.conditions.time_to_live else {
            return None;
        };
        Some(lag.of(chance::decide(self.seed, "time to live", &key.bytes, seconds as u64)))
    }

    /// When a change completes that begins at `now` and takes `times` times as long as the creation of a table
    /// (measured: about 6 s); `what` names the change and `subject` what is changed.
    pub fn later(&self, now: Moment, what: &str, subject: &str, times: f64) -> Moment {
        scaled(now, self.table_status(what, subject), times)
    }

    /// As [`TableSettings::later`], but never sooner than if the creation of a table took its typical time.
    pub fn much_later(&self, now: Moment, what: &str, subject: &str, times: f64) -> Moment {
        let typical = self.conditions.table_status.typical();
        scaled(now, self.table_status(what, subject).max(typical), times)
    }

    fn table_status(&self, what: &str, subject: &str) -> Duration {
        let decision = chance::decide(self.seed, what, subject.as_bytes(), self.epoch);
        self.conditions.table_status.of(decision)
    }

    /// Whether changes take time and have a cooldown.
    pub fn takes_time(&self) -> bool {
        !self.conditions.table_status.is_none()
    }

    /// Whether writes cause work that is due later.
    pub fn has_due_work(&self) -> bool {
        self.time_to_live.is_some() || !self.conditions.transaction_time.is_none()
    }

    /// The lag of a global or vector index.
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

    /// The lag of the table's stream.
    pub fn stream_propagation(&self) -> Propagation<'static> {
        Propagation {
            seed: self.seed,
            place: "/stream",
            lag: self.conditions.stream_lag,
        }
    }

    /// The changes in progress at `now`.
    pub fn running(&self, now: Moment) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(move |job| job.runs(now))
    }

    /// Whether an index is still being created, and cannot be read.
    pub fn is_creating(&self, index: &str, now: Moment) -> bool {
        self.running(now)
            .any(|job| matches!(&job.work, JobKind::CreateIndex { index: made, .. } if made == index))
    }

    /// Whether the service is still allocating resources for an index.
    pub fn is_allocating(&self, index: &str, now: Moment) -> bool {
        self.running(now)
            .any(|job| matches!(&job.work, JobKind::CreateIndex { index: made, allocated, .. } if made == index && *allocated > now))
    }

    /// Whether the table is still being restored.
    pub fn is_restoring(&self, now: Moment) -> bool {
        self.restored.is_some() && now < self.active_at && !self.is_deleting()
    }

    /// Whether the table is being created, changed or deleted.
    pub fn is_busy(&self, now: Moment) -> bool {
        let deleting = self.is_deleting();
        !self.is_gone(now) && (deleting || now < self.active_at || self.running(now).next().is_some())
    }

    /// Whether the table is being deleted, or was. A table whose restore fails is removed without that.
    pub fn is_deleting(&self) -> bool {
        let fails = self.restored.as_ref().is_some_and(|restored| restored.fails);
        self.deleted_at.is_some() && !fails
    }

    /// Whether calls on the table's tags, backups and similar resources still find it at `now`, which they do for the time
    /// `within` after its deletion was requested.
    pub fn is_found_after_deletion(&self, now: Moment, within: Duration) -> bool {
        let begun = self.recent.deletion;
        begun.is_some_and(|begun| now < begun.plus(within)) && !self.is_gone(now)
    }

    /// Whether the table's deletion, or its failed restore, has ended by `now`.
    pub fn is_gone(&self, now: Moment) -> bool {
        self.deleted_at.is_some_and(|end| end <= now)
    }

    /// The first token of each shard of a stream that is created at `now`.
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

    /// Opens a stream of the table.
    pub fn open_stream(&mut self, stream: TableStream) {
        self.stream_settings = Some(stream);
    }

    /// Closes the table's stream, if one is open; `settled` is from when on it is `DISABLED`.
    pub fn close_stream(&mut self, now: Moment, settled: Moment) {
        if let Some(stream) = self.stream_settings.as_mut().filter(|stream| stream.end.is_none()) {
            stream.end = Some(StreamEnd { at: now, settled });
        }
    }

    /// Whether the table has an open stream.
    pub fn has_stream(&self) -> bool {
        self.stream_settings.as_ref().is_some_and(|stream| stream.end.is_none())
    }

    /// Whether the table can be read and written.
    pub fn is_active(&self, now: Moment) -> bool {
        now >= self.active_at && self.deleted_at.is_none()
    }
}

fn scaled(now: Moment, length: Duration, times: f64) -> Moment {
    now.plus(Duration::try_from_secs_f64(length.as_secs_f64() * times).unwrap_or(Duration::MAX))
}
