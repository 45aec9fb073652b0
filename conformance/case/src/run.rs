//! Running a case on a service.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::Value;

use crate::{Case, Conditions, Error, Expect, Step, expand, fill};

/// A service on which cases run.
///
/// ```
/// use std::time::Duration;
/// use dynatwin_case::{Case, Comparison, Conditions, Error, Reply, Request, Service, run_ready};
/// use serde_json::json;
///
/// /// Answers to every request with its body.
/// struct Echo;
///
/// impl Service for Echo {
///     type Error = Error;
///
///     async fn send(&mut self, request: Request<'_>) -> Result<Reply, Error> {
///         Ok(Reply { status: 200, body: request.body })
///     }
///
///     fn advance(&mut self, by: Duration) -> Result<(), Error> {
///         Err(Error::new("there is no clock"))
///     }
///
///     fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), Error> {
///         Err(Error::new("there are no conditions"))
///     }
/// }
///
/// let case = Case::read(&json!({
///     "name": "three of a kind", "operation": "ListTables", "evidence": "this example",
///     "request": {"a": {"$text": ["x", 3]}}, "answer": {"a": "xxx"},
/// }))?;
/// let (reply, expect) = run_ready(&mut Echo, &case)?;
/// assert!(expect.holds(Comparison::Exact, &case.operation, &reply));
/// # Ok::<(), Error>(())
/// ```
pub trait Service {
    /// The error of a request or a step.
    type Error: From<Error>;

    /// Sends a request and returns the reply to it.
    fn send(&mut self, request: Request<'_>) -> impl Future<Output = Result<Reply, Self::Error>> + Send;

    /// Moves the clock forward.
    ///
    /// # Errors
    ///
    /// Fails if the service has no settable clock.
    fn advance(&mut self, by: Duration) -> Result<(), Self::Error>;

    /// Sets conditions.
    ///
    /// # Errors
    ///
    /// Fails if the service has no settable conditions, or none of this name.
    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), Self::Error>;
}

/// A request without short forms.
///
/// ```
/// use dynatwin_case::Request;
/// use serde_json::json;
///
/// let request = Request { operation: "ListTables", region: None, body: json!({}) };
/// assert_eq!(request.operation, "ListTables");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request<'a> {
    /// The operation: a bare name, or one with the service's target in front.
    pub operation: &'a str,
    /// The region, if it is not the default.
    pub region: Option<&'a str>,
    /// The body, with its short forms expanded.
    pub body: Value,
}

/// The status and body of an answer.
///
/// ```
/// use dynatwin_case::Reply;
///
/// let reply = Reply::new(400, br#"{"__type": "com.amazonaws#SomeException", "message": "no"}"#);
/// assert_eq!(reply.error().as_deref(), Some("SomeException: no"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The HTTP status code of the answer.
    pub status: u16,
    /// The body; a text if it is not JSON, and `null` if there is none.
    pub body: Value,
}

impl Reply {
    /// Creates a reply from a status and a body.
    pub fn new(status: u16, body: &[u8]) -> Reply {
        // TagResource and others succeed without a body.
        let body = if body.is_empty() { b"null" } else { body };
        let body = serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into());
        Reply { status, body }
    }

    /// The exception and its text, `ValidationException: …`, unless this is a success.
    pub fn error(&self) -> Option<String> {
        if self.status == 200 {
            return None;
        }
        let kind = self.body["__type"].as_str().unwrap_or_default();
        let kind = kind.rsplit('#').next().unwrap_or_default();
        let text = self.body["message"].as_str().or(self.body["Message"].as_str());
        Some(format!("{kind}: {}", text.unwrap_or_default()))
    }
}

/// The exception and its text where the body has nothing else; otherwise the status and body.
impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            Some(error) if self.status == 400 && self.body.as_object().is_some_and(|body| body.len() == 2) => {
                formatter.write_str(&error)
            }
            _ => write!(formatter, "{} {}", self.status, self.body),
        }
    }
}

