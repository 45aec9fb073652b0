//! [Scan](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html).

use smallvec::SmallVec;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, PageResult, Refusals};
use crate::expression::{Bindings, Condition, ExpressionKind, Projection, legacy};
use crate::operation::check::{self, CapacityReport, words};
use crate::operation::drive::Stages;
use crate::operation::queries::reading::{self, PagePlan};
use crate::plan::{self, Access, PageRange, PageRead, Select};
use crate::request::Scan;
use crate::storage::{KeyRange, Segment};
use crate::wire::encode::Writer;

pub struct Operation;

pub struct Checked<'r> {
    request: &'r Scan,
    scope: Bindings<'r>,
    filter: Option<Condition<'r>>,
    legacy_projection: Option<Projection<'r>>,
    segment: Segment,
    select: Option<Select>,
    report: CapacityReport,
}

impl Stages for Operation {
    type Request = Scan;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = PagePlan<'r>;
    type Outcome = PageResult;

    fn check<'r>(request: &'r mut Scan, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let (report, select) = check_members(request)?;
        let (legacy_filter, legacy_projection) = check_kinds(request)?;
        let mut scope = Bindings::new(&request.substitutions, &caches.expressions)?;
        for (text, kind) in [
            (&request.filter_expression, ExpressionKind::Filter),
            (&request.projection_expression, ExpressionKind::Projection),
        ] {
            if text.as_deref() == Some("") {
                Bindings::check_not_empty(kind, "")?;
            }
        }
        let filter = match &request.filter_expression {
            Some(text) => Some(scope.condition(ExpressionKind::Filter, text)?),
            None => legacy_filter,
        };
        let on_index = request.index_name.is_some();
        let projects = request.attributes_to_get.is_some();
        reading::check_select(select, request.projection_expression.as_ref(), projects, on_index)?;
        Ok(Checked {
            request,
            scope,
            filter,
            legacy_projection,
            segment: segment(request)?,
            select,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<PagePlan<'r>, ApiError> {
        let Checked {
            request,
            mut scope,
            filter,
            legacy_projection,
            segment,
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
        let mut keys = KeyRange::of_segment(segment);
        let start = request.exclusive_start_key.as_ref();
        if let Some(key) = reading::start_key(&target, index, start, ApiError::scan_start_key_invalid)? {
            if !keys.contains(&key) {
                return Err(ApiError::validation(format!(
                    "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: {} Segment: {}",
                    segment.total, segment.at
                )));
            }
            keys = keys.starting_after(key, true);
        }
        if let Some(projection) = &projection {
            plan::check_below_keys(target.definition(), projection.paths())?;
        }
        if let Some(filter) = &filter {
            plan::check_below_keys(target.definition(), filter.paths())?;
        }
        if let (Some(index), Some(projection)) = (index, &projection) {
            plan::check_projected(target.definition(), index, projection)?;
        }
        let range = PageRange {
            keys,
            partition: SmallVec::new(),
        };
        let read = PageRead {
            source,
            ranges: SmallVec::from_buf([range]),
            key_attributes: 0,
            forward: true,
            limit: request.limit,
            consistent,
            filter,
            projection,
            select,
            is_key: false,
            is_statement: false,
            encodes: false,
            target,
        };
        Ok(PagePlan { read, report })
    }

    fn access(plan: &PagePlan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        plan.access(each);
    }

    fn execute(context: &Context<'_>, plan: &PagePlan<'_>, _: Refusals) -> Result<PageResult, ApiError> {
        execute::page(context, &plan.read)
    }

    fn encode(plan: &PagePlan<'_>, result: PageResult, out: &mut Writer) {
        out.order_number_sets_by_hash();
        reading::encode(plan, result, out);
    }
}

/// The model's constraints, all violations at once: us-east-1 has not moved Scan to the newer layer (October 2026).
fn check_members(request: &Scan) -> Result<(CapacityReport, Option<Select>), ApiError> {
    let mut violations = Violations::new();
    let select = reading::known_select(&mut violations, request.select.as_ref());
    check::echoed_range(&mut violations, request.total_segments, "totalSegments", 1, 1_000_000);
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    check::echoed_table_name(&mut violations, request.table_name.as_ref(), "tableName");
    check::echoed_conditional_operator(&mut violations, request.conditional_operator.as_ref());
    for (name, condition) in request.scan_filter.iter().flatten() {
        let path = format!("scanFilter.{name}.member.comparisonOperator");
        match condition.comparison_operator.as_deref() {
            None => violations.missing(path),
            Some(word) if legacy::is_comparison(word) => {}
            Some(word) => violations.value(word, path, constraint::one_of(words::COMPARISON_OPERATOR_OLDER)),
        }
    }
    check::attributes_to_get(&mut violations, request.attributes_to_get.as_deref(), "attributesToGet");
    check::echoed_range(&mut violations, request.segment, "segment", 0, 999_999);
    check::echoed_range(&mut violations, request.limit, "limit", 1, i64::from(i32::MAX));
    violations.finish()?;
    Ok((report, select))
}

/// Expressions and legacy parameters cannot be combined, and substitutions require an expression.
fn check_kinds(request: &Scan) -> Result<(Option<Condition<'_>>, Option<Projection<'_>>), ApiError> {
    check::mixing(
        &[
            ("AttributesToGet", request.attributes_to_get.is_some()),
            ("ScanFilter", request.scan_filter.is_some()),
            ("ConditionalOperator", request.conditional_operator.is_some()),
        ],
        &[
            ("ProjectionExpression", request.projection_expression.is_some()),
            ("FilterExpression", request.filter_expression.is_some()),
        ],
    )?;
    let has_values = request.filter_expression.is_some();
    let has_any = has_values || request.projection_expression.is_some();
    let missing = "FilterExpression is null";
    reading::check_substitutions(&request.substitutions, has_any, has_values, missing)?;
    let operator = request.conditional_operator.as_ref();
    let filter = reading::filter("scanFilter", request.scan_filter.as_ref(), operator)?;
    let projection = reading::attributes_to_get(request.attributes_to_get.as_deref())?;
    Ok((filter, projection))
}

/// The part of the table that is scanned.
fn segment(request: &Scan) -> Result<Segment, ApiError> {
    match (request.segment, request.total_segments) {
        (None, None) => Ok(Segment::ALL),
        (Some(_), None) => Err(ApiError::validation(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present",
        )),
        (None, Some(_)) => Err(ApiError::validation(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is present",
        )),
        (Some(at), Some(total)) if at >= total => Err(ApiError::validation(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {at} is not less than TotalSegments: {total}"
        ))),
        (Some(at), Some(total)) => Ok(Segment {
            at: at as u64,
            total: total as u64,
        }),
    }
}
