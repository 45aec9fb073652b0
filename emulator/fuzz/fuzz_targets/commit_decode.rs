#![no_main]
//! Commits: whatever bytes are decoded, they are the encoding of what they decode to.

use dynatwin_engine::commits::Commit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(commit) = Commit::decode(input) {
        let mut encoded = Vec::new();
        commit.encode(&mut encoded);
        assert_eq!(encoded, input, "a commit has two encodings");
    }
});
