//! Converts answers to hyper's responses.

use std::convert::Infallible;
use std::io::{Cursor, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use dynatwin_engine::Moment;
use dynatwin_engine::http::{Answer, AnswerHeaders, Delivery, StillDelay};
use hyper::body::{Body, Buf, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SERVER};
use hyper::{Response, StatusCode};

use crate::budget::{Budget, Lease};
use crate::connection::{LARGE_ANSWER, Sending};
use crate::stream::Pages;
use crate::ui::Page;
use crate::watch::Watch;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
static CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The bytes of an answer, and their share of the budget until they are sent.
pub(crate) struct Chunk {
    bytes: Cursor<Vec<u8>>,
    _lease: Option<Lease>,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.bytes.chunks_vectored(slices)
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

/// The body of an answer: all of its bytes, or some of them and then the end of the connection.
pub(crate) struct Payload {
    bytes: Option<Chunk>,
    announced: u64,
    cut: Option<Arc<Watch>>,
    /// The pages after the first bytes if the body is a stream, and the budget that they are charged to.
    pages: Option<(Box<dyn Pages>, Arc<Budget>)>,
}

impl Payload {
    fn whole(bytes: Vec<u8>, lease: Option<Lease>) -> Payload {
        Payload {
            announced: bytes.len() as u64,
            bytes: (!bytes.is_empty()).then_some(Chunk {
                bytes: Cursor::new(bytes),
                _lease: lease,
            }),
            cut: None,
            pages: None,
        }
    }

    /// Polls for the next page of a streamed body.
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let Some((pages, budget)) = &mut self.pages else {
            return Poll::Ready(None);
        };
        let Some(bytes) = ready!(pages.poll_page(cx)) else {
            return Poll::Ready(None);
        };
        let mut lease = (bytes.len() >= LARGE_ANSWER).then(|| budget.lease());
        if lease.as_mut().is_some_and(|lease| lease.grow_to(bytes.len()).is_err()) {
            // The client reconnects, from the last page that it has received.
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Chunk {
            bytes: Cursor::new(bytes),
            _lease: lease,
        }))
    }
}

