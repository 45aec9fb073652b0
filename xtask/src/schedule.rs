//! Runs the steps of `cargo xtask test`, as many at a time as there are processors. Each is a process of its own, whose
//! output is shown as a whole when it ends.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Instant;
use std::{env, iter, thread};

use crate::shell::{self, Outcome};
use crate::test::{Counts, Extent, of_ours};

/// A step of the test run.
pub struct Step {
    /// The name on the command line and in the report.
    pub name: &'static str,
    /// Whether it runs only with `--all`.
    pub nightly: bool,
    after: &'static [&'static str],
    run: fn(Extent) -> Outcome<Counts>,
}

impl Step {
    /// A step that runs for each change, after the steps named in `after`.
    pub const fn each(name: &'static str, after: &'static [&'static str], run: fn(Extent) -> Outcome<Counts>) -> Step {
        Step {
            name,
            nightly: false,
            after,
            run,
        }
    }

    /// A step that runs only with `--all`.
    pub const fn nightly(
        name: &'static str,
        after: &'static [&'static str],
        run: fn(Extent) -> Outcome<Counts>,
    ) -> Step {
        Step {
            name,
            nightly: true,
            after,
            run,
        }
    }
}

/// Runs the steps and prints a line for each and the sum. A step that fails stops no other.
pub fn run(steps: &[&'static Step], extent: Extent) -> Outcome<Counts> {
    let counts = match steps {
        [step] => {
            let (line, counts) = run_here(step, extent);
            println!("\n{line}");
            counts
        }
        _ => run_as_processes(steps, extent)?,
    };
    println!("{counts}");
    Ok(counts)
}

fn run_here(step: &Step, extent: Extent) -> (String, Counts) {
    let start = Instant::now();
    let (counts, result) = match (step.run)(extent) {
        Ok(counts) => (counts, counts.to_string()),
        Err(sentence) => (Counts { passed: 0, failed: 1 }, format!("could not run: {sentence}")),
    };
    let mut line = format!("{:12} {:6.1} s", step.name, start.elapsed().as_secs_f64());
    if let Some(seconds) = processor_seconds() {
        let _ = write!(line, " {seconds:6.1} s CPU");
    }
    (format!("{line}  {}", result.replace('\n', " ")), counts)
}

fn run_as_processes(steps: &[&'static Step], extent: Extent) -> Outcome<Counts> {
    let folder = shell::root().join("target/test");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = copy_of_this_program(&folder)?;
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let mut waiting: Vec<&'static Step> = steps.to_vec();
    let mut running: Vec<&'static str> = Vec::new();
    let (mut sum, mut lines, mut failures) = (Counts::default(), Vec::new(), Vec::new());
    let (sender, ended) = channel();
    loop {
        while running.len() < most
            && let Some(at) = next(&waiting, &running)
        {
            let name = waiting.remove(at).name;
            println!("── {name} starts");
            running.push(name);
            let (sender, program) = (sender.clone(), program.clone());
            let log = folder.join(format!("{}.log", name.replace(' ', "-")));
            thread::spawn(move || sender.send((name, run_process(&program, name, extent, log))));
        }
        if running.is_empty() {
            break;
        }
        let (name, outcome) = ended.recv().map_err(|error| error.to_string())?;
        running.retain(|running| *running != name);
        let (output, line, counts) = outcome.unwrap_or_else(|sentence| {
            let line = format!("{name:12} could not run: {sentence}");
            (String::new(), line, Counts { passed: 0, failed: 1 })
        });
        println!("\n── {name}\n{output}\n── {line}");
        if counts.failed > 0 {
            failures.extend(lines_about_failures(&output).map(|line| format!("{name}: {line}")));
        }
        sum.add(counts);
        lines.push(line);
    }
    // Repeated at the end, where the log of a CI service is read.
    for failure in failures.iter().take(MOST_FAILURES) {
        println!("{failure}");
    }
    println!("\n{}", lines.join("\n"));
    Ok(sum)
}

/// The most lines about failures that are repeated at the end.
const MOST_FAILURES: usize = 100;

/// The lines of test runners' output that name a failing test, or the place of a panic and the first line of its message.
fn lines_about_failures(output: &str) -> impl Iterator<Item = &str> {
    let previous = iter::once("").chain(output.lines());
    let lines = previous.zip(output.lines());
    lines
        .filter(|(previous, line)| is_panic(previous) || is_panic(line) || names_a_failing_test(line))
        .map(|(_, line)| line)
}

fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

fn names_a_failing_test(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("test ") && line.ends_with(" ... FAILED"))
        || ["not ok ", "FAILED ", "ERROR ", "--- FAIL: ", "error: ", "error["]
            .iter()
            .any(|start| line.starts_with(start))
}

/// The first step whose predecessors have all finished.
fn next(waiting: &[&Step], running: &[&str]) -> Option<usize> {
    let is_open = |name: &&str| running.contains(name) || waiting.iter().any(|step| step.name == *name);
    waiting.iter().position(|step| !step.after.iter().any(is_open))
}

/// Copies this program into a folder: the step that builds the workspace may replace the original.
fn copy_of_this_program(folder: &Path) -> Outcome<PathBuf> {
    let copy = folder.join(format!("xtask{}", env::consts::EXE_SUFFIX));
    let copied = fs::remove_file(&copy)
        .or_else(|error| {
            if error.kind() == ErrorKind::NotFound {
                Ok(())
            } else {
                Err(error)
            }
        })
        .and_then(|()| fs::copy(env::current_exe()?, &copy));
    copied
        .map(|_| copy.clone())
        .map_err(|error| format!("{}: {error}", copy.display()))
}

/// Runs one step as `xtask test STEP`, and returns its output, its summary line and its counts.
fn run_process(program: &Path, name: &str, extent: Extent, log: PathBuf) -> Outcome<(String, String, Counts)> {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = File::create(&log).map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("test").args((extent == Extent::All).then_some("--all"));
    command.arg(name).stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(failed)?).stderr(file);
    let status = command.status().map_err(failed)?;
    let text = fs::read(&log).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    summed_up(&text).ok_or_else(|| format!("{text}\n{status}"))
}

