//! The emulator's controls: actions on it that no API request can perform.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;

use super::account::AccountControls;
use super::due;
use super::gauges::gauges;
use crate::caller::Caller;
use crate::clock::{Clock, Moment};
use crate::conditions::Conditions;
use crate::context::EngineState;
use crate::journal::Metric;
use crate::sort;
use crate::storage::{AppendError, Region, RestoreError, Scope, StateSnapshot, Table, TableSettings};

/// The error of a control that names a missing table or index.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let error = engine.account(&caller).pause_index("Orders", "by-date").unwrap_err();
/// assert_eq!(error.to_string(), "There is no table Orders for access key me in us-east-1.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound(pub(super) String);

impl fmt::Display for NotFound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

/// Why a control changed nothing.
///
/// ```
/// use dynatwin_engine::ControlFailure;
/// use dynatwin_engine::commits::AppendError;
///
/// let failure = ControlFailure::from(AppendError::new("disk full"));
/// assert_eq!(failure.to_string(), "The change was not stored: disk full.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlFailure {
    /// A table, index or region that it names does not exist.
    NotFound(NotFound),
    /// The commit sink refused the change.
    NotStored(AppendError),
}

impl fmt::Display for ControlFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlFailure::NotFound(error) => error.fmt(formatter),
            ControlFailure::NotStored(error) => write!(formatter, "The change was not stored: {error}."),
        }
    }
}

impl std::error::Error for ControlFailure {}

impl From<NotFound> for ControlFailure {
    fn from(error: NotFound) -> ControlFailure {
        ControlFailure::NotFound(error)
    }
}

impl From<AppendError> for ControlFailure {
    fn from(error: AppendError) -> ControlFailure {
        ControlFailure::NotStored(error)
    }
}

/// Runs all work of a region that is due by `now`.
fn run_region(region: &Region, now: Moment) {
    let tables: Vec<_> = region.tables.read().values().cloned().collect();
    for table in tables {
        due::run_due(&table, now);
        region.forget_deleted(&table.name, now);
    }
    region.trim_streams(now);
}

/// The actions of an engine besides serving requests. An [`Engine`](crate::Engine) dereferences to its controls, and
/// the controls over HTTP call the same methods.
///
/// ```
/// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
/// use std::time::Duration;
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// engine.advance(Duration::from_secs(60));
/// assert_eq!(engine.clock().now().to_string(), "2026-01-01T00:01:00.000Z");
/// ```
pub struct Controls {
    pub(crate) state: EngineState,
    pub(crate) clock: Clock,
    /// Whether all callers share one set of tables.
    pub(crate) shared_db: bool,
}

impl AsRef<Controls> for Controls {
    fn as_ref(&self) -> &Controls {
        self
    }
}

impl Controls {
    /// The controls of one caller's tables.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// assert!(engine.account(&caller).split_shards("Nowhere").is_err());
    /// ```
    pub fn account(&self, caller: &Caller) -> AccountControls<&Controls> {
        AccountControls::new(self, caller.clone())
    }

    /// The scope of the tables that a caller uses.
    pub(crate) fn scope(&self, caller: &Caller) -> Scope {
        if self.shared_db {
            return Scope {
                account: CompactString::const_new(""),
                region: CompactString::const_new(""),
            };
        }
        Scope {
            account: caller.access_key.clone(),
            region: caller.region.clone(),
        }
    }

    pub(crate) fn table(&self, caller: &Caller, table: &str) -> Result<Arc<Table>, NotFound> {
        let found = self.state.catalog().table(&self.scope(caller), table);
        found.ok_or_else(|| {
            let Caller { access_key, region } = caller;
            NotFound(if self.shared_db {
                format!("There is no table {table}.")
            } else {
                format!("There is no table {table} for access key {access_key} in {region}.")
            })
        })
    }

    /// Moves the clock forward, and runs the work that is due by then before it returns.
    pub fn advance(&self, by: Duration) {
        let _step = self.state.begin_step(self.clock.now().plus(by));
        self.clock.advance(by);
        self.run_due();
    }

    /// Moves the clock to a moment if that is later, and runs the work that is due by then; returns whether the clock moved.
    pub fn set_clock(&self, moment: Moment) -> bool {
        let _step = self.state.begin_step(moment.max(self.clock.now()));
        let ahead = self.clock.set(moment);
        self.run_due();
        ahead
    }

    /// Removes all tables, rules, tokens, and conditions of single tables, and clears the journal. Clock, seed and conditions
    /// stay.
    pub fn reset(&self) -> Result<(), ControlFailure> {
        Ok(self.state.clear(self.clock.now())?)
    }

