//! Optional members that are given their default value.

use serde_json::{Value, json};

use crate::common::Twin;

/// A table with a local and a global index, two items of one partition, and a backup.
fn twin() -> Twin {
    let twin = Twin::new(7);
    let key =
        |sort: &str| json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]);
    let names = ["pk", "sk", "l"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let projection = json!({"ProjectionType": "KEYS_ONLY"});
    let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": names,
        "KeySchema": key("sk"),
        "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": key("l"), "Projection": projection}],
        "GlobalSecondaryIndexes": [{"IndexName": "global", "KeySchema": key("l"), "Projection": projection}]});
    twin.ok("CreateTable", &table);
    for sk in ["a", "b"] {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item(sk)}));
    }
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
    );
    twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "backup"}));
    twin
}

fn item(sk: &str) -> Value {
    json!({"pk": {"S": "p"}, "sk": {"S": sk}, "l": {"S": "x"}, "v": {"N": "1"}})
}

fn key(sk: &str) -> Value {
    json!({"pk": {"S": "p"}, "sk": {"S": sk}})
}

/// A member's default value means the same as no member, and so does null; another value of the member does not.
#[track_caller]
fn check(operation: &str, request: &Value, member: &str, default: &Value, other: &Value) {
    let (parent, name) = member.rsplit_once('/').unwrap();
    let answer = |value: Option<&Value>| {
        let mut request = request.clone();
        if let Some(value) = value {
            request.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        let twin = twin();
        let (status, answer) = twin.send(operation, &request);
        (
            status,
            answer,
            twin.engine.items(&twin.caller, "tab").map(|items| format!("{items:?}")),
        )
    };
    let absent = answer(None);
    for value in [default, &Value::Null] {
        assert_eq!(
            answer(Some(value)),
            absent,
            "{operation}: {member} {value} of {request}"
        );
    }
    assert_ne!(
        answer(Some(other)),
        absent,
        "{operation}: {member} {other} of {request}"
    );
}

#[test]
fn reads_with_explicit_defaults() {
    let values = json!({":p": {"S": "p"}});
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values});
    let of_index = |index: &str| {
        let mut query = query.clone();
        query["IndexName"] = index.into();
        query
    };
    let legacy = json!({"TableName": "tab",
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p"}]}},
        "QueryFilter": {"v": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "1"}]},
            "l": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "y"}]}}});
    let filtered = json!({"TableName": "tab", "ScanFilter": legacy["QueryFilter"]});
    let select = json!("SELECT * FROM tab WHERE pk = 'p'");
    let one = json!("SELECT * FROM tab WHERE pk = 'p' AND sk = 'a'");
    for (operation, request, consistent_read) in [
        (
            "GetItem",
            json!({"TableName": "tab", "Key": key("a")}),
            "/ConsistentRead",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"tab": {"Keys": [key("a"), key("b")]}}}),
            "/RequestItems/tab/ConsistentRead",
        ),
        ("Query", query.clone(), "/ConsistentRead"),
        ("Query", of_index("local"), "/ConsistentRead"),
        ("Query", of_index("global"), "/ConsistentRead"),
        ("Scan", json!({"TableName": "tab"}), "/ConsistentRead"),
        (
            "Scan",
            json!({"TableName": "tab", "IndexName": "local"}),
            "/ConsistentRead",
        ),
        ("ExecuteStatement", json!({"Statement": select}), "/ConsistentRead"),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": one}]}),
            "/Statements/0/ConsistentRead",
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "tab", "Key": key("a")}}]}),
            "",
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": one}]}),
            "",
        ),
    ] {
        for other in ["TOTAL", "INDEXES"] {
            check(
                operation,
                &request,
                "/ReturnConsumedCapacity",
                &json!("NONE"),
                &json!(other),
            );
            let mut counted = request.clone();
            counted["ReturnConsumedCapacity"] = other.into();
            if !consistent_read.is_empty() {
                check(operation, &counted, consistent_read, &json!(false), &json!(true));
            }
        }
    }
    for (operation, request, member, default, other) in [
        ("Query", &query, "/ScanIndexForward", json!(true), json!(false)),
        ("Query", &query, "/Select", json!("ALL_ATTRIBUTES"), json!("COUNT")),
        (
            "Query",
            &of_index("local"),
            "/Select",
            json!("ALL_PROJECTED_ATTRIBUTES"),
            json!("ALL_ATTRIBUTES"),
        ),
        (
            "Query",
            &of_index("global"),
            "/Select",
            json!("ALL_PROJECTED_ATTRIBUTES"),
            json!("COUNT"),
        ),
        (
            "Scan",
            &json!({"TableName": "tab"}),
            "/Select",
            json!("ALL_ATTRIBUTES"),
            json!("COUNT"),
        ),
        ("Query", &legacy, "/ConditionalOperator", json!("AND"), json!("OR")),
        ("Scan", &filtered, "/ConditionalOperator", json!("AND"), json!("OR")),
        (
            "ListBackups",
            &json!({"TableName": "tab"}),
            "/BackupType",
            json!("USER"),
            json!("SYSTEM"),
        ),
    ] {
        check(operation, request, member, &default, &other);
    }
}

