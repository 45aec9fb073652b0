//! [DescribeBulkOperation](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeBulkOperation.html).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::transfers;
use crate::plan::{Access, ControlAccess};
use crate::request::BulkOperationOnly;
use crate::storage::{IndexBytes, Transfer, TransferCounts, TransferKind, TransferRequest};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The member and the error for an ARN that does not name a bulk operation; the text has not been recorded.
pub(super) const WORDS: (&str, &str) = ("bulkOperationArn", "Invalid Bulk Operation ARN");

pub struct Operation;

impl Stages for Operation {
    type Request = BulkOperationOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = (Arc<Transfer>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        transfers::arn(request.bulk_operation_arn.as_ref(), TransferKind::BulkPut, WORDS)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok((transfers::find(context, TransferKind::BulkPut, plan)?, context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (transfer, now) = outcome;
        describe(out, &transfer, now, false);
    }
}

/// The status at `now`. A cancelled operation ends when it would have completed.
pub(super) fn status(transfer: &Transfer, now: Moment) -> &'static str {
    let progress = transfer.progress();
    match (now < progress.end, progress.cancelled, &progress.failure) {
        (true, Some(_), _) => "CANCELLING",
        (true, None, _) => "IN_PROGRESS",
        (false, Some(_), _) => "CANCELLED",
        (false, None, Some(_)) => "FAILED",
        (false, None, None) if progress.counts.failed > 0 => "COMPLETED_WITH_ERRORS",
        (false, None, None) => "COMPLETED",
    }
}

/// Writes the description of a bulk operation; one that has just begun is in progress, even if it takes no time.
pub(super) fn describe(out: &mut Writer, transfer: &Transfer, now: Moment, begun: bool) {
    let TransferRequest::BulkPut(request) = &transfer.about else {
        return;
    };
    let mut answer = Object::open(out);
    let mut object = answer.object("BulkOperationDescription");
    let status = if begun { "IN_PROGRESS" } else { status(transfer, now) };
    object.string("BulkOperationArn", &transfer.arn);
    object.string("BulkOperationStatus", status);
    let mut tables = object.list("TableDetails");
    let mut table = tables.object();
    table.string("TableName", &transfer.table_name);
    table.string("TableId", &transfer.table_id());
    table.close();
    tables.close();
    transfers::text(&mut object, "ClientToken", request.client_token.as_ref());
    transfers::echo(&mut object, transfer);
    object.timestamp("StartTime", transfer.start);
    if let Some(units) = request.max_write_request_units {
        object.integer("MaxWriteRequestUnits", units);
    }
    object.string(
        "PerformanceTier",
        request.performance_tier.as_deref().unwrap_or("STANDARD"),
    );
    if !matches!(status, "IN_PROGRESS" | "CANCELLING") {
        outcome(&mut object, transfer, status);
    }
    object.close();
    answer.close();
}

fn outcome(object: &mut Object<'_>, transfer: &Transfer, status: &str) {
    let progress = transfer.progress();
    object.timestamp("EndTime", progress.end);
    object.integer("ProcessedItemCount", progress.counts.processed as i64);
    object.integer("FailedItemCount", progress.counts.failed as i64);
    object.integer("ProcessedInputBytes", progress.counts.bytes as i64);
    object.integer("TotalInputBytes", progress.counts.bytes as i64);
    usage(object, transfer, &progress.counts);
    if status == "FAILED" {
        transfers::failure(object, progress.failure.as_ref());
    }
}

fn usage(object: &mut Object<'_>, transfer: &Transfer, counts: &TransferCounts) {
    let of_indexes: u64 = counts.global_bytes.values().chain(counts.local_bytes.values()).sum();
    let mut list = object.list("BulkOperationUsage");
    let mut usage = list.object();
    usage.string("TableName", &transfer.table_name);
    usage.integer("BulkPutBytes", (counts.table_bytes + of_indexes) as i64);
    let mut table = usage.object("Table");
    table.integer("BulkPutBytes", counts.table_bytes as i64);
    table.close();
    indexes(&mut usage, "LocalSecondaryIndexes", "BulkPutBytes", &counts.local_bytes);
    indexes(
        &mut usage,
        "GlobalSecondaryIndexes",
        "BulkPutBytes",
        &counts.global_bytes,
    );
    indexes(&mut usage, "VectorIndexes", "BulkPutVectorBytes", &counts.vector_bytes);
    usage.close();
    list.close();
}

fn indexes(usage: &mut Object<'_>, name: &str, member: &str, bytes: &IndexBytes) {
    if bytes.is_empty() {
        return;
    }
    let mut map = usage.object(name);
    for (index, bytes) in bytes {
        let mut entry = map.object(index);
        entry.integer(member, *bytes as i64);
        entry.close();
    }
    map.close();
}