impl Body for Payload {
    type Data = Chunk;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Chunk>, Infallible>>> {
        if self.pages.is_some() {
            return self.poll_page(cx).map(|page| page.map(|page| Ok(Frame::data(page))));
        }
        match (self.bytes.take(), &self.cut) {
            (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            (None, None) => Poll::Ready(None),
            (None, Some(watch)) => {
                // Never woken: the flush that follows ends the connection.
                watch.cut();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none() && self.cut.is_none() && self.pages.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.pages.is_some() {
            return SizeHint::default();
        }
        SizeHint::with_exact(self.announced)
    }
}

/// Returns the response for an answer that is sent completely or, with `Truncated`, in part.
pub(crate) fn response(answer: Answer, sending: Sending, watch: &Arc<Watch>) -> Response<Payload> {
    let Sending { lease, last } = sending;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut payload = Payload::whole(answer.body, lease);
    if let Delivery::Truncated(kept) = answer.delivery {
        truncate(&mut payload, kept, watch);
    }
    let mut response = Response::new(payload);
    *response.status_mut() = status;
    put_headers(response.headers_mut(), &answer.headers);
    if last {
        response.headers_mut().insert(CONNECTION, CLOSE);
    }
    response
}

/// Returns the response that starts with an answer and continues with pages.
pub(crate) fn streamed(answer: Answer, pages: impl Pages + 'static, budget: &Arc<Budget>) -> Response<Payload> {
    let mut headers = answer.headers;
    // The checksum covers the whole body, which is not known yet.
    headers.remove("x-amz-crc32");
    headers.push("cache-control", "no-cache");
    let mut response = Response::new(Payload {
        pages: Some((Box::new(pages), Arc::clone(budget))),
        ..Payload::whole(Vec::new(), None)
    });
    put_headers(response.headers_mut(), &headers);
    response
}

fn truncate(payload: &mut Payload, kept: usize, watch: &Arc<Watch>) {
    if (kept as u64) < payload.announced {
        payload.cut = Some(Arc::clone(watch));
        payload.bytes = payload.bytes.take().filter(|_| kept > 0).map(|mut chunk| {
            chunk.bytes.get_mut().truncate(kept);
            chunk
        });
    }
}

fn put_headers(headers: &mut HeaderMap, given: &AnswerHeaders) {
    for (name, value) in given.iter() {
        let name = match name {
            "content-type" => CONTENT_TYPE,
            "x-amzn-requestid" => REQUEST_ID.clone(),
            "x-amz-crc32" => CRC32.clone(),
            "server" => SERVER,
            other => match HeaderName::from_bytes(other.as_bytes()) {
                Ok(name) => name,
                Err(_) => continue,
            },
        };
        let value = match value {
            "application/x-amz-json-1.0" => HeaderValue::from_static("application/x-amz-json-1.0"),
            "Server" => HeaderValue::from_static("Server"),
            _ => match HeaderValue::try_from(value) {
                Ok(value) => value,
                Err(_) => continue,
            },
        };
        headers.append(name, value);
    }
}

/// Returns an answer of the server itself: the request does not reach the engine.
pub(crate) fn refusal(status: StatusCode, body: Vec<u8>) -> Answer {
    let mut headers = AnswerHeaders::new();
    headers.push("server", "Server");
    if body.is_empty() {
        // The checksum of an empty body.
        headers.push("x-amz-crc32", "0");
    } else {
        headers.push("content-type", "application/x-amz-json-1.0");
    }
    own_answer(status.as_u16(), headers, body)
}

/// Returns an answer that is not the engine's. It waits for no moment.
fn own_answer(status: u16, headers: AnswerHeaders, body: Vec<u8>) -> Answer {
    Answer {
        status,
        headers,
        body,
        at: Moment::from_micros(0),
        still: StillDelay::default(),
        delivery: Delivery::Whole,
        note: None,
    }
}

/// Returns the response with a file of the console.
pub(crate) fn file(page: Page) -> Response<Payload> {
    let mut response = Response::new(Payload::whole(page.body.to_vec(), None));
    *response.status_mut() = page.status;
    put_headers(response.headers_mut(), &page.headers);
    response
}

/// Returns the body of a 503 of the server itself.
pub(crate) fn unavailable(sentence: &str) -> Vec<u8> {
    format!(r#"{{"__type":"com.amazon.coral.service#ServiceUnavailable","message":"{sentence}"}}"#).into_bytes()
}

/// Returns the answer to a request that panicked.
pub(crate) fn internal_error() -> Answer {
    let body =
        br#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}"#;
    let headers = AnswerHeaders::from([("content-type", "application/x-amz-json-1.0")]);
    own_answer(500, headers, body.to_vec())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::task::Waker;

    use super::*;
    use crate::watch::Phase;

    /// Pages that are ready.
    struct Ready(Vec<Vec<u8>>);

    impl Pages for Ready {
        fn poll_page(&mut self, _: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
            Poll::Ready((!self.0.is_empty()).then(|| self.0.remove(0)))
        }
    }

    fn watch() -> Arc<Watch> {
        let watch = Watch::new(Arc::new(AtomicU32::new(0)), 1);
        watch.enter(Phase::Answering);
        Arc::new(watch)
    }

    /// The next bytes of a body, which hold their room until they are dropped.
    fn next(payload: &mut Payload) -> Poll<Option<Chunk>> {
        let frame = Pin::new(payload).poll_frame(&mut Context::from_waker(Waker::noop()));
        frame.map(|frame| frame.map(|frame| frame.unwrap().into_data().ok().unwrap()))
    }

    fn header<'r>(response: &'r Response<Payload>, name: &str) -> Option<&'r str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    /// A large page takes room while it is sent. One that has no room ends the stream.
    #[test]
    fn pages_have_a_budget() {
        let page = |bytes: usize| vec![b'x'; bytes];
        for (limit, held, bytes, is_sent) in [
            (LARGE_ANSWER, false, LARGE_ANSWER, true),
            (LARGE_ANSWER - 1, false, LARGE_ANSWER, false),
            (LARGE_ANSWER - 1, false, LARGE_ANSWER - 1, true),
            (0, false, 1, true),
            (2 * LARGE_ANSWER, true, LARGE_ANSWER, true),
            (2 * LARGE_ANSWER - 1, true, LARGE_ANSWER, false),
            (2 * LARGE_ANSWER - 1, true, LARGE_ANSWER - 1, true),
            (2 * LARGE_ANSWER, true, LARGE_ANSWER + 1, false),
        ] {
            let budget = Budget::new(limit);
            let first = held.then(|| page(LARGE_ANSWER));
            let pages = Ready(first.into_iter().chain([page(bytes)]).collect());
            let mut payload = streamed(refusal(StatusCode::OK, Vec::new()), pages, &budget).into_body();
            let context = format!("{bytes} of {limit}, {held}");
            let held = held.then(|| next(&mut payload));
            match next(&mut payload) {
                Poll::Ready(Some(chunk)) => {
                    assert!(is_sent, "{context}");
                    assert_eq!(chunk.remaining(), bytes);
                    assert!(chunk.chunk().iter().all(|byte| *byte == b'x'));
                }
                Poll::Ready(None) => assert!(!is_sent, "{context}"),
                Poll::Pending => panic!("{context}"),
            }
            drop(held);
            // All of it is given back.
            assert!(budget.lease().grow_to(limit).is_ok(), "{context}");
        }
    }

    #[test]
    fn a_stream_has_neither_length_nor_checksum() {
        let mut answer = refusal(StatusCode::OK, Vec::new());
        answer.headers.push("content-type", "text/event-stream");
        assert_eq!(answer.headers.get("x-amz-crc32"), Some("0"));
        let pages = Ready(vec![b"a".to_vec(), b"bc".to_vec()]);
        let response = streamed(answer, pages, &Budget::new(10));
        assert_eq!(response.status(), StatusCode::OK);
        for (name, value) in [
            ("x-amz-crc32", None),
            ("cache-control", Some("no-cache")),
            ("content-type", Some("text/event-stream")),
            ("server", Some("Server")),
            ("connection", None),
        ] {
            assert_eq!(header(&response, name), value, "{name}");
        }
        let mut payload = response.into_body();
        for bytes in [&b"a"[..], b"bc"] {
            assert!(!payload.is_end_stream());
            assert_eq!((payload.size_hint().lower(), payload.size_hint().exact()), (0, None));
            let Poll::Ready(Some(chunk)) = next(&mut payload) else {
                panic!("no page")
            };
            assert_eq!(chunk.chunk(), bytes);
        }
        assert!(matches!(next(&mut payload), Poll::Ready(None)));
    }

    /// A truncated body announces all of its bytes, and ends the connection after those that are kept.
    #[test]
    fn bodies_are_kept_up_to_their_cut() {
        for (body, kept, sent) in [
            ("0123456789", None, "0123456789"),
            ("", None, ""),
            ("0123456789", Some(0), ""),
            ("0123456789", Some(1), "0"),
            ("0123456789", Some(9), "012345678"),
            ("0123456789", Some(10), "0123456789"),
            ("0123456789", Some(11), "0123456789"),
            ("", Some(0), ""),
        ] {
            let watch = watch();
            let mut answer = refusal(StatusCode::OK, body.into());
            answer.delivery = kept.map_or(Delivery::Whole, Delivery::Truncated);
            let sending = Sending {
                lease: None,
                last: kept.is_some(),
            };
            let response = response(answer, sending, &watch);
            assert_eq!(header(&response, "connection"), kept.map(|_| "close"));
            let mut payload = response.into_body();
            let context = format!("{kept:?} of {body}");
            assert_eq!(payload.size_hint().exact(), Some(body.len() as u64), "{context}");
            let is_cut = sent.len() < body.len();
            assert_eq!(payload.is_end_stream(), body.is_empty() && !is_cut, "{context}");
            if !sent.is_empty() {
                let Poll::Ready(Some(chunk)) = next(&mut payload) else {
                    panic!("{context}: no bytes")
                };
                assert_eq!(chunk.chunk(), sent.as_bytes(), "{context}");
            }
            assert!(watch.flushed().is_ok(), "{context}");
            match next(&mut payload) {
                Poll::Pending => assert!(is_cut, "{context}"),
                Poll::Ready(end) => assert!(end.is_none() && !is_cut, "{context}"),
            }
            assert_eq!(watch.flushed().is_err(), is_cut, "{context}");
        }
    }

    /// The service's headers: the checksum of a body that is empty, or the type of one that is not.
    #[test]
    fn answers_of_the_server_have_the_headers_of_the_service() {
        const JSON: &str = "application/x-amz-json-1.0";
        let refused = |status: StatusCode, body: &str| refusal(status, body.into());
        for (answer, status, headers) in [
            (
                refused(StatusCode::PAYLOAD_TOO_LARGE, ""),
                413,
                [None, Some("0"), Some("Server")],
            ),
            (
                refused(StatusCode::BAD_REQUEST, ""),
                400,
                [None, Some("0"), Some("Server")],
            ),
            (
                refused(StatusCode::SERVICE_UNAVAILABLE, "{}"),
                503,
                [Some(JSON), None, Some("Server")],
            ),
            (
                refused(StatusCode::FORBIDDEN, "{}"),
                403,
                [Some(JSON), None, Some("Server")],
            ),
            (internal_error(), 500, [Some(JSON), None, None]),
        ] {
            let sending = Sending {
                lease: None,
                last: true,
            };
            let body = answer.body.clone();
            assert!(answer.delivery == Delivery::Whole && answer.note.is_none(), "{status}");
            let response = response(answer, sending, &watch());
            assert_eq!(response.status(), status);
            let found = ["content-type", "x-amz-crc32", "server"].map(|name| header(&response, name));
            assert_eq!(found, headers, "{status}");
            assert_eq!(
                response.headers().len(),
                headers.iter().flatten().count() + 1,
                "{status}"
            );
            assert_eq!(response.body().size_hint().exact(), Some(body.len() as u64));
        }
    }

    #[test]
    fn refusals_are_json_with_their_type() {
        let body = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
        assert_eq!(
            body(unavailable("Busy.")),
            serde_json::json!({"__type": "com.amazon.coral.service#ServiceUnavailable", "message": "Busy."})
        );
        assert_eq!(
            body(internal_error().body),
            serde_json::json!({
                "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "Internal server error",
            })
        );
    }

    /// A name that occurs several times keeps all of its values.
    #[test]
    fn headers_are_sent_as_given() {
        let mut headers = AnswerHeaders::new();
        for (name, value) in [
            ("content-type", "text/html"),
            ("server", "Other"),
            ("x-amzn-requestid", "ID"),
            ("x-amz-crc32", "7"),
            ("location", "ui/"),
            ("vary", "a"),
            ("vary", "b"),
        ] {
            headers.push(name, value);
        }
        let mut sent = HeaderMap::new();
        put_headers(&mut sent, &headers);
        let mut sent: Vec<_> = sent
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        sent.sort_unstable();
        assert_eq!(
            sent,
            [
                ("content-type", "text/html"),
                ("location", "ui/"),
                ("server", "Other"),
                ("vary", "a"),
                ("vary", "b"),
                ("x-amz-crc32", "7"),
                ("x-amzn-requestid", "ID"),
            ]
        );
    }

    #[test]
    fn a_file_has_its_status_and_headers() {
        for (status, body) in [(StatusCode::OK, "<p>"), (StatusCode::PERMANENT_REDIRECT, "")] {
            let headers = AnswerHeaders::from([("content-type", "text/html"), ("location", "ui/")]);
            let response = file(Page {
                status,
                headers,
                body: body.as_bytes(),
            });
            assert_eq!(response.status(), status);
            assert_eq!(header(&response, "content-type"), Some("text/html"));
            assert_eq!(header(&response, "location"), Some("ui/"));
            assert_eq!(response.body().size_hint().exact(), Some(body.len() as u64));
        }
    }
}
