//! Exports and imports through an object store that the test provides.

mod items;

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use crate::common::{Twin, commits};
use dynatwin_engine::attributes::{AttributeValue, Item, ItemRecord};
use dynatwin_engine::faults::{JobFault, Rule, Verdict};
use dynatwin_engine::transfers::{BulkReport, Export, ExportRange, Failure, ImportSource, Line, ObjectStore, Record};
use dynatwin_engine::{Capacity, Conditions, Enforcement, Lag};
use serde_json::{Value, json};

/// An object store in memory with the last export, the reports of bulk operations, and the range of each export.
#[derive(Default)]
pub struct MemoryStore(Mutex<Vec<Line>>, Mutex<Vec<BulkReport>>, Mutex<Vec<ExportRange>>);

impl ObjectStore for MemoryStore {
    fn export(&self, export: &Export) -> Result<(), Failure> {
        assert_eq!(export.arn, format!("{}/export/{}", export.table_arn, export.id()));
        assert_eq!(export.count(), export.parts.iter().flatten().count());
        *self.0.lock().unwrap() = export.parts.concat();
        self.2.lock().unwrap().push(export.span);
        Ok(())
    }

    fn read(&self, _: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        let lines = self.0.lock().unwrap();
        for (number, line) in (1..).zip(&*lines) {
            let record = ItemRecord {
                item: match line {
                    Line::Item(item) => Some(item.attributes().clone()),
                    Line::Change { .. } => None,
                },
                ..ItemRecord::default()
            };
            take(Record {
                object: "shelf".to_owned(),
                number,
                read: Ok(record),
            });
        }
        Ok(lines.len() as u64)
    }

    fn report(&self, report: &BulkReport) -> Result<(), Failure> {
        if report.bucket == "nowhere" {
            return Err(Failure::no_such_bucket());
        }
        self.1.lock().unwrap().push(report.clone());
        Ok(())
    }
}

fn table(name: &str) -> Value {
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
}

/// Returns a twin with an object store, and three items in a table with point-in-time recovery.
fn with_object_store() -> (Twin, Arc<MemoryStore>) {
    let (mut twin, shelf) = (Twin::new(1), Arc::new(MemoryStore::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&shelf) as Arc<dyn ObjectStore>);
    twin.ok("CreateTable", &table("tab"));
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    for key in ["a", "b", "c"] {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": key}}}));
    }
    (twin, shelf)
}

/// Exports the table, and returns the number of items.
fn export(twin: &Twin, more: Value) -> Value {
    describe_export(twin, more)["ItemCount"].clone()
}

/// The description of an export after its end.
fn describe_export(twin: &Twin, more: Value) -> Value {
    let mut body = json!({"TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab", "S3Bucket": "shelf"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let export = twin.ok("ExportTableToPointInTime", &body);
    let export = json!({"ExportArn": export["ExportDescription"]["ExportArn"]});
    let export = twin.ok("DescribeExport", &export)["ExportDescription"].clone();
    assert_eq!(export["ExportStatus"], "COMPLETED");
    export
}

#[test]
fn a_table_is_exported_and_imported() {
    let (twin, _) = with_object_store();
    assert_eq!(export(&twin, json!({})), 3);
    twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("copy")}),
    );
    let items = |table: &str| twin.ok("Scan", &json!({"TableName": table}))["Items"].clone();
    assert_eq!(items("copy"), items("tab"));
    assert_eq!(items("copy").as_array().unwrap().len(), 3);
}

/// An incremental export has a span, and no time of a state even if the request has one.
#[test]
fn an_incremental_export_has_no_time_of_a_state() {
    let (twin, _) = with_object_store();
    twin.engine.advance(Duration::from_mins(20));
    let now = twin.seconds();
    let span = json!({"ExportFromTime": now - 1200, "ExportToTime": now});
    for kind in ["FULL_EXPORT", "INCREMENTAL_EXPORT"] {
        let mut request = json!({"ExportType": kind, "ExportTime": now - 600});
        if kind == "INCREMENTAL_EXPORT" {
            request["IncrementalExportSpecification"] = span.clone();
        }
        let export = describe_export(&twin, request);
        assert_eq!(export.get("ExportTime").is_some(), kind == "FULL_EXPORT", "{export}");
    }
}

/// The manifest of an export is in a folder below the prefix, however many slashes the prefix ends in. A description has
/// the prefix as it was requested.
#[test]
fn the_manifest_of_an_export_is_below_its_prefix() {
    let (twin, _) = with_object_store();
    twin.engine.advance(Duration::from_mins(20));
    let now = twin.seconds();
    let span = json!({"ExportFromTime": now - 1200, "ExportToTime": now});
    let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
    for (prefix, root) in [
        (None, ""),
        (Some(""), ""),
        (Some("/"), ""),
        (Some("//"), ""),
        (Some("a"), "a/"),
        (Some("a/"), "a/"),
        (Some("a//"), "a/"),
        (Some("a/b"), "a/b/"),
        (Some("a/b/"), "a/b/"),
        (Some("a/b//"), "a/b/"),
        (Some("a//b/"), "a//b/"),
        (Some("/a/"), "/a/"),
    ] {
        for kind in [json!({}), incremental.clone()] {
            twin.engine.advance(Duration::from_secs(1));
            let mut more = kind;
            if let Some(prefix) = prefix {
                more["S3Prefix"] = json!(prefix);
            }
            let export = describe_export(&twin, more);
            let id = export["ExportArn"].as_str().unwrap().rsplit('/').next().unwrap();
            let manifest = format!("{root}AWSDynamoDB/{id}/manifest-summary.json");
            assert_eq!(export["ExportManifest"], manifest, "{prefix:?}");
            assert_eq!(export.get("S3Prefix").and_then(Value::as_str), prefix);
        }
    }
}

/// A record that replaces an earlier one with the same key counts alone in the size of its partition.
#[test]
fn replaced_records_of_an_import_have_no_size() {
    let (twin, _) = with_object_store();
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    for _ in 0..2 {
        assert_eq!(export(&twin, json!({})), 3);
        twin.engine.advance(Duration::from_secs(1));
    }
    twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("copy")}),
    );
    let described = twin.ok("DescribeTable", &json!({"TableName": "copy"}))["Table"].clone();
    assert_eq!(described["ItemCount"], 3);
    let heat = twin.engine.account(&twin.caller).heat("copy").unwrap();
    let bytes: u64 = heat.resources[0].partitions.iter().map(|each| each.bytes).sum();
    assert_eq!(json!(bytes), described["TableSizeBytes"]);
}

/// Transfers of several tables are listed with the newest first, each kind by itself.
#[test]
fn transfers_are_listed_by_their_time() {
    let (twin, _) = with_object_store();
    let arn = |table: &str| format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
    for name in ["aaa", "zzz"] {
        twin.ok("CreateTable", &table(name));
        let recovery =
            json!({"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
        twin.ok("UpdateContinuousBackups", &recovery);
    }
    let (mut exports, mut imports) = (Vec::new(), Vec::new());
    for (at, name) in ["tab", "aaa", "zzz", "aaa", "tab"].into_iter().enumerate() {
        twin.engine.advance(Duration::from_secs(1));
        let export = twin.ok(
            "ExportTableToPointInTime",
            &json!({"TableArn": arn(name), "S3Bucket": "shelf"}),
        );
        exports.insert(0, export["ExportDescription"]["ExportArn"].clone());
        twin.engine.advance(Duration::from_secs(1));
        let import = json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table(&format!("{name}-{at}"))});
        let import = twin.ok("ImportTable", &import);
        imports.insert(0, import["ImportTableDescription"]["ImportArn"].clone());
    }
    let of_table = |places: &[usize]| -> Vec<Value> { places.iter().map(|at| exports[*at].clone()).collect() };
    let list_exports = ("ListExports", "MaxResults", "ExportSummaries", "ExportArn");
    let list_imports = ("ListImports", "PageSize", "ImportSummaryList", "ImportArn");
    for ((operation, size, summaries, member), table, expect) in [
        (list_exports, None, exports.clone()),
        (list_imports, None, imports),
        (list_exports, Some("tab"), of_table(&[0, 4])),
        (list_exports, Some("aaa"), of_table(&[1, 3])),
        (list_exports, Some("zzz"), of_table(&[2])),
    ] {
        for most in 1..=3 {
            let (mut found, mut request) = (Vec::new(), json!({size: most}));
            if let Some(table) = table {
                request["TableArn"] = json!(arn(table));
            }
            loop {
                let page = twin.ok(operation, &request);
                let there = page[summaries].as_array().unwrap();
                assert!(there.len() <= most, "{operation} {table:?}");
                found.extend(there.iter().map(|summary| summary[member].clone()));
                match page.get("NextToken") {
                    Some(next) => request["NextToken"] = next.clone(),
                    None => break,
                }
            }
            assert_eq!(found, expect, "{operation} {table:?}, {most} in a page");
        }
    }
}

