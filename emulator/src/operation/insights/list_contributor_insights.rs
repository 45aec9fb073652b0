//! [ListContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListContributorInsights.html).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{self, Access, ControlAccess, Target};
use crate::request::ListContributorInsights;
use crate::storage::{Table, TableStage};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const MOST: i64 = 100;

/// The table of an entry, and its index. Entries are sorted by it.
type EntryKey = (Name, Option<Name>);

/// An entry, with its status and mode.
type Summary = (EntryKey, &'static str, &'static str);

pub struct Operation;

pub struct Checked<'r> {
    name: Option<&'r str>,
    start: Option<EntryKey>,
    most: usize,
}

pub struct Plan {
    /// The table, if the request names one.
    target: Option<Target>,
    /// Where the last page ended.
    start: Option<EntryKey>,
    most: usize,
}

pub struct Outcome {
    summaries: Vec<Summary>,
    more: bool,
}

impl Stages for Operation {
    type Request = ListContributorInsights;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan;
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let name = request.table_name.as_ref();
        let name = name.map(|name| check::control_table_name(Some(name))).transpose()?;
        if let Some(most) = request.max_results.filter(|most| *most > MOST) {
            let mut violations = Violations::new();
            violations.value(most, "maxResults", constraint::max_value(MOST));
            violations.finish()?;
        }
        Ok(Checked {
            name,
            start: request.next_token.as_deref().map(read_token).transpose()?,
            // No lower bound is known; zero and below count as no limit.
            most: request.max_results.filter(|most| *most > 0).unwrap_or(MOST) as usize,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let target = checked.name.map(|name| plan::sub_resource(context, name));
        Ok(Plan {
            target: target.transpose()?,
            start: checked.start,
            most: checked.most,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        let target = plan.target.as_ref();
        let access = target.map_or_else(ControlAccess::any, |target| ControlAccess::table(&target.table.name));
        each(Access::Control(access));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let tables = if let Some(target) = &plan.target {
            vec![Arc::clone(&target.table)]
        } else {
            let region = context.engine.catalog().region(&context.scope);
            region.map_or_else(Vec::new, |region| region.tables.read().values().cloned().collect())
        };
        let mut all: Vec<Summary> = tables.iter().flat_map(|table| summaries(table, context.now)).collect();
        if let Some(start) = &plan.start {
            all.retain(|(key, ..)| key > start);
        }
        all.sort_unstable();
        let more = all.len() > plan.most;
        all.truncate(plan.most);
        Ok(Outcome { summaries: all, more })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let Outcome { summaries, more } = outcome;
        let mut answer = Object::open(out);
        let mut list = answer.list("ContributorInsightsSummaries");
        for ((table, index), status, mode) in &summaries {
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
        if let Some(((table, index), ..)) = summaries.last().filter(|_| more) {
            let index = index.as_deref().unwrap_or_default();
            answer.string("NextToken", &STANDARD.encode(format!("{table}/{index}")));
        }
        answer.close();
    }
}

/// A table's entries, without disabled ones.
fn summaries(table: &Table, now: Moment) -> Vec<Summary> {
    let shape = table.shape();
    if table.stage(&shape, now) == TableStage::Unknown {
        return Vec::new();
    }
    let indexes = shape.definition.globals.iter().map(|index| Some(&index.name));
    let entry = |index: Option<&Name>| {
        let insights = shape.attached.insights(index.map(Name::as_str))?;
        let status = insights.status(now);
        let key = (table.name.clone(), index.cloned());
        (status != "DISABLED").then_some((key, status, insights.mode))
    };
    std::iter::once(None).chain(indexes).filter_map(entry).collect()
}

/// Parses the last entry from a token.
fn read_token(token: &str) -> Result<EntryKey, ApiError> {
    let read = || {
        let text = String::from_utf8(STANDARD.decode(token).ok()?).ok()?;
        let (table, index) = text.split_once('/')?;
        let index = Some(index).filter(|index| !index.is_empty());
        Some((Name::from(table), index.map(Name::from)))
    };
    // The text has not been recorded.
    read().ok_or_else(|| ApiError::invalid("Invalid NextToken"))
}
