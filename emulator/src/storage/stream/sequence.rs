//! Sequence numbers of a stream's records, and ids of its shards.

use std::fmt;

use crate::chance;
use crate::clock::Moment;
use crate::sync::{AtomicI64, AtomicU64, Ordering};

/// The offset of ordinals, so that every number has 21 digits.
const BASE: u128 = 100_000_000_000_000_000_000;
/// The upper bound of a stream's first ordinal.
const FIRST: u64 = 10_000_000_000;

/// A sequence number, which increases from record to record of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(u64);

/// A text that is not a sequence number of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASequence;

impl Sequence {
    /// The number without its offset.
    pub const fn ordinal(self) -> u64 {
        self.0
    }

    /// The number of an ordinal.
    pub const fn of(ordinal: u64) -> Sequence {
        Sequence(ordinal)
    }

    /// The number after this one.
    pub const fn next(self) -> Sequence {
        Sequence(self.0.saturating_add(1))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (BASE + u128::from(self.0)).fmt(formatter)
    }
}

impl std::str::FromStr for Sequence {
    type Err = NotASequence;

    fn from_str(text: &str) -> Result<Sequence, NotASequence> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u128>().ok().filter(|_| digits).ok_or(NotASequence)?;
        let ordinal = number.checked_sub(BASE).ok_or(NotASequence)?;
        u64::try_from(ordinal).map(Sequence).map_err(|_| NotASequence)
    }
}

/// The generator of a stream's numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    seed: u64,
    sequence: AtomicU64,
    /// The number at the start of the latest shard's id: milliseconds since the epoch, or later.
    shard: AtomicI64,
}

impl Numbers {
    pub(super) fn new(seed: u64) -> Numbers {
        Numbers {
            seed,
            sequence: AtomicU64::new(chance::decide(seed, "sequence", &[], 0) % FIRST),
            shard: AtomicI64::new(0),
        }
    }

    /// The next numbers: of a record, and of a shard.
    pub(super) fn save(&self) -> (u64, i64) {
        (
            self.sequence.load(Ordering::Relaxed),
            self.shard.load(Ordering::Relaxed),
        )
    }

    pub(super) fn restored(seed: u64, (sequence, shard): (u64, i64)) -> Numbers {
        Numbers {
            seed,
            sequence: AtomicU64::new(sequence),
            shard: AtomicI64::new(shard),
        }
    }

    /// The next sequence number. The caller holds the lock of its lineage, so numbers increase along a lineage.
    pub(super) fn sequence(&self) -> Sequence {
        Sequence(self.sequence.fetch_add(1, Ordering::Relaxed))
    }

    /// The id of a new shard, as `shardId-00000001795235021435-6daee84b`.
    pub(super) fn shard_id(&self, now: Moment) -> String {
        let millis = now.micros().div_euclid(1000).max(0);
        let after = |last: i64| last.saturating_add(1).max(millis);
        let last = self
            .shard
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last)));
        let number = after(last.unwrap_or_else(|last| last));
        let decision = chance::decide(self.seed, "shard", &[], number as u64);
        format!("shardId-{number:020}-{:08x}", decision >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_is_parsed_and_printed() {
        let number: Sequence = "100000000003218256368".parse().unwrap();
        assert_eq!(number.to_string(), "100000000003218256368");
        for (text, ordinal) in [
            ("100000000000000000000", Some(0)),
            ("100000000003218256368", Some(3_218_256_368)),
            ("118446744073709551615", Some(u64::MAX)),
            ("118446744073709551616", None),
            ("99999999999999999999", None),
            ("3218256368", None),
            ("+100000000003218256368", None),
            ("-100000000003218256368", None),
            ("100000000003218256368 ", None),
            ("1e20", None),
            ("", None),
            ("0", None),
            ("9999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(text.parse().ok(), ordinal.map(Sequence), "{text}");
        }
        assert_eq!(Sequence(5).next(), Sequence(6));
        assert_eq!(Sequence(u64::MAX).next(), Sequence(u64::MAX));
    }
}
