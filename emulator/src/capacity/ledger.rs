//! The capacity of a table and its global indexes: a request is granted all the units that it needs of them, or none.

use smallvec::SmallVec;

use super::heat::HotKeys;
use super::resource::{Limits, ResourceCapacity, Splits};
use super::units::Units;
use super::{Direction, Exceeded, Heat, ResourceHeat};
use crate::clock::Moment;
use crate::conditions::{Capacity, Enforcement};
use crate::schema::{BillingMode, Definition};
use crate::value::{AttributeValue, Name};

/// The units that an entry of a request needs of one resource.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    pub entry: usize,
    /// The global index; `None`: the table.
    pub index: Option<&'a str>,
    pub direction: Direction,
    pub units: Units,
    pub token: u64,
    /// The value of the table's partition key, to track hot keys.
    pub key: Option<&'a AttributeValue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub entry: usize,
    /// The global index; `None`: the table.
    pub index: Option<Name>,
    pub direction: Direction,
    pub units: Units,
    pub token: u64,
    /// How the resource is paid for.
    pub billing: BillingMode,
    pub exceeded: Exceeded,
}

/// The capacity of a table and its global indexes.
#[derive(Clone, Debug)]
pub struct Ledger {
    enforced: bool,
    round: u64,
    table: ResourceCapacity,
    indexes: Vec<(Name, ResourceCapacity)>,
    hot: Option<HotKeys>,
    /// Tokens at which the table's partitions were split, until they are taken.
    splits: Splits,
}

/// The rules by which capacity is counted, and whether it is enforced.
fn rules(capacity: Capacity) -> (bool, Enforcement) {
    match capacity {
        Capacity::Reported => (false, Enforcement::AWS),
        Capacity::Enforced(rules) => (true, rules),
    }
}

impl Ledger {
    /// The unused capacity of a new table.
    pub fn new(definition: &Definition, capacity: Capacity, now: Moment) -> Ledger {
        let (enforced, rules) = rules(capacity);
        let index = |index: &crate::schema::Index| {
            let limits = Limits::of_index(definition, index);
            (index.name.clone(), ResourceCapacity::new(limits, rules, now))
        };
        Ledger {
            enforced,
            round: 0,
            table: ResourceCapacity::new(Limits::of_table(definition), rules, now),
            indexes: definition.globals.iter().map(index).collect(),
            hot: None,
            splits: Splits::new(),
        }
    }

    /// The first token of each partition that the table has.
    pub fn partition_starts(&self) -> Vec<u64> {
        self.table.partition_starts()
    }

    /// The first token of each partition that a global index has; the table's without such an index.
    pub fn partition_starts_of(&self, index: Option<&str>) -> Vec<u64> {
        let found = self.indexes.iter().find(|(name, _)| index == Some(name));
        found.map_or(&self.table, |(_, resource)| resource).partition_starts()
    }

    /// The number of the partition of the table, or of a global index, that a token belongs to.
    pub fn partition_of(&self, index: Option<&str>, token: u64) -> usize {
        let found = self.indexes.iter().find(|(name, _)| index == Some(name));
        found.map_or(&self.table, |(_, resource)| resource).place(token)
    }

    /// Adopts another definition and other rules. `from` returns when a resource's new limits take effect.
    pub fn adapt(
        &mut self,
        definition: &Definition,
        capacity: Capacity,
        from: impl Fn(Option<&str>) -> Moment,
        now: Moment,
    ) {
        let (enforced, rules) = rules(capacity);
        self.enforced = enforced;
        self.table.set_rules(rules, now);
        self.table.set_limits(Limits::of_table(definition), from(None), now);
        let mut before = std::mem::take(&mut self.indexes);
        self.indexes = definition
            .globals
            .iter()
            .map(|index| {
                let limits = Limits::of_index(definition, index);
                let there = before.iter().position(|(name, _)| *name == index.name);
                let Some(at) = there else {
                    return (index.name.clone(), ResourceCapacity::new(limits, rules, now));
                };
                let (name, mut resource) = before.swap_remove(at);
                resource.set_rules(rules, now);
                resource.set_limits(limits, from(Some(&name)), now);
                (name, resource)
            })
            .collect();
    }

    /// Begins or ends to watch which keys are hot.
    pub fn watch(&mut self, watches: bool) {
        if watches != self.hot.is_some() {
            self.hot = watches.then(HotKeys::default);
        }
    }

    fn resource(&mut self, index: Option<&str>) -> Option<&mut ResourceCapacity> {
        match index {
            None => Some(&mut self.table),
            Some(name) => self
                .indexes
                .iter_mut()
                .find(|(there, _)| there == name)
                .map(|(_, resource)| resource),
        }
    }

