//! Shared by the reading operations: projections, and the pages of Query and Scan.

use crate::context::Caches;
use crate::error::{ApiError, Violations, constraint};
use crate::execute::PageResult;
use crate::expression::{Bindings, Condition, Projection, legacy};
use crate::key::{self, Key};
use crate::operation::check::{self, CapacityReport, words};
use crate::operation::output;
use crate::plan::{self, Access, ItemAccess, ItemRequest, PageRead, Select, Target};
use crate::request::{LegacyCondition, Substitutions};
use crate::schema::{Index, Projection as IndexProjection};
use crate::value::{Item, Map, Name, Text};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Lowers `QueryFilter` or `ScanFilter` and `ConditionalOperator`, if given.
pub fn filter<'r>(
    member: &str,
    filter: Option<&'r Vec<(Name, LegacyCondition)>>,
    operator: Option<&Text>,
) -> Result<Option<Condition<'r>>, ApiError> {
    if filter.is_none() && operator.is_none() {
        return Ok(None);
    }
    legacy::filter(member, filter, operator.map(Text::as_str)).map(Some)
}

/// Names require any expression, and values one that can use them; `missing` describes the latter.
pub fn check_substitutions(
    substitutions: &Substitutions,
    has_any: bool,
    has_values: bool,
    missing: &str,
) -> Result<(), ApiError> {
    check::substitutions_need_expression(substitutions, has_any, Some(missing))?;
    if substitutions.values.is_some() && !has_values {
        return Err(ApiError::values_without_expression(Some(missing)));
    }
    Ok(())
}

pub fn attributes_to_get(names: Option<&[Name]>) -> Result<Option<Projection<'_>>, ApiError> {
    names.map(legacy::attributes_to_get).transpose()
}

/// The projection of a request that has no other expression. All of its violations are reported before the table lookup.
pub fn projection<'r>(
    substitutions: &'r Substitutions,
    text: Option<&'r Text>,
    caches: &'r Caches,
) -> Result<Option<Projection<'r>>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let mut scope = Bindings::new(substitutions, &caches.expressions)?;
    let projection = scope.projection(text)?;
    scope.check_all_used()?;
    Ok(Some(projection))
}

/// Writes an item, or its projection.
pub fn item(answer: &mut Object<'_>, name: &'static str, item: &Item, projection: Option<&Projection<'_>>) {
    match projection {
        None => answer.item(name, item),
        Some(projection) => answer.map(name, &projection.apply_to(item)),
    }
}

/// Parses `Select`, which must be a known value.
pub fn known_select(violations: &mut Violations, word: Option<&Text>) -> Option<Select> {
    Some(match word.map(Text::as_str) {
        None => return None,
        Some("ALL_ATTRIBUTES") => Select::AllAttributes,
        Some("ALL_PROJECTED_ATTRIBUTES") => Select::AllProjectedAttributes,
        Some("SPECIFIC_ATTRIBUTES") => Select::SpecificAttributes,
        Some("COUNT") => Select::Count,
        Some(other) => {
            violations.value(other, "select", constraint::one_of(words::SELECT));
            return None;
        }
    })
}

/// Checks `Select` against the other members.
pub fn check_select(
    select: Option<Select>,
    projection: Option<&Text>,
    attributes_to_get: bool,
    on_index: bool,
) -> Result<(), ApiError> {
    let named = if projection.is_some() {
        Some("ProjectionExpression")
    } else if attributes_to_get {
        Some("AttributesToGet")
    } else {
        None
    };
    let text = match (select, named) {
        (Some(Select::SpecificAttributes), None) => {
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
                .to_owned()
        }
        (Some(Select::Count), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get only the Count")
        }
        (Some(Select::AllAttributes), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get ALL_ATTRIBUTES")
        }
        (Some(Select::AllProjectedAttributes), Some(named)) => {
            format!("Cannot specify the {named} when choosing to get ALL_PROJECTED_ATTRIBUTES")
        }
        (Some(Select::AllProjectedAttributes), None) if !on_index => {
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName".to_owned()
        }
        _ => return Ok(()),
    };
    Err(ApiError::validation(text))
}

/// Checks that an index supports the requested consistency and attributes.
pub fn check_index(index: Option<&Index>, consistent: bool, select: Option<Select>) -> Result<(), ApiError> {
    let Some(index) = index.filter(|index| !index.local) else {
        return Ok(());
    };
    if consistent {
        return Err(ApiError::validation(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    if select == Some(Select::AllAttributes) && index.projection != IndexProjection::All {
        return Err(ApiError::invalid(format_args!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type is not ALL",
            index.name
        )));
    }
    Ok(())
}

/// The position of an `ExclusiveStartKey`, which must be a key of the table or index; otherwise `unfit` is the error.
pub fn start_key(
    target: &Target,
    index: Option<&Index>,
    start: Option<&Map>,
    unfit: fn() -> ApiError,
) -> Result<Option<Key>, ApiError> {
    let Some(start) = start else { return Ok(None) };
    let found = plan::start_key(target.definition(), index, start).ok_or_else(unfit)?;
    let mut attributes = start.iter();
    let empty = attributes.find_map(|(name, value)| Some(ApiError::empty_start_key(name, key::empty_key_type(value)?)));
    empty.map_or(Ok(Some(found)), Err)
}

/// The page that a Query or Scan reads, and the parts of its response.
pub struct PagePlan<'r> {
    pub read: PageRead<'r>,
    pub report: CapacityReport,
}

impl PagePlan<'_> {
    /// Calls `each` for every access that the request requires.
    pub fn access(&self, each: &mut dyn FnMut(Access<'_, '_>)) {
        for range in &self.read.ranges {
            each(Access::Items(ItemAccess {
                statement: self.read.is_statement,
                return_consumed_capacity: Some(self.report.name()),
                ..ItemRequest::Page(&self.read, range).into()
            }));
        }
    }
}

/// Writes the response of a Query or Scan.
pub fn encode(plan: &PagePlan<'_>, mut result: PageResult, out: &mut Writer) {
    let PagePlan { read, report } = plan;
    let count = result.count();
    let mut answer = match result.encoded.take() {
        Some(encoded) => {
            *out = encoded.into_response();
            out.close_list();
            Object::resume(out)
        }
        None => encode_items(read, &result, out),
    };
    answer.integer("Count", count as i64);
    answer.integer("ScannedCount", result.scanned as i64);
    if let Some((_, last)) = &result.next {
        let key = key::key_attributes(last, &read.target.definition().key, read.index());
        answer.map("LastEvaluatedKey", &key);
    }
    if *report != CapacityReport::None {
        let consumed = result.cost.consumed(read, &read.target.requested_name());
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, *report);
    }
    answer.close();
}

/// Writes the start of the response and the items, unless only their number is returned.
fn encode_items<'w>(read: &PageRead<'_>, result: &PageResult, out: &'w mut Writer) -> Object<'w> {
    let counts_only = read.select == Some(Select::Count);
    // The items' JSON is a little longer than their size.
    if !counts_only && read.projection.is_none() {
        out.reserve(result.bytes + result.bytes / 4 + 256);
    }
    let mut answer = Object::open(out);
    if !counts_only {
        let mut items = answer.list("Items");
        for item in &result.items {
            match &read.projection {
                None => items.item(item),
                Some(projection) => items.map(&projection.apply_to(item)),
            }
        }
        items.close();
    }
    answer
}
