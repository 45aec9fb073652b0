//! Rules that make requests fail, wait, or lose their answer: ordered, counted, held by their ids.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chance;
use crate::clock::Moment;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// What throughput a throttled request is told it has exceeded; with the resource and the direction this makes the
/// service's sixteen reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// `…ProvisionedThroughputExceeded`.
    ProvisionedThroughput,
    /// `…KeyRangeThroughputExceeded`: a hot partition.
    KeyRangeThroughput,
    /// `…AccountLimitExceeded`.
    AccountLimit,
    /// `…MaxOnDemandThroughputExceeded`.
    MaxOnDemandThroughput,
}

impl Exceeded {
    /// The name of one of the sixteen reasons, as the API model spells them.
    ///
    /// ```
    /// use dynatwin_engine::fault::Exceeded;
    ///
    /// assert_eq!(Exceeded::AccountLimit.reason(true, false), "IndexReadAccountLimitExceeded");
    /// ```
    pub const fn reason(self, of_index: bool, writes: bool) -> &'static str {
        use Exceeded::*;
        match (of_index, writes, self) {
            (false, false, ProvisionedThroughput) => "TableReadProvisionedThroughputExceeded",
            (false, false, KeyRangeThroughput) => "TableReadKeyRangeThroughputExceeded",
            (false, false, AccountLimit) => "TableReadAccountLimitExceeded",
            (false, false, MaxOnDemandThroughput) => "TableReadMaxOnDemandThroughputExceeded",
            (false, true, ProvisionedThroughput) => "TableWriteProvisionedThroughputExceeded",
            (false, true, KeyRangeThroughput) => "TableWriteKeyRangeThroughputExceeded",
            (false, true, AccountLimit) => "TableWriteAccountLimitExceeded",
            (false, true, MaxOnDemandThroughput) => "TableWriteMaxOnDemandThroughputExceeded",
            (true, false, ProvisionedThroughput) => "IndexReadProvisionedThroughputExceeded",
            (true, false, KeyRangeThroughput) => "IndexReadKeyRangeThroughputExceeded",
            (true, false, AccountLimit) => "IndexReadAccountLimitExceeded",
            (true, false, MaxOnDemandThroughput) => "IndexReadMaxOnDemandThroughputExceeded",
            (true, true, ProvisionedThroughput) => "IndexWriteProvisionedThroughputExceeded",
            (true, true, KeyRangeThroughput) => "IndexWriteKeyRangeThroughputExceeded",
            (true, true, AccountLimit) => "IndexWriteAccountLimitExceeded",
            (true, true, MaxOnDemandThroughput) => "IndexWriteMaxOnDemandThroughputExceeded",
        }
    }
}

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
    /// A seeded share, from 0 to 1.
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
    operation: Option<String>,
    table: Option<String>,
    key: Option<KeyMatch>,
    occasion: Occasion,
    verdict: Verdict,
}

impl Rule {
    /// A rule for every request.
    pub fn new(verdict: Verdict) -> Rule {
        Rule {
            operation: None,
            table: None,
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
            "{:?} on {}, {}, {:?}",
            self.verdict,
            self.operation.as_deref().unwrap_or("every operation"),
            self.table.as_deref().unwrap_or("every table"),
            self.occasion
        )
    }
}

/// What a rule is held against: one entry of a request.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The operation's API name.
    pub operation: &'a str,
    /// The table's name.
    pub table: &'a str,
    /// The partition key as text; `None` if the entry has none, or it is binary.
    pub partition: Option<&'a str>,
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
    rules: Vec<RuleReport>,
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
        let mut installed = self.rules.lock();
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
        self.count.store(installed.rules.len(), Ordering::Release);
        Some(report)
    }

    /// Takes all rules out.
    pub fn clear(&self) {
        let mut installed = self.rules.lock();
        installed.rules.clear();
        self.count.store(0, Ordering::Release);
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
        let key = subject.partition.unwrap_or_default().as_bytes();
        let name = chance::StableHash::new(self.seed)
            .bytes(what.as_bytes())
            .bytes(subject.table.as_bytes());
        let id = name.bytes(subject.operation.as_bytes()).bytes(key).finish();
        let ordinal = self.asked.next(id);
        chance::share(chance::decide(self.seed, what, &id.to_le_bytes(), ordinal)) < share
    }

    /// The verdict on an entry: that of the first rule that acts on it.
    pub fn judge(&self, subject: &Subject<'_>) -> Option<Verdict> {
        if self.is_empty() {
            return None;
        }
        let mut installed = self.rules.lock();
        for report in &mut installed.rules {
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
                    let key = subject.partition.unwrap_or_default().as_bytes();
                    chance::share(chance::decide(
                        self.seed ^ report.id.0,
                        subject.operation,
                        key,
                        report.matched,
                    )) < share
                }
            };
            if acts {
                report.fired += 1;
                return Some(report.rule.verdict);
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
/// assert_eq!([ordinals.next(7), ordinals.next(7), ordinals.next(8)], [1, 2, 1]);
/// ```
#[derive(Debug, Default)]
pub struct Ordinals(Mutex<BTreeMap<u64, u64>>);

/// Things that are counted; beyond them counting starts again.
const MOST_ORDINALS: usize = 1 << 20;

impl Ordinals {
    /// Counts a decision on the thing of this hash; the first is 1.
    pub fn next(&self, id: u64) -> u64 {
        let mut counted = self.0.lock();
        if counted.len() >= MOST_ORDINALS {
            counted.clear();
        }
        let ordinal = counted.entry(id).or_default();
        *ordinal += 1;
        *ordinal
    }

    /// Starts counting again.
    pub fn clear(&self) {
        self.0.lock().clear();
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
            partition: None,
        };
        assert_eq!(faults.judge(&subject), Some(Verdict::Reset));
        assert_eq!(faults.judge(&subject), Some(Verdict::AnswerLost));
        let counts: Vec<_> = faults
            .report()
            .into_iter()
            .map(|report| (report.id, report.matched, report.fired))
            .collect();
        assert_eq!(counts, [(first, 2, 1), (second, 1, 1)]);
        faults.remove(second);
        assert_eq!(faults.judge(&subject), None);
    }
}
