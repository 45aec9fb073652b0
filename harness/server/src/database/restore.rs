//! Restores an engine from the records of a directory.

use std::cell::OnceCell;

use dynatwin_engine::commits::Replay;
use dynatwin_engine::{Conditions, Engine, Moment};
use dynatwin_store::{Disk, Entry, OpenError, Progress, Report, Store};

use super::note;
use super::record::{Form, Record};
use crate::engine;
use crate::flags::Flags;

/// An engine that was restored from a directory.
pub(super) struct Restored {
    pub(super) engine: Engine,
    pub(super) store: Store,
    pub(super) report: Report,
    /// The sequence number of the last commit.
    pub(super) last: u64,
    /// The seed of the directory with which its commits are restored; `None` if there are no settings.
    pub(super) seed: Option<u64>,
    /// The conditions that the directory has. The engine's are those of the flags that are given.
    pub(super) conditions: Conditions,
}

/// Restores an engine from the directory.
pub(super) fn restore(flags: &Flags, path: &str, disk: impl Disk) -> Result<Restored, OpenError> {
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
        if let Some(line) = progress_line(&path, progress, started.elapsed().as_secs(), &mut said) {
            note(&line);
        }
    }
}

/// Returns the line about the progress after some seconds, unless `said`, the second of the last line, is the same.
fn progress_line(path: &str, progress: Progress, seconds: u64, said: &mut u64) -> Option<String> {
    if seconds <= *said {
        return None;
    }
    *said = seconds;
    let percent = (progress.read * 100).checked_div(progress.total).unwrap_or(100);
    let megabytes = progress.total / 1_000_000;
    Some(format!("opening {path}: {percent}% of {megabytes} MB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_printed_once_a_second() {
        let mut said = 0;
        for (seconds, read, total, expect) in [
            (0, 0, 12_000_000, None),
            (0, 3_000_000, 12_000_000, None),
            (1, 3_000_000, 12_000_000, Some("25% of 12 MB")),
            (1, 6_000_000, 12_000_000, None),
            (3, 11_999_999, 12_000_000, Some("99% of 12 MB")),
            (3, 12_000_000, 12_000_000, None),
            (4, 12_000_000, 12_000_000, Some("100% of 12 MB")),
            (5, 0, 1_999_999, Some("0% of 1 MB")),
            (6, 0, 0, Some("100% of 0 MB")),
        ] {
            let line = progress_line("data", Progress { read, total }, seconds, &mut said);
            let expect = expect.map(|expect| format!("opening data: {expect}"));
            assert_eq!(line, expect, "{read} of {total} after {seconds} seconds");
        }
    }
}
