//! Shared by exports, imports and bulk operations: buckets, tokens, durations, and lists.

pub(super) mod cancel_bulk_operation;
pub(super) mod describe_bulk_operation;
pub(super) mod describe_export;
pub(super) mod describe_import;
pub(super) mod export_table_to_point_in_time;
pub(super) mod import_table;
pub(super) mod list_bulk_operations;
pub(super) mod list_exports;
pub(super) mod list_imports;
pub(super) mod start_bulk_put_items;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::chance::{self, StableHash};
use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::operation::arn;
use crate::operation::check;
use crate::operation::check::one_of;
use crate::operation::drive::Stages;
use crate::operation::streams;
use crate::plan::{Access, ControlAccess};
use crate::request::S3BucketSource;
use crate::storage::{StartOutcome, Transfer, TransferKind, TransferRecord, TransferRequest};
use crate::transfer::{Compression, Failure, ObjectStore};
use crate::value::{Name, Text};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;
use crate::wire::reader;

/// The duration of a transfer, as a multiple of the creation of a table (an export takes some minutes).
const TAKES: f64 = 50.0;
/// The maximum number of entries on a page of a list.
const MOST: i64 = 25;
/// The number of digits of a pagination token (measured: at least 112).
const TOKEN_DIGITS: usize = 112;

/// The name of a kind in ARNs.
fn resource(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Export => "export",
        TransferKind::Import => "import",
        // The form of this ARN has not been recorded.
        TransferKind::BulkPut => "bulk-operation",
    }
}

fn not_found(kind: TransferKind, arn: &str) -> ApiError {
    match kind {
        TransferKind::Export => ApiError::export_not_found(arn),
        TransferKind::Import => ApiError::import_not_found(arn),
        TransferKind::BulkPut => ApiError::bulk_operation_not_found(arn),
    }
}

/// The result of starting a transfer.
pub enum TransferStart {
    /// The request is new, and has been recorded.
    New(Arc<Transfer>),
    Same(Arc<Transfer>),
    /// Its token was used for a different request.
    Conflict,
}

/// Records a request, unless its token was used.
pub fn begin(
    context: &Context<'_>,
    (name, table_arn, table_id): (Name, String, String),
    (about, body): (TransferRequest, &[u8]),
    echoed: Vec<(&'static str, String)>,
    token: Option<&Text>,
) -> Result<TransferStart, ApiError> {
    let kind = about.kind();
    let region = context.engine.catalog().region_or_new(&context.scope);
    let requested = match &about {
        TransferRequest::Export(request) => format!("{request:?}"),
        TransferRequest::Import(request) => format!("{request:?}"),
        TransferRequest::BulkPut(request) => format!("{request:?}"),
    };
    let fingerprint = StableHash::new(0).bytes(requested.as_bytes()).finish();
    let under = table_arn.clone();
    let new_arn = |taken: &dyn Fn(&str) -> bool| arn::new_arn(context, &under, resource(kind), taken);
    let record = TransferRecord {
        arn: String::new(),
        table_name: name,
        table_arn,
        about,
        body: body.to_vec(),
        echoed,
        start: context.now,
        token: token.map(|token| (token.to_string(), fingerprint)),
    };
    let holds = |there: &Transfer| match kind {
        // An import's token is valid only while the import is running.
        TransferKind::Import => context.now < there.progress().end,
        _ => {
            context.now
                < there
                    .start
                    .plus(Duration::from_secs(crate::limits::TRANSFER_TOKEN_SECONDS))
        }
    };
    Ok(match region.transfers.begin(record, table_id, new_arn, holds)? {
        StartOutcome::New(transfer) => TransferStart::New(transfer),
        StartOutcome::Same(transfer) => TransferStart::Same(transfer),
        StartOutcome::Other => TransferStart::Conflict,
    })
}

/// When a transfer that starts now completes.
pub fn end(context: &Context<'_>, table: &str, arn: &str) -> Moment {
    let conditions = context.engine.conditions_of(&context.scope, table);
    let decision = chance::decide(context.engine.seed(), "transfer", arn.as_bytes(), 0);
    let lag = conditions.table_status.of(decision).as_secs_f64() * TAKES;
    context.now.plus(Duration::try_from_secs_f64(lag).unwrap_or_default())
}

/// The object store; without one, no bucket exists.
pub fn object_store<'e>(context: &Context<'e>) -> Result<&'e dyn ObjectStore, Failure> {
    context.engine.object_store().ok_or_else(Failure::no_such_bucket)
}

/// The members of the body that responses repeat unchanged.
pub fn echoed(body: &[u8], names: &[&'static str]) -> Vec<(&'static str, String)> {
    let member = |name: &&'static str| {
        let text = reader::member_text(body, name).filter(|text| *text != "null")?;
        Some((*name, text.to_owned()))
    };
    names.iter().filter_map(member).collect()
}

pub fn echo(object: &mut Object<'_>, transfer: &Transfer) {
    for (name, json) in &transfer.echoed {
        object.member(name).json(json.as_bytes());
    }
}

