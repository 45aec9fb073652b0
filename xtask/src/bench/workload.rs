//! The workload: a table of 100 item collections with 100 items of about 1 KB each, and four operations on it.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::call;
use crate::shell::Outcome;

const PARTITIONS: usize = 100;
const ITEMS: usize = 100;
const BATCH: usize = 25;

/// All kinds of requests in `requests.lua`. Those that remove items follow those that read them.
pub const KINDS: [&str; 12] = [
    "get",
    "query",
    "filter",
    "scan",
    "batch_get",
    "transact_get",
    "statement",
    "update",
    "transact_write",
    "batch_write",
    "delete",
    "put",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Get,
    Put,
    Update,
    Query,
}

impl Operation {
    pub const ALL: [Operation; 4] = [Operation::Get, Operation::Put, Operation::Update, Operation::Query];

    /// The operation's name in `requests.lua`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Get => "get",
            Operation::Put => "put",
            Operation::Update => "update",
            Operation::Query => "query",
        }
    }

    /// The size of its response in bytes, which the floor copies.
    pub fn answer_size(self) -> usize {
        match self {
            Operation::Get => 1000,
            Operation::Put | Operation::Update => 2,
            Operation::Query => 10_500,
        }
    }
}

/// Creates and fills the table, and checks the results of the measured operations.
pub fn fill(port: u16) -> Outcome<()> {
    call(
        port,
        "CreateTable",
        &json!({
            "TableName": "bench",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        }),
    )?;
    let table = json!({"TableName": "bench"});
    while call(port, "DescribeTable", &table)?["Table"]["TableStatus"] != "ACTIVE" {
        sleep(Duration::from_millis(50));
    }
    for partition in 0..PARTITIONS {
        for first in (0..ITEMS).step_by(BATCH) {
            let puts: Vec<Value> = (first..first + BATCH)
                .map(|task| json!({"PutRequest": {"Item": item(partition, task)}}))
                .collect();
            let answer = call(port, "BatchWriteItem", &json!({"RequestItems": {"bench": puts}}))?;
            same(
                "UnprocessedItems",
                answer.get("UnprocessedItems").unwrap_or(&json!({})),
                &json!({}),
            )?;
        }
    }
    check(port)
}

/// Checks the result of each operation for a few items.
pub fn check(port: u16) -> Outcome<()> {
    for sample in 0..20 {
        let (partition, task) = (sample * 37 % PARTITIONS, sample * 53 % ITEMS);
        let put = json!({"TableName": "bench", "Item": item(partition, task)});
        same("PutItem", &call(port, "PutItem", &put)?, &json!({}))?;
        same(
            "UpdateItem",
            &call(port, "UpdateItem", &update(partition, task))?,
            &json!({}),
        )?;
        let mut expect = item(partition, task);
        expect["n"]["N"] = json!((task + 1).to_string());
        expect["status"] = json!({"S": "DONE"});
        let get = json!({"TableName": "bench", "Key": key(partition, task), "ConsistentRead": true});
        same("GetItem", &call(port, "GetItem", &get)?["Item"], &expect)?;
        let page = call(port, "Query", &query(partition, task / 10))?;
        let expect: Vec<Value> = (task / 10 * 10..task / 10 * 10 + 10)
            .map(|task| key(partition, task))
            .collect();
        let found: Vec<Value> = page["Items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| json!({"pk": item["pk"], "sk": item["sk"]}))
            .collect();
        same("Query", &json!(found), &json!(expect))?;
    }
    Ok(())
}

fn key(partition: usize, task: usize) -> Value {
    json!({"pk": {"S": format!("PROJECT#{partition:03}")}, "sk": {"S": format!("TASK#{task:03}")}})
}

fn item(partition: usize, task: usize) -> Value {
    let mut item = key(partition, task);
    item["n"] = json!({"N": task.to_string()});
    item["body"] = json!({"S": "x".repeat(900)});
    item
}

fn update(partition: usize, task: usize) -> Value {
    json!({
        "TableName": "bench",
        "Key": key(partition, task),
        "UpdateExpression": "SET n = n + :one, #s = :s",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":s": {"S": "DONE"}},
    })
}

fn query(partition: usize, ten: usize) -> Value {
    json!({
        "TableName": "bench",
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
        "ExpressionAttributeValues": {":p": {"S": format!("PROJECT#{partition:03}")}, ":s": {"S": format!("TASK#{ten:02}")}},
    })
}

fn same(what: &str, found: &Value, expect: &Value) -> Outcome<()> {
    if found == expect {
        Ok(())
    } else {
        Err(format!("{what} answered {found}, and should have answered {expect}"))
    }
}
