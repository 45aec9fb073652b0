//! Short forms of long texts, lists and nested values, and references to earlier answers.

use serde_json::{Map, Value, json};

use crate::Error;

/// The maximum size of an expanded text or list in bytes, so that a mistake in a file does not exhaust memory.
const LONGEST: usize = 64 << 20;

/// The maximum depth of `$nest`.
const DEEPEST: u64 = 100;

/// Expands the short forms of a value.
///
/// | Short form | Value |
/// |---|---|
/// | `{"$text": ["k", 2049, "!", 1]}` | a text of repeated texts: 2,049 times `k`, then `!` |
/// | `{"$list": [element, 101]}` | a list of elements, in which `$i` is the index |
/// | `{"$nest": 32}` | an attribute value of that many levels |
///
/// ```
/// use dynatwin_case::expand;
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

/// Resolves references to the answers of earlier steps: `{"$answer": [0, "/ShardIterator"]}` is the value that the answer to
/// the first step has at that JSON pointer.
///
/// ```
/// use dynatwin_case::fill;
/// use serde_json::json;
///
/// let answers = [json!({"a": [7]})];
/// assert_eq!(fill(&json!([{"$answer": [0, "/a/0"]}]), &answers), Ok(json!([7])));
/// assert!(fill(&json!({"$answer": [0, "/b"]}), &answers).is_err());
/// ```
///
/// # Errors
///
/// Fails if an answer lacks a referenced value.
pub fn fill(value: &Value, answers: &[Value]) -> Result<Value, Error> {
    match value {
        Value::Array(list) => list.iter().map(|each| fill(each, answers)).collect(),
        Value::Object(object) => {
            if let Some(("$answer", of)) = form(object) {
                let step = of[0].as_u64().and_then(|step| usize::try_from(step).ok());
                let answer = step.and_then(|step| answers.get(step));
                let found = of[1].as_str().and_then(|pointer| answer?.pointer(pointer));
                let missing = || Error::new(format!("{of} of the answers before is missing"));
                return found.cloned().ok_or_else(missing);
            }
            let members = object.iter();
            let members = members.map(|(name, value)| Ok((name.clone(), fill(value, answers)?)));
            Ok(Value::Object(members.collect::<Result<_, Error>>()?))
        }
        other => Ok(other.clone()),
    }
}

/// Fails if a short form is unknown or invalid; `answers` is the number of earlier steps.
pub(crate) fn check(value: &Value, answers: usize) -> Result<(), Error> {
    match value {
        Value::Array(list) => list.iter().try_for_each(|value| check(value, answers)),
        Value::Object(object) => match form(object) {
            // An attribute may have the name of a form: its value is an object, which the value of a form never is.
            Some((name, of)) if !of.is_object() => {
                if !is_valid(name, of, answers) {
                    return Err(Error::new(format!("unknown or invalid form {value}")));
                }
                check(of, answers)
            }
            _ => object.values().try_for_each(|value| check(value, answers)),
        },
        _ => Ok(()),
    }
}

fn is_valid(name: &str, of: &Value, answers: usize) -> bool {
    let list = of.as_array().map(Vec::as_slice).unwrap_or_default();
    match (name, list) {
        ("$text", parts) => {
            let pair = |pair: &[Value]| Some(pair[0].as_str()?.len().saturating_mul(times(pair.get(1)?)?));
            let lengths = parts.chunks(2).map(pair);
            let length = lengths.sum::<Option<usize>>();
            !parts.is_empty() && length.is_some_and(|length| length <= LONGEST)
        }
        ("$list", [element, count]) => {
            let length = element.to_string().len();
            times(count).is_some_and(|count| count.saturating_mul(length) <= LONGEST)
        }
        ("$nest", _) => of.as_u64().is_some_and(|levels| levels <= DEEPEST),
        ("$answer", [step, pointer]) => times(step).is_some_and(|step| step < answers) && pointer.is_string(),
        _ => false,
    }
}

fn form(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, of) = object.iter().next()?;
    (object.len() == 1 && name.starts_with('$')).then_some((name, of))
}

fn text(of: &Value) -> String {
    let parts = of.as_array().map(Vec::as_slice).unwrap_or_default();
    let repeated = |part: &[Value]| {
        let count = part.get(1).and_then(times).unwrap_or(0);
        part[0].as_str().unwrap_or_default().repeat(count)
    };
    parts.chunks(2).map(repeated).collect()
}

fn list(of: &Value) -> Value {
    let element = of[0].to_string();
    (0..times(&of[1]).unwrap_or(0))
        .filter_map(|at| serde_json::from_str(&element.replace("$i", &at.to_string())).ok())
        .map(|element| expand(&element))
        .collect()
}

fn nest(of: &Value) -> Value {
    (0..times(of).unwrap_or(0)).fold(json!({"S": "deep"}), |inner, _| json!({"M": {"m": inner}}))
}

fn times(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|times| times.try_into().ok())
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
            (json!({"$list": [{"$text": ["$i", 2]}, 2]}), json!(["00", "11"])),
        ] {
            assert_eq!((check(&short, 0), expand(&short)), (Ok(()), long), "{short}");
        }
    }

    #[test]
    fn valid_forms() {
        for (value, valid) in [
            (json!({"$answer": [1, "/a"]}), true),
            (json!({"$answer": [2, "/a"]}), false),
            (json!({"$answer": [0]}), false),
            (json!({"$text": ["a"]}), false),
            (json!({"$text": []}), false),
            (json!({"$text": ["a", u64::MAX]}), false),
            (json!({"$text": ["a", "b"]}), false),
            (json!({"$list": [{"$texts": "a"}, 2]}), false),
            (json!({"$list": [0, u64::MAX]}), false),
            (json!({"$nest": 101}), false),
            (json!({"$from": "a"}), false),
            (json!({"$from": {"S": "an attribute"}}), true),
            (json!({"$from": 1, "a": 2}), true),
        ] {
            assert_eq!(check(&value, 2).is_ok(), valid, "{value}");
        }
    }
}
