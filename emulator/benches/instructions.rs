//! Instruction counts of `dispatch(request) -> Answer`, from callgrind: unlike wall time, they do not vary on a busy
//! machine.
//!
//! `cargo bench --bench instructions` compares the counts with `instructions.txt`, which they may exceed by 3%; with
//! `-- --save` it writes that file. Without valgrind it prints a note and counts nothing.

mod workload;

use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use workload::{OPERATIONS, Workload};

const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt");
/// Each item once: the second round finds every item as the first one left it.
const ROUND: u64 = 10_000;
const ALLOWED: f64 = 1.03;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, operation, count] = arguments.as_slice()
        && word == "--run"
    {
        let workload = Workload::new(operation);
        (0..count.parse().unwrap_or(0)).for_each(|number| drop(workload.run(number)));
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed: no instructions counted");
        return ExitCode::SUCCESS;
    }
    let baseline = std::fs::read_to_string(BASELINE).unwrap_or_default();
    let before = |operation: &str| {
        let line = baseline
            .lines()
            .find(|line| line.split_whitespace().next() == Some(operation))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let mut saved = String::new();
    let mut exceeded = false;
    for operation in OPERATIONS {
        // Loading is identical in both runs, so the difference is the operations'.
        let count = count(operation, 2 * ROUND).saturating_sub(count(operation, ROUND)) / ROUND;
        let share = before(operation).map(|before| count as f64 / before);
        let against = share.map_or_else(
            || "no baseline".to_owned(),
            |share| format!("{share:.3} of the baseline"),
        );
        println!("{operation:7} {count:>8} instructions  {against}");
        exceeded |= share.is_some_and(|share| share > ALLOWED);
        let _ = writeln!(saved, "{operation} {count}");
    }
    if arguments.iter().any(|word| word == "--save") {
        if let Err(error) = std::fs::write(BASELINE, saved) {
            println!("{BASELINE}: {error}");
            return ExitCode::FAILURE;
        }
        return ExitCode::SUCCESS;
    }
    if exceeded { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns the instructions of a whole run, loading included.
fn count(operation: &str, count: u64) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--run", operation, &count.to_string()])
        .output()
        .expect("valgrind runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text
        .lines()
        .find(|line| line.contains("Collected :"))
        .expect("callgrind prints what it collected");
    line.split(':')
        .nth(1)
        .and_then(|number| number.trim().parse().ok())
        .expect("a number")
}
