//! An engine on a simulated disk: every failure at every operation of a short history.

mod clocks;
mod events;
mod long;
mod restarts;
mod snapshots;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dynatwin_engine::controls::AccountControls;
use dynatwin_engine::http::HttpRequest;
use dynatwin_engine::{Caller, Conditions, TimeToLive};
use dynatwin_store::sim::{Fault, SimDisk};
use serde_json::{Value, json};

use super::{Database, Form, open_on};
use crate::backend::Backend;
use crate::flags::{Flags, Invocation, Sync, parse};
use crate::log::Log;
use crate::server::{Options, serve};

/// The last acknowledged version of each item, 0 if it has none, and the versions of later requests that failed.
type Versions = BTreeMap<&'static str, (u64, Vec<u64>)>;

fn flags() -> Flags {
    let words = ["--clock", "settable", "--seed", "5"].map(str::to_owned);
    match parse(words, |_| None) {
        Ok(Invocation::Run(flags)) => *flags,
        other => panic!("{other:?}"),
    }
}

fn open(disk: &SimDisk) -> Result<Database, String> {
    open_on(&flags(), "sim", disk.clone()).map(|(database, _)| database)
}

fn caller() -> Caller {
    Caller {
        access_key: "me".into(),
        region: "us-east-1".into(),
    }
}

/// Sends a request and stores or syncs its commits. Returns the answer if both succeed.
fn request(database: &Database, synced: bool, operation: &str, body: &Value) -> Option<Value> {
    let answer = database
        .engine
        .dispatch(&caller(), operation, body.to_string().as_bytes());
    let store = &database.log.store;
    let stored = if synced { store.sync() } else { store.flush() };
    let done = answer.status == 200 && stored.is_ok();
    done.then(|| serde_json::from_slice(&answer.body).unwrap())
}

fn table() -> Value {
    json!({
        "TableName": "Tab",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "group", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-group", "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    })
}

fn put(id: &str, version: u64) -> Value {
    let item = json!({
        "id": {"S": id}, "version": {"N": version.to_string()}, "group": {"S": format!("g{}", version % 2)},
        "pad": {"S": "x".repeat(version as usize * 97 % 800)},
    });
    json!({"TableName": "Tab", "Item": item})
}

