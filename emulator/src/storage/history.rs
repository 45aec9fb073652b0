//! Earlier states of a partition. Recorded only while reads of the table may be stale.
//!
//! Each change records the version of the item that it replaces, and of each entry of a local index. Versions are
//! ordered by key, so a read costs the logarithm of the changes kept, and a page examines only the changes in its
//! range.
//!
//! Changes are in the order in which they happen. Due work may be recorded after changes of other items that happen later: no
//! state that a read returns depends on when it is applied.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::time::Duration;

use super::range::KeyRange;
use crate::change::{Cause, Change};
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::key::Key;
use crate::value::Item;

/// The maximum number of changes, and of bytes of replaced items, that a partition remembers. Beyond it reads are less stale.
const MOST_CHANGES: usize = 10_000;
const MOST_BYTES: usize = 16 << 20;

/// The position of a change in a history. It identifies the state that has the change and all earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangePosition {
    /// When the change happens.
    pub at: Moment,
    /// Its number in the order in which changes were recorded.
    pub number: u64,
}

impl ChangePosition {
    /// Before all changes.
    const FIRST: ChangePosition = ChangePosition {
        at: Moment::FIRST,
        number: 0,
    };

    /// After the changes that have happened by a moment.
    fn after(at: Moment) -> ChangePosition {
        let number = u64::MAX;
        ChangePosition { at, number }
    }
}

/// The version that a change has replaced under one key.
#[derive(Clone, Debug)]
pub(super) struct ReplacedItem {
    change: ChangePosition,
    pub(super) old: Option<Item>,
}

/// The versions that changes have replaced under one key, oldest first.
#[derive(Clone, Debug, Default)]
struct ReplacedVersions(VecDeque<ReplacedItem>);

impl ReplacedVersions {
    /// The version in a state; `None` if the item has not changed since.
    fn at(&self, state: ChangePosition) -> Option<&ReplacedItem> {
        // The first later change replaced the version of that state.
        let first = self.0.partition_point(|version| version.change <= state);
        self.0.get(first)
    }
}

/// The versions that changes have replaced in one map: the table's items, or the entries of a local index.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions(BTreeMap<Key, Box<ReplacedVersions>>);

impl Versions {
    /// Adds the version that the newest change replaces.
    fn push(&mut self, key: &Key, change: ChangePosition, old: Option<&Item>) {
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
    fn get(&self, key: &Key, state: ChangePosition) -> Option<&ReplacedItem> {
        self.0.get(key)?.at(state)
    }

    /// When the last recorded change under a key happened.
    fn last(&self, key: &Key) -> Option<Moment> {
        Some(self.0.get(key)?.0.back()?.change.at)
    }

    /// The keys of a range that have changed since a state, and their versions in it.
    pub(super) fn range(
        &self,
        range: &KeyRange,
        state: ChangePosition,
    ) -> impl DoubleEndedIterator<Item = (&Key, Option<&Item>)> {
        self.0
            .range((range.lower.as_ref(), range.upper.as_ref()))
            .filter_map(move |(key, versions)| Some((key, versions.at(state)?.old.as_ref())))
    }
}

/// The data needed to forget one change.
#[derive(Clone, Debug)]
struct Undo {
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
    /// Whether requests may observe items whose deletion is due, on a clock that runs by itself.
    sliced: bool,
    /// When deletions by time to live were last scheduled, other than by writes: none happens before.
    pub scheduled: Moment,
    undos: BTreeMap<ChangePosition, Undo>,
    items: Versions,
    locals: Vec<Versions>,
    bytes: usize,
    /// The number of changes so far.
    count: u64,
    /// The last change.
    latest: ChangePosition,
    /// The last change that can no longer be undone: the oldest state.
    forgotten: ChangePosition,
}

impl History {
    /// A history that starts now, of a partition with this many local indexes.
    pub fn new(staleness: Lag, monotonic: bool, sliced: bool, locals: usize) -> History {
        History {
            staleness,
            share: 1.0,
            monotonic,
            sliced,
            scheduled: Moment::FIRST,
            undos: BTreeMap::new(),
            items: Versions::default(),
            locals: vec![Versions::default(); locals],
            bytes: 0,
            count: 0,
            latest: ChangePosition::FIRST,
            forgotten: ChangePosition::FIRST,
        }
    }

