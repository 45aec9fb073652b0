//! The case language: requests to DynamoDB as data, with the service's responses. `docs/cases.md` describes it.
//!
//! [`files`] reads a folder of cases, and [`run`] runs a [`Case`] on a [`Service`]. The engine's tests and the conformance
//! suite both use it: the engine compares answers [exactly](Comparison::Exact), the suite [loosely](Comparison::Loose).

mod case;
mod compare;
mod file;
mod forms;
mod run;

use std::fmt;

pub use case::{Case, Conditions, Expect, Step};
pub use compare::{Comparison, canonical, has};
pub use file::{File, files, folder};
pub use forms::{expand, fill};
pub use run::{Reply, Request, Service, run, run_ready};

/// An invalid case, or a reference to a missing part of an answer.
///
/// ```
/// use dynatwin_case::Case;
///
/// let error = Case::read(&serde_json::json!({"name": "n"})).unwrap_err();
/// assert!(error.to_string().contains("missing field `operation`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// Prefixes the error with the place where it occurred.
    fn within(self, place: impl fmt::Display) -> Error {
        Error(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
