//! A running server: its threads, and how they are started and stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynatwin_engine::limits::REQUEST_BODY;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::budget::Budget;
use crate::door::Door;
use crate::due;
use crate::listen::{ListenError, Listening, listen};
use crate::log::Log;
use crate::web::{Origins, WebAccess};
use crate::worker::{self, Pool};

/// Handling a request runs on its connection's thread; the engine bounds its recursion, and this is ample for it.
const STACK: usize = 4 * 1024 * 1024;

/// Requests that may take long, and are carried out at a time beside those of one worker's connections; others wait.
const LONG_REQUESTS: usize = 8;

/// What a connection may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the request line and the headers; beyond them 400, as with the service.
    pub head: usize,
    /// Bytes of a body; beyond them 413, as with the service.
    pub body: usize,
    /// Bytes of bodies that are being received, and of large answers that are being sent, over all connections; beyond them
    /// 503.
    pub bodies: usize,
    /// Connections at a time. A further one takes the place of the one that is idle for longest, and gets 503 if none is.
    pub connections: usize,
    /// How long a head may take, a new connection's first one included.
    pub head_time: Duration,
    /// How long a body may take.
    pub body_time: Duration,
    /// How long the client may take to receive `answer_bytes` of an answer.
    pub answer_time: Duration,
    /// How many bytes of an answer the client must receive within `answer_time`.
    pub answer_bytes: usize,
    /// How long a connection may do nothing between two requests.
    pub idle_time: Duration,
    /// How long a connection is idle, or silent at its beginning, before it may make room for another.
    pub eviction_time: Duration,
    /// How long a stop waits for requests that are being carried out.
    pub stop_time: Duration,
    /// How often a stream of events sends something, though nothing happens.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head: 16 * 1024,
            body: REQUEST_BODY,
            bodies: 512 * 1024 * 1024,
            connections: 4096,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_mins(1),
            answer_time: Duration::from_mins(1),
            answer_bytes: 64 * 1024,
            idle_time: Duration::from_mins(5),
            eviction_time: Duration::from_secs(2),
            stop_time: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// Where a server listens, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names or addresses; none means both loopback addresses, of which `::1` may be missing.
    pub hosts: Vec<String>,
    /// The port on all of them; 0 means a free one.
    pub port: u16,
    /// Threads that serve connections.
    pub workers: usize,
    /// What is logged.
    pub log: Log,
    /// What a connection may cost.
    pub limits: Limits,
    /// Whose web pages may read answers.
    pub origins: Origins,
    /// Names by which web pages may address the server, besides loopback names and the addresses listened on.
    pub allowed_hosts: Vec<String>,
}

impl Options {
    /// This port of the loopback addresses, and otherwise what is usual.
    pub fn port(port: u16) -> Options {
        Options {
            hosts: Vec::new(),
            port,
            workers: thread::available_parallelism().map_or(2, |cores| cores.get().min(16)),
            log: Log::default(),
            limits: Limits::default(),
            origins: Origins::default(),
            allowed_hosts: Vec::new(),
        }
    }
}

/// What all connections share.
pub(crate) struct Shared<D> {
    pub(crate) door: Arc<D>,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) web: WebAccess,
    pub(crate) bodies: Arc<Budget>,
    /// Streams of events that are open.
    pub(crate) streams: AtomicUsize,
    stopping: AtomicBool,
}

impl<D> Shared<D> {
    /// Whether answers are the last of their connections.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// A server that runs until it is stopped or dropped.
pub struct Server {
    addresses: Vec<SocketAddr>,
    remark: Option<String>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    announce: Box<dyn Fn() + Send + Sync>,
}

/// Starts a server for `door`. It brings its own threads: the caller needs no runtime.
pub fn serve<D: Door>(door: Arc<D>, options: Options) -> Result<Server, ListenError> {
    let listening = listen(&options.hosts, options.port)?;
    let shared = Arc::new(Shared {
        door,
        bodies: Budget::new(options.limits.bodies),
        limits: options.limits,
        log: options.log,
        web: WebAccess::new(options.origins, options.allowed_hosts, &listening.addresses),
        streams: AtomicUsize::new(0),
        stopping: AtomicBool::new(false),
    });
    let announced = Arc::clone(&shared);
    let mut server = Server {
        addresses: listening.addresses.clone(),
        remark: listening.remark.clone(),
        stop: watch::Sender::new(false),
        threads: Vec::new(),
        announce: Box::new(move || announced.stopping.store(true, Ordering::Relaxed)),
    };
    // A server that is started half way stops when it is dropped here.
    server
        .start(&shared, listening, options.workers)
        .map_err(ListenError::System)?;
    Ok(server)
}

impl Server {
    fn start<D: Door>(&mut self, shared: &Arc<Shared<D>>, listening: Listening, workers: usize) -> io::Result<()> {
        let (pool, inboxes) = Pool::new(workers.max(1), shared.limits.connections);
        for (number, inbox) in inboxes.into_iter().enumerate() {
            let (shared, pool, stop) = (Arc::clone(shared), Arc::clone(&pool), self.stop.subscribe());
            self.spawn(format!("dynatwin-{number}"), move |runtime| {
                runtime.block_on(worker::work(shared, pool, inbox, stop));
                // A stop waits for requests only so long.
                runtime.shutdown_background();
            })?;
        }
        let stop = self.stop.subscribe();
        self.spawn("dynatwin-accept".into(), move |runtime| {
            runtime.block_on(worker::accept(listening.sockets, pool, stop));
        })?;
        let (door, stop) = (Arc::clone(&shared.door), self.stop.subscribe());
        self.spawn("dynatwin-due".into(), move |runtime| {
            runtime.block_on(due::keep(door, stop));
        })
    }

    fn spawn(&mut self, name: String, body: impl FnOnce(Runtime) + Send + 'static) -> io::Result<()> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .thread_stack_size(STACK)
            .max_blocking_threads(LONG_REQUESTS)
            .build()?;
        let thread = thread::Builder::new().name(name).stack_size(STACK);
        self.threads.push(thread.spawn(move || body(runtime))?);
        Ok(())
    }

    /// The addresses that are listened on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first of them.
    pub fn local_addr(&self) -> SocketAddr {
        self.addresses
            .first()
            .copied()
            .unwrap_or_else(|| ([127, 0, 0, 1], 0).into())
    }

    /// The port, the same on all addresses.
    pub fn port(&self) -> u16 {
        self.local_addr().port()
    }

    /// The first address as a URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.local_addr())
    }

    /// What the operator should know about the addresses.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Accepts no more connections, lets the requests that are being carried out finish, and returns then.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        (self.announce)();
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
