//! Both sides of bounds in size and time, and keys and prefixes at their edges, compared with a naive implementation of
//! the rules.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Twin, create_table_with_ttl};
use dynatwin_engine::transfers::{BulkReport, Export, Failure, ImportSource, Line, ObjectStore, Record};
use dynatwin_engine::{Conditions, Lag, TimeToLive, quotas};
use serde_json::{Value, json};

/// A table with a sort key and a global index `by-g` with another, of type S or B.
fn create_sorted_table(twin: &Twin, kind: &str) {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let schema = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("pk", kind), attribute("sk", kind), attribute("g", kind), attribute("gs", kind)],
            "KeySchema": schema("pk", "sk"),
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": schema("g", "gs"),
                "Projection": {"ProjectionType": "ALL"}}]}),
    );
}

/// Byte strings at the edges of every encoding: zeros, ones, and prefixes of each other.
const EDGES: [&[u8]; 14] = [
    b"\0", b"\0\0", b"\0\x01", b"\x01", b"a", b"a\0", b"a\0\0", b"a\0\x01", b"a\0b", b"a\x01", b"ab", b"b", b"b\0",
    b"bb",
];

/// Binary edges that are not valid UTF-8.
const BINARY_EDGES: [&[u8]; 6] = [b"\xff", b"\xff\0", b"\xff\xff", b"a\xff", b"\0\xff", b"a\xff\xff"];

fn value(kind: &str, bytes: &[u8]) -> Value {
    match kind {
        "B" => json!({"B": base64(bytes)}),
        _ => json!({"S": std::str::from_utf8(bytes).unwrap()}),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let quartet = |chunk: &[u8]| {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |at: usize| {
            if at > chunk.len() {
                '='
            } else {
                char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize])
            }
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(quartet).collect()
}

fn edges(kind: &str) -> BTreeSet<&'static [u8]> {
    let binary = BINARY_EDGES.iter().filter(|_| kind == "B");
    EDGES.iter().chain(binary).copied().collect()
}

/// Returns the values of `name` in the answer to a Query, in its order.
fn column(answer: &Value, name: &str) -> Vec<Value> {
    let items = answer["Items"].as_array().unwrap();
    items.iter().map(|item| item[name].clone()).collect()
}

#[test]
fn keys_with_zero_bytes_are_distinct_and_sorted() {
    for kind in ["S", "B"] {
        let twin = Twin::new(1);
        create_sorted_table(&twin, kind);
        let edges = edges(kind);
        // Every pair of sort key in the index and partition key: where one ends in zeros, the other starts with them.
        let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
        for gs in &edges {
            for pk in &edges {
                let item = json!({"pk": value(kind, pk), "sk": value(kind, gs), "g": value(kind, b"\0"), "gs": value(kind, gs)});
                twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
                pairs.push((gs, pk));
            }
        }
        let query = |forward: bool| {
            twin.ok(
                "Query",
                &json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g", "ScanIndexForward": forward,
                    "ExpressionAttributeValues": {":g": value(kind, b"\0")}}),
            )
        };
        let sorted: Vec<Value> = pairs.iter().map(|(gs, _)| value(kind, gs)).collect();
        assert_eq!(column(&query(true), "gs"), sorted, "{kind}");
        assert_eq!(
            column(&query(false), "gs"),
            sorted.into_iter().rev().collect::<Vec<_>>(),
            "{kind}"
        );
        let found: BTreeSet<String> = column(&query(true), "pk").iter().map(Value::to_string).collect();
        assert_eq!(found.len(), edges.len(), "{kind}: no entry stands in another's place");
        for pk in &edges {
            let body = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p",
                "ExpressionAttributeValues": {":p": value(kind, pk)}});
            let expected: Vec<Value> = edges.iter().map(|sk| value(kind, sk)).collect();
            assert_eq!(column(&twin.ok("Query", &body), "sk"), expected, "{kind}: {pk:?}");
        }
    }
}

