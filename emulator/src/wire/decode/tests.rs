use proptest::prelude::*;

use super::*;
use crate::request::*;
use crate::transfer::InvalidRecord;
use crate::value::{AttributeValue, Map, SentItem};
use crate::wire::encode::Writer;

type Outcome = Result<(), ApiError>;

/// The error of the first action that has one.
fn first_violation(mut actions: impl Iterator<Item = ValueViolations>) -> Outcome {
    let error = actions.find_map(|violations| violations.attributes.or(violations.substitutions));
    error.map_or(Ok(()), Err)
}

/// Decodes a body as the operation's request, and returns the error text about its values.
fn read(operation: &str, body: &[u8]) -> Outcome {
    match operation {
        "PutItem" => PutItem::decode(body).map(drop),
        "UpdateItem" => UpdateItem::decode(body).map(drop),
        "DeleteItem" => DeleteItem::decode(body).map(drop),
        "GetItem" => GetItem::decode(body).map(drop),
        "Query" => Query::decode(body).map(drop),
        "Scan" => Scan::decode(body).map(drop),
        "BatchGetItem" => {
            let tables = BatchGetItem::decode(body)?.request_items.into_iter().flatten();
            let mut keys = tables.flat_map(|(_, requested)| requested.keys.into_iter().flatten());
            keys.find_map(|key| key.violation).map_or(Ok(()), Err)
        }
        "BatchWriteItem" => {
            let tables = BatchWriteItem::decode(body)?.request_items.into_iter().flatten();
            first_violation(tables.flat_map(|(_, writes)| writes).map(|write| write.violations))
        }
        "TransactWriteItems" => {
            let actions = TransactWriteItems::decode(body)?.transact_items.into_iter().flatten();
            first_violation(actions.map(|action| action.violations))
        }
        "TransactGetItems" => {
            let actions = TransactGetItems::decode(body)?.transact_items.into_iter().flatten();
            first_violation(actions.map(|action| action.violations))
        }
        "CreateTable" => CreateTable::decode(body).map(drop),
        "ListTables" => ListTables::decode(body).map(drop),
        "UpdateTimeToLive" => UpdateTimeToLive::decode(body).map(drop),
        other => panic!("{other} is not in this table"),
    }
}

/// The result for a body: `ok`, `no JSON`, or the kind's first letter and the text.
fn said(operation: &str, body: &[u8]) -> String {
    match read(operation, body) {
        Ok(()) => "ok".to_owned(),
        Err(error) => match (error.kind(), error.message()) {
            (ErrorKind::Serialization, None) => "no JSON".to_owned(),
            (ErrorKind::Serialization, Some(text)) => format!("S {text}"),
            (ErrorKind::Validation, Some(text)) => format!("V {text}"),
            other => panic!("{other:?}"),
        },
    }
}

fn check(operation: &str, body: &str, expect: &str) {
    assert_eq!(said(operation, body.as_bytes()), expect, "{operation} {body}");
}

