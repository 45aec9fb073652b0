//! Fault rules: ordered rules that make requests fail, wait, or lose their answer, with a count of how often each has
//! acted.

mod modelled;
mod ordinals;
mod outage;
mod rule;

use std::collections::VecDeque;
use std::time::Duration;

pub use crate::error::Exceeded;
pub use modelled::MODELLED;
pub use ordinals::Ordinals;
pub use outage::Outage;
pub use rule::{FaultSubject, InvalidRule, JobFault, KeyMatch, KmsFault, Rule, Trigger, Verdict, When, Window};

use crate::chance;
use crate::clock::Moment;

use crate::sync::{AtomicUsize, Mutex, Ordering};
use ordinals::OrdinalCounts;

/// Whether the `ordinal`-th decision of this id is within the share.
fn happens(seed: u64, what: &str, id: u64, ordinal: u64, share: f64) -> bool {
    chance::share(chance::decide(seed, what, &id.to_le_bytes(), ordinal)) < share
}

/// The decision of a rule about an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultDecision {
    pub rule: RuleId,
    /// The effect on the entry.
    pub verdict: Verdict,
    /// The index that the rule names, if it names one.
    pub index: Option<String>,
    /// Whether a wait moves a settable clock that several clients share.
    pub moves_clock: bool,
}

/// The id of an installed rule.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_engine::faults::{Rule, Verdict};
///
/// let id = engine.add_fault(Rule::new(Verdict::ServiceUnavailable).first(1))?;
/// assert_eq!(engine.dispatch(&caller, "ListTables", b"{}").status, 503);
/// assert_eq!(engine.faults().remove(id).map(|report| report.id), Some(id));
/// # Ok::<(), dynatwin_engine::faults::InvalidRule>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u64);

/// How often a rule matched and acted.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_engine::faults::{Rule, Verdict};
///
/// let id = engine.add_fault(Rule::new(Verdict::ServiceUnavailable).first(1))?;
/// assert_eq!(engine.dispatch(&caller, "ListTables", b"{}").status, 503);
/// let report = &engine.faults().report()[0];
/// assert_eq!((report.id, report.matched, report.fired), (id, 1, 1));
/// # Ok::<(), dynatwin_engine::faults::InvalidRule>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RuleReport {
    /// The id that [`Engine::add_fault`](crate::Engine::add_fault) returned.
    pub id: RuleId,
    /// The rule as it was added.
    pub rule: Rule,
    /// The moment from which it matches.
    pub from: Moment,
    /// The moment from which it no longer matches.
    pub until: Moment,
    /// The number of entries that it matched.
    pub matched: u64,
    /// The number of those that failed, waited or lost their response.
    pub fired: u64,
}

impl RuleReport {
    /// Whether it should have acted and has not. The parts of an outage need not act.
    fn is_idle(&self) -> bool {
        self.fired == 0 && self.rule.outage.is_none()
    }
}

/// The installed rules, in order. The first that acts on an entry decides.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_engine::faults::{Rule, Verdict};
///
/// let id = engine.add_fault(Rule::new(Verdict::ServiceUnavailable).first(1))?;
/// assert_eq!(engine.dispatch(&caller, "ListTables", b"{}").status, 503);
/// assert!(engine.faults().never_fired().is_empty());
/// engine.faults().clear();
/// assert!(engine.faults().is_empty());
/// # Ok::<(), dynatwin_engine::faults::InvalidRule>(())
/// ```
#[derive(Debug)]
pub struct Faults {
    seed: u64,
    /// The number of rules, so that requests take no lock while there are none.
    count: AtomicUsize,
    rules: Mutex<InstalledRules>,
    /// The number of decisions of a condition for each key.
    requested: Ordinals,
}

#[derive(Debug, Default)]
struct InstalledRules {
    next: u64,
    /// The last rule before all were removed: shares depend on the position of a rule since then.
    cleared: u64,
    rules: Vec<RuleReport>,
    /// Rules that were removed before they ever acted.
    idle: VecDeque<RuleReport>,
    /// The number of decisions of a share for each key.
    shares: OrdinalCounts,
}

/// The maximum number of removed rules that are remembered; beyond it the oldest are forgotten.
const MOST_IDLE: usize = 1000;

