//! The capacity of one resource: a table or a global index.

#[cfg(test)]
mod tests;

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
        let mut resource = ResourceCapacity {
            sides: Direction::BOTH.map(side),
            limits,
            coming: None,
            rules,
            backfill: None,
            partitions: Vec::new(),
            divided: 0,
        };
        let count = resource.needed(now);
        resource.divided = count;
        let start = |at: usize| ((at as u128) << 64).div_ceil(count as u128) as u64;
        resource.partitions = (0..count)
            .map(|at| CapacityPartition::new(start(at), &rules, now))
            .collect();
        resource.share_evenly(now);
        resource
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
    pub fn request(&mut self, direction: Direction, token: u64, units: Units, round: u64, now: Moment) {
        self.settle(now);
        let at = self.place(token);
        self.partitions[at].settle(&self.rules, now);
        self.buckets(direction, token)
            .for_each(|(bucket, _)| bucket.request(units, round));
    }

    /// After all entries have requested units, in order: the limit that this one exceeds.
    pub fn exceeds(&mut self, direction: Direction, token: u64, units: Units) -> Option<Exceeded> {
        let mut exceeded = None;
        for (bucket, what) in self.buckets(direction, token) {
            if !bucket.serves(units) {
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
