//! [StartBulkPutItems](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_StartBulkPutItems.html).

use std::sync::Arc;
use std::time::Duration;

use crate::capacity::{Consumed, Direction};
use crate::change::Change;
use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Detail, ErrorKind, Violations, constraint};
use crate::execute::{self, Refusals};
use crate::expression::{Bindings, ExpressionKind};
use crate::limits;
use crate::operation::check;
use crate::operation::check::one_of;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::operation::transfers::describe_bulk_operation;
use crate::operation::transfers::{self, RequestWithBody, StartedTransfer, TransferStart};
use crate::plan::{self, Access, ControlAccess, Target, WriteCondition};
use crate::request::{InputS3Configuration, ItemRecord, OutputS3Configuration, StartBulkPutItems};
use crate::storage::{IndexBytes, JobKind, Transfer, TransferCounts, TransferRequest};
use crate::transfer::{BulkReport, Failure, Format, ImportSource, Record, Rejected};
use crate::value::{Item, Name, SentItem};
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = RequestWithBody<StartBulkPutItems>;
    type Checked<'r> = (&'r str, &'r RequestWithBody<StartBulkPutItems>);
    type Plan<'r> = (Target, &'r RequestWithBody<StartBulkPutItems>);
    type Outcome = StartedTransfer;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let sent = &*request;
        let name = check::control_table_name(sent.request.table_name.as_ref())?;
        check_members(&sent.request)?;
        Ok((name, sent))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, sent) = checked;
        Ok((plan::table_in_any_state(context, name)?, sent))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.0.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (target, RequestWithBody { request, body }) = plan;
        check_state(context, target)?;
        let table = &target.table;
        let place = (table.name.clone(), table.arn.clone(), table.id.clone());
        let echoed = transfers::echoed(body, &["InputS3Configuration", "OutputS3Configuration"]);
        let about = TransferRequest::BulkPut(Arc::clone(request));
        let token = request.client_token.as_ref();
        match transfers::begin(context, place, (about, body), echoed, token)? {
            TransferStart::Same(transfer) => Ok(StartedTransfer::before(transfer, context.now)),
            TransferStart::Conflict => Err(ApiError::idempotent_mismatch()),
            TransferStart::New(transfer) => {
                let outcome = carry_out(context, &transfer, request, target);
                outcome.inspect_err(|_| transfer.abandon(context.now))?;
                Ok(StartedTransfer::now(transfer, context.now))
            }
        }
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let StartedTransfer { transfer, now, begun } = outcome;
        describe_bulk_operation::describe(out, &transfer, now, begun);
    }
}

fn check_members(request: &StartBulkPutItems) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    transfers::check_token(&mut violations, request.client_token.as_ref());
    match &request.input {
        None => violations.missing("inputS3Configuration"),
        Some(input) => check_input(&mut violations, input),
    }
    match &request.output {
        None => violations.missing("outputS3Configuration"),
        Some(output) => check_output(&mut violations, output),
    }
    if let Some(units) = request
        .max_write_request_units
        .filter(|units| *units < limits::BULK_WRITE_UNITS)
    {
        let least = constraint::min_value(limits::BULK_WRITE_UNITS);
        violations.value(units, "maxWriteRequestUnits", least);
    }
    let tiers = ["STANDARD", "ACCELERATED"];
    let word = request.performance_tier.as_ref();
    transfers::check_word(
        &mut violations,
        word,
        "performanceTier",
        &tiers,
        "[STANDARD, ACCELERATED]",
    );
    violations.finish()
}

fn check_input(violations: &mut Violations, input: &InputS3Configuration) {
    let paths = [
        "inputS3Configuration.s3Bucket",
        "inputS3Configuration.s3BucketOwner",
        "inputS3Configuration.s3KeyPrefix",
    ];
    transfers::check_place(violations, &input.source, paths, true);
    let path = "inputS3Configuration.inputFormat";
    match input.input_format.as_ref() {
        None => violations.missing(path),
        word => transfers::check_word(
            violations,
            word,
            path,
            &["DYNAMODB_JSON", "ION"],
            "[DYNAMODB_JSON, ION]",
        ),
    }
    let path = "inputS3Configuration.inputCompressionType";
    transfers::check_compression(violations, input.input_compression_type.as_ref(), path);
}

