//! Rules that make requests fail, wait, or lose their answer: ordered, counted, held by their ids.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use crate::error::Exceeded;

use crate::chance;
use crate::clock::Moment;
use crate::schema::Index;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// What becomes of a request that a rule meets.
///
/// The entries of a batch are met one by one: those before the one that is met have been carried out, as with a service
/// that breaks in the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It is throttled, as the table's billing mode has it, or for the reason given. In a batch the entries that the
    /// rule meets come back as unprocessed.
    Throttle(Option<Exceeded>),
    /// `InternalServerError`, HTTP 500; nothing is carried out.
    InternalServerError,
    /// `ServiceUnavailable`, HTTP 503; nothing is carried out.
    ServiceUnavailable,
    /// `ItemCollectionSizeLimitExceededException`; in a transaction, that reason. Nothing is carried out.
    ItemCollectionSizeLimitExceeded,
    /// `LimitExceededException`, as of too many table operations at a time; nothing is carried out.
    LimitExceeded,
    /// It is carried out, and its answer delivered this much later.
    Wait(Duration),
    /// Nothing is carried out, and the connection is reset.
    Reset,
    /// It is carried out, and its answer never arrives.
    AnswerLost,
    /// It is carried out, and only this many bytes of the body arrive.
    Truncate(usize),
}

/// Which items of a request a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMatch {
    /// The partition key has this text (a string, or a number's canonical form).
    Partition(String),
    /// The partition key begins with this text.
    PartitionPrefix(String),
}

/// Which of the requests that match a rule it meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Occasion {
    /// Each.
    Every,
    /// The first so many.
    First(u64),
    /// Only the n-th, counted from 1.
    Nth(u64),
    /// Each n-th.
    EveryNth(u64),
    /// A seeded share, from 0 to 1, of those of each partition key: in which order keys come decides nothing.
    Share(f64),
}

/// A rule: what it matches, when it acts, and what it does.
///
/// ```
/// use dynatwin_engine::fault::{Rule, Verdict};
///
/// let rule = Rule::new(Verdict::Throttle(None)).operation("PutItem").table("Orders").first(2);
/// assert_eq!(rule.to_string(), "Throttle(None) on PutItem, Orders, First(2)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Only this operation, by its API name.
    pub operation: Option<String>,
    /// Only this table.
    pub table: Option<String>,
    /// Only reads of this index, and writes to tables whose global index it is.
    pub index: Option<String>,
    /// Only requests with this access key.
    pub caller: Option<String>,
    /// Only items with such a key.
    pub key: Option<KeyMatch>,
    /// On which of those it acts.
    pub occasion: Occasion,
    /// What it does.
    pub verdict: Verdict,
}

impl Rule {
    /// A rule for every request.
    pub fn new(verdict: Verdict) -> Rule {
        Rule {
            operation: None,
            table: None,
            index: None,
            caller: None,
            key: None,
            occasion: Occasion::Every,
            verdict,
        }
    }

    /// Only for this operation, by its API name.
    pub fn operation(mut self, operation: &str) -> Rule {
        self.operation = Some(operation.to_owned());
        self
    }

    /// Only for this table.
    pub fn table(mut self, table: &str) -> Rule {
        self.table = Some(table.to_owned());
        self
    }

    /// Only for reads of this index, and writes to tables whose global index it is. A throttle is the index's then: on
    /// writes it is the back-pressure of an index that cannot keep up.
    ///
    /// ```
    /// use dynatwin_engine::fault::{Exceeded, Rule, Verdict};
    ///
    /// let verdict = Verdict::Throttle(Some(Exceeded::ProvisionedThroughput));
    /// let back_pressure = Rule::new(verdict).operation("PutItem").index("by-date");
    /// ```
    pub fn index(mut self, index: &str) -> Rule {
        self.index = Some(index.to_owned());
        self
    }

    /// Only for requests with this access key.
    pub fn caller(mut self, access_key: &str) -> Rule {
        self.caller = Some(access_key.to_owned());
        self
    }

    /// Only for items with such a key.
    pub fn key(mut self, key: KeyMatch) -> Rule {
        self.key = Some(key);
        self
    }

    /// Only on such occasions.
    pub fn on(mut self, occasion: Occasion) -> Rule {
        self.occasion = occasion;
        self
    }

    /// Only the first `count` requests that match.
    pub fn first(self, count: u64) -> Rule {
        self.on(Occasion::First(count))
    }

