//! The throughput that an on-demand table or index serves: twice its previous peak, and how it grows.

use std::time::Duration;

use super::units::Units;
use crate::clock::Moment;

/// The units served each second now, and those that they are growing to.
///
/// "Up to twice the previous peak at once; more than double within 30 minutes may throttle" (Developer Guide). A new peak
/// begins to raise what is served, evenly over that time, to twice that peak; a later peak counts when this is done. So
/// what is served at most doubles in that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDemandGrowth {
    from: u64,
    to: u64,
    since: Moment,
    takes: Duration,
    /// The second that is being counted, its units, and the end of the last second with any units.
    second: i64,
    spent: Units,
    counted: Moment,
    /// The most that a second has seen since the last growth began, in units.
    peak: u64,
}

impl OnDemandGrowth {
    /// Serves this much at first; no peak was higher than half of it.
    pub fn new(serves: u64, now: Moment) -> OnDemandGrowth {
        OnDemandGrowth {
            from: serves,
            to: serves,
            since: now,
            takes: Duration::ZERO,
            second: now.seconds(),
            spent: Units::ZERO,
            counted: now,
            peak: 0,
        }
    }

    /// Units a second that are served now.
    pub fn rate(&self, now: Moment) -> u64 {
        let gone = now.since(self.since);
        if gone >= self.takes {
            return self.to;
        }
        let grown = u128::from(self.to - self.from) * gone.as_micros() / self.takes.as_micros().max(1);
        self.from + u64::try_from(grown).unwrap_or(u64::MAX)
    }

    /// Serves at least this much from now on: the table was warmed.
    pub fn raise(&mut self, serves: u64, now: Moment) {
        if serves > self.rate(now) {
            let ends = self.since.plus(self.takes);
            self.to = self.to.max(serves);
            self.from = serves;
            self.since = self.since.max(now);
            // Growth beyond the warm throughput ends when it would have ended anyway.
            self.takes = if self.to == serves {
                Duration::ZERO
            } else {
                ends.since(self.since)
            };
        }
    }

    /// Counts units that are spent in the second of `now`.
    pub fn note(&mut self, units: Units) {
        self.spent += units;
    }

    /// Ends the seconds that are over by `now`, and starts to grow if their peak was higher. Growth takes the duration
    /// `takes`, and ends at `quota`.
    pub fn settle(&mut self, takes: Duration, quota: u64, now: Moment) {
        if now.seconds() > self.second {
            self.end_second();
            self.second = now.seconds();
        }
        let to = (self.peak * 2).min(quota);
        let begins = self.since.plus(self.takes).max(self.counted);
        if to > self.to && begins <= now {
            self.from = self.to;
            self.to = to;
            self.since = begins;
            self.takes = takes;
            self.peak = 0;
        }
    }

