//! `cargo xtask fuzz`: coverage-guided fuzzing of the engine, from the tests' cases, the named
//! histories of `emulator/fuzz/regressions.txt`, and what earlier runs have found.

use std::path::PathBuf;

use crate::shell::{self, Outcome, cargo, command, find, run};

/// As long as the step of `cargo xtask test` takes; an hour is for a release.
pub const SHORT: u64 = 30;

/// What bounds an input: none takes longer, none leaves more behind than this, and no allocation is larger.
const BOUNDS: [&str; 4] = [
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=512",
    "-max_len=8192",
];

/// Fuzzes for so many seconds. An input that fails is left in `emulator/fuzz/artifacts`.
pub fn run_for(seconds: u64) -> Outcome<()> {
    let corpus = corpus();
    let manifest = "emulator/fuzz/Cargo.toml";
    let words = [
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        manifest,
        "--bin",
        "seeds",
        "--",
    ];
    run(cargo().args(words).arg(&corpus))?;
    if find("cargo-fuzz").is_none() {
        run(cargo().args(["install", "--locked", "--quiet", "cargo-fuzz"]))?;
    }
    // The engine has no unsafe code, so an address sanitizer has little to find; without one, the stable toolchain does.
    let mut fuzz = command("cargo", "emulator");
    fuzz.args(["fuzz", "run", "--sanitizer", "none", "dispatch"]);
    run(fuzz
        .arg(&corpus)
        .arg("--")
        .args(BOUNDS)
        .args(["-print_final_stats=1", "-verbosity=0", "-close_fd_mask=0"])
        .arg(format!("-max_total_time={seconds}")))
}

/// Keeps of the corpus the fewest inputs that cover the same.
pub fn shrink() -> Outcome<()> {
    let mut shrink = command("cargo", "emulator");
    shrink.args(["fuzz", "cmin", "--sanitizer", "none", "dispatch"]);
    run(shrink.arg(corpus()))
}

/// A cache: what runs have found, beside the cases and the named histories.
fn corpus() -> PathBuf {
    shell::root().join("target/fuzz-corpus")
}
