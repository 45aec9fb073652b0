//! Known differences: where another DynamoDB answers otherwise than AWS does, with the reason for believing so.
//!
//! `known-differences.json` lists each by target and case, with what is answered and why AWS's answer is the case's. A
//! difference that is not listed fails a run, and so does a listed one that has gone or become another. Where a target does
//! not answer alike each time, the list has the word `varies` for what it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::case::File;
use crate::check::{Failure, Outcome, ensure, present};
use crate::report::{NOT_STARTED, Report, SCENARIOS, Verdict};
use crate::scenario;

/// The list.
///
/// ```
/// use dynatwin_conformance::difference::{Differences, file};
///
/// assert!(Differences::read(&file()).is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Differences {
    reasons: BTreeMap<String, Reason>,
    known: BTreeMap<(String, String), Known>,
}

/// A reason that many differences share.
#[derive(Clone, Debug, Default)]
struct Reason {
    text: String,
    /// What AWS's and the target's answers have in them where this may be the reason.
    when: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct Known {
    answered: String,
    /// The name of a reason that many share, or a reason.
    why: String,
}

/// Stands for the answers of a target that are not the same each time, and may be AWS's.
const VARIES: &str = "varies";

/// Where the list is, if nothing else is told.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("known-differences.json")
}

impl Differences {
    /// Reads the list. Each difference must have its reason.
    pub fn read(path: &Path) -> Outcome<Differences> {
        let differences = Differences::read_any(path)?;
        for ((target, case), known) in &differences.known {
            let reasoned = differences.reason(&known.why).len() > 20;
            ensure(reasoned, format!("{}: {target}: {case} has no reason", path.display()))?;
        }
        Ok(differences)
    }

