//! [ListContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListContributorInsights.html).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::check;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::plan;
use crate::request::ListContributorInsights;
use crate::storage::{Stage, Table};
use crate::value::Name;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const MOST: i64 = 100;

/// An entry: table, place of the index among the table's (0 is the table's own), name of the index, status, mode.
type Summary = (Name, usize, Option<Name>, &'static str, &'static str);

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListContributorInsights::decode(body)?;
    let name = request.table_name.as_ref();
    let name = name.map(|name| check::control_table_name(Some(name))).transpose()?;
    if let Some(most) = request.max_results.filter(|most| *most > MOST) {
        let mut faults = Violations::new();
        faults.value(most, "maxResults", constraint::max_value(MOST));
        faults.finish()?;
    }
    let start = request.next_token.as_deref().map(read_token).transpose()?;
    let tables = tables(context, name)?;
    let mut all: Vec<Summary> = tables.iter().flat_map(|table| summaries(table, context.now)).collect();
    if let Some((table, at)) = &start {
        all.retain(|each| (&each.0, each.1) > (table, *at));
    }
    // No least number is known of; none and less are taken as no number.
    let most = request.max_results.filter(|most| *most > 0).unwrap_or(MOST) as usize;
    let more = all.len() > most;
    all.truncate(most);
    let mut answer = Object::open(out);
    let mut list = answer.list("ContributorInsightsSummaries");
    for (table, _, index, status, mode) in &all {
        let mut element = list.object();
        element.string("TableName", table);
        if let Some(index) = index {
            element.string("IndexName", index);
        }
        element.string("ContributorInsightsStatus", status);
        element.string("ContributorInsightsMode", mode);
        element.close();
    }
    list.close();
    if let Some((table, at, ..)) = all.last().filter(|_| more) {
        answer.string("NextToken", &STANDARD.encode(format!("{at}/{table}")));
    }
    answer.close();
    Ok(())
}

/// The tables that are looked at: the one that is named, or the caller's.
fn tables(context: &Context<'_>, name: Option<&str>) -> Result<Vec<Arc<Table>>, ApiError> {
    let Some(name) = name else {
        context.judge_control("")?;
        let region = context.engine.catalog().region(&context.scope);
        return Ok(region.map_or_else(Vec::new, |region| region.tables.read().values().cloned().collect()));
    };
    let target = plan::sub_resource(context, name)?;
    context.judge_control(&target.table.name)?;
    Ok(vec![target.table])
}

/// A table's entries, the table before its indexes; what is off is left out.
fn summaries(table: &Table, now: Moment) -> Vec<Summary> {
    let shape = table.shape();
    if table.stage(&shape, now) == Stage::Unknown {
        return Vec::new();
    }
    let indexes = shape.definition.globals.iter().map(|index| Some(&index.name));
    let entry = |(at, index): (usize, Option<&Name>)| {
        let insights = shape.attached.insights(index.map(Name::as_str))?;
        let status = insights.status(now);
        let entry = (table.name.clone(), at, index.cloned(), status, insights.mode);
        (status != "DISABLED").then_some(entry)
    };
    std::iter::once(None)
        .chain(indexes)
        .enumerate()
        .filter_map(entry)
        .collect()
}

/// Where the last page ended.
fn read_token(token: &str) -> Result<(Name, usize), ApiError> {
    let read = || {
        let text = String::from_utf8(STANDARD.decode(token).ok()?).ok()?;
        let (at, table) = text.split_once('/')?;
        Some((Name::from(table), at.parse().ok()?))
    };
    // Its sentence has not been captured.
    read().ok_or_else(|| ApiError::invalid("Invalid NextToken"))
}
