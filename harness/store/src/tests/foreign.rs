//! Files of other programs in the directory of a store.

use std::collections::BTreeMap;

use super::{open, record, snapshot};
use crate::format::{FileKind, file_header};
use crate::sim::SimDisk;

/// The content of a segment of another store.
fn of_another_store(number: u64) -> Vec<u8> {
    file_header(FileKind::Log, number, 5)
        .into_iter()
        .chain(record(1, 70))
        .collect()
}

/// Files that have names as those of a store and no header of it.
fn foreign() -> [(&'static str, Vec<u8>); 9] {
    [
        ("000002.wal", b"short".to_vec()),
        ("000003.wal", record(3, 4096)),
        ("000003.snapshot", record(4, 41)),
        ("000004.wal", of_another_store(4)),
        ("000005.wal", [vec![0; 40], record(5, 9)].concat()),
        ("000007.snapshot", record(7, 40)),
        ("0000001.wal", record(9, 600)),
        ("18446744073709551615.wal", record(10, 600)),
        ("99999999999999999999999.snapshot", record(11, 600)),
    ]
}

/// They are neither removed nor overwritten, and the store works beside them.
#[test]
fn files_of_other_programs_are_left() {
    let disk = SimDisk::new();
    drop(open(&disk).unwrap());
    let foreign: BTreeMap<_, _> = foreign().map(|(name, bytes)| (name.to_owned(), bytes)).into();
    let files = disk.files().into_iter().chain(foreign.clone());
    let disk = SimDisk::with(files);
    let mut written = Vec::new();
    for round in 0..4 {
        let (store, found, _) = open(&disk).unwrap();
        assert_eq!(found, written, "round {round}");
        let added = record(100 + round, 50);
        store.append(&added).unwrap();
        written.push(added);
        snapshot(&store, &written).unwrap();
        store.append(b"after").unwrap();
        written.push(b"after".to_vec());
        store.close();
        drop(store);
        let files = disk.files();
        for (name, bytes) in &foreign {
            assert_eq!(files.get(name), Some(bytes), "round {round}: {name}");
        }
    }
    assert_eq!(
        disk.files().len(),
        foreign.len() + 3,
        "the manifest, the snapshot and the log remain"
    );
}

/// Whichever number a new file would get, it replaces none of another program: neither of its own kind nor of the other.
#[test]
fn new_files_get_numbers_that_no_file_has() {
    for suffix in ["wal", "snapshot"] {
        for number in 2..=8 {
            let name = format!("{number:06}.{suffix}");
            let disk = SimDisk::new();
            drop(open(&disk).unwrap());
            let foreign = (name.clone(), record(number, 600));
            let disk = SimDisk::with(disk.files().into_iter().chain([foreign]));
            let (store, ..) = open(&disk).unwrap();
            let mut written = Vec::new();
            for round in 0..4 {
                written.push(record(100 + round, 50));
                store.append(written.last().unwrap()).unwrap();
                snapshot(&store, &written).unwrap();
            }
            drop(store);
            assert_eq!(disk.files().get(&name), Some(&record(number, 600)), "{name}");
            let (_, found, _) = open(&disk).unwrap();
            assert_eq!(found, written, "{name}");
        }
    }
}

/// A directory without a manifest that has files of another program is not made one of a store.
#[test]
fn a_store_is_not_created_among_files_of_other_programs() {
    let own = file_header(FileKind::Log, 1, 9);
    let missing = "sim/MANIFEST is damaged at byte 0: the file is missing. Nothing was changed; restore the directory from a copy";
    for (name, bytes, refused) in [
        ("000001.wal", b"short".to_vec(), None),
        ("000001.wal", record(1, 4096), None),
        ("000001.snapshot", record(1, 40), None),
        ("000009.wal", [vec![0; 40], record(5, 9)].concat(), None),
        (
            "000001.wal",
            own.into_iter().chain(record(1, 70)).collect(),
            Some(missing),
        ),
    ] {
        let disk = SimDisk::with([(name.to_owned(), bytes.clone())]);
        let before = disk.files();
        let foreign = format!(
            "sim/{name} was not written by this store. Nothing was changed; move the file elsewhere, or choose another directory"
        );
        let error = open(&disk).err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some(refused.unwrap_or(&foreign)),
            "{name}, {} bytes",
            bytes.len()
        );
        assert_eq!(disk.files(), before, "{name}");
    }
}

/// A crash leaves a file without records: before the first manifest, or before the manifest that lists it.
#[test]
fn files_whose_creation_was_interrupted_are_removed() {
    let header = file_header(FileKind::Log, 9, 9).to_vec();
    for has_store in [false, true] {
        for content in [
            vec![],
            vec![0; 7],
            vec![0; 40],
            header[..5].to_vec(),
            header[..30].to_vec(),
            header.clone(),
        ] {
            let disk = SimDisk::new();
            if has_store {
                drop(open(&disk).unwrap());
            }
            let mut files = disk.files();
            files.insert("000009.wal".into(), content.clone());
            let disk = SimDisk::with(files);
            drop(open(&disk).unwrap());
            drop(open(&disk).unwrap());
            assert_eq!(disk.segments().len(), 1, "{has_store}, {content:?}");
            assert!(!disk.files().contains_key("000009.wal"), "{has_store}, {content:?}");
        }
    }
}
