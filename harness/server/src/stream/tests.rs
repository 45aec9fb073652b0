//! Streams of a backend whose events are set by the test.

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::task::{Wake, Waker};

use dynatwin_engine::http::{AnswerHeaders, Delivery, StillDelay};
use dynatwin_engine::{Clock, Moment};

use super::*;
use crate::server::{Limits, Options};

/// A backend whose events are numbers. It shows the client those that `shows` divides.
struct Numbers {
    clock: Clock,
    last: AtomicU64,
    shows: u64,
    /// The number from which on an event page is refused.
    refused: u64,
    /// The subscriptions that have begun and ended.
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Numbers {
    fn showing(shows: u64) -> Numbers {
        Numbers {
            clock: Clock::settable(Moment::START),
            last: AtomicU64::new(0),
            shows,
            refused: u64::MAX,
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        }
    }

    fn subscriptions(&self) -> (usize, usize) {
        (self.begun.load(Relaxed), self.ended.load(Relaxed))
    }
}

fn answer(status: u16, content_type: &str, body: &str) -> Answer {
    Answer {
        status,
        headers: AnswerHeaders::from([("content-type", content_type)]),
        body: body.into(),
        at: Moment::START,
        still: StillDelay::default(),
        delivery: Delivery::Whole,
        note: None,
    }
}

impl Backend for Numbers {
    /// Answers with one event after the last one.
    fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        assert_eq!((request.method, request.target), ("GET", "/events?a=1"));
        assert_eq!(request.headers.get("accept"), Some(EVENT_STREAM.as_bytes()));
        let last = request.headers.get("last-event-id").unwrap();
        let next = std::str::from_utf8(last).unwrap().parse::<u64>().unwrap() + 1;
        if next >= self.refused {
            return answer(403, "application/json", "{}");
        }
        let data = if next.is_multiple_of(self.shows) {
            format!("id: {next}\ndata: {{}}\n\n")
        } else {
            String::new()
        };
        answer(200, EVENT_STREAM, &format!("{data}id: {next}\n\n"))
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn has_events_after(&self, number: u64, _: &Waker) -> bool {
        self.last.load(Relaxed) > number
    }