    /// Records that deletions by time to live are scheduled anew at `now`.
    pub fn schedule(&mut self, now: Moment) {
        self.scheduled = self.latest.at.max(now);
    }

    /// Whether changes are recorded in the order in which they are applied, since callers remember states, or observe items until
    /// their deletion is applied.
    pub fn is_ordered(&self) -> bool {
        self.monotonic || self.sliced
    }

    /// Records that a request has observed the present state at a moment: later requests change it no earlier.
    pub fn observe(&mut self, at: Moment) {
        let number = self.count;
        self.latest = self.latest.max(ChangePosition { at, number });
    }

    /// Records a change that is applied at `now` next, and drops versions that no read may return any more. `views` are the
    /// local indexes of the partition.
    pub fn record(&mut self, change: &Change, views: &[BTreeMap<Key, Item>], now: Moment) {
        self.count += 1;
        let position = ChangePosition {
            at: self.moment_of(change, now),
            number: self.count,
        };
        self.latest = self.latest.max(position);
        if position <= self.forgotten || position.at <= self.oldest(now) {
            // All states have it, and the earlier changes of its item.
            self.forgotten = self.forgotten.max(position);
            self.trim(now);
            return;
        }
        self.items.push(&change.key, position, change.old.as_ref());
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
                versions.push(key, position, old);
                locals.push((arm.index, key.clone()));
            }
        }
        self.bytes += bytes;
        let key = change.key.clone();
        self.undos.insert(position, Undo { key, locals, bytes });
        self.trim(now);
    }

    /// When a change happens that is applied at `now`. Deletions by time to live and changes of other regions happen at their own
    /// time, after earlier changes of their items. Requests of an earlier moment may arrive later; their order is that of the lock.
    fn moment_of(&self, change: &Change, now: Moment) -> Moment {
        let happened = change.happened(now);
        if change.cause == Cause::Request || self.is_ordered() {
            return happened.max(self.latest.at);
        }
        let scheduled = match change.cause {
            Cause::TimeToLive => self.scheduled,
            Cause::Request | Cause::Replication => Moment::FIRST,
        };
        let last = self.items.last(&change.key).unwrap_or(Moment::FIRST);
        happened.max(last).max(scheduled)
    }

    /// The moment of the oldest state that a read at `now` may return.
    fn oldest(&self, now: Moment) -> Moment {
        now.minus(self.staleness.longest())
    }

    /// Drops versions that no read at `now` may return.
    fn trim(&mut self, now: Moment) {
        let oldest = self.oldest(now);
        while let Some((first, _)) = self.undos.first_key_value() {
            let is_unread = first.at <= oldest;
            if !is_unread && self.undos.len() <= MOST_CHANGES && self.bytes <= MOST_BYTES {
                return;
            }
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((position, undo)) = self.undos.pop_first() else {
            return;
        };
        self.items.drop_oldest(&undo.key);
        for (local, key) in &undo.locals {
            self.locals[*local].drop_oldest(key);
        }
        self.bytes -= undo.bytes;
        self.forgotten = self.forgotten.max(position);
    }

    /// The present state, apart from due work that has not been applied.
    pub fn present(&self) -> ChangePosition {
        self.latest
    }

    /// The state that was current the duration `before` before `now`, or the oldest that is remembered.
    pub fn state(&self, now: Moment, before: Duration) -> ChangePosition {
        ChangePosition::after(now.minus(before)).max(self.forgotten)
    }

    /// When the first change after a state happened, of those that have been applied.
    pub fn next_change(&self, state: ChangePosition) -> Option<Moment> {
        let later = self.undos.range((Bound::Excluded(state), Bound::Unbounded));
        later.map(|(position, _)| position.at).next()
    }

    /// The version of a table's item in a state; `None` if the item has not changed since.
    pub(super) fn version(&self, key: &Key, state: ChangePosition) -> Option<&ReplacedItem> {
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
        History::new(Lag::Fixed(Duration::from_secs(seconds)), false, false, 0)
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

    /// The number of changes that a state has.
    fn changes(history: &History, state: ChangePosition) -> u64 {
        let later = history.undos.range((Bound::Excluded(state), Bound::Unbounded));
        history.count - later.count() as u64
    }

    /// A change that was due and is applied later.
    fn record_due(history: &mut History, token: u64, old: Option<Item>, (due, now): (i64, i64), cause: Cause) {
        let change = Change {
            cause,
            due: Some(at(due)),
            ..Change::deletion(token, old)
        };
        history.record(&change, &[], at(now));
    }

    #[test]
    fn versions_that_no_reader_needs_are_dropped() {
        let mut history = history(2);
        for seconds in 0..10 {
            record(&mut history, seconds as u64 % 3, None, at(seconds));
        }
        assert_eq!((history.count, history.undos.len(), history.items.0.len()), (10, 2, 2));
        let state = |before| changes(&history, history.state(at(9), Duration::from_secs(before)));
        // Older than the remembered states: the oldest of them.
        assert_eq!([1, 2, 8].map(state), [9, 8, 8]);
    }

    #[test]
    fn a_state_is_replaced_by_the_next_change() {
        let mut history = history(60);
        for seconds in [10, 20, 30] {
            record(&mut history, 0, None, at(seconds));
        }
        for (before, next) in [
            (30, Some(10)),
            (25, Some(20)),
            (16, Some(20)),
            (15, Some(30)),
            (5, None),
        ] {
            let state = history.state(at(35), Duration::from_secs(before));
            assert_eq!(history.next_change(state), next.map(at), "{before}");
        }
        assert_eq!(history.next_change(history.present()), None);
        // A state that is forgotten is replaced by the oldest one.
        record(&mut history, 0, None, at(75));
        let state = history.state(at(80), Duration::from_secs(75));
        assert_eq!((state.at, history.next_change(state)), (at(10), Some(at(20))));
    }

    #[test]
    fn memory_is_bounded_though_time_stands_still() {
        let mut history = history(2);
        (0..30_000).for_each(|token| record(&mut history, token, None, at(0)));
        assert_eq!((history.count, history.undos.len()), (30_000, MOST_CHANGES));
        assert_eq!(history.items.0.len(), MOST_CHANGES);
        let item = item(&"x".repeat(300_000));
        (0..100).for_each(|token| record(&mut history, token, Some(item.clone()), at(0)));
        assert!(history.bytes <= MOST_BYTES, "{}", history.bytes);
        assert_eq!(history.count, 30_100);
        // Due work that happens before all remembered states is not recorded.
        let before = history.undos.len();
        record_due(&mut history, 7, None, (-1, 0), Cause::Replication);
        assert_eq!(history.undos.len(), before);
    }

    #[test]
    fn versions_are_ordered_by_the_lock_and_not_by_time() {
        let mut history = history(5);
        record(&mut history, 1, None, at(10));
        record(&mut history, 2, None, at(9));
        let state = |before| changes(&history, history.state(at(12), Duration::from_secs(before)));
        assert_eq!([3, 2].map(state), [0, 2]);
    }

    /// Whenever due work is applied, it happens at its own time, but not before earlier changes of its item, or before deletions
    /// were scheduled. Where reads are monotonic, it follows what was applied before it.
    #[test]
    fn due_work_happens_when_it_was_due() {
        let (ttl, arrival) = (Cause::TimeToLive, Cause::Replication);
        // The moment at which due work of an item happens that is applied at 20 s, after changes of item 1 at 10 s and of item 2
        // at 15 s, while deletions were scheduled at 12 s.
        for (token, due, cause, monotonic, expect) in [
            (3, 14, ttl, false, 14),
            (3, 11, ttl, false, 12),
            (3, 11, arrival, false, 11),
            (1, 9, arrival, false, 10),
            (1, 11, arrival, false, 11),
            (2, 14, ttl, false, 15),
            (2, 17, ttl, false, 17),
            (3, 14, ttl, true, 15),
            (3, 11, arrival, true, 15),
            (3, 17, arrival, true, 17),
        ] {
            let mut history = history(60);
            history.monotonic = monotonic;
            record(&mut history, 1, None, at(10));
            record(&mut history, 2, None, at(15));
            history.scheduled = at(12);
            record_due(&mut history, token, Some(item("a")), (due, 20), cause);
            let position = history.undos.keys().find(|position| position.number == 3).unwrap();
            assert_eq!(position.at, at(expect), "{token} {due} {monotonic}");
            for second in 5..20 {
                let state = history.state(at(20), Duration::from_secs(20 - second as u64));
                let version = history.items.get(&key(token), state);
                let has_old = version.is_some_and(|version| version.old.is_some());
                let before = [(1, 10), (2, 15)]
                    .iter()
                    .any(|(other, written)| *other == token && second < *written);
                assert_eq!(has_old, second < expect && !before, "{token} {due} {second}");
            }
        }
        // A deletion that reads may observe until it is applied happens after what was applied before it.
        let mut history = History {
            sliced: true,
            ..history(60)
        };
        record(&mut history, 1, None, at(15));
        record_due(&mut history, 3, Some(item("a")), (14, 20), ttl);
        assert_eq!(
            history.undos.keys().map(|position| position.at).collect::<Vec<_>>(),
            [at(15); 2]
        );
    }

    /// States do not depend on the order in which due work of different items is applied.
    #[test]
    fn states_do_not_depend_on_when_due_work_is_applied() {
        for seed in 0..200 {
            let choice = |what, at, end| crate::chance::decide(seed, what, b"", at) % end;
            let [mut whole, mut left] = [(); 2].map(|()| history(30));
            let mut waiting: Vec<(u64, i64)> = Vec::new();
            for second in 0..60 {
                let token = choice("token", second, 8);
                let now = second as i64;
                // The due work of an item precedes its next change.
                let required = |(other, _): &mut (u64, i64)| *other == token || choice("apply", second, 6) == 0;
                for (other, due) in waiting.extract_if(.., required) {
                    record_due(&mut left, other, Some(item("due")), (due, now), Cause::Replication);
                }
                if choice("is due", second, 2) == 0 {
                    record_due(&mut whole, token, Some(item("due")), (now, now), Cause::Replication);
                    waiting.push((token, now));
                } else {
                    let old = item(&second.to_string());
                    record(&mut whole, token, Some(old.clone()), at(now));
                    record(&mut left, token, Some(old), at(now));
                }
            }
            for (other, due) in waiting.drain(..) {
                record_due(&mut left, other, Some(item("due")), (due, 60), Cause::Replication);
            }
            for (before, token) in (0..30).flat_map(|before| (0..8).map(move |token| (before, token))) {
                let version = |history: &History| {
                    let state = history.state(at(60), Duration::from_secs(before));
                    history.items.get(&key(token), state).map(|version| version.old.clone())
                };
                assert_eq!(
                    version(&whole),
                    version(&left),
                    "seed {seed}: {token} {before} s before"
                );
            }
        }
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
        for (number, one, two) in [
            (0, Some(None), Some(None)),
            (1, Some(Some(&a)), Some(None)),
            (2, Some(Some(&b)), Some(None)),
            (3, Some(Some(&b)), None),
            (4, None, None),
        ] {
            let state = ChangePosition { at: at(0), number };
            let version = |token| {
                history
                    .items
                    .get(&key(token), state)
                    .map(|version| version.old.as_ref())
            };
            assert_eq!((version(1), version(2)), (one, two), "{number}");
            let all = KeyRange::of_segment(super::super::range::Segment::ALL);
            let changed = history.items.range(&all, state).count();
            assert_eq!(
                changed,
                usize::from(one.is_some()) + usize::from(two.is_some()),
                "{number}"
            );
        }
    }
}
