//! The event log: what happens inside the engine, in a bounded log that clients read from a cursor.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use super::request::{RecordedAccess, Request};
use crate::caller::Caller;
use crate::clock::Moment;
use crate::sort;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::value::size;
use crate::value::{Map, Name};

/// Events that are remembered at most.
pub const MOST_EVENTS: usize = 20_000;
/// Bytes of events that are remembered at most, about.
const MOST_BYTES: usize = 16 << 20;
/// Listeners that wait at a time; more are woken at once, and ask again.
const MOST_WAITING: usize = 1024;

/// An item, or an entry of an index, that something happens to.
///
/// ```
/// use dynatwin_engine::attributes::Map;
/// use dynatwin_engine::monitoring::EventSubject;
///
/// let subject = EventSubject { action: "Put", key: Map::new(), token: None };
/// assert!(subject.key.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EventSubject {
    /// The action: `put`, `delete` or `check`; for a stream record `insert`, `modify` or `remove`.
    pub action: &'static str,
    /// Its key attributes; an entry also has those of its index.
    pub key: Map,
    /// The token of the table's partition key, if known.
    pub token: Option<u64>,
}

/// A write in a region of a global table.
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::monitoring::RegionalWrite;
///
/// let write = RegionalWrite { region: "eu-west-1".into(), at: Moment::START };
/// assert_eq!(write.region, "eu-west-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionalWrite {
    /// The region, such as `eu-west-1`.
    pub region: Name,
    /// When the region executed the write.
    pub at: Moment,
}

/// The kinds of events, each with its subject.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.listen(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let page = engine.events_after(0, 10);
/// use dynatwin_engine::monitoring::EventKind;
///
/// assert!(matches!(page.events[0].kind, EventKind::Request(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A request was answered. The events of its entries and their consequences follow it.
    Request(Arc<Request>),
    /// A request accessed an item or a range of items: the access at this place in the request.
    Entry(Arc<Request>, usize),
    /// A change is queued for an index and arrives at this moment; `None`: the index is paused.
    IndexChange(Name, EventSubject, Option<Moment>),
    /// A change that was on its way has arrived at an index.
    IndexArrival(Name, EventSubject),
    /// A transaction holds an item until this moment.
    TransactionHold(EventSubject, Moment),
    /// A pending transaction is applied to an item.
    TransactionApplied(EventSubject),
    /// An item was written that expires at the first moment, and that time to live deletes at the second.
    ExpirySchedule(EventSubject, Moment, Moment),
    /// Time to live has deleted an item.
    Expiry(EventSubject),
    /// The table's stream has a new record, which can be read from this moment on.
    StreamRecord(EventSubject, Moment),
    /// A change sets out to a region, and arrives at this moment; `None`: nothing arrives there.
    Replication(Name, EventSubject, Option<Moment>),
    /// A change has arrived from a region; whether it was newer than the existing item, and applied.
    ReplicationArrival(Name, EventSubject, bool),
    /// Two regions have written an item without seeing the other's write: the first write is lost, to the second.
    ReplicationConflict(EventSubject, Box<(RegionalWrite, RegionalWrite)>),
    /// A capacity partition was split at this token, for heat or size.
    PartitionSplit(u64),
    /// The shard of a stream was split at this token.
    ShardSplit(u64),
}

/// An entry of the event log.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.listen(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let page = engine.events_after(0, 10);
/// let accesses: Vec<_> = page.events.iter().filter_map(|event| event.access()).collect();
/// assert_eq!(accesses[0].table, "Orders");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its number, counted from 1 since the log was begun or cleared.
    pub id: u64,
    /// The moment on the emulator's clock.
    pub at: Moment,
    /// The owner of the tables it concerns.
    pub owner: Caller,
    /// The table; `None` for a request as a whole.
    pub table: Option<Name>,
    /// The number of the request that caused it, if one did.
    pub request: Option<u64>,
    /// The kind and subject of the event.
    pub kind: EventKind,
}

