//! Damage is found wherever it is, and an interrupted write is not reported as damage.

use super::{open, record, snapshot};
use crate::error::OpenError;
use crate::format::{FileKind, RecordHeader, encode, file_header, hash, older};
use crate::manifest::{Manifest, Sealed, Segment, SnapshotFile};
use crate::sim::{Fault, SimDisk};

/// A closed store with a snapshot, a sealed segment that an earlier opening read, and one that the last one wrote.
fn closed() -> SimDisk {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let records: Vec<_> = (0..4).map(|number| record(number, 40 + number * 30)).collect();
    for record in &records {
        store.append(record).unwrap();
    }
    snapshot(&store, &records).unwrap();
    store.append(&record(9, 50)).unwrap();
    store.append(&record(10, 600)).unwrap();
    store.close();
    drop(store);
    let (store, ..) = open(&disk).unwrap();
    store.append(&record(11, 20)).unwrap();
    store.append(&record(12, 70)).unwrap();
    store.close();
    drop(store);
    disk
}

/// A store whose last process was killed.
fn killed() -> SimDisk {
    let disk = closed();
    let (store, ..) = open(&disk).unwrap();
    store.append(&record(13, 90)).unwrap();
    store.sync().unwrap();
    store.append(&record(14, 1500)).unwrap();
    store.append(&record(15, 30)).unwrap();
    drop(store);
    disk.after_kill()
}

#[test]
fn every_flipped_byte_is_found() {
    for (disk, records) in [(closed(), 8), (killed(), 11)] {
        let files = disk.files();
        assert_eq!(open(&disk.after_kill()).unwrap().1.len(), records);
        for (name, bytes) in &files {
            for at in 0..bytes.len() {
                for flip in [1, 0x80, 0xff] {
                    let mut bad = bytes.clone();
                    bad[at] ^= flip;
                    let mut bad_files = files.clone();
                    bad_files.insert(name.clone(), bad);
                    let bad = SimDisk::with(bad_files.clone());
                    match open(&bad).err() {
                        Some(OpenError::Damaged { file, offset, .. }) => {
                            assert_eq!(&file, name, "byte {at}");
                            assert!(offset <= at as u64, "{name}, byte {at}: {offset}");
                        }
                        other => panic!("{name}, byte {at} ^ {flip}: {other:?}"),
                    }
                    assert_eq!(bad.files(), bad_files, "nothing is changed");
                }
            }
        }
    }
}

#[test]
fn missing_and_shortened_files_are_found() {
    let files = closed().files();
    for (name, bytes) in &files {
        let mut without = files.clone();
        without.remove(name);
        match open(&SimDisk::with(without)).err() {
            Some(OpenError::Damaged {
                file, offset, problem, ..
            }) => {
                assert_eq!((&file, offset, problem.as_str()), (name, 0, "the file is missing"));
            }
            other => panic!("{name}: {other:?}"),
        }
        for length in 0..bytes.len() {
            let mut shorter = files.clone();
            shorter.insert(name.clone(), bytes[..length].to_vec());
            match open(&SimDisk::with(shorter)).err() {
                Some(OpenError::Damaged { file, offset, .. }) => {
                    assert_eq!(&file, name);
                    assert!(offset <= length as u64, "{name}, {length} bytes: {offset}");
                }
                other => panic!("{name}, {length} bytes: {other:?}"),
            }
        }
        let mut longer = files.clone();
        longer.insert(name.clone(), [&bytes[..], &[0; 8]].concat());
        match open(&SimDisk::with(longer)).err() {
            Some(OpenError::Damaged { file, offset, .. }) => {
                let expected = if name == "MANIFEST" { 0 } else { bytes.len() as u64 };
                assert_eq!((&file, offset), (name, expected));
            }
            other => panic!("{name}, longer: {other:?}"),
        }
    }
}

