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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::{Condvar, Mutex};

    use dynatwin_engine::http::{Answer, HttpRequest};
    use dynatwin_engine::{Clock, Moment};

    use super::*;
    use crate::response::internal_error;

    /// The limits that a server has unless they are changed, of which the documentation states some.
    #[test]
    fn limits_have_defaults() {
        let limits = Limits::default();
        for (name, found, expected) in [
            ("head", limits.head, 16_384),
            ("body", limits.body, 16_777_216),
            ("bodies", limits.bodies, 536_870_912),
            ("connections", limits.connections, 4096),
            ("answer_bytes", limits.answer_bytes, 65_536),
            ("snapshot", limits.snapshot, SNAPSHOT),
        ] {
            assert_eq!(found, expected, "{name}");
        }
        for (name, found, seconds) in [
            ("head", limits.head_time, 30),
            ("body", limits.body_time, 60),
            ("answer", limits.answer_time, 60),
            ("idle", limits.idle_time, 300),
            ("eviction", limits.eviction_time, 2),
            ("stop", limits.stop_time, 5),
            ("heartbeat", limits.heartbeat, 15),
        ] {
            assert_eq!(found.as_secs_f64(), f64::from(seconds), "{name}");
        }
        let options = Options::port(7);
        assert_eq!((options.port, options.log), (7, Log::Errors));
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(options.workers, cores.min(16));
        assert!(options.hosts.is_empty() && options.allowed_hosts.is_empty());
        assert_eq!(options.origins, Origins::default());
    }

    /// Records the threads that handle requests. Long requests run until they are released.
    struct Threads {
        clock: Clock,
        names: Mutex<BTreeSet<String>>,
        running: Mutex<usize>,
        changed: Condvar,
        released: Mutex<bool>,
        most: AtomicUsize,
    }

    impl Threads {
        fn new() -> Arc<Threads> {
            Arc::new(Threads {
                clock: Clock::settable(Moment::START),
                names: Mutex::default(),
                running: Mutex::new(0),
                changed: Condvar::new(),
                released: Mutex::new(false),
                most: AtomicUsize::new(0),
            })
        }
    }

    impl Backend for Threads {
        fn handle(&self, request: &HttpRequest<'_>) -> Answer {
            if self.may_take_long(request) {
                let mut running = self.running.lock().unwrap();
                *running += 1;
                self.most.fetch_max(*running, Ordering::Relaxed);
                self.changed.notify_all();
                while !*self.released.lock().unwrap() {
                    running = self.changed.wait(running).unwrap();
                }
                *running -= 1;
            } else {
                let name = thread::current().name().unwrap().to_owned();
                self.names.lock().unwrap().insert(name);
            }
            internal_error()
        }

        fn may_take_long(&self, request: &HttpRequest<'_>) -> bool {
            request.target == "/long"
        }

        fn clock(&self) -> &Clock {
            &self.clock
        }
    }

    fn served(workers: usize) -> (Server, Arc<Threads>) {
        let backend = Threads::new();
        let options = Options {
            workers,
            log: Log::Off,
            ..Options::port(0)
        };
        (serve(Arc::clone(&backend), options).unwrap(), backend)
    }

    fn send(server: &Server, target: &str) -> TcpStream {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").unwrap();
        stream
    }

    fn is_answered(stream: &mut TcpStream) -> bool {
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).is_ok() && begin == *b"HTTP/1.1 500"
    }

    #[test]
    fn connections_are_served_by_the_given_number_of_threads() {
        for (workers, expected) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
            let (server, backend) = served(workers);
            let mut open: Vec<TcpStream> = Vec::new();
            for _ in 0..8 {
                let mut stream = send(&server, "/");
                assert!(is_answered(&mut stream));
                open.push(stream);
            }
            let names: Vec<String> = backend.names.lock().unwrap().iter().cloned().collect();
            let expected: Vec<String> = (0..expected).map(|number| format!("dynatwin-{number}")).collect();
            assert_eq!(names, expected, "{workers} workers");
        }
    }

    /// Long requests run side by side, up to a bound for each worker; the others wait for one of them, and all are answered.
    #[test]
    fn long_requests_run_side_by_side() {
        let (server, backend) = served(1);
        let mut long: Vec<_> = (0..=LONG_REQUESTS).map(|_| send(&server, "/long")).collect();
        let mut running = backend.running.lock().unwrap();
        while *running < LONG_REQUESTS {
            let (guard, waited) = backend.changed.wait_timeout(running, Duration::from_secs(10)).unwrap();
            assert!(!waited.timed_out(), "{} run", *guard);
            running = guard;
        }
        drop(running);
        // The worker itself is not occupied.
        assert!(is_answered(&mut send(&server, "/")));
        let running = backend.running.lock().unwrap();
        *backend.released.lock().unwrap() = true;
        drop(running);
        backend.changed.notify_all();
        for stream in &mut long {
            assert!(is_answered(stream));
        }
        assert_eq!(backend.most.load(Ordering::Relaxed), LONG_REQUESTS);
    }

    /// The first address is the server's, and is closed once it stops.
    #[test]
    fn addresses_of_a_server() {
        let (server, _) = served(1);
        let first = server.addresses()[0];
        assert_eq!(server.local_addr(), first);
        assert_eq!(server.port(), first.port());
        assert_eq!(server.endpoint(), format!("http://127.0.0.1:{}", first.port()));
        assert!(TcpStream::connect(first).is_ok());
        drop(server);
        assert!(TcpStream::connect(first).is_err());
    }
}