/// Records the result of a write.
fn wrote(versions: &mut Versions, ids: &[&'static str], version: u64, done: bool) {
    for id in ids {
        let (last, failed) = versions.entry(id).or_default();
        if done {
            (*last, *failed) = (version, Vec::new());
        } else {
            failed.push(version);
        }
    }
}

/// Makes some writes in two processes, with a snapshot in each. Returns no versions if the table could not be created.
fn history(disk: &SimDisk, synced: bool) -> Versions {
    let mut versions = Versions::new();
    for round in [0, 100] {
        let Ok(database) = open(disk) else { continue };
        request(&database, synced, "CreateTable", &table());
        for (step, id) in (1..).zip(["a", "b", "a", "c"]) {
            let done = request(&database, synced, "PutItem", &put(id, round + step)).is_some();
            wrote(&mut versions, &[id], round + step, done);
        }
        let both = ["left", "right"].map(|id| json!({"Put": put(id, round + 10)}));
        let done = request(&database, synced, "TransactWriteItems", &json!({"TransactItems": both})).is_some();
        wrote(&mut versions, &["left", "right"], round + 10, done);
        let _ = database.log.take_snapshot(&database.engine);
        let key = json!({"TableName": "Tab", "Key": {"id": {"S": "b"}}});
        let done = request(&database, synced, "DeleteItem", &key).is_some();
        wrote(&mut versions, &["b"], 0, done);
        let both = ["left", "right"].map(|id| json!({"Put": put(id, round + 20)}));
        let done = request(&database, synced, "TransactWriteItems", &json!({"TransactItems": both})).is_some();
        wrote(&mut versions, &["left", "right"], round + 20, done);
        if round == 0 {
            database.close();
        }
    }
    versions
}

/// Returns all items of the table or an index by id.
fn scan(database: &Database, index: Option<&str>) -> Option<BTreeMap<String, Value>> {
    let mut body = json!({"TableName": "Tab"});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    let page = request(database, false, "Scan", &body)?;
    let items = page["Items"].as_array().unwrap().iter();
    Some(
        items
            .map(|item| (item["id"]["S"].as_str().unwrap().to_owned(), item.clone()))
            .collect(),
    )
}

/// Returns the records of the table's stream.
fn stream_records(database: &Database) -> Vec<Value> {
    let request = |operation: &str, body: &Value| request(database, false, operation, body).unwrap();
    let arn = request("DescribeTable", &json!({"TableName": "Tab"}))["Table"]["LatestStreamArn"].clone();
    let described = request("DescribeStream", &json!({"StreamArn": arn}));
    let shards = described["StreamDescription"]["Shards"].as_array().unwrap().iter();
    let records = shards.flat_map(|shard| {
        let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let from = request("GetShardIterator", &from);
        let page = request("GetRecords", &json!({"ShardIterator": from["ShardIterator"]}));
        page["Records"].as_array().unwrap().clone()
    });
    records.collect()
}

/// Returns the table that its stream yields when replayed.
fn replayed(database: &Database) -> BTreeMap<String, Value> {
    let mut items = BTreeMap::new();
    for record in stream_records(database) {
        let (id, image) = (&record["dynamodb"]["Keys"]["id"]["S"], &record["dynamodb"]["NewImage"]);
        let id = id.as_str().unwrap().to_owned();
        match image {
            Value::Null => items.remove(&id),
            image => items.insert(id, image.clone()),
        };
    }
    items
}

/// Checks that every acknowledged write exists, no other exists in part, and indexes and stream agree with the table.
fn check(disk: &SimDisk, versions: &Versions, context: &str) {
    let database = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let Some(items) = scan(&database, None) else {
        assert!(
            versions.values().all(|(last, _)| *last == 0),
            "{context}: the table is not there"
        );
        return;
    };
    let version = |id: &str| {
        items
            .get(id)
            .map_or(0, |item| item["version"]["N"].as_str().unwrap().parse().unwrap())
    };
    for (id, (last, failed)) in versions {
        let there = version(id);
        assert!(
            there == *last || failed.contains(&there),
            "{context}: {id} is {there}, not {last} or {failed:?}"
        );
    }
    assert_eq!(version("left"), version("right"), "{context}: half a transaction");
    assert_eq!(
        scan(&database, Some("by-group")).as_ref(),
        Some(&items),
        "{context}: the index differs"
    );
    assert_eq!(replayed(&database), items, "{context}: the stream differs");
}

#[test]
fn a_failing_disk_loses_no_acknowledged_write() {
    let disk = SimDisk::new();
    let versions = history(&disk, true);
    assert_eq!((versions["a"].0, versions["left"].0), (103, 120));
    check(&disk.after_power_failure(None), &versions, "without a fault");
    let disks = [SimDisk::new, SimDisk::without_reservation];
    for (at, new) in (1..=disk.operations()).flat_map(|at| disks.map(|new| (at, new))) {
        for fault in [Fault::Error, Fault::Full, Fault::Torn, Fault::Kill] {
            let context = format!("{fault:?} at {at}");
            let disk = new();
            disk.fail_at(at, fault);
            let versions = history(&disk, false);
            check(&disk.after_kill(), &versions, &context);
            let disk = new();
            disk.fail_at(at, fault);
            let versions = history(&disk, true);
            let seed = (fault != Fault::Kill).then_some(at * 31);
            let left = disk.after_power_failure(seed);
            check(&left, &versions, &format!("{context}, power failure {seed:?}"));
        }
    }
}

/// A database with an item that expires in a minute, and space reserved for more commits if the disk can do that.
fn with_expiring_item(disk: &SimDisk) -> Database {
    let database = open(disk).unwrap();
    add_expiring_item(&database);
    assert!(!database.log.wants_snapshot());
    database
}

/// Creates a table with an item that expires in a minute.
fn add_expiring_item(database: &Database) {
    let request = |operation: &str, body: &Value| request(database, false, operation, body).unwrap();
    request("CreateTable", &table());
    database.engine.advance(Duration::from_mins(10));
    let expires = json!({"Enabled": true, "AttributeName": "expires"});
    request(
        "UpdateTimeToLive",
        &json!({"TableName": "Tab", "TimeToLiveSpecification": expires}),
    );
    let expires = (database.engine.clock().now().seconds() + 60).to_string();
    let item = json!({"id": {"S": "a"}, "expires": {"N": expires}});
    request("PutItem", &json!({"TableName": "Tab", "Item": item}));
}

/// The number of items of the table, under all conditions.
fn count(database: &Database) -> usize {
    database.engine.run_due();
    database.engine.items(&caller(), "Tab").unwrap().len()
}

#[test]
fn due_work_on_a_failing_disk_is_stored_by_a_snapshot() {
    // The commit is refused; or it is accepted, and the write of the buffered records fails.
    for disk in [SimDisk::without_reservation(), SimDisk::new()] {
        let database = with_expiring_item(&disk);
        disk.fail_at(disk.operations() + 1, Fault::Error);
        database.engine.advance(std::time::Duration::from_hours(72));
        let _ = database.log.store.flush();
        assert!(database.log.wants_snapshot());
        // A snapshot that cannot be written leaves the next one due.
        disk.fail_at(disk.operations() + 1, Fault::Error);
        assert!(database.log.take_snapshot(&database.engine).is_err());
        assert!(database.log.wants_snapshot());
        database.log.take_snapshot(&database.engine).unwrap();
        assert!(!database.log.wants_snapshot());
        assert_eq!(scan(&database, None).unwrap().len(), 0);
        drop(database);
        let database = open(&disk.after_kill()).unwrap();
        assert_eq!(scan(&database, None).unwrap().len(), 0);
    }
}

/// A write that reads have shown, and whose commit a failed write of buffered records has lost, is stored by closing.
#[test]
fn a_commit_that_could_not_be_written_is_stored_by_closing() {
    let disk = SimDisk::new();
    let database = open(&disk).unwrap();
    request(&database, false, "CreateTable", &table()).unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Error);
    assert_eq!(request(&database, false, "PutItem", &put("a", 1)), None);
    assert_eq!(count(&database), 1);
    database.close();
    drop(database);
    assert_eq!(count(&open(&disk.after_kill()).unwrap()), 1);
}

