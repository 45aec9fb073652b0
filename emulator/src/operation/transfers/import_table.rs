//! [ImportTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ImportTable.html).

use std::sync::Arc;

use crate::change;
use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::key::Key;
use crate::limits;
use crate::operation::check::one_of;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::operation::tables::create_table::{self, Extras, definition, shape};
use crate::operation::transfers::describe_import;
use crate::operation::transfers::{self, RequestWithBody, StartedTransfer, TransferStart};
use crate::plan::{Access, ControlAccess};
use crate::request::{CreateTable, CsvOptions, ImportTable, ItemRecord};
use crate::schema::Definition;
use crate::storage::{Table, Transfer, TransferCounts, TransferKind, TransferRequest};
use crate::transfer::{Failure, Format, ImportSource, Record};
use crate::value::{Item, Name, Text};
use crate::wire::encode::Writer;

const UNDER: &str = "tableCreationParameters.";

pub struct Operation;

pub struct Plan<'r> {
    table: &'r CreateTable,
    name: &'r Name,
    definition: Definition,
    sent: &'r RequestWithBody<ImportTable>,
}

impl Stages for Operation {
    type Request = RequestWithBody<ImportTable>;
    type Checked<'r> = (&'r CreateTable, &'r Name, &'r RequestWithBody<ImportTable>);
    type Plan<'r> = Plan<'r>;
    type Outcome = StartedTransfer;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let sent = &*request;
        check_members(&sent.request)?;
        let table = sent.request.table.as_ref().ok_or_else(ApiError::internal)?;
        let name = table.table_name.as_ref().ok_or_else(ApiError::internal)?;
        shape::check(table, name, UNDER)?;
        check_options(&sent.request)?;
        Ok((table, name, sent))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (table, name, sent) = checked;
        let definition = definition::read(context, table)?;
        Ok(Plan {
            table,
            name,
            definition,
            sent,
        })
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(plan.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let Plan {
            table,
            name,
            definition,
            sent,
        } = plan;
        let RequestWithBody { request, body } = sent;
        let echoed = transfers::echoed(body, &["InputFormatOptions", "TableCreationParameters"]);
        let place = (Name::clone(name), context.table_arn(name), String::new());
        let about = TransferRequest::Import(Arc::clone(request));
        // The token of a running import is checked before the table, which that import has created.
        if let Some(token) = &request.client_token
            && let Some(there) = running(context, token)
        {
            return match &there.about {
                TransferRequest::Import(other) if other == request => Ok(StartedTransfer::before(there, context.now)),
                _ => Err(ApiError::import_conflict()),
            };
        }
        check_free(context, name, definition)?;
        let token = request.client_token.as_ref();
        match transfers::begin(context, place, (about, body), echoed, token)? {
            TransferStart::Same(transfer) => Ok(StartedTransfer::before(transfer, context.now)),
            TransferStart::Conflict => Err(ApiError::import_conflict()),
            TransferStart::New(transfer) => {
                let outcome = carry_out(context, &transfer, request, table, definition.clone());
                outcome.inspect_err(|_| transfer.abandon(context.now))?;
                Ok(StartedTransfer::now(transfer, context.now))
            }
        }
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let StartedTransfer { transfer, now, begun } = outcome;
        describe_import::describe(out, &transfer, now, begun);
    }
}

/// The running import with this token.
fn running(context: &Context<'_>, token: &Text) -> Option<Arc<Transfer>> {
    let region = context.engine.catalog().region(&context.scope)?;
    let kind = TransferKind::Import;
    let is_it = |there: &Transfer| {
        let theirs = there.token.as_ref().map(|(token, _)| token.as_str());
        theirs == Some(token) && context.now < there.progress().end
    };
    region.transfers.list(kind, None, (1, context.now), is_it).pop()
}

