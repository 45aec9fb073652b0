//! `--db-path`: the next process finds the state that the last one left, however that ended.

use std::fs;
use std::path::PathBuf;

use crate::support::ask;
use crate::support::process::{Process, connect, finished, request};
use serde_json::{Value, json};

/// A directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("dynatwin-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Starts a server on it.
    fn start(&self, words: &str) -> Process {
        Process::start(&format!("--db-path {} {words}", self.path()))
    }

    /// Returns whether a snapshot has replaced the log.
    fn has_snapshot(&self) -> bool {
        fs::read_to_string(self.0.join("MANIFEST"))
            .unwrap()
            .contains("\nsnapshot ")
    }

    fn last_segment(&self) -> PathBuf {
        let files = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|file| file.extension().is_some_and(|extension| extension == "wal"))
            .max()
            .unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns everything that a client can read of the tables of [`furnish`].
fn everything(server: &mut Process) -> Vec<(String, Value)> {
    let table = json!({"TableName": "Orders"});
    let arn = server.ok("DescribeTable", &table)["Table"]["TableArn"].clone();
    let index = |name: &str| json!({"TableName": "Orders", "IndexName": name});
    let mut seen: Vec<(String, Value)> = [
        ("ListTables", json!({})),
        ("DescribeTable", table.clone()),
        ("DescribeTimeToLive", table.clone()),
        ("DescribeContinuousBackups", table.clone()),
        ("ListTagsOfResource", json!({"ResourceArn": arn})),
        ("GetResourcePolicy", json!({"ResourceArn": arn})),
        ("ListBackups", json!({})),
        ("Scan", table.clone()),
        ("Scan", index("by-date")),
        ("Scan", index("by-amount")),
        ("Scan", json!({"TableName": "Restored"})),
    ]
    .into_iter()
    .map(|(operation, body)| (format!("{operation} {body}"), server.ok(operation, &body)))
    .collect();
    seen.push(("stream".into(), server.stream("Orders")));
    for path in ["clock", "conditions", "tables", "tables/Orders/conditions"] {
        seen.push((path.into(), server.control("GET", path, None)));
    }
    seen
}

/// Creates a table with every setting, a backup, and a table restored from it.
fn furnish(server: &mut Process) {
    let key = |name: &str| json!({"AttributeName": name, "KeyType": "HASH"});
    let range = |name: &str| json!({"AttributeName": name, "KeyType": "RANGE"});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let all = json!({"ProjectionType": "ALL"});
    server.ok(
        "CreateTable",
        &json!({
            "TableName": "Orders",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("id", "S"), attribute("part", "N"), attribute("date", "S"), attribute("amount", "N")],
            "KeySchema": [key("id"), range("part")],
            "GlobalSecondaryIndexes": [{"IndexName": "by-date", "KeySchema": [key("date")], "Projection": all}],
            "LocalSecondaryIndexes": [{"IndexName": "by-amount", "KeySchema": [key("id"), range("amount")], "Projection": all}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "Tags": [{"Key": "team", "Value": "blue"}],
        }),
    );
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    server.ok(
        "UpdateContinuousBackups",
        &json!({"TableName": "Orders", "PointInTimeRecoverySpecification": recovery}),
    );
    let expires = json!({"Enabled": true, "AttributeName": "expires"});
    server.ok(
        "UpdateTimeToLive",
        &json!({"TableName": "Orders", "TimeToLiveSpecification": expires}),
    );
    let arn = server.ok("DescribeTable", &json!({"TableName": "Orders"}))["Table"]["TableArn"].clone();
    let statement = json!({
        "Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "dynamodb:GetItem", "Resource": arn,
    });
    let policy = json!({"Version": "2012-10-17", "Statement": [statement]}).to_string();
    server.ok("PutResourcePolicy", &json!({"ResourceArn": arn, "Policy": policy}));
    for number in 0..20 {
        let item = json!({
            "id": {"S": format!("order {}", number % 5)}, "part": {"N": number.to_string()},
            "date": {"S": format!("2026-01-{:02}", number % 3 + 1)}, "amount": {"N": (number * 7 % 11).to_string()},
            "blob": {"B": "AAEC/w=="}, "list": {"L": [{"BOOL": true}, {"NULL": true}, {"SS": ["ä", "b"]}]},
        });
        server.ok("PutItem", &json!({"TableName": "Orders", "Item": item}));
    }
    let orders = |part: u8| json!({"id": {"S": "order 0"}, "part": {"N": part.to_string()}});
    server.ok("DeleteItem", &json!({"TableName": "Orders", "Key": orders(5)}));
    let arn = server.ok("CreateBackup", &json!({"TableName": "Orders", "BackupName": "before"}));
    let arn = &arn["BackupDetails"]["BackupArn"];
    server.ok(
        "RestoreTableFromBackup",
        &json!({"TargetTableName": "Restored", "BackupArn": arn}),
    );
    let off = json!({"timeToLive": "off"});
    server.control("PUT", "tables/Orders/conditions", Some(&off));
    server.control("POST", "clock/advance", Some(&json!({"seconds": 3600})));
    let update = json!({
        "TableName": "Orders", "Key": orders(10), "UpdateExpression": "ADD amount :one SET note = :n",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":n": {"S": "later"}},
    });
    server.ok("UpdateItem", &update);
    let check = json!({"TableName": "Orders", "Key": orders(0), "ConditionExpression": "attribute_exists(id)"});
    server.ok(
        "TransactWriteItems",
        &json!({"TransactItems": [{"ConditionCheck": check}, {"Update": update}]}),
    );
}

