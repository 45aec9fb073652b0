//! Controls of the emulator over HTTP, on paths of their own.
//!
//! A page of another origin must not control the emulator of the user who opens it. Browsers send a page's `Origin`, and a
//! preflight before anything that a form could not send. So requests of another origin are refused, bodies that are not
//! declared as JSON are not read, and the server adds no CORS headers to these answers.

use std::borrow::Cow;

use super::compression::{InflateError, inflated};
use super::credentials;
use super::{AnswerFormat, CONTENT_TYPES};
use crate::answer::HttpRequest;
use crate::caller::Caller;
use crate::limits;
use crate::wire::control::{ControlError, ControlResult};

/// The prefix of the paths of controls.
pub const CONTROL_PATH: &str = "/_dynatwin";

/// The media type of server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The error for a body with another content type than the control accepts.
pub const NOT_JSON: &str = "Send it with the header content-type: application/json (curl --json does).";

/// The media type of binary bodies.
pub const OCTET_STREAM: &str = "application/octet-stream";

/// The body of a control's request, as its content type declares it.
#[derive(Debug, PartialEq, Eq)]
pub enum ControlBody<'a> {
    Json(Cow<'a, [u8]>),
    Bytes(Cow<'a, [u8]>),
}

/// A request for a control.
#[derive(Debug)]
pub struct ControlCall<'a> {
    pub method: &'a str,
    /// The path, without a query.
    pub path: &'a str,
    /// The query, not decoded; empty without one.
    pub query: &'a str,
    /// The caller that the credentials name, if any.
    pub named: Option<Caller>,
    /// The body, or why it is not read.
    pub body: ControlResult<ControlBody<'a>>,
    /// Whether server-sent events are accepted.
    pub accepts_events: bool,
    /// The number of the last server-sent event that was received, if any was.
    pub last_event: Option<u64>,
    /// Whether a page of another origin sent it.
    pub foreign: bool,
    /// The properties of the request that its answer depends on.
    pub form: AnswerFormat<'a>,
}

impl<'a> ControlCall<'a> {
    /// The parameters of the query, decoded as HTML forms encode them.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let decoded = |text: &str| credentials::percent_decoded(&text.replace('+', " ")).into_owned();
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decoded(name), decoded(value))
            })
            .collect()
    }

    /// The decoded segments of the path after [`CONTROL_PATH`]; a trailing slash adds none.
    pub fn parts(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let rest = self.path.strip_prefix(CONTROL_PATH).unwrap_or_default();
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let parts = (!rest.is_empty()).then(|| rest.split('/'));
        parts.into_iter().flatten().map(credentials::percent_decoded)
    }
}

/// Whether a target is a control's.
pub(super) fn is_control(target: &str) -> bool {
    let rest = target.strip_prefix(CONTROL_PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

pub(super) fn call<'a>(request: &HttpRequest<'a>) -> ControlCall<'a> {
    let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
    ControlCall {
        method: request.method,
        path,
        query,
        named: credentials::named(request),
        body: body(request),
        accepts_events: accepts_events(request),
        last_event: last_event(request),
        foreign: is_foreign(request),
        form: AnswerFormat {
            content_type: Some(CONTENT_TYPES[1]),
            accept_encoding: request.headers.get("accept-encoding"),
        },
    }
}

/// Whether the response may be `text/event-stream`, as an `EventSource` requests.
fn accepts_events(request: &HttpRequest<'_>) -> bool {
    let accept = request.headers.get("accept").unwrap_or_default();
    let mut kinds = accept.split(|byte| *byte == b',');
    kinds.any(|kind| {
        let media = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        media.trim_ascii().eq_ignore_ascii_case(EVENT_STREAM.as_bytes())
    })
}

fn last_event(request: &HttpRequest<'_>) -> Option<u64> {
    let header = request.headers.get("last-event-id")?;
    std::str::from_utf8(header).ok()?.trim().parse().ok()
}

/// The body, if it is declared as JSON or as bytes; an empty one may have no type.
fn body<'a>(request: &HttpRequest<'a>) -> ControlResult<ControlBody<'a>> {
    let sent = request.headers.get("content-type").unwrap_or_default();
    let media = sent.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let is_json = CONTENT_TYPES
        .iter()
        .any(|json| media.eq_ignore_ascii_case(json.as_bytes()));
    let is_octets = media.eq_ignore_ascii_case(OCTET_STREAM.as_bytes());
    let is_nothing = (media.is_empty() || is_octets) && request.body.is_empty();
    let is_bytes = is_octets && !is_nothing;
    if !is_json && !is_nothing && !is_bytes {
        return Err(ControlError::not_json(NOT_JSON));
    }
    let most = if is_bytes {
        limits::SNAPSHOT
    } else {
        limits::CONTROL_BODY
    };
    let body = match inflated(request.body, request.headers.get("content-encoding")) {
        Ok(body) if body.len() <= most && is_bytes => return Ok(ControlBody::Bytes(body)),
        Ok(body) if body.len() <= most => return Ok(ControlBody::Json(body)),
        Ok(_) | Err(InflateError::TooLarge) => ControlError::too_large(format!(
            "The body has more than {most} bytes, which is more than any control takes."
        )),
        Err(InflateError::Broken) => ControlError::malformed("The body does not match its content-encoding."),
    };
    Err(body)
}

