//! [ListStreams](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html).

use super::{check, streams};
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::limits;
use crate::request::ListStreams;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListStreams::decode(body)?;
    check_members(&request)?;
    let table = request.table_name.as_deref();
    context.judge_control(table.unwrap_or_default())?;
    let limit = request.limit.unwrap_or(limits::STREAM_LIST) as usize;
    let start = request.exclusive_start_stream_arn.as_deref();
    let region = context.engine.catalog().region(&context.scope);
    let mut found = region.map_or(Vec::new(), |region| region.streams_after(start, context.now));
    found.retain(|stream| table.is_none_or(|table| stream.table == table));
    let more = found.len() > limit;
    found.truncate(limit);
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
    Ok(())
}

fn check_members(request: &ListStreams) -> Result<(), ApiError> {
    let mut faults = Violations::new();
    if let Some(table) = &request.table_name {
        if table.starts_with("arn:") {
            faults.value(table, "tableName", constraint::NAME_PATTERN);
        }
        check::name(&mut faults, table, "tableName");
    }
    streams::limit(&mut faults, request.limit);
    let start = request.exclusive_start_stream_arn.as_ref();
    streams::length(&mut faults, start, "exclusiveStartStreamArn", 37, 1024);
    faults.finish()?;
    if request.limit.is_some_and(|limit| limit > limits::STREAM_LIST) {
        return Err(ApiError::invalid(
            "Limit cannot be greater than the maximum allowed size: 100",
        ));
    }
    start.map_or(Ok(()), |start| streams::parse(start).map(drop))
}
