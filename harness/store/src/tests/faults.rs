//! Every failure of a disk at every operation of a short history.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{open, record, snapshot};
use crate::sim::{Fault, SimDisk};
use crate::store::Store;

#[derive(Default)]
struct Model {
    /// Whether records are buffered, and only some of them flushed at once.
    buffers: bool,
    /// Records that were appended, in order.
    appended: Vec<Vec<u8>>,
    /// The number of records reported as written.
    written: usize,
    /// The number of records reported as synced.
    synced: usize,
}

/// Appends, syncs, replaces the log, opens again, and continues after errors. Returns what an application knows in the
/// end.
fn history(disk: &SimDisk, buffers: bool) -> Model {
    let mut model = Model {
        buffers,
        ..Model::default()
    };
    for (round, lengths) in [[5, 700, 33, 1300], [0, 90, 2000, 8]].iter().enumerate() {
        let Ok((store, found, _)) = open(disk) else {
            continue;
        };
        check_found(&found, model.written, &model, &format!("round {round}"));
        (model.written, model.synced) = (found.len(), found.len());
        model.appended = found;
        for (number, length) in lengths.iter().enumerate() {
            append(&store, &mut model, record(round * 100 + number, *length));
            if number % 2 == 1 {
                sync(&store, &mut model);
            }
        }
        replace_log(&store, &mut model, round * 100 + 10);
        for number in 20..23 {
            append(&store, &mut model, record(round * 100 + number, 64));
        }
        // If the first of these syncs fails, the second must not hide that whole sectors are lost.
        append(&store, &mut model, record(round * 100 + 24, 1600));
        sync(&store, &mut model);
        append(&store, &mut model, record(round * 100 + 25, 900));
        sync(&store, &mut model);
        repair(&store, &mut model);
        append(&store, &mut model, record(round * 100 + 30, 600));
        sync(&store, &mut model);
        append(&store, &mut model, record(round * 100 + 31, 20));
        if round == 0 {
            store.close();
            drop(store);
        }
    }
    model
}

fn append(store: &Store, model: &mut Model, record: Vec<u8>) {
    if model.buffers {
        if store.buffer(&record).is_ok() {
            model.appended.push(record);
        }
        if !model.appended.len().is_multiple_of(3) || store.flush().is_err() {
            return;
        }
    } else if store.append(&record).is_ok() {
        model.appended.push(record);
    }
    model.written = model.appended.len();
}

fn sync(store: &Store, model: &mut Model) {
    if store.sync().is_ok() {
        model.synced = model.appended.len();
        model.written = model.synced;
    }
}

/// Checks that the records are a gapless prefix of the appended ones, with at least `least` records.
fn check_found(found: &[Vec<u8>], least: usize, model: &Model, context: &str) {
    assert!(found.len() >= least, "{context}: {} of {least}", found.len());
    assert_eq!(found, &model.appended[..found.len()], "{context}");
}

/// Writes a snapshot while records are appended.
fn replace_log(store: &Store, model: &mut Model, first: usize) {
    let Ok(Some(mut writer)) = store.begin_snapshot() else {
        return;
    };
    append(store, model, record(first, 300));
    if writer.start().is_err() {
        return;
    }
    let state = model.appended.clone();
    for (number, part) in state.iter().enumerate() {
        if writer.push(part).is_err() {
            return;
        }
        if number == 2 {
            append(store, model, record(first + 1, 450));
            sync(store, model);
        }
    }
    append(store, model, record(first + 2, 10));
    if writer.finish().is_ok() {
        model.synced = model.synced.max(state.len());
        model.written = model.written.max(state.len());
    }
}

/// After a failed sync nothing can be appended until a snapshot was written.
fn repair(store: &Store, model: &mut Model) {
    if store.failure().is_some() {
        assert!(store.append(b"x").is_err());
        if snapshot(store, &model.appended).is_ok() {
            assert_eq!(store.failure(), None);
            assert_eq!(store.shared.synced.load(Ordering::SeqCst), store.next_sequence());
            assert!(!store.has_pending());
            model.synced = model.appended.len();
            model.written = model.synced;
        }
    }
}

