//! The records of a directory.

use dynatwin_engine::commits::Commit;
use dynatwin_engine::{Clock, ClockAdjustment, Moment};

use crate::flags::{ClockChoice, Flags};

/// The capacity that the buffer of records may keep after a long record.
pub(super) const KEPT_BUFFER: usize = 1024 * 1024;

const SETTINGS: u8 = 1;
const COMMIT: u8 = 2;

/// The form of a clock: an adjustment is only restored into a clock of the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    System,
    Settable,
    Accelerated,
}

impl Form {
    /// Returns the form of the clock that the flags select.
    pub(super) fn of(flags: &Flags) -> Form {
        match (flags.clock, flags.speed) {
            (ClockChoice::System, None) => Form::System,
            (ClockChoice::Settable, _) => Form::Settable,
            _ => Form::Accelerated,
        }
    }
}

pub(super) enum Record {
    Settings(Saved),
    Commit(Box<Commit>),
}

/// The settings that no commit contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) seed: u64,
    pub(super) form: Form,
    pub(super) adjustment: ClockAdjustment,
    pub(super) moment: Moment,
    /// At the start of a snapshot, the sequence number of its last commit; otherwise 0.
    pub(super) commit: u64,
}

impl Record {
    pub(super) fn decode(bytes: &[u8]) -> Result<Record, String> {
        match bytes.split_first() {
            Some((&SETTINGS, bytes)) => {
                let saved = Saved::decode(bytes).ok_or("settings of an unknown form")?;
                Ok(Record::Settings(saved))
            }
            Some((&COMMIT, bytes)) => {
                let commit = Commit::decode(bytes).map_err(|error| error.to_string())?;
                Ok(Record::Commit(Box::new(commit)))
            }
            Some((kind, _)) => Err(format!("a record of the unknown kind {kind}")),
            None => Err("an empty record".into()),
        }
    }
}

/// Appends the part of a commit's record before the commit.
pub(super) fn begin_commit(buffer: &mut Vec<u8>) {
    buffer.push(COMMIT);
}

