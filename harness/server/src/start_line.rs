//! The line that a server prints once it serves.

use std::time::Duration;

use dynatwin_engine::{Clock, Conditions, Engine, Moment};

use crate::flags::{CONDITIONS, ClockChoice, Flags, Sync};
use crate::server::Server;

/// Returns the line printed at startup: addresses, conditions, seed and storage.
pub fn start_line(flags: &Flags, engine: &Engine, server: &Server) -> String {
    let (seed, conditions) = (engine.seed(), name_of(&engine.conditions()));
    let endpoints: Vec<String> = server
        .addresses()
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    let clock = clock_state(flags, engine.clock());
    let kept = match (&flags.db_path, flags.sync) {
        (None, _) => "Data is in memory and is lost when the server stops.".to_owned(),
        (Some(path), Sync::Second) => format!("Data is stored in {path}, synced every second."),
        (Some(path), Sync::Always) => format!("Data is stored in {path}, synced before each answer."),
    };
    format!(
        "Dynatwin {} listens on {} (conditions {conditions}, seed {seed}, clock {clock}). {kept}",
        env!("CARGO_PKG_VERSION"),
        endpoints.join(" and "),
    )
}

/// Returns the name of the preset that conditions are, except for what flags change in it.
fn name_of(conditions: &Conditions) -> &'static str {
    let is_preset = |name: &&str| {
        Conditions::named(name).is_some_and(|preset| {
            *conditions
                == Conditions {
                    time_to_live: conditions.time_to_live,
                    table_status: conditions.table_status,
                    ..preset
                }
        })
    };
    CONDITIONS.into_iter().find(is_preset).unwrap_or("custom")
}

/// Describes the clock that the flags select, and its adjustment by stored state or earlier requests.
fn clock_state(flags: &Flags, clock: &Clock) -> String {
    let speed = flags
        .speed
        .map_or(String::new(), |speed| format!(" at {speed} times its speed"));
    let adjustment = clock.adjustment();
    let ahead = Duration::from_micros(adjustment.offset.try_into().unwrap_or(0));
    let state = match (flags.clock, flags.speed) {
        _ if clock.is_frozen() => format!(", frozen at {}", clock.now()),
        (ClockChoice::Settable, _) if clock.now() != Moment::START => format!(", at {}", clock.now()),
        (ClockChoice::Settable, _) => String::new(),
        (ClockChoice::System, None) if ahead.as_secs() > 0 => format!(", ahead by {}", rounded(ahead)),
        (ClockChoice::System, None) => String::new(),
        _ if adjustment.offset != 0 => format!(", continued at {}", clock.now()),
        _ => String::new(),
    };
    format!("{}{speed}{state}", flags.clock)
}

/// Returns a duration in the largest unit of which it has at least two.
fn rounded(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2 * length);
    let (length, noun) = unit.unwrap_or((1, "second"));
    counted((seconds / length) as usize, noun)
}

