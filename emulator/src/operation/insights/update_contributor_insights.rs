//! [UpdateContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html).

use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::limits;
use crate::operation::check::{self, words};
use crate::operation::drive::Stages;
use crate::operation::insights::{self, InsightsPlan};
use crate::plan::{Access, ControlAccess};
use crate::request::ContributorInsights;
use crate::storage::{Insights, Table, TableSettings, TableStage};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Measured: 1 to 16 s until they are enabled, 2 s until they are disabled.
const ENABLING: f64 = 1.2;
const DISABLING: f64 = 0.33;

pub struct Operation;

pub struct Plan<'r> {
    insights: InsightsPlan<'r>,
    request: &'r ContributorInsights,
    on: bool,
}

impl Stages for Operation {
    type Request = ContributorInsights;
    type Checked<'r> = (&'r ContributorInsights, bool);
    type Plan<'r> = Plan<'r>;
    type Outcome = (&'static str, Option<&'static str>);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())?;
        let on = check_members(request)?;
        Ok((request, on))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (request, on) = checked;
        Ok(Plan {
            insights: InsightsPlan::new(context, request)?,
            request,
            on,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.insights.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        plan.insights.check_index()?;
        let (table, index) = (&plan.insights.target.table, plan.insights.index);
        let (request, on) = (plan.request, plan.on);
        let others = if on {
            rules_of_others(context, &table.name, index)
        } else {
            0
        };
        let key = insights::key(&plan.insights.target, index);
        let mut shown = None;
        table.reshape(context.now, |shape| {
            check_states(shape, table.stage(shape, context.now), index, context)?;
            let there = shape.attached.insights(index);
            let mode = match request.mode.as_deref() {
                Some("THROTTLED_KEYS") => "THROTTLED_KEYS",
                Some(_) => "ACCESSED_AND_THROTTLED_KEYS",
                None => there.map_or("ACCESSED_AND_THROTTLED_KEYS", |there| there.mode),
            };
            let unchanged = match there {
                None => !on,
                Some(there) => there.on == on && there.failure.is_none() && (there.mode == mode || !on),
            };
            if unchanged {
                shown = Some(there.map_or(("DISABLED", None), |there| {
                    (there.status(context.now), Some(there.mode))
                }));
                return Ok(());
            }
            let times = if on { ENABLING } else { DISABLING };
            let until = shape.later(context.now, "insights", index.unwrap_or(&table.name), times);
            let mut insights = Insights {
                index: index.map(Into::into),
                on,
                failure: None,
                mode,
                requested: context.now,
                until,
            };
            let rules = insights.rules(!key.range.is_empty()).count();
            if on && shape.takes_time() && others + rules > limits::INSIGHT_RULES {
                insights.failure = Some(Insights::TOO_MANY_RULES);
            }
            Arc::make_mut(&mut shape.attached).set_insights(insights);
            shown = Some((if on { "ENABLING" } else { "DISABLING" }, Some(mode)));
            Ok::<_, ApiError>(())
        })?;
        shown.ok_or_else(ApiError::internal)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (status, mode) = outcome;
        let mut answer = Object::open(out);
        answer.string("TableName", &plan.insights.target.table.name);
        if let Some(index) = plan.insights.index {
            answer.string("IndexName", index);
        }
        answer.string("ContributorInsightsStatus", status);
        if let Some(mode) = mode {
            answer.string("ContributorInsightsMode", mode);
        }
        answer.close();
    }
}

/// Checks the members alone; returns whether to enable insights.
fn check_members(request: &ContributorInsights) -> Result<bool, ApiError> {
    let mut violations = Violations::new();
    insights::check_index_name(&mut violations, request);
    let action = request.action.as_deref();
    match action {
        None => violations.missing("contributorInsightsAction"),
        Some("ENABLE" | "DISABLE") => {}
        Some(word) => {
            let set = constraint::one_of(words::CONTRIBUTOR_INSIGHTS_ACTION);
            violations.value(word, "contributorInsightsAction", set);
        }
    }
    if let Some(word) = request.mode.as_deref()
        && !matches!(word, "ACCESSED_AND_THROTTLED_KEYS" | "THROTTLED_KEYS")
    {
        let set = constraint::one_of(words::CONTRIBUTOR_INSIGHTS_MODE);
        violations.value(word, "contributorInsightsMode", set);
    }
    violations.finish()?;
    Ok(action == Some("ENABLE"))
}

fn check_states(
    shape: &TableSettings,
    stage: TableStage,
    index: Option<&str>,
    context: &Context<'_>,
) -> Result<(), ApiError> {
    let is_found =
        stage == TableStage::Active || shape.is_found_after_deletion(context.now, check::FOUND_AFTER_DELETION);
    let what = if !is_found {
        "TableStatus"
    } else if index.is_some_and(|index| shape.is_creating(index, context.now)) {
        "IndexStatus"
    } else {
        return Ok(());
    };
    Err(ApiError::validation(format!(
        "Table or Index is not in a valid state to update Key Access Insights: {what} must be ACTIVE to enable ContributorInsights."
    )))
}

/// The number of rules in the caller's region, except those of a table or index.
fn rules_of_others(context: &Context<'_>, table: &Name, index: Option<&str>) -> usize {
    let Some(region) = context.engine.catalog().region(&context.scope) else {
        return 0;
    };
    let tables: Vec<_> = region.tables.read().values().cloned().collect();
    let rules = |other: &Table| -> usize {
        let shape = other.shape();
        let of = |insights: &Insights| {
            let key = insights
                .index
                .as_deref()
                .and_then(|index| shape.definition.index(index));
            let key = key.map_or(&shape.definition.key, |(_, index)| &index.key);
            insights.rules(!key.range.is_empty()).count()
        };
        let is_other = |each: &&Insights| other.name != *table || each.index.as_deref() != index;
        shape.attached.insights.iter().filter(is_other).map(of).sum()
    };
    tables.iter().map(|table| rules(table)).sum()
}
