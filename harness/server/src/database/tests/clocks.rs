//! The clock of a directory: what a restart continues from, whatever happened before.

use std::time::Duration;

use dynatwin_engine::Moment;
use dynatwin_engine::http::HttpRequest;
use dynatwin_store::sim::{Fault, SimDisk};

use super::{Database, open_on, put, request, scan, table};
use crate::backend::Backend;
use crate::engine::system_time;
use crate::flags::{Flags, Invocation, parse};

/// A step of a process.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Advances the clock by hours.
    Advance(u64),
    Freeze,
    Unfreeze,
    /// Resets the data.
    Reset,
    /// Resets everything, also the clock.
    ResetAll,
    Create,
    Put,
    Snapshot,
    /// Ends the process, after it has closed the directory, and starts the next.
    Close,
    /// Ends the process, which does not close the directory, and starts the next.
    Kill,
}

use Step::{Advance, Close, Create, Freeze, Kill, Put, Reset, ResetAll, Snapshot, Unfreeze};

fn flags(words: &[&str]) -> Flags {
    match parse(words.iter().map(ToString::to_string), |_| None) {
        Ok(Invocation::Run(flags)) => *flags,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn control(database: &Database, target: &str, body: &str) {
    let answer = database.handle(&HttpRequest {
        method: "POST",
        target,
        headers: &[("host", "localhost"), ("content-type", "application/json")],
        body: body.as_bytes(),
    });
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{target} {body}: {text}");
}

/// A process, its disk, and the words of its command line.
struct Process<'w> {
    database: Database,
    disk: SimDisk,
    words: &'w [&'w str],
}

impl<'w> Process<'w> {
    fn start(words: &'w [&'w str], disk: SimDisk) -> Process<'w> {
        let (database, _) = open_on(&flags(words), "sim", disk.clone()).unwrap();
        Process { database, disk, words }
    }

    fn take(self, step: Step) -> Process<'w> {
        let database = &self.database;
        match step {
            Advance(hours) => {
                let body = format!(r#"{{"seconds": {}}}"#, hours * 3600);
                control(database, "/_dynatwin/clock/advance", &body);
            }
            Freeze => control(database, "/_dynatwin/clock/freeze", ""),
            Unfreeze => control(database, "/_dynatwin/clock/unfreeze", ""),
            Reset => control(database, "/_dynatwin/reset", ""),
            ResetAll => control(database, "/_dynatwin/reset", r#"{"all": true}"#),
            Create => drop(request(database, false, "CreateTable", &table()).unwrap()),
            Put => drop(request(database, false, "PutItem", &put("a", 1)).unwrap()),
            Snapshot => database.log.take_snapshot(&database.engine).unwrap(),
            Close | Kill => {
                if matches!(step, Close) {
                    database.close();
                }
                let (words, disk) = (self.words, self.disk.after_kill());
                drop(self);
                return Process::start(words, disk);
            }
        }
        self
    }

    fn state(&self) -> (Moment, bool, bool) {
        let clock = self.database.clock();
        (clock.now(), clock.is_frozen(), scan(&self.database, None).is_some())
    }
}

/// Histories, and the hours after its start at which a settable clock then is, whether it is frozen, and whether there is
/// a table.
const HISTORIES: &[(&[Step], u64, bool, bool)] = &[
    (&[], 0, false, false),
    (&[Advance(240)], 240, false, false),
    (&[Create, Advance(240)], 240, false, true),
    (&[Advance(240), Create], 240, false, true),
    (&[Advance(240), Advance(1)], 241, false, false),
    (&[Advance(240), Freeze], 240, true, false),
    (&[Freeze, Advance(240)], 240, true, false),
    (&[Freeze, Advance(240), Unfreeze], 240, false, false),
    (&[Create, Advance(240), Reset], 240, false, false),
    (&[Advance(240), ResetAll], 0, false, false),
    (&[Create, Advance(240), ResetAll], 0, false, false),
    (&[Create, Advance(240), Put, ResetAll], 0, false, false),
    (&[Advance(240), Freeze, ResetAll], 0, false, false),
    (&[Create, Advance(240), Put, ResetAll, Create, Put], 0, false, true),
    (&[Create, Advance(240), Put, ResetAll, Advance(24)], 24, false, false),
    (&[Advance(240), ResetAll, Advance(24), Create], 24, false, true),
    (&[Advance(240), ResetAll, Freeze], 0, true, false),
    (&[Advance(240), ResetAll, Advance(240), ResetAll], 0, false, false),
    (&[Create, Advance(240), Put, Snapshot], 240, false, true),
    (&[Create, Advance(240), Put, Snapshot, Advance(1)], 241, false, true),
    (&[Create, Advance(240), Put, Snapshot, ResetAll], 0, false, false),
    (&[Create, Advance(240), Put, ResetAll, Snapshot], 0, false, false),
    (
        &[Create, Advance(240), Put, ResetAll, Snapshot, Create, Put],
        0,
        false,
        true,
    ),
    (&[Create, Advance(240), Put, Close, ResetAll], 0, false, false),
    (&[Create, Advance(240), Put, Kill, ResetAll], 0, false, false),
    (&[Advance(240), ResetAll, Close, Advance(24), Create], 24, false, true),
    (&[Advance(240), ResetAll, Kill, Advance(24), Create], 24, false, true),
    (&[Advance(240), Close, Advance(1), Kill, Advance(1)], 242, false, false),
];

