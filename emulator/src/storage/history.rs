//! Earlier states of a partition. Recorded only while reads of the table may be stale.
//!
//! Each change records the version of the item that it replaces, and of each entry of a local index. Versions are
//! ordered by key, so a read costs the logarithm of the changes kept, and a page examines only the changes in its
//! range.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::range::KeyRange;
use crate::change::Change;
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::key::Key;
use crate::value::Item;

/// The maximum number of changes, and of bytes of replaced items, that a partition remembers. Beyond it reads are less stale.
const MOST_CHANGES: usize = 10_000;
const MOST_BYTES: usize = 16 << 20;

/// The version that a change has replaced under one key.
#[derive(Clone, Debug)]
pub(super) struct ReplacedItem {
    /// The number of the change, counted from 0.
    change: u64,
    pub(super) old: Option<Item>,
}

/// The versions that changes have replaced under one key, oldest first.
#[derive(Clone, Debug, Default)]
struct ReplacedVersions(VecDeque<ReplacedItem>);

impl ReplacedVersions {
    /// The version in a state; `None` if the item has not changed since.
    fn at(&self, state: u64) -> Option<&ReplacedItem> {
        // The first later change replaced the version of that state.
        let first = self.0.partition_point(|version| version.change < state);
        self.0.get(first)
    }
}

/// The versions that changes have replaced in one map: the table's items, or the entries of a local index.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions(BTreeMap<Key, Box<ReplacedVersions>>);

impl Versions {
    /// Adds the version that the newest change replaces.
    fn push(&mut self, key: &Key, change: u64, old: Option<&Item>) {
        let old = old.cloned();
        self.0
            .entry(key.clone())
            .or_default()
            .0
            .push_back(ReplacedItem { change, old });
    }

    /// Drops the oldest version under a key.
    fn drop_oldest(&mut self, key: &Key) {
        let Some(versions) = self.0.get_mut(key) else { return };
        versions.0.pop_front();
        if versions.0.is_empty() {
            self.0.remove(key);
        }
    }

    /// The version under a key in a state; `None` if the key has not changed since.
    fn get(&self, key: &Key, state: u64) -> Option<&ReplacedItem> {
        self.0.get(key)?.at(state)
    }

    /// The keys of a range that have changed since a state, and their versions in it.
    pub(super) fn range(&self, range: &KeyRange, state: u64) -> impl DoubleEndedIterator<Item = (&Key, Option<&Item>)> {
        self.0
            .range((range.lower.as_ref(), range.upper.as_ref()))
            .filter_map(move |(key, versions)| Some((key, versions.at(state)?.old.as_ref())))
    }
}

/// The data needed to forget one change.
#[derive(Clone, Debug)]
struct Undo {
    at: Moment,
    key: Key,
    /// The entries of local indexes that it has replaced.
    locals: Vec<(usize, Key)>,
    bytes: usize,
}

/// The changes of a partition that a stale read may not see.
#[derive(Clone, Debug)]
pub struct History {
    pub staleness: Lag,
    /// The share of reads that may be stale.
    pub share: f64,
    /// Whether reads of one caller are monotonic.
    pub monotonic: bool,
    /// When deletions by time to live were last scheduled, other than by writes.
    scheduled: Moment,
    /// When an item was last written whose deletion by time to live was due before.
    written_late: Moment,
    undos: VecDeque<Undo>,
    items: Versions,
    locals: Vec<Versions>,
    bytes: usize,
    /// The number of dropped changes.
    dropped: u64,
}

impl History {
    /// A history that starts now, of a partition with this many local indexes.
    pub fn new(staleness: Lag, monotonic: bool, locals: usize) -> History {
        History {
            staleness,
            share: 1.0,
            monotonic,
            scheduled: Moment::FIRST,
            written_late: Moment::FIRST,
            undos: VecDeque::new(),
            items: Versions::default(),
            locals: vec![Versions::default(); locals],
            bytes: 0,
            dropped: 0,
        }
    }

    /// Records a change that happens at `now` and is not applied yet, and drops versions that no read may return any
    /// more. `views` are the local indexes of the partition.
    pub fn record(&mut self, change: &Change, views: &[BTreeMap<Key, Item>], now: Moment) {
        let number = self.present();
        self.items.push(&change.key, number, change.old.as_ref());
        let mut bytes = change.old.as_ref().map_or(0, Item::size);
        let mut locals = Vec::new();
        for arm in &change.locals {
            let (Some(view), Some(versions)) = (views.get(arm.index), self.locals.get_mut(arm.index)) else {
                continue;
            };
            let inserted = arm.insert.as_ref().map(|(key, _)| key);
            for key in arm.remove.iter().chain(inserted) {
                let old = view.get(key);
                bytes += old.map_or(0, Item::size);
                versions.push(key, number, old);
                locals.push((arm.index, key.clone()));
            }
        }
        let at = self.next_at(now);
        self.bytes += bytes;
        self.undos.push_back(Undo {
            at,
            key: change.key.clone(),
            locals,
            bytes,
        });
        self.trim(at);
    }

