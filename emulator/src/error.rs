//! The service's errors: their kinds, and the texts as named constructors.
//!
//! The text is the contract: SDKs and applications match on it. HTTP status and `__type` belong to [`crate::wire`]. Where
//! a text exists in two generations, each operation has the one that us-east-1 answers.
//!
//! A submodule contains the texts of one subject that several operations share; a text of a single operation is next to
//! its check.

mod access;
mod backup;
pub mod constraint;
mod item;
mod query;
mod replica;
mod service;
mod shown;
mod stream;
mod throttling;
mod transaction;
mod transfer;
mod update;
mod value;

use std::borrow::Cow;
use std::fmt;

pub(crate) use shown::KeyValueText;
pub use throttling::{Exceeded, Throttle, ThrottlingReason};

use crate::value::Item;

/// The kinds of the service's errors, by the names of its exceptions.
///
/// ```
/// use dynatwin_engine::ErrorKind;
/// use dynatwin_engine::http::exception;
///
/// assert_eq!(exception(ErrorKind::ConditionalCheckFailed), "ConditionalCheckFailedException");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the service's
pub enum ErrorKind {
    Validation,
    Serialization,
    UnknownOperation,
    AccessDenied,
    MissingAuthenticationToken,
    IncompleteSignature,
    InvalidSignature,
    UnrecognizedClient,
    ExpiredToken,
    Throttling,
    ProvisionedThroughputExceeded,
    RequestLimitExceeded,
    ResourceNotFound,
    ResourceInUse,
    PolicyNotFound,
    GlobalTableNotFound,
    GlobalTableAlreadyExists,
    IndexNotFound,
    ReplicaAlreadyExists,
    ReplicaNotFound,
    ReplicatedWriteConflict,
    ConditionalCheckFailed,
    DuplicateItem,
    ItemCollectionSizeLimitExceeded,
    LimitExceeded,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
    ExpiredIterator,
    TrimmedDataAccess,
    IdempotentParameterMismatch,
    InternalServerError,
    ServiceUnavailable,
    TableNotFound,
    TableAlreadyExists,
    TableInUse,
    BackupNotFound,
    BackupInUse,
    ContinuousBackupsUnavailable,
    PointInTimeRecoveryUnavailable,
    InvalidRestoreTime,
    InvalidExportTime,
    ExportNotFound,
    ExportConflict,
    ImportNotFound,
    ImportConflict,
}

impl ErrorKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [ErrorKind; 46] = [
        ErrorKind::Validation,
        ErrorKind::Serialization,
        ErrorKind::UnknownOperation,
        ErrorKind::AccessDenied,
        ErrorKind::MissingAuthenticationToken,
        ErrorKind::IncompleteSignature,
        ErrorKind::InvalidSignature,
        ErrorKind::UnrecognizedClient,
        ErrorKind::ExpiredToken,
        ErrorKind::Throttling,
        ErrorKind::ProvisionedThroughputExceeded,
        ErrorKind::RequestLimitExceeded,
        ErrorKind::ResourceNotFound,
        ErrorKind::ResourceInUse,
        ErrorKind::PolicyNotFound,
        ErrorKind::GlobalTableNotFound,
        ErrorKind::GlobalTableAlreadyExists,
        ErrorKind::IndexNotFound,
        ErrorKind::ReplicaAlreadyExists,
        ErrorKind::ReplicaNotFound,
        ErrorKind::ReplicatedWriteConflict,
        ErrorKind::ConditionalCheckFailed,
        ErrorKind::DuplicateItem,
        ErrorKind::ItemCollectionSizeLimitExceeded,
        ErrorKind::LimitExceeded,
        ErrorKind::TransactionCanceled,
        ErrorKind::TransactionConflict,
        ErrorKind::TransactionInProgress,
        ErrorKind::ExpiredIterator,
        ErrorKind::TrimmedDataAccess,
        ErrorKind::IdempotentParameterMismatch,
        ErrorKind::InternalServerError,
        ErrorKind::ServiceUnavailable,
        ErrorKind::TableNotFound,
        ErrorKind::TableAlreadyExists,
        ErrorKind::TableInUse,
        ErrorKind::BackupNotFound,
        ErrorKind::BackupInUse,
        ErrorKind::ContinuousBackupsUnavailable,
        ErrorKind::PointInTimeRecoveryUnavailable,
        ErrorKind::InvalidRestoreTime,
        ErrorKind::InvalidExportTime,
        ErrorKind::ExportNotFound,
        ErrorKind::ExportConflict,
        ErrorKind::ImportNotFound,
        ErrorKind::ImportConflict,
    ];
}

/// The reason of one action of a cancelled transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancellationReason {
    /// `None` if the action did not fail, else the kind of failure.
    pub code: &'static str,
    pub message: Option<Cow<'static, str>>,
    /// The stored item, if the action requested it.
    pub item: Option<Item>,
}

impl CancellationReason {
    /// The action is not at fault.
    pub const NONE: CancellationReason = CancellationReason {
        code: "None",
        message: None,
        item: None,
    };
}

/// Details of an error besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Nothing,
    /// The item that failed the condition (`ReturnValuesOnConditionCheckFailure`).
    Item(Item),
    /// The item that failed the condition of ExecuteStatement, which spells its text's member in another way.
    StatementItem(Item),
    /// Why a request was throttled.
    Throttling(Vec<ThrottlingReason>),
    /// The reason of each action of a cancelled transaction.
    Cancellation(Vec<CancellationReason>),
}