#[test]
fn prefixes_and_ranges_follow_the_byte_order() {
    for kind in ["S", "B"] {
        let twin = Twin::new(1);
        create_sorted_table(&twin, kind);
        let edges = edges(kind);
        for sk in &edges {
            let item = json!({"pk": value(kind, b"p"), "sk": value(kind, sk), "g": value(kind, b"g"), "gs": value(kind, sk), "v": value(kind, sk)});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let check = |operation: &str, body: &Value, holds: &dyn Fn(&[u8]) -> bool| {
            let expected: Vec<Value> = edges
                .iter()
                .filter(|edge| holds(edge))
                .map(|edge| value(kind, edge))
                .collect();
            assert_eq!(column(&twin.ok(operation, body), "sk"), expected, "{operation} {body}");
        };
        type Holds = fn(&[u8], &[u8]) -> bool;
        let operators: [(&str, Holds); 6] = [
            ("begins_with(NAME, :v)", |edge, with| edge.starts_with(with)),
            ("NAME < :v", |edge, with| edge < with),
            ("NAME <= :v", |edge, with| edge <= with),
            ("NAME > :v", |edge, with| edge > with),
            ("NAME >= :v", |edge, with| edge >= with),
            ("NAME BETWEEN :v AND :v", |edge, with| edge == with),
        ];
        for with in &edges {
            for (operator, holds) in operators {
                let named = |name: &str| operator.replace("NAME", name);
                let holds = |edge: &[u8]| holds(edge, with);
                let of_table = format!("pk = :p AND {}", named("sk"));
                let values = json!({":p": value(kind, b"p"), ":v": value(kind, with)});
                check(
                    "Query",
                    &json!({"TableName": "tab", "KeyConditionExpression": of_table, "ExpressionAttributeValues": values}),
                    &holds,
                );
                let of_index = format!("g = :g AND {}", named("gs"));
                let values = json!({":g": value(kind, b"g"), ":v": value(kind, with)});
                check(
                    "Query",
                    &json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": of_index, "ExpressionAttributeValues": values}),
                    &holds,
                );
                let filter = json!({"TableName": "tab", "FilterExpression": named("v"), "ExpressionAttributeValues": {":v": value(kind, with)}});
                check("Scan", &filter, &holds);
            }
            let legacy = json!({"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [value(kind, with)]});
            let keyed =
                json!({"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [value(kind, b"p")]}, "sk": legacy});
            check("Query", &json!({"TableName": "tab", "KeyConditions": keyed}), &|edge| {
                edge.starts_with(with)
            });
            check(
                "Scan",
                &json!({"TableName": "tab", "ScanFilter": {"v": legacy}}),
                &|edge| edge.starts_with(with),
            );
            let statement = |name: &str| {
                json!({"Statement": format!("SELECT * FROM tab WHERE pk = ? AND begins_with({name}, ?)"),
                "Parameters": [value(kind, b"p"), value(kind, with)]})
            };
            check("ExecuteStatement", &statement("sk"), &|edge| edge.starts_with(with));
            check("ExecuteStatement", &statement("v"), &|edge| edge.starts_with(with));
            let contains = json!({"TableName": "tab", "FilterExpression": "contains(v, :v)", "ExpressionAttributeValues": {":v": value(kind, with)}});
            check("Scan", &contains, &|edge| {
                edge.windows(with.len()).any(|part| part == *with)
            });
            let size = json!({"TableName": "tab", "FilterExpression": "size(v) = :n", "ExpressionAttributeValues": {":n": {"N": with.len().to_string()}}});
            check("Scan", &size, &|edge| edge.len() == with.len());
        }
    }
}

/// Returns an item of `tab` with this many bytes.
fn item_of(key: usize, bytes: usize) -> Value {
    let key = format!("{key:02}");
    json!({"pk": {"S": key}, "v": {"S": "v".repeat(bytes - "pk".len() - key.len() - "v".len())}})
}

/// Returns the sizes of the fewest items that have this many bytes together.
fn sizes(total: usize) -> Vec<usize> {
    let whole = std::iter::repeat_n(quotas::ITEM_SIZE, total / quotas::ITEM_SIZE);
    whole.chain([total % quotas::ITEM_SIZE]).collect()
}

#[test]
fn a_transaction_carries_4_mb_and_not_a_byte_more() {
    for (total, passes) in [(quotas::TRANSACTION_SIZE, true), (quotas::TRANSACTION_SIZE + 1, false)] {
        let twin = Twin::new(1);
        create_table_with_ttl(&twin);
        let items: Vec<Value> = sizes(total)
            .iter()
            .enumerate()
            .map(|(key, bytes)| item_of(key, *bytes))
            .collect();
        let puts: Vec<Value> = items
            .iter()
            .map(|item| json!({"Put": {"TableName": "tab", "Item": item}}))
            .collect();
        let (status, answer) = twin.send("TransactWriteItems", &json!({"TransactItems": puts}));
        assert_eq!(status == 200, passes, "{answer}");
        if !passes {
            let text = format!("Transaction payload size cannot exceed 4MB. Payload Size: {total}");
            assert_eq!(answer["message"], text);
        }
        for item in &items {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let gets: Vec<Value> = items
            .iter()
            .map(|item| json!({"Get": {"TableName": "tab", "Key": {"pk": item["pk"]}}}))
            .collect();
        let selects: Vec<Value> = items
            .iter()
            .map(|item| json!({"Statement": "SELECT * FROM tab WHERE pk = ?", "Parameters": [item["pk"]]}))
            .collect();
        for (operation, body) in [
            ("TransactGetItems", json!({"TransactItems": gets})),
            ("ExecuteTransaction", json!({"TransactStatements": selects})),
        ] {
            let (status, answer) = twin.send(operation, &body);
            assert_eq!(status == 200, passes, "{operation}: {}", answer["message"]);
        }
    }
}

/// Items, keys, expressions, and the names and values that they refer to count toward the size of a transaction; of
/// statements only the inserted items do.
#[test]
fn what_counts_toward_the_size_of_a_transaction() {
    // What an action has besides its value, and its bytes without the key `pk` and the value.
    let keyed = |kind: &'static str, members: Value| {
        move |at: usize, value: &str| {
            let mut action = json!({"TableName": "tab", "Key": {"pk": {"S": format!("{at:02}")}}});
            let members = members.as_object().unwrap().clone();
            action.as_object_mut().unwrap().extend(members);
            action["ExpressionAttributeValues"] = json!({":value": {"S": value}});
            json!({kind: action})
        }
    };
    let put = |at: usize, value: &str| {
        json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": format!("{at:02}")}},
            "ConditionExpression": "attr <> :value", "ExpressionAttributeValues": {":value": {"S": value}}}})
    };
    let named = json!({"UpdateExpression": "SET #n = :value", "ExpressionAttributeNames": {"#n": "attribute"}});
    let both = json!({"UpdateExpression": "SET a = :value", "ConditionExpression": "a <> :value"});
    let insert = |at: usize, value: &str| {
        json!({"Statement": "INSERT INTO tab VALUE {'pk': ?, 'attr': ?}",
            "Parameters": [{"S": format!("{at:02}")}, {"S": value}]})
    };
    type MakeAction = Box<dyn Fn(usize, &str) -> Value>;
    let condition = || json!({"ConditionExpression": "attr <> :value"});
    let actions: [(&str, &str, usize, MakeAction); 7] = [
        ("TransactWriteItems", "TransactItems", 14, Box::new(put)),
        (
            "TransactWriteItems",
            "TransactItems",
            14,
            Box::new(keyed("Delete", condition())),
        ),
        (
            "TransactWriteItems",
            "TransactItems",
            14,
            Box::new(keyed("ConditionCheck", condition())),
        ),
        (
            "TransactWriteItems",
            "TransactItems",
            14,
            Box::new(keyed("Update", json!({"UpdateExpression": "SET a = :value"}))),
        ),
        (
            "TransactWriteItems",
            "TransactItems",
            15 + 9,
            Box::new(keyed("Update", named)),
        ),
        (
            "TransactWriteItems",
            "TransactItems",
            14 + 11,
            Box::new(keyed("Update", both)),
        ),
        ("ExecuteTransaction", "TransactStatements", 4, Box::new(insert)),
    ];
    for (operation, member, more, action) in actions {
        for (total, passes) in [(quotas::TRANSACTION_SIZE, true), (quotas::TRANSACTION_SIZE + 1, false)] {
            let twin = Twin::new(1);
            create_table_with_ttl(&twin);
            let whole = total / 16;
            let actions: Vec<Value> = (0..16)
                .map(|at| {
                    let bytes = if at == 0 { total - 15 * whole } else { whole };
                    action(at, &"v".repeat(bytes - "pk00".len() - more))
                })
                .collect();
            let what = format!("{operation} {}", actions[0].to_string().split_at(200).0);
            let (status, answer) = twin.send(operation, &json!({member: actions}));
            let text = format!("Transaction payload size cannot exceed 4MB. Payload Size: {total}");
            let expected = if passes { Value::Null } else { text.into() };
            assert_eq!((status == 200, &answer["message"]), (passes, &expected), "{what}");
        }
    }
}

#[test]
fn a_page_ends_with_the_item_that_reaches_1_mb() {
    let twin = Twin::new(1);
    create_sorted_table(&twin, "S");
    // Four items of exactly 256 KB reach the megabyte; if one is a byte smaller, the fifth does.
    for (missing, count) in [(0, 4), (1, 5)] {
        for at in 0..5 {
            let mut item = item_of(at, 256 * 1024 - "sk0".len() - if at == 3 { missing } else { 0 });
            item["pk"] = json!({"S": "pp"});
            item["sk"] = json!({"S": at.to_string()});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "pp"}}});
        for (operation, body) in [("Query", query), ("Scan", json!({"TableName": "tab"}))] {
            let page = twin.ok(operation, &body);
            assert_eq!(
                (&page["Count"], page["LastEvaluatedKey"].is_object()),
                (&json!(count), true),
                "{operation}"
            );
        }
    }
}

