//! Server-sent events: an answer that goes on. The engine answers a page of events; the server asks for the next page when
//! there is one, and sends a comment now and then, so that a client that is gone is noticed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use dynatwin_engine::answer::{Answer, HttpRequest};
use dynatwin_engine::wire::envelope::EVENT_STREAM;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, Sleep, sleep};

use crate::connection::{Head, handle, target};
use crate::door::Door;
use crate::server::Shared;
use crate::watch::{Phase, Watch};

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// What is sent when nothing happens.
const HEARTBEAT: &[u8] = b": \n\n";
/// Streams at a time; a further client gets a page and asks again, as an `EventSource` does by itself.
const MOST_STREAMS: usize = 256;

/// Whether an answer is a page of server-sent events.
pub(crate) fn is_event_page(answer: &Answer) -> bool {
    let mut headers = answer.headers.iter();
    answer.status == 200 && headers.any(|(name, value)| *name == "content-type" && value == EVENT_STREAM)
}

/// The number of the last event of a page, and whether it shows any.
fn read_page(page: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(page).ok()?;
    let (_, last) = text.rsplit_once("id: ")?;
    Some((last.trim_end().parse().ok()?, text.contains("data: ")))
}

/// The pages of a stream that is open.
pub(crate) trait Pages: Send {
    /// The next bytes; `None` if there are no more.
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>>;
}

/// A client that is sent events as they are told. While it is there, somebody listens.
pub(crate) struct EventStream<D: Door> {
    shared: Arc<Shared<D>>,
    watch: Arc<Watch>,
    target: String,
    headers: HeaderMap,
    /// The page that was answered first.
    first: Option<Vec<u8>>,
    /// The number of the last event that was sent.
    last: u64,
    heartbeat: Pin<Box<Sleep>>,
    every: Duration,
}

impl<D: Door> EventStream<D> {
    /// The stream that goes on after an answered page; `None` if there are too many.
    pub(crate) fn open(
        shared: &Arc<Shared<D>>,
        watch: &Arc<Watch>,
        request: &Request<Incoming>,
        page: &[u8],
    ) -> Option<EventStream<D>> {
        let (last, _) = read_page(page)?;
        if shared.streams.fetch_add(1, Relaxed) >= MOST_STREAMS {
            shared.streams.fetch_sub(1, Relaxed);
            return None;
        }
        shared.door.begin_listening();
        watch.set_streaming(true);
        let every = shared.limits.heartbeat;
        Some(EventStream {
            shared: Arc::clone(shared),
            watch: Arc::clone(watch),
            target: target(request).to_owned(),
            headers: request.headers().clone(),
            first: Some(page.to_vec()),
            last,
            heartbeat: Box::pin(sleep(every)),
            every,
        })
    }

    /// The page after the last event that was sent; `None` if the engine answers none.
    fn next_page(&mut self) -> Option<(Vec<u8>, bool)> {
        self.headers.insert(LAST_EVENT_ID.clone(), HeaderValue::from(self.last));
        let (answer, _) = handle(
            &*self.shared.door,
            &HttpRequest {
                method: "GET",
                target: &self.target,
                headers: &Head(&self.headers),
                body: b"",
            },
        );
        let page = Some(answer).filter(is_event_page)?.body;
        let (last, shows) = read_page(&page)?;
        self.last = last;
        Some((page, shows))
    }

    fn send(&mut self, bytes: Vec<u8>) -> Poll<Option<Vec<u8>>> {
        self.heartbeat.as_mut().reset(Instant::now() + self.every);
        self.watch.enter(Phase::Answering);
        Poll::Ready(Some(bytes))
    }
}

impl<D: Door> Pages for EventStream<D> {
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if let Some(first) = self.first.take() {
            return self.send(first);
        }
        if self.shared.door.has_events_after(self.last, cx.waker()) {
            match self.next_page() {
                None => return Poll::Ready(None),
                Some((page, true)) => return self.send(page),
                // They are none of this client's. There may be more, after others have had their turn.
                Some((_, false)) => cx.waker().wake_by_ref(),
            }
        }
        match self.heartbeat.as_mut().poll(cx) {
            Poll::Ready(()) => self.send(HEARTBEAT.to_vec()),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<D: Door> Drop for EventStream<D> {
    fn drop(&mut self) {
        self.watch.set_streaming(false);
        self.shared.door.end_listening();
        self.shared.streams.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
