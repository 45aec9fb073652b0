//! The requests of an engine, recorded while it is watched: counters by CloudWatch's names, the latest requests, and
//! the scans among them. The journal influences no decision.
//!
//! A request in progress fills its own [`RequestRecorder`], without a lock. When it is done, the [`Journal`] takes it.
//! While the engine is not watched there is no recorder, and a request costs a relaxed load.

mod counts;
mod event;
mod metric;
mod minutes;
mod recorder;
mod request;

use std::collections::VecDeque;
use std::sync::Arc;

pub use counts::Spent;
pub use event::{Event, EventBatch, EventKind, EventLog, EventPage, EventSubject, RegionalWrite, TableEvents};
pub(crate) use metric::dimension;
pub use metric::{Datapoint, Dimension, Metric, Samples};
pub use recorder::{RequestEnd, RequestRecorder};
pub use request::{
    BetterRead, FilterTrace, Injected, ItemAction, LoggedBody, ObservedScan, Permission, RecordedAccess, Request,
};

use crate::caller::Caller;
use crate::sorted::SortedMap;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::value::Name;
use counts::AccountCounts;
use minutes::Minutes;
use recorder::RecordedRequest;

/// Requests that are remembered at most.
pub const MOST_REQUESTS: usize = 10_000;
/// Bytes of requests that are remembered at most, about.
const MOST_BYTES: usize = 16 << 20;
/// Different scans that are remembered: the first ones.
const MOST_SCANS: usize = 1000;
/// Counters there can be, of all tables, indexes, operations and streams; beyond them no new ones begin.
const MOST_COUNTERS: usize = 20_000;

/// The requests of an engine, recorded while it is watched.
#[derive(Debug, Default)]
pub struct Journal {
    /// The number of watchers: callers of `watch`, and those between `begin` and `end`.
    watchers: AtomicUsize,
    requested: AtomicBool,
    bodies: AtomicBool,
    events: Arc<EventLog>,
    book: Mutex<JournalState>,
}

#[derive(Debug, Default)]
struct JournalState {
    accounts: SortedMap<(Name, Name), AccountCounts>,
    counters: usize,
    minutes: Minutes,
    requests: VecDeque<Arc<Request>>,
    bytes: usize,
    /// Requests that were taken in since the journal was begun or cleared.
    taken: u64,
    scans: Vec<ObservedScan>,
}

fn owned_by(owner: &Caller) -> (Name, Name) {
    (owner.access_key.clone(), owner.region.clone())
}