#[test]
fn a_restart_restores_everything() {
    let directory = Directory::new("restart");
    for (name, log_size) in [("TERM", "64MB"), ("KILL", "64MB"), ("KILL", "1KB")] {
        let _ = fs::remove_dir_all(&directory.0);
        let mut server = directory.start(&format!("--clock settable --seed 11 --log-size {log_size}"));
        furnish(&mut server);
        let before = everything(&mut server);
        while log_size == "1KB" && !directory.has_snapshot() {
            server.ok("ListTables", &json!({}));
        }
        server.end(name);
        // Without its seed on the command line.
        let mut server = directory.start("--clock settable");
        assert!(server.line.contains("seed 11"), "{}", server.line);
        for ((what, before), (_, after)) in before.iter().zip(everything(&mut server)) {
            assert_eq!(*before, after, "after {name}, {log_size}: {what}");
        }
        // The past is there too.
        let second = json!({"SourceTableName": "Orders", "TargetTableName": "Past", "RestoreDateTime": 1_767_225_700});
        server.ok("RestoreTableToPointInTime", &second);
        assert_eq!(server.ok("Scan", &json!({"TableName": "Past"}))["Count"], 19);
        server.end("TERM");
    }
}

/// A server that cannot listen stores what it has loaded before it ends.
#[test]
fn a_failed_start_keeps_what_was_loaded() {
    let directory = Directory::new("failed-start");
    let file = std::env::temp_dir().join(format!("dynatwin-failed-start-{}.json", std::process::id()));
    let table = json!({"TableName": "Loaded", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "Items": [{"id": "a"}]});
    fs::write(&file, json!({"tables": [table]}).to_string()).unwrap();
    let other = Process::start("");
    let words = format!(
        "--shared-db --port {} --db-path {} --load {}",
        other.port,
        directory.path(),
        file.display()
    );
    let (code, out, err) = finished(&words);
    fs::remove_file(file).unwrap();
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    let mut server = directory.start("--shared-db");
    let scanned = server.ok("Scan", &json!({"TableName": "Loaded"}));
    assert_eq!(scanned["Items"], json!([{"id": {"S": "a"}}]));
}

#[test]
fn a_directory_without_tables_keeps_its_seed_and_clock() {
    let directory = Directory::new("empty");
    for name in ["TERM", "KILL"] {
        let _ = fs::remove_dir_all(&directory.0);
        let mut server = directory.start("--clock settable --seed 11");
        server.control("POST", "clock/advance", Some(&json!({"seconds": 3600})));
        let before = server.control("GET", "clock", None);
        server.end(name);
        let mut server = directory.start("--clock settable");
        assert!(server.line.contains("seed 11"), "after {name}: {}", server.line);
        assert_eq!(server.control("GET", "", None)["seed"], "11", "after {name}");
        assert_eq!(server.control("GET", "clock", None), before, "after {name}");
        server.end("TERM");
    }
}