/// Without `MaxResults` a page has ten bulk operations; with it, up to 25.
#[test]
fn a_page_of_bulk_operations_may_be_larger_than_the_default() {
    let (twin, _) = with_object_store();
    twin.ok("CreateTable", &table("copy"));
    for _ in 0..12 {
        start_bulk(&twin, &["ERROR"], None);
        twin.engine.advance(Duration::from_hours(1));
    }
    for (most, expect) in [(None, 10), (Some(9), 9), (Some(11), 11), (Some(12), 12), (Some(25), 12)] {
        let request = most.map_or(json!({}), |most| json!({"MaxResults": most}));
        let page = twin.ok("ListBulkOperations", &request);
        let found = page["BulkOperationsSummaryList"].as_array().unwrap().len();
        assert_eq!(
            (found, page.get("NextToken").is_some()),
            (expect, expect < 12),
            "{most:?}"
        );
    }
}

/// A restored or replayed state has the exports, imports and bulk operations of the last 90 days, with their tokens.
#[test]
fn a_snapshot_has_the_transfers() {
    let (twin, _) = with_object_store();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let export = json!({"TableArn": arn, "S3Bucket": "shelf", "ClientToken": "token"});
    let exported = twin.ok("ExportTableToPointInTime", &export)["ExportDescription"]["ExportArn"].clone();
    let import = json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("copy")});
    let imported = twin.ok("ImportTable", &import)["ImportTableDescription"]["ImportArn"].clone();
    let bulk = start_bulk(&twin, &["ERROR"], None)["BulkOperationArn"].clone();
    let answers = |twin: &Twin| {
        [
            ("DescribeExport", json!({"ExportArn": exported})),
            ("DescribeImport", json!({"ImportArn": imported})),
            ("DescribeBulkOperation", json!({"BulkOperationArn": bulk})),
            ("ListExports", json!({})),
            ("ListImports", json!({})),
            ("ListBulkOperations", json!({})),
        ]
        .map(|(operation, body)| twin.send(operation, &body))
    };
    assert!(answers(&twin).iter().all(|(status, _)| *status == 200));
    let copy = Twin::new(1);
    copy.engine.restore(&twin.engine.snapshot()).unwrap();
    assert_eq!(answers(&copy), answers(&twin));
    let again = copy.ok("ExportTableToPointInTime", &export);
    assert_eq!(again["ExportDescription"]["ExportArn"], exported);
    // After 90 days they are forgotten, and in no snapshot.
    for seconds in [90 * 86_400 - 1, 1] {
        twin.engine.advance(Duration::from_secs(seconds));
        let copy = Twin::new(1);
        copy.engine.restore(&twin.engine.snapshot()).unwrap();
        assert_eq!(answers(&copy), answers(&twin), "{seconds}");
        let known = commits::dump(&twin.engine)
            .iter()
            .any(|commit| format!("{commit:?}").contains("StartTransfer"));
        assert_eq!(known, seconds > 1);
    }
}

#[test]
fn an_incremental_export_has_exactly_the_changes() {
    let (twin, shelf) = with_object_store();
    twin.engine.advance(Duration::from_mins(20));
    let from = twin.seconds();
    let key = |key: &str| json!({"TableName": "tab", "Key": {"pk": {"S": key}}});
    let check = |of: &str| json!({"ConditionCheck": {"TableName": "tab", "Key": key(of)["Key"], "ConditionExpression": "attribute_exists(pk)"}});
    twin.ok("DeleteItem", &key("nobody"));
    twin.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [check("a"), check("b"), {"Delete": key("no one")}]}),
    );
    twin.ok("DeleteItem", &key("c"));
    // An item that came and went has no change.
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": "brief"}}}));
    twin.ok("DeleteItem", &key("brief"));
    twin.engine.advance(Duration::from_mins(20));
    let span = json!({"ExportFromTime": from, "ExportToTime": twin.seconds(), "ExportViewType": "NEW_IMAGE"});
    let count = export(
        &twin,
        json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span}),
    );
    assert_eq!(count, 1);
    let lines = shelf.0.lock().unwrap();
    assert!(
        matches!(&lines[..], [Line::Change { keys, old: None, new: None, .. }] if keys.get("pk") == Some(&AttributeValue::string("c"))),
        "{lines:?}"
    );
}

