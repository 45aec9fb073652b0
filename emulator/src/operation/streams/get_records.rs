//! [GetRecords](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html).

use std::sync::Arc;
use std::time::Duration;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::journal::{ItemAction, RecordedAccess};
use crate::limits;
use crate::operation::drive::Stages;
use crate::operation::streams::{self, ShardIterator};
use crate::plan::{Access, ControlAccess};
use crate::request::GetRecords;
use crate::storage::{Record, Sequence, Stream};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

pub struct Operation;

pub struct Plan {
    iterator: ShardIterator,
    most: usize,
}

pub struct Outcome {
    stream: Arc<Stream>,
    records: Vec<Record>,
    next: Option<ShardIterator>,
}

impl Stages for Operation {
    type Request = GetRecords;
    type Checked<'r> = Plan;
    type Plan<'r> = Plan;
    type Outcome = Outcome;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let mut violations = Violations::new();
        streams::required(
            &mut violations,
            request.shard_iterator.as_ref(),
            "shardIterator",
            1,
            2048,
        );
        streams::limit(&mut violations, request.limit);
        violations.finish()?;
        let most = request.limit.unwrap_or(limits::STREAM_RECORDS);
        if most > limits::STREAM_RECORDS {
            return Err(ApiError::invalid("Limit should be less than or equal to 1000"));
        }
        let iterator = request.shard_iterator.as_deref().and_then(ShardIterator::decode);
        let iterator = iterator.ok_or_else(|| ApiError::validation("Invalid ShardIterator"))?;
        // An iterator of a stream whose ARN is malformed is invalid, too.
        streams::parse(&iterator.stream)?;
        Ok(Plan {
            iterator,
            most: most as usize,
        })
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(&plan.iterator.stream)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let iterator = &plan.iterator;
        let stream = streams::find(context, &iterator.stream)?;
        let life = Duration::from_secs(limits::ITERATOR_SECONDS);
        if iterator.created.plus(life) < context.now {
            return Err(ApiError::expired_iterator());
        }
        let from = (iterator.from, iterator.reader);
        let slice = execute::read_stream(context, &stream, &iterator.shard, from, plan.most);
        let slice = slice.map_err(streams::unreadable)?;
        context.record(|recorder| {
            let bytes = slice.records.iter().map(|record| record.size() as u64).sum();
            recorder.name_table(&stream.table);
            recorder.accessed(RecordedAccess::new(ItemAction::GetRecords, stream.table.clone()));
            let last = slice.records.last();
            let age = last.map_or(Duration::ZERO, |record| context.now.since(record.created));
            let counts = (slice.records.len() as u64, bytes);
            recorder.answer_records(&stream.table, &stream.label, counts, age);
        });
        Ok(Outcome {
            next: slice.next.map(|from| next(context, &stream, iterator.clone(), from)),
            records: slice.records,
            stream,
        })
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let Outcome { stream, records, next } = outcome;
        let mut answer = Object::open(out);
        let mut list = answer.list("Records");
        let region = stream.arn.split(':').nth(3).unwrap_or_default();
        for record in &records {
            write_record(&mut list, &stream, region, record);
        }
        list.close();
        if let Some(next) = next {
            answer.string("NextShardIterator", &next.encode());
        }
        answer.close();
    }
}

fn next(context: &Context<'_>, stream: &Stream, iterator: ShardIterator, from: Sequence) -> ShardIterator {
    ShardIterator {
        from,
        created: context.now,
        reader: match iterator.reader {
            0 => stream.new_reader(),
            reader => reader,
        },
        ..iterator
    }
}

fn write_record(list: &mut List<'_>, stream: &Stream, region: &str, record: &Record) {
    let mut object = list.object();
    object.string("eventID", &stream.event_id(record));
    object.string("eventName", record.event.name());
    object.string("eventVersion", "1.1");
    object.string("eventSource", "aws:dynamodb");
    object.string("awsRegion", region);
    let mut change = object.object("dynamodb");
    change.double("ApproximateCreationDateTime", record.created.seconds() as f64);
    change.item("Keys", &record.keys(&stream.key));
    if let Some(new) = &record.new {
        change.item("NewImage", new);
    }
    if let Some(old) = &record.old {
        change.item("OldImage", old);
    }
    change.string("SequenceNumber", &record.sequence.to_string());
    change.integer("SizeBytes", record.size() as i64);
    change.string("StreamViewType", stream.view.name());
    change.close();
    if record.expired {
        let mut identity = object.object("userIdentity");
        identity.string("PrincipalId", "dynamodb.amazonaws.com");
        identity.string("Type", "Service");
        identity.close();
    }
    object.close();
}
