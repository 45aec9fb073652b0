#![no_main]
//! Histories of requests: no panic, no hang, and every answer is well-formed.

use dynatwin_fuzz::history;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| history::run(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if !seed.is_multiple_of(4)
        && let Some(changed) = history::mutate(&data[..size], seed, &history::REQUEST)
        && changed.len() <= max_size
    {
        data[..changed.len()].copy_from_slice(&changed);
        return changed.len();
    }
    fuzzer_mutate(data, size, max_size)
});
