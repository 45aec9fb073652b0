//! Histories: random requests that look like an application's, on few tables, keys and attributes, so that they meet.
//!
//! What is known to differ is not asked: see [`super::loose`].

use serde_json::{Map, Value, json};

use super::Random;
use super::expression::Expressions;

/// An operation and its request.
pub(super) type Request = (String, Value);

/// The tables' hash and range keys, with their types; `g` and `l` are index keys.
const TABLES: [(&str, &str, Option<&str>); 4] = [
    ("plain", "S", None),
    ("ranged", "S", Some("S")),
    ("numbered", "N", Some("N")),
    ("bytes", "B", Some("B")),
];

const ATTRIBUTES: [&str; 6] = ["a", "b", "c", "d", "g", "l"];

/// A history of this seed.
pub(super) fn history(seed: u64) -> Vec<Request> {
    let mut maker = Maker {
        random: Random::new(seed),
    };
    let mut requests: Vec<Request> = TABLES.iter().map(create_table).collect();
    for _ in 0..8 {
        requests.push(maker.put());
    }
    for _ in 0..maker.random.below(25) + 5 {
        let request = maker.request();
        requests.push(request);
    }
    for (table, ..) in TABLES {
        requests.push(("Scan".to_owned(), json!({"TableName": table, "ConsistentRead": true})));
    }
    requests
}