impl Event {
    /// The access of an entry's event.
    pub fn access(&self) -> Option<&RecordedAccess> {
        match &self.kind {
            EventKind::Entry(request, at) => request.accesses.get(*at),
            _ => None,
        }
    }

    fn subject(&self) -> Option<&EventSubject> {
        match &self.kind {
            EventKind::IndexChange(_, subject, _)
            | EventKind::IndexArrival(_, subject)
            | EventKind::TransactionHold(subject, _)
            | EventKind::TransactionApplied(subject)
            | EventKind::ExpirySchedule(subject, _, _)
            | EventKind::Expiry(subject)
            | EventKind::StreamRecord(subject, _)
            | EventKind::Replication(_, subject, _)
            | EventKind::ReplicationArrival(_, subject, _)
            | EventKind::ReplicationConflict(subject, _) => Some(subject),
            EventKind::Request(_) | EventKind::Entry(..) | EventKind::PartitionSplit(_) | EventKind::ShardSplit(_) => {
                None
            }
        }
    }

    /// About how many bytes of memory it takes. A request counts for its events too.
    fn weight(&self) -> usize {
        let key = self.subject().into_iter().flat_map(|subject| subject.key.iter());
        let key: usize = key.map(|(name, value)| 64 + size::of_attribute(name, value)).sum();
        let request = match &self.kind {
            EventKind::Request(request) => request.weight(),
            _ => 0,
        };
        size_of::<Event>() + key + request
    }
}

/// Events from a cursor on.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.listen(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let page = engine.events_after(0, 10);
/// assert_eq!((page.missed, page.cleared), (0, false));
/// assert!(engine.events_after(page.next, 10).events.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    /// The events of the page, in the order in which they happened.
    pub events: Vec<Arc<Event>>,
    /// Where the next page begins.
    pub next: u64,
    /// Events after the cursor that are not remembered any more.
    pub missed: u64,
    /// Whether the log was cleared since the cursor: then the page begins with the first event since.
    pub cleared: bool,
}

/// The event log: numbered, bounded, and empty while it has no subscribers.
#[derive(Debug, Default)]
pub struct EventLog {
    /// The number of listeners: callers of `listen`, and those between `begin` and `end`.
    listeners: AtomicUsize,
    requested: AtomicBool,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    taken: u64,
    /// The number of open batches, and the events recorded meanwhile.
    batches: usize,
    batch: HeldEvents,
    waiting: Vec<Waker>,
}

/// Events that are held back, to be logged in time order.
#[derive(Debug, Default)]
struct HeldEvents {
    /// Each with whether a request precedes it, among the events of one moment.
    events: Vec<(bool, Event)>,
    bytes: usize,
    /// The number of events that would be gone from the log at once, and are dropped.
    dropped: u64,
}

impl HeldEvents {
    fn push(&mut self, follows: bool, event: Event) {
        self.bytes += event.weight();
        self.events.push((follows, event));
        if self.events.len() > 2 * MOST_EVENTS || self.bytes > 2 * MOST_BYTES {
            self.sort();
        }
    }

    /// Sorts the events, and drops the first of them, which the log has no room for.
    fn sort(&mut self) {
        sort::sort_by_key(&mut self.events, |(follows, event)| (event.at, *follows));
        let mut gone = 0;
        for (_, event) in &self.events {
            let left = self.events.len() - gone;
            if left <= MOST_EVENTS && (self.bytes <= MOST_BYTES || left == 1) {
                break;
            }
            self.bytes -= event.weight();
            gone += 1;
        }
        self.events.drain(..gone);
        self.dropped += gone as u64;
    }
}

