//! Receives a request's body within limits.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{EXPECT, HeaderMap};
use tokio::net::TcpStream;

use crate::budget::{Budget, Lease};

/// The maximum size of a refused body that is read and discarded, so that its sender can read the refusal.
const DISCARDED: usize = 64 * 1024 * 1024;
/// The maximum time for which a refused body is read.
const DISCARDING: Duration = Duration::from_secs(10);

/// The initial buffer for a body that arrives in pieces: the announced length is not trusted.
const FIRST_ROOM: usize = 64 * 1024;

/// A body: most arrive in one piece and are not copied.
pub(crate) enum Received {
    One(Bytes),
    Many { bytes: Vec<u8>, _lease: Lease },
}

impl Received {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Received::One(bytes) => bytes,
            Received::Many { bytes, .. } => bytes,
        }
    }
}

/// Why the body could not be received.
pub(crate) enum Unreceived {
    /// It is larger than the limit.
    TooLarge,
    /// The bodies of all connections use up their budget.
    Crowded,
    /// Its chunks are malformed.
    Malformed,
    /// The connection ended.
    Broken,
}

impl From<hyper::Error> for Unreceived {
    fn from(error: hyper::Error) -> Unreceived {
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
        match source.map(io::Error::kind) {
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => Unreceived::Malformed,
            _ => Unreceived::Broken,
        }
    }
}

/// Returns the next piece of data.
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

/// Receives the whole body if it has at most `limit` bytes. A body that arrives in pieces is charged to the budget
/// piece by piece.
pub(crate) async fn receive(body: &mut Incoming, limit: usize, budget: &Arc<Budget>) -> Result<Received, Unreceived> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unreceived::TooLarge);
    }
    let first = match piece(body).await {
        None => return Ok(Received::One(Bytes::new())),
        Some(data) => data?,
    };
    if body.is_end_stream() && first.len() <= limit {
        return Ok(Received::One(first));
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(limit);
    let mut whole = Pieces {
        bytes: Vec::new(),
        lease: budget.lease(),
        limit,
    };
    whole.make_room(first.len() + announced.min(FIRST_ROOM))?;
    whole.add(&first)?;
    loop {
        match piece(body).await {
            None => {
                return Ok(Received::Many {
                    bytes: whole.bytes,
                    _lease: whole.lease,
                });
            }
            Some(data) => whole.add(&data?)?,
        }
    }
}

/// The pieces of a body so far.
struct Pieces {
    bytes: Vec<u8>,
    lease: Lease,
    limit: usize,
}

impl Pieces {
    fn add(&mut self, piece: &[u8]) -> Result<(), Unreceived> {
        let length = self.bytes.len() + piece.len();
        if length > self.limit {
            return Err(Unreceived::TooLarge);
        }
        if length > self.bytes.capacity() {
            self.make_room(length.max(self.bytes.capacity() * 2).min(self.limit))?;
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn make_room(&mut self, capacity: usize) -> Result<(), Unreceived> {
        self.lease.grow_to(capacity).map_err(|_| Unreceived::Crowded)?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }
}

/// Reads the rest of a refused body in the background, because closing a socket with unread bytes discards the refusal.
/// A client that waits for `100 Continue` gets none.
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

/// Reads and discards further bytes of a client on a finished connection, until the client closes it.
pub(crate) async fn drain(stream: &TcpStream) {
    let mut unread = [0; 4096];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut unread) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
