//! Legacy parameters, as the conditions and updates that they mean (page 02 of `docs/behavior`, section 11).

use serde_json::{Map, Value, json};

use super::History;
use super::expressions::{Action, Condition, DOCUMENTS, Operand, Source, Typed, Update, name};
use super::values::{KINDS, Val, any, item_sent, of_kind, one_of};
use super::writes::{NAMES, Write, WriteAction};
use crate::common::Choice;

const SCALARS: [&str; 3] = ["S", "N", "B"];

/// `ComparisonOperator`, `AttributeValueList`, and the condition.
fn any_comparison(choice: &mut Choice, attribute: &str) -> (&'static str, Vec<Val>, Condition) {
    let path = name(attribute);
    let operand = Operand::Path(path.clone());
    let of = |value: &Val| Operand::Value(value.clone());
    let scalar = |choice: &mut Choice| {
        let kind = one_of(choice, &SCALARS);
        of_kind(choice, kind, 0)
    };
    match choice.below(9) {
        at @ (0 | 1) => {
            let value = any(choice, 2);
            let (word, operator) = [("EQ", "="), ("NE", "<>")][at as usize];
            (
                word,
                vec![value.clone()],
                Condition::Compare(operand, operator, Operand::Value(value)),
            )
        }
        2 | 3 => {
            let (word, operator) = one_of(choice, &[("LT", "<"), ("LE", "<="), ("GT", ">"), ("GE", ">=")]);
            let value = if choice.one_in(30) {
                any(choice, 1)
            } else {
                scalar(choice)
            };
            (
                word,
                vec![value.clone()],
                Condition::Compare(operand, operator, Operand::Value(value)),
            )
        }
        4 => {
            let low = scalar(choice);
            let high = of_kind(choice, low.kind(), 0);
            let (low, high) = if low > high && !choice.one_in(20) {
                (high, low)
            } else {
                (low, high)
            };
            let condition = Condition::Between(operand, of(&low), of(&high));
            ("BETWEEN", vec![low, high], condition)
        }
        5 => {
            let kind = one_of(choice, &SCALARS);
            let values: Vec<Val> = (0..=choice.below(3)).map(|_| of_kind(choice, kind, 0)).collect();
            let condition = Condition::In(operand, values.iter().map(of).collect());
            ("IN", values, condition)
        }
        6 => {
            let kind = if choice.one_in(20) {
                "N"
            } else {
                one_of(choice, &["S", "B"])
            };
            let value = of_kind(choice, kind, 0);
            (
                "BEGINS_WITH",
                vec![value.clone()],
                Condition::BeginsWith(operand, Operand::Value(value)),
            )
        }
        7 => {
            let kind = one_of(choice, &["S", "N", "B", "S", "BOOL", "NULL"]);
            let value = of_kind(choice, kind, 0);
            let contains = Condition::Contains(operand, of(&value));
            if choice.one_in(2) {
                return ("CONTAINS", vec![value], contains);
            }
            // A missing attribute satisfies neither.
            let not = Condition::Not(Box::new(contains));
            let condition = Condition::And(Box::new(Condition::Exists(path)), Box::new(not));
            ("NOT_CONTAINS", vec![value], condition)
        }
        _ if choice.one_in(2) => ("NULL", Vec::new(), Condition::NotExists(path)),
        _ => ("NOT_NULL", Vec::new(), Condition::Exists(path)),
    }
}

/// The value of `Expected` for an attribute without an operator.
fn any_expected(choice: &mut Choice, attribute: &str) -> (Value, Condition) {
    let path = name(attribute);
    if choice.one_in(2) {
        return (json!({"Exists": false}), Condition::NotExists(path));
    }
    let value = any(choice, 2);
    let mut member = json!({"Value": value.sent(choice)});
    if choice.one_in(2) {
        member["Exists"] = true.into();
    }
    (
        member,
        Condition::Compare(Operand::Path(path), "=", Operand::Value(value)),
    )
}