    /// [Resets](Controls::reset) the emulator to its initial state, clock and conditions included. Random decisions
    /// start again from the seed. Time goes back to the clock's start, so no request should run concurrently.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// engine.set_conditions(Conditions::STORM)?;
    /// engine.advance(Duration::from_secs(8 * 86_400));
    /// engine.reset_all()?;
    /// assert_eq!((engine.conditions(), engine.clock().now()), (Conditions::CALM, Moment::START));
    ///
    /// // The answer of the control does not wait for the moment at which the request was sent.
    /// # use dynatwin_engine::http::HttpRequest;
    /// engine.advance(Duration::from_secs(60));
    /// let headers = [("host", "here"), ("content-type", "application/json")];
    /// let body = br#"{"all": true}"#;
    /// let reset = HttpRequest { method: "POST", target: "/_dynatwin/reset", headers: &headers, body };
    /// let answer = engine.handle(&reset);
    /// assert_eq!((answer.status, answer.at), (200, Moment::START));
    /// # Ok::<(), dynatwin_engine::ControlFailure>(())
    /// ```
    pub fn reset_all(&self) -> Result<(), ControlFailure> {
        let (before, adjustment) = (self.clock.now(), self.clock.adjustment());
        self.clock.restart();
        let now = self.clock.now();
        let conditions = self.state.initial_conditions();
        let set = self.state.catalog().set_conditions(&conditions, now);
        if let Err(error) = set.and_then(|()| self.state.clear(now)) {
            self.clock.set(before);
            if adjustment.frozen_at.is_some() {
                self.clock.restore(adjustment);
            }
            return Err(error.into());
        }
        self.state.access().restore();
        Ok(())
    }

    /// A snapshot of the present state, after the work that is due has run.
    pub fn snapshot(&self) -> StateSnapshot {
        self.run_due();
        let now = self.clock.now();
        StateSnapshot::new(self.state.catalog().checkpoint(now), now)
    }

    /// Replaces the state by that of a snapshot and sets the clock to its moment, or changes nothing. Fault rules and
    /// recorded requests are removed, and access control is reset to its initial configuration.
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), RestoreError> {
        self.state.restore(snapshot)?;
        self.clock.restart();
        self.clock.set(snapshot.now());
        self.state.access().restore();
        if self.state.journal().is_requested() {
            // The tables are new, and each counts its own heat.
            self.watch(true);
        }
        Ok(())
    }

    /// Runs the work that is due.
    pub fn run_due(&self) {
        let _batch = self.state.journal().events().batch();
        let now = self.clock.now();
        let catalog = self.state.catalog();
        for (_, region) in catalog.scopes() {
            run_region(&region, now);
        }
        // Due work of one region may have reached another.
        for scope in catalog.host().wakes.take() {
            if let Some(region) = catalog.region(&scope) {
                run_region(&region, now);
            }
        }
        catalog.examine_all();
    }

    /// Runs the work that is due, and returns when more is due. It examines only regions with requests or with work
    /// known to be due.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
    /// assert_eq!(engine.run_background_work(), Moment::NEVER);
    /// ```
    pub fn run_background_work(&self) -> Moment {
        let _batch = self.state.journal().events().batch();
        let now = self.clock.now();
        let catalog = self.state.catalog();
        let mut next = catalog.examine(now, |region| run_region(region, now));
        if !catalog.host().wakes.is_empty() {
            // Due work of one region has reached another.
            next = catalog.examine(now, |region| run_region(region, now));
        }
        next
    }

    /// Sets the conditions of all tables without their own.
    pub fn set_conditions(&self, conditions: Conditions) -> Result<(), ControlFailure> {
        self.state.catalog().set_conditions(&conditions, self.clock.now())?;
        for (scope, region) in self.state.catalog().scopes() {
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            for table in tables {
                self.apply_conditions(&scope, &table);
            }
        }
        self.state.catalog().examine_all();
        Ok(())
    }

    /// Gives a table the conditions that hold for it, after the work that is due by now has run under the old ones.
    pub(super) fn apply_conditions(&self, scope: &Scope, table: &Table) {
        let now = self.clock.now();
        due::run_due(table, now);
        table.set_conditions(&self.state.conditions_of(scope, &table.name), now);
    }

    /// Changes a table's settings, after the work that is due by now has run under the old ones.
    pub(super) fn reshape(&self, table: &Table, change: impl FnOnce(&mut TableSettings)) -> Result<(), ControlFailure> {
        let now = self.clock.now();
        due::run_due(table, now);
        table.reshape(now, |shape| {
            change(shape);
            Ok::<_, ControlFailure>(())
        })?;
        Ok(())
    }

    /// Starts or stops recording requests, and the heat of all tables.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
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

    /// Every scope that has or had tables, or was recorded, in order.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let seen = self.state.journal().owners().into_iter();
        let seen = seen.map(|owner| Scope {
            account: owner.access_key,
            region: owner.region,
        });
        let there = self.state.catalog().scopes().into_iter();
        let mut scopes: Vec<Scope> = there.map(|(scope, _)| scope).chain(seen).collect();
        sort::sort_unique(&mut scopes);
        scopes
    }

    /// The counters and gauges of a scope, by their names and dimensions in CloudWatch, sorted.
    pub(crate) fn metrics_of(&self, scope: &Scope) -> Vec<Metric> {
        let now = self.clock.now();
        let mut metrics = self.state.journal().metrics(&scope.owner());
        let region = self.state.catalog().region(scope);
        let tables: Vec<_> = region
            .iter()
            .flat_map(|region| region.tables.read().values().cloned().collect::<Vec<_>>())
            .collect();
        for table in tables {
            due::run_due(&table, now);
            gauges(&table, now, &mut metrics);
        }
        sort::sort_by(&mut metrics, |left, right| {
            (left.name, &left.dimensions).cmp(&(right.name, &right.dimensions))
        });
        metrics
    }
}
