//! Conditions of one table that delay or fail requests on several.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Conditions, Lag, Latency, Moment};
use serde_json::{Value, json};

const TABLES: [&str; 3] = ["one", "six", "two"];

/// Every operation on several items, with one of each table, in the order of [`TABLES`].
fn requests() -> Vec<(&'static str, Value)> {
    let key = json!({"pk": {"S": "a"}});
    let members = |of: &Value| -> Value {
        let members = TABLES.iter().map(|table| ((*table).to_owned(), of.clone()));
        Value::Object(members.collect())
    };
    let each = |of: &dyn Fn(&str) -> Value| TABLES.map(of);
    let put = |table: &str| json!({"Put": {"TableName": table, "Item": key}});
    let get = |table: &str| json!({"Get": {"TableName": table, "Key": key}});
    let select = |table: &str| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = 'a'")});
    let delete = |table: &str| json!({"Statement": format!("DELETE FROM {table} WHERE pk = 'a'")});
    vec![
        (
            "BatchWriteItem",
            json!({"RequestItems": members(&json!([{"PutRequest": {"Item": key}}]))}),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": members(&json!({"Keys": [key]}))}),
        ),
        ("TransactWriteItems", json!({"TransactItems": each(&put)})),
        ("TransactGetItems", json!({"TransactItems": each(&get)})),
        ("BatchExecuteStatement", json!({"Statements": each(&select)})),
        ("BatchExecuteStatement", json!({"Statements": each(&delete)})),
        ("ExecuteTransaction", json!({"TransactStatements": each(&select)})),
        ("ExecuteTransaction", json!({"TransactStatements": each(&delete)})),
    ]
}

/// The tables whose entries an answer refuses: all of them if the request fails.
fn refused(status: u16, answer: &Value) -> Vec<&'static str> {
    let by_place = |refused: &dyn Fn(usize) -> bool| -> Vec<&'static str> {
        let places = TABLES.into_iter().enumerate();
        places.filter(|(at, _)| refused(*at)).map(|(_, table)| table).collect()
    };
    if let Some(reasons) = answer.get("CancellationReasons") {
        return by_place(&|at| reasons[at]["Code"] != "None");
    }
    if let Some(rest) = answer.get("UnprocessedItems").or(answer.get("UnprocessedKeys")) {
        return by_place(&|at| rest.get(TABLES[at]).is_some());
    }
    by_place(&|at| status != 200 || answer["Responses"][at].get("Error").is_some())
}

/// Each condition that can delay or fail a request does so wherever its table is among those of the request.
#[test]
fn conditions_of_a_table_apply_to_its_entries_of_each_request() {
    let second = Duration::from_secs(1);
    let lag = Lag::Fixed(second);
    let latency = Latency {
        read: lag,
        write: lag,
        query: lag,
        transaction: lag,
        control: Lag::None,
        per_kilobyte: Duration::ZERO,
    };
    let conditions = [
        (
            "latency",
            Conditions {
                latency: Some(latency),
                ..Conditions::CALM
            },
        ),
        (
            "throttles",
            Conditions {
                throttles: 1.0,
                ..Conditions::CALM
            },
        ),
        (
            "internalErrors",
            Conditions {
                internal_errors: 1.0,
                ..Conditions::CALM
            },
        ),
    ];
    for (operation, body) in requests() {
        for (name, conditions) in conditions {
            for table in TABLES {
                let twin = Twin::new(1);
                for table in TABLES {
                    twin.ok(
                        "CreateTable",
                        &json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
                            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
                    );
                }
                let account = twin.engine.account(&twin.caller);
                account.set_table_conditions(table, conditions).unwrap();
                let sent = twin
                    .engine
                    .dispatch(&twin.caller, operation, body.to_string().as_bytes());
                let answer: Value = serde_json::from_slice(&sent.body).unwrap();
                let what = format!("{name} of {table}: {operation} {body}: {answer}");
                let took = sent.at.since(Moment::START);
                let expect = match name {
                    "latency" => vec![],
                    // A server error fails a request, and of a batch of statements its own.
                    "internalErrors" if operation != "BatchExecuteStatement" => TABLES.to_vec(),
                    _ => vec![table],
                };
                assert_eq!(refused(sent.status, &answer), expect, "{what}");
                let waits = if name == "latency" { second } else { Duration::ZERO };
                assert_eq!(took, waits, "{what}");
            }
        }
    }
}
