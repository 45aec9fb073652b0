//! The service's errors: their kinds, and the texts as named constructors.
//!
//! The text is the contract: SDKs and applications match on it. An error knows no HTTP; its status and `__type` belong to
//! [`crate::wire`]. Of texts that exist in two generations, each operation has the one that us-east-1 answers (see `ARCHITECTURE.md`, "Words").

mod access;
mod backup;
mod replica;
mod shown;
mod throttling;
mod transfer;

use std::borrow::Cow;
use std::fmt;

pub(crate) use shown::KeyValueText;
pub use throttling::{Exceeded, Throttle, ThrottlingReason};

use crate::limits;
use crate::number::NumberError;
use crate::value::{AttributeValue, Item, Map, Name};

/// The kinds of error the service knows, by the names of its exceptions.
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

/// The prefix of texts of the moved validation layer.
pub const ONE_VALIDATION_ERROR: &str = "1 validation error detected: ";
/// How many violations of one request are listed and counted.
const MOST_VIOLATIONS: usize = 10;

impl ApiError {
    /// An error of this kind with this text.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError(Box::new(Inner {
            kind,
            message: Some(message.into()),
            detail: Detail::Nothing,
        }))
    }

    /// An error without a text: an unknown operation, a body that is no JSON.
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

/// Violations of the model's constraints on a request's members: collected, then reported together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<String>);

impl Violations {
    pub const fn new() -> Violations {
        Violations(Vec::new())
    }

