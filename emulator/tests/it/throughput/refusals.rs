//! Requests that lack capacity in several places: what their answers and the log name, and where they are counted.

use crate::common::Twin;
use dynatwin_engine::Enforcement;
use dynatwin_engine::monitoring::Units;
use serde_json::{Value, json};

use super::{create, enforced, provisioned};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

/// A twin whose table and its two global indexes have so many units, of which an item has consumed one each.
fn written(units: [u64; 3]) -> Twin {
    let twin = enforced(Enforcement::AWS);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let index = |name: &str, attribute: &str, units: u64| {
        json!({"IndexName": name, "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": provisioned(1, units)["ProvisionedThroughput"]})
    };
    let mut table = provisioned(1, units[0]);
    table["AttributeDefinitions"] = json!([attribute("pk"), attribute("g"), attribute("h")]);
    table["GlobalSecondaryIndexes"] = json!([index("by-g", "g", units[1]), index("by-h", "h", units[2])]);
    create(&twin, &table);
    let item = json!({"pk": {"S": "a"}, "g": {"S": "x"}, "h": {"S": "x"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    twin.engine.watch(true);
    twin
}

/// Every write that makes a second item with entries in both indexes.
fn writes() -> [(&'static str, Value); 8] {
    let item = json!({"pk": {"S": "b"}, "g": {"S": "x"}, "h": {"S": "x"}});
    let put = json!({"TableName": "tab", "Item": item});
    let update = json!({"TableName": "tab", "Key": {"pk": {"S": "b"}}, "UpdateExpression": "SET g = :x, h = :x",
        "ExpressionAttributeValues": {":x": {"S": "x"}}});
    let insert = json!({"Statement": "INSERT INTO tab VALUE {'pk': 'b', 'g': 'x', 'h': 'x'}"});
    [
        ("PutItem", put.clone()),
        ("UpdateItem", update.clone()),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"tab": [{"PutRequest": {"Item": item}}]}}),
        ),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": put}]})),
        ("TransactWriteItems", json!({"TransactItems": [{"Update": update}]})),
        ("ExecuteStatement", insert.clone()),
        ("BatchExecuteStatement", json!({"Statements": [insert]})),
        ("ExecuteTransaction", json!({"TransactStatements": [insert]})),
    ]
}

/// A write names each exhausted resource, in its answer and in the log, and is counted as throttled there.
#[test]
fn a_write_names_every_limit_that_it_exceeds() {
    for lacking in 1..8_u32 {
        let lacks = [0, 1, 2].map(|place| lacking & (1 << place) != 0);
        for (operation, body) in writes() {
            let twin = written(lacks.map(|lacks| if lacks { 1 } else { 100 }));
            let (status, answer) = twin.send(operation, &body);
            let what = format!("{operation}, lacking {lacks:?}: {answer}");
            assert_eq!(status == 200, operation == "BatchExecuteStatement", "{what}");
            let all = [
                ("TableWriteProvisionedThroughputExceeded", ARN.to_owned()),
                ("IndexWriteProvisionedThroughputExceeded", format!("{ARN}/index/by-g")),
                ("IndexWriteProvisionedThroughputExceeded", format!("{ARN}/index/by-h")),
            ];
            let expect: Vec<_> = all.iter().zip(lacks).filter(|(_, lacks)| *lacks).collect();
            let expect: Vec<(&str, &str)> = expect
                .iter()
                .map(|((reason, arn), _)| (*reason, arn.as_str()))
                .collect();
            if let Some(reasons) = answer.get("ThrottlingReasons") {
                let of_answer: Vec<Value> = expect
                    .iter()
                    .map(|(reason, arn)| json!({"reason": reason, "resource": arn}))
                    .collect();
                assert_eq!(*reasons, json!(of_answer), "{what}");
            } else {
                assert!(status == 200 || answer.get("CancellationReasons").is_some(), "{what}");
            }
            let request = twin.engine.requests().pop().unwrap();
            let limits = request.accesses[0].limits.iter();
            let limits: Vec<(&str, &str)> = limits.map(|(reason, arn)| (reason.as_str(), arn.as_str())).collect();
            assert_eq!((request.accesses.len(), limits), (1, expect), "{what}");
            let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
            let throttles = heat.resources.iter().map(|resource| resource.write.all_throttles());
            let throttles: Vec<_> = throttles.collect();
            assert_eq!(throttles, lacks.map(u64::from), "{what}");
        }
    }
}