    fn begin_event_subscription(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    fn end_event_subscription(&self) {
        self.ended.fetch_add(1, Relaxed);
    }
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

struct Client {
    shared: Arc<Shared<Numbers>>,
    watch: Arc<Watch>,
    wakes: Arc<Wakes>,
}

impl Client {
    fn of(backend: Numbers, heartbeat: Duration) -> Client {
        let limits = Limits {
            heartbeat,
            ..Limits::default()
        };
        let options = Options {
            limits,
            ..Options::port(0)
        };
        let watch = Arc::new(Watch::new(Arc::default(), 1));
        watch.enter(Phase::Busy);
        Client {
            shared: Arc::new(Shared::new(Arc::new(backend), options, &[])),
            watch,
            wakes: Arc::default(),
        }
    }

    fn open(&self, page: &str) -> Option<EventStream<Numbers>> {
        let headers = [("accept", EVENT_STREAM), ("last-event-id", "99")];
        let headers = headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(headers);
        EventStream::open(&self.shared, &self.watch, "/events?a=1", &headers, page.as_bytes())
    }

    fn poll(&self, stream: &mut EventStream<Numbers>) -> Poll<Option<String>> {
        let waker = Waker::from(Arc::clone(&self.wakes));
        let page = stream.poll_page(&mut Context::from_waker(&waker));
        page.map(|page| page.map(|page| String::from_utf8(page).unwrap()))
    }
}

/// Runs with a timer that does not fire on its own.
fn with_timer(run: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap();
    let _entered = runtime.enter();
    run();
}

fn text(text: &str) -> Poll<Option<String>> {
    Poll::Ready(Some(text.to_owned()))
}

#[test]
fn pages_say_where_they_end() {
    for (page, expect) in [
        (&b"id: 7\n\n"[..], Some((7, false))),
        (
            b"id: 1\ndata: {\"id\":1,\"table\":\"id: 9\"}\n\nid: 1\n\n",
            Some((1, true)),
        ),
        (b"event: cleared\ndata: {}\n\nid: 0\n\n", Some((0, true))),
        (b"", None),
        (b"{}", None),
    ] {
        assert_eq!(read_page(page), expect);
    }
}

#[test]
fn a_page_of_events_has_their_type() {
    for (status, content_type, expected) in [
        (200, EVENT_STREAM, true),
        (400, EVENT_STREAM, false),
        (503, EVENT_STREAM, false),
        (200, "application/json", false),
        (403, "application/json", false),
    ] {
        let page = answer(status, content_type, "id: 1\n\n");
        assert_eq!(is_event_page(&page), expected, "{status} {content_type}");
    }
    let untyped = Answer {
        headers: AnswerHeaders::new(),
        ..answer(200, EVENT_STREAM, "")
    };
    assert!(!is_event_page(&untyped));
}

/// A page of other clients' events is not sent. The stream continues after it, once other tasks have run.
#[test]
fn pages_without_events_are_skipped() {
    with_timer(|| {
        let client = Client::of(Numbers::showing(3), Duration::from_hours(1));
        let mut stream = client.open("id: 0\n\n").unwrap();
        assert_eq!(client.poll(&mut stream), text("id: 0\n\n"));
        assert_eq!(client.poll(&mut stream), Poll::Pending);
        assert_eq!(client.wakes.0.load(Relaxed), 0);
        client.shared.backend.last.store(7, Relaxed);
        for (sent, wakes) in [
            (Poll::Pending, 1),
            (Poll::Pending, 2),
            (text("id: 3\ndata: {}\n\nid: 3\n\n"), 2),
            (Poll::Pending, 3),
            (Poll::Pending, 4),
            (text("id: 6\ndata: {}\n\nid: 6\n\n"), 4),
            (Poll::Pending, 5),
            (Poll::Pending, 5),
        ] {
            assert_eq!(client.poll(&mut stream), sent, "{wakes} wakes");
            assert_eq!(client.wakes.0.load(Relaxed), wakes);
        }
        client.shared.backend.last.store(9, Relaxed);
        assert_eq!(client.poll(&mut stream), Poll::Pending);
        assert_eq!(client.poll(&mut stream), text("id: 9\ndata: {}\n\nid: 9\n\n"));
    });
}

/// A stream continues after the page that was answered, not after the event that the client asked for, and ends when the
/// backend answers with something else.
#[test]
fn a_stream_ends_without_a_page() {
    with_timer(|| {
        let client = Client::of(
            Numbers {
                last: AtomicU64::new(9),
                refused: 6,
                ..Numbers::showing(1)
            },
            Duration::from_hours(1),
        );
        let mut stream = client.open("id: 4\n\n").unwrap();
        assert_eq!(client.poll(&mut stream), text("id: 4\n\n"));
        assert_eq!(client.poll(&mut stream), text("id: 5\ndata: {}\n\nid: 5\n\n"));
        assert_eq!(client.poll(&mut stream), Poll::Ready(None));
        assert!(client.open("{}").is_none());
        drop(stream);
        assert_eq!(client.shared.backend.subscriptions(), (1, 1));
        assert_eq!(client.shared.streams.load(Relaxed), 0);
    });
}

/// While the stream is open its connection is not idle, and the engine logs events.
#[test]
fn the_phase_of_a_stream_follows_its_pages() {
    with_timer(|| {
        let client = Client::of(Numbers::showing(1), Duration::from_hours(1));
        let backend = &client.shared.backend;
        let mut stream = client.open("id: 0\n\n").unwrap();
        assert_eq!(backend.subscriptions(), (1, 0));
        assert_eq!(client.shared.streams.load(Relaxed), 1);
        assert_eq!(client.watch.phase(), Phase::Busy);
        for number in 1..=3 {
            assert!(client.poll(&mut stream).is_ready());
            assert_eq!(client.watch.phase(), Phase::Answering, "page {number}");
            client.watch.flushed().unwrap();
            assert_eq!(client.watch.phase(), Phase::Streaming, "page {number}");
            assert!(client.poll(&mut stream).is_pending());
            assert_eq!(client.watch.phase(), Phase::Streaming, "page {number}");
            backend.last.store(number, Relaxed);
        }
        drop(stream);
        assert_eq!(backend.subscriptions(), (1, 1));
        assert_eq!(client.shared.streams.load(Relaxed), 0);
        assert_eq!(client.watch.phase(), Phase::Answering, "the end is still to be sent");
        client.watch.flushed().unwrap();
        assert_eq!(client.watch.phase(), Phase::Idle);
    });
}

/// A stream that is refused changes nothing: its place stays free for another.
#[test]
fn refused_streams_take_no_place() {
    with_timer(|| {
        let client = Client::of(Numbers::showing(1), Duration::from_hours(1));
        let mut streams: Vec<_> = (0..MOST_STREAMS).map(|_| client.open("id: 0\n\n").unwrap()).collect();
        let backend = &client.shared.backend;
        for _ in 0..3 {
            assert!(client.open("id: 0\n\n").is_none());
            assert_eq!(client.shared.streams.load(Relaxed), MOST_STREAMS);
            assert_eq!(backend.subscriptions(), (MOST_STREAMS, 0));
        }
        drop(streams.pop());
        streams.push(client.open("id: 0\n\n").unwrap());
        assert!(client.open("id: 0\n\n").is_none());
        drop(streams);
        assert_eq!(client.shared.streams.load(Relaxed), 0);
        assert_eq!(backend.subscriptions(), (MOST_STREAMS + 1, MOST_STREAMS + 1));
    });
}