/// An incremental export has the last change of every item, with its moment. Its billed size is that of the data that is
/// processed, which are both images in either view.
#[test]
fn an_incremental_export_has_the_last_change_of_each_item() {
    let (twin, shelf) = with_object_store();
    let put = |at: i64, v: &str| {
        let item = json!({"pk": {"S": format!("key-{at:02}")}, "v": {"S": v}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    };
    for at in 0..30 {
        put(at, "old");
    }
    twin.engine.advance(Duration::from_mins(20));
    let from = twin.seconds();
    for v in ["newer", "newest"] {
        for at in 0..30 {
            twin.engine.advance(Duration::from_secs(1));
            put(at, v);
        }
    }
    twin.engine.advance(Duration::from_mins(20));
    let expect: Vec<(String, i64)> = (0..30).map(|at| (format!("key-{at:02}"), from + 30 + at + 1)).collect();
    // A key and its name have eight bytes, the other name one.
    let bytes = 30 * ((8 + 1 + "old".len()) + (8 + 1 + "newest".len()));
    for (view, has_old) in [("NEW_IMAGE", false), ("NEW_AND_OLD_IMAGES", true)] {
        let span = json!({"ExportFromTime": from, "ExportToTime": twin.seconds(), "ExportViewType": view});
        let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
        let described = describe_export(&twin, incremental);
        assert_eq!(described["ItemCount"], 30, "{view}");
        assert_eq!(described["BilledSizeBytes"], bytes, "{view}");
        let mut changes = Vec::new();
        for line in &*shelf.0.lock().unwrap() {
            let Line::Change { at, keys, old, new } = line else {
                panic!("{line:?}");
            };
            let Some(AttributeValue::S(key)) = keys.get("pk") else {
                panic!("{line:?}");
            };
            let image = |image: &Option<Item>| image.as_ref().and_then(|item| item.get("v"));
            assert_eq!(
                image(old),
                has_old.then(|| AttributeValue::string("old")),
                "{view} {key}"
            );
            assert_eq!(image(new), Some(AttributeValue::string("newest")), "{view} {key}");
            changes.push((key.to_string(), at.seconds()));
        }
        changes.sort();
        assert_eq!(changes, expect, "{view}");
    }
}

/// The billed size of an export includes the items that its filter drops.
#[test]
fn a_filter_does_not_reduce_the_billed_size() {
    let (twin, _) = with_object_store();
    twin.engine.advance(Duration::from_mins(20));
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    twin.engine.advance(Duration::from_mins(20));
    let now = twin.seconds();
    let span = json!({"ExportFromTime": now - 1800, "ExportToTime": now, "ExportViewType": "NEW_IMAGE"});
    let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
    // Each item has three bytes.
    for (kind, bytes, count) in [(json!({}), 6, 2), (incremental, 3, 1)] {
        for (filter, left) in [("attribute_exists(pk)", count), ("attribute_exists(v)", 0)] {
            let mut more = kind.clone();
            more["FilterSpecification"] = json!({"FilterExpression": filter});
            let export = describe_export(&twin, more);
            assert_eq!(export["ItemCount"], left, "{kind} {filter}");
            assert_eq!(export["BilledSizeBytes"], bytes, "{kind} {filter}");
        }
    }
}

/// The filter of an export looks at the image that is left, and its projection cuts every image, but not the keys.
#[test]
fn a_filter_keeps_and_cuts_the_images_of_an_export() {
    let (twin, shelf) = with_object_store();
    twin.engine.advance(Duration::from_mins(20));
    let item = |key: &str, v: &str, w: &str| json!({"pk": {"S": key}, "v": {"S": v}, "w": {"S": w}});
    let put = |item: Value| twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    let from = twin.seconds();
    put(item("a", "1", "x"));
    put(item("d", "1", "x"));
    twin.engine.advance(Duration::from_mins(20));
    let between = twin.seconds();
    put(item("a", "2", "y"));
    twin.ok("DeleteItem", &json!({"TableName": "tab", "Key": {"pk": {"S": "d"}}}));
    twin.engine.advance(Duration::from_mins(20));
    let shown = |line: &Line| {
        let text = |item: &Item| {
            let attributes = item.attributes();
            let texts = attributes.iter().map(|(name, value)| match value {
                AttributeValue::S(text) => format!("{name}={text}"),
                other => format!("{name}={other:?}"),
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        match line {
            Line::Item(item) => text(item),
            Line::Change { keys, old, new, .. } => {
                let image = |image: &Option<Item>| image.as_ref().map_or("-".to_owned(), text);
                let Some(AttributeValue::S(key)) = keys.get("pk") else {
                    panic!("{keys:?}")
                };
                format!("{key}: {} > {}", image(old), image(new))
            }
        }
    };
    let full = json!({"ExportTime": between});
    let changes = |from: i64| {
        json!({"ExportType": "INCREMENTAL_EXPORT",
        "IncrementalExportSpecification": {"ExportFromTime": from, "ExportToTime": twin.seconds()}})
    };
    let key = json!({"KeyConditionExpression": "pk = :key", "ExpressionAttributeValues": {":key": {"S": "d"}}});
    let old = json!({"FilterExpression": "v = :v", "ExpressionAttributeValues": {":v": {"S": "1"}}});
    let new = json!({"FilterExpression": "v = :v", "ExpressionAttributeValues": {":v": {"S": "2"}}});
    let both = |key: &str, v: &str| {
        json!({"KeyConditionExpression": "pk = :key", "FilterExpression": "v = :v",
            "ExpressionAttributeValues": {":key": {"S": key}, ":v": {"S": v}}})
    };
    for (kind, filter, expect) in [
        (&full, json!({}), &["pk=a v=2 w=y", "pk=b", "pk=c"][..]),
        (&full, json!({"ProjectionExpression": "v"}), &["", "", "v=2"]),
        (&full, key.clone(), &[]),
        (
            &changes(between),
            json!({}),
            &["a: pk=a v=1 w=x > pk=a v=2 w=y", "d: pk=d v=1 w=x > -"],
        ),
        (
            &changes(between),
            json!({"ProjectionExpression": "w"}),
            &["a: w=x > w=y", "d: w=x > -"],
        ),
        (&changes(between), key.clone(), &["d: pk=d v=1 w=x > -"]),
        (&changes(between), old.clone(), &["d: pk=d v=1 w=x > -"]),
        (&changes(between), new, &["a: pk=a v=1 w=x > pk=a v=2 w=y"]),
        (&changes(between), both("d", "1"), &["d: pk=d v=1 w=x > -"]),
        (&changes(between), both("d", "2"), &[]),
        (&full, both("a", "2"), &["pk=a v=2 w=y"]),
        (&full, both("a", "1"), &[]),
        (&changes(from), old, &[]),
        (&changes(from), json!({"ProjectionExpression": "w"}), &["a:  > w=y"]),
    ] {
        let mut more = kind.clone();
        if filter != json!({}) {
            more["FilterSpecification"] = filter.clone();
        }
        export(&twin, more);
        let mut lines: Vec<String> = shelf.0.lock().unwrap().iter().map(shown).collect();
        lines.sort();
        assert_eq!(lines, expect, "{kind} {filter}");
    }
}

/// An export from the second in which recovery was enabled begins at the exact moment, which is not earlier.
#[test]
fn an_export_does_not_begin_before_recovery() {
    let (twin, shelf) = with_object_store();
    let switch = |on: bool| {
        let recovery = json!({ "PointInTimeRecoveryEnabled": on });
        twin.ok(
            "UpdateContinuousBackups",
            &json!({"TableName": "tab", "PointInTimeRecoverySpecification": recovery}),
        );
    };
    switch(false);
    twin.engine.advance(Duration::from_millis(5500));
    let enabled = twin.engine.clock().now();
    switch(true);
    twin.engine.advance(Duration::from_mins(20));
    let full = json!({"ExportTime": enabled.seconds()});
    let span = json!({"ExportFromTime": enabled.seconds(), "ExportToTime": twin.seconds()});
    let incremental = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": span});
    export(&twin, full);
    export(&twin, incremental);
    let spans = shelf.2.lock().unwrap();
    assert!(matches!(spans[0], ExportRange::Full(at) if at == enabled), "{spans:?}");
    assert!(
        matches!(spans[1], ExportRange::Incremental { from, .. } if from == enabled),
        "{spans:?}"
    );
}

#[test]
fn a_rule_fails_a_running_job() {
    let (twin, shelf) = with_object_store();
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    let source = json!({"S3Bucket": "shelf"});
    let arn = twin.ok("DescribeTable", &json!({"TableName": "tab"}))["Table"]["TableArn"].clone();
    let export = json!({"TableArn": arn, "S3Bucket": "shelf"});
    let import = json!({"S3BucketSource": source, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("other")});
    for (operation, body, look, name, fault, code) in [
        (
            "ExportTableToPointInTime",
            &export,
            "DescribeExport",
            "Export",
            JobFault::AccessDenied,
            "S3AccessDenied",
        ),
        (
            "ImportTable",
            &import,
            "DescribeImport",
            "Import",
            JobFault::Internal,
            "InternalServerError",
        ),
    ] {
        twin.engine
            .add_fault(Rule::new(Verdict::FailJob(fault)).first(1))
            .unwrap();
        let (arn, status) = (format!("{name}Arn"), format!("{name}Status"));
        let member = if name == "Import" {
            "ImportTableDescription"
        } else {
            "ExportDescription"
        };
        let begun = twin.ok(operation, body);
        let describe = || twin.ok(look, &json!({&arn: begun[member][&arn]}))[member].clone();
        assert_eq!(describe()[&status], "IN_PROGRESS");
        twin.engine.advance(Duration::from_hours(1));
        assert_eq!(
            (&describe()[&status], &describe()["FailureCode"]),
            (&json!("FAILED"), &json!(code))
        );
        let message = describe()["FailureMessage"].clone();
        assert!(
            message.as_str().is_some_and(|text| !text.is_empty()),
            "{name}: {message}"
        );
        assert_eq!(shelf.0.lock().unwrap().len(), if name == "Import" { 3 } else { 0 });
        assert_eq!(twin.ok("ListTables", &json!({}))["TableNames"], json!(["tab"]));
        // The next one passes.
        let again = twin.ok(operation, body);
        twin.engine.advance(Duration::from_hours(1));
        let done = twin.ok(look, &json!({&arn: again[member][&arn]}));
        assert_eq!(done[member][&status], "COMPLETED");
    }
}

#[test]
fn an_item_with_an_invalid_index_key_is_not_imported() {
    let (twin, _) = with_object_store();
    let item = json!({"pk": {"S": "d"}, "g": {"N": "1"}});
    twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    export(&twin, json!({}));
    let mut copy = table("copy");
    copy["AttributeDefinitions"] =
        json!([{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}]);
    copy["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]);
    let import = twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": copy}),
    );
    let arn = &import["ImportTableDescription"]["ImportArn"];
    let import = &twin.ok("DescribeImport", &json!({"ImportArn": arn}))["ImportTableDescription"];
    let members = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount", "FailureCode"];
    assert_eq!(
        members.map(|member| import[member].clone()),
        [json!(4), json!(3), json!(1), json!("ItemValidationError")]
    );
    let message = "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details.";
    assert_eq!(import["FailureMessage"], message);
    assert_eq!(twin.ok("Scan", &json!({"TableName": "copy"}))["Count"], 3);
}

#[test]
fn an_imported_table_is_active_at_the_end_of_the_import() {
    let (twin, _) = with_object_store();
    export(&twin, json!({}));
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(6)),
            ..Conditions::CALM
        })
        .unwrap();
    let import = twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("copy")}),
    );
    let import = json!({"ImportArn": import["ImportTableDescription"]["ImportArn"]});
    let states = || {
        let import = twin.ok("DescribeImport", &import)["ImportTableDescription"]["ImportStatus"].clone();
        let table = twin.ok("DescribeTable", &json!({"TableName": "copy"}))["Table"]["TableStatus"].clone();
        (import, table)
    };
    // A table without an import would be active by then.
    twin.engine.advance(Duration::from_secs(10));
    assert_eq!(states(), (json!("IN_PROGRESS"), json!("CREATING")));
    while states().0 == "IN_PROGRESS" {
        twin.engine.advance(Duration::from_secs(1));
    }
    assert_eq!(states(), (json!("COMPLETED"), json!("ACTIVE")));
}

