//! The report of a run: the matrix of scenarios, cases and targets, for people and for machines.

mod html;
mod junit;

use std::fmt::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::Failure;

/// The group of the scenarios; cases have their file's name.
pub const SCENARIOS: &str = "scenarios";

/// The name of the entry of a target that did not start.
pub const NOT_STARTED: &str = "(start)";

/// The result of a scenario or case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestStatus {
    /// The answers are those of AWS.
    Passed,
    /// The scenario failed, or an answer differs from AWS and the difference is not known.
    Failed(Failure),
    /// The answer differs from AWS in a known way; with the reason.
    Known(String),
    /// It did not run; with the reason.
    Skipped(String),
}

impl TestStatus {
    /// Whether the target's answer differs from AWS's.
    pub(crate) fn differs(&self) -> bool {
        matches!(self, TestStatus::Known(_)) || matches!(self, TestStatus::Failed(_))
    }

    const fn word(&self) -> &'static str {
        match self {
            TestStatus::Passed => "ok",
            TestStatus::Failed(_) => "FAILED",
            TestStatus::Known(_) => "known",
            TestStatus::Skipped(_) => "skipped",
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            TestStatus::Passed => None,
            TestStatus::Failed(failure) => Some(failure.to_string()),
            TestStatus::Known(why) | TestStatus::Skipped(why) => Some(why.clone()),
        }
    }
}

/// A request with AWS's answer and the target's.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The operation's name in the API.
    pub operation: String,
    /// The request as it is in the case.
    pub request: Value,
    /// The answer that AWS gives.
    pub expected: String,
    /// The source of the expected answer.
    pub evidence: String,
    /// The target's answer, or why there is none.
    pub answered: String,
}

/// One scenario or case on one target.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name of the target, such as `dynamodb-local`.
    pub target: String,
    /// [`SCENARIOS`], or a file of cases.
    pub group: String,
    /// The name of the scenario or case.
    pub name: String,
    /// The result of the run on this target.
    pub status: TestStatus,
    /// The wall time of the run.
    pub elapsed: Duration,
    /// The request and both answers, if they differ.
    pub exchange: Option<Exchange>,
}

impl Entry {
    /// Returns `group/name`, which known differences refer to.
    pub fn id(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    fn cell(&self) -> String {
        format!("{} {} ms", self.status.word(), self.elapsed.as_millis())
    }

    fn to_json(&self) -> Value {
        let exchange = self.exchange.as_ref().map(|exchange| {
            json!({
                "operation": exchange.operation,
                "request": exchange.request,
                "expected": exchange.expected,
                "evidence": exchange.evidence,
                "answered": exchange.answered,
            })
        });
        json!({
            "target": self.target,
            "group": self.group,
            "name": self.name,
            "status": self.status.word().to_lowercase(),
            "detail": self.status.detail(),
            "milliseconds": self.elapsed.as_secs_f64() * 1000.0,
            "exchange": exchange,
        })
    }
}

/// One line of progress, and more if it failed.
impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.group == SCENARIOS {
            self.name.clone()
        } else {
            self.id()
        };
        write!(formatter, "{:<16} {name:<22} {}", self.target, self.cell())?;
        if !matches!(self.status, TestStatus::Passed | TestStatus::Known(_))
            && let Some(detail) = self.status.detail()
        {
            write!(formatter, "\n    {detail}")?;
        }
        match &self.exchange {
            Some(exchange) if matches!(self.status, TestStatus::Failed(_)) => write!(
                formatter,
                "\n    {} {}\n    AWS      {}\n    answered {}",
                exchange.operation, exchange.request, exchange.expected, exchange.answered
            ),
            _ => Ok(()),
        }
    }
}

/// The numbers of passed, failed, known and skipped entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Results that agree with AWS.
    pub passed: usize,
    /// Results that differ from AWS in a way that is not known.
    pub failed: usize,
    /// Results that differ from AWS in a known way.
    pub known: usize,
    /// Cases and scenarios that did not run.
    pub skipped: usize,
}

impl Counts {
    fn of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Counts {
        let mut counts = Counts::default();
        for entry in entries {
            *match entry.status {
                TestStatus::Passed => &mut counts.passed,
                TestStatus::Failed(_) => &mut counts.failed,
                TestStatus::Known(_) => &mut counts.known,
                TestStatus::Skipped(_) => &mut counts.skipped,
            } += 1;
        }
        counts
    }
}

