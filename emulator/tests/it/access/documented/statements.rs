//! PartiQL statements and transactions.

use serde_json::{Value, json};

use super::{DENIED, NO, World, YES, allow, arn, deny, document, get, key, no, put};

fn select(statement: &str) -> Value {
    json!({"Statement": statement})
}

/// PartiQL: by keys, by attributes, and no full table scans.
#[test]
fn statements() {
    let table = json!([arn("table/GameScores")]);
    let all = ["PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"];
    let whole = json!([arn("table/GameScores"), arn("table/GameScores/index/GameTitleIndex")]);
    let scans = json!({"Bool": {"dynamodb:FullTableScan": ["true"]}});
    let world = World::new(&document(json!([
        deny(&["PartiQLSelect"], table.clone(), scans),
        allow(&["PartiQLSelect"], whole, Value::Null)
    ])));
    world.check(
        "PLAYER",
        &[
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId = 'u1'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId IN ['u1', 'u2']"),
                YES,
            ),
            ("ExecuteStatement", select("SELECT * FROM GameScores"), DENIED),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE GameTitle = 'g'"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId > 'u1'"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores WHERE UserId = 'u1' OR TopScore = 1"),
                DENIED,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores.GameTitleIndex WHERE GameTitle = 'g'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("INSERT INTO GameScores VALUE {'UserId': 'u1', 'GameTitle': 'g'}"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'"),
                NO,
            ),
            ("GetItem", get("u1", no()), NO),
        ],
    );
    let own = json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["u1"], "dynamodb:Attributes": ["UserId", "GameTitle", "Wins"]}});
    let world = World::new(&document(json!([allow(&all, table, own)])));
    let insert = |user: &str, more: &str| {
        select(&format!(
            "INSERT INTO GameScores VALUE {{'UserId': '{user}', 'GameTitle': 'g'{more}}}"
        ))
    };
    let set = |user: &str, name: &str| {
        select(&format!(
            "UPDATE GameScores SET {name} = 1 WHERE UserId = '{user}' AND GameTitle = 'g'"
        ))
    };
    world.check(
        "PLAYER",
        &[
            ("ExecuteStatement", insert("u1", ", 'Wins': 1"), YES),
            ("ExecuteStatement", insert("u1", ", 'Losses': 1"), NO),
            ("ExecuteStatement", insert("u2", ""), NO),
            ("ExecuteStatement", set("u1", "Wins"), YES),
            ("ExecuteStatement", set("u1", "Losses"), NO),
            ("ExecuteStatement", set("u2", "Wins"), NO),
            (
                "ExecuteStatement",
                select("SELECT Wins FROM GameScores WHERE UserId = 'u1'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("SELECT Losses FROM GameScores WHERE UserId = 'u1'"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("SELECT Wins FROM GameScores WHERE UserId IN ['u1', 'u2']"),
                NO,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'"),
                YES,
            ),
            (
                "ExecuteStatement",
                select("DELETE FROM GameScores WHERE UserId = 'u2' AND GameTitle = 'g'"),
                NO,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": [set("u1", "Wins")]}),
                YES,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": [set("u1", "Wins"), set("u2", "Wins")]}),
                NO,
            ),
            ("BatchExecuteStatement", json!({"Statements": [set("u1", "Wins")]}), YES),
            ("BatchExecuteStatement", json!({"Statements": [set("u2", "Wins")]}), NO),
        ],
    );
}