impl InstalledRules {
    fn retire(&mut self, report: &RuleReport) {
        if report.is_idle() {
            if self.idle.len() == MOST_IDLE {
                self.idle.pop_front();
            }
            self.idle.push_back(report.clone());
        }
    }
}

impl Faults {
    /// No rules; shares are decided by `seed`.
    pub fn new(seed: u64) -> Faults {
        Faults {
            seed,
            count: AtomicUsize::new(0),
            rules: Mutex::default(),
            requested: Ordinals::default(),
        }
    }

    /// Appends a rule, dated at this moment of the emulator's clock.
    pub fn add(&self, rule: Rule, now: Moment) -> Result<RuleId, InvalidRule> {
        let span = rule.checked_span(now)?;
        let mut installed = self.rules.lock();
        Ok(self.install(&mut installed, rule, span))
    }

    /// Appends rules in order; `None`, with no rule added, if there would be more than `most`.
    pub fn add_all(&self, rules: Vec<Rule>, most: usize, now: Moment) -> Result<Option<Vec<RuleId>>, InvalidRule> {
        let spans: Result<Vec<_>, _> = rules.iter().map(|rule| rule.checked_span(now)).collect();
        let spans = spans?;
        let mut installed = self.rules.lock();
        if installed.rules.len().saturating_add(rules.len()) > most {
            return Ok(None);
        }
        let rules = rules.into_iter().zip(spans);
        let ids = rules.map(|(rule, span)| self.install(&mut installed, rule, span));
        Ok(Some(ids.collect()))
    }

    fn install(&self, installed: &mut InstalledRules, rule: Rule, (from, until): (Moment, Moment)) -> RuleId {
        installed.next += 1;
        let id = RuleId(installed.next);
        installed.rules.push(RuleReport {
            id,
            rule,
            from,
            until,
            matched: 0,
            fired: 0,
        });
        self.count.store(installed.rules.len(), Ordering::Release);
        id
    }

    /// Removes a rule and returns its report, if there was one.
    pub fn remove(&self, id: RuleId) -> Option<RuleReport> {
        let mut installed = self.rules.lock();
        let at = installed.rules.iter().position(|report| report.id == id)?;
        let report = installed.rules.remove(at);
        installed.retire(&report);
        self.count.store(installed.rules.len(), Ordering::Release);
        Some(report)
    }

    /// The rules that have never acted, including those removed since the last [`clear`](Faults::clear). A test whose
    /// fault never happened has not tested it.
    pub fn never_fired(&self) -> Vec<RuleReport> {
        let installed = self.rules.lock();
        let there = installed.rules.iter().filter(|report| report.is_idle());
        installed.idle.iter().chain(there).cloned().collect()
    }

    /// Removes all rules and their counts.
    pub fn clear(&self) {
        let mut installed = self.rules.lock();
        installed.rules.clear();
        installed.idle.clear();
        installed.shares.clear();
        installed.cleared = installed.next;
        self.count.store(0, Ordering::Release);
    }

    /// Removes all rules and resets all counts, so that later decisions do not depend on earlier ones.
    pub fn reset(&self) {
        self.clear();
        self.requested.clear();
    }

