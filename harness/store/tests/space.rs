//! The space that a directory takes on the disk.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use dynatwin_store::{Directory, Store};

/// The bytes that the files of a directory take, the reserved ones too.
fn taken(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
}

/// A megabyte is reserved for buffered records. A segment that is complete has only its records.
#[test]
fn reserved_space_is_returned_when_a_segment_is_complete() {
    let directory = std::env::temp_dir().join(format!("dynatwin-store-space-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    for ends in ["close", "snapshot"] {
        let (store, _) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ()).unwrap();
        store.buffer(b"record").unwrap();
        let reserved = taken(&directory);
        if reserved < 1024 * 1024 {
            // The file system cannot reserve space.
            break;
        }
        if ends == "close" {
            store.close();
        } else {
            store.begin_snapshot().unwrap().unwrap().start().unwrap();
        }
        let left = taken(&directory);
        assert!(left < 128 * 1024, "{ends}: {left} of {reserved} bytes");
    }
    fs::remove_dir_all(&directory).unwrap();
}
