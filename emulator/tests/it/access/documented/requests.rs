//! What policies see of requests: legacy parameters, statements, multi-attribute keys, and actions that a call needs besides its
//! own. The sources are the pages on fine-grained access control and on PartiQL policies, and the service authorization
//! reference.

use serde_json::{Value, json};

use super::{ACCOUNT, DENIED, NO, REGION, World, YES, allow, arn, deny, document, get, key, no, put, query, with};

fn only(operator: &str, name: &str, values: Value) -> Value {
    document(json!([allow(&["*"], json!("*"), json!({operator: {name: values}}))]))
}

fn statement(text: &str) -> Value {
    json!({"Statement": text})
}

#[test]
fn partition_keys_of_requests() {
    let own = only("ForAllValues:StringEquals", "dynamodb:LeadingKeys", json!(["u1"]));
    let legacy = |user: &str| {
        let condition = json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"S": user}]});
        json!({"TableName": "GameScores", "KeyConditions": {"UserId": condition}})
    };
    let bound =
        |user: &str| json!({"Statement": "SELECT * FROM GameScores WHERE UserId = ?", "Parameters": [{"S": user}]});
    let batch = |users: &[&str]| {
        let keys: Vec<Value> = users.iter().map(|user| key(user)).collect();
        json!({"RequestItems": {"GameScores": {"Keys": keys}}})
    };
    let writes = json!({"RequestItems": {"GameScores": [{"PutRequest": {"Item": key("u1")}}, {"DeleteRequest": {"Key": key("u2")}}]}});
    let checks = json!({"TransactItems": [
        {"Put": {"TableName": "GameScores", "Item": key("u1")}},
        {"ConditionCheck": {"TableName": "GameScores", "Key": key("u2"), "ConditionExpression": "attribute_exists(UserId)"}}]});
    let exists = "EXISTS(SELECT * FROM GameScores WHERE UserId = 'u2' AND GameTitle = 'g' AND Wins = 1)";
    let delete = "DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'";
    World::new(&own).check(
        "ANN",
        &[
            ("Query", legacy("u1"), YES),
            ("Query", legacy("u2"), NO),
            ("ExecuteStatement", bound("u1"), YES),
            ("ExecuteStatement", bound("u2"), NO),
            (
                "ExecuteStatement",
                statement("SELECT * FROM GameScores WHERE UserId IN ['u1', 'u2']"),
                NO,
            ),
            (
                "ExecuteStatement",
                statement("SELECT * FROM GameScores WHERE UserId = 'u1' OR UserId = 'u2'"),
                NO,
            ),
            (
                "ExecuteStatement",
                statement("INSERT INTO GameScores VALUE {'UserId': 'u2', 'GameTitle': 'g'}"),
                NO,
            ),
            (
                "ExecuteStatement",
                statement("UPDATE GameScores SET Wins = 1 WHERE UserId = 'u2' AND GameTitle = 'g'"),
                NO,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": [statement(exists), statement(delete)]}),
                NO,
            ),
            ("BatchGetItem", batch(&["u1"]), YES),
            ("BatchGetItem", batch(&["u1", "u2"]), NO),
            ("BatchWriteItem", writes, NO),
            ("TransactWriteItems", checks, NO),
        ],
    );
}

#[test]
fn attributes_of_requests() {
    let some = only(
        "ForAllValues:StringEquals",
        "dynamodb:Attributes",
        json!(["UserId", "GameTitle", "Wins"]),
    );
    let losses = json!({"Losses": {"ComparisonOperator": "NOT_NULL"}});
    let wins = json!({"Wins": {"ComparisonOperator": "NOT_NULL"}});
    let update = |members: Value| get("u1", members);
    World::new(&some).check(
        "ANN",
        &[
            ("GetItem", get("u1", json!({"AttributesToGet": ["Wins"]})), YES),
            ("GetItem", get("u1", json!({"AttributesToGet": ["Losses"]})), NO),
            ("GetItem", get("u1", json!({"ProjectionExpression": "Wins.a[0].b"})), YES),
            ("GetItem", get("u1", json!({"ProjectionExpression": "#l", "ExpressionAttributeNames": {"#l": "Losses"}})), NO),
            ("Query", query("u1", json!({"FilterExpression": "attribute_exists(Losses)"})), NO),
            ("Scan", json!({"TableName": "GameScores", "ScanFilter": wins}), YES),
            ("Scan", json!({"TableName": "GameScores", "ScanFilter": losses}), NO),
            ("UpdateItem", update(json!({"AttributeUpdates": {"Wins": {"Action": "DELETE"}}})), YES),
            ("UpdateItem", update(json!({"AttributeUpdates": {"Losses": {"Action": "DELETE"}}})), NO),
            ("UpdateItem", update(json!({"UpdateExpression": "REMOVE Losses"})), NO),
            ("UpdateItem", update(json!({"UpdateExpression": "SET Wins = Losses"})), NO),
            ("DeleteItem", get("u1", json!({"Expected": {"Losses": {"Exists": false}}})), NO),
            ("PutItem", put("u1", json!({"Losses": {"N": "1"}})), NO),
            ("BatchWriteItem", json!({"RequestItems": {"GameScores": [{"PutRequest": {"Item": with(key("u1"), json!({"Losses": {"N": "1"}}))}}]}}), NO),
            ("ExecuteStatement", statement("SELECT Losses FROM GameScores WHERE UserId = 'u1'"), NO),
            ("ExecuteStatement", statement("SELECT Wins FROM GameScores WHERE UserId = 'u1' AND Losses = 1"), NO),
            ("ExecuteStatement", statement("UPDATE GameScores SET Losses = 1 WHERE UserId = 'u1' AND GameTitle = 'g'"), NO),
            ("ExecuteStatement", statement("INSERT INTO GameScores VALUE {'UserId': 'u1', 'GameTitle': 'g', 'Losses': 1}"), NO),
        ],
    );
}

