//! A naive model of items under `pk` and `sk`: conditions and updates as texts and as what they mean, and sizes.

use serde_json::{Map, Value, json};

use super::Choice;

pub type Key = (String, i64);

/// A condition, as a text and as what it means.
pub enum Condition {
    Exists,
    HasG,
    Equals(i64),
    Below(i64),
    Not(Box<Condition>),
    Both(Box<Condition>, Box<Condition>),
    Either(Box<Condition>, Box<Condition>),
}

impl Condition {
    pub fn any(choice: &mut Choice, depth: u32) -> Condition {
        let pair = |choice: &mut Choice| {
            let left = Box::new(Condition::any(choice, depth - 1));
            (left, Box::new(Condition::any(choice, depth - 1)))
        };
        match choice.below(if depth == 0 { 4 } else { 7 }) {
            0 => Condition::Exists,
            1 => Condition::HasG,
            2 => Condition::Equals(choice.below(6) as i64),
            3 => Condition::Below(choice.below(6) as i64),
            4 => Condition::Not(Box::new(Condition::any(choice, depth - 1))),
            5 => {
                let (left, right) = pair(choice);
                Condition::Both(left, right)
            }
            _ => {
                let (left, right) = pair(choice);
                Condition::Either(left, right)
            }
        }
    }

    pub fn holds(&self, item: Option<&Value>) -> bool {
        let n = item.and_then(|item| number(&item["n"]));
        match self {
            Condition::Exists => item.is_some(),
            Condition::HasG => item.is_some_and(|item| item.get("g").is_some()),
            Condition::Equals(value) => n == Some(*value),
            Condition::Below(value) => n.is_some_and(|n| n < *value),
            Condition::Not(inner) => !inner.holds(item),
            Condition::Both(left, right) => left.holds(item) && right.holds(item),
            Condition::Either(left, right) => left.holds(item) || right.holds(item),
        }
    }

    /// The expression; its values go into `values`.
    pub fn text(&self, values: &mut Map<String, Value>) -> String {
        let mut value = |number: &i64| {
            let name = format!(":c{}", values.len());
            values.insert(name.clone(), json!({"N": number.to_string()}));
            name
        };
        match self {
            Condition::Exists => "attribute_exists(pk)".to_owned(),
            Condition::HasG => "attribute_exists(g)".to_owned(),
            Condition::Equals(number) => format!("n = {}", value(number)),
            Condition::Below(number) => format!("n < {}", value(number)),
            Condition::Not(inner) => format!("NOT {}", inner.nested(values)),
            Condition::Both(left, right) => format!("{} AND {}", left.nested(values), right.nested(values)),
            Condition::Either(left, right) => format!("{} OR {}", left.nested(values), right.nested(values)),
        }
    }

    /// Adds parentheses only where they group something: doubled ones are refused.
    pub fn nested(&self, values: &mut Map<String, Value>) -> String {
        let text = self.text(values);
        match self {
            Condition::Not(_) | Condition::Both(..) | Condition::Either(..) => format!("({text})"),
            _ => text,
        }
    }
}

/// One of a few words: a value of `g` or `l`.
pub fn word(choice: &mut Choice) -> String {
    ["x", "y", "xy", "yx"][choice.below(4) as usize].to_owned()
}

/// An item of this key with some of `n`, `g` and `l`.
pub fn any_item(choice: &mut Choice, key: &Key) -> Value {
    let mut item = key_json(key);
    if choice.one_in(2) {
        item["n"] = json!({"N": choice.below(6).to_string()});
    }
    if choice.one_in(2) {
        item["g"] = json!({"S": word(choice)});
    }
    if choice.one_in(2) {
        item["l"] = json!({"S": word(choice)});
    }
    item
}

pub enum Update {
    SetN(i64),
    AddN(i64),
    SetG(String),
    SetL(String),
    RemoveBoth,
    Expire(i64),
}

impl Update {
    pub fn any(choice: &mut Choice, moment: impl FnOnce(&mut Choice) -> i64) -> Update {
        match choice.below(6) {
            0 => Update::SetN(choice.below(6) as i64),
            1 => Update::AddN(choice.below(6) as i64 - 3),
            2 => Update::SetG(word(choice)),
            3 => Update::SetL(word(choice)),
            4 => Update::RemoveBoth,
            _ => Update::Expire(moment(choice)),
        }
    }

    pub fn text(&self, values: &mut Map<String, Value>) -> String {
        let (text, value) = match self {
            Update::SetN(number) => ("SET n = :u", json!({"N": number.to_string()})),
            Update::AddN(number) => ("ADD n :u", json!({"N": number.to_string()})),
            Update::SetG(text) => ("SET g = :u", json!({"S": text})),
            Update::SetL(text) => ("SET l = :u", json!({"S": text})),
            Update::RemoveBoth => return "REMOVE g, l".to_owned(),
            Update::Expire(at) => ("SET dies = :u", json!({"N": at.to_string()})),
        };
        values.insert(":u".to_owned(), value);
        text.to_owned()
    }

    pub fn apply(&self, item: &mut Value) {
        match self {
            Update::SetN(to) => item["n"] = json!({"N": to.to_string()}),
            Update::AddN(by) => {
                let sum = number(&item["n"]).unwrap_or(0) + by;
                item["n"] = json!({"N": sum.to_string()});
            }
            Update::SetG(text) => item["g"] = json!({"S": text}),
            Update::SetL(text) => item["l"] = json!({"S": text}),
            Update::RemoveBoth => {
                let members = item.as_object_mut().unwrap();
                members.remove("g");
                members.remove("l");
            }
            Update::Expire(at) => item["dies"] = json!({"N": at.to_string()}),
        }
    }
}

pub fn number(value: &Value) -> Option<i64> {
    value["N"].as_str()?.parse().ok()
}

pub fn key_json(key: &Key) -> Value {
    json!({"pk": {"S": key.0}, "sk": {"N": key.1.to_string()}})
}

pub fn key_of(item: &Value) -> Key {
    (
        item["pk"]["S"].as_str().unwrap().to_owned(),
        number(&item["sk"]).unwrap(),
    )
}

/// Items in an order of their own, for answers whose order the model does not know.
pub fn sorted(items: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut items: Vec<Value> = items.into_iter().collect();
    items.sort_by_key(key_of);
    items
}

/// Values in the order of their texts.
pub fn sorted_by_text(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_cached_key(Value::to_string);
    values
}

pub fn listed(answer: &Value) -> Vec<Value> {
    answer["Items"].as_array().unwrap().clone()
}

/// An item's size, of attributes that are strings and integers.
pub fn size(item: &Value) -> usize {
    let value = |value: &Value| match (value["S"].as_str(), value["N"].as_str()) {
        (Some(text), _) => text.len(),
        (_, Some("0")) => 1,
        (_, Some(number)) => {
            // Two digits a byte; zeros at the end are not kept.
            let digits = number.trim_start_matches('-').trim_end_matches('0').len();
            digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
        }
        _ => panic!("{value}"),
    };
    item.as_object()
        .unwrap()
        .iter()
        .map(|(name, of)| name.len() + value(of))
        .sum()
}

/// Some attributes of an item.
pub fn pick(item: &Value, names: &[&str]) -> Value {
    let members = item.as_object().unwrap().iter();
    let picked = members.filter(|(name, _)| names.contains(&name.as_str()));
    picked
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// The error's name, without its namespace.
pub fn kind(answer: &Value) -> String {
    let name = answer["__type"].as_str().unwrap_or_default();
    name.rsplit('#').next().unwrap_or_default().to_owned()
}
