//! Creates an engine from the flags.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use dynatwin_engine::{Allowed, Clock, Conditions, Engine, Moment, Settings, TimeToLive};
use dynatwin_files::Buckets;

use crate::access::signing_keys;
use crate::flags::{ClockChoice, Flags};
use crate::free::Freeing;

/// Returns the current moment of the system's clock.
pub fn system_time() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Moment::from_seconds(0).plus(since.unwrap_or_default())
}

/// Returns the engine's settings. Without `--seed` the seed is random, and [`start_line`](crate::start_line) prints it.
pub fn settings(flags: &Flags) -> Settings {
    Settings {
        clock: clock(flags),
        seed: flags
            .seed
            .unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32),
        conditions: conditions(flags, &Conditions::default()),
        shared_db: flags.shared_db,
    }
}

/// Returns which controls the engine allows.
fn allowed(flags: &Flags) -> Allowed {
    if flags.no_control {
        Allowed::ReadOnly
    } else {
        Allowed::All
    }
}

/// Creates the engine with its object store and allowed controls.
pub fn engine(flags: &Flags) -> Engine {
    engine_with_seed(flags, None)
}

/// Creates the engine; `stored` is the stored seed, which the flags override.
pub(crate) fn engine_with_seed(flags: &Flags, stored: Option<u64>) -> Engine {
    let settings = settings(flags);
    let seed = flags.seed.or(stored).unwrap_or(settings.seed);
    let engine = Engine::new(Settings { seed, ..settings })
        .allowing(allowed(flags))
        .with_health_check(flags.health_check())
        .with_reclaimer(Arc::new(Freeing::start()));
    let engine = match signing_keys(flags, |name| std::env::var(name).ok()) {
        Ok(Some(key)) => engine.verifying_signatures([key]),
        _ => engine,
    };
    match &flags.s3_dir {
        Some(folder) => engine.with_object_store(Arc::new(Buckets::at(folder))),
        None => engine,
    }
}

pub(crate) fn clock(flags: &Flags) -> Clock {
    match (flags.clock, flags.speed) {
        (ClockChoice::System, None) => Clock::system(system_time),
        (ClockChoice::System, Some(speed)) => Clock::accelerated(system_time, system_time(), speed),
        (ClockChoice::From(start), speed) => Clock::accelerated(system_time, start, speed.unwrap_or(1.0)),
        (ClockChoice::Settable, _) => Clock::settable(Moment::START),
    }
}

/// Returns the conditions: the stored ones, as far as no flag replaces them.
pub(crate) fn conditions(flags: &Flags, stored: &Conditions) -> Conditions {
    let preset = flags.conditions.and_then(Conditions::named);
    let mut conditions = preset.unwrap_or(*stored);
    match flags.delay_transient_statuses {
        Some(true) if conditions.table_status.is_none() => conditions.table_status = Conditions::AWS.table_status,
        Some(false) if preset.is_none() => conditions.table_status = Conditions::CALM.table_status,
        _ => {}
    }
    match (flags.ttl, conditions.time_to_live) {
        (Some(false), _) => conditions.time_to_live = TimeToLive::Off,
        (Some(true), TimeToLive::Off) => conditions.time_to_live = Conditions::CALM.time_to_live,
        _ => {}
    }
    conditions
}

