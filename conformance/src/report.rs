//! What a run came to: the matrix of scenarios and targets.

use std::fmt::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::{Failure, Outcome};
use crate::scenario::Scenario;
use crate::target::Kind;

/// One scenario on one target.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The target's name.
    pub target: String,
    /// The scenario's name.
    pub scenario: &'static str,
    /// What it came to.
    pub outcome: Outcome,
    /// How long it took.
    pub elapsed: Duration,
}

impl Entry {
    pub(crate) fn not_started(kind: &Kind, scenario: &Scenario, failure: &Failure) -> Entry {
        Entry {
            target: kind.to_string(),
            scenario: scenario.name,
            outcome: Err(Failure::new(format!("the target did not start: {failure}"))),
            elapsed: Duration::ZERO,
        }
    }

    fn cell(&self) -> String {
        let word = if self.outcome.is_ok() { "ok" } else { "FAILED" };
        format!("{word} {} ms", self.elapsed.as_millis())
    }

    fn to_json(&self) -> Value {
        json!({
            "target": self.target,
            "scenario": self.scenario,
            "passed": self.outcome.is_ok(),
            "failure": self.outcome.as_ref().err().map(ToString::to_string),
            "milliseconds": self.elapsed.as_secs_f64() * 1000.0,
        })
    }
}

/// One line of progress.
impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:<16} {:<22} {}", self.target, self.scenario, self.cell())?;
        match &self.outcome {
            Ok(()) => Ok(()),
            Err(failure) => write!(formatter, "\n    {failure}"),
        }
    }
}

/// What a run came to. Shown, it is the matrix, and ends with the line `N passed, N failed`.
///
/// ```
/// use dynatwin_conformance::report::{Entry, Report};
///
/// let mut report = Report::new(7);
/// report.add(Entry {
///     target: "in-process".to_owned(),
///     scenario: "task_board",
///     outcome: Ok(()),
///     elapsed: std::time::Duration::from_millis(12),
/// });
/// assert!(report.to_string().ends_with("1 passed, 0 failed\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    seed: u64,
    entries: Vec<Entry>,
}

impl Report {
    /// An empty report of a run with this seed.
    pub fn new(seed: u64) -> Report {
        Report {
            seed,
            entries: Vec::new(),
        }
    }

    /// Adds what a scenario came to on a target.
    pub fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// All entries, in the order of the run.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many passed.
    pub fn passed(&self) -> usize {
        self.entries.iter().filter(|entry| entry.outcome.is_ok()).count()
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.entries.len() - self.passed()
    }

    /// The report for machines.
    pub fn to_json(&self) -> Value {
        json!({
            "seed": self.seed,
            "passed": self.passed(),
            "failed": self.failed(),
            "entries": self.entries.iter().map(Entry::to_json).collect::<Vec<_>>(),
        })
    }

    fn targets(&self) -> Vec<&str> {
        first_seen(self.entries.iter().map(|entry| entry.target.as_str()))
    }

    fn scenarios(&self) -> Vec<&str> {
        first_seen(self.entries.iter().map(|entry| entry.scenario))
    }

    fn cell(&self, scenario: &str, target: &str) -> String {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.scenario == scenario && entry.target == target);
        entry.map_or_else(|| "-".to_owned(), Entry::cell)
    }

    fn time(&self, target: &str) -> String {
        let entries = self.entries.iter().filter(|entry| entry.target == target);
        let time: Duration = entries.map(|entry| entry.elapsed).sum();
        format!("{:.2} s", time.as_secs_f64())
    }

    /// The matrix as rows of cells, the header first and the times last.
    fn rows(&self) -> Vec<Vec<String>> {
        let targets = self.targets();
        let row = |first: &str, cell: &dyn Fn(&str) -> String| {
            let cells = targets.iter().map(|target| cell(target));
            std::iter::once(first.to_owned()).chain(cells).collect::<Vec<_>>()
        };
        let mut rows = vec![row("scenario", &str::to_owned)];
        for scenario in self.scenarios() {
            rows.push(row(scenario, &|target| self.cell(scenario, target)));
        }
        rows.push(row("time", &|target| self.time(target)));
        rows
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                write!(line, "{cell:<width$}  ")?;
            }
            writeln!(formatter, "{}", line.trim_end())?;
        }
        writeln!(formatter, "\nseed {}", self.seed)?;
        writeln!(formatter, "{} passed, {} failed", self.passed(), self.failed())
    }
}

fn first_seen<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix() {
        let mut report = Report::new(7);
        for (target, scenario, outcome) in [
            ("one", "a", Ok(())),
            ("one", "b", Err(Failure::new("no"))),
            ("another", "a", Ok(())),
        ] {
            report.add(Entry {
                target: target.to_owned(),
                scenario,
                outcome,
                elapsed: Duration::from_millis(5),
            });
        }
        assert_eq!(
            report.to_string(),
            "scenario  one          another\n\
             a         ok 5 ms      ok 5 ms\n\
             b         FAILED 5 ms  -\n\
             time      0.01 s       0.01 s\n\
             \n\
             seed 7\n\
             2 passed, 1 failed\n"
        );
        assert_eq!(report.to_json()["entries"][1]["failure"], "no");
    }
}