/// An object store that creates a table while its objects are read.
#[derive(Default)]
struct InterruptedStore(OnceLock<Weak<Twin>>);

impl ObjectStore for InterruptedStore {
    fn read(&self, _: &ImportSource, _: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        let twin = self.0.get().and_then(Weak::upgrade).unwrap();
        twin.ok("CreateTable", &table("copy"));
        Ok(0)
    }

    fn export(&self, _: &Export) -> Result<(), Failure> {
        Err(Failure::no_such_bucket())
    }

    fn report(&self, _: &BulkReport) -> Result<(), Failure> {
        Err(Failure::no_such_bucket())
    }
}

/// An import fails if a table of its name is created meanwhile, which stays as it is.
#[test]
fn an_import_does_not_replace_a_table() {
    let (mut twin, store) = (Twin::new(1), Arc::new(InterruptedStore::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&store) as Arc<dyn ObjectStore>);
    let twin = Arc::new(twin);
    assert!(store.0.set(Arc::downgrade(&twin)).is_ok());
    let import = twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": table("copy")}),
    );
    let there = twin.ok("DescribeTable", &json!({"TableName": "copy"}))["Table"]["TableId"].clone();
    let import = json!({"ImportArn": import["ImportTableDescription"]["ImportArn"]});
    let import = twin.ok("DescribeImport", &import)["ImportTableDescription"].clone();
    assert_eq!(import["ImportStatus"], "FAILED", "{import}");
    assert_eq!(import["FailureMessage"], "Table already exists: copy", "{import}");
    assert_ne!(import["TableId"], there);
}

#[test]
fn fifty_imports_run_at_once() {
    let (twin, _) = with_object_store();
    export(&twin, json!({}));
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(10)),
            ..Conditions::CALM
        })
        .unwrap();
    let import = |name: &str| {
        let source = json!({"S3Bucket": "shelf"});
        twin.send(
            "ImportTable",
            &json!({"S3BucketSource": source, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": table(name)}),
        )
    };
    for number in 0..50 {
        assert_eq!(import(&format!("copy-{number}")).0, 200, "{number}");
    }
    let (status, refused) = import("one-more");
    let text = "Subscriber limit exceeded: Only 50 import operations can be done simultaneously";
    assert_eq!((status, &refused["message"]), (400, &json!(text)));
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(import("one-more").0, 200);
    // Where nothing takes time, no import runs beside another.
    twin.engine.set_conditions(Conditions::CALM).unwrap();
    twin.engine.advance(Duration::from_hours(1));
    for number in 0..51 {
        assert_eq!(import(&format!("at-once-{number}")).0, 200, "{number}");
    }
}

#[test]
fn bulk_items_count_in_the_sizes_of_capacity_partitions() {
    let (twin, _) = with_object_store();
    export(&twin, json!({}));
    twin.ok("CreateTable", &table("copy"));
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..Conditions::CALM
        })
        .unwrap();
    twin.ok(
        "StartBulkPutItems",
        &json!({"TableName": "copy", "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration": {"OutputType": ["ERROR"]}}),
    );
    assert_eq!(twin.ok("Scan", &json!({"TableName": "copy"}))["Count"], 3);
    let heat = twin.engine.account(&twin.caller).heat("copy").unwrap();
    let bytes: u64 = heat.resources[0]
        .partitions
        .iter()
        .map(|partition| partition.bytes)
        .sum();
    assert_eq!(bytes, 9, "three items with a name of two bytes and a value of one");
}

/// Partitions that a bulk operation makes too large are split together with their shards, in the operation.
#[test]
fn bulk_items_split_partitions_and_shards() {
    let (twin, _) = with_object_store();
    for at in 0..40 {
        let item = json!({"pk": {"S": format!("k{at}")}, "v": {"S": "x".repeat(1000)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    assert_eq!(export(&twin, json!({})), 43);
    let rules = Enforcement {
        partition_size: 4 * 1024,
        ..Enforcement::AWS
    };
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(rules),
            ..Conditions::CALM
        })
        .unwrap();
    let mut copy = table("copy");
    copy["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    let arn = twin.ok("CreateTable", &copy)["TableDescription"]["LatestStreamArn"].clone();
    let partitions_and_shards = || {
        let stream = twin.ok("DescribeStream", &json!({ "StreamArn": arn }))["StreamDescription"].clone();
        let heat = twin.engine.account(&twin.caller).heat("copy").unwrap();
        let shards = stream["Shards"].as_array().unwrap().len();
        (heat.resources[0].partitions.len(), shards)
    };
    let before = partitions_and_shards();
    start_bulk(&twin, &["ERROR"], None);
    let after = partitions_and_shards();
    assert!(after.0 > before.0, "{before:?} {after:?}");
    // Each split closes a shard and opens two.
    assert_eq!(after.1, before.1 + 2 * (after.0 - before.0));
}

#[test]
fn the_usage_of_a_bulk_operation_is_that_of_the_table_and_each_index() {
    let (twin, _) = with_object_store();
    let near = json!([{"N": "1"}, {"N": "0"}]);
    for (key, more) in [
        (
            "d",
            json!({"l": {"S": "l"}, "m": {"S": "mm"}, "v": {"L": near}, "w": {"L": near}}),
        ),
        ("e", json!({"l": {"S": "l"}, "v": {"L": near}})),
        ("f", json!({})),
    ] {
        let mut item = json!({"pk": {"S": key}, "sk": {"S": "s"}});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    assert_eq!(export(&twin, json!({})), 6);
    let mut copy = table("copy");
    let schema = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, schema: Value| json!({"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": "KEYS_ONLY"}});
    copy["AttributeDefinitions"] = ["pk", "sk", "l", "m"]
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    copy["KeySchema"] = schema("pk", "sk");
    copy["LocalSecondaryIndexes"] = json!([index("by-l", schema("pk", "l")), index("by-m", schema("pk", "m"))]);
    copy["GlobalSecondaryIndexes"] = json!([index("by-sk", schema("sk", "pk")), index("l-too", schema("l", "pk"))]);
    let vector = |name: &str, attribute: &str| {
        json!({"IndexName": name, "VectorAttribute": {"AttributeName": attribute}, "Dimensions": 2,
        "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"}})
    };
    copy["VectorIndexes"] = json!([vector("near", "v"), vector("nearer", "w")]);
    twin.ok("CreateTable", &copy);
    let started = twin.ok(
        "StartBulkPutItems",
        &json!({"TableName": "copy", "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration": {"OutputType": ["ERROR"]}}),
    );
    let arn = &started["BulkOperationDescription"]["BulkOperationArn"];
    let done = &twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}))["BulkOperationDescription"];
    // The items without a sort key are not written.
    assert_eq!(
        [&done["ProcessedItemCount"], &done["FailedItemCount"]],
        [&json!(6), &json!(3)],
        "{done}"
    );
    let sizes = |items: &[u64]| json!({"BulkPutBytes": items.iter().sum::<u64>()});
    let (key, local, whole) = (6, 8, 17);
    // The item with the attributes of all indexes has another text of two bytes and another vector.
    let (second, full) = (9, whole + 3 + 9);
    assert_eq!(
        done["BulkOperationUsage"],
        json!([{
            "TableName": "copy",
            "BulkPutBytes": full + whole + key + 2 * local + second + 3 * key + 2 * local,
            "Table": sizes(&[full, whole, key]),
            "LocalSecondaryIndexes": {"by-l": sizes(&[local, local]), "by-m": sizes(&[second])},
            "GlobalSecondaryIndexes": {"by-sk": sizes(&[key, key, key]), "l-too": sizes(&[local, local])},
            // A write to a vector index is paid for in kilobytes.
            "VectorIndexes": {"near": {"BulkPutVectorBytes": 2 * 1024}, "nearer": {"BulkPutVectorBytes": 1024}},
        }])
    );
}

