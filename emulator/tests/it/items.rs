//! The operations on items, end to end through `dispatch`.

use crate::common::Twin;
use dynatwin_engine::Conditions;
use dynatwin_engine::attributes::{AttributeValue, partition_token};
use serde_json::{Value, json};

/// A twin with the table `tab`, which has a global and a local index.
fn twin() -> Twin {
    let twin = Twin::new(1);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "l", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"}}],
            "LocalSecondaryIndexes": [{"IndexName": "by-l", "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["i"]}}],
        }),
    );
    twin
}

/// Partition keys of each type, as values and as JSON.
fn partition_keys() -> [(&'static str, Vec<(AttributeValue, Value)>); 3] {
    let texts = [
        "a",
        "b",
        "a\0b",
        "\0",
        "\u{e9}",
        "\u{1f600}",
        "a text of more than thirty bytes",
    ];
    let numbers = [
        "0",
        "1",
        "-1",
        "10",
        "2.5",
        "-2.5",
        "0.001",
        "12345678901234567890123456789012345678",
        "-12345678901234567890123456789012345678",
        "-1234567890123456789012345678901234567.8",
    ];
    let binaries: [(&str, &[u8]); 5] = [
        ("AA==", &[0]),
        ("AAA=", &[0, 0]),
        ("gA==", &[0x80]),
        ("gP8=", &[0x80, 0xff]),
        ("//8=", &[0xff, 0xff]),
    ];
    let number = |text: &&str| (AttributeValue::N(text.parse().unwrap()), json!({"N": text}));
    [
        (
            "S",
            texts
                .iter()
                .map(|text| (AttributeValue::string(text), json!({"S": text})))
                .collect(),
        ),
        ("N", numbers.iter().map(number).collect()),
        (
            "B",
            binaries
                .iter()
                .map(|(text, raw)| (AttributeValue::B((*raw).into()), json!({"B": text})))
                .collect(),
        ),
    ]
}

#[test]
fn a_scan_is_in_the_order_of_partition_tokens() {
    for (kind, mut keys) in partition_keys() {
        let twin = Twin::new(1);
        twin.ok(
            "CreateTable",
            &json!({
                "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": kind}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]
            }),
        );
        for (_, pk) in &keys {
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": pk}}));
        }
        keys.sort_by_key(|(value, _)| partition_token(value).unwrap());
        let expected: Vec<Value> = keys.into_iter().map(|(_, pk)| json!({"pk": pk})).collect();
        assert_eq!(
            twin.ok("Scan", &json!({"TableName": "tab"}))["Items"],
            json!(expected),
            "{kind}"
        );
    }
    for other in [
        AttributeValue::Bool(true),
        AttributeValue::Null,
        AttributeValue::L(vec![AttributeValue::string("a")]),
        AttributeValue::Ss(vec!["a".into()]),
    ] {
        assert_eq!(partition_token(&other), None, "{other:?}");
    }
}

fn key(pk: &str, sk: i64) -> Value {
    json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}})
}

#[test]
fn a_get_returns_the_put_item() {
    let twin = twin();
    let mut item = key("a", 1);
    item["m"] =
        json!({"M": {"l": {"L": [{"N": "1"}, {"BOOL": true}, {"NULL": true}, {"B": "AQI="}, {"SS": ["a", "b"]}]}}});
    assert_eq!(
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item})),
        json!({})
    );
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("a", 1)})),
        json!({"Item": item})
    );
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("a", 2)})),
        json!({})
    );
    let old = twin.ok(
        "DeleteItem",
        &json!({"TableName": "tab", "Key": key("a", 1), "ReturnValues": "ALL_OLD"}),
    );
    assert_eq!(old, json!({"Attributes": item}));
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("a", 1)})),
        json!({})
    );
}