    /// Only the n-th request that matches, counted from 1.
    pub fn nth(self, number: u64) -> Rule {
        self.on(Occasion::Nth(number))
    }

    /// Only this share of the requests that match, from 0 to 1, chosen by the twin's seed.
    pub fn share(self, share: f64) -> Rule {
        self.on(Occasion::Share(share))
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        self.operation
            .as_deref()
            .is_none_or(|operation| operation == subject.operation)
            && self.table.as_deref().is_none_or(|table| table == subject.table)
            && self.caller.as_deref().is_none_or(|caller| caller == subject.caller)
            && self.index.as_deref().is_none_or(|index| subject.touches(index))
            && match &self.key {
                None => true,
                Some(KeyMatch::Partition(text)) => subject.partition.is_some_and(|partition| partition == text),
                Some(KeyMatch::PartitionPrefix(text)) => subject
                    .partition
                    .is_some_and(|partition| partition.starts_with(text.as_str())),
            }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{:?} on {}, {}",
            self.verdict,
            self.operation.as_deref().unwrap_or("every operation"),
            self.table.as_deref().unwrap_or("every table"),
        )?;
        for (what, name) in [("index", &self.index), ("caller", &self.caller)] {
            if let Some(name) = name {
                write!(formatter, ", {what} {name}")?;
            }
        }
        if let Some(key) = &self.key {
            write!(formatter, ", {key:?}")?;
        }
        write!(formatter, ", {:?}", self.occasion)
    }
}

/// What a rule is held against: one entry of a request.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The operation's API name.
    pub operation: &'a str,
    /// The table's name.
    pub table: &'a str,
    /// The index that is read, if one is.
    pub index: Option<&'a str>,
    /// The global indexes that a write may reach.
    pub feeds: &'a [Index],
    /// The access key of who asks.
    pub caller: &'a str,
    /// Whose table it is, as a hash.
    pub owner: u64,
    /// The partition key as text; `None` if the entry has none, or it is binary.
    pub partition: Option<&'a str>,
}

impl Subject<'_> {
    /// A hash of the key that a decision is about, with what is decided and its number.
    fn id(&self, seed: u64, what: &str, number: u64) -> u64 {
        let name = chance::StableHash::new(seed).bytes(what.as_bytes()).word(number);
        let of = name.bytes(self.table.as_bytes()).bytes(self.operation.as_bytes());
        of.bytes(self.partition.unwrap_or_default().as_bytes()).finish()
    }

    fn touches(&self, index: &str) -> bool {
        self.index == Some(index) || self.feeds.iter().any(|fed| fed.name == index)
    }
}

/// Whether a share has it that the `ordinal`-th decision of this id is a yes.
fn happens(seed: u64, what: &str, id: u64, ordinal: u64, share: f64) -> bool {
    chance::share(chance::decide(seed, what, &id.to_le_bytes(), ordinal)) < share
}

/// What a rule has decided on an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// What becomes of the entry.
    pub verdict: Verdict,
    /// The index that the rule is about, if it is about one.
    pub index: Option<String>,
}

/// The name of an installed rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u64);

/// How often a rule was looked at and did something.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleReport {
    /// Its id.
    pub id: RuleId,
    /// The rule.
    pub rule: Rule,
    /// How many entries it matched.
    pub matched: u64,
    /// How many of those it made fail, wait or lose their answer.
    pub fired: u64,
}

/// The installed rules, in order. The first that acts on an entry decides.
#[derive(Debug)]
pub struct Faults {
    seed: u64,
    /// So that a twin without rules asks no lock.
    count: AtomicUsize,
    rules: Mutex<Installed>,
    /// How often a dial was asked about a key.
    asked: Ordinals,
}

#[derive(Debug, Default)]
struct Installed {
    next: u64,
    /// The last rule before all were taken out: shares go by the place of a rule since then.
    cleared: u64,
    rules: Vec<RuleReport>,
    /// Rules that were taken out before they ever acted.
    idle: VecDeque<RuleReport>,
    /// How often a share was asked about a key.
    shares: Counted,
}

/// Rules taken out that are remembered; beyond them the oldest are forgotten.
const MOST_IDLE: usize = 1000;

impl Installed {
    fn retire(&mut self, report: &RuleReport) {
        if report.fired == 0 {
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
            asked: Ordinals::default(),
        }
    }

    /// Installs a rule behind those there are.
    pub fn add(&self, rule: Rule) -> RuleId {
        self.install(&mut self.rules.lock(), rule)
    }

