//! One connection: reads requests and writes answers.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use dynatwin_engine::http::{Answer, AnswerHeaders, Delivery, Headers, HttpRequest};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use crate::backend::Backend;
use crate::budget::Lease;
use crate::database::Durability;
use crate::delivery::wait_for_delivery;
use crate::direct;
use crate::engine::system_time;
use crate::intake::{Received, Unreceived, discard, drain, receive};
use crate::log::Log;
use crate::response::{Payload, file, internal_error, refusal, response, streamed, unavailable};
use crate::server::Shared;
use crate::stream::{EventStream, is_event_page};
use crate::ui;
use crate::watch::{Phase, Watch, Watched};
use crate::web::{HeadSummary, is_control};

/// The path of the controls that return and restore a snapshot.
const SNAPSHOT_PATH: &str = "/_dynatwin/snapshot";

/// The maximum number of bytes of a connection that are read but not yet parsed.
const READ_BUFFER: usize = 128 * 1024;
/// Answers from this size on are charged to the budget while they are sent.
pub(crate) const LARGE_ANSWER: usize = 64 * 1024;

/// Why a request gets no response.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    Reset,
    /// Its answer is lost, and its connection is left open.
    Lost,
    /// The request was not received in full.
    Unreceived,
    /// The connection was closed.
    Closed,
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl std::error::Error for Ended {}

/// The state that the requests of a connection share; one per connection, to avoid contention on its reference count.
pub(crate) struct ConnectionState<D> {
    pub(crate) shared: Arc<Shared<D>>,
    pub(crate) watch: Arc<Watch>,
}

/// An answer, and what to await before it is delivered.
pub(crate) type Handled = (Answer, Option<Durability>);

/// How an answer is sent.
pub(crate) struct Sending {
    /// The share of a large answer in the budget.
    pub(crate) lease: Option<Lease>,
    /// Whether the connection ends after the answer.
    pub(crate) last: bool,
}

/// Serves a connection to its end.
pub(crate) async fn serve<D: Backend>(shared: Arc<Shared<D>>, mut socket: Watched) {
    let watch = Arc::clone(&socket.watch);
    let state = Arc::new(ConnectionState { shared, watch });
    let (socket, ended) = match direct::serve(&state, &mut socket).await {
        Err(ended) => (socket, ended),
        Ok(received) => {
            socket.received = Bytes::from(received);
            // Most connections never get here.
            match Box::pin(serve_with_hyper(state, socket)).await {
                Some(failed) => failed,
                None => return,
            }
        }
    };
    match ended {
        Ended::Reset => socket.watch.reset(),
        Ended::Lost => drain(&socket.stream).await,
        Ended::Unreceived | Ended::Closed => {}
    }
}

/// Serves a connection to its end. If it ends without being shut down, returns the socket and the reason.
async fn serve_with_hyper<D: Backend>(state: Arc<ConnectionState<D>>, socket: Watched) -> Option<(Watched, Ended)> {
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { state.request(request).await }
    });
    let mut connection = http1::Builder::new()
        // A client may close its side after its last request and still gets the answer.
        .half_close(true)
        .max_buf_size(READ_BUFFER)
        .serve_connection(TokioIo::new(socket), service);
    let error = (&mut connection).await.err()?;
    let source = std::error::Error::source(&error);
    let ended = source.and_then(|source| source.downcast_ref().copied());
    let socket = connection.into_parts().io.into_inner();
    Some((socket, ended.unwrap_or(Ended::Closed)))
}

/// Returns the path and query of a request.
pub(crate) fn target(request: &Request<Incoming>) -> &str {
    request.uri().path_and_query().map_or("/", |target| target.as_str())
}

/// Handles a request. A panic becomes a 500 for that request.
pub(crate) fn handle<D: Backend>(backend: &D, requested: &HttpRequest<'_>) -> Handled {
    let handled = catch_unwind(AssertUnwindSafe(|| backend.handle_durably(requested)));
    handled.unwrap_or_else(|_| (internal_error(), None))
}

