//! The differences between two answers that the fuzzer ignores.
//!
//! - **Error texts**: exceptions are compared by their kind, and a cancelled transaction by the kinds of its reasons.
//!   DynamoDB Local's texts often differ from AWS's.
//! - **Order**, where none is promised: of sets, of the items of a Scan, of a BatchGetItem and of an index's Query.
//! - **Which of two errors**: where one side cancels a transaction because of an action, the other may refuse the whole
//!   request (`not-a-cancellation` in the known differences).
//! - **`ConsumedCapacity`** that was not requested, or of a Query without a result, for which AWS charges.
//! - **Notation of numbers**: AWS keeps the value, and DynamoDB Local the text in lists and maps.
//! - **A `LastEvaluatedKey` without later items**: AWS returns it where a page stops at its limit.
//! - **Pages** whose order is not guaranteed: only all pages together are compared.
//! - **A repeated key in a BatchGetItem** with numbers in different notations: AWS returns the item once.
//! - **Empty `Attributes`**, which AWS omits.

use serde_json::{Value, json};

use dynatwin_case::{Reply, canonical};

/// Returns whether two answers are equal except for these differences.
pub(super) fn same(operation: &str, request: &Value, ours: &Reply, theirs: &Reply) -> bool {
    loose(operation, request, ours) == loose(operation, request, theirs)
}

/// Returns a value with its numbers and sets in canonical form.
pub(super) fn settled(value: &Value) -> Value {
    let mut value = value.clone();
    settle_numbers(&mut value);
    canonical("", &value)
}

/// Returns the part of an answer that is compared.
fn loose(operation: &str, request: &Value, reply: &Reply) -> Value {
    if reply.status != 200 {
        return refusal(operation, reply);
    }
    let mut answer = reply.body.clone();
    settle_numbers(&mut answer);
    let mut answer = canonical(operation, &answer);
    match operation {
        "CreateTable" | "UpdateTable" => return "done".into(),
        "DescribeTable" => return description(&answer["Table"]),
        "BatchGetItem" => once(&mut answer["Responses"]),
        _ => {}
    }
    if let Some(members) = answer.as_object_mut() {
        if request.get("ReturnConsumedCapacity").is_none() || members.get("ScannedCount") == Some(&json!(0)) {
            members.remove("ConsumedCapacity");
        }
        members.remove("LastEvaluatedKey");
        members.retain(|name, value| name != "Attributes" || value.as_object().is_none_or(|object| !object.is_empty()));
        if request.get("IndexName").is_some()
            && let Some(Value::Array(items)) = members.get_mut("Items")
        {
            items.sort_by_key(Value::to_string);
        }
    }
    answer
}

/// Returns the part of a table's description that is compared.
fn description(table: &Value) -> Value {
    let list = |value: &Value, members: &[&str]| {
        let elements = value.as_array().into_iter().flatten();
        let element = |each: &Value| members.iter().map(|name| each[*name].clone()).collect();
        let mut list: Vec<Value> = elements.map(element).collect();
        list.sort_by_key(Value::to_string);
        list
    };
    let index = ["IndexName", "KeySchema", "ItemCount"];
    json!([
        table["KeySchema"],
        table["ItemCount"],
        table["TableStatus"],
        table["StreamSpecification"],
        list(&table["AttributeDefinitions"], &["AttributeName", "AttributeType"]),
        list(&table["GlobalSecondaryIndexes"], &index),
        list(&table["LocalSecondaryIndexes"], &index),
    ])
}

fn once(tables: &mut Value) {
    for items in tables
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter_map(|(_, items)| items.as_array_mut())
    {
        items.dedup();
    }
}

fn refusal(operation: &str, reply: &Reply) -> Value {
    let error = reply.error().unwrap_or_default();
    let kind = match error.split(':').next().unwrap_or_default() {
        "DuplicateItem" => "DuplicateItemException",
        kind => kind,
    };
    if operation.starts_with("Transact") || operation == "ExecuteTransaction" {
        let reasons = reply.body["CancellationReasons"].as_array().into_iter().flatten();
        let codes: Vec<&str> = reasons.filter_map(|reason| reason["Code"].as_str()).collect();
        // One side reports it for the action, the other for the request.
        if kind == "ValidationException" || codes.contains(&"ValidationError") || codes.contains(&"DuplicateItem") {
            return "refused".into();
        }
        return codes.into();
    }
    kind.into()
}

/// Rewrites the numbers of a value in canonical form.
fn settle_numbers(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(settle_numbers),
        Value::Object(object) => {
            for (name, value) in object {
                match value {
                    Value::String(text) if name == "N" => *text = plain(text),
                    Value::Array(members) if name == "NS" => {
                        let texts = members.iter().filter_map(Value::as_str);
                        *members = texts.map(|text| plain(text).into()).collect();
                    }
                    other => settle_numbers(other),
                }
            }
        }
        _ => {}
    }
}

/// Returns a number as its digits without leading and trailing zeros, and its power of ten.
fn plain(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let Ok(exponent) = exponent.parse::<i64>() else {
        return number.to_owned();
    };
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let power = exponent - fraction.len() as i64 + (digits.len() - kept.len()) as i64;
    match kept.trim_start_matches('0') {
        "" => "0".to_owned(),
        kept => format!("{sign}{kept}e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One side refuses a transaction for what the other cancels it for; other reasons are compared in their order.
    #[test]
    fn refusals_of_transactions() {
        let refused = |kind: &str| Reply {
            status: 400,
            body: json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": "no"}),
        };
        let cancelled = |codes: &[&str]| Reply {
            status: 400,
            body: json!({
                "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "CancellationReasons": codes.iter().map(|code| json!({"Code": code})).collect::<Vec<_>>(),
            }),
        };
        let validation = || refused("ValidationException");
        for (operation, ours, theirs, expected) in [
            (
                "TransactWriteItems",
                validation(),
                cancelled(&["None", "ValidationError"]),
                true,
            ),
            ("ExecuteTransaction", validation(), cancelled(&["DuplicateItem"]), true),
            (
                "TransactWriteItems",
                validation(),
                cancelled(&["ConditionalCheckFailed"]),
                false,
            ),
            ("TransactWriteItems", validation(), cancelled(&[]), false),
            (
                "TransactWriteItems",
                cancelled(&["None", "ConditionalCheckFailed"]),
                cancelled(&["ConditionalCheckFailed", "None"]),
                false,
            ),
            (
                "ExecuteStatement",
                refused("DuplicateItem"),
                refused("DuplicateItemException"),
                true,
            ),
            ("PutItem", validation(), refused("ResourceNotFoundException"), false),
        ] {
            let equal = same(operation, &json!({}), &ours, &theirs);
            assert_eq!(equal, expected, "{operation}: {ours}, {theirs}");
        }
    }

    #[test]
    fn numbers_of_one_value() {
        for (one, other) in [
            ("1e2", "100"),
            ("1.50", "1.5"),
            ("-0", "0.0"),
            ("0.001", "1E-3"),
            ("-1200", "-12e2"),
        ] {
            assert_eq!(plain(one), plain(other), "{one} {other}");
        }
        assert_ne!(plain("1"), plain("10"));
        assert_ne!(plain("1"), plain("-1"));
    }
}
