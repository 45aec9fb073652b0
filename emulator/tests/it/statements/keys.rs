//! Statements with several conditions on a sort key: the items they return, and those they read and pay for.

use crate::common::Twin;
use serde_json::{Value, json};

/// The sort keys of the partition, which has as many items, each of one read unit.
const KEYS: std::ops::Range<i64> = 0..10;

/// A condition on the sort key, and the keys that satisfy it.
type Condition = (&'static str, fn(i64) -> bool);

/// A condition on a sort key that is a text.
type TextCondition = (&'static str, fn(&str) -> bool);

const CONDITIONS: [Condition; 13] = [
    ("sk > 2", |sk| sk > 2),
    ("sk > 5", |sk| sk > 5),
    ("sk >= 6", |sk| sk >= 6),
    ("sk < 8", |sk| sk < 8),
    ("sk <= 5", |sk| sk <= 5),
    ("7 > sk", |sk| sk < 7),
    ("sk = 6", |sk| sk == 6),
    ("sk = 6.0", |sk| sk == 6),
    ("sk BETWEEN 2 AND 6", |sk| (2..=6).contains(&sk)),
    ("sk BETWEEN 6 AND 9", |sk| (6..=9).contains(&sk)),
    ("sk IN [6, 2, 8]", |sk| [2, 6, 8].contains(&sk)),
    ("sk IN [7]", |sk| sk == 7),
    ("sk > 100", |sk| sk > 100),
];

/// Returns a twin with the tables `num`, whose sort keys are numbers, and `text`, whose sort keys are the same in letters. The
/// items are of 4 KB.
fn twin() -> Twin {
    let twin = Twin::new(1);
    for (table, kind) in [("num", "N"), ("text", "S")] {
        twin.ok(
            "CreateTable",
            &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": kind}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}),
        );
    }
    for sk in KEYS {
        let text = "x".repeat(4000);
        let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "text": {"S": text}});
        twin.ok("PutItem", &json!({"TableName": "num", "Item": item}));
    }
    twin
}

fn ask(twin: &Twin, statement: &str, limit: Option<usize>, token: Option<&Value>) -> Value {
    let mut request = json!({"Statement": statement, "ConsistentRead": true, "ReturnConsumedCapacity": "TOTAL"});
    if let Some(limit) = limit {
        request["Limit"] = limit.into();
    }
    if let Some(token) = token {
        request["NextToken"] = token.clone();
    }
    twin.ok("ExecuteStatement", &request)
}

fn keys(answer: &Value) -> Vec<i64> {
    let items = answer["Items"].as_array().unwrap().iter();
    items
        .map(|item| item["sk"]["N"].as_str().unwrap().parse().unwrap())
        .collect()
}

