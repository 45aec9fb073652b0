//! The capacity of one resource: a table or a global index.

use std::time::Duration;

use super::bucket::{Bucket, Level};
use super::growth::OnDemandGrowth;
use super::partition::{CapacityPartition, MOST_PARTITIONS, limit};
use super::units::Units;
use super::{Direction, Exceeded, PartitionHeat, ThrottleCounts};
use crate::clock::Moment;
use crate::conditions::Enforcement;
use crate::limits;
use crate::schema::{BillingMode, Definition, Index, OnDemandThroughput, Throughput, initial_warm};

/// The configured limits of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How it is paid for.
    pub billing: BillingMode,
    /// The provisioned units a second; unused if the table is on-demand.
    pub throughput: Throughput,
    /// The units that are served at once.
    pub warm: Throughput,
    /// The maximum units a second of an on-demand table.
    pub most: OnDemandThroughput,
}

impl Limits {
    /// The limits of a table.
    pub fn of_table(definition: &Definition) -> Limits {
        let (throughput, warm) = (definition.throughput, definition.warm);
        Limits::of(definition.billing, throughput, warm, definition.on_demand)
    }

    /// The limits of a global index of a table.
    pub fn of_index(definition: &Definition, index: &Index) -> Limits {
        Limits::of(definition.billing, index.throughput, index.warm, index.on_demand)
    }

    fn of(
        billing: BillingMode,
        throughput: Throughput,
        warm: Option<Throughput>,
        most: Option<OnDemandThroughput>,
    ) -> Limits {
        Limits {
            billing,
            throughput,
            warm: warm.unwrap_or_else(|| initial_warm(billing, throughput)),
            most: most.unwrap_or_default(),
        }
    }

    fn most(&self, direction: Direction) -> Option<u64> {
        let most = match direction {
            Direction::Read => self.most.max_read,
            Direction::Write => self.most.max_write,
        };
        u64::try_from(most?).ok()
    }
}

fn of(throughput: Throughput, direction: Direction) -> u64 {
    match direction {
        Direction::Read => throughput.read,
        Direction::Write => throughput.write,
    }
}

/// The capacity of a resource in one direction.
#[derive(Clone, Debug)]
struct DirectionCapacity {
    total: Bucket,
    /// On demand: the growth of the served units.
    growth: Option<OnDemandGrowth>,
    /// On demand: the maximum that was configured.
    most: Option<Bucket>,
    counts: ThrottleCounts,
}

/// One resource's capacity, by direction and partition.
#[derive(Clone, Debug)]
pub struct ResourceCapacity {
    limits: Limits,
    /// A change on its way, and from when on it holds.
    coming: Option<(Moment, Limits)>,
    rules: Enforcement,
    /// From when until when the backfill of an index has half of its provisioned write units.
    backfill: Option<(Moment, Moment)>,
    sides: [DirectionCapacity; 2],
    partitions: Vec<CapacityPartition>,
    /// No partition is wider than this part of the tokens.
    divided: usize,
}

/// A pause of this part of the time after which heat splits a partition lets it cool.
const PAUSES: u32 = 10;

/// Tokens at which partitions were split.
pub type Splits = Vec<u64>;

impl ResourceCapacity {
    pub fn new(limits: Limits, rules: Enforcement, now: Moment) -> ResourceCapacity {
        let side = |direction| DirectionCapacity::new(&limits, &rules, direction, now);
        let mut meter = ResourceCapacity {
            sides: Direction::BOTH.map(side),
            limits,
            coming: None,
            rules,
            backfill: None,
            partitions: Vec::new(),
            divided: 0,
        };
        let count = meter.needed(now);
        meter.divided = count;
        let start = |at: usize| ((at as u128) << 64).div_ceil(count as u128) as u64;
        meter.partitions = (0..count)
            .map(|at| CapacityPartition::new(start(at), &rules, now))
            .collect();
        meter.share_evenly(now);
        meter
    }

    /// How the resource is paid for.
    pub fn billing(&self) -> BillingMode {
        self.limits.billing
    }

