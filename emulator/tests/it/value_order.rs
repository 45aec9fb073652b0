//! The order of strings and binary values, by their bytes, wherever values are compared.

use crate::common::Twin;
use serde_json::{Value, json};

/// Strings in the order of their UTF-8 bytes. In the order of UTF-16 units, those from U+10000 would be before U+E000.
const TEXTS: [&str; 17] = [
    "A",
    "a",
    "a\u{0}",
    "aa",
    "b",
    "\u{7f}",
    "\u{80}",
    "\u{e9}",
    "\u{7ff}",
    "\u{800}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ff5e}",
    "\u{ffff}",
    "\u{10000}",
    "\u{1f600}",
    "\u{10ffff}",
];

/// Binary values in their order, in Base64: 00, 00 00, 7f, 80, 80 00, 80 ff, ff, ff 00, ff ff.
const BINARIES: [&str; 9] = ["AA==", "AAA=", "fw==", "gA==", "gAA=", "gP8=", "/w==", "/wA=", "//8="];

/// A comparison: as an operator, as a `ComparisonOperator`, and what it selects, by positions.
type Comparison = (&'static str, &'static str, fn(usize, usize) -> bool);

const COMPARISONS: [Comparison; 5] = [
    ("=", "EQ", |at, than| at == than),
    ("<", "LT", |at, than| at < than),
    ("<=", "LE", |at, than| at <= than),
    (">", "GT", |at, than| at > than),
    (">=", "GE", |at, than| at >= than),
];

/// A table whose items have the values as sort key, as `v`, as `m.v`, and as sort keys of two indexes.
fn twin(kind: &str, values: &[Value]) -> Twin {
    let twin = Twin::new(1);
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let index = |name: &str, key: Value| json!([{"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}]);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk", "sk"),
            "AttributeDefinitions": [attribute("pk", "S"), attribute("sk", kind), attribute("g", "S"), attribute("v", kind)],
            "GlobalSecondaryIndexes": index("global", key("g", "v")), "LocalSecondaryIndexes": index("local", key("pk", "v"))}),
    );
    // Neither the order of writing nor that of the keys is the order of the values.
    for at in (0..values.len()).rev() {
        let value = &values[at];
        let item = json!({"pk": {"S": "p"}, "sk": value, "v": value, "g": {"S": "g"}, "m": {"M": {"v": value}},
            "at": {"N": at.to_string()}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin
}

/// Returns the positions of the items of an answer, in its order.
fn positions(answer: &Value) -> Vec<usize> {
    let items = answer["Items"].as_array().unwrap().iter();
    items
        .map(|item| item["at"]["N"].as_str().unwrap().parse().unwrap())
        .collect()
}

/// Checks all reads that compare with `operands`: `selects` is the comparison, by positions.
fn check(
    twin: &Twin,
    values: &[Value],
    (text, word): (&str, &str),
    operands: &[&Value],
    selects: &dyn Fn(usize) -> bool,
) {
    let expect: Vec<usize> = (0..values.len()).filter(|at| selects(*at)).collect();
    let substituted = |path: &str| text.replace('@', path);
    let names: serde_json::Map<String, Value> = [":v", ":w"]
        .iter()
        .zip(operands)
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
        .collect();
    let with = |mut request: Value, more: Value| {
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request["TableName"] = "tab".into();
        request
    };
    let mut keyed = names.clone();
    keyed.insert(":k".into(), json!({"S": "p"}));
    let mut indexed = names.clone();
    indexed.insert(":k".into(), json!({"S": "g"}));
    let legacy = json!({"ComparisonOperator": word, "AttributeValueList": operands});
    let equal = |value: &str| json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"S": value}]});
    let queried = [
        (
            "key",
            json!({"KeyConditionExpression": format!("pk = :k AND {}", substituted("sk")), "ExpressionAttributeValues": keyed}),
        ),
        (
            "local key",
            json!({"IndexName": "local", "KeyConditionExpression": format!("pk = :k AND {}", substituted("v")),
            "ExpressionAttributeValues": keyed}),
        ),
        (
            "global key",
            json!({"IndexName": "global", "KeyConditionExpression": format!("g = :k AND {}", substituted("v")),
            "ExpressionAttributeValues": indexed}),
        ),
        (
            "filter",
            json!({"KeyConditionExpression": "pk = :k", "FilterExpression": substituted("m.v"), "ExpressionAttributeValues": keyed}),
        ),
        ("legacy key", json!({"KeyConditions": {"pk": equal("p"), "sk": legacy}})),
        (
            "legacy index key",
            json!({"IndexName": "global", "KeyConditions": {"g": equal("g"), "v": legacy}}),
        ),
        (
            "legacy filter",
            json!({"KeyConditions": {"pk": equal("p")}, "QueryFilter": {"v": legacy}}),
        ),
    ];
    for (what, request) in queried {
        let found = positions(&twin.ok("Query", &with(request.clone(), json!({}))));
        assert_eq!(found, expect, "{what}: {text} {operands:?}");
        let mut backwards = positions(&twin.ok("Query", &with(request, json!({"ScanIndexForward": false}))));
        backwards.reverse();
        assert_eq!(backwards, expect, "{what}, backwards: {text} {operands:?}");
    }
    for (what, request) in [
        (
            "filter",
            json!({"FilterExpression": substituted("v"), "ExpressionAttributeValues": names}),
        ),
        ("legacy filter", json!({"ScanFilter": {"v": legacy}})),
    ] {
        let found = positions(&twin.ok("Scan", &with(request, json!({}))));
        assert_eq!(found, expect, "Scan, {what}: {text} {operands:?}");
    }
    let question = text.replace(":v", "?").replace(":w", "?");
    for (what, condition) in [
        ("key", format!("pk = 'p' AND {}", question.replace('@', "sk"))),
        ("filter", format!("pk = 'p' AND {}", question.replace('@', "m.v"))),
        ("filter alone", question.replace('@', "v")),
    ] {
        let statement = json!({"Statement": format!("SELECT * FROM tab WHERE {condition}"), "Parameters": operands});
        let found = positions(&twin.ok("ExecuteStatement", &statement));
        assert_eq!(found, expect, "statement, {what}: {text} {operands:?}");
    }
    for (at, value) in values.iter().enumerate() {
        let key = json!({"pk": {"S": "p"}, "sk": value});
        for (what, operation, request) in [
            (
                "condition",
                "UpdateItem",
                json!({"Key": key, "ConditionExpression": substituted("v"), "ExpressionAttributeValues": names}),
            ),
            ("Expected", "UpdateItem", json!({"Key": key, "Expected": {"v": legacy}})),
        ] {
            let (status, answer) = twin.send(operation, &with(request, json!({})));
            assert_eq!(
                status == 200,
                selects(at),
                "{what}: {value} {text} {operands:?}: {answer}"
            );
        }
    }
}