/// The items of the table, and the records of its stream.
fn state(database: &Database) -> (Option<BTreeMap<String, Value>>, Vec<Value>) {
    (scan(database, None), stream_records(database))
}

/// Due work that the log refused is stored when the database is closed.
#[test]
fn due_work_that_the_log_refused_is_stored_by_closing() {
    let disk = SimDisk::without_reservation();
    let database = with_expiring_item(&disk);
    disk.fail_at(disk.operations() + 1, Fault::Error);
    database.engine.advance(Duration::from_hours(72));
    let before = state(&database);
    database.close();
    drop(database);
    let database = open(&disk.after_kill()).unwrap();
    assert_eq!(state(&database), before);
    assert!(!database.log.wants_snapshot());
}

/// A write may depend on due work that the log refused: it is refused until a snapshot contains that work.
#[test]
fn writes_wait_for_a_snapshot_of_refused_due_work() {
    let disk = SimDisk::without_reservation();
    let database = with_expiring_item(&disk);
    let unless_there = || {
        let mut put = put("a", 1);
        put["ConditionExpression"] = "attribute_not_exists(id)".into();
        put
    };
    disk.fail_at(disk.operations() + 1, Fault::Error);
    database.engine.advance(Duration::from_hours(72));
    let before = state(&database);
    assert_eq!(request(&database, false, "PutItem", &unless_there()), None);
    assert!(database.engine.set_conditions(Conditions::AWS).is_err());
    // A snapshot that is not finished does not count.
    disk.fail_at(disk.operations() + 3, Fault::Error);
    assert!(database.log.take_snapshot(&database.engine).is_err());
    assert_eq!(request(&database, false, "PutItem", &unless_there()), None);
    assert_eq!(state(&database), before);

    database.log.take_snapshot(&database.engine).unwrap();
    request(&database, false, "PutItem", &unless_there()).unwrap();
    let after = state(&database);
    assert_eq!(after.1[..before.1.len()], before.1);
    assert_eq!(after.1.last().unwrap()["eventName"], "INSERT");
    drop(database);
    assert_eq!(state(&open(&disk.after_kill()).unwrap()), after);
}

/// Wherever the writing of a snapshot fails, refused due work remains to be stored.
#[test]
fn refused_due_work_is_stored_after_any_failure_of_a_snapshot() {
    for failing in 1.. {
        let disk = SimDisk::without_reservation();
        let database = with_expiring_item(&disk);
        disk.fail_at(disk.operations() + 1, Fault::Error);
        database.engine.advance(Duration::from_hours(72));
        let before = state(&database);
        assert!(database.log.lacks_changes());
        disk.fail_at(disk.operations() + failing, Fault::Error);
        let is_written = database.log.take_snapshot(&database.engine).is_ok();
        assert_eq!(database.log.lacks_changes(), !is_written, "operation {failing}");
        let put = request(&database, false, "PutItem", &put("b", 1));
        assert_eq!(put.is_some(), is_written, "operation {failing}");
        if is_written {
            assert!(failing > 5, "the last operation that fails is {}", failing - 1);
            break;
        }
        assert_eq!(state(&database), before, "operation {failing}");
        database.log.take_snapshot(&database.engine).unwrap();
        drop(database);
        assert_eq!(state(&open(&disk.after_kill()).unwrap()), before, "operation {failing}");
    }
}

