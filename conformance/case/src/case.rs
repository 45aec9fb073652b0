//! Cases: their members, their steps, and what they expect.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::compare::{canonical, has, without_ids};
use crate::{Comparison, Error, Reply, expand, fill, forms};

/// A request with its set-up steps and the expected response of the service.
///
/// ```
/// use dynatwin_case::{Case, Expect};
/// use serde_json::json;
///
/// let case = Case::read(&json!({
///     "name": "a missing item", "operation": "GetItem",
///     "request": {"TableName": "one", "Key": {"pk": {"S": "z"}}}, "answer": {}, "evidence": "the API reference",
/// }))?;
/// assert_eq!(case.expect, Expect::Answer(json!({})));
/// # Ok::<(), dynatwin_case::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Case {
    /// What it demonstrates; unique in its file.
    pub name: String,
    /// The steps before the request.
    pub before: Vec<Step>,
    /// The operation's name in the API.
    pub operation: String,
    /// The region, if it is not the default.
    pub region: Option<String>,
    /// The conditions under which the case runs.
    pub conditions: Conditions,
    /// The request's body, with short forms.
    pub request: Value,
    /// The expected answer, exact or by its error.
    pub expect: Expect,
    /// The source of the expectation.
    pub evidence: String,
}

/// Changes of the service's conditions by a case.
///
/// ```
/// # use dynatwin_case::{Case, Conditions, Expect, Step};
/// # use serde_json::json;
/// let case = Case::read(&json!({
///     "name": "an expired item is deleted", "operation": "DescribeLimits", "request": {}, "answer": {},
///     "before": [], "conditions": "storm", "evidence": "04 12.3"
/// }))?;
/// assert_eq!(case.conditions.name.as_deref(), Some("storm"));
/// # Ok::<(), dynatwin_case::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The name of a set of conditions; `calm` if it has none.
    pub name: Option<String>,
    /// Whether throughput is limited as on AWS, whatever the named conditions say.
    pub enforce_capacity: bool,
    /// The limit of an item collection in bytes, if it is not that of the named conditions.
    pub item_collection_size: Option<u64>,
}

/// A step before a case's request.
///
/// ```
/// # use dynatwin_case::{Case, Conditions, Expect, Step};
/// # use serde_json::json;
/// let case = Case::read(&json!({
///     "name": "an expired item is deleted", "operation": "DescribeLimits", "request": {}, "answer": {},
///     "before": [["$advance", 60]], "conditions": "storm", "evidence": "04 12.3"
/// }))?;
/// assert_eq!(case.before, [Step::Advance(std::time::Duration::from_secs(60))]);
/// # Ok::<(), dynatwin_case::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Sends a request that must succeed.
    Request {
        /// The operation's name in the API.
        operation: String,
        /// The body, with short forms.
        request: Value,
        /// The region, if it is not the default.
        region: Option<String>,
    },
    /// Advances the emulator's clock by this duration.
    Advance(Duration),
    /// Sets the conditions of this name.
    SetConditions(String),
}

/// The expected response of a case.
///
/// ```
/// # use dynatwin_case::{Case, Conditions, Expect, Step};
/// # use serde_json::json;
/// let case = Case::read(&json!({
///     "name": "an expired item is deleted", "operation": "DescribeLimits", "request": {}, "answer": {},
///     "before": [], "conditions": "storm", "evidence": "04 12.3"
/// }))?;
/// assert_eq!(case.expect, Expect::Answer(json!({})));
/// # Ok::<(), dynatwin_case::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// An exception with its text.
    Error(String),
    /// A success with this body.
    Answer(Value),
    /// An error with this body.
    Body(Value),
    /// A success whose body contains this.
    Has(Value),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    name: String,
    operation: String,
    request: Value,
    evidence: String,
    #[serde(default)]
    before: Vec<Vec<Value>>,
    conditions: Option<String>,
    item_collection_size: Option<u64>,
    region: Option<String>,
    #[serde(default, deserialize_with = "also_null")]
    error: Option<Value>,
    #[serde(default, deserialize_with = "also_null")]
    answer: Option<Value>,
    #[serde(default, deserialize_with = "also_null")]
    body: Option<Value>,
    #[serde(default, deserialize_with = "also_null")]
    has: Option<Value>,
}