/// Sets a case's conditions, executes its steps, and sends its request. Returns the reply and the expected response.
///
/// # Errors
///
/// Fails if the service fails, or if the case refers to a missing part of an answer.
pub async fn run<S: Service>(service: &mut S, case: &Case) -> Result<(Reply, Expect), S::Error> {
    if case.conditions != Conditions::default() {
        service.set_conditions(&case.conditions)?;
    }
    let mut answers = Vec::with_capacity(case.before.len());
    for step in &case.before {
        answers.push(perform(service, case, step, &answers).await?);
    }
    let request = Request {
        operation: &case.operation,
        region: case.region.as_deref(),
        body: expand(&fill(&case.request, &answers)?),
    };
    let reply = service.send(request).await?;
    Ok((reply, case.expect.filled(&answers)?))
}

/// [Runs](run) a case on a service whose requests never wait.
///
/// # Errors
///
/// Fails as [`run`] does, and if a request waits.
pub fn run_ready<S: Service>(service: &mut S, case: &Case) -> Result<(Reply, Expect), S::Error> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(run(service, case)).poll(&mut context) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::new("a request waits").into()),
    }
}

/// Executes a step, and returns the body of the answer if it is a request.
async fn perform<S: Service>(service: &mut S, case: &Case, step: &Step, answers: &[Value]) -> Result<Value, S::Error> {
    match step {
        Step::Request {
            operation,
            request,
            region,
        } => {
            let request = Request {
                operation,
                region: region.as_deref(),
                body: expand(&fill(request, answers)?),
            };
            return Ok(service.send(request).await?.body);
        }
        Step::Advance(by) => service.advance(*by)?,
        Step::SetConditions(name) => service.set_conditions(&Conditions {
            name: Some(name.clone()),
            ..case.conditions.clone()
        })?,
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    /// What a service was asked to do.
    #[derive(Default)]
    struct Recorder(Vec<String>);

    impl Service for Recorder {
        type Error = Error;

        async fn send(&mut self, request: Request<'_>) -> Result<Reply, Error> {
            let region = request.region.unwrap_or("-");
            self.0.push(format!("{} {region} {}", request.operation, request.body));
            Ok(Reply {
                status: 200,
                body: json!({"Arn": format!("arn-{}", self.0.len())}),
            })
        }

        fn advance(&mut self, by: Duration) -> Result<(), Error> {
            self.0.push(format!("advance {}", by.as_secs()));
            Ok(())
        }

        fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), Error> {
            let Conditions {
                name,
                enforce_capacity,
                item_collection_size,
            } = conditions;
            self.0.push(format!(
                "conditions {name:?} {enforce_capacity} {item_collection_size:?}"
            ));
            Ok(())
        }
    }

    #[test]
    fn steps_are_executed_in_order_in_their_own_regions_and_under_the_conditions_of_the_case() {
        let mut case = Case::read(&json!({
            "name": "n", "operation": "GetItem", "region": "eu-west-1", "conditions": "aws", "evidence": "e",
            "before": [
                ["CreateTable", {"TableName": "one"}],
                ["$conditions", "storm"],
                ["$advance", 60],
                ["CreateTable", {"TableName": {"$answer": [0, "/Arn"]}}, "eu-north-1"],
            ],
            "request": {"TableName": {"$answer": [3, "/Arn"]}}, "answer": {},
        }))
        .unwrap();
        case.conditions.enforce_capacity = true;
        let mut recorder = Recorder::default();
        run_ready(&mut recorder, &case).unwrap();
        assert_eq!(
            recorder.0,
            [
                r#"conditions Some("aws") true None"#,
                r#"CreateTable - {"TableName":"one"}"#,
                r#"conditions Some("storm") true None"#,
                "advance 60",
                r#"CreateTable eu-north-1 {"TableName":"arn-2"}"#,
                r#"GetItem eu-west-1 {"TableName":"arn-5"}"#,
            ]
        );
    }

    #[test]
    fn errors_have_their_texts_in_either_member() {
        for (status, body, expected) in [
            (
                400,
                json!({"__type": "com.amazonaws#E", "message": "small"}),
                Some("E: small"),
            ),
            (
                400,
                json!({"__type": "com.amazonaws#E", "Message": "large"}),
                Some("E: large"),
            ),
            (400, json!({"__type": "E"}), Some("E: ")),
            (500, json!("no JSON"), Some(": ")),
            (200, json!({"__type": "E"}), None),
        ] {
            let reply = Reply { status, body };
            assert_eq!(reply.error().as_deref(), expected, "{reply}");
        }
    }
}
