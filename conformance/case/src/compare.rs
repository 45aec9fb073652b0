//! Comparing answers.

use serde_json::Value;

/// How answers are compared.
///
/// ```
/// use dynatwin_case::{Comparison, Expect, Reply};
/// use serde_json::json;
///
/// let expect = Expect::Has(json!({"Table": {"TableId": "a"}}));
/// let reply = Reply { status: 200, body: json!({"Table": {"TableId": "b", "ItemCount": 0}}) };
/// assert!(expect.holds(Comparison::Loose, "DescribeTable", &reply));
/// assert!(!expect.holds(Comparison::Exact, "DescribeTable", &reply));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Exactly, for a service with the seed and clock that the cases are written for.
    Exact,
    /// Without order where none is promised (sets, the items of a Scan and of a BatchGetItem, `UnprocessedItems`, lists of
    /// tables, tags and indexes), and with generated values (times, ids, tokens) equal if they are of the same JSON type. In
    /// texts, all ids are equal.
    Loose,
}

/// Suffixes of the names of members with generated values.
const GENERATED: [&str; 5] = ["DateTime", "Arn", "Id", "Label", "ShardIterator"];

/// Members whose elements end with a creation time.
const STAMPED: [&str; 1] = ["ContributorInsightsRuleList"];

/// The form that all [loosely](Comparison::Loose) equal answers of an operation share.
///
/// ```
/// use dynatwin_case::canonical;
/// use serde_json::json;
///
/// let [one, other] = [json!({"Item": {"a": {"SS": ["x", "y"]}}}), json!({"Item": {"a": {"SS": ["y", "x"]}}})];
/// assert_eq!(canonical("GetItem", &one), canonical("GetItem", &other));
/// ```
pub fn canonical(operation: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    settle(&mut answer);
    let lists: &[&str] = match operation {
        "Scan" => &["/Items"],
        "BatchGetItem" => &["/Responses"],
        "BatchWriteItem" => &["/UnprocessedItems"],
        "ListTables" => &["/TableNames"],
        "ListTagsOfResource" => &["/Tags"],
        "CreateTable" | "DeleteTable" | "UpdateTable" => &["/TableDescription"],
        "DescribeTable" => &["/Table"],
        _ => &[],
    };
    for list in lists {
        if let Some(part) = answer.pointer_mut(list) {
            sort_lists(part);
        }
    }
    answer
}

/// Sorts sets, and replaces generated values.
fn settle(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(settle),
        Value::Object(object) => {
            for (name, value) in object {
                if matches!(name.as_str(), "SS" | "NS" | "BS") {
                    sort(value);
                } else if STAMPED.contains(&name.as_str()) {
                    value
                        .as_array_mut()
                        .into_iter()
                        .flatten()
                        .for_each(strip_trailing_digits);
                } else if is_generated(name) && !value.is_object() {
                    *value = Value::from(kind(value));
                } else {
                    settle(value);
                }
            }
        }
        _ => {}
    }
}

fn strip_trailing_digits(value: &mut Value) {
    if let Value::String(text) = value {
        text.truncate(text.trim_end_matches(|letter: char| letter.is_ascii_digit()).len());
    }
}

fn is_generated(name: &str) -> bool {
    GENERATED.iter().any(|end| name.ends_with(end))
}

/// A text in which all ids are equal: `ca1e5b4c-e23a-444d-a8c6-2fc86ce009d8`, a backup's `01767225660000-e045941d`, and a
/// policy's revision `1767225600000`, which is a moment in milliseconds.
pub(crate) fn without_ids(text: &str) -> String {
    const ID: &[usize] = &[8, 4, 4, 4, 12];
    const BACKUP: &[usize] = &[14, 8];
    let is = |word: Option<&str>, lengths: &[usize]| {
        let groups = word.unwrap_or_default().split('-');
        let hex = |group: &str| group.chars().all(|letter| letter.is_ascii_hexdigit());
        groups.clone().map(str::len).eq(lengths.iter().copied()) && groups.clone().all(hex)
    };
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let masked = words.map(|word| match word {
        _ if is(word.get(..36), ID) => format!("(id){}", &word[36..]),
        _ if is(word.get(..23), BACKUP) => format!("(id){}", &word[23..]),
        _ if is_revision(word) => format!("(id){}", &word[13..]),
        _ => word.to_owned(),
    });
    masked.collect()
}

