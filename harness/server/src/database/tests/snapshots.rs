//! When snapshots are taken, and what happens while one is written.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dynatwin_store::sim::{Fault, SimDisk};
use serde_json::{Value, json};

use super::{count, flags, open, put, request, scan, table, with_expiring_item};
use crate::database::{LONGEST_PAUSE, SNAPSHOT_INTERVAL, open_on, take_due_snapshot};
use crate::flags::Flags;

/// Whether a snapshot has replaced the log.
fn has_snapshot(disk: &SimDisk) -> bool {
    let manifest = disk.files().remove("MANIFEST").unwrap();
    String::from_utf8_lossy(&manifest).contains("\nsnapshot ")
}

#[test]
fn a_snapshot_is_taken_once_the_log_is_long_enough() {
    let disk = SimDisk::new();
    let flags = Flags {
        log_size: 100_000,
        ..flags()
    };
    let (database, _) = open_on(&flags, "sim", disk.clone()).unwrap();
    request(&database, false, "CreateTable", &table()).unwrap();
    let check = || take_due_snapshot(&database.engine, &database.log, SNAPSHOT_INTERVAL * 7);
    let before = disk.operations();
    assert_eq!(
        (check(), disk.operations()),
        (SNAPSHOT_INTERVAL * 7, before),
        "a short log"
    );
    let mut version = 0;
    while !database.log.wants_snapshot() {
        version += 1;
        assert!(version < 1000, "the log is never long enough");
        request(&database, false, "PutItem", &put("a", version)).unwrap();
    }
    assert!(version > 50, "{version} items are not 100 KB");
    assert!(!has_snapshot(&disk));
    assert_eq!(check(), SNAPSHOT_INTERVAL);
    assert!(has_snapshot(&disk));
    let before = disk.operations();
    assert_eq!(
        (check(), disk.operations()),
        (SNAPSHOT_INTERVAL * 7, before),
        "the log is new"
    );
}

#[test]
fn failed_snapshots_are_tried_less_and_less_often() {
    let disk = SimDisk::without_reservation();
    let database = with_expiring_item(&disk);
    disk.fail_at(disk.operations() + 1, Fault::Error);
    database.engine.advance(Duration::from_hours(72));
    let mut pause = SNAPSHOT_INTERVAL;
    for expect in [2, 4, 8, 16, 32, 60, 60] {
        disk.fail_at(disk.operations() + 1, Fault::Error);
        pause = take_due_snapshot(&database.engine, &database.log, pause);
        assert_eq!(pause, Duration::from_secs(expect));
    }
    assert_eq!(pause, LONGEST_PAUSE);
    pause = take_due_snapshot(&database.engine, &database.log, pause);
    assert_eq!(pause, Duration::from_secs(1));
    assert!(!database.log.lacks_changes());
}

/// Calls a function once the file of a snapshot is written, before the manifest lists it.
fn once_written(disk: &SimDisk, call: impl FnOnce() + Send + 'static) {
    let again = disk.clone();
    disk.during_next_sync(move || {
        let is_snapshot = |(name, bytes): (&String, &Vec<u8>)| name.ends_with(".snapshot") && !bytes.is_empty();
        if again.files().iter().any(is_snapshot) {
            call();
        } else {
            once_written(&again, call);
        }
    });
}

/// Requests go on while a snapshot is written, and are in the next process.
#[test]
fn writes_during_a_snapshot_succeed() {
    let disk = SimDisk::new();
    let database = Arc::new(open(&disk).unwrap());
    request(&database, false, "CreateTable", &table()).unwrap();
    request(&database, false, "PutItem", &put("a", 1)).unwrap();
    let answers = Arc::new(Mutex::new(Vec::<Option<Value>>::new()));
    let (writing, answered) = (Arc::clone(&database), Arc::clone(&answers));
    once_written(&disk, move || {
        let put = request(&writing, false, "PutItem", &put("b", 2));
        answered.lock().unwrap().push(put);
    });
    database.log.take_snapshot(&database.engine).unwrap();
    assert_eq!(*answers.lock().unwrap(), [Some(json!({}))]);
    assert!(has_snapshot(&disk));
    let restarted = open(&disk.after_kill()).unwrap();
    assert_eq!(scan(&restarted, None), scan(&database, None));
    assert_eq!(scan(&restarted, None).unwrap().len(), 2);
}

