//! What a power failure, or the end of the process, leaves of a snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{open, record, snapshot};
use crate::sim::{Fault, SimDisk};
use crate::store::Store;

/// The first sixteen megabytes are synced while more records are added, and the rest before the manifest lists the file.
#[test]
fn a_long_snapshot_survives_a_power_failure() {
    const RECORD: usize = 1024 * 1024;
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"replaced").unwrap();
    let records: Vec<_> = (0..17).map(|number| vec![number; RECORD]).collect();
    let mut writer = store.begin_snapshot().unwrap().unwrap();
    writer.start().unwrap();
    let synced = Arc::new(AtomicBool::new(false));
    let during = Arc::clone(&synced);
    disk.during_next_sync(move || during.store(true, Ordering::SeqCst));
    for (number, record) in records.iter().enumerate() {
        assert_eq!(synced.load(Ordering::SeqCst), number == 16, "record {number}");
        writer.push(record).unwrap();
    }
    writer.finish().unwrap();
    let (_, found, report) = open(&disk.after_power_failure(None)).unwrap();
    assert_eq!((report.snapshot_records, report.log_records), (17, 0));
    assert!(found == records);
}

fn snapshots(disk: &SimDisk) -> usize {
    let names = disk.files().into_keys();
    names.filter(|name| name.contains("snapshot")).count()
}

/// A store with some records, also in a snapshot if it `has_snapshot`.
fn written(has_snapshot: bool) -> (SimDisk, Store, Vec<Vec<u8>>) {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let records = vec![record(0, 90), record(1, 700)];
    store.append(&records[0]).unwrap();
    if has_snapshot {
        snapshot(&store, &records[..1]).unwrap();
    }
    store.append(&records[1]).unwrap();
    store.sync().unwrap();
    (disk, store, records)
}

/// A process that ends while it writes a snapshot leaves a file that the manifest does not list. The next start removes it.
#[test]
fn a_snapshot_that_is_not_listed_is_removed_at_the_next_start() {
    let state: Vec<_> = (0..3).map(|number| record(10 + number, 300)).collect();
    for has_snapshot in [false, true] {
        let (disk, store, _) = written(has_snapshot);
        let before = disk.operations();
        snapshot(&store, &state).unwrap();
        let operations = disk.operations() - before;
        let (mut unlisted, mut listed) = (0, 0);
        for (at, fault) in (1..=operations).flat_map(|at| [(at, Fault::Kill), (at, Fault::Torn)]) {
            let context = format!("{fault:?} at {at}, earlier snapshot {has_snapshot}");
            let (disk, store, records) = written(has_snapshot);
            disk.fail_at(disk.operations() + at, fault);
            let _ = snapshot(&store, &state);
            assert!(disk.is_dead(), "{context}");
            for left in [disk.after_kill(), disk.after_power_failure(None)] {
                let kept = snapshots(&left);
                let (_, found, report) = open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
                let is_new = report.snapshot_records == state.len() as u64;
                assert_eq!(&found, if is_new { &state } else { &records }, "{context}");
                let expected = usize::from(is_new || has_snapshot);
                assert_eq!(snapshots(&left), expected, "{context}");
                unlisted += usize::from(!is_new && kept > expected);
                listed += usize::from(is_new);
                let names: Vec<_> = left.files().into_keys().collect();
                assert_eq!(
                    names.len(),
                    1 + expected + left.segments().len(),
                    "{context}: {names:?}"
                );
            }
        }
        assert!(unlisted > 0 && listed > 0, "{unlisted} unlisted, {listed} listed");
    }
}
