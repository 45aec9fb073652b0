//! [ExportTableToPointInTime](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExportTableToPointInTime.html).

mod lines;

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::limits;
use crate::operation::arn;
use crate::operation::backups;
use crate::operation::check::one_of;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::operation::transfers::describe_export;
use crate::operation::transfers::{self, RequestWithBody, StartedTransfer, TransferStart};
use crate::plan::{Access, ControlAccess, Target};
use crate::request::{ExportTableToPointInTime, IncrementalExportSpecification, S3BucketSource};
use crate::storage::{Recovery, Snapshot, Transfer, TransferCounts, TransferRequest};
use crate::transfer::{Export, ExportRange, Format};
use crate::wire::encode::Writer;

pub struct Operation;

pub struct Plan<'r> {
    target: Target,
    arn: &'r str,
    sent: &'r RequestWithBody<ExportTableToPointInTime>,
}

impl Stages for Operation {
    type Request = RequestWithBody<ExportTableToPointInTime>;
    type Checked<'r> = (&'r str, &'r RequestWithBody<ExportTableToPointInTime>);
    type Plan<'r> = Plan<'r>;
    type Outcome = StartedTransfer;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let sent = &*request;
        check_members(&sent.request)?;
        let arn = sent.request.table_arn.as_deref().unwrap_or_default();
        if arn::table_arn(arn).is_none() {
            return Err(ApiError::invalid("tableArn is not a valid ARN"));
        }
        Ok((arn, sent))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (arn, sent) = checked;
        let target = backups::table(context, arn).map_err(|error| by_arn(error, arn))?;
        Ok(Plan { target, arn, sent })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let Plan { target, arn, sent } = plan;
        let RequestWithBody { request, body } = sent;
        backups::check_table(context, target).map_err(|error| by_arn(error, arn))?;
        execute::run_due(&target.table, context.now);
        let snapshot = target.table.snapshot();
        let recovery = snapshot.shape.restorable();
        let recovery = recovery.ok_or_else(|| ApiError::recovery_off(&target.table.name))?;
        let span = span(context, request, target, recovery)?;
        let filter = lines::Filter::new(context, &snapshot.shape.definition, request.filter.as_ref())?;
        let place = (
            target.table.name.clone(),
            target.table.arn.clone(),
            target.table.id.clone(),
        );
        let echoed = transfers::echoed(body, &["FilterSpecification", "IncrementalExportSpecification"]);
        let about = TransferRequest::Export(Arc::clone(request));
        let token = request.client_token.as_ref();
        match transfers::begin(context, place, (about, body), echoed, token)? {
            TransferStart::Same(transfer) => Ok(StartedTransfer::before(transfer, context.now)),
            TransferStart::Conflict => Err(ApiError::export_conflict()),
            TransferStart::New(transfer) => {
                let outcome = carry_out(context, &transfer, request, &snapshot, span, &filter);
                outcome.inspect_err(|_| transfer.abandon(context.now))?;
                Ok(StartedTransfer::now(transfer, context.now))
            }
        }
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let StartedTransfer { transfer, now, begun } = outcome;
        describe_export::describe(out, &transfer, now, begun);
    }
}

/// A missing table is reported by its ARN.
fn by_arn(error: ApiError, arn: &str) -> ApiError {
    if error == ApiError::no_table_to_back_up(crate::plan::plain_name(arn)) {
        ApiError::no_table_to_back_up(arn)
    } else {
        error
    }
}

fn check_members(request: &ExportTableToPointInTime) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    streams::required(&mut violations, request.table_arn.as_ref(), "tableArn", 1, 1024);
    let place = S3BucketSource {
        s3_bucket: request.s3_bucket.clone(),
        s3_bucket_owner: request.s3_bucket_owner.clone(),
        s3_key_prefix: request.s3_prefix.clone(),
    };
    transfers::check_place(&mut violations, &place, ["s3Bucket", "s3BucketOwner", "s3Prefix"], true);
    transfers::check_token(&mut violations, request.client_token.as_ref());
    let key = request.s3_sse_kms_key_id.as_ref();
    streams::length(&mut violations, key, "s3SseKmsKeyId", 1, 2048);
    let view = request
        .incremental
        .as_ref()
        .and_then(|each| each.export_view_type.as_ref());
    for (word, path, words, set) in [
        (
            request.s3_sse_algorithm.as_ref(),
            "s3SseAlgorithm",
            ["AES256", "KMS"],
            "[AES256, KMS]",
        ),
        (
            request.export_format.as_ref(),
            "exportFormat",
            ["DYNAMODB_JSON", "ION"],
            "[DYNAMODB_JSON, ION]",
        ),
        (
            request.export_type.as_ref(),
            "exportType",
            ["FULL_EXPORT", "INCREMENTAL_EXPORT"],
            "[FULL_EXPORT, INCREMENTAL_EXPORT]",
        ),
        (
            view,
            "incrementalExportSpecification.exportViewType",
            ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"],
            "[NEW_IMAGE, NEW_AND_OLD_IMAGES]",
        ),
    ] {
        transfers::check_word(&mut violations, word, path, &words, set);
    }
    violations.finish()?;
    if request.s3_sse_kms_key_id.is_some() && one_of(request.s3_sse_algorithm.as_ref()) != Some("KMS") {
        return Err(ApiError::invalid_request(
            "KMS Key Id is not supported for this encryption type",
        ));
    }
    Ok(())
}

