//! `cargo xtask fuzz`: coverage-guided fuzzing of the engine, starting from the tests' cases, the named histories of
//! `emulator/fuzz/regressions.txt` and the corpus of earlier runs; of the decoders of commits and snapshots; and of the
//! parser and the evaluator of policies.

use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome, cargo, command, find, run};

/// As long as the step of `cargo xtask test` takes; an hour is for a release.
pub const SHORT: u64 = 30;

/// Limits for each input: its time, the resident memory, the largest allocation, and its length.
const BOUNDS: [&str; 4] = [
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=512",
    "-max_len=8192",
];

/// Fuzzes the engine for this many seconds, and each decoder and the policies for a quarter of them. An input that
/// fails is left in `emulator/fuzz/artifacts`.
pub fn run_for(seconds: u64) -> Outcome<()> {
    let (commits, snapshots) = (corpus("fuzz-commits"), corpus("fuzz-snapshots"));
    let (policies, decisions) = (corpus("fuzz-policies"), corpus("fuzz-decisions"));
    std::fs::create_dir_all(&decisions).map_err(|error| error.to_string())?;
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
    run(cargo()
        .args(words)
        .args([&histories(), &commits, &snapshots, &policies]))?;
    if find("cargo-fuzz").is_none() {
        run(cargo().args(["install", "--locked", "--quiet", "cargo-fuzz"]))?;
    }
    fuzz("dispatch", &histories(), seconds)?;
    fuzz("commit_decode", &commits, seconds.div_ceil(4))?;
    fuzz("snapshot_decode", &snapshots, seconds.div_ceil(4))?;
    fuzz("policy_check", &policies, seconds.div_ceil(4))?;
    fuzz("policy_decide", &decisions, seconds.div_ceil(4))
}

fn fuzz(target: &str, corpus: &Path, seconds: u64) -> Outcome<()> {
    // The engine has no unsafe code, so an address sanitizer has little to find; without one, the stable toolchain does.
    let mut fuzz = command("cargo", "emulator");
    fuzz.args(["fuzz", "run", "--sanitizer", "none", target]);
    run(fuzz
        .arg(corpus)
        .arg("--")
        .args(BOUNDS)
        .args(["-print_final_stats=1", "-verbosity=0", "-close_fd_mask=0"])
        .arg(format!("-max_total_time={seconds}")))
}

/// Reduces the corpus to the fewest inputs with the same coverage.
pub fn shrink() -> Outcome<()> {
    let mut shrink = command("cargo", "emulator");
    shrink.args(["fuzz", "cmin", "--sanitizer", "none", "dispatch"]);
    run(shrink.arg(histories()))
}

/// The cache of inputs that earlier runs have found, in addition to the cases and the named histories.
fn histories() -> PathBuf {
    corpus("fuzz-corpus")
}

fn corpus(name: &str) -> PathBuf {
    shell::root().join("target").join(name)
}