/// Adds conditions on some of the attributes to a request: `Expected`, `QueryFilter` or `ScanFilter`.
pub fn add_conditions(choice: &mut Choice, body: &mut Value, member: &str, names: &[&str]) -> Condition {
    let mut members = Map::new();
    let or = choice.one_in(2);
    let mut all: Option<Condition> = None;
    for _ in 0..=choice.below(3) {
        let attribute = one_of(choice, names);
        if members.contains_key(attribute) {
            continue;
        }
        let (value, condition) = if member == "Expected" && choice.one_in(3) {
            any_expected(choice, attribute)
        } else {
            let (operator, values, condition) = any_comparison(choice, attribute);
            let mut value = json!({"ComparisonOperator": operator});
            if !values.is_empty() {
                value["AttributeValueList"] = values.iter().map(|value| value.sent(choice)).collect();
            }
            (value, condition)
        };
        members.insert(attribute.to_owned(), value);
        all = Some(match all {
            None => condition,
            Some(all) if or => Condition::Or(Box::new(all), Box::new(condition)),
            Some(all) => Condition::And(Box::new(all), Box::new(condition)),
        });
    }
    if members.len() > 1 && (or || choice.one_in(2)) {
        body["ConditionalOperator"] = if or { "OR" } else { "AND" }.into();
    }
    body[member] = members.into();
    all.unwrap()
}

/// `AttributeUpdates` and the update.
fn any_updates(choice: &mut Choice, keys: &[Typed]) -> (Value, Update) {
    let mut members = Map::new();
    let mut actions = Vec::new();
    for _ in 0..choice.below(4) {
        let (attribute, kind) = match keys {
            [_, ..] if choice.one_in(4) => one_of(choice, keys),
            _ => (one_of(choice, &DOCUMENTS), ""),
        };
        if members.contains_key(attribute) {
            continue;
        }
        let path = name(attribute);
        let fitting = |choice: &mut Choice, kinds: &[&'static str]| {
            let kind = if choice.one_in(20) {
                one_of(choice, &KINDS)
            } else {
                one_of(choice, kinds)
            };
            of_kind(choice, kind, 1)
        };
        let (word, value, action) = match choice.below(5) {
            0 => ("DELETE", None, Action::Remove(path)),
            1 if kind.is_empty() => {
                let value = fitting(choice, &["SS", "NS", "BS"]);
                ("DELETE", Some(value.clone()), Action::Delete(path, value))
            }
            2 if kind.is_empty() => {
                let value = fitting(choice, &["N", "N", "SS", "NS", "BS", "L"]);
                let action = match &value {
                    // Unlike that of an expression, this ADD appends to lists.
                    Val::L(_) => {
                        let stored = Source::IfNotExists(path.clone(), Val::L(Vec::new()));
                        let added = Source::Value(value.clone());
                        Action::Set(path, Source::Append(Box::new(stored), Box::new(added)))
                    }
                    _ => Action::Add(path, value.clone()),
                };
                ("ADD", Some(value), action)
            }
            _ => {
                let value = if kind.is_empty() {
                    any(choice, 2)
                } else {
                    fitting(choice, &[kind])
                };
                ("PUT", Some(value.clone()), Action::Set(path, Source::Value(value)))
            }
        };
        let mut member = json!({});
        if word != "PUT" || choice.one_in(2) {
            member["Action"] = word.into();
        }
        if let Some(value) = value {
            member["Value"] = value.sent(choice);
        }
        members.insert(attribute.to_owned(), member);
        actions.push(action);
    }
    (members.into(), Update(actions))
}

impl History {
    /// PutItem, UpdateItem or DeleteItem with legacy parameters.
    pub fn legacy_write(&mut self) {
        let table = self.any_table();
        let of = &self.tables[table];
        let choice = &mut self.choice;
        let mut body = json!({"TableName": of.name});
        let (key, action) = match choice.below(4) {
            0 => {
                let item = of.any_item(choice);
                body["Item"] = item_sent(&item, choice);
                (of.key_item(&item), WriteAction::Put(item))
            }
            1 => (of.any_key(choice), WriteAction::Delete),
            _ => {
                let (members, update) = any_updates(choice, &of.index_keys());
                body["AttributeUpdates"] = members;
                (of.any_key(choice), WriteAction::Update(Some(update)))
            }
        };
        if body.get("Item").is_none() {
            body["Key"] = item_sent(&key, choice);
        }
        let condition = choice
            .one_in(2)
            .then(|| add_conditions(choice, &mut body, "Expected", &NAMES));
        let write = Write {
            table,
            key,
            action,
            condition,
        };
        self.send_write(&write, body);
    }
}