#[test]
fn updates_return_the_changed_attributes() {
    let twin = twin();
    let update = |expression: &str, returns: &str| {
        twin.ok(
            "UpdateItem",
            &json!({"TableName": "tab", "Key": key("a", 1), "UpdateExpression": expression, "ReturnValues": returns,
                   "ExpressionAttributeValues": {":v": {"N": "1"}}}),
        )
    };
    assert_eq!(
        update("SET a = :v", "UPDATED_NEW"),
        json!({"Attributes": {"a": {"N": "1"}}})
    );
    assert_eq!(
        update("ADD a :v", "UPDATED_OLD"),
        json!({"Attributes": {"a": {"N": "1"}}})
    );
    assert_eq!(
        update("SET b = a + :v", "ALL_NEW")["Attributes"]["b"],
        json!({"N": "3"})
    );
    assert_eq!(update("SET a = :v", "NONE"), json!({}));
    let nothing = json!({"TableName": "tab", "Key": key("b", 1), "UpdateExpression": "REMOVE x"});
    twin.ok("UpdateItem", &nothing);
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("b", 1)})),
        json!({})
    );
    twin.ok("UpdateItem", &json!({"TableName": "tab", "Key": key("b", 1)}));
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("b", 1)})),
        json!({"Item": key("b", 1)})
    );
}

/// The bounds of BETWEEN are compared as numbers, and printed as they were sent (docs/behavior: 02 5.3).
#[test]
fn bounds_of_between_are_printed_as_sent() {
    let twin = twin();
    let values = |lower: Value, upper: Value| json!({":l": lower, ":u": upper});
    for (lower, upper, rest) in [
        (
            json!({"N": "2.0"}),
            json!({"N": "1e0"}),
            "upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2.0}, upper bound operand: AttributeValue: {N:1e0}",
        ),
        (
            json!({"N": "0200E-1"}),
            json!({"S": "2.0"}),
            "same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:0200E-1}, upper bound operand: AttributeValue: {S:2.0}",
        ),
        (
            json!({"S": "b"}),
            json!({"S": "a"}),
            "upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            json!({"B": "AwQFBg=="}),
            json!({"B": "AQIDBAU="}),
            "upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {B:AwQFBg==}, upper bound operand: AttributeValue: {B:AQIDBAU=}",
        ),
    ] {
        let mut in_key = values(lower.clone(), upper.clone());
        in_key[":pk"] = json!({"S": "a"});
        let values = values(lower, upper);
        let condition = json!({"TableName": "tab", "Key": key("a", 1), "ConditionExpression": "n BETWEEN :l AND :u",
            "ExpressionAttributeValues": values});
        let plain = json!({"Put": {"TableName": "tab", "Item": key("b", 1)}});
        for (operation, body) in [
            ("DeleteItem", condition.clone()),
            ("UpdateItem", condition.clone()),
            (
                "Scan",
                json!({"TableName": "tab", "FilterExpression": "n BETWEEN :l AND :u", "ExpressionAttributeValues": values}),
            ),
            (
                "Query",
                json!({"TableName": "tab", "KeyConditionExpression": "pk = :pk AND sk BETWEEN :l AND :u",
                    "ExpressionAttributeValues": in_key}),
            ),
            (
                "TransactWriteItems",
                json!({"TransactItems": [plain, {"ConditionCheck": condition}]}),
            ),
        ] {
            let error = twin.error(operation, &body);
            assert!(
                error.ends_with(&format!("Expression: The BETWEEN operator requires {rest}")),
                "{operation} {body}: {error}"
            );
        }
    }
}

