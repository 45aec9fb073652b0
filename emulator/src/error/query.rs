//! Texts about queries and scans.

use super::{ApiError, KeyValueText};
use crate::value::{AttributeValue, Map, Name};

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
