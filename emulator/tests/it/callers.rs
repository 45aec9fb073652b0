//! Each access key and region has its own tables, and the note on a missing table names the access key or region that
//! has it.

use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
use serde_json::{Value, json};

fn engine(shared_db: bool) -> Engine {
    let clock = Clock::settable(Moment::START);
    Engine::new(Settings {
        clock,
        seed: 1,
        conditions: Conditions::CALM,
        shared_db,
    })
}

fn caller(access_key: &str, region: &str) -> Caller {
    Caller {
        access_key: access_key.into(),
        region: region.into(),
    }
}

fn send(engine: &Engine, caller: &Caller, operation: &str, body: Value) -> (Answer, Value) {
    let answer = engine.dispatch(caller, operation, body.to_string().as_bytes());
    // TagResource answers without a body.
    let body = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer, body)
}

fn create(engine: &Engine, caller: &Caller) -> String {
    let body = json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    let (answer, body) = send(engine, caller, "CreateTable", body);
    assert_eq!(answer.status, 200, "{body}");
    body["TableDescription"]["TableArn"].as_str().unwrap().to_owned()
}

#[test]
fn arns_carry_the_account_and_the_region() {
    for (access_key, region, expect) in [
        (
            "123456789012",
            "eu-west-1",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/tab",
        ),
        (
            "fakeMyKeyId",
            "us-west-2",
            "arn:aws:dynamodb:us-west-2:000000000000:table/tab",
        ),
        // Six digits in twelve bytes.
        (
            "١٢٣٤٥٦",
            "us-east-1",
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
        (
            "abcdef012345",
            "us-east-1",
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
        (
            "1234567890123",
            "us-east-1",
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
        (
            "12345678901",
            "us-east-1",
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
        (
            "AKIA12345678",
            "us-east-1",
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab",
        ),
    ] {
        assert_eq!(create(&engine(false), &caller(access_key, region)), expect);
    }
    // A shared table has the region of the caller that creates it.
    assert_eq!(
        create(&engine(true), &caller("one", "eu-west-1")),
        "arn:aws:dynamodb:eu-west-1:000000000000:table/tab"
    );
}

/// Sends a request for the item `a` of `tab` with its headers.
fn over_http(engine: &Engine, caller: &Caller, operation: &str) -> Answer {
    let Caller { access_key, region } = caller;
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={access_key}/20260101/{region}/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
    );
    let target = format!("DynamoDB_20120810.{operation}");
    engine.handle(&HttpRequest {
        method: "POST",
        target: "/",
        headers: &[
            ("host", "localhost"),
            ("x-amz-date", "20260101T000000Z"),
            ("x-amz-target", &target),
            ("content-type", "application/x-amz-json-1.0"),
            ("authorization", &authorization),
        ],
        body: br#"{"TableName": "tab", "Key": {"pk": {"S": "a"}}}"#,
    })
}

#[test]
fn a_missing_table_of_another_key_or_region_is_noted_in_the_log() {
    let engine = engine(false);
    create(&engine, &caller("one", "us-east-1"));
    for stranger in [caller("one", "us-west-2"), caller("two", "us-east-1")] {
        assert_eq!(
            send(&engine, &stranger, "ListTables", json!({})).1,
            json!({"TableNames": []})
        );
        for (operation, body) in [
            ("GetItem", json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}})),
            ("DescribeTable", json!({"TableName": "tab"})),
        ] {
            let (answer, body) = send(&engine, &stranger, operation, body);
            assert!(
                body["__type"].as_str().unwrap().ends_with("#ResourceNotFoundException"),
                "{body}"
            );
            let note = answer.note.unwrap();
            assert!(
                note.contains("there is one for access key one, region us-east-1"),
                "{note}"
            );
            assert_eq!(over_http(&engine, &stranger, operation).note, Some(note));
        }
        create(&engine, &stranger);
    }
    let missing = json!({"TableName": "none", "Key": {"pk": {"S": "a"}}});
    assert_eq!(
        send(&engine, &caller("one", "us-east-1"), "GetItem", missing).0.note,
        None
    );
}