/// The exported state: a moment or a period within the recovery window.
fn span(
    context: &Context<'_>,
    request: &ExportTableToPointInTime,
    target: &Target,
    recovery: Recovery,
) -> Result<ExportRange, ApiError> {
    let invalid = || ApiError::invalid_export_time("Export Time is invalid");
    let earliest = recovery.earliest(context.now);
    // Requests have whole seconds: the second in which recovery was enabled is accepted.
    let is_kept = |moment: Moment| moment.seconds() >= earliest.seconds();
    if one_of(request.export_type.as_ref()) != Some("INCREMENTAL_EXPORT") {
        let at = request.export_time.unwrap_or(context.now);
        let latest = recovery.latest(context.now).seconds();
        if request.export_time.is_some() && at <= context.now && at.seconds() > latest {
            // Recorded for a time that had just passed. By default the present is exported.
            return Err(ApiError::invalid_export_time(
                "Point in Time Recovery is not available for specified export time",
            ));
        }
        return if at <= context.now && is_kept(at) {
            Ok(ExportRange::Full(at.max(earliest)))
        } else {
            Err(invalid())
        };
    }
    let specification = request.incremental.clone().unwrap_or_default();
    let (from, to) = bounds(context, &specification, target.table.created)?;
    if !is_kept(from) {
        return Err(invalid());
    }
    Ok(ExportRange::Incremental {
        from: from.max(earliest),
        to,
        old_images: one_of(specification.export_view_type.as_ref()) != Some("NEW_IMAGE"),
    })
}

fn bounds(
    context: &Context<'_>,
    specification: &IncrementalExportSpecification,
    created: Moment,
) -> Result<(Moment, Moment), ApiError> {
    let Some(from) = specification.export_from_time else {
        return Err(ApiError::invalid_request(
            "ExportFromTime must be provided in IncrementalExportSpecification",
        ));
    };
    let to = specification.export_to_time.unwrap_or(context.now);
    if from.seconds() < created.seconds() {
        return Err(ApiError::invalid_export_time(format!(
            "Incremental export period from time cannot be less than the table creation time : {created}"
        )));
    }
    if to > context.now {
        return Err(ApiError::invalid_export_time(format!(
            "Incremental export period to time cannot be greater than the current time : {}",
            context.now
        )));
    }
    let (least, most) = limits::INCREMENTAL_EXPORT_SECONDS;
    let seconds = to.seconds().saturating_sub(from.seconds());
    if seconds < least {
        return Err(ApiError::invalid_export_time(
            "Difference between export period from time and export period to time is less than 15 minutes",
        ));
    }
    if seconds > most {
        // The limit is documented; its text has not been recorded.
        return Err(ApiError::invalid_export_time(
            "Difference between export period from time and export period to time is greater than 24 hours",
        ));
    }
    Ok((from, to))
}

/// Passes the export to the object store; its outcome is visible when it completes.
fn carry_out(
    context: &Context<'_>,
    transfer: &Transfer,
    request: &ExportTableToPointInTime,
    snapshot: &Snapshot,
    span: ExportRange,
    filter: &lines::Filter<'_>,
) -> Result<(), ApiError> {
    let end = transfers::end(context, &transfer.table_name, &transfer.arn);
    if let Some(failure) = context.job_failure() {
        return Ok(transfer.finish((context.now, end), Some(failure), TransferCounts::default())?);
    }
    let owned = |text: Option<&crate::value::Text>| text.map(std::string::ToString::to_string);
    let export = Export {
        arn: transfer.arn.clone(),
        table_arn: transfer.table_arn.clone(),
        table_id: transfer.table_id(),
        start: transfer.start,
        end,
        span,
        bucket: owned(request.s3_bucket.as_ref()).unwrap_or_default(),
        prefix: owned(request.s3_prefix.as_ref()),
        sse_algorithm: one_of(request.s3_sse_algorithm.as_ref()).unwrap_or("AES256").to_owned(),
        sse_kms_key_id: owned(request.s3_sse_kms_key_id.as_ref()),
        format: one_of(request.export_format.as_ref())
            .and_then(Format::named)
            .unwrap_or_default(),
        billed_bytes: 0,
        parts: Vec::new(),
    };
    let (parts, billed_bytes) = lines::of(snapshot, span, filter);
    let export = Export {
        billed_bytes,
        parts,
        ..export
    };
    let written = transfers::object_store(context).and_then(|object_store| object_store.export(&export));
    let counts = TransferCounts {
        processed: export.count() as u64,
        bytes: billed_bytes,
        ..TransferCounts::default()
    };
    Ok(transfer.finish((context.now, end), written.err(), counts)?)
}
