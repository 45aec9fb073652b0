//! Requests in the form that SDKs send, without hyper, which takes more instructions for one than most operations of the
//! engine: a POST of a plain path, with a `content-length`, that arrives in few pieces. hyper takes over the connection
//! at the first request in another form, together with the bytes that were read.

use std::borrow::Cow;
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dynatwin_engine::http::{Answer, Delivery, Headers, HttpRequest};
use httparse::{Header, Status};
use hyper::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backend::Backend;
use crate::connection::{ConnectionState, Ended, Handled, KNOWN_HEADERS, Sending, handle, known_header, request_name};
use crate::log::Log;
use crate::response::internal_error;
use crate::watch::{Phase, Watched};

/// The room for a request at first: most are smaller.
const FIRST_ROOM: usize = 4 * 1024;
/// The largest request that is received here. hyper receives larger ones within the budget of bodies.
const MOST_BYTES: usize = 32 * 1024;
/// The largest number of headers.
const MOST_HEADERS: usize = 32;
/// Bodies from this size on are sent before other requests are handled.
const LARGE_BODY: usize = 4 * 1024;
/// The length of the header `date`.
const DATE_LENGTH: usize = 29;
/// The longest name of a header. SDKs send no longer ones.
const LONGEST_NAME: usize = 32;

/// The head of a request in the common form.
struct Head<'a, 'h> {
    target: &'a str,
    headers: &'h [Header<'a>],
    known: [Option<&'a [u8]>; KNOWN_HEADERS],
    /// The size of the head, and of the whole request.
    size: usize,
    length: usize,
}

impl Headers for Head<'_, '_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        match known_header(name.as_bytes()) {
            Some(at) => self.known[at],
            None => self.values(name).next(),
        }
    }

    fn joined(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let values: Vec<_> = self.values(name).collect();
        (!values.is_empty()).then(|| values.join(&b',').into())
    }
}

impl<'a> Head<'a, '_> {
    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let same = move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|header| header.value)
    }
}

/// The effect of a header on the form of a request.
enum Meaning {
    /// One of the headers that most requests read.
    Known(usize),
    Host,
    Length,
    Connection,
    /// One that hyper or the rules for web pages regard.
    Uncommon,
    None,
}

fn meaning(name: &str) -> Meaning {
    let mut lower = [0; LONGEST_NAME];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return Meaning::Uncommon;
    };
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"host" => Meaning::Host,
        b"content-length" => Meaning::Length,
        b"connection" => Meaning::Connection,
        b"transfer-encoding" | b"expect" | b"upgrade" | b"origin" => Meaning::Uncommon,
        lower if lower.starts_with(b"sec-fetch-") => Meaning::Uncommon,
        lower => known_header(lower).map_or(Meaning::None, Meaning::Known),
    }
}

/// Parses the head of a request, if it is complete and in the common form.
fn parse<'a, 'h>(received: &'a [u8], headers: &'h mut [MaybeUninit<Header<'a>>]) -> Option<Head<'a, 'h>> {
    let mut request = httparse::Request::new(&mut []);
    let Ok(Status::Complete(size)) = request.parse_with_uninit_headers(received, headers) else {
        return None;
    };
    if request.method != Some("POST") || request.version != Some(1) {
        return None;
    }
    let target = request.path.filter(|path| is_plain(path))?;
    let (mut known, mut body, mut has_host) = ([None; KNOWN_HEADERS], None, false);
    for header in &*request.headers {
        match meaning(header.name) {
            // The first of several values.
            Meaning::Known(at) => _ = known[at].get_or_insert(header.value),
            Meaning::Host if !has_host => has_host = true,
            Meaning::Length if body.is_none() => body = Some(number(header.value)?),
            Meaning::Connection if header.value.eq_ignore_ascii_case(b"keep-alive") => {}
            Meaning::None => {}
            Meaning::Host | Meaning::Length | Meaning::Connection | Meaning::Uncommon => return None,
        }
    }
    Some(Head {
        target,
        headers: request.headers,
        known,
        size,
        length: size + body?,
    })
}

/// Returns whether a target is a path without escapes and query. No control's path is.
fn is_plain(target: &str) -> bool {
    let mut bytes = target.bytes();
    bytes.next() == Some(b'/') && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-'))
}

/// Returns the value of digits that are at most `MOST_BYTES`.
fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0, |number, byte| {
        let digit = char::from(*byte).to_digit(10)? as usize;
        Some(number * 10 + digit).filter(|number| *number <= MOST_BYTES)
    })
}

