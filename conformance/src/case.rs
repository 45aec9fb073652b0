//! Feature cases: requests as data, what the service answers to them, and where that is known from.
//!
//! They are the files of `emulator/tests/cases/`, whose format is described in `emulator/tests/cases.rs`. What a case
//! expects is compared up to named looseness: see `compare`.

mod compare;
mod expand;
mod lane;
mod names;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::check::{Failure, Outcome, present};
use crate::door::Reply;

use compare::without_ids;
pub use compare::{canonical, has};
pub use expand::{expand, filled};
pub use lane::Lane;

/// A file of cases.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name without `.json`.
    pub name: String,
    /// CreateTable requests.
    pub tables: Vec<Value>,
    /// Items by table.
    pub items: Vec<(String, Vec<Value>)>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One case.
///
/// ```
/// use dynatwin_conformance::case::Case;
/// use serde_json::json;
///
/// let case = Case::read(&json!({
///     "name": "nothing there", "operation": "GetItem",
///     "request": {"TableName": "one", "Key": {"pk": {"S": "z"}}}, "answer": {}, "evidence": "the API reference",
/// }));
/// assert!(case.is_ok_and(|case| case.needs.is_none()));
/// ```
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows; unique in its file.
    pub name: String,
    /// What is done before it.
    pub before: Vec<Step>,
    /// The operation.
    pub operation: String,
    /// The region, if it is not the usual one.
    pub region: Option<String>,
    /// The conditions, if they are not calm.
    pub conditions: Option<String>,
    /// The request's body, in which short forms stand for long things.
    pub request: Value,
    /// What is expected.
    pub expect: Expect,
    /// Where the expectation is known from.
    pub evidence: String,
    /// Whether throughput is enforced, as its file wants it.
    pub enforces_capacity: bool,
    /// What it has that is not understood here, so that it runs in the engine's own test only.
    pub needs: Option<String>,
}

/// What is done before a case's request.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A request is sent.
    Request {
        /// The operation.
        operation: String,
        /// The body.
        request: Value,
        /// The region, if it is not the usual one.
        region: Option<String>,
    },
    /// The clock is moved by so many seconds.
    Advance(f64),
}

/// What a case expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// An exception with its text.
    Error(String),
    /// A success with this body.
    Answer(Value),
    /// A refusal with this body.
    Body(Value),
    /// A success whose body has this among other members.
    Has(Value),
}

/// The members that a case may have.
const MEMBERS: [&str; 11] = [
    "name",
    "operation",
    "request",
    "before",
    "evidence",
    "conditions",
    "region",
    "error",
    "answer",
    "body",
    "has",
];

/// Where the cases are, if nothing else is told.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/cases")
}

