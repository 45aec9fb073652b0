//! A token bucket: units are added at a rate, accumulate up to a limit, and are spent once.

use std::time::Duration;

use super::units::Units;
use crate::clock::Moment;

/// Grains in half a unit: a rate of one unit a second adds a whole number of them in a microsecond.
const GRAINS: i128 = 1_000_000;

/// Units of one resource in one direction. The level is computed on access.
///
/// A request that costs more than the bucket can ever hold is let through when the bucket is full, and what a page cost is
/// known only after it was read: so a bucket can be in debt, and then nothing is let through until that is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Units that are added each second.
    rate: u64,
    /// The maximum level, in grains.
    most: i128,
    /// In grains; below zero in debt.
    level: i128,
    at: Moment,
    requested: BucketRound,
}

/// How full a bucket is.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # use std::time::Duration;
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::AWS, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// # engine.advance(Duration::from_secs(60));
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let heat = engine.account(&caller).heat("Orders")?;
/// let [read, _] = heat.resources[0].levels;
/// assert_eq!(read.left, read.size);
/// # Ok::<(), dynatwin_engine::NotFound>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// The whole units that are available.
    pub left: Units,
    /// Units that it holds at most.
    pub size: Units,
    /// The units that are added each second.
    pub rate: u64,
}

/// The demands of one request on a bucket: its entries ask together, and are granted one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BucketRound {
    round: u64,
    sum: i128,
    seen: i128,
}

fn grains(units: Units) -> i128 {
    i128::from(units.in_halves()) * GRAINS
}

/// The grains that a rate adds in a duration.
fn accrued(rate: u64, time: Duration) -> i128 {
    i128::from(rate) * 2 * i128::try_from(time.as_micros()).unwrap_or(i128::from(i64::MAX))
}

impl Bucket {
    /// A bucket that accumulates the units of the duration `keeps`, at least one second's. It starts with one second's
    /// units.
    pub fn new(rate: u64, keeps: Duration, now: Moment) -> Bucket {
        Bucket {
            rate,
            most: accrued(rate, keeps.max(Duration::from_secs(1))),
            level: accrued(rate, Duration::from_secs(1)),
            at: now,
            requested: BucketRound::default(),
        }
    }

    /// Adds the units that have accrued by `now`. A moment before the last one adds nothing.
    pub fn settle(&mut self, now: Moment) {
        if now > self.at {
            let come = accrued(self.rate, now.since(self.at));
            self.level = (self.level + come).min(self.most);
            self.at = now;
        }
    }

    /// Brings the level up to `now`; between the two moments of `shared` only half of the rate is added.
    pub fn settle_shared(&mut self, shared: (Moment, Moment), now: Moment) {
        self.settle(now.min(shared.0));
        let until = now.min(shared.1);
        if until > self.at {
            let come = accrued(self.rate, until.since(self.at)) / 2;
            self.level = (self.level + come).min(self.most);
            self.at = until;
        }
        self.settle(now);
    }

    /// Changes the rate from `now` on. The level stays, up to the new limit.
    pub fn change(&mut self, rate: u64, keeps: Duration, now: Moment) {
        self.settle(now);
        self.rate = rate;
        self.most = accrued(rate, keeps.max(Duration::from_secs(1)));
        self.level = self.level.min(self.most);
    }

    /// Changes rate and size, as if the rate had grown evenly until `now`.
    pub fn grow(&mut self, rate: u64, keeps: Duration, now: Moment) {
        let average = u64::midpoint(self.rate, rate);
        self.rate = average;
        self.most = accrued(rate, keeps.max(Duration::from_secs(1)));
        self.settle(now);
        self.rate = rate;
        self.level = self.level.min(self.most);
    }

    /// Units that are added each second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The whole units that are available.
    pub fn left(&self) -> Units {
        Units::halves(u64::try_from(self.level.max(0) / GRAINS).unwrap_or(u64::MAX))
    }

