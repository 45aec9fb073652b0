//! Indexes in copies of a state: of tables that were filled as a whole, with changes on their way, and of indexes that are being
//! deleted.

use std::sync::Arc;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::{Twin, caller, copies, settings};
use crate::transfers::MemoryStore;
use dynatwin_engine::{Caller, Conditions, Engine, Lag, Settings};
use serde_json::{Value, json};

fn vector_index() -> Value {
    json!({"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}})
}

/// Creates the table `tab` with the global index `by-g` and the vector index `near`.
fn create_table(twin: &Twin) {
    let attributes = ["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let index = json!({"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}});
    twin.ok(
        "CreateTable",
        &json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index], "VectorIndexes": [vector_index()]}),
    );
}

/// Writes an item that is in both indexes.
fn put(twin: &Twin, number: usize) {
    let vector = json!({"L": [{"N": number.to_string()}, {"N": "1"}]});
    let item = json!({"pk": {"S": number.to_string()}, "g": {"S": (number % 7).to_string()}, "v": vector});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
}

/// The number of entries that a scan of `by-g` finds, and those that a search of `near` finds, which are at most a hundred.
fn found(engine: &Engine, region: &str, table: &str) -> [usize; 2] {
    let send = |operation: &str, body: &Value| -> Value {
        let caller = Caller {
            region: region.into(),
            ..caller()
        };
        let answer = engine.dispatch(&caller, operation, body.to_string().as_bytes());
        serde_json::from_slice(&answer.body).unwrap()
    };
    let scan = json!({"TableName": table, "IndexName": "by-g", "Select": "COUNT"});
    let count = send("Scan", &scan)["Count"].as_u64().unwrap();
    let zero = json!({"N": "0"});
    let search = json!({"TableName": table, "IndexName": "near", "TopK": 100, "SearchVector": [zero, zero]});
    let results = send("SearchVectors", &search)["SearchResults"]
        .as_array()
        .unwrap()
        .len();
    [usize::try_from(count).unwrap(), results]
}

/// The statuses of the indexes of the table `tab`, and the numbers of their entries.
fn described(engine: &Engine) -> Value {
    let answer = engine.dispatch(&caller(), "DescribeTable", br#"{"TableName": "tab"}"#);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let shown = |member: &str| {
        let index = &answer["Table"][member][0];
        json!([index["IndexStatus"], index["ItemCount"], index["IndexSizeBytes"]])
    };
    json!([shown("GlobalSecondaryIndexes"), shown("VectorIndexes")])
}

/// However many entries an index has, and however many changes are on their way to it, a copy has all of both.
#[test]
fn a_copy_has_all_entries_and_changes_of_an_index() {
    let conditions = |lag| Conditions {
        index_propagation: lag,
        ..Conditions::CALM
    };
    let most = 256;
    for (entries, queued) in [
        (0, 1),
        (0, 2 * most + 1),
        (1, most + 1),
        (most, 1),
        (most + 1, 1),
        (2 * most + 1, most),
        (2 * most + 1, 2 * most + 1),
    ] {
        let twin = Twin::new(1);
        let recorder = Recorder::of(&twin.engine);
        create_table(&twin);
        (0..entries).for_each(|number| put(&twin, number));
        let minute = Duration::from_mins(1);
        twin.engine.set_conditions(conditions(Lag::Fixed(minute))).unwrap();
        (entries..entries + queued).for_each(|number| put(&twin, number));
        let copies = copies::of(&twin.engine, &recorder, || settings(1));
        let case = format!("{entries} entries, {queued} queued");
        let region = "us-east-1";
        let expect = |entries: usize| [entries, entries.min(100)];
        for (what, copy) in &copies {
            assert_eq!(found(copy, region, "tab"), expect(entries), "{case}, {what}");
            commits::same(what, &commits::dump(&twin.engine), &commits::dump(copy)).unwrap();
        }
        twin.engine.advance(minute);
        for (what, copy) in &copies {
            copy.advance(minute);
            assert_eq!(found(copy, region, "tab"), expect(entries + queued), "{case}, {what}");
            assert_eq!(described(copy), described(&twin.engine), "{case}, {what}");
        }
    }
}

