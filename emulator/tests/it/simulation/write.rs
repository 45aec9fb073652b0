//! A write: as a request, as a statement, and its effect.

use serde_json::{Map, Value, json};

use crate::common::model::{Condition, Key, Update, key_json};
use crate::simulation::world::TABLES;

/// The effect of a write on its item.
pub enum Action {
    Put(Value),
    Update(Update),
    Delete,
    Check,
}

/// A write of one item. It stores its number as `v`, so that every version can be traced.
pub struct Write {
    pub table: usize,
    pub key: Key,
    pub number: i64,
    pub action: Action,
    pub condition: Option<Condition>,
}

impl Write {
    /// Returns whether its condition holds for this item.
    pub fn may(&self, old: Option<&Value>) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(old))
    }

    /// Returns the item after the write.
    pub fn apply(&self, old: Option<&Value>) -> Option<Value> {
        match &self.action {
            Action::Put(item) => Some(item.clone()),
            Action::Update(update) => {
                let mut item = old.cloned().unwrap_or_else(|| key_json(&self.key));
                update.apply(&mut item);
                item["v"] = json!({"N": self.number.to_string()});
                Some(item)
            }
            Action::Delete => None,
            Action::Check => old.cloned(),
        }
    }

    /// Returns its name in a transaction, and its members.
    pub fn members(&self) -> (&'static str, Value) {
        let mut values = Map::new();
        let mut body = json!({"TableName": TABLES[self.table]});
        let name = match &self.action {
            Action::Put(item) => {
                body["Item"] = item.clone();
                "Put"
            }
            Action::Update(update) => {
                body["UpdateExpression"] = self.expression(update, &mut values).into();
                "Update"
            }
            Action::Delete => "Delete",
            Action::Check => "ConditionCheck",
        };
        if name != "Put" {
            body["Key"] = key_json(&self.key);
        }
        if let Some(condition) = &self.condition {
            body["ConditionExpression"] = condition.text(&mut values).into();
        }
        if !values.is_empty() {
            body["ExpressionAttributeValues"] = values.into();
        }
        (name, body)
    }

    fn expression(&self, update: &Update, values: &mut Map<String, Value>) -> String {
        let text = update.text(values);
        values.insert(":v".into(), json!({"N": self.number.to_string()}));
        match text.strip_prefix("SET ") {
            Some(rest) => format!("SET v = :v, {rest}"),
            None => format!("SET v = :v {text}"),
        }
    }

    /// Returns the write as a statement with parameters. Its condition is the statement's implicit one: that the item
    /// exists, or does not.
    pub fn statement(&self) -> Value {
        let table = TABLES[self.table];
        let key = [json!({"S": self.key.0}), json!({"N": self.key.1.to_string()})];
        let (text, parameters) = match &self.action {
            Action::Put(item) => {
                let members = item.as_object().unwrap();
                let names: Vec<String> = members.keys().map(|name| format!("'{name}': ?")).collect();
                let text = format!("INSERT INTO \"{table}\" VALUE {{{}}}", names.join(", "));
                (text, members.values().cloned().collect())
            }
            Action::Update(update) => {
                let mut values = Map::new();
                let change = update
                    .text(&mut values)
                    .replace(":u", "?")
                    .replace("REMOVE g, l", "REMOVE g REMOVE l");
                let text = format!("UPDATE \"{table}\" SET v = ? {change} WHERE pk = ? AND sk = ?");
                let mut parameters = vec![json!({"N": self.number.to_string()})];
                parameters.extend(values.into_iter().map(|(_, value)| value).chain(key));
                (text, parameters)
            }
            Action::Delete | Action::Check => {
                let text = format!("DELETE FROM \"{table}\" WHERE pk = ? AND sk = ?");
                (text, key.to_vec())
            }
        };
        json!({"Statement": text, "Parameters": parameters})
    }
}
