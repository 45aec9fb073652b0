//! The queued changes of a partition from other regions.

use std::collections::BTreeMap;

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

/// The queued changes from one region.
#[derive(Debug)]
struct RegionQueue {
    waiting: BTreeMap<QueuePosition, Box<ReplicatedChange>>,
    /// The position of the last queued change of each item.
    last: BTreeMap<Key, QueuePosition>,
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
            last: BTreeMap::new(),
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
    /// When the first change arrives.
    fn next(&self) -> Moment {
        let first = self.waiting.keys().next().filter(|_| !self.paused);
        first.map_or(Moment::NEVER, |(arrives, _)| (*arrives).max(self.resumed))
    }

    /// The sequence number of the write that arrives first: of those that arrive at the same moment, the earlier write.
    fn first(&self) -> u64 {
        let first = self.waiting.values().next();
        first.map_or(u64::MAX, |arrival| arrival.version.stamp.sequence)
    }

    /// Adds a change after those of its item. During a pause the changes of an item are combined into one.
    fn add(&mut self, arrives: Moment, arrival: ReplicatedChange) {
        let last = self.last.get(&arrival.key).copied();
        if self.paused
            && let Some(there) = last.and_then(|last| self.waiting.get_mut(&last))
        {
            **there = arrival;
            return;
        }
        self.count += 1;
        let place = (last.map_or(arrives, |(last, _)| last.max(arrives)), self.count);
        self.last.insert(arrival.key.clone(), place);
        self.waiting.insert(place, Box::new(arrival));
    }

    fn remove(&mut self, place: QueuePosition) -> Option<ReplicatedChange> {
        let arrival = self.waiting.remove(&place)?;
        if self.last.get(&arrival.key) == Some(&place) {
            self.last.remove(&arrival.key);
        }
        Some(*arrival)
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
        let mut sources = self.sources.lock();
        let first = sources
            .values_mut()
            .min_by_key(|source| (source.next(), source.first()))?;
        let arrives = first.next();
        if arrives > now {
            return None;
        }
        let place = *first.waiting.keys().next()?;
        let arrival = first.remove(place);
        self.publish(&sources);
        Some((arrives, arrival?))
    }

    /// Puts back a change that was just taken, to arrive at a later moment, before all others of its item.
    pub fn defer(&self, until: Moment, arrival: ReplicatedChange) {
        self.with(&arrival.source.clone(), |source| {
            let waiting = source.waiting.iter();
            let behind = waiting.filter(|(_, waiting)| waiting.key == arrival.key);
            let behind: Vec<QueuePosition> = behind.map(|(place, _)| *place).collect();
            let behind = behind.into_iter().map(|place| (place.0, source.remove(place)));
            let behind: Vec<_> = behind
                .filter_map(|(arrives, behind)| Some((arrives, behind?)))
                .collect();
            source.add(until, arrival);
            for (arrives, arrival) in behind {
                source.add(arrives.max(until), arrival);
            }
        });
    }

    /// Removes a change that a commit has applied.
    pub(in crate::storage) fn remove(&self, source: &Name, key: &Key, stamp: &Stamp) {
        let mut sources = self.sources.lock();
        let Some(source) = sources.get_mut(source) else { return };
        let mut waiting = source.waiting.iter();
        let found = waiting.find(|(_, arrival)| arrival.key == *key && arrival.version.stamp == *stamp);
        if let Some(place) = found.map(|(place, _)| *place) {
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
        source.last.get(key).map(|(arrives, _)| (*arrives).max(source.resumed))
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
}
