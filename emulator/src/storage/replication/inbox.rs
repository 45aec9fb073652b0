//! The changes on their way to a partition from other regions.

use std::collections::BTreeMap;

use super::super::delay::{Delays, Propagation};
use super::version::{ReplicaVersion, Stamp};
use crate::clock::Moment;
use crate::key::Key;
use crate::sync::{AtomicI64, Mutex, Ordering};
use crate::value::{Item, Name};

/// A change of an item in another region.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The region it comes from.
    pub source: Name,
    /// The item's key.
    pub key: Key,
    /// The item from then on.
    pub item: Option<Item>,
    /// Its version.
    pub version: ReplicaVersion,
    /// When it happened there.
    pub happened: Moment,
}

/// When a change arrives, and its number among those of its source.
type Place = (Moment, u64);

/// The changes on their way from one region.
#[derive(Debug)]
struct Source {
    waiting: BTreeMap<Place, Arrival>,
    /// The place of the last change of each item that is on its way.
    last: BTreeMap<Key, Place>,
    delays: Delays,
    /// How many changes there were.
    count: u64,
    /// Whether nothing arrives, however long it waits.
    paused: bool,
    /// When that last ended.
    resumed: Moment,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            waiting: BTreeMap::new(),
            last: BTreeMap::new(),
            delays: Delays::default(),
            count: 0,
            paused: false,
            resumed: Moment::FIRST,
        }
    }
}

/// The changes on their way from one region, as a checkpoint has them.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedInbox {
    /// The region.
    pub source: Name,
    /// Whether nothing arrives.
    pub paused: bool,
    /// When that last ended.
    pub resumed: Moment,
    /// The changes, in the order in which they arrive, and when each does.
    pub waiting: Vec<(Moment, Arrival)>,
    /// How often changes of an item were delayed, by the item's hash.
    pub delays: BTreeMap<u64, u64>,
}

/// The changes on their way to a partition from other regions. Changes of an item from one region arrive in their order;
/// changes of different items, or from different regions, overtake each other.
#[derive(Debug)]
pub struct Inbox {
    /// When something arrives next, in microseconds; changed under the lock.
    next: AtomicI64,
    sources: Mutex<BTreeMap<Name, Source>>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox {
            next: AtomicI64::new(Moment::NEVER.micros()),
            sources: Mutex::default(),
        }
    }
}

impl Source {
    /// When the first change arrives.
    fn next(&self) -> Moment {
        let first = self.waiting.keys().next().filter(|_| !self.paused);
        first.map_or(Moment::NEVER, |(arrives, _)| (*arrives).max(self.resumed))
    }

    /// The number of the write that arrives first: of those that arrive at the same moment, the earlier comes first.
    fn first(&self) -> u64 {
        let first = self.waiting.values().next();
        first.map_or(u64::MAX, |arrival| arrival.version.stamp.sequence)
    }

    /// Adds a change behind those of its item. What waits while nothing arrives is combined into one change of its item.
    fn add(&mut self, arrives: Moment, arrival: Arrival) {
        let last = self.last.get(&arrival.key).copied();
        if self.paused
            && let Some(there) = last.and_then(|last| self.waiting.get_mut(&last))
        {
            *there = arrival;
            return;
        }
        self.count += 1;
        let place = (last.map_or(arrives, |(last, _)| last.max(arrives)), self.count);
        self.last.insert(arrival.key.clone(), place);
        self.waiting.insert(place, arrival);
    }

    fn remove(&mut self, place: Place) -> Option<Arrival> {
        let arrival = self.waiting.remove(&place)?;
        if self.last.get(&arrival.key) == Some(&place) {
            self.last.remove(&arrival.key);
        }
        Some(arrival)
    }
}

impl Inbox {
    /// When something arrives next.
    #[inline]
    pub fn next(&self) -> Moment {
        Moment::from_micros(self.next.load(Ordering::Acquire))
    }

    /// Whether something has arrived by `now`.
    #[inline]
    pub fn is_due(&self, now: Moment) -> bool {
        self.next.load(Ordering::Acquire) <= now.micros()
    }

    /// Changes what is on its way from a region, and publishes when something arrives next.
    fn with<R>(&self, source: &Name, change: impl FnOnce(&mut Source) -> R) -> R {
        let mut sources = self.sources.lock();
        let result = change(sources.entry(source.clone()).or_default());
        self.publish(&sources);
        result
    }

