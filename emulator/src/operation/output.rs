//! Parts of responses that several operations share, and checks on lists and maps of tables.

use super::check::{self, CapacityReport};
use crate::capacity::units::Units;
use crate::capacity::{Consumed, Direction};
use crate::error::{Violations, constraint};
use crate::value::{Map, Name, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The constraints on the keys of a map of tables, as the service prints them.
pub const TABLE_NAME_KEYS: &str = "Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]";

/// Whether a key of a map of tables can be a table's name or ARN.
pub fn is_table_name(name: &str) -> bool {
    name.starts_with("arn:") || ((3..=255).contains(&name.len()) && check::is_name(name))
}

/// Checks a list that must have one element and may have `most`.
pub fn list_length(violations: &mut Violations, length: usize, path: &str, most: usize) {
    if length == 0 {
        violations.value_not_echoed(path, constraint::min_length(1));
    } else if length > most {
        violations.value_not_echoed(path, constraint::max_length(most));
    }
}

/// Writes `ConsumedCapacity` of an operation on one table.
pub fn consumed_capacity(out: &mut Writer, consumed: &Consumed, report: CapacityReport) {
    let mut object = Object::open(out);
    object.string("TableName", &consumed.table_name);
    units(&mut object, consumed.total(), consumed.direction);
    if report == CapacityReport::Indexes {
        let mut table = object.object("Table");
        units(&mut table, consumed.table, consumed.direction);
        table.close();
        for (member, arms) in [
            ("GlobalSecondaryIndexes", &consumed.globals),
            ("LocalSecondaryIndexes", &consumed.locals),
        ] {
            if !arms.is_empty() {
                indexes(&mut object, member, arms, consumed.direction);
            }
        }
        if !consumed.vectors.is_empty() {
            let mut list = object.object("VectorIndexes");
            for (name, bytes) in &consumed.vectors {
                let mut arm = list.object(name);
                arm.double("VectorWriteRequestBytes", *bytes as f64);
                arm.close();
            }
            list.close();
        }
    }
    object.close();
}

fn indexes(object: &mut Object<'_>, member: &'static str, arms: &[(Name, Units)], direction: Option<Direction>) {
    let mut list = object.object(member);
    for (name, cost) in arms {
        let mut arm = list.object(name);
        units(&mut arm, *cost, direction);
        arm.close();
    }
    list.close();
}

fn units(object: &mut Object<'_>, units: Units, direction: Option<Direction>) {
    object.double("CapacityUnits", units.as_f64());
    match direction {
        None => {}
        Some(Direction::Read) => object.double("ReadCapacityUnits", units.as_f64()),
        Some(Direction::Write) => object.double("WriteCapacityUnits", units.as_f64()),
    }
}

/// Writes `ConsumedCapacity` of an operation on several tables: a list.
pub fn consumed_capacities<'c>(
    answer: &mut Object<'_>,
    consumed: impl Iterator<Item = &'c Consumed>,
    report: CapacityReport,
) {
    let mut list = answer.list("ConsumedCapacity");
    for each in consumed {
        consumed_capacity(list.element(), each, report);
    }
    list.close();
}

/// The item collection of a write.
pub struct Collection {
    pub key: Map,
    /// Its size in whole gigabytes.
    pub gigabytes: u64,
}

/// Adds a collection, or updates its size after one more write.
pub fn note_collection(collections: &mut Vec<Collection>, collection: Collection) {
    match collections.iter_mut().find(|there| there.key == collection.key) {
        Some(there) => *there = collection,
        None => collections.push(collection),
    }
}

/// Adds the cost of a part of a request to the request's cost on the same table.
pub fn merge(consumed: &mut Vec<Consumed>, cost: Consumed) {
    match consumed.iter_mut().find(|sum| sum.table_name == cost.table_name) {
        Some(sum) => sum.merge(cost),
        None => consumed.push(cost),
    }
}

/// Writes `ItemCollectionMetrics` of a write: its collection, and a size in whole gigabytes.
pub fn item_collection_metrics(out: &mut Writer, collection: &Collection) {
    let mut object = Object::open(out);
    object.map("ItemCollectionKey", &collection.key);
    let mut range = object.list("SizeEstimateRangeGB");
    let lower = collection.gigabytes as f64;
    range.element().double(lower).double(lower + 1.0);
    range.close();
    object.close();
}

/// Writes `ItemCollectionMetrics` of a batch or transaction: by table, each collection once; omitted if empty.
pub fn batch_collection_metrics(answer: &mut Object<'_>, tables: &[(Text, Vec<Collection>)]) {
    if tables.iter().all(|(_, collections)| collections.is_empty()) {
        return;
    }
    let mut metrics = answer.object("ItemCollectionMetrics");
    for (table, collections) in tables.iter().filter(|(_, collections)| !collections.is_empty()) {
        let mut list = metrics.list(table);
        for collection in collections {
            item_collection_metrics(list.element(), collection);
        }
        list.close();
    }
    metrics.close();
}