    /// Adds a fault in its whole form.
    pub fn push(&mut self, fault: impl Into<String>) {
        if self.0.len() < MOST_VIOLATIONS {
            self.0.push(fault.into());
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
        if name.len() < 3 {
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
            .for_each(|fault| self.push(fault));
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

/// The phrases of the framework's constraints.
pub mod constraint {
    /// A list, map or string that is too short.
    pub fn min_length(least: usize) -> String {
        format!("Member must have length greater than or equal to {least}")
    }

    /// A list, map or string that is too long.
    pub fn max_length(most: usize) -> String {
        format!("Member must have length less than or equal to {most}")
    }

    /// A number that is too small.
    pub fn min_value(least: i64) -> String {
        format!("Member must have value greater than or equal to {least}")
    }

    /// A number that is too large.
    pub fn max_value(most: i64) -> String {
        format!("Member must have value less than or equal to {most}")
    }

    /// A value outside its enumeration; `set` as the service prints it: `[HASH, RANGE]`.
    pub fn one_of(set: &str) -> String {
        format!("Member must satisfy enum value set: {set}")
    }

    /// A name with a character that is not allowed.
    pub const NAME_PATTERN: &str = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+";

    /// A text with a character that is not allowed.
    pub fn pattern(pattern: &str) -> String {
        format!("Member must satisfy regular expression pattern: {pattern}")
    }
}

/// Sentences about values, shared by the decoder and the update evaluator.
impl ApiError {
    /// The sentence for a number that cannot be read; `text` is the number as it was sent.
    pub fn number_text(error: NumberError, text: &str, older_layer: bool) -> Cow<'static, str> {
        match error {
            NumberError::NotNumeric if text.is_empty() && older_layer => {
                "The parameter cannot be converted to a numeric value".into()
            }
            NumberError::NotNumeric => format!("The parameter cannot be converted to a numeric value: {text}").into(),
            NumberError::TooPrecise => "Attempting to store more than 38 significant digits in a Number".into(),
            NumberError::OverflowBeyondInt if older_layer => ApiError::UNDERFLOW.into(),
            NumberError::Overflow | NumberError::OverflowBeyondInt => ApiError::OVERFLOW.into(),
            NumberError::Underflow => ApiError::UNDERFLOW.into(),
        }
    }

    /// A number above the largest.
    pub const OVERFLOW: &'static str =
        "Number overflow. Attempting to store a number with magnitude larger than supported range";
    /// A number below the smallest.
    pub const UNDERFLOW: &'static str =
        "Number underflow. Attempting to store a number with magnitude smaller than supported range";
    /// A value nested too deep, in a request.
    pub const NESTING: &'static str = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
    /// An update stores a value that is nested too deep.
    pub const NESTING_STORED: &'static str = "Nesting Levels have exceeded supported limits";
    /// A value without a type.
    pub const EMPTY_VALUE: &'static str =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    /// A value with two types.
    pub const AMBIGUOUS_VALUE: &'static str =
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
    /// The message about `{"NULL": false}`.
    pub const NULL_FALSE: &'static str =
        "One or more parameter values were invalid: Null attribute value types must have the value of true";
    /// An attribute whose name is over 64 KB (measured in September 2026).
    pub const LONG_NAME: &'static str = "Attribute name is too large, must be less than 65536 bytes";
    /// An attribute without a name.
    pub const EMPTY_NAME: &'static str = "Empty attribute name";
}

// Errors of tables, keys and items.
impl ApiError {
    /// The table or index does not exist, on the data plane.
    pub fn table_not_found() -> ApiError {
        ApiError::new(ErrorKind::ResourceNotFound, "Requested resource not found")
    }

    /// The table does not exist, on the control plane.
    pub fn table_not_found_named(table: &str) -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Table: {table} not found"),
        )
    }

    /// A control-plane request without `TableName`.
    pub fn table_name_required() -> ApiError {
        ApiError::validation("The parameter 'TableName' is required but was not present in the request")
    }

    /// A table's ARN with another region than the caller's, on the control plane.
    pub fn arn_region(arn: &str) -> ApiError {
        ApiError::validation(format!("{ONE_VALIDATION_ERROR}Invalid AWS region in '{arn}'"))
    }

    /// A second table of the same name.
    pub fn table_exists(table: &str) -> ApiError {
        ApiError::new(ErrorKind::ResourceInUse, format!("Table already exists: {table}"))
    }

    /// Another change is in progress; `state` as in `Table is being created: T`.
    pub fn in_use(state: impl fmt::Display) -> ApiError {
        ApiError::new(
            ErrorKind::ResourceInUse,
            format!("Attempt to change a resource which is still in use: {state}"),
        )
    }

    /// More than the service does at a time; `limit` as in `Table tags are being updated: T`.
    pub fn subscriber_limit(limit: impl fmt::Display) -> ApiError {
        ApiError::new(ErrorKind::LimitExceeded, format!("Subscriber limit exceeded: {limit}"))
    }

    /// Too many table operations at a time: an older text, with the quota of today.
    pub fn too_many_table_operations() -> ApiError {
        ApiError::subscriber_limit(format_args!(
            "Only {} tables can be created, updated, or deleted simultaneously",
            limits::TABLE_OPERATIONS
        ))
    }

    /// Too many tables with indexes are being created. The limit is documented; its sentence has not been recorded.
    pub fn too_many_indexed_tables() -> ApiError {
        ApiError::subscriber_limit(format_args!(
            "Only {} tables with secondary indexes can be created simultaneously",
            limits::INDEXED_TABLE_OPERATIONS
        ))
    }

    /// More units than an account may reserve; `name` is their member.
    pub fn account_units(region: &str, name: &str, reserved: u64, requested: u64) -> ApiError {
        let most = limits::ACCOUNT_UNITS;
        ApiError::new(
            ErrorKind::LimitExceeded,
            format!(
                "This request would have caused the {name} limit to be exceeded for the account in {region}. Current {name} reserved by the account: {reserved}. Limit: {most}. Requested: {requested}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
            ),
        )
    }

    /// The index does not exist.
    pub fn index_not_found(index: &str) -> ApiError {
        ApiError::validation(format!("The table does not have the specified index: {index}"))
    }

    /// A vector, or an attribute that searches name, that a vector index does not accept. The full stop is the
    /// service's.
    pub fn vector_invalid(rest: impl fmt::Display) -> ApiError {
        ApiError::validation(format!("One or more parameter values were invalid. {rest}"))
    }

    /// A Query or Scan of a vector index. Only Query ends its sentence.
    pub fn not_on_vector_index(operation: &str) -> ApiError {
        let stop = if operation == "Query" { "." } else { "" };
        ApiError::validation(format!("{operation} operation not supported on this index type{stop}"))
    }

    /// A `Key` whose attributes are not those of the table's key.
    pub fn key_mismatch() -> ApiError {
        ApiError::validation("The provided key element does not match the schema")
    }

    /// An item without one of its key attributes.
    pub fn missing_key(name: &str) -> ApiError {
        ApiError::invalid(format_args!("Missing the key {name} in the item"))
    }

    /// An item with a key attribute of another type.
    pub fn key_type(name: &str, expected: &str, actual: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Type mismatch for key {name} expected: {expected} actual: {actual}"
        ))
    }

    /// An empty key; `kind` is `string` or `binary`.
    pub fn empty_key(name: &str, kind: &str) -> ApiError {
        ApiError::validation(ApiError::empty_key_text(name, kind))
    }

    fn empty_key_text(name: &str, kind: &str) -> String {
        format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}"
        )
    }

    /// A partition key that is too long. The missing blank is the service's.
    pub fn hash_key_too_long() -> ApiError {
        ApiError::invalid("Size of hashkey has exceeded the maximum size limit of2048 bytes")
    }

    /// A sort key that is too long.
    pub fn range_key_too_long() -> ApiError {
        ApiError::invalid("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
    }

    /// An index key of another type.
    pub fn index_key_type(name: &str, expected: &str, actual: &str, index: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
        ))
    }

    /// An empty index key in an item that is put.
    pub fn empty_index_key(name: &str, kind: &str, index: &str) -> ApiError {
        ApiError::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. IndexName: {index}, IndexKey: {name}"
        ))
    }

    /// An update sets an index key to an empty value.
    pub fn empty_index_key_update(kind: &str) -> ApiError {
        ApiError::validation(format!(
            "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty {kind} value."
        ))
    }

    /// An update of a key attribute.
    pub fn key_update(name: &str) -> ApiError {
        ApiError::invalid(format_args!(
            "Cannot update attribute {name}. This attribute is part of the key"
        ))
    }

    /// An item over 400 KB, put.
    pub fn item_too_large() -> ApiError {
        ApiError::validation("Item size has exceeded the maximum allowed size")
    }

    /// An item over 400 KB, updated.
    pub fn updated_item_too_large() -> ApiError {
        ApiError::validation("Item size to update has exceeded the maximum allowed size")
    }

    /// An item collection that would be too large beside local indexes. The sentence is that of a transaction's reason
    /// (Developer Guide); that of a single write has not been captured.
    pub fn item_collection_too_large() -> ApiError {
        ApiError::new(ErrorKind::ItemCollectionSizeLimitExceeded, "Collection size exceeded.")
    }

    /// The condition did not hold; `item` if it was requested.
    pub fn condition_failed(item: Option<Item>) -> ApiError {
        let error = ApiError::new(ErrorKind::ConditionalCheckFailed, "The conditional request failed");
        match item {
            Some(item) => error.with(Detail::Item(item)),
            None => error,
        }
    }
}