impl EventLog {
    pub fn is_listening(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) != 0
    }

    /// Subscribes or unsubscribes; returns whether that changed anything. Events are kept until
    /// [`clear`](EventLog::clear).
    pub(super) fn listen(&self, listens: bool) -> bool {
        let changes = self.requested.swap(listens, Ordering::Relaxed) != listens;
        if changes && listens {
            self.begin();
        } else if changes {
            self.end();
        }
        changes
    }

    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Listens until [`end`](EventLog::end), independently of other listeners.
    pub fn begin(&self) {
        self.listeners.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.listeners.fetch_sub(1, Ordering::Relaxed);
    }

    /// Appends events, in this order.
    pub fn append(&self, events: impl IntoIterator<Item = Event>) {
        self.append_all(true, events);
    }

    fn append_all(&self, follows: bool, events: impl IntoIterator<Item = Event>) {
        let mut ring = self.ring.lock();
        if ring.batches > 0 {
            events.into_iter().for_each(|event| ring.batch.push(follows, event));
        } else {
            ring.push_all(events);
        }
    }

    /// Holds events back until the returned guard is dropped, and then appends them in time order: due work of several
    /// tables is applied table by table. Without subscribers no events are held back.
    pub fn batch(&self) -> Option<EventBatch<'_>> {
        self.is_listening().then(|| self.hold())
    }

    /// Holds events back, as [`batch`](EventLog::batch) does, also those of later subscribers.
    pub fn hold(&self) -> EventBatch<'_> {
        self.ring.lock().batches += 1;
        EventBatch(self)
    }

    /// The events after a number, at most this many.
    pub fn after(&self, number: u64, most: usize) -> EventPage {
        let ring = self.ring.lock();
        let cleared = number > ring.taken;
        let from = if cleared { 0 } else { number };
        let first = ring.taken - ring.events.len() as u64;
        let missed = first.saturating_sub(from);
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        let events: Vec<_> = ring.events.iter().skip(skipped).take(most).cloned().collect();
        EventPage {
            next: events.last().map_or(from.max(first), |event| event.id),
            events,
            missed,
            cleared,
        }
    }

    /// Whether there is anything after a number. If not, `waker` is woken when there is.
    pub fn has_after(&self, number: u64, waker: &Waker) -> bool {
        let mut ring = self.ring.lock();
        if number != ring.taken {
            return true;
        }
        if ring.waiting.len() >= MOST_WAITING {
            ring.wake();
        }
        if !ring.waiting.iter().any(|there| there.will_wake(waker)) {
            ring.waiting.push(waker.clone());
        }
        false
    }

    /// Removes all events and restarts numbering at 1. Listeners stay.
    pub fn clear(&self) {
        let mut ring = self.ring.lock();
        let batches = ring.batches;
        ring.wake();
        *ring = Ring {
            batches,
            ..Ring::default()
        };
    }
}

/// Events that are held back until this is dropped.
pub struct EventBatch<'l>(&'l EventLog);

impl Drop for EventBatch<'_> {
    fn drop(&mut self) {
        let mut ring = self.0.ring.lock();
        ring.batches -= 1;
        if ring.batches == 0 {
            let mut held = std::mem::take(&mut ring.batch);
            held.sort();
            ring.taken += held.dropped;
            if held.dropped > 0 {
                ring.forget();
            }
            ring.push_all(held.events.into_iter().map(|(_, event)| event));
        }
    }
}

impl Ring {
    fn push_all(&mut self, events: impl IntoIterator<Item = Event>) {
        for mut event in events {
            self.taken += 1;
            event.id = self.taken;
            self.bytes += event.weight();
            self.events.push_back(Arc::new(event));
        }
        while self.events.len() > MOST_EVENTS || (self.bytes > MOST_BYTES && self.events.len() > 1) {
            let Some(gone) = self.events.pop_front() else { break };
            self.bytes -= gone.weight();
        }
        self.wake();
    }

