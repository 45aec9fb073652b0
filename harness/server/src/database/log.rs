//! The log of a directory: stores the engine's commits, and replaces them with snapshots.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit, Origin};
use dynatwin_engine::{Clock, ClockAdjustment, Engine, Moment};
use dynatwin_store::{SnapshotWriter, Store, UntilSynced};

use super::note;
use super::record::{self, Form, Saved};

thread_local! {
    /// Whether this thread has appended a commit of a request since the flag was last cleared. Due work that a request finds
    /// is not the request's: it is applied even if it cannot be stored.
    pub(super) static APPENDED: Cell<bool> = const { Cell::new(false) };
}

/// The log of a directory, as the engine's sink of commits.
pub(super) struct Log {
    pub(super) store: Store,
    seed: u64,
    form: Form,
    /// The length from which on a snapshot replaces the log.
    least: u64,
    state: Mutex<LogState>,
    /// The clock's adjustment as it was last recorded.
    clock: (AtomicI64, AtomicI64),
}

#[derive(Default)]
struct LogState {
    buffer: Vec<u8>,
    /// Whether requests cannot append.
    failing: bool,
    missing: Missing,
}

/// Where changes are that the log refused and the engine has: those that follow from earlier ones are applied even then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Missing {
    /// There are none.
    #[default]
    None,
    /// In memory only.
    InMemory,
    /// In the snapshot that is being written.
    InUnfinishedSnapshot,
}

/// What an answer waits for before it is delivered.
pub struct Durability {
    pub(super) until: Until,
    /// Whether the request itself changed something.
    pub(super) wrote: bool,
}

/// When the commits that an answer reveals are durable.
pub(super) enum Until {
    /// Once they are in the log's file.
    Written(Arc<Log>),
    /// After the records were synced to disk.
    Synced(UntilSynced),
}

impl Durability {
    /// Waits; returns whether the answer may be delivered. An answer that only shows other requests' writes may always
    /// be delivered.
    pub(crate) async fn settled(self) -> bool {
        let settled = match self.until {
            Until::Written(log) => {
                // The requests that other connections of this thread have received are handled first: one write stores
                // the commits of all.
                tokio::task::yield_now().await;
                log.store.flush()
            }
            Until::Synced(synced) => synced.await,
        };
        settled.is_ok() || !self.wrote
    }
}

impl CommitSink for Log {
    fn append(&self, commit: &EncodedCommit) -> Result<(), AppendError> {
        let mut state = self.state();
        // A commit may depend on the missing changes, so it is stored after them. That of a request may be acknowledged, so it
        // waits until their snapshot is finished.
        let is_request = commit.origin == Origin::Request;
        let may_append = match state.missing {
            Missing::None => true,
            Missing::InMemory => false,
            Missing::InUnfinishedSnapshot => !is_request,
        };
        let appended = if may_append {
            state.buffer.clear();
            record::begin_commit(&mut state.buffer);
            commit.encode(&mut state.buffer);
            let appended = self.store.buffer(&state.buffer);
            state.buffer.shrink_to(record::KEPT_BUFFER);
            appended
                .map(|_| ())
                .map_err(|error| AppendError::new(error.to_string()))
        } else {
            Err(AppendError::new(
                "a snapshot of changes that could not be written is not stored yet",
            ))
        };
        if appended.is_err() && !is_request {
            state.missing = Missing::InMemory;
        }
        let failing = appended.is_err() || state.missing != Missing::None;
        let changed = std::mem::replace(&mut state.failing, failing) != failing;
        drop(state);
        if is_request {
            APPENDED.set(true);
        }
        match &appended {
            Err(error) if changed => note(&format!("writes fail: {error}")),
            Ok(()) if changed => note("writes work again"),
            _ => {}
        }
        appended
    }
}

impl Log {
    /// Returns the log of a store. A snapshot replaces it from the length `least` on.
    pub(super) fn new(store: Store, seed: u64, form: Form, least: u64) -> Log {
        Log {
            store,
            seed,
            form,
            least,
            state: Mutex::default(),
            clock: (AtomicI64::default(), AtomicI64::default()),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn save_settings(
        &self,
        clock: &Clock,
        adjustment: ClockAdjustment,
    ) -> Result<(), dynatwin_store::AppendError> {
        self.store.append(&self.settings(clock, adjustment).encode())?;
        self.clock.0.store(adjustment.offset, Ordering::Relaxed);
        self.clock.1.store(frozen_micros(adjustment), Ordering::Relaxed);
        Ok(())
    }

    fn settings(&self, clock: &Clock, adjustment: ClockAdjustment) -> Saved {
        Saved {
            seed: self.seed,
            form: self.form,
            adjustment,
            moment: clock.now(),
            commit: 0,
        }
    }

    pub(super) fn wants_snapshot(&self) -> bool {
        self.lacks_changes() || self.store.wants_snapshot(self.least)
    }

    /// Whether the engine has changes that neither the log nor a snapshot contains.
    pub(super) fn lacks_changes(&self) -> bool {
        self.state().missing != Missing::None
    }

    /// Replaces the log with a snapshot of the engine's state.
    pub(super) fn take_snapshot(&self, engine: &Engine) -> Result<(), dynatwin_store::AppendError> {
        let Some(mut writer) = self.store.begin_snapshot()? else {
            return Ok(());
        };
        writer.start()?;
        // What is missing now is applied before the checkpoint, which locks all tables.
        self.replace_missing(Missing::InMemory, Missing::InUnfinishedSnapshot);
        let written = self.write_state(engine, writer);
        let left = if written.is_ok() {
            Missing::None
        } else {
            Missing::InMemory
        };
        self.replace_missing(Missing::InUnfinishedSnapshot, left);
        written
    }

    fn replace_missing(&self, before: Missing, after: Missing) {
        let mut state = self.state();
        if state.missing == before {
            state.missing = after;
        }
    }

    /// Writes the engine's state to a snapshot that has divided the log. Commits since then are in both; opening skips them
    /// in the log.
    pub(super) fn write_state(
        &self,
        engine: &Engine,
        mut writer: SnapshotWriter,
    ) -> Result<(), dynatwin_store::AppendError> {
        let checkpoint = engine.checkpoint();
        let clock = engine.clock();
        let settings = Saved {
            commit: checkpoint.sequence(),
            ..self.settings(clock, clock.adjustment())
        };
        writer.push(&settings.encode())?;
        let mut record = Vec::new();
        for commit in checkpoint {
            record.clear();
            record::begin_commit(&mut record);
            commit.encode(&mut record);
            writer.push(&record)?;
        }
        writer.finish()
    }

    /// Records the clock if it was adjusted. If that fails, the next request tries again.
    pub(super) fn follow(&self, clock: &Clock) {
        let adjustment = clock.adjustment();
        let recorded = (
            self.clock.0.load(Ordering::Relaxed),
            self.clock.1.load(Ordering::Relaxed),
        );
        if recorded != (adjustment.offset, frozen_micros(adjustment)) {
            let _ = self.save_settings(clock, adjustment);
        }
    }
}

fn frozen_micros(adjustment: ClockAdjustment) -> i64 {
    adjustment.frozen_at.map_or(i64::MIN, Moment::micros)
}