/// Appends a member that is a text, if it was sent.
pub fn text(object: &mut Object<'_>, name: &str, text: Option<&Text>) {
    if let Some(text) = text {
        object.string(name, text);
    }
}

/// Writes the reason of a failure.
pub fn failure(object: &mut Object<'_>, failure: Option<&Failure>) {
    if let Some(failure) = failure {
        object.string("FailureCode", failure.code);
        object.string("FailureMessage", &failure.message);
    }
}

/// The model's constraints on a bucket, its owner, and the key prefix.
pub fn check_place(violations: &mut Violations, place: &S3BucketSource, paths: [&str; 3], needs_bucket: bool) {
    let [bucket, owner, prefix] = paths;
    match place.s3_bucket.as_deref() {
        None if needs_bucket => violations.missing(bucket),
        None => {}
        Some(name) => {
            if name.len() > 255 {
                violations.value(name, bucket, constraint::max_length(255));
            }
            if !is_bucket(name) {
                violations.value(
                    name,
                    bucket,
                    "Member must satisfy regular expression pattern: ^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$",
                );
            }
        }
    }
    if let Some(account) = place.s3_bucket_owner.as_deref()
        && !(account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()))
    {
        violations.value(
            account,
            owner,
            "Member must satisfy regular expression pattern: [0-9]{12}",
        );
    }
    if let Some(text) = place
        .s3_key_prefix
        .as_deref()
        .filter(|text| text.chars().count() > 1024)
    {
        violations.value(text, prefix, constraint::max_length(1024));
    }
}

fn is_bucket(name: &str) -> bool {
    let bytes = name.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    bytes.len() >= 2
        && bytes.iter().all(inner)
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// The model's constraint on an enumeration.
pub fn check_word(violations: &mut Violations, word: Option<&Text>, path: &str, words: &[&str], set: &str) {
    if let Some(word) = one_of(word)
        && !words.contains(&word)
    {
        violations.value(word, path, constraint::one_of(set));
    }
}

pub fn check_compression(violations: &mut Violations, word: Option<&Text>, path: &str) {
    check_word(violations, word, path, &["ZSTD", "NONE", "GZIP"], "[ZSTD, NONE, GZIP]");
}

/// The compression of the input.
pub fn compression(word: Option<&Text>) -> Compression {
    one_of(word).and_then(Compression::named).unwrap_or_default()
}

pub fn check_token(violations: &mut Violations, token: Option<&Text>) {
    if let Some(token) = token.filter(|token| token.is_empty() || token.contains('$')) {
        violations.value(
            token,
            "clientToken",
            "Member must satisfy regular expression pattern: ^[^\\$]+$",
        );
    }
}

/// The transfer of a start request.
pub struct StartedTransfer {
    pub transfer: Arc<Transfer>,
    pub now: Moment,
    /// Whether this request has started it, rather than an earlier one.
    pub begun: bool,
}

impl StartedTransfer {
    /// A transfer that this request has started.
    pub fn now(transfer: Arc<Transfer>, now: Moment) -> StartedTransfer {
        let begun = true;
        StartedTransfer { transfer, now, begun }
    }

    /// A transfer that an earlier request has started.
    pub fn before(transfer: Arc<Transfer>, now: Moment) -> StartedTransfer {
        let begun = false;
        StartedTransfer { transfer, now, begun }
    }
}

/// A request, with its body as sent.
pub struct RequestWithBody<R> {
    pub request: Arc<R>,
    pub body: Vec<u8>,
}

impl<R: Decode> Decode for RequestWithBody<R> {
    fn decode(body: &[u8]) -> Result<RequestWithBody<R>, ApiError> {
        Ok(RequestWithBody {
            request: Arc::new(R::decode(body)?),
            body: body.to_vec(),
        })
    }
}

/// The ARN in a request that names a transfer; `bad` is the error for an invalid one.
pub fn arn<'r>(
    arn: Option<&'r Text>,
    kind: TransferKind,
    (path, bad): (&str, &'static str),
) -> Result<&'r str, ApiError> {
    let mut violations = Violations::new();
    crate::operation::backups::arn_length(&mut violations, arn, path);
    violations.finish()?;
    let arn = arn.map(Text::as_str).unwrap_or_default();
    if arn::sub_resource(arn, resource(kind)).is_none() {
        return Err(ApiError::validation(bad));
    }
    Ok(arn)
}

/// The transfer of an ARN.
pub fn find(context: &Context<'_>, kind: TransferKind, arn: &str) -> Result<Arc<Transfer>, ApiError> {
    let region = context.engine.catalog().region(&context.scope);
    let found = region.and_then(|region| region.transfers.get(kind, arn, context.now));
    found.ok_or_else(|| not_found(kind, arn))
}

/// A request for a list.
pub struct Listing<'r> {
    pub kind: TransferKind,
    /// The table's ARN, to list only its transfers.
    pub table_arn: Option<&'r Text>,
    /// The maximum number of entries.
    pub most: Option<i64>,
    /// The name of that member, and its default.
    pub limit: (&'static str, usize),
    /// The position after which the page starts.
    pub next_token: Option<&'r Text>,
    /// The list's name in the response.
    pub member: &'static str,
}