    /// The moment of a change that happens at `now`. Requests of an earlier moment may arrive later; the order is that of the lock.
    fn next_at(&self, now: Moment) -> Moment {
        self.undos.back().map_or(now, |last| last.at.max(now))
    }

    /// Records that the next change, which happens at `now`, writes an item whose deletion by time to live is due at `due`.
    pub fn expect_deletion(&mut self, due: Moment, now: Moment) {
        let at = self.next_at(now);
        if due < at {
            self.written_late = at;
        }
    }

    /// Records that deletions by time to live are scheduled anew at `now`: some of them may be due since long before.
    pub fn schedule(&mut self, now: Moment) {
        self.scheduled = now;
    }

    /// The moment of the oldest state that a read at `now` may return. Every state has the deletions by time to live that were due
    /// by then, of items that have not been written since. [`FIRST`](Moment::FIRST) if that does not hold: readers may remember
    /// older states, or the schedule is newer.
    fn oldest(&self, now: Moment) -> Moment {
        let oldest = now.minus(self.staleness.longest());
        if self.monotonic || oldest < self.scheduled {
            return Moment::FIRST;
        }
        oldest
    }

    /// The moment by which deletions by time to live must be due so that every state that a read at `now` may return has them.
    /// [`FIRST`](Moment::FIRST) if there is none, such as while states remain from before the write of an item whose deletion was
    /// due before.
    pub fn deferrable(&self, now: Moment) -> Moment {
        let oldest = self.oldest(now);
        if oldest < self.written_late {
            return Moment::FIRST;
        }
        oldest
    }

    /// Whether every state that a read at `now` may return has the deletion by time to live, due at `due`, of the item under a
    /// key.
    pub fn is_preceded_by(&mut self, due: Moment, key: &Key, now: Moment) -> bool {
        let oldest = self.oldest(now);
        if due > oldest || self.written_late <= oldest {
            return due <= oldest;
        }
        self.trim(now);
        !self.items.0.contains_key(key)
    }

    /// Drops versions that no read at `now` may return.
    pub fn trim(&mut self, now: Moment) {
        let oldest = now.minus(self.staleness.longest());
        while let Some(undo) = self.undos.pop_front_if(|undo| undo.at <= oldest) {
            self.drop(&undo);
        }
        while self.undos.len() > MOST_CHANGES || self.bytes > MOST_BYTES {
            let Some(undo) = self.undos.pop_front() else { return };
            self.drop(&undo);
        }
    }

    fn drop(&mut self, undo: &Undo) {
        self.items.drop_oldest(&undo.key);
        for (local, key) in &undo.locals {
            self.locals[*local].drop_oldest(key);
        }
        self.bytes -= undo.bytes;
        self.dropped += 1;
    }

    /// The present state: the total number of changes.
    pub fn present(&self) -> u64 {
        self.dropped + self.undos.len() as u64
    }

    /// The state that was current the duration `before` before `now`, or the oldest that is remembered.
    pub fn state(&self, now: Moment, before: Duration) -> u64 {
        let moment = now.minus(before);
        self.dropped + self.undos.partition_point(|undo| undo.at <= moment) as u64
    }

    /// The time between the replacement of a state by the next one and `now`.
    pub fn age(&self, state: u64, now: Moment) -> Duration {
        let next = usize::try_from(state.saturating_sub(self.dropped)).ok();
        let next = next.and_then(|next| self.undos.get(next));
        next.map_or(Duration::ZERO, |undo| now.since(undo.at))
    }

    /// The version of a table's item in a state; `None` if the item has not changed since.
    pub(super) fn version(&self, key: &Key, state: u64) -> Option<&ReplacedItem> {
        self.items.get(key, state)
    }

