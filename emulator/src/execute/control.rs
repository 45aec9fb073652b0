//! The emulator's controls: what a test does to it, and no request of the API can.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;

use super::due;
use super::gauges::gauges;
use crate::caller::Caller;
use crate::capacity::Heat;
use crate::clock::{Clock, Moment};
use crate::conditions::{Conditions, Lag};
use crate::context::EngineState;
use crate::journal::Metric;
use crate::storage::{AppendError, GlobalIndex, Region, RestoreError, Scope, StateSnapshot, Table, TableSettings};
use crate::value::Name;

/// The error of a control that names a missing table or index.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let error = engine.pause_index(&caller, "Orders", "by-date").unwrap_err();
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

/// The status of a global index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStatus {
    pub name: Name,
    pub paused: bool,
    /// The number of pending changes.
    pub waiting: usize,
    /// Its own lag, if set.
    pub lag: Option<Lag>,
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

/// What an engine does besides serving requests. An [`Engine`](crate::Engine) dereferences to its controls, and the controls over
/// HTTP call the same methods.
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

impl Controls {
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

    fn index(&self, caller: &Caller, table: &str, index: &str) -> Result<(Arc<Table>, Arc<GlobalIndex>), NotFound> {
        let table = self.table(caller, table)?;
        let shape = table.shape();
        let at = shape.definition.globals.iter().position(|there| there.name == index);
        let found = at.and_then(|at| shape.indexes.get(at)).cloned();
        match found {
            Some(found) => Ok((table, found)),
            None => Err(NotFound(format!("Table {} has no global index {index}.", table.name))),
        }
    }