/// Starts a bulk operation on the table `copy`, and returns its description.
fn start_bulk(twin: &Twin, types: &[&str], most: Option<u64>) -> Value {
    let mut body = json!({"TableName": "copy", "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"OutputType": types}});
    if let Some(most) = most {
        body["MaxWriteRequestUnits"] = json!(most);
    }
    twin.ok("StartBulkPutItems", &body)["BulkOperationDescription"].clone()
}

/// A cancelled bulk operation ends when it would have been complete.
#[test]
fn a_cancelled_bulk_operation_ends_at_a_moment() {
    let (twin, _) = with_object_store();
    export(&twin, json!({}));
    twin.ok("CreateTable", &table("copy"));
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(1)),
            ..Conditions::CALM
        })
        .unwrap();
    let of = json!({"BulkOperationArn": start_bulk(&twin, &["ERROR"], None)["BulkOperationArn"]});
    let begun = twin.seconds();
    let status = || twin.ok("DescribeBulkOperation", &of)["BulkOperationDescription"]["BulkOperationStatus"].clone();
    let listed = || twin.ok("ListBulkOperations", &json!({}))["BulkOperationsSummaryList"][0].clone();
    twin.engine.advance(Duration::from_secs(10));
    assert_eq!(status(), "IN_PROGRESS");
    assert_eq!(twin.ok("CancelBulkOperation", &of)["BulkOperationStatus"], "CANCELLING");
    twin.engine.advance(Duration::from_millis(39_999));
    assert_eq!(status(), "CANCELLING");
    assert_eq!(listed().get("EndTime"), None);
    twin.engine.advance(Duration::from_millis(1));
    assert_eq!(status(), "CANCELLED");
    assert_eq!(
        listed()["EndTime"].as_f64().map(|end| end as i64),
        Some(begun + 50),
        "{}",
        listed()
    );
}

/// A bulk operation fails if its report cannot be written, also if it has rejected records.
#[test]
fn a_bulk_operation_without_its_report_fails() {
    for (kind, failed) in [("S", 0), ("N", 3)] {
        let (twin, _) = with_object_store();
        export(&twin, json!({}));
        let mut copy = table("copy");
        copy["AttributeDefinitions"] = json!([{"AttributeName": "pk", "AttributeType": kind}]);
        twin.ok("CreateTable", &copy);
        let started = twin.ok(
            "StartBulkPutItems",
            &json!({"TableName": "copy", "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
                "OutputS3Configuration": {"S3Bucket": "nowhere", "OutputType": ["ERROR"]}}),
        );
        let arn = &started["BulkOperationDescription"]["BulkOperationArn"];
        let described = twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}));
        let described = &described["BulkOperationDescription"];
        assert_eq!(described["BulkOperationStatus"], "FAILED", "{described}");
        assert_eq!(described["FailureCode"], "S3NoSuchBucket", "{described}");
        assert_eq!(described["FailedItemCount"], failed, "{described}");
        let listed = twin.ok("ListBulkOperations", &json!({}));
        assert_eq!(listed["BulkOperationsSummaryList"][0]["BulkOperationStatus"], "FAILED");
    }
}

/// A transfer takes the time of its own table's conditions.
#[test]
fn a_transfer_takes_as_long_as_its_table() {
    let (twin, _) = with_object_store();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    twin.ok("CreateTable", &table("copy"));
    let import = |name: &str| json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": table(name)});
    let slow = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(1)),
        ..Conditions::CALM
    };
    for name in ["tab", "copy", "late"] {
        twin.engine
            .account(&twin.caller)
            .set_table_conditions(name, Some(slow))
            .unwrap();
    }
    let export = twin.ok(
        "ExportTableToPointInTime",
        &json!({"TableArn": arn, "S3Bucket": "shelf"}),
    );
    let export = json!({"ExportArn": export["ExportDescription"]["ExportArn"]});
    let bulk = json!({"BulkOperationArn": start_bulk(&twin, &["ERROR"], None)["BulkOperationArn"]});
    let imports = ["late", "soon"].map(|name| {
        let started = twin.ok("ImportTable", &import(name));
        json!({"ImportArn": started["ImportTableDescription"]["ImportArn"]})
    });
    let states = || {
        let export = twin.ok("DescribeExport", &export)["ExportDescription"]["ExportStatus"].clone();
        let bulk = twin.ok("DescribeBulkOperation", &bulk)["BulkOperationDescription"]["BulkOperationStatus"].clone();
        let import = |arn: &Value| twin.ok("DescribeImport", arn)["ImportTableDescription"]["ImportStatus"].clone();
        [export, bulk, import(&imports[0]), import(&imports[1])]
    };
    assert_eq!(states(), ["IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED"]);
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(states(), ["COMPLETED"; 4]);
}

#[test]
fn a_report_has_the_kinds_of_records_that_were_requested() {
    let (twin, shelf) = with_object_store();
    export(&twin, json!({}));
    let mut copy = table("copy");
    copy["AttributeDefinitions"] = json!([{"AttributeName": "pk", "AttributeType": "N"}]);
    twin.ok("CreateTable", &copy);
    let error = "ERROR";
    let unmet = "CONDITION_CHECK_FAILURE";
    for (types, expected) in [
        (&[][..], (None, None)),
        (&[error], (Some(3), None)),
        (&[unmet], (None, Some(0))),
        (&[unmet, error], (Some(3), Some(0))),
    ] {
        let started = start_bulk(&twin, types, None);
        let report = shelf.1.lock().unwrap().pop().unwrap();
        assert_eq!(started["BulkOperationArn"], report.arn, "{types:?}");
        let counts = (
            report.errors.map(|list| list.len()),
            report.unmet.map(|list| list.len()),
        );
        assert_eq!(counts, expected, "{types:?}");
        assert_eq!((report.bucket.as_str(), report.prefix), ("shelf", None));
    }
    for (place, bucket, prefix) in [
        (json!({"S3Bucket": "reports"}), "reports", None),
        (
            json!({"S3Bucket": "reports", "S3KeyPrefix": "daily"}),
            "reports",
            Some("daily"),
        ),
        (json!({"S3KeyPrefix": "daily"}), "shelf", Some("daily")),
    ] {
        let mut output = place.clone();
        output["OutputType"] = json!([error]);
        let input = json!({"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"});
        twin.ok(
            "StartBulkPutItems",
            &json!({"TableName": "copy", "InputS3Configuration": input, "OutputS3Configuration": output}),
        );
        let report = shelf.1.lock().unwrap().pop().unwrap();
        assert_eq!(
            (report.bucket.as_str(), report.prefix.as_deref()),
            (bucket, prefix),
            "{place}"
        );
    }
}

