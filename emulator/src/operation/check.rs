//! The model's constraints on members that several operations share, in the wording of each layer.

use std::time::Duration;

use super::{arn, dump};
pub use crate::error::is_name;
use crate::error::{ApiError, Violations, constraint};
use crate::limits;
use crate::request::Substitutions;
use crate::value::{Map, Name, Text};

/// The text of a member with an enumeration, if the request has the member.
pub fn one_of(word: Option<&Text>) -> Option<&str> {
    word.map(Text::as_str)
}

/// The time for which a table that is being deleted still answers calls on time to live, backups and insights
/// (measured: 1 to 1.6 s).
pub const FOUND_AFTER_DELETION: Duration = Duration::from_secs(1);

/// Enumerations, as the service prints them.
pub mod words {
    pub const RETURN_CONSUMED_CAPACITY: &str = "[INDEXES, TOTAL, NONE]";
    pub const RETURN_ITEM_COLLECTION_METRICS: &str = "[SIZE, NONE]";
    /// `ReturnValues`; the misspelling is the service's.
    pub const RETURN_VALUES: &str = "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";
    /// `ReturnValues` in the older layer.
    pub const RETURN_VALUES_OLDER: &str = "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]";
    pub const RETURN_VALUES_ON_FAILURE: &str = "[ALL_OLD, NONE]";
    pub const SELECT: &str = "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]";
    /// `ConditionalOperator` in the older layer.
    pub const CONDITIONAL_OPERATOR_OLDER: &str = "[OR, AND]";
    /// `ComparisonOperator` in the older layer.
    pub const COMPARISON_OPERATOR_OLDER: &str =
        "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]";
    pub const KEY_TYPE: &str = "[HASH, RANGE]";
    pub const ATTRIBUTE_TYPE: &str = "[B, N, S]";
    pub const BILLING_MODE: &str = "[PROVISIONED, PAY_PER_REQUEST]";
    /// `ApproximateCreationDateTimePrecision`; this and the next four in the model's order, since none has been recorded.
    pub const DATE_TIME_PRECISION: &str = "[MILLISECOND, MICROSECOND]";
    pub const MULTI_REGION_CONSISTENCY: &str = "[EVENTUAL, STRONG]";
    pub const SETTINGS_REPLICATION_MODE: &str = "[ENABLED, DISABLED, ENABLED_WITH_OVERRIDES]";
    pub const CONTRIBUTOR_INSIGHTS_ACTION: &str = "[ENABLE, DISABLE]";
    pub const CONTRIBUTOR_INSIGHTS_MODE: &str = "[ACCESSED_AND_THROTTLED_KEYS, THROTTLED_KEYS]";
    pub const PROJECTION_TYPE: &str = "[ALL, INCLUDE, KEYS_ONLY]";
}

/// The part of a response's cost that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityReport {
    None,
    Total,
    /// The sum and its parts.
    Indexes,
}

pub fn return_consumed_capacity(violations: &mut Violations, word: Option<&Text>) -> CapacityReport {
    match word.map(Text::as_str) {
        None | Some("NONE") => CapacityReport::None,
        Some("TOTAL") => CapacityReport::Total,
        Some("INDEXES") => CapacityReport::Indexes,
        Some(other) => {
            violations.value(
                other,
                "returnConsumedCapacity",
                constraint::one_of(words::RETURN_CONSUMED_CAPACITY),
            );
            CapacityReport::None
        }
    }
}

/// `ReturnItemCollectionMetrics`: whether sizes are requested.
pub fn return_item_collection_metrics(violations: &mut Violations, word: Option<&Text>) -> bool {
    match word.map(Text::as_str) {
        None | Some("NONE") => false,
        Some("SIZE") => true,
        Some(other) => {
            let set = constraint::one_of(words::RETURN_ITEM_COLLECTION_METRICS);
            violations.value(other, "returnItemCollectionMetrics", set);
            false
        }
    }
}

impl CapacityReport {
    /// The value in the request, with the default of requests without it.
    pub fn name(self) -> &'static str {
        match self {
            CapacityReport::None => "NONE",
            CapacityReport::Total => "TOTAL",
            CapacityReport::Indexes => "INDEXES",
        }
    }
}

/// A text, empty if the request has none.
pub fn text(text: Option<&Text>) -> &str {
    text.map(Text::as_str).unwrap_or_default()
}

/// A key, empty if the request has none.
pub fn key(key: Option<&Map>) -> &Map {
    static NO_KEY: Map = Map::new();
    key.unwrap_or(&NO_KEY)
}

/// Which attributes a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the API's own words
pub enum ReturnValues {
    None,
    AllOld,
    UpdatedOld,
    AllNew,
    UpdatedNew,
}

impl ReturnValues {
    /// The value in the request.
    pub fn name(self) -> &'static str {
        match self {
            ReturnValues::None => "NONE",
            ReturnValues::AllOld => "ALL_OLD",
            ReturnValues::UpdatedOld => "UPDATED_OLD",
            ReturnValues::AllNew => "ALL_NEW",
            ReturnValues::UpdatedNew => "UPDATED_NEW",
        }
    }
}

pub fn return_values(word: Option<&Text>) -> Option<ReturnValues> {
    Some(match word.map(Text::as_str) {
        None | Some("NONE") => ReturnValues::None,
        Some("ALL_OLD") => ReturnValues::AllOld,
        Some("UPDATED_OLD") => ReturnValues::UpdatedOld,
        Some("ALL_NEW") => ReturnValues::AllNew,
        Some("UPDATED_NEW") => ReturnValues::UpdatedNew,
        Some(_) => return None,
    })
}