#[test]
fn exchanged_files_are_found() {
    let (disk, other) = (closed(), killed());
    let files = disk.files();
    let logs = disk.segments();
    let mut exchanged = files.clone();
    exchanged.insert(logs[0].clone(), files[&logs[1]].clone());
    assert!(matches!(
        open(&SimDisk::with(exchanged)).err(),
        Some(OpenError::Damaged { .. })
    ));
    let mut mixed = files.clone();
    let theirs = other.files();
    mixed.insert(logs[0].clone(), theirs[&logs[0]].clone());
    assert!(matches!(
        open(&SimDisk::with(mixed)).err(),
        Some(OpenError::Damaged { .. })
    ));
    // The manifest of before, beside the segments of after.
    let (store, ..) = open(&disk).unwrap();
    store.append(b"later").unwrap();
    drop(store);
    let mut old = disk.files();
    old.insert("MANIFEST".into(), files["MANIFEST"].clone());
    let refused = open(&SimDisk::with(old)).err().unwrap().to_string();
    assert!(
        refused.contains("MANIFEST is damaged at byte 0: it does not list"),
        "{refused}"
    );
}

#[test]
fn a_torn_record_is_removed_and_reported() {
    let disk = killed();
    let (files, name) = (disk.files(), &disk.segments()[2]);
    let bytes = &files[name];
    // Of the last record there are 40 bytes of header, 30 of its own, and padding.
    let last = bytes.len() - 72;
    for length in last + 1..bytes.len() {
        let mut torn = files.clone();
        torn.insert(name.clone(), bytes[..length].to_vec());
        let (store, found, report) = open(&SimDisk::with(torn)).unwrap();
        let cut = report.cut.unwrap();
        assert_eq!(
            (found.len(), &cut.file, cut.offset),
            (10, name, last as u64),
            "{length} bytes"
        );
        assert_eq!((cut.bytes, cut.records), ((length - last) as u64, 0));
        store.append(b"goes on").unwrap();
    }
}

/// A record that was not synced may lack what lies in its last sector, however little that is.
#[test]
fn a_sector_that_was_not_written_is_no_damage() {
    // In the last case, the sector keeps what was synced before the record: the file's header.
    for (length, bytes, lost) in [
        (440, 8, 512..520),
        (448, 16, 512..528),
        (936, 504, 512..1016),
        (944, 512, 512..1024),
        (936, 504, 40..512),
    ] {
        let disk = closed();
        let (store, ..) = open(&disk).unwrap();
        store.append(&record(13, length)).unwrap();
        drop(store);
        let killed = disk.after_kill();
        let name = &killed.segments()[2];
        let mut files = killed.files();
        let file = files.get_mut(name).unwrap();
        assert_eq!(file.len(), 512 + bytes);
        file[lost.clone()].fill(0);
        let (_, found, report) = open(&SimDisk::with(files)).unwrap();
        let cut = report.cut.unwrap();
        assert_eq!((found.len(), cut.offset, cut.records), (8, 40, 0), "{length}, {lost:?}");
    }
}

/// A disk with one segment, of these records, whose first is damaged.
fn damaged(records: &[&[u8]]) -> SimDisk {
    let mut file = older::file(FileKind::Log, 1, 7, 0, records);
    file[100] = 2;
    let manifest = Manifest {
        id: 7,
        next_file: 2,
        snapshot: None,
        segments: vec![Segment {
            number: 1,
            sealed: None,
        }],
    };
    SimDisk::with([
        ("000001.wal".to_owned(), file),
        ("MANIFEST".to_owned(), manifest.encode().into_bytes()),
    ])
}

/// Fewer than 8 zeros at the end of a damaged record are its own, not those of an unwritten sector.
#[test]
fn few_zeros_are_no_unwritten_sector() {
    for (zeros, is_damage) in [(0, true), (1, true), (7, true), (8, false), (9, false)] {
        // A file's header has 40 bytes, and one of a record 32: the zeros begin a sector.
        let mut record = vec![1; 512 - 40 - 32];
        record.extend_from_slice(&vec![0; zeros]);
        match open(&damaged(&[&record])) {
            Ok((_, _, report)) => assert_eq!((is_damage, report.cut.unwrap().offset), (false, 40), "{zeros} zeros"),
            Err(error) => assert_eq!(
                (is_damage, error.to_string().split(". ").next()),
                (
                    true,
                    Some("sim/000001.wal is damaged at byte 40: the checksum of a record does not match")
                ),
                "{zeros} zeros"
            ),
        }
    }
}