    /// The shortages of all demands of one request together. Nothing is spent, and refusals are not counted.
    pub fn check(&mut self, demands: &[Demand<'_>], now: Moment) -> Vec<Shortage> {
        self.round += 1;
        let (round, enforced) = (self.round, self.enforced);
        for demand in demands {
            if let Some(resource) = self.resource(demand.index) {
                resource.request(demand.direction, demand.token, demand.units, round, now);
            }
        }
        let mut shortages = Vec::new();
        for demand in demands.iter().filter(|_| enforced) {
            let Some(resource) = self.resource(demand.index) else {
                continue;
            };
            if let Some(exceeded) = resource.exceeds(demand.direction, demand.token, demand.units) {
                shortages.push(shortage(demand, resource, exceeded));
            }
        }
        shortages
    }

    /// Spends the units that [`check`](Ledger::check) granted.
    pub fn spend(&mut self, demands: &[Demand<'_>], now: Moment) {
        for demand in demands {
            if let Some(resource) = self.resource(demand.index) {
                resource.spend(demand.direction, demand.token, demand.units, now);
            }
            self.note(demand);
        }
    }

    /// Spends all demands of a request, or none: the error lists the shortages.
    pub fn reserve(&mut self, demands: &[Demand<'_>], now: Moment) -> Result<(), Vec<Shortage>> {
        let shortages = self.check(demands, now);
        if shortages.is_empty() {
            self.spend(demands, now);
            return Ok(());
        }
        self.refuse(&shortages, now);
        Err(shortages)
    }

    pub fn refuse(&mut self, shortages: &[Shortage], now: Moment) {
        for shortage in shortages {
            let index = shortage.index.as_deref();
            let (direction, token, units) = (shortage.direction, shortage.token, shortage.units);
            let Some(resource) = self.resource(index) else { continue };
            let split = resource.refuse(direction, token, units, shortage.exceeded, now);
            self.splits.extend(split.filter(|_| index.is_none()));
        }
    }

    /// The shortage of a read of unknown cost, which needs capacity above zero.
    pub fn admit(&mut self, demand: &Demand<'_>, now: Moment) -> Result<(), Shortage> {
        let enforced = self.enforced;
        let Some(resource) = self.resource(demand.index).filter(|_| enforced) else {
            return Ok(());
        };
        let Some(exceeded) = resource.exceeds_any(demand.direction, demand.token, now) else {
            return Ok(());
        };
        let shortage = shortage(demand, resource, exceeded);
        self.refuse(std::slice::from_ref(&shortage), now);
        Err(shortage)
    }

    /// Spends the cost of a page that was [admitted](Ledger::admit) and read from the demand's token to `last`.
    pub fn spend_page(&mut self, demand: &Demand<'_>, last: u64, now: Moment) {
        if let Some(resource) = self.resource(demand.index) {
            resource.spend_page(demand.direction, (demand.token, last), demand.units, now);
        }
        self.note(demand);
    }

    fn note(&mut self, demand: &Demand<'_>) {
        if let (Some(hot), Some(key)) = (&mut self.hot, demand.key) {
            hot.note(key, demand.units);
        }
    }

    /// Whether requests beyond the capacity are throttled.
    pub fn is_enforced(&self) -> bool {
        self.enforced
    }

    /// Counts an existing item of the table.
    pub fn weigh(&mut self, token: u64, bytes: usize) {
        self.table.weigh(token, bytes);
    }

    /// Counts an item of the table that was added, changed in size or removed.
    pub fn resize(&mut self, token: u64, before: usize, after: usize, now: Moment) {
        let split = self.table.resize(token, before, after, now);
        self.splits.extend(split);
    }

    /// The tokens at which the table's partitions were split for heat or size since the last call.
    pub fn take_splits(&mut self) -> Splits {
        std::mem::take(&mut self.splits)
    }

    /// Units a second that the table, or an index, serves: on demand they grow.
    pub fn rate(&mut self, index: Option<&str>, direction: Direction, now: Moment) -> Option<u64> {
        let resource = self.resource(index)?;
        resource.settle(now);
        Some(resource.rate(direction))
    }

    /// Gives the backfill of an index half of its provisioned write units between two moments.
    pub fn share_with_backfill(&mut self, index: &str, (from, until): (Moment, Moment), now: Moment) {
        if let Some(resource) = self.resource(Some(index)) {
            resource.share_with_backfill(from, until, now);
        }
    }

    /// The capacity spent and throttled, by resource and partition, and by key while the table is watched.
    pub fn heat(&mut self, now: Moment) -> Heat {
        let mut resources: SmallVec<[ResourceHeat; 4]> = SmallVec::new();
        let table = std::iter::once((None, &mut self.table));
        let indexes = self
            .indexes
            .iter_mut()
            .map(|(name, resource)| (Some(name.clone()), resource));
        for (index, resource) in table.chain(indexes) {
            resource.settle(now);
            resource.settle_partitions(now);
            resources.push(ResourceHeat {
                index,
                read: resource.counts(Direction::Read),
                write: resource.counts(Direction::Write),
                left: Direction::BOTH.map(|direction| resource.left(direction)),
                levels: Direction::BOTH.map(|direction| resource.level(direction)),
                maximums: Direction::BOTH.map(|direction| resource.maximum(direction)),
                partitions: resource.partitions(),
            });
        }
        Heat {
            resources: resources.into_vec(),
            keys: self.hot.as_ref().map(HotKeys::hottest).unwrap_or_default(),
        }
    }
}

fn shortage(demand: &Demand<'_>, resource: &ResourceCapacity, exceeded: Exceeded) -> Shortage {
    Shortage {
        entry: demand.entry,
        index: demand.index.map(Name::new),
        direction: demand.direction,
        units: demand.units,
        token: demand.token,
        billing: resource.billing(),
        exceeded,
    }
}