    /// Changes the rules from `now` on.
    pub fn set_rules(&mut self, rules: Enforcement, now: Moment) {
        if rules != self.rules {
            self.settle(now);
            self.rules = rules;
            if self.limits.billing == BillingMode::Provisioned {
                for side in &mut self.sides {
                    let rate = side.total.rate();
                    side.total.change(rate, rules.burst, now);
                }
            }
            self.grow_partitions(now);
            self.share_evenly(now);
        }
    }

    /// Changes the limits from `from` on. Of two pending changes, the later limits apply from the earlier time.
    pub fn set_limits(&mut self, limits: Limits, from: Moment, now: Moment) {
        self.settle(now);
        let known = self.coming.as_ref().map_or(&self.limits, |(_, coming)| coming);
        if *known != limits {
            let from = self.coming.as_ref().map_or(from, |(there, _)| from.min(*there));
            self.coming = Some((from, limits));
            self.settle(now);
        }
    }

    /// Brings buckets, changes of limits and growth up to date.
    pub fn settle(&mut self, now: Moment) {
        if let Some((from, limits)) = self.coming.filter(|(from, _)| *from <= now) {
            self.coming = None;
            self.adopt(limits, from.max(Moment::FIRST));
        }
        if let Some(backfill) = self.backfill
            && self.limits.billing == BillingMode::Provisioned
        {
            let writes = &mut self.sides[Direction::Write.place()];
            writes.total.settle_shared(backfill, now);
            self.backfill = Some(backfill).filter(|(_, until)| now < *until);
        }
        for side in &mut self.sides {
            side.settle(self.rules.growth, now);
        }
        self.grow_partitions(now);
    }

    /// Gives the backfill of an index half of its provisioned write units between two moments.
    pub fn share_with_backfill(&mut self, from: Moment, until: Moment, now: Moment) {
        self.settle(now);
        self.backfill = Some((from, until));
    }

    fn adopt(&mut self, limits: Limits, now: Moment) {
        let switched = limits.billing != self.limits.billing;
        for (side, direction) in self.sides.iter_mut().zip(Direction::BOTH) {
            if switched {
                let counts = side.counts;
                *side = DirectionCapacity::new(&limits, &self.rules, direction, now);
                side.counts = counts;
            } else {
                side.adopt(&limits, &self.rules, direction, now);
            }
        }
        self.limits = limits;
        self.grow_partitions(now);
        self.share_evenly(now);
    }

    /// How many partitions the throughput needs.
    fn needed(&self, now: Moment) -> usize {
        let partition = Direction::BOTH.map(|direction| limit(&self.rules, direction));
        let each = |units: [u64; 2]| units[0].div_ceil(partition[0]).max(units[1].div_ceil(partition[1]));
        let serves = Direction::BOTH.map(|direction| {
            let side = &self.sides[direction.place()];
            let grown = side.growth.as_ref().map_or(0, |growth| growth.rate(now));
            grown.max(of(self.limits.warm, direction))
        });
        // What is provisioned is divided by what a partition does of both together.
        let both = Direction::BOTH.map(|direction| u128::from(of(self.limits.throughput, direction)));
        let (read, write) = (u128::from(partition[0]), u128::from(partition[1]));
        let together = both[0]
            .saturating_mul(write)
            .saturating_add(both[1].saturating_mul(read));
        let together = together.div_ceil(read.saturating_mul(write));
        let most = MOST_PARTITIONS as u64;
        let needed = each(serves).max(u64::try_from(together).unwrap_or(most));
        needed.clamp(1, most) as usize
    }

    /// Splits partitions until none is wider than those of a new table would be, so that evenly spread traffic
    /// can use all of the throughput. The widest are split first; partitions are never merged.
    fn grow_partitions(&mut self, now: Moment) {
        let needed = self.needed(now);
        if needed <= self.divided {
            return;
        }
        self.divided = needed;
        let most = (1_u128 << 64).div_ceil(needed as u128);
        while self.partitions.len() < MOST_PARTITIONS {
            let width = |at: usize| self.end(at) - u128::from(self.partitions[at].start);
            let widest = (0..self.partitions.len()).max_by_key(|at| (width(*at), std::cmp::Reverse(*at)));
            let Some(at) = widest.filter(|at| width(*at) > most) else {
                break;
            };
            let room = (MOST_PARTITIONS - self.partitions.len() + 1) as u128;
            let (start, width) = (u128::from(self.partitions[at].start), width(at));
            let parts = width.div_ceil(most).min(room);
            for part in (1..parts).rev() {
                self.split(at, (start + (width * part).div_ceil(parts)) as u64, now);
            }
        }
        self.share_evenly(now);
    }

