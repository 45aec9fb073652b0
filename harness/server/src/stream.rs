//! Server-sent events: an answer that continues. The engine answers a page of events; the server requests the next page
//! when there is one, and regularly sends a comment, to detect clients that are gone.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use dynatwin_engine::http::{Answer, EVENT_STREAM, HttpRequest};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, Sleep, sleep};

use crate::backend::Backend;
use crate::connection::{Head, handle};
use crate::database::Durability;
use crate::server::Shared;
use crate::watch::{Phase, Watch};

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The comment that is sent while there are no events.
const HEARTBEAT: &[u8] = b": \n\n";
/// The maximum number of concurrent streams; a further client gets one page and reconnects, as an `EventSource` does by
/// itself.
const MOST_STREAMS: usize = 256;

/// Returns whether an answer is a page of server-sent events.
pub(crate) fn is_event_page(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("content-type") == Some(EVENT_STREAM)
}

/// Returns the number of the last event of a page, and whether the page contains any.
fn read_page(page: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(page).ok()?;
    let (_, last) = text.rsplit_once("id: ")?;
    Some((last.trim_end().parse().ok()?, text.contains("data: ")))
}

/// The pages of an open stream.
pub(crate) trait Pages: Send {
    /// Returns the next bytes, or `None` at the end.
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>>;
}

/// A page of events that was read, and is not sent yet.
struct NextPage {
    bytes: Vec<u8>,
    has_events: bool,
    /// What to await before the page is sent.
    durability: Option<Durability>,
}

/// A page of events that is sent once the commits that it shows are stored.
struct HeldPage {
    bytes: Vec<u8>,
    /// Returns whether the page may be sent.
    settled: Pin<Box<dyn Future<Output = bool> + Send>>,
}

/// A stream of events to one client. While it exists, the engine logs events.
pub(crate) struct EventStream<D: Backend> {
    shared: Arc<Shared<D>>,
    watch: Arc<Watch>,
    target: String,
    headers: HeaderMap,
    /// The first page, which was already answered.
    first: Option<Vec<u8>>,
    held: Option<HeldPage>,
    /// The number of the last event that was read.
    last: u64,
    heartbeat: Pin<Box<Sleep>>,
    every: Duration,
}

impl<D: Backend> EventStream<D> {
    /// Opens the stream that continues after an answered page; returns `None` if there are too many streams.
    pub(crate) fn open(
        shared: &Arc<Shared<D>>,
        watch: &Arc<Watch>,
        target: &str,
        headers: &HeaderMap,
        page: &[u8],
    ) -> Option<EventStream<D>> {
        let (last, _) = read_page(page)?;
        if shared.streams.fetch_add(1, Relaxed) >= MOST_STREAMS {
            shared.streams.fetch_sub(1, Relaxed);
            return None;
        }
        shared.backend.begin_event_subscription();
        watch.set_streaming(true);
        let every = shared.limits.heartbeat;
        Some(EventStream {
            shared: Arc::clone(shared),
            watch: Arc::clone(watch),
            target: target.to_owned(),
            headers: headers.clone(),
            first: Some(page.to_vec()),
            held: None,
            last,
            heartbeat: Box::pin(sleep(every)),
            every,
        })
    }

    /// Reads the page after the last event that was read; returns `None` if the engine returns none.
    fn next_page(&mut self) -> Option<NextPage> {
        self.headers.insert(LAST_EVENT_ID.clone(), HeaderValue::from(self.last));
        let (answer, durability) = handle(
            &*self.shared.backend,
            &HttpRequest {
                method: "GET",
                target: &self.target,
                headers: &Head::new(&self.headers),
                body: b"",
            },
        );
        let bytes = Some(answer).filter(is_event_page)?.body;
        let (last, has_events) = read_page(&bytes)?;
        self.last = last;
        Some(NextPage {
            bytes,
            has_events,
            durability,
        })
    }

    fn send(&mut self, bytes: Vec<u8>) -> Poll<Option<Vec<u8>>> {
        self.heartbeat.as_mut().reset(Instant::now() + self.every);
        self.watch.enter(Phase::Answering);
        Poll::Ready(Some(bytes))
    }
}

impl<D: Backend> Pages for EventStream<D> {
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if let Some(first) = self.first.take() {
            return self.send(first);
        }
        if self.held.is_none() && self.shared.backend.has_events_after(self.last, cx.waker()) {
            match self.next_page() {
                None => return Poll::Ready(None),
                // The page has no events of this client. Yields to other tasks before it reads the next one.
                Some(page) if !page.has_events => cx.waker().wake_by_ref(),
                Some(page) => match page.durability {
                    None => return self.send(page.bytes),
                    Some(durability) => {
                        self.held = Some(HeldPage {
                            bytes: page.bytes,
                            settled: Box::pin(durability.settled()),
                        });
                    }
                },
            }
        }
        if let Some(held) = &mut self.held
            && let Poll::Ready(may_send) = held.settled.as_mut().poll(cx)
        {
            let bytes = mem::take(&mut held.bytes);
            self.held = None;
            return if may_send { self.send(bytes) } else { Poll::Ready(None) };
        }
        match self.heartbeat.as_mut().poll(cx) {
            Poll::Ready(()) => self.send(HEARTBEAT.to_vec()),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<D: Backend> Drop for EventStream<D> {
    fn drop(&mut self) {
        self.watch.set_streaming(false);
        self.shared.backend.end_event_subscription();
        self.shared.streams.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests;
