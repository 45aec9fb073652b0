//! [UpdateContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html).

use std::sync::Arc;

use super::check::{self, words};
use super::insights;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::limits;
use crate::request::ContributorInsights;
use crate::schema::KeySchema;
use crate::storage::{Insights, Stage, TableSettings};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Measured: 1 to 16 s until they are on, 2 s until they are off.
const ENABLING: f64 = 1.2;
const DISABLING: f64 = 0.33;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ContributorInsights::decode(body)?;
    check::control_table_name(request.table_name.as_ref())?;
    let on = check_members(&request)?;
    let (target, index) = insights::target(context, &request)?;
    let table = &target.table;
    let full = on && rules_are_full(context, insights::key(&target, index));
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
        let limited = full && shape.takes_time();
        Arc::make_mut(&mut shape.attached).set_insights(Insights {
            index: index.map(Into::into),
            on,
            failure: limited.then_some(Insights::TOO_MANY_RULES),
            mode,
            asked: context.now,
            until,
        });
        shown = Some((if on { "ENABLING" } else { "DISABLING" }, Some(mode)));
        Ok::<_, ApiError>(())
    })?;
    let (status, mode) = shown.ok_or_else(ApiError::internal)?;
    let mut answer = Object::open(out);
    answer.string("TableName", &table.name);
    if let Some(index) = index {
        answer.string("IndexName", index);
    }
    answer.string("ContributorInsightsStatus", status);
    if let Some(mode) = mode {
        answer.string("ContributorInsightsMode", mode);
    }
    answer.close();
    Ok(())
}

/// The members by themselves, and whether insights are to be on.
fn check_members(request: &ContributorInsights) -> Result<bool, ApiError> {
    let mut faults = Violations::new();
    insights::check_index_name(&mut faults, request);
    let action = request.action.as_deref();
    match action {
        None => faults.missing("contributorInsightsAction"),
        Some("ENABLE" | "DISABLE") => {}
        Some(word) => {
            let set = constraint::one_of(words::CONTRIBUTOR_INSIGHTS_ACTION);
            faults.value(word, "contributorInsightsAction", set);
        }
    }
    if let Some(word) = request.mode.as_deref()
        && !matches!(word, "ACCESSED_AND_THROTTLED_KEYS" | "THROTTLED_KEYS")
    {
        let set = constraint::one_of(words::CONTRIBUTOR_INSIGHTS_MODE);
        faults.value(word, "contributorInsightsMode", set);
    }
    faults.finish()?;
    Ok(action == Some("ENABLE"))
}

fn check_states(
    shape: &TableSettings,
    stage: Stage,
    index: Option<&str>,
    context: &Context<'_>,
) -> Result<(), ApiError> {
    let stands = stage == Stage::Standing || shape.lingers(context.now, check::LINGERS);
    let what = if !stands {
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

/// Whether the caller's region has no room for the rules of one more key.
fn rules_are_full(context: &Context<'_>, key: &KeySchema) -> bool {
    let Some(region) = context.engine.catalog().region(&context.scope) else {
        return false;
    };
    let tables: Vec<_> = region.tables.read().values().cloned().collect();
    let rules = |shape: &TableSettings| -> usize {
        let of = |insights: &Insights| {
            let key = insights
                .index
                .as_deref()
                .and_then(|index| shape.definition.index(index));
            let key = key.map_or(&shape.definition.key, |(_, index)| &index.key);
            insights.rules(!key.range.is_empty()).count()
        };
        shape.attached.insights.iter().map(of).sum()
    };
    let there: usize = tables.iter().map(|table| rules(&table.shape())).sum();
    there + if key.range.is_empty() { 2 } else { 4 } > limits::INSIGHT_RULES
}
