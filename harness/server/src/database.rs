//! `--db-path`: stores every commit of the engine in a directory, and restores the engine from them.
//!
//! A record of the store is a byte that identifies its kind, followed by its content: the settings that no commit
//! contains (seed, clock), or a commit. The first record of a log and of a snapshot is settings.

mod log;
mod record;
mod restore;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynatwin_engine::commits::CommitSink;
use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::{Clock, Engine, Moment};
use dynatwin_store::{Directory, Disk};

use crate::backend::Backend;
use crate::engine;
use crate::flags::{Flags, Sync};
pub use log::Durability;
use log::{APPENDED, Log, Until};
use record::Form;
use restore::{Restored, restore};

/// The longest time for which an appended record stays unsynced.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which the log's length is checked.
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);

/// The longest pause after a snapshot that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A directory that stores an engine's commits.
pub(crate) struct Database {
    engine: Arc<Engine>,
    log: Arc<Log>,
    sync: Sync,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stopping: Arc<AtomicBool>,
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
    let log = Arc::new(Log::new(store, engine.seed(), Form::of(flags), flags.log_size));
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
        if !stopping.load(Ordering::Relaxed) {
            pause = take_due_snapshot(engine, log, pause);
        }
    }
}

/// Takes a snapshot if one is due. Returns the pause before the next check, given the pause before this one.
fn take_due_snapshot(engine: &Engine, log: &Log, pause: Duration) -> Duration {
    if !log.wants_snapshot() {
        return pause;
    }
    match log.take_snapshot(engine) {
        Ok(()) => SNAPSHOT_INTERVAL,
        Err(error) => {
            note(&format!("cannot write a snapshot: {error}"));
            (pause * 2).min(LONGEST_PAUSE)
        }
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