fn check_members(request: &ImportTable) -> Result<(), ApiError> {
    let mut violations = Violations::new();
    transfers::check_token(&mut violations, request.client_token.as_ref());
    match &request.source {
        None => violations.missing("s3BucketSource"),
        Some(source) => transfers::check_place(
            &mut violations,
            source,
            [
                "s3BucketSource.s3Bucket",
                "s3BucketSource.s3BucketOwner",
                "s3BucketSource.s3KeyPrefix",
            ],
            true,
        ),
    }
    match request.input_format.as_ref() {
        None => violations.missing("inputFormat"),
        word => {
            let words = ["ION", "CSV", "DYNAMODB_JSON"];
            transfers::check_word(
                &mut violations,
                word,
                "inputFormat",
                &words,
                "[ION, CSV, DYNAMODB_JSON]",
            );
        }
    }
    transfers::check_compression(
        &mut violations,
        request.input_compression_type.as_ref(),
        "inputCompressionType",
    );
    if let Some(csv) = csv(request) {
        check_csv(&mut violations, csv);
    }
    match &request.table {
        None => violations.missing("tableCreationParameters"),
        Some(table) if table.table_name.is_none() => violations.missing("tableCreationParameters.tableName"),
        Some(_) => {}
    }
    violations.finish()
}

fn csv(request: &ImportTable) -> Option<&CsvOptions> {
    request.input_format_options.as_ref()?.csv.as_ref()
}

fn check_csv(violations: &mut Violations, csv: &CsvOptions) {
    const PATH: &str = "inputFormatOptions.csv";
    if let Some(delimiter) = csv.delimiter.as_deref()
        && !matches!(delimiter, "," | ";" | ":" | "|" | "\t" | " ")
    {
        violations.value(
            delimiter,
            format_args!("{PATH}.delimiter"),
            constraint::pattern("[,;:|\\t ]"),
        );
    }
    streams::length(violations, csv.delimiter.as_ref(), &format!("{PATH}.delimiter"), 1, 1);
    let Some(header) = &csv.header_list else { return };
    let path = format!("{PATH}.headerList");
    if header.is_empty() {
        violations.value("[]", &path, constraint::min_length(1));
    }
    if header.len() > 255 {
        violations.value(
            format_args!("[{}]", header.join(", ")),
            &path,
            constraint::max_length(255),
        );
    }
    for (at, name) in header.iter().enumerate() {
        let path = format!("{path}.{}.member", at + 1);
        if !name
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b','))
        {
            let pattern = constraint::pattern("[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*");
            violations.value(name, &path, pattern);
        }
        streams::length(violations, Some(name), &path, 1, 65_536);
    }
}

fn check_options(request: &ImportTable) -> Result<(), ApiError> {
    let format = one_of(request.input_format.as_ref()).unwrap_or_default();
    if csv(request).is_some() && format != "CSV" {
        return Err(ApiError::invalid_request(format_args!(
            "Unsupported InputFormatOptions for the given input format: {format}."
        )));
    }
    Ok(())
}

fn check_free(context: &Context<'_>, name: &Name, definition: &Definition) -> Result<(), ApiError> {
    let table = context.engine.catalog().table(&context.scope, name);
    check_free_of(table.as_ref(), context.now).map_err(|()| ApiError::table_exists(name))?;
    let Some(region) = context.engine.catalog().region(&context.scope) else {
        return Ok(());
    };
    let goes_on = |there: &Transfer| context.now < there.progress().end;
    let kind = TransferKind::Import;
    if region
        .transfers
        .list(kind, None, (limits::IMPORTS, context.now), goes_on)
        .len()
        >= limits::IMPORTS
    {
        // The text was recorded for restores; the API Reference states the same limit for imports.
        return Err(ApiError::subscriber_limit(
            "Only 50 import operations can be done simultaneously",
        ));
    }
    let tables = region.tables.read();
    create_table::check_quota(context, name, definition, &tables)
}