    /// Removes all events.
    fn forget(&mut self) {
        self.events.clear();
        self.bytes = 0;
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// The events of one table.
#[derive(Clone, Debug)]
pub struct TableEvents {
    log: Arc<EventLog>,
    owner: Caller,
    table: Name,
}

impl TableEvents {
    /// The events of this table of this owner.
    pub fn new(log: Arc<EventLog>, owner: Caller, table: Name) -> TableEvents {
        TableEvents { log, owner, table }
    }

    pub fn has_subscribers(&self) -> bool {
        self.log.is_listening()
    }

    /// Holds events back, as [`EventLog::batch`] does.
    pub fn batch(&self) -> Option<EventBatch<'_>> {
        self.log.batch()
    }

    /// An event that no request caused.
    pub fn event(&self, at: Moment, kind: EventKind) -> Event {
        Event {
            id: 0,
            at,
            owner: self.owner.clone(),
            table: Some(self.table.clone()),
            request: None,
            kind,
        }
    }

    /// Records an event that no request caused.
    pub fn record(&self, at: Moment, kind: EventKind) {
        self.log.append([self.event(at, kind)]);
    }

    /// Records an event of work that was due: it happened before the requests of that moment.
    pub fn record_due(&self, at: Moment, kind: EventKind) {
        self.log.append_all(false, [self.event(at, kind)]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    fn owner() -> Caller {
        Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        }
    }

    fn split(seconds: i64, token: u64) -> Event {
        let events = TableEvents::new(Arc::default(), owner(), "tab".into());
        events.event(Moment::from_seconds(seconds), EventKind::ShardSplit(token))
    }

    fn tokens(page: &EventPage) -> Vec<u64> {
        let token = |event: &Arc<Event>| match event.kind {
            EventKind::ShardSplit(token) => token,
            _ => panic!("{event:?}"),
        };
        page.events.iter().map(token).collect()
    }

    #[test]
    fn pages_follow_each_other_and_what_is_gone_is_counted() {
        let log = EventLog::default();
        log.append((0..10).map(|token| split(0, token)));
        let page = log.after(0, 4);
        assert_eq!((tokens(&page), page.next, page.missed), (vec![0, 1, 2, 3], 4, 0));
        let page = log.after(page.next, 100);
        assert_eq!((tokens(&page).len(), page.next), (6, 10));
        assert_eq!((log.after(10, 100).next, log.after(10, 100).events.len()), (10, 0));
        log.append((10..10 + MOST_EVENTS as u64).map(|token| split(0, token)));
        let page = log.after(3, 2);
        assert_eq!((tokens(&page), page.next, page.missed), (vec![10, 11], 12, 7));
        let page = log.after(3, 0);
        assert_eq!((tokens(&page).len(), page.next, page.missed), (0, 10, 7));
        // A cursor from before the log was cleared starts again.
        log.clear();
        log.append([split(0, 77)]);
        let page = log.after(12, 2);
        assert_eq!((tokens(&page), page.next, page.cleared), (vec![77], 1, true));
        // It has missed the events that the log has dropped since.
        log.append((0..2 + MOST_EVENTS as u64).map(|token| split(0, token)));
        let page = log.after(u64::MAX, 2);
        assert_eq!((tokens(&page), page.next), (vec![2, 3], 5));
        assert_eq!((page.missed, page.cleared), (3, true));
    }

    #[test]
    fn memory_is_bounded() {
        let log = EventLog::default();
        let key: Map = [("pk".into(), crate::value::AttributeValue::string(&"k".repeat(1 << 20)))]
            .into_iter()
            .collect();
        for _ in 0..40 {
            let subject = EventSubject {
                action: "put",
                key: key.clone(),
                token: None,
            };
            let events = TableEvents::new(Arc::default(), owner(), "tab".into());
            log.append([events.event(Moment::START, EventKind::Expiry(subject))]);
        }
        assert!(log.after(0, 100).events.len() < 16);
        assert!(log.ring.lock().bytes <= MOST_BYTES);
    }

    #[test]
    fn a_batch_is_logged_in_time_order() {
        let log = EventLog::default();
        assert!(log.batch().is_none());
        log.begin();
        let (outer, inner) = (log.batch(), log.batch());
        log.append([split(3, 0), split(1, 1)]);
        drop(inner);
        log.append([split(2, 2), split(1, 3)]);
        assert!(log.after(0, 10).events.is_empty());
        drop(outer);
        assert_eq!(tokens(&log.after(0, 10)), [1, 3, 2, 0]);
    }

    /// A batch of more events than the log keeps leaves the last of them, in time order, with their numbers.
    #[test]
    fn a_batch_holds_no_more_than_the_log() {
        for count in [MOST_EVENTS as u64 / 2, 5 * MOST_EVENTS as u64] {
            let log = EventLog::default();
            log.append([split(0, 0)]);
            let batch = log.hold();
            // The times go up and down; a token is the event's place among all.
            let times = (0..count).map(|number| number * 7919 % count);
            log.append(times.map(|time| split(1 + time as i64, 1 + time)));
            assert!(log.ring.lock().batch.events.len() <= 2 * MOST_EVENTS);
            drop(batch);
            let first = (count + 1).saturating_sub(MOST_EVENTS as u64);
            let page = log.after(0, usize::MAX);
            assert_eq!(tokens(&page), (first..=count).collect::<Vec<_>>());
            assert_eq!((page.missed, page.next), (first, count + 1));
        }
    }

    /// A batch of large events takes little more memory than the log.
    #[test]
    fn a_batch_holds_no_more_bytes_than_the_log() {
        let key: Map = [("pk".into(), crate::value::AttributeValue::string(&"k".repeat(1 << 20)))]
            .into_iter()
            .collect();
        let events = TableEvents::new(Arc::default(), owner(), "tab".into());
        let log = EventLog::default();
        log.append([split(0, 0)]);
        let batch = log.hold();
        for second in 0..100 {
            let subject = EventSubject {
                action: "put",
                key: key.clone(),
                token: None,
            };
            log.append([events.event(Moment::from_seconds(second), EventKind::Expiry(subject))]);
            let held = log.ring.lock().batch.bytes;
            assert!(held <= 2 * MOST_BYTES, "{second}: {held}");
            assert_eq!(
                held,
                log.ring
                    .lock()
                    .batch
                    .events
                    .iter()
                    .map(|(_, event)| event.weight())
                    .sum::<usize>()
            );
        }
        drop(batch);
        let page = log.after(0, 100);
        let last: Vec<i64> = page.events.iter().map(|event| event.at.seconds()).collect();
        // What was logged before is gone as well: numbers have no gaps.
        assert_eq!((last.len(), page.missed, page.next), (15, 86, 101));
        assert_eq!(last, (85..100).collect::<Vec<_>>());
    }

    /// The log keeps as many bytes as its limit exactly, and one event of any size, held in a batch or not.
    #[test]
    fn the_last_event_is_kept_whatever_its_size() {
        let events = TableEvents::new(Arc::default(), owner(), "tab".into());
        let event = |second: i64, length: usize| {
            let value = crate::value::AttributeValue::string(&"k".repeat(length));
            let subject = EventSubject {
                action: "put",
                key: [("pk".into(), value)].into_iter().collect(),
                token: None,
            };
            events.event(Moment::from_seconds(second), EventKind::Expiry(subject))
        };
        let own = event(0, 0).weight();
        // Of all bytes, without the events' own.
        let half = MOST_BYTES / 2 - own;
        for (lengths, expect) in [
            (&[half, half][..], &[0, 1][..]),
            (&[half, half + 1], &[1]),
            (&[half, half - 1], &[0, 1]),
            (&[MOST_BYTES + 5], &[0]),
            (&[MOST_BYTES - own], &[0]),
            (&[1, MOST_BYTES + 5], &[1]),
            (&[MOST_BYTES + 5, 1], &[1]),
            (&[MOST_BYTES + 5, MOST_BYTES + 6], &[1]),
            // More than a batch holds.
            (&[1, 2 * MOST_BYTES + 5], &[1]),
            (&[2 * MOST_BYTES + 5, 1, 1], &[1, 2]),
        ] {
            for held in [false, true] {
                let log = EventLog::default();
                let batch = held.then(|| log.hold());
                for (second, length) in (0..).zip(lengths) {
                    log.append([event(second, *length)]);
                }
                drop(batch);
                let page = log.after(0, 10);
                let left: Vec<i64> = page.events.iter().map(|event| event.at.seconds()).collect();
                let of_all = (page.missed, page.next);
                assert_eq!(left, expect, "{lengths:?} {held}");
                assert_eq!(of_all, (expect[0] as u64, lengths.len() as u64), "{lengths:?} {held}");
            }
        }
    }

    #[test]
    fn due_work_is_logged_before_the_requests_of_its_moment() {
        let log = Arc::new(EventLog::default());
        let events = TableEvents::new(Arc::clone(&log), owner(), "tab".into());
        let batch = log.hold();
        log.append([split(2, 0), split(1, 1)]);
        events.record_due(Moment::from_seconds(2), EventKind::ShardSplit(2));
        events.record_due(Moment::from_seconds(1), EventKind::ShardSplit(3));
        drop(batch);
        assert_eq!(tokens(&log.after(0, 10)), [3, 1, 2, 0]);
    }

    #[test]
    fn waiting_readers_are_woken() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let (log, waker) = (EventLog::default(), Waker::from(Arc::clone(&count)));
        assert!(!log.has_after(0, &waker) && !log.has_after(0, &waker));
        log.append([split(0, 0)]);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(log.has_after(0, &waker) && !log.has_after(1, &waker));
        log.clear();
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
        assert!(log.has_after(1, &waker));
    }

    /// Beyond the maximum of waiting readers, those before are woken and ask again.
    #[test]
    fn the_number_of_waiting_readers_is_bounded() {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let log = EventLog::default();
        let readers: Vec<_> = (0..=MOST_WAITING)
            .map(|_| Arc::new(Woken(AtomicUsize::new(0))))
            .collect();
        let woken = || {
            readers
                .iter()
                .map(|reader| reader.0.load(Ordering::SeqCst))
                .sum::<usize>()
        };
        for (at, reader) in readers.iter().enumerate() {
            assert_eq!(woken(), 0, "{at}");
            assert!(!log.has_after(0, &Waker::from(Arc::clone(reader))));
        }
        assert_eq!((woken(), log.ring.lock().waiting.len()), (MOST_WAITING, 1));
        assert_eq!(readers[MOST_WAITING].0.load(Ordering::SeqCst), 0, "the last one waits");
    }

    /// The log and a batch keep the last event even if it alone is larger than all that they have room for.
    #[test]
    fn the_last_event_stays_however_large_it_is() {
        let large = |seconds: i64, size: usize| {
            let key = [("pk".into(), crate::value::AttributeValue::string(&"k".repeat(size)))];
            let subject = EventSubject {
                action: "put",
                key: key.into_iter().collect(),
                token: None,
            };
            let events = TableEvents::new(Arc::default(), owner(), "tab".into());
            events.event(Moment::from_seconds(seconds), EventKind::Expiry(subject))
        };
        for held in [false, true] {
            let log = EventLog::default();
            let batch = held.then(|| log.hold());
            log.append([large(1, 100), large(3, 2 * MOST_BYTES + 1), large(2, 200)]);
            drop(batch);
            // In a batch the largest is the last in time; otherwise it has made all before it go.
            let page = log.after(0, 10);
            let seconds: Vec<i64> = page.events.iter().map(|event| event.at.seconds()).collect();
            let expect = if held { (vec![3], 2, 3) } else { (vec![2], 2, 3) };
            assert_eq!((seconds, page.missed, page.next), expect);
        }
    }

    #[test]
    fn events_are_logged_between_begin_and_end() {
        let log = EventLog::default();
        assert!(!log.is_listening());
        log.begin();
        assert!(log.is_listening() && log.after(0, 10).events.is_empty());
        // Subscriptions are independent of each other, and `listen` is one of them.
        assert!(log.listen(true) && !log.listen(true) && log.is_requested());
        log.end();
        assert!(log.is_listening());
        log.begin();
        assert!(log.listen(false) && !log.listen(false) && !log.is_requested());
        assert!(log.is_listening());
        log.end();
        assert!(!log.is_listening());
    }
}