    /// The rules with their counts.
    pub fn report(&self) -> Vec<RuleReport> {
        self.rules.lock().rules.clone()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Whether a condition acts on an entry: a seeded share of the entries of each key, in order.
    pub(crate) fn decide(&self, what: &str, subject: &FaultSubject<'_>, share: f64) -> bool {
        if share <= 0.0 {
            return false;
        }
        let id = subject.id(self.seed, what, 0);
        let ordinal = self.requested.next(subject.owner, id);
        happens(self.seed, what, id, ordinal, share)
    }

    /// The verdict on an entry: that of the first rule that acts on it.
    pub(crate) fn evaluate(&self, subject: &FaultSubject<'_>) -> Option<FaultDecision> {
        if self.is_empty() {
            return None;
        }
        let mut installed = self.rules.lock();
        let cleared = installed.cleared;
        let InstalledRules { rules, shares, .. } = &mut *installed;
        for report in rules {
            let is_time = report.from <= subject.now && subject.now < report.until;
            if !is_time || !report.rule.matches(subject) {
                continue;
            }
            report.matched += 1;
            let acts = match report.rule.trigger {
                Trigger::Every => true,
                Trigger::First(count) => report.matched <= count,
                Trigger::Nth(number) => report.matched == number,
                Trigger::EveryNth(number) => report.matched.is_multiple_of(number),
                Trigger::Share(share) => {
                    // By key, as for a condition: the interleaving of keys does not matter.
                    let id = subject.id(self.seed, "rule", report.id.0 - cleared);
                    happens(self.seed, "rule", id, shares.next(subject.owner, id), share)
                }
            };
            if acts {
                report.fired += 1;
                let verdict = match report.rule.verdict {
                    Verdict::WaitAbout(lag) => {
                        let id = subject.id(self.seed, "wait", report.id.0 - cleared);
                        let ordinal = shares.next(subject.owner, id);
                        Verdict::Wait(lag.of(chance::decide(self.seed, "wait", &id.to_le_bytes(), ordinal)))
                    }
                    verdict => verdict,
                };
                return Some(FaultDecision {
                    rule: report.id,
                    verdict,
                    index: report.rule.index.clone(),
                    moves_clock: report.rule.moves_clock,
                });
            }
        }
        None
    }
}

/// The effects on an answer of the rules that matched its request.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseEffects {
    /// The delay of the answer.
    pub wait: Duration,
    /// The part of the delay that does not advance a settable clock shared by several clients.
    pub still: crate::answer::StillDelay,
    pub delivery: crate::answer::Delivery,
    /// Whether a success is answered with a 500.
    pub fails: bool,
    /// Whether the answer's checksum is wrong.
    pub corrupt_checksum: bool,
    /// Why the job that the request starts fails, if a rule makes it fail.
    pub job_fault: Option<JobFault>,
}

