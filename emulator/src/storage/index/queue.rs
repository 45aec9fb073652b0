//! The queued changes of an index.
//!
//! Each change has its own delay, which depends on its item and on the number of earlier changes of that item. Changes
//! of one item arrive in order; changes of different items can overtake each other.

use std::collections::{BTreeMap, VecDeque};

use super::super::delay::{Delays, Propagation};
use super::entry::{Arrival, IndexUpdate};
use super::events::IndexEvents;
use super::saved::QueuedUpdate;
use crate::clock::Moment;
use crate::key::Key;

/// The capacity that the list of due changes keeps while it is empty.
const KEPT_SLOTS: usize = 1024;

/// A change that was already due when it was queued.
#[derive(Debug)]
struct ArrivedChange<E> {
    /// When it happened, and when it arrived.
    moments: (Moment, Moment),
    update: IndexUpdate<E>,
}

/// A change that was not yet due when it was queued.
#[derive(Debug)]
struct Delayed<E> {
    item: u64,
    update: IndexUpdate<E>,
}

/// When a change arrives, and its number among all delayed changes.
type ArrivalOrder = (Moment, u64);

/// The queued changes of an index, in the order of their arrival.
#[derive(Debug)]
pub(super) struct Queue<E> {
    /// Changes that were due when they were queued, in that order, with the moment they were due. They precede `delayed`.
    due: VecDeque<ArrivedChange<E>>,
    delayed: BTreeMap<ArrivalOrder, Box<Delayed<E>>>,
    /// The position of the last delayed change of each item, by the item's hash.
    last: BTreeMap<u64, ArrivalOrder>,
    delays: Delays,
    /// The number of delayed changes so far.
    count: u64,
    /// Whether the index is paused.
    pub(super) paused: bool,
    /// When it was last resumed.
    pub(super) resumed: Moment,
    pub(super) events: Option<Box<IndexEvents>>,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Queue<E> {
        Queue {
            due: VecDeque::new(),
            delayed: BTreeMap::new(),
            last: BTreeMap::new(),
            delays: Delays::default(),
            count: 0,
            paused: false,
            resumed: Moment::FIRST,
            events: None,
        }
    }

    /// All queued changes, in the order of their arrival, and how often each item was delayed.
    pub(super) fn save(&self) -> (Vec<QueuedUpdate<E>>, BTreeMap<u64, u64>)
    where
        E: Clone,
    {
        let due = self.due.iter().map(|due| (due.moments.1, None, &due.update));
        let delayed = self.delayed.iter();
        let delayed = delayed.map(|((arrives, _), delayed)| (*arrives, Some(delayed.item), &delayed.update));
        let waiting = due.chain(delayed).map(|(arrives, item, update)| QueuedUpdate {
            arrives,
            item,
            remove: update.remove.clone(),
            insert: update.insert.clone(),
        });
        (waiting.collect(), self.delays.0.clone())
    }

    /// Restores a queue from a checkpoint.
    pub(super) fn restored(waiting: Vec<QueuedUpdate<E>>, delays: BTreeMap<u64, u64>) -> Queue<E> {
        let mut queue = Queue::new();
        queue.delays = Delays(delays);
        queue.restore(waiting);
        queue
    }

    /// Adds changes from a checkpoint, which arrive after the present ones.
    pub(super) fn restore(&mut self, waiting: Vec<QueuedUpdate<E>>) {
        for change in waiting {
            let update = IndexUpdate {
                remove: change.remove,
                insert: change.insert,
            };
            let Some(item) = change.item else {
                self.due.push_back(ArrivedChange {
                    moments: (change.arrives, change.arrives),
                    update,
                });
                continue;
            };
            self.count += 1;
            let place = (change.arrives, self.count);
            self.last.insert(item, place);
            self.delayed.insert(place, Box::new(Delayed { item, update }));
        }
    }

    /// The number of queued changes.
    pub(super) fn len(&self) -> usize {
        self.due.len() + self.delayed.len()
    }

    /// Queues a change of the item under `key` that happened at `happened`, which may be long before `now`.
    pub(super) fn push(
        &mut self,
        key: &Key,
        (happened, now): (Moment, Moment),
        propagation: &Propagation<'_>,
        update: IndexUpdate<E>,
    ) {
        if propagation.lag.is_none() && self.delayed.is_empty() {
            self.due.push_back(ArrivedChange {
                moments: (happened, happened),
                update,
            });
            return;
        }
        let item = propagation.item(key);
        let arrives = happened.plus(self.delays.next(item, propagation));
        let last = self.last.get(&item).map(|(arrives, _)| *arrives);
        if last.is_none() && arrives <= now {
            self.due.push_back(ArrivedChange {
                moments: (happened, arrives),
                update,
            });
            return;
        }
        self.count += 1;
        let place = (last.map_or(arrives, |last| last.max(arrives)), self.count);
        self.last.insert(item, place);
        self.delayed.insert(place, Box::new(Delayed { item, update }));
    }