#[test]
fn few_of_many_accounts_with_the_table_are_listed() {
    let engine = engine(false);
    let stranger = caller("stranger", "us-east-1");
    for (key, named, others) in [
        ("one", 1, None),
        ("two", 2, None),
        ("three", 3, None),
        ("four", 3, Some(" and for 1 others. ")),
        ("five", 3, Some(" and for 2 others. ")),
    ] {
        create(&engine, &caller(key, "us-east-1"));
        let (answer, _) = send(&engine, &stranger, "DescribeTable", json!({"TableName": "tab"}));
        let note = answer.note.unwrap();
        assert_eq!(note.matches("for access key").count(), named + 1, "{note}");
        assert_eq!(note.contains("others"), others.is_some(), "{note}");
        assert!(others.is_none_or(|others| note.contains(others)), "{note}");
    }
}

#[test]
fn a_shared_database_has_one_set_of_tables() {
    let engine = engine(true);
    create(&engine, &caller("one", "us-east-1"));
    let (_, tables) = send(&engine, &caller("two", "eu-west-1"), "ListTables", json!({}));
    assert_eq!(tables, json!({"TableNames": ["tab"]}));
}

/// A shared table is reached by its ARN from every region and account, one of one's own only from where it is.
#[test]
fn an_arn_of_another_place_names_a_shared_table() {
    let there = caller("111122223333", "eu-west-1");
    let here = caller("444455556666", "us-east-1");
    for shared in [false, true] {
        let engine = engine(shared);
        let arn = create(&engine, &there);
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let enable = json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery});
        assert_eq!(send(&engine, &there, "UpdateContinuousBackups", enable).0.status, 200);
        let backup = json!({"TableName": "tab", "BackupName": "first"});
        let backup = send(&engine, &there, "CreateBackup", backup).1["BackupDetails"]["BackupArn"].clone();
        let policy = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "777788889999"}, "Action": "dynamodb:GetItem", "Resource": arn}]});
        for (operation, body) in [
            ("DescribeTable", json!({"TableName": arn})),
            ("GetItem", json!({"TableName": arn, "Key": {"pk": {"S": "a"}}})),
            (
                "TagResource",
                json!({"ResourceArn": arn, "Tags": [{"Key": "k", "Value": "v"}]}),
            ),
            ("ListTagsOfResource", json!({"ResourceArn": arn})),
            (
                "PutResourcePolicy",
                json!({"ResourceArn": arn, "Policy": policy.to_string()}),
            ),
            ("GetResourcePolicy", json!({"ResourceArn": arn})),
            ("CreateBackup", json!({"TableName": arn, "BackupName": "second"})),
            ("ListBackups", json!({"ExclusiveStartBackupArn": backup})),
            ("DescribeBackup", json!({"BackupArn": backup})),
            (
                "RestoreTableFromBackup",
                json!({"BackupArn": backup, "TargetTableName": "copy"}),
            ),
            (
                "RestoreTableToPointInTime",
                json!({"SourceTableArn": arn, "TargetTableName": "again", "UseLatestRestorableTime": true}),
            ),
            ("ExportTableToPointInTime", json!({"TableArn": arn, "S3Bucket": "data"})),
        ] {
            let (answer, body) = send(&engine, &here, operation, body);
            assert_eq!(answer.status == 200, shared, "{operation}: {body}");
        }
        // An ARN with the name of a shared table, and another place, names none.
        let other = arn.replace("eu-west-1", "us-east-1");
        let (answer, body) = send(&engine, &here, "ListTagsOfResource", json!({"ResourceArn": other}));
        assert_eq!(answer.status, 400, "{body}");
        if !shared {
            create(&engine, &here);
        }
        let stream = "arn:aws:kinesis:eu-west-1:111122223333:stream/changes";
        let enable = json!({"TableName": "tab", "StreamArn": stream});
        send(&engine, &here, "EnableKinesisStreamingDestination", enable);
        let destinations = send(
            &engine,
            &here,
            "DescribeKinesisStreamingDestination",
            json!({"TableName": "tab"}),
        );
        let status = &destinations.1["KinesisDataStreamDestinations"][0]["DestinationStatus"];
        assert_eq!(status, if shared { "ACTIVE" } else { "ENABLE_FAILED" });
    }
}