// Errors of queries and scans.
impl ApiError {
    /// More key conditions than key attributes.
    pub fn too_many_conditions(count: usize, attributes: usize) -> ApiError {
        ApiError::validation(format!(
            "The number of query conditions ({count}) exceeds the number of key attributes defined in the schema ({attributes})"
        ))
    }

    /// A key condition without a key attribute that it needs.
    pub fn key_condition_missed(name: &str) -> ApiError {
        ApiError::validation(format!("Query condition missed key schema element: {name}"))
    }

    /// A path below a key attribute, of an index or of the table.
    pub fn path_below_key(of_index: bool, name: &str) -> ApiError {
        let kind = if of_index { "IndexKey" } else { "Key" };
        ApiError::validation(format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"
        ))
    }

    /// A filter by attributes that an index does not have.
    pub fn filter_not_projected(index: &str, missing: &[&str]) -> ApiError {
        ApiError::invalid(format_args!(
            "Secondary index {index} does not project one or more filter attributes: [{}]",
            missing.join(", ")
        ))
    }

    /// An `ExclusiveStartKey` that is not a key of the table or index that is read.
    pub fn start_key_invalid() -> ApiError {
        ApiError::validation("The provided starting key is invalid")
    }

    /// An `ExclusiveStartKey` that is not a key of the scanned table or index, with the older layer's text.
    pub fn scan_start_key_invalid() -> ApiError {
        ApiError::validation("The provided starting key is invalid: The provided key element does not match the schema")
    }

    /// An `ExclusiveStartKey` of a Query of a table without a sort key, where each partition has one item at most.
    pub fn start_key_of_one_item(start: &Map) -> ApiError {
        let shown = |(name, value): &(Name, AttributeValue)| format!("{name}=AttributeValue: {}", KeyValueText(value));
        let attributes: Vec<String> = start.iter().map(shown).collect();
        ApiError::validation(format!(
            "The provided exclusive start key is invalid: ExclusiveStartKey: {{{}}}",
            attributes.join(", ")
        ))
    }

    /// An `ExclusiveStartKey` that the range condition of its Query does not select.
    pub fn start_key_outside_range() -> ApiError {
        ApiError::validation("The provided starting key does not match the range key predicate")
    }

    /// An `ExclusiveStartKey` of another partition than that of its Query, which has a range condition.
    pub fn start_key_of_one_row() -> ApiError {
        ApiError::validation("The query can return at most one row and cannot be restarted")
    }

    /// An `ExclusiveStartKey` of another partition than that of its Query.
    pub fn start_key_outside_query() -> ApiError {
        ApiError::validation("The provided starting key is outside query boundaries based on provided conditions")
    }

    /// An `ExclusiveStartKey` with an empty attribute.
    pub fn empty_start_key(name: &str, kind: &str) -> ApiError {
        let text = ApiError::empty_key_text(name, kind);
        ApiError::validation(format!("The provided starting key is invalid: {text}"))
    }
}

