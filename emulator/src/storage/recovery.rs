//! The history of a partition for point-in-time recovery: each item before each change, newest last, so that the
//! partition can be rolled back to any moment of the recovery period. Recorded only while recovery is enabled. The changes of
//! one item are in the order of their times; a deletion by time to live, or a change of another region, may follow later changes of
//! other items.

pub mod logs;

use std::collections::VecDeque;
use std::sync::Arc;

use super::items::Items;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::key::Key;
use crate::limits;
use crate::sort;
use crate::value::Item;

/// The number of versions in a chunk. Versions that are too old, or have no room, are dropped by the chunk.
const CHUNK: usize = 256;
/// The size in bytes at which a chunk takes no more versions.
const CHUNK_BYTES: u64 = 256 << 10;

/// The recovery window of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When it was enabled, or the start of the window when its period was last set.
    pub since: Moment,
    /// The recovery period in days.
    pub days: u32,
}

impl Recovery {
    /// The earliest moment that can be restored.
    pub fn earliest(self, now: Moment) -> Moment {
        self.since.max(before(now, u64::from(self.days) * 86_400))
    }

    /// The latest moment that can be restored.
    pub fn latest(self, now: Moment) -> Moment {
        self.since.max(before(now, limits::RECOVERY_LAG_SECONDS))
    }
}

/// The moment this many seconds earlier.
fn before(now: Moment, seconds: u64) -> Moment {
    Moment::from_micros(now.micros().saturating_sub(seconds as i64 * 1_000_000))
}

/// An item before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorItem {
    pub at: Moment,
    pub key: Key,
    pub old: Option<Item>,
}

/// The bytes that a version takes in memory, as if it did not share the item.
fn held(key: &Key, old: Option<&Item>) -> u64 {
    let item = old.map_or(0, |old| old.json().len());
    (size_of::<PriorItem>() + key.bytes.len() + item) as u64
}

/// The change of an item between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemChange {
    pub at: Moment,
    /// The item at the first moment.
    pub old: Option<Item>,
    /// The item at the second moment.
    pub new: Option<Item>,
}

/// Versions, oldest first, and the bytes they take.
#[derive(Clone, Debug, Default)]
struct RecoveryChunk {
    versions: Vec<PriorItem>,
    held: u64,
    /// When the latest of the changes happened.
    latest: Option<Moment>,
}

impl RecoveryChunk {
    fn push(&mut self, version: PriorItem, held: u64) {
        self.latest = Some(version.at).max(self.latest);
        self.versions.push(version);
        self.held += held;
    }
}

/// The changes of a partition, oldest first. Clones share all but the last of them.
#[derive(Clone, Debug, Default)]
pub struct RecoveryLog {
    sealed: VecDeque<Arc<RecoveryChunk>>,
    open: RecoveryChunk,
    latest: Option<Moment>,
    held: u64,
}

impl RecoveryLog {
    /// Adds a change that happens at `now`, and drops changes from before `earliest`.
    fn push(&mut self, change: &Change, now: Moment, earliest: Moment) {
        // Requests may reach a partition slightly out of order; the log has its order. Deletions by time to live happen when
        // they are due, and changes of other regions when they arrive, even if changes of other items have been applied before.
        let at = match self.latest {
            Some(latest) if change.cause == Cause::Request => latest.max(now),
            _ => now,
        };
        self.latest = self.latest.max(Some(at));
        let held = held(&change.key, change.old.as_ref());
        let version = PriorItem {
            at,
            key: change.key.clone(),
            old: change.old.clone(),
        };
        self.open.push(version, held);
        self.held += held;
        if self.open.versions.len() < CHUNK && self.open.held < CHUNK_BYTES {
            return;
        }
        self.sealed.push_back(Arc::new(std::mem::take(&mut self.open)));
        let is_old = |chunk: &mut Arc<RecoveryChunk>| chunk.latest.is_none_or(|latest| latest < earliest);
        while let Some(chunk) = self.sealed.pop_front_if(is_old) {
            self.held -= chunk.held;
        }
    }

    /// Adds a version from a checkpoint.
    fn restore(&mut self, version: PriorItem) {
        let held = held(&version.key, version.old.as_ref());
        self.latest = self.latest.max(Some(version.at));
        self.open.push(version, held);
        self.held += held;
        if self.open.versions.len() >= CHUNK || self.open.held >= CHUNK_BYTES {
            self.sealed.push_back(Arc::new(std::mem::take(&mut self.open)));
        }
    }

    /// When the oldest recorded change happened.
    fn oldest(&self) -> Option<Moment> {
        let chunk = self.sealed.front().map_or(&self.open, |chunk| chunk);
        chunk.versions.first().map(|version| version.at)
    }

