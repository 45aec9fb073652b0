//! Which condition keys of DynamoDB a request has, and their values: the tables of the service authorization reference, and the
//! page on fine-grained access control.

use serde_json::{Value, json};

use super::{NO, World, YES, allow, arn, document, get, index, key, no, put, query, scan, update, with};

/// The condition keys, by the letter that stands for each in [`requests`].
const KEYS: [(char, &str); 9] = [
    ('L', "LeadingKeys"),
    ('F', "FirstPartitionKeyValues"),
    ('2', "SecondPartitionKeyValues"),
    ('A', "Attributes"),
    ('S', "Select"),
    ('V', "ReturnValues"),
    ('C', "ReturnConsumedCapacity"),
    ('E', "EnclosingOperation"),
    ('T', "FullTableScan"),
];

/// An Allow of everything under a condition.
fn only(operator: &str, name: &str, value: Value) -> Value {
    let condition = json!({operator: {format!("dynamodb:{name}"): value}});
    document(json!([allow(&["*"], json!("*"), condition)]))
}

fn statement(text: &str) -> Value {
    json!({"Statement": text})
}

fn transaction(text: &str) -> Value {
    json!({"TransactStatements": [statement(text)]})
}

fn total(body: Value) -> Value {
    with(body, json!({"ReturnConsumedCapacity": "TOTAL"}))
}

fn write(action: &str, members: Value) -> Value {
    let target = with(json!({"TableName": "GameScores"}), members);
    total(json!({"TransactItems": [{action: target}]}))
}

const SELECT: &str = "SELECT * FROM GameScores WHERE UserId = 'u1'";
const GET: &str = "SELECT * FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'";
const INSERT: &str = "INSERT INTO GameScores VALUE {'UserId': 'u7', 'GameTitle': 'g'}";
const UPDATE: &str = "UPDATE GameScores SET Wins = 1 WHERE UserId = 'u1' AND GameTitle = 'g'";
const DELETE: &str = "DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'";