#[test]
fn a_page_of_a_local_index_ends_where_the_fetched_items_reach_1_mb() {
    let twin = Twin::new(1);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys =
        |range: &str| json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("sk"),
            "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("l")],
            "LocalSecondaryIndexes": [
                {"IndexName": "lix", "KeySchema": keys("l"), "Projection": {"ProjectionType": "KEYS_ONLY"}}]}),
    );
    for at in 0..6 {
        let sort = json!({"S": at.to_string()});
        let pk = if at < 3 { "p" } else { "q" };
        let item = json!({"pk": {"S": pk}, "sk": sort, "l": sort, "x": {"S": "x".repeat(400_000)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let query = |more: Value| {
        let mut body = json!({"TableName": "tab", "IndexName": "lix", "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "p"}}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let scan = |select: &str| json!({"TableName": "tab", "IndexName": "lix", "Select": select});
    for (operation, body, count, ends) in [
        ("Query", query(json!({"Select": "ALL_ATTRIBUTES"})), 3, true),
        ("Query", query(json!({"ProjectionExpression": "x"})), 3, true),
        ("Query", query(json!({"Select": "ALL_ATTRIBUTES", "Limit": 2})), 2, true),
        (
            "Query",
            query(json!({"Select": "ALL_ATTRIBUTES", "ScanIndexForward": false})),
            3,
            true,
        ),
        ("Query", query(json!({"Select": "COUNT"})), 3, false),
        ("Scan", scan("ALL_ATTRIBUTES"), 3, true),
        ("Scan", scan("ALL_PROJECTED_ATTRIBUTES"), 6, false),
    ] {
        let page = twin.ok(operation, &body);
        let found = (&page["Count"], page["LastEvaluatedKey"].is_object());
        assert_eq!(found, (&json!(count), ends), "{operation} {body}");
    }
    // The second range ends with its first item, because the first one has fetched 800,000 bytes.
    twin.ok(
        "DeleteItem",
        &json!({"TableName": "tab", "Key": {"pk": {"S": "p"}, "sk": {"S": "0"}}}),
    );
    let mut statement = json!({"Statement": "SELECT sk, x FROM tab.lix WHERE pk IN ['p', 'q']"});
    let page = twin.ok("ExecuteStatement", &statement);
    assert_eq!(page["Items"].as_array().unwrap().len(), 3);
    statement["NextToken"] = page["NextToken"].clone();
    let page = twin.ok("ExecuteStatement", &statement);
    assert_eq!(
        (page["Items"].as_array().unwrap().len(), &page["NextToken"]),
        (2, &Value::Null)
    );
}

#[test]
fn an_update_ends_where_its_values_are_far_too_large() {
    let twin = Twin::new(1);
    create_sorted_table(&twin, "S");
    let key = json!({"pk": {"S": "p"}, "sk": {"S": "s"}});
    let mut item = key.clone();
    item["l"] = json!({"L": vec![json!({"N": "1"}); 100_000]});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    // Many copies are not made: the operand of the last action, which is missing, is not reached.
    for (copies, text) in [
        (
            1,
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (30, "Item size to update has exceeded the maximum allowed size"),
    ] {
        for value in ["l", "list_append(l, l)"] {
            let copies: Vec<String> = (0..copies).map(|at| format!("a{at} = {value}")).collect();
            let update = format!("SET {}, z = nowhere", copies.join(", "));
            let (status, answer) = twin.send(
                "UpdateItem",
                &json!({"TableName": "tab", "Key": key, "UpdateExpression": update}),
            );
            assert_eq!((status, &answer["message"]), (400, &json!(text)), "{update}");
        }
    }
}

#[test]
fn many_legacy_parameters_find_their_attributes() {
    let twin = Twin::new(1);
    create_sorted_table(&twin, "S");
    let key = json!({"pk": {"S": "p"}, "sk": {"S": "s"}});
    let of_all = |value: &dyn Fn(usize) -> Value| -> Value {
        let members = (0..1000).map(|at| (format!("a{at}"), value(at)));
        Value::Object(members.collect())
    };
    let number = |at: usize| json!({"N": at.to_string()});
    let update = |expected: Value, step: usize| {
        json!({"TableName": "tab", "Key": key, "Expected": expected,
            "AttributeUpdates": of_all(&|at| json!({"Action": "ADD", "Value": number(step * at)}))})
    };
    twin.ok("UpdateItem", &update(of_all(&|_| json!({"Exists": false})), 1));
    let (status, answer) = twin.send("UpdateItem", &update(of_all(&|_| json!({"Exists": false})), 1));
    assert_eq!(
        (status, &answer["message"]),
        (400, &json!("The conditional request failed"))
    );
    twin.ok("UpdateItem", &update(of_all(&|at| json!({"Value": number(at)})), 2));
    let item = twin.ok("GetItem", &json!({"TableName": "tab", "Key": key}));
    for at in 0..1000 {
        assert_eq!(item["Item"][format!("a{at}")], number(3 * at));
    }
    let filter = of_all(&|at| json!({"ComparisonOperator": "EQ", "AttributeValueList": [number(3 * at)]}));
    let found = twin.ok("Scan", &json!({"TableName": "tab", "ScanFilter": filter}));
    assert_eq!(found["Count"], 1);
}

#[test]
fn items_that_expired_five_years_ago_are_kept() {
    const FIVE_YEARS: i64 = 5 * 365 * 86_400;
    let now = Twin::new(1).seconds();
    let times = [
        ("too old", now - FIVE_YEARS - 1),
        ("old", now - FIVE_YEARS),
        ("just now", now),
        ("soon", now + 1),
    ];
    // With an endless lag only the control deletes.
    for (lag, by_control) in [
        (Lag::None, None),
        (Lag::Fixed(Duration::from_hours(100_000)), Some(Ok(2))),
    ] {
        let twin = Twin::new(1);
        twin.engine
            .set_conditions(Conditions {
                time_to_live: TimeToLive::Deletes(lag),
                ..Conditions::CALM
            })
            .unwrap();
        create_table_with_ttl(&twin);
        for (pk, ttl) in times {
            twin.ok(
                "PutItem",
                &json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "ttl": {"N": ttl.to_string()}}}),
            );
        }
        if let Some(expired) = by_control {
            assert_eq!(twin.engine.account(&twin.caller).expire_now("tab"), expired);
        }
        let left = column(&twin.ok("Scan", &json!({"TableName": "tab"})), "pk");
        let left: BTreeSet<&str> = left.iter().map(|pk| pk["S"].as_str().unwrap()).collect();
        assert_eq!(left, ["soon", "too old"].into(), "{lag:?}");
    }
}

#[test]
fn copies_keep_items_that_expired_five_years_ago() {
    const FIVE_YEARS: i64 = 5 * 365 * 86_400;
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    for age in [FIVE_YEARS + 1, 10 * FIVE_YEARS] {
        let expiry = (twin.seconds() - age).to_string();
        let item = json!({"pk": {"S": age.to_string()}, "ttl": {"N": expiry}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let copy = Twin::new(1);
    copy.engine.restore(&twin.engine.snapshot()).unwrap();
    for (what, twin) in [("the table", &twin), ("its copy", &copy)] {
        twin.engine.advance(Duration::from_hours(100));
        assert_eq!(twin.ok("Scan", &json!({"TableName": "tab"}))["Count"], 2, "{what}");
    }
}

#[test]
fn enabling_time_to_live_keeps_items_that_expired_five_years_ago() {
    const FIVE_YEARS: i64 = 5 * 365 * 86_400;
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let set = |enabled: bool| {
        let specification = json!({"Enabled": enabled, "AttributeName": "ttl"});
        twin.ok(
            "UpdateTimeToLive",
            &json!({"TableName": "tab", "TimeToLiveSpecification": specification}),
        );
    };
    set(false);
    let now = twin.seconds();
    for (pk, ttl) in [
        ("too old", now - FIVE_YEARS - 1),
        ("old", now - FIVE_YEARS),
        ("fresh", now + 1),
    ] {
        twin.ok(
            "PutItem",
            &json!({"TableName": "tab", "Item": {"pk": {"S": pk}, "ttl": {"N": ttl.to_string()}}}),
        );
    }
    set(true);
    assert_eq!(twin.ok("Scan", &json!({"TableName": "tab"}))["Count"], 2);
    twin.engine.advance(Duration::from_micros(999_999));
    assert_eq!(twin.ok("Scan", &json!({"TableName": "tab"}))["Count"], 2);
    twin.engine.advance(Duration::from_micros(1));
    let left = twin.ok("Scan", &json!({"TableName": "tab"}));
    assert_eq!(column(&left, "pk"), [json!({"S": "too old"})]);
}

/// An object store that keeps the keys of the last export.
#[derive(Default)]
struct Keys(Mutex<Vec<String>>);

impl ObjectStore for Keys {
    fn export(&self, export: &Export) -> Result<(), Failure> {
        let key = |line: &Line| match line {
            Line::Item(item) => format!("{:?}", item.get("pk").unwrap()),
            Line::Change { keys, .. } => format!("{:?}", keys.get("pk").unwrap()),
        };
        *self.0.lock().unwrap() = export.parts.iter().flatten().map(key).collect();
        Ok(())
    }

    fn read(&self, _: &ImportSource, _: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        Ok(0)
    }

    fn report(&self, _: &BulkReport) -> Result<(), Failure> {
        Ok(())
    }
}

/// An export covers the time from its first moment, inclusive, to its last, exclusive; a restored table includes the
/// changes of its moment.
#[test]
fn an_export_ends_before_its_end_and_a_restore_with_it() {
    const MINUTE: i64 = 60;
    let (mut twin, object_store) = (Twin::new(1), Arc::new(Keys::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&object_store) as Arc<dyn ObjectStore>);
    create_table_with_ttl(&twin);
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    let start = twin.seconds();
    let (from, to) = (start + 20 * MINUTE, start + 40 * MINUTE);
    let second = |name: &str, at: i64| (name.to_owned(), Duration::from_secs((at - start) as u64));
    let writes = [
        (
            "before".to_owned(),
            second("", from).1.checked_sub(Duration::from_micros(1)).unwrap(),
        ),
        second("at from", from),
        (
            "within".to_owned(),
            second("", to).1.checked_sub(Duration::from_micros(1)).unwrap(),
        ),
        second("at to", to),
        second("after", to + 1),
    ];
    let mut passed = Duration::ZERO;
    for (name, at) in &writes {
        twin.engine.advance(at.saturating_sub(passed));
        passed = *at;
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": name}}}));
    }
    twin.engine.advance(Duration::from_mins(20));
    let exported = |more: &Value| {
        let mut body = json!({"TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "S3Bucket": "shelf"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        twin.ok("ExportTableToPointInTime", &body);
        let keys: BTreeSet<String> = object_store.0.lock().unwrap().drain(..).collect();
        keys
    };
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("S({name:?})"))
            .collect::<BTreeSet<String>>()
    };
    let span = json!({"ExportFromTime": from, "ExportToTime": to});
    let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
    assert_eq!(exported(&incremental), named(&["at from", "within"]));
    let at = |moment: i64| json!({"ExportTime": moment});
    assert_eq!(exported(&at(to)), named(&["before", "at from", "within", "at to"]));
    assert_eq!(exported(&at(to - 1)), named(&["before", "at from"]));
    for (name, moment, count) in [("early", from - 1, 0), ("first", from, 2), ("last", to, 4)] {
        twin.ok(
            "RestoreTableToPointInTime",
            &json!({"SourceTableName": "tab", "TargetTableName": name, "RestoreDateTime": moment}),
        );
        assert_eq!(twin.ok("Scan", &json!({"TableName": name}))["Count"], count, "{name}");
    }
}

#[test]
fn a_client_token_is_kept_for_ten_minutes() {
    let just_before = |seconds: u64| Duration::from_secs(seconds).saturating_sub(Duration::from_micros(1));
    let twin = Twin::new(1);
    create_table_with_ttl(&twin);
    let add = json!({"Update": {"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}}});
    let body = json!({"TransactItems": [add], "ClientRequestToken": "token"});
    let count =
        || twin.ok("GetItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}))["Item"]["n"]["N"].clone();
    for (wait, expect) in [
        (Duration::ZERO, "1"),
        (just_before(quotas::CLIENT_TOKEN_SECONDS), "1"),
        (Duration::from_micros(1), "2"),
    ] {
        twin.engine.advance(wait);
        twin.ok("TransactWriteItems", &body);
        assert_eq!(count(), expect, "after {wait:?}");
    }
}
