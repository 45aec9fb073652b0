//! Requests that write.

use serde_json::{Map, Value, json};

use super::table::Table;
use super::{Maker, Request, push, value};
use crate::fuzz::Random;
use crate::fuzz::loose::settled;

impl Maker {
    pub(super) fn put(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.name, "Item": self.item(&table)});
        self.condition(&table, &mut request);
        if self.random.percent(20) {
            request["ReturnValues"] = "ALL_OLD".into();
        }
        ("PutItem".to_owned(), request)
    }

    pub(super) fn delete(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.name, "Key": self.key(&table), "ReturnValues": "ALL_OLD"});
        self.condition(&table, &mut request);
        ("DeleteItem".to_owned(), request)
    }

    fn condition(&mut self, table: &Table, request: &mut Value) {
        if self.random.percent(40) {
            let mut expressions = self.expressions(table);
            request["ConditionExpression"] = expressions.condition(2).into();
            expressions.finish(request);
            self.on_failure(request);
        } else if self.random.percent(20) {
            request["Expected"] = self.legacy_conditions(true);
        }
    }

    fn on_failure(&mut self, request: &mut Value) {
        if self.random.percent(40) {
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        }
    }

    pub(super) fn update(&mut self) -> Request {
        let table = self.table();
        let mut request = json!({"TableName": table.name, "Key": self.key(&table)});
        let share = self.random.below(100);
        let mut expressions = self.expressions(&table);
        let (update, nested) = expressions.update();
        request["UpdateExpression"] = update.clone().into();
        // An update that only removes creates no item on AWS; DynamoDB Local creates one, and refuses removals below
        // missing attributes.
        if nested || !update.contains("SET") && !update.contains("ADD") {
            request["ConditionExpression"] = "attribute_exists(pk)".into();
        } else if share < 30 {
            request["ConditionExpression"] = expressions.condition(1).into();
        }
        expressions.finish(&mut request);
        if share < 30 {
            self.on_failure(&mut request);
        }
        let values: &[&str] = if nested {
            &["NONE", "ALL_OLD", "ALL_NEW"]
        } else {
            &["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
        };
        request["ReturnValues"] = self.random.pick(values).into();
        ("UpdateItem".to_owned(), request)
    }

    pub(super) fn legacy_conditions(&mut self, expected: bool) -> Value {
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

    pub(super) fn legacy_update(&mut self) -> Request {
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
            "TableName": table.name, "Key": self.key(&table), "AttributeUpdates": updates, "ReturnValues": "ALL_NEW",
        });
        if self.random.percent(30) {
            request["Expected"] = self.legacy_conditions(true);
        }
        ("UpdateItem".to_owned(), request)
    }

    pub(super) fn batch_write(&mut self) -> Request {
        let mut tables = Map::new();
        for _ in 0..=self.random.below(4) {
            let table = self.table();
            let write = if self.random.percent(60) {
                json!({"PutRequest": {"Item": self.item(&table)}})
            } else {
                json!({"DeleteRequest": {"Key": self.key(&table)}})
            };
            push(&mut tables, table.name, write);
        }
        ("BatchWriteItem".to_owned(), json!({"RequestItems": tables}))
    }

    pub(super) fn transact_write(&mut self) -> Request {
        // DynamoDB Local accepts two actions on one item whose numbers have different notations.
        let (mut actions, mut keys) = (Vec::new(), Vec::new());
        for _ in 0..=self.random.below(3) {
            let (operation, mut request) = match self.random.below(4) {
                0 => self.put(),
                1 => self.update(),
                2 => self.delete(),
                _ => {
                    let table = self.table();
                    let mut request = json!({"TableName": table.name, "Key": self.key(&table)});
                    let mut expressions = self.expressions(&table);
                    request["ConditionExpression"] = expressions.condition(1).into();
                    expressions.finish(&mut request);
                    self.on_failure(&mut request);
                    ("ConditionCheck".to_owned(), request)
                }
            };
            let key = key_of(&request);
            if keys.contains(&key) {
                continue;
            }
            keys.push(key);
            if let Some(members) = request.as_object_mut() {
                members.remove("ReturnValues");
                members.remove("Expected");
            }
            actions.push(json!({operation.trim_end_matches("Item"): request}));
        }
        let mut request = json!({"TransactItems": actions});
        if self.random.percent(20) {
            // Few tokens, so that some are repeated, with identical or different requests.
            request["ClientRequestToken"] = self.random.pick(&["token-1", "token-2"]).into();
        }
        ("TransactWriteItems".to_owned(), request)
    }
}

/// The table and key of a write.
fn key_of(request: &Value) -> Value {
    let item = request.get("Key").or(request.get("Item")).unwrap_or(&Value::Null);
    json!([request["TableName"], settled(&item["pk"]), settled(&item["sk"])])
}