/// An index that is being deleted has all its entries in each copy, until it is gone.
#[test]
fn a_copy_has_all_entries_of_an_index_that_is_being_deleted() {
    for (update, at, name) in [
        ("GlobalSecondaryIndexUpdates", 0, "by-g"),
        ("VectorIndexUpdates", 1, "near"),
    ] {
        let twin = Twin::new(1);
        let recorder = Recorder::of(&twin.engine);
        create_table(&twin);
        (0..600).for_each(|number| put(&twin, number));
        let before = described(&twin.engine);
        assert_eq!([&before[0][1], &before[1][1]], [600, 600]);
        twin.engine
            .set_conditions(Conditions {
                table_status: Lag::Fixed(Duration::from_secs(10)),
                ..Conditions::CALM
            })
            .unwrap();
        let delete = json!({"TableName": "tab", update: [{"Delete": {"IndexName": name}}]});
        twin.ok("UpdateTable", &delete);
        let mut during = before;
        during[at][0] = json!("DELETING");
        assert_eq!(described(&twin.engine), during);
        let copies = copies::of(&twin.engine, &recorder, || settings(1));
        twin.engine.advance(Duration::from_hours(1));
        for (what, copy) in &copies {
            assert_eq!(described(copy), during, "{name}, {what}");
            copy.advance(Duration::from_hours(1));
            assert_eq!(described(copy)[at], json!([null, null, null]), "{name}, {what}");
            assert_eq!(described(copy), described(&twin.engine), "{name}, {what}");
        }
    }
}

/// A table that is filled as a whole has all entries of its indexes at once, also in each copy of the state.
#[test]
fn a_copy_of_a_filled_table_has_complete_indexes() {
    let store = Arc::new(MemoryStore::default());
    let slow = || Settings {
        conditions: Conditions {
            index_propagation: Lag::Fixed(Duration::from_mins(1)),
            ..Conditions::CALM
        },
        ..settings(1)
    };
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let definition = json!({"TableName": "copy", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}],
        "VectorIndexes": [vector_index()]});
    for (operation, body, region, table) in [
        (
            "RestoreTableFromBackup",
            json!({"TargetTableName": "copy", "BackupArn": null}),
            "us-east-1",
            "copy",
        ),
        (
            "RestoreTableToPointInTime",
            json!({"SourceTableName": "tab", "TargetTableName": "copy", "UseLatestRestorableTime": true}),
            "us-east-1",
            "copy",
        ),
        (
            "ImportTable",
            json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
                "TableCreationParameters": definition}),
            "us-east-1",
            "copy",
        ),
        (
            "UpdateTable",
            json!({"TableName": "tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}),
            "eu-west-1",
            "tab",
        ),
    ] {
        let engine = Engine::new(slow()).with_object_store(store.clone());
        let twin = Twin {
            engine,
            caller: caller(),
        };
        let recorder = Recorder::of(&twin.engine);
        create_table(&twin);
        let recovery =
            json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
        twin.ok("UpdateContinuousBackups", &recovery);
        (0..3).for_each(|number| put(&twin, number));
        twin.ok(
            "ExportTableToPointInTime",
            &json!({"TableArn": arn, "S3Bucket": "shelf"}),
        );
        let backup = twin.ok("CreateBackup", &json!({"TableName": "tab", "BackupName": "saved"}));
        let mut body = body;
        if body["BackupArn"].is_null() && operation == "RestoreTableFromBackup" {
            body["BackupArn"] = backup["BackupDetails"]["BackupArn"].clone();
        }
        twin.ok(operation, &body);
        let counts = |engine: &Engine| found(engine, region, table);
        assert_eq!(counts(&twin.engine), [3, 3], "{operation}");
        for (what, copy) in copies::of(&twin.engine, &recorder, slow) {
            assert_eq!(counts(&copy), [3, 3], "{operation}, {what}");
        }
        commits::check(&twin.engine, &recorder, slow).unwrap();
        // A replay that ends earlier finishes what had begun, and has what is written later after the lag.
        if operation == "UpdateTable" {
            let all = recorder.commits();
            for end in all.len() - 4..=all.len() {
                let replayed = commits::replayed(slow(), &all[..end], &twin.engine);
                assert_eq!(counts(&replayed), [3, 3], "after {end} of {} commits", all.len());
            }
        }
    }
}
