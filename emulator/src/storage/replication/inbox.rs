//! The queued changes of a partition from other regions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::super::delay::{Delays, Propagation};
use super::version::{ReplicaVersion, Stamp};
use crate::clock::Moment;
use crate::key::Key;
use crate::sort;
use crate::sorted::SortedMap;
use crate::sync::{AtomicI64, Mutex, Ordering};
use crate::value::{Item, Name};

/// A change of an item in another region.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicatedChange {
    /// The region of its origin.
    pub source: Name,
    pub key: Key,
    /// The new item; `None` removes it.
    pub item: Option<Item>,
    pub version: ReplicaVersion,
    pub happened: Moment,
}

/// When a change arrives, and its number among those of its source.
type QueuePosition = (Moment, u64);

/// Before and after all other positions.
const FIRST: QueuePosition = (Moment::FIRST, 0);
const LAST: QueuePosition = (Moment::NEVER, u64::MAX);

/// The queued changes from one region.
#[derive(Debug)]
struct RegionQueue {
    waiting: BTreeMap<QueuePosition, Box<ReplicatedChange>>,
    /// The positions of the queued changes of each item, by key.
    places: BTreeSet<(Key, QueuePosition)>,
    delays: Delays,
    /// The number of changes so far.
    count: u64,
    /// Whether replication from the region is paused.
    paused: bool,
    /// When it was last resumed.
    resumed: Moment,
}

impl Default for RegionQueue {
    fn default() -> RegionQueue {
        RegionQueue {
            waiting: BTreeMap::new(),
            places: BTreeSet::new(),
            delays: Delays::default(),
            count: 0,
            paused: false,
            resumed: Moment::FIRST,
        }
    }
}

/// The queued changes from one region, in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedInbox {
    pub source: Name,
    /// Whether replication from the region is paused.
    pub paused: bool,
    /// When it was last resumed.
    pub resumed: Moment,
    /// The changes, in the order of their arrival, and when each arrives.
    pub waiting: Vec<(Moment, ReplicatedChange)>,
    /// The number of delayed changes of each item, by the item's hash.
    pub delays: BTreeMap<u64, u64>,
}

/// The queued changes of a partition from other regions. Changes of an item from one region arrive in order; changes of
/// different items, or from different regions, can overtake each other.
#[derive(Debug)]
pub struct Inbox {
    /// When the next change arrives, in microseconds; changed under the lock.
    next: AtomicI64,
    sources: Mutex<SortedMap<Name, RegionQueue>>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox {
            next: AtomicI64::new(Moment::NEVER.micros()),
            sources: Mutex::default(),
        }
    }
}

impl RegionQueue {
    /// When the change at a position arrives.
    fn arrival(&self, place: QueuePosition) -> Moment {
        if self.paused {
            Moment::NEVER
        } else {
            place.0.max(self.resumed)
        }
    }

    /// The position of the first change.
    fn first(&self) -> Option<QueuePosition> {
        self.waiting.keys().next().copied()
    }

    /// When the first change arrives.
    fn next(&self) -> Moment {
        self.first().map_or(Moment::NEVER, |place| self.arrival(place))
    }

    /// The positions of the changes of an item, in order.
    fn of_item(&self, key: &Key) -> impl DoubleEndedIterator<Item = QueuePosition> {
        let of_key = self.places.range((key.clone(), FIRST)..=(key.clone(), LAST));
        of_key.map(|(_, place)| *place)
    }

    /// When the first change of an item arrives.
    fn next_of(&self, key: &Key) -> Moment {
        let first = self.of_item(key).next();
        first.map_or(Moment::NEVER, |place| self.arrival(place))
    }

    /// Adds a change after those of its item. During a pause the changes of an item are combined into one.
    fn add(&mut self, arrives: Moment, arrival: ReplicatedChange) {
        let last = self.of_item(&arrival.key).next_back();
        if self.paused
            && let Some(there) = last.and_then(|last| self.waiting.get_mut(&last))
        {
            **there = arrival;
            return;
        }
        self.count += 1;
        let place = (last.map_or(arrives, |(last, _)| last.max(arrives)), self.count);
        self.places.insert((arrival.key.clone(), place));
        self.waiting.insert(place, Box::new(arrival));
    }

    fn remove(&mut self, place: QueuePosition) -> Option<ReplicatedChange> {
        let arrival = self.waiting.remove(&place)?;
        let place = (arrival.key.clone(), place);
        self.places.remove(&place);
        Some(*arrival)
    }