fn operations(buffers: bool) -> u64 {
    let disk = SimDisk::new();
    let model = history(&disk, buffers);
    assert_eq!(model.appended.len(), 28, "without a fault nothing fails");
    disk.operations()
}

/// The next process finds the acknowledged records, without a gap.
fn found_after_kill(disk: &SimDisk, model: &Model, context: &str) {
    let left = disk.after_kill();
    let (store, found, _) = open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
    check_found(&found, model.written, model, context);
    drop(store);
    // The records found when opening are synced.
    assert_eq!(open(&left.after_power_failure(None)).unwrap().1, found, "{context}");
}

fn found_after_power_failure(disk: &SimDisk, seed: Option<u64>, model: &Model, context: &str) {
    let left = disk.after_power_failure(seed);
    let (store, found, _) = open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(
        found.len() >= model.synced,
        "{context}: {} of {}",
        found.len(),
        model.synced
    );
    assert_eq!(found, model.appended[..found.len()], "{context}");
    // Records found once are found again, also after another power failure.
    drop(store);
    let left = left.after_power_failure(Some(7));
    assert_eq!(open(&left).unwrap().1, found, "{context}");
}

#[test]
fn a_failing_operation_loses_nothing() {
    for (buffers, at) in [false, true]
        .into_iter()
        .flat_map(|buffers| (1..=operations(buffers)).map(move |at| (buffers, at)))
    {
        for fault in [Fault::Error, Fault::Full, Fault::Torn, Fault::Kill] {
            let context = format!("{fault:?} at {at}, buffers {buffers}");
            let disk = SimDisk::new();
            disk.fail_at(at, fault);
            let model = history(&disk, buffers);
            let ends = matches!(fault, Fault::Torn | Fault::Kill);
            assert_eq!(disk.is_dead(), ends, "{context}");
            assert!(ends || model.appended.len() > 10, "{context}: goes on");
            found_after_kill(&disk, &model, &context);
            for seed in [None, Some(at), Some(at * 31), Some(at * 977)] {
                found_after_power_failure(&disk, seed, &model, &format!("{context}, power failure {seed:?}"));
            }
        }
    }
}

#[test]
fn appends_work_again_once_there_is_space() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"before").unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Full);
    assert!(store.append(&record(1, 900)).is_err());
    let mut tries = 0;
    while store.append(b"after").is_err() {
        tries += 1;
        assert!(tries < 9);
    }
    // The torn record is cut off once, and later records can be buffered again.
    store.buffer(b"later").unwrap();
    assert!(store.has_pending());
    store.flush().unwrap();
    drop(store);
    let (_, found, report) = open(&disk.after_kill()).unwrap();
    assert_eq!((found.concat(), report.cut), (b"beforeafterlater".to_vec(), None));
}

/// A file's number is used once, also if the directory has failed to list the file.
#[test]
fn a_file_that_was_not_listed_is_not_created_again() {
    let created =
        |disk: &SimDisk| -> Vec<String> { disk.files().into_keys().filter(|name| name != "MANIFEST").collect() };
    for at in 1..=4 {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        store.append(b"before").unwrap();
        disk.fail_at(disk.operations() + at, Fault::Error);
        let before = created(&disk);
        assert!(store.begin_snapshot().is_err(), "operation {at}");
        let left: Vec<String> = created(&disk)
            .into_iter()
            .filter(|name| !before.contains(name))
            .collect();
        let next = store.shared.files.lock().manifest.next_file;
        let is_older = |name: &String| name[..6].parse::<u64>().is_ok_and(|number| number < next);
        assert!(
            left.iter().all(|name| name == "MANIFEST.new" || is_older(name)),
            "operation {at}: {left:?}, then {next}"
        );
        assert!(
            store.begin_snapshot().unwrap().is_some(),
            "operation {at}: there is none"
        );
    }
}