/// Errors of updates that depend on the stored item.
impl ApiError {
    /// A path through a missing attribute, or one that is not a map or list.
    pub fn document_path() -> ApiError {
        ApiError::validation("The document path provided in the update expression is invalid for update")
    }

    /// An operand that reads an attribute that the item does not have.
    pub fn missing_operand() -> ApiError {
        ApiError::validation("The provided expression refers to an attribute that does not exist in the item")
    }

    /// An operand of the wrong type.
    pub fn operand_type() -> ApiError {
        ApiError::validation("An operand in the update expression has an incorrect data type")
    }

    /// A legacy update of a stored value of another type.
    pub fn update_type_mismatch() -> ApiError {
        ApiError::validation("Type mismatch for attribute to update")
    }

    /// An arithmetic result that cannot be stored.
    pub fn arithmetic(error: NumberError) -> ApiError {
        ApiError::validation(ApiError::number_text(error, "", false))
    }
}

// Errors of batches and transactions.
impl ApiError {
    /// One key twice in a batch.
    pub fn duplicate_keys() -> ApiError {
        ApiError::validation("Provided list of item keys contains duplicates")
    }

    /// One item twice in a transaction.
    pub fn duplicate_transaction_item() -> ApiError {
        ApiError::validation("Transaction request cannot include multiple operations on one item")
    }

