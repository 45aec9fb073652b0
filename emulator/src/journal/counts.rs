//! Counters, with CloudWatch's dimensions.

use super::metric::{Dimension, Metric, Samples, dimension};
use crate::capacity::units::Units;
use crate::error::Exceeded;
use crate::sorted::SortedMap;
use crate::value::Name;

/// The units that a table or a global index has spent.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// # engine.dispatch(&caller, "CreateTable", br#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
/// #     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
/// #     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
/// engine.watch(true);
/// engine.dispatch(&caller, "PutItem", br#"{"TableName": "Orders", "Item": {"id": {"S": "o-1"}}}"#);
/// let spent = &engine.spent(&caller)[0];
/// assert_eq!((spent.table.as_str(), spent.write.as_f64()), ("Orders", 1.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The table, also where an index is named.
    pub table: Name,
    /// The global index; `None`: the table, with its local indexes.
    pub index: Option<Name>,
    /// The consumed read capacity units.
    pub read: Units,
    /// The consumed write capacity units.
    pub write: Units,
}

/// The value of a key; a new key needs room.
pub(super) fn slot<'m, K: Ord + Clone, V: Default>(
    map: &'m mut SortedMap<K, V>,
    key: &K,
    room: &mut usize,
) -> Option<&'m mut V> {
    if !map.contains_key(key) {
        *room = room.checked_sub(1)?;
    }
    Some(map.get_or_default(key))
}

/// Adds all values of `from`, as far as there is room for new keys.
fn add_all<K: Ord + Clone, V: Default>(
    to: &mut SortedMap<K, V>,
    from: &SortedMap<K, V>,
    room: &mut usize,
    mut add: impl FnMut(&mut V, &V, &mut usize),
) {
    for (key, more) in from {
        if let Some(sum) = slot(to, key, room) {
            add(sum, more, room);
        }
    }
}

/// Of an account in a region.
#[derive(Clone, Debug, Default)]
pub struct AccountCounts {
    pub user_errors: u64,
    tables: SortedMap<Name, TableCounts>,
    /// System errors of requests that have named no table, by operation.
    lost: SortedMap<Name, u64>,
}

#[derive(Clone, Debug, Default)]
pub struct TableCounts {
    own: ResourceCounts,
    indexes: SortedMap<Name, ResourceCounts>,
    operations: SortedMap<Name, OperationCounts>,
    streams: SortedMap<Name, StreamCounts>,
    pub failed_conditions: u64,
    pub conflicts: u64,
    /// Whether the request under way was throttled here.
    pub throttled: bool,
}

/// Of a table without its indexes, or of a global index.
#[derive(Clone, Debug, Default)]
pub struct ResourceCounts {
    pub read: Units,
    pub write: Units,
    /// For reading and for writing, by the exceeded limit.
    pub throttles: [[u64; 4]; 2],
}

/// Of an operation on a table.
#[derive(Clone, Debug, Default)]
pub struct OperationCounts {
    pub throttled: u64,
    pub system_errors: u64,
    pub returned: u64,
    /// The latency of successful requests, in milliseconds.
    pub latency: Samples,
}

#[derive(Clone, Debug, Default)]
pub struct StreamCounts {
    pub records: u64,
    pub bytes: u64,
    /// Milliseconds that the last records of its pages had waited.
    pub age: Samples,
}

impl AccountCounts {
    pub fn table(&mut self, table: &Name) -> &mut TableCounts {
        self.tables.get_or_default(table)
    }

    /// A request was throttled, in the tables where its entries were.
    pub fn throttle(&mut self, operation: &Name) {
        for table in self.tables.values_mut().filter(|table| table.throttled) {
            table.operation(operation).throttled += 1;
        }
    }

    /// A request has failed that has named these tables.
    pub fn fail(&mut self, tables: &[Name], operation: &Name) {
        if tables.is_empty() {
            *self.lost.get_or_default(operation) += 1;
        }
        for table in tables {
            self.table(table).operation(operation).system_errors += 1;
        }
    }

    /// Adds the counts of a request.
    pub fn add(&mut self, more: &AccountCounts, room: &mut usize) {
        self.user_errors += more.user_errors;
        add_all(&mut self.lost, &more.lost, room, |sum, more, _| *sum += more);
        add_all(&mut self.tables, &more.tables, room, TableCounts::add);
    }

    pub fn spent(&self) -> Vec<Spent> {
        let of_table = |(table, counts): &(Name, TableCounts)| {
            let resources = counts.resources().map(|(index, resource)| Spent {
                table: table.clone(),
                index: index.cloned(),
                read: resource.read,
                write: resource.write,
            });
            let resources = resources.filter(|spent| !spent.read.is_zero() || !spent.write.is_zero());
            resources.collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }

    /// Measurements, which are not only counted: latencies and ages, by name and dimensions.
    pub fn samples(&self) -> Vec<(&'static str, Vec<Dimension>, Samples)> {
        let mut samples = Vec::new();
        for (table, counts) in &self.tables {
            let table = dimension::table(table);
            for (operation, counts) in &counts.operations {
                let dimensions = vec![table.clone(), dimension::operation(operation)];
                samples.push(("SuccessfulRequestLatency", dimensions, counts.latency));
            }
            for (label, counts) in &counts.streams {
                samples.push(("IteratorAge", of_stream(&table, label), counts.age));
            }
        }
        samples.retain(|(_, _, samples)| samples.count > 0);
        samples
    }

    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        Metric::count(&mut metrics, "UserErrors", &[], self.user_errors);
        for (operation, count) in &self.lost {
            let operation = dimension::operation(operation);
            Metric::count(&mut metrics, "SystemErrors", &[operation], *count);
        }
        for (table, counts) in &self.tables {
            counts.metrics(table, &mut metrics);
        }
        metrics
    }
}

