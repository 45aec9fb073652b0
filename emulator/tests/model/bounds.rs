//! Values that break constraints, and the service's error texts for them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::service::{Model, Place, Step, text};

/// A value that breaks a constraint, and the framework's text for it.
pub struct Break {
    pub constraint: &'static str,
    pub value: Option<Value>,
    pub phrase: String,
    /// The closest value that does not break it, if the constraint is a bound.
    pub allowed: Option<Value>,
}

/// Returns every way to break the constraints of a place.
pub fn breaks(model: &Model, place: &Place<'_>) -> Vec<Break> {
    let shape = model.shape(place.shape());
    let kind = shape["type"].as_str().unwrap();
    let mut breaks = Vec::new();
    let mut add = |constraint, value, allowed, phrase: String| {
        breaks.push(Break {
            constraint,
            value,
            phrase,
            allowed,
        });
    };
    if let Some(Step::Member(member)) = place.steps.last() {
        let outer = model.shape(place.shapes[place.shapes.len() - 2]);
        if outer["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|name| name == member))
        {
            add("required", None, None, "Member must not be null".into());
        }
    }
    let sized = |length: u64| -> Value {
        match kind {
            "string" => text(length).into(),
            "list" => (0..length)
                .map(|_| model.valid(shape["member"].as_str().unwrap()))
                .collect(),
            "map" => (0..length)
                .map(|at| (format!("one{at}"), model.valid(shape["value"].as_str().unwrap())))
                .collect::<Map<_, _>>()
                .into(),
            _ => (length as i64).into(),
        }
    };
    let number = matches!(kind, "integer" | "long");
    if let Some(least) = shape["min"].as_i64().filter(|least| number || *least > 0) {
        let phrase = format!(
            "Member must have {} greater than or equal to {least}",
            if number { "value" } else { "length" }
        );
        let of = |least: i64| if number { least.into() } else { sized(least as u64) };
        add("min", Some(of(least - 1)), Some(of(least)), phrase);
    }
    // Values are limited to sizes that a quick test can send, and numbers to their own type.
    if let Some(most) = shape["max"].as_i64().filter(|most| *most < 100_000 || number) {
        let phrase = format!(
            "Member must have {} less than or equal to {most}",
            if number { "value" } else { "length" }
        );
        add("max", Some(sized(most as u64 + 1)), Some(sized(most as u64)), phrase);
    }
    if let Some(words) = shape["enum"].as_array() {
        let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
        add(
            "enum",
            Some("WORD".into()),
            None,
            format!("Member must satisfy enum value set: [{}]", words.join(", ")),
        );
    }
    if let Some(pattern) = shape["pattern"].as_str() {
        let least = shape["min"].as_u64().unwrap_or(1).max(3);
        add(
            "pattern",
            Some(outside(pattern).repeat(least as usize).into()),
            None,
            format!("Member must satisfy regular expression pattern: {pattern}"),
        );
    }
    breaks
}

/// Returns text that a pattern does not allow: a control character, or the character that it excludes.
fn outside(pattern: &str) -> &'static str {
    if pattern == r"^[^\$]+$" { "$" } else { "\u{7}" }
}

/// Returns the framework's general text: `1 validation error detected: Value '…' at '…' failed to satisfy constraint:
/// …`.
pub fn general(place: &Place<'_>, broken: &Break) -> String {
    let value = match &broken.value {
        None => "null".to_owned(),
        Some(Value::String(text)) => format!("'{text}'"),
        Some(value) => format!("'{value}'"),
    };
    let (path, phrase) = (place.path(), &broken.phrase);
    format!(
        "ValidationException: 1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: {phrase}"
    )
}

/// Returns whether an answer is the expected one. The order of a set's members is ignored, since the service's own
/// order is known for few sets, and so is the echo of a list or map with many members.
pub fn is(answer: &str, expected: &str, value: Option<&Value>) -> bool {
    let sorted = |text: &str| -> Option<(String, BTreeSet<String>)> {
        let (before, set) = text.split_once("enum value set: [")?;
        let words = set.trim_end_matches(']').split(", ").map(str::to_owned).collect();
        Some((before.to_owned(), words))
    };
    let long = value.is_some_and(|value| value.as_array().map(Vec::len).or(value.as_object().map(Map::len)) > Some(0));
    if let Some(begin) = expected.strip_prefix('~') {
        return answer.starts_with(begin);
    }
    if long {
        let around = |text: &str| {
            let (before, rest) = text.split_once("Value '")?;
            let (_, after) = rest.rsplit_once("' at '")?;
            Some((before.to_owned(), after.to_owned()))
        };
        return answer == expected || (around(answer).is_some() && around(answer) == around(expected));
    }
    answer == expected || (sorted(answer).is_some() && sorted(answer) == sorted(expected))
}

/// A rule of `wording.json`, and whether it was used.
pub struct Rule {
    pub rule: Value,
    pub used: bool,
}

/// Returns whether a pattern of a rule matches the place: exactly, or after a `*`.
fn names(pattern: &str, place: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => place.ends_with(end),
        None => place == pattern,
    }
}

impl Rule {
    pub fn load() -> Vec<Rule> {
        let file: Value = serde_json::from_str(include_str!("wording.json")).unwrap();
        let rules = file["rules"].as_array().unwrap().iter();
        rules
            .map(|rule| {
                assert!(rule["evidence"].is_string(), "{rule} has no evidence");
                Rule {
                    rule: rule.clone(),
                    used: false,
                }
            })
            .collect()
    }

    pub fn covers(&self, operation: &str, place: &str, constraint: &str) -> bool {
        let named = |member: &str, name: &str| match &self.rule[member] {
            Value::Null => true,
            Value::Array(names) => names.iter().any(|each| each == name),
            one => one == name,
        };
        let at = match &self.rule["at"] {
            Value::Array(patterns) => patterns.iter().any(|each| names(each.as_str().unwrap(), place)),
            one => names(one.as_str().unwrap(), place),
        };
        at && named("operations", operation) && named("broken", constraint)
    }

    /// Returns the rule's text, or nothing if the service's framework does not check the constraint.
    pub fn says(&self, place: &Place<'_>, broken: &Break) -> Option<String> {
        let text = self.rule["says"].as_str()?;
        let value = match &broken.value {
            None => "null".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let text = text
            .replace("$value", &value)
            .replace("$Path", &place.model_path())
            .replace("$path", &place.path());
        Some(text.replace("$phrase", &broken.phrase))
    }
}
