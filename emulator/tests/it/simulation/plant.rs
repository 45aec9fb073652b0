//! Bugs that are planted between the engine and its clients, to check that the model detects them.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::simulation::world::Answered;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Nothing,
    /// A write is answered and not applied.
    LostWrite,
    /// A write is applied that no client has sent.
    PhantomWrite,
    /// A refused write is applied.
    RefusedWrite,
    /// A transaction is applied in part.
    HalfTransaction,
    /// A consistent read misses a write.
    BlindRead,
    /// An entry is missing in an index.
    MissingEntry,
    /// A request consumes more than it reports.
    HiddenCost,
    /// The stream skips a record.
    SkippedRecord,
    /// The stream has two records in the wrong order.
    SwappedRecords,
}

pub const ALL: [Wrong; 9] = [
    Wrong::LostWrite,
    Wrong::PhantomWrite,
    Wrong::RefusedWrite,
    Wrong::HalfTransaction,
    Wrong::BlindRead,
    Wrong::MissingEntry,
    Wrong::HiddenCost,
    Wrong::SkippedRecord,
    Wrong::SwappedRecords,
];

/// A planted bug, and how many requests it could have affected.
pub struct Plant {
    pub wrong: Wrong,
    met: AtomicU64,
}

/// The occasion on which the bug occurs.
const OCCASION: u64 = 2;

impl Plant {
    pub fn new(wrong: Wrong) -> Plant {
        Plant {
            wrong,
            met: AtomicU64::new(0),
        }
    }

    fn comes(&self, wrong: Wrong) -> bool {
        self.wrong == wrong && self.met.fetch_add(1, Ordering::Relaxed) + 1 == OCCASION
    }

    pub fn tamper(&self, operation: &str, body: &Value, send: &dyn Fn(&str, &Value) -> Answered) -> Answered {
        if operation == "PutItem" && body.get("ConditionExpression").is_none() && self.comes(Wrong::LostWrite) {
            // It succeeds, and the item did not exist.
            let mut other = body.clone();
            other["Item"] = json!({"pk": {"S": "elsewhere"}, "sk": {"N": "0"}});
            other["ConditionExpression"] = "attribute_exists(pk)".into();
            let mut answered = send(operation, &other);
            answered.status = 200;
            answered.body = json!({});
            return answered;
        }
        if operation == "TransactWriteItems" && body["TransactItems"].as_array().is_some_and(|items| items.len() > 1) {
            let mut half = body.clone();
            half["TransactItems"].as_array_mut().unwrap().truncate(1);
            let alone = body.get("ClientRequestToken").is_none();
            let puts =
                alone && half["TransactItems"][0].get("Put").is_some() && body["TransactItems"][1].get("Put").is_some();
            if puts && self.comes(Wrong::HalfTransaction) {
                return send(operation, &half);
            }
        }
        let mut answered = send(operation, body);
        if operation == "PutItem" && answered.status == 200 && self.comes(Wrong::PhantomWrite) {
            send(
                "PutItem",
                &json!({"TableName": "one", "Item": {"pk": {"S": "p0"}, "sk": {"N": "0"}, "v": {"N": "-1"}}}),
            );
        }
        let failed = answered.body["__type"]
            .as_str()
            .is_some_and(|kind| kind.contains("ConditionalCheck"));
        if operation == "PutItem" && failed && self.comes(Wrong::RefusedWrite) {
            send(
                "PutItem",
                &json!({"TableName": body["TableName"], "Item": body["Item"]}),
            );
        }
        let sees = body["ConsistentRead"] == true && answered.body.get("Item").is_some();
        if operation == "GetItem" && sees && self.comes(Wrong::BlindRead) {
            answered.body.as_object_mut().unwrap().remove("Item");
        }
        let entries = answered.body["Items"].as_array().is_some_and(|items| !items.is_empty());
        if body["IndexName"] == "by-g" && entries && self.wrong == Wrong::MissingEntry {
            answered.body["Items"].as_array_mut().unwrap().pop();
        }
        if operation == "GetItem" && answered.status == 200 && self.comes(Wrong::HiddenCost) {
            answered.body.as_object_mut().unwrap().remove("ConsumedCapacity");
        }
        answered
    }

    pub fn tamper_records(&self, records: &mut Vec<Value>) {
        if records.len() < 6 {
            return;
        }
        match self.wrong {
            Wrong::SkippedRecord => drop(records.remove(4)),
            Wrong::SwappedRecords => {
                let same =
                    |left: usize, right: usize| records[left]["dynamodb"]["Keys"] == records[right]["dynamodb"]["Keys"];
                let pairs =
                    (0..records.len()).flat_map(|left| (left + 1..records.len()).map(move |right| (left, right)));
                let pair = pairs.into_iter().find(|(left, right)| same(*left, *right));
                if let Some((left, right)) = pair {
                    records.swap(left, right);
                }
            }
            _ => {}
        }
    }
}
