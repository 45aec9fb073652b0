//! [Query](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).

use smallvec::SmallVec;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, PageResult, Refusals};
use crate::expression::{Bindings, Condition, ExpressionKind, KeyCondition, Projection, legacy};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::queries::reading::{self, PagePlan};
use crate::plan::{self, Access, PageRange, PageRead, Select, Target};
use crate::request::Query;
use crate::schema::{Definition, Index, KeySchema};
use crate::value::{AttributeValue, Text};
use crate::wire::encode::Writer;

pub struct Operation;

pub struct Checked<'r> {
    request: &'r Query,
    scope: Bindings<'r>,
    keys: KeyCondition<'r>,
    filter: Option<Condition<'r>>,
    legacy_projection: Option<Projection<'r>>,
    select: Option<Select>,
    report: check::CapacityReport,
}

impl Stages for Operation {
    type Request = Query;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = PagePlan<'r>;
    type Outcome = PageResult;

    fn check<'r>(request: &'r mut Query, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let report = check_members(request)?;
        let (legacy_filter, legacy_projection) = check_kinds(request)?;
        // An unknown ConditionalOperator is reported before an unknown Select.
        let mut violations = Violations::new();
        let select = reading::known_select(&mut violations, request.select.as_ref());
        violations.finish()?;
        let mut scope = Bindings::new(&request.substitutions, &caches.expressions)?;
        check_not_empty(request)?;
        let filter = match &request.filter_expression {
            Some(text) => Some(scope.condition(ExpressionKind::Filter, text)?),
            None => legacy_filter,
        };
        let on_index = request.index_name.is_some();
        let projects = request.attributes_to_get.is_some();
        reading::check_select(select, request.projection_expression.as_ref(), projects, on_index)
            .map_err(ApiError::enveloped)?;
        let keys = key_condition(request, &mut scope)?;
        // A table's own key has two attributes at most; the number of an index is in its schema.
        if !on_index && keys.clauses.len() > 2 {
            check_unused(request, &mut scope)?;
            return Err(ApiError::too_many_conditions(keys.clauses.len(), 2));
        }
        Ok(Checked {
            request,
            scope,
            keys,
            filter,
            legacy_projection,
            select,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<PagePlan<'r>, ApiError> {
        let Checked {
            request,
            mut scope,
            keys,
            filter,
            legacy_projection,
            select,
            report,
        } = checked;
        let target = plan::table(context, check::text(request.table_name.as_ref()))?;
        let (source, index) = plan::source(context, &target, request.index_name.as_deref())?;
        let projection = match &request.projection_expression {
            Some(text) => Some(scope.projection(text)?),
            None => legacy_projection,
        };
        scope.check_all_used()?;
        let consistent = request.consistent_read.unwrap_or(false);
        reading::check_index(index, consistent, select)?;
        let schema = index.map_or(&target.definition().key, |index| &index.key);
        let start = request.exclusive_start_key.as_ref();
        let start = reading::start_key(&target, index, start, ApiError::start_key_invalid)?;
        let selection = plan::key_selection(schema, index, &keys)?;
        if let (Some(start), Some(attributes)) = (&start, &request.exclusive_start_key) {
            plan::check_start(index, schema, &selection, start, attributes)?;
        }
        let forward = request.scan_index_forward.unwrap_or(true);
        if let Some(projection) = &projection {
            plan::check_below_keys(target.definition(), projection.paths())?;
        }
        check_filter(&target, index, filter.as_ref(), request.query_filter.is_some())?;
        if let (Some(index), Some(projection)) = (index, &projection) {
            plan::check_projected(target.definition(), index, projection)?;
        }
        let range = PageRange {
            keys: match start {
                Some(key) => selection.range.starting_after(key, forward),
                None => selection.range,
            },
            partition: partition(schema, &keys),
        };
        // A partition of a table without a sort key has one item, so its page is never cut.
        let one_item = index.is_none() && schema.range.is_empty();
        let mut read = PageRead {
            source,
            ranges: SmallVec::from_buf([range]),
            key_attributes: keys.clauses.len(),
            forward,
            limit: request.limit.filter(|_| !one_item),
            consistent,
            filter,
            projection,
            select,
            is_key: false,
            is_statement: false,
            encodes: false,
            target,
        };
        read.encodes = read.returns_stored();
        Ok(PagePlan { read, report })
    }

    fn access(plan: &PagePlan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        plan.access(each);
    }

    fn execute(context: &Context<'_>, plan: &PagePlan<'_>, _: Refusals) -> Result<PageResult, ApiError> {
        execute::page(context, &plan.read)
    }

    fn encode(plan: &PagePlan<'_>, result: PageResult, out: &mut Writer) {
        reading::encode(plan, result, out);
    }
}

fn key_condition<'r>(request: &'r Query, scope: &mut Bindings<'r>) -> Result<KeyCondition<'r>, ApiError> {
    match (&request.key_condition_expression, &request.key_conditions) {
        (Some(text), _) => {
            let keys = scope.key_condition_and_shape(text)?;
            if keys.is_err() {
                check_unused(request, scope)?;
            }
            keys
        }
        (None, Some(conditions)) => legacy::key_conditions(conditions),
        (None, None) => Err(ApiError::validation(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        )),
    }
}

/// Placeholders that no expression uses are reported before key conditions that cannot be those of a table.
fn check_unused<'r>(request: &'r Query, scope: &mut Bindings<'r>) -> Result<(), ApiError> {
    if let Some(text) = &request.projection_expression {
        scope.projection(text)?;
    }
    scope.check_all_used()
}

