//! [DescribeStream](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html).

use crate::operation::drive::Stages;
use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::limits;
use crate::operation::arn::ArnResource;
use crate::operation::streams;
use crate::operation::tables::description;
use crate::plan::{Access, ControlAccess};
use crate::request::DescribeStream;
use crate::storage::{ShardView, Stream};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const CHILD_SHARDS: &str = "CHILD_SHARDS";

pub struct Operation;

pub struct Outcome {
    stream: Arc<Stream>,
    status: &'static str,
    shards: Vec<ShardView>,
    more: bool,
}

impl Stages for Operation {
    type Request = DescribeStream;
    type Checked<'r> = (ArnResource<'r>, &'r DescribeStream);
    type Plan<'r> = (ArnResource<'r>, &'r DescribeStream);
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check_members(request)?;
        let arn = request.stream_arn.as_ref().ok_or_else(ApiError::internal)?;
        Ok((streams::parse(arn)?, request))
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan.0.arn)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (resource, request) = plan;
        let stream = streams::find(context, resource.arn)?;
        let mut shards = stream.shards(context.now);
        if let Some(filter) = &request.shard_filter {
            shards.retain(|shard| shard.parent.as_deref() == filter.shard_id.as_deref());
        }
        if let Some(start) = &request.exclusive_start_shard_id {
            // A shard that no longer exists had its position in the same order.
            shards.retain(|shard| shard.id.as_str() > start.as_str());
        }
        let limit = request.limit.unwrap_or(limits::STREAM_LIST) as usize;
        let more = shards.len() > limit;
        shards.truncate(limit);
        Ok(Outcome {
            status: stream.status(context.now).name(),
            stream,
            shards,
            more,
        })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let Outcome {
            stream,
            status,
            shards,
            more,
        } = outcome;
        let mut answer = Object::open(out);
        let mut object = answer.object("StreamDescription");
        object.string("StreamArn", &stream.arn);
        object.string("StreamLabel", &stream.label);
        object.string("StreamStatus", status);
        object.string("StreamViewType", stream.view.name());
        object.timestamp("CreationRequestDateTime", stream.created);
        object.string("TableName", &stream.table);
        description::key_schema(&mut object, &stream.key);
        write_shards(&mut object, &shards);
        if let Some(last) = shards.last().filter(|_| more) {
            object.string("LastEvaluatedShardId", &last.id);
        }
        object.close();
        answer.close();
    }
}

fn check_members(request: &DescribeStream) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    streams::stream_arn(&mut violations, request.stream_arn.as_ref());
    streams::limit(&mut violations, request.limit);
    let start = request.exclusive_start_shard_id.as_ref();
    streams::shard_id(&mut violations, start, "exclusiveStartShardId");
    if let Some(filter) = &request.shard_filter {
        match filter.kind.as_deref() {
            None => violations.missing("shardFilter.type"),
            Some(CHILD_SHARDS) => {}
            Some(word) => violations.value(word, "shardFilter.type", constraint::one_of("[CHILD_SHARDS]")),
        }
        streams::required(&mut violations, filter.shard_id.as_ref(), "shardFilter.shardId", 28, 65);
    }
    violations.finish()?;
    if request.limit.is_some_and(|limit| limit > limits::STREAM_LIST) {
        return Err(ApiError::invalid("Limit cannot be greater than the maximum: 100"));
    }
    Ok(())
}

fn write_shards(object: &mut Object<'_>, shards: &[ShardView]) {
    let mut list = object.list("Shards");
    for shard in shards {
        let mut element = list.object();
        element.string("ShardId", &shard.id);
        let mut range = element.object("SequenceNumberRange");
        range.string("StartingSequenceNumber", &shard.start.to_string());
        if let Some(end) = shard.end {
            range.string("EndingSequenceNumber", &end.to_string());
        }
        range.close();
        if let Some(parent) = &shard.parent {
            element.string("ParentShardId", parent);
        }
        element.close();
    }
    list.close();
}
