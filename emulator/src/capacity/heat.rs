//! Where a table's capacity is consumed: units and throttles by capacity partition, and the hottest keys.

use super::Exceeded;
use super::bucket::Level;
use super::units::Units;
use crate::sort;
use crate::value::{AttributeValue, Name};

/// Units spent, and requests throttled.
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
/// let spent: f64 = heat.resources[0].partitions.iter().map(|partition| partition.write.units.as_f64()).sum();
/// assert_eq!(spent, 1.0);
/// # Ok::<(), dynatwin_engine::NotFound>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// The units that requests consumed.
    pub units: Units,
    /// The entries that were refused.
    pub throttles: u64,
}

/// Units spent, and throttled requests by the limit that they exceeded.
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
/// let written = heat.resources[0].write;
/// assert_eq!((written.units.as_f64(), written.all_throttles()), (1.0, 0));
/// # Ok::<(), dynatwin_engine::NotFound>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThrottleCounts {
    /// The units that requests consumed.
    pub units: Units,
    throttles: [u64; 4],
}

impl ThrottleCounts {
    pub(super) fn note(&mut self, exceeded: Exceeded) {
        self.throttles[exceeded.place()] += 1;
    }

    /// The entries that were refused for this.
    pub fn throttles(&self, exceeded: Exceeded) -> u64 {
        self.throttles[exceeded.place()]
    }

    /// The entries that were refused.
    pub fn all_throttles(&self) -> u64 {
        self.throttles.iter().sum()
    }
}

/// A capacity partition, and the demand on it.
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
/// let partitions = &heat.resources[0].partitions;
/// assert_eq!((partitions[0].first, partitions.last().unwrap().last), (0, u64::MAX));
/// # Ok::<(), dynatwin_engine::NotFound>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionHeat {
    /// The first token of its range.
    pub first: u64,
    /// The last token of its range, which belongs to it.
    pub last: u64,
    /// Bytes of items; 0 for an index, which is not divided by size.
    pub bytes: u64,
    /// Consumed read units, and throttled reads.
    pub read: KeyCounts,
    /// Consumed write units, and throttled writes.
    pub write: KeyCounts,
    /// How full its bucket is, for reading and for writing: of its even share and its own limit, the one with less left.
    pub levels: [Level; 2],
}

/// A table, or one of its global indexes.
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
/// assert_eq!(heat.resources[0].index, None);
/// # Ok::<(), dynatwin_engine::NotFound>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceHeat {
    /// The index; `None`: the table.
    pub index: Option<Name>,
    /// Consumed read units, and throttled reads by the limit that they exceeded.
    pub read: ThrottleCounts,
    /// Consumed write units, and throttled writes by the limit that they exceeded.
    pub write: ThrottleCounts,
    /// Units that are left at this moment: for reading, and for writing.
    pub left: [Units; 2],
    /// How full its bucket is, for reading and for writing.
    pub levels: [Level; 2],
    /// The level of the bucket of the configured on-demand maximum, if there is one.
    pub maximums: [Option<Level>; 2],
    /// Its partitions, in the order of their tokens.
    pub partitions: Vec<PartitionHeat>,
}

/// The capacity that a table has consumed since counting began.
///
/// ```
/// use dynatwin_engine::monitoring::Heat;
///
/// assert!(Heat::default().keys.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// The table, then its global indexes.
    pub resources: Vec<ResourceHeat>,
    /// The most expensive partition keys, hottest first, while the table is watched.
    pub keys: Vec<(AttributeValue, Units)>,
}

const MOST_KEYS: usize = 128;

/// The partition keys with the highest cost. When it is full, a new key replaces the one with the lowest cost and
/// inherits its cost.
#[derive(Clone, Debug, Default)]
pub(super) struct HotKeys(Vec<(AttributeValue, Units)>);

impl HotKeys {
    pub(super) fn note(&mut self, key: &AttributeValue, units: Units) {
        if let Some((_, sum)) = self.0.iter_mut().find(|(seen, _)| seen == key) {
            *sum += units;
        } else if self.0.len() < MOST_KEYS {
            self.0.push((key.clone(), units));
        } else if let Some(coldest) = self.0.iter_mut().min_by_key(|(_, sum)| *sum) {
            *coldest = (key.clone(), coldest.1 + units);
        }
    }

    pub(super) fn hottest(&self) -> Vec<(AttributeValue, Units)> {
        let mut keys = self.0.clone();
        sort::sort_by_key(&mut keys, |(_, units)| std::cmp::Reverse(*units));
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_keys_are_kept_among_many() {
        let mut keys = HotKeys::default();
        let key = |number: usize| AttributeValue::string(&number.to_string());
        for number in 0..MOST_KEYS {
            keys.note(&key(number), Units::whole(10));
        }
        keys.note(&key(7), Units::whole(90));
        keys.note(&key(9), Units::whole(40));
        // A new key replaces the first, which has the lowest cost, and inherits its cost.
        keys.note(&key(MOST_KEYS), Units::whole(1));
        let hottest = keys.hottest();
        assert_eq!(hottest.len(), MOST_KEYS);
        assert_eq!(hottest[0], (key(7), Units::whole(100)));
        assert_eq!(hottest[1], (key(9), Units::whole(50)));
        assert_eq!(hottest[2], (key(MOST_KEYS), Units::whole(11)));
        assert!(!hottest.iter().any(|(seen, _)| *seen == key(0)));
    }

    #[test]
    fn throttles_are_counted_by_reason() {
        let mut counts = ThrottleCounts::default();
        counts.note(Exceeded::AccountLimit);
        counts.note(Exceeded::AccountLimit);
        counts.note(Exceeded::KeyRangeThroughput);
        let of = |exceeded| counts.throttles(exceeded);
        assert_eq!((of(Exceeded::AccountLimit), of(Exceeded::KeyRangeThroughput)), (2, 1));
        assert_eq!((of(Exceeded::ProvisionedThroughput), counts.all_throttles()), (0, 3));
    }
}
