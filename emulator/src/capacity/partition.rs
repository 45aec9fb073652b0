//! A capacity partition: a range of tokens with its own limits.

use std::time::Duration;

use super::bucket::{Bucket, Level};
use super::sample::Sample;
use super::units::Units;
use super::{Direction, KeyCounts};
use crate::clock::Moment;
use crate::conditions::Enforcement;

/// Capacity partitions of a table or index at most.
pub const MOST_PARTITIONS: usize = 1024;

/// A range of tokens: from `start` up to the next partition's.
#[derive(Clone, Debug)]
pub struct CapacityPartition {
    pub start: u64,
    pub bytes: u64,
    sides: [DirectionBuckets; 2],
    sample: Sample,
}

/// The capacity of a partition in one direction.
#[derive(Clone, Debug)]
struct DirectionBuckets {
    /// The partition's own limit.
    limit: Bucket,
    /// Its even share of the table's, where partitions do not lend.
    share: Option<Bucket>,
    /// Since when demand has exceeded it, and when it last did.
    hot: Option<(Moment, Moment)>,
    counts: KeyCounts,
}

/// The maximum that a partition serves.
pub fn limit(rules: &Enforcement, direction: Direction) -> u64 {
    match direction {
        Direction::Read => rules.partition_read,
        Direction::Write => rules.partition_write,
    }
    .max(1)
}

impl CapacityPartition {
    pub fn new(start: u64, rules: &Enforcement, now: Moment) -> CapacityPartition {
        let side = |direction| DirectionBuckets {
            limit: Bucket::new(limit(rules, direction), Duration::ZERO, now),
            share: None,
            hot: None,
            counts: KeyCounts::default(),
        };
        CapacityPartition {
            start,
            bytes: 0,
            sides: Direction::BOTH.map(side),
            sample: Sample::default(),
        }
    }

    /// Splits off the upper part, from `at` up to the token `end`. Both parts keep the level of their buckets.
    /// Bytes are divided in proportion to tokens.
    pub fn split_off(&mut self, at: u64, end: u128) -> CapacityPartition {
        let mut upper = self.clone();
        upper.start = at;
        let (above, all) = (end - u128::from(at), end - u128::from(self.start));
        // A share of 64 bits and a width of 64 bits: their product fits.
        upper.bytes = (u128::from(self.bytes) * above.min(u128::from(u64::MAX)) / all.max(1)) as u64;
        self.bytes -= upper.bytes;
        upper.sample = self.sample.part(|token| token >= at);
        self.sample = self.sample.part(|token| token < at);
        for side in upper.sides.iter_mut().chain(&mut self.sides) {
            side.hot = None;
        }
        upper
            .sides
            .iter_mut()
            .for_each(|side| side.counts = KeyCounts::default());
        upper
    }

    /// Brings the buckets up to date, at the limits of these rules.
    pub fn settle(&mut self, rules: &Enforcement, now: Moment) {
        for (side, direction) in self.sides.iter_mut().zip(Direction::BOTH) {
            side.limit.change(limit(rules, direction), Duration::ZERO, now);
            if let Some(share) = &mut side.share {
                share.settle(now);
            }
        }
    }

    /// Sets its even share, or lets it borrow.
    pub fn share(&mut self, direction: Direction, share: Option<(u64, Duration)>, now: Moment) {
        let side = &mut self.sides[direction.place()];
        match (&mut side.share, share) {
            (Some(bucket), Some((rate, keeps))) => bucket.change(rate, keeps, now),
            (none, Some((rate, keeps))) => *none = Some(Bucket::new(rate, keeps, now)),
            (bucket, None) => *bucket = None,
        }
    }

    /// The buckets that a request spends from.
    pub fn buckets(&mut self, direction: Direction) -> impl Iterator<Item = &mut Bucket> {
        let side = &mut self.sides[direction.place()];
        side.share.iter_mut().chain(std::iter::once(&mut side.limit))
    }

    /// How full the bucket is that has the least left.
    pub fn level(&self, direction: Direction) -> Level {
        let side = &self.sides[direction.place()];
        let limit = side.limit.level();
        let share = side.share.as_ref().map(Bucket::level);
        share.filter(|share| share.left < limit.left).unwrap_or(limit)
    }

    /// Counts the cost of a key of the partition.
    pub fn note(&mut self, direction: Direction, token: u64, units: Units) {
        self.sample.note(token, units);
        self.sides[direction.place()].counts.units += units;
    }

