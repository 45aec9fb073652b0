//! Fault rules: the requests they match, when they act, and their effect.

use std::fmt;
use std::time::Duration;

use super::Outage;
use super::modelled::{can_answer, is_modelled, is_operation};
use crate::chance;
use crate::clock::Moment;
use crate::conditions::Lag;
use crate::error::{ErrorKind, Exceeded};
use crate::schema::Index;

/// The properties of one entry of a request that rules match.
#[derive(Clone, Copy, Debug)]
pub struct FaultSubject<'a> {
    pub operation: &'a str,
    pub table: &'a str,
    /// The index that is read, if any.
    pub index: Option<&'a str>,
    /// The global indexes that a write may reach.
    pub feeds: &'a [Index],
    pub caller: &'a str,
    /// The region that the request is sent to.
    pub region: &'a str,
    /// The moment at which the request is executed.
    pub now: Moment,
    /// A hash of the table's owner.
    pub owner: u64,
    /// The partition key as text; `None` if the entry has none, or it is binary.
    pub partition: Option<&'a str>,
}

impl FaultSubject<'_> {
    /// A hash of the key that a decision is about, with what is decided and its number.
    pub(super) fn id(&self, seed: u64, what: &str, number: u64) -> u64 {
        let name = chance::StableHash::new(seed).bytes(what.as_bytes()).word(number);
        let of = name.bytes(self.table.as_bytes()).bytes(self.operation.as_bytes());
        of.bytes(self.partition.unwrap_or_default().as_bytes()).finish()
    }

    fn touches(&self, index: &str) -> bool {
        self.index == Some(index) || self.feeds.iter().any(|fed| fed.name == index)
    }
}

/// The effect of a rule on a request.
///
/// The entries of a batch are matched one by one: those before the matched one have been executed, as with a service
/// that fails in the middle.
///
/// ```
/// use dynatwin_engine::faults::{Rule, Verdict};
///
/// assert_eq!(Rule::new(Verdict::Reset).verdict, Verdict::Reset);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It is throttled, for the given reason, otherwise for the one of the table's billing mode. In a batch the matched
    /// entries are returned as unprocessed.
    Throttle(Option<Exceeded>),
    /// `InternalServerError`, HTTP 500; nothing is executed.
    InternalServerError,
    /// It is executed and, on success, answered with `InternalServerError`, HTTP 500: the client cannot know that its
    /// write was applied.
    InternalServerErrorAfterApply,
    /// `ServiceUnavailable`, HTTP 503; nothing is executed.
    ServiceUnavailable,
    /// This exception, with the service's text; nothing is executed. A rule can only be added if the
    /// operation that it names is modelled with the exception; without an operation it acts on those that are. In a
    /// transaction, an exception that an action can fail with is that action's reason.
    Exception(ErrorKind),
    /// The table's encryption key cannot be used; nothing is executed.
    Kms(KmsFault),
    /// It is executed, and its response delayed by this much.
    Wait(Duration),
    /// It is executed, and its response delayed by a seeded length of time.
    WaitAbout(Lag),
    /// Nothing is executed, and the connection is reset.
    Reset,
    /// It is executed, and its response never arrives.
    AnswerLost,
    /// It is executed, and only this many bytes of the body arrive.
    Truncate(usize),
    /// It is executed, and the `x-amz-crc32` of its response is not that of the body.
    CorruptChecksum,
    /// The export, import, bulk operation or restore that the request starts runs, and fails at the end. A table that
    /// is being restored is then removed.
    FailJob(JobFault),
}

impl Verdict {
    /// An [`Exception`](Verdict::Exception): `ItemCollectionSizeLimitExceededException`, as for an item collection over
    /// 10 GB.
    #[allow(non_upper_case_globals)] // used like a variant
    pub const ItemCollectionSizeLimitExceeded: Verdict = Verdict::Exception(ErrorKind::ItemCollectionSizeLimitExceeded);
    /// [`Exception`](Verdict::Exception) with `LimitExceededException`, as for too many concurrent table operations.
    #[allow(non_upper_case_globals)] // used like a variant
    pub const LimitExceeded: Verdict = Verdict::Exception(ErrorKind::LimitExceeded);

