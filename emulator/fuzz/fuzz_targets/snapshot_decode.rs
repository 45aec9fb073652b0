#![no_main]
//! Snapshots: no bytes panic, and bytes that are decoded are the encoding of the snapshot they decode to.

use dynatwin_engine::StateSnapshot;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // With the right checksum, what stands before it is looked at.
    let mut bytes = input.to_vec();
    let Some(end) = bytes.len().checked_sub(4) else { return };
    let checksum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(snapshot) = StateSnapshot::from_bytes(&bytes) {
        assert_eq!(snapshot.to_bytes(), bytes, "a snapshot has two encodings");
    }
});
