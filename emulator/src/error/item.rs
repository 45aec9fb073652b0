//! Texts about tables, keys, items and conditions.

use std::fmt;

use super::{ApiError, Detail, ErrorKind, ONE_VALIDATION_ERROR};
use crate::limits;
use crate::value::Item;

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

    pub(super) fn empty_key_text(name: &str, kind: &str) -> String {
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