/// An answer of the service that is not a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: Option<Cow<'static, str>>,
    detail: Detail,
}

/// The prefix of texts of the newer validation framework.
pub const ONE_VALIDATION_ERROR: &str = "1 validation error detected: ";

impl ApiError {
    /// An error of this kind with this text.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError(Box::new(Inner {
            kind,
            message: Some(message.into()),
            detail: Detail::Nothing,
        }))
    }

    /// An error without a text, as for an unknown operation or a body that is not valid JSON.
    pub fn without_message(kind: ErrorKind) -> ApiError {
        ApiError(Box::new(Inner {
            kind,
            message: None,
            detail: Detail::Nothing,
        }))
    }

    /// Adds a detail to the error.
    pub fn with(mut self, detail: Detail) -> ApiError {
        self.0.detail = detail;
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The text, if the error has one.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// Converts the error to the form in which ExecuteStatement answers it.
    pub fn of_statement(mut self) -> ApiError {
        if let Detail::Item(item) = self.0.detail {
            self.0.detail = Detail::StatementItem(item);
        }
        self
    }

    /// The details of the error besides its text.
    pub fn detail(&self) -> &Detail {
        &self.0.detail
    }

    /// A `ValidationException` with this text.
    pub fn validation(message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError::new(ErrorKind::Validation, message)
    }

    /// A `ValidationException`: `One or more parameter values were invalid: ` and the rest.
    pub fn invalid(rest: impl fmt::Display) -> ApiError {
        ApiError::validation(format!("One or more parameter values were invalid: {rest}"))
    }

    /// Adds the envelope of the newer validation framework, if it is a `ValidationException`.
    pub fn enveloped(mut self) -> ApiError {
        if self.0.kind == ErrorKind::Validation {
            let text = self.0.message.take().unwrap_or_default();
            self.0.message = Some(Cow::Owned(format!("{ONE_VALIDATION_ERROR}{text}")));
        }
        self
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.0.kind, self.message().unwrap_or_default())
    }
}

impl std::error::Error for ApiError {}

/// How many violations of one request are listed and counted.
const MOST_VIOLATIONS: usize = 10;

/// Violations of the model's constraints on a request's members: collected, then reported together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<String>);

impl Violations {
    pub const fn new() -> Violations {
        Violations(Vec::new())
    }

    /// Adds a complete sentence.
    pub fn push(&mut self, violation: impl Into<String>) {
        if self.0.len() < MOST_VIOLATIONS {
            self.0.push(violation.into());
        }
    }

    /// Adds `Value '<value>' at '<path>' failed to satisfy constraint: <constraint>`.
    pub fn value(&mut self, value: impl fmt::Display, path: impl fmt::Display, constraint: impl fmt::Display) {
        self.push(format!(
            "Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"
        ));
    }

    /// Adds the violation of a missing required member.
    pub fn missing(&mut self, path: impl fmt::Display) {
        self.push(format!(
            "Value null at '{path}' failed to satisfy constraint: Member must not be null"
        ));
    }

    /// Adds the form of the moved layer, which does not echo the value: `Value at '<Path>' failed …`.
    pub fn value_not_echoed(&mut self, path: impl fmt::Display, constraint: impl fmt::Display) {
        self.push(format!("Value at '{path}' failed to satisfy constraint: {constraint}"));
    }

    /// Adds the violations of a name of 3 to 255 characters. If there are two, the pattern comes before the length.
    pub fn name(&mut self, name: &str, path: &str) {
        let is_name = is_name(name);
        if is_name && (3..=255).contains(&name.len()) {
            return;
        }
        if !is_name {
            self.value(name, path, constraint::NAME_PATTERN);
        }
        if name.chars().count() < 3 {
            self.value(name, path, constraint::min_length(3));
        }
        if name.chars().count() > 255 {
            self.value(name, path, constraint::max_length(255));
        }
    }

    /// Adds all violations of others.
    pub fn add(&mut self, others: Option<&Violations>) {
        others
            .into_iter()
            .flat_map(|others| &others.0)
            .for_each(|violation| self.push(violation));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All violations as one error, or `Ok` if there are none.
    #[inline]
    pub fn finish(self) -> Result<(), ApiError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.into_error())
        }
    }

    #[cold]
    fn into_error(self) -> ApiError {
        ApiError::validation(match &*self.0 {
            [one] => format!("{ONE_VALIDATION_ERROR}{one}"),
            all => format!("{} validation errors detected: {}", all.len(), all.join("; ")),
        })
    }
}

/// Whether all characters of a name are allowed ones.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_ten_violations_are_joined() {
        let mut violations = Violations::new();
        violations.missing("tableName");
        assert_eq!(violations.0.len(), 1);
        violations.value("X", "select", constraint::one_of("[A, B]"));
        let error = violations.finish().unwrap_err();
        assert_eq!(
            error.message(),
            Some(
                "2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; Value 'X' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [A, B]"
            )
        );
        let of_items = |count: usize| {
            let mut violations = Violations::new();
            (0..count).for_each(|_| violations.missing("item"));
            violations
        };
        for (first, second, expect) in [
            (20, 0, 10),
            (4, 5, 9),
            (4, 6, 10),
            (4, 7, 10),
            (10, 1, 10),
            (10, 10, 10),
        ] {
            let mut violations = of_items(first);
            violations.add(Some(&of_items(second)));
            let error = violations.finish().unwrap_err();
            let start = format!("{expect} validation errors detected: ");
            assert!(error.message().unwrap().starts_with(&start), "{first} and {second}");
        }
    }
}