    /// The token after the last one of a partition.
    fn end(&self, at: usize) -> u128 {
        self.partitions
            .get(at + 1)
            .map_or(1 << 64, |next| u128::from(next.start))
    }

    fn split(&mut self, at: usize, token: u64, now: Moment) {
        self.partitions[at].settle(&self.rules, now);
        let end = self.end(at);
        let upper = self.partitions[at].split_off(token, end);
        self.partitions.insert(at + 1, upper);
    }

    /// Without borrowing, each partition has an even share of the provisioned units.
    fn share_evenly(&mut self, now: Moment) {
        let lends = self.rules.adaptive || self.limits.billing == BillingMode::PayPerRequest;
        let count = self.partitions.len() as u64;
        for partition in &mut self.partitions {
            for direction in Direction::BOTH {
                let share = of(self.limits.throughput, direction).div_ceil(count);
                partition.share(direction, (!lends).then_some((share, self.rules.burst)), now);
            }
        }
    }

    /// The position of the partition that a token belongs to.
    pub(super) fn place(&self, token: u64) -> usize {
        let after = self.partitions.partition_point(|partition| partition.start <= token);
        after.saturating_sub(1)
    }

    /// The buckets that a request for a token spends from, each with the limit that is exceeded when it is empty.
    fn buckets(&mut self, direction: Direction, token: u64) -> impl Iterator<Item = (&mut Bucket, Exceeded)> {
        let at = self.place(token);
        let side = &mut self.sides[direction.place()];
        let total = match &side.growth {
            None => Exceeded::ProvisionedThroughput,
            Some(_) if side.total.rate() >= limits::TABLE_UNITS as u64 => Exceeded::AccountLimit,
            Some(_) => Exceeded::KeyRangeThroughput,
        };
        let most = side.most.iter_mut().map(|most| (most, Exceeded::MaxOnDemandThroughput));
        let partition = self.partitions[at].buckets(direction);
        most.chain(std::iter::once((&mut side.total, total)))
            .chain(partition.map(|bucket| (bucket, Exceeded::KeyRangeThroughput)))
    }

    /// Adds an entry's demand to the request's in this round.
    pub fn ask(&mut self, direction: Direction, token: u64, units: Units, round: u64, now: Moment) {
        self.settle(now);
        let at = self.place(token);
        self.partitions[at].settle(&self.rules, now);
        self.buckets(direction, token)
            .for_each(|(bucket, _)| bucket.ask(units, round));
    }

    /// After all entries have requested units, in order: the limit that this one exceeds.
    pub fn exceeds(&mut self, direction: Direction, token: u64, units: Units) -> Option<Exceeded> {
        let mut exceeded = None;
        for (bucket, what) in self.buckets(direction, token) {
            if !bucket.grants(units) {
                exceeded = exceeded.or(Some(what));
            }
        }
        exceeded
    }

    /// The limit that a request of unknown cost exceeds.
    pub fn exceeds_any(&mut self, direction: Direction, token: u64, now: Moment) -> Option<Exceeded> {
        self.settle(now);
        let at = self.place(token);
        self.partitions[at].settle(&self.rules, now);
        let mut buckets = self.buckets(direction, token);
        let empty = buckets.find(|(bucket, _)| !bucket.has_any());
        empty.map(|(_, what)| what)
    }

    pub fn spend(&mut self, direction: Direction, token: u64, units: Units, now: Moment) {
        self.spend_total(direction, units);
        self.spend_partition(self.place(token), direction, token, units, now);
    }

