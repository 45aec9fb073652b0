//! [GetShardIterator](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{self, Refusals};
use crate::operation::arn::ArnResource;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::streams::{self, ShardIterator};
use crate::plan::{Access, ControlAccess};
use crate::request::GetShardIterator;
use crate::storage::{Position, Sequence, ShardReadError};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// In the model's order; the service's order is not recorded.
const TYPES: &str = "[TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER, AT_TIMESTAMP]";

pub struct Operation;

pub struct Plan<'r> {
    stream: ArnResource<'r>,
    shard: &'r str,
    /// The position of the iterator; `None` for a sequence number outside all shards.
    position: Option<Position>,
}

impl Stages for Operation {
    type Request = GetShardIterator;
    type Checked<'r> = &'r GetShardIterator;
    type Plan<'r> = Plan<'r>;
    type Outcome = ShardIterator;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check_members(request)?;
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let position = position(checked, context.now)?;
        let arn = checked.stream_arn.as_ref().ok_or_else(ApiError::internal)?;
        Ok(Plan {
            stream: streams::parse(arn)?,
            shard: check::text(checked.shard_id.as_ref()),
            position,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan.stream.arn)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let stream = streams::find(context, plan.stream.arn)?;
        if plan.position != Some(Position::TrimHorizon) {
            execute::settle_stream(context, &stream);
        }
        let place = stream.place_of_shard(plan.shard, context.now);
        let place = place.ok_or_else(|| streams::unreadable(ShardReadError::NoShard))?;
        let position = plan
            .position
            .ok_or_else(|| streams::unreadable(ShardReadError::NotOfShard))?;
        let from = stream.position(place, plan.shard, position, context.now);
        Ok(ShardIterator {
            stream: stream.arn.as_str().into(),
            shard: plan.shard.to_owned(),
            from: from.map_err(streams::unreadable)?,
            created: context.now,
            reader: 0,
        })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        answer.string("ShardIterator", &outcome.encode());
        answer.close();
    }
}

fn check_members(request: &GetShardIterator) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    streams::stream_arn(&mut violations, request.stream_arn.as_ref());
    streams::required(&mut violations, request.shard_id.as_ref(), "shardId", 28, 65);
    match request.shard_iterator_type.as_deref() {
        None => violations.missing("shardIteratorType"),
        Some("TRIM_HORIZON" | "LATEST" | "AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER" | "AT_TIMESTAMP") => {}
        Some(word) => violations.value(word, "shardIteratorType", constraint::one_of(TYPES)),
    }
    streams::length(
        &mut violations,
        request.sequence_number.as_ref(),
        "sequenceNumber",
        21,
        40,
    );
    violations.finish()
}

/// The position of the iterator; `None` for a sequence number outside all shards.
fn position(request: &GetShardIterator, now: Moment) -> Result<Option<Position>, ApiError> {
    let kind = request.shard_iterator_type.as_deref().unwrap_or_default();
    let by_number = matches!(kind, "AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER");
    let number = match (by_number, request.sequence_number.as_deref()) {
        (false, Some(_)) => {
            return Err(ApiError::invalid(
                "SequenceNumber should not be passed for this iterator type",
            ));
        }
        (true, None) => return Err(ApiError::invalid("SequenceNumber cannot be null")),
        (true, Some(text)) if text.bytes().any(|byte| !byte.is_ascii_digit()) => {
            return Err(ApiError::invalid("Invalid SequenceNumber"));
        }
        (_, text) => text.and_then(|text| text.parse::<Sequence>().ok()),
    };
    Ok(match kind {
        "TRIM_HORIZON" => Some(Position::TrimHorizon),
        "LATEST" => Some(Position::Latest),
        "AT_SEQUENCE_NUMBER" => number.map(Position::At),
        "AFTER_SEQUENCE_NUMBER" => number.map(Position::After),
        _ => Some(Position::AtTime(timestamp(request, now)?)),
    })
}

/// These errors are documented; their texts have not been recorded.
fn timestamp(request: &GetShardIterator, now: Moment) -> Result<Moment, ApiError> {
    match request.timestamp {
        None => Err(ApiError::invalid("Timestamp cannot be null")),
        Some(moment) if moment > now => Err(ApiError::invalid("Timestamp cannot be in the future")),
        Some(moment) => Ok(moment),
    }
}
