//! Tests against a simulated disk.

mod damage;
mod decoder;
mod faults;
mod foreign;
mod snapshots;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::OpenError;
use crate::open::{Entry, Report};
use crate::sim::{Fault, SimDisk};
use crate::store::Store;

/// Opens a store whose snapshots hold the records that they replace: returns all records, oldest first.
fn open(disk: &SimDisk) -> Result<(Store, Vec<Vec<u8>>, Report), OpenError> {
    let mut found = Vec::new();
    let (store, report) = Store::open(
        disk.clone(),
        &mut |entry| {
            let (Entry::Snapshot(record) | Entry::Log { record, .. }) = entry;
            found.push(record.to_vec());
            Ok(())
        },
        &mut |_| (),
    )?;
    Ok((store, found, report))
}

/// A record of some length, different from those of other numbers.
fn record(number: usize, length: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(byte).collect()
}

/// Replaces the log by a snapshot of these records.
fn snapshot(store: &Store, records: &[Vec<u8>]) -> Result<(), crate::AppendError> {
    let mut writer = store.begin_snapshot()?.expect("no other snapshot");
    writer.start()?;
    records.iter().try_for_each(|record| writer.push(record))?;
    writer.finish()
}

#[test]
fn records_are_found_again_in_order() {
    let disk = SimDisk::new();
    let (store, found, _) = open(&disk).unwrap();
    assert!(found.is_empty());
    let records: Vec<_> = [0, 1, 700, 30, 5000]
        .into_iter()
        .enumerate()
        .map(|(n, l)| record(n, l))
        .collect();
    for (sequence, record) in records.iter().enumerate() {
        assert_eq!(store.append(record), Ok(sequence as u64));
    }
    store.close();
    drop(store);
    let (store, found, report) = open(&disk).unwrap();
    assert_eq!((&found, report.log_records, report.cut), (&records, 5, None));
    snapshot(&store, &found).unwrap();
    assert_eq!(store.append(b"later"), Ok(5));
    drop(store);
    let (_, found, report) = open(&disk).unwrap();
    assert_eq!((found.len(), report.snapshot_records, report.log_records), (6, 5, 1));
    assert_eq!(disk.segments().len(), 2, "the segment that was read, and the new one");
}

#[test]
fn one_process_at_a_time() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let refused = open(&disk).err().unwrap().to_string();
    assert_eq!(
        refused,
        "sim is in use by another process; stop it, or choose another directory"
    );
    store.close();
    drop(store);
    assert!(open(&disk).is_ok());
}

#[test]
fn a_refused_record_stops_the_opening() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"one").unwrap();
    store.append(b"two").unwrap();
    drop(store);
    let refuse = &mut |entry: Entry<'_>| match entry {
        Entry::Log { record: b"two", .. } => Err("not a commit".to_owned()),
        _ => Ok(()),
    };
    let refused = Store::open(disk.clone(), refuse, &mut |_| ()).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "sim/000001.wal: the record at byte 88 cannot be applied: not a commit"
    );
    assert_eq!(open(&disk).unwrap().1.len(), 2);
}

#[test]
fn too_long_records_are_refused() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let long = vec![0; crate::MAX_RECORD + 1];
    assert_eq!(store.append(&long), Err(crate::AppendError::TooLong(long.len())));
    let mut writer = store.begin_snapshot().unwrap().unwrap();
    assert_eq!(writer.push(&long), Err(crate::AppendError::TooLong(long.len())));
    assert_eq!(store.append(b"short"), Ok(0));
}

#[test]
fn a_snapshot_is_due_once_the_log_is_longer() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let due = |store: &Store| (store.wants_snapshot(200), store.wants_snapshot(2000));
    assert_eq!(due(&store), (false, false));
    store.append(&record(1, 200)).unwrap();
    assert_eq!(due(&store), (true, false));
    store.close();
    drop(store);
    let (store, ..) = open(&disk).unwrap();
    assert_eq!(due(&store), (true, false), "the segments before count");
    let records: Vec<_> = (0..3).map(|number| record(number, 300)).collect();
    snapshot(&store, &records).unwrap();
    assert_eq!(due(&store), (false, false));
    store.append(&record(1, 400)).unwrap();
    assert_eq!(due(&store), (false, false), "the snapshot is longer");
    store.append(&record(1, 700)).unwrap();
    assert_eq!(due(&store), (true, false));
    disk.fail_at(disk.operations() + 1, Fault::Error);
    assert!(store.sync().is_err());
    assert_eq!(due(&store), (true, true));
}