    /// The versions of the table's items, or of the entries of a local index.
    pub(super) fn versions(&self, local: Option<usize>) -> Option<&Versions> {
        match local {
            None => Some(&self.items),
            Some(at) => self.locals.get(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::key::KeyBytes;
    use crate::value::AttributeValue;

    fn history(seconds: u64) -> History {
        History::new(Lag::Fixed(Duration::from_secs(seconds)), false, 0)
    }

    fn key(token: u64) -> Key {
        Key {
            token,
            bytes: KeyBytes::new(),
        }
    }

    fn item(text: &str) -> Item {
        Item::new(&[("pk".into(), AttributeValue::string(text))].into_iter().collect())
    }

    /// A change of a table without indexes.
    fn record(history: &mut History, token: u64, old: Option<Item>, now: Moment) {
        history.record(&Change::deletion(token, old), &[], now);
    }

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    #[test]
    fn versions_that_no_reader_needs_are_dropped() {
        let mut history = history(2);
        for seconds in 0..10 {
            record(&mut history, seconds as u64 % 3, None, at(seconds));
        }
        assert_eq!(
            (history.present(), history.undos.len(), history.items.0.len()),
            (10, 2, 2)
        );
        assert_eq!(history.state(at(9), Duration::from_secs(1)), 9);
        assert_eq!(history.state(at(9), Duration::from_secs(2)), 8);
        // Older than the remembered states: the oldest of them.
        assert_eq!(history.state(at(9), Duration::from_secs(8)), 8);
    }

    #[test]
    fn the_age_of_a_state_is_counted_from_its_replacement() {
        let mut history = history(60);
        for seconds in [10, 20, 30] {
            record(&mut history, 0, None, at(seconds));
        }
        for (state, age) in [(0, 25), (1, 15), (2, 5), (3, 0)] {
            assert_eq!(history.age(state, at(35)), Duration::from_secs(age), "{state}");
        }
        // States are numbered from the first change on, also when that is forgotten.
        record(&mut history, 0, None, at(75));
        assert_eq!((history.dropped, history.present()), (1, 4));
        for (state, age) in [(1, 60), (2, 50), (3, 5), (4, 0)] {
            assert_eq!(history.age(state, at(80)), Duration::from_secs(age), "{state}");
        }
    }

    #[test]
    fn memory_is_bounded_though_time_stands_still() {
        let mut history = history(2);
        (0..30_000).for_each(|token| record(&mut history, token, None, at(0)));
        assert_eq!((history.present(), history.undos.len()), (30_000, MOST_CHANGES));
        assert_eq!(history.items.0.len(), MOST_CHANGES);
        let item = item(&"x".repeat(300_000));
        (0..100).for_each(|token| record(&mut history, token, Some(item.clone()), at(0)));
        assert!(history.bytes <= MOST_BYTES, "{}", history.bytes);
        assert_eq!(history.present(), 30_100);
    }

    #[test]
    fn versions_are_ordered_by_the_lock_and_not_by_time() {
        let mut history = history(5);
        record(&mut history, 1, None, at(10));
        record(&mut history, 2, None, at(9));
        assert_eq!(history.state(at(12), Duration::from_secs(3)), 0);
        assert_eq!(history.state(at(12), Duration::from_secs(2)), 2);
    }

    #[test]
    fn a_deletion_of_a_late_write_is_in_later_states() {
        // A change at 10 s, and at 15 s one that writes an item whose deletion is due at some second; reads at another second.
        for (due, now, deferrable, precedes) in [
            (1, 15, None, false),
            (14, 15, None, false),
            (14, 19, None, false),
            (14, 20, Some(15), true),
            (15, 15, Some(10), false),
            (15, 19, Some(14), false),
            (15, 20, Some(15), true),
            (16, 20, Some(15), false),
            (16, 21, Some(16), true),
        ] {
            let mut history = history(5);
            record(&mut history, 1, None, at(10));
            history.expect_deletion(at(due), at(15));
            record(&mut history, 2, Some(item("a")), at(15));
            let expected = deferrable.map_or(Moment::FIRST, at);
            assert_eq!(history.deferrable(at(now)), expected, "{due} {now}");
            // The deletion of an item that was not written since precedes all states still, whenever it is applied.
            assert!(history.is_preceded_by(at(10), &key(3), at(15)), "{due} {now}");
            assert_eq!(
                history.is_preceded_by(at(due), &key(2), at(now)),
                precedes,
                "{due} {now}"
            );
        }
    }

    #[test]
    fn a_late_write_is_late_by_the_order_of_the_lock() {
        let mut history = history(5);
        record(&mut history, 1, None, at(10));
        // A request of an earlier moment: its change comes after that of 10 s.
        history.expect_deletion(at(8), at(7));
        record(&mut history, 2, None, at(7));
        let deferrable = [13, 14, 15].map(|now| history.deferrable(at(now)));
        assert_eq!(deferrable, [Moment::FIRST, Moment::FIRST, at(10)]);
        assert!(!history.is_preceded_by(at(8), &key(2), at(14)));
    }

    #[test]
    fn each_state_has_the_version_that_was_there() {
        let mut history = history(5);
        // Key 1 is inserted, changed and removed; key 2 is inserted in between.
        record(&mut history, 1, None, at(0));
        record(&mut history, 1, Some(item("a")), at(0));
        record(&mut history, 2, None, at(0));
        record(&mut history, 1, Some(item("b")), at(0));
        let (a, b) = (item("a"), item("b"));
        for (state, one, two) in [
            (0, Some(None), Some(None)),
            (1, Some(Some(&a)), Some(None)),
            (2, Some(Some(&b)), Some(None)),
            (3, Some(Some(&b)), None),
            (4, None, None),
        ] {
            let version = |token| {
                history
                    .items
                    .get(&key(token), state)
                    .map(|version| version.old.as_ref())
            };
            assert_eq!((version(1), version(2)), (one, two), "{state}");
            let all = KeyRange::of_segment(super::super::range::Segment::ALL);
            let changed = history.items.range(&all, state).count();
            assert_eq!(
                changed,
                usize::from(one.is_some()) + usize::from(two.is_some()),
                "{state}"
            );
        }
    }
}
