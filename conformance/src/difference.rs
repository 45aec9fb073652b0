//! Known differences: where another DynamoDB answers differently from AWS, with the reason for believing so.
//!
//! `known-differences.json` has three parts:
//!
//! - `reasons`: named explanations. `when` lists pairs of fragments: a reason fits a difference if AWS's answer contains the
//!   first fragment of a pair and the target's answer contains the second. The pair with the longest fragments decides.
//! - `rules`: by target and operation, the reasons that may explain a difference there.
//! - `exceptions`: single cases that no rule explains, with the target's answer and a reason.
//!
//! A difference that neither a rule nor an exception explains fails a run. So does an exception whose case answers as AWS, and,
//! in a run of everything, a rule that explained nothing. Where a target's answer changes from run to run, the exception's
//! answer is `varies`. Targets in [`REPORTED`] are only reported on: their differences never fail a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dynatwin_case::File;
use serde_json::{Map, Value, json};

use crate::check::{Failure, Outcome, ensure, present};
use crate::report::{Entry, NOT_STARTED, Report, SCENARIOS, TestStatus};
use crate::scenario;

/// Targets whose differences are reported and never fail a run.
pub const REPORTED: [&str; 2] = ["dynalite", "dynoxide"];

/// The rules and exceptions.
///
/// ```
/// use dynatwin_conformance::difference::{Differences, file};
///
/// assert!(Differences::read(&file()).is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Differences {
    reasons: BTreeMap<String, Reason>,
    rules: BTreeSet<Rule>,
    /// The exceptions by target and case.
    exceptions: BTreeMap<(String, String), Exception>,
}

#[derive(Clone, Debug, Default)]
struct Reason {
    text: String,
    /// Fragments of AWS's answer and of the target's answer.
    when: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    target: String,
    operation: String,
    reason: String,
}

#[derive(Clone, Debug)]
struct Exception {
    answered: String,
    /// The name of a reason, or an explanation.
    why: String,
}

/// One case's result on one target, as far as differences are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name of the target, such as `dynamodb-local`.
    pub target: &'a str,
    /// The case's id: group and name.
    pub case: &'a str,
    /// The operation; [`SCENARIOS`] for a scenario.
    pub operation: &'a str,
    /// The answer that AWS gives.
    pub expected: &'a str,
    /// The target's answer, or `None` if it is AWS's.
    pub answered: Option<&'a str>,
}

/// Replaces an answer that changes from run to run, and may be AWS's.
const VARIES: &str = "varies";

/// The default path of the list.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("known-differences.json")
}

impl Differences {
    /// Reads the list.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or an exception or rule has no reason.
    pub fn read(path: &Path) -> Outcome<Differences> {
        let differences = Differences::read_any(path)?;
        for ((target, case), exception) in &differences.exceptions {
            let reasoned = differences.reason(&exception.why).len() > 20;
            ensure(reasoned, format!("{}: {target}: {case} has no reason", path.display()))?;
        }
        for rule in &differences.rules {
            let known = differences.reasons.contains_key(&rule.reason);
            ensure(known, format!("{}: there is no reason {}", path.display(), rule.reason))?;
        }
        Ok(differences)
    }