fn check_all(kind: &str, texts: &[&str]) {
    let values: Vec<Value> = texts.iter().map(|text| json!({kind: text})).collect();
    let twin = twin(kind, &values);
    for (than, operand) in values.iter().enumerate() {
        for (operator, word, selects) in COMPARISONS {
            let text = format!("@ {operator} :v");
            check(&twin, &values, (&text, word), &[operand], &|at| selects(at, than));
        }
        for end in than..values.len() {
            let between = &|at| (than..=end).contains(&at);
            check(
                &twin,
                &values,
                ("@ BETWEEN :v AND :w", "BETWEEN"),
                &[operand, &values[end]],
                between,
            );
        }
    }
}

#[test]
fn strings_are_ordered_by_their_bytes() {
    assert!(TEXTS.is_sorted());
    check_all("S", &TEXTS);
}

#[test]
fn binary_values_are_ordered_by_their_unsigned_bytes() {
    check_all("B", &BINARIES);
}

/// `begins_with` and `contains` compare code points as their bytes: none is part of another.
#[test]
fn texts_begin_with_and_contain_whole_code_points() {
    let values = [
        "\u{1f600}",
        "\u{1f601}",
        "\u{1f600}\u{ff5e}",
        "\u{ff5e}\u{1f600}",
        "\u{d7ff}",
        "\u{e9}",
        "e\u{301}",
        "E",
    ];
    let twin = Twin::new(1);
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),
    );
    for value in values {
        let item = json!({"pk": {"S": value}, "set": {"SS": [value, "other"]}, "list": {"L": [{"S": value}]}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    for part in [
        "\u{1f600}",
        "\u{ff5e}",
        "\u{e9}",
        "e",
        "\u{301}",
        "\u{1f600}\u{ff5e}",
        "o",
    ] {
        for (condition, selects) in [
            (
                "begins_with(pk, :v)",
                &(|value: &str| value.starts_with(part)) as &dyn Fn(&str) -> bool,
            ),
            ("contains(pk, :v)", &|value| value.contains(part)),
            ("contains(#s, :v)", &|value| value == part),
            ("contains(#l, :v)", &|value| value == part),
        ] {
            let mut request = json!({"TableName": "tab", "FilterExpression": condition, "ExpressionAttributeValues": {":v": {"S": part}}});
            if condition.contains('#') {
                let name = if condition.contains("#s") {
                    ("#s", "set")
                } else {
                    ("#l", "list")
                };
                request["ExpressionAttributeNames"] = json!({name.0: name.1});
            }
            let answer = twin.ok("Scan", &request);
            let found = answer["Items"].as_array().unwrap().iter();
            let mut found: Vec<&str> = found.map(|item| item["pk"]["S"].as_str().unwrap()).collect();
            found.sort_unstable();
            let mut expect: Vec<&str> = values.into_iter().filter(|value| selects(value)).collect();
            expect.sort_unstable();
            assert_eq!(found, expect, "{condition} {part:?}");
        }
    }
}