/// A control that is refused changes nothing, and one that succeeds changes all tables, whichever commit the disk refuses.
#[test]
fn conditions_are_set_in_all_tables_or_in_none() {
    // Deletions take time under `aws` alone.
    let conditions = |database: &Database| {
        let table = json!({"TableName": "Tab"});
        request(database, false, "DeleteTable", &table).unwrap();
        let is_deleting = request(database, false, "DescribeTable", &table).is_some();
        (database.engine.conditions(), is_deleting)
    };
    for fails in [1, 2] {
        let disk = SimDisk::without_reservation();
        let database = open(&disk).unwrap();
        request(&database, false, "CreateTable", &table()).unwrap();
        disk.fail_at(disk.operations() + fails, Fault::Error);
        let expect = match database.engine.set_conditions(Conditions::AWS) {
            Ok(()) => (Conditions::AWS, true),
            Err(_) => (Conditions::CALM, false),
        };
        assert_eq!(expect.1, fails == 2);
        let restarted = open(&disk.after_kill()).unwrap();
        assert_eq!(conditions(&restarted), expect, "{fails}, restarted");
        // Until a snapshot is written, a table cannot be deleted if the disk refused its conditions.
        assert_eq!(database.log.wants_snapshot(), fails == 2);
        database.log.take_snapshot(&database.engine).unwrap();
        assert_eq!(conditions(&database), expect, "{fails}");
    }
}

fn open_with(disk: &SimDisk, words: &[&str]) -> Database {
    let words = ["--clock", "settable", "--seed", "5"].iter().chain(words);
    match parse(words.map(|word| (*word).to_owned()), |_| None) {
        Ok(Invocation::Run(flags)) => open_on(&flags, "sim", disk.clone()).unwrap().0,
        other => panic!("{other:?}"),
    }
}

/// What a restart finds: the end of the process before, and what it has stored.
const ENDS: [fn(&Database, &SimDisk) -> SimDisk; 4] = [
    |_, disk| disk.after_kill(),
    |database, disk| {
        database.close();
        disk.after_kill()
    },
    |database, disk| {
        database.log.take_snapshot(&database.engine).unwrap();
        disk.after_kill()
    },
    |database, disk| {
        database.log.take_snapshot(&database.engine).unwrap();
        database.close();
        disk.after_kill()
    },
];

/// Conditions survive a restart, and flags that are given replace them, also in existing tables.
#[test]
fn flags_replace_the_conditions_of_a_directory_if_they_are_given() {
    let off = Conditions {
        time_to_live: TimeToLive::Off,
        ..Conditions::CALM
    };
    let http = Conditions {
        throttles: 0.25,
        ..Conditions::CALM
    };
    let aws = &["--conditions", "aws"][..];
    for (at, end) in ENDS.into_iter().enumerate() {
        for (first, set, second, expect) in vec![
            (&[][..], None, &[][..], Conditions::CALM),
            (&[], None, aws, Conditions::AWS),
            (&[], None, &["--ttl", "off"], off),
            (&[], Some(http), &[], http),
            (&[], Some(http), aws, Conditions::AWS),
            (&[], Some(http), &["--conditions", "calm"], Conditions::CALM),
            (aws, None, &[], Conditions::AWS),
            (aws, None, &["--conditions", "storm"], Conditions::STORM),
            (aws, Some(http), &[], http),
            (aws, Some(http), aws, Conditions::AWS),
            (&["--ttl", "off"], None, &[], off),
            (&["--ttl", "off"], None, &["--ttl", "on"], Conditions::CALM),
        ] {
            let context = format!("end {at}: {first:?}, {set:?}, {second:?}");
            let disk = SimDisk::new();
            let database = open_with(&disk, first);
            add_expiring_item(&database);
            if let Some(conditions) = set {
                database.engine.set_conditions(conditions).unwrap();
            }
            database.log.store.flush().unwrap();
            let disk = end(&database, &disk);
            drop(database);
            let database = open_with(&disk, second);
            assert_eq!(database.engine.conditions(), expect, "{context}");
            // Existing tables have them too.
            database.engine.advance(Duration::from_mins(1));
            let kept = expect.time_to_live != Conditions::CALM.time_to_live;
            assert_eq!(count(&database), usize::from(kept), "{context}");
            // Without flags all stays.
            database.log.store.flush().unwrap();
            let disk = end(&database, &disk);
            drop(database);
            assert_eq!(
                open_with(&disk, &[]).engine.conditions(),
                expect,
                "{context}, and again"
            );
        }
    }
}

/// Flags replace the conditions before the work that has become due since the last process is done.
#[test]
fn flags_hold_for_work_that_became_due_between_two_processes() {
    for (words, kept) in [(&[][..], 0), (&["--ttl", "off"], 1), (&["--ttl", "on"], 0)] {
        for (at, end) in ENDS.into_iter().enumerate() {
            let disk = SimDisk::new();
            let database = open_with(&disk, &[]);
            add_expiring_item(&database);
            let disk = end(&database, &disk);
            drop(database);
            let words = [&["--clock", "2026-06-01T00:00:00Z"], words].concat();
            let database = open_with(&disk, &words);
            assert_eq!(count(&database), kept, "end {at}: {words:?}");
        }
    }
}

