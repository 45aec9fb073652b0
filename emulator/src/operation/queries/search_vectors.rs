//! [SearchVectors](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_SearchVectors.html).

use crate::capacity::units;
use crate::change::vector::{self, VectorEntry};
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Refusals, SearchHit};
use crate::expression::{Bindings, ExpressionKind, Projection, SearchCondition};
use crate::key::{self, Key};
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::plan::{self, Access, ItemRequest, VectorSearch};
use crate::request::SearchVectors;
use crate::schema::{SearchAttribute, VectorIndex};
use crate::storage::{KeyRange, Segment};
use crate::value::{AttributeValue, Map};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

pub struct Operation;

pub struct Checked<'r> {
    request: &'r SearchVectors,
    vector: Vec<f32>,
    condition: Option<SearchCondition<'r>>,
    projection: Option<Projection<'r>>,
    report: CapacityReport,
}

pub struct Plan<'r> {
    search: VectorSearch<'r>,
    report: CapacityReport,
}

impl Stages for Operation {
    type Request = SearchVectors;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Vec<SearchHit>;

    fn check<'r>(request: &'r mut SearchVectors, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let report = check_members(request)?;
        let vector: Option<Vec<f32>> = request.search_vector.iter().copied().collect();
        let vector = vector.ok_or_else(|| {
            ApiError::validation(
                "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number attribute",
            )
        })?;
        check_kinds(request)?;
        let mut scope = Bindings::new(&request.substitutions, &caches.expressions)?;
        if let Some(text) = &request.projection_expression {
            Bindings::check_not_empty(ExpressionKind::Projection, text)?;
        }
        let condition = match &request.search_condition_expression {
            Some(text) => Some(scope.search_condition(text)?),
            None => None,
        };
        let projection = match &request.projection_expression {
            Some(text) => Some(scope.projection(text)?),
            None => None,
        };
        scope.check_all_used()?;
        Ok(Checked {
            request,
            vector,
            condition,
            projection,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let Checked {
            request,
            vector,
            condition,
            projection,
            report,
        } = checked;
        let target = plan::table(context, &request.table_name)?;
        let (at, index) = plan::vector_index(context, &target, &request.index_name)?;
        if vector.len() != index.dimensions {
            return Err(ApiError::validation(format!(
                "Input search vector dimension {} does not match vector index dimension {}",
                vector.len(),
                index.dimensions
            )));
        }
        let partition = check_condition(index, condition.as_ref())?;
        let search = VectorSearch {
            at,
            range: range(index.hash().zip(partition)),
            vector,
            most: request.top_k.max(0) as usize,
            condition,
            partition,
            projection,
            target,
        };
        Ok(Plan { search, report })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Items(ItemRequest::Search(&plan.search).into()));
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, _: Refusals) -> Result<Vec<SearchHit>, ApiError> {
        Ok(execute::search(context, &plan.search))
    }

    fn encode(plan: &Plan<'_>, found: Vec<SearchHit>, out: &mut Writer) {
        let search = &plan.search;
        write(out, search.index(), &found, search.projection.as_ref(), plan.report);
    }
}

fn check_members(request: &SearchVectors) -> Result<CapacityReport, ApiError> {
    let mut violations = Violations::new();
    check::table_name(&mut violations, Some(&request.table_name))?;
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    check_index_name(&mut violations, &request.index_name);
    let length = request.search_vector.len();
    if length == 0 {
        violations.value_not_echoed("SearchVector", constraint::min_length(1));
    }
    if length > limits::VECTOR_DIMENSIONS as usize {
        violations.value_not_echoed(
            "SearchVector",
            constraint::max_length(limits::VECTOR_DIMENSIONS as usize),
        );
    }
    if request.top_k < 1 {
        violations.value_not_echoed("TopK", constraint::min_value(1));
    }
    violations.finish()?;
    if request.top_k > limits::SEARCH_RESULTS {
        return Err(ApiError::validation(format!(
            "Provided TopK value '{}' is out of valid range. The value must be between 1 and 100 inclusive",
            request.top_k
        )));
    }
    Ok(report)
}

fn check_index_name(violations: &mut Violations, name: &str) {
    if !check::is_name(name) {
        violations.value_not_echoed("IndexName", constraint::NAME_PATTERN);
    }
    let length = name.chars().count();
    if length < 3 {
        violations.value_not_echoed("IndexName", constraint::min_length(3));
    }
    if length > 255 {
        violations.value_not_echoed("IndexName", constraint::max_length(255));
    }
}