    /// Spends the cost of a page evenly from the partitions that it read: tokens are hashes.
    pub fn spend_page(&mut self, direction: Direction, (first, last): (u64, u64), units: Units, now: Moment) {
        self.settle(now);
        self.spend_total(direction, units);
        let (from, to) = (self.place(first), self.place(last.max(first)));
        let count = (to - from + 1) as u64;
        let halves = units.in_halves();
        for at in from..=to {
            let place = (at - from) as u64;
            let part = Units::halves(halves * (place + 1) / count - halves * place / count);
            let token = self.partitions[at].start.max(first);
            self.spend_partition(at, direction, token, part, now);
        }
    }

    fn spend_total(&mut self, direction: Direction, units: Units) {
        let side = &mut self.sides[direction.place()];
        side.total.spend(units);
        side.most.iter_mut().for_each(|most| most.spend(units));
        side.growth.iter_mut().for_each(|growth| growth.note(units));
        side.counts.units += units;
    }

    fn spend_partition(&mut self, at: usize, direction: Direction, token: u64, units: Units, now: Moment) {
        let partition = &mut self.partitions[at];
        partition.settle(&self.rules, now);
        partition.buckets(direction).for_each(|bucket| bucket.spend(units));
        partition.note(direction, token, units);
    }

    /// Counts an entry that was throttled. Heat that lasts splits its partition, unless it is one key's.
    pub fn refuse(
        &mut self,
        direction: Direction,
        token: u64,
        units: Units,
        exceeded: Exceeded,
        now: Moment,
    ) -> Option<u64> {
        self.sides[direction.place()].counts.note(exceeded);
        let at = self.place(token);
        // On demand, an empty table has the same effect.
        let lacks = |bucket: &mut Bucket| !(bucket.has(units) && bucket.has_any());
        let partition = self.partitions[at].buckets(direction).any(lacks);
        if exceeded != Exceeded::KeyRangeThroughput || !partition {
            return None;
        }
        let after = self.rules.heat_split.unwrap_or(Duration::MAX);
        let since = self.partitions[at].refuse(direction, token, units, after / PAUSES, now);
        let lasts = self.rules.heat_split.is_some() && since.plus(after) <= now;
        let token = self.partitions[at].hot_token().filter(|_| lasts)?;
        self.split_at(at, token, now)
    }

    fn split_at(&mut self, at: usize, token: u64, now: Moment) -> Option<u64> {
        let inside = self.partitions[at].start < token && u128::from(token) < self.end(at);
        if !inside || self.partitions.len() >= MOST_PARTITIONS {
            return None;
        }
        self.split(at, token, now);
        self.share_evenly(now);
        Some(token)
    }

    /// Adds an existing item's bytes.
    pub fn weigh(&mut self, token: u64, bytes: usize) {
        let at = self.place(token);
        self.partitions[at].bytes += bytes as u64;
    }

    /// Counts an item that was added, changed in size or removed. A partition that is too large is split in the middle
    /// of its tokens.
    pub fn resize(&mut self, token: u64, before: usize, after: usize, now: Moment) -> Option<u64> {
        let at = self.place(token);
        let partition = &mut self.partitions[at];
        partition.bytes = (partition.bytes + after as u64).saturating_sub(before as u64);
        if partition.bytes <= self.rules.partition_size {
            return None;
        }
        let middle = u128::midpoint(u128::from(partition.start), self.end(at));
        self.split_at(at, middle as u64, now)
    }

    /// The spent and the refused capacity.
    pub fn counts(&self, direction: Direction) -> ThrottleCounts {
        self.sides[direction.place()].counts
    }

    /// Whole units that are left now.
    pub fn left(&self, direction: Direction) -> Units {
        self.sides[direction.place()].total.left()
    }

    /// How full the bucket is.
    pub fn level(&self, direction: Direction) -> Level {
        self.sides[direction.place()].total.level()
    }

    /// How full the bucket of the configured on-demand maximum is.
    pub fn maximum(&self, direction: Direction) -> Option<Level> {
        self.sides[direction.place()].most.as_ref().map(Bucket::level)
    }

    /// Brings the buckets of all partitions up to `now`.
    pub fn settle_partitions(&mut self, now: Moment) {
        for partition in &mut self.partitions {
            partition.settle(&self.rules, now);
        }
    }

    /// Units a second that are served.
    pub fn rate(&self, direction: Direction) -> u64 {
        self.sides[direction.place()].total.rate()
    }