impl Journal {
    pub fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) != 0
    }

    /// Begins or ends to watch. What was seen stays until [`clear`](Journal::clear).
    pub fn watch(&self, watches: bool) {
        if self.requested.swap(watches, Ordering::Relaxed) != watches {
            if watches {
                self.begin();
            } else {
                self.end();
            }
        }
    }

    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Begins or ends to keep the bodies of requests and answers, up to 64 KB of each.
    pub fn keep_bodies(&self, keeps: bool) {
        self.bodies.store(keeps, Ordering::Relaxed);
    }

    /// Whether the bodies of requests and answers are kept.
    pub fn keeps_bodies(&self) -> bool {
        self.bodies.load(Ordering::Relaxed)
    }

    /// The log of internal events.
    pub fn events(&self) -> &Arc<EventLog> {
        &self.events
    }

    /// Starts or stops listening to events. Listening implies watching.
    pub fn listen(&self, listens: bool) {
        if self.events.listen(listens) {
            if listens {
                self.begin();
            } else {
                self.end();
            }
        }
    }

    /// Logs events until [`end_event_subscription`](Journal::end_event_subscription), independently of other subscriptions.
    pub fn begin_event_subscription(&self) {
        self.begin();
        self.events.begin();
    }

    pub fn end_event_subscription(&self) {
        self.events.end();
        self.end();
    }

    /// Watches until [`end`](Journal::end), independently of other watchers.
    pub fn begin(&self) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes in a request that is done.
    pub fn close(&self, recorder: RequestRecorder, end: RequestEnd) {
        let mut closed = recorder.close(end);
        let caused = closed.events.take();
        let owner = closed.owner.clone();
        let request = self.enter(closed);
        if let Some(caused) = caused {
            self.events.append(events_of(&owner, &request, caused));
        }
    }

    /// Enters a request that is done into the counters and the log.
    fn enter(&self, closed: RecordedRequest) -> Arc<Request> {
        let mut book = self.book.lock();
        let JournalState {
            accounts,
            counters,
            minutes,
            ..
        } = &mut *book;
        let mut room = MOST_COUNTERS.saturating_sub(*counters);
        let before = room;
        let owner = owned_by(&closed.owner);
        minutes.add(&owner, closed.request.at, &closed.counts);
        let account = counts::slot(accounts, &owner, &mut room);
        if let Some(account) = account {
            account.add(&closed.counts, &mut room);
        }
        *counters += before - room;
        closed.scans.iter().for_each(|scan| book.add_scan(scan));
        book.add_request(closed.request)
    }

    /// The latest requests, oldest first.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.book.lock().requests.iter().cloned().collect()
    }

    /// The requests with higher numbers than this one, oldest first.
    pub fn requests_after(&self, number: u64) -> Vec<Arc<Request>> {
        let book = self.book.lock();
        let first = book.requests.partition_point(|request| request.number <= number);
        book.requests.range(first..).cloned().collect()
    }

    /// The request of this number, if it is still remembered.
    pub fn request(&self, number: u64) -> Option<Arc<Request>> {
        let book = self.book.lock();
        let found = book.requests.binary_search_by_key(&number, |request| request.number);
        found.ok().map(|at| Arc::clone(&book.requests[at]))
    }

    /// The number of requests seen, including those no longer stored.
    pub fn seen(&self) -> u64 {
        self.book.lock().taken
    }

    /// The scans there were, each kind once, in the order in which they were first seen.
    pub fn scans(&self) -> Vec<ObservedScan> {
        self.book.lock().scans.clone()
    }

    /// What the tables of an owner have spent, by table and global index.
    pub fn spent(&self, owner: &Caller) -> Vec<Spent> {
        let book = self.book.lock();
        book.accounts
            .get(&owned_by(owner))
            .map(AccountCounts::spent)
            .unwrap_or_default()
    }

    /// The owners that have counters.
    pub fn owners(&self) -> Vec<Caller> {
        let book = self.book.lock();
        let owners = book.accounts.keys();
        let owner = |(access_key, region): &(Name, Name)| Caller {
            access_key: access_key.clone(),
            region: region.clone(),
        };
        owners.map(owner).collect()
    }

    /// The counters of an owner, by name and dimensions.
    pub fn metrics(&self, owner: &Caller) -> Vec<Metric> {
        let book = self.book.lock();
        let account = book.accounts.get(&owned_by(owner));
        account.map(AccountCounts::metrics).unwrap_or_default()
    }

    /// The counters of an owner by the minute, oldest first.
    pub fn by_minute(&self, owner: &Caller) -> Vec<Datapoint> {
        self.book.lock().minutes.of(&owned_by(owner))
    }

    /// Clears all records. Watchers stay.
    pub fn clear(&self) {
        *self.book.lock() = JournalState::default();
        self.events.clear();
    }
}

/// The events of a request: the request, its accesses, its consequences.
fn events_of(owner: &Caller, request: &Arc<Request>, caused: Vec<Event>) -> Vec<Event> {
    let event = |table, kind| Event {
        id: 0,
        at: request.at,
        owner: owner.clone(),
        table,
        request: Some(request.number),
        kind,
    };
    let mut events = vec![event(None, EventKind::Request(Arc::clone(request)))];
    let entries = request.accesses.iter().enumerate();
    events.extend(entries.map(|(at, access)| {
        let kind = EventKind::Entry(Arc::clone(request), at);
        event(Some(access.table.clone()), kind)
    }));
    events.extend(caused.into_iter().map(|event| Event {
        request: Some(request.number),
        ..event
    }));
    events
}

impl JournalState {
    fn add_scan(&mut self, scan: &ObservedScan) {
        if let Some(there) = self.scans.iter_mut().find(|there| there.is_like(scan)) {
            there.add(scan);
        } else if self.scans.len() < MOST_SCANS {
            self.scans.push(scan.clone());
        }
    }

