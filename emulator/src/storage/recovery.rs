//! What point-in-time recovery keeps of a partition: each item as it was before each change, newest last, so that the
//! partition can be laid back to any moment of the recovery period. Kept only while recovery is on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::items::Items;
use crate::change::Change;
use crate::clock::Moment;
use crate::key::Key;
use crate::limits;
use crate::value::Item;

/// Versions in a chunk. What is older than the recovery period is let go of by the chunk.
const CHUNK: usize = 256;

/// How far back a table can be laid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When recovery was turned on.
    pub since: Moment,
    /// Days that are kept.
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

/// A moment so many seconds earlier.
fn before(now: Moment, seconds: u64) -> Moment {
    Moment::from_micros(now.micros().saturating_sub(seconds as i64 * 1_000_000))
}

/// An item before a change.
#[derive(Clone, Debug)]
struct Version {
    at: Moment,
    key: Key,
    old: Option<Item>,
}

/// What happened to an item between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemChange {
    /// When it was changed last.
    pub at: Moment,
    /// The item at the first moment.
    pub old: Option<Item>,
    /// The item at the second.
    pub new: Option<Item>,
}

/// The changes of a partition, oldest first. Clones share all but the last of them.
#[derive(Clone, Debug)]
pub struct RecoveryLog {
    recovery: Recovery,
    sealed: VecDeque<Arc<Vec<Version>>>,
    open: Vec<Version>,
    latest: Moment,
}

impl RecoveryLog {
    /// No changes yet.
    pub fn new(recovery: Recovery) -> RecoveryLog {
        RecoveryLog {
            recovery,
            sealed: VecDeque::new(),
            open: Vec::new(),
            latest: Moment::FIRST,
        }
    }

    /// Keeps more or fewer days.
    pub fn set(&mut self, recovery: Recovery) {
        self.recovery = recovery;
    }

    /// Whether nothing has been kept that a table recovered since then would not have.
    pub fn is_of(&self, recovery: Recovery) -> bool {
        self.recovery.since == recovery.since
    }

    /// Notes a change that happens at `now`, and forgets what has become too old.
    pub fn note(&mut self, change: &Change, now: Moment) {
        // Requests of a partition may come a little out of order; the order of the log is theirs.
        self.latest = self.latest.max(now);
        self.open.push(Version {
            at: self.latest,
            key: change.key.clone(),
            old: change.old.clone(),
        });
        if self.open.len() < CHUNK {
            return;
        }
        self.sealed.push_back(Arc::new(std::mem::take(&mut self.open)));
        let earliest = self.recovery.earliest(now);
        let is_old = |chunk: &Arc<Vec<Version>>| chunk.last().is_none_or(|last| last.at < earliest);
        while self.sealed.front().is_some_and(is_old) {
            self.sealed.pop_front();
        }
    }

    /// All versions, newest first.
    fn back(&self) -> impl Iterator<Item = &Version> {
        let sealed = self.sealed.iter().rev().flat_map(|chunk| chunk.iter().rev());
        self.open.iter().rev().chain(sealed)
    }

    /// How many changes are kept.
    pub fn len(&self) -> usize {
        self.open.len() + self.sealed.iter().map(|chunk| chunk.len()).sum::<usize>()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lays `items` back to before the changes that `undone` picks by their moment; it picks all after the first it does.
    pub fn lay_back(&self, items: &mut Items, undone: impl Fn(Moment) -> bool) {
        for version in self.back().take_while(|version| undone(version.at)) {
            match &version.old {
                Some(old) => items.insert(version.key.clone(), old.clone()),
                None => items.remove(&version.key),
            };
        }
    }

    /// What became of each item that was changed from `from` on and before `to`. An item that ended as it began, by
    /// coming and going, is not there.
    pub fn between(&self, items: &Items, from: Moment, to: Moment) -> BTreeMap<Key, ItemChange> {
        let mut items = items.clone();
        self.lay_back(&mut items, |at| at >= to);
        let mut touched: BTreeMap<Key, Moment> = BTreeMap::new();
        for version in self.back().filter(|version| version.at >= from && version.at < to) {
            touched.entry(version.key.clone()).or_insert(version.at);
        }
        let mut before = items.clone();
        self.lay_back(&mut before, |at| at >= from);
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