    /// Reads the list, also if exceptions lack reasons.
    pub fn read_any(path: &Path) -> Outcome<Differences> {
        let wrong = |what: String| Failure::new(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let list: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut differences = Differences::default();
        for (name, reason) in members(&list["reasons"]) {
            differences.reasons.insert(name, Reason::read(&reason));
        }
        for (target, operations) in members(&list["rules"]) {
            for (operation, reasons) in members(&operations) {
                for reason in reasons.as_array().into_iter().flatten() {
                    differences.rules.insert(Rule {
                        target: target.clone(),
                        operation: operation.clone(),
                        reason: reason.as_str().unwrap_or_default().to_owned(),
                    });
                }
            }
        }
        for (target, cases) in members(&list["exceptions"]) {
            for entry in cases.as_array().into_iter().flatten() {
                let (case, exception) = Exception::read(entry).map_err(|failure| wrong(failure.to_string()))?;
                let place = (target.clone(), case.clone());
                let twice = differences.exceptions.insert(place, exception).is_some();
                ensure(!twice, format!("{case} is listed twice for {target}"))?;
            }
        }
        Ok(differences)
    }

    /// The text of a named reason, or the explanation itself.
    fn reason<'a>(&'a self, why: &'a str) -> &'a str {
        self.reasons.get(why).map_or(why, |reason| &reason.text)
    }

    /// The name of the reason that fits best among those that `allowed` accepts.
    fn fitting(&self, expected: &str, answered: &str, allowed: impl Fn(&str) -> bool) -> Option<&str> {
        let candidates = self.reasons.iter().filter(|(name, _)| allowed(name));
        let fitting = candidates.filter_map(|(name, reason)| Some((reason.fit(expected, answered)?, name)));
        fitting.max().map(|(_, name)| name.as_str())
    }

    /// The rule that explains a difference.
    fn rule(&self, subject: Subject<'_>) -> Option<Rule> {
        let rule = |reason: &str| Rule {
            target: subject.target.to_owned(),
            operation: subject.operation.to_owned(),
            reason: reason.to_owned(),
        };
        let allowed = |reason: &str| self.rules.contains(&rule(reason));
        self.fitting(subject.expected, subject.answered?, allowed).map(rule)
    }

    /// The status of one case: passed, known to differ, or failed.
    pub fn judge(&self, subject: Subject<'_>) -> TestStatus {
        let exception = self
            .exceptions
            .get(&(subject.target.to_owned(), subject.case.to_owned()));
        match (subject.answered, exception) {
            (None, None) => TestStatus::Passed,
            (None, Some(exception)) if exception.answered == VARIES => TestStatus::Passed,
            (None, Some(_)) => {
                TestStatus::Failed(Failure::new("is listed as a known difference, but answers as AWS does"))
            }
            (Some(answered), Some(exception)) if exception.covers(subject.case, answered) => {
                TestStatus::Known(self.reason(&exception.why).to_owned())
            }
            (Some(_), Some(exception)) => TestStatus::Failed(Failure::new(format!(
                "differs in another way than listed: {:?}",
                exception.answered
            ))),
            (Some(answered), None) if REPORTED.contains(&subject.target) => {
                let reason = self.fitting(subject.expected, answered, |_| true);
                TestStatus::Known(
                    reason
                        .map_or("no listed reason fits", |name| self.reason(name))
                        .to_owned(),
                )
            }
            (Some(_), None) => match self.rule(subject) {
                Some(rule) => TestStatus::Known(self.reason(&rule.reason).to_owned()),
                None => TestStatus::Failed(Failure::new("answers differently from AWS")),
            },
        }
    }

    /// Exceptions for cases that are in none of these files.
    pub fn stale(&self, files: &[File]) -> Vec<String> {
        let there = |id: &str| {
            id.split_once('/').is_some_and(|(file, case)| {
                file == SCENARIOS && scenario::named(case).is_some()
                    || files
                        .iter()
                        .any(|known| known.name == file && known.cases.iter().any(|known| known.name == case))
            })
        };
        let stale = self.exceptions.keys().filter(|(_, case)| !there(case));
        stale.map(|(target, case)| format!("{target}: {case}")).collect()
    }

    /// Rules that explained nothing in a run of every scenario and case, for the targets that ran.
    pub fn unused(&self, report: &Report) -> Vec<String> {
        let name = |rule: &Rule| format!("{}: {}: {}", rule.target, rule.operation, rule.reason);
        self.unused_rules(report).iter().map(name).collect()
    }

    fn unused_rules(&self, report: &Report) -> BTreeSet<Rule> {
        let ran: BTreeSet<&str> = ran(report).map(|entry| entry.target.as_str()).collect();
        let used: BTreeSet<Rule> = ran_differing(report)
            .filter_map(|entry| self.rule(subject(entry, &entry.id())))
            .collect();
        let of_targets = self.rules.iter().filter(|rule| ran.contains(rule.target.as_str()));
        of_targets.filter(|rule| !used.contains(rule)).cloned().collect()
    }

    /// Removes the rules that explained nothing in a run of every scenario and case.
    pub fn prune_rules(&mut self, report: &Report) {
        for rule in self.unused_rules(report) {
            self.rules.remove(&rule);
        }
    }

    /// Removes exceptions for cases that are in none of these files.
    pub fn prune(&mut self, files: &[File]) {
        let stale = self.stale(files);
        self.exceptions
            .retain(|(target, case), _| !stale.contains(&format!("{target}: {case}")));
    }

    /// The list with which this run passes. Targets and cases that did not run keep their rules and exceptions. A new difference gets a rule if a
    /// reason fits; otherwise an exception with an empty reason, which [`Differences::read`] rejects.
    pub fn record(&self, report: &Report) -> Value {
        let mut recorded = self.clone();
        for entry in ran(report) {
            let place = (entry.target.clone(), entry.id());
            if !entry.status.differs() && self.exceptions.get(&place).is_some_and(|it| it.answered != VARIES) {
                recorded.exceptions.remove(&place);
            }
        }
        for entry in ran_differing(report) {
            recorded.explain(subject(entry, &entry.id()));
        }
        recorded.to_json()
    }

    /// Adds the rule or exception that a difference needs.
    fn explain(&mut self, subject: Subject<'_>) {
        let answered = subject.answered.unwrap_or_default();
        let place = (subject.target.to_owned(), subject.case.to_owned());
        if REPORTED.contains(&subject.target) || self.exceptions.get(&place).is_some_and(|it| it.answered == VARIES) {
            return;
        }
        let fitting = self.fitting(subject.expected, answered, |_| true).map(str::to_owned);
        let why = self.exceptions.get(&place).map(|exception| exception.why.clone());
        match (fitting, why) {
            (Some(reason), why) if why.as_ref().is_none_or(|why| why.is_empty() || *why == reason) => {
                self.exceptions.remove(&place);
                self.rules.insert(Rule {
                    target: subject.target.to_owned(),
                    operation: subject.operation.to_owned(),
                    reason,
                });
            }
            (_, why) => {
                let answered = short(subject.case, answered);
                let why = why.unwrap_or_default();
                self.exceptions.insert(place, Exception { answered, why });
            }
        }
    }

    fn to_json(&self) -> Value {
        let reasons: Map<String, Value> = self
            .reasons
            .iter()
            .map(|(name, reason)| (name.clone(), json!({"text": reason.text, "when": reason.when})))
            .collect();
        let mut rules: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
        for rule in &self.rules {
            let operations = rules.entry(&rule.target).or_default();
            operations.entry(&rule.operation).or_default().push(&rule.reason);
        }
        let mut exceptions: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for ((target, case), exception) in &self.exceptions {
            let line = json!({"case": case, "answered": exception.answered, "why": exception.why});
            exceptions.entry(target).or_default().push(line);
        }
        json!({"reasons": reasons, "rules": rules, "exceptions": exceptions})
    }
}

/// What ran: nothing is learned about a target that did not start.
fn ran(report: &Report) -> impl Iterator<Item = &Entry> {
    report.entries().iter().filter(|entry| entry.name != NOT_STARTED)
}

fn ran_differing(report: &Report) -> impl Iterator<Item = &Entry> {
    ran(report).filter(|entry| entry.status.differs())
}

fn subject<'a>(entry: &'a Entry, id: &'a str) -> Subject<'a> {
    let exchange = entry.exchange.as_ref();
    Subject {
        target: &entry.target,
        case: id,
        operation: exchange.map_or(SCENARIOS, |exchange| &exchange.operation),
        expected: exchange.map_or("", |exchange| &exchange.expected),
        answered: Some(exchange.map_or("", |exchange| &exchange.answered)),
    }
}

impl Reason {
    fn read(reason: &Value) -> Reason {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let when = reason["when"].as_array().into_iter().flatten();
        Reason {
            text: text(&reason["text"]),
            when: when.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        }
    }