    /// Whether it can affect requests of an operation.
    fn applies_to(self, operation: &str) -> bool {
        match self {
            Verdict::Exception(kind) => can_answer(operation, kind),
            Verdict::FailJob(_) => JOBS.contains(&operation),
            _ => true,
        }
    }
}

/// The operations that start jobs, which can fail later.
const JOBS: [&str; 5] = [
    "ExportTableToPointInTime",
    "ImportTable",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "StartBulkPutItems",
];

/// The problem with a table's encryption key.
///
/// ```
/// use dynatwin_engine::faults::{KmsFault, Rule, Verdict};
///
/// let disabled = Rule::new(Verdict::Kms(KmsFault::Disabled)).table("Orders");
/// assert_eq!(disabled.verdict, Verdict::Kms(KmsFault::Disabled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KmsFault {
    /// The caller has no permission to use it.
    AccessDenied,
    /// The key is disabled in AWS KMS.
    Disabled,
    /// The key does not exist.
    NotFound,
}

/// Why an export, import, bulk operation or restore fails.
///
/// ```
/// use dynatwin_engine::faults::{JobFault, Rule, Verdict};
///
/// let failing = Rule::new(Verdict::FailJob(JobFault::NoSuchBucket)).operation("ImportTable");
/// assert_eq!(JobFault::default(), JobFault::Internal);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobFault {
    /// An internal error of the service.
    #[default]
    Internal,
    /// The bucket does not exist.
    NoSuchBucket,
    /// Access to the bucket is denied.
    AccessDenied,
    /// The encryption key does not exist.
    KmsNotFound,
}

/// The items of a request that a rule matches.
///
/// ```
/// use dynatwin_engine::faults::{KeyMatch, Rule, Verdict};
///
/// let users = KeyMatch::PartitionPrefix("USER#".to_owned());
/// let rule = Rule::new(Verdict::Throttle(None)).key(users.clone());
/// assert_eq!(rule.key, Some(users));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMatch {
    /// The partition key has this text (a string, or a number's canonical form).
    Partition(String),
    /// The partition key begins with this text.
    PartitionPrefix(String),
}

/// The matching requests on which a rule acts.
///
/// ```
/// use dynatwin_engine::faults::{Rule, Trigger, Verdict};
///
/// assert_eq!(Rule::new(Verdict::Reset).nth(3).trigger, Trigger::Nth(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// Acts on each request that matches.
    Every,
    /// Only the first n requests.
    First(u64),
    /// Only the n-th, counted from 1.
    Nth(u64),
    /// Each n-th request, counted from 1.
    EveryNth(u64),
    /// A seeded share, from 0 to 1, of the requests of each partition key, independent of the order of keys.
    Share(f64),
}

/// A moment of the emulator's clock in a rule.
///
/// ```
/// use dynatwin_engine::Moment;
/// use dynatwin_engine::faults::When;
/// use std::time::Duration;
///
/// assert_eq!(When::from(Duration::from_secs(30)), When::In(Duration::from_secs(30)));
/// assert_eq!(When::from(Moment::START), When::At(Moment::START));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// This long after the rule is added.
    In(Duration),
    /// At this moment of the clock.
    At(Moment),
}

impl When {
    fn from(self, added: Moment) -> Moment {
        match self {
            When::In(length) => added.plus(length),
            When::At(moment) => moment,
        }
    }
}

impl From<Duration> for When {
    fn from(length: Duration) -> When {
        When::In(length)
    }
}

impl From<Moment> for When {
    fn from(moment: Moment) -> When {
        When::At(moment)
    }
}

/// The window in which a rule matches, by the emulator's clock: by default always.
///
/// ```
/// use dynatwin_engine::faults::{Rule, Verdict, Window};
///
/// assert_eq!(Rule::new(Verdict::Reset).window, Window::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// When it begins; by default when the rule is added.
    pub after: Option<When>,
    /// When it ends; by default never.
    pub until: Option<When>,
    /// Its duration, instead of `until`.
    pub lasting: Option<Duration>,
}

