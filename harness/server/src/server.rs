//! A running server: its threads, and how they start and stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dynatwin_engine::quotas::{REQUEST_BODY, SNAPSHOT};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::backend::Backend;
use crate::budget::Budget;
use crate::due;
use crate::listen::{ListenError, Listening, listen};
use crate::log::Log;
use crate::web::{Origins, WebAccess};
use crate::worker::{self, Pool};

/// The stack of a worker thread. Requests run on it; the engine bounds its recursion well below this.
const STACK: usize = 4 * 1024 * 1024;

/// How many requests that may take long run at a time for one worker's connections; others wait.
const LONG_REQUESTS: usize = 8;

/// The limits of a server and its connections.
///
/// ```
/// # use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
/// # use std::sync::Arc;
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// use dynatwin_server::{Limits, Options, serve};
///
/// let limits = Limits { connections: 16, ..Limits::default() };
/// let server = serve(Arc::new(engine), Options { limits, ..Options::port(0) })?;
/// server.stop();
/// # Ok::<(), dynatwin_server::ListenError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum bytes of the request line and the headers; beyond them 400, as from the service.
    pub head: usize,
    /// The maximum bytes of a body; beyond them 413, as from the service.
    pub body: usize,
    /// The maximum bytes of a snapshot to restore; beyond them 413.
    pub snapshot: usize,
    /// The maximum bytes of bodies being received and of large answers being sent, over all connections; beyond them
    /// 503.
    pub bodies: usize,
    /// The maximum number of connections. A further one replaces the one that has been idle for longest, otherwise the
    /// one that has been sending a body for longest, and gets a 503 if there is neither.
    pub connections: usize,
    /// The maximum time to receive a head, including a new connection's first one.
    pub head_time: Duration,
    /// The maximum time to receive a body.
    pub body_time: Duration,
    /// The maximum time in which the client must receive `answer_bytes` of an answer.
    pub answer_time: Duration,
    /// How many bytes of an answer the client must receive within `answer_time`.
    pub answer_bytes: usize,
    /// The maximum idle time between two requests.
    pub idle_time: Duration,
    /// The time for which a connection must have been idle, have sent nothing since it was opened, or have been sending a
    /// body, before another may replace it.
    pub eviction_time: Duration,
    /// The maximum time that a stop waits for running requests.
    pub stop_time: Duration,
    /// The interval of heartbeats in a stream without events.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head: 16 * 1024,
            body: REQUEST_BODY,
            snapshot: SNAPSHOT,
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

/// The addresses and settings of a server.
///
/// ```
/// use dynatwin_server::{Log, Options};
///
/// let options = Options { workers: 1, log: Log::Off, ..Options::port(8123) };
/// assert_eq!((options.port, options.hosts.len()), (8123, 0));
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Host names or addresses; empty for both loopback addresses, of which `::1` may be unavailable.
    pub hosts: Vec<String>,
    /// The port on all addresses; 0 selects a free one.
    pub port: u16,
    /// The number of threads that serve connections.
    pub workers: usize,
    /// The level of the log.
    pub log: Log,
    /// The limits of the server and its connections.
    pub limits: Limits,
    /// The origins whose web pages may read answers.
    pub origins: Origins,
    /// Host names that web pages may use for the server, in addition to loopback names and the addresses listened on.
    pub allowed_hosts: Vec<String>,
}

impl Options {
    /// Returns the default options with this port of the loopback addresses.
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

/// The state that all connections share.
pub(crate) struct Shared<D> {
    pub(crate) backend: Arc<D>,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) web: WebAccess,
    pub(crate) bodies: Arc<Budget>,
    /// The number of open event streams.
    pub(crate) streams: AtomicUsize,
    stopping: AtomicBool,
}

impl<D> Shared<D> {
    /// Returns the state of a server that listens on `addresses`.
    pub(crate) fn new(backend: Arc<D>, options: Options, addresses: &[SocketAddr]) -> Shared<D> {
        Shared {
            backend,
            bodies: Budget::new(options.limits.bodies),
            limits: options.limits,
            log: options.log,
            web: WebAccess::new(options.origins, options.allowed_hosts, addresses),
            streams: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// Returns whether the server is stopping, so that each answer is the last of its connection.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// A server that runs until it is stopped or dropped.
///
/// ```
/// # use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
/// # use std::sync::Arc;
/// # let clock = Clock::settable(Moment::START);
/// # let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// use dynatwin_server::{Options, serve};
///
/// let server = serve(Arc::new(engine), Options::port(0))?;
/// assert_ne!(server.local_addr().port(), 0);
/// server.stop();
/// # Ok::<(), dynatwin_server::ListenError>(())
/// ```
pub struct Server {
    addresses: Vec<SocketAddr>,
    notice: Option<String>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    announce: Box<dyn Fn() + Send + Sync>,
}

/// Starts a server for `backend`. It starts its own threads: the caller needs no runtime.
pub fn serve<D: Backend>(backend: Arc<D>, options: Options) -> Result<Server, ListenError> {
    let listening = listen(&options.hosts, options.port)?;
    let workers = options.workers;
    let shared = Arc::new(Shared::new(backend, options, &listening.addresses));
    let announced = Arc::clone(&shared);
    let mut server = Server {
        addresses: listening.addresses.clone(),
        notice: listening.notice.clone(),
        stop: watch::Sender::new(false),
        threads: Vec::new(),
        announce: Box::new(move || announced.stopping.store(true, Ordering::Relaxed)),
    };
    // A server that started in part stops when it is dropped here.
    server.start(&shared, listening, workers).map_err(ListenError::System)?;
    Ok(server)
}

impl Server {
    fn start<D: Backend>(&mut self, shared: &Arc<Shared<D>>, listening: Listening, workers: usize) -> io::Result<()> {
        let (pool, mailboxes) = Pool::new(workers.max(1), shared.limits.connections);
        for (number, mailbox) in mailboxes.into_iter().enumerate() {
            let (shared, pool, stop) = (Arc::clone(shared), Arc::clone(&pool), self.stop.subscribe());
            self.spawn(format!("dynatwin-{number}"), move |runtime| {
                runtime.block_on(worker::work(shared, pool, mailbox, stop));
                // A stop waits for requests only for a limited time.
                runtime.shutdown_background();
            })?;
        }
        let stop = self.stop.subscribe();
        self.spawn("dynatwin-accept".into(), move |runtime| {
            runtime.block_on(worker::accept(listening.sockets, pool, stop));
        })?;
        let (backend, stop) = (Arc::clone(&shared.backend), self.stop.subscribe());
        self.spawn("dynatwin-due".into(), move |runtime| {
            runtime.block_on(due::keep(backend, stop));
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

    /// Returns the addresses that the server listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the first address the server listens on, with the actual port.
    pub fn local_addr(&self) -> SocketAddr {
        self.addresses
            .first()
            .copied()
            .unwrap_or_else(|| ([127, 0, 0, 1], 0).into())
    }

    /// Returns the port, which is the same on all addresses.
    pub fn port(&self) -> u16 {
        self.local_addr().port()
    }

    /// Returns the first address as a URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.local_addr())
    }

    /// Returns a note for the operator about addresses that could not be bound.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Stops accepting connections and returns when the running requests have finished, or after [`Limits::stop_time`]: the
    /// connections of those that remain are then closed without an answer.
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
