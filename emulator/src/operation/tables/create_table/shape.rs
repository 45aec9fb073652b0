//! The model's constraints on a CreateTable: names, lengths, enumerations and bounds, collected.

use crate::error::{ApiError, Violations, constraint};
use crate::operation::check::{one_of, words};
use crate::operation::{check, streams};
use crate::request::{
    AttributeDefinition, CreateTable, KeySchemaElement, Projection, ProvisionedThroughput, SearchSchemaElement,
    SecondaryIndex, SseSpecification, StreamSpecification, VectorIndex,
};
use crate::schema::{Distance, ScalarType, StreamView};
use crate::value::Text;

/// An invalid table name is reported alone; all other violations are reported together. `under` is the prefix of the
/// members' paths.
pub(in crate::operation) fn check(request: &CreateTable, name: &str, under: &str) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    check::plain_name(&mut violations, name, &format!("{under}tableName"));
    violations.finish()?;
    let mut violations = Violations::new();
    members(&mut violations, request, under);
    violations.finish()
}

fn members(violations: &mut Violations, request: &CreateTable, under: &str) {
    let path = |member: &str| format!("{under}{member}");
    // A table with a source has the source's keys.
    billing_mode(violations, request.billing_mode.as_ref(), &path("billingMode"));
    let source = request.global_table_source_arn.as_ref();
    streams::length(violations, source, "globalTableSourceArn", 1, 1024);
    settings_replication(violations, request.global_table_settings_replication_mode.as_ref());
    let units = request.provisioned_throughput.as_ref();
    throughput(violations, units, &path("provisionedThroughput"));
    match &request.key_schema {
        None if source.is_some() => {}
        None => violations.missing(path("keySchema")),
        Some(elements) => key_schema(violations, elements, &path("keySchema"), 2),
    }
    match &request.attribute_definitions {
        None if source.is_some() => {}
        None => violations.missing(path("attributeDefinitions")),
        Some(each) => definitions(violations, each, &path("attributeDefinitions")),
    }
    for (indexes, member, most) in [
        (&request.global_secondary_indexes, "globalSecondaryIndexes", 8),
        (&request.local_secondary_indexes, "localSecondaryIndexes", 2),
    ] {
        for (at, each) in indexes.iter().flatten().enumerate() {
            index(violations, each, &format!("{under}{member}.{}.member", at + 1), most);
        }
    }
    for (at, each) in request.vector_indexes.iter().flatten().enumerate() {
        vector_index(violations, each, &format!("{under}vectorIndexes.{}.member", at + 1));
    }
    stream(violations, request.stream_specification.as_ref());
    encryption(
        violations,
        request.sse_specification.as_ref(),
        &path("sSESpecification"),
    );
}

const DISTANCES: &str = "[COSINE, DOT_PRODUCT, EUCLIDEAN]";
const ROLES: &str = "[HASH, INLINE_FILTER]";

/// The model's constraints on one index.
pub(in crate::operation) fn vector_index(violations: &mut Violations, index: &VectorIndex, path: &str) {
    index_name(violations, index.index_name.as_ref(), path);
    match &index.vector_attribute {
        None => violations.missing(format_args!("{path}.vectorAttribute")),
        Some(attribute) => {
            let path = format!("{path}.vectorAttribute");
            attribute_name(violations, attribute.attribute_name.as_deref(), &path);
        }
    }
    if let Some(elements) = &index.search_schema {
        search_schema(violations, elements, &format!("{path}.searchSchema"));
    }
    match &index.projection {
        None => violations.missing(format_args!("{path}.projection")),
        Some(each) => projection(violations, each, &format!("{path}.projection")),
    }
    let dimensions = format!("{path}.dimensions");
    match index.dimensions {
        None => violations.missing(dimensions),
        Some(count) if count < 1 => violations.value(count, dimensions, constraint::min_value(1)),
        Some(_) => {}
    }
    let function = format!("{path}.distanceFunction");
    match one_of(index.distance_function.as_ref()) {
        None => violations.missing(function),
        Some(word) if Distance::from_name(word).is_none() => {
            violations.value(word, function, constraint::one_of(DISTANCES));
        }
        Some(_) => {}
    }
}