impl<D: Backend> ConnectionState<D> {
    async fn request(&self, mut request: Request<Incoming>) -> Result<Response<Payload>, Ended> {
        let limits = &self.shared.limits;
        let summary = HeadSummary::of(&request);
        if summary.size > limits.head || summary.hosts > 1 {
            return Ok(self.refuse(StatusCode::BAD_REQUEST, Vec::new(), request));
        }
        if summary.from_page && !self.shared.web.is_own_name(request.headers()) {
            return Ok(self.refuse(StatusCode::FORBIDDEN, foreign_host(&request), request));
        }
        if let Some(page) = ui::page(request.method(), request.uri().path()) {
            return Ok(self.show(page, request));
        }
        self.watch.enter(Phase::Body);
        let most = if request.uri().path() == SNAPSHOT_PATH {
            limits.snapshot
        } else {
            limits.body
        };
        let received = receive(request.body_mut(), most, &self.shared.bodies).await;
        self.watch.enter(Phase::Busy);
        let body = match received {
            Ok(body) => body,
            Err(Unreceived::TooLarge) => return Ok(self.refuse(StatusCode::PAYLOAD_TOO_LARGE, Vec::new(), request)),
            Err(Unreceived::Crowded) => return Ok(self.refuse(StatusCode::SERVICE_UNAVAILABLE, crowded(), request)),
            Err(Unreceived::Malformed) => return Ok(self.refuse(StatusCode::BAD_REQUEST, Vec::new(), request)),
            Err(Unreceived::Broken) => return Err(Ended::Unreceived),
        };
        let started = (self.shared.log == Log::Requests).then(Instant::now);
        let (mut answer, durability) = match self.answer_at_once(&request, body.bytes()) {
            Some(handled) => {
                drop(body);
                handled
            }
            None => self.answer_aside(&request, body).await,
        };
        self.settle(&mut answer, durability).await;
        self.report(|| name(&request), &answer, started);
        if is_event_page(&answer)
            && let Some(stream) = self.open_stream(&request, &answer.body)
        {
            return Ok(streamed(answer, stream, &self.shared.bodies));
        }
        let sending = self.begin_sending(&mut answer)?;
        if summary.from_page {
            self.allow_origin(&request, &mut answer.headers);
        }
        Ok(response(answer, sending, &self.watch))
    }

    fn open_stream(&self, request: &Request<Incoming>, page: &[u8]) -> Option<EventStream<D>> {
        EventStream::open(&self.shared, &self.watch, target(request), request.headers(), page)
    }

    /// Waits until an answer may be delivered. It is passed by reference, as to the other functions of this path, because
    /// moving it takes more instructions than they do.
    pub(crate) async fn settle(&self, answer: &mut Answer, durability: Option<Durability>) {
        if let Some(durability) = durability
            && !durability.settled().await
        {
            *answer = internal_error();
        }
        wait_for_delivery(self.shared.backend.clock(), answer.at, answer.still).await;
    }

    /// Handles the request on this thread, unless it may take long.
    fn answer_at_once(&self, request: &Request<Incoming>, body: &[u8]) -> Option<Handled> {
        let backend = &*self.shared.backend;
        let requested = HttpRequest {
            method: request.method().as_str(),
            target: target(request),
            headers: &Head::new(request.headers()),
            body,
        };
        (!backend.may_take_long(&requested)).then(|| handle(backend, &requested))
    }

    /// Handles the request on another thread, so that this thread's other connections proceed.
    async fn answer_aside(&self, request: &Request<Incoming>, body: Received) -> Handled {
        let (backend, target) = (Arc::clone(&self.shared.backend), target(request).to_owned());
        let (method, headers) = (request.method().clone(), request.headers().clone());
        let carried_out = tokio::task::spawn_blocking(move || {
            let requested = HttpRequest {
                method: method.as_str(),
                target: &target,
                headers: &Head::new(&headers),
                body: body.bytes(),
            };
            handle(&*backend, &requested)
        });
        let not_carried_out = |_| (internal_error(), None);
        carried_out.await.unwrap_or_else(not_carried_out)
    }