    /// A cancelled transaction, with a reason for each action.
    pub fn transaction_cancelled(reasons: Vec<CancellationReason>) -> ApiError {
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code).collect();
        ApiError::new(
            ErrorKind::TransactionCanceled,
            format!(
                "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
                codes.join(", ")
            ),
        )
        .with(Detail::Cancellation(reasons))
    }

    /// An item that a running transaction holds.
    pub fn transaction_conflict() -> ApiError {
        ApiError::new(ErrorKind::TransactionConflict, "Transaction is ongoing for the item")
    }

    /// The request of this token still runs. The text was seen in 2021 (aws-sdk-java-v2, issue 2518).
    pub fn transaction_in_progress() -> ApiError {
        ApiError::new(
            ErrorKind::TransactionInProgress,
            "Transaction from previous request is still in progress",
        )
    }

    /// A new token while the maximum number of tokens is remembered.
    pub fn too_many_tokens() -> ApiError {
        ApiError::new(ErrorKind::InternalServerError, "Too many client tokens are in use")
    }

    /// Another request under a token that was used.
    pub fn idempotent_mismatch() -> ApiError {
        ApiError::new(
            ErrorKind::IdempotentParameterMismatch,
            "Specified idempotent token was used with different request parameters within the idempotency window",
        )
    }
}

// Errors of streams.
impl ApiError {
    /// There is no such stream.
    pub fn stream_not_found(arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Stream: {arn} not found"),
        )
    }

    /// The stream has no such shard (seen of the service in July 2021).
    pub fn shard_not_found() -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            "Requested resource not found: Shard does not exist",
        )
    }

    /// The record at this position is too old (seen from the service in February 2019).
    pub fn trimmed() -> ApiError {
        ApiError::new(
            ErrorKind::TrimmedDataAccess,
            "The data you are trying to access has been trimmed",
        )
    }

    /// An iterator that was used too late (API Reference, without its full stop as the service leaves it out elsewhere).
    pub fn expired_iterator() -> ApiError {
        ApiError::new(
            ErrorKind::ExpiredIterator,
            "The provided iterator exceeds the maximum age allowed",
        )
    }
}

// Errors that are no client's mistake.
impl ApiError {
    /// A resource of another account, which nothing allows the caller to use.
    pub fn not_authorized(account: &str, operation: &str, arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::AccessDenied,
            format!(
                "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on resource: {arn} because no resource-based policy allows the dynamodb:{operation} action"
            ),
        )
    }

    /// A resource without a policy.
    pub fn policy_not_found(arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::PolicyNotFound,
            format!("Resource-based policy not found for the provided ResourceArn: {arn}"),
        )
    }

    /// An item collection that has reached its 10 GB. The text is that of a transaction's reason (API model): of the
    /// exception by itself none is known.
    pub fn collection_too_large() -> ApiError {
        ApiError::new(ErrorKind::ItemCollectionSizeLimitExceeded, "Collection size exceeded.")
    }

    pub fn missing_token() -> ApiError {
        ApiError::new(
            ErrorKind::MissingAuthenticationToken,
            "Request is missing Authentication Token",
        )
    }

    /// Something broke on the service's side.
    pub fn internal() -> ApiError {
        ApiError::new(ErrorKind::InternalServerError, "Internal server error")
    }

    /// The emulator stores as much as it may.
    pub fn out_of_memory() -> ApiError {
        ApiError::new(
            ErrorKind::InternalServerError,
            "The emulator stores as much as its memory limit allows; reads and deletes go on.",
        )
    }

    /// The service is not to be reached.
    pub fn unavailable() -> ApiError {
        ApiError::new(ErrorKind::ServiceUnavailable, "Service is temporarily unavailable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_joined_and_ten_at_most() {
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
        let mut violations = Violations::new();
        (0..20).for_each(|_| violations.missing("item"));
        assert!(
            violations
                .finish()
                .unwrap_err()
                .message()
                .unwrap()
                .starts_with("10 validation errors detected: ")
        );
    }
}