/// Substitutions require an expression, and values one that can use them.
fn check_kinds(request: &SearchVectors) -> Result<(), ApiError> {
    let has_values = request.search_condition_expression.is_some();
    let has_any = has_values || request.projection_expression.is_some();
    check::substitutions_need_expression(&request.substitutions, has_any, None)?;
    if request.substitutions.values.is_some() && !has_values {
        return Err(ApiError::values_without_expression(None));
    }
    match request.search_condition_expression.as_deref() {
        Some(text) => Bindings::check_not_empty(ExpressionKind::SearchCondition, text),
        None => Ok(()),
    }
}

/// Checks the condition against the index's search attributes. Returns the value of the partition attribute, which is required.
fn check_condition<'r>(
    index: &VectorIndex,
    condition: Option<&SearchCondition<'r>>,
) -> Result<Option<&'r AttributeValue>, ApiError> {
    for (name, value) in condition.iter().flat_map(|condition| &condition.clauses) {
        let Some(attribute) = index.search_attribute(name) else {
            return Err(ApiError::validation(format!(
                "SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: {name}"
            )));
        };
        if !attribute.kind.fits(value) {
            return Err(ApiError::validation(format!(
                "Type of '{name}' attribute in SearchConditionExpression ({}) does not match type in search schema ({})",
                value.type_name(),
                attribute.kind.name()
            )));
        }
    }
    let Some(hash) = index.hash() else { return Ok(None) };
    match condition.and_then(|condition| condition.value_of(&hash.name)) {
        None => Err(ApiError::validation(
            "SearchConditionExpression must be provided when SearchSchema has a HASH key",
        )),
        Some(value) => match key::empty_key_type(value) {
            Some(kind) => Err(ApiError::empty_key(&hash.name, kind)),
            None => Ok(Some(value)),
        },
    }
}

/// The part of the index with this value of the partition attribute, or all of it.
fn range(partition: Option<(&SearchAttribute, &AttributeValue)>) -> KeyRange {
    let Some((hash, value)) = partition else {
        return KeyRange::of_segment(Segment { at: 0, total: 1 });
    };
    let Key { token, bytes } = vector::partition(hash, value);
    let upper = key::after_prefix(&bytes);
    KeyRange::of_token(token, bytes, upper)
}

fn write(
    out: &mut Writer,
    index: &VectorIndex,
    found: &[SearchHit],
    projection: Option<&Projection<'_>>,
    report: CapacityReport,
) {
    let mut answer = Object::open(out);
    let mut results = answer.list("SearchResults");
    for each in found {
        let mut result = results.object();
        let item = shown(index, &each.entry, projection);
        let mut object = result.object("Item");
        for (name, value) in &item {
            match value {
                AttributeValue::L(elements) if *name == index.attribute => floats(&mut object, name, elements),
                value => drop(object.member(name).value(value)),
            }
        }
        object.close();
        result.member("Score").float(each.score);
        result.close();
    }
    results.close();
    if report != CapacityReport::None {
        // The service documents only a minimum that varies: here the cost covers the query vector and the results.
        let bytes: usize = found.iter().map(|found| found.entry.size()).sum();
        let mut consumed = answer.object("ConsumedCapacity");
        let sought = 4 * index.dimensions;
        consumed.double("VectorSearchRequestBytes", units::vector_bytes(sought + bytes) as f64);
        consumed.close();
    }
    answer.close();
}

/// Writes the requested attributes of an entry: by default all but the vector.
fn shown(index: &VectorIndex, entry: &VectorEntry, projection: Option<&Projection<'_>>) -> Map {
    let mut map = entry.item().filter(|name| name != index.attribute);
    let Some(projection) = projection else { return map };
    if projection.top_level_names().any(|name| name == index.attribute) {
        let element =
            |element: &f32| AttributeValue::N(vector::shown(*element).parse().unwrap_or(crate::number::Number::ZERO));
        let elements = entry.vector().iter().map(element).collect();
        map.insert(index.attribute.clone(), AttributeValue::L(elements));
    }
    projection.apply(&map)
}

/// Writes numbers as the index stores them.
fn floats(object: &mut Object<'_>, name: &str, elements: &[AttributeValue]) {
    let mut value = object.object(name);
    let mut list: List<'_> = value.list("L");
    for element in elements {
        let mut entry = list.object();
        if let AttributeValue::N(number) = element {
            entry.string("N", &vector::shown(number.to_f32()));
        }
        entry.close();
    }
    list.close();
    value.close();
}