#[test]
fn a_power_failure_during_recovery_loses_nothing() {
    for (at, seed) in (1..=operations(true)).map(|at| (at, at * 31)) {
        let disk = SimDisk::new();
        disk.fail_at(at, Fault::Torn);
        let model = history(&disk, true);
        let left = disk.after_power_failure(Some(seed));
        let context = format!("torn at {at}, seed {seed}");
        let whole = left.after_kill();
        let (_, found, _) = open(&whole).unwrap_or_else(|error| panic!("{context}: {error}"));
        for during in 1..=whole.operations() {
            let recovering = left.after_kill();
            recovering.fail_at(during, Fault::Kill);
            let _ = open(&recovering);
            let context = format!("{context}, recovery ends at {during}");
            let (_, again, _) = open(&recovering.after_kill()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(again, found, "{context}");
            let torn = recovering.after_power_failure(Some(during));
            let (_, again, _) = open(&torn).unwrap_or_else(|error| panic!("{context}, power failure: {error}"));
            assert_eq!(again, found, "{context}, power failure");
        }
        assert!(found.len() >= model.synced, "{context}");
    }
}

#[test]
fn buffered_records_are_written_by_one_operation_that_a_full_disk_allows() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.buffer(&record(0, 100)).unwrap();
    assert!(store.has_pending());
    assert_eq!(open(&disk.after_kill()).unwrap().1.len(), 0);
    let before = disk.operations();
    for number in 1..9 {
        store.buffer(&record(number, 100)).unwrap();
    }
    assert_eq!(disk.operations(), before, "space for these is reserved");
    disk.fail_at(before + 1, Fault::Full);
    store.flush().unwrap();
    assert_eq!((disk.operations(), store.has_pending()), (before + 1, false));
    store.flush().unwrap();
    assert_eq!(disk.operations(), before + 1);
    assert!(store.buffer(&record(9, 9000)).is_err(), "no space can be reserved");
    drop(store);
    let (_, found, report) = open(&disk.after_kill()).unwrap();
    assert_eq!((found.len(), report.cut), (9, None));
}

/// At most a megabyte is in no file.
#[test]
fn records_that_wait_to_be_written_have_a_greatest_length() {
    const MOST: usize = 1024 * 1024;
    for (lengths, last_waits) in [
        (&[MOST][..], true),
        (&[MOST + 1], false),
        (&[MOST - 1024, 1024 - 40], true),
        (&[MOST - 1024, 1024 - 40 + 1], false),
    ] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        let records: Vec<_> = lengths.iter().map(|length| vec![1; *length]).collect();
        for record in &records {
            store.buffer(record).unwrap();
        }
        assert_eq!(store.has_pending(), last_waits, "{lengths:?}");
        let expected = if last_waits { 0 } else { records.len() };
        assert_eq!(open(&disk.after_kill()).unwrap().1.len(), expected, "{lengths:?}");
        store.flush().unwrap();
        assert!(open(&disk.after_kill()).unwrap().1 == records, "{lengths:?}");
    }
}

/// A failed `fsync` concerns power failures. What is written survives the end of the process.
#[test]
fn written_records_are_flushed_although_a_sync_has_failed() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"appended").unwrap();
    store.buffer(b"buffered").unwrap();
    store.flush().unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Error);
    let failed = store.sync().unwrap_err();
    assert_eq!((store.flush(), store.has_pending()), (Ok(()), false));
    assert_eq!(store.buffer(b"refused"), Err(failed.clone()));
    assert_eq!((store.flush(), store.sync()), (Ok(()), Err(failed)));
    assert_eq!(open(&disk.after_kill()).unwrap().1.concat(), b"appendedbuffered");
}

/// A record that is buffered during an `fsync` that fails is written all the same.
#[test]
fn records_buffered_during_a_failed_sync_are_flushed() {
    let disk = SimDisk::new();
    let store = Arc::new(open(&disk).unwrap().0);
    store.append(b"before").unwrap();
    let during = Arc::clone(&store);
    disk.during_next_sync(move || {
        during.buffer(b"during").unwrap();
    });
    disk.fail_at(disk.operations() + 1, Fault::Error);
    assert!(store.sync().is_err());
    assert!(store.has_pending());
    assert_eq!((store.flush(), store.has_pending()), (Ok(()), false));
    assert_eq!(open(&disk.after_kill()).unwrap().1.concat(), b"beforeduring");
}