    fn end_second(&mut self) {
        if self.spent.is_zero() {
            return;
        }
        self.counted = Moment::from_seconds(self.second + 1);
        // A second can also spend units left over from the one before; that does not count as a peak.
        let spent = self.spent.in_halves() / 2;
        self.peak = self.peak.max(spent.min(self.rate(self.counted)));
        self.spent = Units::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKES: Duration = Duration::from_mins(30);
    const QUOTA: u64 = 40_000;

    /// Spends these units at each of these seconds, and returns the units that are served at the end.
    fn served(spends: &[(u64, u64)], end: u64) -> u64 {
        let at = |second: u64| Moment::START.plus(Duration::from_secs(second));
        let mut growth = OnDemandGrowth::new(4000, Moment::START);
        for (second, units) in spends {
            growth.settle(TAKES, QUOTA, at(*second));
            growth.note(Units::whole(*units));
        }
        growth.settle(TAKES, QUOTA, at(end));
        growth.rate(at(end))
    }

    #[test]
    fn what_is_served() {
        for (spends, end, expect) in [
            (&[][..], 9000, 4000),
            // Half of the served units is the peak that they were derived from.
            (&[(0, 2000)], 9000, 4000),
            // After half an hour, a peak of 3,000 raises it to 6,000.
            (&[(0, 3000)], 0, 4000),
            (&[(0, 3000)], 1, 4000),
            (&[(0, 3000)], 901, 5000),
            (&[(0, 3000)], 1801, 6000),
            (&[(0, 3000)], 9000, 6000),
            // Two requests of one second are one peak.
            (&[(0, 1500), (0, 1500)], 1801, 6000),
            // What is spent while it grows counts when it has grown.
            (&[(0, 4000), (1, 4000), (2, 4000)], 1801, 8000),
            (&[(0, 4000), (901, 6000)], 1000, 6220),
            (&[(0, 4000), (901, 6000)], 1801, 8000),
            (&[(0, 4000), (901, 6000)], 2701, 10_000),
            (&[(0, 4000), (901, 6000)], 3601, 12_000),
            // A growth begins at the end of its peak's second, and does not take the next second's peak.
            (&[(0, 3000), (1, 4000)], 1801, 6000),
            (&[(0, 3000), (1, 4000)], 1802, 6001),
            (&[(0, 3000), (1, 4000)], 3601, 8000),
            // Seconds without requests do not delay it.
            (&[(0, 3000), (100, 0), (1700, 0)], 1801, 6000),
            (&[(0, 3000), (5, 3500), (1700, 0)], 3601, 7000),
            (&[(0, 3000), (5, 3500), (1700, 0)], 2701, 6500),
            // A lower peak does not delay the next one.
            (&[(0, 2000), (10, 3000)], 1811, 6000),
            // More than the rate in one second does not raise the peak.
            (&[(0, 9000)], 1801, 8000),
        ] {
            assert_eq!(served(spends, end), expect, "{spends:?} {end}");
        }
    }

    #[test]
    fn growth_ends_at_the_quota() {
        let mut growth = OnDemandGrowth::new(30_000, Moment::START);
        growth.note(Units::whole(30_000));
        let later = Moment::START.plus(TAKES * 2);
        growth.settle(TAKES, QUOTA, later);
        assert_eq!(growth.rate(later), QUOTA);
    }

    #[test]
    fn warmth_raises_at_once() {
        let mut growth = OnDemandGrowth::new(4000, Moment::START);
        growth.raise(3000, Moment::START);
        assert_eq!(growth.rate(Moment::START), 4000);
        growth.raise(9000, Moment::START);
        assert_eq!(growth.rate(Moment::START), 9000);
    }

    #[test]
    fn warmth_while_it_grows() {
        let after = |minutes: u64| Moment::START.plus(Duration::from_mins(minutes));
        for (warm, at_once, between, at_its_end, later) in [
            (6000, 6000, 7000, 8000, 8000),
            (6001, 6001, 7000, 8000, 8000),
            (7000, 7000, 7500, 8000, 8000),
            (9000, 9000, 9000, 9000, 9000),
        ] {
            let mut growth = OnDemandGrowth::new(4000, Moment::START);
            growth.note(Units::whole(4000));
            let begins = Moment::from_seconds(Moment::START.seconds() + 1);
            growth.settle(TAKES, QUOTA, begins);
            let middle = begins.plus(TAKES / 2);
            assert_eq!(growth.rate(middle), 6000);
            growth.raise(warm, middle);
            assert_eq!(growth.rate(middle), at_once);
            // The growth goes on evenly, and ends when it would have ended anyway.
            assert_eq!(growth.rate(begins.plus(TAKES / 4 * 3)), between, "{warm}");
            assert_eq!(growth.rate(begins.plus(TAKES)), at_its_end, "{warm}");
            assert_eq!(growth.rate(after(60)), later);
        }
    }

    /// Warmth beyond the end of a growth ends it, so that the next one begins with the next peak.
    #[test]
    fn growth_goes_on_after_warmth() {
        let after = |seconds: u64| Moment::START.plus(Duration::from_secs(seconds));
        let mut growth = OnDemandGrowth::new(4000, Moment::START);
        growth.note(Units::whole(4000));
        growth.settle(TAKES, QUOTA, after(1));
        growth.settle(TAKES, QUOTA, after(901));
        growth.raise(9000, after(901));
        growth.note(Units::whole(9000));
        // Twice the peak of that second is served half an hour later.
        for (second, rate) in [(902, 9000), (1802, 13_500), (2702, 18_000)] {
            growth.settle(TAKES, QUOTA, after(second));
            assert_eq!(growth.rate(after(second)), rate, "{second}");
        }
    }

    #[test]
    fn growth_begins_at_the_initial_rate() {
        let growth = OnDemandGrowth::new(4000, Moment::START);
        assert_eq!(growth.rate(Moment::START), 4000);
    }
}
