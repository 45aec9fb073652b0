//! [DescribeImport](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeImport.html).

use super::{describe_export, transfers};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::{DescribeImport, ImportTable, S3BucketSource};
use crate::storage::{Transfer, TransferKind, TransferRequest};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = DescribeImport::decode(body)?;
    let words = ("importArn", "Invalid Import ARN");
    let transfer = transfers::find(context, request.import_arn.as_ref(), TransferKind::Import, words)?;
    describe(out, &transfer, context, false);
    Ok(())
}

/// Appends an answer that is an import's description; one that has just begun goes on, even if it takes no time.
pub(super) fn describe(out: &mut Writer, transfer: &Transfer, context: &Context<'_>, begun: bool) {
    let TransferRequest::Import(request) = &transfer.about else {
        return;
    };
    let mut answer = Object::open(out);
    let mut object = answer.object("ImportTableDescription");
    let status = status(transfer, context, begun);
    head(&mut object, transfer, request, context, status);
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

pub(super) fn status(transfer: &Transfer, context: &Context<'_>, begun: bool) -> &'static str {
    if begun {
        "IN_PROGRESS"
    } else {
        describe_export::status(transfer, context.now)
    }
}

/// What descriptions and summaries have in common.
pub(super) fn head(
    object: &mut Object<'_>,
    transfer: &Transfer,
    request: &ImportTable,
    context: &Context<'_>,
    status: &str,
) {
    object.string("ImportArn", &transfer.arn);
    object.string("ImportStatus", status);
    object.string("TableArn", &transfer.table_arn);
    place(object, "S3BucketSource", request.source.as_ref(), context.account);
    object.string(
        "CloudWatchLogGroupArn",
        &format!(
            "arn:aws:logs:{}:{}:log-group:/aws-dynamodb/imports:*",
            context.region, context.account
        ),
    );
    transfers::text(object, "InputFormat", request.input_format.as_ref());
    object.timestamp("StartTime", transfer.start);
    if status != "IN_PROGRESS" {
        object.timestamp("EndTime", transfer.progress().end);
    }
}

/// A bucket, with its owner filled in.
fn place(object: &mut Object<'_>, name: &str, place: Option<&S3BucketSource>, account: &str) {
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
