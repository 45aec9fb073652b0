//! The recovery logs of a table.

use super::super::commit::Committed;
use super::super::held::ByteBudget;
use super::super::partitioning::place_of;
use super::{PriorItem, Recovery, RecoveryLog, held};
use crate::change::Change;
use crate::clock::Moment;
use crate::reclaim::Reclaimer;
use crate::sync::{AtomicI64, Mutex, Ordering};

/// The recovery logs of a table's partitions, which share one limit in bytes.
#[derive(Debug)]
pub struct RecoveryLogs {
    /// Writers hold the lock of the item's partition; these are leaves below it.
    partitions: Vec<Mutex<RecoveryLog>>,
    held: ByteBudget,
    /// When the newest change that was dropped because of the limit happened, in microseconds.
    dropped: AtomicI64,
    reclaimer: Reclaimer,
}

impl RecoveryLogs {
    /// Empty logs of this many partitions, freed by `reclaimer`.
    pub fn new(partitions: usize, reclaimer: Reclaimer) -> RecoveryLogs {
        RecoveryLogs {
            partitions: (0..partitions).map(|_| Mutex::default()).collect(),
            held: ByteBudget::new(),
            dropped: AtomicI64::new(Moment::FIRST.micros()),
            reclaimer,
        }
    }

    /// Adds a change that happens at `now`. The oldest changes are dropped while all take more than `limit` bytes. The
    /// caller holds the lock of the item's partition for writing.
    pub fn record(&self, change: &Change, recovery: Recovery, limit: Option<u64>, now: Moment) {
        let more = held(&change.key, change.old.as_ref());
        while self.held.is_full(limit, more) && self.drop_oldest() {}
        let log = &self.partitions[place_of(change.key.token, self.partitions.len())];
        self.locked(log, |log| log.push(change, now, recovery.earliest(now)));
    }

    /// Locks a log, and counts the bytes by which it grows or shrinks.
    fn locked<R>(&self, log: &Mutex<RecoveryLog>, act: impl FnOnce(&mut RecoveryLog) -> R) -> R {
        let mut log = log.lock();
        let before = log.held;
        let result = act(&mut log);
        self.held.replace(before, log.held);
        result
    }

    /// Drops the oldest changes. Returns whether there were any.
    fn drop_oldest(&self) -> bool {
        let oldest = self
            .partitions
            .iter()
            .filter_map(|log| Some((log.lock().oldest()?, log)));
        let Some((_, log)) = oldest.min_by_key(|(oldest, _)| *oldest) else {
            return false;
        };
        self.locked(log, |log| {
            if let Some(last) = log.drop_oldest() {
                self.dropped.fetch_max(last.micros(), Ordering::Relaxed);
            }
        });
        true
    }

    /// When the newest change that was dropped because of the limit happened: the table cannot be rolled back further.
    pub fn dropped(&self) -> Moment {
        Moment::from_micros(self.dropped.load(Ordering::Relaxed))
    }

    /// The bytes that the logs take.
    pub fn held(&self) -> &ByteBudget {
        &self.held
    }

    /// All recorded changes, oldest first, partition by partition.
    pub(in crate::storage) fn save(&self) -> Vec<PriorItem> {
        let logs = self.partitions.iter().map(|log| log.lock().clone());
        logs.flat_map(|log| {
            let mut versions: Vec<PriorItem> = log.back().cloned().collect();
            versions.reverse();
            versions
        })
        .collect()
    }

    /// Adds changes that were saved.
    pub(in crate::storage) fn restore(&self, _: &Committed<'_>, versions: Vec<PriorItem>, dropped: Moment) {
        self.dropped.fetch_max(dropped.micros(), Ordering::Relaxed);
        for version in versions {
            let log = &self.partitions[place_of(version.key.token, self.partitions.len())];
            self.locked(log, |log| log.restore(version));
        }
    }

    /// The present log of a partition.
    pub fn of_partition(&self, place: usize) -> RecoveryLog {
        self.partitions
            .get(place)
            .map(|log| log.lock().clone())
            .unwrap_or_default()
    }
}

