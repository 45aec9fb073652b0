#![no_main]
//! Policy documents: no text panics, and none allows what no statement allows.

use dynatwin_fuzz::{history, policies};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| policies::check(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if !seed.is_multiple_of(3)
        && let Some(changed) = history::mutate(&data[..size], seed, &history::POLICY)
        && changed.len() <= max_size
    {
        data[..changed.len()].copy_from_slice(&changed);
        return changed.len();
    }
    fuzzer_mutate(data, size, max_size)
});
