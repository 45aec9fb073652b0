//! The state that the requests of an engine share.

use std::sync::Arc;

use super::Readers;
use super::rates::Rates;
use crate::access::AccessControl;
use crate::change::Change;
use crate::clock::Moment;
use crate::conditions::Conditions;
use crate::expression::Cache;
use crate::fault::{Faults, Ordinals};
use crate::journal::{EventBatch, Journal};
use crate::partiql::StatementCache;
use crate::reclaim::Reclaimer;
use crate::storage::{AppendError, Catalog, ClockSteps, RestoreError, Scope, StateSnapshot, Tokens};
use crate::sync::{AtomicBool, Ordering};
use crate::transfer::ObjectStore;

/// Caches of parsed texts, which requests repeat.
pub struct Caches {
    pub expressions: Cache,
    pub statements: StatementCache,
}

/// The tables of an engine, its conditions and fault rules, and what it remembers.
pub struct EngineState {
    seed: u64,
    initial_conditions: Conditions,
    catalog: Catalog,
    faults: Faults,
    caches: Caches,
    object_store: Option<Arc<dyn ObjectStore>>,
    decided: Ordinals,
    readers: Readers,
    journal: Journal,
    full: AtomicBool,
    rates: Rates,
    access: AccessControl,
}

/// A step of a settable clock whose due work is being applied, until it is dropped. It holds events back, to log them in the order
/// of their times: requests do not wait for the deletions that it applies.
pub struct ClockStep<'s> {
    steps: &'s ClockSteps,
    _events: EventBatch<'s>,
}

impl Drop for ClockStep<'_> {
    fn drop(&mut self) {
        self.steps.end();
    }
}

impl EngineState {
    /// No tables and no rules.
    pub fn new(seed: u64, conditions: &Conditions) -> EngineState {
        let journal = Journal::default();
        let mut catalog = Catalog::new(conditions);
        catalog.host_mut().events = Arc::clone(journal.events());
        EngineState {
            seed,
            initial_conditions: *conditions,
            catalog,
            faults: Faults::new(seed),
            caches: Caches {
                expressions: Cache::new(),
                statements: StatementCache::new(),
            },
            object_store: None,
            decided: Ordinals::default(),
            readers: Readers::default(),
            journal,
            full: AtomicBool::new(false),
            rates: Rates::default(),
            access: AccessControl::default(),
        }
    }

    /// Begins a step of a settable clock, before the clock moves. The caller then applies all work that is due by `until`, and
    /// drops the step.
    pub fn begin_step(&self, until: Moment) -> ClockStep<'_> {
        let events = self.journal.events().hold();
        let steps = &*self.catalog.host().steps;
        steps.begin(until);
        ClockStep { steps, _events: events }
    }

    /// The steps of a settable clock whose due work is being applied.
    pub fn steps(&self) -> &ClockSteps {
        &self.catalog.host().steps
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The expressions and statements that were parsed.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The object store of exports and imports, if there is one.
    pub fn object_store(&self) -> Option<&dyn ObjectStore> {
        self.object_store.as_deref()
    }

    pub fn set_object_store(&mut self, object_store: Arc<dyn ObjectStore>) {
        self.object_store = Some(object_store);
    }

    /// Sets the reclaimer of tables that are created from now on.
    pub fn set_reclaimer(&mut self, reclaimer: Reclaimer) {
        self.catalog.host_mut().reclaimer = reclaimer;
    }

    /// Sets whether a request makes only some of the deletions that are due, where time passes by itself: of the tables that
    /// are made from now on.
    pub fn set_sliced(&mut self, sliced: bool) {
        self.catalog.host_mut().sliced = sliced;
    }

    pub fn tokens(&self) -> &Tokens {
        self.catalog.tokens()
    }

    /// How often what has no other ordinal was decided.
    pub fn decided(&self) -> &Ordinals {
        &self.decided
    }

    /// The states seen by callers with monotonic reads.
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Makes changes that would store more fail, or lifts that.
    pub fn refuse_growth(&self, refuse: bool) {
        self.full.store(refuse, Ordering::Relaxed);
    }

    /// Whether nothing more can be stored.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Whether a change would store more, and nothing more can be stored.
    pub fn refuses(&self, change: &Change) -> bool {
        self.is_full() && change.growth() > 0
    }

    /// How often accounts have called the control plane.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// The conditions of all tables without their own.
    pub fn conditions(&self) -> Conditions {
        self.catalog.defaults().conditions()
    }

    /// The conditions with which the engine was created.
    pub fn initial_conditions(&self) -> Conditions {
        self.initial_conditions
    }

    /// The conditions set for a single table, if any.
    pub fn own_conditions(&self, scope: &Scope, table: &str) -> Option<Conditions> {
        self.catalog.defaults().of_table(scope, table)
    }

    /// How many tables, there or not, have conditions of their own.
    pub fn count_own_conditions(&self) -> usize {
        self.catalog.defaults().count()
    }

    /// The conditions of a table.
    pub fn conditions_of(&self, scope: &Scope, table: &str) -> Conditions {
        self.catalog.defaults().of(scope, table)
    }

    /// Whether no setting makes control-plane requests for a table wait or fail.
    pub fn never_delays_control(&self, scope: &Scope, table: &str) -> bool {
        let allows = |conditions: &Conditions| conditions.latency.is_none() && !conditions.control_limits;
        !self.is_full() && self.catalog.defaults().test(scope, table, allows)
    }

    /// The access control in force.
    pub fn access(&self) -> &AccessControl {
        &self.access
    }

    /// Removes all tables, rules, tokens, and conditions of single tables, and clears the journal.
    pub fn clear(&self, now: Moment) -> Result<(), AppendError> {
        self.catalog.clear(now)?;
        self.forget();
        Ok(())
    }

    /// Replaces tables, tokens and conditions by those of a snapshot, removes all rules, and clears the journal.
    pub fn restore(&self, snapshot: &StateSnapshot) -> Result<(), RestoreError> {
        self.catalog.restore(snapshot)?;
        self.forget();
        Ok(())
    }

    fn forget(&self) {
        self.faults.reset();
        self.decided.clear();
        self.readers.clear();
        self.journal.clear();
        self.rates.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::ChangePosition;

    #[test]
    fn ordinals_and_seen_states_are_forgotten_with_the_tables() {
        let state = EngineState::new(7, &Conditions::CALM);
        let position = |second| ChangePosition {
            at: Moment::from_seconds(second),
            number: 0,
        };
        let times = (Moment::from_seconds(0), Moment::from_seconds(9));
        let read = |second| {
            let seen = state.readers().advance(1, position(second), position(9), times);
            seen.at.seconds()
        };
        let decide = || state.decided().next(0, 7);
        assert_eq!((decide(), decide(), read(5), read(3)), (1, 2, 5, 5));
        assert!(state.clear(Moment::START).is_ok());
        assert_eq!((decide(), decide(), read(3)), (1, 2, 3));
    }
}