    /// Reads the list, with reasons or without.
    pub fn read_any(path: &Path) -> Outcome<Differences> {
        let wrong = |what: String| Failure::new(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let list: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let mut differences = Differences::default();
        for (name, reason) in list["reasons"].as_object().into_iter().flatten() {
            differences.reasons.insert(name.clone(), Reason::read(reason));
        }
        for (target, cases) in list["differences"].as_object().into_iter().flatten() {
            for entry in cases.as_array().into_iter().flatten() {
                let (case, known) = Differences::entry(entry).map_err(|failure| wrong(failure.to_string()))?;
                let twice = differences
                    .known
                    .insert((target.clone(), case.clone()), known)
                    .is_some();
                ensure(!twice, format!("{case} is listed twice for {target}"))?;
            }
        }
        Ok(differences)
    }

    /// The text of a shared reason, or the reason as it stands.
    fn reason<'a>(&'a self, why: &'a str) -> &'a str {
        self.reasons.get(why).map_or(why, |reason| &reason.text)
    }

    /// The shared reason that fits a new difference best: the one with the longest texts that both answers have.
    fn proposed(&self, expected: &str, answered: &str) -> &str {
        let length = |reason: &Reason| {
            let fits = reason.when.iter().filter(|(of_aws, of_target)| {
                expected.contains(of_aws.as_str()) && answered.contains(of_target.as_str())
            });
            fits.map(|(of_aws, of_target)| of_aws.len() + of_target.len()).max()
        };
        let fitting = self
            .reasons
            .iter()
            .filter_map(|(name, reason)| Some((length(reason)?, name)));
        fitting.max().map_or("", |(_, name)| name)
    }

    fn entry(entry: &Value) -> Outcome<(String, Known)> {
        let case = present("a difference's case", entry["case"].as_str())?;
        let known = Known {
            answered: present(&format!("{case}: answered"), entry["answered"].as_str())?.to_owned(),
            why: entry["why"].as_str().unwrap_or_default().to_owned(),
        };
        Ok((case.to_owned(), known))
    }

    /// What a case on a target comes to, where it did not come to what AWS answers (`answered`) or did (`None`).
    pub fn judge(&self, target: &str, case: &str, answered: Option<&str>) -> Verdict {
        let known = self.known.get(&(target.to_owned(), case.to_owned()));
        match (answered, known) {
            (None, None) => Verdict::Passed,
            (None, Some(known)) if known.answered == VARIES => Verdict::Passed,
            (Some(_), None) => Verdict::Failed(Failure::new("answers otherwise than AWS")),
            (None, Some(_)) => {
                Verdict::Failed(Failure::new("is listed as a known difference, and answers as AWS does"))
            }
            (Some(answered), Some(known)) if [VARIES, &short(case, answered)].contains(&known.answered.as_str()) => {
                Verdict::Known(self.reason(&known.why).to_owned())
            }
            (Some(_), Some(known)) => Verdict::Failed(Failure::new(format!(
                "differs otherwise than is known: listed is {:?}",
                known.answered
            ))),
        }
    }

    /// What is listed for cases that are in none of these files.
    pub fn stale(&self, files: &[File]) -> Vec<String> {
        let there = |id: &str| {
            id.split_once('/').is_some_and(|(file, case)| {
                file == SCENARIOS && scenario::named(case).is_some()
                    || files
                        .iter()
                        .any(|known| known.name == file && known.cases.iter().any(|known| known.name == case))
            })
        };
        let stale = self.known.keys().filter(|(_, case)| !there(case));
        stale.map(|(target, case)| format!("{target}: {case}")).collect()
    }

    /// Leaves out what is listed for cases that are in none of these files.
    pub fn prune(&mut self, files: &[File]) {
        let stale = self.stale(files);
        self.known
            .retain(|(target, case), _| !stale.contains(&format!("{target}: {case}")));
    }

    /// The list as it would have to be for a run to pass; what was not run stays. What is new in it has the reason that fits, to be looked at, or
    /// an empty one, with which the list is not accepted.
    pub fn record(&self, report: &Report) -> Value {
        let mut by_target: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        // Nothing is known anew of a target that did not start.
        let entries = || report.entries().iter().filter(|entry| entry.name != NOT_STARTED);
        let ran: BTreeSet<(String, String)> = entries().map(|entry| (entry.target.clone(), entry.id())).collect();
        for (place, known) in &self.known {
            let (target, case) = place;
            if !ran.contains(place) || known.answered == VARIES {
                by_target
                    .entry(target)
                    .or_default()
                    .push(line(case, &known.answered, &known.why));
            }
        }
        for entry in entries() {
            if !entry.verdict.differs() {
                continue;
            }
            let (expected, answered) = match &entry.exchange {
                Some(exchange) => (exchange.expected.as_str(), exchange.answered.as_str()),
                None => ("", ""),
            };
            let case = entry.id();
            let known = self.known.get(&(entry.target.clone(), case.clone()));
            if known.is_some_and(|known| known.answered == VARIES) {
                continue;
            }
            let proposed = || self.proposed(expected, answered);
            let why = known.map(|known| known.why.as_str()).filter(|why| !why.is_empty());
            let why = why.unwrap_or_else(proposed);
            by_target
                .entry(&entry.target)
                .or_default()
                .push(line(&case, &short(&case, answered), why));
        }
        let differences: Map<String, Value> = by_target
            .into_iter()
            .map(|(target, mut cases)| {
                cases.sort_by(|one, other| one["case"].as_str().cmp(&other["case"].as_str()));
                (target.to_owned(), cases.into())
            })
            .collect();
        let reasons: Map<String, Value> = self
            .reasons
            .iter()
            .map(|(name, reason)| (name.clone(), json!({"text": reason.text, "when": reason.when})))
            .collect();
        json!({"reasons": reasons, "differences": differences})
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
}

fn line(case: &str, answered: &str, why: &str) -> Value {
    json!({"case": case, "answered": answered, "why": why})
}

/// What is kept of an answer: a refusal as it is, of a success that it was one, since times and ids are in it; of both the
/// beginning. A scenario fails or does not: where it breaks off may depend on who was faster.
fn short(case: &str, answered: &str) -> String {
    if case.split_once('/').is_some_and(|(group, _)| group == SCENARIOS) {
        return "fails".to_owned();
    }
    if answered.starts_with("200 ") {
        return "success".to_owned();
    }
    answered.chars().take(400).collect()
}

/// The list as text, a difference on each line.
pub fn to_text(list: &Value) -> String {
    let mut text = "{\n  \"reasons\": {\n".to_owned();
    let reasons = list["reasons"].as_object().into_iter().flatten();
    let reasons: Vec<_> = reasons
        .map(|(name, reason)| format!("    {}: {reason}", Value::from(name.as_str())))
        .collect();
    text.push_str(&reasons.join(",\n"));
    text.push_str("\n  },\n  \"differences\": {\n");
    let targets = list["differences"].as_object().into_iter().flatten();
    let targets: Vec<_> = targets
        .map(|(target, cases)| {
            let cases = cases.as_array().into_iter().flatten();
            let cases: Vec<_> = cases.map(|case| format!("      {case}")).collect();
            format!("    {}: [\n{}\n    ]", Value::from(target.as_str()), cases.join(",\n"))
        })
        .collect();
    text.push_str(&targets.join(",\n"));
    text.push_str("\n  }\n}\n");
    text
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

    #[test]
    fn the_reason_that_fits_best_is_proposed() {
        let listed = listed();
        assert_eq!(listed.proposed("E: new words", "E: x"), "old");
        assert_eq!(listed.proposed("E: new words", "E: y"), "any");
        assert_eq!(listed.proposed("200 {}", "E: y"), "");
    }

    fn listed() -> Differences {
        let known = |answered: &str| Known {
            answered: answered.to_owned(),
            why: "old".to_owned(),
        };
        Differences {
            reasons: [
                ("any".to_owned(), reason("It says words of its own.", "E: ", "E: ")),
                ("old".to_owned(), reason("It says the old words.", "E: new", "E: x")),
            ]
            .into(),
            known: [
                (("local".to_owned(), "f/c".to_owned()), known("E: x")),
                (("local".to_owned(), "f/v".to_owned()), known(VARIES)),
            ]
            .into(),
        }
    }

    #[test]
    fn verdicts() {
        let listed = listed();
        let passes = |target, case, answered| match listed.judge(target, case, answered) {
            Verdict::Passed => "passed",
            Verdict::Known(why) if why == "It says the old words." => "known",
            Verdict::Failed(_) => "failed",
            _ => "else",
        };
        assert_eq!(passes("local", "f/c", Some("E: x")), "known");
        assert_eq!(passes("local", "f/c", Some("E: y")), "failed");
        assert_eq!(passes("local", "f/c", None), "failed");
        assert_eq!(passes("local", "f/v", Some("E: y")), "known");
        assert_eq!(passes("local", "f/v", None), "passed");
        assert_eq!(passes("local", "f/d", Some("E: x")), "failed");
        assert_eq!(passes("other", "f/c", Some("E: x")), "failed");
        assert_eq!(passes("other", "f/c", None), "passed");
    }

    #[test]
    fn each_listed_case_exists() {
        let differences = Differences::read(&file()).unwrap();
        let files = crate::case::files(&crate::case::folder()).unwrap();
        assert_eq!(differences.stale(&files), Vec::<String>::new());
        assert_eq!(listed().stale(&files), ["local: f/c", "local: f/v"]);
    }

    #[test]
    fn what_is_written_is_read() {
        let differences = listed();
        let text = to_text(&differences.record(&Report::new(1)));
        let path = std::env::temp_dir().join(format!("dynatwin-differences-{}.json", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let again = Differences::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(to_text(&again.record(&Report::new(1))), text);
    }
}
