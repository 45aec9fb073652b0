//! Observation of the engine: counters, the request log, scans, events.

use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::{Caller, Engine};
use crate::answer::Delivery;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::journal::{Datapoint, EventPage, Metric, ObservedScan, Request, RequestEnd, RequestRecorder, Spent};
use crate::wire;

impl Engine {
    /// Whether the engine is watched.
    pub fn is_watched(&self) -> bool {
        self.state.journal().is_watched()
    }

    /// The latest requests of all callers, oldest first; the oldest are dropped when there are too many.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.state.journal().requests()
    }

    /// The number of requests seen, including those no longer stored.
    pub fn requests_seen(&self) -> u64 {
        self.state.journal().seen()
    }

    /// Clears all requests, scans and counters. Watching continues.
    pub fn forget_requests(&self) {
        self.state.journal().clear();
    }

    /// Subscribes to events or unsubscribes, as in [`watch`](crate::controls::Controls::watch): they describe what
    /// happens inside, from a request's partitions and limits to its later consequences. For the same requests, seed
    /// and steps of a settable clock the events are the same.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// engine.listen(true);
    /// engine.dispatch(&caller, "ListTables", b"{}");
    /// assert_eq!(engine.events_after(0, 100).next, 1);
    /// ```
    pub fn listen(&self, listens: bool) {
        self.state.journal().listen(listens);
    }

    /// The events after a number, at most this many; the oldest are dropped when there are too many.
    pub fn events_after(&self, number: u64, most: usize) -> EventPage {
        self.state.journal().events().after(number, most)
    }

    /// Whether there are events after a number; if not, `waker` is woken when there are.
    pub fn has_events_after(&self, number: u64, waker: &Waker) -> bool {
        self.state.journal().events().has_after(number, waker)
    }

    /// Logs events until [`end_event_subscription`](Engine::end_event_subscription), independently of other subscriptions.
    pub fn begin_event_subscription(&self) {
        self.state.journal().begin_event_subscription();
    }

    /// Ends one subscription. Each call of [`begin_event_subscription`](Engine::begin_event_subscription) needs exactly one.
    pub fn end_event_subscription(&self) {
        self.state.journal().end_event_subscription();
    }

    /// Reads of whole tables or indexes, by Scan or by a statement: each operation, table, index and caller once.
    pub fn scans(&self) -> Vec<ObservedScan> {
        self.state.journal().scans()
    }

    /// The units that a caller's tables and their global indexes have spent while the engine was watched.
    pub fn spent(&self, caller: &Caller) -> Vec<Spent> {
        self.state.journal().spent(&self.scope(caller).owner())
    }

    /// Calls `block` while watching; returns the units that a caller's tables and global indexes consume between its
    /// start and its end, for requests of all clients.
    pub fn spent_by<T>(&self, caller: &Caller, block: impl FnOnce() -> T) -> (T, Vec<Spent>) {
        let meter = self.meter(caller);
        let result = block();
        (result, meter.spent())
    }

    /// Counts the units that a caller's tables spend from now on, until the meter is dropped.
    pub fn meter(&self, caller: &Caller) -> Meter<&Engine> {
        Meter::new(self, caller.clone())
    }

    /// The counters and gauges of a caller's account in its region, by the names and dimensions of CloudWatch, sorted.
    /// Counters cover the time in which the engine was watched; `TimeToLiveDeletedItemCount` covers a table's whole life, and
    /// gauges are of this moment.
    pub fn metrics(&self, caller: &Caller) -> Vec<Metric> {
        self.metrics_of(&self.scope(caller))
    }

    /// The counters of a caller's account in its region by the minute of the emulator's clock, oldest first: what the
    /// condition of an alarm examines. Retained for the last day's worth of minutes with activity, while the engine is
    /// watched.
    pub fn metrics_by_minute(&self, caller: &Caller) -> Vec<Datapoint> {
        self.state.journal().by_minute(&self.scope(caller).owner())
    }

    /// Records a request for an unknown operation.
    pub(super) fn record_unknown(&self, caller: &Caller, name: &str, now: Moment, error: &ApiError) {
        if !self.is_watched() {
            return;
        }
        let mut recorder = RequestRecorder::new(self.scope(caller).owner(), caller.clone(), name, now);
        if self.state.journal().events().is_listening() {
            recorder.collect_events();
        }
        let end = RequestEnd {
            status: wire::error::status(error.kind()),
            error: Some(error.kind()),
            delivery: Delivery::Whole,
            latency: Duration::ZERO,
        };
        self.state.journal().close(recorder, end);
    }
}

/// Counts the units that a caller's tables spend.
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let meter = engine.meter(&caller);
/// assert!(meter.spent().is_empty());
/// ```
pub struct Meter<E: Deref<Target = Engine>> {
    engine: E,
    caller: Caller,
    before: Vec<Spent>,
}

impl<E: Deref<Target = Engine>> Meter<E> {
    /// Counts the units that a caller's tables spend from now on. The engine is a reference, or an `Arc` for a meter
    /// that outlives the scope in which it is created.
    pub fn new(engine: E, caller: Caller) -> Meter<E> {
        engine.state.journal().begin();
        Meter {
            before: engine.spent(&caller),
            engine,
            caller,
        }
    }

    /// The units spent since the meter was created, by table and global index.
    pub fn spent(&self) -> Vec<Spent> {
        let mut spent = self.engine.spent(&self.caller);
        for now in &mut spent {
            let of_same = |then: &&Spent| then.table == now.table && then.index == now.index;
            if let Some(then) = self.before.iter().find(of_same) {
                now.read = now.read.without(then.read);
                now.write = now.write.without(then.write);
            }
        }
        spent.retain(|spent| !spent.read.is_zero() || !spent.write.is_zero());
        spent
    }
}

impl<E: Deref<Target = Engine>> Drop for Meter<E> {
    fn drop(&mut self) {
        self.engine.state.journal().end();
    }
}
