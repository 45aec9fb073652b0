//! What requests consume.

use dynatwin_engine::Enforcement;
use dynatwin_engine::monitoring::Units;
use serde_json::{Value, json};

use super::{create, enforced, heat, provisioned, put, seconds};

#[test]
fn a_transaction_pays_twice_for_the_table_and_once_for_indexes() {
    let twin = enforced(Enforcement::AWS);
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let index = |name: &str, keys: [Value; 2]| json!({"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({
            "TableName": "indexed",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("l")],
            "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
            "LocalSecondaryIndexes": [index("local", [key("pk", "HASH"), key("l", "RANGE")])],
            "GlobalSecondaryIndexes": [index("global", [key("l", "HASH"), key("sk", "RANGE")])],
        }),
    );
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "b"}, "l": {"S": "c"}});
    let action = json!({"Put": {"TableName": "indexed", "Item": item}});
    let answer = twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [action], "ReturnConsumedCapacity": "TOTAL"}),
    );
    assert_eq!(answer["ConsumedCapacity"][0]["CapacityUnits"], 4.0);
    let heat = twin.engine.account(&twin.caller).heat("indexed").unwrap();
    let written = heat.resources.iter().map(|resource| resource.write.units);
    assert!(written.eq([Units::whole(3), Units::whole(1)]));
}

/// The log and the metrics count the units of all local indexes with the table's, and those of each global index apart.
#[test]
fn the_units_of_every_index_are_logged_and_counted() {
    let names = ["l1", "l2", "l3", "g1", "g2"];
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "b"}, "l1": {"S": "c"}, "l2": {"S": "c"}, "l3": {"S": "c"},
        "g1": {"S": "c"}, "g2": {"S": "c"}});
    let put = json!({"TableName": "indexed", "Item": item});
    let set = names.map(|name| format!("{name} = :c")).join(", ");
    let update = json!({"TableName": "indexed", "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}},
        "UpdateExpression": format!("SET {set}"), "ExpressionAttributeValues": {":c": {"S": "c"}}});
    let insert = json!({"Statement": "INSERT INTO indexed VALUE {'pk': 'a', 'sk': 'b', 'l1': 'c', 'l2': 'c', 'l3': 'c', 'g1': 'c', 'g2': 'c'}"});
    for (operation, mut body, of_table) in [
        ("PutItem", put.clone(), 4),
        ("UpdateItem", update.clone(), 4),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"indexed": [{"PutRequest": {"Item": item}}]}}),
            4,
        ),
        ("ExecuteStatement", insert.clone(), 4),
        ("BatchExecuteStatement", json!({"Statements": [insert]}), 4),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": put}]}), 5),
        ("TransactWriteItems", json!({"TransactItems": [{"Update": update}]}), 5),
        ("ExecuteTransaction", json!({"TransactStatements": [insert]}), 5),
    ] {
        let twin = enforced(Enforcement::AWS);
        let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
        let index = |name: &&str| {
            let keys = if name.starts_with('l') {
                json!([key("pk", "HASH"), key(name, "RANGE")])
            } else {
                json!([key(name, "HASH")])
            };
            json!({"IndexName": format!("by-{name}"), "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}})
        };
        let attributes = ["pk", "sk"].iter().chain(&names);
        let attributes = attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        twin.ok(
            "CreateTable",
            &json!({"TableName": "indexed", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": attributes.collect::<Vec<_>>(),
                "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
                "LocalSecondaryIndexes": names[..3].iter().map(index).collect::<Vec<_>>(),
                "GlobalSecondaryIndexes": names[3..].iter().map(index).collect::<Vec<_>>()}),
        );
        twin.engine.watch(true);
        body["ReturnConsumedCapacity"] = json!("TOTAL");
        let answer = twin.ok(operation, &body);
        let total = of_table + 2;
        let consumed = &answer["ConsumedCapacity"];
        let consumed = consumed.get(0).unwrap_or(consumed)["CapacityUnits"].as_f64();
        assert_eq!(consumed, Some(f64::from(total)), "{operation}: {answer}");
        let request = twin.engine.requests().pop().unwrap();
        assert_eq!(request.write.as_f64(), f64::from(total), "{operation}");
        assert_eq!(request.accesses[0].write.as_f64(), f64::from(total), "{operation}");
        let metrics = twin.engine.metrics(&twin.caller);
        let counted: Vec<String> = metrics
            .iter()
            .filter(|metric| metric.name == "ConsumedWriteCapacityUnits")
            .map(ToString::to_string)
            .collect();
        let of_index =
            |name: &str| format!("ConsumedWriteCapacityUnits{{TableName=indexed, GlobalSecondaryIndexName={name}}} 1");
        let expect = [
            format!("ConsumedWriteCapacityUnits{{TableName=indexed}} {of_table}"),
            of_index("by-g1"),
            of_index("by-g2"),
        ];
        assert_eq!(counted, expect, "{operation}");
    }
}

#[test]
fn what_was_consumed_is_counted_across_billing_modes() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &provisioned(10, 10));
    assert!(put(&twin, "a", 4));
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST"}),
    );
    seconds(&twin, 3600);
    assert!(put(&twin, "b", 3));
    let written = &heat(&twin).resources[0].write;
    assert_eq!((written.units, written.all_throttles()), (Units::whole(7), 0));
}

