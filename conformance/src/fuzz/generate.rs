//! Random histories that resemble an application's, on few tables, keys and attributes, so that requests interact.
//!
//! Known differences are avoided: see [`super::loose`].

mod read;
mod statement;
mod table;
mod value;
mod write;

use serde_json::{Map, Value, json};

use super::Random;
use super::expression::Expressions;

pub(super) use value::{key, number, value};

use table::Table;

/// An operation and its request. [`RECORDS`] is an operation too.
pub(super) type Request = (String, Value);

/// The pseudo-operation that reads all records of all streams that a table has had.
pub(super) const RECORDS: &str = "$records";

/// The prefixes of the names of tables and tokens, which nothing else uses.
pub(super) const NAMES: [&str; 5] = ["plain", "ranged", "numbered", "bytes", "token-"];

/// Attributes that are no table's key. `g`, `l` and `n` are keys of indexes.
const ATTRIBUTES: [&str; 7] = ["a", "b", "c", "d", "g", "l", "n"];

/// A history of this seed.
pub(super) fn history(seed: u64) -> Vec<Request> {
    let mut random = Random::new(seed);
    let tables = table::tables(&mut random);
    let mut maker = Maker { random, tables };
    let mut requests: Vec<Request> = maker.tables.iter().map(Table::create).collect();
    for _ in 0..8 {
        requests.push(maker.put());
    }
    for _ in 0..maker.random.below(30) + 5 {
        let request = maker.request();
        requests.push(request);
    }
    for table in &maker.tables {
        let scan = json!({"TableName": table.name, "ConsistentRead": true});
        requests.push(("Scan".to_owned(), scan));
        for index in &table.indexes {
            let scan = json!({"TableName": table.name, "IndexName": index.name});
            requests.push(("Scan".to_owned(), scan));
        }
        if table.has_stream {
            requests.push((RECORDS.to_owned(), json!({"TableName": table.name})));
        }
    }
    requests
}

/// Generates requests on these tables.
struct Maker {
    random: Random,
    tables: Vec<Table>,
}

impl Maker {
    fn request(&mut self) -> Request {
        let (operation, mut request) = self.plain_request();
        // Other operations, and reads without a result, have a different cost in DynamoDB Local.
        const COUNTED: [&str; 5] = ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query"];
        if COUNTED.contains(&operation.as_str()) && self.random.percent(30) {
            request["ReturnConsumedCapacity"] = self.random.pick(&["TOTAL", "INDEXES"]).into();
        }
        (operation, request)
    }

    fn plain_request(&mut self) -> Request {
        match self.random.below(50) {
            0..6 => self.put(),
            6..17 => self.update(),
            17..20 => self.delete(),
            20..23 => self.get(),
            23..30 => self.query(),
            30..33 => self.scan(),
            33..35 => self.legacy_update(),
            35..38 => self.batch_write(),
            38..40 => self.batch_get(),
            40..44 => self.transact_write(),
            44..46 => self.transact_get(),
            46..49 => self.statement(),
            _ => self.control(),
        }
    }

    fn table(&mut self) -> Table {
        self.tables[self.random.below(self.tables.len())].clone()
    }

    fn key(&mut self, table: &Table) -> Value {
        let mut made = json!({"pk": key(&mut self.random, table.hash)});
        if let Some(range) = table.range {
            made["sk"] = key(&mut self.random, range);
        }
        made
    }

    fn item(&mut self, table: &Table) -> Value {
        let mut item = self.key(table);
        for name in ATTRIBUTES {
            if self.random.percent(60) {
                item[name] = match name {
                    "g" | "l" => key(&mut self.random, "S"),
                    "n" => key(&mut self.random, "N"),
                    _ => self.value(2),
                };
            }
        }
        item
    }

    fn value(&mut self, depth: usize) -> Value {
        value(&mut self.random, depth)
    }

    fn expressions(&mut self, table: &Table) -> Expressions<'_> {
        Expressions::new(&mut self.random, table.range.is_some())
    }
}

fn push(tables: &mut Map<String, Value>, table: &str, entry: Value) {
    let list = tables.entry(table).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(entry);
    }
}

fn merge(request: &mut Value, member: &str, more: Value) {
    let mut whole = request[member].as_object().cloned().unwrap_or_default();
    whole.extend(more.as_object().cloned().unwrap_or_default());
    request[member] = whole.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_seed_gives_the_same_history() {
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
    }

    #[test]
    fn every_kind_of_request_is_generated() {
        let operations: BTreeSet<String> = (0..200).flat_map(history).map(|(operation, _)| operation).collect();
        for operation in [
            "CreateTable",
            "UpdateTable",
            "DescribeTable",
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "GetItem",
            "Query",
            "Scan",
            "BatchWriteItem",
            "BatchGetItem",
            "TransactWriteItems",
            "TransactGetItems",
            "ExecuteStatement",
            "BatchExecuteStatement",
            "ExecuteTransaction",
            RECORDS,
        ] {
            assert!(operations.contains(operation), "{operation}");
        }
    }
}