/// Returns a warning if the path of `--s3-dir` is not a folder. It may still be created while the server runs.
pub(crate) fn s3_dir_warning(flags: &Flags) -> Option<String> {
    let folder = flags.s3_dir.as_ref()?;
    let problem = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!(
        "--s3-dir {folder}: {problem}; until it is a directory, no bucket exists"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynatwin_engine::Lag;

    use super::*;
    use crate::flags::{Invocation, parse};

    fn given(words: &[&str]) -> Settings {
        settings(&Flags::of(words))
    }

    #[test]
    fn flags_become_settings() {
        assert_eq!(given(&[]).conditions, Conditions::CALM);
        assert_eq!(given(&["--conditions", "storm"]).conditions, Conditions::STORM);
        let delayed = given(&["-delayTransientStatuses"]).conditions;
        assert_eq!(delayed.table_status, Conditions::AWS.table_status);
        assert_eq!(delayed.time_to_live, Conditions::CALM.time_to_live);
        let kept = given(&["-delayTransientStatuses", "--conditions", "storm"]).conditions;
        assert_eq!(kept.table_status, Conditions::STORM.table_status);
        assert_eq!(
            given(&["--conditions=aws", "--ttl", "off"]).conditions.time_to_live,
            TimeToLive::Off
        );
        assert_eq!(given(&["--seed", "7"]).seed, 7);
        assert!(given(&["-sharedDb"]).shared_db);
    }

    #[test]
    fn flags_replace_stored_conditions() {
        let late = TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48)));
        let stored = Conditions {
            time_to_live: late,
            ..Conditions::STORM
        };
        let off = |conditions| Conditions {
            time_to_live: TimeToLive::Off,
            ..conditions
        };
        let deletes = |conditions| Conditions {
            time_to_live: Conditions::CALM.time_to_live,
            ..conditions
        };
        let status = |table_status, conditions| Conditions {
            table_status,
            ..conditions
        };
        let [calm, aws] = [Conditions::CALM, Conditions::AWS].map(|conditions| conditions.table_status);
        for (words, stored, expect) in vec![
            (&[][..], stored, stored),
            (&["--conditions", "calm"], stored, Conditions::CALM),
            (&["--conditions", "aws"], off(stored), Conditions::AWS),
            (&["--ttl", "off"], stored, off(stored)),
            (&["--ttl", "on"], stored, stored),
            (&["--ttl", "on"], off(Conditions::CALM), Conditions::CALM),
            // Only the deletion is replaced.
            (&["--ttl", "on"], off(stored), deletes(Conditions::STORM)),
            (&["--ttl", "on"], off(Conditions::AWS), deletes(Conditions::AWS)),
            (
                &["--ttl", "on", "--delay-transient-statuses=off"],
                off(Conditions::AWS),
                status(calm, deletes(Conditions::AWS)),
            ),
            (&["--ttl", "on", "--conditions", "aws"], off(stored), Conditions::AWS),
            (&["--delay-transient-statuses"], stored, stored),
            (
                &["--delay-transient-statuses"],
                Conditions::CALM,
                status(aws, Conditions::CALM),
            ),
            (&["--delay-transient-statuses=off"], stored, status(calm, stored)),
            (
                &["--delay-transient-statuses=off", "--conditions", "aws"],
                stored,
                Conditions::AWS,
            ),
        ] {
            let found = parse(words.iter().map(|word| (*word).to_owned()), |_| None);
            let Ok(Invocation::Run(flags)) = found else {
                panic!("{words:?}: {found:?}");
            };
            assert_eq!(conditions(&flags, &stored), expect, "{words:?}");
        }
    }

    #[test]
    fn clocks() {
        assert!((given(&[]).clock.speed().unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(given(&["--clock", "settable"]).clock.now(), Moment::START);
        let fast = given(&["--clock", "2030-01-01T00:00:00Z", "--speed", "3600"]).clock;
        assert_eq!(fast.speed(), Some(3600.0));
        assert!(fast.now() >= Moment::parse("2030-01-01T00:00:00Z").unwrap());
        let started = given(&["--clock", "2030-01-01T00:00:00Z"]).clock;
        assert_eq!(started.speed(), Some(1.0));
        let fast = given(&["--speed", "60"]).clock;
        assert_eq!(fast.speed(), Some(60.0));
        assert!(fast.now() >= system_time().minus(Duration::from_hours(1)));
    }

    /// Each flag that changes the conditions, under each preset.
    #[test]
    fn conditions_of_flags() {
        for (name, preset) in [
            ("calm", Conditions::CALM),
            ("aws", Conditions::AWS),
            ("storm", Conditions::STORM),
        ] {
            let delayed = if name == "calm" {
                Conditions::AWS.table_status
            } else {
                preset.table_status
            };
            for (words, expected) in [
                (&[][..], preset),
                (&["--ttl", "on"], preset),
                (
                    &["--ttl", "off"],
                    Conditions {
                        time_to_live: TimeToLive::Off,
                        ..preset
                    },
                ),
                (
                    &["-delayTransientStatuses"],
                    Conditions {
                        table_status: delayed,
                        ..preset
                    },
                ),
                (&["-delayTransientStatuses=off"], preset),
                (
                    &["-delayTransientStatuses", "--ttl=off"],
                    Conditions {
                        table_status: delayed,
                        time_to_live: TimeToLive::Off,
                        ..preset
                    },
                ),
            ] {
                let words = [&["--conditions", name], words].concat();
                assert_eq!(given(&words).conditions, expected, "{words:?}");
            }
        }
        for (words, expected) in [
            (&[][..], false),
            (&["--shared-db"], true),
            (&["--shared-db=off"], false),
        ] {
            assert_eq!(given(words).shared_db, expected, "{words:?}");
        }
        for (words, is_read_only) in [
            (&[][..], false),
            (&["--no-control"], true),
            (&["--no-control=no"], false),
        ] {
            assert_eq!(
                matches!(allowed(&Flags::of(words)), Allowed::ReadOnly),
                is_read_only,
                "{words:?}"
            );
        }
    }

    /// The seed is that of the flag, otherwise the stored one, otherwise a random one.
    #[test]
    fn seeds() {
        for (words, stored, expected) in [
            (&["--seed", "7"][..], None, Some(7)),
            (&["--seed", "7"], Some(8), Some(7)),
            (&["--seed", "0"], Some(8), Some(0)),
            (&[], Some(8), Some(8)),
            (&[], Some(0), Some(0)),
            (&[], None, None),
        ] {
            let found = engine_with_seed(&Flags::of(words), stored).seed();
            match expected {
                Some(expected) => assert_eq!(found, expected, "{words:?}, {stored:?}"),
                None => assert!(u32::try_from(found).is_ok(), "{found}"),
            }
        }
    }

    /// A path that is not a folder of buckets is reported, whatever it is instead.
    #[test]
    fn folders_of_buckets() {
        let folder = std::env::temp_dir().join(format!("dynatwin-s3-dir-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        let missing = folder.join("missing");
        for (path, problem) in [
            (&folder, None),
            (&file, Some("it is not a directory")),
            (&missing, Some("No such file or directory (os error 2)")),
        ] {
            let path = path.to_str().unwrap();
            let expected =
                problem.map(|problem| format!("--s3-dir {path}: {problem}; until it is a directory, no bucket exists"));
            assert_eq!(s3_dir_warning(&Flags::of(&["--s3-dir", path])), expected);
        }
        assert_eq!(s3_dir_warning(&Flags::of(&[])), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