    /// Makes the changes of an item arrive no earlier than at a moment, after `first`, if that is a change of the item.
    fn delay(&mut self, key: &Key, until: Moment, first: Option<ReplicatedChange>) {
        let places: Vec<QueuePosition> = self.of_item(key).collect();
        let waiting = places.into_iter().map(|place| (place.0, self.remove(place)));
        let waiting: Vec<_> = waiting.collect();
        for (arrives, arrival) in [(until, first)].into_iter().chain(waiting) {
            if let Some(arrival) = arrival {
                self.add(arrives.max(until), arrival);
            }
        }
    }
}

impl Inbox {
    /// When the next change arrives.
    #[inline]
    pub fn next(&self) -> Moment {
        Moment::from_micros(self.next.load(Ordering::Acquire))
    }

    /// Whether a change has arrived by `now`.
    #[inline]
    pub fn is_due(&self, now: Moment) -> bool {
        self.next.load(Ordering::Acquire) <= now.micros()
    }

    /// Changes the queue of a region, and publishes when the next change arrives.
    fn with<R>(&self, source: &Name, change: impl FnOnce(&mut RegionQueue) -> R) -> R {
        let mut sources = self.sources.lock();
        let result = change(sources.get_or_default(source));
        self.publish(&sources);
        result
    }

    /// Publishes when the next change arrives; called with the lock held.
    fn publish(&self, sources: &SortedMap<Name, RegionQueue>) {
        let next = sources.values().map(RegionQueue::next).min().unwrap_or(Moment::NEVER);
        self.next.store(next.micros(), Ordering::Release);
    }

    /// Queues a change, which arrives after the delay of its item.
    pub fn push(&self, arrival: ReplicatedChange, propagation: &Propagation<'_>) {
        self.with(&arrival.source.clone(), |source| {
            let delay = source.delays.next(propagation.item(&arrival.key), propagation);
            source.add(arrival.happened.plus(delay), arrival);
        });
    }

    /// Takes the first change that has arrived by `now`, and when it did.
    pub fn pop(&self, now: Moment) -> Option<(Moment, ReplicatedChange)> {
        self.take(now, RegionQueue::first)
    }

    /// Takes the first change of an item that has arrived by `now`, and when it did.
    pub fn pop_of(&self, key: &Key, now: Moment) -> Option<(Moment, ReplicatedChange)> {
        if !self.is_due(now) {
            return None;
        }
        self.take(now, |source| source.of_item(key).next())
    }

    /// Takes the change that arrives first, by `now`, of the first ones of each region: of those that arrive at the same
    /// moment, the earlier write.
    fn take(
        &self,
        now: Moment,
        first: impl Fn(&RegionQueue) -> Option<QueuePosition>,
    ) -> Option<(Moment, ReplicatedChange)> {
        let mut sources = self.sources.lock();
        let firsts = sources.values_mut().filter_map(|source| {
            let place = first(source)?;
            let arrives = source.arrival(place);
            let sequence = source.waiting.get(&place)?.version.stamp.sequence;
            (arrives <= now).then_some((arrives, sequence, place, source))
        });
        let (arrives, _, place, source) = firsts.min_by_key(|(arrives, sequence, ..)| (*arrives, *sequence))?;
        let arrival = source.remove(place);
        self.publish(&sources);
        Some((arrives, arrival?))
    }

    /// Whether a change of an item has arrived by `now`.
    pub fn is_due_for(&self, key: &Key, now: Moment) -> bool {
        self.is_due(now) && self.sources.lock().values().any(|source| source.next_of(key) <= now)
    }

