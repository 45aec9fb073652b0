//! The log of commits, to which each is appended before it is applied.

use std::fmt;
use std::sync::Arc;

use super::codec::EncodedCommit;
use super::{Commit, Mutation, Origin};
use crate::clock::Moment;
use crate::error::ApiError;
use crate::sync::{Counter, Hint, Mutex, MutexGuard, Ordering};

/// A sink has rejected a commit, which is not applied.
///
/// ```
/// use dynatwin_engine::commits::AppendError;
///
/// assert_eq!(AppendError::new("disk full").to_string(), "disk full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendError(String);

impl AppendError {
    /// An error with its reason.
    pub fn new(reason: impl Into<String>) -> AppendError {
        AppendError(reason.into())
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for AppendError {}

impl From<AppendError> for ApiError {
    fn from(_: AppendError) -> ApiError {
        ApiError::internal()
    }
}

/// A subscriber to all commits, such as a durable log.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit};
/// use std::sync::Arc;
///
/// struct Full;
///
/// impl CommitSink for Full {
///     fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
///         Err(AppendError::new("disk full"))
///     }
/// }
///
/// engine.attach_sink(Arc::new(Full), 0);
/// assert!(engine.set_conditions(Conditions::STORM).is_err());
/// ```
pub trait CommitSink: Send + Sync {
    /// Takes a commit that is about to be applied, with locks of its tables held: it should buffer the commit and
    /// return. On an error the commit is not applied, and the request fails with an `InternalServerError`.
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError>;
}

/// The log of all commits of an engine.
#[derive(Default)]
pub struct CommitLog {
    /// Whether there is a sink.
    attached: Hint,
    /// The sequence number of the last commit.
    last: Counter,
    sink: Mutex<Sink>,
}

impl fmt::Debug for CommitLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CommitLog")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// Where commits are appended.
#[derive(Default)]
struct Sink {
    attached: Option<Arc<dyn CommitSink>>,
    /// A change that was applied before a sink was attached, or that the sink has refused so far. It precedes all other
    /// commits.
    owed: Option<EncodedCommit>,
}

/// A commit that is being applied: permission to change the state. No other commit is appended until it is dropped.
#[derive(Debug)]
pub struct Committed<'l> {
    pub time: Moment,
    _turn: Option<ApplyGuard<'l>>,
}

/// Held while a commit is applied.
struct ApplyGuard<'l> {
    _sink: MutexGuard<'l, Sink>,
}

impl fmt::Debug for ApplyGuard<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Turn")
    }
}

impl Committed<'_> {
    /// A commit that is replayed: a sink of the state, if there is one, does not receive it.
    pub(in crate::storage) fn replayed(time: Moment) -> Committed<'static> {
        Committed { time, _turn: None }
    }
}

impl CommitLog {
    /// Passes all commits from now on to a sink, and first the one that is owed; the next has the sequence number after
    /// `last`. Changes of concurrent requests may be missed: attach the sink before the engine is shared, or while all
    /// tables are locked.
    pub fn attach(&self, sink: Arc<dyn CommitSink>, last: u64) {
        let mut there = self.sink.lock();
        self.last.store(last, Ordering::Relaxed);
        there.attached = Some(sink);
        // If the sink refuses it, it is appended before the next commit.
        let _ = self.append_owed(&mut there);
        self.attached.store(true, Ordering::Relaxed);
    }

    /// Adds a commit for a change that was applied without a sink: the first that a sink receives. Like due work it
    /// follows from the commits before it, so it is not lost with a sink that refuses it. Later commits do not fit
    /// the state without it, and are refused until the sink has it.
    pub(in crate::storage) fn owe(&self, time: Moment, mutation: Mutation) {
        let mut there = self.sink.lock();
        if there.attached.is_none() {
            there.owed = Some(EncodedCommit::new(Commit {
                time,
                origin: Origin::Clock,
                sequence: 0,
                mutations: vec![mutation],
            }));
        }
    }

    fn append_owed(&self, there: &mut Sink) -> Result<(), AppendError> {
        if let (Some(sink), Some(owed)) = (&there.attached, &mut there.owed) {
            self.append_next(sink, owed)?;
            there.owed = None;
        }
        Ok(())
    }

