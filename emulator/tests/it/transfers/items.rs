//! Imports and bulk operations load the records that PutItem accepts.

use std::sync::{Arc, Mutex};

use crate::common::Twin;
use dynatwin_engine::attributes::{AttributeValue, ItemRecord, Number};
use dynatwin_engine::transfers::ObjectStore;
use serde_json::{Value, json};

use super::{Records, start_bulk};

/// The attributes of an item.
type Attributes = Vec<(&'static str, AttributeValue)>;

fn text(letters: usize) -> AttributeValue {
    AttributeValue::string(&"x".repeat(letters))
}

fn bytes(count: usize) -> AttributeValue {
    AttributeValue::B(vec![0xff; count].into())
}

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse::<Number>().unwrap())
}

/// A table with a string and a binary value as its key, a global index of two strings, and perhaps a local one of a number: an
/// import creates none.
fn table(name: &str, with_local: bool) -> Value {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, key: Value, projection: &str| json!([{"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": projection}}]);
    let mut attributes = vec![
        attribute("pk", "S"),
        attribute("sk", "B"),
        attribute("g", "S"),
        attribute("h", "S"),
    ];
    let mut table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("pk", "sk"),
        "GlobalSecondaryIndexes": index("global", key("g", "h"), "ALL")});
    if with_local {
        attributes.push(attribute("l", "N"));
        table["LocalSecondaryIndexes"] = index("local", key("pk", "l"), "ALL");
    }
    table["AttributeDefinitions"] = attributes.into();
    table
}

/// Items, and whether they are valid in a table with or without the local index.
fn items(with_local: bool) -> Vec<(&'static str, Attributes, bool)> {
    let with = |more: Attributes| [vec![("pk", text(1)), ("sk", bytes(1))], more].concat();
    let key = |pk: AttributeValue, sk: AttributeValue| vec![("pk", pk), ("sk", sk)];
    // The key takes 2 + 1 + 2 + 1 bytes, and the name of `v` one.
    let most = 400 * 1024 - 7;
    // With an entry of the local index, an item takes its size twice. A number of one digit takes 2 bytes.
    let half = 400 * 1024 / 2 - 7 - 3;
    let nested = |levels: usize| {
        let mut value = text(1);
        for _ in 0..levels {
            value = AttributeValue::L(vec![value]);
        }
        value
    };
    vec![
        ("the key alone", with(vec![]), true),
        ("400 KB", with(vec![("v", text(most))]), true),
        ("a byte more than 400 KB", with(vec![("v", text(most + 1))]), false),
        (
            "400 KB with a local entry",
            with(vec![("l", number("1")), ("v", text(half))]),
            true,
        ),
        (
            "a byte more with a local entry",
            with(vec![("l", number("1")), ("v", text(half + 1))]),
            !with_local,
        ),
        (
            "400 KB with a global entry",
            with(vec![("g", text(1)), ("h", text(1)), ("v", text(most - 4))]),
            true,
        ),
        ("no key", vec![("v", text(1))], false),
        ("no hash key", vec![("sk", bytes(1))], false),
        ("no range key", vec![("pk", text(1))], false),
        ("a hash key of another type", key(number("1"), bytes(1)), false),
        ("a range key of another type", key(text(1), text(1)), false),
        ("a key of null", key(AttributeValue::Null, bytes(1)), false),
        ("an empty hash key", key(text(0), bytes(1)), false),
        ("an empty range key", key(text(1), bytes(0)), false),
        ("a hash key of 2048 bytes", key(text(2048), bytes(1)), true),
        ("a hash key of 2049 bytes", key(text(2049), bytes(1)), false),
        ("a range key of 1024 bytes", key(text(1), bytes(1024)), true),
        ("a range key of 1025 bytes", key(text(1), bytes(1025)), false),
        ("an index key of another type", with(vec![("g", number("1"))]), false),
        (
            "an index range key of another type",
            with(vec![("g", text(1)), ("h", bytes(1))]),
            false,
        ),
        (
            "an index range key of another type alone",
            with(vec![("h", bytes(1))]),
            false,
        ),
        ("a local key of another type", with(vec![("l", text(1))]), !with_local),
        ("an empty index key", with(vec![("g", text(0))]), false),
        ("an empty index range key", with(vec![("h", text(0))]), false),
        (
            "an index key of 2048 bytes",
            with(vec![("g", text(2048)), ("h", text(1))]),
            true,
        ),
        (
            "an index key of 2049 bytes",
            with(vec![("g", text(2049)), ("h", text(1))]),
            false,
        ),
        (
            "an index range key of 1024 bytes",
            with(vec![("g", text(1)), ("h", text(1024))]),
            true,
        ),
        (
            "an index range key of 1025 bytes",
            with(vec![("g", text(1)), ("h", text(1025))]),
            false,
        ),
        (
            "empty values",
            with(vec![("v", text(0)), ("w", bytes(0)), ("x", AttributeValue::L(vec![]))]),
            true,
        ),
        ("ten levels", with(vec![("v", nested(10))]), true),
    ]
}

