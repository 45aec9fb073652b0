//! Guards of fault rules: dropping a guard removes its rule.

use std::fmt;
use std::sync::Arc;

use dynatwin_engine::Engine;
use dynatwin_engine::faults::{InvalidRule, Outage, Rule, RuleId, RuleReport, Verdict};

/// The twin's fault rules, which make requests fail, wait, or lose their answer. The first rule that acts on a request
/// decides.
///
/// ```
/// use dynatwin::{Rule, Twin, Verdict};
///
/// let twin = Twin::seeded(7);
/// let guard = twin.faults().add(Rule::new(Verdict::Throttle(None)).operation("PutItem").first(2));
/// assert_eq!(guard.fired(), 0);
/// assert_eq!(twin.faults().report().len(), 1);
/// drop(guard);
/// assert!(twin.faults().report().is_empty());
/// ```
#[derive(Clone)]
pub struct Faults(Arc<Engine>);

impl Faults {
    pub(crate) fn new(engine: Arc<Engine>) -> Faults {
        Faults(engine)
    }

    /// Adds a rule after the existing ones, for as long as the guard is held.
    ///
    /// # Panics
    ///
    /// Panics if the rule can never act: the API model does not list its exception for the operation, or its time
    /// window is empty. See [`try_add`](Faults::try_add).
    #[track_caller]
    pub fn add(&self, rule: Rule) -> FaultGuard {
        match self.try_add(rule) {
            Ok(guard) => guard,
            Err(error) => panic!("dynatwin: {error}"),
        }
    }

    /// Adds a rule after the existing ones; fails if it can never act.
    ///
    /// ```
    /// use dynatwin::{ErrorKind, Rule, Twin, Verdict};
    ///
    /// let twin = Twin::seeded(7);
    /// let conflict = Rule::new(Verdict::Exception(ErrorKind::TransactionConflict));
    /// assert!(twin.faults().try_add(conflict.clone().operation("PutItem")).is_ok());
    /// assert!(twin.faults().try_add(conflict.operation("GetItem")).is_err());
    /// ```
    pub fn try_add(&self, rule: Rule) -> Result<FaultGuard, InvalidRule> {
        let id = self.0.add_fault(rule)?;
        Ok(FaultGuard {
            id,
            engine: Arc::clone(&self.0),
            kept: false,
        })
    }

    /// Starts an outage of all tables and regions, for as long as the guards are held.
    ///
    /// ```
    /// use dynatwin::{Outage, Twin};
    ///
    /// let twin = Twin::seeded(7);
    /// let outage = twin.faults().outage(Outage::AzLoss);
    /// assert_eq!(twin.faults().report().len(), outage.len());
    /// drop(outage);
    /// assert!(twin.faults().report().is_empty());
    /// ```
    pub fn outage(&self, outage: Outage) -> Vec<FaultGuard> {
        self.outage_of(outage, &Rule::new(Verdict::Reset))
    }

    /// Starts an outage of the requests that `scope` matches, in its time window; the scope's verdict and trigger are
    /// ignored.
    ///
    /// ```
    /// use dynatwin::{Outage, Rule, Twin, Verdict};
    /// use std::time::Duration;
    ///
    /// let twin = Twin::seeded(7);
    /// let orders = Rule::new(Verdict::Reset).table("Orders").lasting(Duration::from_secs(60));
    /// let outage = twin.faults().outage_of(Outage::Brownout, &orders);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the scope's time window is empty.
    #[track_caller]
    pub fn outage_of(&self, outage: Outage, scope: &Rule) -> Vec<FaultGuard> {
        let ids = match self.0.start_outage(outage, scope) {
            Ok(ids) => ids,
            Err(error) => panic!("dynatwin: {error}"),
        };
        let guard = |id| FaultGuard {
            id,
            engine: Arc::clone(&self.0),
            kept: false,
        };
        ids.into_iter().map(guard).collect()
    }

    /// Returns the rules with their counters.
    pub fn report(&self) -> Vec<RuleReport> {
        self.0.faults().report()
    }

    /// Returns the rules that have never acted, including those whose guards were dropped.
    ///
    /// ```
    /// use dynatwin::{Rule, Twin, Verdict};
    ///
    /// let twin = Twin::seeded(7);
    /// drop(twin.faults().add(Rule::new(Verdict::Reset).table("Sesions")));
    /// assert_eq!(twin.faults().never_fired().len(), 1);
    /// ```
    pub fn never_fired(&self) -> Vec<RuleReport> {
        self.0.faults().never_fired()
    }

    /// Removes all rules, even while their guards are held.
    pub fn clear(&self) {
        self.0.faults().clear();
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.report()).finish()
    }
}

/// An active fault rule. Dropping the guard removes the rule.
///
/// ```
/// use dynatwin::{Rule, Twin, Verdict};
///
/// let twin = Twin::seeded(7);
/// twin.faults().add(Rule::new(Verdict::Reset)).keep();
/// assert_eq!(twin.faults().report().len(), 1);
/// ```
#[must_use = "the rule is removed when its guard is dropped"]
pub struct FaultGuard {
    engine: Arc<Engine>,
    id: RuleId,
    kept: bool,
}

impl FaultGuard {
    /// Returns the rule's counters, or `None` if it was removed by [`Faults::clear`] or
    /// [`Twin::reset`](crate::Twin::reset).
    pub fn report(&self) -> Option<RuleReport> {
        let reports = self.engine.faults().report();
        reports.into_iter().find(|report| report.id == self.id)
    }

    /// Returns how many requests, or entries of batches and transactions, the rule matched.
    pub fn matched(&self) -> u64 {
        self.report().map_or(0, |report| report.matched)
    }

    /// Returns how many of the matched requests or entries the rule acted on.
    pub fn fired(&self) -> u64 {
        self.report().map_or(0, |report| report.fired)
    }

    /// Asserts on how many requests, or entries of batches and transactions, the rule has acted.
    ///
    /// # Panics
    ///
    /// Panics if the number is not `times`; the message has the rule and its counters.
    #[track_caller]
    pub fn assert_fired(&self, times: u64) {
        match self.report() {
            Some(RuleReport {
                fired, matched, rule, ..
            }) => {
                assert!(
                    fired == times,
                    "{rule}: fired {fired} times of {matched} that matched, not {times}"
                );
            }
            None => assert!(
                times == 0,
                "the rule was removed before it could be checked to have fired {times} times"
            ),
        }
    }

    /// Keeps the rule for as long as the twin lives.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        if !self.kept {
            self.engine.faults().remove(self.id);
        }
    }
}

impl fmt::Debug for FaultGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FaultGuard").field(&self.report()).finish()
    }
}