    /// Drops the oldest chunk, or half of the open one, and returns when the last of these changes happened.
    fn drop_oldest(&mut self) -> Option<Moment> {
        if let Some(chunk) = self.sealed.pop_front() {
            self.held -= chunk.held;
            return chunk.latest;
        }
        let half = self.open.versions.len().div_ceil(2);
        let dropped: Vec<PriorItem> = self.open.versions.drain(..half).collect();
        let held = dropped
            .iter()
            .map(|version| held(&version.key, version.old.as_ref()))
            .sum::<u64>();
        self.open.held -= held;
        self.held -= held;
        dropped.iter().map(|version| version.at).max()
    }

    fn chunks(&self) -> impl DoubleEndedIterator<Item = &RecoveryChunk> {
        let sealed = self.sealed.iter().map(|chunk| &**chunk);
        sealed.chain([&self.open])
    }

    fn back(&self) -> impl Iterator<Item = &PriorItem> {
        self.chunks().rev().flat_map(|chunk| chunk.versions.iter().rev())
    }

    /// The number of recorded changes.
    pub fn len(&self) -> usize {
        self.open.versions.len() + self.sealed.iter().map(|chunk| chunk.versions.len()).sum::<usize>()
    }

    /// Rolls `items` back to before the changes for whose moments `undone` is true: all from some moment on.
    pub fn roll_back(&self, items: &mut Items, undone: impl Fn(Moment) -> bool) {
        let chunks = self.chunks().rev().filter(|chunk| chunk.latest.is_some_and(&undone));
        let versions = chunks.flat_map(|chunk| chunk.versions.iter().rev());
        for version in versions.filter(|version| undone(version.at)) {
            match &version.old {
                Some(old) => items.insert(version.key.clone(), old.clone()),
                None => items.remove(&version.key, None),
            };
        }
    }

