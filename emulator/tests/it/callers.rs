//! Each access key and region has its own tables, and the note on a missing table names the access key or region that
//! has it.

use dynatwin_engine::http::Answer;
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
    let body = serde_json::from_slice(&answer.body).unwrap();
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
        (
            "1234567890123",
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
    for key in ["one", "two", "three", "four", "five"] {
        create(&engine, &caller(key, "us-east-1"));
    }
    let stranger = caller("six", "us-east-1");
    let (answer, _) = send(&engine, &stranger, "DescribeTable", json!({"TableName": "tab"}));
    let note = answer.note.unwrap();
    assert_eq!(note.matches("for access key").count(), 4, "{note}");
    assert!(note.contains(" and for 2 others. "), "{note}");
}

#[test]
fn a_shared_database_has_one_set_of_tables() {
    let engine = engine(true);
    create(&engine, &caller("one", "us-east-1"));
    let (_, tables) = send(&engine, &caller("two", "eu-west-1"), "ListTables", json!({}));
    assert_eq!(tables, json!({"TableNames": ["tab"]}));
}