/// Why a request was not handled.
enum Unhandled {
    /// It may take long.
    Long,
    /// It is not complete. It has this many bytes.
    Incomplete(usize),
    /// It is not in the common form.
    Uncommon,
}

/// Handles a request if it is complete and satisfies `may`.
fn attempt<D: Backend>(
    state: &ConnectionState<D>,
    received: &[u8],
    may: impl FnOnce(&D, &HttpRequest<'_>) -> bool,
) -> Result<Handled, Unhandled> {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let Some(head) = parse(received, &mut headers) else {
        return Err(Unhandled::Uncommon);
    };
    let (limits, body) = (&state.shared.limits, head.length - head.size);
    if head.size > limits.head || body > limits.body || head.length > MOST_BYTES || head.length < received.len() {
        return Err(Unhandled::Uncommon);
    }
    if head.length > received.len() {
        return Err(Unhandled::Incomplete(head.length));
    }
    let backend = &*state.shared.backend;
    let request = HttpRequest {
        method: "POST",
        target: head.target,
        headers: &head,
        body: &received[head.size..],
    };
    state.watch.enter(Phase::Busy);
    if !may(backend, &request) {
        return Err(Unhandled::Long);
    }
    Ok(handle(backend, &request))
}

/// Serves a connection until a request is not in the common form, and returns the bytes of that request that were
/// received.
pub(crate) async fn serve<D: Backend>(state: &Arc<ConnectionState<D>>, socket: &mut Watched) -> Result<Vec<u8>, Ended> {
    let (mut received, mut head) = (Vec::new(), Vec::new());
    loop {
        received.clear();
        received.shrink_to(FIRST_ROOM);
        received.reserve(FIRST_ROOM);
        if socket.read_buf(&mut received).await.map_err(|_| Ended::Closed)? == 0 {
            return Err(Ended::Closed);
        }
        // A server that stops waits for busy connections.
        state.watch.enter(Phase::Busy);
        await_others().await;
        let started = (state.shared.log == Log::Requests).then(Instant::now);
        let (mut answer, durability) = loop {
            match attempt(state, &received, |backend, request| !backend.may_take_long(request)) {
                Ok(handled) => break handled,
                Err(Unhandled::Long) => break answer_aside(state, &mut received).await,
                Err(Unhandled::Incomplete(length)) => complete(state, socket, &mut received, length).await?,
                Err(Unhandled::Uncommon) => {
                    state.watch.enter(Phase::Head);
                    return Ok(received);
                }
            }
        };
        // A large answer would be out of the processor's cache by then.
        if answer.body.len() < LARGE_BODY {
            await_others().await;
        }
        state.settle(&mut answer, durability).await;
        state.report(|| name(&received), &answer, started);
        send(state, socket, &mut head, &mut answer).await?;
    }
}

/// Lets the other connections of this thread that are ready reach the same stage.
///
/// Several requests are received, then handled, then answered. A request executes more code than the processor's instruction
/// cache holds; a stage that runs for several requests in a row finds its code there. Clients are woken less often, too.
async fn await_others() {
    let mut is_queued = false;
    poll_fn(|cx| {
        if mem::replace(&mut is_queued, true) {
            return Poll::Ready(());
        }
        // Puts the task at the end of the thread's queue.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Receives the rest of a request that has `length` bytes.
async fn complete<D: Backend>(
    state: &ConnectionState<D>,
    socket: &mut Watched,
    received: &mut Vec<u8>,
    length: usize,
) -> Result<(), Ended> {
    state.watch.enter(Phase::Body);
    received.reserve(length - received.len());
    while received.len() < length {
        if socket.read_buf(received).await.map_err(|_| Ended::Unreceived)? == 0 {
            return Err(Ended::Unreceived);
        }
    }
    Ok(())
}

/// Handles the request on another thread, so that this thread's other connections proceed.
async fn answer_aside<D: Backend>(state: &Arc<ConnectionState<D>>, received: &mut Vec<u8>) -> Handled {
    let (shared, taken) = (Arc::clone(state), mem::take(received));
    let carried_out = tokio::task::spawn_blocking(move || {
        let attempted = attempt(&shared, &taken, |_, _| true);
        (attempted, taken)
    });
    if let Ok((Ok(handled), taken)) = carried_out.await {
        *received = taken;
        return handled;
    }
    (internal_error(), None)
}

/// Sends an answer in the way that it defines.
async fn send<D: Backend>(
    state: &ConnectionState<D>,
    socket: &mut Watched,
    head: &mut Vec<u8>,
    answer: &mut Answer,
) -> Result<(), Ended> {
    let Sending { lease, last } = state.begin_sending(answer)?;
    let kept = match answer.delivery {
        Delivery::Truncated(kept) => kept.min(answer.body.len()),
        _ => answer.body.len(),
    };
    head.clear();
    write_head(head, answer, last);
    let sent = write_both(socket, head, &answer.body[..kept]).await;
    drop(lease);
    match sent {
        Ok(()) if !last => Ok(()),
        _ => Err(Ended::Closed),
    }
}

async fn write_both(socket: &mut Watched, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < head.len() + body.len() {
        let parts = match sent.checked_sub(head.len()) {
            Some(sent) => [IoSlice::new(&[]), IoSlice::new(&body[sent..])],
            None => [IoSlice::new(&head[sent..]), IoSlice::new(body)],
        };
        match socket.write_vectored(&parts).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => sent += count,
        }
    }
    socket.flush().await
}

/// Appends the head of a response as hyper writes it.
fn write_head(head: &mut Vec<u8>, answer: &Answer, last: bool) {
    let mut add = |part: &str| head.extend_from_slice(part.as_bytes());
    match answer.status {
        200 => add("HTTP/1.1 200 OK\r\n"),
        code => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let reason = status.canonical_reason().unwrap_or("<none>");
            ["HTTP/1.1 ", status.as_str(), " ", reason, "\r\n"]
                .into_iter()
                .for_each(&mut add);
        }
    }
    add(answer.headers.lines());
    if last {
        add("connection: close\r\n");
    }
    add("content-length: ");
    add(&answer.body.len().to_string());
    add("\r\ndate: ");
    head.extend_from_slice(&date());
    head.extend_from_slice(b"\r\n\r\n");
}

/// Returns the present time as in the header `date`, formatted once a second.
fn date() -> [u8; DATE_LENGTH] {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    date_of(since.unwrap_or_default().as_secs())
}

/// The date of a second since 1970. Each thread keeps the last one that it has formatted.
fn date_of(seconds: u64) -> [u8; DATE_LENGTH] {
    thread_local! {
        static FORMATTED: Cell<(u64, [u8; DATE_LENGTH])> = const { Cell::new((u64::MAX, [b' '; DATE_LENGTH])) };
    }
    let (of, date) = FORMATTED.get();
    if of == seconds {
        return date;
    }
    let mut date = [b' '; DATE_LENGTH];
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
    text.bytes().zip(&mut date).for_each(|(byte, place)| *place = byte);
    FORMATTED.set((seconds, date));
    date
}

/// Returns the request's name for the log.
fn name(received: &[u8]) -> String {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    parse(received, &mut headers).map_or_else(String::new, |head| {
        request_name(head.get("x-amz-target"), "POST", head.target)
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn connections_that_are_ready_pass_the_stages_together() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        let passed = Rc::new(RefCell::new(Vec::new()));
        for connection in ["a", "b", "c"] {
            let passed = Rc::clone(&passed);
            tasks.spawn_local(async move {
                for stage in 1..=3 {
                    passed.borrow_mut().push(format!("{connection}{stage}"));
                    await_others().await;
                }
            });
        }
        runtime.block_on(tasks);
        assert_eq!(passed.borrow().join(" "), "a1 b1 c1 a2 b2 c2 a3 b3 c3");
    }

    #[test]
    fn common_requests() {
        let long = format!("x-{}: 1", "l".repeat(31));
        let many = vec!["x-many: 1"; MOST_HEADERS].join("\r\n");
        for (line, headers, body) in [
            ("POST / HTTP/1.1", "Content-Length: 7", Some(7)),
            (
                "POST / HTTP/1.1",
                "content-length: 0\r\nConnection: Keep-Alive\r\nx-other: 1",
                Some(0),
            ),
            ("POST /a/b-1 HTTP/1.1", "content-length:32768 ", Some(MOST_BYTES)),
            ("POST / HTTP/1.1", "content-length: 32769", None),
            ("POST / HTTP/1.1", "content-length: 18446744073709551617", None),
            ("POST / HTTP/1.1", "content-length: +7", None),
            ("POST / HTTP/1.1", "content-length: ", None),
            ("POST / HTTP/1.1", "content-length: 7, 7", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nContent-Length: 7", None),
            (
                "POST / HTTP/1.1",
                "content-length: 7\r\nTransfer-Encoding: chunked",
                None,
            ),
            ("POST / HTTP/1.1", "content-length: 7\r\nConnection: close", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nConnection: Close", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nExpect: 100-continue", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nUpgrade: h2c", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nOrigin: http://a.example", None),
            ("POST / HTTP/1.1", "content-length: 7\r\nSec-Fetch-Site: none", None),
            ("POST / HTTP/1.1", &format!("content-length: 7\r\n{long}"), None),
            ("POST / HTTP/1.1", &format!("content-length: 7\r\n{many}"), None),
            ("POST / HTTP/1.1", "host: x", None),
            ("POST / HTTP/1.0", "content-length: 7", None),
            ("GET / HTTP/1.1", "content-length: 7", None),
            ("POST /?a HTTP/1.1", "content-length: 7", None),
            ("POST /_dynatwin/reset HTTP/1.1", "content-length: 7", None),
            ("POST http://host/ HTTP/1.1", "content-length: 7", None),
            ("POST * HTTP/1.1", "content-length: 7", None),
            ("POST / HTTP/1.1", "content-length : 7", None),
            ("POST / HTTP/1.1\r\n content-length: 7", "x: 1", None),
        ] {
            let request = format!("{line}\r\n{headers}\r\n\r\n");
            let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
            let parsed = parse(request.as_bytes(), &mut slots);
            assert_eq!(
                parsed.map(|head| (head.size, head.length - head.size)),
                body.map(|body| (request.len(), body)),
                "{line} {headers}"
            );
            for cut in 0..request.len() {
                let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
                assert!(
                    parse(&request.as_bytes()[..cut], &mut slots).is_none(),
                    "{line} {headers}"
                );
            }
        }
    }

    #[test]
    fn each_second_has_its_date() {
        for (seconds, expect) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_767_225_659, "Thu, 01 Jan 2026 00:00:59 GMT"),
            (1_767_225_659, "Thu, 01 Jan 2026 00:00:59 GMT"),
            (1_767_225_660, "Thu, 01 Jan 2026 00:01:00 GMT"),
            (1_767_225_661, "Thu, 01 Jan 2026 00:01:01 GMT"),
            (1_767_225_660, "Thu, 01 Jan 2026 00:01:00 GMT"),
        ] {
            assert_eq!(std::str::from_utf8(&date_of(seconds)), Ok(expect), "{seconds}");
        }
    }

    #[test]
    fn values_of_one_header_are_joined() {
        let request = b"POST / HTTP/1.1\r\ncontent-length: 0\r\nX-Two: a\r\nx-one: b\r\nx-two: c\r\n\r\n";
        let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let head = parse(request, &mut slots).unwrap();
        assert_eq!(head.joined("x-two").as_deref(), Some(&b"a,c"[..]));
        assert_eq!(head.joined("x-one").as_deref(), Some(&b"b"[..]));
        assert_eq!((head.joined("x-three"), head.get("x-two")), (None, Some(&b"a"[..])));
    }
}