#[test]
fn bodies() {
    for body in [
        "",
        " ",
        "null",
        "[]",
        "5",
        "\"a\"",
        "{",
        "{}x",
        "\u{feff}{}",
        "{'a':1}",
        "{\"a\":1,}",
        "/**/{}",
    ] {
        check("PutItem", body, "no JSON");
    }
    for body in [
        "{}",
        r#"{"tablename":5,"Nothing":[{"a":null}]}"#,
        r#"{"TableName":null,"Item":null,"ExpressionAttributeValues":null}"#,
    ] {
        check("PutItem", body, "ok");
    }
    // A syntax error takes precedence over an earlier type error, and a type error over an earlier value error.
    check("PutItem", r#"{"TableName":5,"Item":{]}"#, "no JSON");
    check(
        "PutItem",
        r#"{"Item":{"a":{}},"TableName":5}"#,
        "S NUMBER_VALUE cannot be converted to String",
    );
    check("PutItem", r#"{"Item":{"a":{}},"TableName":"\ud800"}"#, "no JSON");
    let last = PutItem::decode(br#"{"TableName":"a","TableName":"b","Item":{"x":{"S":"1"},"x":{"S":"2"}}}"#).unwrap();
    assert_eq!(last.table_name.as_deref(), Some("b"));
    assert_eq!(
        last.item.unwrap().attributes.get("x"),
        Some(&AttributeValue::string("2"))
    );
}

#[test]
fn scalars() {
    for (found, string, boolean, integer) in [
        (
            "\"a\"",
            "",
            "Unexpected token received from parser",
            "STRING_VALUE cannot be converted to Integer",
        ),
        ("\"true\"", "", "", "STRING_VALUE cannot be converted to Integer"),
        (
            "true",
            "TRUE_VALUE cannot be converted to String",
            "",
            "TRUE_VALUE cannot be converted to Integer",
        ),
        (
            "false",
            "FALSE_VALUE cannot be converted to String",
            "",
            "FALSE_VALUE cannot be converted to Integer",
        ),
        (
            "5",
            "NUMBER_VALUE cannot be converted to String",
            "NUMBER_VALUE cannot be converted to Boolean",
            "",
        ),
        (
            "1.5",
            "DECIMAL_VALUE cannot be converted to String",
            "DECIMAL_VALUE cannot be converted to Boolean",
            "",
        ),
        (
            "[]",
            "Unrecognized collection type class java.lang.String",
            "Unrecognized collection type class java.lang.Boolean",
            "Unrecognized collection type class java.lang.Integer",
        ),
        (
            "{}",
            "Start of structure or map found where not expected",
            "Start of structure or map found where not expected",
            "Start of structure or map found where not expected",
        ),
    ] {
        for (member, expect) in [("TableName", string), ("ConsistentRead", boolean), ("Limit", integer)] {
            let expect = if expect.is_empty() {
                "ok".to_owned()
            } else {
                format!("S {expect}")
            };
            check("Query", &format!("{{\"{member}\":{found}}}"), &expect);
        }
    }
    for (written, limit) in [
        ("5", 5),
        ("1.9", 1),
        ("-1", -1),
        ("1e2", 100),
        ("99999999999", i64::from(i32::MAX)),
    ] {
        let body = format!("{{\"Limit\":{written}}}");
        assert_eq!(Scan::decode(body.as_bytes()).unwrap().limit, Some(limit));
    }
    let long = r#"{"ProvisionedThroughput":{"ReadCapacityUnits":1000000000001,"WriteCapacityUnits":1e99}}"#;
    let throughput = CreateTable::decode(long.as_bytes())
        .unwrap()
        .provisioned_throughput
        .unwrap();
    assert_eq!(throughput.read_capacity_units, Some(1_000_000_000_001));
    assert_eq!(throughput.write_capacity_units, Some(i64::MAX));
    let text = r#"{"ProvisionedThroughput":{"ReadCapacityUnits":"1"}}"#;
    check("CreateTable", text, "S STRING_VALUE cannot be converted to Long");
}

#[test]
fn collections() {
    const CAST: &str = "S class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')";
    const MAP: &str = "S Unrecognized collection type java.util.Map<java.lang.String, ";
    const CLASS: &str = "S Unrecognized collection type class com.amazonaws.dynamodb.v20120810.";
    const OBJECT: &str = "S Start of structure or map found where not expected";
    let model = |class: &str| format!("{MAP}com.amazonaws.dynamodb.v20120810.{class}>");
    for (operation, body, expect) in [
        ("PutItem", r#"{"Item":5}"#, "S Unexpected field type".to_owned()),
        ("PutItem", r#"{"Item":[]}"#, model("AttributeValue")),
        (
            "PutItem",
            r#"{"Item":{"a":5}}"#,
            "S Unexpected value type in payload".to_owned(),
        ),
        ("PutItem", r#"{"Item":{"a":[]}}"#, format!("{CLASS}AttributeValue")),
        ("PutItem", r#"{"Expected":[]}"#, model("ExpectedAttributeValue")),
        (
            "PutItem",
            r#"{"Expected":{"a":""}}"#,
            "S Unexpected value type in payload".to_owned(),
        ),
        (
            "PutItem",
            r#"{"Expected":{"a":{"Value":""}}}"#,
            "S Unexpected field type".to_owned(),
        ),
        (
            "PutItem",
            r#"{"Expected":{"a":{"AttributeValueList":{}}}}"#,
            OBJECT.to_owned(),
        ),
        (
            "UpdateItem",
            r#"{"AttributeUpdates":[]}"#,
            model("AttributeValueUpdate"),
        ),
        ("Query", r#"{"QueryFilter":[]}"#, model("Condition")),
        ("Query", r#"{"KeyConditions":{"a":[]}}"#, format!("{CLASS}Condition")),
        (
            "Query",
            r#"{"AttributesToGet":"a"}"#,
            "S Unexpected field type".to_owned(),
        ),
        ("Query", r#"{"AttributesToGet":{}}"#, OBJECT.to_owned()),
        (
            "Query",
            r#"{"AttributesToGet":[1]}"#,
            "S NUMBER_VALUE cannot be converted to String".to_owned(),
        ),
        (
            "Query",
            r#"{"ExpressionAttributeNames":[]}"#,
            format!("{MAP}java.lang.String>"),
        ),
        ("BatchGetItem", r#"{"RequestItems":[]}"#, model("KeysAndAttributes")),
        (
            "BatchGetItem",
            r#"{"RequestItems":{"t":{"Keys":["a"]}}}"#,
            CAST.to_owned(),
        ),
        (
            "BatchGetItem",
            r#"{"RequestItems":{"t":{"Keys":{}}}}"#,
            OBJECT.to_owned(),
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":[]}"#,
            format!("{MAP}java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>"),
        ),
        ("BatchWriteItem", r#"{"RequestItems":{"t":1}}"#, CAST.to_owned()),
        ("BatchWriteItem", r#"{"RequestItems":{"t":{}}}"#, OBJECT.to_owned()),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"t":[""]}}"#,
            "S Unexpected value type in payload".to_owned(),
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"t":[[]]}}"#,
            format!("{CLASS}WriteRequest"),
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"t":[{"PutRequest":[]}]}}"#,
            format!("{CLASS}PutRequest"),
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":[{"Update":[]}]}"#,
            format!("{CLASS}Update"),
        ),
        (
            "TransactGetItems",
            r#"{"TransactItems":[{"Get":1}]}"#,
            "S Unexpected field type".to_owned(),
        ),
        (
            "CreateTable",
            r#"{"KeySchema":[[]]}"#,
            format!("{CLASS}KeySchemaElement"),
        ),
        (
            "CreateTable",
            r#"{"LocalSecondaryIndexes":[[]]}"#,
            format!("{CLASS}LocalSecondaryIndex"),
        ),
        (
            "CreateTable",
            r#"{"GlobalSecondaryIndexes":[[]]}"#,
            format!("{CLASS}GlobalSecondaryIndex"),
        ),
        (
            "CreateTable",
            r#"{"ProvisionedThroughput":[]}"#,
            format!("{CLASS}ProvisionedThroughput"),
        ),
        (
            "UpdateTimeToLive",
            r#"{"TimeToLiveSpecification":{"Enabled":1}}"#,
            "S NUMBER_VALUE cannot be converted to Boolean".to_owned(),
        ),
    ] {
        check(operation, body, &expect);
    }
}

/// The bodies of each operation's request with one attribute value in it, beside expression values and inside them.
const PLACES: [(&str, &str, &str); 6] = [
    (
        "PutItem",
        r#"{"Item":{"a":VALUE}}"#,
        r#"{"ExpressionAttributeValues":{":v":VALUE}}"#,
    ),
    (
        "UpdateItem",
        r#"{"Key":{"a":VALUE}}"#,
        r#"{"ExpressionAttributeValues":{":v":VALUE}}"#,
    ),
    ("GetItem", r#"{"Key":{"a":VALUE}}"#, ""),
    (
        "Query",
        r#"{"KeyConditions":{"a":{"AttributeValueList":[VALUE]}}}"#,
        r#"{"ExpressionAttributeValues":{":v":VALUE}}"#,
    ),
    (
        "BatchWriteItem",
        r#"{"RequestItems":{"t":[{"PutRequest":{"Item":{"a":VALUE}}}]}}"#,
        "",
    ),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"Put":{"Item":{"a":VALUE}}}]}"#,
        r#"{"TransactItems":[{"Update":{"ExpressionAttributeValues":{":v":VALUE}}}]}"#,
    ),
];

/// Checks each operation's error for a value: `current` and `older` are the texts without their surroundings.
fn check_value(value: &str, rule: value_errors::BrokenRule, current: &str, older: &str) {
    const AROUND: &str = "ExpressionAttributeValues contains invalid value: ";
    for (operation, beside, inside) in PLACES {
        let is_older = matches!(operation, "BatchWriteItem" | "TransactWriteItems");
        let enveloped = matches!(operation, "PutItem" | "UpdateItem") && rule != value_errors::BrokenRule::Shape;
        let envelope = if enveloped { "1 validation error detected: " } else { "" };
        let text = if is_older { older } else { current };
        check(
            operation,
            &beside.replace("VALUE", value),
            &format!("V {envelope}{text}"),
        );
        if !inside.is_empty() {
            let wrapped = if is_older || text == ApiError::AMBIGUOUS_VALUE {
                format!("V {envelope}{AROUND}{text} for key :v")
            } else {
                format!("V {envelope}{text}")
            };
            check(operation, &inside.replace("VALUE", value), &wrapped);
        }
    }
}

#[test]
fn shapes_of_values() {
    use value_errors::BrokenRule::Shape;
    for value in [
        "{}",
        r#"{"X":"a"}"#,
        r#"{"s":"a"}"#,
        r#"{"S":null}"#,
        "null",
        r#"{"L":[{}]}"#,
        r#"{"M":{"a":null}}"#,
    ] {
        check_value(value, Shape, ApiError::EMPTY_VALUE, ApiError::EMPTY_VALUE);
    }
    for value in [r#"{"S":"a","N":"1"}"#, r#"{"L":[{"BOOL":true,"NULL":true}]}"#] {
        check_value(value, Shape, ApiError::AMBIGUOUS_VALUE, ApiError::AMBIGUOUS_VALUE);
    }
    for value in [
        r#"{"S":"a","N":null}"#,
        r#"{"S":"a","X":"b"}"#,
        r#"{"S":""}"#,
        r#"{"B":""}"#,
        r#"{"BOOL":"true"}"#,
        r#"{"BOOL":"yes"}"#,
        r#"{"SS":[""]}"#,
        r#"{"L":[]}"#,
    ] {
        check("PutItem", &format!("{{\"Item\":{{\"a\":{value}}}}}"), "ok");
    }
}

/// Of several invalid values the first is reported, unless another breaks a rule that is checked before.
#[test]
fn the_most_important_of_several_errors_is_reported() {
    let number = |text: &str| format!("The parameter cannot be converted to a numeric value: {text}");
    let wrapped =
        |text: &str, key: &str| format!("V ExpressionAttributeValues contains invalid value: {text} for key {key}");
    let nested = r#"{"M":{"":{"S":"a"}}}"#;
    for (values, expect) in [
        (
            r#"":b":{"N":"x"},":a":{"N":"y"}"#.to_owned(),
            wrapped(&number("x"), ":b"),
        ),
        (
            r#"":b":{"N":"x"},":a":{"S":"y"}"#.to_owned(),
            wrapped(&number("x"), ":b"),
        ),
        (
            r#"":b":{"S":"x"},":a":{"N":"y"}"#.to_owned(),
            wrapped(&number("y"), ":a"),
        ),
        (
            format!(r#"":a":{nested},":b":{{"N":"x"}}"#),
            wrapped(&number("x"), ":b"),
        ),
        (
            format!(r#"":a":{{"N":"x"}},":b":{nested}"#),
            wrapped(&number("x"), ":a"),
        ),
        (
            format!(r#"":a":{nested},":b":{nested}"#),
            wrapped(ApiError::EMPTY_NAME, ":a"),
        ),
        (r#"":a":{"S":"x"},":b":{"S":"y"}"#.to_owned(), "ok".to_owned()),
    ] {
        let body = format!(r#"{{"TransactItems":[{{"Update":{{"ExpressionAttributeValues":{{{values}}}}}}}]}}"#);
        check("TransactWriteItems", &body, &expect);
    }
    let (key, condition) = (
        r#""ExclusiveStartKey":{"a":{}}"#,
        r#""KeyConditions":{"a":{"AttributeValueList":[{"N":"x"}]}}"#,
    );
    let of_key = format!("V The provided starting key is invalid: {}", ApiError::EMPTY_VALUE);
    for (members, expect) in [
        (format!("{key},{condition}"), of_key.clone()),
        (format!("{condition},{key}"), of_key),
        (
            format!(r#"{condition},"ExclusiveStartKey":{{"a":{{"S":"a"}}}}"#),
            format!("V {}", number("x")),
        ),
        (
            format!(r#"{condition},"ExclusiveStartKey":{{"a":{{"N":"y"}}}}"#),
            format!("V {}", number("y")),
        ),
    ] {
        check("Query", &format!("{{{members}}}"), &expect);
    }
    let record = ItemRecord::read(br#"{"Item":{"a":{"N":"x"}}}"#).unwrap_err();
    assert_eq!(record, InvalidRecord::Value(number("x")));
}

#[test]
fn malformed_start_keys_are_reported_with_their_path() {
    for operation in ["Query", "Scan"] {
        let text = format!("V The provided starting key is invalid: {}", ApiError::EMPTY_VALUE);
        check(operation, r#"{"ExclusiveStartKey":{"a":{}}}"#, &text);
        let text = "V The parameter cannot be converted to a numeric value: x";
        check(operation, r#"{"ExclusiveStartKey":{"a":{"N":"x"}}}"#, text);
    }
}

#[test]
fn types_of_values() {
    for (value, expect) in [
        (r#"{"S":1}"#, "S NUMBER_VALUE cannot be converted to String"),
        (r#"{"N":3}"#, "S NUMBER_VALUE cannot be converted to String"),
        (r#"{"BOOL":"maybe"}"#, "S Unexpected token received from parser"),
        (r#"{"SS":"a"}"#, "S Unexpected field type"),
        (r#"{"NS":[1]}"#, "S NUMBER_VALUE cannot be converted to String"),
        (r#"{"L":{}}"#, "S Start of structure or map found where not expected"),
        (r#"{"L":["a"]}"#, "S Unexpected value type in payload"),
        (r#"{"M":{"a":"b"}}"#, "S Unexpected value type in payload"),
        (
            r#"{"B":true}"#,
            "S only base-64-encoded strings are convertible to bytes",
        ),
        (
            r#"{"B":[]}"#,
            "S Unrecognized collection type class java.nio.ByteBuffer",
        ),
        (r#"{"B":{}}"#, "S Start of structure or map found where not expected"),
        (
            r#"{"B":"abc"}"#,
            "S Base64 encoded length is expected a multiple of 4 bytes but found: 3",
        ),
        (r#"{"B":"ab=="}"#, "S Invalid last non-pad Base64 character dectected"),
        (r#"{"B":"a-_b"}"#, "S Invalid base 64 character: '-'"),
        (r#"{"BS":["a b="]}"#, "S Invalid base 64 character: ' '"),
        (
            r#"{"B":"éab"}"#,
            "S only base-64-encoded strings are convertible to bytes",
        ),
        (
            r#"{"BS":[5]}"#,
            "S only base-64-encoded strings are convertible to bytes",
        ),
    ] {
        check("PutItem", &format!("{{\"Item\":{{\"a\":{value}}}}}"), expect);
        check(
            "TransactWriteItems",
            &format!("{{\"TransactItems\":[{{\"Put\":{{\"Item\":{{\"a\":{value}}}}}}}]}}"),
            expect,
        );
    }
}

#[test]
fn contents_of_values() {
    use value_errors::BrokenRule::Content;
    let both = |value: &str, text: &str| check_value(value, Content, text, text);
    both(r#"{"NULL":false}"#, ApiError::NULL_FALSE);
    both(r#"{"N":"1e126"}"#, ApiError::OVERFLOW);
    both(r#"{"L":[{"NS":["1","1e-131"]}]}"#, ApiError::UNDERFLOW);
    both(
        r#"{"N":"123456789012345678901234567890123456789"}"#,
        "Attempting to store more than 38 significant digits in a Number",
    );
    for text in ["abc", " 1", "0x10", "1e", "NaN", "1.2.3", "é", "1e99999999999999999999"] {
        let expect = format!("The parameter cannot be converted to a numeric value: {text}");
        both(&format!("{{\"N\":\"{text}\"}}"), &expect);
    }
    let not_numeric = "The parameter cannot be converted to a numeric value";
    check_value(r#"{"N":""}"#, Content, &format!("{not_numeric}: "), not_numeric);
    check_value(
        r#"{"N":"1e2147483647"}"#,
        Content,
        ApiError::OVERFLOW,
        ApiError::UNDERFLOW,
    );
    check_value(
        r#"{"N":"1e99999999999"}"#,
        Content,
        ApiError::OVERFLOW,
        &format!("{not_numeric}: 1e99999999999"),
    );
    let lead = "One or more parameter values were invalid: ";
    for (value, text) in [
        (r#"{"SS":[]}"#, "An string set  may not be empty"),
        (r#"{"NS":[]}"#, "An number set  may not be empty"),
        (r#"{"M":{"a":{"BS":[]}}}"#, "Binary sets should not be empty"),
    ] {
        check_value(value, Content, &format!("{lead}{text}"), &format!("{lead}{text}"));
    }
    for (value, current, older) in [
        (
            r#"{"SS":["b","a","b"]}"#,
            r#"Input collection ["a", "b", "b"] contains duplicates."#,
            "Input collection [b, a, b] contains duplicates.",
        ),
        (
            r#"{"SS":["c","b","a","b","A"]}"#,
            r#"Input collection ["a", "b", "c", "b", "A"] contains duplicates."#,
            "Input collection [c, b, a, b, A] contains duplicates.",
        ),
        (
            r#"{"BS":["/w==","AA==","AA=="]}"#,
            r#"Input collection ["AA==","/w==","AA=="]of type BS contains duplicates."#,
            "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
        ),
    ] {
        check_value(value, Content, &format!("{lead}{current}"), &format!("{lead}{older}"));
    }
    let repeats = format!("{lead}Input collection contains duplicates.");
    check_value(
        r#"{"NS":["1","1.0"]}"#,
        Content,
        &repeats,
        "Input collection contains duplicates",
    );
    both(r#"{"M":{"":{"NULL":true}}}"#, ApiError::EMPTY_NAME);
    check(
        "PutItem",
        r#"{"Item":{"":{"S":"a"}}}"#,
        "V 1 validation error detected: Empty attribute name",
    );
    let long = |length: usize| "n".repeat(length);
    both(
        &format!(r#"{{"M":{{"{}":{{"S":"a"}}}}}}"#, long(65_536)),
        ApiError::LONG_NAME,
    );
    for (member, length, expect) in [
        ("Item", 65_535, "ok"),
        (
            "Item",
            65_536,
            "V 1 validation error detected: Attribute name is too large, must be less than 65536 bytes",
        ),
        (
            "Expected",
            65_536,
            "V 1 validation error detected: Attribute name is too large, must be less than 65536 bytes",
        ),
    ] {
        let value = if member == "Item" {
            r#"{"S":"a"}"#
        } else {
            r#"{"Exists":false}"#
        };
        check(
            "PutItem",
            &format!(r#"{{"{member}":{{"{}":{value}}}}}"#, long(length)),
            expect,
        );
    }
    // The limit is in bytes.
    let two_bytes = "é".repeat(32_767);
    let too_large = "V 1 validation error detected: Attribute name is too large, must be less than 65536 bytes";
    for (last, expect) in [("", "ok"), ("n", "ok"), ("é", too_large), ("nn", too_large)] {
        let name = format!("{two_bytes}{last}");
        check("PutItem", &format!(r#"{{"Item":{{"{name}":{{"S":"a"}}}}}}"#), expect);
    }
    check(
        "UpdateItem",
        &format!(r#"{{"AttributeUpdates":{{"{}":{{"Action":"DELETE"}}}}}}"#, long(65_536)),
        "V 1 validation error detected: Attribute name is too large, must be less than 65536 bytes",
    );
}

/// A scalar inside this many lists and maps.
fn nested(levels: usize) -> String {
    let (mut open, mut close) = (String::new(), String::new());
    for level in 0..levels {
        open.push_str(if level % 2 == 0 { r#"{"L":["# } else { r#"{"M":{"a":"# });
        close.insert_str(0, if level % 2 == 0 { "]}" } else { "}}" });
    }
    format!("{open}{{\"S\":\"x\"}}{close}")
}

#[test]
fn nesting() {
    let run = || {
        for (operation, beside, inside) in PLACES {
            check(operation, &beside.replace("VALUE", &nested(31)), "ok");
            if !inside.is_empty() {
                let most = if operation == "TransactWriteItems" { 32 } else { 31 };
                check(operation, &inside.replace("VALUE", &nested(most)), "ok");
            }
        }
        let deepest = r#"{"L":["#.repeat(1_000_000) + &"]}".repeat(1_000_000);
        for value in [nested(40), nested(64), nested(65), nested(1000), deepest] {
            check_value(
                &value,
                value_errors::BrokenRule::Content,
                ApiError::NESTING,
                ApiError::NESTING,
            );
            let cut = &value[..value.len() - 1];
            check("PutItem", &format!("{{\"Item\":{{\"a\":{cut}}}}}"), "no JSON");
        }
        check_value(
            &nested(40),
            value_errors::BrokenRule::Content,
            ApiError::NESTING,
            ApiError::NESTING,
        );
        for levels in [1000, 1_000_000] {
            let body = format!("{{\"Unknown\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
            check("PutItem", &body, "ok");
            check("PutItem", &"[".repeat(levels), "no JSON");
        }
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn which_error_is_reported() {
    let deep = nested(40);
    for (operation, body, expect) in [
        (
            "UpdateItem",
            r#"{"ExpressionAttributeValues":{":v":{}},"Key":{"a":{"S":"a","N":"1"}}}"#.to_owned(),
            ApiError::AMBIGUOUS_VALUE,
        ),
        (
            "PutItem",
            r#"{"Expected":{"b":{"Value":{"S":"a","N":"1"}}},"Item":{"a":{}}}"#.to_owned(),
            ApiError::EMPTY_VALUE,
        ),
        (
            "GetItem",
            r#"{"Key":{"a":{},"b":{"S":"a","N":"1"}}}"#.to_owned(),
            ApiError::EMPTY_VALUE,
        ),
        (
            "BatchWriteItem",
            format!(r#"{{"RequestItems":{{"t":[{{"PutRequest":{{"Item":{{"a":{deep},"":{{"S":"a"}}}}}}}}]}}}}"#),
            ApiError::EMPTY_NAME,
        ),
        (
            "BatchWriteItem",
            format!(
                r#"{{"RequestItems":{{"t":[{{"PutRequest":{{"Item":{{"m":{{"M":{{"":{{"S":"a"}}}}}},"a":{deep}}}}}}}]}}}}"#
            ),
            ApiError::NESTING,
        ),
        (
            "BatchWriteItem",
            format!(
                r#"{{"RequestItems":{{"t":[{{"PutRequest":{{"Item":{{"a":{deep}}}}}}},{{"PutRequest":{{"Item":{{"":{{}}}}}}}}]}}}}"#
            ),
            ApiError::NESTING,
        ),
        (
            "TransactGetItems",
            r#"{"TransactItems":[{"Get":{"Key":{"a":{}}}},{"Get":{"Key":{"":{"S":"a"}}}}]}"#.to_owned(),
            ApiError::EMPTY_VALUE,
        ),
    ] {
        check(operation, &body, &format!("V {expect}"));
    }
}

#[test]
fn members_go_where_they_belong() {
    let request = UpdateItem::decode(
        br##"{"TableName":"T","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET #a = :v","ConditionExpression":"c",
        "ExpressionAttributeNames":{"#b":"b","#a":"x","#a":"a"},"ExpressionAttributeValues":{":v":{"N":"1"}},
        "ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD","ReturnConsumedCapacity":"TOTAL",
        "ReturnItemCollectionMetrics":"SIZE","ConditionalOperator":"OR",
        "AttributeUpdates":{"u":{"Action":"ADD","Value":{"N":"2"}}},
        "Expected":{"e":{"Exists":false,"ComparisonOperator":"EQ","AttributeValueList":[{"S":"l"}],"Value":{"S":"v"}}}}"##,
    )
    .unwrap();
    let number = |text: &str| AttributeValue::N(text.parse().unwrap());
    let expect = UpdateItem {
        table_name: Some("T".into()),
        key: Some([("pk".into(), AttributeValue::string("a"))].into_iter().collect()),
        update_expression: Some("SET #a = :v".into()),
        condition_expression: Some("c".into()),
        substitutions: Substitutions {
            names: Some(vec![("#b".into(), "b".into()), ("#a".into(), "a".into())]),
            values: Some(vec![(":v".into(), number("1"))]),
        },
        return_values: Some("ALL_NEW".into()),
        return_values_on_condition_check_failure: Some("ALL_OLD".into()),
        return_consumed_capacity: Some("TOTAL".into()),
        return_item_collection_metrics: Some("SIZE".into()),
        attribute_updates: Some(vec![(
            "u".into(),
            AttributeUpdate {
                value: Some(number("2")),
                action: Some("ADD".into()),
            },
        )]),
        expected: Some(vec![(
            "e".into(),
            Expected {
                value: Some(AttributeValue::string("v")),
                exists: Some(false),
                comparison_operator: Some("EQ".into()),
                attribute_value_list: Some(vec![AttributeValue::string("l")]),
            },
        )]),
        conditional_operator: Some("OR".into()),
    };
    assert_eq!(request, expect);

    let query = Query::decode(
        br#"{"TableName":"T","IndexName":"I","Limit":2,"ScanIndexForward":false,"ConsistentRead":true,"Select":"COUNT",
        "AttributesToGet":["a","b"],"KeyConditions":{"k":{"ComparisonOperator":"EQ","AttributeValueList":[]}},
        "QueryFilter":{},"ExclusiveStartKey":{}}"#,
    )
    .unwrap();
    assert_eq!(
        (query.limit, query.scan_index_forward, query.consistent_read),
        (Some(2), Some(false), Some(true))
    );
    assert_eq!(query.attributes_to_get, Some(vec!["a".into(), "b".into()]));
    assert_eq!(query.key_conditions.unwrap()[0].1.attribute_value_list, Some(vec![]));
    assert_eq!(
        (query.query_filter, query.exclusive_start_key),
        (Some(vec![]), Some(Map::new()))
    );

    let table = CreateTable::decode(
        br#"{"TableName":"T","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"SSESpecification":{"Enabled":true,"SSEType":"KMS"},
        "LocalSecondaryIndexes":[{"IndexName":"l","ProvisionedThroughput":[1],"Projection":{"NonKeyAttributes":["n"]}}],
        "GlobalSecondaryIndexes":[{"IndexName":"g","OnDemandThroughput":{"MaxReadRequestUnits":5}}],
        "Tags":[{"Key":"k","Value":""}],"StreamSpecification":{"StreamEnabled":true},"DeletionProtectionEnabled":true}"#,
    )
    .unwrap();
    let local = &table.local_secondary_indexes.unwrap()[0];
    assert_eq!(local.provisioned_throughput, None);
    assert_eq!(
        local.projection.as_ref().unwrap().non_key_attributes,
        Some(vec!["n".into()])
    );
    let global = &table.global_secondary_indexes.unwrap()[0];
    assert_eq!(
        global.on_demand_throughput.as_ref().unwrap().max_read_request_units,
        Some(5)
    );
    assert_eq!(table.sse_specification.unwrap().sse_type.as_deref(), Some("KMS"));
    assert_eq!(table.stream_specification.unwrap().stream_enabled, Some(true));
    assert_eq!(table.tags.unwrap()[0].value.as_deref(), Some(""));

    let batch =
        BatchWriteItem::decode(br#"{"RequestItems":{"a":[{"DeleteRequest":{"Key":{}}},null,{}],"b":null}}"#).unwrap();
    let tables = batch.request_items.unwrap();
    assert_eq!((tables[0].1.len(), tables[1].1.len()), (3, 0));
    assert_eq!(
        tables[0].1[0].delete_request,
        Some(DeleteRequest { key: Some(Map::new()) })
    );
}

/// Members have the bounds of the model, in characters and in elements.
#[test]
fn validated_members_may_be_as_long_as_their_bounds() {
    let scaling = |member: &str| format!(r#"{{"ProvisionedWriteCapacityAutoScalingUpdate":{member}}}"#);
    let role = |text: String| scaling(&format!(r#"{{"AutoScalingRoleArn":"{text}"}}"#));
    let policy = |text: String| {
        let target = r#"{"TargetValue":50}"#;
        scaling(&format!(
            r#"{{"ScalingPolicyUpdate":{{"PolicyName":"{text}","TargetTrackingScalingPolicyConfiguration":{target}}}}}"#
        ))
    };
    for (body, accepted) in [
        (role(String::new()), false),
        (role("a".into()), true),
        (role("a".repeat(1600)), true),
        (role("a".repeat(1601)), false),
        (role("é".repeat(1600)), true),
        (role("é".repeat(1601)), false),
        (policy(String::new()), false),
        (policy("~".into()), true),
        (policy("a".repeat(256)), true),
        (policy("a".repeat(257)), false),
    ] {
        let request = UpdateReplicaAutoScaling::decode(body.as_bytes()).unwrap();
        let violations = request.write.unwrap().violations;
        assert_eq!(violations.finish().is_ok(), accepted, "{body}");
    }
    for (count, accepted) in [(0, false), (1, true), (20, true), (21, false)] {
        let indexes = vec![r#"{"IndexName":"abc"}"#; count].join(",");
        let body = format!(r#"{{"GlobalTableGlobalSecondaryIndexSettingsUpdate":[{indexes}]}}"#);
        let request = admin::UpdateGlobalTableSettings::decode(body.as_bytes()).unwrap();
        let violations = request.0.index_settings.unwrap();
        assert_eq!(violations.finish().is_ok(), accepted, "{count}");
    }
    for (count, accepted) in [(0, false), (1, true), (50, true), (51, false)] {
        let replicas = vec![r#"{"RegionName":"us-east-1"}"#; count].join(",");
        let body = format!(r#"{{"ReplicaSettingsUpdate":[{replicas}]}}"#);
        let request = admin::UpdateGlobalTableSettings::decode(body.as_bytes()).unwrap();
        let violations = request.0.replica_settings.unwrap();
        assert_eq!(violations.finish().is_ok(), accepted, "{count}");
    }
}

#[test]
fn each_element_of_a_validated_list_is_checked() {
    type Violated = fn(&[u8]) -> Outcome;
    let scaled_replicas: Violated = |body| {
        let updates = UpdateReplicaAutoScaling::decode(body)?.replica_updates;
        updates.unwrap().violations.finish()
    };
    let scaled_indexes: Violated = |body| {
        let updates = UpdateReplicaAutoScaling::decode(body)?.index_updates;
        updates.unwrap().violations.finish()
    };
    let set_indexes: Violated = |body| {
        let settings = admin::UpdateGlobalTableSettings::decode(body)?.0.index_settings;
        settings.unwrap().finish()
    };
    let set_replicas: Violated = |body| {
        let settings = admin::UpdateGlobalTableSettings::decode(body)?.0.replica_settings;
        settings.unwrap().finish()
    };
    let least = "Member must have value greater than or equal to 1";
    let short = "Member must have length greater than or equal to 3";
    let missing = "Member must not be null";
    for (read, list, valid, invalid, value, path, constraint) in [
        (
            scaled_replicas,
            "ReplicaUpdates",
            r#"{"RegionName":"us-east-1","ReplicaProvisionedReadCapacityAutoScalingUpdate":{"MinimumUnits":1}}"#,
            r#"{"RegionName":"us-east-1","ReplicaProvisionedReadCapacityAutoScalingUpdate":{"MinimumUnits":0}}"#,
            "'0'",
            ".replicaProvisionedReadCapacityAutoScalingUpdate.minimumUnits",
            least,
        ),
        (
            scaled_replicas,
            "ReplicaUpdates",
            r#"{"RegionName":"us-east-1","ReplicaGlobalSecondaryIndexUpdates":[]}"#,
            r#"{"RegionName":"us-east-1","ReplicaGlobalSecondaryIndexUpdates":[{"IndexName":"abc"},{},{"IndexName":"ab"}]}"#,
            "'ab'",
            ".replicaGlobalSecondaryIndexUpdates.3.member.indexName",
            short,
        ),
        (
            scaled_indexes,
            "GlobalSecondaryIndexUpdates",
            r#"{"IndexName":"abc"}"#,
            r#"{"IndexName":"abc","ProvisionedWriteCapacityAutoScalingUpdate":{"MaximumUnits":0}}"#,
            "'0'",
            ".provisionedWriteCapacityAutoScalingUpdate.maximumUnits",
            least,
        ),
        (
            set_indexes,
            "GlobalTableGlobalSecondaryIndexSettingsUpdate",
            r#"{"IndexName":"abc"}"#,
            r#"{"ProvisionedWriteCapacityUnits":1}"#,
            "null",
            ".indexName",
            missing,
        ),
        (
            set_replicas,
            "ReplicaSettingsUpdate",
            r#"{"RegionName":"us-east-1","ReplicaProvisionedReadCapacityUnits":1}"#,
            r#"{"RegionName":"us-east-1","ReplicaProvisionedReadCapacityUnits":0}"#,
            "'0'",
            ".replicaProvisionedReadCapacityUnits",
            least,
        ),
        (
            set_replicas,
            "ReplicaSettingsUpdate",
            r#"{"RegionName":"us-east-1","ReplicaProvisionedReadCapacityUnits":null}"#,
            r#"{"RegionName":null,"ReplicaProvisionedReadCapacityUnits":1}"#,
            "null",
            ".regionName",
            missing,
        ),
    ] {
        let said = |elements: &[&str]| {
            let body = format!(r#"{{"{list}":[{}]}}"#, elements.join(","));
            let error = read(body.as_bytes()).err()?;
            error.message().map(str::to_owned)
        };
        let of_list = format!("{}{}", list[..1].to_ascii_lowercase(), &list[1..]);
        let violation = |at: usize| {
            format!("Value {value} at '{of_list}.{at}.member{path}' failed to satisfy constraint: {constraint}")
        };
        let one = |at: usize| Some(format!("1 validation error detected: {}", violation(at)));
        assert_eq!(said(&[valid, valid, valid]), None, "{list}");
        assert_eq!(said(&[invalid, valid]), one(1));
        assert_eq!(said(&[valid, invalid, valid]), one(2));
        assert_eq!(said(&[valid, valid, invalid]), one(3));
        let both = format!("2 validation errors detected: {}; {}", violation(1), violation(3));
        assert_eq!(said(&[invalid, valid, invalid]), Some(both));
    }
}

const SAMPLES: [(&str, &str); 4] = [
    (
        "PutItem",
        r#"{"TableName":"T","Item":{"a":{"S":"\u00e9\n"},"n":{"N":"-1.5e3"},"m":{"M":{"l":{"L":[{"NULL":true},{"BOOL":false}]}}},"b":{"BS":["AA==","/w=="]}}}"#,
    ),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"Update":{"Key":{"a":{"S":"k"}},"ExpressionAttributeValues":{":v":{"NS":["1","2"]}}}},{"Put":{"Item":{}}}]}"#,
    ),
    (
        "BatchWriteItem",
        r#"{"RequestItems":{"t":[{"PutRequest":{"Item":{"k":{"SS":["a","b"]}}}},{"DeleteRequest":{"Key":{"k":{"S":""}}}}]}}"#,
    ),
    (
        "CreateTable",
        r#"{"TableName":"T","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"ProvisionedThroughput":{"ReadCapacityUnits":1}}"#,
    ),
];

#[test]
fn truncated_bodies_are_no_json() {
    for (operation, body) in SAMPLES {
        check(operation, body, "ok");
        for end in 0..body.len() {
            assert_eq!(said(operation, &body.as_bytes()[..end]), "no JSON", "{operation} {end}");
        }
    }
}

#[test]
fn many_equal_names_take_no_long() {
    // A comparison of each with each would take minutes here.
    let names: Vec<String> = (0..200_000).map(|at| format!("\"#{}\":\"a\"", at % 100_000)).collect();
    let body = format!("{{\"ExpressionAttributeNames\":{{{}}}}}", names.join(","));
    let names = GetItem::decode(body.as_bytes()).unwrap().substitutions.names.unwrap();
    assert_eq!(names.len(), 100_000);
}

fn values() -> impl Strategy<Value = AttributeValue> {
    use AttributeValue as V;
    let number = (any::<i64>(), -100i32..100).prop_map(|(digits, exponent)| format!("{digits}e{exponent}"));
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20).prop_map(Vec::into_boxed_slice);
    let leaf = prop_oneof![
        ".{0,40}".prop_map(|text| V::string(&text)),
        number.prop_map(|text| V::N(text.parse().unwrap())),
        bytes().prop_map(V::B),
        any::<bool>().prop_map(V::Bool),
        Just(V::Null),
        proptest::collection::btree_set(".{0,9}", 1..5)
            .prop_map(|set| V::string_set(set.into_iter().map(Into::into).collect()).unwrap()),
        proptest::collection::btree_set(any::<i64>(), 1..5)
            .prop_map(|set| V::number_set(set.into_iter().map(Into::into).collect()).unwrap()),
        proptest::collection::btree_set(bytes(), 1..5)
            .prop_map(|set| V::binary_set(set.into_iter().collect()).unwrap()),
    ];
    leaf.prop_recursive(8, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(V::L),
            proptest::collection::vec((".{1,9}", inner), 0..5)
                .prop_map(|entries| V::M(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(value in values()) {
        let item: Map = [("a".into(), value)].into_iter().collect();
        let mut writer = Writer::new();
        writer.open_object().name("Item").attributes(&item).close_object();
        let body = writer.finish();
        let request = PutItem::decode(&body).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(request.item, Some(SentItem::from(item.clone())));
        let theirs: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert!(theirs["Item"]["a"].is_object());
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read("PutItem", &bytes);
    }

    #[test]
    fn no_change_of_a_good_body_panics(
        sample in 0..SAMPLES.len(),
        at in any::<prop::sample::Index>(),
        with in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'{'), Just(b'['), Just(b'}')], 0..4),
        dropped in 0usize..4,
    ) {
        let (operation, body) = SAMPLES[sample];
        let mut bytes = body.as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + dropped).min(bytes.len());
        bytes.splice(at..end, with);
        let judged = read(operation, &bytes);
        // Invalid JSON never decodes, and valid JSON is never reported as invalid.
        if check_syntax(&bytes).is_ok() {
            prop_assert_ne!(judged, Err(not_json()));
        } else {
            prop_assert_eq!(judged, Err(not_json()));
        }
    }
}

#[test]
fn long_lists_of_structures_do_not_fill_the_memory() {
    for element in ["{}", "null", r#"{"Put":{}}"#] {
        let body = format!(
            "{{\"TransactItems\":[{}{element}]}}",
            format!("{element},").repeat(200_000)
        );
        let kept = TransactWriteItems::decode(body.as_bytes())
            .unwrap()
            .transact_items
            .unwrap();
        assert_eq!(kept.len(), 1000);
        let wrong = body.replace("]}", ",[]]}");
        check(
            "TransactWriteItems",
            &wrong,
            "S Unrecognized collection type class com.amazonaws.dynamodb.v20120810.TransactWriteItem",
        );
    }
}

/// A timestamp is a number of seconds: its milliseconds are exact, although it is read as a double.
#[test]
fn timestamps_are_exact_to_the_millisecond() {
    let read = |seconds: &str| {
        let body = format!(r#"{{"RestoreDateTime": {seconds}}}"#);
        let request = RestoreTableToPointInTime::decode(body.as_bytes()).unwrap();
        request.restore_date_time.unwrap().micros()
    };
    for whole in [0, 1, 1_767_225_600] {
        for millis in 0..1000_i64 {
            let seconds = format!("{whole}.{millis:03}");
            assert_eq!(read(&seconds), whole * 1_000_000 + millis * 1000, "{seconds}");
        }
    }
    for (seconds, expect) in [
        ("0", 0),
        ("1", 1_000_000),
        ("-1.5", -1_500_000),
        ("1.7672256e9", 1_767_225_600_000_000),
    ] {
        assert_eq!(read(seconds), expect, "{seconds}");
    }
}