    pub fn level(&self) -> Level {
        Level {
            left: self.left(),
            size: Units::halves(u64::try_from(self.most / GRAINS).unwrap_or(u64::MAX)),
            rate: self.rate,
        }
    }

    /// Whether this many units are available.
    pub fn has(&self, units: Units) -> bool {
        self.level >= grains(units).min(self.most)
    }

    /// Whether the bucket has any units, which a request of unknown cost needs.
    pub fn has_any(&self) -> bool {
        self.level > 0
    }

    /// Adds an entry's demand to the request's in this round.
    pub fn request(&mut self, units: Units, round: u64) {
        if self.requested.round != round {
            self.requested = BucketRound {
                round,
                ..BucketRound::default()
            };
        }
        self.requested.sum += grains(units);
    }

    /// After all entries have requested units, in order: whether there are enough for this one. If there are not enough
    /// for all, the first entries get them.
    pub fn serves(&mut self, units: Units) -> bool {
        self.requested.seen += grains(units);
        self.level >= self.requested.sum.min(self.most) || self.requested.seen <= self.level
    }

    /// Spends, into debt if need be.
    pub fn spend(&mut self, units: Units) {
        self.level -= grains(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::units::Units;

    fn after(seconds: f64) -> Moment {
        Moment::START.plus(Duration::from_secs_f64(seconds))
    }

    /// A bucket of 10 units a second with a limit of 30; each step waits, then spends half units.
    fn left(steps: &[(f64, u64)]) -> f64 {
        let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
        let mut now = 0.0;
        for (wait, halves) in steps {
            now += wait;
            bucket.settle(after(now));
            bucket.spend(Units::halves(*halves));
        }
        bucket.level as f64 / GRAINS as f64 / 2.0
    }

    #[test]
    fn levels() {
        for (steps, expect) in [
            (&[][..], 10.0),
            (&[(0.0, 1)], 9.5),
            (&[(0.1, 0)], 11.0),
            (&[(1.0, 0)], 20.0),
            (&[(100.0, 0)], 30.0),
            (&[(100.0, 80)], -10.0),
            (&[(100.0, 80), (0.5, 0)], -5.0),
            (&[(100.0, 80), (3.0, 0)], 20.0),
            (&[(0.0, 20), (0.000_001, 0)], 0.000_01),
        ] {
            assert_eq!(left(steps), expect, "{steps:?}");
        }
        // Whole units are shown, and a debt as none.
        for (halves, left, has_any) in [
            (5, 7.5, true),
            (19, 0.5, true),
            (20, 0.0, false),
            (21, 0.0, false),
            (900, 0.0, false),
        ] {
            let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
            bucket.spend(Units::halves(halves));
            let level = bucket.level();
            assert_eq!(
                (level.left.as_f64(), bucket.left().as_f64(), bucket.has_any()),
                (left, left, has_any)
            );
            assert_eq!((level.size, level.rate), (Units::whole(30), 10));
        }
    }

    /// A bucket of 10 units a second with a limit of 30, of which half goes to another consumer from second 2 to 12.
    #[test]
    fn half_of_the_burst_is_shared_until_the_end() {
        let shared = (after(2.0), after(12.0));
        for (times, expect) in [
            (&[1.0][..], 10.0),
            (&[3.0], 15.0 + 10.0),
            (&[12.0], 30.0),
            (&[13.0], 30.0),
            (&[100.0], 30.0),
            (&[1.0, 2.5, 3.0, 100.0], 30.0),
            // A moment before the last one adds nothing.
            (&[3.0, 1.0, 3.0], 15.0 + 10.0),
            (&[3.0, 2.5, 3.0], 15.0 + 10.0),
        ] {
            let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
            bucket.spend(Units::whole(10));
            times.iter().for_each(|time| bucket.settle_shared(shared, after(*time)));
            assert_eq!(bucket.left().as_f64(), expect, "{times:?}");
        }
        let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
        bucket.settle_shared(shared, after(12.0));
        bucket.spend(Units::whole(30));
        bucket.settle_shared(shared, after(14.0));
        assert_eq!(bucket.left(), Units::whole(20), "all is for requests after the end");
    }

    #[test]
    fn time_that_steps_back_brings_nothing() {
        let mut bucket = Bucket::new(10, Duration::ZERO, after(5.0));
        bucket.spend(Units::whole(10));
        bucket.settle(after(1.0));
        assert_eq!(bucket.left(), Units::ZERO);
        bucket.settle(after(5.5));
        assert_eq!(bucket.left(), Units::whole(5));
    }

    #[test]
    fn a_demand_larger_than_the_bucket_needs_a_full_bucket() {
        let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
        assert!(!bucket.has(Units::whole(100)));
        bucket.settle(after(2.0));
        assert!(bucket.has(Units::whole(100)));
        bucket.spend(Units::whole(100));
        bucket.settle(after(9.0));
        assert!(!bucket.has_any());
        bucket.settle(after(9.1));
        assert!(bucket.has_any());
    }

    #[test]
    fn entries_ask_together_and_the_first_are_served() {
        let mut bucket = Bucket::new(10, Duration::from_secs(3), Moment::START);
        let requested = [4, 4, 4].map(Units::whole);
        requested.iter().for_each(|units| bucket.request(*units, 1));
        assert_eq!(requested.map(|units| bucket.serves(units)), [true, true, false]);
        let requested = [6, 6].map(Units::whole);
        requested[..1].iter().for_each(|units| bucket.request(*units, 2));
        assert!(bucket.serves(requested[0]), "a new round has forgotten the last");
        // Entries of the last round consume nothing of this round.
        let requested = [6, 4, 1].map(Units::whole);
        requested.iter().for_each(|units| bucket.request(*units, 3));
        assert_eq!(requested.map(|units| bucket.serves(units)), [true, true, false]);
        let mut full = Bucket::new(10, Duration::ZERO, Moment::START);
        let requested = [8, 8].map(Units::whole);
        requested.iter().for_each(|units| full.request(*units, 1));
        assert_eq!(
            requested.map(|units| full.serves(units)),
            [true, true],
            "it can never hold more"
        );
    }

    #[test]
    fn a_rate_that_grows_fills_a_bucket_that_grows() {
        let mut bucket = Bucket::new(10, Duration::ZERO, Moment::START);
        bucket.spend(Units::whole(40));
        bucket.grow(30, Duration::ZERO, after(2.0));
        assert_eq!((bucket.left(), bucket.rate()), (Units::whole(10), 30));
        bucket.grow(40, Duration::ZERO, after(9.0));
        assert_eq!(bucket.left(), Units::whole(40));
    }

    #[test]
    fn a_change_of_the_rate_keeps_what_fits() {
        let mut bucket = Bucket::new(10, Duration::from_mins(5), Moment::START);
        bucket.settle(after(100.0));
        bucket.change(1, Duration::from_mins(5), after(101.0));
        assert_eq!((bucket.left(), bucket.rate()), (Units::whole(300), 1));
        bucket.spend(Units::whole(300));
        bucket.change(20, Duration::from_mins(5), after(103.0));
        assert_eq!(
            bucket.left(),
            Units::whole(2),
            "what came before the change came at the old rate"
        );
        bucket.settle(after(104.0));
        assert_eq!(bucket.left(), Units::whole(22));
    }

    #[test]
    fn a_bucket_fills_by_its_rate() {
        let mut bucket = Bucket::new(5, Duration::from_mins(5), Moment::START);
        bucket.settle(Moment::START.plus(Duration::from_secs(1)));
        assert!(bucket.has(Units::whole(10)));
        assert!(!bucket.has(Units::whole(11)));
    }
}