    /// Makes known when something arrives next; called with the lock held.
    fn publish(&self, sources: &BTreeMap<Name, Source>) {
        let next = sources.values().map(Source::next).min().unwrap_or(Moment::NEVER);
        self.next.store(next.micros(), Ordering::Release);
    }

    /// Adds a change, which arrives after the delay of its item.
    pub fn push(&self, arrival: Arrival, propagation: &Propagation<'_>) {
        self.with(&arrival.source.clone(), |source| {
            let delay = source.delays.next(propagation.item(&arrival.key), propagation);
            source.add(arrival.happened.plus(delay), arrival);
        });
    }

    /// Takes out the first change that has arrived by `now`, and when it did.
    pub fn pop(&self, now: Moment) -> Option<(Moment, Arrival)> {
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

    /// Puts back a change that was just taken out, to arrive at a later moment: before all others of its item.
    pub fn defer(&self, until: Moment, arrival: Arrival) {
        self.with(&arrival.source.clone(), |source| {
            let waiting = source.waiting.iter();
            let behind = waiting.filter(|(_, waiting)| waiting.key == arrival.key);
            let behind: Vec<Place> = behind.map(|(place, _)| *place).collect();
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

    /// Takes out a change that a commit has applied.
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

    /// Lets nothing arrive from a region, or lets it again from `now` on.
    pub(in crate::storage) fn set_paused(&self, source: &Name, paused: bool, now: Moment) {
        self.with(source, |source| {
            if source.paused && !paused {
                source.resumed = now;
            }
            source.paused = paused;
        });
    }

    /// Whether nothing arrives from a region.
    pub fn is_paused(&self, source: &str) -> bool {
        self.sources.lock().get(source).is_some_and(|source| source.paused)
    }

    /// How many changes are on their way from a region.
    pub fn waiting(&self, source: &str) -> usize {
        self.sources.lock().get(source).map_or(0, |source| source.waiting.len())
    }

    /// How many changes are on their way.
    pub fn count(&self) -> usize {
        self.sources.lock().values().map(|source| source.waiting.len()).sum()
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The first changes on their way, in the order in which they arrive; `None` of one whose source is paused.
    pub fn first(&self, most: usize) -> Vec<(Option<Moment>, Arrival)> {
        let sources = self.sources.lock();
        let of = |source: &Source| {
            let (paused, resumed) = (source.paused, source.resumed);
            let waiting = source.waiting.iter().take(most);
            let waiting =
                waiting.map(move |(place, arrival)| ((!paused).then(|| place.0.max(resumed)), arrival.clone()));
            waiting.collect::<Vec<_>>()
        };
        let mut first: Vec<_> = sources.values().flat_map(of).collect();
        first.sort_by_key(|(arrives, _)| arrives.unwrap_or(Moment::NEVER));
        first.truncate(most);
        first
    }

    /// When the last change of an item from a region arrives; `None` if none is on its way, or nothing arrives.
    pub fn last_arrival(&self, source: &str, key: &Key) -> Option<Moment> {
        let sources = self.sources.lock();
        let source = sources.get(source).filter(|source| !source.paused)?;
        source.last.get(key).map(|(arrives, _)| (*arrives).max(source.resumed))
    }

    /// All changes on their way, by region.
    pub fn save(&self) -> Vec<SavedInbox> {
        let sources = self.sources.lock();
        let saved = sources.iter().map(|(region, source)| SavedInbox {
            source: region.clone(),
            paused: source.paused,
            resumed: source.resumed,
            waiting: source
                .waiting
                .iter()
                .map(|(place, arrival)| (place.0, arrival.clone()))
                .collect(),
            delays: source.delays.0.clone(),
        });
        saved.collect()
    }

    /// Restores changes on their way from a region, behind those that were restored before.
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

    fn arrival(source: &str, item: u8, number: u64) -> Arrival {
        let stamp = Stamp {
            time: at(number),
            sequence: number,
            region: source.into(),
        };
        Arrival {
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
    fn what_waits_for_a_paused_region_is_combined() {
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
    fn what_is_deferred_keeps_its_place_before_its_item() {
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