/// A log as long as the last snapshot, or as the least length, is not due yet.
#[test]
fn a_log_may_be_as_long_as_its_snapshot() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(&record(0, 64)).unwrap();
    // A file's header and a record's have 40 bytes each.
    let length = 40 + 40 + 64;
    let due = |store: &Store, least: &[u64]| -> Vec<bool> {
        least.iter().map(|least| store.wants_snapshot(*least)).collect()
    };
    assert_eq!(
        due(&store, &[0, length - 1, length, length + 1]),
        [true, true, false, false]
    );
    snapshot(&store, &[record(0, 64)]).unwrap();
    assert_eq!(due(&store, &[0]), [false], "the log is empty");
    store.append(&record(1, 64)).unwrap();
    assert_eq!(due(&store, &[0, length]), [false, false], "as long as the snapshot");
    store.append(b"").unwrap();
    assert_eq!(due(&store, &[0, length + 39, length + 40]), [true, true, false]);
}

/// The segments of all openings count, whether they were closed or not.
#[test]
fn a_snapshot_is_due_once_all_segments_are_longer() {
    let disk = SimDisk::new();
    let mut length = 0;
    for (opening, (size, closes)) in [(200, true), (320, true), (64, false), (80, false), (8, true)]
        .into_iter()
        .enumerate()
    {
        let (store, ..) = open(&disk).unwrap();
        store.append(&record(opening, size)).unwrap();
        // A file's header and a record's have 40 bytes each.
        length += 40 + 40 + size as u64;
        let due = (store.wants_snapshot(length - 1), store.wants_snapshot(length));
        assert_eq!(due, (true, false), "opening {opening}");
        if closes {
            store.close();
        }
    }
}

/// A snapshot divides the log when it starts. Until one is complete, all parts count.
#[test]
fn a_snapshot_that_fails_is_due_again() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(&record(0, 700)).unwrap();
    for round in 1..4 {
        store.begin_snapshot().unwrap().unwrap().start().unwrap();
        assert!(store.wants_snapshot(500), "round {round}");
        store.append(&record(round, 30)).unwrap();
        assert!(store.wants_snapshot(500), "round {round}");
    }
    snapshot(&store, &[record(0, 30)]).unwrap();
    assert!(!store.wants_snapshot(500));
}

/// Segments that a snapshot has replaced neither count for the next one nor are synced again.
#[test]
fn replaced_segments_are_forgotten() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    for round in 0..3 {
        store.append(&record(round, 700)).unwrap();
        assert!(store.wants_snapshot(500), "round {round}");
        snapshot(&store, &[record(round, 30)]).unwrap();
        assert!(!store.wants_snapshot(500), "round {round}");
        store.append(&record(round, 30)).unwrap();
        let before = disk.operations();
        store.sync().unwrap();
        assert_eq!(disk.operations() - before, 1, "round {round}: one file is synced");
    }
}

#[test]
fn a_snapshot_is_due_after_many_openings() {
    let disk = SimDisk::new();
    for number in 1..=65 {
        let (store, ..) = open(&disk).unwrap();
        assert_eq!(store.wants_snapshot(u64::MAX), number > 64, "opening {number}");
        store.append(b"x").unwrap();
        store.close();
    }
}

/// A segment without records does not outlive the process that began it.
#[test]
fn openings_without_records_leave_no_segments() {
    let disk = SimDisk::new();
    for closes in [true, false, true, false] {
        let (store, ..) = open(&disk).unwrap();
        if closes {
            store.close();
        }
        drop(store);
        assert_eq!(disk.segments().len(), 1);
    }
}

#[test]
fn appended_records_follow_the_buffered_ones() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    assert_eq!(store.buffer(b"one "), Ok(0));
    assert_eq!(store.append(b"two "), Ok(1));
    assert!(!store.has_pending());
    assert_eq!(store.buffer(b"three "), Ok(2));
    snapshot(&store, &[b"one two three ".to_vec()]).unwrap();
    assert_eq!(store.buffer(b"four "), Ok(3));
    assert_eq!(store.append(b"five"), Ok(4));
    let (_, found, report) = open(&disk.after_kill()).unwrap();
    assert_eq!(
        (found.concat(), report.cut),
        (b"one two three four five".to_vec(), None)
    );
}

