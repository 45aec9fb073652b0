//! Bad input: each gets the service's error, on a small stack, and nothing is applied in part.

use crate::common::settings;
use dynatwin_engine::Engine;
use dynatwin_engine::api::{OPERATIONS, Service, service_of};
use dynatwin_engine::http::{Answer, HttpRequest};

const AUTHORIZATION: &str =
    "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
/// The stack of a thread in a small server or a browser.
const STACK: usize = 256 * 1024;

fn post(engine: &Engine, operation: &str, body: &[u8]) -> Answer {
    let target = match service_of(operation) {
        Service::DynamoDb => format!("DynamoDB_20120810.{operation}"),
        Service::Streams => format!("DynamoDBStreams_20120810.{operation}"),
    };
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", &target),
        ("x-amz-date", "20260101T000000Z"),
        ("authorization", AUTHORIZATION),
    ];
    engine.handle(&HttpRequest {
        method: "POST",
        target: "/",
        headers: &headers,
        body,
    })
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Sends each body to a table that holds one item, and expects this status and text, and the unchanged item.
fn check(cases: Vec<(&'static str, &'static str, Vec<u8>, u16, &'static str)>) {
    let run = move || {
        let engine = Engine::new(settings(1));
        let create = br#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
        assert_eq!(post(&engine, "CreateTable", create).status, 200);
        let put = br#"{"TableName":"tab","Item":{"pk":{"S":"a"},"v":{"N":"1"}}}"#;
        assert_eq!(post(&engine, "PutItem", put).status, 200);
        let scan = || text(&post(&engine, "Scan", br#"{"TableName":"tab"}"#));
        let before = scan();
        for (name, operation, body, status, words) in cases {
            let answer = post(&engine, operation, &body);
            assert_eq!(answer.status, status, "{name}: {}", text(&answer));
            assert!(text(&answer).contains(words), "{name}: {}", text(&answer));
            assert_eq!(scan(), before, "{name} changed something");
        }
    };
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

fn item(attribute: &str) -> Vec<u8> {
    format!(r#"{{"TableName":"tab","Item":{{"pk":{{"S":"a"}},{attribute}}}}}"#).into_bytes()
}

fn update(condition: &str) -> Vec<u8> {
    format!(
        r#"{{"TableName":"tab","Key":{{"pk":{{"S":"a"}}}},"UpdateExpression":"SET v = :v","ConditionExpression":"{condition}","ExpressionAttributeValues":{{":v":{{"N":"2"}}}}}}"#
    )
    .into_bytes()
}

#[test]
fn bodies() {
    let whole = item(r#""v":{"S":"x"}"#);
    let mut cases = vec![
        (
            "not JSON",
            "PutItem",
            b"hello".to_vec(),
            400,
            "SerializationException\"}",
        ),
        (
            "not UTF-8",
            "PutItem",
            vec![b'{', b'"', 0xff, b'"', b':', b'1', b'}'],
            400,
            "SerializationException\"}",
        ),
        ("a list", "PutItem", b"[]".to_vec(), 400, "SerializationException"),
        ("17 MB", "PutItem", vec![b' '; 17 << 20], 413, ""),
        (
            "a million lists",
            "PutItem",
            "[".repeat(1_000_000).into_bytes(),
            400,
            "SerializationException\"}",
        ),
        (
            "a number where a string belongs",
            "PutItem",
            br#"{"TableName":1}"#.to_vec(),
            400,
            "NUMBER_VALUE cannot be converted to String",
        ),
    ];
    for end in 1..whole.len() {
        cases.push((
            "a truncated body",
            "PutItem",
            whole[..end].to_vec(),
            400,
            "SerializationException",
        ));
    }
    check(cases);
}

#[test]
fn a_body_that_is_no_object_is_refused_by_every_operation() {
    let engine = Engine::new(settings(1));
    for operation in OPERATIONS.iter().map(|operation| operation.name) {
        for body in ["[]", "1", "\"a\"", "true", ""] {
            let answer = post(&engine, operation, body.as_bytes());
            let text = text(&answer);
            assert!(
                answer.status == 400 && text.contains("SerializationException"),
                "{operation} {body}: {text}"
            );
        }
    }
}

/// Of members with the same name, the last one counts, at any depth.
#[test]
fn the_last_of_equal_members_counts() {
    let engine = Engine::new(settings(1));
    let create = br#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    assert_eq!(post(&engine, "CreateTable", create).status, 200);
    let put = |members: &str| ("PutItem", format!(r#"{{"TableName":"tab",{members}}}"#));
    let item = |value: &str| put(&format!(r#""Item":{{"pk":{{"S":"a"}},"v":{value}}}"#));
    let update = |members: &str| {
        let key = r#""TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET #v = :v""#;
        ("UpdateItem", format!("{{{key},{members}}}"))
    };
    for ((operation, body), expected) in [
        (
            put(r#""Item":{"pk":{"S":"a"},"v":{"N":"1"}},"TableName":"none","TableName":"tab""#),
            r#"{"N":"1"}"#,
        ),
        (
            put(r#""Item":{"pk":{"S":"b"}},"Item":{"pk":{"S":"a"},"v":{"N":"2"}}"#),
            r#"{"N":"2"}"#,
        ),
        (
            put(r#""Item":{"v":{"N":"1"},"pk":{"S":"b"},"v":{"S":"x"},"pk":{"S":"a"}}"#),
            r#"{"S":"x"}"#,
        ),
        (
            put(r#""Item":{"pk":{"S":"a"},"v":{"N":"7"}},"ConditionExpression":"v = w","ConditionExpression":null"#),
            r#"{"N":"7"}"#,
        ),
        (item(r#"{"S":"x","S":"y"}"#), r#"{"S":"y"}"#),
        (item(r#"{"N":"1","N":"2"}"#), r#"{"N":"2"}"#),
        (item(r#"{"B":"AA==","B":"AQ=="}"#), r#"{"B":"AQ=="}"#),
        (item(r#"{"BOOL":true,"BOOL":false}"#), r#"{"BOOL":false}"#),
        (item(r#"{"SS":["a","b"],"SS":["c"]}"#), r#"{"SS":["c"]}"#),
        (item(r#"{"L":[{"N":"1"}],"L":[]}"#), r#"{"L":[]}"#),
        (item(r#"{"M":{"a":{"N":"1"}},"M":{}}"#), r#"{"M":{}}"#),
        (
            item(r#"{"M":{"a":{"N":"1"},"b":{"N":"2"},"a":{"N":"3"}}}"#),
            r#"{"M":{"a":{"N":"3"},"b":{"N":"2"}}}"#,
        ),
        (
            update(r##""ExpressionAttributeNames":{"#v":"w","#v":"v"},"ExpressionAttributeValues":{":v":{"N":"4"}}"##),
            r#"{"N":"4"}"#,
        ),
        (
            update(
                r##""ExpressionAttributeNames":{"#v":"v"},"ExpressionAttributeValues":{":v":{"N":"5"},":v":{"N":"6"}}"##,
            ),
            r#"{"N":"6"}"#,
        ),
    ] {
        let answer = post(&engine, operation, body.as_bytes());
        assert_eq!(answer.status, 200, "{body}: {}", text(&answer));
        let read = post(&engine, "Scan", br#"{"TableName":"tab"}"#);
        let whole = format!(r#"{{"Items":[{{"pk":{{"S":"a"}},"v":{expected}}}],"Count":1,"ScannedCount":1}}"#);
        assert_eq!(text(&read), whole, "{body}");
    }
}

/// Keys are equal in whatever order their attributes are sent.
#[test]
fn equal_keys_are_found_in_any_order_of_attributes() {
    let engine = Engine::new(settings(1));
    let create = br#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"N"},{"AttributeName":"b","AttributeType":"N"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}]}"#;
    assert_eq!(post(&engine, "CreateTable", create).status, 200);
    let keys = [r#"{"a":{"N":"1"},"b":{"N":"2"}}"#, r#"{"b":{"N":"2"},"a":{"N":"1"}}"#];
    let each = |before: &str, after: &str| keys.map(|key| format!("{before}{key}{after}")).join(",");
    let duplicates = "Provided list of item keys contains duplicates";
    let one_item = "Transaction request cannot include multiple operations on one item";
    for (operation, body, expect) in [
        (
            "BatchGetItem",
            format!(r#"{{"RequestItems":{{"tab":{{"Keys":[{}]}}}}}}"#, each("", "")),
            duplicates,
        ),
        (
            "BatchWriteItem",
            format!(
                r#"{{"RequestItems":{{"tab":[{}]}}}}"#,
                each(r#"{"DeleteRequest":{"Key":"#, "}}")
            ),
            duplicates,
        ),
        (
            "BatchWriteItem",
            format!(
                r#"{{"RequestItems":{{"tab":[{}]}}}}"#,
                each(r#"{"PutRequest":{"Item":"#, "}}")
            ),
            duplicates,
        ),
        (
            "TransactGetItems",
            format!(
                r#"{{"TransactItems":[{}]}}"#,
                each(r#"{"Get":{"TableName":"tab","Key":"#, "}}")
            ),
            one_item,
        ),
        (
            "TransactWriteItems",
            format!(
                r#"{{"TransactItems":[{}]}}"#,
                each(r#"{"Put":{"TableName":"tab","Item":"#, "}}")
            ),
            one_item,
        ),
    ] {
        let answer = post(&engine, operation, body.as_bytes());
        assert_eq!(
            (answer.status, text(&answer).contains(expect)),
            (400, true),
            "{body}: {}",
            text(&answer)
        );
    }
}

#[test]
fn values() {
    let nested = |levels: usize| {
        item(&format!(
            r#""v":{}{{"N":"1"}}{}"#,
            r#"{"L":["#.repeat(levels),
            "]}".repeat(levels)
        ))
    };
    // The key and its name are 3 bytes, the attribute's name 1.
    let sized = |bytes: usize| item(&format!(r#""v":{{"S":"{}"}}"#, "x".repeat(bytes - 4)));
    check(vec![
        (
            "32 lists",
            "PutItem",
            nested(32),
            400,
            "Nesting Levels have exceeded supported limits",
        ),
        (
            "1,000 lists",
            "PutItem",
            nested(1000),
            400,
            "Nesting Levels have exceeded supported limits",
        ),
        (
            "400,000 lists",
            "PutItem",
            nested(400_000),
            400,
            "Nesting Levels have exceeded supported limits",
        ),
        (
            "400 KB and a byte",
            "PutItem",
            sized(409_601),
            400,
            "Item size has exceeded the maximum allowed size",
        ),
        (
            "39 digits",
            "PutItem",
            item(&format!(r#""v":{{"N":"{}"}}"#, "1".repeat(39))),
            400,
            "Attempting to store more than 38 significant digits in a Number",
        ),
        (
            "a number too large",
            "PutItem",
            item(r#""v":{"N":"1e126"}"#),
            400,
            "Number overflow",
        ),
        (
            "a number of a million digits",
            "PutItem",
            item(&format!(r#""v":{{"N":"{}"}}"#, "9".repeat(1_000_000))),
            400,
            "ValidationException",
        ),
        (
            "a key of 2,049 bytes",
            "PutItem",
            format!(
                r#"{{"TableName":"tab","Item":{{"pk":{{"S":"{}"}}}}}}"#,
                "k".repeat(2049)
            )
            .into_bytes(),
            400,
            "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            "no type",
            "PutItem",
            item(r#""v":{}"#),
            400,
            "Supplied AttributeValue is empty",
        ),
        (
            "an empty set",
            "PutItem",
            item(r#""v":{"SS":[]}"#),
            400,
            "An string set  may not be empty",
        ),
        (
            "bad base64",
            "PutItem",
            item(r#""v":{"B":"a"}"#),
            400,
            "SerializationException",
        ),
    ]);
}

#[test]
fn expressions() {
    let nested = |count: usize| format!("{}attribute_exists(pk){}", "(".repeat(count), ")".repeat(count));
    let many = vec!["v = :v"; 400].join(" OR ");
    check(vec![
        ("2,000 parentheses", "UpdateItem", update(&nested(2000)), 400, "redundant parentheses"),
        ("4,000 parentheses", "UpdateItem", update(&nested(4000)), 400, "Expression size has exceeded the maximum allowed size"),
        ("4,000 open parentheses", "UpdateItem", update(&"(".repeat(4000)), 400, "Syntax error"),
        ("1,000 NOT", "UpdateItem", update(&format!("{}v = :v", "NOT ".repeat(1000))), 400, "too many operators"),
        ("400 comparisons", "UpdateItem", update(&many), 400, "too many operators; operator count: 301"),
        ("a condition that does not hold", "UpdateItem", update("attribute_not_exists(pk)"), 400, "The conditional request failed"),
        ("a path into nothing", "UpdateItem", br#"{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET x.y = :v","ExpressionAttributeValues":{":v":{"N":"2"}}}"#.to_vec(), 400, "The document path provided in the update expression is invalid for update"),
    ]);
}

/// A target that names no operation is reported before the credentials, and after a body that is not valid JSON.
#[test]
fn an_unknown_operation_is_reported_before_credentials() {
    let engine = Engine::new(settings(1));
    let known = "MissingAuthenticationTokenException";
    let unknown = "UnknownOperationException";
    for (target, expect) in [
        ("DynamoDB_20120810.ListTables", known),
        ("DynamoDBStreams_20120810.ListStreams", known),
        ("DynamoDB_20120810.Nothing", unknown),
        ("DynamoDB_20120810.listTables", unknown),
        ("DynamoDB_20120810.ListStreams", unknown),
        ("DynamoDBStreams_20120810.ListTables", unknown),
        ("DynamoDB_20111205.ListTables", unknown),
        ("ListTables", unknown),
        ("", unknown),
    ] {
        for (body, expect) in [("{}", expect), ("", expect), ("{", "SerializationException")] {
            let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target)];
            let answer = engine.handle(&HttpRequest {
                method: "POST",
                target: "/",
                headers: &headers,
                body: body.as_bytes(),
            });
            assert_eq!(answer.status, 400, "{target} {body:?}");
            let found = text(&answer);
            assert!(found.contains(&format!("#{expect}\"")), "{target} {body:?}: {found}");
        }
    }
}