fn search_schema(violations: &mut Violations, elements: &[SearchSchemaElement], path: &str) {
    if elements.is_empty() {
        violations.value("[]", path, constraint::min_length(1));
    }
    for (at, element) in elements.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        attribute_name(violations, element.attribute_name.as_deref(), &path);
        let path = format!("{path}.searchSchemaElementType");
        match one_of(element.search_schema_element_type.as_ref()) {
            None => violations.missing(path),
            Some("HASH" | "INLINE_FILTER") => {}
            Some(word) => violations.value(word, path, constraint::one_of(ROLES)),
        }
    }
}

/// The kinds of encryption, in the model's order; the service's order is not recorded.
const ENCRYPTIONS: &str = "[AES256, KMS]";

pub(in crate::operation) fn encryption(violations: &mut Violations, requested: Option<&SseSpecification>, path: &str) {
    if let Some(word) = requested.and_then(|requested| one_of(requested.sse_type.as_ref()))
        && !matches!(word, "AES256" | "KMS")
    {
        violations.value(word, format_args!("{path}.sSEType"), constraint::one_of(ENCRYPTIONS));
    }
}

pub(in crate::operation) fn settings_replication(violations: &mut Violations, word: Option<&Text>) {
    if let Some(word) = one_of(word)
        && !matches!(word, "ENABLED" | "DISABLED" | "ENABLED_WITH_OVERRIDES")
    {
        let set = constraint::one_of(words::SETTINGS_REPLICATION_MODE);
        violations.value(word, "globalTableSettingsReplicationMode", set);
    }
}

/// Checks the value for a table without replicas.
pub(in crate::operation) fn check_settings_replication(word: Option<&Text>) -> Result<(), ApiError> {
    if one_of(word) != Some("ENABLED_WITH_OVERRIDES") {
        return Ok(());
    }
    Err(ApiError::validation(
        "Value 'ENABLED_WITH_OVERRIDES' at 'GlobalTableSettingsReplicationMode' failed to satisfy constraint: Only ENABLED and DISABLED settings replication are supported for a Regional Table.",
    ))
}

/// The views of a stream, in the model's order; the service's order is not recorded.
const VIEWS: &str = "[NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]";

pub(in crate::operation) fn stream(violations: &mut Violations, requested: Option<&StreamSpecification>) {
    let Some(requested) = requested else { return };
    if requested.stream_enabled.is_none() {
        violations.missing("streamSpecification.streamEnabled");
    }
    if let Some(word) = one_of(requested.stream_view_type.as_ref())
        && StreamView::from_name(word).is_none()
    {
        violations.value(word, "streamSpecification.streamViewType", constraint::one_of(VIEWS));
    }
}

pub(in crate::operation) fn billing_mode(violations: &mut Violations, word: Option<&Text>, path: &str) {
    if let Some(word) = one_of(word)
        && !matches!(word, "PROVISIONED" | "PAY_PER_REQUEST")
    {
        violations.value(word, path, constraint::one_of(words::BILLING_MODE));
    }
}

pub(in crate::operation) fn definitions(violations: &mut Violations, definitions: &[AttributeDefinition], path: &str) {
    for (at, definition) in definitions.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        attribute_name(violations, definition.attribute_name.as_deref(), &path);
        match one_of(definition.attribute_type.as_ref()) {
            None => violations.missing(format_args!("{path}.attributeType")),
            Some(word) if ScalarType::from_name(word).is_none() => {
                let set = constraint::one_of(words::ATTRIBUTE_TYPE);
                violations.value(word, format_args!("{path}.attributeType"), set);
            }
            Some(_) => {}
        }
    }
}

pub(super) fn attribute_name(violations: &mut Violations, name: Option<&str>, path: &str) {
    let path = format!("{path}.attributeName");
    match name {
        None => violations.missing(path),
        Some("") => violations.value("", path, constraint::min_length(1)),
        Some(name) if name.len() > 255 => violations.value(name, path, constraint::max_length(255)),
        Some(_) => {}
    }
}