/// A page of a list: its transfers, whether there are more, and its moment.
pub struct TransferPage {
    found: Vec<Arc<Transfer>>,
    more: bool,
    now: Moment,
}

/// An operation that lists transfers of one kind.
pub trait TransferList {
    type Request: Decode;

    fn listing(request: &Self::Request) -> Listing<'_>;

    /// Writes the members of a transfer's summary at `now`.
    fn summarize(object: &mut Object<'_>, transfer: &Transfer, now: Moment);
}

impl<L: TransferList> Stages for L {
    type Request = L::Request;
    type Checked<'r> = Listing<'r>;
    type Plan<'r> = Listing<'r>;
    type Outcome = TransferPage;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let listing = L::listing(request);
        listing.check()?;
        Ok(listing)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(plan.access()));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        plan.find(context)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        plan.encode(&outcome, out, L::summarize);
    }
}

impl Listing<'_> {
    pub fn check(&self) -> Result<(), ApiError> {
        let mut violations = Violations::new();
        streams::length(&mut violations, self.table_arn, "tableArn", 1, 1024);
        check::echoed_range(&mut violations, self.most, self.limit.0, 1, MOST);
        check_next_token(&mut violations, self.kind, self.next_token);
        violations.finish()?;
        if let Some(arn) = self.table_arn
            && arn::table_arn(arn).is_none()
        {
            return Err(ApiError::invalid("tableArn is not a valid ARN"));
        }
        self.start().map(drop)
    }

    /// The id after which the page starts.
    fn start(&self) -> Result<Option<String>, ApiError> {
        self.next_token.map(|token| read_token(token)).transpose()
    }

    /// The access that the request requires.
    pub fn access(&self) -> ControlAccess<'_> {
        match self.table_arn {
            Some(arn) => ControlAccess::arn(arn),
            None => ControlAccess::any(),
        }
    }

    pub fn find(&self, context: &Context<'_>) -> Result<TransferPage, ApiError> {
        let start = self.start()?;
        let most = self.most.map_or(self.limit.1, |most| most as usize);
        let matches = |there: &Transfer| is_listed(context, there, self.table_arn.map(Text::as_str));
        let region = context.engine.catalog().region(&context.scope);
        let mut found = region.map_or_else(Vec::new, |region| {
            region
                .transfers
                .list(self.kind, start.as_deref(), (most + 1, context.now), matches)
        });
        let more = found.len() > most;
        found.truncate(most);
        let now = context.now;
        Ok(TransferPage { found, more, now })
    }

    pub fn encode(&self, page: &TransferPage, out: &mut Writer, summarize: fn(&mut Object<'_>, &Transfer, Moment)) {
        let mut answer = Object::open(out);
        let mut list = answer.list(self.member);
        for transfer in &page.found {
            let mut element = list.object();
            summarize(&mut element, transfer, page.now);
            element.close();
        }
        list.close();
        if let Some(last) = page.found.last().filter(|_| page.more) {
            answer.string("NextToken", &token(last));
        }
        answer.close();
    }
}

/// The model's constraint on a pagination token, which the lists of exports do not have.
fn check_next_token(violations: &mut Violations, kind: TransferKind, token: Option<&Text>) {
    let least = match kind {
        TransferKind::Export => return,
        TransferKind::Import => TOKEN_DIGITS,
        TransferKind::BulkPut => 1,
    };
    let Some(token) = token else { return };
    let digits = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !digits || token.is_empty() || token.len() % 16 != 0 {
        violations.value(token, "nextToken", constraint::pattern("([0-9a-f]{16})+"));
    }
    streams::length(violations, Some(token), "nextToken", least, 1024);
}

/// Exports of a deleted table are not listed.
fn is_listed(context: &Context<'_>, transfer: &Transfer, table_arn: Option<&str>) -> bool {
    let Some(arn) = table_arn else { return true };
    if transfer.table_arn != arn {
        return false;
    }
    let is_export = transfer.about.kind() == TransferKind::Export;
    let there = || context.engine.catalog().table(&context.scope, &transfer.table_name);
    !is_export || there().is_some_and(|table| table.id == transfer.table_id())
}

/// The pagination token of the last transfer on a page: its id in hexadecimal.
fn token(last: &Transfer) -> String {
    let id = last.arn.rsplit('/').next().unwrap_or_default();
    let mut digits = String::new();
    for byte in id.bytes() {
        // Writing to a text never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    format!("{digits:0<TOKEN_DIGITS$}")
}

fn read_token(token: &str) -> Result<String, ApiError> {
    let invalid = || ApiError::validation("Invalid NextToken");
    let is_token = token.len() == TOKEN_DIGITS && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_token {
        return Err(invalid());
    }
    let bytes = (0..token.len()).step_by(2).map_while(|at| {
        let byte = u8::from_str_radix(token.get(at..at + 2)?, 16).ok()?;
        (byte != 0).then_some(byte)
    });
    String::from_utf8(bytes.collect()).map_err(|_| invalid())
}