    /// The first token of each partition.
    pub fn partition_starts(&self) -> Vec<u64> {
        self.partitions.iter().map(|partition| partition.start).collect()
    }

    /// The partitions, in the order of their tokens.
    pub fn partitions(&self) -> Vec<PartitionHeat> {
        let heat = |(at, partition): (usize, &CapacityPartition)| PartitionHeat {
            first: partition.start,
            last: (self.end(at) - 1) as u64,
            bytes: partition.bytes,
            read: partition.counts(Direction::Read),
            write: partition.counts(Direction::Write),
            levels: Direction::BOTH.map(|direction| partition.level(direction)),
        };
        self.partitions.iter().enumerate().map(heat).collect()
    }
}

impl DirectionCapacity {
    fn new(limits: &Limits, rules: &Enforcement, direction: Direction, now: Moment) -> DirectionCapacity {
        let warm = of(limits.warm, direction);
        let (total, growth) = match limits.billing {
            BillingMode::Provisioned => (Bucket::new(of(limits.throughput, direction), rules.burst, now), None),
            BillingMode::PayPerRequest => (
                Bucket::new(warm, Duration::ZERO, now),
                Some(OnDemandGrowth::new(warm, now)),
            ),
        };
        let mut side = DirectionCapacity {
            total,
            growth,
            most: None,
            counts: ThrottleCounts::default(),
        };
        side.set_most(limits.most(direction), now);
        side
    }

    fn set_most(&mut self, most: Option<u64>, now: Moment) {
        match (&mut self.most, most) {
            (Some(bucket), Some(rate)) => bucket.change(rate, Duration::ZERO, now),
            (none, Some(rate)) => *none = Some(Bucket::new(rate, Duration::ZERO, now)),
            (bucket, None) => *bucket = None,
        }
    }

    fn adopt(&mut self, limits: &Limits, rules: &Enforcement, direction: Direction, now: Moment) {
        self.settle(rules.growth, now);
        self.set_most(limits.most(direction), now);
        match &mut self.growth {
            None => self.total.change(of(limits.throughput, direction), rules.burst, now),
            Some(growth) => {
                growth.raise(of(limits.warm, direction), now);
                self.total.change(growth.rate(now), Duration::ZERO, now);
            }
        }
    }

