//! Requests that are refused for their signature, and a database that all callers share.

use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::iam::{Directory, SigningKey};
use dynatwin_engine::{Caller, Engine, Moment, Settings};
use serde_json::{Value, json};

use super::scene::OTHER;
use super::twin::{ACCOUNT, REGION};
use crate::common::settings;

fn configured(shared_db: bool) -> Engine {
    let key = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
    let all = json!({"Version": "2012-10-17",
        "Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}});
    let users = json!({"ann": {"policies": [all], "accessKeys": key("ann")}, "bob": {"accessKeys": key("bob")}});
    let accounts = json!({"accounts": {
        ACCOUNT: {"accessKeys": key("ROOT"), "users": users}, OTHER: {"accessKeys": key("OTHERROOT")}}});
    let engine = Engine::new(Settings {
        shared_db,
        ..settings(7)
    });
    let directory = Directory::read(&accounts.to_string(), Moment::START);
    engine.with_access(directory.unwrap())
}

/// A body that is not valid JSON is reported before a signature that is wrong; a body that is missing is not.
#[test]
fn invalid_json_is_reported_before_a_wrong_signature() {
    let key = |id: &str| {
        let key = SigningKey {
            secret: "s".into(),
            session_token: None,
            expires: None,
        };
        (id.to_owned(), key)
    };
    let verifying = Engine::new(settings(7)).verifying_signatures(["ann", "bob"].map(key));
    for (engine, what) in [(&verifying, "verifying"), (&configured(false), "configured")] {
        for (access_key, refusal) in [
            ("ann", "InvalidSignatureException"),
            ("bob", "InvalidSignatureException"),
            ("nobody", "UnrecognizedClientException"),
        ] {
            for (body, expect) in [
                ("{}", refusal),
                ("", refusal),
                ("{", "SerializationException"),
                ("{}}", "SerializationException"),
            ] {
                let authorization = format!(
                    "AWS4-HMAC-SHA256 Credential={access_key}/20260101/{REGION}/dynamodb/aws4_request, \
                     SignedHeaders=host;x-amz-date, Signature=00"
                );
                let headers = [
                    ("host", "localhost"),
                    ("x-amz-date", "20260101T000000Z"),
                    ("x-amz-target", "DynamoDB_20120810.ListTables"),
                    ("content-type", "application/x-amz-json-1.0"),
                    ("authorization", authorization.as_str()),
                ];
                let answer = engine.handle(&HttpRequest {
                    method: "POST",
                    target: "/",
                    headers: &headers,
                    body: body.as_bytes(),
                });
                let answer: Value = serde_json::from_slice(&answer.body).unwrap();
                let kind = answer["__type"].as_str().unwrap().rsplit('#').next();
                assert_eq!(kind, Some(expect), "{what} {access_key} {body:?}: {answer}");
            }
        }
    }
}

/// The policy and the tags of a table are those of the one table of its name.
#[test]
fn a_shared_table_has_its_policy_and_its_tags() {
    for shared_db in [false, true] {
        let engine = configured(shared_db);
        let send = |access_key: &str, operation: &str, body: &Value| {
            let caller = Caller {
                access_key: access_key.into(),
                region: REGION.into(),
            };
            let answer = engine.dispatch(&caller, operation, body.to_string().as_bytes());
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            (answer.status, body)
        };
        let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        let (_, created) = send("ROOT", "CreateTable", &create);
        let arn = created["TableDescription"]["TableArn"].as_str().unwrap();
        let get = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}});
        assert_eq!(send("ann", "GetItem", &get).0, 200, "{shared_db}");
        let deny = json!({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Principal": "*",
            "Action": "dynamodb:GetItem", "Resource": arn,
            "Condition": {"StringEquals": {"aws:ResourceTag/stage": "closed"}}}});
        let policy = json!({"ResourceArn": arn, "Policy": deny.to_string()});
        assert_eq!(send("ROOT", "PutResourcePolicy", &policy).0, 200, "{shared_db}");
        for (stage, status) in [("open", 200), ("closed", 400)] {
            let tag = json!({"ResourceArn": arn, "Tags": [{"Key": "stage", "Value": stage}]});
            assert_eq!(send("ROOT", "TagResource", &tag).0, 200, "{shared_db}");
            let (found, answer) = send("ann", "GetItem", &get);
            assert_eq!(found, status, "{shared_db} {stage}: {answer}");
        }
    }
}

/// The ARN of a table of another account names that table, where tables are shared too.
#[test]
fn an_identified_caller_names_a_table_of_another_account() {
    for shared_db in [false, true] {
        let engine = configured(shared_db);
        let send = |access_key: &str, operation: &str, body: &Value| -> Value {
            let caller = Caller {
                access_key: access_key.into(),
                region: REGION.into(),
            };
            let answer = engine.dispatch(&caller, operation, body.to_string().as_bytes());
            let body = String::from_utf8_lossy(&answer.body);
            assert_eq!(answer.status, 200, "{shared_db} {operation}: {body}");
            serde_json::from_str(&body).unwrap()
        };
        let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        let arn = send("ROOT", "CreateTable", &create)["TableDescription"]["TableArn"].clone();
        let allow = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"AWS": OTHER},
            "Action": "dynamodb:GetItem", "Resource": arn}});
        let policy = json!({"ResourceArn": arn, "Policy": allow.to_string()});
        send("ROOT", "PutResourcePolicy", &policy);
        let item = json!({"pk": {"S": "a"}});
        send("ROOT", "PutItem", &json!({"TableName": "tab", "Item": item}));
        let found = send("OTHERROOT", "GetItem", &json!({"TableName": arn, "Key": item}));
        assert_eq!(found["Item"], item, "{shared_db}");
    }
}

/// A control named by an access key of a configured account is about the tables of that account.
#[test]
fn the_access_key_of_a_control_names_its_account() {
    let engine = configured(false);
    let caller = Caller {
        access_key: "ROOT".into(),
        region: REGION.into(),
    };
    let create = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let created = engine.dispatch(&caller, "CreateTable", create.to_string().as_bytes());
    assert_eq!(created.status, 200);
    for (access_key, expect) in [
        ("ROOT", Some(ACCOUNT)),
        ("ann", Some(ACCOUNT)),
        (ACCOUNT, Some(ACCOUNT)),
        ("OTHERROOT", None),
        ("nobody", None),
    ] {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={access_key}/20260101/{REGION}/dynamodb/aws4_request, \
             SignedHeaders=host, Signature=00"
        );
        let headers = [("host", "localhost"), ("authorization", authorization.as_str())];
        let get = |path: &str| {
            let answer = engine.handle(&HttpRequest {
                method: "GET",
                target: &format!("/_dynatwin/{path}"),
                headers: &headers,
                body: b"",
            });
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            (answer.status, body)
        };
        let (_, tables) = get("tables");
        assert_eq!(tables[0]["accessKey"].as_str(), expect, "{access_key}: {tables}");
        let (status, items) = get("tables/tab/items");
        assert_eq!(status == 200, expect.is_some(), "{access_key}: {items}");
    }
}