/// Splits the output of a step into the output proper, its summary line, and the counts of the last line.
fn summed_up(text: &str) -> Option<(String, String, Counts)> {
    let (rest, counts) = text.trim_end().rsplit_once('\n')?;
    let (output, line) = rest.rsplit_once('\n')?;
    Some((output.trim_end().to_owned(), line.to_owned(), of_ours(counts)?))
}

/// The processor time of this process and its children, on systems with `/proc`.
fn processor_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    // The state is the third field of proc(5); utime, stime, cutime and cstime are the 14th to 17th.
    let ticks = fields.split(' ').skip(11).take(4).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<Result<u64, _>>().ok()?;
    Some(ticks as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_for_those_before_it() {
        let none = |_| Ok(Counts::default());
        let (first, second) = (Step::each("first", &[], none), Step::each("second", &["first"], none));
        let third = Step::nightly("third", &["absent"], none);
        assert_eq!(next(&[&second, &first, &third], &[]), Some(1));
        assert_eq!(next(&[&second, &third], &["first"]), Some(1));
        assert_eq!(next(&[&second], &["first"]), None);
        assert_eq!(next(&[&second], &[]), Some(0));
        assert_eq!(next(&[], &[]), None);
    }

    #[test]
    fn failures_are_repeated_with_their_places() {
        let output = "\
test items::a_put_is_read ... ok
test items::a_put_is_read_again ... FAILED
thread 'items::a_put_is_read_again' (12) panicked at tests/it/items.rs:3:5:
assertion `left == right` failed
  left: 1
error: test failed, to rerun pass `--test it`
ok 2 - a get is answered
    not ok 3 - a put is read
# fail 1
FAILED tests/test_twin.py::test_put - AssertionError
--- FAIL: TestPut (0.02s)
FAILED";
        let expected = "\
test items::a_put_is_read_again ... FAILED
thread 'items::a_put_is_read_again' (12) panicked at tests/it/items.rs:3:5:
assertion `left == right` failed
error: test failed, to rerun pass `--test it`
    not ok 3 - a put is read
FAILED tests/test_twin.py::test_put - AssertionError
--- FAIL: TestPut (0.02s)";
        assert_eq!(lines_about_failures(output).collect::<Vec<_>>().join("\n"), expected);
    }

    #[test]
    fn the_last_two_lines_are_the_summary() {
        let (output, line, counts) = summed_up("a\nb\n\nnode 1.0 s\n3 passed, 1 failed\n").unwrap();
        assert_eq!((output.as_str(), line.as_str()), ("a\nb", "node 1.0 s"));
        assert_eq!(counts, Counts { passed: 3, failed: 1 });
        assert_eq!(summed_up("killed\n"), None);
        assert_eq!(summed_up("a\nb\nc\n"), None);
    }
}