    /// The same if there are fewer than `most`.
    pub fn add_below(&self, most: usize, rule: Rule) -> Option<RuleId> {
        let mut installed = self.rules.lock();
        (installed.rules.len() < most).then(|| self.install(&mut installed, rule))
    }

    fn install(&self, installed: &mut Installed, rule: Rule) -> RuleId {
        installed.next += 1;
        let id = RuleId(installed.next);
        installed.rules.push(RuleReport {
            id,
            rule,
            matched: 0,
            fired: 0,
        });
        self.count.store(installed.rules.len(), Ordering::Release);
        id
    }

    /// Takes a rule out; says what it did, if it was there.
    pub fn remove(&self, id: RuleId) -> Option<RuleReport> {
        let mut installed = self.rules.lock();
        let at = installed.rules.iter().position(|report| report.id == id)?;
        let report = installed.rules.remove(at);
        installed.retire(&report);
        self.count.store(installed.rules.len(), Ordering::Release);
        Some(report)
    }

    /// The rules that have never acted, also those that were taken out since the last [`clear`](Faults::clear): a test whose
    /// fault never happened has tested something else.
    pub fn never_fired(&self) -> Vec<RuleReport> {
        let installed = self.rules.lock();
        let there = installed.rules.iter().filter(|report| report.fired == 0);
        installed.idle.iter().chain(there).cloned().collect()
    }

    /// Takes all rules out, and forgets what they did.
    pub fn clear(&self) {
        let mut installed = self.rules.lock();
        installed.rules.clear();
        installed.idle.clear();
        installed.shares.0.clear();
        installed.cleared = installed.next;
        self.count.store(0, Ordering::Release);
    }

    /// Takes all rules out, and starts counting again: what was decided decides nothing of what comes.
    pub fn reset(&self) {
        self.clear();
        self.asked.clear();
    }

