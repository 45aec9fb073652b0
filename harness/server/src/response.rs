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