#[test]
fn an_indexs_consumption_survives_changes_of_its_table() {
    let twin = enforced(Enforcement::AWS);
    let mut table = provisioned(10, 10);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    table["AttributeDefinitions"] = json!([attribute("pk"), attribute("one"), attribute("two"), attribute("six")]);
    let index = |name: &str| {
        json!({"IndexName": name, "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "ProvisionedThroughput": provisioned(10, 10)["ProvisionedThroughput"]})
    };
    table["GlobalSecondaryIndexes"] = json!([index("one"), index("two"), index("six")]);
    create(&twin, &table);
    for (key, times) in [("one", 1), ("two", 2), ("six", 4)] {
        for _ in 0..times {
            twin.ok(
                "PutItem",
                &json!({"TableName": "tab", "Item": {"pk": {"S": key}, key: {"S": "x"}}}),
            );
            twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": key}}}));
            seconds(&twin, 1);
        }
    }
    let spent = || -> Vec<(Option<String>, f64)> {
        let of = |name: &Option<_>| name.as_ref().map(ToString::to_string);
        let resources = heat(&twin).resources.into_iter();
        resources
            .map(|resource| (of(&resource.index), resource.write.units.as_f64()))
            .collect()
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        spent(),
        [(None, 14.0), (name("one"), 2.0), (name("two"), 4.0), (name("six"), 8.0)]
    );
    let delete = json!([{"Delete": {"IndexName": "one"}}]);
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "tab", "GlobalSecondaryIndexUpdates": delete}),
    );
    assert_eq!(spent(), [(None, 14.0), (name("two"), 4.0), (name("six"), 8.0)]);
}

#[test]
fn a_repeated_transaction_is_charged_completely() {
    let twin = enforced(Enforcement::AWS);
    create(&twin, &provisioned(3, 100));
    let put = |key: &str| json!({"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}});
    let body = json!({"ClientRequestToken": "once", "TransactItems": [put("a"), put("b")]});
    twin.ok("TransactWriteItems", &body);
    // Two transactional reads need four units, and there are three: as in a transaction the first has enough.
    let (_, answer) = twin.send("TransactWriteItems", &body);
    let codes: Vec<&Value> = answer["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| &reason["Code"])
        .collect();
    assert_eq!(codes, ["None", "ProvisionedThroughputExceeded"], "{answer}");
    assert_eq!(
        heat(&twin).resources[0].read.units,
        Units::ZERO,
        "and nothing was spent"
    );
    seconds(&twin, 1);
    twin.ok("TransactWriteItems", &body);
    assert_eq!(heat(&twin).resources[0].read.units, Units::whole(4));
}
