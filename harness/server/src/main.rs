//! The `dynatwin` binary.

mod memory;

use std::process::ExitCode;

/// jemalloc returns freed memory to the system within seconds, which glibc's allocator and mimalloc v3 do not do here.
///
/// Measured with 1,000,000 items of 200 bytes: the resident size after loading and 30 s after DeleteTable, the time of
/// DeleteTable, and the CPU time of loading.
///
/// | | loaded | deleted | DeleteTable | CPU of loading |
/// |---|---|---|---|---|
/// | glibc | 566 MB | 566 MB | 4.1 s | 6.7 s |
/// | mimalloc v3 | 592 MB | 592 MB | 2.7 s | 5.7 s |
/// | jemalloc | 555 MB | 21 MB | 1.5 s | 5.2 s |
///
/// `.cargo/config.toml` sets its options on Linux, such as the huge-page allocator: with it and without it, 500,000 items of 200 bytes
/// take 167 MB; 5 s after DeleteTable 16 MB are left with it, and 116 MB without.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let words = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned());
    dynatwin_server::run(words, memory::limit).into()
}