#[test]
fn a_failed_write_of_buffered_records_is_repaired_by_a_snapshot() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"written").unwrap();
    store.buffer(b"lost").unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Error);
    let failed = store.flush().unwrap_err();
    assert!(
        failed.to_string().starts_with("the log could not be stored ("),
        "{failed}"
    );
    for _ in 0..2 {
        assert_eq!(
            store.flush(),
            Err(failed.clone()),
            "as long as the record is in no file"
        );
        assert_eq!(store.buffer(b"refused"), Err(failed.clone()));
        assert_eq!(store.append(b"refused"), Err(failed.clone()));
        assert_eq!(store.sync(), Err(failed.clone()));
    }
    assert_eq!(open(&disk.after_kill()).unwrap().1, [b"written"]);
    snapshot(&store, &[b"written".to_vec(), b"lost".to_vec()]).unwrap();
    assert_eq!(store.flush(), Ok(()));
    store.buffer(b"later").unwrap();
    store.sync().unwrap();
    let (_, found, report) = open(&disk.after_power_failure(None)).unwrap();
    assert_eq!((found.concat(), report.cut), (b"writtenlostlater".to_vec(), None));
}

/// Whatever writes the buffered records reports that it failed, and the log ends before them.
#[test]
fn everything_that_writes_buffered_records_reports_a_failure() {
    type Write = fn(&Store, &mut crate::SnapshotWriter) -> Result<(), crate::AppendError>;
    for (name, write) in [
        ("flush", (|store, _| store.flush()) as Write),
        ("append", |store, _| store.append(b"later").map(drop)),
        ("sync", |store, _| store.sync()),
        ("start", |_, writer| writer.start().map(drop)),
    ] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        store.append(b"written").unwrap();
        let mut writer = store.begin_snapshot().unwrap().unwrap();
        store.buffer(b"lost").unwrap();
        disk.fail_at(disk.operations() + 1, Fault::Error);
        let failed = write(&store, &mut writer).unwrap_err();
        assert_eq!(store.failure(), Some(failed.clone()), "{name}");
        assert_eq!(store.append(b"refused"), Err(failed), "{name}");
        drop(writer);
        assert_eq!(open(&disk.after_kill()).unwrap().1, [b"written"], "{name}");
        snapshot(&store, &[b"written".to_vec(), b"lost".to_vec()]).unwrap();
        assert_eq!(store.append(b"later").map(|_| store.failure()), Ok(None), "{name}");
    }
}

/// Records that are buffered during a write are lost if it fails: their file would have a gap before them.
#[test]
fn records_buffered_during_a_failed_write_are_lost_with_it() {
    let disk = SimDisk::new();
    let store = Arc::new(open(&disk).unwrap().0);
    store.buffer(b"lost").unwrap();
    let during = Arc::clone(&store);
    disk.during_next_write(move || {
        during.buffer(b"later").unwrap();
    });
    disk.fail_at(disk.operations() + 1, Fault::Error);
    let failed = store.flush().unwrap_err();
    assert_eq!((store.flush(), store.sync()), (Err(failed.clone()), Err(failed)));
    assert_eq!(open(&disk.after_kill()).unwrap().1.len(), 0);
    snapshot(&store, &[b"lost".to_vec(), b"later".to_vec()]).unwrap();
    assert_eq!((store.flush(), store.has_pending()), (Ok(()), false));
    assert_eq!(open(&disk.after_kill()).unwrap().1.concat(), b"lostlater");
}

#[test]
fn flushed_records_of_all_threads_survive() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..200 {
                    // Some records are longer than the space reserved at a time.
                    let length = if number % 50 == 0 { 5000 } else { 40 };
                    let sequence = store.buffer(&record(number, length)).unwrap();
                    store.flush().unwrap();
                    assert!(store.shared.written.load(Ordering::SeqCst) > sequence);
                    if number % 70 == 0 {
                        store.append(&record(number, 20)).unwrap();
                        store.sync().unwrap();
                    }
                }
            });
        }
    });
    let (_, found, report) = open(&disk.after_kill()).unwrap();
    assert_eq!((found.len(), report.cut), (4 * 203, None));
}