    /// When the last change of the item under `key`, which was just queued, arrives.
    pub(super) fn last_arrival(&self, key: &Key, propagation: &Propagation<'_>) -> Option<Moment> {
        let last = self.last.get(&propagation.item(key)).map(|(arrives, _)| *arrives);
        last.or_else(|| self.due.back().map(|due| due.moments.1))
    }

    /// When the first change arrives.
    pub(super) fn next_due(&self) -> Option<Moment> {
        let due = self.due.front().map(|due| due.moments.1);
        due.or_else(|| self.delayed.keys().next().map(|(arrives, _)| *arrives))
    }

    /// The changes in the order of their arrival, and when each arrives.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Moment, &IndexUpdate<E>)> {
        let due = self.due.iter().map(|due| (due.moments.1, &due.update));
        let delayed = self.delayed.iter().map(|((due, _), delayed)| (*due, &delayed.update));
        due.chain(delayed)
    }

    /// Takes the first change if it is due by `now`.
    pub(super) fn pop(&mut self, now: Moment) -> Option<Arrival<E>> {
        if let Some(due) = self.due.pop_front() {
            if self.due.is_empty() && self.due.capacity() > KEPT_SLOTS {
                self.due = VecDeque::new();
            }
            let (happened, arrives) = due.moments;
            let arrives = arrives.max(self.resumed);
            return Some(Arrival {
                due: arrives,
                delayed: arrives > happened,
                update: due.update,
            });
        }
        let first = self.delayed.first_entry().filter(|first| first.key().0 <= now)?;
        let (place, delayed) = first.remove_entry();
        let Delayed { item, update } = *delayed;
        if self.last.get(&item) == Some(&place) {
            self.last.remove(&item);
        }
        Some(Arrival {
            due: place.0.max(self.resumed),
            delayed: true,
            update,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::conditions::Lag;
    use crate::key::KeyBytes;

    const SEEDED: Lag = Lag::Seeded {
        typical: Duration::from_millis(20),
        longest: Duration::from_millis(500),
    };

    fn at(millis: u64) -> Moment {
        Moment::START.plus(Duration::from_millis(millis))
    }

    fn key(item: u8) -> Key {
        let mut bytes = KeyBytes::new();
        bytes.push(item);
        Key { token: 0, bytes }
    }

    fn push(queue: &mut Queue<(u8, u32)>, item: u8, number: u32, happened: Moment, lag: Lag) {
        let propagation = Propagation {
            seed: 7,
            place: "by-g",
            lag,
        };
        let update = IndexUpdate {
            remove: None,
            insert: Some((key(item), (item, number))),
        };
        queue.push(&key(item), (happened, happened), &propagation, update);
    }

    fn drain(queue: &mut Queue<(u8, u32)>, now: Moment) -> Vec<(u8, u32)> {
        std::iter::from_fn(|| queue.pop(now))
            .map(|arrival| arrival.update.insert.unwrap().1)
            .collect()
    }

    #[test]
    fn changes_of_one_item_arrive_in_their_order_and_others_overtake() {
        let fixed = |millis| Lag::Fixed(Duration::from_millis(millis));
        let mut queue = Queue::new();
        // Each change is queued a millisecond after the previous one.
        let pushes = [
            (1, fixed(50)),
            (2, fixed(10)),
            (1, fixed(10)),
            (3, Lag::None),
            (2, Lag::None),
            (1, SEEDED),
        ];
        for (number, (item, lag)) in pushes.into_iter().enumerate() {
            push(&mut queue, item, number as u32, at(number as u64), lag);
        }
        assert_eq!((queue.len(), queue.next_due()), (6, Some(at(3))));
        assert_eq!(drain(&mut queue, at(10)), [(3, 3)]);
        assert_eq!(drain(&mut queue, at(11)), [(2, 1), (2, 4)]);
        assert_eq!(queue.next_due(), Some(at(50)));
        assert_eq!(drain(&mut queue, at(1000)), [(1, 0), (1, 2), (1, 5)]);
        assert!(queue.last.is_empty() && queue.len() == 0);
    }

    /// A queue with two changes of an item, due after 10 and 20 milliseconds.
    fn two_changes() -> Queue<(u8, u32)> {
        let mut queue = Queue::new();
        for number in [1, 2] {
            let lag = Lag::Fixed(Duration::from_millis(10 * u64::from(number)));
            push(&mut queue, 1, number, at(0), lag);
        }
        queue
    }

    #[test]
    fn a_change_waits_for_the_last_of_its_item_though_others_have_arrived() {
        let mut queue = two_changes();
        assert_eq!(drain(&mut queue, at(10)), [(1, 1)]);
        push(&mut queue, 1, 3, at(11), Lag::Fixed(Duration::from_millis(1)));
        assert_eq!(drain(&mut queue, at(19)), []);
        assert_eq!(drain(&mut queue, at(20)), [(1, 2), (1, 3)]);
    }

    #[test]
    fn a_resumed_queue_arrives_when_it_is_resumed() {
        let mut queue = two_changes();
        queue.resumed = at(15);
        let due = std::iter::from_fn(|| queue.pop(at(30))).map(|arrival| arrival.due);
        assert_eq!(due.collect::<Vec<_>>(), [at(15), at(20)]);
    }

    /// Changes that are queued after their arrival are applied in their order, also in a queue restored from a checkpoint.
    #[test]
    fn late_changes_of_one_item_are_applied_in_their_order() {
        let mut queue = Queue::new();
        for number in 0..4 {
            let propagation = Propagation {
                seed: 7,
                place: "by-g",
                lag: Lag::Fixed(Duration::from_millis(10)),
            };
            let update = IndexUpdate {
                remove: None,
                insert: Some((key(1), (1, number))),
            };
            queue.push(&key(1), (at(u64::from(number)), at(100)), &propagation, update);
        }
        let (waiting, delays) = queue.save();
        for mut queue in [Queue::restored(waiting, delays), queue] {
            assert_eq!(queue.next_due(), Some(at(10)));
            assert_eq!(drain(&mut queue, at(100)), [(1, 0), (1, 1), (1, 2), (1, 3)]);
        }
    }

    #[test]
    fn a_restored_queue_goes_on_as_the_saved_one() {
        let mut queue = two_changes();
        (0..5).for_each(|number| push(&mut queue, 2, number, at(0), SEEDED));
        let (waiting, delays) = queue.save();
        let mut restored = Queue::restored(waiting, delays);
        for queue in [&mut queue, &mut restored] {
            push(queue, 1, 3, at(1), Lag::None);
            (5..10).for_each(|number| push(queue, 2, number, at(1), SEEDED));
        }
        let arrivals = |mut queue: Queue<(u8, u32)>| {
            let arrivals = std::iter::from_fn(|| queue.pop(Moment::NEVER));
            arrivals
                .map(|arrival| (arrival.due, arrival.update.insert.unwrap().1))
                .collect::<Vec<_>>()
        };
        let (expected, restored) = (arrivals(queue), arrivals(restored));
        assert_eq!(restored, expected);
        assert_eq!(expected.len(), 13);
    }

    #[test]
    fn a_delay_is_that_of_the_item_and_its_ordinal() {
        // The delay of each change of an item does not depend on changes queued in between.
        let delays = |others: u8, start: Moment| {
            let mut queue = Queue::new();
            let delay = |number| {
                let now = start.plus(Duration::from_secs(u64::from(number)));
                (2..2 + others).for_each(|item| push(&mut queue, item, 0, now, SEEDED));
                push(&mut queue, 1, number, now, SEEDED);
                let due = queue.last.values().copied().map(|(due, _)| due);
                let arrives = due.into_iter().find(|due| {
                    let waiting = queue.delayed.iter().find(|((arrives, _), _)| arrives == due);
                    waiting.is_some_and(|(_, delayed)| delayed.update.insert.as_ref().unwrap().1.0 == 1)
                });
                drain(&mut queue, Moment::NEVER);
                arrives.unwrap().since(now)
            };
            (0..20).map(delay).collect::<Vec<_>>()
        };
        let alone = delays(0, at(0));
        assert_eq!(alone, delays(5, at(12_345)));
        assert!(alone.iter().any(|delay| *delay != alone[0]), "{alone:?}");
    }

    #[test]
    fn a_late_arrival_is_due_at_once() {
        let mut queue = Queue::new();
        let fixed = Lag::Fixed(Duration::from_millis(10));
        for item in 0..100 {
            let propagation = Propagation {
                seed: 7,
                place: "by-g",
                lag: fixed,
            };
            let update = IndexUpdate {
                remove: Some(key(item)),
                insert: None::<(Key, (u8, u32))>,
            };
            queue.push(&key(item), (at(u64::from(100 - item)), at(105)), &propagation, update);
        }
        assert_eq!((queue.due.len(), queue.delayed.len()), (95, 5));
        assert_eq!(std::iter::from_fn(|| queue.pop(at(105))).count(), 95);
        assert_eq!(std::iter::from_fn(|| queue.pop(at(110))).count(), 5);
    }
}