#[test]
fn queries_walk_tables_and_indexes_in_order() {
    let twin = twin();
    for sk in [10, -1, 2, 0] {
        let mut item = key("a", sk);
        item["g"] = json!({"S": "x"});
        item["l"] = json!({"S": format!("{:03}", 100 - sk)});
        item["i"] = json!({"S": "i"});
        item["o"] = json!({"S": "o"});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    let order = |answer: &Value| -> Vec<String> {
        answer["Items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["sk"]["N"].as_str().unwrap().to_owned())
            .collect()
    };
    let query = |more: Value| {
        let mut body = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        twin.ok("Query", &body)
    };
    assert_eq!(order(&query(json!({}))), ["-1", "0", "2", "10"]);
    assert_eq!(
        order(&query(json!({"ScanIndexForward": false, "Limit": 2}))),
        ["10", "2"]
    );
    let page = query(json!({"Limit": 2}));
    assert_eq!(page["LastEvaluatedKey"], key("a", 0));
    assert_eq!(order(&query(json!({"ExclusiveStartKey": key("a", 0)}))), ["2", "10"]);
    assert_eq!(order(&query(json!({"IndexName": "by-l"}))), ["10", "2", "0", "-1"]);
    let fetched = query(json!({"IndexName": "by-l", "Select": "ALL_ATTRIBUTES", "ReturnConsumedCapacity": "INDEXES"}));
    assert_eq!(fetched["Items"][0]["o"], json!({"S": "o"}));
    assert_eq!(fetched["ConsumedCapacity"]["Table"]["CapacityUnits"], json!(2.0));
    let global = twin.ok(
        "Query",
        &json!({"TableName": "tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "x"}}}),
    );
    assert_eq!(global["Count"], json!(4));
    assert_eq!(global["Items"][0].as_object().unwrap().len(), 3);
    assert_eq!(
        twin.ok("Scan", &json!({"TableName": "tab", "Select": "COUNT"})),
        json!({"Count": 4, "ScannedCount": 4})
    );
}

#[test]
fn batches_and_transactions() {
    let twin = twin();
    let puts: Vec<Value> = (0..25)
        .map(|sk| json!({"PutRequest": {"Item": key("a", sk)}}))
        .collect();
    let answer = twin.ok("BatchWriteItem", &json!({"RequestItems": {"tab": puts}}));
    assert_eq!(answer, json!({"UnprocessedItems": {}}));
    let keys: Vec<Value> = (0..30).map(|sk| key("a", sk)).collect();
    let answer = twin.ok("BatchGetItem", &json!({"RequestItems": {"tab": {"Keys": keys}}}));
    assert_eq!(answer["Responses"]["tab"].as_array().unwrap().len(), 25);
    let error = twin.send(
        "TransactWriteItems",
        &json!({"TransactItems": [
            {"Put": {"TableName": "tab", "Item": key("b", 1)}},
            {"ConditionCheck": {"TableName": "tab", "Key": key("a", 1), "ConditionExpression": "attribute_not_exists(pk)"}}]}),
    );
    assert_eq!(
        error.1["CancellationReasons"],
        json!([{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}])
    );
    assert_eq!(
        twin.ok("GetItem", &json!({"TableName": "tab", "Key": key("b", 1)})),
        json!({})
    );
    let transaction = json!({"ClientRequestToken": "t", "ReturnConsumedCapacity": "TOTAL", "TransactItems": [
        {"Update": {"TableName": "tab", "Key": key("b", 1), "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]});
    let first = twin.ok("TransactWriteItems", &transaction.clone());
    assert_eq!(first["ConsumedCapacity"][0]["WriteCapacityUnits"], json!(2.0));
    let again = twin.ok("TransactWriteItems", &transaction);
    assert_eq!(again["ConsumedCapacity"][0]["ReadCapacityUnits"], json!(2.0));
    let read = twin.ok(
        "TransactGetItems",
        &json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": key("b", 1)}}]}),
    );
    assert_eq!(read["Responses"][0]["Item"]["n"], json!({"N": "1"}));
}

#[test]
fn refusals_have_the_texts_of_the_service() {
    let twin = twin();
    for (operation, body, expect) in [
        (
            "GetItem",
            json!({"TableName": "nope", "Key": key("a", 1)}),
            "ResourceNotFoundException: Requested resource not found",
        ),
        (
            "GetItem",
            json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}),
            "ValidationException: The provided key element does not match the schema",
        ),
        (
            "PutItem",
            json!({"TableName": "tab", "Item": key("", 1)}),
            "ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        (
            "PutItem",
            json!({"TableName": "tab", "Item": key("a", 1), "ConditionExpression": "attribute_exists(pk)"}),
            "ConditionalCheckFailedException: The conditional request failed",
        ),
        (
            "UpdateItem",
            json!({"TableName": "tab", "Key": key("a", 1), "UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": {":v": {"S": "b"}}}),
            "ValidationException: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            "UpdateItem",
            json!({"TableName": "tab", "Key": key("a", 1), "UpdateExpression": "SET a ="}),
            "ValidationException: 1 validation error detected: Invalid UpdateExpression: Syntax error; token: \"<EOF>\", near: \"=\"",
        ),
        (
            "Query",
            json!({"TableName": "tab", "KeyConditionExpression": "sk = :p", "ExpressionAttributeValues": {":p": {"N": "1"}}}),
            "ValidationException: Query condition missed key schema element: pk",
        ),
        (
            "PutItem",
            json!({}),
            "ValidationException: 2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; Value null at 'item' failed to satisfy constraint: Member must not be null",
        ),
    ] {
        assert_eq!(twin.error(operation, &body), expect);
    }
}

/// A key that a request names twice is found wherever the two are among the others.
#[test]
fn the_two_of_a_key_need_not_be_neighbors() {
    let twin = twin();
    let numbers: [&[i64]; 4] = [&[1, 1, 2, 3], &[1, 2, 1, 3], &[1, 2, 3, 1], &[2, 1, 3, 1]];
    for sks in numbers {
        let each = |entry: &dyn Fn(Value) -> Value| -> Value { sks.iter().map(|sk| entry(key("a", *sk))).collect() };
        let batch = "ValidationException: Provided list of item keys contains duplicates";
        let transaction = "ValidationException: Transaction request cannot include multiple operations on one item";
        let put = each(&|key| json!({"PutRequest": {"Item": key}}));
        let delete = each(&|key| json!({"DeleteRequest": {"Key": key}}));
        for (operation, body, text) in [
            (
                "BatchGetItem",
                json!({"RequestItems": {"tab": {"Keys": each(&|key| key)}}}),
                batch,
            ),
            ("BatchWriteItem", json!({"RequestItems": {"tab": put}}), batch),
            ("BatchWriteItem", json!({"RequestItems": {"tab": delete}}), batch),
            (
                "TransactGetItems",
                json!({"TransactItems": each(&|key| json!({"Get": {"TableName": "tab", "Key": key}}))}),
                transaction,
            ),
            (
                "TransactGetItems",
                json!({"TransactItems": each(&|key| json!({"Get": {"TableName": "tab", "Key": key, "ProjectionExpression": "pk"}}))}),
                transaction,
            ),
            (
                "TransactWriteItems",
                json!({"TransactItems": each(&|key| json!({"Delete": {"TableName": "tab", "Key": key}}))}),
                transaction,
            ),
        ] {
            assert_eq!(twin.error(operation, &body), text, "{operation} {sks:?}");
        }
    }
}

/// Each item collection has one entry in the metrics of a request, however its writes are ordered.
#[test]
fn metrics_have_each_item_collection_once() {
    let twin = twin();
    for pks in [["a", "a", "b"], ["a", "b", "a"], ["b", "a", "a"]] {
        let items: Vec<Value> = pks.iter().zip(1..).map(|(pk, sk)| key(pk, sk)).collect();
        let puts: Vec<Value> = items.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
        let actions: Vec<Value> = items
            .iter()
            .map(|item| json!({"Put": {"TableName": "tab", "Item": item}}))
            .collect();
        for (operation, mut body) in [
            ("BatchWriteItem", json!({"RequestItems": {"tab": puts}})),
            ("TransactWriteItems", json!({"TransactItems": actions})),
        ] {
            body["ReturnItemCollectionMetrics"] = "SIZE".into();
            let answer = twin.ok(operation, &body);
            let mut collections: Vec<&str> = answer["ItemCollectionMetrics"]["tab"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["ItemCollectionKey"]["pk"]["S"].as_str().unwrap())
                .collect();
            collections.sort_unstable();
            assert_eq!(collections, ["a", "b"], "{operation} {pks:?}");
        }
    }
}

/// The item collections of a transaction are limited one by one, whatever else it writes.
#[test]
fn a_transaction_may_fill_several_collections() {
    const NONE: &str = "None";
    const FULL: &str = "ItemCollectionSizeLimitExceeded";
    for (pks, expect) in [
        (&["a", "b", "c", "d", "e", "f", "g", "h"][..], &[][..]),
        (&["a", "a"], &[NONE, FULL]),
        (&["a", "b", "a"], &[NONE, NONE, FULL]),
        (&["a", "b", "c", "d", "e", "e"], &[NONE, NONE, NONE, NONE, NONE, FULL]),
    ] {
        let twin = twin();
        twin.engine
            .set_conditions(Conditions {
                item_collection_size: 1000,
                ..Conditions::CALM
            })
            .unwrap();
        let put = |(pk, sk): (&&str, i64)| {
            let mut item = key(pk, sk);
            item["text"] = json!({"S": "x".repeat(600)});
            json!({"Put": {"TableName": "tab", "Item": item}})
        };
        let actions: Vec<Value> = pks.iter().zip(1..).map(put).collect();
        let (status, answer) = twin.send("TransactWriteItems", &json!({"TransactItems": actions}));
        let reasons = answer["CancellationReasons"].as_array().into_iter().flatten();
        let codes: Vec<&str> = reasons.map(|reason| reason["Code"].as_str().unwrap()).collect();
        assert_eq!(
            (status == 200, codes.as_slice()),
            (expect.is_empty(), expect),
            "{pks:?}: {answer}"
        );
    }
}