fn check_output(violations: &mut Violations, output: &OutputS3Configuration) {
    let paths = [
        "outputS3Configuration.s3Bucket",
        "outputS3Configuration.s3BucketOwner",
        "outputS3Configuration.s3KeyPrefix",
    ];
    transfers::check_place(violations, &output.place, paths, false);
    let key = output.s3_sse_kms_key_id.as_ref();
    streams::length(violations, key, "outputS3Configuration.s3SseKmsKeyId", 1, 2048);
    let words = ["AES256", "KMS"];
    let word = output.s3_sse_algorithm.as_ref();
    transfers::check_word(
        violations,
        word,
        "outputS3Configuration.s3SseAlgorithm",
        &words,
        "[AES256, KMS]",
    );
    let path = "outputS3Configuration.outputType";
    let Some(types) = &output.output_type else {
        return violations.missing(path);
    };
    for (at, word) in types.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        let words = ["ERROR", "CONDITION_CHECK_FAILURE"];
        transfers::check_word(
            violations,
            Some(word),
            &path,
            &words,
            "[ERROR, CONDITION_CHECK_FAILURE]",
        );
    }
}

/// Checks that the table is active and not in a global table, and none of its indexes is being created.
fn check_state(context: &Context<'_>, target: &Target) -> Result<(), ApiError> {
    let shape = &target.shape;
    let name = &target.table.name;
    let now = context.now;
    if shape.is_restoring(now) {
        return Err(ApiError::in_use(format_args!("Table is being used: {name}")));
    }
    if now < shape.active_at {
        return Err(ApiError::in_use(format_args!("Table is being created: {name}")));
    }
    if shape.is_deleting() {
        return Err(ApiError::in_use(format_args!("Table is being deleted: {name}")));
    }
    let creates = |work: &JobKind| matches!(work, JobKind::CreateIndex { .. });
    if shape.running(now).any(|job| creates(&job.work)) {
        return Err(ApiError::in_use(format_args!("Table is being updated: {name}")));
    }
    if target.table.global_state(now).is_some() {
        // The service's text is not recorded.
        return Err(ApiError::validation(format!(
            "Bulk operations are not supported on global tables: {name}"
        )));
    }
    Ok(())
}

/// Reads the records and writes their items, which are visible at once. The outcome is visible when the operation completes.
fn carry_out(
    context: &Context<'_>,
    transfer: &Transfer,
    request: &StartBulkPutItems,
    target: &Target,
) -> Result<(), ApiError> {
    let mut load = BulkLoad {
        context,
        target,
        counts: TransferCounts::default(),
        consumed: Consumed::new(target.table.name.clone()),
        errors: Vec::new(),
        unmet: Vec::new(),
    };
    let failure = load.run(transfer, request).err();
    let end = transfers::end(context, &transfer.table_name, &transfer.arn);
    let end = end.max(load.paced(request.max_write_request_units));
    Ok(transfer.finish((context.now, end), failure, load.counts)?)
}

/// A bulk operation that is being executed.
struct BulkLoad<'l> {
    context: &'l Context<'l>,
    target: &'l Target,
    counts: TransferCounts,
    /// The cost of the writes if they were sent one by one.
    consumed: Consumed,
    errors: Vec<Rejected>,
    unmet: Vec<Rejected>,
}

