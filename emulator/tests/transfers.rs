//! Exports and imports by way of a depot that the engine is given.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::{Arc, Mutex};

use common::Twin;
use dynatwin_engine::request::ItemRecord;
use dynatwin_engine::transfer::{Depot, Export, Failure, Line, Record, Report, Source};
use dynatwin_engine::value::Map;
use serde_json::{Value, json};

/// A bucket in memory: what was exported last.
#[derive(Default)]
struct Shelf(Mutex<Vec<Map>>);

impl Depot for Shelf {
    fn export(&self, export: &Export) -> Result<(), Failure> {
        let lines = export.parts.iter().flatten();
        let items = lines.filter_map(|line| match line {
            Line::Item(item) => Some(item.attributes().clone()),
            Line::Change { .. } => None,
        });
        *self.0.lock().unwrap() = items.collect();
        Ok(())
    }

    fn read(&self, _: &Source, take: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
        let items = self.0.lock().unwrap();
        for (number, item) in (1..).zip(&*items) {
            let record = ItemRecord {
                item: Some(item.clone()),
                ..ItemRecord::default()
            };
            take(Record {
                object: "shelf".to_owned(),
                number,
                read: Ok(record),
            });
        }
        Ok(items.len() as u64)
    }

    fn report(&self, _: &Report) -> Result<(), Failure> {
        Ok(())
    }
}

fn table(name: &str) -> Value {
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
}

#[test]
fn a_table_goes_into_a_depot_and_comes_back() {
    let mut twin = Twin::new(1);
    twin.engine = twin.engine.with_depot(Arc::new(Shelf::default()));
    twin.ok("CreateTable", &table("tab"));
    twin.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
    );
    for key in ["a", "b", "c"] {
        twin.ok("PutItem", &json!({"TableName": "tab", "Item": {"pk": {"S": key}}}));
    }
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
    let export = twin.ok(
        "ExportTableToPointInTime",
        &json!({"TableArn": arn, "S3Bucket": "shelf"}),
    );
    let export = json!({"ExportArn": export["ExportDescription"]["ExportArn"]});
    let export = &twin.ok("DescribeExport", &export)["ExportDescription"];
    assert_eq!(
        (&export["ExportStatus"], &export["ItemCount"]),
        (&json!("COMPLETED"), &json!(3))
    );
    twin.ok(
        "ImportTable",
        &json!({"S3BucketSource": {"S3Bucket": "shelf"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("copy")}),
    );
    let items = |table: &str| twin.ok("Scan", &json!({"TableName": table}))["Items"].clone();
    assert_eq!(items("copy"), items("tab"));
    assert_eq!(items("copy").as_array().unwrap().len(), 3);
}