    fn add_request(&mut self, mut request: Request) -> Arc<Request> {
        self.taken += 1;
        request.number = self.taken;
        self.bytes += request.weight();
        let request = Arc::new(request);
        self.requests.push_back(Arc::clone(&request));
        while self.requests.len() > MOST_REQUESTS || (self.bytes > MOST_BYTES && self.requests.len() > 1) {
            let Some(gone) = self.requests.pop_front() else { break };
            self.bytes -= gone.weight();
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::answer::Delivery;
    use crate::capacity::units::Units;
    use crate::clock::Moment;
    use crate::value::{AttributeValue, Map};

    fn caller() -> Caller {
        Caller {
            access_key: "me".into(),
            region: "us-east-1".into(),
        }
    }

    fn put(journal: &Journal, table: &str, key: &str) {
        let mut recorder = RequestRecorder::new(caller(), caller(), "PutItem", Moment::START);
        let key: Map = [("pk".into(), AttributeValue::string(key))].into_iter().collect();
        recorder.accessed(RecordedAccess {
            key,
            write: Units::whole(1),
            ..RecordedAccess::new(ItemAction::Put, table.into())
        });
        recorder.spend_write(&table.into(), None, Units::whole(1));
        let end = RequestEnd {
            status: 200,
            error: None,
            delivery: Delivery::Whole,
            latency: Duration::ZERO,
        };
        journal.close(recorder, end);
    }

    #[test]
    fn the_log_is_bounded_in_number() {
        let journal = Journal::default();
        for at in 0..MOST_REQUESTS + 7 {
            put(&journal, "tab", &at.to_string());
        }
        let requests = journal.requests();
        assert_eq!(requests.len(), MOST_REQUESTS);
        assert_eq!(requests[0].number, 8);
        assert_eq!(journal.seen(), MOST_REQUESTS as u64 + 7);
        assert_eq!(
            journal.spent(&caller())[0].write,
            Units::whole(MOST_REQUESTS as u64 + 7)
        );
    }

    #[test]
    fn the_log_is_bounded_in_bytes() {
        let journal = Journal::default();
        let key = "k".repeat(1 << 20);
        (0..40).for_each(|_| put(&journal, "tab", &key));
        assert!(journal.requests().len() < 16, "{}", journal.requests().len());
        assert!(journal.book.lock().bytes <= MOST_BYTES);
        journal.clear();
        assert!(journal.requests().is_empty() && journal.spent(&caller()).is_empty());
    }

    #[test]
    fn the_counters_are_bounded() {
        let journal = Journal::default();
        for at in 0..MOST_COUNTERS + 7 {
            put(&journal, &format!("t{at}"), "k");
        }
        assert!(journal.book.lock().counters <= MOST_COUNTERS);
        let spent = journal.spent(&caller());
        assert!(
            spent.len() > MOST_COUNTERS / 4 && spent.len() < MOST_COUNTERS,
            "{}",
            spent.len()
        );
        put(&journal, "t0", "k");
        let first = journal.spent(&caller()).into_iter().find(|spent| spent.table == "t0");
        assert_eq!(
            first.map(|spent| spent.write),
            Some(Units::whole(2)),
            "what is there goes on"
        );
        journal.clear();
        put(&journal, "new", "k");
        let spent = journal.spent(&caller());
        assert_eq!(spent.len(), 1, "there is room again");
    }

    #[test]
    fn the_kinds_of_scans_are_bounded() {
        let journal = Journal::default();
        let scan = |at: usize| {
            let mut recorder = RequestRecorder::new(caller(), caller(), "Scan", Moment::START);
            let access = RecordedAccess::new(ItemAction::Scan, format!("t{at}").as_str().into());
            recorder.scan(&access, Vec::new());
            let end = RequestEnd {
                status: 200,
                error: None,
                delivery: Delivery::Whole,
                latency: Duration::ZERO,
            };
            journal.close(recorder, end);
        };
        (0..MOST_SCANS + 7).for_each(scan);
        scan(0);
        let scans = journal.scans();
        assert_eq!((scans.len(), scans[0].times, scans[1].times), (MOST_SCANS, 2, 1));
    }

    #[test]
    fn several_watchers_are_counted() {
        let journal = Journal::default();
        journal.begin();
        journal.watch(true);
        journal.watch(true);
        journal.end();
        assert!(journal.is_watched());
        journal.watch(false);
        journal.watch(false);
        assert!(!journal.is_watched() && !journal.is_requested());
    }

    #[test]
    fn bodies_count_toward_the_bytes_of_the_log() {
        let journal = Journal::default();
        let body = vec![b'x'; 1 << 16];
        for _ in 0..300 {
            let mut recorder = RequestRecorder::new(caller(), caller(), "PutItem", Moment::START);
            recorder.keep_bodies(&body, &body);
            let end = RequestEnd {
                status: 200,
                error: None,
                delivery: Delivery::Whole,
                latency: Duration::ZERO,
            };
            journal.close(recorder, end);
        }
        let kept = journal.requests().len();
        assert_eq!(journal.seen(), 300);
        assert!((64..128).contains(&kept), "{kept}");
    }

    #[test]
    fn the_last_request_stays_however_large_it_is() {
        let journal = Journal::default();
        let large = "k".repeat(MOST_BYTES + 1);
        for (number, key) in [(1, "a"), (2, &large), (3, &large), (4, "b")] {
            put(&journal, "tab", key);
            let numbers: Vec<u64> = journal.requests().iter().map(|request| request.number).collect();
            assert_eq!(numbers, [number]);
        }
    }
}
