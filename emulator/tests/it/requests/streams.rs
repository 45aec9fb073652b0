//! Time to live, and the records of streams (page 04 of `docs/behavior`, sections 7 and 11).

use serde_json::{Value, json};

use super::History;
use super::tables::{Key, Table};
use super::values::{Item, Val, item_json, item_size, sort_number_sets};
use crate::common::replay;

/// Items that have been expired for longer are kept.
const FIVE_YEARS: i64 = 5 * 365 * 86_400;

/// A change of an item, which the stream contains.
pub struct Change {
    pub old: Option<Item>,
    pub new: Option<Item>,
    /// Whether time to live deleted the item.
    pub expired: bool,
}

impl Change {
    /// The record of the stream, without ids and times.
    fn record(&self, table: &Table) -> Value {
        let event = match (&self.old, &self.new) {
            (None, _) => "INSERT",
            (_, None) => "REMOVE",
            _ => "MODIFY",
        };
        let image = |item: &Option<Item>, word| item.clone().filter(|_| table.view.contains(word));
        let (new, old) = (image(&self.new, "NEW"), image(&self.old, "OLD"));
        let keys = table.key_item(self.old.as_ref().or(self.new.as_ref()).unwrap());
        let size: usize = [Some(&keys), new.as_ref(), old.as_ref()]
            .into_iter()
            .flatten()
            .map(item_size)
            .sum();
        json!({
            "event": event, "keys": item_json(&keys), "new": new.as_ref().map(item_json),
            "old": old.as_ref().map(item_json), "size": size, "view": table.view, "expired": self.expired})
    }
}

/// The compared members of a record.
fn compared(record: &Value) -> Value {
    let of = &record["dynamodb"];
    let service = json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
    let mut compared = json!({
        "event": record["eventName"], "keys": of["Keys"], "new": of.get("NewImage"), "old": of.get("OldImage"),
        "size": of["SizeBytes"], "view": of["StreamViewType"], "expired": record.get("userIdentity") == Some(&service)});
    sort_number_sets(&mut compared);
    compared
}

impl History {
    /// Deletes the items that have expired, as the engine does before each request.
    pub fn expire(&mut self) {
        let now = self.twin.seconds();
        let due = |item: &Item| match item.get("dies") {
            Some(Val::N(at)) => at
                .text()
                .parse()
                .is_ok_and(|at: i64| now - FIVE_YEARS <= at && at <= now),
            _ => false,
        };
        for table in &mut self.tables {
            table.now = now;
            let expired: Vec<Key> = table
                .items
                .iter()
                .filter(|(_, item)| due(item))
                .map(|(key, _)| key.clone())
                .collect();
            for key in expired {
                let old = table.items.remove(&key);
                table.changes.push(Change {
                    old,
                    new: None,
                    expired: true,
                });
            }
        }
    }

    /// Compares the records of each item, in order, with its changes.
    pub fn check_streams(&self) {
        for table in &self.tables {
            let found: Vec<Value> = replay::records(&self.twin, table.name).iter().map(compared).collect();
            let expected: Vec<Value> = table.changes.iter().map(|change| change.record(table)).collect();
            self.same("GetRecords", &json!(table.name), found.len(), expected.len());
            // The order among items is open; sorting is stable.
            let by_item = |mut records: Vec<Value>| {
                records.sort_by_key(|record| record["keys"].to_string());
                records
            };
            for (found, expected) in by_item(found).into_iter().zip(by_item(expected)) {
                self.same("GetRecords", &json!(table.name), found, expected);
            }
        }
    }
}