fn create_table((name, hash, range): &(&str, &str, Option<&str>)) -> Request {
    let definition = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let key = |name: &str, role: &str| json!({"AttributeName": name, "KeyType": role});
    let mut request = json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [definition("pk", hash)], "KeySchema": [key("pk", "HASH")],
    });
    let mut add = |member: &str, value: Value| {
        if let Some(list) = request[member].as_array_mut() {
            list.push(value);
        }
    };
    if let Some(range) = range {
        for definition in [definition("sk", range), definition("g", "S"), definition("l", "S")] {
            add("AttributeDefinitions", definition);
        }
        add("KeySchema", key("sk", "RANGE"));
        let index = |name: &str, keys: [Value; 2]| json!([{"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}]);
        request["LocalSecondaryIndexes"] = index("by-l", [key("pk", "HASH"), key("l", "RANGE")]);
        request["GlobalSecondaryIndexes"] = index("by-g", [key("g", "HASH"), key("sk", "RANGE")]);
    }
    ("CreateTable".to_owned(), request)
}

struct Maker {
    random: Random,
}

/// A table, as a request is made for it.
type Table = (&'static str, &'static str, Option<&'static str>);

impl Maker {
    fn request(&mut self) -> Request {
        match self.random.below(20) {
            0..3 => self.put(),
            3..8 => self.update(),
            8 => self.delete(),
            9..11 => self.get(),
            11..14 => self.query(),
            14 => self.scan(),
            15 => self.legacy_update(),
            16 => self.batch_write(),
            17 => self.batch_get(),
            18 => self.transact_write(),
            _ => self.transact_get(),
        }
    }

    fn table(&mut self) -> Table {
        TABLES[self.random.below(TABLES.len())]
    }

    fn key_value(&mut self, kind: &str) -> Value {
        match kind {
            "S" => json!({"S": self.random.pick(&["k", "kk", "ké", "z"])}),
            "N" => json!({"N": self.random.pick(&["1", "2", "10", "-1", "1.0", "0.5"])}),
            _ => json!({"B": self.random.pick(&["AQ==", "AQI=", "/w=="])}),
        }
    }

    fn key(&mut self, (_, hash, range): Table) -> Value {
        let mut key = json!({"pk": self.key_value(hash)});
        if let Some(range) = range {
            key["sk"] = self.key_value(range);
        }
        key
    }

    fn item(&mut self, table: Table) -> Value {
        let mut item = self.key(table);
        for name in ATTRIBUTES {
            if self.random.percent(60) {
                item[name] = if matches!(name, "g" | "l") {
                    self.key_value("S")
                } else {
                    self.value(2)
                };
            }
        }
        item
    }

    fn value(&mut self, depth: usize) -> Value {
        value(&mut self.random, depth)
    }

    fn expressions(&mut self, table: Table) -> Expressions<'_> {
        Expressions::new(&mut self.random, table.2.is_some())
    }

    fn put(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.0, "Item": self.item(table)});
        self.condition(table, &mut request);
        if self.random.percent(20) {
            request["ReturnValues"] = "ALL_OLD".into();
        }
        ("PutItem".to_owned(), request)
    }

    fn delete(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.0, "Key": self.key(table), "ReturnValues": "ALL_OLD"});
        self.condition(table, &mut request);
        ("DeleteItem".to_owned(), request)
    }

    fn condition(&mut self, table: Table, request: &mut Value) {
        if self.random.percent(40) {
            let mut expressions = self.expressions(table);
            request["ConditionExpression"] = expressions.condition(2).into();
            expressions.finish(request);
        } else if self.random.percent(20) {
            request["Expected"] = self.legacy_conditions(true);
        }
    }

    fn update(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.0, "Key": self.key(table)});
        let share = self.random.below(100);
        let mut expressions = self.expressions(table);
        let (update, nested) = expressions.update();
        request["UpdateExpression"] = update.clone().into();
        // What only removes creates no item, and does in DynamoDB Local.
        if !update.contains("SET") && !update.contains("ADD") {
            request["ConditionExpression"] = "attribute_exists(pk)".into();
        } else if share < 30 {
            request["ConditionExpression"] = expressions.condition(1).into();
        }
        expressions.finish(&mut request);
        let values: &[&str] = if nested {
            &["ALL_OLD", "ALL_NEW"]
        } else {
            &["ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
        };
        request["ReturnValues"] = self.random.pick(values).into();
        ("UpdateItem".to_owned(), request)
    }

    fn get(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.0, "Key": self.key(table), "ConsistentRead": true});
        if self.random.percent(50) {
            let mut expressions = self.expressions(table);
            request["ProjectionExpression"] = expressions.projection().into();
            expressions.finish(&mut request);
        } else if self.random.percent(20) {
            request["AttributesToGet"] = json!(["a", "pk"]);
        }
        ("GetItem".to_owned(), request)
    }

    fn query(&mut self) -> Request {
        let table = self.table();
        let index = table.2.and_then(|_| match self.random.below(4) {
            0 => Some(("by-g", "g", "sk")),
            1 => Some(("by-l", "pk", "l")),
            _ => None,
        });
        let (hash, range) = index.map_or(("pk", "sk"), |(_, hash, range)| (hash, range));
        let kind = |name: &str| match name {
            "pk" => table.1,
            "sk" => table.2.unwrap_or("S"),
            _ => "S",
        };
        let mut values = json!({":h": self.key_value(kind(hash))});
        let mut condition = format!("{hash} = :h");
        if table.2.is_some() && self.random.percent(60) {
            values[":r"] = self.key_value(kind(range));
            let form = self.random.below(if kind(range) == "N" { 6 } else { 7 });
            let of_range = match form {
                0 => format!(" AND {range} BETWEEN :r AND :s"),
                6 => format!(" AND begins_with({range}, :r)"),
                form => format!(" AND {range} {} :r", ["=", "<", "<=", ">", ">="][form - 1]),
            };
            condition.push_str(&of_range);
            if form == 0 {
                values[":s"] = self.key_value(kind(range));
            }
        }
        let mut request = json!({"TableName": table.0, "KeyConditionExpression": condition});
        if let Some((name, ..)) = index {
            request["IndexName"] = name.into();
        } else {
            // Items of an index with the same keys are in no order, so that pages of one may differ.
            if self.random.percent(40) {
                request["Limit"] = (self.random.below(4) + 1).into();
            }
            request["ConsistentRead"] = true.into();
        }
        request["ScanIndexForward"] = self.random.percent(50).into();
        if self.random.percent(15) {
            request["Select"] = "COUNT".into();
        }
        let filtered = self.random.percent(40);
        let mut expressions = self.expressions(table);
        if filtered {
            // Keys may not be filtered by.
            expressions.without_keys();
            request["FilterExpression"] = expressions.condition(1).into();
        }
        expressions.finish(&mut request);
        merge(&mut request, "ExpressionAttributeValues", values);
        ("Query".to_owned(), request)
    }

    fn scan(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.0, "ConsistentRead": true});
        if self.random.percent(60) {
            let mut expressions = self.expressions(table);
            request["FilterExpression"] = expressions.condition(2).into();
            expressions.finish(&mut request);
        } else {
            request["ScanFilter"] = self.legacy_conditions(false);
        }
        ("Scan".to_owned(), request)
    }

    fn legacy_conditions(&mut self, expected: bool) -> Value {
        let name = self.random.pick(&["a", "b", "c"]);
        let operator = self.random.pick(&[
            "EQ",
            "NE",
            "LE",
            "LT",
            "GE",
            "GT",
            "NULL",
            "NOT_NULL",
            "CONTAINS",
            "NOT_CONTAINS",
            "BEGINS_WITH",
            "IN",
            "BETWEEN",
        ]);
        if expected && self.random.percent(30) {
            return if self.random.percent(50) {
                json!({name: {"Exists": false}})
            } else {
                json!({name: {"Value": self.value(1)}})
            };
        }
        let scalar = |random: &mut Random| value(random, 0);
        let arguments: Vec<Value> = match operator {
            "NULL" | "NOT_NULL" => Vec::new(),
            "IN" => vec![scalar(&mut self.random), scalar(&mut self.random)],
            "BETWEEN" => {
                let mut numbers = [self.random.below(10), self.random.below(10)];
                numbers.sort_unstable();
                numbers.iter().map(|number| json!({"N": number.to_string()})).collect()
            }
            _ => vec![scalar(&mut self.random)],
        };
        let mut condition = json!({"ComparisonOperator": operator});
        if !arguments.is_empty() {
            condition["AttributeValueList"] = arguments.into();
        }
        json!({name: condition})
    }

    fn legacy_update(&mut self) -> Request {
        let table = self.table();
        let mut updates = json!({"d": {"Action": "PUT", "Value": self.value(1)}});
        let name = self.random.pick(&["a", "b", "c"]);
        updates[name] = match self.random.below(4) {
            0 => json!({"Action": "PUT", "Value": self.value(1)}),
            1 => json!({"Action": "ADD", "Value": self.random.pick(&[&json!({"N": "3"}), &json!({"SS": ["x", "y"]})])}),
            2 => json!({"Action": "DELETE", "Value": {"SS": ["x"]}}),
            _ => json!({"Action": "DELETE"}),
        };
        let mut request = json!({
            "TableName": table.0, "Key": self.key(table), "AttributeUpdates": updates, "ReturnValues": "ALL_NEW",
        });
        if self.random.percent(30) {
            request["Expected"] = self.legacy_conditions(true);
        }
        ("UpdateItem".to_owned(), request)
    }

    fn batch_write(&mut self) -> Request {
        let mut tables = Map::new();
        for _ in 0..=self.random.below(4) {
            let table = self.table();
            let write = if self.random.percent(60) {
                json!({"PutRequest": {"Item": self.item(table)}})
            } else {
                json!({"DeleteRequest": {"Key": self.key(table)}})
            };
            push(&mut tables, table.0, write);
        }
        ("BatchWriteItem".to_owned(), json!({"RequestItems": tables}))
    }

    fn batch_get(&mut self) -> Request {
        let mut tables = Map::new();
        for _ in 0..=self.random.below(4) {
            let table = self.table();
            let key = self.key(table);
            push(&mut tables, table.0, key);
        }
        let tables: Map<String, Value> = tables
            .into_iter()
            .map(|(name, keys)| (name, json!({"Keys": keys, "ConsistentRead": true})))
            .collect();
        ("BatchGetItem".to_owned(), json!({"RequestItems": tables}))
    }

    fn transact_write(&mut self) -> Request {
        let mut actions = Vec::new();
        for _ in 0..=self.random.below(3) {
            let (operation, mut request) = match self.random.below(4) {
                0 => self.put(),
                1 => self.update(),
                2 => self.delete(),
                _ => {
                    let table = self.table();
                    let mut request = json!({"TableName": table.0, "Key": self.key(table)});
                    let mut expressions = self.expressions(table);
                    request["ConditionExpression"] = expressions.condition(1).into();
                    expressions.finish(&mut request);
                    ("ConditionCheck".to_owned(), request)
                }
            };
            if let Some(members) = request.as_object_mut() {
                members.remove("ReturnValues");
                members.remove("Expected");
            }
            actions.push(json!({operation.trim_end_matches("Item"): request}));
        }
        ("TransactWriteItems".to_owned(), json!({"TransactItems": actions}))
    }

    fn transact_get(&mut self) -> Request {
        let gets: Vec<Value> = (0..=self.random.below(3))
            .map(|_| {
                let (_, mut get) = self.get();
                if let Some(members) = get.as_object_mut() {
                    members.remove("ConsistentRead");
                    members.remove("AttributesToGet");
                }
                json!({"Get": get})
            })
            .collect();
        ("TransactGetItems".to_owned(), json!({"TransactItems": gets}))
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

/// A value, in which lists and maps are no deeper than this.
pub(super) fn value(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 8 } else { 11 };
    match random.below(kinds) {
        0 | 1 => json!({"S": random.pick(&["", "x", "xy", "é", "y x"])}),
        2 | 3 => json!({"N": random.pick(&["0", "1", "2", "-3", "1.50", "1e2", "0.001", "12345678901234567890"])}),
        4 => json!({"BOOL": random.percent(50)}),
        5 => json!({"NULL": true}),
        6 => json!({"B": random.pick(&["", "AQ==", "AQID"])}),
        7 => match random.below(3) {
            0 => json!({"SS": ["x", "y"]}),
            1 => json!({"NS": ["1", "2.5"]}),
            _ => json!({"BS": ["AQ==", "Ag=="]}),
        },
        8 | 9 => {
            let list: Vec<Value> = (0..random.below(4)).map(|_| value(random, depth - 1)).collect();
            json!({"L": list})
        }
        _ => {
            let mut map = Map::new();
            for name in ["m", "n"] {
                if random.percent(70) {
                    map.insert(name.to_owned(), value(random, depth - 1));
                }
            }
            json!({"M": map})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_history() {
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
    }
}
