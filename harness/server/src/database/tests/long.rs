//! Operations that may take long, which are carried out on another thread.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dynatwin_engine::http::HttpRequest;
use dynatwin_store::sim::{Fault, SimDisk};
use serde_json::{Value, json};

use super::{flags, open, open_on, put, scan, status, table};
use crate::backend::Backend;
use crate::flags::Sync;
use crate::log::Log;
use crate::server::{Options, serve};

#[test]
fn operations_take_as_long_as_those_of_the_engine() {
    let database = open(&SimDisk::new()).unwrap();
    for (method, target, operation, is_long) in [
        ("POST", "/", Some("DeleteTable"), true),
        ("POST", "/", Some("UpdateTable"), true),
        ("POST", "/", Some("UpdateTimeToLive"), true),
        ("POST", "/", Some("GetItem"), false),
        ("POST", "/", Some("PutItem"), false),
        ("POST", "/_dynatwin/reset", None, true),
        ("GET", "/_dynatwin/snapshot", None, true),
        ("GET", "/", None, false),
    ] {
        let header = |name: &str| ("x-amz-target".to_owned(), format!("DynamoDB_20120810.{name}"));
        let headers: Vec<_> = operation.map(header).into_iter().collect();
        let request = HttpRequest {
            method,
            target,
            headers: &headers,
            body: b"",
        };
        assert_eq!(
            database.may_take_long(&request),
            is_long,
            "{method} {target} {operation:?}"
        );
    }
}

/// Like other writes, they are not acknowledged unless they are stored.
#[test]
fn a_long_operation_that_is_not_stored_is_answered_with_500() {
    let streams = json!({"TableName": "Tab", "StreamSpecification": {"StreamEnabled": false}});
    let expiry =
        json!({"TableName": "Tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expiresAt"}});
    let deletion = json!({"TableName": "Tab"});
    for (operation, body) in [
        ("UpdateTable", streams),
        ("UpdateTimeToLive", expiry),
        ("DeleteTable", deletion),
    ] {
        // The write of the log fails, or its sync, or neither.
        for (sync, failing, expected) in [
            (Sync::Second, Some(1), "500"),
            (Sync::Always, Some(1), "500"),
            (Sync::Always, Some(2), "500"),
            (Sync::Second, None, "200"),
            (Sync::Always, None, "200"),
        ] {
            for is_direct in [true, false] {
                let context = format!("{operation}, {sync:?}, operation {failing:?}, direct {is_direct}");
                let disk = SimDisk::new();
                let (mut database, _) = open_on(&flags(), "sim", disk.clone()).unwrap();
                database.sync = sync;
                let database = Arc::new(database);
                let log = Arc::clone(&database.log);
                let syncing = thread::spawn(move || log.store.sync_continuously(Duration::from_hours(1), |_| ()));
                let mut options = Options::port(0);
                (options.log, options.workers) = (Log::Off, 1);
                let server = serve(Arc::clone(&database), options).unwrap();
                let send = |operation: &str, body: &Value| status(server.port(), is_direct, operation, body);
                assert_eq!(send("CreateTable", &table()), "200", "{context}");
                assert_eq!(send("PutItem", &put("a", 1)), "200", "{context}");
                if let Some(failing) = failing {
                    disk.fail_at(disk.operations() + failing, Fault::Error);
                }
                assert_eq!(send(operation, &body), expected, "{context}");
                // An answer with success is that of a stored write, whatever happens next.
                let left = if sync == Sync::Always {
                    disk.after_power_failure(None)
                } else {
                    disk.after_kill()
                };
                let has_table = scan(&open(&left).unwrap(), None).is_some();
                let deletes = operation == "DeleteTable" && expected == "200";
                assert_eq!(has_table, !deletes, "{context}");
                server.stop();
                database.close();
                syncing.join().unwrap();
            }
        }
    }
}