    fn settle(&mut self, takes: Duration, now: Moment) {
        if let Some(most) = &mut self.most {
            most.settle(now);
        }
        match &mut self.growth {
            None => self.total.settle(now),
            Some(growth) => {
                growth.settle(takes, limits::TABLE_UNITS as u64, now);
                self.total.grow(growth.rate(now), Duration::ZERO, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Throughput = Throughput { read: 0, write: 0 };

    fn after(seconds: u64) -> Moment {
        Moment::START.plus(Duration::from_secs(seconds))
    }

    fn provisioned(read: u64, write: u64) -> Limits {
        Limits {
            billing: BillingMode::Provisioned,
            throughput: Throughput { read, write },
            warm: NONE,
            most: OnDemandThroughput::default(),
        }
    }

    fn on_demand(read: u64, write: u64) -> Limits {
        Limits {
            billing: BillingMode::PayPerRequest,
            throughput: NONE,
            warm: Throughput { read, write },
            most: OnDemandThroughput::default(),
        }
    }

    fn meter(limits: Limits) -> ResourceCapacity {
        ResourceCapacity::new(limits, Enforcement::AWS, Moment::START)
    }

    fn starts(meter: &ResourceCapacity) -> Vec<u64> {
        meter.partitions().iter().map(|partition| partition.first).collect()
    }

    /// Halves of units that each partition has written.
    fn written(meter: &ResourceCapacity) -> Vec<u64> {
        let partitions = meter.partitions();
        partitions
            .iter()
            .map(|partition| partition.write.units.in_halves())
            .collect()
    }

    #[test]
    fn the_number_of_partitions_follows_throughput() {
        for (limits, count) in [
            (provisioned(1, 1), 1),
            // What is provisioned is divided by what a partition does of both together.
            (provisioned(1500, 500), 1),
            (provisioned(1500, 501), 2),
            (provisioned(1501, 500), 2),
            (provisioned(3000, 1000), 2),
            (provisioned(9000, 0), 3),
            (provisioned(0, 4000), 4),
            (provisioned(u64::MAX, u64::MAX), MOST_PARTITIONS),
            // What is warm, by what it does of each.
            (on_demand(3000, 1000), 1),
            (on_demand(3001, 1000), 2),
            (on_demand(3000, 1001), 2),
            (on_demand(12_000, 4000), 4),
        ] {
            assert_eq!(meter(limits).partitions().len(), count, "{limits:?}");
        }
    }

    #[test]
    fn partitions_divide_the_tokens() {
        let quarter = 1 << 62;
        let even = meter(on_demand(12_000, 4000));
        assert_eq!(starts(&even), [0, quarter, 2 * quarter, 3 * quarter]);
        let ends: Vec<u64> = even.partitions().iter().map(|partition| partition.last).collect();
        assert_eq!(ends, [quarter - 1, 2 * quarter - 1, 3 * quarter - 1, u64::MAX]);
        // Partitions are never merged.
        let mut grown = meter(provisioned(1, 1));
        grown.set_limits(provisioned(9000, 0), after(1), after(1));
        grown.set_limits(provisioned(1, 1), after(2), after(2));
        assert_eq!(starts(&grown).len(), 3);
    }

    #[test]
    fn raised_throughput_divides_the_tokens_as_if_it_had_always_been_so() {
        for (before, raised, count) in [
            (provisioned(0, 3900), provisioned(0, 11_900), 12),
            (provisioned(1, 1), provisioned(9000, 0), 3),
            (provisioned(0, 3000), provisioned(0, 4000), 6),
            (on_demand(12_000, 4000), on_demand(12_000, 12_000), 12),
            (on_demand(12_000, 4000), on_demand(12_000, 5000), 8),
            (provisioned(1, 1), provisioned(u64::MAX, 1), MOST_PARTITIONS),
            (provisioned(0, 3000), provisioned(u64::MAX, 1), MOST_PARTITIONS),
        ] {
            let mut raised_meter = meter(before);
            raised_meter.set_limits(raised, after(1), after(1));
            let partitions = raised_meter.partitions();
            assert_eq!(partitions.len(), count, "{before:?} {raised:?}");
            let widest = partitions.iter().map(|each| each.last - each.first).max().unwrap();
            let new = meter(raised).partitions();
            let widest_new = new.iter().map(|each| each.last - each.first).max().unwrap();
            // With the maximum number of partitions, three parts cannot be divided as evenly as one.
            let slack = if count == MOST_PARTITIONS { widest_new / 2 } else { 0 };
            assert!(
                widest <= widest_new + slack,
                "{before:?} {raised:?}: {widest} {widest_new}"
            );
        }
    }

    #[test]
    fn heat_that_has_split_a_partition_does_not_leave_another_one_wide() {
        let rules = Enforcement {
            partition_size: 100,
            ..Enforcement::AWS
        };
        let mut meter = ResourceCapacity::new(provisioned(0, 2000), rules, Moment::START);
        // The first of two is split again and again for its size.
        for _ in 0..6 {
            meter.resize(0, 0, 101, Moment::START);
        }
        meter.set_limits(provisioned(0, 4000), after(1), after(1));
        let quarter = 1_u64 << 62;
        assert!(meter.partitions().iter().all(|each| each.last - each.first < quarter));
    }

    #[test]
    fn a_page_is_paid_by_the_partitions_it_walked_over() {
        let quarter = 1 << 62;
        for (walk, halves, expect) in [
            ((0, u64::MAX), 10, [2, 3, 2, 3]),
            ((0, u64::MAX), 1, [0, 0, 0, 1]),
            ((quarter, 2 * quarter), 6, [0, 3, 3, 0]),
            ((quarter, 2 * quarter - 1), 6, [0, 6, 0, 0]),
            ((quarter, u64::MAX), 4, [0, 1, 1, 2]),
            ((5, 5), 3, [3, 0, 0, 0]),
            ((u64::MAX, 0), 3, [0, 0, 0, 3]),
        ] {
            let mut meter = meter(on_demand(12_000, 4000));
            meter.spend_page(Direction::Write, walk, Units::halves(halves), Moment::START);
            assert_eq!(written(&meter), expect, "{walk:?}");
            assert_eq!(meter.counts(Direction::Write).units, Units::halves(halves));
            assert_eq!(
                meter.left(Direction::Write),
                Units::whole(4000).without(Units::halves(halves))
            );
            assert_eq!(meter.counts(Direction::Read).units, Units::ZERO);
        }
    }

    #[test]
    fn a_partition_that_is_too_large_is_split_in_the_middle() {
        let rules = Enforcement {
            partition_size: 100,
            ..Enforcement::AWS
        };
        let mut meter = ResourceCapacity::new(provisioned(1, 1), rules, Moment::START);
        meter.weigh(3, 60);
        assert_eq!(meter.resize(7, 0, 40, Moment::START), None);
        assert_eq!(meter.resize(7, 40, 30, Moment::START), None);
        assert_eq!(meter.resize(7, 30, 41, Moment::START), Some(1 << 63));
        let bytes: Vec<u64> = meter.partitions().iter().map(|partition| partition.bytes).collect();
        assert_eq!((starts(&meter), bytes), (vec![0, 1 << 63], vec![51, 50]));
        assert_eq!(meter.resize(u64::MAX, 0, 51, Moment::START), Some(3 << 62));
    }

    #[test]
    fn of_two_changes_the_later_holds_at_the_earlier_time() {
        let mut meter = meter(provisioned(5, 5));
        meter.set_limits(provisioned(6, 6), after(10), after(0));
        meter.set_limits(provisioned(7, 7), after(20), after(1));
        meter.settle(after(9));
        assert_eq!(meter.rate(Direction::Read), 5);
        meter.settle(after(10));
        assert_eq!((meter.rate(Direction::Read), meter.rate(Direction::Write)), (7, 7));
        meter.set_limits(on_demand(50, 60), after(11), after(11));
        assert_eq!(meter.billing(), BillingMode::PayPerRequest);
        assert_eq!((meter.rate(Direction::Read), meter.rate(Direction::Write)), (50, 60));
    }

    #[test]
    fn what_is_exceeded() {
        let most = OnDemandThroughput {
            max_read: Some(3),
            max_write: None,
        };
        for (limits, direction, units, expect) in [
            (provisioned(5, 4), Direction::Read, 5, None),
            (provisioned(5, 4), Direction::Write, 4, None),
            (
                provisioned(5, 4),
                Direction::Write,
                5,
                Some(Exceeded::ProvisionedThroughput),
            ),
            (on_demand(5, 4), Direction::Write, 5, Some(Exceeded::KeyRangeThroughput)),
            (
                on_demand(40_000, 39_999),
                Direction::Read,
                40_001,
                Some(Exceeded::AccountLimit),
            ),
            (
                on_demand(40_000, 39_999),
                Direction::Write,
                40_000,
                Some(Exceeded::KeyRangeThroughput),
            ),
            // A partition is empty before its table.
            (
                provisioned(9000, 9000),
                Direction::Write,
                1001,
                Some(Exceeded::KeyRangeThroughput),
            ),
            (
                Limits {
                    most,
                    ..on_demand(5, 4)
                },
                Direction::Read,
                4,
                Some(Exceeded::MaxOnDemandThroughput),
            ),
            (
                Limits {
                    most,
                    ..on_demand(5, 4)
                },
                Direction::Write,
                4,
                None,
            ),
        ] {
            let mut meter = meter(limits);
            meter.spend(direction, 0, Units::whole(units - 1), Moment::START);
            meter.ask(direction, 0, Units::whole(1), 2, Moment::START);
            assert_eq!(
                meter.exceeds(direction, 0, Units::whole(1)),
                expect,
                "{limits:?} {units}"
            );
        }
    }

    #[test]
    fn spent_units_accrue_again() {
        let most = OnDemandThroughput {
            max_read: Some(5),
            max_write: None,
        };
        let limited = Limits {
            most,
            ..on_demand(5, 5)
        };
        for limits in [provisioned(5, 5), on_demand(5, 5), limited] {
            let mut meter = meter(limits);
            meter.spend(Direction::Read, 0, Units::whole(5), Moment::START);
            for (second, round, enough) in [(0, 1, false), (1, 2, true)] {
                meter.ask(Direction::Read, 0, Units::whole(5), round, after(second));
                let exceeds = meter.exceeds(Direction::Read, 0, Units::whole(5));
                assert_eq!(exceeds.is_none(), enough, "{limits:?}");
            }
        }
    }

    #[test]
    fn partitions_have_even_shares_where_they_do_not_lend() {
        let small = Enforcement {
            partition_read: 10,
            partition_write: 10,
            ..Enforcement::AWS
        };
        for (limits, adaptive, enough) in [
            (provisioned(0, 34), true, true),
            (provisioned(0, 34), false, false),
            (on_demand(0, 34), true, true),
            (on_demand(0, 34), false, true),
        ] {
            let mut meter = ResourceCapacity::new(limits, Enforcement { adaptive, ..small }, Moment::START);
            assert_eq!(meter.partitions().len(), 4);
            meter.spend(Direction::Write, 0, Units::whole(9), Moment::START);
            meter.ask(Direction::Write, 0, Units::whole(1), 1, Moment::START);
            let exceeds = meter.exceeds(Direction::Write, 0, Units::whole(1));
            assert_eq!(exceeds.is_none(), enough, "{limits:?} {adaptive}");
        }
    }

    #[test]
    fn heat_that_lasts_splits() {
        let ten = Some(Duration::from_secs(10));
        let (full, key_range) = (10, Exceeded::KeyRangeThroughput);
        for (heat_split, spent, exceeded, tokens, splits) in [
            (ten, full, key_range, [5, 9], Some(9)),
            (ten, full, key_range, [5, 5], None),
            (ten, 0, key_range, [5, 9], None),
            (ten, full, Exceeded::ProvisionedThroughput, [5, 9], None),
            (None, full, key_range, [5, 9], None),
        ] {
            let rules = Enforcement {
                partition_write: 10,
                heat_split,
                ..Enforcement::AWS
            };
            let mut meter = ResourceCapacity::new(provisioned(0, 10), rules, Moment::START);
            meter.spend(Direction::Write, 5, Units::whole(spent), Moment::START);
            for second in 0..=10 {
                let token = tokens[second as usize % 2];
                let split = meter.refuse(Direction::Write, token, Units::whole(1), exceeded, after(second));
                assert_eq!(split, splits.filter(|_| second == 10), "{second}");
            }
            assert_eq!(meter.counts(Direction::Write).throttles(exceeded), 11);
            assert_eq!(meter.partitions().len(), 1 + usize::from(splits.is_some()));
        }
    }

    #[test]
    fn the_number_of_partitions_is_bounded() {
        let rules = Enforcement {
            partition_size: 1,
            ..Enforcement::AWS
        };
        let mut meter = ResourceCapacity::new(provisioned(u64::MAX, u64::MAX), rules, Moment::START);
        assert_eq!(meter.resize(0, 0, 2, Moment::START), None);
        assert_eq!(meter.partitions().len(), MOST_PARTITIONS);
    }

    #[test]
    fn a_page_needs_available_units() {
        let mut meter = meter(provisioned(5, 5));
        assert_eq!(meter.exceeds_any(Direction::Read, 0, Moment::START), None);
        meter.spend(Direction::Read, 0, Units::whole(5), Moment::START);
        let exceeds = |second| ResourceCapacity::clone(&meter).exceeds_any(Direction::Read, 0, after(second));
        assert_eq!(exceeds(0), Some(Exceeded::ProvisionedThroughput));
        assert_eq!(exceeds(1), None);
    }

    #[test]
    fn lower_limits_apply_at_once() {
        let mut meter = meter(provisioned(5, 5));
        meter.settle(after(100));
        assert_eq!(meter.left(Direction::Read), Units::whole(505));
        let rules = Enforcement {
            burst: Duration::from_secs(2),
            ..Enforcement::AWS
        };
        meter.set_rules(rules, after(100));
        assert_eq!(meter.left(Direction::Read), Units::whole(10));
        assert_eq!(meter.rate(Direction::Read), 5);
    }
}
