//! `--db-path`: stores every commit of the engine in a directory, and restores the engine from them.
//!
//! A record of the store is a byte that identifies its kind, followed by its content: the settings that no commit
//! contains (seed, clock), or a commit. The first record of a log and of a snapshot is settings.

mod record;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit, Origin, Replay};
use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::{Clock, ClockAdjustment, Conditions, Engine, Moment};
use dynatwin_store::{Directory, Disk, Entry, OpenError, Progress, Report, SnapshotWriter, Store, UntilSynced};

use crate::backend::Backend;
use crate::engine;
use crate::flags::{Flags, Sync};
use record::{Form, Record, Saved};

/// The longest time for which an appended record stays unsynced.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which the log's length is checked.
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);

/// The longest pause after a snapshot that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

thread_local! {
    /// Whether this thread has appended a commit of a request since the flag was last cleared. Due work that a request finds
    /// is not the request's: it is applied even if it cannot be stored.
    static APPENDED: Cell<bool> = const { Cell::new(false) };
}

/// A directory that stores an engine's commits.
pub(crate) struct Database {
    engine: Arc<Engine>,
    log: Arc<Log>,
    sync: Sync,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stopping: Arc<AtomicBool>,
}

struct Log {
    store: Store,
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
    until: Until,
    /// Whether the request itself changed something.
    wrote: bool,
}

/// When the commits that an answer reveals are durable.
enum Until {
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

/// Opens the directory and restores the engine. An error is a sentence for the operator.
pub(crate) fn open(flags: &Flags, path: &str) -> Result<Database, String> {
    let foreign = dynamodb_local_files(Path::new(path));
    let (database, last) = open_on(flags, path, Directory::at(path))?;
    if let (0, Some(first)) = (last, foreign.first()) {
        note(&format!(
            "{path} contains files of DynamoDB Local, which are not read: {}; `dynatwin import {path}/{first} --to URL` \
             copies their tables to a running server, --load {path}/{first} to this one",
            foreign.join(", ")
        ));
    }
    database
        .start_threads()
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(database)
}

/// Opens a directory on any disk, without the threads that sync it and take snapshots. Also returns the sequence number
/// of the last commit.
fn open_on(flags: &Flags, path: &str, disk: impl Disk) -> Result<(Database, u64), String> {
    let Restored {
        engine,
        store,
        report,
        last,
        seed,
        conditions,
    } = restore(flags, path, disk).map_err(|error| error.to_string())?;
    if let Some(cut) = &report.cut {
        note(&format!(
            "{path}/{} ended with an incomplete write, as after a crash: removed {} bytes from byte {} on ({})",
            cut.file, cut.bytes, cut.offset, cut.problem
        ));
    }
    let engine = Arc::new(engine);
    let log = Arc::new(Log {
        store,
        seed: engine.seed(),
        form: Form::of(flags),
        least: flags.log_size,
        state: Mutex::default(),
        clock: (AtomicI64::default(), AtomicI64::default()),
    });
    log.save_settings(engine.clock(), engine.clock().adjustment())
        .map_err(|error| format!("{path}: {error}"))?;
    engine.attach_sink(Arc::clone(&log) as Arc<dyn CommitSink>, last);
    if seed.is_some_and(|stored| stored != engine.seed()) {
        // An engine is restored with the seed in front of its commits.
        log.take_snapshot(&engine)
            .map_err(|error| format!("{path}: the seed cannot be stored: {error}"))?;
    }
    let wanted = engine::conditions(flags, &conditions);
    if wanted != conditions {
        engine
            .set_conditions(wanted)
            .map_err(|error| format!("{path}: {error}"))?;
    }
    let database = Database {
        engine,
        log,
        sync: flags.sync,
        threads: Mutex::default(),
        stopping: Arc::default(),
    };
    Ok((database, last))
}

/// An engine that was restored from a directory.
struct Restored {
    engine: Engine,
    store: Store,
    report: Report,
    /// The sequence number of the last commit.
    last: u64,
    /// The seed of the directory with which its commits are restored; `None` if there are no settings.
    seed: Option<u64>,
    /// The conditions that the directory has. The engine's are those of the flags that are given.
    conditions: Conditions,
}

/// Restores an engine from the directory.
fn restore(flags: &Flags, path: &str, disk: impl Disk) -> Result<Restored, OpenError> {
    let engine = OnceCell::new();
    let (mut replay, mut saved, mut last, mut latest) = (None, None, 0, Moment::FIRST);
    let mut seed = None;
    let state = &mut |entry: Entry<'_>| {
        let (Entry::Snapshot(bytes) | Entry::Log { record: bytes, .. }) = entry;
        match Record::decode(bytes)? {
            Record::Settings(settings) => {
                if engine.get().is_none() {
                    seed = Some(settings.seed);
                }
                last = last.max(settings.commit);
                latest = settings.moment;
                saved = Some(settings);
            }
            Record::Commit(commit) if matches!(entry, Entry::Log { .. }) && commit.sequence <= last => {}
            Record::Commit(commit) => {
                let engine: &Engine = engine.get_or_init(|| engine::engine_with_seed(flags, seed));
                let replay = replay.get_or_insert_with(|| engine.replay());
                replay.apply(&commit).map_err(|error| error.to_string())?;
                (last, latest) = (commit.sequence, commit.time);
            }
        }
        Ok(())
    };
    let (store, report) = Store::open(disk, state, &mut reporter(path))?;
    let restored = engine.get_or_init(|| engine::engine_with_seed(flags, seed));
    let clock = restored.clock();
    if let Some(saved) = saved.filter(|saved| saved.form == Form::of(flags)) {
        saved.restore(clock);
    }
    // Time never goes back.
    clock.set(latest);
    let stored = replay.as_ref().and_then(Replay::conditions);
    let conditions = stored.unwrap_or_default();
    if let Some(mut replay) = replay {
        // Before work that has become due since the last process ended.
        replay.set_conditions(&engine::conditions(flags, &conditions));
        replay.finish(clock.now());
    }
    let engine = engine.into_inner().unwrap_or_else(|| engine::engine(flags));
    Ok(Restored {
        engine,
        store,
        report,
        last,
        seed,
        conditions,
    })
}

