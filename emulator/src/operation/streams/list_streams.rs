//! [ListStreams](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html).

use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::limits;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::plan::{Access, ControlAccess};
use crate::request::ListStreams;
use crate::storage::Stream;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = ListStreams;
    type Checked<'r> = &'r ListStreams;
    type Plan<'r> = &'r ListStreams;
    type Outcome = (Vec<Arc<Stream>>, bool);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check_members(request)?;
        Ok(request)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::any().on_table(plan.table_name.as_deref().unwrap_or_default()),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let table = plan.table_name.as_deref();
        let limit = plan.limit.unwrap_or(limits::STREAM_LIST) as usize;
        let start = plan.exclusive_start_stream_arn.as_deref();
        let region = context.engine.catalog().region(&context.scope);
        let mut found = region.map_or(Vec::new(), |region| region.streams_after(start, context.now));
        found.retain(|stream| table.is_none_or(|table| stream.table == table));
        let more = found.len() > limit;
        found.truncate(limit);
        Ok((found, more))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (found, more) = outcome;
        let mut answer = Object::open(out);
        let mut list = answer.list("Streams");
        for stream in &found {
            let mut element = list.object();
            element.string("StreamArn", &stream.arn);
            element.string("TableName", &stream.table);
            element.string("StreamLabel", &stream.label);
            element.close();
        }
        list.close();
        if let Some(last) = found.last().filter(|_| more) {
            answer.string("LastEvaluatedStreamArn", &last.arn);
        }
        answer.close();
    }
}

fn check_members(request: &ListStreams) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    if let Some(table) = &request.table_name {
        if table.starts_with("arn:") {
            violations.value(table, "tableName", constraint::NAME_PATTERN);
        }
        check::name(&mut violations, table, "tableName");
    }
    streams::limit(&mut violations, request.limit);
    let start = request.exclusive_start_stream_arn.as_ref();
    streams::length(&mut violations, start, "exclusiveStartStreamArn", 37, 1024);
    violations.finish()?;
    if request.limit.is_some_and(|limit| limit > limits::STREAM_LIST) {
        return Err(ApiError::invalid(
            "Limit cannot be greater than the maximum allowed size: 100",
        ));
    }
    start.map_or(Ok(()), |start| streams::parse(start).map(drop))
}