/// A member that may be `null` without being absent: some operations answer without a body.
fn also_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// Fails if a member or short form is missing, unknown or invalid.
    pub fn read(value: &Value) -> Result<Case, Error> {
        let name = value["name"].as_str().unwrap_or("a case without a name");
        Case::try_read(value).map_err(|error| error.within(name))
    }

    fn try_read(value: &Value) -> Result<Case, Error> {
        let members = Members::deserialize(value).map_err(|error| Error::new(error.to_string()))?;
        let before: Result<Vec<Step>, Error> = (0..)
            .zip(&members.before)
            .map(|(earlier, step)| Step::read(step, earlier))
            .collect();
        forms::check(&members.request, members.before.len())?;
        check_operation(&members.operation)?;
        Ok(Case {
            expect: Expect::read(&members, members.before.len())?,
            before: before?,
            name: members.name,
            operation: members.operation,
            region: members.region,
            conditions: Conditions {
                name: members.conditions,
                enforce_capacity: false,
                item_collection_size: members.item_collection_size,
            },
            request: members.request,
            evidence: members.evidence,
        })
    }

    /// Whether it needs a service whose clock and conditions can be set.
    pub fn needs_control(&self) -> bool {
        let controls = |step: &Step| matches!(step, Step::Advance(_) | Step::SetConditions(_));
        let at_a_time = |(_, request): (&str, &Value)| request["Timestamp"].is_number();
        self.conditions != Conditions::default() || self.before.iter().any(controls) || self.requests().any(at_a_time)
    }

    /// Whether it lists the streams of an account, which include those of deleted tables.
    pub fn lists_all_streams(&self) -> bool {
        let lists = |(operation, request): (&str, &Value)| operation == "ListStreams" && request["TableName"].is_null();
        self.requests().any(lists)
    }

    /// All requests with their operations: those of the steps, then its own.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &Value)> {
        let before = self.before.iter().filter_map(|step| match step {
            Step::Request { operation, request, .. } => Some((operation.as_str(), request)),
            Step::Advance(_) | Step::SetConditions(_) => None,
        });
        before.chain([(self.operation.as_str(), &self.request)])
    }
}

impl Step {
    /// Reads a step that may refer to the answers to `answers` earlier steps.
    fn read(step: &[Value], earlier: usize) -> Result<Step, Error> {
        let invalid = || Error::new(format!("invalid step {}", Value::from(step)));
        let (name, rest) = step.split_first().ok_or_else(invalid)?;
        match (name.as_str().ok_or_else(invalid)?, rest) {
            ("$advance", [seconds]) => {
                let by = seconds.as_f64().map(Duration::try_from_secs_f64);
                Ok(Step::Advance(by.and_then(Result::ok).ok_or_else(invalid)?))
            }
            ("$conditions", [Value::String(name)]) => Ok(Step::SetConditions(name.clone())),
            (operation, [request, region @ ..]) if region.len() <= 1 => {
                check_operation(operation)?;
                forms::check(request, earlier)?;
                let region = region.first().map(|region| region.as_str().ok_or_else(invalid));
                Ok(Step::Request {
                    operation: operation.to_owned(),
                    request: request.clone(),
                    region: region.transpose()?.map(str::to_owned),
                })
            }
            _ => Err(invalid()),
        }
    }
}

impl Expect {
    /// Reads the expectation among a case's members, which may refer to the answers to `answers` steps.
    fn read(members: &Members, answers: usize) -> Result<Expect, Error> {
        let expected = [&members.error, &members.answer, &members.body, &members.has];
        let [expected] = expected.into_iter().flatten().collect::<Vec<_>>()[..] else {
            return Err(Error::new("a case needs one of error, answer, body and has"));
        };
        forms::check(expected, answers)?;
        let expected = expand(expected);
        match expected {
            Value::String(error) if members.error.is_some() => Ok(Expect::Error(error)),
            _ if members.error.is_some() => Err(Error::new("error is not a text")),
            answer if members.answer.is_some() => Ok(Expect::Answer(answer)),
            body if members.body.is_some() => Ok(Expect::Body(body)),
            part => Ok(Expect::Has(part)),
        }
    }

    /// This expectation with its references to the answers of earlier steps resolved.
    ///
    /// # Errors
    ///
    /// Fails if an answer lacks a referenced value.
    pub fn filled(&self, answers: &[Value]) -> Result<Expect, Error> {
        Ok(match self {
            Expect::Error(error) => Expect::Error(error.clone()),
            Expect::Answer(answer) => Expect::Answer(fill(answer, answers)?),
            Expect::Body(body) => Expect::Body(fill(body, answers)?),
            Expect::Has(part) => Expect::Has(fill(part, answers)?),
        })
    }