    fn append_next(&self, sink: &Arc<dyn CommitSink>, commit: &mut EncodedCommit) -> Result<(), AppendError> {
        commit.set_sequence(self.last.load(Ordering::Relaxed) + 1);
        sink.append(commit)?;
        self.last.store(commit.sequence, Ordering::Release);
        Ok(())
    }

    /// Whether there is a sink.
    #[inline]
    pub fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Relaxed)
    }

    /// The sequence number of the last appended commit; no response depends on a later one.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Blocks commits until the result is dropped, if there is a sink.
    pub(in crate::storage) fn pause(&self, time: Moment) -> Committed<'_> {
        Committed {
            time,
            _turn: Some(ApplyGuard {
                _sink: self.sink.lock(),
            }),
        }
    }

    /// Appends a commit with the time `time`. The caller holds the locks of what is changed, and applies the change
    /// before it drops the result.
    #[inline]
    pub fn begin(
        &self,
        time: Moment,
        origin: Origin,
        mutations: impl FnOnce() -> Vec<Mutation>,
    ) -> Result<Committed<'_>, AppendError> {
        if self.is_attached() {
            self.append(time, origin, mutations(), None)
        } else {
            Ok(Committed { time, _turn: None })
        }
    }

    #[cold]
    fn append(
        &self,
        time: Moment,
        origin: Origin,
        mutations: Vec<Mutation>,
        removed: Option<&Hint>,
    ) -> Result<Committed<'_>, AppendError> {
        let mut commit = EncodedCommit::new(Commit {
            time,
            origin,
            sequence: 0,
            mutations,
        });
        let mut turn = self.sink.lock();
        if removed.is_none_or(|removed| !removed.load(Ordering::Relaxed)) {
            self.append_owed(&mut turn)?;
            if let Some(sink) = &turn.attached {
                self.append_next(sink, &mut commit)?;
            }
        }
        Ok(Committed {
            time,
            _turn: Some(ApplyGuard { _sink: turn }),
        })
    }
}

/// The commit log for one region. Once the region is removed from the state, its changes are not part of the state, and
/// are not appended.
#[derive(Clone, Debug, Default)]
pub struct RegionLog {
    log: Arc<CommitLog>,
    removed: Arc<Hint>,
}

impl RegionLog {
    /// Creates the log of another region.
    pub(in crate::storage) fn of_another(&self) -> RegionLog {
        RegionLog {
            log: Arc::clone(&self.log),
            removed: Arc::default(),
        }
    }

    /// The log of all regions.
    pub fn all(&self) -> &CommitLog {
        &self.log
    }

    /// Rejects all later changes of the region.
    pub(in crate::storage) fn end(&self, _: &Committed<'_>) {
        self.removed.store(true, Ordering::Relaxed);
    }

    /// Whether the region was removed.
    pub(in crate::storage) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }

    /// Appends a commit with the time `time`. The caller holds the locks of what is changed, and applies the change
    /// before it drops the result.
    #[inline]
    pub fn begin(
        &self,
        time: Moment,
        origin: Origin,
        mutations: impl FnOnce() -> Vec<Mutation>,
    ) -> Result<Committed<'_>, AppendError> {
        if self.log.is_attached() {
            self.log.append(time, origin, mutations(), Some(&self.removed))
        } else {
            Ok(Committed { time, _turn: None })
        }
    }

    /// Appends a commit that follows from earlier ones alone. It is applied even if the sink rejects it: after a replay of the
    /// commits the same work is due again.
    #[inline]
    pub fn begin_due(&self, time: Moment, mutations: impl FnOnce() -> Vec<Mutation>) -> Committed<'_> {
        self.begin_infallible(time, Origin::Clock, mutations)
    }

    /// Appends the arrival of a change from another region. It is applied even if the sink rejects it: after a replay of
    /// the commits the change is still queued.
    pub fn begin_arrival(&self, time: Moment, mutations: impl FnOnce() -> Vec<Mutation>) -> Committed<'_> {
        self.begin_infallible(time, Origin::Replication, mutations)
    }

    #[inline]
    fn begin_infallible(
        &self,
        time: Moment,
        origin: Origin,
        mutations: impl FnOnce() -> Vec<Mutation>,
    ) -> Committed<'_> {
        match self.begin(time, origin, mutations) {
            Ok(committed) => committed,
            Err(_) => Committed { time, _turn: None },
        }
    }
}