#[test]
fn what_requests_return() {
    let shows = |what: &str| only("StringEquals", "dynamodb:ReturnValues", json!(what));
    let delete = "DELETE FROM GameScores WHERE UserId = 'u1' AND GameTitle = 'g'";
    let update = "UPDATE GameScores SET Wins = 1 WHERE UserId = 'u1' AND GameTitle = 'g'";
    for (what, text) in [
        ("NONE", delete.to_owned()),
        ("ALL_OLD", format!("{delete} RETURNING ALL OLD *")),
        ("NONE", update.to_owned()),
        ("ALL_OLD", format!("{update} RETURNING ALL OLD *")),
        ("ALL_NEW", format!("{update} RETURNING ALL NEW *")),
        ("UPDATED_OLD", format!("{update} RETURNING MODIFIED OLD *")),
        ("UPDATED_NEW", format!("{update} RETURNING MODIFIED NEW *")),
    ] {
        let other = if what == "NONE" { "ALL_OLD" } else { "NONE" };
        World::new(&shows(what)).check("ANN", &[("ExecuteStatement", statement(&text), YES)]);
        let batch = json!({"Statements": [statement(&text)]});
        World::new(&shows(other)).check(
            "ANN",
            &[
                ("ExecuteStatement", statement(&text), NO),
                ("BatchExecuteStatement", batch, NO),
            ],
        );
    }
    let insert = statement("INSERT INTO GameScores VALUE {'UserId': 'u9', 'GameTitle': 'g'}");
    World::new(&shows("NONE")).check("ANN", &[("ExecuteStatement", insert, NO)]);
    let total = only("StringEquals", "dynamodb:ReturnConsumedCapacity", json!("TOTAL"));
    World::new(&total).check(
        "ANN",
        &[
            ("GetItem", get("u1", json!({"ReturnConsumedCapacity": "TOTAL"})), YES),
            ("GetItem", get("u1", json!({"ReturnConsumedCapacity": "INDEXES"})), NO),
            (
                "Scan",
                json!({"TableName": "GameScores", "ReturnConsumedCapacity": "TOTAL"}),
                YES,
            ),
            ("PutItem", put("u1", no()), NO),
        ],
    );
}

/// The keys of the first to fourth attribute of a partition key are separate.
#[test]
fn multi_attribute_partition_keys() {
    let body = json!({"TableName": "Multi", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "tenant", "AttributeType": "S"},
            {"AttributeName": "region", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "Both", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "tenant", "KeyType": "HASH"}, {"AttributeName": "region", "KeyType": "HASH"}]}]});
    let request = json!({"TableName": "Multi", "IndexName": "Both", "KeyConditionExpression": "tenant = :t AND #r = :r",
        "ExpressionAttributeNames": {"#r": "region"}, "ExpressionAttributeValues": {":t": {"S": "t1"}, ":r": {"S": "eu"}}});
    for (operator, name, values, expect) in [
        ("ForAllValues:StringEquals", "LeadingKeys", json!(["t1"]), YES),
        ("ForAllValues:StringEquals", "LeadingKeys", json!(["eu"]), NO),
        (
            "ForAllValues:StringEquals",
            "FirstPartitionKeyValues",
            json!(["t1"]),
            YES,
        ),
        (
            "ForAllValues:StringEquals",
            "SecondPartitionKeyValues",
            json!(["eu"]),
            YES,
        ),
        (
            "ForAllValues:StringEquals",
            "SecondPartitionKeyValues",
            json!(["us"]),
            NO,
        ),
        ("Null", "SecondPartitionKeyValues", json!("false"), YES),
        ("Null", "ThirdPartitionKeyValues", json!("true"), YES),
    ] {
        let world = World::new(&only(operator, &format!("dynamodb:{name}"), values));
        world.twin.call("ROOT", "CreateTable", &body);
        world.check("ANN", &[("Query", request.clone(), expect)]);
    }
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let hash = |name: &str| json!({"AttributeName": name, "KeyType": "HASH"});
    let attributes = ["id", "tenant", "region", "year", "kind"].map(attribute);
    let schema = ["tenant", "region", "year", "kind"].map(hash);
    let body = json!({"TableName": "Multi", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": [hash("id")],
        "GlobalSecondaryIndexes": [{"IndexName": "All", "Projection": {"ProjectionType": "ALL"}, "KeySchema": schema}]});
    let request = json!({"TableName": "Multi", "IndexName": "All",
        "KeyConditionExpression": "#t = :t AND #r = :r AND #y = :y AND #k = :k",
        "ExpressionAttributeNames": {"#t": "tenant", "#r": "region", "#y": "year", "#k": "kind"},
        "ExpressionAttributeValues": {":t": {"S": "t1"}, ":r": {"S": "eu"}, ":y": {"S": "2026"}, ":k": {"S": "big"}}});
    let positions = ["First", "Second", "Third", "Fourth"]
        .into_iter()
        .zip(["t1", "eu", "2026", "big"]);
    for (position, value) in positions {
        for (allowed, expect) in [(value, YES), ("other", NO)] {
            let name = format!("dynamodb:{position}PartitionKeyValues");
            let world = World::new(&only("ForAllValues:StringEquals", &name, json!([allowed])));
            world.twin.call("ROOT", "CreateTable", &body);
            world.check("ANN", &[("Query", request.clone(), expect)]);
        }
    }
}

