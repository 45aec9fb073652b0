//! A request's body, received within limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{EXPECT, HeaderMap};

/// How much of a body that was refused is read and thrown away, so that its sender gets to read the refusal.
const DISCARDED: usize = 64 * 1024 * 1024;
/// For how long.
const DISCARDING: Duration = Duration::from_secs(10);

/// A body: most come in one piece and are not copied.
pub(crate) enum Received {
    One(Bytes),
    Many(Vec<u8>),
}

impl Received {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Received::One(bytes) => bytes,
            Received::Many(bytes) => bytes,
        }
    }
}

/// Why there is no body.
pub(crate) enum Unreceived {
    /// It is larger than the limit.
    TooLarge,
    /// The connection ended, or the chunks were malformed.
    Broken,
}

/// The next piece of data.
async fn piece(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Ok(frame) => match frame.into_data() {
                Ok(data) => return Some(Ok(data)),
                Err(_trailers) => {}
            },
            Err(error) => return Some(Err(error)),
        }
    }
}

/// The whole body, if it has no more than `limit` bytes.
pub(crate) async fn receive(body: &mut Incoming, limit: usize) -> Result<Received, Unreceived> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unreceived::TooLarge);
    }
    let first = match piece(body).await {
        None => return Ok(Received::One(Bytes::new())),
        Some(data) => data.map_err(|_| Unreceived::Broken)?,
    };
    if body.is_end_stream() && first.len() <= limit {
        return Ok(Received::One(first));
    }
    // The announced length is a promise, not a reason to reserve all of it at once.
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(limit);
    let mut whole = Vec::with_capacity(first.len() + announced.min(1024 * 1024));
    whole.extend_from_slice(&first);
    while whole.len() <= limit {
        match piece(body).await {
            None => return Ok(Received::Many(whole)),
            Some(data) => whole.extend_from_slice(&data.map_err(|_| Unreceived::Broken)?),
        }
    }
    Err(Unreceived::TooLarge)
}

/// Reads what is left of a refused body in the background: a socket closed on unread bytes takes the refusal with it.
/// Who waits to be told to go on (`Expect: 100-continue`) is not told.
pub(crate) fn discard(mut body: Incoming, headers: &HeaderMap) {
    if headers.contains_key(EXPECT) || body.is_end_stream() {
        return;
    }
    tokio::spawn(tokio::time::timeout(DISCARDING, async move {
        let mut left = DISCARDED;
        while let Some(Ok(data)) = piece(&mut body).await {
            match left.checked_sub(data.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    }));
}