/// A process that ends while it loads leaves its conditions, those of the tables that it has loaded, and their items.
#[test]
fn an_interrupted_load_leaves_the_conditions() {
    for snapshot in [false, true] {
        let disk = SimDisk::new();
        let database = open_with(&disk, &["--conditions", "aws"]);
        add_expiring_item(&database);
        let account = AccountControls::new(&*database.engine, caller());
        let new = json!({"TableName": "New", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
        let loading = account.while_loading(&["Tab".to_owned(), "New".to_owned()], || {
            request(&database, false, "CreateTable", &new).unwrap();
            request(&database, false, "PutItem", &put("b", 1)).unwrap();
            if snapshot {
                database.log.take_snapshot(&database.engine).unwrap();
            }
            database.log.store.flush().unwrap();
            disk.after_kill()
        });
        let database = open_with(&loading, &[]);
        assert_eq!(database.engine.conditions(), Conditions::AWS);
        database.engine.advance(Duration::from_mins(1));
        assert_eq!(count(&database), 2, "snapshot: {snapshot}");
        // Deletions take time again.
        for name in ["Tab", "New"] {
            request(&database, false, "DeleteTable", &json!({"TableName": name})).unwrap();
            let described = request(&database, false, "DescribeTable", &json!({"TableName": name}));
            let status = described.unwrap()["Table"]["TableStatus"].clone();
            assert_eq!(status, "DELETING", "{name}, snapshot: {snapshot}");
        }
    }
}

/// The seed is that of the directory, unless the flags have one.
#[test]
fn the_seed_of_a_directory_is_kept_unless_another_is_given() {
    let with = |seed: Option<&str>, disk: &SimDisk| {
        let words = seed.into_iter().flat_map(|seed| ["--seed", seed]).map(str::to_owned);
        match parse(words, |_| None) {
            Ok(Invocation::Run(flags)) => open_on(&flags, "sim", disk.after_kill()).unwrap().0,
            other => panic!("{seed:?}: {other:?}"),
        }
    };
    for closes in [true, false] {
        let disk = SimDisk::new();
        let database = open(&disk).unwrap();
        if closes {
            database.close();
        }
        assert_eq!(
            with(None, &disk).engine.seed(),
            database.engine.seed(),
            "closed {closes}"
        );
        assert_eq!(with(Some("7"), &disk).engine.seed(), 7, "closed {closes}");
    }
}

/// A seed that a flag has replaced is stored, whatever the directory contains and however the process ends.
#[test]
fn the_seed_of_a_flag_is_stored() {
    let open = |disk: &SimDisk, seed: Option<&str>| {
        let words = seed.into_iter().flat_map(|seed| ["--seed", seed]).map(str::to_owned);
        match parse(words, |_| None) {
            Ok(Invocation::Run(flags)) => open_on(&flags, "sim", disk.clone()).unwrap().0,
            other => panic!("{seed:?}: {other:?}"),
        }
    };
    for (at, end) in ENDS.into_iter().enumerate() {
        for (has_items, writes) in [(false, false), (false, true), (true, false), (true, true)] {
            let context = format!("end {at}, items before {has_items}, writes {writes}");
            let mut disk = SimDisk::new();
            let mut items = 0;
            for (seed, expect) in [
                (Some("1"), 1),
                (Some("9"), 9),
                (None, 9),
                (Some("9"), 9),
                (Some("4"), 4),
                (None, 4),
            ] {
                let database = open(&disk, seed);
                assert_eq!(database.engine.seed(), expect, "{context}, flag {seed:?}");
                let is_first = items == 0;
                if is_first && (has_items || expect == 9 && writes) {
                    request(&database, false, "CreateTable", &table()).unwrap();
                }
                if is_first && has_items || writes && expect != 1 {
                    items += 1;
                    request(
                        &database,
                        false,
                        "PutItem",
                        &put(["a", "b", "c", "d", "e", "f"][items - 1], 1),
                    )
                    .unwrap();
                }
                database.log.store.flush().unwrap();
                disk = end(&database, &disk);
            }
            let database = open(&disk, None);
            let found = scan(&database, None).map_or(0, |items| items.len());
            assert_eq!((database.engine.seed(), found), (4, items), "{context}");
        }
    }
}

/// Sends a request, which succeeds, and returns whether its answer may be delivered once its commits are stored.
fn is_delivered(database: &Database, runtime: &tokio::runtime::Runtime, operation: &str, body: &Value) -> bool {
    let target = format!("DynamoDB_20120810.{operation}");
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", target.as_str()),
        (
            "authorization",
            "AWS4-HMAC-SHA256 Credential=me/20260101/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature=00",
        ),
        ("x-amz-date", "20260101T000000Z"),
    ];
    let body = body.to_string();
    let (answer, durability) = database.handle_durably(&HttpRequest {
        method: "POST",
        target: "/",
        headers: &headers,
        body: body.as_bytes(),
    });
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    durability.is_none_or(|durability| runtime.block_on(durability.settled()))
}

/// The deletion of an expired item that a read finds is a consequence of the clock: if it cannot be stored, the answer is
/// delivered nevertheless.
#[test]
fn the_answer_to_a_read_that_deletes_an_expired_item_is_delivered() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let table = json!({"TableName": "Tab"});
    let key = json!({"TableName": "Tab", "Key": {"id": {"S": "a"}}});
    for (clock, operation, body) in [
        ("settable", "DescribeTable", &table),
        ("2026-02-03T00:00:00Z", "DescribeTable", &table),
        ("2026-02-03T00:00:00Z", "Scan", &table),
        ("2026-02-03T00:00:00Z", "GetItem", &key),
    ] {
        for sync in ["second", "always"] {
            // The commit is refused; or it is accepted, and the write of the buffered records fails.
            for disk in [SimDisk::without_reservation(), SimDisk::new()] {
                let context = format!("{clock}, {operation}, {sync}");
                let words = ["--clock", clock, "--db-path", "sim", "--sync", sync];
                let database = open_with(&disk, &words);
                add_expiring_item(&database);
                database.clock().advance(Duration::from_hours(72));
                database.log.follow(database.clock());
                database.log.store.sync().unwrap();
                let log = Arc::clone(&database.log);
                let syncing = thread::spawn(move || log.store.sync_continuously(Duration::from_hours(1), |_| ()));
                assert!(!database.log.wants_snapshot(), "{context}");
                disk.fail_at(disk.operations() + 1, Fault::Error);
                assert!(is_delivered(&database, &runtime, operation, body), "{context}");
                // The deletion was not stored.
                assert!(database.log.wants_snapshot(), "{context}");
                database.close();
                syncing.join().unwrap();
            }
        }
    }
}

