//! The interface to databases that serve the DynamoDB API.

use std::fmt;
use std::time::Duration;

use dynatwin_engine::{Caller, Engine};
use serde_json::Value as Json;

/// A database that serves the DynamoDB API.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # use serde_json::json;
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_seed::{Database, InProcess};
///
/// let database: &dyn Database = &InProcess::new(&engine, &caller);
/// assert_eq!(database.call("ListTables", &json!({})).unwrap(), json!({"TableNames": []}));
/// ```
pub trait Database: Sync {
    /// Sends a request and returns the answer's body.
    fn call(&self, operation: &str, body: &Json) -> Result<Json, CallError>;

    /// Waits this long before a retry.
    fn pause(&self, time: Duration);
}

/// Why a request failed: an exception of the service, or no answer of the API at all.
///
/// ```
/// use dynatwin_seed::CallError;
///
/// let error = CallError { code: "ThrottlingException".into(), message: "Rate exceeded".into() };
/// assert!(error.is_transient());
/// assert_eq!(error.to_string(), "ThrottlingException: Rate exceeded");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The exception's name, such as `ResourceNotFoundException`; empty if there was no answer, or not one of the API.
    pub code: String,
    /// Its message, or a description of the failure.
    pub message: String,
}

impl CallError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.code.as_str(),
            "" | "InternalServerError"
                | "LimitExceededException"
                | "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "ServiceUnavailable"
                | "ThrottlingException"
        )
    }

    /// Whether the database does not have the operation.
    pub(crate) fn is_unknown_operation(&self) -> bool {
        self.code == "UnknownOperationException"
    }

    /// An exception from an answer's status and body.
    pub(crate) fn of_answer(status: u16, body: &[u8]) -> CallError {
        let body: Json = serde_json::from_slice(body).unwrap_or_default();
        let code = body["__type"].as_str().unwrap_or_default();
        let message = body["message"].as_str().or_else(|| body["Message"].as_str());
        CallError {
            code: code.rsplit('#').next().unwrap_or_default().to_owned(),
            message: message.map_or_else(|| format!("the answer has status {status}"), str::to_owned),
        }
    }
}

/// Reads an answer, whose body is a JSON object; the service answers TagResource and UntagResource with an empty one.
pub(crate) fn read_answer(operation: &str, status: u16, body: &[u8]) -> Result<Json, CallError> {
    if status != 200 {
        return Err(CallError::of_answer(status, body));
    }
    if body.is_empty() && matches!(operation, "TagResource" | "UntagResource") {
        return Ok(Json::Null);
    }
    let answer = serde_json::from_slice(body).map(Json::Object);
    answer.map_err(|_| CallError {
        code: String::new(),
        message: "the answer is not a JSON object".into(),
    })
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{}: {}", self.code, self.message)
        }
    }
}

impl std::error::Error for CallError {}

/// An engine in this process, with the tables of one caller.
///
/// ```
/// # use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// # use serde_json::json;
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// # let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// use dynatwin_seed::{Database, InProcess};
///
/// let error = InProcess::new(&engine, &caller).call("DescribeTable", &json!({"TableName": "Orders"})).unwrap_err();
/// assert_eq!(error.code, "ResourceNotFoundException");
/// ```
#[derive(Clone, Copy)]
pub struct InProcess<'e> {
    engine: &'e Engine,
    caller: &'e Caller,
}

impl<'e> InProcess<'e> {
    /// Returns the database with the tables of `caller`.
    pub fn new(engine: &'e Engine, caller: &'e Caller) -> InProcess<'e> {
        InProcess { engine, caller }
    }
}

impl Database for InProcess<'_> {
    fn call(&self, operation: &str, body: &Json) -> Result<Json, CallError> {
        let answer = self
            .engine
            .dispatch(self.caller, operation, body.to_string().as_bytes());
        read_answer(operation, answer.status, &answer.body)
    }

    fn pause(&self, _: Duration) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_errors() {
        for (code, is_transient) in [
            ("", true),
            ("InternalServerError", true),
            ("LimitExceededException", true),
            ("ProvisionedThroughputExceededException", true),
            ("RequestLimitExceeded", true),
            ("ServiceUnavailable", true),
            ("ThrottlingException", true),
            ("AccessDeniedException", false),
            ("ConditionalCheckFailedException", false),
            ("ResourceInUseException", false),
            ("ResourceNotFoundException", false),
            ("ValidationException", false),
        ] {
            let error = CallError {
                code: code.into(),
                message: String::new(),
            };
            assert_eq!(error.is_transient(), is_transient, "{code}");
        }
    }

    /// The service writes `message` or `Message`, depending on the exception.
    #[test]
    fn errors_of_answers() {
        for (body, code, message) in [
            (
                r#"{"__type": "com.amazonaws.dynamodb.v20120810#A", "message": "m"}"#,
                "A",
                "m",
            ),
            (r#"{"__type": "com.amazon.coral.service#B", "Message": "M"}"#, "B", "M"),
            (r#"{"__type": "C"}"#, "C", "the answer has status 400"),
            ("<html>", "", "the answer has status 400"),
        ] {
            let error = CallError::of_answer(400, body.as_bytes());
            assert_eq!((error.code.as_str(), error.message.as_str()), (code, message), "{body}");
        }
    }
}