/// The violation of an unknown value in `ReturnValues`, in the moved layer, which names neither value nor member.
pub fn unknown_return_values() -> String {
    format!(
        "Failed to satisfy constraint: {}",
        constraint::one_of(words::RETURN_VALUES)
    )
}

/// `ReturnValuesOnConditionCheckFailure`: whether the item is requested.
pub fn return_values_on_failure(violations: &mut Violations, word: Option<&Text>, path: &str) -> bool {
    match word.map(Text::as_str) {
        None | Some("NONE") => false,
        Some("ALL_OLD") => true,
        Some(other) => {
            violations.value(other, path, constraint::one_of(words::RETURN_VALUES_ON_FAILURE));
            false
        }
    }
}

/// Checks a nonempty table name: its length and characters, unless it is an ARN.
pub fn name(violations: &mut Violations, name: &str, path: &str) {
    if name.starts_with("arn:") {
        return;
    }
    plain_name(violations, name, path);
}

/// Checks a name that cannot be an ARN: its length and characters.
pub fn plain_name(violations: &mut Violations, name: &str, path: &str) {
    violations.name(name, path);
}

/// `TableName` of a data-plane operation in the moved layer. An empty name is reported separately.
pub fn table_name(violations: &mut Violations, table: Option<&Text>) -> Result<(), ApiError> {
    match table.map(Text::as_str) {
        None => violations.missing("tableName"),
        Some("") => return Err(empty_table_name()),
        Some(table) => name(violations, table, "tableName"),
    }
    Ok(())
}

/// A table's name in the layer that echoes the value.
pub fn echoed_table_name(violations: &mut Violations, table: Option<&Text>, path: &str) {
    match table.map(Text::as_str) {
        None => violations.missing(path),
        Some("") => violations.value("", path, constraint::min_length(1)),
        Some(table) => name(violations, table, path),
    }
}

/// `ConditionalOperator` in the layer that echoes the value.
pub fn echoed_conditional_operator(violations: &mut Violations, word: Option<&Text>) {
    if let Some(word) = word.filter(|word| !matches!(word.as_str(), "AND" | "OR")) {
        let set = constraint::one_of(words::CONDITIONAL_OPERATOR_OLDER);
        violations.value(word, "conditionalOperator", set);
    }
}

/// The error for an empty `TableName` in the moved layer.
pub fn empty_table_name() -> ApiError {
    let mut violations = Violations::new();
    violations.value_not_echoed("TableName", constraint::min_length(1));
    violations.finish().err().unwrap_or_else(ApiError::internal)
}

/// `TableName` of a control-plane operation that names an existing table.
pub fn control_table_name(table: Option<&Text>) -> Result<&str, ApiError> {
    let Some(table) = table else {
        return Err(ApiError::table_name_required());
    };
    if table.starts_with("arn:") {
        return arn::table(table).map(|()| table.as_str());
    }
    if !(3..=255).contains(&table.chars().count()) {
        return Err(ApiError::validation(
            "TableName must be at least 3 characters long and at most 255 characters long",
        ));
    }
    let mut violations = Violations::new();
    name(&mut violations, table, "tableName");
    violations.finish()?;
    Ok(table)
}

/// `AttributesToGet`: optional, but not empty. The bound on its names is the model's.
pub fn attributes_to_get(violations: &mut Violations, names: Option<&[Name]>, path: &str) {
    let Some(names) = names else { return };
    if names.is_empty() {
        violations.value("[]", path, constraint::min_length(1));
    }
    if names.iter().any(|name| name.len() > limits::ATTRIBUTE_NAME_SIZE) {
        let most = constraint::max_length(limits::ATTRIBUTE_NAME_SIZE);
        let constraint = format!("Member must satisfy constraint: [{most}]");
        violations.value(dump::names(names), path, constraint);
    }
}

/// A number with bounds, in the moved layer.
pub fn range(violations: &mut Violations, value: Option<i64>, path: &str, least: i64, most: i64) {
    match value {
        Some(value) if value < least => violations.value_not_echoed(path, constraint::min_value(least)),
        Some(value) if value > most => violations.value_not_echoed(path, constraint::max_value(most)),
        _ => {}
    }
}

/// A number with bounds, in the layer that echoes the value.
pub fn echoed_range(violations: &mut Violations, value: Option<i64>, path: &str, least: i64, most: i64) {
    match value {
        Some(value) if value < least => violations.value(value, path, constraint::min_value(least)),
        Some(value) if value > most => violations.value(value, path, constraint::max_value(most)),
        _ => {}
    }
}

/// Rejects legacy parameters together with expression parameters; each parameter has a flag for whether it is
/// present.
pub fn mixing(legacy: &[(&'static str, bool)], expressions: &[(&'static str, bool)]) -> Result<(), ApiError> {
    let any = |parameters: &[(&str, bool)]| parameters.iter().any(|(_, there)| *there);
    if !(any(legacy) && any(expressions)) {
        return Ok(());
    }
    let present = |parameters: &[(&'static str, bool)]| -> Vec<&'static str> {
        parameters
            .iter()
            .filter(|(_, there)| *there)
            .map(|(name, _)| *name)
            .collect()
    };
    Err(ApiError::mixed_parameters(&present(legacy), &present(expressions)))
}

/// Rejects substitutions without an expression that could use them; `missing` is the text of reads for values.
pub fn substitutions_need_expression(
    substitutions: &Substitutions,
    has_expression: bool,
    missing: Option<&str>,
) -> Result<(), ApiError> {
    match (has_expression, &substitutions.names, &substitutions.values) {
        (false, Some(_), _) => Err(ApiError::names_without_expression()),
        (false, None, Some(_)) => Err(ApiError::values_without_expression(missing)),
        _ => Ok(()),
    }
}
