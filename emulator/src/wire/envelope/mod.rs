//! The HTTP envelope of requests and responses, without a socket.
//!
//! The service checks in this order: size; method, path and content type; JSON; target; credentials. A body that
//! is not valid JSON is found when it is decoded; it is scanned here only if a later check in that order
//! wrong already.

mod compression;
mod control;
mod credentials;
mod id;
mod signature;

use std::borrow::Cow;

use compact_str::ToCompactString;

use super::decode::not_json;
use super::error::{encode_error, status};
use super::reader::check_syntax;
use crate::answer::{Answer, AnswerHeaders, CHECKSUM, Delivery, HttpRequest, StillDelay};
use crate::caller::Caller;
use crate::clock::Moment;
use crate::digest::crc32;
use crate::error::{ApiError, ErrorKind};
use crate::limits;
use compression::{InflateError, compress, inflated};

pub use control::{CONTROL_PATH, ControlBody, ControlCall, EVENT_STREAM, NOT_JSON, OCTET_STREAM};
pub use credentials::{DEFAULT_REGION, session_token};
pub use id::RequestIds;
pub use signature::{SigningKey, verify_signature};

/// The content types of requests; SDKs send the first.
const CONTENT_TYPES: [&str; 2] = ["application/x-amz-json-1.0", "application/json"];
/// The body of a 404. Its checksum was measured.
const NOT_FOUND: &[u8] = b"<UnknownOperationException/>\n";

/// How `GET /` and `HEAD /` are answered.
///
/// ```
/// use dynatwin_engine::http::HealthCheck;
///
/// assert_eq!(HealthCheck::default(), HealthCheck::Healthy);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HealthCheck {
    /// With 200, as AWS does.
    #[default]
    Healthy,
    /// With 400 for the missing credentials, as DynamoDB Local does: scripts wait for that status.
    Refused,
}

/// The two services that share an endpoint.
///
/// ```
/// use dynatwin_engine::api::{Service, service_of};
///
/// assert_eq!(service_of("GetRecords"), Service::Streams);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// DynamoDB, whose targets begin with `DynamoDB_20120810`.
    DynamoDb,
    /// DynamoDB Streams, whose targets begin with `DynamoDBStreams_20120810`.
    Streams,
}

impl Service {
    /// Service and operation of an `X-Amz-Target`.
    ///
    /// ```
    /// use dynatwin_engine::api::Service;
    ///
    /// assert_eq!(Service::of_target("DynamoDB_20120810.GetItem"), Some((Service::DynamoDb, "GetItem")));
    /// assert_eq!(Service::of_target("dynamodb_20120810.GetItem"), None);
    /// ```
    pub fn of_target(target: &str) -> Option<(Service, &str)> {
        if let Some(operation) = target.strip_prefix("DynamoDB_20120810.") {
            return Some((Service::DynamoDb, operation));
        }
        let operation = target.strip_prefix("DynamoDBStreams_20120810.")?;
        Some((Service::Streams, operation))
    }
}

/// The properties of a request that its answer depends on. The default is that of a request without HTTP.
#[derive(Clone, Copy, Debug)]
pub struct AnswerFormat<'a> {
    content_type: Option<&'static str>,
    accept_encoding: Option<&'a [u8]>,
}

impl AnswerFormat<'_> {
    /// The form of an answer of another media type, which is not to be compressed.
    pub fn uncompressed(media: &'static str) -> AnswerFormat<'static> {
        AnswerFormat {
            content_type: Some(media),
            accept_encoding: None,
        }
    }
}

impl Default for AnswerFormat<'_> {
    fn default() -> Self {
        AnswerFormat {
            content_type: Some(CONTENT_TYPES[0]),
            accept_encoding: None,
        }
    }
}

#[derive(Debug)]
pub struct Call<'a> {
    pub caller: Caller,
    pub service: Service,
    pub operation: &'a str,
    /// The body, decompressed, and not yet known to be JSON.
    pub body: Cow<'a, [u8]>,
    /// The properties of the request that its answer depends on.
    pub form: AnswerFormat<'a>,
}