/// Formatted like `41 ok, 20 known`.
impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ok", self.passed)?;
        for (count, word) in [
            (self.failed, "FAILED"),
            (self.known, "known"),
            (self.skipped, "skipped"),
        ] {
            if count > 0 {
                write!(formatter, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}

/// The report of a run. Its display is the matrix, ending with the line `N passed, N failed`.
///
/// ```
/// use dynatwin_conformance::report::{Entry, Report, SCENARIOS, TestStatus};
///
/// let mut report = Report::new(7);
/// report.add(Entry {
///     target: "in-process".to_owned(),
///     group: SCENARIOS.to_owned(),
///     name: "task_board".to_owned(),
///     status: TestStatus::Passed,
///     elapsed: std::time::Duration::from_millis(12),
///     exchange: None,
/// });
/// assert!(report.to_string().ends_with("1 passed, 0 failed\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    seed: u64,
    entries: Vec<Entry>,
    times: Vec<(String, Duration)>,
}

impl Report {
    /// An empty report of a run with this seed.
    pub fn new(seed: u64) -> Report {
        Report {
            seed,
            entries: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Adds the result of a scenario or case on a target.
    pub fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Records the time that a target took, including its start.
    pub fn took(&mut self, target: String, time: Duration) {
        self.times.push((target, time));
    }

    /// All entries, in the order of the run.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The numbers of results by status.
    pub fn counts(&self) -> Counts {
        Counts::of(self.entries.iter())
    }

    /// Returns the report as JSON, for other programs.
    pub fn to_json(&self) -> Value {
        let counts = self.counts();
        json!({
            "seed": self.seed,
            "passed": counts.passed,
            "failed": counts.failed,
            "known": counts.known,
            "skipped": counts.skipped,
            "targets": self.times.iter().map(|(target, time)| json!({
                "target": target, "seconds": time.as_secs_f64(),
            })).collect::<Vec<_>>(),
            "entries": self.entries.iter().map(Entry::to_json).collect::<Vec<_>>(),
        })
    }

    /// The report as JUnit's XML, a suite for each target.
    pub fn to_junit(&self) -> String {
        junit::write(self)
    }

    /// The report as one self-contained HTML page.
    pub fn to_html(&self) -> String {
        html::write(self)
    }

    fn targets(&self) -> Vec<&str> {
        first_seen(self.entries.iter().map(|entry| entry.target.as_str()))
    }

    fn groups(&self) -> Vec<&str> {
        first_seen(self.entries.iter().map(|entry| entry.group.as_str()))
    }

    fn names(&self, group: &str) -> Vec<&str> {
        let entries = self.entries.iter().filter(|entry| entry.group == group);
        first_seen(entries.map(|entry| entry.name.as_str()))
    }

    fn of_target<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.target == target)
    }

    fn time(&self, target: &str) -> Duration {
        let time = self.times.iter().find(|(name, _)| name == target);
        time.map_or_else(
            || self.of_target(target).map(|entry| entry.elapsed).sum(),
            |(_, time)| *time,
        )
    }

    /// A row of the matrix: a scenario or a file of cases.
    fn row(&self, first: &str, cell: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let targets = self.targets();
        let cells = targets
            .iter()
            .map(|target| cell(target).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(first.to_owned()).chain(cells).collect()
    }

    /// The matrix as rows of cells, the header first and the times last.
    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![self.row("", |target| Some(target.to_owned()))];
        for scenario in self.names(SCENARIOS) {
            rows.push(self.row(scenario, |target| {
                let mut entries = self.of_target(target);
                let entry = entries.find(|entry| entry.group == SCENARIOS && entry.name == scenario)?;
                Some(entry.cell())
            }));
        }
        for group in self.groups().into_iter().filter(|group| *group != SCENARIOS) {
            rows.push(self.row(group, |target| {
                let counts = Counts::of(self.of_target(target).filter(|entry| entry.group == group));
                (counts != Counts::default()).then(|| counts.to_string())
            }));
        }
        rows.push(self.row("time", |target| {
            Some(format!("{:.1} s", self.time(target).as_secs_f64()))
        }));
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
        let counts = self.counts();
        writeln!(formatter, "\nseed {}", self.seed)?;
        if counts.known > 0 || counts.skipped > 0 {
            writeln!(
                formatter,
                "{} known differences, {} skipped",
                counts.known, counts.skipped
            )?;
        }
        writeln!(formatter, "{} passed, {} failed", counts.passed, counts.failed)
    }
}

fn first_seen<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Report {
        let mut report = Report::new(7);
        for (target, group, name, status) in [
            ("one", SCENARIOS, "a", TestStatus::Passed),
            (
                "one",
                SCENARIOS,
                "b",
                TestStatus::Failed(Failure::new("no <b> & \"c\"")),
            ),
            ("one", "values", "x", TestStatus::Passed),
            ("another", SCENARIOS, "a", TestStatus::Skipped("not here".to_owned())),
            ("another", "values", "x", TestStatus::Known("It is older.".to_owned())),
        ] {
            let differs = status.differs() && group != SCENARIOS;
            report.add(Entry {
                target: target.to_owned(),
                group: group.to_owned(),
                name: name.to_owned(),
                status,
                elapsed: Duration::from_millis(5),
                exchange: differs.then(|| Exchange {
                    operation: "GetItem".to_owned(),
                    request: json!({"TableName": "<t>"}),
                    expected: "200 {}".to_owned(),
                    evidence: "a page".to_owned(),
                    answered: "E: no".to_owned(),
                }),
            });
        }
        report.took("one".to_owned(), Duration::from_secs(2));
        report
    }

    #[test]
    fn the_matrix() {
        let report = sample();
        assert_eq!(
            report.to_string(),
            "        one          another\n\
             a       ok 5 ms      skipped 5 ms\n\
             b       FAILED 5 ms  -\n\
             values  1 ok         0 ok, 1 known\n\
             time    2.0 s        0.0 s\n\
             \n\
             seed 7\n\
             1 known differences, 1 skipped\n\
             2 passed, 1 failed\n"
        );
        assert_eq!(report.to_json()["entries"][1]["detail"], "no <b> & \"c\"");
        assert_eq!(report.to_json()["entries"][4]["exchange"]["answered"], "E: no");
    }
}