    /// The length of the longest pair of fragments that both answers contain.
    fn fit(&self, expected: &str, answered: &str) -> Option<usize> {
        let fits = self
            .when
            .iter()
            .filter(|(of_aws, of_target)| expected.contains(of_aws.as_str()) && answered.contains(of_target.as_str()));
        fits.map(|(of_aws, of_target)| of_aws.len() + of_target.len()).max()
    }
}

impl Exception {
    fn read(entry: &Value) -> Outcome<(String, Exception)> {
        let case = present("a difference's case", entry["case"].as_str())?;
        let exception = Exception {
            answered: present(&format!("{case}: answered"), entry["answered"].as_str())?.to_owned(),
            why: entry["why"].as_str().unwrap_or_default().to_owned(),
        };
        Ok((case.to_owned(), exception))
    }

    fn covers(&self, case: &str, answered: &str) -> bool {
        [VARIES, &short(case, answered)].contains(&self.answered.as_str())
    }
}

/// The part of an answer that an exception keeps: the first 400 characters of an error; `success` for a success, which contains times and ids;
/// `fails` for a scenario, whose point of failure may depend on scheduling.
fn short(case: &str, answered: &str) -> String {
    if case.split_once('/').is_some_and(|(group, _)| group == SCENARIOS) {
        return "fails".to_owned();
    }
    if answered.starts_with("200 ") {
        return "success".to_owned();
    }
    answered.chars().take(400).collect()
}

/// The list as text: one line for each reason, operation and exception.
pub fn to_text(list: &Value) -> String {
    let quoted = |name: &str| Value::from(name).to_string();
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let lines = |value: &Value, indent: &str| {
        let lines = members(value)
            .iter()
            .map(|(name, value)| format!("{indent}{}: {value}", quoted(name)))
            .collect::<Vec<_>>();
        lines.join(",\n")
    };
    let rules = members(&list["rules"])
        .iter()
        .map(|(target, operations)| format!("    {}: {{\n{}\n    }}", quoted(target), lines(operations, "      ")))
        .collect::<Vec<_>>();
    let exceptions = members(&list["exceptions"])
        .iter()
        .map(|(target, cases)| {
            let cases = cases.as_array().into_iter().flatten();
            let cases: Vec<_> = cases.map(|case| format!("      {case}")).collect();
            format!("    {}: [\n{}\n    ]", quoted(target), cases.join(",\n"))
        })
        .collect::<Vec<_>>();
    format!(
        "{{\n  \"reasons\": {{\n{}\n  }},\n  \"rules\": {{\n{}\n  }},\n  \"exceptions\": {{\n{}\n  }}\n}}\n",
        lines(&list["reasons"], "    "),
        rules.join(",\n"),
        exceptions.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str, of_aws: &str, of_target: &str) -> Reason {
        Reason {
            text: text.to_owned(),
            when: vec![(of_aws.to_owned(), of_target.to_owned())],
        }
    }

    fn list() -> Differences {
        let exception = |answered: &str| Exception {
            answered: answered.to_owned(),
            why: "old".to_owned(),
        };
        let rule = |target: &str, operation: &str, reason: &str| Rule {
            target: target.to_owned(),
            operation: operation.to_owned(),
            reason: reason.to_owned(),
        };
        Differences {
            reasons: [
                ("any".to_owned(), reason("Its wording is its own.", "E: ", "E: ")),
                (
                    "old".to_owned(),
                    reason("Its wording is the old one.", "E: new", "E: x"),
                ),
            ]
            .into(),
            rules: [rule("local", "PutItem", "any"), rule("local", "GetItem", "old")].into(),
            exceptions: [
                (("local".to_owned(), "f/c".to_owned()), exception("E: x")),
                (("local".to_owned(), "f/v".to_owned()), exception(VARIES)),
            ]
            .into(),
        }
    }

    #[test]
    fn the_reason_with_the_longest_fragments_fits_best() {
        let list = list();
        for (expected, answered, fits) in [
            ("E: new words", "E: x", Some("old")),
            ("E: new words", "E: y", Some("any")),
            ("200 {}", "E: y", None),
        ] {
            assert_eq!(
                list.fitting(expected, answered, |_| true),
                fits,
                "{expected} {answered}"
            );
        }
    }

    #[test]
    fn statuses() {
        let list = list();
        for (target, operation, case, answered, status) in [
            // exceptions
            ("local", "PutItem", "f/c", Some("E: x"), "old"),
            ("local", "PutItem", "f/c", Some("E: y"), "failed"),
            ("local", "PutItem", "f/c", None, "failed"),
            ("local", "PutItem", "f/v", Some("E: y"), "old"),
            ("local", "PutItem", "f/v", None, "passed"),
            // rules
            ("local", "PutItem", "f/d", Some("E: y"), "any"),
            ("local", "GetItem", "f/d", Some("E: x"), "old"),
            ("local", "GetItem", "f/d", Some("E: y"), "failed"),
            ("local", "Query", "f/d", Some("E: y"), "failed"),
            ("local", "PutItem", "f/d", Some("200 {}"), "failed"),
            // other targets
            ("other", "PutItem", "f/c", Some("E: x"), "failed"),
            ("other", "PutItem", "f/c", None, "passed"),
            ("dynoxide", "PutItem", "f/d", Some("E: x"), "old"),
            ("dynoxide", "PutItem", "f/d", Some("200 {}"), "none"),
        ] {
            let subject = Subject {
                target,
                case,
                operation,
                expected: "E: new words",
                answered,
            };
            let found = match list.judge(subject) {
                TestStatus::Passed => "passed",
                TestStatus::Known(why) if why == "Its wording is the old one." => "old",
                TestStatus::Known(why) if why == "Its wording is its own." => "any",
                TestStatus::Known(_) => "none",
                _ => "failed",
            };
            assert_eq!(found, status, "{subject:?}");
        }
    }

    #[test]
    fn a_new_difference_gets_a_rule_or_an_exception_without_a_reason() {
        let mut list = Differences {
            rules: BTreeSet::new(),
            ..list()
        };
        let mut explain = |case: &str, answered: &str| {
            list.explain(Subject {
                target: "local",
                case,
                operation: "PutItem",
                expected: "E: new words",
                answered: Some(answered),
            });
            let exception = list.exceptions.get(&("local".to_owned(), case.to_owned()));
            (list.rules.len(), exception.map(|it| it.why.clone()))
        };
        assert_eq!(explain("f/n", "E: y"), (1, None));
        assert_eq!(explain("f/c", "E: x"), (2, None), "a rule replaces the exception");
        assert_eq!(explain("f/o", "200 {}"), (2, Some(String::new())));
    }

    #[test]
    fn each_listed_case_exists() {
        let differences = Differences::read(&file()).unwrap();
        let files = dynatwin_case::files(&dynatwin_case::folder()).unwrap();
        assert_eq!(differences.stale(&files), Vec::<String>::new());
        assert_eq!(list().stale(&files), ["local: f/c", "local: f/v"]);
    }

    #[test]
    fn a_written_list_is_read_again() {
        let text = to_text(&list().record(&Report::new(1)));
        let path = std::env::temp_dir().join(format!("dynatwin-differences-{}.json", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let again = Differences::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(to_text(&again.record(&Report::new(1))), text);
    }
}