/// Whether a page of another origin sent the request.
fn is_foreign(request: &HttpRequest<'_>) -> bool {
    let Some(origin) = request.headers.get("origin") else {
        return false;
    };
    let scheme = memchr::memmem::find(origin, b"://").map_or(0, |at| at + 3);
    let from = origin.get(scheme..).unwrap_or_default();
    let host = request.headers.get("host");
    !host.is_some_and(|host| host.eq_ignore_ascii_case(from))
}

#[cfg(test)]
mod tests {
    use super::super::compression::compress;
    use super::*;

    fn requested(target: &'static str, headers: &[(&str, &str)], body: &'static [u8]) -> ControlCall<'static> {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let request = HttpRequest {
            method: "POST",
            target,
            headers: Box::leak(Box::new(headers)),
            body,
        };
        call(&request)
    }

    #[test]
    fn paths() {
        for (target, expect) in [
            ("/_dynatwin", true),
            ("/_dynatwin/", true),
            ("/_dynatwin?x", true),
            ("/_dynatwin/clock", true),
            ("/_dynatwins", false),
            ("/", false),
            ("", false),
        ] {
            assert_eq!(is_control(target), expect, "{target}");
        }
        for (target, expect) in [
            ("/_dynatwin", &[][..]),
            ("/_dynatwin/?a=/b", &[]),
            ("/_dynatwin/a/b%2Fc/?d", &["a", "b/c"]),
            ("/_dynatwin//a", &["", "a"]),
        ] {
            assert_eq!(
                requested(target, &[], b"").parts().collect::<Vec<_>>(),
                expect,
                "{target}"
            );
        }
        for (target, expect) in [
            ("/_dynatwin/", &[][..]),
            ("/_dynatwin/?", &[]),
            ("/_dynatwin/?a=b+c&d", &[("a", "b c"), ("d", "")]),
            ("/_dynatwin/?key=%7B%22a%3D%26%2B%22%7D&&", &[("key", "{\"a=&+\"}")]),
        ] {
            let found = requested(target, &[], b"").parameters();
            let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(found, expect, "{target}");
        }
    }

    #[test]
    fn pages_of_other_origins() {
        for (headers, foreign) in [
            (&[("host", "localhost:8000")][..], false),
            (
                &[("origin", "http://localhost:8000"), ("host", "LOCALHOST:8000")],
                false,
            ),
            (&[("origin", "http://localhost:3000"), ("host", "localhost:8000")], true),
            (&[("origin", "https://example.com"), ("host", "localhost:8000")], true),
            (&[("origin", "null"), ("host", "localhost:8000")], true),
            (&[("origin", "http://localhost:8000")], true),
            (&[("origin", ""), ("host", "localhost:8000")], true),
        ] {
            assert_eq!(requested("/_dynatwin/", headers, b"").foreign, foreign, "{headers:?}");
        }
    }

    #[test]
    fn event_streams_resume_after_an_event() {
        for (sent, expect) in [
            (None, None),
            (Some("7"), Some(7)),
            (Some(" 7 "), Some(7)),
            (Some("-7"), None),
            (Some("x"), None),
            (Some(""), None),
        ] {
            let headers: Vec<_> = sent
                .map(|id| ("last-event-id".to_owned(), id.to_owned()))
                .into_iter()
                .collect();
            let request = HttpRequest {
                method: "GET",
                target: "/_dynatwin/events",
                headers: &headers,
                body: b"",
            };
            assert_eq!(last_event(&request), expect, "{sent:?}");
        }
    }

    #[test]
    fn bodies_have_the_content_type_of_json() {
        for (media, body, status) in [
            (None, &b""[..], 0),
            (None, b"{}", 415),
            (Some("text/plain"), b"", 415),
            (Some("application/x-www-form-urlencoded"), b"{}", 415),
            (Some("multipart/form-data; boundary=application/json"), b"{}", 415),
            (Some("application/json; charset=utf-8"), b"{}", 0),
            (Some("Application/JSON"), b"{}", 0),
        ] {
            let headers: Vec<_> = media.map(|media| ("content-type", media)).into_iter().collect();
            let call = requested("/_dynatwin/", &headers, body);
            let found = call.body.as_ref().err().map_or(0, ControlError::status);
            assert_eq!(found, status, "{media:?}");
        }
        let json = ("content-type", "application/json");
        for (length, status) in [(limits::CONTROL_BODY, 0), (limits::CONTROL_BODY + 1, 413)] {
            let body = Box::leak(vec![b' '; length].into_boxed_slice());
            let call = requested("/_dynatwin/", &[json], body);
            let found = call.body.as_ref().err().map_or(0, ControlError::status);
            assert_eq!(found, status, "{length}");
        }
        // The limit is that of the body itself, however small it is on the way.
        for (length, status) in [(4096, 0), (limits::CONTROL_BODY, 0), (limits::CONTROL_BODY + 1, 413)] {
            let mut body = vec![b' '; length];
            compress(&mut body, Some(b"gzip"));
            let headers = [json, ("content-encoding", "gzip")];
            let call = requested("/_dynatwin/", &headers, Box::leak(body.into_boxed_slice()));
            let found = call.body.as_ref().err().map_or(0, ControlError::status);
            assert_eq!(found, status, "{length}");
            if let Ok(ControlBody::Json(sent)) = &call.body {
                assert_eq!(sent.len(), length);
            }
        }
        let broken = requested("/_dynatwin/", &[json, ("content-encoding", "gzip")], b"{}");
        assert_eq!(broken.body.unwrap_err().status(), 400);
    }
}