/// All files of a folder, by name.
pub fn files(folder: &Path) -> Outcome<Vec<File>> {
    let unreadable = |error| Failure::new(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

impl File {
    fn read(path: &Path) -> Outcome<File> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let wrong = |what: String| Failure::new(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let file: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let list = |member: &str| file[member].as_array().cloned().unwrap_or_default();
        let items = file["items"].as_object().cloned().unwrap_or_default();
        let cases: Outcome<Vec<Case>> = list("cases").iter().map(Case::read).collect();
        let mut cases = cases.map_err(|failure| wrong(failure.to_string()))?;
        let enforced = file["capacity"] == "enforced";
        cases.iter_mut().for_each(|case| case.enforces_capacity = enforced);
        if let Some(odd) = others(file.as_object(), &["about", "tables", "items", "capacity", "cases"]) {
            cases.iter_mut().for_each(|case| case.needs = Some(odd.clone()));
        }
        Ok(File {
            name,
            tables: list("tables"),
            items: items
                .into_iter()
                .map(|(table, items)| (table, items.as_array().cloned().unwrap_or_default()))
                .collect(),
            cases,
        })
    }
}

impl Case {
    /// A case as its file has it.
    pub fn read(value: &Value) -> Outcome<Case> {
        let name = present("a case's name", value["name"].as_str())?.to_owned();
        let text = |member: &str| present(&format!("{name}: {member}"), value[member].as_str()).map(str::to_owned);
        let mut needs = others(value.as_object(), &MEMBERS);
        let mut before = Vec::new();
        for step in value["before"].as_array().into_iter().flatten() {
            match Step::read(step) {
                Some(step) => before.push(step),
                None => needs = Some(format!("the step {step}")),
            }
        }
        for part in [&value["request"], &value["before"]] {
            needs = needs.or_else(|| expand::unknown_form(part));
        }
        Ok(Case {
            operation: text("operation")?,
            request: value["request"].clone(),
            expect: present(&format!("{name}: what is expected"), Expect::read(value))?,
            evidence: text("evidence")?,
            region: value["region"].as_str().map(str::to_owned),
            conditions: value["conditions"].as_str().map(str::to_owned),
            enforces_capacity: false,
            before,
            needs,
            name,
        })
    }

    /// Whether only a twin in this process can carry it out: it needs the clock or other conditions.
    pub fn needs_twin(&self) -> bool {
        let at_a_time = |(_, request): (&str, &Value)| request["Timestamp"].is_number();
        let advances = self.before.iter().any(|step| matches!(step, Step::Advance(_)));
        let turns = self.conditions.is_some() || self.enforces_capacity;
        turns || advances || self.requests().any(at_a_time)
    }

    /// Whether it lists the streams of a whole account, in which those of deleted tables stay.
    pub fn lists_all_streams(&self) -> bool {
        let lists = |(operation, request): (&str, &Value)| operation == "ListStreams" && request["TableName"].is_null();
        self.requests().any(lists)
    }

    /// All its requests, with their operations; its own is the last.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &Value)> {
        let before = self.before.iter().filter_map(|step| match step {
            Step::Request { operation, request, .. } => Some((operation.as_str(), request)),
            Step::Advance(_) => None,
        });
        before.chain([(self.operation.as_str(), &self.request)])
    }
}

impl Step {
    fn read(step: &Value) -> Option<Step> {
        let length = step.as_array()?.len();
        match step[0].as_str()? {
            "$advance" if length == 2 => Some(Step::Advance(step[1].as_f64().filter(|seconds| *seconds >= 0.0)?)),
            operation if is_operation(operation) && (2..=3).contains(&length) => Some(Step::Request {
                operation: operation.to_owned(),
                request: step[1].clone(),
                region: step[2].as_str().map(str::to_owned),
            }),
            _ => None,
        }
    }
}

impl Expect {
    fn read(case: &Value) -> Option<Expect> {
        let member = |name: &str| case.get(name).map(expand);
        let error = member("error").and_then(|error| error.as_str().map(|text| Expect::Error(text.to_owned())));
        error
            .or_else(|| member("answer").map(Expect::Answer))
            .or_else(|| member("body").map(Expect::Body))
            .or_else(|| member("has").map(Expect::Has))
    }

    /// With what it takes from the answers to the steps before.
    pub fn filled(&self, answers: &[Value]) -> Outcome<Expect> {
        Ok(match self {
            Expect::Has(part) => Expect::Has(filled(part, answers)?),
            other => other.clone(),
        })
    }

    /// Whether a reply is what is expected of this operation.
    pub fn holds(&self, operation: &str, reply: &Reply) -> bool {
        let same = |expect: &Value| canonical(operation, expect) == canonical(operation, &reply.body);
        match self {
            Expect::Error(error) => {
                let answered = reply.error().map(|error| without_ids(&error));
                reply.status == 400 && answered == Some(without_ids(error))
            }
            Expect::Answer(answer) => reply.status == 200 && same(answer),
            Expect::Body(body) => reply.status == 400 && same(body),
            Expect::Has(part) => {
                reply.status == 200 && has(&canonical(operation, &reply.body), &canonical(operation, part))
            }
        }
    }
}

/// As a case's file has it, and as a reply is shown beside it.
impl std::fmt::Display for Expect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expect::Error(error) => formatter.write_str(error),
            Expect::Answer(answer) => write!(formatter, "200 {answer}"),
            Expect::Body(body) => write!(formatter, "400 {body}"),
            Expect::Has(part) => write!(formatter, "200 with {part}"),
        }
    }
}

fn is_operation(name: &str) -> bool {
    let bare = name.rsplit('.').next().unwrap_or(name);
    bare.starts_with(|first: char| first.is_ascii_uppercase()) && bare.chars().all(|c| c.is_ascii_alphanumeric())
}

/// A member that is none of these.
fn others(object: Option<&Map<String, Value>>, known: &[&str]) -> Option<String> {
    let other = object?.keys().find(|name| !known.contains(&name.as_str()))?;
    Some(format!("its `{other}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(more: Value) -> Outcome<Case> {
        let mut case = json!({"name": "n", "operation": "GetItem", "request": {}, "evidence": "e"});
        case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Case::read(&case)
    }

    #[test]
    fn what_a_case_expects() {
        for (more, expect) in [
            (json!({"error": "E: no"}), Expect::Error("E: no".to_owned())),
            (json!({"answer": {}}), Expect::Answer(json!({}))),
            (json!({"body": {"a": 1}}), Expect::Body(json!({"a": 1}))),
            (
                json!({"has": {"a": {"$text": ["x", 3]}}}),
                Expect::Has(json!({"a": "xxx"})),
            ),
        ] {
            assert_eq!(case(more).unwrap().expect, expect);
        }
        assert!(case(json!({})).is_err());
    }

    #[test]
    fn what_is_not_understood_is_known() {
        for (more, needs) in [
            (json!({"before": [["PutItem", {}]]}), None),
            (
                json!({"before": [["$advance", 3600], ["PutItem", {}, "eu-west-1"]], "conditions": "aws"}),
                None,
            ),
            (json!({"before": [["$back", 3600]]}), Some("the step")),
            (json!({"clock": 7}), Some("`clock`")),
            (json!({"request": {"a": [{"$from": "b"}]}}), Some("`$from`")),
        ] {
            let mut more = more;
            more["answer"] = json!({});
            let found = case(more.clone()).unwrap().needs;
            assert_eq!(found.is_some(), needs.is_some(), "{more}: {found:?}");
            assert!(found.unwrap_or_default().contains(needs.unwrap_or_default()), "{more}");
        }
    }

    #[test]
    fn all_files_are_read_and_names_are_unique() {
        let files = files(&folder()).unwrap();
        let mut seen = std::collections::HashSet::new();
        for (file, case) in files
            .iter()
            .flat_map(|file| file.cases.iter().map(move |case| (file, case)))
        {
            assert!(
                seen.insert((file.name.as_str(), case.name.as_str())),
                "{}/{} is there twice",
                file.name,
                case.name
            );
        }
        assert!(seen.len() > 800, "{} cases", seen.len());
    }
}