impl TableCounts {
    pub fn resource(&mut self, index: Option<&Name>) -> &mut ResourceCounts {
        match index {
            None => &mut self.own,
            Some(index) => self.indexes.get_or_default(index),
        }
    }

    pub fn operation(&mut self, operation: &Name) -> &mut OperationCounts {
        self.operations.get_or_default(operation)
    }

    pub fn stream(&mut self, label: &str) -> &mut StreamCounts {
        self.streams.get_or_default(&label.into())
    }

    fn resources(&self) -> impl Iterator<Item = (Option<&Name>, &ResourceCounts)> {
        let indexes = self.indexes.iter().map(|(index, resource)| (Some(index), resource));
        std::iter::once((None, &self.own)).chain(indexes)
    }

    fn add(&mut self, more: &TableCounts, room: &mut usize) {
        self.own.add(&more.own);
        self.failed_conditions += more.failed_conditions;
        self.conflicts += more.conflicts;
        add_all(&mut self.indexes, &more.indexes, room, |sum, more, _| sum.add(more));
        add_all(&mut self.operations, &more.operations, room, |sum, more, _| {
            sum.throttled += more.throttled;
            sum.system_errors += more.system_errors;
            sum.returned += more.returned;
            sum.latency.merge(more.latency);
        });
        add_all(&mut self.streams, &more.streams, room, |sum, more, _| {
            sum.records += more.records;
            sum.bytes += more.bytes;
            sum.age.merge(more.age);
        });
    }

    fn metrics(&self, table: &Name, metrics: &mut Vec<Metric>) {
        let table = dimension::table(table);
        for (index, resource) in self.resources() {
            let mut dimensions = vec![table.clone()];
            dimensions.extend(index.map(dimension::index));
            resource.metrics(&dimensions, metrics);
        }
        let own = std::slice::from_ref(&table);
        Metric::count(metrics, "ConditionalCheckFailedRequests", own, self.failed_conditions);
        Metric::count(metrics, "TransactionConflict", own, self.conflicts);
        for (operation, counts) in &self.operations {
            let dimensions = [table.clone(), dimension::operation(operation)];
            Metric::count(metrics, "ThrottledRequests", &dimensions, counts.throttled);
            Metric::count(metrics, "SystemErrors", &dimensions, counts.system_errors);
            Metric::count(metrics, "ReturnedItemCount", &dimensions, counts.returned);
            Metric::amount(
                metrics,
                "SuccessfulRequestLatency",
                &dimensions,
                counts.latency.average(),
            );
        }
        for (label, counts) in &self.streams {
            let dimensions = of_stream(&table, label);
            Metric::count(metrics, "ReturnedRecordsCount", &dimensions, counts.records);
            Metric::count(metrics, "ReturnedBytes", &dimensions, counts.bytes);
            Metric::amount(metrics, "IteratorAge", &dimensions, counts.age.maximum);
        }
    }
}

fn of_stream(table: &Dimension, label: &Name) -> Vec<Dimension> {
    let operation = dimension::operation(&Name::const_new("GetRecords"));
    vec![table.clone(), operation, dimension::stream(label)]
}

/// The names of throttles, for reading and for writing: in total, and by the exceeded limit.
const THROTTLES: [(&str, [(Exceeded, &str); 4]); 2] = [
    (
        "ReadThrottleEvents",
        [
            (
                Exceeded::ProvisionedThroughput,
                "ReadProvisionedThroughputThrottleEvents",
            ),
            (Exceeded::KeyRangeThroughput, "ReadKeyRangeThroughputThrottleEvents"),
            (Exceeded::AccountLimit, "ReadAccountLimitThrottleEvents"),
            (
                Exceeded::MaxOnDemandThroughput,
                "ReadMaxOnDemandThroughputThrottleEvents",
            ),
        ],
    ),
    (
        "WriteThrottleEvents",
        [
            (
                Exceeded::ProvisionedThroughput,
                "WriteProvisionedThroughputThrottleEvents",
            ),
            (Exceeded::KeyRangeThroughput, "WriteKeyRangeThroughputThrottleEvents"),
            (Exceeded::AccountLimit, "WriteAccountLimitThrottleEvents"),
            (
                Exceeded::MaxOnDemandThroughput,
                "WriteMaxOnDemandThroughputThrottleEvents",
            ),
        ],
    ),
];

impl ResourceCounts {
    fn add(&mut self, more: &ResourceCounts) {
        self.read += more.read;
        self.write += more.write;
        let sums = self.throttles.iter_mut().flatten();
        sums.zip(more.throttles.iter().flatten())
            .for_each(|(sum, more)| *sum += more);
    }

    fn metrics(&self, dimensions: &[(&'static str, Name)], metrics: &mut Vec<Metric>) {
        for (name, units) in [
            ("ConsumedReadCapacityUnits", self.read),
            ("ConsumedWriteCapacityUnits", self.write),
        ] {
            Metric::amount(metrics, name, dimensions, units.as_f64());
        }
        for (counts, (all, names)) in self.throttles.iter().zip(THROTTLES) {
            Metric::count(metrics, all, dimensions, counts.iter().sum());
            for (exceeded, name) in names {
                Metric::count(metrics, name, dimensions, counts[exceeded.place()]);
            }
        }
    }
}