    /// The change of each item from `from` on and before `to`. Items inserted and removed in between are left out.
    pub fn between(&self, items: &Items, from: Moment, to: Moment) -> Vec<(Key, ItemChange)> {
        let mut items = items.clone();
        self.roll_back(&mut items, |at| at >= to);
        let versions = self.back().filter(|version| version.at >= from && version.at < to);
        let mut touched: Vec<(Key, Moment)> = versions.map(|version| (version.key.clone(), version.at)).collect();
        sort::sort_by(&mut touched, |left, right| left.0.cmp(&right.0));
        touched.dedup_by(|later, kept| later.0 == kept.0);
        let mut before = items.clone();
        self.roll_back(&mut before, |at| at >= from);
        let changes = touched.into_iter().filter_map(|(key, at)| {
            let change = ItemChange {
                at,
                old: before.get(&key).cloned(),
                new: items.get(&key).cloned(),
            };
            let comes_and_goes = change.old.is_none() && change.new.is_none();
            (!comes_and_goes).then_some((key, change))
        });
        changes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::AttributeValue;
    use std::time::Duration;

    pub(super) fn change(token: u64, size: usize) -> Change {
        let text = AttributeValue::string(&"v".repeat(size));
        let item = Item::new(&[("v".into(), text)].into_iter().collect());
        Change::deletion(token, Some(item))
    }

    /// A change at the earliest restorable moment is kept: an incremental export from then on includes it.
    #[test]
    fn a_chunk_is_dropped_when_its_last_change_is_too_old() {
        let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
        for (earliest, expect) in [(100, 2 * CHUNK), (101, CHUNK)] {
            let mut log = RecoveryLog::default();
            for moment in [100, 200] {
                (0..CHUNK).for_each(|_| log.push(&change(0, 1), at(moment), at(earliest)));
            }
            assert_eq!(log.len(), expect, "{earliest}");
        }
    }

    /// A log of these changes, as (token, second, the item before), of which none is too old.
    fn log(changes: &[(u64, u64, Option<usize>)]) -> RecoveryLog {
        let mut log = RecoveryLog::default();
        for (token, second, old) in changes {
            let change = Change {
                old: None,
                ..change(*token, 0)
            };
            let old = old.and_then(|size| self::change(0, size).old);
            let at = Moment::START.plus(Duration::from_secs(*second));
            log.push(&Change { old, ..change }, at, Moment::FIRST);
        }
        log
    }

    /// The changes from one moment on and before another: each item once, with the time of its last change.
    #[test]
    fn changes_between_two_moments() {
        let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
        // Item 1 is inserted with 10 bytes, grows by 10 each time, and stays. Item 2 comes at 10 and goes at 30.
        let log = log(&[
            (1, 10, None),
            (2, 10, None),
            (1, 20, Some(10)),
            (2, 30, Some(5)),
            (1, 30, Some(20)),
            (1, 30, Some(30)),
        ]);
        let mut items = Items::new(crate::reclaim::Reclaimer::default());
        let present = change(1, 40);
        items.insert(present.key, present.old.unwrap());
        let sizes = |item: &Option<Item>| item.as_ref().map(|item| item.size() - 1);
        for (from, to, expect) in [
            (0, 10, &[][..]),
            (0, 11, &[(1, 10, None, Some(10)), (2, 10, None, Some(5))]),
            (10, 11, &[(1, 10, None, Some(10)), (2, 10, None, Some(5))]),
            (11, 20, &[]),
            (10, 21, &[(1, 20, None, Some(20)), (2, 10, None, Some(5))]),
            (20, 30, &[(1, 20, Some(10), Some(20))]),
            (20, 31, &[(1, 30, Some(10), Some(40)), (2, 30, Some(5), None)]),
            (30, 31, &[(1, 30, Some(20), Some(40)), (2, 30, Some(5), None)]),
            // Item 2 is not there at either moment.
            (0, 31, &[(1, 30, None, Some(40))]),
            (31, 40, &[]),
        ] {
            let found = log.between(&items, at(from), at(to));
            let found: Vec<_> = found
                .iter()
                .map(|(key, change)| {
                    let second = change.at.since(Moment::START).as_secs();
                    (key.token, second, sizes(&change.old), sizes(&change.new))
                })
                .collect();
            assert_eq!(found, expect, "from {from} to {to}");
        }
    }

    /// A restored log has chunks of the same sizes as the log that was saved, so that it drops the same changes.
    #[test]
    fn a_restored_log_has_the_same_chunks() {
        let at = |seconds: usize| Moment::START.plus(Duration::from_secs(seconds as u64));
        for (count, size) in [
            (3 * CHUNK - 1, 1),
            (3 * CHUNK, 1),
            (9, CHUNK_BYTES as usize / 2),
            (2, CHUNK_BYTES as usize),
        ] {
            let mut log = RecoveryLog::default();
            (0..count).for_each(|second| log.push(&change(0, size), at(second), Moment::FIRST));
            let mut restored = RecoveryLog::default();
            let mut versions: Vec<PriorItem> = log.back().cloned().collect();
            versions.reverse();
            versions.into_iter().for_each(|version| restored.restore(version));
            let chunks = |log: &RecoveryLog| log.chunks().map(|chunk| chunk.versions.len()).collect::<Vec<_>>();
            assert_eq!(chunks(&restored), chunks(&log), "{count} of {size}");
            assert_eq!(restored.held, log.held);
            while log.len() > 0 {
                assert_eq!(restored.drop_oldest(), log.drop_oldest());
                assert_eq!((restored.len(), restored.held), (log.len(), log.held));
            }
            assert_eq!(log.held, 0);
        }
    }

    /// The oldest changes are dropped first: full chunks, then half of what is left. The window begins after the latest of them.
    #[test]
    fn the_oldest_changes_are_dropped_first() {
        let at = |seconds: usize| Moment::START.plus(Duration::from_secs(seconds as u64));
        let mut log = RecoveryLog::default();
        (0..2 * CHUNK + 10).for_each(|second| log.push(&change(0, 1), at(second), Moment::FIRST));
        for dropped in [
            CHUNK,
            2 * CHUNK,
            2 * CHUNK + 5,
            2 * CHUNK + 8,
            2 * CHUNK + 9,
            2 * CHUNK + 10,
        ] {
            assert_eq!(log.drop_oldest(), Some(at(dropped - 1)));
            assert_eq!(log.len(), 2 * CHUNK + 10 - dropped);
            assert_eq!(log.oldest(), (log.len() > 0).then(|| at(dropped)));
        }
        assert_eq!((log.drop_oldest(), log.held), (None, 0));
    }

    /// Chunks of changes that are no longer needed are dropped, and take no bytes.
    #[test]
    fn a_log_counts_the_bytes_that_it_holds() {
        let at = |seconds: usize| Moment::START.plus(Duration::from_secs(seconds as u64));
        let mut log = RecoveryLog::default();
        for second in 0..5 * CHUNK {
            let earliest = at(second.saturating_sub(CHUNK));
            log.push(&change(0, 1 + second % 7), at(second), earliest);
            let held: u64 = log.back().map(|version| held(&version.key, version.old.as_ref())).sum();
            assert_eq!(log.held, held, "{second}");
            // Of what is older than the window, less than a chunk is left.
            assert!(log.len() < 3 * CHUNK, "{second}: {}", log.len());
            assert!(log.oldest().is_some_and(|oldest| oldest <= earliest), "{second}");
        }
    }

    /// A change that reaches a log with an earlier time than the last one has the last one's, in a restored log too.
    #[test]
    fn the_times_of_a_log_never_decrease() {
        let at = |seconds| Moment::START.plus(Duration::from_secs(seconds));
        for restored in [false, true] {
            let mut log = RecoveryLog::default();
            for moment in [5, 9] {
                log.push(&change(0, 1), at(moment), Moment::FIRST);
            }
            if restored {
                let mut versions: Vec<PriorItem> = log.back().cloned().collect();
                versions.reverse();
                log = RecoveryLog::default();
                versions.into_iter().for_each(|version| log.restore(version));
            }
            log.push(&change(0, 1), at(7), Moment::FIRST);
            let moments: Vec<Moment> = log.back().map(|version| version.at).collect();
            assert_eq!(moments, [at(9), at(9), at(5)], "{restored}");
        }
    }
}
