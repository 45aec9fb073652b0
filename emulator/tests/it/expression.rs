//! Explanations of expressions: their parts, the position of an error, and the value of each part for items.

use std::fmt::Write;

use crate::common::Twin;
use dynatwin_engine::http::HttpRequest;
use serde_json::{Value, json};

fn twin() -> Twin {
    let twin = Twin::new(7);
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }),
    );
    for (id, item) in [("a", json!({"L": [{"N": "1"}]})), ("b", json!({"S": "text"}))] {
        let item = json!({"id": {"S": id}, "xs": item, "cost": {"N": "5"}});
        twin.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    twin
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        let _ = write!(encoded, "%{byte:02X}");
    }
    encoded
}

fn explained(twin: &Twin, kind: &str, expression: &str, names: &Value, values: &Value) -> (u16, Value) {
    let parameter = |name: &str, value: &Value| {
        let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        if is_empty {
            return String::new();
        }
        format!("&{name}={}", encoded(&value.to_string()))
    };
    let target = format!(
        "/_dynatwin/tables/Orders/expression?kind={kind}&expression={}{}{}",
        encoded(expression),
        parameter("names", names),
        parameter("values", values)
    );
    let answer = twin.engine.handle(&HttpRequest {
        method: "GET",
        target: &target,
        headers: &[("host", "here")],
        body: b"",
    });
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

/// Returns the parts in short: depth, kind, and position in the text.
fn parts(expression: &str, explained: &Value) -> Vec<String> {
    let part = |node: &Value| {
        let at = |name: &str| usize::try_from(node[name].as_u64().unwrap()).unwrap();
        let what = ["logic", "operator", "action", "path", "value"];
        let what = what
            .iter()
            .find_map(|name| node.get(*name))
            .map_or("?".to_owned(), |what| {
                what.as_str().map_or_else(|| what.to_string(), str::to_owned)
            });
        let depth = node["depth"].as_u64().unwrap();
        format!("{depth} {what} <{}>", &expression[at("start")..at("end")])
    };
    explained["nodes"].as_array().unwrap().iter().map(part).collect()
}

#[test]
fn parts_have_their_depth_and_position() {
    let twin = twin();
    let names = json!({"#t": "cost"});
    let values = json!({":five": {"N": "5"}});
    for (kind, expression, expect) in [
        (
            "FilterExpression",
            "NOT (#t = :five OR size(xs[0].x) < :five) AND attribute_exists(id)",
            vec![
                "0 AND <#t = :five OR size(xs[0].x) < :five) AND attribute_exists(id)>",
                "1 NOT <#t = :five OR size(xs[0].x) < :five>",
                "2 OR <#t = :five OR size(xs[0].x) < :five>",
                "3 = <#t = :five>",
                "4 cost <#t>",
                r#"4 {"N":"5"} <:five>"#,
                "3 < <size(xs[0].x) < :five>",
                "4 size <size(xs[0].x)>",
                "5 xs[0].x <xs[0].x>",
                r#"4 {"N":"5"} <:five>"#,
                "1 attribute_exists <attribute_exists(id)>",
                "2 id <id>",
            ],
        ),
        (
            "UpdateExpression",
            "SET a = if_not_exists(#t, :five) + b REMOVE c",
            vec![
                "0 SET <a = if_not_exists(#t, :five) + b>",
                "1 a <a>",
                "1 + <if_not_exists(#t, :five) + b>",
                "2 if_not_exists <if_not_exists(#t, :five)>",
                "3 cost <#t>",
                r#"3 {"N":"5"} <:five>"#,
                "2 b <b>",
                "0 REMOVE <c>",
                "1 c <c>",
            ],
        ),
        (
            "ProjectionExpression",
            "id, #t[1]",
            vec!["0 id <id>", "0 cost[1] <#t[1]>"],
        ),
        (
            "KeyConditionExpression",
            "id = :five",
            vec!["0 = <id = :five>", "1 id <id>", r#"1 {"N":"5"} <:five>"#],
        ),
    ] {
        let (status, explained) = explained(&twin, kind, expression, &names, &values);
        assert_eq!(status, 200, "{explained}");
        assert_eq!(parts(expression, &explained), expect, "{explained}");
        assert!(explained.get("error").is_none(), "{explained}");
    }
}

#[test]
fn errors_have_their_position() {
    let twin = twin();
    let values = json!({":s": {"S": "x"}, ":n": {"N": "1"}});
    for (kind, expression, place, message) in [
        ("FilterExpression", "cost = = :n", Some("="), "Syntax error"),
        ("FilterExpression", "cost = ", Some(" "), "Syntax error"),
        (
            "FilterExpression",
            "id = :s AND status = :s",
            Some("status"),
            "reserved keyword: status",
        ),
        (
            "FilterExpression",
            "id = :s AND length(id) = :n",
            Some("length"),
            "Invalid function name; function: length",
        ),
        (
            "FilterExpression",
            "id = :s AND cost > :limit",
            Some(":limit"),
            "attribute value: :limit",
        ),
        (
            "FilterExpression",
            "id = :s AND #t > :n",
            Some("#t"),
            "attribute name: #t",
        ),
        (
            "FilterExpression",
            "id = :s AND begins_with(id, :n)",
            Some("begins_with(id, :n)"),
            "operand type: N",
        ),
        ("FilterExpression", "((id = :s))", None, "redundant parentheses"),
        ("FilterExpression", "", None, "The expression can not be empty;"),
        (
            "KeyConditionExpression",
            "id = :s AND size(cost) = :n",
            Some("size(cost) = :n"),
            "nested operations",
        ),
        // Of two clauses with one error, the first is the one that is reported.
        (
            "KeyConditionExpression",
            "id = :s AND size(cost) = :n AND size(xs) = :n",
            Some("size(cost) = :n"),
            "nested operations",
        ),
        (
            "UpdateExpression",
            "SET cost = cost + :s",
            Some("cost + :s"),
            "operand type: S",
        ),
        ("UpdateExpression", "ADD cost :s", Some(":s"), "operand type: STRING"),
        ("UpdateExpression", "SET é = :s", Some("é"), "Syntax error"),
        // Updates and projections are checked from the end.
        (
            "UpdateExpression",
            "SET a = :x, b = :y",
            Some(":y"),
            "attribute value: :y",
        ),
        (
            "UpdateExpression",
            "SET #a = :n REMOVE #b",
            Some("#b"),
            "attribute name: #b",
        ),
        (
            "UpdateExpression",
            "SET a = list_append(:n, b) ADD c :s",
            Some(":s"),
            "operator: ADD, operand type: STRING",
        ),
        (
            "UpdateExpression",
            "ADD a :n, b :s DELETE c :n",
            Some(":n"),
            "operator: DELETE, operand type: NUMBER",
        ),
        ("ProjectionExpression", "#a, b, #c", Some("#c"), "attribute name: #c"),
        // Conditions are checked from the start.
        (
            "FilterExpression",
            "#a = :x OR #b = :y",
            Some("#a"),
            "attribute name: #a",
        ),
        (
            "FilterExpression",
            "a = :x OR #b = :y",
            Some(":x"),
            "attribute value: :x",
        ),
    ] {
        let (status, explained) = explained(&twin, kind, expression, &json!({}), &values);
        assert_eq!(status, 200, "{explained}");
        let error = explained["error"].as_str().unwrap();
        assert!(error.contains(message), "{expression}: {error}");
        let text: Vec<u16> = expression.encode_utf16().collect();
        let found = explained.get("at").map(|at| {
            let end = |name: &str| usize::try_from(at[name].as_u64().unwrap()).unwrap();
            String::from_utf16(&text[end("start")..end("end")]).unwrap()
        });
        assert_eq!(found.as_deref(), place, "{expression}: {explained}");
        assert_eq!(explained["items"], json!([]));
    }
}

#[test]
fn each_part_is_evaluated_for_each_item() {
    let twin = twin();
    let values = json!({":one": {"N": "1"}, ":id": {"S": "a"}});
    let expression = "size(xs) = :one OR NOT id = :id";
    let (_, explained) = explained(&twin, "FilterExpression", expression, &json!({}), &values);
    let mut items = explained["items"].as_array().unwrap().clone();
    items.sort_by_key(|item| item["key"].to_string());
    let yes = json!({"holds": true});
    let no = json!({"holds": false});
    assert_eq!(
        items,
        [
            json!({"key": {"id": {"S": "a"}}, "holds": true, "parts": [
                yes, yes, {"value": {"N": "1"}}, {"value": {"L": [{"N": "1"}]}}, {}, no, yes, {"value": {"S": "a"}}, {}]}),
            json!({"key": {"id": {"S": "b"}}, "holds": true, "parts": [
                yes, no, {"value": {"N": "4"}}, {"value": {"S": "text"}}, {}, yes, no, {"value": {"S": "b"}}, {}]}),
        ]
    );
}

/// Returns the truths of the parts of a filter for the item `a`, of those parts that have one.
fn truths(twin: &Twin, filter: &str) -> Vec<bool> {
    let values = json!({":one": {"N": "1"}, ":five": {"N": "5"}});
    let (status, explained) = explained(twin, "FilterExpression", filter, &json!({}), &values);
    assert_eq!(status, 200, "{explained}");
    let mut items = explained["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["key"]["id"]["S"] == "a").unwrap();
    let parts = item["parts"].as_array().unwrap().iter();
    let truths: Vec<bool> = parts.filter_map(|part| part["holds"].as_bool()).collect();
    assert_eq!(item["holds"], truths[0], "{filter}: {item}");
    truths
}

#[test]
fn each_side_of_a_logical_operator_counts() {
    let twin = twin();
    let test = |holds: bool| if holds { "cost = :five" } else { "cost = :one" };
    for left in [false, true] {
        for right in [false, true] {
            let (first, second) = (test(left), test(right));
            for (filter, expect) in [
                (format!("{first} AND {second}"), vec![left && right, left, right]),
                (format!("{first} OR {second}"), vec![left || right, left, right]),
                (
                    format!("NOT {first} AND {second}"),
                    vec![!left && right, !left, left, right],
                ),
                (
                    format!("{first} OR NOT {second}"),
                    vec![left || !right, left, !right, right],
                ),
                (
                    format!("NOT ({first} AND {second})"),
                    vec![!(left && right), left && right, left, right],
                ),
                (
                    format!("NOT ({first} OR {second})"),
                    vec![!(left || right), left || right, left, right],
                ),
            ] {
                assert_eq!(truths(&twin, &filter), expect, "{filter}");
            }
        }
    }
}

#[test]
fn invalid_documents_are_refused() {
    let twin = twin();
    for (kind, names, sentence) in [
        ("Filter", json!({}), "kind must be one of ConditionExpression, "),
        ("FilterExpression", json!([1]), "names and values cannot be read: "),
    ] {
        let (status, answer) = explained(&twin, kind, "a = b", &names, &json!({}));
        assert_eq!(status, 400);
        assert!(answer["error"].as_str().unwrap().starts_with(sentence), "{answer}");
    }
    let (status, mut answer) = explained(&twin, "FilterExpression", "a = b", &json!({"t": "cost"}), &json!({}));
    assert_eq!(status, 200);
    let error = answer["error"].take();
    assert!(error.as_str().unwrap().contains("contains invalid key"), "{error}");
    assert_eq!(
        answer,
        json!({"kind": "FilterExpression", "expression": "a = b", "error": null, "nodes": [], "items": []})
    );
}

/// Positions count UTF-16 units: two for a character outside of the basic plane, one for each other.
#[test]
fn positions_are_utf_16_units() {
    let twin = twin();
    for (kind, expression, expect) in [
        ("FilterExpression", "😀 = :s", (0, 2)),
        ("FilterExpression", "cost = :s AND 😀 = :s", (14, 16)),
        ("FilterExpression", "cost = :s 😀 status", (10, 12)),
        ("FilterExpression", "id = :s AND 😀", (12, 14)),
        ("FilterExpression", "id = :s AND é😀 = :s", (12, 13)),
        ("FilterExpression", "id = :s AND 漢 = :s", (12, 13)),
        ("FilterExpression", "id😀", (2, 4)),
        ("FilterExpression", "a.😀.b", (2, 4)),
        ("FilterExpression", "😀😀 = :s", (0, 2)),
        ("FilterExpression", "#😀 = :s", (0, 1)),
        ("FilterExpression", "cost = :😀", (7, 8)),
        ("ConditionExpression", "cost = :s AND 😀 = :s", (14, 16)),
        ("KeyConditionExpression", "id = :s AND 😀 = :s", (12, 14)),
        ("ProjectionExpression", "id, 😀", (4, 6)),
        ("ProjectionExpression", "id, é", (4, 5)),
        ("ProjectionExpression", "xs[😀]", (3, 5)),
        ("UpdateExpression", "SET 😀 = :s", (4, 6)),
        ("UpdateExpression", "SET é = :s", (4, 5)),
        ("UpdateExpression", "SET a = :s ADD 😀 :s", (15, 17)),
        ("UpdateExpression", "SET cost = :s, 😀 = :s", (15, 17)),
        ("UpdateExpression", "REMOVE a, 😀", (10, 12)),
    ] {
        let (status, explained) = explained(&twin, kind, expression, &json!({}), &json!({":s": {"S": "😀"}}));
        let error = explained["error"].as_str().unwrap();
        assert!(error.contains("Syntax error; token: "), "{kind} {expression}: {error}");
        let at = ["start", "end"].map(|end| explained["at"][end].as_u64().unwrap());
        assert_eq!(
            (status, at),
            (200, [expect.0, expect.1]),
            "{kind} {expression}: {error}"
        );
    }
}
