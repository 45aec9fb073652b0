//! The controls of the tables of one caller.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::control::{ControlFailure, Controls, NotFound};
use super::due;
use crate::caller::Caller;
use crate::capacity::Heat;
use crate::conditions::{Conditions, Lag};
use crate::storage::{GlobalIndex, Scope, Table};
use crate::value::Name;

/// The controls of the tables of one access key and region. The controls over HTTP call the same methods.
///
/// `E` refers to the engine: `&Engine`, `Arc<Engine>` or `&Controls`.
///
/// ```
/// use dynatwin_engine::controls::AccountControls;
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// use std::sync::Arc;
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Arc::new(Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false }));
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// let account = AccountControls::new(engine, caller);
/// let missing = account.expire_now("Orders").unwrap_err();
/// assert_eq!(missing.to_string(), "There is no table Orders for access key me in us-east-1.");
/// ```
#[derive(Clone)]
pub struct AccountControls<E> {
    engine: E,
    caller: Caller,
}

impl<E> fmt::Debug for AccountControls<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("AccountControls");
        shown.field("caller", &self.caller).finish_non_exhaustive()
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

impl<E> AccountControls<E> {
    /// The controls of the tables of `caller`.
    pub fn new(engine: E, caller: Caller) -> AccountControls<E> {
        AccountControls { engine, caller }
    }

    /// The access key and region that own the tables.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}

impl<E: Deref<Target: AsRef<Controls>>> AccountControls<E> {
    pub(super) fn controls(&self) -> &Controls {
        (*self.engine).as_ref()
    }

    pub(crate) fn scope(&self) -> Scope {
        self.controls().scope(&self.caller)
    }

    pub(crate) fn table(&self, table: &str) -> Result<Arc<Table>, NotFound> {
        self.controls().table(&self.caller, table)
    }

    fn index(&self, table: &str, index: &str) -> Result<(Arc<Table>, Arc<GlobalIndex>), NotFound> {
        let table = self.table(table)?;
        let shape = table.shape();
        let at = shape.definition.globals.iter().position(|there| there.name == index);
        let found = at.and_then(|at| shape.indexes.get(at)).cloned();
        match found {
            Some(found) => Ok((table, found)),
            None => Err(NotFound(format!("Table {} has no global index {index}.", table.name))),
        }
    }

    /// Sets the conditions of one table, before or after its creation; with `None` those of all tables apply to it again.
    pub fn set_table_conditions(
        &self,
        table: &str,
        conditions: impl Into<Option<Conditions>>,
    ) -> Result<(), ControlFailure> {
        let (controls, scope) = (self.controls(), self.scope());
        let (name, now) = (Name::new(table), controls.clock.now());
        let catalog = controls.state.catalog();
        catalog.set_table_conditions(&scope, &name, conditions.into().as_ref(), now)?;
        if let Some(found) = catalog.table(&scope, table) {
            controls.apply_conditions(&scope, &found);
        }
        Ok(())
    }

    /// Runs `load`, which writes to these tables or creates them. Meanwhile their requests are neither throttled nor delayed, and what they
    /// write is visible at once; conditions that decide which data is kept, such as time to live, stay. Other tables are not affected, and a
    /// state that is saved meanwhile has the conditions of before.
    ///
    /// ```
    /// use dynatwin_engine::controls::AccountControls;
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// let account = AccountControls::new(&engine, caller.clone());
    /// let body = br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
    ///     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    ///     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#;
    /// let put = account.while_loading(&["Orders".to_owned()], || {
    ///     engine.dispatch(&caller, "CreateTable", body);
    ///     engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "a"}}}"#)
    /// });
    /// assert_eq!(put.status, 200);
    /// ```
    pub fn while_loading<T>(&self, tables: &[String], load: impl FnOnce() -> T) -> T {
        let _guard = LoadGuard::begin(self.controls(), self.scope(), tables);
        load()
    }

    /// Pauses replication to a global index until [`resume_index`](AccountControls::resume_index). The index can still be
    /// read; pending changes are kept in memory.
    pub fn pause_index(&self, table: &str, index: &str) -> Result<(), ControlFailure> {
        let (table, _) = self.index(table, index)?;
        let now = self.controls().clock.now();
        due::run_due(&table, now);
        table.pause_index(&Name::new(index), true, now)?;
        Ok(())
    }