    /// Begins to send an answer, if it is to be sent. One that exceeds the budget is replaced by a refusal.
    pub(crate) fn begin_sending(&self, answer: &mut Answer) -> Result<Sending, Ended> {
        let mut last = match answer.delivery {
            Delivery::Reset => return Err(Ended::Reset),
            Delivery::Lost => {
                self.watch.enter(Phase::Lost);
                return Err(Ended::Lost);
            }
            Delivery::Whole => self.shared.is_stopping(),
            Delivery::Truncated(_) => true,
        };
        self.watch.enter(Phase::Answering);
        let mut lease = (answer.body.len() >= LARGE_ANSWER).then(|| self.shared.bodies.lease());
        if let Some(large) = &mut lease
            && large.grow_to(answer.body.len()).is_err()
        {
            *answer = refusal(StatusCode::SERVICE_UNAVAILABLE, crowded());
            (lease, last) = (None, true);
        }
        Ok(Sending { lease, last })
    }

    fn allow_origin(&self, request: &Request<Incoming>, headers: &mut AnswerHeaders) {
        let (method, path) = (request.method(), request.uri().path());
        self.shared.web.allow_origin(method, path, request.headers(), headers);
    }

    /// Answers with a file of the console.
    fn show(&self, page: ui::Page, request: Request<Incoming>) -> Response<Payload> {
        self.watch.enter(Phase::Answering);
        let (head, body) = request.into_parts();
        discard(body, &head.headers);
        file(page)
    }

    /// Refuses a request whose body may still arrive.
    fn refuse(&self, status: StatusCode, body: Vec<u8>, request: Request<Incoming>) -> Response<Payload> {
        self.watch.enter(Phase::Answering);
        let mut answer = refusal(status, body);
        self.allow_origin(&request, &mut answer.headers);
        let (head, body) = request.into_parts();
        discard(body, &head.headers);
        let (lease, last) = (None, true);
        response(answer, Sending { lease, last }, &self.watch)
    }

    pub(crate) fn report(&self, name: impl FnOnce() -> String, answer: &Answer, started: Option<Instant>) {
        let log = self.shared.log;
        if let Some(note) = &answer.note {
            log.line(Log::Errors, format_args!("{} {note}", system_time()));
        }
        let level = if answer.status >= 500 {
            Log::Errors
        } else {
            Log::Requests
        };
        if log >= level {
            let took = started.map_or(String::new(), |started| {
                format!(" {:.3} ms", started.elapsed().as_secs_f64() * 1000.0)
            });
            let (now, name, status) = (system_time(), name(), answer.status);
            log.line(level, format_args!("{now} {name} {status}{took}"));
        }
    }
}

fn name(request: &Request<Incoming>) -> String {
    let target = request.headers().get("x-amz-target").map(HeaderValue::as_bytes);
    request_name(target, request.method().as_str(), request.uri().path())
}

/// Returns a request's name for the log: its operation, or its method and path.
pub(crate) fn request_name(target: Option<&[u8]>, method: &str, path: &str) -> String {
    let name = match target.and_then(|target| std::str::from_utf8(target).ok()) {
        Some(target) => Cow::Borrowed(target.rsplit('.').next().unwrap_or(target)),
        None => Cow::Owned(format!("{method} {path}")),
    };
    name.chars().take(64).collect()
}

fn crowded() -> Vec<u8> {
    unavailable("The requests and answers in progress use all of their memory limit.")
}

