//! [DescribeImport](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeImport.html).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::transfers;
use crate::operation::transfers::describe_export;
use crate::plan::{Access, ControlAccess};
use crate::request::{DescribeImport, ImportTable, S3BucketSource};
use crate::storage::{Transfer, TransferKind, TransferRequest};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = DescribeImport;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = (Arc<Transfer>, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        transfers::arn(
            request.import_arn.as_ref(),
            TransferKind::Import,
            ("importArn", "Invalid Import ARN"),
        )
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok((transfers::find(context, TransferKind::Import, plan)?, context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (transfer, now) = outcome;
        describe(out, &transfer, now, false);
    }
}

/// Writes the description of an import; one that has just begun is in progress, even if it takes no time.
pub(super) fn describe(out: &mut Writer, transfer: &Transfer, now: Moment, begun: bool) {
    let TransferRequest::Import(request) = &transfer.about else {
        return;
    };
    let mut answer = Object::open(out);
    let mut object = answer.object("ImportTableDescription");
    let status = status(transfer, now, begun);
    head(&mut object, transfer, request, status);
    let id = transfer.table_id();
    if !id.is_empty() {
        object.string("TableId", &id);
    }
    transfers::text(&mut object, "ClientToken", request.client_token.as_ref());
    let compression = transfers::compression(request.input_compression_type.as_ref());
    object.string("InputCompressionType", compression.name());
    transfers::echo(&mut object, transfer);
    if status != "IN_PROGRESS" {
        outcome(&mut object, transfer);
    }
    object.close();
    answer.close();
}

pub(super) fn status(transfer: &Transfer, now: Moment, begun: bool) -> &'static str {
    if begun {
        "IN_PROGRESS"
    } else {
        describe_export::status(transfer, now)
    }
}

/// The members that descriptions and summaries have in common.
pub(super) fn head(object: &mut Object<'_>, transfer: &Transfer, request: &ImportTable, status: &str) {
    let place = crate::operation::arn::sub_resource(&transfer.arn, "import");
    let (region, account) = place.map_or(("", ""), |place| (place.region, place.account));
    object.string("ImportArn", &transfer.arn);
    object.string("ImportStatus", status);
    object.string("TableArn", &transfer.table_arn);
    source(object, "S3BucketSource", request.source.as_ref(), account);
    object.string(
        "CloudWatchLogGroupArn",
        &format!("arn:aws:logs:{region}:{account}:log-group:/aws-dynamodb/imports:*"),
    );
    transfers::text(object, "InputFormat", request.input_format.as_ref());
    object.timestamp("StartTime", transfer.start);
    if status != "IN_PROGRESS" {
        object.timestamp("EndTime", transfer.progress().end);
    }
}

/// Writes a bucket, with its owner filled in.
fn source(object: &mut Object<'_>, name: &str, place: Option<&S3BucketSource>, account: &str) {
    let Some(place) = place else { return };
    let mut source = object.object(name);
    source.string("S3BucketOwner", place.s3_bucket_owner.as_deref().unwrap_or(account));
    transfers::text(&mut source, "S3Bucket", place.s3_bucket.as_ref());
    transfers::text(&mut source, "S3KeyPrefix", place.s3_key_prefix.as_ref());
    source.close();
}

fn outcome(object: &mut Object<'_>, transfer: &Transfer) {
    let progress = transfer.progress();
    object.integer("ProcessedSizeBytes", progress.counts.bytes as i64);
    object.integer("ProcessedItemCount", progress.counts.processed as i64);
    object.integer("ImportedItemCount", progress.counts.written as i64);
    object.integer("ErrorCount", progress.counts.failed as i64);
    transfers::failure(object, progress.failure.as_ref());
}