/// A settable clock is where it was when the process ended, however it ended, also once it has been set back by a reset of
/// everything.
#[test]
fn a_settable_clock_stands_where_it_stood() {
    let words = ["--clock", "settable", "--seed", "5"];
    for (steps, hours, is_frozen, has_table) in HISTORIES {
        for ends in [
            &[Close][..],
            &[Kill],
            &[Close, Close],
            &[Kill, Kill],
            &[Close, Kill],
            &[Kill, Close],
        ] {
            let context = format!("{steps:?}, then {ends:?}");
            let process = Process::start(&words, SimDisk::new());
            let process = steps.iter().fold(process, |process, step| process.take(*step));
            let expected = (Moment::START.plus(Duration::from_hours(*hours)), *is_frozen, *has_table);
            assert_eq!(process.state(), expected, "{context}, before");
            let process = ends.iter().fold(process, |process, step| process.take(*step));
            assert_eq!(process.state(), expected, "{context}");
        }
    }
}

/// A clock that runs has moved by what it was advanced by, and by no more than the time since its start, across a restart
/// too. A reset of everything takes the advances back.
#[test]
fn a_running_clock_continues_where_it_was() {
    for start in [None, Some("2026-02-03T00:00:00Z"), Some("2090-02-03T00:00:00Z")] {
        let words: Vec<&str> = start.into_iter().flat_map(|start| ["--clock", start]).collect();
        for (steps, hours, is_frozen, has_table) in HISTORIES {
            for end in [Close, Kill] {
                let context = format!("{words:?}: {steps:?}, then {end:?}");
                let since = system_time();
                let start = start.map_or(since, |start| Moment::parse(start).unwrap());
                let process = Process::start(&words, SimDisk::new());
                let process = steps.iter().fold(process, |process, step| process.take(*step));
                let before = process.state();
                let process = process.take(end);
                let (now, frozen, table) = process.state();
                assert_eq!((frozen, table), (*is_frozen, *has_table), "{context}");
                if frozen {
                    assert_eq!(now, before.0, "{context}");
                }
                let moved = Duration::from_hours(*hours);
                let earliest = start.plus(moved);
                let latest = earliest.plus(system_time().since(since));
                assert!(
                    earliest <= now && now <= latest,
                    "{context}: {now}, not from {earliest} to {latest}"
                );
            }
        }
    }
}

/// An adjustment of the clock that could not be stored is stored by the next request, whatever that is.
#[test]
fn an_adjustment_that_could_not_be_stored_is_stored_by_the_next_request() {
    for words in [&["--clock", "settable", "--seed", "5"][..], &["--seed", "5"]] {
        for (step, hours, is_frozen) in [(Advance(240), 240, false), (Freeze, 0, true)] {
            let process = Process::start(words, SimDisk::new());
            let start = process.database.clock().now();
            let process = process.take(Create);
            process.disk.fail_at(process.disk.operations() + 1, Fault::Error);
            let process = process.take(step);
            let answer = process.database.handle(&HttpRequest {
                method: "GET",
                target: "/_dynatwin/clock",
                headers: &[("host", "localhost")],
                body: b"",
            });
            assert_eq!(answer.status, 200, "{words:?}, {step:?}");
            let (now, frozen, has_table) = process.take(Kill).state();
            assert_eq!((frozen, has_table), (is_frozen, true), "{words:?}, {step:?}");
            let earliest = start.plus(Duration::from_hours(hours));
            assert!(now >= earliest, "{words:?}, {step:?}: {now} before {earliest}");
        }
    }
}

/// A clock that starts at another moment than that of the last process is at the later one of its start and the last
/// moment: what the last process was advanced by is not added to a later start.
#[test]
fn a_clock_with_another_start_is_at_the_later_moment() {
    for (first, second, expected) in [
        ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"),
        ("2030-01-01T00:00:00Z", "2030-01-01T12:00:00Z", "2030-01-02T00:00:00Z"),
        ("2030-01-01T00:00:00Z", "2030-01-03T00:00:00Z", "2030-01-03T00:00:00Z"),
        ("2030-01-01T00:00:00Z", "2040-01-01T00:00:00Z", "2040-01-01T00:00:00Z"),
        ("2040-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "2040-01-02T00:00:00Z"),
    ] {
        for steps in [&[Advance(24)][..], &[Create, Advance(24)], &[Advance(24), Create, Put]] {
            for closes in [true, false] {
                let context = format!("{first}, then {second}: {steps:?}, closed {closes}");
                let since = system_time();
                let words = ["--clock", first];
                let process = Process::start(&words, SimDisk::new());
                let process = steps.iter().fold(process, |process, step| process.take(*step));
                if closes {
                    process.database.close();
                }
                let disk = process.disk.after_kill();
                drop(process);
                let words = ["--clock", second];
                let (now, is_frozen, _) = Process::start(&words, disk).state();
                assert!(!is_frozen, "{context}");
                let earliest = Moment::parse(expected).unwrap();
                let latest = earliest.plus(system_time().since(since));
                assert!(
                    earliest <= now && now <= latest,
                    "{context}: {now}, not from {earliest} to {latest}"
                );
            }
        }
    }
}
