//! An engine at its memory limit: requests that would store more fail, and all others succeed.

use crate::common::settings;
use dynatwin_engine::{Caller, Engine};

const CREATE: &str = r#"{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}"#;

fn ask(engine: &Engine, operation: &str, body: &str) -> (u16, String) {
    let caller = Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    };
    let answer = engine.dispatch(&caller, operation, body.as_bytes());
    (answer.status, String::from_utf8(answer.body).unwrap())
}

#[test]
fn writes_that_store_more_fail_and_other_requests_succeed() {
    let engine = Engine::new(settings(1));
    let put = |key: &str, value: &str| {
        format!(r#"{{"TableName": "tab", "Item": {{"pk": {{"S": "{key}"}}, "v": {{"S": "{value}"}}}}}}"#)
    };
    let update = |value: &str| {
        format!(
            r#"{{"TableName": "tab", "Key": {{"pk": {{"S": "a"}}}}, "UpdateExpression": "SET v = :v",
                "ExpressionAttributeValues": {{":v": {{"S": "{value}"}}}}}}"#
        )
    };
    let key = |key: &str| format!(r#"{{"TableName": "tab", "Key": {{"pk": {{"S": "{key}"}}}}}}"#);
    let backup = r#"{"TableName": "tab", "BackupName": "backup"}"#;
    assert_eq!(ask(&engine, "CreateTable", CREATE).0, 200);
    for name in ["a", "b", "c"] {
        assert_eq!(ask(&engine, "PutItem", &put(name, "12345")).0, 200);
    }
    let (status, made) = ask(&engine, "CreateBackup", backup);
    assert_eq!(status, 200, "{made}");
    let arn = made
        .split("\"BackupArn\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap();
    let restore = format!(r#"{{"BackupArn": "{arn}", "TargetTableName": "restored"}}"#);
    let back = r#"{"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": true}"#;
    let import = format!(
        r#"{{"S3BucketSource": {{"S3Bucket": "bucket"}}, "InputFormat": "CSV", "TableCreationParameters": {}}}"#,
        CREATE.replace("\"tab\"", "\"imported\"")
    );
    let batch = |request: &str| format!(r#"{{"RequestItems": {{"tab": [{request}]}}}}"#);
    let steps = [
        (200, "GetItem", key("a")),
        (200, "Scan", r#"{"TableName": "tab"}"#.to_owned()),
        (500, "PutItem", put("d", "")),
        (500, "PutItem", put("a", "123456")),
        (200, "PutItem", put("a", "54321")),
        (200, "PutItem", put("a", "1")),
        (500, "UpdateItem", update("22")),
        (200, "UpdateItem", update("2")),
        (
            500,
            "BatchWriteItem",
            batch(r#"{"PutRequest": {"Item": {"pk": {"S": "e"}}}}"#),
        ),
        (
            500,
            "TransactWriteItems",
            format!(r#"{{"TransactItems": [{{"Put": {}}}]}}"#, put("f", "")),
        ),
        (
            500,
            "ExecuteStatement",
            r#"{"Statement": "INSERT INTO tab VALUE {'pk': 'g'}"}"#.to_owned(),
        ),
        (500, "RestoreTableFromBackup", restore.clone()),
        (500, "RestoreTableToPointInTime", back.to_owned()),
        (500, "ImportTable", import.clone()),
        (200, "DeleteItem", key("a")),
        (
            200,
            "BatchWriteItem",
            batch(r#"{"DeleteRequest": {"Key": {"pk": {"S": "b"}}}}"#),
        ),
        (
            200,
            "TransactWriteItems",
            format!(r#"{{"TransactItems": [{{"Delete": {}}}]}}"#, key("c")),
        ),
    ];
    engine.refuse_growth(true);
    for (expect, operation, body) in steps {
        let (status, answer) = ask(&engine, operation, &body);
        assert_eq!(status, expect, "{operation} {body}: {answer}");
        if expect == 500 {
            assert!(
                answer.contains("#InternalServerError") && answer.contains("memory limit"),
                "{answer}"
            );
        }
    }
    assert!(
        ask(&engine, "Scan", r#"{"TableName": "tab"}"#)
            .1
            .contains("\"Count\":0")
    );
    engine.refuse_growth(false);
    assert_eq!(ask(&engine, "PutItem", &put("d", "")).0, 200);
    assert_eq!(ask(&engine, "RestoreTableFromBackup", &restore).0, 200);
    assert_eq!(ask(&engine, "ImportTable", &import).0, 200);
}