fn record(attributes: &Attributes) -> ItemRecord {
    let attributes = attributes.iter().map(|(name, value)| ((*name).into(), value.clone()));
    ItemRecord {
        item: Some(attributes.collect()),
        ..ItemRecord::default()
    }
}

fn with_records(records: Vec<ItemRecord>) -> (Twin, Arc<Records>) {
    let records = Records(records.into_iter().map(Ok).collect(), Mutex::default());
    let (mut twin, store) = (Twin::new(1), Arc::new(records));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&store) as Arc<dyn ObjectStore>);
    (twin, store)
}

/// Imports the records into the table `imported`, and returns its description.
fn import(twin: &Twin) -> Value {
    let import = json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("imported", false)});
    let import = twin.ok("ImportTable", &import)["ImportTableDescription"]["ImportArn"].clone();
    twin.ok("DescribeImport", &json!({"ImportArn": import}))["ImportTableDescription"].clone()
}

fn count(twin: &Twin, table: &str, index: Option<&str>) -> Value {
    let mut scan = json!({"TableName": table, "Select": "COUNT"});
    if let Some(index) = index {
        scan["IndexName"] = index.into();
    }
    twin.ok("Scan", &scan)["Count"].clone()
}

/// Loads the records into the new table `copy`. Returns its description, and the numbers of the records that failed.
fn load(twin: &Twin, store: &Records, with_local: bool) -> (Value, Vec<u64>) {
    twin.ok("CreateTable", &table("copy", with_local));
    let bulk = start_bulk(twin, &["ERROR"], None)["BulkOperationArn"].clone();
    let bulk = twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": bulk}))["BulkOperationDescription"].clone();
    let errors = store.1.lock().unwrap().pop().unwrap().errors.unwrap();
    (bulk, errors.iter().map(|error| error.number).collect())
}

#[test]
fn only_valid_items_are_imported() {
    for (what, attributes, valid) in items(false) {
        let (twin, _) = with_records(vec![record(&attributes)]);
        let imported = import(&twin);
        assert_eq!(
            ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|member| imported[member].clone()),
            [json!(1), json!(u64::from(valid)), json!(u64::from(!valid))],
            "{what}: {imported}"
        );
        let failure = imported.get("FailureCode");
        assert_eq!(
            failure,
            (!valid).then_some(&json!("ItemValidationError")),
            "{what}: {imported}"
        );
        assert_eq!(count(&twin, "imported", None), u64::from(valid), "{what}");
        let table = twin.ok("DescribeTable", &json!({"TableName": "imported"}));
        assert_eq!(imported["TableId"], table["Table"]["TableId"], "{what}");
        let is_in = valid
            && ["g", "h"]
                .iter()
                .all(|name| attributes.iter().any(|(there, _)| there == name));
        assert_eq!(count(&twin, "imported", Some("global")), u64::from(is_in), "{what}");
    }
}

#[test]
fn only_valid_items_are_loaded() {
    for with_local in [false, true] {
        for (what, attributes, valid) in items(with_local) {
            let (twin, store) = with_records(vec![record(&attributes)]);
            let (bulk, failed) = load(&twin, &store, with_local);
            assert_eq!(failed.is_empty(), valid, "{what}");
            assert_eq!(
                [&bulk["ProcessedItemCount"], &bulk["FailedItemCount"]],
                [&json!(1), &json!(failed.len())],
                "{what}: {bulk}"
            );
            let status = if valid { "COMPLETED" } else { "COMPLETED_WITH_ERRORS" };
            assert_eq!(bulk["BulkOperationStatus"], status, "{what}");
            assert_eq!(count(&twin, "copy", None), u64::from(valid), "{what}");
        }
    }
}

/// All records together: those that are valid are loaded, and of several with the same key the last one stays.
#[test]
fn an_invalid_item_does_not_stop_the_others() {
    for with_local in [false, true] {
        let all = items(with_local);
        let valid = all.iter().filter(|(_, _, valid)| *valid).count();
        let (twin, store) = with_records(all.iter().map(|(_, attributes, _)| record(attributes)).collect());
        let (bulk, failed) = load(&twin, &store, with_local);
        assert_eq!(
            [&bulk["ProcessedItemCount"], &bulk["FailedItemCount"]],
            [&json!(all.len()), &json!(all.len() - valid)]
        );
        let invalid = (1..)
            .zip(&all)
            .filter(|(_, (_, _, valid))| !valid)
            .map(|(number, _)| number);
        assert_eq!(failed, invalid.collect::<Vec<u64>>());
        let mut tables = vec!["copy"];
        if !with_local {
            let imported = import(&twin);
            assert_eq!(
                ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|member| imported[member].clone()),
                [json!(all.len()), json!(valid), json!(all.len() - valid)]
            );
            tables.push("imported");
        }
        for table in tables {
            // The two keys at their limits, and one that the others share.
            assert_eq!(count(&twin, table, None), 3, "{table}");
            let key = json!({"pk": {"S": "x"}, "sk": {"B": "/w=="}});
            let item = twin.ok("GetItem", &json!({"TableName": table, "Key": key}))["Item"].clone();
            assert!(item["v"]["L"].is_array(), "{table}: {item}");
            assert_eq!(count(&twin, table, Some("global")), 0, "{table}");
        }
    }
}