/// Returns the body of the refusal of a web page that uses a host name other than the server's.
fn foreign_host(request: &Request<Incoming>) -> Vec<u8> {
    let sentence = "Requests of web pages need a Host that is a loopback name, an address the server listens on, or an --allowed-host.";
    let body = if is_control(request.uri().path()) {
        format!(r#"{{"error":"{sentence}"}}"#)
    } else {
        format!(r#"{{"__type":"com.amazon.coral.service#AccessDeniedException","message":"{sentence}"}}"#)
    };
    body.into_bytes()
}

/// hyper's headers as the engine's [`Headers`](dynatwin_engine::http::Headers).
pub(crate) struct Head<'a> {
    all: &'a HeaderMap,
    /// The values of the headers that most requests read: one pass over a head costs less than several lookups by hash.
    known: [Option<&'a [u8]>; KNOWN_HEADERS],
}

/// The number of known headers.
pub(crate) const KNOWN_HEADERS: usize = 7;

/// Returns the position of a header among the known ones.
#[inline]
pub(crate) fn known_header(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"x-amz-target" => 0,
        b"authorization" => 1,
        b"x-amz-date" => 2,
        b"content-type" => 3,
        b"accept-encoding" => 4,
        b"content-encoding" => 5,
        b"origin" => 6,
        _ => return None,
    })
}

impl<'a> Head<'a> {
    pub(crate) fn new(all: &'a HeaderMap) -> Head<'a> {
        let mut known = [None; KNOWN_HEADERS];
        for (name, value) in all {
            if let Some(at) = known_header(name.as_str().as_bytes()) {
                // The first of several values.
                known[at].get_or_insert(value.as_bytes());
            }
        }
        Head { all, known }
    }
}

impl Headers for Head<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        match known_header(name.as_bytes()) {
            Some(at) => self.known[at],
            None => self.all.get(name).map(HeaderValue::as_bytes),
        }
    }

    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let mut values = self.all.get_all(name).iter();
        let first = values.next()?.as_bytes();
        let mut rest = values.peekable();
        if rest.peek().is_none() {
            return Some(Cow::Borrowed(first));
        }
        let values = std::iter::once(first).chain(rest.map(HeaderValue::as_bytes));
        Some(Cow::Owned(values.collect::<Vec<_>>().join(&b',')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_short_names() {
        let long = "x".repeat(100);
        for (target, path, expect) in [
            (Some("DynamoDB_20120810.GetItem"), "/", "GetItem"),
            (Some("DynamoDBStreams_20120810.GetRecords"), "/", "GetRecords"),
            (Some("GetItem"), "/", "GetItem"),
            (None, "/_dynatwin/clock", "PUT /_dynatwin/clock"),
            (Some(&*long), "/", &long[..64]),
            (None, &*long, &*format!("PUT {}", &long[..60])),
            // Characters count, not bytes.
            (Some(&*"é😀".repeat(50)), "/", &*"é😀".repeat(32)),
        ] {
            assert_eq!(request_name(target.map(str::as_bytes), "PUT", path), expect);
        }
        assert_eq!(request_name(Some(b"\xff"), "GET", "/"), "GET /");
    }

    #[test]
    fn each_known_header_has_its_position() {
        let names = [
            "x-amz-target",
            "authorization",
            "x-amz-date",
            "content-type",
            "accept-encoding",
            "content-encoding",
            "origin",
        ];
        let positions = names.map(|name| known_header(name.as_bytes()));
        assert_eq!(positions, std::array::from_fn(Some));
        assert_eq!(names.len(), KNOWN_HEADERS);
        assert_eq!(known_header(b"host"), None);
    }

    #[test]
    fn headers_are_read_alone_or_joined() {
        let mut all = HeaderMap::new();
        for (name, value) in [
            ("origin", "http://a"),
            ("x-two", "a"),
            ("x-amz-target", "t"),
            ("x-two", "b"),
            ("origin", "http://b"),
            ("x-one", "1"),
            ("x-two", ""),
            ("x-empty", ""),
        ] {
            all.append(name, HeaderValue::from_static(value));
        }
        let head = Head::new(&all);
        for (name, first, joined) in [
            ("x-two", Some("a"), Some("a,b,")),
            ("origin", Some("http://a"), Some("http://a,http://b")),
            ("x-amz-target", Some("t"), Some("t")),
            ("x-one", Some("1"), Some("1")),
            ("x-empty", Some(""), Some("")),
            ("x-three", None, None),
            ("authorization", None, None),
        ] {
            assert_eq!(head.get(name), first.map(str::as_bytes), "{name}");
            assert_eq!(head.joined(name).as_deref(), joined.map(str::as_bytes), "{name}");
        }
    }
}
