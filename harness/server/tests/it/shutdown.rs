//! Each way in which a server ends, with each setting of its storage.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::process::Process;

/// A directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("dynatwin-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(server: &mut Process, table: &str) {
    let table = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
    server.ok("CreateTable", &table);
}

fn put(server: &mut Process, table: &str, version: u64) {
    let item = json!({"id": {"S": "a"}, "v": {"N": version.to_string()}});
    server.ok("PutItem", &json!({"TableName": table, "Item": item}));
}

/// The tables, the item of each, and the clock.
fn state(server: &mut Process) -> Value {
    let tables = server.ok("ListTables", &json!({}))["TableNames"].clone();
    let items = tables.as_array().unwrap().iter();
    let items = items.map(|table| server.ok("Scan", &json!({"TableName": table}))["Items"].clone());
    json!([items.collect::<Vec<_>>(), tables, server.control("GET", "clock", None)])
}

/// Whichever signal ends the server, and whenever writes are synced, the next process has every answered write, and a clock
/// that stands still has its moment, also after a reset.
#[test]
fn every_signal_leaves_the_same_state() {
    for signal in ["TERM", "INT", "KILL"] {
        for sync in ["second", "always"] {
            let directory = Directory::new(&format!("shutdown-{signal}-{sync}"));
            let words = format!("--db-path {} --clock settable --sync {sync}", directory.0.display());
            let mut server = Process::start(&words);
            let start = server.control("GET", "clock", None);
            let restarted = |server: Process, what: &str| {
                let mut server = server;
                let before = state(&mut server);
                let err = server.end(signal);
                assert_eq!(err, "", "SIG{signal}, {sync}: {what}");
                let mut server = Process::start(&words);
                assert_eq!(state(&mut server), before, "SIG{signal}, {sync}: {what}");
                server
            };
            create(&mut server, "One");
            put(&mut server, "One", 1);
            server = restarted(server, "a table and an item");
            server.control("POST", "clock/advance", Some(&json!({"seconds": 864_000})));
            server = restarted(server, "an advanced clock");
            create(&mut server, "Two");
            put(&mut server, "Two", 2);
            put(&mut server, "One", 3);
            server.control("POST", "clock/freeze", None);
            server = restarted(server, "a frozen clock");
            server.ok("DeleteTable", &json!({"TableName": "One"}));
            server.control("POST", "clock/unfreeze", None);
            server = restarted(server, "a deleted table");
            server.control("POST", "reset", None);
            server = restarted(server, "a reset of the tables");
            create(&mut server, "Three");
            server.control("POST", "reset", Some(&json!({"all": true})));
            assert_eq!(server.control("GET", "clock", None), start);
            server = restarted(server, "a reset of everything");
            assert_eq!(server.control("GET", "clock", None), start);
            create(&mut server, "Four");
            put(&mut server, "Four", 4);
            restarted(server, "a table after the reset").end("KILL");
        }
    }
}