impl Window {
    /// Its first moment and the first one after it, for a rule that is added at this moment.
    fn span(self, added: Moment) -> (Moment, Moment) {
        let from = self.after.map_or(Moment::FIRST, |after| after.from(added));
        let until = self.until.map_or(Moment::NEVER, |until| until.from(added));
        let ends = self.lasting.map(|length| from.max(added).plus(length));
        (from, ends.map_or(until, |ends| ends.min(until)))
    }
}

/// A fault rule: the requests it matches, when it acts, and its effect. Its text is the JSON that the control `addFault`
/// accepts.
///
/// ```
/// use dynatwin_engine::faults::{Rule, Verdict};
/// use std::time::Duration;
///
/// let rule = Rule::new(Verdict::Throttle(None)).operation("PutItem").table("Orders").first(2);
/// assert_eq!(rule.to_string(), r#"{"verdict":"throttle","operation":"PutItem","table":"Orders","first":2}"#);
///
/// let minute = Rule::new(Verdict::ServiceUnavailable).after(Duration::from_secs(30)).lasting(Duration::from_secs(60));
/// assert_eq!(minute.to_string(), r#"{"verdict":"serviceUnavailable","after":30,"for":60}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Only this operation, by its API name.
    pub operation: Option<String>,
    /// Only this table, by its name.
    pub table: Option<String>,
    /// Only reads of this index, and writes to tables whose global index it is.
    pub index: Option<String>,
    /// Only requests with this access key.
    pub caller: Option<String>,
    /// Only requests to this region.
    pub region: Option<String>,
    /// Only items with such a key.
    pub key: Option<KeyMatch>,
    /// Only requests in this period.
    pub window: Window,
    /// The matching requests on which it acts.
    pub trigger: Trigger,
    /// Its effect on the request.
    pub verdict: Verdict,
    /// Whether its wait advances a settable clock that several clients share, as a server's clients do.
    pub moves_clock: bool,
    /// The outage that it is a part of.
    pub outage: Option<Outage>,
}

impl Rule {
    /// A rule for every request.
    pub fn new(verdict: Verdict) -> Rule {
        Rule {
            operation: None,
            table: None,
            index: None,
            caller: None,
            region: None,
            key: None,
            window: Window::default(),
            trigger: Trigger::Every,
            verdict,
            moves_clock: false,
            outage: None,
        }
    }

    /// Only for this operation, by its API name.
    pub fn operation(mut self, operation: &str) -> Rule {
        self.operation = Some(operation.to_owned());
        self
    }

    /// Only for this table, by its name.
    pub fn table(mut self, table: &str) -> Rule {
        self.table = Some(table.to_owned());
        self
    }

    /// Only for reads of this index, and writes to tables with this global index. A throttle is then the index's: on
    /// writes it is back-pressure from an index that cannot keep up.
    ///
    /// ```
    /// use dynatwin_engine::faults::{Exceeded, Rule, Verdict};
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

    /// Only for requests to this region.
    pub fn region(mut self, region: &str) -> Rule {
        self.region = Some(region.to_owned());
        self
    }

    /// Only for items with such a key.
    pub fn key(mut self, key: KeyMatch) -> Rule {
        self.key = Some(key);
        self
    }

    /// Only from then on: a moment, or a duration after the rule is added.
    pub fn after(mut self, when: impl Into<When>) -> Rule {
        self.window.after = Some(when.into());
        self
    }

    /// Only until then: a moment, or a duration after the rule is added.
    pub fn until(mut self, when: impl Into<When>) -> Rule {
        self.window.until = Some(when.into());
        self
    }

    /// Limits the rule to this duration, from the beginning of its window.
    pub fn lasting(mut self, length: Duration) -> Rule {
        self.window.lasting = Some(length);
        self
    }

    /// Only for some of the requests that match; without a trigger the rule acts on every one.
    pub fn on(mut self, trigger: Trigger) -> Rule {
        self.trigger = trigger;
        self
    }

    /// Only the first `count` requests that match.
    pub fn first(self, count: u64) -> Rule {
        self.on(Trigger::First(count))
    }

    /// Only the n-th request that matches, counted from 1.
    pub fn nth(self, number: u64) -> Rule {
        self.on(Trigger::Nth(number))
    }

    /// Only this share of the requests that match, from 0 to 1, chosen by the emulator's seed.
    pub fn share(self, share: f64) -> Rule {
        self.on(Trigger::Share(share))
    }