    /// Moves the clock forward, and runs the work that is due by then before it returns.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run_due();
    }

    /// Moves the clock to a moment if that is later, and runs the work that is due by then; returns whether the clock moved.
    pub fn set_clock(&self, moment: Moment) -> bool {
        let ahead = self.clock.set(moment);
        self.run_due();
        ahead
    }

    /// Removes all tables, rules, tokens, and conditions of single tables, and clears the journal.
    pub fn reset(&self) -> Result<(), ControlFailure> {
        Ok(self.state.clear(self.clock.now())?)
    }

    /// [Resets](Controls::reset) the emulator to its initial state, clock and conditions included. Random decisions
    /// start again from the seed. Time goes back to the clock's start, so no request should run concurrently.
    pub fn reset_all(&self) -> Result<(), ControlFailure> {
        let before = self.clock.now();
        self.clock.restart();
        let now = self.clock.now();
        let conditions = self.state.initial_conditions();
        let set = self.state.catalog().set_conditions(&conditions, now);
        if let Err(error) = set.and_then(|()| self.state.clear(now)) {
            self.clock.set(before);
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
        // What was due in one region may have reached another.
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
    /// assert_eq!(engine.keep_up(), Moment::NEVER);
    /// ```
    pub fn keep_up(&self) -> Moment {
        let _batch = self.state.journal().events().batch();
        let now = self.clock.now();
        let catalog = self.state.catalog();
        let mut next = catalog.examine(now, |region| run_region(region, now));
        if !catalog.host().wakes.is_empty() {
            // What was due in one region has reached another.
            next = catalog.examine(now, |region| run_region(region, now));
        }
        next
    }

    /// Sets the conditions of all tables without their own.
    pub fn set_conditions(&self, conditions: &Conditions) -> Result<(), ControlFailure> {
        self.state.catalog().set_conditions(conditions, self.clock.now())?;
        for (scope, region) in self.state.catalog().scopes() {
            let tables: Vec<_> = region.tables.read().values().cloned().collect();
            for table in tables {
                let conditions = self.state.conditions_of(&scope, &table.name);
                self.reshape(&table, |shape| shape.conditions = conditions)?;
            }
        }
        self.state.catalog().examine_all();
        Ok(())
    }

    /// Sets the conditions of one table, before or after its creation; `None` removes them, so that it follows the
    /// others again.
    pub fn set_table_conditions(
        &self,
        caller: &Caller,
        table: &str,
        conditions: Option<&Conditions>,
    ) -> Result<(), ControlFailure> {
        let scope = self.scope(caller);
        let (name, now) = (Name::new(table), self.clock.now());
        self.state
            .catalog()
            .set_table_conditions(&scope, &name, conditions, now)?;
        if let Some(found) = self.state.catalog().table(&scope, table) {
            let conditions = self.state.conditions_of(&scope, table);
            self.reshape(&found, |shape| shape.conditions = conditions)?;
        }
        Ok(())
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

    /// Pauses replication to a global index until [`resume_index`](Controls::resume_index). The index can still be
    /// read; pending changes are kept in memory.
    pub fn pause_index(&self, caller: &Caller, table: &str, index: &str) -> Result<(), ControlFailure> {
        let (table, _) = self.index(caller, table, index)?;
        let now = self.clock.now();
        due::run_due(&table, now);
        table.pause_index(&Name::new(index), true, now)?;
        Ok(())
    }

    /// Resumes a paused index, and applies all changes that are due by now.
    pub fn resume_index(&self, caller: &Caller, table: &str, index: &str) -> Result<(), ControlFailure> {
        let (table, _) = self.index(caller, table, index)?;
        table.pause_index(&Name::new(index), false, self.clock.now())?;
        due::run_due(&table, self.clock.now());
        Ok(())
    }

    /// Sets how long future writes take to reach one global index; `None` lets it follow the table's conditions again.
    pub fn set_index_lag(
        &self,
        caller: &Caller,
        table: &str,
        index: &str,
        lag: Option<Lag>,
    ) -> Result<(), ControlFailure> {
        let (table, _) = self.index(caller, table, index)?;
        self.reshape(&table, |shape| {
            match lag {
                Some(lag) => shape.index_lags.insert(Name::new(index), lag),
                None => shape.index_lags.remove(index),
            };
        })
    }

    /// The global indexes of a table, in the order of its definition.
    pub(crate) fn indexes(&self, caller: &Caller, table: &str) -> Result<Vec<IndexStatus>, NotFound> {
        let table = self.table(caller, table)?;
        due::run_due(&table, self.clock.now());
        let shape = table.shape();
        let globals = shape.definition.globals.iter().zip(&shape.indexes);
        Ok(globals
            .map(|(index, entries)| IndexStatus {
                name: index.name.clone(),
                paused: entries.is_paused(),
                waiting: entries.waiting(),
                lag: shape.index_lags.get(&index.name).copied(),
            })
            .collect())
    }

    /// Deletes every expired item of a table at once, without the lag of time to live; returns their number. Items that
    /// time to live never deletes are kept: those whose expiry is not a Number, or more than five years past.
    pub fn expire_now(&self, caller: &Caller, table: &str) -> Result<u64, NotFound> {
        let table = self.table(caller, table)?;
        let now = self.clock.now();
        let count = due::expire_now(&table, now);
        due::run_due(&table, now);
        Ok(count)
    }

    /// Splits each open shard of a table's stream in two, as the service does for hot or full partitions, to test that
    /// consumers follow. Returns whether the table has a stream.
    pub fn split_shards(&self, caller: &Caller, table: &str) -> Result<bool, ControlFailure> {
        let now = self.clock.now();
        let table = self.table(caller, table)?;
        let Some(stream) = table.shape().stream.clone() else {
            return Ok(false);
        };
        for (first, last) in stream.open_tokens(now) {
            table.split_stream(first + (last - first).div_ceil(2), now)?;
        }
        Ok(true)
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
    pub(crate) fn scopes(&self) -> BTreeSet<Scope> {
        let seen = self.state.journal().owners().into_iter();
        let seen = seen.map(|owner| Scope {
            account: owner.access_key,
            region: owner.region,
        });
        let there = self.state.catalog().scopes().into_iter();
        there.map(|(scope, _)| scope).chain(seen).collect()
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
        metrics.sort_by(|left, right| (left.name, &left.dimensions).cmp(&(right.name, &right.dimensions)));
        metrics
    }

    /// Starts or stops recording what a table's capacity is spent on: units and throttles by partition, and the hottest
    /// partition keys. Where capacity is enforced, the former are counted in any case.
    pub fn watch_heat(&self, caller: &Caller, table: &str, watches: bool) -> Result<(), NotFound> {
        self.table(caller, table)?.watch(watches, self.clock.now());
        Ok(())
    }

    /// What a table's capacity was spent on since recording started; empty if it is not recorded.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// assert!(engine.heat(&caller, "Nowhere").is_err());
    /// ```
    pub fn heat(&self, caller: &Caller, table: &str) -> Result<Heat, NotFound> {
        let table = self.table(caller, table)?;
        let mut ledger = table.capacity.lock();
        let heat = ledger.as_mut().map(|ledger| ledger.heat(self.clock.now()));
        Ok(heat.unwrap_or_default())
    }
}
