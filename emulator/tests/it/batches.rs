//! The 16,000,000 bytes that a BatchGetItem returns, over several tables and to the byte, and what it leaves unprocessed.

use std::fmt::Write;

use crate::common::Twin;
use serde_json::{Value, json};

/// The largest sum of the sizes of the items.
const MOST: usize = 16_000_000;

/// A size of which forty items fit.
const SIZE: usize = 400_000;

/// A table of a request: its name, its keys, and the other members of its entry.
type Entry = (&'static str, Vec<String>, Value);

/// Returns a twin with the tables `one`, `two` and `three`, without items.
fn twin() -> Twin {
    let twin = Twin::new(1);
    for table in ["one", "two", "three"] {
        twin.ok(
            "CreateTable",
            &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
        );
    }
    twin
}

/// Puts an item of this size into a table.
fn put(twin: &Twin, table: &str, key: &str, size: usize) {
    let text = "v".repeat(size - "pk".len() - key.len() - "v".len());
    let item = json!({"pk": {"S": key}, "v": {"S": text}});
    twin.ok("PutItem", &json!({"TableName": table, "Item": item}));
}

/// Puts items of the same size into a table, and returns their keys.
fn fill(twin: &Twin, table: &str, prefix: &str, count: usize, size: usize) -> Vec<String> {
    let keys: Vec<String> = (0..count).map(|at| format!("{prefix}{at}")).collect();
    keys.iter().for_each(|key| put(twin, table, key, size));
    keys
}

fn keys(keys: &[String]) -> Value {
    keys.iter().map(|key| json!({"pk": {"S": key}})).collect()
}

/// Sends a request with its tables in this order, and checks how many items of each table it returns: the others are
/// unprocessed, with the members of their entry.
fn check(twin: &Twin, entries: &[Entry], expect: &[usize]) -> Value {
    let mut items = String::new();
    let mut unprocessed = json!({});
    for ((table, all, members), count) in entries.iter().zip(expect) {
        let mut entry = members.clone();
        entry["Keys"] = keys(all);
        let comma = if items.is_empty() { "" } else { "," };
        write!(items, "{comma}\"{table}\":{entry}").unwrap();
        if *count < all.len() {
            entry["Keys"] = keys(&all[*count..]);
            unprocessed[*table] = entry;
        }
    }
    let request = format!("{{\"RequestItems\":{{{items}}},\"ReturnConsumedCapacity\":\"TOTAL\"}}");
    let answer = twin.engine.dispatch(&twin.caller, "BatchGetItem", request.as_bytes());
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    for ((table, all, members), count) in entries.iter().zip(expect) {
        let found = answer["Responses"][*table]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .iter();
        let found: Vec<Value> = found.map(|item| json!({"pk": item["pk"]})).collect();
        assert_eq!(json!(found), keys(&all[..*count]), "{table} {members} {expect:?}");
    }
    assert_eq!(answer["UnprocessedKeys"], unprocessed, "{expect:?}");
    answer
}

fn projection() -> Value {
    json!({"ProjectionExpression": "pk"})
}

#[test]
fn the_items_of_all_tables_share_one_limit() {
    let twin = twin();
    let (one, two) = (fill(&twin, "one", "k", 45, SIZE), fill(&twin, "two", "k", 25, SIZE));
    let missing: Vec<String> = (0..10).map(|at| format!("none{at}")).collect();
    let of = |table: &'static str, keys: &[String]| (table, keys.to_vec(), projection());
    for (entries, expect) in [
        (vec![of("one", &one)], vec![40]),
        (vec![of("one", &one[..25]), of("two", &two)], vec![25, 15]),
        (vec![of("two", &two), of("one", &one)], vec![25, 15]),
        (vec![of("one", &one), of("two", &two)], vec![40, 0]),
        (vec![of("one", &one[..40]), of("two", &two[..1])], vec![40, 0]),
        (
            vec![of("one", &one[..25]), of("two", &two[..16]), of("three", &missing[..1])],
            vec![25, 15, 0],
        ),
        (
            vec![of("two", &two), of("one", &one[..17]), of("three", &missing)],
            vec![25, 15, 0],
        ),
        (
            vec![of("one", &one), of("three", &missing), of("two", &two)],
            vec![40, 0, 0],
        ),
    ] {
        check(&twin, &entries, &expect);
    }
}

/// Each entry that is left over can be sent again as it is.
#[test]
fn unprocessed_keys_have_the_members_of_their_table() {
    let twin = twin();
    let (one, two) = (fill(&twin, "one", "k", 43, SIZE), fill(&twin, "two", "k", 2, SIZE));
    let named = |consistent: Option<bool>| {
        let mut members =
            json!({"ProjectionExpression": "#p, #w", "ExpressionAttributeNames": {"#p": "pk", "#w": "w"}});
        if let Some(consistent) = consistent {
            members["ConsistentRead"] = consistent.into();
        }
        members
    };
    let with = |mut members: Value, consistent: bool| {
        members["ConsistentRead"] = consistent.into();
        members
    };
    let expressions = [
        projection(),
        with(projection(), true),
        with(projection(), false),
        named(None),
        named(Some(true)),
        named(Some(false)),
    ];
    let names = [
        json!({"AttributesToGet": ["pk"]}),
        with(json!({"AttributesToGet": ["w", "pk"]}), true),
        with(json!({"AttributesToGet": ["pk", "w"]}), false),
    ];
    // A request has members of one kind.
    for kind in [&expressions[..], &names[..]] {
        for first in kind {
            for second in kind {
                let entries = [
                    ("one", one.clone(), first.clone()),
                    ("two", two.clone(), second.clone()),
                ];
                let answer = check(&twin, &entries, &[40, 0]);
                // An item takes 98 units of 4 KB, or half of them.
                let units = if first["ConsistentRead"] == true { 98.0 } else { 49.0 };
                let consumed = json!([{"TableName": "one", "CapacityUnits": 40.0 * units}, {"TableName": "two", "CapacityUnits": 0.0}]);
                assert_eq!(answer["ConsumedCapacity"], consumed, "{first} {second}");
            }
        }
    }
}

#[test]
fn the_last_byte_of_the_limit_is_returned() {
    for (rest, fits) in [(0, true), (1, false)] {
        let twin = twin();
        let one = fill(&twin, "one", "k", 39, SIZE + 1000);
        put(&twin, "two", "last", MOST - 39 * (SIZE + 1000) + rest);
        let two = vec!["last".to_owned(), "none".to_owned()];
        let entries = [("one", one, projection()), ("two", two, projection())];
        check(&twin, &entries, &[39, usize::from(fits)]);
    }
}

/// After an item that does not fit, none is returned that would.
#[test]
fn the_first_item_that_does_not_fit_ends_the_answer() {
    let twin = twin();
    let mut one = fill(&twin, "one", "k", 39, SIZE + 1000);
    put(&twin, "one", "large", SIZE);
    put(&twin, "one", "small", 100);
    put(&twin, "two", "small", 100);
    let small = || vec!["small".to_owned()];
    let returned = [
        ("one", [&one[..], &small()].concat(), projection()),
        ("two", small(), projection()),
    ];
    check(&twin, &returned, &[40, 1]);
    one.extend(["large", "small"].map(str::to_owned));
    check(
        &twin,
        &[("one", one, projection()), ("two", small(), projection())],
        &[39, 0],
    );
}

/// The rest of a request can be sent until nothing is left.
#[test]
fn unprocessed_keys_are_a_request() {
    let twin = twin();
    let (one, two) = (fill(&twin, "one", "k", 50, SIZE), fill(&twin, "two", "k", 50, SIZE));
    let entry = |all: &[String]| json!({"Keys": keys(all), "ProjectionExpression": "#p", "ExpressionAttributeNames": {"#p": "pk"}});
    let mut rest = json!({"one": entry(&one), "two": entry(&two)});
    let mut counts = Vec::new();
    while rest != json!({}) {
        let answer = twin.ok("BatchGetItem", &json!({"RequestItems": rest}));
        let responses = answer["Responses"].as_object().unwrap().values();
        counts.push(responses.map(|items| items.as_array().unwrap().len()).sum::<usize>());
        rest = answer["UnprocessedKeys"].clone();
    }
    assert_eq!(counts, [40, 40, 20]);
}

/// A number that is requested twice, written differently, is read once, and is not among what is left.
#[test]
fn unprocessed_keys_are_those_of_numbers_that_were_not_read() {
    let twin = Twin::new(1);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "num", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}]}),
    );
    let text = "v".repeat(SIZE - 5);
    for number in 0..=MOST / SIZE {
        let item = json!({"pk": {"N": number.to_string()}, "v": {"S": text}});
        twin.ok("PutItem", &json!({"TableName": "num", "Item": item}));
    }
    let mut numbers: Vec<String> = (0..=MOST / SIZE).map(|number| number.to_string()).collect();
    numbers.insert(1, "0.0".to_owned());
    let keys: Vec<Value> = numbers.iter().map(|number| json!({"pk": {"N": number}})).collect();
    let answer = twin.ok("BatchGetItem", &json!({"RequestItems": {"num": {"Keys": keys}}}));
    assert_eq!(answer["Responses"]["num"].as_array().unwrap().len(), MOST / SIZE);
    assert_eq!(
        answer["UnprocessedKeys"],
        json!({"num": {"Keys": [{"pk": {"N": "40"}}]}})
    );
}