impl ResponseEffects {
    /// When an answer made at `now` is delivered.
    pub fn at(&self, now: Moment) -> Moment {
        now.plus(self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of a request for table `T`.
    fn subject(operation: &'static str) -> FaultSubject<'static> {
        FaultSubject {
            operation,
            table: "T",
            index: None,
            feeds: &[],
            caller: "me",
            region: "us-east-1",
            now: Moment::START,
            owner: 0,
            partition: None,
        }
    }

    fn fired(rule: Rule, keys: &[&str]) -> Vec<bool> {
        let faults = Faults::new(1);
        faults.add(rule, Moment::START).unwrap();
        keys.iter()
            .map(|key| {
                faults
                    .evaluate(&FaultSubject {
                        partition: Some(key),
                        ..subject("PutItem")
                    })
                    .is_some()
            })
            .collect()
    }

    #[test]
    fn occasions() {
        let rule = || Rule::new(Verdict::Throttle(None));
        for (rule, expect) in [
            (rule(), [true, true, true, true]),
            (rule().first(2), [true, true, false, false]),
            (rule().nth(3), [false, false, true, false]),
            (rule().on(Trigger::EveryNth(2)), [false, true, false, true]),
            (rule().operation("GetItem"), [false; 4]),
            (rule().table("U"), [false; 4]),
            (rule().key(KeyMatch::Partition("b".into())), [false, true, false, false]),
            (
                rule().key(KeyMatch::PartitionPrefix("a".into())),
                [true, false, true, false],
            ),
            (rule().key(KeyMatch::PartitionPrefix("c".into())), [false; 4]),
            (rule().share(0.0), [false; 4]),
            (rule().share(1.0), [true; 4]),
        ] {
            assert_eq!(fired(rule.clone(), &["a", "b", "ac", "d"]), expect, "{rule}");
        }
    }

    #[test]
    fn rules_are_added_together_or_not_at_all() {
        let faults = Faults::new(1);
        let add = |count: usize| {
            let rules = vec![Rule::new(Verdict::Reset); count];
            faults.add_all(rules, 5, Moment::START).unwrap().map(|ids| ids.len())
        };
        assert_eq!([2, 4, 3, 1, 0].map(add), [Some(2), None, Some(3), None, Some(0)]);
        assert_eq!(faults.report().len(), 5);
    }

    #[test]
    fn a_share_is_a_share() {
        let keys: Vec<String> = (0..1000).map(|at| format!("k{at}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let count = fired(Rule::new(Verdict::Reset).share(0.25), &keys)
            .into_iter()
            .filter(|fired| *fired)
            .count();
        assert!((200..300).contains(&count), "{count}");
    }

    /// Neither the rules before a removal of all nor the requests of others change what a rule decides.
    #[test]
    fn shares_and_waits_are_decided_for_each_owner_anew_after_a_removal() {
        let faults = Faults::new(1);
        let most = Duration::from_secs(1);
        let about = Verdict::WaitAbout(crate::conditions::Lag::Seeded {
            typical: most / 2,
            longest: most,
        });
        let decide = |owner: u64| -> Vec<Option<Verdict>> {
            let subject = FaultSubject {
                owner,
                ..subject("GetItem")
            };
            (0..20)
                .map(|_| faults.evaluate(&subject).map(|decided| decided.verdict))
                .collect()
        };
        let mut seen: Vec<Vec<Option<Verdict>>> = Vec::new();
        for owners in [&[1][..], &[2, 1]] {
            faults.clear();
            faults.add(Rule::new(Verdict::Reset).share(0.5), Moment::START).unwrap();
            faults.add(Rule::new(about), Moment::START).unwrap();
            seen.extend(owners.iter().map(|owner| decide(*owner)));
        }
        assert!(seen[0].contains(&Some(Verdict::Reset)));
        assert!(seen[0].iter().any(|verdict| *verdict != Some(Verdict::Reset)));
        assert_eq!(seen[0], seen[2], "an owner's decisions are the same after others");
    }

    /// A rule does not count requests that an earlier rule acts on.
    #[test]
    fn each_rule_has_waits_and_a_share_of_its_own() {
        let about = Rule::new(Verdict::WaitAbout(crate::conditions::Lag::Seeded {
            typical: Duration::from_millis(500),
            longest: Duration::from_secs(1),
        }));
        let others = || about.clone().table("U");
        // The decisions of a rule that follows one which acts on the first few requests.
        let decided = |rule: &Rule, before: Rule| -> Vec<Option<Verdict>> {
            let faults = Faults::new(1);
            faults.add(before, Moment::START).unwrap();
            let id = faults.add(rule.clone(), Moment::START).unwrap();
            let mut verdicts = Vec::new();
            while verdicts.len() < 50 {
                let found = faults.evaluate(&subject("GetItem"));
                if found.as_ref().is_none_or(|decision| decision.rule == id) {
                    verdicts.push(found.map(|decision| decision.verdict));
                }
            }
            verdicts
        };
        for rule in [
            about.clone(),
            about.clone().share(0.5),
            Rule::new(Verdict::Reset).share(0.5),
        ] {
            let alone = decided(&rule, others());
            for before in [
                about.clone().first(7),
                about.clone().nth(3),
                Rule::new(Verdict::AnswerLost).first(7),
            ] {
                assert_eq!(decided(&rule, before.clone()), alone, "{rule} after {before}");
            }
        }
        // Two rules on the same requests have different waits.
        let waits = |before: &Rule, rule: &Rule| decided(rule, before.clone());
        let (first, second) = (waits(&others(), &about), {
            let faults = Faults::new(1);
            faults.add(about.clone(), Moment::START).unwrap();
            let evaluate = |_| faults.evaluate(&subject("GetItem")).map(|decision| decision.verdict);
            (0..50).map(evaluate).collect::<Vec<_>>()
        });
        assert_ne!(first, second);
    }

    #[test]
    fn the_first_rule_that_acts_decides_and_is_counted() {
        let faults = Faults::new(1);
        let first = faults.add(Rule::new(Verdict::Reset).nth(1), Moment::START).unwrap();
        let second = faults.add(Rule::new(Verdict::AnswerLost), Moment::START).unwrap();
        let subject = FaultSubject {
            index: Some("by-g"),
            ..subject("GetItem")
        };
        let evaluate = || faults.evaluate(&subject).map(|decided| decided.verdict);
        assert_eq!(evaluate(), Some(Verdict::Reset));
        assert_eq!(evaluate(), Some(Verdict::AnswerLost));
        let counts: Vec<_> = faults
            .report()
            .into_iter()
            .map(|report| (report.id, report.matched, report.fired))
            .collect();
        assert_eq!(counts, [(first, 2, 1), (second, 1, 1)]);
        faults.remove(second);
        assert_eq!(evaluate(), None);
    }

    #[test]
    fn the_others_act_after_a_rule_is_removed() {
        let operations = ["GetItem", "PutItem", "Query"];
        let faults = Faults::new(1);
        let acting = || operations.map(|operation| faults.evaluate(&subject(operation)).is_some());
        for removed in 0..3 {
            let add = |operation| {
                let rule = Rule::new(Verdict::Reset).operation(operation);
                faults.add(rule, Moment::START).unwrap()
            };
            let ids = operations.map(add);
            let mut expect = [true; 3];
            // The one at this place first, and then the others.
            for at in [removed, (removed + 1) % 3, (removed + 2) % 3] {
                assert_eq!((acting(), faults.is_empty()), (expect, false), "{removed} {at}");
                assert_eq!(faults.remove(ids[at]).map(|report| report.id), Some(ids[at]));
                assert!(faults.remove(ids[at]).is_none(), "it is gone");
                expect[at] = false;
            }
            assert_eq!((acting(), faults.is_empty()), ([false; 3], true), "{removed}");
        }
    }

    #[test]
    fn an_index_and_a_caller_are_matched() {
        let subject = |index, caller| FaultSubject {
            index,
            caller,
            ..subject("Query")
        };
        let faults = Faults::new(1);
        faults
            .add(Rule::new(Verdict::Reset).index("by-g").caller("me"), Moment::START)
            .unwrap();
        for (index, caller, acts) in [
            (Some("by-g"), "me", true),
            (Some("by-g"), "you", false),
            (Some("by-h"), "me", false),
            (None, "me", false),
        ] {
            let decided = faults.evaluate(&subject(index, caller));
            assert_eq!(decided.is_some(), acts, "{index:?} {caller}");
            assert!(decided.is_none_or(|decided| decided.index.as_deref() == Some("by-g")));
        }
    }

    #[test]
    fn removed_rules_that_never_fired_are_reported() {
        let faults = Faults::new(1);
        let rule = || Rule::new(Verdict::Reset);
        let ids: Vec<RuleId> = ["GetItem", "PutItem", "Query"]
            .map(|name| faults.add(rule().operation(name), Moment::START).unwrap())
            .into();
        faults.evaluate(&subject("PutItem"));
        ids[..2].iter().for_each(|id| drop(faults.remove(*id)));
        let idle: Vec<RuleId> = faults.never_fired().iter().map(|report| report.id).collect();
        assert_eq!(idle, [ids[0], ids[2]]);
        (0..2 * MOST_IDLE).for_each(|_| drop(faults.remove(faults.add(rule(), Moment::START).unwrap())));
        let idle: Vec<RuleId> = faults.never_fired().iter().map(|report| report.id).collect();
        let first = RuleId(ids[2].0 + MOST_IDLE as u64 + 1);
        // Those removed last, and the one that is still there.
        assert_eq!((idle.len(), idle[0], idle[MOST_IDLE]), (MOST_IDLE + 1, first, ids[2]));
        faults.clear();
        assert!(faults.never_fired().is_empty());
    }

    #[test]
    fn rules_that_matched_without_acting_never_fired() {
        let faults = Faults::new(1);
        let add = |operation: &str| {
            let rule = Rule::new(Verdict::Reset).operation(operation).nth(2);
            faults.add(rule, Moment::START).unwrap()
        };
        let [removed, there] = ["GetItem", "PutItem"].map(add);
        for operation in ["GetItem", "PutItem"] {
            assert_eq!(faults.evaluate(&subject(operation)), None, "{operation}");
        }
        faults.remove(removed);
        let idle = || {
            let reports = faults.never_fired().into_iter();
            reports.map(|report| (report.id, report.matched)).collect::<Vec<_>>()
        };
        assert_eq!(idle(), [(removed, 1), (there, 1)]);
        assert!(faults.evaluate(&subject("PutItem")).is_some());
        assert_eq!(idle(), [(removed, 1)]);
    }

    #[test]
    fn a_reset_repeats_the_decisions_of_conditions() {
        let faults = Faults::new(1);
        let put = subject("PutItem");
        let decisions = || {
            (0..64)
                .map(|_| faults.decide("throttles", &put, 0.5))
                .collect::<Vec<_>>()
        };
        let first = decisions();
        assert_ne!(decisions(), first, "they go on");
        faults.reset();
        assert_eq!(decisions(), first);
    }
}