    /// The keys of a range whose changes have arrived by `now`, in order: of each region, at most `most`.
    pub fn due_in(&self, (lower, upper): (Bound<&Key>, Bound<&Key>), now: Moment, most: usize) -> Vec<Key> {
        let mut keys = Vec::new();
        if !self.is_due(now) {
            return keys;
        }
        let lower = match lower {
            Bound::Included(key) => Bound::Included((key.clone(), FIRST)),
            Bound::Excluded(key) => Bound::Excluded((key.clone(), LAST)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let upper = match upper {
            Bound::Included(key) => Bound::Included((key.clone(), LAST)),
            Bound::Excluded(key) => Bound::Excluded((key.clone(), FIRST)),
            Bound::Unbounded => Bound::Unbounded,
        };
        for source in self.sources.lock().values() {
            let places = source.places.range((lower.clone(), upper.clone()));
            let due = places.filter(|(_, place)| source.arrival(*place) <= now);
            keys.extend(due.map(|(key, _)| key.clone()).take(most));
        }
        sort::sort_unique(&mut keys);
        keys
    }

    /// Puts back a change that was just taken, to arrive at a later moment, before all others of its item.
    pub fn defer(&self, until: Moment, arrival: ReplicatedChange) {
        self.with(&arrival.source.clone(), |source| {
            source.delay(&arrival.key.clone(), until, Some(arrival));
        });
    }

    /// Makes the changes of an item that arrive before a moment arrive then.
    pub fn delay(&self, key: &Key, until: Moment) {
        if !self.is_due(until) {
            return;
        }
        let mut sources = self.sources.lock();
        for source in sources.values_mut() {
            if source.next_of(key) < until {
                source.delay(key, until, None);
            }
        }
        self.publish(&sources);
    }

    /// Removes a change that a commit has applied.
    pub(in crate::storage) fn remove(&self, source: &Name, key: &Key, stamp: &Stamp) {
        let mut sources = self.sources.lock();
        let Some(source) = sources.get_mut(source) else { return };
        let is_applied = |place: &QueuePosition| {
            let arrival = source.waiting.get(place);
            arrival.is_some_and(|arrival| arrival.version.stamp == *stamp)
        };
        let found = source.of_item(key).find(is_applied);
        if let Some(place) = found {
            source.remove(place);
            self.publish(&sources);
        }
    }

    /// Pauses replication from a region, or resumes it at `now`.
    pub(in crate::storage) fn set_paused(&self, source: &Name, paused: bool, now: Moment) {
        self.with(source, |source| {
            if source.paused && !paused {
                source.resumed = now;
            }
            source.paused = paused;
        });
    }

    /// Whether replication from a region is paused.
    pub fn is_paused(&self, source: &str) -> bool {
        self.sources.lock().get(source).is_some_and(|source| source.paused)
    }

    /// The number of queued changes from a region.
    pub fn waiting(&self, source: &str) -> usize {
        self.sources.lock().get(source).map_or(0, |source| source.waiting.len())
    }

    /// The number of queued changes.
    pub fn count(&self) -> usize {
        self.sources.lock().values().map(|source| source.waiting.len()).sum()
    }

    /// Whether no change is queued.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The first queued changes, in the order of their arrival; the moment is `None` while the source is paused.
    pub fn first(&self, most: usize) -> Vec<(Option<Moment>, ReplicatedChange)> {
        let sources = self.sources.lock();
        let of = |source: &RegionQueue| {
            let (paused, resumed) = (source.paused, source.resumed);
            let waiting = source.waiting.iter().take(most);
            let waiting = waiting.map(move |(place, arrival)| {
                (
                    (!paused).then(|| place.0.max(resumed)),
                    ReplicatedChange::clone(arrival),
                )
            });
            waiting.collect::<Vec<_>>()
        };
        let mut first: Vec<_> = sources.values().flat_map(of).collect();
        sort::sort_by_key(&mut first, |(arrives, _)| arrives.unwrap_or(Moment::NEVER));
        first.truncate(most);
        first
    }

    /// When the last change of an item from a region arrives; `None` if none is queued, or replication is paused.
    pub fn last_arrival(&self, source: &str, key: &Key) -> Option<Moment> {
        let sources = self.sources.lock();
        let source = sources.get(source).filter(|source| !source.paused)?;
        let last = source.of_item(key).next_back();
        last.map(|place| source.arrival(place))
    }

    /// When all queued changes from a region have arrived: never, if some wait while replication is paused.
    pub fn settled_at(&self, source: &str) -> Moment {
        let sources = self.sources.lock();
        let waiting = sources.get(source).filter(|source| !source.waiting.is_empty());
        let end = |source: &RegionQueue| {
            let last = source.waiting.keys().next_back();
            last.map(|(arrives, _)| (*arrives).max(source.resumed))
        };
        match waiting {
            Some(source) if source.paused => Moment::NEVER,
            waiting => waiting.and_then(end).unwrap_or(Moment::FIRST),
        }
    }

    /// All queued changes, by region.
    pub fn save(&self) -> Vec<SavedInbox> {
        let sources = self.sources.lock();
        let saved = sources.iter().map(|(region, source)| SavedInbox {
            source: region.clone(),
            paused: source.paused,
            resumed: source.resumed,
            waiting: source
                .waiting
                .iter()
                .map(|(place, arrival)| (place.0, ReplicatedChange::clone(arrival)))
                .collect(),
            delays: source.delays.0.clone(),
        });
        saved.collect()
    }

    /// Restores queued changes from a region, after those that were restored before.
    pub(in crate::storage) fn restore(&self, saved: SavedInbox) {
        self.with(&saved.source.clone(), |source| {
            source.delays.0.extend(saved.delays);
            source.resumed = saved.resumed;
            source.paused = false;
            for (arrives, arrival) in saved.waiting {
                source.add(arrives, arrival);
            }
            source.paused = saved.paused;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::conditions::Lag;
    use crate::key::KeyBytes;

    fn at(seconds: u64) -> Moment {
        Moment::START.plus(Duration::from_secs(seconds))
    }

    fn arrival(source: &str, item: u8, number: u64) -> ReplicatedChange {
        let stamp = Stamp {
            time: at(number),
            sequence: number,
            region: source.into(),
        };
        ReplicatedChange {
            source: source.into(),
            key: Key {
                token: 0,
                bytes: KeyBytes::from_slice(&[item]),
            },
            item: None,
            version: ReplicaVersion {
                seen: [(source.into(), number)].into_iter().collect(),
                stamp,
            },
            happened: at(number),
        }
    }

    fn push(inbox: &Inbox, source: &str, item: u8, number: u64, lag: u64) {
        let propagation = Propagation {
            seed: 7,
            place: "a to b",
            lag: Lag::Fixed(Duration::from_secs(lag)),
        };
        inbox.push(arrival(source, item, number), &propagation);
    }

    fn drain(inbox: &Inbox, now: u64) -> Vec<(u64, u64)> {
        let arrived = std::iter::from_fn(|| inbox.pop(at(now)));
        let seconds = |moment: Moment| moment.since(Moment::START).as_secs();
        arrived
            .map(|(when, arrival)| (seconds(when), arrival.version.stamp.sequence))
            .collect()
    }

    #[test]
    fn changes_of_one_item_arrive_in_their_order_and_others_overtake() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 50);
        push(&inbox, "a", 2, 2, 10);
        push(&inbox, "a", 1, 3, 10);
        push(&inbox, "b", 1, 4, 10);
        assert_eq!(
            (inbox.next(), inbox.is_due(at(11)), inbox.is_due(at(12))),
            (at(12), false, true)
        );
        assert_eq!(drain(&inbox, 20), [(12, 2), (14, 4)]);
        assert_eq!(inbox.next(), at(51));
        assert_eq!(drain(&inbox, 100), [(51, 1), (51, 3)]);
        assert!(inbox.is_empty() && inbox.next() == Moment::NEVER);
    }

    #[test]
    fn changes_settle_after_a_pause() {
        let (inbox, source) = (Inbox::default(), Name::new("a"));
        assert_eq!(inbox.settled_at("a"), Moment::FIRST);
        push(&inbox, "a", 1, 1, 10);
        push(&inbox, "a", 2, 2, 20);
        assert_eq!(inbox.settled_at("a"), at(22));
        inbox.set_paused(&source, true, at(3));
        assert_eq!(inbox.settled_at("a"), Moment::NEVER);
        inbox.set_paused(&source, false, at(50));
        assert_eq!(inbox.settled_at("a"), at(50));
        assert_eq!(drain(&inbox, 60), [(50, 1), (50, 2)]);
        assert_eq!(inbox.settled_at("a"), Moment::FIRST);
    }

    /// The first changes are those that arrive first, whichever regions they come from; those of a paused region are last.
    #[test]
    fn the_first_changes_of_all_regions_are_in_the_order_of_their_arrival() {
        let inbox = Inbox::default();
        for (source, item, number, lag) in [
            ("a", 1, 1, 30),
            ("b", 2, 2, 5),
            ("a", 3, 3, 17),
            ("c", 4, 4, 8),
            ("b", 5, 5, 20),
            ("c", 6, 6, 0),
        ] {
            push(&inbox, source, item, number, lag);
        }
        let first = |most: usize| {
            let first = inbox.first(most).into_iter();
            let seconds = |moment: Moment| moment.since(Moment::START).as_secs();
            let short = |(arrives, change): (Option<Moment>, ReplicatedChange)| {
                (arrives.map(seconds), change.version.stamp.sequence)
            };
            first.map(short).collect::<Vec<_>>()
        };
        let all = [6, 7, 12, 20, 25, 31].map(Some);
        let all: Vec<_> = all.into_iter().zip([6, 2, 4, 3, 5, 1]).collect();
        (0..=9).for_each(|most| assert_eq!(first(most), all[..most.min(6)], "{most}"));
        inbox.set_paused(&"b".into(), true, at(6));
        let paused = [
            (Some(6), 6),
            (Some(12), 4),
            (Some(20), 3),
            (Some(31), 1),
            (None, 2),
            (None, 5),
        ];
        (0..=9).for_each(|most| assert_eq!(first(most), paused[..most.min(6)], "{most}, one is paused"));
        inbox.set_paused(&"b".into(), false, at(15));
        let resumed = [(6, 6), (12, 4), (15, 2), (20, 3), (25, 5), (31, 1)];
        let resumed = resumed.map(|(arrives, number)| (Some(arrives), number));
        (0..=9).for_each(|most| assert_eq!(first(most), resumed[..most.min(6)], "{most}, resumed"));
    }

    /// The last arrival of an item is that of its last change, and of the region that is asked for.
    #[test]
    fn the_last_arrival_is_that_of_the_last_change_of_the_item() {
        let inbox = Inbox::default();
        let last = |source: &str, item: u8| inbox.last_arrival(source, &arrival(source, item, 0).key);
        assert_eq!(last("a", 1), None);
        for (source, item, number, lag, expect) in [
            ("a", 1, 1, 10, 11),
            ("a", 1, 6, 10, 16),
            ("a", 2, 7, 50, 57),
            ("b", 1, 8, 30, 38),
            // It waits for the one before.
            ("a", 2, 9, 10, 57),
        ] {
            push(&inbox, source, item, number, lag);
            assert_eq!(last(source, item), Some(at(expect)), "{source} {item} {number}");
        }
        assert_eq!([last("a", 1), last("b", 2)], [Some(at(16)), None]);
        inbox.set_paused(&"a".into(), true, at(10));
        assert_eq!([last("a", 1), last("b", 1)], [None, Some(at(38))]);
        inbox.set_paused(&"a".into(), false, at(20));
        assert_eq!([last("a", 1), last("a", 2)], [Some(at(20)), Some(at(57))]);
    }

    #[test]
    fn a_change_that_is_deferred_stays_before_those_of_its_item() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 9);
        push(&inbox, "a", 1, 2, 9);
        push(&inbox, "b", 2, 3, 50);
        assert_eq!((inbox.count(), inbox.waiting("a"), inbox.waiting("b")), (3, 2, 1));
        let (_, first) = inbox.pop(at(10)).unwrap();
        inbox.defer(at(30), first);
        assert_eq!(drain(&inbox, 29), []);
        assert_eq!(drain(&inbox, 60), [(30, 1), (30, 2), (53, 3)]);
        // Replication that was not paused is not resumed.
        push(&inbox, "a", 1, 4, 0);
        inbox.set_paused(&"a".into(), false, at(90));
        assert_eq!(drain(&inbox, 100), [(4, 4)]);
    }

    #[test]
    fn writes_for_a_paused_region_are_combined() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 0);
        inbox.set_paused(&"a".into(), true, at(2));
        (2..100).for_each(|number| push(&inbox, "a", 1, number, 0));
        push(&inbox, "b", 1, 100, 0);
        assert_eq!(
            (inbox.waiting("a"), inbox.is_paused("a"), inbox.is_paused("b")),
            (1, true, false)
        );
        assert_eq!(drain(&inbox, 200), [(100, 100)]);
        inbox.set_paused(&"a".into(), false, at(300));
        assert_eq!(
            (inbox.next(), drain(&inbox, 299), drain(&inbox, 300)),
            (at(300), vec![], vec![(300, 99)])
        );
    }

    #[test]
    fn a_deferred_write_stays_before_later_ones_of_its_item() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 0);
        push(&inbox, "a", 1, 2, 0);
        push(&inbox, "a", 2, 3, 0);
        let (_, first) = inbox.pop(at(10)).unwrap();
        inbox.defer(at(20), first);
        assert_eq!(
            (drain(&inbox, 10), drain(&inbox, 20)),
            (vec![(3, 3)], vec![(20, 1), (20, 2)])
        );
    }

    /// Changes are taken and delayed by the key of their item, in the order of the item's other changes.
    #[test]
    fn changes_are_found_by_key() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 9);
        push(&inbox, "a", 2, 2, 9);
        push(&inbox, "b", 2, 3, 0);
        push(&inbox, "a", 2, 4, 9);
        push(&inbox, "b", 3, 5, 9);
        let key = |item| arrival("a", item, 0).key;
        let (one, two, three) = (key(1), key(2), key(3));
        let due = |second| [&one, &two, &three].map(|key| inbox.is_due_for(key, at(second)));
        assert_eq!(
            [2, 3, 10, 14].map(due),
            [[false; 3], [false, true, false], [true, true, false], [true; 3]]
        );
        let range = |lower, upper, second, most| {
            let keys = inbox.due_in((lower, upper), at(second), most);
            keys.iter().map(|key| key.bytes[0]).collect::<Vec<_>>()
        };
        let all = Bound::Unbounded;
        assert_eq!(
            [2, 3, 10, 14].map(|second| range(all, all, second, 9)),
            [vec![], vec![2], vec![1, 2], vec![1, 2, 3]]
        );
        assert_eq!(range(Bound::Included(&one), Bound::Excluded(&two), 14, 9), [1]);
        assert_eq!(range(Bound::Excluded(&one), Bound::Included(&two), 14, 9), [2]);
        assert_eq!(range(Bound::Included(&two), all, 14, 9), [2, 3]);
        assert_eq!(range(all, all, 14, 1), [1, 2]);
        // The item of one region's changes waits until then, and the others arrive as before.
        inbox.delay(&two, at(12));
        let take = |key: &Key, second| {
            let taken = inbox.pop_of(key, at(second))?;
            Some((taken.0.since(Moment::START).as_secs(), taken.1.version.stamp.sequence))
        };
        assert_eq!([take(&two, 11), take(&one, 11)], [None, Some((10, 1))]);
        assert_eq!(inbox.next(), at(12));
        let taken: Vec<_> = std::iter::from_fn(|| take(&two, 20)).collect();
        assert_eq!(taken, [(12, 2), (12, 3), (13, 4)]);
        assert_eq!((drain(&inbox, 20), inbox.is_empty()), (vec![(14, 5)], true));
        // Nothing arrives during a pause, and all of it after.
        push(&inbox, "a", 1, 20, 0);
        inbox.set_paused(&"a".into(), true, at(21));
        inbox.delay(&one, at(30));
        assert!(!inbox.is_due_for(&one, at(40)) && range(all, all, 40, 9).is_empty() && take(&one, 40).is_none());
        inbox.set_paused(&"a".into(), false, at(50));
        assert_eq!([take(&one, 49), take(&one, 50)], [None, Some((50, 20))]);
    }

    #[test]
    fn a_saved_inbox_is_restored() {
        let inbox = Inbox::default();
        push(&inbox, "a", 1, 1, 5);
        push(&inbox, "a", 1, 2, 1);
        push(&inbox, "a", 2, 3, 1);
        push(&inbox, "b", 2, 4, 1);
        inbox.set_paused(&"b".into(), true, at(4));
        inbox.remove(&"a".into(), &arrival("a", 2, 3).key, &arrival("a", 2, 3).version.stamp);
        let saved = inbox.save();
        let copy = Inbox::default();
        saved.iter().for_each(|saved| copy.restore(saved.clone()));
        assert_eq!((copy.save(), copy.next()), (saved, inbox.next()));
        assert_eq!(
            (
                copy.last_arrival("a", &arrival("a", 1, 1).key),
                copy.last_arrival("b", &arrival("b", 2, 4).key)
            ),
            (Some(at(6)), None)
        );
        assert_eq!(copy.first(9).len(), 3);
        assert_eq!(drain(&copy, 100), [(6, 1), (6, 2)]);
    }

    /// A paused source's changes of one item stay separate.
    #[test]
    fn a_saved_inbox_that_is_paused_is_restored() {
        let inbox = Inbox::default();
        for number in 1..=3 {
            push(&inbox, "a", 1, number, 5);
        }
        inbox.set_paused(&"a".into(), true, at(1));
        let (saved, copy) = (inbox.save(), Inbox::default());
        saved.iter().for_each(|saved| copy.restore(saved.clone()));
        assert_eq!((copy.save(), copy.next()), (saved, inbox.next()));
        assert_eq!(copy.first(9).len(), 3);
        for inbox in [&inbox, &copy] {
            inbox.set_paused(&"a".into(), false, at(20));
        }
        assert_eq!(drain(&copy, 100), drain(&inbox, 100));
    }
}