/// The conditions in force are named, also if they are not those of the flags.
#[test]
fn the_start_line_has_the_conditions_of_the_directory() {
    let directory = Directory::new("conditions");
    let custom = json!({"base": "aws", "throttles": 0.5});
    for (words, expected, set, end) in [
        ("--conditions storm", "storm", None, "TERM"),
        ("", "storm", Some(json!("aws")), "KILL"),
        ("--ttl off", "aws", Some(custom), "TERM"),
        ("", "custom", None, "KILL"),
        ("--conditions calm", "calm", None, "TERM"),
        ("", "calm", None, "KILL"),
    ] {
        let mut server = directory.start(words);
        let part = format!(" (conditions {expected}, seed ");
        assert!(server.line.contains(&part), "{words}: {}", server.line);
        if let Some(conditions) = set {
            server.control("PUT", "conditions", Some(&conditions));
        }
        server.end(end);
    }
}

#[test]
fn the_command_line_of_the_guides_stores_its_tables() {
    let directory = Directory::new("guide");
    let words = format!("-jar DynamoDBLocal.jar -sharedDb -dbPath {}", directory.path());
    let mut server = Process::start(&words);
    assert!(
        server.line.ends_with(&format!(
            "Data is stored in {}, synced every second.\n",
            directory.path()
        )),
        "{}",
        server.line
    );
    furnish(&mut server);
    server.end("TERM");
    let mut server = Process::start(&words);
    assert_eq!(
        server.ok("ListTables", &json!({}))["TableNames"],
        json!(["Orders", "Restored"])
    );
    // The clock continues from where it had been advanced to.
    let offset = server.control("GET", "clock", None);
    server.end("KILL");
    let mut server = Process::start(&words);
    assert_eq!(server.ok("Scan", &json!({"TableName": "Orders"}))["Count"], 19);
    assert!(server.control("GET", "clock", None)["now"].as_str() > offset["now"].as_str());
}

#[test]
fn a_restored_snapshot_survives_a_kill() {
    let directory = Directory::new("restored");
    let mut server = directory.start("--clock settable");
    furnish(&mut server);
    let before = everything(&mut server);
    let snapshot = server.bytes("GET", "snapshot", &[]);
    server.ok("DeleteTable", &json!({"TableName": "Restored"}));
    server.ok(
        "PutItem",
        &json!({"TableName": "Orders", "Item": {"id": {"S": "new"}, "part": {"N": "1"}}}),
    );
    server.control("POST", "clock/advance", Some(&json!({"seconds": 60})));
    server.bytes("PUT", "snapshot", &snapshot);
    assert_eq!(everything(&mut server), before);
    server.end("KILL");
    let mut server = directory.start("--clock settable");
    assert_eq!(everything(&mut server), before);
}

#[test]
fn a_directory_belongs_to_one_process() {
    let directory = Directory::new("one");
    let first = directory.start("");
    let (code, out, err) = finished(&format!("--port 0 --db-path {}", directory.path()));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let expect = format!(
        "dynatwin: {} is in use by another process ({}); stop it, or choose another directory\n",
        directory.path(),
        first.id()
    );
    assert_eq!(err, expect);
}