/// The result of opening an envelope.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // it lives on the stack for a moment
pub enum Envelope<'a> {
    /// A call to carry out.
    Call(Call<'a>),
    /// A control of the emulator.
    Control(Box<ControlCall<'a>>),
    /// `GET /` or `HEAD /`, which [`close_health_check`] answers.
    HealthCheck(AnswerFormat<'a>),
    /// Nothing to carry out: an error, a preflight.
    Answered(Answer),
}

/// Decodes an envelope; `known` returns whether an operation exists.
pub fn open<'a>(
    request: &HttpRequest<'a>,
    ids: &RequestIds,
    now: Moment,
    known: impl Fn(Service, &str) -> bool,
) -> Envelope<'a> {
    let mut form = AnswerFormat {
        content_type: None,
        accept_encoding: request.headers.get("accept-encoding"),
    };
    if request.body.len() > limits::REQUEST_BODY && !control::is_control(request.target) {
        return Envelope::Answered(close(&form, 413, Vec::new(), ids, now));
    }
    let root = request.target == "/" || request.target.starts_with("/?");
    match request.method {
        "POST" if root => form.content_type = content_type(request),
        "GET" | "HEAD" if root => return Envelope::HealthCheck(form),
        "OPTIONS" if root && request.headers.get("origin").is_some() => {
            return Envelope::Answered(close(&form, 200, Vec::new(), ids, now));
        }
        _ => {}
    }
    if form.content_type.is_none() {
        if control::is_control(request.target) {
            return Envelope::Control(Box::new(control::call(request)));
        }
        return Envelope::Answered(close(&form, 404, NOT_FOUND.to_vec(), ids, now));
    }
    let body = match inflated(request.body, request.headers.get("content-encoding")) {
        Ok(body) => body,
        Err(InflateError::TooLarge) => return Envelope::Answered(close(&form, 413, Vec::new(), ids, now)),
        Err(InflateError::Broken) => return Envelope::Answered(close_error(&form, &ApiError::internal(), ids, now)),
    };
    match call(request, body, form, known) {
        Ok(call) => Envelope::Call(call),
        Err(error) => Envelope::Answered(close_error(&form, &error, ids, now)),
    }
}

/// The target and the credentials. Syntax errors of the body precede errors of either.
fn call<'a>(
    request: &HttpRequest<'a>,
    body: Cow<'a, [u8]>,
    form: AnswerFormat<'a>,
    known: impl Fn(Service, &str) -> bool,
) -> Result<Call<'a>, ApiError> {
    let target = request
        .headers
        .get("x-amz-target")
        .and_then(|target| std::str::from_utf8(target).ok())
        .and_then(Service::of_target)
        .filter(|(service, operation)| known(*service, operation))
        .ok_or_else(|| ApiError::without_message(ErrorKind::UnknownOperation));
    match target.and_then(|target| Ok((target, credentials::caller(request)?))) {
        Ok(((service, operation), caller)) => Ok(Call {
            caller,
            service,
            operation,
            body,
            form,
        }),
        Err(_) if !body.is_empty() && check_syntax(&body).is_err() => Err(not_json()),
        Err(error) => Err(error),
    }
}

/// The content type of the response: that of the request, if the service accepts it. An empty body needs none.
fn content_type(request: &HttpRequest<'_>) -> Option<&'static str> {
    let sent = request.headers.get("content-type").unwrap_or_default();
    let media = sent.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    CONTENT_TYPES
        .into_iter()
        .find(|candidate| media.eq_ignore_ascii_case(candidate.as_bytes()))
        .or(request.body.is_empty().then_some(CONTENT_TYPES[1]))
}

/// Answers a health check: the transport leaves the body out of the response to `HEAD`.
pub fn close_health_check(form: &AnswerFormat<'_>, check: HealthCheck, ids: &RequestIds, now: Moment) -> Answer {
    match check {
        HealthCheck::Healthy => {
            let body = format!("healthy: dynamodb.{DEFAULT_REGION}.amazonaws.com ").into_bytes();
            close(form, 200, body, ids, now)
        }
        HealthCheck::Refused => {
            let form = AnswerFormat {
                content_type: Some(CONTENT_TYPES[0]),
                ..*form
            };
            close_error(&form, &ApiError::missing_token(), ids, now)
        }
    }
}

/// Puts an answer into its envelope: compressed if the request accepts that, with checksum and request id.
pub fn close(form: &AnswerFormat<'_>, status: u16, mut body: Vec<u8>, ids: &RequestIds, now: Moment) -> Answer {
    let mut headers = AnswerHeaders::with_room();
    let encoding = compress(&mut body, form.accept_encoding);
    headers.push_valid("server", "Server");
    if let Some(content_type) = form.content_type {
        headers.push_valid("content-type", content_type);
    }
    headers.push_valid("x-amzn-requestid", ids.next().as_str());
    headers.push_valid(CHECKSUM, &crc32(&body).to_compact_string());
    if let Some(encoding) = encoding {
        headers.push_valid("content-encoding", encoding);
    }
    Answer {
        status,
        headers,
        body,
        at: now,
        still: StillDelay::default(),
        delivery: Delivery::Whole,
        note: None,
    }
}

pub fn close_error(form: &AnswerFormat<'_>, error: &ApiError, ids: &RequestIds, now: Moment) -> Answer {
    close(form, status(error.kind()), encode_error(error), ids, now)
}

#[cfg(test)]
mod tests;