/// Returns a function that prints the progress of opening once a second.
fn reporter(path: &str) -> impl FnMut(Progress) {
    let started = std::time::Instant::now();
    let (path, mut said) = (path.to_owned(), 0);
    move |progress| {
        let percent = (progress.read * 100).checked_div(progress.total).unwrap_or(100);
        let seconds = started.elapsed().as_secs();
        if seconds > said {
            said = seconds;
            note(&format!(
                "opening {path}: {percent}% of {} MB",
                progress.total / 1_000_000
            ));
        }
    }
}

fn note(sentence: &str) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr().lock(), "dynatwin: {sentence}");
}

/// Returns the names of DynamoDB Local's database files in a directory.
fn dynamodb_local_files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_database = |name: &String| {
        let name = name.strip_suffix(".db").unwrap_or_default();
        name == "shared-local-instance"
            || name
                .split_once('_')
                .is_some_and(|(key, region)| !key.is_empty() && region.contains('-'))
    };
    let mut found: Vec<String> = names.filter(is_database).collect();
    found.sort_unstable();
    found
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
    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save_settings(&self, clock: &Clock, adjustment: ClockAdjustment) -> Result<(), dynatwin_store::AppendError> {
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

    fn wants_snapshot(&self) -> bool {
        self.lacks_changes() || self.store.wants_snapshot(self.least)
    }

    /// Whether the engine has changes that neither the log nor a snapshot contains.
    fn lacks_changes(&self) -> bool {
        self.state().missing != Missing::None
    }

    /// Replaces the log with a snapshot of the engine's state.
    fn take_snapshot(&self, engine: &Engine) -> Result<(), dynatwin_store::AppendError> {
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
    fn write_state(&self, engine: &Engine, mut writer: SnapshotWriter) -> Result<(), dynatwin_store::AppendError> {
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
    fn follow(&self, clock: &Clock) {
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

impl Database {
    fn start_threads(&self) -> io::Result<()> {
        let log = Arc::clone(&self.log);
        let syncing = thread::Builder::new().name("dynatwin-sync".into()).spawn(move || {
            log.store
                .sync_continuously(SYNC_INTERVAL, |error| note(&format!("writes fail: {error}")));
        })?;
        self.threads().push(syncing);
        let (engine, log, stopping) = (
            Arc::clone(&self.engine),
            Arc::clone(&self.log),
            Arc::clone(&self.stopping),
        );
        let snapshots = thread::Builder::new().name("dynatwin-snapshot".into());
        let snapshots = snapshots.spawn(move || take_snapshots(&engine, &log, &stopping))?;
        self.threads().push(snapshots);
        Ok(())
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the engine whose commits are stored.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Writes all pending data and closes the directory. Later changes fail.
    pub(crate) fn close(&self) {
        let clock = self.engine.clock();
        // What a failed write of buffered records has lost is only in memory, too.
        let flushed = self.log.store.flush();
        if flushed.is_err() || self.log.lacks_changes() || self.log.store.failure().is_some() {
            // If it cannot be written, the next process reads the log.
            let _ = self.log.take_snapshot(&self.engine);
        }
        let _ = self.log.save_settings(clock, clock.adjustment());
        self.log.store.close();
        self.stopping.store(true, Ordering::Relaxed);
        for thread in self.threads().drain(..) {
            thread.thread().unpark();
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }
}

/// Replaces the log with a snapshot whenever it is long enough.
fn take_snapshots(engine: &Engine, log: &Log, stopping: &AtomicBool) {
    let mut pause = SNAPSHOT_INTERVAL;
    while !stopping.load(Ordering::Relaxed) {
        thread::park_timeout(pause);
        if stopping.load(Ordering::Relaxed) || !log.wants_snapshot() {
            continue;
        }
        pause = match log.take_snapshot(engine) {
            Ok(()) => SNAPSHOT_INTERVAL,
            Err(error) => {
                note(&format!("cannot write a snapshot: {error}"));
                (pause * 2).min(LONGEST_PAUSE)
            }
        };
    }
}

impl Backend for Database {
    fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        let answer = self.engine.handle(request);
        self.log.follow(self.engine.clock());
        answer
    }

    fn handle_durably(&self, request: &HttpRequest<'_>) -> (Answer, Option<Durability>) {
        APPENDED.set(false);
        let answer = self.handle(request);
        // All changes that the answer shows were appended before.
        let until = match self.sync {
            Sync::Always => Some(Until::Synced(self.log.store.until_appended_is_synced())),
            Sync::Second if self.log.store.has_pending() => Some(Until::Written(Arc::clone(&self.log))),
            Sync::Second => None,
        };
        let wrote = APPENDED.get();
        (answer, until.map(|until| Durability { until, wrote }))
    }

    fn may_take_long(&self, request: &HttpRequest<'_>) -> bool {
        self.engine.may_take_long(request)
    }

    fn clock(&self) -> &Clock {
        self.engine.clock()
    }

    fn has_events_after(&self, number: u64, waker: &Waker) -> bool {
        self.engine.has_events_after(number, waker)
    }

    fn begin_event_subscription(&self) {
        self.engine.begin_event_subscription();
    }

    fn end_event_subscription(&self) {
        self.engine.end_event_subscription();
    }

    fn run_background_work(&self) -> Moment {
        self.engine.run_background_work()
    }
}
