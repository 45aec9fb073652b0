//! Flags of a directory that has commits: they hold for the restored engine as for a new one.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Conditions, TimeToLive};
use dynatwin_store::sim::SimDisk;
use serde_json::{Value, json};

use super::{Database, ENDS, is_delivered, open, open_with, put, request, scan, table};
use crate::backend::Backend;

/// Sends a request without a body and returns the status of the answer.
fn status(database: &Database, method: &str, target: &str) -> u16 {
    let request = HttpRequest {
        method,
        target,
        headers: &[("host", "localhost")],
        body: b"",
    };
    database.handle(&request).status
}

/// Exports the table to a bucket, and returns the status of the finished export.
fn exported(database: &Database, bucket: &str) -> Value {
    let request = |operation: &str, body: &Value| request(database, false, operation, body).unwrap();
    let arn = request("DescribeTable", &json!({"TableName": "Tab"}))["Table"]["TableArn"].clone();
    let begun = request(
        "ExportTableToPointInTime",
        &json!({"TableArn": arn, "S3Bucket": bucket}),
    );
    database.engine.advance(Duration::from_hours(1));
    let arn = &begun["ExportDescription"]["ExportArn"];
    request("DescribeExport", &json!({"ExportArn": arn}))["ExportDescription"]["ExportStatus"].clone()
}

/// Read-only controls, buckets and the health check, before and after a process of any end.
#[test]
fn flags_hold_for_a_restored_engine() {
    let folder = std::env::temp_dir().join(format!("dynatwin-restarts-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("data")).unwrap();
    let set = [
        "--no-control",
        "--health-status",
        "400",
        "--s3-dir",
        folder.to_str().unwrap(),
    ];
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let recovery = json!({"TableName": "Tab", "PointInTimeRecoverySpecification": recovery});
    for (at, end) in ENDS.into_iter().enumerate() {
        let mut disk = SimDisk::new();
        for (words, reset, health, export) in [
            (&set[..], 403, 400, "COMPLETED"),
            (&set, 403, 400, "COMPLETED"),
            (&[], 200, 200, "FAILED"),
            (&set, 403, 400, "COMPLETED"),
        ] {
            let context = format!("end {at}: {words:?}");
            let database = open_with(&disk, words);
            if request(&database, false, "CreateTable", &table()).is_some() {
                request(&database, false, "UpdateContinuousBackups", &recovery).unwrap();
            }
            assert_eq!(exported(&database, "data"), export, "{context}");
            assert_eq!(exported(&database, "missing"), "FAILED", "{context}");
            assert_eq!(status(&database, "GET", "/"), health, "{context}");
            assert_eq!(status(&database, "GET", "/_dynatwin/"), 200, "{context}");
            assert_eq!(status(&database, "POST", "/_dynatwin/reset"), reset, "{context}");
            database.log.store.flush().unwrap();
            disk = end(&database, &disk);
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A reset of everything sets the conditions of the flags of the present process.
#[test]
fn a_reset_of_a_restored_engine_sets_the_conditions_of_the_flags() {
    let off = Conditions {
        time_to_live: TimeToLive::Off,
        ..Conditions::STORM
    };
    for (at, end) in ENDS.into_iter().enumerate() {
        for (first, second, expected) in [
            (
                &["--conditions", "aws"][..],
                &["--conditions", "aws"][..],
                Conditions::AWS,
            ),
            (&[], &["--conditions", "aws"], Conditions::AWS),
            (&["--conditions", "aws"], &["--conditions", "calm"], Conditions::CALM),
            (&[], &["--conditions", "storm", "--ttl", "off"], off),
        ] {
            for has_table in [true, false] {
                let context = format!("end {at}: {first:?}, then {second:?}, a table: {has_table}");
                let disk = SimDisk::new();
                let database = open_with(&disk, first);
                if has_table {
                    request(&database, false, "CreateTable", &table()).unwrap();
                }
                database.log.store.flush().unwrap();
                let disk = end(&database, &disk);
                let database = open_with(&disk, second);
                assert_eq!(database.engine.conditions(), expected, "{context}");
                let throttled = Conditions {
                    throttles: 0.25,
                    ..Conditions::CALM
                };
                database.engine.set_conditions(throttled).unwrap();
                let reset = HttpRequest {
                    method: "POST",
                    target: "/_dynatwin/reset",
                    headers: &[("host", "localhost"), ("content-type", "application/json")],
                    body: br#"{"all": true}"#,
                };
                assert_eq!(database.handle(&reset).status, 200, "{context}");
                assert_eq!(database.engine.conditions(), expected, "{context}");
                assert_eq!(database.engine.seed(), 5, "{context}");
            }
        }
    }
}

/// With `--sync always` a write that has been answered survives a power failure, in each process on the directory.
#[test]
fn writes_are_synced_before_their_answers_after_a_restart() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (at, end) in ENDS.into_iter().enumerate() {
        let mut disk = SimDisk::new();
        for (round, id) in ["a", "b", "c"].into_iter().enumerate() {
            let database = open_with(&disk, &["--db-path", "sim", "--sync", "always"]);
            if round == 0 {
                request(&database, true, "CreateTable", &table()).unwrap();
            }
            let log = Arc::clone(&database.log);
            let syncing = thread::spawn(move || log.store.sync_continuously(Duration::from_hours(1), |_| ()));
            assert!(is_delivered(&database, &runtime, "PutItem", &put(id, 1)));
            let left = open(&disk.after_power_failure(None)).unwrap();
            assert_eq!(scan(&left, None).unwrap().len(), round + 1, "end {at}, {id}");
            disk = end(&database, &disk);
            database.close();
            syncing.join().unwrap();
        }
    }
}