/// A waiter is woken by a failed sync, and by the snapshot that repairs the log.
#[test]
fn waiters_are_woken_whatever_the_outcome() {
    let woken = Arc::new(Woken::default());
    let poll = |future: &mut crate::sync::UntilSynced| {
        let waker = Arc::clone(&woken).into();
        std::pin::Pin::new(future).poll(&mut std::task::Context::from_waker(&waker))
    };
    for fails in [false, true] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        let sequence = store.append(b"record").unwrap();
        let mut waiter = store.until_synced(sequence);
        // A future may be polled any number of times.
        assert!(poll(&mut waiter).is_pending());
        assert!(poll(&mut waiter).is_pending());
        if fails {
            disk.fail_at(disk.operations() + 1, Fault::Error);
            assert!(store.sync().is_err());
        } else {
            snapshot(&store, &[b"record".to_vec()]).unwrap();
        }
        assert_eq!(
            woken.0.swap(0, std::sync::atomic::Ordering::SeqCst),
            1,
            "fails: {fails}"
        );
        let outcome = poll(&mut waiter);
        assert!(
            matches!(outcome, std::task::Poll::Ready(result) if result.is_err() == fails),
            "fails: {fails}"
        );
    }
}

/// A failed sync concerns only the records that were not synced before.
#[test]
fn synced_records_stay_synced_when_a_later_sync_fails() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let synced = store.append(b"synced").unwrap();
    store.sync().unwrap();
    let unsynced = store.append(b"unsynced").unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Error);
    assert!(store.sync().is_err());
    assert_eq!(block_on(store.until_synced(synced)), Ok(()));
    assert!(block_on(store.until_synced(unsynced)).is_err());
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_directory_names_the_process_that_holds_it() {
    let path = std::env::temp_dir().join(format!("dynatwin-store-lock-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    // An earlier process with a longer id.
    std::fs::write(path.join("LOCK"), "123456789012\n").unwrap();
    let open = || Store::open(crate::Directory::at(&path), &mut |_| Ok(()), &mut |_| ());
    let first = open().unwrap();
    let refused = open().err().unwrap().to_string();
    drop(first);
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(
        refused,
        format!(
            "{} is in use by another process ({}); stop it, or choose another directory",
            path.display(),
            std::process::id()
        )
    );
}

/// Also if closing has failed, and a snapshot has repaired the log since.
#[test]
fn a_closed_store_accepts_no_record() {
    for fails in [false, true] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        store.append(b"before").unwrap();
        if fails {
            disk.fail_at(disk.operations() + 1, Fault::Error);
        }
        store.close();
        if fails {
            assert!(store.failure().is_some());
            snapshot(&store, &[b"before".to_vec()]).unwrap();
        }
        let operations = disk.operations();
        assert_eq!(
            store.append(b"later"),
            Err(crate::AppendError::Closed),
            "fails: {fails}"
        );
        assert_eq!(
            store.buffer(b"later"),
            Err(crate::AppendError::Closed),
            "fails: {fails}"
        );
        // No space is reserved again.
        assert_eq!(disk.operations(), operations, "fails: {fails}");
        drop(store);
        let (_, found, report) = open(&disk).unwrap();
        assert_eq!(
            (found.concat(), report.cut),
            (b"before".to_vec(), None),
            "fails: {fails}"
        );
    }
}

/// What another thread appends while a store is being closed is refused, or survives even a power failure.
#[test]
fn records_appended_while_a_store_is_closed() {
    type Append = fn(&Store, &[u8]) -> Result<u64, crate::AppendError>;
    for (name, append) in [("append", Store::append as Append), ("buffer", Store::buffer)] {
        for during_write in [true, false] {
            let context = format!("{name}, during a write {during_write}");
            let disk = SimDisk::new();
            let store = Arc::new(open(&disk).unwrap().0);
            store.buffer(b"before ").unwrap();
            let (during, appended) = (Arc::clone(&store), Arc::new(AtomicBool::new(false)));
            let accepted = Arc::clone(&appended);
            let call = move || {
                // The lock of a write in progress is not reentrant.
                let append = if during_write { Store::buffer } else { append };
                accepted.store(append(&during, b"during").is_ok(), Ordering::SeqCst);
            };
            if during_write {
                disk.during_next_write(call);
            } else {
                disk.during_next_sync(call);
            }
            store.close();
            let expected: &[u8] = if appended.load(Ordering::SeqCst) {
                b"before during"
            } else {
                b"before "
            };
            for left in [disk.after_kill(), disk.after_power_failure(None)] {
                let (_, found, report) = open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!((found.concat(), report.cut), (expected.to_vec(), None), "{context}");
            }
        }
    }
}

/// A snapshot takes no more memory than a record and a megabyte, and reports that the disk is full when it is.
#[test]
fn a_snapshot_is_written_while_records_are_added() {
    const RECORD: usize = 400_000;
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let mut writer = store.begin_snapshot().unwrap().unwrap();
    let written = || {
        let files = disk.files();
        let (_, snapshot) = files.iter().find(|(name, _)| name.contains("snapshot")).unwrap();
        snapshot.len()
    };
    for pushed in 1..=6 {
        writer.push(&record(pushed, RECORD)).unwrap();
        assert!(
            pushed * RECORD - written().min(pushed * RECORD) < 1024 * 1024,
            "{pushed} records"
        );
    }
    disk.fail_at(disk.operations() + 1, Fault::Full);
    let failed = (0..3).find_map(|number| writer.push(&record(number, RECORD)).err());
    assert!(matches!(failed, Some(crate::AppendError::Write(_))), "{failed:?}");
    drop(writer);
    assert!(disk.files().into_keys().all(|name| !name.contains("snapshot")));
}

#[test]
fn one_snapshot_at_a_time() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let first = store.begin_snapshot().unwrap();
    assert!(store.begin_snapshot().unwrap().is_none());
    drop(first);
    assert!(store.begin_snapshot().unwrap().is_some());
    assert!(disk.files().into_keys().all(|name| !name.contains("snapshot")));
}

