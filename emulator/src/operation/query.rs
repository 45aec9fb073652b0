//! [Query](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).

use super::check;
use super::reading::{self, PageRead};
use crate::error::{ApiError, Violations};
use crate::execute::Context;
use crate::expression::{Condition, ExpressionKind, KeyCondition, Projection, Scope, legacy};
use crate::key::Key;
use crate::plan::{self, KeySelection, Target};
use crate::request::Query;
use crate::schema::{Definition, Index, KeySchema};
use crate::value::AttributeValue;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = Query::decode(body)?;
    let report = check_members(&request)?;
    let (legacy_filter, legacy_projection) = check_kinds(&request)?;
    // An unknown ConditionalOperator is found before an unknown Select.
    let select = reading::known_select(request.select.as_ref())?;
    let cache = context.engine.expressions();
    let mut scope = Scope::new(&request.substitutions, cache)?;
    check_not_empty(&request)?;
    let filter = match &request.filter_expression {
        Some(text) => Some(scope.condition(ExpressionKind::Filter, text)?),
        None => legacy_filter,
    };
    let on_index = request.index_name.is_some();
    let projects = request.attributes_to_get.is_some();
    reading::check_select(select, request.projection_expression.as_ref(), projects, on_index)?;
    let keys = match (&request.key_condition_expression, &request.key_conditions) {
        (Some(text), _) => scope.key_condition(text)?,
        (None, Some(conditions)) => legacy::key_conditions(conditions)?,
        (None, None) => {
            return Err(ApiError::validation(
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            ));
        }
    };
    // A table's own key has two attributes at most; how many an index has, only its schema tells.
    if !on_index && keys.clauses.len() > 2 {
        return Err(ApiError::too_many_conditions(keys.clauses.len(), 2));
    }
    let target = plan::table(context, request.table_name.as_deref().unwrap_or_default())?;
    let (source, index) = plan::source(context, &target, request.index_name.as_deref())?;
    let consistent = request.consistent_read.unwrap_or(false);
    reading::check_index(index, consistent, select)?;
    let schema = index.map_or(&target.definition().key, |index| &index.key);
    let start = reading::start_key(&target, index, request.exclusive_start_key.as_ref())?;
    let selection = plan::key_selection(schema, &keys)?;
    if let Some(start) = &start {
        check_start(index, &selection, start)?;
    }
    let forward = request.scan_index_forward.unwrap_or(true);
    check_filter(&target, index, filter.as_ref(), request.query_filter.is_some())?;
    let projection = match &request.projection_expression {
        Some(text) => Some(scope.projection(text)?),
        None => legacy_projection,
    };
    if let (Some(index), Some(projection)) = (index, &projection) {
        plan::check_projected(target.definition(), index, projection)?;
    }
    scope.check_all_used()?;
    let range = match start {
        Some(key) => selection.range.starting_after(key, forward),
        None => selection.range,
    };
    PageRead {
        target: &target,
        source,
        index,
        range,
        forward,
        limit: request.limit,
        consistent,
        filter,
        projection,
        select,
        report,
        partition: partition(schema, &keys),
    }
    .run(context, out)
}

/// The framework's checks: the older words first, one fault of each group at a time.
fn check_members(request: &Query) -> Result<check::Report, ApiError> {
    let mut faults = Violations::new();
    check::range(&mut faults, request.limit, "Limit", 1, i64::from(i32::MAX));
    let (table, capacity) = (&request.table_name, &request.return_consumed_capacity);
    let attributes = request.attributes_to_get.as_deref();
    reading::check_members(faults, table.as_ref(), attributes, capacity.as_ref())
}

/// Expressions and legacy parameters do not go together, and substitutions need an expression.
fn check_kinds(request: &Query) -> Result<(Option<Condition<'_>>, Option<Projection<'_>>), ApiError> {
    let expressions = [
        ("ProjectionExpression", request.projection_expression.is_some()),
        ("FilterExpression", request.filter_expression.is_some()),
        ("KeyConditionExpression", request.key_condition_expression.is_some()),
    ];
    check::mixing(
        &[
            ("AttributesToGet", request.attributes_to_get.is_some()),
            ("QueryFilter", request.query_filter.is_some()),
            ("ConditionalOperator", request.conditional_operator.is_some()),
            // Key conditions clash only with their own expression.
            (
                "KeyConditions",
                request.key_conditions.is_some() && request.key_condition_expression.is_some(),
            ),
        ],
        &expressions,
    )?;
    let has_values = request.filter_expression.is_some() || request.key_condition_expression.is_some();
    let has_any = has_values || request.projection_expression.is_some();
    let missing = "FilterExpression and KeyConditionExpression are null";
    reading::check_substitutions(&request.substitutions, has_any, has_values, missing)?;
    let operator = request.conditional_operator.as_ref();
    let filter = reading::filter("queryFilter", request.query_filter.as_ref(), operator)?;
    let projection = reading::attributes_to_get(request.attributes_to_get.as_deref())?;
    Ok((filter, projection))
}

fn check_not_empty(request: &Query) -> Result<(), ApiError> {
    for (text, kind) in [
        (&request.key_condition_expression, ExpressionKind::KeyCondition),
        (&request.filter_expression, ExpressionKind::Filter),
        (&request.projection_expression, ExpressionKind::Projection),
    ] {
        if text.as_deref() == Some("") {
            return Scope::check_not_empty(kind, "");
        }
    }
    Ok(())
}

/// A start key lies where the condition selects, and there is more than one item to start from.
fn check_start(index: Option<&Index>, selection: &KeySelection, start: &Key) -> Result<(), ApiError> {
    // By the hash attributes alone an index has many entries.
    if selection.fixes_all && index.is_some_and(|index| !index.local && !index.key.range.is_empty()) {
        return Err(ApiError::validation(
            "The query can return at most one row and cannot be restarted",
        ));
    }
    plan::check_start(selection, start)
}

/// A filter may not look at the keys of what is queried, nor at what an index does not project.
fn check_filter(
    target: &Target,
    index: Option<&Index>,
    filter: Option<&Condition<'_>>,
    legacy: bool,
) -> Result<(), ApiError> {
    let Some(filter) = filter else { return Ok(()) };
    check_filter_keys(target.definition(), index, filter, legacy)?;
    let Some(index) = index else { return Ok(()) };
    let table = &target.definition().key;
    let mut missing: Vec<&str> = Vec::new();
    for path in filter.paths() {
        if !index.projects(path.name(), table) && !missing.contains(&path.name()) {
            missing.push(path.name());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(ApiError::filter_not_projected(&index.name, &missing))
}

/// A filter may not look at the keys of what is queried.
pub(super) fn check_filter_keys(
    definition: &Definition,
    index: Option<&Index>,
    filter: &Condition<'_>,
    legacy: bool,
) -> Result<(), ApiError> {
    let schema = index.map_or(&definition.key, |index| &index.key);
    for path in filter.paths() {
        reading::check_below_keys(definition, index, path)?;
        let name = path.name();
        if !schema.contains(name) {
            continue;
        }
        let what = if legacy { "QueryFilter" } else { "Filter Expression" };
        return Err(ApiError::validation(format!(
            "{what} can only contain non-primary key attributes: Primary key attribute: {name}"
        )));
    }
    Ok(())
}

/// The value of the partition key that is queried.
fn partition<'v>(schema: &KeySchema, keys: &KeyCondition<'v>) -> Option<&'v AttributeValue> {
    let hash = schema.hash.first()?;
    let clause = keys.clauses.iter().find(|clause| clause.name == hash.name)?;
    clause.operator.values().next()
}