/// The space that was reserved in one segment says nothing about the next.
#[test]
fn space_is_reserved_in_each_segment() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.buffer(&record(0, 1000)).unwrap();
    snapshot(&store, &[record(0, 1000)]).unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Full);
    assert!(store.buffer(&record(1, 100)).is_err(), "no space can be reserved");
}

/// A segment that was filled beyond its reserved space leaves the next one none.
#[test]
fn a_longer_segment_reserves_nothing_for_the_next() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.buffer(&record(0, 100)).unwrap();
    store.flush().unwrap();
    store.append(&record(1, 3_000_000)).unwrap();
    let mut writer = store.begin_snapshot().unwrap().expect("no other snapshot");
    writer.start().unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Full);
    assert!(store.buffer(&record(2, 100)).is_err(), "no space can be reserved");
}

/// The bytes that a failed append has left are removed, and space is reserved again, before more records are buffered.
#[test]
fn records_are_buffered_after_a_torn_record() {
    // The bytes are removed at once, or when the next record is buffered.
    for fault in [Fault::Full, Fault::Twice] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        store.buffer(&record(0, 100)).unwrap();
        store.flush().unwrap();
        disk.fail_at(disk.operations() + 1, fault);
        assert!(store.append(&record(1, 5000)).is_err(), "more than is reserved");
        let last = (2..9).find(|number| store.buffer(&record(*number, 20)).is_ok());
        let last = last.expect("the disk has space again");
        store
            .flush()
            .unwrap_or_else(|error| panic!("{fault:?}: space is reserved for {last}: {error}"));
        let (_, found, report) = open(&disk.after_kill()).unwrap();
        let expected = vec![record(0, 100), record(last, 20)];
        assert_eq!((found, report.cut), (expected, None), "{fault:?}");
    }
}

/// A store that is closed after a failed append is intact, also if a power failure follows: the bytes that the append has
/// left are removed for good before the manifest says how long the segment is.
#[test]
fn a_store_is_closed_after_a_torn_record() {
    for (syncs, divides) in [(false, false), (true, false), (false, true), (true, true)] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        store.append(&record(0, 100)).unwrap();
        disk.fail_at(disk.operations() + 1, Fault::Twice);
        assert!(store.append(&record(1, 5000)).is_err());
        if syncs {
            // What is left of the record reaches the disk.
            store.sync().unwrap();
        }
        if divides {
            // The log continues in another segment, and the snapshot is given up.
            store.begin_snapshot().unwrap().unwrap().start().unwrap();
        }
        store.close();
        for seed in [None, Some(1), Some(2), Some(3)] {
            let left = disk.after_power_failure(seed);
            let context = format!("synced {syncs}, divided {divides}, power failure {seed:?}");
            let (_, found, report) = open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!((found, report.cut), (vec![record(0, 100)], None), "{context}");
        }
    }
}

/// After a failed `fsync` the pages count as written, so the next process writes the records that it finds again, also
/// those of a segment whose first record is not synced.
#[test]
fn records_found_after_a_failed_sync_are_written_again() {
    for failing in 1..=2 {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        let records: Vec<_> = (0..7).map(|number| record(number, 700)).collect();
        for record in &records[..3] {
            store.append(record).unwrap();
        }
        let mut writer = store.begin_snapshot().unwrap().expect("no other snapshot");
        writer.start().unwrap();
        for record in &records[3..] {
            store.append(record).unwrap();
        }
        disk.fail_at(disk.operations() + failing, Fault::Error);
        assert!(store.sync().is_err(), "the sync of segment {failing}");
        let left = disk.after_kill();
        assert_eq!(open(&left).unwrap().1, records);
        let left = left.after_power_failure(None);
        assert_eq!(open(&left).unwrap().1, records, "the sync of segment {failing}");
    }
}