impl Saved {
    /// Continues a clock of the same form from where it was recorded.
    pub(super) fn restore(&self, clock: &Clock) {
        if self.form == Form::System || self.adjustment.frozen_at.is_some() {
            clock.restore(self.adjustment);
        }
        if self.form != Form::System {
            clock.set(self.moment);
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let frozen_at = self.adjustment.frozen_at.map_or(i64::MIN, Moment::micros);
        let numbers = [self.adjustment.offset, frozen_at, self.moment.micros()];
        let mut bytes = vec![SETTINGS, self.form as u8];
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend_from_slice(&self.commit.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Saved> {
        let (&form, numbers) = bytes.split_first()?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        let &[seed, offset, frozen_at, moment, commit] = numbers else {
            return None;
        };
        let frozen_at = Some(i64::from_le_bytes(frozen_at)).filter(|moment| *moment != i64::MIN);
        let forms = [Form::System, Form::Settable, Form::Accelerated];
        let form = forms.into_iter().find(|known| *known as u8 == form)?;
        rest.is_empty().then_some(Saved {
            seed: u64::from_le_bytes(seed),
            form,
            adjustment: ClockAdjustment {
                offset: i64::from_le_bytes(offset),
                frozen_at: frozen_at.map(Moment::from_micros),
            },
            moment: Moment::from_micros(i64::from_le_bytes(moment)),
            commit: u64::from_le_bytes(commit),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use super::*;

    fn saved(form: Form, frozen_at: Option<Moment>) -> Saved {
        Saved {
            seed: u64::MAX,
            form,
            adjustment: ClockAdjustment { offset: -7, frozen_at },
            moment: Moment::START,
            commit: 1 << 40,
        }
    }

    #[test]
    fn settings_are_decoded_as_they_were_encoded() {
        for form in [Form::System, Form::Settable, Form::Accelerated] {
            for frozen_at in [None, Some(Moment::START)] {
                let bytes = saved(form, frozen_at).encode();
                match Record::decode(&bytes) {
                    Ok(Record::Settings(found)) => assert_eq!(found, saved(form, frozen_at)),
                    _ => panic!("{bytes:?}"),
                }
                for length in 0..bytes.len() {
                    assert!(Record::decode(&bytes[..length]).is_err(), "{length} bytes");
                }
            }
        }
    }

    /// An accelerated clock runs while the directory is opened, so a new process may be ahead of what was recorded.
    #[test]
    fn a_frozen_clock_continues_at_its_moment() {
        let source = Arc::new(AtomicI64::new(0));
        let clock = |form| {
            let source = Arc::clone(&source);
            let time = move || Moment::from_micros(source.load(Ordering::Relaxed));
            match form {
                Form::System => Clock::system(time),
                Form::Settable => Clock::settable(Moment::START),
                Form::Accelerated => Clock::accelerated(time, Moment::START, 3600.0),
            }
        };
        for form in [Form::System, Form::Settable, Form::Accelerated] {
            for (ran, opening) in [(0, 0), (0, 9), (9, 0), (5, 9), (9, 5)] {
                let context = format!("{form:?}, {ran} and {opening} seconds");
                source.store(0, Ordering::Relaxed);
                let before = clock(form);
                source.store(ran * 1_000_000, Ordering::Relaxed);
                before.freeze();
                let saved = Saved {
                    adjustment: before.adjustment(),
                    moment: before.now(),
                    ..saved(form, None)
                };
                let after = clock(form);
                source.store((ran + opening) * 1_000_000, Ordering::Relaxed);
                saved.restore(&after);
                assert_eq!((after.now(), after.is_frozen()), (before.now(), true), "{context}");
                after.unfreeze();
                assert_eq!(after.now(), before.now(), "{context}");
            }
        }
    }

    /// A clock that runs continues from its last moment; that of the system has moved on while no process ran.
    #[test]
    fn a_running_clock_continues_at_its_moment() {
        let day = Duration::from_hours(24);
        let source = Arc::new(AtomicI64::new(0));
        let clock = |form| {
            let source = Arc::clone(&source);
            let time = move || Moment::from_micros(source.load(Ordering::Relaxed));
            match form {
                Form::System => Clock::system(time),
                Form::Settable => Clock::settable(Moment::START),
                Form::Accelerated => Clock::accelerated(time, Moment::START, 10.0),
            }
        };
        for form in [Form::System, Form::Settable, Form::Accelerated] {
            for (ran, ended, opening) in [(0, 0, 0), (5, 0, 0), (0, 9, 0), (5, 9, 0), (5, 9, 1), (1, 0, 9)] {
                let context = format!("{form:?}, {ran}, {ended} and {opening} seconds");
                source.store(0, Ordering::Relaxed);
                let before = clock(form);
                source.store(ran * 1_000_000, Ordering::Relaxed);
                before.advance(day);
                let saved = Saved {
                    adjustment: before.adjustment(),
                    moment: before.now(),
                    ..saved(form, None)
                };
                source.store((ran + ended) * 1_000_000, Ordering::Relaxed);
                let after = clock(form);
                source.store((ran + ended + opening) * 1_000_000, Ordering::Relaxed);
                saved.restore(&after);
                let passed = match form {
                    Form::System => Duration::from_secs((ended + opening) as u64),
                    Form::Settable | Form::Accelerated => Duration::ZERO,
                };
                let expected = (saved.moment.plus(passed), false);
                assert_eq!((after.now(), after.is_frozen()), expected, "{context}");
                source.fetch_add(1_000_000, Ordering::Relaxed);
                let next = match form {
                    Form::System => Duration::from_secs(1),
                    Form::Settable => Duration::ZERO,
                    Form::Accelerated => Duration::from_secs(10),
                };
                assert_eq!(after.now(), expected.0.plus(next), "{context}");
            }
        }
    }

    #[test]
    fn other_records_are_refused() {
        for bytes in [&[][..], &[9, 1, 2], &[SETTINGS; 41], &[COMMIT], &[COMMIT, 255, 255]] {
            assert!(Record::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