/// Reads the items and creates the table from them. The outcome is visible when the import completes.
fn carry_out(
    context: &Context<'_>,
    transfer: &Transfer,
    request: &ImportTable,
    table: &CreateTable,
    definition: Definition,
) -> Result<(), ApiError> {
    let end = transfers::end(context, &transfer.table_name, &transfer.arn);
    let mut counts = TransferCounts::default();
    match import(context, transfer, (request, table), definition, end, &mut counts)? {
        Ok(()) => Ok(()),
        Err(failure) => Ok(transfer.finish((context.now, end), Some(failure), counts)?),
    }
}

/// Creates the table, with which the import completes. The inner error is the outcome of an import without a table, the outer
/// one the request's.
fn import(
    context: &Context<'_>,
    transfer: &Transfer,
    (request, table): (&ImportTable, &CreateTable),
    definition: Definition,
    end: Moment,
    counts: &mut TransferCounts,
) -> Result<Result<(), Failure>, ApiError> {
    if let Some(failure) = context.job_failure() {
        return Ok(Err(failure));
    }
    let mut items: Vec<(Key, Item)> = Vec::new();
    let source = source(request, &definition);
    let mut take = |record: Record| {
        counts.processed += 1;
        match record.read.ok().and_then(|record| item(&definition, record)) {
            Some(item) => items.push(item),
            None => counts.failed += 1,
        }
    };
    let read = transfers::object_store(context).and_then(|object_store| object_store.read(&source, &mut take));
    match read {
        Ok(bytes) => counts.bytes = bytes,
        Err(failure) => return Ok(Err(failure)),
    }
    counts.written = items.len() as u64;
    let name = table.table_name.clone().unwrap_or_default();
    let region = context.engine.catalog().region_or_new(&context.scope);
    let made = create_table::make(context, &region, name.clone(), definition, Extras::default())?;
    made.fill(items, context.now)?;
    if made.shape().active_at < end {
        // The table becomes active when its items are complete.
        made.reshape(context.now, |settings| {
            settings.active_at = end;
            Ok::<(), ApiError>(())
        })?;
    }
    let mut tables = region.tables.write();
    if check_free_of(tables.get(&name), context.now).is_err() {
        return Ok(Err(Failure {
            code: "TableAlreadyExists",
            message: format!("Table already exists: {name}"),
        }));
    }
    let failure = (counts.failed > 0).then(|| Failure {
        code: "ItemValidationError",
        message: "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more details.".to_owned(),
    });
    tables.insert_imported(&made, transfer, (context.now, end), (failure, std::mem::take(counts)))?;
    Ok(Ok(()))
}

fn check_free_of(there: Option<&Arc<Table>>, now: Moment) -> Result<(), ()> {
    let gone = |table: &Arc<Table>| table.shape().is_gone(now);
    if there.is_none_or(gone) { Ok(()) } else { Err(()) }
}

fn source(request: &ImportTable, definition: &Definition) -> ImportSource {
    let place = request.source.clone().unwrap_or_default();
    let options = csv(request).cloned().unwrap_or_default();
    let delimiter = options.delimiter.as_deref().and_then(|text| text.chars().next());
    ImportSource {
        bucket: place.s3_bucket.unwrap_or_default().to_string(),
        prefix: place.s3_key_prefix.unwrap_or_default().to_string(),
        format: one_of(request.input_format.as_ref())
            .and_then(Format::named)
            .unwrap_or_default(),
        compression: transfers::compression(request.input_compression_type.as_ref()),
        delimiter: delimiter.unwrap_or(','),
        header: options.header_list,
        keys: definition.attributes.clone(),
    }
}

/// A record's item and its key, if it is valid for the table.
fn item(definition: &Definition, record: ItemRecord) -> Option<(Key, Item)> {
    let attributes = record.item?;
    let item = Item::new(&attributes);
    let key = Key::of_item(&definition.key, &attributes).ok()?;
    change::check_entries(definition, &item).ok()?;
    Some((key, item))
}
