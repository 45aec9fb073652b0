//! What was asked of the engine, and what it did: counters, the latest requests, scans.

use std::sync::Arc;

use super::{Caller, Engine};
use crate::answer::Delivery;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::execute;
use crate::journal::{Draft, End, Metric, Request, ScanSeen, Spent, dimension};
use crate::schema::{BillingMode, OnDemandThroughput, Throughput};
use crate::storage::{Shape, Table, Work};
use crate::value::Name;
use crate::wire;

impl Engine {
    /// Begins or ends to watch what is asked of the engine: [`requests`](Engine::requests), [`scans`](Engine::scans),
    /// the counters of [`metrics`](Engine::metrics), and the [`heat`](Engine::heat) of all tables, also of those that come.
    /// What was seen stays until [`reset`](Engine::reset) or [`forget_requests`](Engine::forget_requests).
    ///
    /// ```
    /// use dynatwin_engine::clock::{Clock, Moment};
    /// use dynatwin_engine::conditions::Conditions;
    /// use dynatwin_engine::engine::{Caller, Engine, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// engine.watch(true);
    /// engine.dispatch(&caller, "GetItem", b"{}");
    /// let metrics = engine.metrics(&caller);
    /// assert_eq!((metrics[0].name, metrics[0].value), ("UserErrors", 1.0));
    /// ```
    pub fn watch(&self, watches: bool) {
        self.state.journal().watch(watches);
        for (_, region) in self.state.catalog().scopes() {
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            let now = self.clock.now();
            tables.iter().for_each(|table| table.watch(watches, now));
        }
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.state.journal().is_watched()
    }

    /// The latest requests of all callers, oldest first; the oldest are let go of when there are too many.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.state.journal().requests()
    }

    /// How many requests were seen, those that are not remembered any more too.
    pub fn requests_seen(&self) -> u64 {
        self.state.journal().seen()
    }

    /// Forgets all requests, scans and counters. Who watches goes on.
    pub fn forget_requests(&self) {
        self.state.journal().clear();
    }

    /// Who has read all of a table or an index, by Scan or by a statement: each operation, table, index and caller once.
    pub fn scans(&self) -> Vec<ScanSeen> {
        self.state.journal().scans()
    }

    /// What a caller's tables and their global indexes have spent while somebody watched.
    pub fn spent(&self, caller: &Caller) -> Vec<Spent> {
        self.state.journal().spent(&self.scope(caller).owner())
    }

    /// Calls `block`, and watches meanwhile; says what a caller's tables and global indexes have spent from its beginning to
    /// its end, whoever has asked.
    pub fn spent_by<T>(&self, caller: &Caller, block: impl FnOnce() -> T) -> (T, Vec<Spent>) {
        let meter = self.meter(caller);
        let result = block();
        (result, meter.spent())
    }

    /// Watches what a caller's tables spend from now on, until the meter is dropped.
    pub fn meter(&self, caller: &Caller) -> Meter<'_> {
        self.state.journal().begin();
        Meter {
            engine: self,
            before: self.spent(caller),
            caller: caller.clone(),
        }
    }

    /// The counters and gauges of a caller's account in its region, by the names and dimensions of CloudWatch, sorted.
    /// Counters are of the time in which somebody watched; `TimeToLiveDeletedItemCount` is of a table's whole life, and
    /// gauges are of this moment.
    pub fn metrics(&self, caller: &Caller) -> Vec<Metric> {
        let (scope, now) = (self.scope(caller), self.clock.now());
        let mut metrics = self.state.journal().metrics(&scope.owner());
        let region = self.state.catalog().region(&scope);
        let tables: Vec<_> = region
            .iter()
            .flat_map(|region| region.tables.read().values().cloned().collect::<Vec<_>>())
            .collect();
        for table in tables {
            execute::run_due(&table, now);
            gauges(&table, now, &mut metrics);
        }
        metrics.sort_by(|left, right| (left.name, &left.dimensions).cmp(&(right.name, &right.dimensions)));
        metrics
    }

    /// Tells the journal of a request for an operation that there is not.
    pub(super) fn tell_unknown(&self, caller: &Caller, name: &str, now: Moment, error: &ApiError) {
        if !self.is_watched() {
            return;
        }
        let draft = Draft::new(self.scope(caller).owner(), caller.clone(), name, now);
        let end = End {
            status: wire::error::status(error.kind()),
            error: Some(error.kind()),
            delivery: Delivery::Whole,
        };
        self.state.journal().close(draft, end);
    }
}

