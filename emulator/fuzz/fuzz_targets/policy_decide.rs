#![no_main]
//! Policy sets: the engine's decision is that of a naive second evaluator.

use dynatwin_fuzz::policies;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| policies::compare(input));