impl BulkLoad<'_> {
    fn run(&mut self, transfer: &Transfer, request: &StartBulkPutItems) -> Result<(), Failure> {
        if let Some(failure) = self.context.job_failure() {
            return Err(failure);
        }
        let input = request.input.clone().unwrap_or_default();
        let object_store = transfers::object_store(self.context)?;
        let bucket = input.source.s3_bucket.unwrap_or_default();
        let source = ImportSource {
            bucket: bucket.to_string(),
            prefix: input.source.s3_key_prefix.unwrap_or_default().to_string(),
            format: one_of(input.input_format.as_ref())
                .and_then(Format::named)
                .unwrap_or_default(),
            compression: transfers::compression(input.input_compression_type.as_ref()),
            ..ImportSource::default()
        };
        self.counts.bytes = object_store.read(&source, &mut |record| self.take(record))?;
        let output = request.output.clone().unwrap_or_default();
        let wants = |word: &str| output.output_type.iter().flatten().any(|each| each == word);
        object_store.report(&BulkReport {
            arn: transfer.arn.clone(),
            bucket: output.place.s3_bucket.clone().unwrap_or(bucket).to_string(),
            prefix: output
                .place
                .s3_key_prefix
                .as_ref()
                .map(std::string::ToString::to_string),
            errors: wants("ERROR").then(|| std::mem::take(&mut self.errors)),
            unmet: wants("CONDITION_CHECK_FAILURE").then(|| std::mem::take(&mut self.unmet)),
        })
    }

    fn take(&mut self, record: Record) {
        self.counts.processed += 1;
        let mut rejected = Rejected {
            object: record.object,
            number: record.number,
            why: String::new(),
            item: None,
            existing: None,
        };
        let read = match record.read {
            Ok(read) => read,
            Err(why) => {
                self.counts.failed += 1;
                self.errors.push(Rejected { why, ..rejected });
                return;
            }
        };
        let sent = read.item.clone().map(SentItem::from);
        rejected.item = sent.as_ref().map(|sent| sent.item.clone());
        match self.write(&read, sent.as_ref()) {
            Ok(change) => self.count(&change),
            Err(error) => {
                error.message().unwrap_or_default().clone_into(&mut rejected.why);
                if error.kind() == ErrorKind::ConditionalCheckFailed {
                    if let Detail::Item(item) = error.detail() {
                        rejected.existing = Some(item.clone());
                    }
                    self.unmet.push(rejected);
                } else {
                    self.counts.failed += 1;
                    self.errors.push(rejected);
                }
            }
        }
    }

    fn write(&self, record: &ItemRecord, sent: Option<&SentItem>) -> Result<Change, ApiError> {
        let sent = sent.ok_or_else(|| ApiError::validation("Item is missing"))?;
        plan::check_item_size(&sent.item)?;
        let mut scope = Bindings::new(&record.substitutions, &self.context.engine.caches().expressions)?;
        let condition = record.condition_expression.as_ref();
        let condition = condition.map(|text| scope.condition(ExpressionKind::Condition, text));
        let condition = condition.transpose()?;
        scope.check_all_used()?;
        let condition = WriteCondition {
            condition,
            show_item: true,
        };
        let write = plan::put(self.target.clone(), sent, condition)?;
        execute::load(self.context, &write)
    }

    /// When all writes complete at the requested rate, and at those of the table and its global indexes; at once where
    /// nothing takes time.
    fn paced(&self, most: Option<i64>) -> Moment {
        let now = self.context.now;
        if !self.target.shape.takes_time() {
            return now;
        }
        let most = most.and_then(|most| u64::try_from(most).ok());
        let mut ledger = self.target.table.capacity.lock();
        let mut serves = |index: Option<&str>| ledger.as_mut()?.rate(index, Direction::Write, now);
        let Consumed {
            table, globals, locals, ..
        } = &self.consumed;
        // Local indexes share the table's throughput.
        let table = *table + locals.iter().map(|(_, units)| *units).sum();
        let seconds = [(self.consumed.total(), most), (table, serves(None))]
            .into_iter()
            .chain(globals.iter().map(|(index, units)| (*units, serves(Some(index)))))
            .map(|(units, rate)| rate.map_or(0.0, |rate| units.as_f64() / rate.max(1) as f64))
            .fold(0.0, f64::max);
        let takes = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        now.plus(takes)
    }

    fn count(&mut self, change: &Change) {
        let add = |bytes: &mut IndexBytes, name: &Name, item: Option<&Item>| {
            *bytes.get_or_default(name) += item.map_or(0, Item::size) as u64;
        };
        self.counts.written += 1;
        self.consumed.merge(change.consumed(&self.target.table.name));
        self.counts.table_bytes += change.new.as_ref().map_or(0, Item::size) as u64;
        for arm in &change.globals {
            let item = arm.insert.as_ref().map(|(_, item)| item);
            add(&mut self.counts.global_bytes, &arm.name, item);
        }
        for arm in &change.locals {
            let item = arm.insert.as_ref().map(|(_, item)| item);
            add(&mut self.counts.local_bytes, &arm.name, item);
        }
        for arm in &change.vectors {
            *self.counts.vector_bytes.get_or_default(&arm.name) += arm.bytes;
        }
    }
}