/// Whether the answers to a write and to a read may be delivered if the disk fails while their commits are stored.
#[test]
fn the_answer_to_a_write_that_could_not_be_stored_is_not_delivered() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (sync, fails, written, read) in [
        (Sync::Always, true, false, true),
        (Sync::Always, false, true, true),
        (Sync::Second, true, false, true),
        (Sync::Second, false, true, true),
    ] {
        let disk = SimDisk::new();
        let flags = Flags { sync, ..flags() };
        let (database, _) = open_on(&flags, "sim", disk.clone()).unwrap();
        database.start_threads().unwrap();
        request(&database, true, "CreateTable", &table()).unwrap();
        let delivered = |operation: &str, body: &Value| is_delivered(&database, &runtime, operation, body);
        if fails {
            disk.fail_at(disk.operations() + 1, Fault::Error);
        }
        assert_eq!(delivered("PutItem", &put("a", 1)), written, "{sync:?}");
        if fails {
            disk.fail_at(disk.operations() + 1, Fault::Error);
        }
        let get = json!({"TableName": "Tab", "Key": {"id": {"S": "a"}}});
        assert_eq!(delivered("GetItem", &get), read, "{sync:?}");
        database.close();
    }
}

#[test]
fn a_write_whose_commit_is_lost_fails_until_a_snapshot_is_written() {
    let disk = SimDisk::new();
    let database = with_expiring_item(&disk);
    disk.fail_at(disk.operations() + 1, Fault::Error);
    assert_eq!(request(&database, false, "PutItem", &put("b", 1)), None);
    assert_eq!(request(&database, false, "PutItem", &put("c", 1)), None);
    database.log.take_snapshot(&database.engine).unwrap();
    request(&database, false, "PutItem", &put("d", 1)).unwrap();
    drop(database);
    let database = open(&disk.after_kill()).unwrap();
    let items = scan(&database, None).unwrap();
    // The answer to the first was an InternalServerError, after which a write may or may not have been done.
    assert_eq!(items.keys().collect::<Vec<_>>(), ["a", "b", "d"]);
}

