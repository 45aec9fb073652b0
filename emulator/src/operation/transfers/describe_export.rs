//! [DescribeExport](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeExport.html).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::transfers;
use crate::plan::{Access, ControlAccess};
use crate::request::{DescribeExport, ExportTableToPointInTime};
use crate::storage::{Transfer, TransferKind, TransferRequest};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = DescribeExport;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = (Arc<Transfer>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        transfers::arn(
            request.export_arn.as_ref(),
            TransferKind::Export,
            ("exportArn", "Invalid Export ARN"),
        )
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok((transfers::find(context, TransferKind::Export, plan)?, context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (transfer, now) = outcome;
        describe(out, &transfer, now, false);
    }
}

pub(super) fn status(transfer: &Transfer, now: Moment) -> &'static str {
    let progress = transfer.progress();
    match &progress.failure {
        _ if now < progress.end => "IN_PROGRESS",
        Some(_) => "FAILED",
        None => "COMPLETED",
    }
}

/// Writes the description of an export; one that has just begun is in progress, even if it takes no time.
pub(super) fn describe(out: &mut Writer, transfer: &Transfer, now: Moment, begun: bool) {
    let TransferRequest::Export(request) = &transfer.about else {
        return;
    };
    let mut answer = Object::open(out);
    let mut object = answer.object("ExportDescription");
    let status = if begun { "IN_PROGRESS" } else { status(transfer, now) };
    object.string("ExportArn", &transfer.arn);
    object.string("ExportStatus", status);
    object.timestamp("StartTime", transfer.start);
    object.string("TableArn", &transfer.table_arn);
    object.string("TableId", &transfer.table_id());
    requested(&mut object, transfer, request);
    if status != "IN_PROGRESS" {
        outcome(&mut object, transfer, request, status);
    }
    object.close();
    answer.close();
}

fn requested(object: &mut Object<'_>, transfer: &Transfer, request: &ExportTableToPointInTime) {
    let or = |text: &Option<crate::value::Text>, default: &str| text.as_deref().unwrap_or(default).to_owned();
    let incremental = request.export_type.as_deref() == Some("INCREMENTAL_EXPORT");
    if !incremental {
        object.timestamp("ExportTime", request.export_time.unwrap_or(transfer.start));
    }
    object.string("S3SseAlgorithm", &or(&request.s3_sse_algorithm, "AES256"));
    object.string("ExportFormat", &or(&request.export_format, "DYNAMODB_JSON"));
    for (name, text) in [
        ("ClientToken", &request.client_token),
        ("S3Bucket", &request.s3_bucket),
        ("S3BucketOwner", &request.s3_bucket_owner),
        ("S3Prefix", &request.s3_prefix),
        ("S3SseKmsKeyId", &request.s3_sse_kms_key_id),
        ("ExportType", &request.export_type),
    ] {
        transfers::text(object, name, text.as_ref());
    }
    transfers::echo(object, transfer);
}

fn outcome(object: &mut Object<'_>, transfer: &Transfer, request: &ExportTableToPointInTime, status: &str) {
    let progress = transfer.progress();
    object.timestamp("EndTime", progress.end);
    transfers::failure(object, progress.failure.as_ref());
    if status != "COMPLETED" {
        return;
    }
    let prefix = request.s3_prefix.as_deref().unwrap_or_default();
    let id = transfer.arn.rsplit('/').next().unwrap_or_default();
    object.string("ExportManifest", &crate::transfer::manifest_key(prefix, id));
    object.integer("ItemCount", progress.counts.processed as i64);
    object.integer("BilledSizeBytes", progress.counts.bytes as i64);
}