/// The segment of a snapshot that was given up serves the next one.
#[test]
fn snapshots_that_are_given_up_leave_one_empty_segment() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    for _ in 0..3 {
        drop(store.begin_snapshot().unwrap());
        assert_eq!(disk.segments().len(), 2);
    }
    // Of one that was started, the log needs the segment.
    let started = store.begin_snapshot().unwrap().unwrap().start();
    assert_eq!((started, disk.segments().len()), (Ok(0), 2));
    drop(store.begin_snapshot().unwrap());
    assert_eq!(disk.segments().len(), 3);
}

/// A snapshot that was not started stands for all records before its end.
#[test]
fn a_snapshot_is_started_by_its_end() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"before").unwrap();
    let mut writer = store.begin_snapshot().unwrap().unwrap();
    writer.push(b"all").unwrap();
    writer.finish().unwrap();
    store.append(b"after").unwrap();
    let (_, found, report) = open(&disk.after_power_failure(None)).unwrap();
    assert_eq!(
        (found.concat(), report.snapshot_records, report.log_records),
        (b"all".to_vec(), 1, 0)
    );
    assert_eq!(open(&disk.after_kill()).unwrap().1.concat(), b"allafter");
}

/// A thread is told of each `fsync` that fails, and once of a log that cannot be written until there is a snapshot.
#[test]
fn failures_of_continuous_syncs_are_reported_once() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let (send, failures) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            store.sync_continuously(std::time::Duration::from_hours(1), |error| {
                send.send(error.clone()).unwrap();
            });
        });
        for round in 0..2 {
            let sequence = store.append(b"record").unwrap();
            disk.fail_at(disk.operations() + 1, Fault::Error);
            for _ in 0..3 {
                assert!(block_on(store.until_synced(sequence)).is_err(), "round {round}");
            }
            assert_eq!(failures.recv().ok(), store.failure(), "round {round}");
            assert!(store.sync().is_err());
            snapshot(&store, &[b"record".to_vec()]).unwrap();
        }
        store.close();
    });
    assert!(failures.try_recv().is_err());
}

/// Records are synced after the interval although no thread waits for it.
#[test]
fn records_are_synced_at_each_interval() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| store.sync_continuously(std::time::Duration::from_millis(1), |_| ()));
        for number in 0..3 {
            let sequence = store.append(&record(number, 10)).unwrap();
            while !disk_has(&store, sequence) {
                std::thread::yield_now();
            }
        }
        store.close();
    });
    assert_eq!(open(&disk.after_power_failure(None)).unwrap().1.len(), 3);
}