/// Commits between the division of the log and the state of the snapshot are in both, and are restored once.
#[test]
fn a_commit_in_both_the_snapshot_and_the_log_is_restored_once() {
    let named = |name: &str| {
        let mut table = table();
        table["TableName"] = name.into();
        table
    };
    let key = json!({"TableName": "Tab", "Key": {"id": {"S": "a"}}});
    for between in [
        vec![],
        vec![("PutItem", put("b", 1))],
        vec![("PutItem", put("b", 1)), ("PutItem", put("b", 2))],
        vec![("DeleteItem", key)],
        vec![("CreateTable", named("New"))],
        vec![("DeleteTable", json!({"TableName": "Old"}))],
    ] {
        let disk = SimDisk::new();
        let database = open(&disk).unwrap();
        request(&database, false, "CreateTable", &table()).unwrap();
        request(&database, false, "CreateTable", &named("Old")).unwrap();
        request(&database, false, "PutItem", &put("a", 1)).unwrap();
        let mut writer = database.log.store.begin_snapshot().unwrap().unwrap();
        writer.start().unwrap();
        for (operation, body) in &between {
            request(&database, false, operation, body).unwrap();
        }
        database.log.write_state(&database.engine, writer).unwrap();
        request(&database, false, "PutItem", &put("c", 1)).unwrap();
        let state = |database: &Database| {
            let tables = request(database, false, "ListTables", &json!({}));
            (tables, scan(database, None), stream_records(database))
        };
        let before = state(&database);
        drop(database);
        let database = open(&disk.after_kill()).unwrap_or_else(|error| panic!("{between:?}: {error}"));
        assert_eq!(state(&database), before, "{between:?}");
    }
}

/// A clock of another kind than the last process had starts at the last moment, and is neither frozen nor adjusted.
#[test]
fn a_clock_of_another_kind_starts_at_the_last_moment() {
    let kinds = [
        &["--clock", "settable"][..],
        &["--clock", "2026-02-03T00:00:00Z"],
        &["--clock", "2090-01-01T00:00:00Z", "--speed", "2"],
        &[],
    ];
    let open = |words: &[&str], disk: SimDisk| match parse(words.iter().map(ToString::to_string), |_| None) {
        Ok(Invocation::Run(flags)) => (open_on(&flags, "sim", disk).unwrap().0, Form::of(&flags)),
        other => panic!("{words:?}: {other:?}"),
    };
    for (first, second) in kinds.iter().flat_map(|first| kinds.map(|second| (*first, second))) {
        let context = format!("{first:?}, then {second:?}");
        let disk = SimDisk::new();
        let (database, before) = open(first, disk.clone());
        database.clock().advance(Duration::from_hours(24));
        database.clock().freeze();
        let moment = database.clock().now();
        database.close();
        drop(database);
        let (database, form) = open(second, disk.after_kill());
        if form == before {
            continue;
        }
        let (clock, now) = (database.clock(), database.clock().now());
        let earliest = moment.max(open(second, SimDisk::new()).0.clock().now());
        let latest = if clock.is_settable() {
            earliest
        } else {
            earliest.plus(Duration::from_mins(5))
        };
        assert!(!clock.is_frozen(), "{context}");
        assert!(
            now >= moment && now <= latest,
            "{context}: {now}, not {moment} to {latest}"
        );
    }
}