/// An item that leaves one place of an index for another needs units for both, and names the index once.
#[test]
fn an_index_in_which_an_entry_moves_is_named_once() {
    for lacking in [["by-g"].as_slice(), &["by-h"], &["by-g", "by-h"]] {
        let units = ["by-g", "by-h"].map(|index| if lacking.contains(&index) { 1 } else { 100 });
        let twin = written([100, units[0], units[1]]);
        let body = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "SET g = :y, h = :y",
            "ExpressionAttributeValues": {":y": {"S": "y"}}});
        let (status, answer) = twin.send("UpdateItem", &body);
        let reason = "IndexWriteProvisionedThroughputExceeded";
        let resources = lacking.iter().map(|index| format!("{ARN}/index/{index}"));
        let reasons = resources.map(|resource| json!({"reason": reason, "resource": resource}));
        let expect = json!(reasons.collect::<Vec<_>>());
        assert_eq!((status, &answer["ThrottlingReasons"]), (400, &expect), "{answer}");
    }
}

/// A transaction names each of its actions on a table without capacity, and spends nothing on the others.
#[test]
fn a_transaction_names_every_table_without_capacity() {
    // Two actions on a table consume its four units.
    let tables = ["one", "two", "six"];
    let order = ["one", "two", "six", "one", "six", "two"];
    let with_keys = || order.iter().enumerate().map(|(at, table)| (*table, format!("k{at}")));
    let actions = |action: &dyn Fn(&str, &str) -> Value| -> Value {
        with_keys().map(|(table, key)| action(table, &key)).collect()
    };
    let put = |table: &str, key: &str| json!({"Put": {"TableName": table, "Item": {"pk": {"S": key}}}});
    let get = |table: &str, key: &str| json!({"Get": {"TableName": table, "Key": {"pk": {"S": key}}}});
    let insert = |table: &str, key: &str| json!({"Statement": format!("INSERT INTO {table} VALUE {{'pk': '{key}'}}")});
    let select = |table: &str, key: &str| json!({"Statement": format!("SELECT * FROM {table} WHERE pk = '{key}'")});
    for lacking in 1..8_u32 {
        let lacks = |table: &str| {
            tables
                .iter()
                .position(|name| *name == table)
                .is_some_and(|at| lacking & (1 << at) != 0)
        };
        for (operation, body, writes) in [
            ("TransactWriteItems", json!({"TransactItems": actions(&put)}), true),
            ("TransactGetItems", json!({"TransactItems": actions(&get)}), false),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": actions(&insert)}),
                true,
            ),
            (
                "ExecuteTransaction",
                json!({"TransactStatements": actions(&select)}),
                false,
            ),
        ] {
            let twin = enforced(Enforcement::AWS);
            for table in tables {
                let mut body = provisioned(4, 4);
                body["TableName"] = table.into();
                create(&twin, &body);
            }
            for table in tables.into_iter().filter(|table| lacks(table)) {
                let two = |action: &dyn Fn(&str, &str) -> Value| {
                    let actions = ["a", "b"].map(|key| action(table, key));
                    json!({ "TransactItems": actions })
                };
                twin.ok("TransactWriteItems", &two(&put));
                twin.ok("TransactGetItems", &two(&get));
            }
            twin.engine.watch(true);
            let (status, answer) = twin.send(operation, &body);
            let what = format!("{operation}, lacking {lacking:03b}: {answer}");
            assert_eq!(status, 400, "{what}");
            let codes = answer["CancellationReasons"].as_array().unwrap().iter();
            let codes: Vec<&str> = codes.map(|reason| reason["Code"].as_str().unwrap()).collect();
            let code = |table: &str| {
                if lacks(table) {
                    "ProvisionedThroughputExceeded"
                } else {
                    "None"
                }
            };
            assert_eq!(codes, order.map(code), "{what}");
            let request = twin.engine.requests().pop().unwrap();
            let limits = request.accesses.iter().map(|access| access.limits.len());
            let expect = order.map(|table| usize::from(lacks(table)));
            assert_eq!(limits.collect::<Vec<_>>(), expect, "{what}");
            for table in tables {
                let heat = twin.engine.account(&twin.caller).heat(table).unwrap();
                let resource = &heat.resources[0];
                let (used, other) = if writes {
                    (&resource.write, &resource.read)
                } else {
                    (&resource.read, &resource.write)
                };
                let throttles = [used.all_throttles(), other.all_throttles()];
                let spent = if lacks(table) { Units::whole(4) } else { Units::ZERO };
                assert_eq!(throttles, [if lacks(table) { 2 } else { 0 }, 0], "{table}: {what}");
                assert_eq!([used.units, other.units], [spent; 2], "{table}: {what}");
            }
        }
    }
}