#[test]
fn a_rule_fails_a_bulk_operation() {
    let (twin, shelf) = with_object_store();
    export(&twin, json!({}));
    twin.ok("CreateTable", &table("copy"));
    twin.engine
        .add_fault(Rule::new(Verdict::FailJob(JobFault::AccessDenied)).first(1))
        .unwrap();
    for (status, code, count) in [("FAILED", json!("S3AccessDenied"), 0), ("COMPLETED", Value::Null, 3)] {
        let arn = start_bulk(&twin, &["ERROR"], None)["BulkOperationArn"].clone();
        twin.engine.advance(Duration::from_hours(1));
        let done = &twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}))["BulkOperationDescription"];
        assert_eq!(
            (&done["BulkOperationStatus"], &done["FailureCode"]),
            (&json!(status), &code),
            "{done}"
        );
        assert_eq!(twin.ok("Scan", &json!({"TableName": "copy"}))["Count"], count);
    }
    assert_eq!(shelf.1.lock().unwrap().len(), 1);
}

/// A bulk operation takes as long as its writes take at the requested rate, each at its own cost.
#[test]
fn a_bulk_operation_is_as_slow_as_its_rate() {
    let (twin, _) = with_object_store();
    for (key, size) in [("d", 200_000), ("e", 300_000)] {
        let item = json!({"pk": {"S": key}, "v": {"S": "x".repeat(size)}});
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
    }
    assert_eq!(export(&twin, json!({})), 5);
    twin.ok("CreateTable", &table("copy"));
    let status = |arn: &Value| {
        let described = twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}));
        described["BulkOperationDescription"]["BulkOperationStatus"].clone()
    };
    let start = || start_bulk(&twin, &["ERROR"], Some(1024))["BulkOperationArn"].clone();
    // Where nothing takes time, neither does it.
    assert_eq!(status(&start()), "COMPLETED");
    let conditions = Conditions {
        table_status: Lag::Fixed(Duration::from_millis(1)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(conditions).unwrap();
    // Three writes of 1 unit, one of 196 and one of 293: 492 of 1024 units per second.
    let arn = start();
    twin.engine.advance(Duration::from_millis(480));
    assert_eq!(status(&arn), "IN_PROGRESS");
    twin.engine.advance(Duration::from_millis(1));
    assert_eq!(status(&arn), "COMPLETED");
    // The table's own units are fewer.
    let units = json!({"ReadCapacityUnits": 10, "WriteCapacityUnits": 10});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "copy", "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}),
    );
    twin.engine.advance(Duration::from_hours(1));
    twin.engine
        .set_conditions(Conditions {
            capacity: Capacity::Enforced(Enforcement::AWS),
            ..conditions
        })
        .unwrap();
    let arn = start();
    twin.engine.advance(Duration::from_millis(49_199));
    assert_eq!(status(&arn), "IN_PROGRESS");
    twin.engine.advance(Duration::from_millis(1));
    assert_eq!(status(&arn), "COMPLETED");
    // Of more units than were requested it uses those.
    let units = json!({"ReadCapacityUnits": 10, "WriteCapacityUnits": 2000});
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "copy", "ProvisionedThroughput": units}),
    );
    twin.engine.advance(Duration::from_hours(1));
    let arn = start();
    twin.engine.advance(Duration::from_millis(480));
    assert_eq!(status(&arn), "IN_PROGRESS");
    twin.engine.advance(Duration::from_millis(1));
    assert_eq!(status(&arn), "COMPLETED");
}

/// The table with its local indexes and each of its global indexes are written at their own rates, and all together at the
/// requested one.
#[test]
fn a_bulk_operation_is_as_slow_as_its_slowest_resource() {
    for (units, indexes, most, locals, takes) in [
        // 492 units of the table, 489 of the index of whole items and 2 of the other one.
        (1000, [1000, 1000], None, 0, 492),
        (10, [1000, 1000], None, 0, 49_200),
        (1000, [10, 1000], None, 0, 48_900),
        (1000, [1000, 1], None, 0, 2000),
        (10, [1, 1], None, 0, 489_000),
        (1000, [1000, 1000], Some(1024), 0, 960),
        (10, [1000, 1000], Some(1024), 0, 49_200),
        (1000, [10, 1000], Some(1024), 0, 48_900),
        // 196 units of the table and as many of its local index: the larger item does not fit with its entry, and the small
        // ones have no sort key.
        (1000, [1000, 1000], None, 1, 392),
        (10, [1000, 1000], None, 1, 39_200),
        (1000, [10, 1000], None, 1, 19_600),
        (1000, [1000, 1], None, 1, 1000),
        (1000, [1000, 1000], Some(1024), 1, 576),
        // One unit more of another local index, which has the keys.
        (1000, [1000, 1000], None, 2, 393),
        (10, [1000, 1000], None, 2, 39_300),
        (1000, [10, 1000], None, 2, 19_600),
        (1000, [1000, 1000], Some(1024), 2, 577),
    ] {
        let (twin, _) = with_object_store();
        for (key, size) in [("d", 200_000), ("e", 300_000)] {
            let item = json!({"pk": {"S": key}, "whole": {"S": "x"}, "n": {"S": "x"}, "v": {"S": "x".repeat(size)}});
            twin.ok("PutItem", &json!({"TableName": "tab", "Item": item}));
        }
        assert_eq!(export(&twin, json!({})), 5);
        twin.engine
            .set_conditions(Conditions {
                capacity: Capacity::Enforced(Enforcement::AWS),
                table_status: Lag::Fixed(Duration::from_millis(1)),
                ..Conditions::CALM
            })
            .unwrap();
        let throughput = |units: u64| json!({"ReadCapacityUnits": 10, "WriteCapacityUnits": units});
        let index = |name: &str, projection: &str, units: u64| {
            json!({"IndexName": name, "KeySchema": [{"AttributeName": "whole", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": projection}, "ProvisionedThroughput": throughput(units)})
        };
        let mut copy = table("copy");
        copy["BillingMode"] = json!("PROVISIONED");
        copy["ProvisionedThroughput"] = throughput(units);
        copy["AttributeDefinitions"] =
            json!(["pk", "whole"].map(|name| json!({"AttributeName": name, "AttributeType": "S"})));
        copy["GlobalSecondaryIndexes"] =
            json!([index("all", "ALL", indexes[0]), index("keys", "KEYS_ONLY", indexes[1])]);
        if locals > 0 {
            let key = |sort: &str| {
                json!(
                    [["pk", "HASH"], [sort, "RANGE"]]
                        .map(|[name, kind]| json!({"AttributeName": name, "KeyType": kind}))
                )
            };
            copy["KeySchema"] = key("whole");
            copy["AttributeDefinitions"] =
                json!(["pk", "whole", "n"].map(|name| json!({"AttributeName": name, "AttributeType": "S"})));
            let local = |projection: &str| {
                json!({"IndexName": format!("local-{projection}"), "KeySchema": key("n"),
                    "Projection": {"ProjectionType": projection}})
            };
            copy["LocalSecondaryIndexes"] = ["ALL", "KEYS_ONLY"][..locals].iter().map(|each| local(each)).collect();
        }
        twin.ok("CreateTable", &copy);
        twin.engine.advance(Duration::from_hours(1));
        let arn = start_bulk(&twin, &["ERROR"], most)["BulkOperationArn"].clone();
        let status = || {
            let described = twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}));
            described["BulkOperationDescription"]["BulkOperationStatus"].clone()
        };
        let case = format!("{units} {indexes:?} {most:?} {locals}");
        twin.engine.advance(Duration::from_millis(takes - 1));
        assert_eq!(status(), "IN_PROGRESS", "{case}");
        twin.engine.advance(Duration::from_millis(1));
        let completed = if locals > 0 {
            "COMPLETED_WITH_ERRORS"
        } else {
            "COMPLETED"
        };
        assert_eq!(status(), completed, "{case}");
    }
}

/// An object store without objects, which keeps what was to be read.
#[derive(Default)]
struct Sources(Mutex<Vec<ImportSource>>);

impl ObjectStore for Sources {
    fn export(&self, _: &Export) -> Result<(), Failure> {
        Err(Failure::no_such_bucket())
    }

    fn read(&self, source: &ImportSource, _: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        self.0.lock().unwrap().push(source.clone());
        Ok(0)
    }

    fn report(&self, _: &BulkReport) -> Result<(), Failure> {
        Ok(())
    }
}

/// An import reads the requested objects in their form. The types of CSV's columns are those of the table's keys and of
/// its indexes'.
#[test]
fn an_import_reads_what_was_requested() {
    let (mut twin, shelf) = (Twin::new(1), Arc::new(Sources::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&shelf) as Arc<dyn ObjectStore>);
    let mut table = table("tab");
    let names = [("pk", "S"), ("g", "N"), ("h", "B")];
    let attributes = names.map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
    let key = [("g", "HASH"), ("h", "RANGE")].map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}));
    table["AttributeDefinitions"] = json!(attributes);
    table["GlobalSecondaryIndexes"] =
        json!([{"IndexName": "by-g", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}]);
    let csv = |options: Value| json!({"Csv": options});
    let cases = [
        (json!({"InputFormat": "CSV"}), "Csv None , None"),
        (
            json!({"InputFormat": "CSV", "InputFormatOptions": csv(json!({"HeaderList": ["pk", "g"]}))}),
            "Csv None , pk g",
        ),
        (
            json!({"InputFormat": "CSV", "InputFormatOptions": csv(json!({"Delimiter": "|"})), "InputCompressionType": "GZIP"}),
            "Csv Gzip | None",
        ),
        (
            json!({"InputFormat": "ION", "InputCompressionType": "ZSTD"}),
            "Ion Zstd , None",
        ),
        (json!({"InputFormat": "DYNAMODB_JSON"}), "DynamoDbJson None , None"),
    ];
    for (at, (mut request, form)) in cases.into_iter().enumerate() {
        table["TableName"] = json!(format!("tab-{at}"));
        request["S3BucketSource"] = json!({"S3Bucket": "shelf", "S3KeyPrefix": format!("from/{at}")});
        request["TableCreationParameters"] = table.clone();
        twin.ok("ImportTable", &request);
        let source = shelf.0.lock().unwrap().pop().unwrap();
        assert_eq!((source.bucket.as_str(), source.prefix), ("shelf", format!("from/{at}")));
        let header = source.header.as_ref();
        let header = header.map_or("None".to_owned(), |names| {
            names.iter().map(|name| &**name).collect::<Vec<&str>>().join(" ")
        });
        let found = format!(
            "{:?} {:?} {} {header}",
            source.format, source.compression, source.delimiter
        );
        assert_eq!(found, form);
        let keys = source.keys.iter().map(|key| format!("{} {:?}", key.name, key.kind));
        let mut keys: Vec<String> = keys.collect();
        keys.sort_unstable();
        assert_eq!(keys, ["g N", "h B", "pk S"], "{form}");
    }
    assert!(shelf.0.lock().unwrap().is_empty());
}

