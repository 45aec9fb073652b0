//! The short forms in which cases write long things.

use serde_json::{Value, json};

use crate::check::{Outcome, present};

/// How long what a short form stands for may be, so that a slip in a file does not eat the memory.
const LONGEST: usize = 64 << 20;

/// What short forms stand for, and everything else as it is: `{"$text": ["k", 2049, "!", 1]}` is a text of texts and how
/// often each comes, `{"$list": [element, 101]}` a list in whose elements `$i` is the number, and `{"$nest": 32}` a value
/// of that many levels.
///
/// ```
/// use dynatwin_conformance::case::expand;
/// use serde_json::json;
///
/// assert_eq!(expand(&json!({"S": {"$text": ["ab", 2, "!", 1]}})), json!({"S": "abab!"}));
/// assert_eq!(expand(&json!({"$list": [{"N": "$i"}, 2]})), json!([{"N": "0"}, {"N": "1"}]));
/// ```
pub fn expand(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(expand).collect(),
        Value::Object(object) => match form(object) {
            Some(("$text", of)) => text(of).into(),
            Some(("$list", of)) => list(of),
            Some(("$nest", of)) => nest(of),
            _ => object
                .iter()
                .map(|(name, value)| (name.clone(), expand(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

/// A request, or an expectation, with what it takes from earlier answers: `{"$answer": [0, "/ShardIterator"]}` is what the
/// answer to the first step of `before` has there.
///
/// ```
/// use dynatwin_conformance::case::filled;
/// use serde_json::json;
///
/// let answers = [json!({"a": [7]})];
/// assert_eq!(filled(&json!([{"$answer": [0, "/a/0"]}]), &answers), Ok(json!([7])));
/// assert!(filled(&json!({"$answer": [0, "/b"]}), &answers).is_err());
/// ```
pub fn filled(value: &Value, answers: &[Value]) -> Outcome<Value> {
    match value {
        Value::Array(list) => list.iter().map(|each| filled(each, answers)).collect(),
        Value::Object(object) => {
            if let Some(("$answer", of)) = form(object) {
                let step = of[0].as_u64().and_then(|step| usize::try_from(step).ok());
                let answer = step.and_then(|step| answers.get(step));
                let found = of[1].as_str().and_then(|place| answer?.pointer(place));
                return Ok(present(&format!("{of} of the answers before"), found)?.clone());
            }
            let members = object.iter();
            let members = members.map(|(name, value)| Ok((name.clone(), filled(value, answers)?)));
            Ok(Value::Object(members.collect::<Outcome<_>>()?))
        }
        other => Ok(other.clone()),
    }
}

/// A short form that is not known here.
pub(super) fn unknown_form(value: &Value) -> Option<String> {
    match value {
        Value::Array(list) => list.iter().find_map(unknown_form),
        Value::Object(object) => match form(object) {
            Some(("$text" | "$nest" | "$answer", _)) => None,
            Some(("$list", of)) => unknown_form(of),
            // An object of one member may well be one with a name from `$` on, such as an attribute.
            Some((other, of)) if !of.is_object() => Some(format!("the form `{other}`")),
            _ => object.values().find_map(unknown_form),
        },
        _ => None,
    }
}

fn form(object: &serde_json::Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, of) = object.iter().next()?;
    (object.len() == 1 && name.starts_with('$')).then_some((name, of))
}

fn text(of: &Value) -> String {
    let mut whole = String::new();
    for part in of.as_array().map(Vec::as_slice).unwrap_or_default().chunks(2) {
        let (text, count) = (part[0].as_str().unwrap_or_default(), part.get(1).map_or(0, times));
        if whole.len() + text.len().saturating_mul(count) <= LONGEST {
            whole.push_str(&text.repeat(count));
        }
    }
    whole
}

fn list(of: &Value) -> Value {
    let element = of[0].to_string();
    (0..times(&of[1]).min(LONGEST / element.len().max(1)))
        .filter_map(|at| serde_json::from_str(&element.replace("$i", &at.to_string())).ok())
        .map(|element| expand(&element))
        .collect()
}

fn nest(of: &Value) -> Value {
    (0..times(of).min(64)).fold(json!({"S": "deep"}), |inner, _| json!({"M": {"m": inner}}))
}

fn times(value: &Value) -> usize {
    value.as_u64().and_then(|times| times.try_into().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (short, long) in [
            (json!({"$nest": 2}), json!({"M": {"m": {"M": {"m": {"S": "deep"}}}}})),
            (json!([{"$text": ["a", 1]}, 7]), json!(["a", 7])),
            (json!({"#a": {"$text": ["b", 2]}}), json!({"#a": "bb"})),
            (json!({"$text": ["a", u64::MAX]}), json!("")),
        ] {
            assert_eq!(expand(&short), long, "{short}");
        }
    }
}