/// The model's constraints: an empty table name is reported with the violations of numbers, and before those of enumerations.
fn check_members(request: &Query) -> Result<check::CapacityReport, ApiError> {
    let mut violations = Violations::new();
    check::range(&mut violations, request.limit, "Limit", 1, i64::from(i32::MAX));
    if request.table_name.as_ref().is_some_and(Text::is_empty) {
        violations.value_not_echoed("TableName", constraint::min_length(1));
    }
    violations.finish()?;
    let mut violations = Violations::new();
    check::table_name(&mut violations, request.table_name.as_ref())?;
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    check::attributes_to_get(&mut violations, request.attributes_to_get.as_deref(), "attributesToGet");
    violations.finish()?;
    Ok(report)
}

/// Expressions and legacy parameters cannot be combined, and substitutions require an expression.
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
            return Bindings::check_not_empty(kind, "");
        }
    }
    Ok(())
}

/// Rejects filters on key attributes, and on attributes that an index does not project.
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

/// Rejects filters on key attributes.
pub(in crate::operation) fn check_filter_keys(
    definition: &Definition,
    index: Option<&Index>,
    filter: &Condition<'_>,
    legacy: bool,
) -> Result<(), ApiError> {
    plan::check_below_keys(definition, filter.paths())?;
    let schema = index.map_or(&definition.key, |index| &index.key);
    // Of several, the first in the order of the key is reported, not of the filter (DynamoDB Local and dynoxide).
    let filtered = schema
        .attributes()
        .find(|attribute| filter.paths().any(|path| path.name() == attribute.name));
    let Some(attribute) = filtered else { return Ok(()) };
    let what = if legacy { "QueryFilter" } else { "Filter Expression" };
    Err(ApiError::validation(format!(
        "{what} can only contain non-primary key attributes: Primary key attribute: {}",
        attribute.name
    )))
}

/// The queried values of the partition key attributes.
fn partition<'v>(schema: &KeySchema, keys: &KeyCondition<'v>) -> SmallVec<[&'v AttributeValue; 1]> {
    let clause = |name: &str| keys.clauses.iter().find(|clause| clause.name == name);
    let mut values = SmallVec::new();
    for attribute in &schema.hash {
        values.extend(clause(&attribute.name).and_then(|clause| clause.operator.values().next()));
    }
    values
}