    /// The rules and what they did.
    pub fn report(&self) -> Vec<RuleReport> {
        self.rules.lock().rules.clone()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Whether a dial acts on an entry: a seeded share of the entries of each key, in their order.
    pub fn decide(&self, what: &str, subject: &Subject<'_>, share: f64) -> bool {
        if share <= 0.0 {
            return false;
        }
        let id = subject.id(self.seed, what, 0);
        let ordinal = self.asked.next(subject.owner, id);
        happens(self.seed, what, id, ordinal, share)
    }

    /// The verdict on an entry: that of the first rule that acts on it.
    pub fn judge(&self, subject: &Subject<'_>) -> Option<Decided> {
        if self.is_empty() {
            return None;
        }
        let mut installed = self.rules.lock();
        let cleared = installed.cleared;
        let Installed { rules, shares, .. } = &mut *installed;
        for report in rules {
            if !report.rule.matches(subject) {
                continue;
            }
            report.matched += 1;
            let acts = match report.rule.occasion {
                Occasion::Every => true,
                Occasion::First(count) => report.matched <= count,
                Occasion::Nth(number) => report.matched == number,
                Occasion::EveryNth(number) => number > 0 && report.matched % number == 0,
                Occasion::Share(share) => {
                    // By key, as that of a dial: how keys interleave decides nothing.
                    let id = subject.id(self.seed, "rule", report.id.0 - cleared);
                    happens(self.seed, "rule", id, shares.next(subject.owner, id), share)
                }
            };
            if acts {
                report.fired += 1;
                return Some(Decided {
                    verdict: report.rule.verdict,
                    index: report.rule.index.clone(),
                });
            }
        }
        None
    }
}

/// How often each thing was decided, for decisions that have no other ordinal.
///
/// ```
/// use dynatwin_engine::fault::Ordinals;
///
/// let ordinals = Ordinals::default();
/// let counted = [(0, 7), (0, 7), (0, 8), (1, 7)].map(|(owner, id)| ordinals.next(owner, id));
/// assert_eq!(counted, [1, 2, 1, 1]);
/// ```
#[derive(Debug, Default)]
pub struct Ordinals(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted(BTreeMap<(u64, u64), u64>);

/// Things that are counted; beyond them counting starts again.
const MOST_ORDINALS: usize = 1 << 20;

impl Ordinals {
    /// Counts a decision on the thing of this hash, of the owner of this one; the first is 1.
    pub fn next(&self, owner: u64, id: u64) -> u64 {
        self.0.lock().next(owner, id)
    }

    /// Starts counting again.
    pub fn clear(&self) {
        self.0.lock().0.clear();
    }
}

impl Counted {
    fn next(&mut self, owner: u64, id: u64) -> u64 {
        if self.0.len() >= MOST_ORDINALS {
            self.0.clear();
        }
        let ordinal = self.0.entry((owner, id)).or_default();
        *ordinal += 1;
        *ordinal
    }
}

/// What the rules that met a request do to its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aftermath {
    /// How much later the answer is delivered.
    pub wait: Duration,
    /// How it is delivered.
    pub delivery: crate::answer::Delivery,
}

impl Aftermath {
    /// When an answer made at `now` is delivered.
    pub fn at(&self, now: Moment) -> Moment {
        now.plus(self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(rule: Rule, keys: &[&str]) -> Vec<bool> {
        let faults = Faults::new(1);
        faults.add(rule);
        keys.iter()
            .map(|key| {
                faults
                    .judge(&Subject {
                        operation: "PutItem",
                        table: "T",
                        index: None,
                        feeds: &[],
                        caller: "me",
                        owner: 0,
                        partition: Some(key),
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
            (rule().on(Occasion::EveryNth(2)), [false, true, false, true]),
            (rule().operation("GetItem"), [false; 4]),
            (rule().table("U"), [false; 4]),
            (rule().key(KeyMatch::Partition("b".into())), [false, true, false, false]),
            (
                rule().key(KeyMatch::PartitionPrefix("a".into())),
                [true, false, true, false],
            ),
            (rule().share(0.0), [false; 4]),
            (rule().share(1.0), [true; 4]),
        ] {
            assert_eq!(fired(rule.clone(), &["a", "b", "ac", "d"]), expect, "{rule}");
        }
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

    #[test]
    fn the_first_rule_that_acts_decides_and_is_counted() {
        let faults = Faults::new(1);
        let first = faults.add(Rule::new(Verdict::Reset).nth(1));
        let second = faults.add(Rule::new(Verdict::AnswerLost));
        let subject = Subject {
            operation: "GetItem",
            table: "T",
            index: Some("by-g"),
            feeds: &[],
            caller: "me",
            owner: 0,
            partition: None,
        };
        let judge = || faults.judge(&subject).map(|decided| decided.verdict);
        assert_eq!(judge(), Some(Verdict::Reset));
        assert_eq!(judge(), Some(Verdict::AnswerLost));
        let counts: Vec<_> = faults
            .report()
            .into_iter()
            .map(|report| (report.id, report.matched, report.fired))
            .collect();
        assert_eq!(counts, [(first, 2, 1), (second, 1, 1)]);
        faults.remove(second);
        assert_eq!(judge(), None);
    }

    #[test]
    fn an_index_and_a_caller_are_matched() {
        let subject = |index, caller| Subject {
            operation: "Query",
            table: "T",
            index,
            feeds: &[],
            caller,
            owner: 0,
            partition: None,
        };
        let faults = Faults::new(1);
        faults.add(Rule::new(Verdict::Reset).index("by-g").caller("me"));
        for (index, caller, acts) in [
            (Some("by-g"), "me", true),
            (Some("by-g"), "you", false),
            (Some("by-h"), "me", false),
            (None, "me", false),
        ] {
            let decided = faults.judge(&subject(index, caller));
            assert_eq!(decided.is_some(), acts, "{index:?} {caller}");
            assert!(decided.is_none_or(|decided| decided.index.as_deref() == Some("by-g")));
        }
    }

    #[test]
    fn what_never_fired_is_told_though_it_was_taken_out() {
        let faults = Faults::new(1);
        let rule = || Rule::new(Verdict::Reset);
        let ids: Vec<RuleId> = ["GetItem", "PutItem", "Query"]
            .map(|name| faults.add(rule().operation(name)))
            .into();
        let subject = Subject {
            operation: "PutItem",
            table: "T",
            index: None,
            feeds: &[],
            caller: "me",
            owner: 0,
            partition: None,
        };
        faults.judge(&subject);
        ids[..2].iter().for_each(|id| drop(faults.remove(*id)));
        let idle: Vec<RuleId> = faults.never_fired().iter().map(|report| report.id).collect();
        assert_eq!(idle, [ids[0], ids[2]]);
        (0..2 * MOST_IDLE).for_each(|_| drop(faults.remove(faults.add(rule()))));
        assert_eq!(faults.never_fired().len(), MOST_IDLE + 1);
        faults.clear();
        assert!(faults.never_fired().is_empty());
    }
}