    /// Whether a reply of this operation is as expected.
    pub fn holds(&self, comparison: Comparison, operation: &str, reply: &Reply) -> bool {
        let form = |body: &Value| match comparison {
            Comparison::Exact => body.clone(),
            Comparison::Loose => canonical(operation, body),
        };
        let text = |error: &str| match comparison {
            Comparison::Exact => error.to_owned(),
            Comparison::Loose => without_ids(error),
        };
        match self {
            Expect::Error(error) => reply.status == 400 && reply.error().map(|error| text(&error)) == Some(text(error)),
            Expect::Answer(answer) => reply.status == 200 && form(answer) == form(&reply.body),
            Expect::Body(body) => reply.status == 400 && form(body) == form(&reply.body),
            Expect::Has(part) => reply.status == 200 && has(&form(&reply.body), &form(part)),
        }
    }
}

/// Formatted like the [`Reply`] that it expects.
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

/// An operation is a bare name, or a name after the service's target prefix.
fn check_operation(name: &str) -> Result<(), Error> {
    let bare = name.rsplit('.').next().unwrap_or(name);
    let valid =
        bare.starts_with(|first: char| first.is_ascii_uppercase()) && bare.chars().all(|c| c.is_ascii_alphanumeric());
    if valid {
        Ok(())
    } else {
        Err(Error::new(format!("{name:?} is not an operation")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn case(more: &Value) -> Result<Case, Error> {
        let mut case = json!({"name": "n", "operation": "GetItem", "request": {}, "evidence": "e"});
        case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Case::read(&case)
    }

    #[test]
    fn expectations() {
        for (more, expect) in [
            (json!({"error": "E: no"}), Expect::Error("E: no".to_owned())),
            (json!({"answer": {}}), Expect::Answer(json!({}))),
            (json!({"answer": null}), Expect::Answer(Value::Null)),
            (json!({"body": {"a": 1}}), Expect::Body(json!({"a": 1}))),
            (
                json!({"has": {"a": {"$text": ["x", 3]}}}),
                Expect::Has(json!({"a": "xxx"})),
            ),
        ] {
            assert_eq!(case(&more).unwrap().expect, expect);
        }
    }

    #[test]
    fn steps() {
        let before = json!([
            ["$advance", 1.5],
            ["$conditions", "aws"],
            ["PutItem", {}],
            ["PutItem", {}, "eu-west-1"]
        ]);
        let request = |region: Option<&str>| Step::Request {
            operation: "PutItem".to_owned(),
            request: json!({}),
            region: region.map(str::to_owned),
        };
        let case = case(&json!({"answer": {}, "before": before})).unwrap();
        let expected = [
            Step::Advance(Duration::from_millis(1500)),
            Step::SetConditions("aws".to_owned()),
            request(None),
            request(Some("eu-west-1")),
        ];
        assert_eq!(case.before, expected);
        assert!(case.needs_control());
    }

    #[test]
    fn invalid_cases_are_refused() {
        for (more, message) in [
            (json!({}), "needs one of error, answer, body and has"),
            (
                json!({"answer": {}, "has": {}}),
                "needs one of error, answer, body and has",
            ),
            (json!({"error": 7}), "error is not a text"),
            (json!({"answer": {}, "clock": 7}), "unknown field `clock`"),
            (json!({"answer": {}, "operation": "get"}), "\"get\" is not an operation"),
            (
                json!({"answer": {}, "before": [["$back", 3600]]}),
                "\"$back\" is not an operation",
            ),
            (
                json!({"answer": {}, "before": [["$advance", -1]]}),
                "invalid step [\"$advance\",-1]",
            ),
            (json!({"answer": {}, "before": [["$advance"]]}), "invalid step"),
            (json!({"answer": {}, "before": [["PutItem", {}, 7]]}), "invalid step"),
            (
                json!({"answer": {}, "before": [["PutItem", {}, "eu-west-1", 7]]}),
                "invalid step",
            ),
            (json!({"answer": {}, "request": {"a": [{"$from": "b"}]}}), "$from"),
            (
                json!({"answer": {}, "request": {"a": {"$answer": [0, "/b"]}}}),
                "$answer",
            ),
            (json!({"answer": {"a": {"$answer": [0, "/b"]}}}), "$answer"),
        ] {
            let error = case(&more).unwrap_err().to_string();
            assert!(error.contains(message) && error.starts_with("n: "), "{more}: {error}");
        }
    }
}