/// Bucket contents that a test chooses: whole records, as the objects of a bulk operation have them.
struct Records(Vec<Result<ItemRecord, String>>, Mutex<Vec<BulkReport>>);

impl ObjectStore for Records {
    fn export(&self, _: &Export) -> Result<(), Failure> {
        Err(Failure::no_such_bucket())
    }

    fn read(&self, _: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        for (number, record) in (1..).zip(&self.0) {
            take(Record {
                object: "shelf".to_owned(),
                number,
                read: record.clone(),
            });
        }
        Ok(0)
    }

    fn report(&self, report: &BulkReport) -> Result<(), Failure> {
        self.1.lock().unwrap().push(report.clone());
        Ok(())
    }
}

#[test]
fn a_bulk_operation_checks_each_record() {
    let record = |key: &str, size: usize, condition: Option<&str>, names: &[(&str, &str)]| {
        let item = [
            ("pk".into(), AttributeValue::string(key)),
            ("v".into(), AttributeValue::string(&"x".repeat(size))),
        ];
        let names = names.iter().map(|(alias, name)| ((*alias).into(), (*name).into()));
        let mut record = ItemRecord {
            item: Some(item.into_iter().collect()),
            condition_expression: condition.map(Into::into),
            ..ItemRecord::default()
        };
        let names: Vec<_> = names.collect();
        record.substitutions.names = (!names.is_empty()).then_some(names);
        Ok(record)
    };
    // The size of an item is that of its names and values.
    let most = 400 * 1024 - "pk".len() - "v".len() - 1;
    let absent = Some("attribute_not_exists(pk)");
    let records = vec![
        record("a", 1, absent, &[]),
        record("a", 2, absent, &[]),
        record("b", most, None, &[]),
        record("c", most + 1, None, &[]),
        record("d", 1, None, &[("#n", "v")]),
        record("e", 1, Some("#n <> pk"), &[("#n", "v")]),
        record("f", 1, Some("#n <> pk"), &[]),
        Ok(ItemRecord::default()),
        Err("not JSON".to_owned()),
    ];
    let (mut twin, store) = (Twin::new(1), Arc::new(Records(records, Mutex::default())));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&store) as Arc<dyn ObjectStore>);
    twin.ok("CreateTable", &table("copy"));
    let arn = start_bulk(&twin, &["ERROR", "CONDITION_CHECK_FAILURE"], None)["BulkOperationArn"].clone();
    let done = &twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}))["BulkOperationDescription"];
    assert_eq!(
        [&done["ProcessedItemCount"], &done["FailedItemCount"]],
        [&json!(9), &json!(5)],
        "{done}"
    );
    let report = store.1.lock().unwrap().pop().unwrap();
    let errors: Vec<(u64, String)> = report
        .errors
        .unwrap()
        .into_iter()
        .map(|rejected| (rejected.number, rejected.why))
        .collect();
    let expected = [
        (4, "Item size has exceeded the maximum allowed size"),
        (
            5,
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}",
        ),
        (
            7,
            "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #n",
        ),
        (8, "Item is missing"),
        (9, "not JSON"),
    ];
    assert_eq!(errors, expected.map(|(number, why)| (number, why.to_owned())));
    let unmet = report.unmet.unwrap();
    let [rejected] = &unmet[..] else {
        panic!("{unmet:?}");
    };
    let size =
        |item: &Option<dynatwin_engine::attributes::Item>| item.as_ref().map(dynatwin_engine::attributes::Item::size);
    assert_eq!(
        (rejected.number, size(&rejected.item), size(&rejected.existing)),
        (2, Some(6), Some(5))
    );
}

/// An entry that goes because its item has no longer its key takes no bytes.
#[test]
fn an_entry_that_goes_is_not_in_the_usage() {
    let item = [("pk".into(), AttributeValue::string("a"))];
    let record = ItemRecord {
        item: Some(item.into_iter().collect()),
        ..ItemRecord::default()
    };
    let (mut twin, store) = (Twin::new(1), Arc::new(Records(vec![Ok(record)], Mutex::default())));
    twin.engine = twin.engine.with_object_store(store as Arc<dyn ObjectStore>);
    let mut copy = table("copy");
    copy["AttributeDefinitions"] = json!(["pk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"})));
    copy["GlobalSecondaryIndexes"] = json!([{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}}]);
    twin.ok("CreateTable", &copy);
    let item = json!({"pk": {"S": "a"}, "g": {"S": "g"}});
    twin.ok("PutItem", &json!({"TableName": "copy", "Item": item}));
    let arn = start_bulk(&twin, &["ERROR"], None)["BulkOperationArn"].clone();
    let done = &twin.ok("DescribeBulkOperation", &json!({"BulkOperationArn": arn}))["BulkOperationDescription"];
    assert_eq!(
        done["BulkOperationUsage"],
        json!([{"TableName": "copy", "BulkPutBytes": 3, "Table": {"BulkPutBytes": 3},
            "GlobalSecondaryIndexes": {"by-g": {"BulkPutBytes": 0}}}])
    );
}