/// Requests, and the keys that each has. A `?` stands before keys that the documentation does not mention.
fn requests() -> Vec<(&'static str, Value, &'static str)> {
    let table = || json!({"TableName": "GameScores"});
    let set =
        json!({"Key": key("u1"), "UpdateExpression": "SET Wins = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}});
    let check = json!({"Key": key("u1"), "ConditionExpression": "attribute_exists(UserId)"});
    let exists = "EXISTS(SELECT * FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g' AND Wins = 1)";
    vec![
        ("GetItem", total(get("u1", no())), "LFASC"),
        (
            "BatchGetItem",
            total(json!({"RequestItems": {"GameScores": {"Keys": [key("u1")]}}})),
            "LFASC",
        ),
        ("Query", total(query("u1", no())), "LFASC"),
        ("Query", total(index(no())), "LFASC"),
        ("Scan", total(scan(no())), "SC"),
        ("Scan", total(scan(json!({"IndexName": "GameTitleIndex"}))), "SC"),
        ("PutItem", total(put("u1", no())), "LFAVC"),
        ("UpdateItem", total(update("u1", "Wins", no())), "LFAVC"),
        ("DeleteItem", total(get("u1", no())), "LFAVC"),
        (
            "BatchWriteItem",
            total(json!({"RequestItems": {"GameScores": [{"DeleteRequest": {"Key": key("u1")}}]}})),
            "LFAC",
        ),
        ("TransactGetItems", write("Get", json!({"Key": key("u1")})), "LFASCE"),
        ("TransactWriteItems", write("Put", json!({"Item": key("u1")})), "LFAVCE"),
        ("TransactWriteItems", write("Update", set), "LFAVCE"),
        (
            "TransactWriteItems",
            write("Delete", json!({"Key": key("u1")})),
            "LFAVCE",
        ),
        ("TransactWriteItems", write("ConditionCheck", check), "LFAVCE"),
        ("ExecuteStatement", statement(SELECT), "LFAST"),
        ("ExecuteStatement", total(statement(SELECT)), "LFAST"),
        ("ExecuteStatement", statement(GET), "LFAST"),
        ("ExecuteTransaction", transaction(GET), "LFASET"),
        ("ExecuteStatement", statement("SELECT * FROM GameScores"), "ST"),
        ("ExecuteStatement", statement(INSERT), "LFA"),
        ("ExecuteStatement", statement(UPDATE), "LFAV"),
        ("ExecuteStatement", statement(DELETE), "LFAV"),
        (
            "BatchExecuteStatement",
            json!({"Statements": [statement(DELETE)]}),
            "LFAV",
        ),
        ("ExecuteTransaction", transaction(INSERT), "LFAE"),
        ("ExecuteTransaction", transaction(UPDATE), "LFAVE"),
        ("ExecuteTransaction", transaction(DELETE), "LFAVE"),
        ("ExecuteTransaction", transaction(exists), "LFAE?ST"),
        ("DescribeTable", table(), ""),
        (
            "UpdateTable",
            with(table(), json!({"DeletionProtectionEnabled": false})),
            "",
        ),
        ("DescribeTimeToLive", table(), ""),
        ("DescribeContinuousBackups", table(), ""),
        ("ListTables", no(), ""),
        (
            "ListTagsOfResource",
            json!({"ResourceArn": arn("table/GameScores")}),
            "",
        ),
    ]
}

#[test]
fn keys_of_requests() {
    let mut wrong = Vec::new();
    for (letter, name) in KEYS {
        for (absent, is_allowed) in [("false", true), ("true", false)] {
            let world = World::new(&only("Null", name, json!(absent)));
            let cases = requests().into_iter().filter_map(|(operation, body, keys)| {
                let (has, unknown) = keys.split_once('?').unwrap_or((keys, ""));
                let expect = if has.contains(letter) == is_allowed { YES } else { NO };
                (!unknown.contains(letter)).then_some((operation, body, expect))
            });
            let cases: Vec<_> = cases.collect();
            let different = world.wrong("ANN", &cases).into_iter();
            wrong.extend(different.map(|row| format!("{name} is absent: {absent}, {row}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A transaction that is repeated with its token has the keys of the first time.
#[test]
fn keys_of_repeated_transactions() {
    let mut wrong = Vec::new();
    for (letter, name) in KEYS {
        for (absent, is_allowed) in [("false", true), ("true", false)] {
            let world = World::new(&only("Null", name, json!(absent)));
            for (at, (operation, mut body, keys)) in requests().into_iter().enumerate() {
                let (has, unknown) = keys.split_once('?').unwrap_or((keys, ""));
                if !["TransactWriteItems", "ExecuteTransaction"].contains(&operation) || unknown.contains(letter) {
                    continue;
                }
                let expect = if has.contains(letter) == is_allowed { YES } else { NO };
                body["ClientRequestToken"] = json!(format!("token {at}"));
                let case = (operation, body, expect);
                let different = world.wrong("ANN", &[case.clone(), case]).into_iter();
                wrong.extend(different.map(|row| format!("{name} is absent: {absent}, {row}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_of_keys() {
    let mut wrong = Vec::new();
    let projected = json!({"ProjectionExpression": "TopScore"});
    let selected = |what: &str| json!({"Select": what});
    for (operation, body, name, value) in [
        ("GetItem", get("u1", no()), "Select", "ALL_ATTRIBUTES"),
        ("GetItem", get("u1", projected.clone()), "Select", "SPECIFIC_ATTRIBUTES"),
        (
            "GetItem",
            get("u1", json!({"AttributesToGet": ["TopScore"]})),
            "Select",
            "SPECIFIC_ATTRIBUTES",
        ),
        ("Query", query("u1", no()), "Select", "ALL_ATTRIBUTES"),
        ("Query", query("u1", projected.clone()), "Select", "SPECIFIC_ATTRIBUTES"),
        ("Query", query("u1", selected("COUNT")), "Select", "COUNT"),
        (
            "Query",
            index(selected("ALL_PROJECTED_ATTRIBUTES")),
            "Select",
            "ALL_PROJECTED_ATTRIBUTES",
        ),
        ("Scan", scan(no()), "Select", "ALL_ATTRIBUTES"),
        ("Scan", scan(projected), "Select", "SPECIFIC_ATTRIBUTES"),
        ("Scan", scan(selected("COUNT")), "Select", "COUNT"),
        ("ExecuteStatement", statement(SELECT), "Select", "ALL_ATTRIBUTES"),
        ("ExecuteStatement", statement(GET), "Select", "ALL_ATTRIBUTES"),
        ("ExecuteStatement", statement(SELECT), "FullTableScan", "false"),
        ("ExecuteStatement", statement(GET), "FullTableScan", "false"),
        (
            "BatchExecuteStatement",
            json!({"Statements": [statement(GET)]}),
            "FullTableScan",
            "false",
        ),
        (
            "ExecuteStatement",
            statement("SELECT Wins FROM GameScores WHERE UserId = 'u1'"),
            "Select",
            "SPECIFIC_ATTRIBUTES",
        ),
        ("PutItem", put("u1", no()), "ReturnValues", "NONE"),
        (
            "PutItem",
            put("u1", json!({"Wins": {"N": "1"}})),
            "ReturnValues",
            "NONE",
        ),
        (
            "PutItem",
            with(put("u1", no()), json!({"ReturnValues": "ALL_OLD"})),
            "ReturnValues",
            "ALL_OLD",
        ),
        (
            "DeleteItem",
            get("u1", json!({"ReturnValues": "ALL_OLD"})),
            "ReturnValues",
            "ALL_OLD",
        ),
        ("UpdateItem", update("u1", "Wins", no()), "ReturnValues", "NONE"),
        (
            "UpdateItem",
            update("u1", "Wins", json!({"ReturnValues": "UPDATED_NEW"})),
            "ReturnValues",
            "UPDATED_NEW",
        ),
        ("ExecuteStatement", statement(DELETE), "ReturnValues", "NONE"),
        ("GetItem", total(get("u1", no())), "ReturnConsumedCapacity", "TOTAL"),
        (
            "GetItem",
            get("u1", json!({"ReturnConsumedCapacity": "NONE"})),
            "ReturnConsumedCapacity",
            "NONE",
        ),
        (
            "TransactGetItems",
            write("Get", json!({"Key": key("u1")})),
            "ReturnConsumedCapacity",
            "TOTAL",
        ),
        (
            "TransactWriteItems",
            write("Delete", json!({"Key": key("u1")})),
            "ReturnValues",
            "NONE",
        ),
        (
            "TransactGetItems",
            write("Get", json!({"Key": key("u1")})),
            "EnclosingOperation",
            "TransactGetItems",
        ),
        (
            "TransactWriteItems",
            write("Put", json!({"Item": key("u1")})),
            "EnclosingOperation",
            "TransactWriteItems",
        ),
        (
            "ExecuteTransaction",
            transaction(DELETE),
            "EnclosingOperation",
            "ExecuteTransaction",
        ),
        ("GetItem", get("u1", no()), "LeadingKeys", "u1"),
        ("Query", index(no()), "LeadingKeys", "g"),
        ("Query", index(no()), "FirstPartitionKeyValues", "g"),
        (
            "BatchGetItem",
            json!({"RequestItems": {"GameScores": {"Keys": [key("u1")]}}}),
            "LeadingKeys",
            "u1",
        ),
        ("ExecuteStatement", statement(INSERT), "LeadingKeys", "u7"),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores"),
            "FullTableScan",
            "true",
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores WHERE GameTitle = 'g'"),
            "FullTableScan",
            "true",
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores WHERE UserId > 'u'"),
            "FullTableScan",
            "true",
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores WHERE UserId = 'u1' OR UserId = 'u2'"),
            "FullTableScan",
            "false",
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores WHERE UserId IN ['u1', 'u2']"),
            "FullTableScan",
            "false",
        ),
        (
            "ExecuteStatement",
            statement("SELECT * FROM GameScores WHERE UserId = 'u1' OR Wins = 1"),
            "FullTableScan",
            "true",
        ),
    ] {
        let is_list = matches!(name, "LeadingKeys" | "FirstPartitionKeyValues");
        let (equals, differs) = match name {
            _ if is_list => ("ForAnyValue:StringEquals", "ForAnyValue:StringNotEquals"),
            "FullTableScan" => ("Bool", "Null"),
            _ => ("StringEquals", "StringNotEquals"),
        };
        let other = if name == "FullTableScan" { "true" } else { value };
        let same = World::new(&only(equals, name, json!(value)));
        let different = World::new(&only(differs, name, json!(other)));
        wrong.extend(same.wrong("ANN", &[(operation, body.clone(), YES)]));
        wrong.extend(different.wrong("ANN", &[(operation, body, NO)]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