    /// Makes its wait advance a settable clock that several clients share.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dynatwin_engine::faults::{Rule, Verdict};
    ///
    /// assert!(Rule::new(Verdict::Wait(Duration::from_hours(1))).moving_clock().moves_clock);
    /// ```
    pub fn moving_clock(mut self) -> Rule {
        self.moves_clock = true;
        self
    }

    /// The first moment at which the rule matches and the first one after its window, if it can act at all.
    pub(super) fn checked_span(&self, added: Moment) -> Result<(Moment, Moment), InvalidRule> {
        let span = self.window.span(added);
        if span.0 >= span.1 {
            return Err(InvalidRule::EmptyWindow);
        }
        if self.moves_clock && !matches!(self.verdict, Verdict::Wait(_) | Verdict::WaitAbout(_)) {
            return Err(InvalidRule::NothingMovesClock);
        }
        match (&self.operation, self.verdict) {
            (Some(operation), _) if !is_operation(operation) => Err(InvalidRule::UnknownOperation(operation.clone())),
            (Some(operation), verdict) if !verdict.applies_to(operation) => {
                Err(InvalidRule::Unsuited(operation.clone(), verdict))
            }
            (None, Verdict::Exception(kind)) if !is_modelled(kind) => Err(InvalidRule::Unmodelled(kind)),
            _ => Ok(span),
        }
    }

    pub(super) fn matches(&self, subject: &FaultSubject<'_>) -> bool {
        let is = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|wanted| wanted == given);
        is(&self.operation, subject.operation)
            && is(&self.table, subject.table)
            && is(&self.caller, subject.caller)
            && is(&self.region, subject.region)
            && self.index.as_deref().is_none_or(|index| subject.touches(index))
            && self.verdict.applies_to(subject.operation)
            && match &self.key {
                None => true,
                Some(KeyMatch::Partition(text)) => subject.partition.is_some_and(|partition| partition == text),
                Some(KeyMatch::PartitionPrefix(text)) => subject
                    .partition
                    .is_some_and(|partition| partition.starts_with(text.as_str())),
            }
    }
}

/// Why a rule is refused.
///
/// ```
/// use dynatwin_engine::faults::{Faults, Rule, Verdict};
/// use dynatwin_engine::{ErrorKind, Moment};
///
/// let conflict = Rule::new(Verdict::Exception(ErrorKind::TransactionConflict)).operation("GetItem");
/// let refused = Faults::new(7).add(conflict, Moment::START).unwrap_err();
/// assert_eq!(refused.to_string(), "GetItem never returns TransactionConflictException.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum InvalidRule {
    /// The operation does not exist.
    UnknownOperation(String),
    /// The verdict is not possible for this operation.
    Unsuited(String, Verdict),
    /// No operation is modelled with the exception.
    Unmodelled(ErrorKind),
    /// The rule's window ends before it begins.
    EmptyWindow,
    /// The rule should move the clock, but its verdict is not a wait.
    NothingMovesClock,
}

/// An exception's name as clients see it.
fn exception_name(kind: ErrorKind) -> String {
    let suffix = if kind == ErrorKind::RequestLimitExceeded {
        ""
    } else {
        "Exception"
    };
    format!("{kind:?}{suffix}")
}

impl fmt::Display for InvalidRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidRule::UnknownOperation(name) => {
                write!(
                    formatter,
                    "There is no operation {}.",
                    name.chars().take(100).collect::<String>()
                )
            }
            InvalidRule::Unsuited(operation, Verdict::Exception(kind)) => {
                write!(formatter, "{operation} never returns {}.", exception_name(*kind))
            }
            InvalidRule::Unsuited(operation, _) => write!(
                formatter,
                "{operation} starts no job that can fail: {} do.",
                JOBS.join(", ")
            ),
            InvalidRule::Unmodelled(kind) => {
                write!(formatter, "No operation returns {}.", exception_name(*kind))
            }
            InvalidRule::EmptyWindow => formatter.write_str("The rule's time ends before it begins."),
            InvalidRule::NothingMovesClock => formatter.write_str("Only a rule with a wait can move the clock."),
        }
    }
}

impl std::error::Error for InvalidRule {}
