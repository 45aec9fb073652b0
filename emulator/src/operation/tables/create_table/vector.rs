//! Vector indexes as CreateTable and UpdateTable define them (docs/behavior: 04 14.1).

use super::definition::{self, Types};
use crate::error::ApiError;
use crate::limits;
use crate::operation::check::one_of;
use crate::request::{SearchSchemaElement, VectorIndex as ReturnMembers};
use crate::schema::{BillingMode, Distance, SearchAttribute, VectorIndex};
use crate::sort;

pub(super) fn read(
    requested: Option<&[ReturnMembers]>,
    types: &Types,
    billing: BillingMode,
) -> Result<Vec<VectorIndex>, ApiError> {
    let Some(requested) = requested else {
        return Ok(Vec::new());
    };
    if requested.is_empty() {
        return Err(ApiError::invalid("List of VectorIndexes is empty"));
    }
    let mut indexes = Vec::with_capacity(requested.len());
    for each in requested {
        let made = index(each, types, billing)?;
        check_dimensions(&made, &indexes)?;
        indexes.push(made);
    }
    Ok(indexes)
}

/// An index, given the attribute definitions.
pub(in crate::operation) fn index(
    requested: &ReturnMembers,
    types: &Types,
    billing: BillingMode,
) -> Result<VectorIndex, ApiError> {
    check_billing(billing)?;
    let dimensions = requested.dimensions.unwrap_or_default();
    if !(1..=limits::VECTOR_DIMENSIONS).contains(&dimensions) {
        return Err(ApiError::invalid(
            "Number of dimensions must be between 1 and 4096 inclusive.",
        ));
    }
    let attribute = requested
        .vector_attribute
        .as_ref()
        .and_then(|each| each.attribute_name.clone());
    let attribute = attribute.unwrap_or_default();
    check_not_defined(&attribute, types)?;
    Ok(VectorIndex {
        name: requested.index_name.clone().unwrap_or_default(),
        attribute,
        search: search_attributes(requested.search_schema.as_deref().unwrap_or_default(), types)?,
        projection: definition::projection(requested.projection.as_ref())?,
        dimensions: dimensions as usize,
        distance: one_of(requested.distance_function.as_ref())
            .and_then(Distance::from_name)
            .unwrap_or(Distance::Cosine),
    })
}

/// Checks the billing mode: vector indexes require on-demand tables.
pub(in crate::operation) fn check_billing(billing: BillingMode) -> Result<(), ApiError> {
    match billing {
        BillingMode::PayPerRequest => Ok(()),
        BillingMode::Provisioned => Err(ApiError::invalid(
            "Vector indexes are only supported for PAY_PER_REQUEST tables",
        )),
    }
}

/// Checks that the vector attribute is not a key attribute.
pub(in crate::operation) fn check_not_defined(attribute: &str, types: &Types) -> Result<(), ApiError> {
    if types.iter().any(|each| each.name == attribute) {
        return Err(ApiError::invalid(format_args!(
            "Conflicting attribute definition for '{attribute}'. An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
        )));
    }
    Ok(())
}

/// Checks that all indexes on one attribute have vectors of one length.
pub(in crate::operation) fn check_dimensions(index: &VectorIndex, others: &[VectorIndex]) -> Result<(), ApiError> {
    let differs = |other: &VectorIndex| other.attribute == index.attribute && other.dimensions != index.dimensions;
    if others.iter().any(differs) {
        return Err(ApiError::invalid(format_args!(
            "Conflicting attribute definition for '{}'. All VectorIndexes on the same vector attribute must use the same dimensions.",
            index.attribute
        )));
    }
    Ok(())
}

fn search_attributes(elements: &[SearchSchemaElement], types: &Types) -> Result<Vec<SearchAttribute>, ApiError> {
    let is_hash = |element: &SearchSchemaElement| one_of(element.search_schema_element_type.as_ref()) == Some("HASH");
    let hashes = elements.iter().filter(|element| is_hash(element)).count();
    for (count, most, role) in [
        (hashes, 1, "HASH"),
        (elements.len() - hashes, limits::INLINE_FILTERS, "INLINE_FILTER"),
    ] {
        if count > most {
            return Err(ApiError::invalid(format_args!(
                "Value '{count}' at 'SearchSchema' failed to satisfy constraint: Member must have {role} count less than or equal to {most}"
            )));
        }
    }
    let mut names: Vec<&str> = elements
        .iter()
        .filter_map(|each| each.attribute_name.as_deref())
        .collect();
    sort::sort_unique(&mut names);
    if names.len() < elements.len() {
        return Err(ApiError::invalid("SearchSchema contains a duplicate AttributeName"));
    }
    let find = |element: &SearchSchemaElement| {
        let mut types = types.iter();
        let found = types.find(|each| Some(&each.name) == element.attribute_name.as_ref())?;
        Some(SearchAttribute {
            name: found.name.clone(),
            kind: found.kind,
            hash: is_hash(element),
        })
    };
    let found: Option<Vec<SearchAttribute>> = elements.iter().map(find).collect();
    found.ok_or_else(|| ApiError::invalid("One element in SearchSchema is not defined in attribute definitions"))
}