/// Checks the items of a statement in whole and page by page, and that it reads no other items.
fn check(twin: &Twin, conditions: &str, expect: &[i64]) {
    let statement = format!("SELECT sk FROM num WHERE {conditions}");
    let whole = ask(twin, &statement, None, None);
    assert_eq!(keys(&whole), expect, "{statement}");
    assert!(whole.get("NextToken").is_none(), "{statement}");
    let units = whole["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap();
    // What reading nothing costs is another matter.
    assert!(
        units == expect.len() as f64 || expect.is_empty() && units <= 1.0,
        "{statement}: {units} units for {expect:?}"
    );
    for limit in [1, 2] {
        let mut token = None;
        let mut found = Vec::new();
        loop {
            let page = ask(twin, &statement, Some(limit), token.as_ref());
            let read = keys(&page);
            token = page.get("NextToken").cloned();
            assert_eq!(
                token.is_some(),
                read.len() == limit,
                "{statement}, by {limit}: {read:?}"
            );
            found.extend(read);
            if token.is_none() {
                break;
            }
        }
        assert_eq!(found, expect, "{statement}, by {limit}");
    }
}

#[test]
fn every_condition_on_a_sort_key_limits_what_is_read() {
    let twin = twin();
    for (first, one) in CONDITIONS {
        let expect: Vec<i64> = KEYS.filter(|sk| one(*sk)).collect();
        check(&twin, &format!("pk = 'a' AND {first}"), &expect);
        check(&twin, &format!("{first} AND pk = 'a'"), &expect);
        for (second, two) in CONDITIONS {
            let expect: Vec<i64> = KEYS.filter(|sk| one(*sk) && two(*sk)).collect();
            check(&twin, &format!("pk = 'a' AND {first} AND {second}"), &expect);
            check(&twin, &format!("{first} AND pk = 'a' AND ({second})"), &expect);
            for (third, three) in CONDITIONS {
                let expect: Vec<i64> = expect.iter().copied().filter(|sk| three(*sk)).collect();
                check(
                    &twin,
                    &format!("pk = 'a' AND {first} AND {second} AND {third}"),
                    &expect,
                );
            }
        }
    }
}

#[test]
fn four_and_five_conditions_on_a_sort_key() {
    let twin = twin();
    for (conditions, expect) in [
        ("sk > 1 AND sk < 9 AND sk > 3 AND sk < 8", &[4, 5, 6, 7][..]),
        ("sk > 1 AND sk < 9 AND sk > 3 AND sk < 8 AND sk >= 6", &[6, 7]),
        ("sk > 1 AND sk < 9 AND sk > 3 AND sk < 8 AND sk = 6", &[6]),
        ("sk > 1 AND sk < 9 AND sk > 3 AND sk < 8 AND sk = 9", &[]),
        ("sk >= 4 AND sk <= 4 AND sk >= 4 AND sk <= 4", &[4]),
        (
            "sk BETWEEN 1 AND 8 AND sk BETWEEN 2 AND 7 AND sk BETWEEN 3 AND 6 AND sk BETWEEN 4 AND 9",
            &[4, 5, 6],
        ),
    ] {
        check(&twin, &format!("pk = 'a' AND {conditions}"), expect);
    }
}

/// The branches of OR are ranges of their own. Each has several conditions.
#[test]
fn every_condition_of_a_branch_limits_what_is_read() {
    let twin = twin();
    for (conditions, expect) in [
        (
            "(pk = 'a' AND sk > 0 AND sk < 9 AND sk < 3) OR (pk = 'a' AND sk > 5 AND sk < 9 AND sk > 6)",
            &[1, 2, 7, 8][..],
        ),
        ("pk = 'a' AND (sk = 1 OR sk = 8) AND sk > 0 AND sk < 9 AND sk > 5", &[8]),
        ("pk = 'a' AND (sk < 2 OR sk > 7) AND sk <> 9", &[0, 1, 8]),
        ("pk IN ['a', 'b'] AND sk > 2 AND sk < 9 AND sk > 6", &[7, 8]),
        ("(pk = 'a' OR pk = 'b') AND sk > 2 AND sk < 9 AND sk > 6", &[7, 8]),
        (
            "pk = 'a' AND sk IN [1, 3, 5, 7] AND sk > 0 AND sk < 9 AND sk > 4",
            &[5, 7],
        ),
        ("pk = 'a' AND pk = 'a' AND sk > 7", &[8, 9]),
        ("pk = 'a' AND pk = 'b' AND sk > 7", &[]),
    ] {
        let statement = format!("SELECT sk FROM num WHERE {conditions}");
        assert_eq!(keys(&ask(&twin, &statement, None, None)), expect, "{statement}");
    }
}

/// The order of the sort keys is that of each partition.
#[test]
fn the_ranges_of_every_partition_are_read_in_order() {
    let twin = twin();
    for sk in KEYS {
        let item = json!({"pk": {"S": "b"}, "sk": {"N": sk.to_string()}});
        twin.ok("PutItem", &json!({"TableName": "num", "Item": item}));
    }
    let conditions = "pk IN ['b', 'a'] AND sk IN [6, 2, 8]";
    for (order, expect) in [
        ("pk, sk", "a2 a6 a8 b2 b6 b8"),
        ("pk, sk DESC", "a8 a6 a2 b8 b6 b2"),
        ("pk DESC, sk", "b2 b6 b8 a2 a6 a8"),
        ("pk DESC, sk DESC", "b8 b6 b2 a8 a6 a2"),
    ] {
        let statement = format!("SELECT pk, sk FROM num WHERE {conditions} ORDER BY {order}");
        for limit in [None, Some(1), Some(2)] {
            let (mut found, mut token) = (Vec::new(), None);
            loop {
                let page = ask(&twin, &statement, limit, token.as_ref());
                let items = page["Items"].as_array().unwrap().iter();
                let text = |item: &Value, name: &str, kind: &str| item[name][kind].as_str().unwrap().to_owned();
                found.extend(items.map(|item| text(item, "pk", "S") + &text(item, "sk", "N")));
                token = page.get("NextToken").cloned();
                if token.is_none() {
                    break;
                }
            }
            assert_eq!(found.join(" "), expect, "{order}, by {limit:?}");
        }
    }
}

/// A letter for each sort key, and longer texts between them.
#[test]
fn every_condition_on_a_text_limits_what_is_read() {
    let twin = twin();
    let all = [
        "a",
        "ab",
        "abc",
        "abd",
        "ac",
        "b",
        "ba",
        "\u{ff5e}",
        "\u{ff5e}a",
        "\u{1f600}",
        "\u{1f600}a",
        "\u{10ffff}",
        "\u{10ffff}a",
    ];
    for sk in all {
        let item = json!({"pk": {"S": "a"}, "sk": {"S": sk}, "text": {"S": "x".repeat(4000)}});
        twin.ok("PutItem", &json!({"TableName": "text", "Item": item}));
    }
    let conditions: [TextCondition; 9] = [
        ("begins_with(sk, 'ab')", |sk| sk.starts_with("ab")),
        ("begins_with(sk, 'a')", |sk| sk.starts_with('a')),
        ("begins_with(sk, '\u{1f600}')", |sk| sk.starts_with('\u{1f600}')),
        ("begins_with(sk, '\u{10ffff}')", |sk| sk.starts_with('\u{10ffff}')),
        ("sk > 'ab'", |sk| sk > "ab"),
        ("sk > '\u{ff5e}'", |sk| sk > "\u{ff5e}"),
        ("sk <= 'abd'", |sk| sk <= "abd"),
        ("sk < '\u{1f600}'", |sk| sk < "\u{1f600}"),
        ("sk BETWEEN '\u{ff5e}' AND '\u{1f600}'", |sk| {
            ("\u{ff5e}"..="\u{1f600}").contains(&sk)
        }),
    ];
    for (first, one) in conditions {
        for (second, two) in conditions {
            for (third, three) in conditions {
                let statement = format!("SELECT sk FROM text WHERE pk = 'a' AND {first} AND {second} AND {third}");
                let expect: Vec<&str> = all.into_iter().filter(|sk| one(sk) && two(sk) && three(sk)).collect();
                let answer = ask(&twin, &statement, None, None);
                let found = answer["Items"].as_array().unwrap().iter();
                let found: Vec<&str> = found.map(|item| item["sk"]["S"].as_str().unwrap()).collect();
                assert_eq!(found, expect, "{statement}");
                let units = answer["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap();
                assert!(units <= expect.len().max(1) as f64, "{statement}: {units}");
            }
        }
    }
}