/// Returns a number with its noun: `1 table`, `2 tables`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dynatwin_engine::TimeToLive;

    use super::*;
    use crate::engine::clock;
    use crate::flags::{Invocation, parse};
    use crate::server::{Options, serve};

    /// The state of a clock is printed, not what was asked for.
    #[test]
    fn the_start_line_has_the_state_of_the_clock() {
        type Change = fn(&Clock);
        let start = Moment::parse("2030-01-01T00:00:00Z").unwrap();
        let cases: &[(&[&str], Change, &str)] = &[
            (&[], |_| (), "system"),
            (&[], |clock| clock.advance(Duration::from_millis(999)), "system"),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(1)),
                "system, ahead by 1 second",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(119)),
                "system, ahead by 119 seconds",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_secs(150)),
                "system, ahead by 2 minutes",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_hours(47)),
                "system, ahead by 47 hours",
            ),
            (
                &[],
                |clock| clock.advance(Duration::from_hours(1130 * 24)),
                "system, ahead by 1130 days",
            ),
            (&["--clock", "settable"], |_| (), "settable"),
            (
                &["--clock", "settable"],
                |clock| clock.advance(Duration::from_secs(1)),
                "settable, at 2026-01-01T00:00:01.000Z",
            ),
            (
                &["--clock", "2020-01-01T00:00:00Z"],
                |_| (),
                "from 2020-01-01T00:00:00.000Z",
            ),
            (
                &["--clock", "2020-01-01T00:00:00Z", "--speed", "2"],
                |_| (),
                "from 2020-01-01T00:00:00.000Z at 2 times its speed",
            ),
            (&["--speed", "2"], |_| (), "system at 2 times its speed"),
        ];
        for (words, change, expect) in cases {
            let flags = match parse(words.iter().map(|word| (*word).to_owned()), |_| None) {
                Ok(Invocation::Run(flags)) => flags,
                other => panic!("{words:?}: {other:?}"),
            };
            let clock = clock(&flags);
            change(&clock);
            assert_eq!(clock_state(&flags, &clock), *expect, "{words:?}");
        }
        // A stored moment is later, so the clock continues from there.
        for words in [&["--clock", "2020-01-01T00:00:00Z"][..], &["--speed", "0.000001"]] {
            let words = words.iter().map(|word| (*word).to_owned());
            let Ok(Invocation::Run(flags)) = parse(words, |_| None) else {
                panic!("the flags are known");
            };
            let clock = clock(&flags);
            clock.set(start.plus(Duration::from_hours(876_000)));
            let state = clock_state(&flags, &clock);
            assert!(state.contains(", continued at 21"), "{state}");
        }
        for (words, expected) in [
            (
                &["--clock", "settable"][..],
                "settable, frozen at 2026-01-01T00:00:00.000Z",
            ),
            (
                &["--speed", "2"],
                "system at 2 times its speed, frozen at 2030-01-01T00:00:00.000Z",
            ),
        ] {
            let flags = Flags::of(words);
            let clock = match flags.speed {
                Some(speed) => Clock::accelerated(move || start, start, speed),
                None => clock(&flags),
            };
            clock.freeze();
            assert_eq!(clock_state(&flags, &clock), expected);
        }
        let flags = Flags::default();
        let clock = Clock::system(|| Moment::START);
        clock.freeze();
        assert_eq!(
            clock_state(&flags, &clock),
            "system, frozen at 2026-01-01T00:00:00.000Z"
        );
    }

    /// The unit is the largest of which there are at least two.
    #[test]
    fn durations_are_rounded_down() {
        for (seconds, expected) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (2, "2 seconds"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (179, "2 minutes"),
            (180, "3 minutes"),
            (7199, "119 minutes"),
            (7200, "2 hours"),
            (10_799, "2 hours"),
            (10_800, "3 hours"),
            (172_799, "47 hours"),
            (172_800, "2 days"),
            (259_199, "2 days"),
            (259_200, "3 days"),
        ] {
            assert_eq!(rounded(Duration::from_secs(seconds)), expected, "{seconds}");
        }
        for (number, expected) in [(0, "0 tables"), (1, "1 table"), (2, "2 tables"), (11, "11 tables")] {
            assert_eq!(counted(number, "table"), expected);
        }
    }

    /// The whole line, for each kind of storage and several addresses.
    #[test]
    fn the_line_has_everything_that_a_run_needs() {
        let memory = "Data is in memory and is lost when the server stops.";
        for (words, conditions, clock, kept) in [
            (&[][..], "calm", "system", memory),
            (
                &["--conditions", "storm", "--clock", "settable"],
                "storm",
                "settable",
                memory,
            ),
            (
                &["--db-path", "d"],
                "calm",
                "system",
                "Data is stored in d, synced every second.",
            ),
            (
                &["--db-path", "d", "--sync", "always"],
                "calm",
                "system",
                "Data is stored in d, synced before each answer.",
            ),
        ] {
            let flags = Flags::of(&[&["--seed", "42"], words].concat());
            let engine = Arc::new(crate::engine::engine(&flags));
            let server = serve(Arc::clone(&engine), Options::port(0)).unwrap();
            let addresses: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
            assert_eq!(
                start_line(&flags, &engine, &server),
                format!(
                    "Dynatwin {} listens on http://{} (conditions {conditions}, seed 42, clock {clock}). {kept}",
                    env!("CARGO_PKG_VERSION"),
                    addresses.join(" and http://")
                ),
                "{words:?}"
            );
        }
    }

    #[test]
    fn conditions_have_the_name_of_their_preset() {
        for name in CONDITIONS {
            let preset = Conditions::named(name).unwrap();
            let off = TimeToLive::Off;
            assert_eq!(name_of(&preset), name);
            assert_eq!(
                name_of(&Conditions {
                    time_to_live: off,
                    ..preset
                }),
                name
            );
            // Flags change these two under each preset.
            for table_status in [Conditions::CALM.table_status, Conditions::AWS.table_status] {
                for time_to_live in [preset.time_to_live, off] {
                    let changed = Conditions {
                        time_to_live,
                        table_status,
                        ..preset
                    };
                    assert_eq!(name_of(&changed), name, "{changed:?}");
                }
            }
            assert_eq!(
                name_of(&Conditions {
                    throttles: 0.5,
                    ..preset
                }),
                "custom"
            );
        }
    }
}