/// Watches what a caller's tables spend.
///
/// ```
/// use dynatwin_engine::clock::{Clock, Moment};
/// use dynatwin_engine::conditions::Conditions;
/// use dynatwin_engine::engine::{Caller, Engine, Settings};
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let meter = engine.meter(&caller);
/// assert!(meter.spent().is_empty());
/// ```
pub struct Meter<'e> {
    engine: &'e Engine,
    caller: Caller,
    before: Vec<Spent>,
}

impl Meter<'_> {
    /// What was spent since the meter was made, by table and global index.
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

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.engine.state.journal().end();
    }
}

/// What a table shows of itself: what it is given, what time to live has deleted, how far its new indexes are.
fn gauges(table: &Table, now: Moment, metrics: &mut Vec<Metric>) {
    let shape = table.shape();
    let name = dimension::table(&table.name);
    let own = std::slice::from_ref(&name);
    Metric::count(metrics, "TimeToLiveDeletedItemCount", own, table.expired());
    let definition = &shape.definition;
    let units = shown(&shape, None, definition.throughput, now);
    given(metrics, own, &shape, units, definition.on_demand);
    for index in &definition.globals {
        let dimensions = [name.clone(), dimension::index(&index.name)];
        let units = shown(&shape, Some(&index.name), index.throughput, now);
        given(metrics, &dimensions, &shape, units, index.on_demand);
        if let Some(percent) = progress(&shape, &index.name, now) {
            let (name, dimensions) = ("OnlineIndexPercentageProgress", dimensions.to_vec());
            metrics.push(Metric {
                name,
                dimensions,
                value: percent,
            });
        }
    }
}

/// The throughput that shows: while it changes, that from before.
fn shown(shape: &Shape, index: Option<&Name>, units: Throughput, now: Moment) -> Throughput {
    let mut changing = shape.running(now).filter_map(|job| match (&job.work, index) {
        (Work::Throughput { was, .. }, None) => Some(*was),
        (Work::UpdateIndex { index: of, was, .. }, Some(index)) if of == index => Some(*was),
        _ => None,
    });
    changing.next().unwrap_or(units)
}

/// What a table or index was given: units, or on demand at most so many.
fn given(
    metrics: &mut Vec<Metric>,
    dimensions: &[(&'static str, Name)],
    shape: &Shape,
    units: Throughput,
    on_demand: Option<OnDemandThroughput>,
) {
    if shape.definition.billing == BillingMode::Provisioned {
        Metric::count(metrics, "ProvisionedReadCapacityUnits", dimensions, units.read);
        Metric::count(metrics, "ProvisionedWriteCapacityUnits", dimensions, units.write);
        return;
    }
    let most = on_demand.unwrap_or_default();
    for (name, most) in [
        ("OnDemandMaxReadRequestUnits", most.max_read),
        ("OnDemandMaxWriteRequestUnits", most.max_write),
    ] {
        // A maximum of -1 is none.
        Metric::amount(metrics, name, dimensions, most.unwrap_or_default() as f64);
    }
}

/// How much of an index that is being made is filled: 0 while the service looks for room.
fn progress(shape: &Shape, index: &Name, now: Moment) -> Option<f64> {
    shape.running(now).find_map(|job| match &job.work {
        Work::CreateIndex { index: made, allocated } if made == index => {
            let whole = job.until.since(*allocated).as_secs_f64();
            Some(100.0 * now.since(*allocated).as_secs_f64() / whole.max(f64::MIN_POSITIVE))
        }
        _ => None,
    })
}