#[test]
fn writes_with_explicit_defaults() {
    let write = |more: Value| {
        let mut request = json!({"TableName": "tab"});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    let put = write(json!({"Item": item("a")}));
    let delete = write(json!({"Key": key("a")}));
    let update = write(json!({"Key": key("a"), "UpdateExpression": "SET v = v + v"}));
    let batch = json!({"RequestItems": {"tab": [{"PutRequest": {"Item": item("a")}}]}});
    let transaction = json!({"TransactItems": [{"Put": put}]});
    let insert = json!("INSERT INTO tab VALUE {'pk': 'p', 'sk': 'c'}");
    for (operation, request) in [
        ("PutItem", &put),
        ("DeleteItem", &delete),
        ("UpdateItem", &update),
        ("BatchWriteItem", &batch),
        ("TransactWriteItems", &transaction),
        ("ExecuteStatement", &json!({"Statement": insert})),
        ("BatchExecuteStatement", &json!({"Statements": [{"Statement": insert}]})),
        (
            "ExecuteTransaction",
            &json!({"TransactStatements": [{"Statement": insert}]}),
        ),
    ] {
        for other in ["TOTAL", "INDEXES"] {
            check(
                operation,
                request,
                "/ReturnConsumedCapacity",
                &json!("NONE"),
                &json!(other),
            );
        }
        if !operation.contains("Execute") {
            check(
                operation,
                request,
                "/ReturnItemCollectionMetrics",
                &json!("NONE"),
                &json!("SIZE"),
            );
        }
        if operation.ends_with("Item") && operation != "BatchWriteItem" {
            check(operation, request, "/ReturnValues", &json!("NONE"), &json!("ALL_OLD"));
            let mut expecting = request.clone();
            expecting.as_object_mut().unwrap().remove("UpdateExpression");
            expecting["Expected"] = json!({"v": {"Value": {"N": "1"}}, "l": {"Value": {"S": "y"}}});
            check(
                operation,
                &expecting,
                "/ConditionalOperator",
                &json!("AND"),
                &json!("OR"),
            );
            expecting["ConditionalOperator"] = "OR".into();
            check(operation, &expecting, "/Expected/v/Exists", &json!(true), &json!(false));
        }
    }
}

/// A failed condition shows the item only if that is requested.
#[test]
fn failed_conditions_with_explicit_defaults() {
    let failing = json!({"TableName": "tab", "ConditionExpression": "attribute_not_exists(pk)"});
    let with = |more: Value| {
        let mut request = failing.clone();
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    let put = with(json!({"Item": item("a")}));
    let delete = with(json!({"Key": key("a")}));
    let update = with(json!({"Key": key("a"), "UpdateExpression": "SET v = v + v"}));
    let statement = json!({"Statement": "UPDATE tab SET v = 5 WHERE pk = 'p' AND sk = 'a' AND v = 9"});
    let exists = json!({"Statement": "EXISTS(SELECT * FROM tab WHERE pk = 'p' AND sk = 'a' AND v = 9)"});
    let insert = json!({"Statement": "INSERT INTO tab VALUE {'pk': 'p', 'sk': 'c'}"});
    for (operation, request, action) in [
        ("PutItem", &put, ""),
        ("DeleteItem", &delete, ""),
        ("UpdateItem", &update, ""),
        (
            "TransactWriteItems",
            &json!({"TransactItems": [{"Put": put}]}),
            "/TransactItems/0/Put",
        ),
        (
            "TransactWriteItems",
            &json!({"TransactItems": [{"Delete": delete}]}),
            "/TransactItems/0/Delete",
        ),
        (
            "TransactWriteItems",
            &json!({"TransactItems": [{"Update": update}]}),
            "/TransactItems/0/Update",
        ),
        (
            "TransactWriteItems",
            &json!({"TransactItems": [{"ConditionCheck": delete}]}),
            "/TransactItems/0/ConditionCheck",
        ),
        ("ExecuteStatement", &statement, ""),
        (
            "BatchExecuteStatement",
            &json!({"Statements": [statement]}),
            "/Statements/0",
        ),
        (
            "ExecuteTransaction",
            &json!({"TransactStatements": [statement]}),
            "/TransactStatements/0",
        ),
        (
            "ExecuteTransaction",
            &json!({"TransactStatements": [insert, exists]}),
            "/TransactStatements/1",
        ),
    ] {
        let member = format!("{action}/ReturnValuesOnConditionCheckFailure");
        check(operation, request, &member, &json!("NONE"), &json!("ALL_OLD"));
    }
}

#[test]
fn tables_with_explicit_defaults() {
    let create = json!({"TableName": "new", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}});
    for (member, default, other) in [
        ("/BillingMode", json!("PROVISIONED"), json!("PAY_PER_REQUEST")),
        ("/DeletionProtectionEnabled", json!(false), json!(true)),
        (
            "/StreamSpecification",
            json!({"StreamEnabled": false}),
            json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}),
        ),
        ("/SSESpecification", json!({"Enabled": false}), json!({"Enabled": true})),
    ] {
        check("CreateTable", &create, member, &default, &other);
    }
    let restore = json!({"SourceTableName": "tab", "TargetTableName": "new", "RestoreDateTime": 1_767_225_600});
    check(
        "RestoreTableToPointInTime",
        &restore,
        "/UseLatestRestorableTime",
        &json!(false),
        &json!(true),
    );
}

#[test]
fn transfers_with_explicit_defaults() {
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let export = json!({"TableArn": arn, "S3Bucket": "bucket"});
    for (member, default, other) in [
        ("/ExportFormat", "DYNAMODB_JSON", "ION"),
        ("/S3SseAlgorithm", "AES256", "KMS"),
    ] {
        check(
            "ExportTableToPointInTime",
            &export,
            member,
            &json!(default),
            &json!(other),
        );
    }
    let import = json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {"TableName": "new", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}});
    check(
        "ImportTable",
        &import,
        "/InputCompressionType",
        &json!("NONE"),
        &json!("GZIP"),
    );
}