#[test]
fn an_opening_reports_its_progress() {
    const RECORD: usize = 5 * 1024 * 1024;
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    snapshot(&store, &[record(0, RECORD)]).unwrap();
    for number in 1..5 {
        store.append(&vec![number; RECORD]).unwrap();
    }
    store.close();
    drop(store);
    let files = disk.files();
    let is_record = |name: &&String| **name != "MANIFEST" && **name != "LOCK";
    let total = files
        .keys()
        .filter(is_record)
        .map(|name| files[name].len() as u64)
        .sum();
    let mut reported = Vec::new();
    Store::open(disk, &mut |_| Ok(()), &mut |progress| reported.push(progress)).unwrap();
    let expected = [2 * RECORD as u64, 4 * RECORD as u64, total].map(|read| crate::Progress { read, total });
    assert_eq!(reported, expected);
}

#[test]
fn waiters_share_a_sync() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| store.sync_continuously(std::time::Duration::from_hours(1), |_| ()));
        let waiters: Vec<_> = (0..8)
            .map(|number| {
                let store = &store;
                scope.spawn(move || {
                    for _ in 0..50 {
                        let sequence = store.append(&record(number, 100)).unwrap();
                        block_on(store.until_synced(sequence)).unwrap();
                        assert!(disk_has(store, sequence));
                    }
                })
            })
            .collect();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        store.close();
    });
    let disk = disk.after_power_failure(None);
    assert_eq!(open(&disk).unwrap().1.len(), 400);
}

#[test]
fn a_sync_does_not_cover_records_appended_during_it() {
    let disk = SimDisk::new();
    let store = Arc::new(open(&disk).unwrap().0);
    store.append(b"before").unwrap();
    let during = Arc::clone(&store);
    disk.during_next_sync(move || {
        during.append(b"during").unwrap();
    });
    store.sync().unwrap();
    assert!(disk_has(&store, 0) && !disk_has(&store, 1));
}

/// A record that is buffered while earlier ones are written is in no file when that is synced.
#[test]
fn a_sync_does_not_cover_records_buffered_during_its_write() {
    let disk = SimDisk::new();
    let store = Arc::new(open(&disk).unwrap().0);
    store.buffer(b"before").unwrap();
    let during = Arc::clone(&store);
    disk.during_next_write(move || {
        during.buffer(b"during").unwrap();
    });
    store.sync().unwrap();
    assert!(store.has_pending() && disk_has(&store, 0) && !disk_has(&store, 1));
    assert_eq!(open(&disk.after_power_failure(None)).unwrap().1, [b"before"]);
    store.sync().unwrap();
    assert!(!store.has_pending() && disk_has(&store, 1));
}

/// A buffered record is appended: it is awaited although no file has it yet.
#[test]
fn appended_records_are_awaited_wherever_they_are() {
    type Step = fn(&Store);
    let append: Step = |store| assert!(store.append(b"appended").is_ok());
    let buffer: Step = |store| assert!(store.buffer(b"buffered").is_ok());
    let flush: Step = |store| store.flush().unwrap();
    let sync: Step = |store| store.sync().unwrap();
    for (case, steps, survives) in [
        ("nothing", &[][..], true),
        ("appended", &[append], false),
        ("synced", &[append, sync], true),
        ("appended behind a synced one", &[append, sync, append], false),
        ("buffered", &[buffer], false),
        ("buffered behind a synced one", &[append, sync, buffer], false),
        ("buffered behind an unsynced one", &[append, buffer], false),
        ("buffered and written", &[append, sync, buffer, flush], false),
        ("buffered and synced", &[append, sync, buffer, sync], true),
    ] {
        let disk = SimDisk::new();
        let (store, ..) = open(&disk).unwrap();
        steps.iter().for_each(|step| step(&store));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let awaited = std::pin::pin!(store.until_appended_is_synced()).poll(&mut context);
        assert_eq!(awaited.is_ready(), survives, "{case}");
        let appended = store.next_sequence();
        let found = open(&disk.after_power_failure(None)).unwrap().1.len() as u64;
        assert_eq!(found == appended, survives, "{case}: {found} of {appended}");
        // What is appended later is not awaited.
        let mut awaited = std::pin::pin!(store.until_appended_is_synced());
        let _ = awaited.as_mut().poll(&mut context);
        store.sync().unwrap();
        store.buffer(b"later").unwrap();
        assert_eq!(awaited.poll(&mut context), std::task::Poll::Ready(Ok(())), "{case}");
    }
}

fn disk_has(store: &Store, sequence: u64) -> bool {
    store.shared.synced.load(std::sync::atomic::Ordering::SeqCst) > sequence
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
