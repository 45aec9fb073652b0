//! Statements that read several ranges: what they pay for them together, and for each.

use std::time::Duration;

use crate::common::Twin;
use dynatwin_engine::{Capacity, Conditions, Enforcement};
use serde_json::json;

/// The bytes that one read unit pays for.
const UNIT: usize = 4096;

/// A twin with the table `tab` and its index `by-g`, and with items of these sizes, whose keys `k0`, `k1` and so on are also
/// their values of `g`.
fn twin(capacity: Capacity, sizes: &[usize]) -> Twin {
    let twin = Twin::new(1);
    twin.engine
        .set_conditions(Conditions {
            capacity,
            ..Conditions::CALM
        })
        .unwrap();
    let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let index = json!({"IndexName": "by-g", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk"),
            "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index]}),
    );
    for (at, size) in sizes.iter().enumerate() {
        let name = format!("k{at}");
        let text = "x".repeat(size - "pk".len() - "g".len() - 2 * name.len() - "v".len());
        let item = json!({"pk": {"S": name}, "g": {"S": name}, "v": {"S": text}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    twin.engine.advance(Duration::from_mins(1));
    twin.engine.watch(true);
    twin
}

/// The units of reading so many bytes.
fn units(bytes: usize, is_consistent: bool) -> f64 {
    let whole = bytes.div_ceil(UNIT).max(1) as f64;
    if is_consistent { whole } else { whole / 2.0 }
}

/// The bytes of all ranges are rounded up together: a range pays for what its bytes add to those of the ranges before it.
#[test]
fn the_bytes_of_all_ranges_are_rounded_up_together() {
    for capacity in [Capacity::Reported, Capacity::Enforced(Enforcement::AWS)] {
        for sizes in [
            &[1500, 1500, 1500][..],
            &[1500, 1500, 1500, 1500, 1500, 1500],
            &[100, 100, 100, 100],
            &[4096, 4096, 4096],
            &[4096, 1, 4096].map(|size| size + 50),
            &[3000, 1000, 96, 100, 4000],
            &[100, 9000, 100, 3000, 100],
        ] {
            for (source, name, is_consistent) in
                [("tab", "pk", false), ("tab", "pk", true), (r#"tab."by-g""#, "g", false)]
            {
                let twin = twin(capacity, sizes);
                let keys: Vec<String> = (0..sizes.len()).map(|at| format!("'k{at}'")).collect();
                let statement = format!("SELECT * FROM {source} WHERE {name} IN [{}]", keys.join(", "));
                let request =
                    json!({"Statement": statement, "ConsistentRead": is_consistent, "ReturnConsumedCapacity": "TOTAL"});
                let answer = twin.ok("ExecuteStatement", &request);
                let what = format!("{sizes:?} {statement} {is_consistent} {capacity:?}");
                assert_eq!(answer["Items"].as_array().unwrap().len(), sizes.len(), "{what}");
                let total = units(sizes.iter().sum(), is_consistent);
                assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], json!(total), "{what}");
                let mut bytes = 0;
                let mut before = 0.0;
                let each: Vec<f64> = sizes
                    .iter()
                    .map(|size| {
                        bytes += size;
                        let after = units(bytes, is_consistent);
                        after - std::mem::replace(&mut before, after)
                    })
                    .collect();
                let logged = twin.engine.requests().pop().unwrap();
                let logged = logged.accesses.iter().map(|access| access.read.as_f64());
                assert_eq!(logged.collect::<Vec<_>>(), each, "{what}");
                if capacity != Capacity::Reported {
                    let heat = twin.engine.account(&twin.caller).heat("tab").unwrap();
                    let spent = heat.resources.iter().map(|resource| resource.read.units.as_f64());
                    let expect = if name == "pk" { [total, 0.0] } else { [0.0, total] };
                    assert_eq!(spent.collect::<Vec<_>>(), expect, "{what}");
                }
            }
        }
    }
}

/// The items that are fetched from the table are paid for in every partition.
#[test]
fn fetched_items_of_all_partitions_are_paid_for() {
    let twin = Twin::new(1);
    let key =
        |range: &str| json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let attributes = ["pk", "sk", "l"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let index = json!({"IndexName": "by-l", "KeySchema": key("l"), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("sk"),
            "AttributeDefinitions": attributes, "LocalSecondaryIndexes": [index]}),
    );
    for (pk, count) in [("a", 3), ("b", 2), ("c", 1)] {
        for at in 0..count {
            let item = json!({"pk": {"S": pk}, "sk": {"S": at.to_string()}, "l": {"S": "x"}, "v": {"S": "y"}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
    }
    for (partitions, fetched) in [
        ("'a'", 1.5),
        ("'a', 'b'", 2.5),
        ("'a', 'b', 'c'", 3.0),
        ("'c', 'a'", 2.0),
    ] {
        let statement = format!("SELECT v FROM tab.\"by-l\" WHERE pk IN [{partitions}]");
        let answer = twin.ok(
            "ExecuteStatement",
            &json!({"Statement": statement, "ReturnConsumedCapacity": "INDEXES"}),
        );
        assert_eq!(
            answer["ConsumedCapacity"]["Table"]["CapacityUnits"], fetched,
            "{statement}: {answer}"
        );
    }
}