#[test]
fn a_bulk_operation_needs_a_table_at_rest() {
    let (twin, _) = with_object_store();
    twin.ok("CreateTable", &table("copy"));
    let backup = twin.ok("CreateBackup", &json!({"TableName": "copy", "BackupName": "kept"}));
    twin.engine
        .set_conditions(Conditions {
            table_status: Lag::Fixed(Duration::from_secs(1)),
            ..Conditions::CALM
        })
        .unwrap();
    let bulk = |name: &str| {
        let (status, answer) = twin.send(
            "StartBulkPutItems",
            &json!({"TableName": name, "InputS3Configuration": {"S3Bucket": "shelf", "InputFormat": "DYNAMODB_JSON"},
                "OutputS3Configuration": {"OutputType": ["ERROR"]}}),
        );
        let text = answer["message"].as_str().unwrap_or_default();
        let state = text.strip_prefix("Attempt to change a resource which is still in use: ");
        (status, state.unwrap_or(text).to_owned())
    };
    let done = (200, String::new());
    let busy = |what: &str, name: &str| (400, format!("Table is being {what}: {name}"));
    let arn = &backup["BackupDetails"]["BackupArn"];
    twin.ok(
        "RestoreTableFromBackup",
        &json!({"TargetTableName": "restored", "BackupArn": arn}),
    );
    assert_eq!(bulk("restored"), busy("used", "restored"));
    twin.engine.advance(Duration::from_mins(1));
    assert_eq!(bulk("restored"), done);
    let create = |name: &str| {
        let index = json!({"IndexName": name, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}});
        json!({"TableName": "copy", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index}]})
    };
    twin.ok("UpdateTable", &create("by-g"));
    assert_eq!(bulk("copy"), busy("updated", "copy"));
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(bulk("copy"), done);
    // Other updates do not matter, and do not hide the creation of an index.
    let warm = json!({"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5000});
    twin.ok("UpdateTable", &json!({"TableName": "copy", "WarmThroughput": warm}));
    assert_eq!(bulk("copy"), done);
    twin.ok("UpdateTable", &create("by-h"));
    assert_eq!(bulk("copy"), busy("updated", "copy"));
    twin.engine.advance(Duration::from_hours(1));
    assert_eq!(bulk("copy"), done);
    let delete = json!([{"Delete": {"IndexName": "by-g"}}]);
    twin.ok(
        "UpdateTable",
        &json!({"TableName": "copy", "GlobalSecondaryIndexUpdates": delete}),
    );
    assert_eq!(bulk("copy"), done);
    twin.engine.advance(Duration::from_hours(1));
    twin.ok("DeleteTable", &json!({"TableName": "copy"}));
    assert_eq!(bulk("copy"), busy("deleted", "copy"));
}

/// An export without a time has the items of the present moment, without those that time to live has deleted by then.
#[test]
fn what_is_due_is_in_no_export() {
    let (twin, _) = with_object_store();
    twin.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}),
    );
    let expires = (twin.seconds() + 60).to_string();
    twin.ok(
        "PutItem",
        &json!({"TableName": "tab", "Item": {"pk": {"S": "d"}, "ttl": {"N": expires}}}),
    );
    assert_eq!(export(&twin, json!({})), 4);
    twin.engine.clock().advance(Duration::from_secs(1000));
    assert_eq!(export(&twin, json!({})), 3);
}

#[test]
fn a_bulk_operation_reads_what_was_requested() {
    let (mut twin, shelf) = (Twin::new(1), Arc::new(Sources::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&shelf) as Arc<dyn ObjectStore>);
    twin.ok("CreateTable", &table("tab"));
    for (more, form) in [
        (json!({"InputFormat": "DYNAMODB_JSON"}), "DynamoDbJson None "),
        (
            json!({"InputFormat": "ION", "InputCompressionType": "NONE"}),
            "Ion None ",
        ),
        (
            json!({"InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP", "S3KeyPrefix": "from/a"}),
            "DynamoDbJson Gzip from/a",
        ),
        (
            json!({"InputFormat": "ION", "InputCompressionType": "ZSTD", "S3KeyPrefix": "from/b"}),
            "Ion Zstd from/b",
        ),
    ] {
        let mut input = more;
        input["S3Bucket"] = json!("shelf");
        twin.ok(
            "StartBulkPutItems",
            &json!({"TableName": "tab", "InputS3Configuration": input, "OutputS3Configuration": {"OutputType": []}}),
        );
        let source = shelf.0.lock().unwrap().pop().unwrap();
        let found = format!("{:?} {:?} {}", source.format, source.compression, source.prefix);
        assert_eq!((source.bucket.as_str(), found.as_str()), ("shelf", form));
    }
}

/// An object store that records the exports.
#[derive(Default)]
struct Exports(Mutex<Vec<Export>>);

impl ObjectStore for Exports {
    fn export(&self, export: &Export) -> Result<(), Failure> {
        self.0.lock().unwrap().push(export.clone());
        Ok(())
    }

    fn read(&self, _: &ImportSource, _: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        Err(Failure::no_such_bucket())
    }

    fn report(&self, _: &BulkReport) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn an_export_is_stored_as_it_was_requested() {
    let (mut twin, store) = (Twin::new(1), Arc::new(Exports::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&store) as Arc<dyn ObjectStore>);
    let created = twin.ok("CreateTable", &table("tab"))["TableDescription"].take();
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    let key = "arn:aws:kms:us-east-1:000000000000:key/k";
    for (more, bucket, form) in [
        (json!({}), "shelf", "None AES256 None DynamoDbJson"),
        (
            json!({"S3Prefix": "to/a"}),
            "shelf",
            "Some(\"to/a\") AES256 None DynamoDbJson",
        ),
        (
            json!({"S3Bucket": "other", "S3SseAlgorithm": "AES256", "ExportFormat": "DYNAMODB_JSON"}),
            "other",
            "None AES256 None DynamoDbJson",
        ),
        (json!({"S3SseAlgorithm": "KMS"}), "shelf", "None KMS None DynamoDbJson"),
        (
            json!({"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": key, "ExportFormat": "ION"}),
            "shelf",
            "None KMS Some(\"arn:aws:kms:us-east-1:000000000000:key/k\") Ion",
        ),
    ] {
        let described = describe_export(&twin, more);
        let export = store.0.lock().unwrap().pop().unwrap();
        let found = format!(
            "{:?} {} {:?} {:?}",
            export.prefix, export.sse_algorithm, export.sse_kms_key_id, export.format
        );
        assert_eq!((export.bucket.as_str(), found.as_str()), (bucket, form));
        assert_eq!(created["TableId"], export.table_id, "{form}");
        assert_eq!(created["TableArn"], export.table_arn, "{form}");
        assert_eq!(described["ExportArn"], export.arn, "{form}");
    }
}

/// The object store learns when an export was requested and when it completes.
#[test]
fn an_export_is_stored_with_its_moments() {
    let (mut twin, store) = (Twin::new(1), Arc::new(Exports::default()));
    twin.engine = twin
        .engine
        .with_object_store(Arc::clone(&store) as Arc<dyn ObjectStore>);
    twin.ok("CreateTable", &table("tab"));
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    let lag = Conditions {
        table_status: Lag::Fixed(Duration::from_secs(10)),
        ..Conditions::CALM
    };
    twin.engine.set_conditions(lag).unwrap();
    twin.engine.advance(Duration::from_secs(7));
    let requested = twin.engine.clock().now();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let started = twin.ok(
        "ExportTableToPointInTime",
        &json!({"TableArn": arn, "S3Bucket": "shelf"}),
    );
    twin.engine.advance(Duration::from_hours(1));
    let of = json!({"ExportArn": started["ExportDescription"]["ExportArn"]});
    let described = twin.ok("DescribeExport", &of)["ExportDescription"].clone();
    let export = store.0.lock().unwrap().pop().unwrap();
    assert_eq!(export.start, requested);
    assert!(export.end > requested, "{:?}", export.end);
    let second = |member: &str| described[member].as_f64().map(|seconds| seconds as i64);
    assert_eq!(second("StartTime"), Some(export.start.seconds()), "{described}");
    assert_eq!(second("EndTime"), Some(export.end.seconds()), "{described}");
}