fn key_schema(violations: &mut Violations, elements: &[KeySchemaElement], path: &str, most: usize) {
    if elements.is_empty() {
        violations.value("[]", path, constraint::min_length(1));
    }
    if elements.len() > most {
        let shown: Vec<String> = elements.iter().map(shown_element).collect();
        violations.value(
            format_args!("[{}]", shown.join(", ")),
            path,
            constraint::max_length(most),
        );
    }
    for (at, element) in elements.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        attribute_name(violations, element.attribute_name.as_deref(), &path);
        match one_of(element.key_type.as_ref()) {
            None => violations.missing(format_args!("{path}.keyType")),
            Some("HASH" | "RANGE") => {}
            Some(word) => {
                violations.value(
                    word,
                    format_args!("{path}.keyType"),
                    constraint::one_of(words::KEY_TYPE),
                );
            }
        }
    }
}

/// An element as the service's framework prints it.
fn shown_element(element: &KeySchemaElement) -> String {
    format!(
        "KeySchemaElement(attributeName={}, keyType={})",
        element.attribute_name.as_deref().unwrap_or("null"),
        element.key_type.as_deref().unwrap_or("null")
    )
}

pub(in crate::operation) fn throughput(
    violations: &mut Violations,
    throughput: Option<&ProvisionedThroughput>,
    path: &str,
) {
    let Some(throughput) = throughput else { return };
    // Write units are reported before read units.
    for (units, name) in [
        (throughput.write_capacity_units, "writeCapacityUnits"),
        (throughput.read_capacity_units, "readCapacityUnits"),
    ] {
        match units {
            None => violations.missing(format_args!("{path}.{name}")),
            Some(units) if units < 1 => {
                violations.value(units, format_args!("{path}.{name}"), constraint::min_value(1));
            }
            Some(_) => {}
        }
    }
}

pub(in crate::operation) fn index_name(violations: &mut Violations, name: Option<&Text>, path: &str) {
    match one_of(name) {
        None => violations.missing(format_args!("{path}.indexName")),
        Some("") => violations.value("", format_args!("{path}.indexName"), constraint::min_length(3)),
        Some(name) => check::plain_name(violations, name, &format!("{path}.indexName")),
    }
}

pub(in crate::operation) fn index(violations: &mut Violations, index: &SecondaryIndex, path: &str, most_keys: usize) {
    index_name(violations, index.index_name.as_ref(), path);
    match &index.key_schema {
        None => violations.missing(format_args!("{path}.keySchema")),
        Some(elements) => key_schema(violations, elements, &format!("{path}.keySchema"), most_keys),
    }
    match &index.projection {
        None => violations.missing(format_args!("{path}.projection")),
        Some(each) => projection(violations, each, &format!("{path}.projection")),
    }
    throughput(
        violations,
        index.provisioned_throughput.as_ref(),
        &format!("{path}.provisionedThroughput"),
    );
}

pub(super) fn projection(violations: &mut Violations, projection: &Projection, path: &str) {
    if let Some(word) = one_of(projection.projection_type.as_ref())
        && !matches!(word, "ALL" | "INCLUDE" | "KEYS_ONLY")
    {
        let set = constraint::one_of(words::PROJECTION_TYPE);
        violations.value(word, format_args!("{path}.projectionType"), set);
    }
    let Some(names) = &projection.non_key_attributes else {
        return;
    };
    let path = format!("{path}.nonKeyAttributes");
    if names.is_empty() {
        violations.value("[]", &path, constraint::min_length(1));
    }
    if names.len() > 20 {
        violations.value(
            format_args!("[{}]", names.join(", ")),
            &path,
            constraint::max_length(20),
        );
    }
    for (at, name) in names.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        match name.len() {
            0 => violations.value("", path, constraint::min_length(1)),
            1..=255 => {}
            _ => violations.value(name, path, constraint::max_length(255)),
        }
    }
}