#[test]
fn a_torn_end_is_reported_and_damage_stops_the_start() {
    let directory = Directory::new("damage");
    let mut server = directory.start("");
    furnish(&mut server);
    server.end("KILL");
    let segment = directory.last_segment();
    let name = segment.file_name().unwrap().to_str().unwrap();
    let whole = fs::read(&segment).unwrap();
    // As if the last write had been interrupted.
    fs::write(&segment, &whole[..whole.len() - 9]).unwrap();
    let mut server = directory.start("");
    assert_eq!(server.ok("Scan", &json!({"TableName": "Orders"}))["Count"], 19);
    let err = server.end("KILL");
    let expect = format!(
        "dynatwin: {}/{name} ended with an incomplete write, as after a crash: removed ",
        directory.path()
    );
    let removed = err.strip_prefix(&expect).unwrap_or_else(|| panic!("{err}"));
    let numbers: Vec<usize> = removed.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [bytes, offset] = numbers[..] else { panic!("{err}") };
    assert!(
        removed.starts_with(&format!("{bytes} bytes from byte {offset} on (")),
        "{err}"
    );
    assert!(bytes > 0 && bytes + offset + 9 == whole.len(), "{err}, {}", whole.len());
    assert_eq!(err.lines().count(), 1, "{err}");
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (code, out, err) = finished(&format!("--port 0 --db-path {}", directory.path()));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with(&format!("dynatwin: {}/{name} is damaged at byte ", directory.path())),
        "{err}"
    );
}

#[test]
fn files_of_dynamodb_local_are_reported() {
    let directory = Directory::new("local");
    fs::create_dir_all(&directory.0).unwrap();
    for name in [
        "shared-local-instance.db",
        "key_us-east-1.db",
        "my_key_us-east-1.db",
        "notes.db",
        "my_notes.db",
        "_us-east-1.db",
        "key_us-east-1.txt",
    ] {
        fs::write(directory.0.join(name), "SQLite format 3").unwrap();
    }
    let mut server = directory.start("");
    server.ok("CreateTable", &crate::support::process::table("Orders"));
    let err = server.end("TERM");
    let path = directory.path();
    let expect = format!(
        "dynatwin: {path} contains files of DynamoDB Local, which are not read: key_us-east-1.db, my_key_us-east-1.db, \
         shared-local-instance.db; \
         `dynatwin import {path}/key_us-east-1.db --to URL` copies their tables to a running server, \
         --load {path}/key_us-east-1.db to this one\n"
    );
    assert_eq!(err, expect);
    let server = directory.start("");
    assert_eq!(server.end("TERM"), "", "not once there are tables");
}

#[test]
fn a_full_disk_fails_writes_alone() {
    for sync in ["second", "always"] {
        let directory = Directory::new(&format!("full-{sync}"));
        let mut server = Process::with_file_limit(256, &format!("--db-path {} --sync {sync}", directory.path()));
        server.ok("CreateTable", &crate::support::process::table("Orders"));
        let put = |number: u32| json!({"TableName": "Orders", "Item": {"id": {"S": number.to_string()}, "pad": {"S": "x".repeat(5000)}}});
        let mut written = 0;
        while server.operation("PutItem", &put(written)).0 == 200 {
            written += 1;
            assert!(written < 1000, "the disk is never full");
        }
        assert!(written > 10);
        let (status, body) = server.operation("PutItem", &put(written));
        assert_eq!(
            (status, &body["__type"]),
            (500, &json!("com.amazonaws.dynamodb.v20120810#InternalServerError"))
        );
        let count = |server: &mut Process| {
            server.ok("Scan", &json!({"TableName": "Orders", "Select": "COUNT"}))["Count"].clone()
        };
        // In a form that the server leaves to hyper.
        let text = String::from_utf8(request("PutItem", &put(written))).unwrap();
        let text = text.replace("host: localhost\r\n", "host: localhost\r\nconnection: close\r\n");
        assert_eq!(ask(&mut connect(server.port), text.as_bytes()).status(), 500);
        assert_eq!(count(&mut server), written);
        server.lift_file_limit();
        server.ok("PutItem", &put(written));
        let err = server.end("KILL");
        assert!(
            err.contains("dynatwin: writes fail: the log cannot be written: "),
            "{err}"
        );
        let printed = ["writes fail", "writes work again"].map(|line| err.matches(line).count());
        assert_eq!(printed, [1, 1], "{sync}: {err}");
        // Each answer is logged as it was delivered.
        assert_eq!(err.matches(" PutItem 500").count(), 3, "{sync}: {err}");
        let mut server = directory.start("");
        assert_eq!(count(&mut server), written + 1);
        assert_eq!(server.end("TERM"), "", "nothing was torn");
    }
}