/// Each of up to four attributes of a partition key has a condition key of its own.
#[test]
fn partition_keys_of_four_attributes() {
    let names = ["tenant", "continent", "country", "city"];
    let attributes = names.iter().chain(&["id"]);
    let attributes: Vec<Value> = attributes
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    let schema = names.map(|name| json!({"AttributeName": name, "KeyType": "HASH"}));
    let body = json!({"TableName": "Multi", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "Places", "Projection": {"ProjectionType": "ALL"}, "KeySchema": schema}]});
    let condition = names.map(|name| format!("{name} = :{name}")).join(" AND ");
    let values: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| (format!(":{name}"), json!({"S": format!("of {name}")})))
        .collect();
    let request = json!({"TableName": "Multi", "IndexName": "Places", "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values});
    let places = ["First", "Second", "Third", "Fourth"];
    for (place, own) in places.iter().zip(names) {
        for name in names {
            let key = format!("dynamodb:{place}PartitionKeyValues");
            let world = World::new(&only("ForAnyValue:StringEquals", &key, json!([format!("of {name}")])));
            world.twin.call("ROOT", "CreateTable", &body);
            let expect = if name == own { YES } else { NO };
            world.check("ANN", &[("Query", request.clone(), expect)]);
        }
    }
}

/// Calls that need further actions, each of which is missing once.
#[test]
fn actions_that_a_call_needs_besides_its_own() {
    let there = |table: &str, region: &str| json!(format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/{table}"));
    let restored = [
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "UpdateItem",
    ];
    let replica = [&restored[..], &["CreateTable", "CreateTableReplica"]].concat();
    let backup =
        json!({"TargetTableName": "Restored", "BackupArn": arn("table/GameScores/backup/01767225600000-00000000")});
    let create = json!({"TableName": "GameScores", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    let calls = [
        (
            "RestoreTableFromBackup",
            backup,
            "*",
            &restored[..],
            there("Restored", REGION),
        ),
        (
            "UpdateTable",
            create,
            "table/GameScores",
            &replica[..],
            there("GameScores", "eu-west-1"),
        ),
    ];
    for (operation, body, own, needed, resource) in calls {
        let own = if own == "*" { json!("*") } else { json!(arn(own)) };
        for missing in needed {
            let others: Vec<&str> = needed.iter().copied().filter(|action| action != missing).collect();
            let policy = document(json!([
                allow(&[operation], own.clone(), Value::Null),
                allow(&others, resource.clone(), Value::Null)
            ]));
            let (_, answer) = World::new(&policy).twin.call("ANN", operation, &body);
            let text = answer["Message"].as_str().unwrap_or_default();
            assert!(
                text.ends_with(&format!("allows the dynamodb:{missing} action")),
                "{operation} {missing}: {answer}"
            );
        }
        let policy = document(json!([
            allow(&[operation], own, Value::Null),
            allow(needed, resource, Value::Null)
        ]));
        assert_eq!(World::new(&policy).outcome("ANN", operation, &body), YES);
    }
}

/// A repeated transaction needs what the first one needed, and nothing else.
#[test]
fn repeated_transactions() {
    let statements = json!({"ClientRequestToken": "t1", "TransactStatements": [
        statement("INSERT INTO GameScores VALUE {'UserId': 'u1', 'GameTitle': 'g'}")]});
    let actions =
        json!({"ClientRequestToken": "t2", "TransactItems": [{"Put": {"TableName": "GameScores", "Item": key("u2")}}]});
    for (operation, body, action) in [
        ("ExecuteTransaction", statements, "PartiQLInsert"),
        ("TransactWriteItems", actions, "PutItem"),
    ] {
        let only = document(json!([allow(&[action], json!("*"), Value::Null)]));
        let world = World::new(&only);
        world.check("ANN", &[(operation, body.clone(), YES), (operation, body.clone(), YES)]);
        let others = document(json!([
            allow(&["*"], json!("*"), Value::Null),
            deny(&[action], json!("*"), Value::Null)
        ]));
        let world = World::new(&others);
        world.twin.root(operation, &body);
        world.check("ANN", &[(operation, body, DENIED)]);
    }
}