/// Due work that the log refuses while a snapshot is written is not in that snapshot, and remains to be stored.
#[test]
fn due_work_refused_during_a_snapshot_is_stored_by_the_next() {
    let disk = SimDisk::without_reservation();
    let database = Arc::new(with_expiring_item(&disk));
    let (failing, expiring) = (disk.clone(), Arc::clone(&database));
    once_written(&disk, move || {
        failing.fail_at(failing.operations() + 1, Fault::Error);
        expiring.engine.advance(Duration::from_hours(72));
    });
    database.log.take_snapshot(&database.engine).unwrap();
    assert_eq!(count(&database), 0);
    assert!(database.log.lacks_changes());
    assert_eq!(request(&database, false, "PutItem", &put("b", 1)), None);
    database.log.take_snapshot(&database.engine).unwrap();
    assert!(!database.log.lacks_changes());
    request(&database, false, "PutItem", &put("b", 1)).unwrap();
    let restarted = open(&disk.after_kill()).unwrap();
    assert_eq!(scan(&restarted, None), scan(&database, None));
}

/// The end of a process whose commits are all stored leaves the log, which the next process reads.
#[test]
fn closing_takes_no_snapshot_of_what_is_stored() {
    let disk = SimDisk::new();
    let database = open(&disk).unwrap();
    request(&database, false, "CreateTable", &table()).unwrap();
    request(&database, false, "PutItem", &put("a", 1)).unwrap();
    database.close();
    assert!(!has_snapshot(&disk));
    assert_eq!(request(&database, false, "PutItem", &put("a", 2)), None, "it is closed");
    drop(database);
    let restarted = open(&disk.after_kill()).unwrap();
    assert_eq!(scan(&restarted, None).unwrap()["a"]["version"]["N"], "1");
}

/// What the log refused, or a failed write of buffered records has lost, is stored at the end of the process.
#[test]
fn closing_takes_a_snapshot_of_what_the_log_lacks() {
    for disk in [SimDisk::without_reservation(), SimDisk::new()] {
        let database = with_expiring_item(&disk);
        disk.fail_at(disk.operations() + 1, Fault::Error);
        database.engine.advance(Duration::from_hours(72));
        database.close();
        assert!(has_snapshot(&disk));
        let restarted = open(&disk.after_kill()).unwrap();
        assert_eq!(count(&restarted), 0);
    }
}

/// Opening commits nothing by itself, unless the flags change the conditions.
#[test]
fn opening_a_directory_again_adds_no_commits() {
    let mut disk = SimDisk::new();
    let (database, last) = open_on(&flags(), "sim", disk.clone()).unwrap();
    assert_eq!(last, 0);
    request(&database, false, "CreateTable", &table()).unwrap();
    database.close();
    drop(database);
    let mut found = Vec::new();
    for _ in 0..3 {
        disk = disk.after_kill();
        let (database, last) = open_on(&flags(), "sim", disk.clone()).unwrap();
        found.push(last);
        database.close();
    }
    assert!(found[0] > 0);
    assert_eq!(found, [found[0]; 3]);
}

/// A snapshot without tables still says which commits of the log it contains.
#[test]
fn the_deletion_of_the_last_table_is_in_the_snapshot_or_in_the_log() {
    let disk = SimDisk::new();
    let database = open(&disk).unwrap();
    request(&database, false, "CreateTable", &table()).unwrap();
    let mut writer = database.log.store.begin_snapshot().unwrap().unwrap();
    writer.start().unwrap();
    request(&database, false, "DeleteTable", &json!({"TableName": "Tab"})).unwrap();
    database.log.write_state(&database.engine, writer).unwrap();
    let before = database.engine.checkpoint().sequence();
    drop(database);
    let disk = disk.after_kill();
    let (database, last) = open_on(&flags(), "sim", disk.clone()).unwrap();
    assert_eq!(last, before);
    assert_eq!(scan(&database, None), None);
    request(&database, false, "CreateTable", &table()).unwrap();
    request(&database, false, "PutItem", &put("a", 1)).unwrap();
    drop(database);
    let restarted = open(&disk.after_kill()).unwrap();
    assert_eq!(scan(&restarted, None).unwrap().len(), 1);
}