    /// Resumes a paused index, and applies all changes that are due by now.
    pub fn resume_index(&self, table: &str, index: &str) -> Result<(), ControlFailure> {
        let (table, _) = self.index(table, index)?;
        let clock = &self.controls().clock;
        table.pause_index(&Name::new(index), false, clock.now())?;
        due::run_due(&table, clock.now());
        Ok(())
    }

    /// Sets the delay until future writes reach one global index; with `None` the table's conditions apply again.
    pub fn set_index_lag(&self, table: &str, index: &str, lag: impl Into<Option<Lag>>) -> Result<(), ControlFailure> {
        let (table, _) = self.index(table, index)?;
        let lag = lag.into();
        self.controls().reshape(&table, |shape| {
            match lag {
                Some(lag) => shape.index_lags.insert(Name::new(index), lag),
                None => shape.index_lags.remove(index),
            };
        })
    }

    /// The global indexes of a table, in the order of its definition.
    pub(crate) fn indexes(&self, table: &str) -> Result<Vec<IndexStatus>, NotFound> {
        let table = self.table(table)?;
        due::run_due(&table, self.controls().clock.now());
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
    pub fn expire_now(&self, table: &str) -> Result<u64, NotFound> {
        let table = self.table(table)?;
        let now = self.controls().clock.now();
        let count = due::expire_now(&table, now);
        due::run_due(&table, now);
        Ok(count)
    }

    /// Splits each open shard of a table's stream in two, as the service does for hot or full partitions, to test that
    /// consumers follow. Returns whether the table has a stream.
    pub fn split_shards(&self, table: &str) -> Result<bool, ControlFailure> {
        let now = self.controls().clock.now();
        let table = self.table(table)?;
        let Some(stream) = table.shape().stream.clone() else {
            return Ok(false);
        };
        for (first, last) in stream.open_tokens(now) {
            table.split_stream(first + (last - first).div_ceil(2), now)?;
        }
        Ok(true)
    }

    /// Starts or stops recording how a table's capacity is used: units and throttles by partition, and the hottest
    /// partition keys. Where capacity is enforced, the former are always counted.
    pub fn watch_heat(&self, table: &str, watches: bool) -> Result<(), NotFound> {
        self.table(table)?.watch(watches, self.controls().clock.now());
        Ok(())
    }

    /// The capacity that a table has consumed since recording started; empty if it is not recorded.
    ///
    /// ```
    /// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
    /// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
    /// assert!(engine.account(&caller).heat("Nowhere").is_err());
    /// ```
    pub fn heat(&self, table: &str) -> Result<Heat, NotFound> {
        let table = self.table(table)?;
        let mut ledger = table.capacity.lock();
        let heat = ledger.as_mut().map(|ledger| ledger.heat(self.controls().clock.now()));
        Ok(heat.unwrap_or_default())
    }
}

/// Ends the load of its tables when it is dropped, so also if the closure of [`AccountControls::while_loading`] panics.
struct LoadGuard<'c> {
    controls: &'c Controls,
    scope: Scope,
    tables: Vec<Name>,
}

impl<'c> LoadGuard<'c> {
    fn begin(controls: &'c Controls, scope: Scope, tables: &[String]) -> LoadGuard<'c> {
        let tables = tables.iter().map(|name| Name::new(name)).collect();
        let guard = LoadGuard {
            controls,
            scope,
            tables,
        };
        let defaults = controls.state.catalog().defaults();
        guard
            .tables
            .iter()
            .for_each(|name| defaults.begin_load(&guard.scope, name));
        guard.apply_conditions();
        guard
    }

    /// Gives the tables that exist the conditions that hold for them now.
    fn apply_conditions(&self) {
        let state = &self.controls.state;
        for table in self
            .tables
            .iter()
            .filter_map(|name| state.catalog().table(&self.scope, name))
        {
            if table.shape().conditions != state.conditions_of(&self.scope, &table.name) {
                self.controls.apply_conditions(&self.scope, &table);
            }
        }
    }
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        let defaults = self.controls.state.catalog().defaults();
        self.tables.iter().for_each(|name| defaults.end_load(&self.scope, name));
        self.apply_conditions();
    }
}