impl Drop for RecoveryLogs {
    fn drop(&mut self) {
        let logs = std::mem::take(&mut self.partitions);
        let versions = logs.iter().map(|log| log.lock().len()).sum();
        self.reclaimer.reclaim(versions, logs);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::change;
    use super::*;
    use crate::chance;
    use std::time::Duration;

    /// Whatever is written, the count of bytes is that of the versions, and stays within the limit.
    #[test]
    fn logs_hold_no_more_than_their_limit() {
        let recovery = Recovery {
            since: Moment::START,
            days: 1,
        };
        for (seed, limit) in [(1, 1), (2, 1000), (3, 50_000), (4, 1_000_000)] {
            let logs = RecoveryLogs::new(4, Reclaimer::default());
            let mut now = Moment::START;
            let mut dropped = Moment::FIRST;
            for at in 0..5000_u64 {
                let choice = |what: &str| chance::decide(seed, what, b"", at);
                let change = change(choice("token"), choice("size") as usize % 900);
                logs.record(&change, recovery, Some(limit), now);
                let bytes = logs.held().bytes();
                let last = held(&change.key, change.old.as_ref());
                assert!(bytes <= limit.max(last), "seed {seed}, step {at}: {bytes}");
                assert!(
                    dropped <= logs.dropped() && logs.dropped() <= now,
                    "seed {seed}, step {at}"
                );
                dropped = logs.dropped();
                now = now.plus(Duration::from_secs(choice("pause") % 60));
            }
            let versions = (0..4).map(|place| logs.of_partition(place));
            let counted: u64 = versions
                .map(|log| log.back().map(|each| held(&each.key, each.old.as_ref())).sum::<u64>())
                .sum();
            assert_eq!(logs.held().bytes(), counted, "seed {seed}");
            assert_eq!((logs.held().take_report(), logs.held().take_report()), (true, false));
        }
    }

    /// The limit is reached to the byte, and beyond it the oldest change of all partitions is dropped.
    #[test]
    fn the_oldest_change_of_any_partition_is_dropped() {
        let recovery = Recovery {
            since: Moment::START,
            days: 1,
        };
        let at = |second: u64| Moment::START.plus(Duration::from_secs(second));
        let of_place = |place: u64| change((place % 4) << 62, 10);
        let limit = 4 * held(&of_place(0).key, of_place(0).old.as_ref());
        for first in 0..4 {
            let logs = RecoveryLogs::new(4, Reclaimer::default());
            let counts = || [0, 1, 2, 3].map(|place| logs.of_partition((first as usize + place) % 4).len());
            for second in 0..4 {
                logs.record(&of_place(first + second), recovery, Some(limit), at(second));
            }
            assert_eq!((counts(), logs.dropped()), ([1; 4], Moment::FIRST), "{first}");
            assert_eq!((logs.held().bytes(), logs.held().take_report()), (limit, false));
            for (second, expect) in [(4, [0, 2, 1, 1]), (5, [0, 2, 1, 1]), (6, [0, 3, 0, 1])] {
                logs.record(&of_place(first + 1), recovery, Some(limit), at(second));
                let dropped = at(second - 4);
                assert_eq!((counts(), logs.dropped()), (expect, dropped), "{first} {second}");
            }
            assert!(logs.held().take_report());
        }
    }

    /// Changes are kept for the recovery period, not only until the latest restorable moment.
    #[test]
    fn changes_are_kept_for_the_period() {
        let at = |seconds: u64| Moment::START.plus(Duration::from_secs(seconds));
        for (since, days, seconds, kept) in [
            (0, 1, 299, true),
            (0, 1, 301, true),
            (0, 1, 86_400, true),
            (0, 1, 86_401, false),
            (0, 35, 86_401, true),
            (0, 35, 35 * 86_400, true),
            (0, 35, 35 * 86_400 + 1, false),
            // What happened before recovery was enabled cannot be restored.
            (1, 35, 2, false),
        ] {
            let recovery = Recovery { since: at(since), days };
            let logs = RecoveryLogs::new(1, Reclaimer::default());
            let chunk = 256;
            for _ in 0..chunk {
                logs.record(&change(0, 1), recovery, None, at(0));
            }
            for _ in 0..chunk {
                logs.record(&change(0, 1), recovery, None, at(seconds));
            }
            let expect = if kept { 2 * chunk } else { chunk };
            assert_eq!(logs.of_partition(0).len(), expect, "{since} {days} {seconds}");
        }
    }
}
