//! The service's texts about statements. Errors of the language, which have no prefix, may end with the position of
//! their token.

use std::fmt::{self, Display};

use super::lexer::Token;
use crate::error::{ApiError, ErrorKind};
use crate::value::Name;

/// `Statement wasn't well formed, can't be processed: …`. Errors of the tokenizer have no detail.
pub(super) fn not_well_formed(detail: impl Display) -> ApiError {
    ApiError::validation(format!("Statement wasn't well formed, can't be processed: {detail}"))
}

/// The position of a token in its statement, as texts show it: line, column and length, in characters, from 1.
#[derive(Clone, Copy)]
pub(super) struct SourcePosition {
    line: usize,
    column: usize,
    length: usize,
}

impl SourcePosition {
    pub(super) fn of(statement: &str, token: Token) -> SourcePosition {
        let before = statement.get(..token.start as usize).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let text = statement
            .get(token.start as usize..token.end as usize)
            .unwrap_or_default();
        SourcePosition {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            length: text.chars().count(),
        }
    }
}

impl Display for SourcePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at {}:{}:{}", self.line, self.column, self.length)
    }
}

/// A statement_error without a place.
pub(super) fn statement_error(text: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::validation(text)
}

/// A statement_error with its place.
pub(super) fn statement_error_at(text: impl Display, place: SourcePosition) -> ApiError {
    ApiError::validation(format!("{text} {place}"))
}

pub(super) fn aliasing() -> ApiError {
    statement_error("Aliasing is not supported")
}

pub(super) fn unsupported_clause(clause: &str) -> ApiError {
    statement_error(format!("Unsupported clause: {clause}"))
}

pub(super) fn unsupported_operation(operation: &str) -> ApiError {
    statement_error(format!("Unsupported operation: {operation}"))
}

pub(super) fn unsupported_token(word: &str, place: SourcePosition) -> ApiError {
    statement_error_at(format_args!("Unsupported token in expression: {word}"), place)
}

pub(super) fn unknown_function(name: &str, place: SourcePosition) -> ApiError {
    statement_error_at(format_args!("Unrecognized function: {name}"), place)
}

pub(super) fn in_operator() -> ApiError {
    statement_error(
        "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member",
    )
}

pub(super) fn missing_value() -> ApiError {
    statement_error("MISSING must be compared using IS operator")
}

pub(super) fn bag_type() -> &'static str {
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
}

pub(super) fn list_index(index: &str, place: SourcePosition) -> ApiError {
    statement_error_at(
        format_args!("List index is not within the allowable range; index: [{index}]"),
        place,
    )
}

pub(super) fn path_component(place: SourcePosition) -> ApiError {
    statement_error_at("Unexpected path component", place)
}

pub(super) fn empty_component() -> ApiError {
    statement_error("Path component cannot be an empty string")
}

pub(super) fn operand_count(function: &str, count: usize) -> ApiError {
    statement_error(format!(
        "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
    ))
}

pub(super) fn operand_type(operator: &str, kind: &str) -> ApiError {
    statement_error(format!(
        "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
    ))
}

impl ApiError {
    /// Fewer parameters than question marks.
    pub(super) fn parameter_count() -> ApiError {
        statement_error("Number of parameters in request and statement don't match.")
    }

    /// EXISTS, or a function of that name, outside of a transaction that writes.
    pub fn exists_misplaced() -> ApiError {
        statement_error("EXISTS can only be used in ExecuteTransaction write requests.")
    }

    /// A key that is compared with a value of another type.
    pub fn statement_key_type(name: &Name) -> ApiError {
        statement_error(format!(
            "Key attribute's data type should match its data type in table's schema: Key {name}"
        ))
    }

    /// A key that is compared with a value that no key can have.
    pub fn statement_key_value(name: &Name, kind: &str) -> ApiError {
        statement_error(format!(
            "Key value must be of type S, N, or B. Key name: {name}, Key type: {kind}"
        ))
    }

    /// An item to be inserted without one of its keys.
    pub fn statement_key_missing(name: &Name) -> ApiError {
        statement_error(format!("Key attribute should be present in the item: Key {name}"))
    }

    /// A write whose WHERE clause does not fix the item's key.
    pub fn mandatory_equality() -> ApiError {
        statement_error("Where clause does not contain a mandatory equality on all key attributes")
    }

    /// A write about several items.
    pub(super) fn several_values_of_key(name: &Name) -> ApiError {
        statement_error(format!(
            "Multiple conditions on same key {name}. Only single item Update/Insert/Delete are supported"
        ))
    }

    /// Branches of a WHERE clause that would read an item twice.
    pub fn overlapping_conditions() -> ApiError {
        statement_error("Overlapping conditions with range keys are not supported in where clause")
    }

    /// A WHERE clause that expands to more reads than one request may make.
    pub(super) fn too_many_reads() -> ApiError {
        statement_error("Too many decomposed read operations for a given query.")
    }

    /// An INSERT of an existing item.
    pub fn duplicate_item() -> ApiError {
        ApiError::new(ErrorKind::DuplicateItem, "Duplicate primary key exists in table")
    }

    pub fn next_token_invalid() -> ApiError {
        statement_error("Invalid NextToken")
    }

    /// A token of another statement.
    pub fn next_token_foreign() -> ApiError {
        statement_error("NextToken does not match request")
    }
}