/// A record's zeros at the end of a sector are no unwritten sector if another record follows in it.
#[test]
fn a_sector_with_a_later_record_was_written() {
    let mut first = vec![1; 400];
    first.resize(600, 0);
    for (records, is_damage) in [(vec![&first[..], b"later"], true), (vec![&first], false)] {
        assert_eq!(open(&damaged(&records)).is_err(), is_damage);
    }
}

/// The manifest says that a snapshot and a sealed segment were synced, so no power failure explains an unwritten sector.
#[test]
fn an_unwritten_sector_of_a_sealed_file_is_damage() {
    let files = closed().files();
    let mut tried = 0;
    for (name, bytes) in files.iter().filter(|(name, _)| name.contains('.')) {
        for start in (0..bytes.len()).step_by(512) {
            let (start, end) = (start.max(40), (start + 512).min(bytes.len()));
            let mut unwritten = files.clone();
            unwritten.get_mut(name).unwrap()[start..end].fill(0);
            match open(&SimDisk::with(unwritten)).err() {
                Some(OpenError::Damaged { file, .. }) => assert_eq!(&file, name, "bytes {start} to {end}"),
                other => panic!("{name}, bytes {start} to {end}: {other:?}"),
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 5);
}

#[test]
fn a_gap_in_synced_records_is_damage() {
    let disk = killed();
    let (files, name) = (disk.files(), &disk.segments()[2]);
    let bytes = &files[name];
    // The second record, of 1500 bytes, was not synced: its loss can be that of a power failure, and takes the third along.
    let second = 40 + 136;
    let mut lost = bytes.clone();
    lost[512..1024].fill(0);
    let mut gap = files.clone();
    gap.insert(name.clone(), lost);
    let left = SimDisk::with(gap);
    let (_, found, report) = open(&left).unwrap();
    let cut = report.cut.unwrap();
    assert_eq!((found.len(), cut.offset, cut.records), (9, second as u64, 1));
    assert_eq!(open(&left.after_kill()).unwrap().2.cut, None);
    // The first record was synced, which the second one proves.
    let mut lost = bytes.clone();
    lost[40..second].fill(0);
    let mut gap = files.clone();
    gap.insert(name.clone(), lost);
    let refused = open(&SimDisk::with(gap)).err().unwrap().to_string();
    assert_eq!(
        refused,
        format!(
            "sim/{name} is damaged at byte 40: the checksum of a record's header does not match, and records behind it \
             were written after it was synced. Nothing was changed; restore the directory from a copy"
        )
    );
}

/// A snapshot, a sealed segment and an open one, each with intact records, under a manifest that may describe other ones.
#[test]
fn files_that_the_manifest_does_not_describe_are_damage() {
    let snapshot = older::file(FileKind::Snapshot, 1, 7, 0, &[b"all", b"of it"]);
    let sealed = older::file(FileKind::Log, 2, 7, 5, &[b"five", b"six"]);
    let (snapshot_length, sealed_length) = (snapshot.len() as u64, sealed.len() as u64);
    let files = |open_first: u64, change: fn(&mut SnapshotFile, &mut Sealed)| {
        let mut of_snapshot = SnapshotFile {
            number: 1,
            next: 5,
            records: 2,
            length: snapshot_length,
        };
        let mut of_sealed = Sealed {
            first: 5,
            next: 7,
            length: sealed_length,
        };
        change(&mut of_snapshot, &mut of_sealed);
        let segment = |number, sealed| Segment { number, sealed };
        let manifest = Manifest {
            id: 7,
            next_file: 4,
            snapshot: Some(of_snapshot),
            segments: vec![segment(2, Some(of_sealed)), segment(3, None)],
        };
        let open = older::file(FileKind::Log, 3, 7, open_first, &[b"next"]);
        SimDisk::with([
            ("000001.snapshot".into(), snapshot.clone()),
            ("000002.wal".into(), sealed.clone()),
            ("000003.wal".into(), open),
            ("MANIFEST".into(), manifest.encode().into_bytes()),
        ])
    };
    assert_eq!(open(&files(7, |_, _| ())).unwrap().1.len(), 5);
    let missing_at_end = "records at its end are missing";
    for (open_first, change, damaged, at, problem) in [
        (
            7,
            (|snapshot, _| snapshot.records += 1) as fn(&mut SnapshotFile, &mut Sealed),
            "000001.snapshot",
            112,
            missing_at_end,
        ),
        (
            7,
            |snapshot, _| snapshot.records -= 1,
            "000001.snapshot",
            112,
            missing_at_end,
        ),
        (
            7,
            |snapshot, _| snapshot.length += 1,
            "000001.snapshot",
            112,
            "it has 112 bytes instead of 113",
        ),
        (
            7,
            |snapshot, _| snapshot.next -= 1,
            "000002.wal",
            0,
            "its first record is 5, not 4: a segment is missing",
        ),
        (
            7,
            |_, sealed| sealed.first += 1,
            "000002.wal",
            0,
            "its first record is 6, not 5: a segment is missing",
        ),
        (7, |_, sealed| sealed.next += 1, "000002.wal", 111, missing_at_end),
        (7, |_, sealed| sealed.next -= 1, "000002.wal", 111, missing_at_end),
        (
            7,
            |_, sealed| sealed.length -= 1,
            "000002.wal",
            110,
            "it has 111 bytes instead of 110",
        ),
        // A sealed segment has lost nothing, so nothing explains a gap behind it.
        (8, |_, _| (), "000003.wal", 40, "records before this one are missing"),
        (6, |_, _| (), "000003.wal", 40, "a record occurs twice"),
    ] {
        match open(&files(open_first, change)).err() {
            Some(OpenError::Damaged {
                file,
                offset,
                problem: found,
                ..
            }) => {
                assert_eq!((file.as_str(), offset, found.as_str()), (damaged, at, problem));
            }
            other => panic!("{damaged}, {problem}: {other:?}"),
        }
    }
}

#[test]
fn a_gap_behind_a_snapshot_is_damage() {
    let files = |first| {
        let manifest = Manifest {
            id: 7,
            next_file: 3,
            snapshot: Some(SnapshotFile {
                number: 1,
                next: 5,
                records: 1,
                length: 40 + 32 + 3,
            }),
            segments: vec![Segment {
                number: 2,
                sealed: None,
            }],
        };
        SimDisk::with([
            (
                "000001.snapshot".into(),
                older::file(FileKind::Snapshot, 1, 7, 0, &[b"all"]),
            ),
            ("000002.wal".into(), older::file(FileKind::Log, 2, 7, first, &[b"next"])),
            ("MANIFEST".into(), manifest.encode().into_bytes()),
        ])
    };
    assert_eq!(open(&files(5)).unwrap().1.len(), 2);
    for (first, problem) in [(4, "a record occurs twice"), (6, "records before this one are missing")] {
        match open(&files(first)).err() {
            Some(OpenError::Damaged { problem: found, .. }) => assert_eq!(found, problem),
            other => panic!("{first}: {other:?}"),
        }
    }
}

#[test]
fn a_gap_in_a_snapshot_is_damage() {
    let part = |first, record: &[u8]| older::file(FileKind::Snapshot, 1, 7, first, &[record]);
    for (second, opens) in [(1, true), (0, false), (2, false)] {
        let snapshot = [part(0, b"a"), part(second, b"b")[40..].to_vec()].concat();
        let manifest = Manifest {
            id: 7,
            next_file: 2,
            snapshot: Some(SnapshotFile {
                number: 1,
                next: 5,
                records: 2,
                length: snapshot.len() as u64,
            }),
            segments: Vec::new(),
        };
        let disk = SimDisk::with([
            ("000001.snapshot".into(), snapshot),
            ("MANIFEST".into(), manifest.encode().into_bytes()),
        ]);
        match open(&disk) {
            Ok((_, found, _)) => assert!(opens && found.concat() == b"ab", "{second}"),
            Err(error) => assert_eq!(
                (opens, error.to_string().split(". ").next()),
                (
                    false,
                    Some("sim/000001.snapshot is damaged at byte 73: a record of the snapshot is missing")
                ),
                "{second}"
            ),
        }
    }
}

/// A segment without a length in the manifest may have lost its end, so the next one may begin with a later record. Within a
/// segment nothing explains a gap.
#[test]
fn a_gap_between_open_segments_is_a_loss_and_one_within_a_segment_is_damage() {
    let files = |last: Vec<u8>| {
        let open = |number| Segment { number, sealed: None };
        let manifest = Manifest {
            id: 7,
            next_file: 3,
            snapshot: None,
            segments: vec![open(1), open(2)],
        };
        SimDisk::with([
            ("000001.wal".into(), older::file(FileKind::Log, 1, 7, 0, &[b"0", b"1"])),
            ("000002.wal".into(), last),
            ("MANIFEST".into(), manifest.encode().into_bytes()),
        ])
    };
    let segment = |first, records: &[&[u8]]| older::file(FileKind::Log, 2, 7, first, records);
    let (_, found, report) = open(&files(segment(3, &[b"3", b"4"]))).unwrap();
    let cut = report.cut.unwrap();
    assert_eq!((found.concat(), cut.file.as_str()), (b"01".to_vec(), "000002.wal"));
    assert_eq!((cut.offset, cut.bytes, cut.records), (40, 66, 2));
    let with_gap = [segment(2, &[b"2"]), segment(4, &[b"4"])[40..].to_vec()].concat();
    match open(&files(with_gap)).err() {
        Some(OpenError::Damaged {
            file, offset, problem, ..
        }) => assert_eq!(
            (file.as_str(), offset, problem.as_str()),
            ("000002.wal", 40 + 33, "records before this one are missing")
        ),
        other => panic!("{other:?}"),
    }
}

/// An opening that cannot read or write is refused with the cause, whatever operation fails, and the next one loses nothing.
#[test]
fn an_opening_with_a_failing_operation_is_refused() {
    let disk = killed();
    let (mut files, name) = (disk.files(), &disk.segments()[2]);
    // A torn end, which is removed.
    let bytes = files.get_mut(name).unwrap();
    bytes.truncate(bytes.len() - 9);
    let left = SimDisk::with(files);
    let whole = left.after_kill();
    assert_eq!(open(&whole).unwrap().1.len(), 10);
    let mut actions: Vec<String> = Vec::new();
    for at in 1..=whole.operations() {
        let failing = left.after_kill();
        failing.fail_at(at, Fault::Error);
        let error = open(&failing).err().unwrap_or_else(|| panic!("operation {at}"));
        assert!(matches!(error, OpenError::Io { .. }), "operation {at}: {error}");
        let cause = std::error::Error::source(&error).unwrap_or_else(|| panic!("operation {at}"));
        let message = error.to_string();
        let action = message
            .strip_prefix("sim: cannot ")
            .and_then(|rest| rest.strip_suffix(&format!(": {cause}")));
        let action = action.unwrap_or_else(|| panic!("operation {at}: {message}"));
        if actions.last().is_none_or(|last| last != action) {
            actions.push(action.to_owned());
        }
        let next = failing.after_kill();
        assert_eq!(open(&next).unwrap().1.len(), 10, "operation {at}");
        assert!(!next.files().contains_key("MANIFEST.new"), "operation {at}");
    }
    assert_eq!(
        actions,
        [
            "be created or locked",
            "list its files",
            "read MANIFEST",
            "open 000003.snapshot",
            "open 000002.wal",
            "open 000004.wal",
            "open 000005.wal",
            "open 000003.snapshot",
            "read 000003.snapshot",
            "open 000002.wal",
            "read 000002.wal",
            "open 000004.wal",
            "read 000004.wal",
            "open 000005.wal",
            "read 000005.wal",
            "open 000005.wal",
            "read 000005.wal",
            "shorten 000005.wal",
            "write and sync 000005.wal",
            "be written",
        ]
    );
}

/// A snapshot that is abandoned leaves two segments, and closing the store seals both: a lost end of either is damage.
#[test]
fn a_close_after_an_abandoned_snapshot_seals_both_segments() {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"1").unwrap();
    let mut writer = store.begin_snapshot().unwrap().unwrap();
    writer.start().unwrap();
    drop(writer);
    store.append(b"2").unwrap();
    store.close();
    drop(store);
    let (files, segments) = (disk.files(), disk.segments());
    assert_eq!(segments.len(), 2);
    for name in &segments {
        let mut torn = files.clone();
        torn.get_mut(name).unwrap().pop();
        let opened = open(&SimDisk::with(torn)).err();
        assert!(matches!(opened, Some(OpenError::Damaged { .. })), "{name}: {opened:?}");
    }
    assert_eq!(open(&disk).unwrap().1, [b"1", b"2"]);
}

/// The torn end of a segment takes all of the later ones along, and the report counts what is removed of each.
#[test]
fn a_cut_counts_what_it_removes_of_all_segments() {
    for lost in [1, 5, 32] {
        for later in [&[][..], &[2], &[2, 3], &[0, 2]] {
            let open_segment = |number| Segment { number, sealed: None };
            let last = 1 + later.len() as u64;
            let manifest = Manifest {
                id: 7,
                next_file: last + 1,
                snapshot: None,
                segments: (1..=last).map(open_segment).collect(),
            };
            let mut torn = older::file(FileKind::Log, 1, 7, 0, &[b"0", b"1"]);
            torn.truncate(torn.len() - lost);
            let mut files = vec![
                ("MANIFEST".to_owned(), manifest.encode().into_bytes()),
                ("000001.wal".to_owned(), torn),
            ];
            let mut first = 2;
            for (number, count) in (2..).zip(later) {
                let records = vec![&b"x"[..]; *count];
                let file = older::file(FileKind::Log, number, 7, first, &records);
                first += *count as u64;
                files.push((format!("{number:06}.wal"), file));
            }
            let disk = SimDisk::with(files);
            let (_, found, report) = open(&disk).unwrap();
            let cut = report.cut.unwrap();
            // A record of one byte has a header of 32 bytes.
            let (bytes, records) = (33 - lost as u64 + 33 * (first - 2), first - 2);
            let context = format!("{lost} bytes lost, later segments {later:?}");
            assert_eq!(
                (found.concat(), cut.file.as_str()),
                (b"0".to_vec(), "000001.wal"),
                "{context}"
            );
            assert_eq!(
                (cut.offset, cut.bytes, cut.records),
                (40 + 33, bytes, records),
                "{context}"
            );
            assert_eq!(open(&disk.after_kill()).unwrap().2.cut, None, "{context}");
        }
    }
}

/// A record of any later segment proves what was synced before it, whatever the segments behind that one contain.
#[test]
fn a_torn_end_is_damage_if_any_later_segment_proves_that_it_was_synced() {
    const ID: u64 = 7;
    let file = |number: u64, first: u64, synced: &[u64]| {
        let mut bytes = file_header(FileKind::Log, number, ID).to_vec();
        for (sequence, synced) in (first..).zip(synced) {
            let record = sequence.to_string().into_bytes();
            let header = RecordHeader {
                length: record.len() as u32,
                sequence,
                synced: *synced,
                hash: hash(&record, ID),
            };
            encode(header, &record, ID, &mut bytes);
        }
        bytes
    };
    // Record 1 is torn. What the later records say about it: their headers tell how many records were synced before them.
    for (later, is_damage) in [
        (&[&[][..], &[]][..], false),
        (&[&[1], &[1]], false),
        (&[&[2], &[2]], true),
        (&[&[2], &[]], true),
        (&[&[], &[2]], true),
        (&[&[1, 2], &[]], true),
        (&[&[1], &[2], &[]], true),
        (&[&[2], &[], &[]], true),
    ] {
        let count = 1 + later.len() as u64;
        let manifest = Manifest {
            id: ID,
            next_file: count + 1,
            snapshot: None,
            segments: (1..=count).map(|number| Segment { number, sealed: None }).collect(),
        };
        let mut torn = file(1, 0, &[0, 0]);
        torn.truncate(torn.len() - 1);
        let mut files = vec![
            ("MANIFEST".to_owned(), manifest.encode().into_bytes()),
            ("000001.wal".to_owned(), torn),
        ];
        let mut first = 2;
        for (number, synced) in (2..).zip(later) {
            files.push((format!("{number:06}.wal"), file(number, first, synced)));
            first += synced.len() as u64;
        }
        match open(&SimDisk::with(files)) {
            Ok((_, found, report)) => {
                let cut = report.cut.unwrap();
                assert!(!is_damage, "{later:?}");
                assert_eq!((found.concat(), cut.records), (b"0".to_vec(), first - 2), "{later:?}");
            }
            Err(OpenError::Damaged { file, offset, .. }) => {
                assert!(is_damage, "{later:?}");
                assert_eq!((file.as_str(), offset), ("000001.wal", 40 + 48), "{later:?}");
            }
            Err(other) => panic!("{later:?}: {other:?}"),
        }
    }
}

/// A directory that lacks its manifest is that of an empty store only if none of its files has a record.
#[test]
fn a_missing_manifest_is_damage_if_any_file_has_a_record() {
    let snapshot = |records: &[&[u8]]| ("000001.snapshot", older::file(FileKind::Snapshot, 1, 7, 0, records));
    let segment = |records: &[&[u8]]| ("000002.wal", older::file(FileKind::Log, 2, 7, 0, records));
    let later = |records: &[&[u8]]| ("000003.wal", older::file(FileKind::Log, 3, 7, 0, records));
    for (files, is_empty) in [
        (vec![], true),
        (vec![segment(&[])], true),
        (vec![snapshot(&[]), segment(&[]), later(&[])], true),
        (vec![segment(&[b"1"])], false),
        (vec![segment(&[]), later(&[b"1"])], false),
        (vec![snapshot(&[b"1"])], false),
        (vec![snapshot(&[b"1"]), segment(&[])], false),
        (vec![snapshot(&[]), segment(&[b"1"])], false),
    ] {
        let names: Vec<_> = files.iter().map(|(name, bytes)| (*name, bytes.len())).collect();
        let disk = SimDisk::with(files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)));
        let before = disk.files();
        match open(&disk) {
            Ok((_, found, _)) => assert!(is_empty && found.is_empty(), "{names:?}"),
            Err(OpenError::Damaged {
                file, offset, problem, ..
            }) => {
                assert!(!is_empty, "{names:?}");
                assert_eq!(
                    (file.as_str(), offset, problem.as_str()),
                    ("MANIFEST", 0, "the file is missing")
                );
                let mut after = disk.files();
                after.remove("LOCK");
                assert_eq!(after, before, "{names:?}");
            }
            Err(other) => panic!("{names:?}: {other:?}"),
        }
    }
    // A killed store whose only records are those of its snapshot.
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    store.append(b"record").unwrap();
    snapshot_of(&store);
    let mut files = disk.after_kill().files();
    files.remove("MANIFEST");
    assert!(matches!(
        open(&SimDisk::with(files)).err(),
        Some(OpenError::Damaged { .. })
    ));
}

fn snapshot_of(store: &crate::Store) {
    snapshot(store, &[b"record".to_vec()]).unwrap();
}