/// On the control plane an ARN must be of the caller's region, where regions have their own tables; elsewhere, and with
/// an ARN of another account, there is no such table.
#[test]
fn an_arn_names_the_table_of_its_own_region_and_account() {
    const MISSING: &str = "ResourceNotFoundException";
    let arn = |region: &str, account: &str| format!("arn:aws:dynamodb:{region}:{account}:table/tab");
    let (own, other) = ("111111111111", "222222222222");
    for (shared, region, account, control, data) in [
        (false, "us-east-1", own, None, None),
        (false, "us-east-1", other, Some(MISSING), Some(MISSING)),
        (false, "eu-west-1", own, Some("ValidationException"), Some(MISSING)),
        (false, "eu-west-1", other, Some("ValidationException"), Some(MISSING)),
        (true, "us-east-1", own, None, None),
        (true, "us-east-1", other, Some(MISSING), Some(MISSING)),
        (true, "eu-west-1", own, Some(MISSING), Some(MISSING)),
    ] {
        let engine = engine(shared);
        create(&engine, &caller(own, "us-east-1"));
        if !shared {
            create(&engine, &caller(own, "eu-west-1"));
            create(&engine, &caller(other, "us-east-1"));
        }
        let arn = arn(region, account);
        let key = json!({"pk": {"S": "a"}});
        for (operation, body, expect) in [
            ("DescribeTable", json!({"TableName": arn}), control),
            (
                "UpdateTable",
                json!({"TableName": arn, "DeletionProtectionEnabled": false}),
                control,
            ),
            ("DescribeTimeToLive", json!({"TableName": arn}), control),
            ("GetItem", json!({"TableName": arn, "Key": key}), data),
            ("PutItem", json!({"TableName": arn, "Item": key}), data),
            ("Scan", json!({"TableName": arn}), data),
            (
                "BatchGetItem",
                json!({"RequestItems": {arn.as_str(): {"Keys": [key]}}}),
                data,
            ),
            (
                "BatchWriteItem",
                json!({"RequestItems": {arn.as_str(): [{"DeleteRequest": {"Key": key}}]}}),
                data,
            ),
            (
                "TransactGetItems",
                json!({"TransactItems": [{"Get": {"TableName": arn, "Key": key}}]}),
                data,
            ),
        ] {
            let (answer, body) = send(&engine, &caller(own, "us-east-1"), operation, body);
            let kind = body["__type"].as_str().and_then(|kind| kind.split('#').nth(1));
            assert_eq!(
                (answer.status == 200, kind),
                (expect.is_none(), expect),
                "{shared} {operation} {arn}: {body}"
            );
        }
    }
}

/// Random decisions about a table are the same with and without tables of other accounts and regions.
#[test]
fn a_new_table_does_not_depend_on_those_of_others() {
    let me = caller("test", "us-east-1");
    let id = |others: &[(&str, &str)]| {
        let engine = engine(false);
        for (access_key, region) in others {
            create(&engine, &caller(access_key, region));
        }
        create(&engine, &me);
        let (_, described) = send(&engine, &me, "DescribeTable", json!({"TableName": "tab"}));
        described["Table"]["TableId"].as_str().unwrap().to_owned()
    };
    let alone = id(&[]);
    for others in [
        &[("other", "us-east-1")][..],
        &[("test", "eu-west-1")],
        &[("one", "us-east-1"), ("two", "eu-west-1"), ("three", "us-east-1")],
    ] {
        assert_eq!(id(others), alone, "{others:?}");
    }
}