/// A clock that a control has adjusted continues so in the next process, however the last one ended.
#[test]
fn an_adjusted_clock_continues() {
    for words in [
        &["--clock", "settable"][..],
        &["--clock", "2026-02-03T00:00:00Z"],
        &["--speed", "2"],
        &[],
    ] {
        for (freezes, closes) in [(true, true), (true, false), (false, true), (false, false)] {
            let context = format!("{words:?}, frozen {freezes}, closed {closes}");
            let Ok(Invocation::Run(flags)) = parse(words.iter().map(ToString::to_string), |_| None) else {
                panic!("{context}");
            };
            let disk = SimDisk::new();
            let (database, _) = open_on(&flags, "sim", disk.clone()).unwrap();
            let control = |target: &str, body: &str| {
                let answer = database.handle(&HttpRequest {
                    method: "POST",
                    target,
                    headers: &[("host", "localhost"), ("content-type", "application/json")],
                    body: body.as_bytes(),
                });
                assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            };
            let earliest = database.clock().now().plus(Duration::from_hours(24));
            control("/_dynatwin/clock/advance", r#"{"seconds": 86400}"#);
            if freezes {
                control("/_dynatwin/clock/freeze", "");
            }
            let before = database.clock().now();
            if closes {
                database.close();
            }
            drop(database);
            let (database, _) = open_on(&flags, "sim", disk.after_kill()).unwrap();
            let now = database.clock().now();
            assert_eq!(database.clock().is_frozen(), freezes, "{context}");
            if freezes {
                assert_eq!(now, before, "{context}");
            }
            assert!(now >= earliest, "{context}: {now}, not after {earliest}");
        }
    }
}

/// A clock continues after the last moment that a request or a client can have seen: that of the end of the process, or
/// that of the last commit.
#[test]
fn a_fast_clock_does_not_go_back() {
    for start in ["system", "2026-02-03T00:00:00Z"] {
        for closes in [true, false] {
            let words = ["--clock", start, "--speed", "1000000"];
            let Ok(Invocation::Run(flags)) = parse(words.map(str::to_owned), |_| None) else {
                panic!("{words:?}");
            };
            let disk = SimDisk::new();
            let (database, _) = open_on(&flags, "sim", disk.clone()).unwrap();
            let later = database.clock().now().plus(Duration::from_hours(96));
            while database.clock().now() < later {
                std::thread::yield_now();
            }
            if closes {
                database.close();
            } else {
                request(&database, false, "CreateTable", &table()).unwrap();
            }
            drop(database);
            let (database, _) = open_on(&flags, "sim", disk.after_kill()).unwrap();
            let now = database.clock().now();
            assert!(now >= later, "{start}, closed {closes}: {now} before {later}");
        }
    }
}

/// Sends an operation to a server, in the form that SDKs send or in one that hyper reads, and returns the status.
fn status(port: u16, is_direct: bool, operation: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = body.to_string();
    let more = if is_direct { "" } else { "connection: close\r\n" };
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\n{more}content-type: application/x-amz-json-1.0\r\n\
         x-amz-target: DynamoDB_20120810.{operation}\r\nx-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
         Credential=me/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A write is not acknowledged unless it is stored, and reads go on. A snapshot makes writes possible again.
#[test]
fn a_write_that_is_not_stored_is_answered_with_500() {
    // The write of the log fails, or its sync.
    for (sync, failing) in [(Sync::Second, 1), (Sync::Always, 1), (Sync::Always, 2)] {
        for is_direct in [true, false] {
            let disk = SimDisk::new();
            let (mut database, _) = open_on(&flags(), "sim", disk.clone()).unwrap();
            database.sync = sync;
            let database = Arc::new(database);
            let log = Arc::clone(&database.log);
            let syncing = thread::spawn(move || log.store.sync_continuously(Duration::from_hours(1), |_| ()));
            let mut options = Options::port(0);
            (options.log, options.workers) = (Log::Off, 1);
            let server = serve(Arc::clone(&database), options).unwrap();
            let context = format!("{sync:?}, operation {failing}, direct {is_direct}");
            let send = |operation: &str, body: &Value| status(server.port(), is_direct, operation, body);
            assert_eq!(send("CreateTable", &table()), "200", "{context}");
            assert_eq!(send("PutItem", &put("a", 1)), "200", "{context}");
            disk.fail_at(disk.operations() + failing, Fault::Error);
            assert_eq!(send("PutItem", &put("a", 2)), "500", "{context}");
            let key = json!({"TableName": "Tab", "Key": {"id": {"S": "a"}}});
            assert_eq!(send("GetItem", &key), "200", "{context}");
            assert_eq!(send("PutItem", &put("a", 3)), "500", "{context}");
            database.log.take_snapshot(&database.engine).unwrap();
            assert_eq!(send("PutItem", &put("a", 4)), "200", "{context}");
            server.stop();
            database.close();
            syncing.join().unwrap();
            let left = open(&disk.after_power_failure(None)).unwrap();
            assert_eq!(scan(&left, None).unwrap()["a"]["version"]["N"], "4", "{context}");
        }
    }
}

/// A stream of events is counted by the engine whose commits are stored, and finds its events.
#[test]
fn events_of_a_stored_engine_are_streamed() {
    let (database, _) = open_on(&flags(), "sim", SimDisk::new()).unwrap();
    let is_listening = || {
        let answer = database.handle(&HttpRequest {
            method: "GET",
            target: "/_dynatwin/events",
            headers: &[("host", "localhost")],
            body: b"",
        });
        let events: Value = serde_json::from_slice(&answer.body).unwrap();
        events["listening"] == true
    };
    assert!(!is_listening());
    database.begin_event_subscription();
    assert!(is_listening());
    assert!(!database.has_events_after(0, std::task::Waker::noop()));
    request(&database, false, "CreateTable", &table());
    request(&database, false, "PutItem", &put("a", 1));
    assert!(database.has_events_after(0, std::task::Waker::noop()));
    database.end_event_subscription();
    assert!(!is_listening());
}

/// Work that becomes due is done by the timer of the server, without a request, and is stored.
#[test]
fn due_work_of_a_stored_engine_is_done_without_a_request() {
    let database = with_expiring_item(&SimDisk::new());
    database.log.store.sync().unwrap();
    database.begin_event_subscription();
    let has_events = || database.has_events_after(0, std::task::Waker::noop());
    database.clock().advance(Duration::from_secs(59));
    let next = database.run_background_work();
    assert!(!has_events());
    assert_eq!(next.since(database.clock().now()), Duration::from_secs(1));
    database.clock().advance(Duration::from_secs(1));
    assert!(!has_events() && !database.log.store.has_pending());
    database.run_background_work();
    assert!(has_events() && database.log.store.has_pending());
    assert_eq!(database.engine.items(&caller(), "Tab").unwrap().len(), 0);
}