/// Transactions only, anything but transactions, and single actions in transactions.
#[test]
fn enclosing_operations() {
    let actions = ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "ConditionCheckItem"];
    let transactions = json!(["TransactWriteItems", "TransactGetItems"]);
    let table = json!([arn("table/GameScores")]);
    let inside = json!({"TransactItems": [{"Put": put("u1", no())}]});
    let reads = json!({"TransactItems": [{"Get": get("u1", no())}]});
    let check = json!({"TransactItems": [{"ConditionCheck": get("u1", json!({"ConditionExpression": "attribute_not_exists(UserId)"}))}]});
    let statements =
        json!({"TransactStatements": [select("DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'")]});
    for operator in ["ForAnyValue:StringEquals", "StringEquals"] {
        let only = json!({operator: {"dynamodb:EnclosingOperation": transactions}});
        World::new(&document(json!([allow(&actions, table.clone(), only)]))).check(
            "PLAYER",
            &[
                ("TransactWriteItems", inside.clone(), YES),
                ("TransactGetItems", reads.clone(), YES),
                ("TransactWriteItems", check.clone(), YES),
                ("PutItem", put("u1", no()), NO),
                ("GetItem", get("u1", no()), NO),
                ("ExecuteTransaction", statements.clone(), NO),
            ],
        );
        let never = json!({operator: {"dynamodb:EnclosingOperation": transactions}});
        let both = document(json!([
            allow(&actions, table.clone(), Value::Null),
            deny(&actions, table.clone(), never)
        ]));
        World::new(&both).check(
            "PLAYER",
            &[
                ("TransactWriteItems", inside.clone(), DENIED),
                ("TransactGetItems", reads.clone(), DENIED),
                ("PutItem", put("u1", no()), YES),
                ("GetItem", get("u1", no()), YES),
            ],
        );
    }
    let checks = document(json!([allow(&["ConditionCheckItem"], table.clone(), Value::Null)]));
    World::new(&checks).check(
        "PLAYER",
        &[
            ("TransactWriteItems", check, YES),
            ("TransactWriteItems", inside, NO),
            ("GetItem", get("u1", no()), NO),
        ],
    );
    // A batch is not its single actions, and they are not it.
    let batches = document(json!([allow(&["BatchGetItem", "BatchWriteItem"], table, Value::Null)]));
    World::new(&batches).check(
        "PLAYER",
        &[
            (
                "BatchGetItem",
                json!({"RequestItems": {"GameScores": {"Keys": [key("u1")]}}}),
                YES,
            ),
            ("GetItem", get("u1", no()), NO),
            ("PutItem", put("u1", no()), NO),
        ],
    );
}

/// Who may not use a table does not learn that it is missing, in batches and transactions neither.
#[test]
fn statements_on_a_missing_table() {
    let all = [
        (
            "PartiQLSelect",
            "SELECT * FROM Nowhere WHERE UserId = 'u1' AND GameTitle = 'g'",
        ),
        (
            "PartiQLInsert",
            "INSERT INTO Nowhere VALUE {'UserId': 'u1', 'GameTitle': 'g'}",
        ),
        (
            "PartiQLUpdate",
            "UPDATE Nowhere SET Wins = 1 WHERE UserId = 'u1' AND GameTitle = 'g'",
        ),
        (
            "PartiQLDelete",
            "DELETE FROM Nowhere WHERE UserId = 'u1' AND GameTitle = 'g'",
        ),
    ];
    for (action, text) in all {
        let others = all.iter().map(|(other, _)| *other).filter(|other| *other != action);
        for (actions, expect) in [(vec![action], YES), (others.collect(), NO)] {
            World::new(&document(json!([allow(&actions, json!("*"), Value::Null)]))).check(
                "ANN",
                &[
                    ("ExecuteStatement", select(text), expect),
                    ("BatchExecuteStatement", json!({"Statements": [select(text)]}), expect),
                    (
                        "ExecuteTransaction",
                        json!({"TransactStatements": [select(text)]}),
                        expect,
                    ),
                ],
            );
        }
    }
}

/// Nor that an index of a table is missing.
#[test]
fn reads_of_a_missing_index() {
    let read = |condition: &str| {
        json!({"TableName": "GameScores", "IndexName": "Nowhere", "KeyConditionExpression": condition,
            "ExpressionAttributeValues": {":u": {"S": "u1"}}})
    };
    let reads = |expect| {
        [
            ("Query", read("UserId = :u"), expect),
            (
                "Scan",
                json!({"TableName": "GameScores", "IndexName": "Nowhere"}),
                expect,
            ),
            (
                "ExecuteStatement",
                select("SELECT * FROM GameScores.Nowhere WHERE UserId = 'u1'"),
                expect,
            ),
        ]
    };
    for (resource, expect) in [("table/GameScores", NO), ("table/GameScores/index/*", YES)] {
        let statement = allow(&["Query", "Scan", "PartiQLSelect"], json!(arn(resource)), Value::Null);
        World::new(&document(json!([statement]))).check("ANN", &reads(expect));
    }
}
