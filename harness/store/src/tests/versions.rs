//! Files of other format versions.

use std::fs;
use std::path::Path;

use super::{open, snapshot};
use crate::error::OpenError;
use crate::format::{FileKind, older};
use crate::manifest::{Manifest, Sealed, Segment, SnapshotFile};
use crate::sim::SimDisk;

/// A store as an older release could have left it, killed while it wrote.
fn older_store() -> SimDisk {
    let id = 77;
    let snapshot = older::file(FileKind::Snapshot, 2, id, 0, &[b"one", b"two"]);
    let sealed = older::file(FileKind::Log, 3, id, 2, &[b"three"]);
    let mut open = older::file(FileKind::Log, 4, id, 3, &[b"four", b"five", b"cut"]);
    open.truncate(open.len() - 1);
    let manifest = Manifest {
        id,
        next_file: 5,
        snapshot: Some(SnapshotFile {
            number: 2,
            next: 2,
            records: 2,
            length: snapshot.len() as u64,
        }),
        segments: vec![
            Segment {
                number: 3,
                sealed: Some(Sealed {
                    first: 2,
                    next: 3,
                    length: sealed.len() as u64,
                }),
            },
            Segment {
                number: 4,
                sealed: None,
            },
        ],
    };
    SimDisk::with([
        ("000002.snapshot".to_owned(), snapshot),
        ("000003.wal".to_owned(), sealed),
        ("000004.wal".to_owned(), open),
        ("MANIFEST".to_owned(), manifest.encode().into_bytes()),
    ])
}

/// The format versions of all files.
fn versions(disk: &SimDisk) -> Vec<u8> {
    let files = disk.files();
    let data = files.iter().filter(|(name, _)| *name != "MANIFEST");
    data.map(|(_, bytes)| bytes[8]).collect()
}

#[test]
fn an_older_format_is_read_appended_to_and_replaced() {
    let disk = older_store();
    let (store, found, report) = open(&disk).unwrap();
    assert_eq!(found.concat(), b"onetwothreefourfive");
    assert_eq!(report.cut.unwrap().file, "000004.wal");
    store.append(b"six").unwrap();
    assert_eq!(
        versions(&disk),
        [0, 0, 0, 1],
        "new records go to a segment of the present format"
    );
    drop(store);
    let (store, found, _) = open(&disk).unwrap();
    assert_eq!(found.concat(), b"onetwothreefourfivesix");
    snapshot(&store, &found).unwrap();
    assert_eq!(versions(&disk), [1, 1], "a snapshot replaces all older files");
    drop(store);
    assert_eq!(open(&disk).unwrap().1, found);
}

#[test]
fn damage_of_an_older_format_is_found() {
    let files = older_store().files();
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "000004.wal") {
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            let mut bad_files = files.clone();
            bad_files.insert(name.clone(), bad);
            assert!(
                matches!(open(&SimDisk::with(bad_files)).err(), Some(OpenError::Damaged { .. })),
                "{name}, byte {at}"
            );
        }
    }
}

#[test]
fn a_newer_format_is_refused() {
    let mut files = older_store().files();
    files.insert("000003.wal".into(), newer_file());
    let length = newer_file().len() as u64;
    let mut manifest = Manifest::decode(&files["MANIFEST"]).unwrap();
    manifest.segments[0].sealed.as_mut().unwrap().length = length;
    files.insert("MANIFEST".into(), manifest.encode().into_bytes());
    assert_eq!(
        open(&SimDisk::with(files)).err().unwrap().to_string(),
        "sim/000003.wal has format 9, which this version does not read: use a newer one"
    );
}

fn newer_file() -> Vec<u8> {
    let mut header = crate::format::file_header(FileKind::Log, 3, 77);
    header[8] = 9;
    let hash = twox_hash::XxHash3_64::oneshot(&header[..32]);
    header[32..].copy_from_slice(&hash.to_le_bytes());
    header.to_vec()
}

/// A directory that format 1 wrote, kept byte for byte: all later versions must read it.
#[test]
fn the_first_format_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    let files = fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    let (_, found, report) = open(&SimDisk::with(files)).unwrap();
    assert_eq!(found.concat(), b"one two three four five ");
    assert_eq!((report.snapshot_records, report.log_records, report.cut), (2, 3, None));
}