    /// Counts a throttled request; returns since when there have been such requests without a pause longer than
    /// `cools`.
    pub fn refuse(&mut self, direction: Direction, token: u64, units: Units, cools: Duration, now: Moment) -> Moment {
        self.sample.note(token, units);
        let side = &mut self.sides[direction.place()];
        side.counts.throttles += 1;
        let since = side.hot.filter(|(_, last)| last.plus(cools) >= now);
        let since = since.map_or(now, |(since, _)| since);
        side.hot = Some((since, now));
        since
    }

    /// The token that divides its heat best.
    pub fn hot_token(&self) -> Option<u64> {
        self.sample.split()
    }

    /// The units served and refused.
    pub fn counts(&self, direction: Direction) -> KeyCounts {
        self.sides[direction.place()].counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: f64) -> Moment {
        Moment::START.plus(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn a_split_divides_what_is_there() {
        let mut lower = CapacityPartition::new(0, &Enforcement::AWS, Moment::START);
        lower.bytes = 9;
        lower.refuse(
            Direction::Write,
            70,
            Units::whole(1),
            Duration::from_mins(1),
            Moment::START,
        );
        for (token, units) in [(10, 2), (20, 3), (70, 4), (80, 5)] {
            lower.note(Direction::Write, token, Units::whole(units));
        }
        let mut upper = lower.split_off(70, 140);
        assert_eq!((lower.start, upper.start, lower.bytes, upper.bytes), (0, 70, 5, 4));
        assert_eq!((lower.hot_token(), upper.hot_token()), (Some(20), Some(80)));
        // The counts so far stay with the lower part.
        assert_eq!(lower.counts(Direction::Write).units, Units::whole(14));
        assert_eq!(upper.counts(Direction::Write), KeyCounts::default());
        // Both have cooled.
        for part in [&mut lower, &mut upper] {
            let since = part.refuse(
                Direction::Write,
                70,
                Units::whole(1),
                Duration::from_mins(1),
                after(1.0),
            );
            assert_eq!(since, after(1.0));
        }
    }

    /// Each part gets the bytes of its share of the tokens.
    #[test]
    fn a_split_divides_bytes_by_tokens() {
        let last = 1_u128 << 64;
        for (start, at, end, expect) in [
            (0, 70, 140, (50, 50)),
            (0, 70, 100, (70, 30)),
            (0, 10, 100, (10, 90)),
            (0, 1, 1000, (1, 99)),
            (0, 999, 1000, (100, 0)),
            (50, 60, 100, (20, 80)),
            (0, 1 << 62, last, (25, 75)),
            (1 << 63, 7 << 61, last, (75, 25)),
        ] {
            let mut lower = CapacityPartition::new(start, &Enforcement::AWS, Moment::START);
            lower.bytes = 100;
            let upper = lower.split_off(at, end);
            assert_eq!((lower.bytes, upper.bytes), expect, "{start} {at} {end}");
            assert_eq!((lower.start, upper.start), (start, at));
        }
    }

    #[test]
    fn heat_lasts_until_a_pause() {
        let mut partition = CapacityPartition::new(0, &Enforcement::AWS, Moment::START);
        for (moment, since) in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.1, 3.1), (4.0, 3.1)] {
            let units = Units::whole(1);
            let hot = partition.refuse(Direction::Read, 1, units, Duration::from_secs(1), after(moment));
            assert_eq!(hot, after(since), "{moment}");
        }
        assert_eq!(partition.counts(Direction::Read).throttles, 5);
        assert_eq!(partition.counts(Direction::Write).throttles, 0);
    }

    #[test]
    fn a_share_comes_and_goes() {
        let mut partition = CapacityPartition::new(0, &Enforcement::AWS, Moment::START);
        let rates = |partition: &mut CapacityPartition| {
            partition
                .buckets(Direction::Write)
                .map(|it| it.rate())
                .collect::<Vec<_>>()
        };
        assert_eq!(rates(&mut partition), [1000]);
        partition.share(Direction::Write, Some((50, Duration::ZERO)), Moment::START);
        assert_eq!(rates(&mut partition), [50, 1000]);
        partition.share(Direction::Write, Some((60, Duration::ZERO)), Moment::START);
        assert_eq!(rates(&mut partition), [60, 1000]);
        assert_eq!(partition.buckets(Direction::Read).count(), 1);
        partition
            .buckets(Direction::Write)
            .for_each(|bucket| bucket.spend(Units::whole(50)));
        let rules = Enforcement {
            partition_write: 10,
            ..Enforcement::AWS
        };
        partition.settle(&rules, after(0.5));
        let left: Vec<Units> = partition.buckets(Direction::Write).map(|it| it.left()).collect();
        assert_eq!(left, [Units::whole(30), Units::whole(10)]);
        partition.share(Direction::Write, None, after(1.0));
        assert_eq!(rates(&mut partition), [10]);
    }
}