fn is_revision(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    digits.len() == 13 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Sorts a list, or all lists of an object, without the lists in their elements, which may be attributes.
fn sort_lists(value: &mut Value) {
    match value {
        Value::Array(_) => sort(value),
        Value::Object(object) => object.values_mut().for_each(sort),
        _ => {}
    }
}

fn sort(value: &mut Value) {
    if let Value::Array(list) = value {
        // By name first, for expectations that have only some of the members.
        list.sort_by_key(|each| (each["IndexName"].to_string(), each.to_string()));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Null => "nothing",
        _ => "something",
    }
}

/// Whether `whole` contains `part`: each member of an object, each element of a list.
///
/// ```
/// use dynatwin_case::has;
/// use serde_json::json;
///
/// assert!(has(&json!({"a": [{"b": 1, "c": 2}]}), &json!({"a": [{"b": 1}]})));
/// assert!(!has(&json!({"a": [1, 2]}), &json!({"a": [1]})));
/// ```
pub fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|there| has(there, value))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| has(whole, part))
        }
        _ => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_in_texts() {
        for (text, masked) in [
            (
                "for tableId: ca1e5b4c-e23a-444d-a8c6-2fc86ce009d8, or",
                "for tableId: (id), or",
            ),
            ("ca1e5b4c-e23a-444d-a8c6-2fc86ce009d8", "(id)"),
            (
                "ca1e5b4c-e23a-444d-a8c62-2fc86ce009d",
                "ca1e5b4c-e23a-444d-a8c62-2fc86ce009d",
            ),
            ("one/backup/01767225660000-e045941d.", "one/backup/(id)."),
            ("01767225660000-e045941", "01767225660000-e045941"),
            ("revision id 1767225600000.", "revision id (id)."),
            ("17672256000001", "17672256000001"),
            ("é-é", "é-é"),
        ] {
            assert_eq!(without_ids(text), masked);
        }
    }

    #[test]
    fn looseness() {
        let check = |operation: &str, one: Value, other: Value, same: bool| {
            let equal = canonical(operation, &one) == canonical(operation, &other);
            assert_eq!(equal, same, "{operation} {one} {other}");
        };
        let items = |list: Value| json!({"Items": list});
        check(
            "Scan",
            items(json!([{"a": {"S": "1"}}, {"a": {"S": "2"}}])),
            items(json!([{"a": {"S": "2"}}, {"a": {"S": "1"}}])),
            true,
        );
        check("Query", items(json!([1, 2])), items(json!([2, 1])), false);
        check("GetItem", json!({"L": [1, 2]}), json!({"L": [2, 1]}), false);
        check("GetItem", json!({"NS": ["1", "2"]}), json!({"NS": ["2", "1"]}), true);
        check(
            "BatchGetItem",
            json!({"Responses": {"t": [1, 2]}}),
            json!({"Responses": {"t": [2, 1]}}),
            true,
        );
        check(
            "DescribeTable",
            json!({"Table": {"TableId": "x"}}),
            json!({"Table": {"TableId": "y"}}),
            true,
        );
        check(
            "DescribeTable",
            json!({"Table": {"TableId": "x"}}),
            json!({"Table": {}}),
            false,
        );
        check(
            "DescribeTable",
            json!({"Table": {"CreationDateTime": 1}}),
            json!({"Table": {"CreationDateTime": "1"}}),
            false,
        );
    }
}
