//! Threads that serve connections, each with its own runtime: a connection stays on one thread, so that neither its
//! wake-ups nor its buffers cross cores. One more thread accepts connections and assigns each to the worker with the
//! fewest.
//!
//! At the maximum number of connections, a new one replaces an idle one, or else one that has been sending a body for a
//! while. If no worker has either, the new one is answered with 503 and closed.

use std::cmp::Reverse;
use std::io;
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hyper::body::Bytes;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::backend::Backend;
use crate::connection;
use crate::intake::drain;
use crate::response::unavailable;
use crate::server::{Limits, Shared};
use crate::watch::{Phase, Watch, Watched};

/// The pause after a failed accept, which mostly means a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The interval at which a stop checks whether all connections have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum number of connections that a worker refuses at a time; further ones are closed without an answer.
const REFUSALS: usize = 256;
/// The maximum time to send a refusal and have it read.
const REFUSING: Duration = Duration::from_secs(1);

/// A connection that is assigned to a worker.
struct AssignedConnection {
    stream: std::net::TcpStream,
    load: Load,
    /// How often workers have found no connection to replace, if one must be replaced: each is asked for an idle one, and
    /// then for one that has been sending a body.
    crowded: Option<usize>,
}

enum Message {
    Serve(AssignedConnection),
    /// Close a connection, an idle one if there is one, because the process can open no more files.
    MakeRoom,
}

/// A connection's part of its worker's load.
struct Load(Arc<AtomicUsize>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A worker as seen by the others.
struct Peer {
    sender: mpsc::UnboundedSender<Message>,
    load: Arc<AtomicUsize>,
}

impl Peer {
    fn send(&self, message: Message) {
        // Dropped if the worker has ended.
        let _ = self.sender.send(message);
    }

    fn reserve(&self) -> Load {
        self.load.fetch_add(1, Relaxed);
        Load(Arc::clone(&self.load))
    }
}

/// All workers, and the maximum number of their connections.
pub(crate) struct Pool {
    peers: Vec<Peer>,
    most: usize,
}

/// The receiver of a worker's messages.
pub(crate) struct Mailbox(usize, mpsc::UnboundedReceiver<Message>);

impl Pool {
    /// Creates a pool of workers, and a mailbox for each.
    pub(crate) fn new(workers: usize, most: usize) -> (Arc<Pool>, Vec<Mailbox>) {
        let (mut peers, mut mailboxes) = (Vec::new(), Vec::new());
        for number in 0..workers {
            let (sender, receiver) = mpsc::unbounded_channel();
            let load = Arc::default();
            peers.push(Peer { sender, load });
            mailboxes.push(Mailbox(number, receiver));
        }
        (Arc::new(Pool { peers, most }), mailboxes)
    }

    /// Assigns a connection to the worker with the fewest.
    fn assign(&self, stream: std::net::TcpStream) {
        let loads = self.peers.iter().map(|peer| peer.load.load(Relaxed));
        let crowded = (loads.sum::<usize>() >= self.most).then_some(0);
        if let Some(idlest) = self.peers.iter().min_by_key(|peer| peer.load.load(Relaxed)) {
            let load = idlest.reserve();
            idlest.send(Message::Serve(AssignedConnection { stream, load, crowded }));
        }
    }

    /// Passes a connection for which the worker `from` has no room to the next one; returns it if all workers have
    /// refused it twice.
    fn pass_on(&self, from: usize, assigned: AssignedConnection) -> Option<AssignedConnection> {
        let refusals = assigned.crowded.unwrap_or_default() + 1;
        let next = self.peers.get((from + 1) % self.peers.len());
        let Some(next) = next.filter(|_| refusals < 2 * self.peers.len()) else {
            return Some(assigned);
        };
        next.send(Message::Serve(AssignedConnection {
            load: next.reserve(),
            crowded: Some(refusals),
            ..assigned
        }));
        None
    }

    fn make_room(&self) {
        if let Some(busiest) = self.peers.iter().max_by_key(|peer| peer.load.load(Relaxed)) {
            busiest.send(Message::MakeRoom);
        }
    }
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(sockets: Vec<TcpListener>, pool: Arc<Pool>, mut stop: watch::Receiver<bool>) {
    for socket in sockets {
        tokio::spawn(accept_on(socket, Arc::clone(&pool)));
    }
    // An error means that the server was dropped.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn accept_on(socket: TcpListener, pool: Arc<Pool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(socket) else {
        return;
    };
    loop {
        let accepted = match listener.accept().await {
            Ok((stream, _)) => stream.set_nodelay(true).and_then(|()| stream.into_std()),
            Err(error) => Err(error),
        };
        match accepted {
            Ok(stream) => pool.assign(stream),
            Err(error) => {
                if is_out_of_files(&error) {
                    pool.make_room();
                }
                sleep(PAUSE).await;
            }
        }
    }
}

/// Returns whether the process or the system can open no more files (`EMFILE`, `ENFILE`).
fn is_out_of_files(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

/// An open connection of a worker.
struct Open {
    watch: Arc<Watch>,
    task: AbortHandle,
}

struct Connections<D> {
    shared: Arc<Shared<D>>,
    pool: Arc<Pool>,
    number: usize,
    open: Vec<Open>,
    ticks: Arc<AtomicU32>,
    patience: Patience,
    refusals: Arc<AtomicUsize>,
}

/// Serves connections until the server stops.
pub(crate) async fn work<D: Backend>(
    shared: Arc<Shared<D>>,
    pool: Arc<Pool>,
    Mailbox(number, mut messages): Mailbox,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = Connections {
        patience: Patience::new(&shared.limits),
        shared,
        pool,
        number,
        open: Vec::new(),
        ticks: Arc::default(),
        refusals: Arc::default(),
    };
    let mut ticking = interval(connections.patience.period);
    ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Some(Message::Serve(assigned)) => connections.admit(assigned),
                Some(Message::MakeRoom) => drop(connections.evict(true)),
                None => break,
            },
            _ = ticking.tick(), if !connections.open.is_empty() => {
                connections.ticks.fetch_add(1, Relaxed);
                connections.patience.sweep(&mut connections.open);
            }
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    finish(connections.open, connections.shared.limits.stop_time).await;
}

impl<D: Backend> Connections<D> {
    fn admit(&mut self, assigned: AssignedConnection) {
        let workers = self.pool.peers.len();
        if assigned.crowded.is_none_or(|refusals| self.evict(refusals >= workers)) {
            self.open.extend(self.spawn(assigned));
        } else if let Some(assigned) = self.pool.pass_on(self.number, assigned) {
            self.refuse(assigned);
        }
    }

    fn spawn(&self, assigned: AssignedConnection) -> Option<Open> {
        let AssignedConnection { stream, load, .. } = assigned;
        let stream = TcpStream::from_std(stream).ok()?;
        let watch = Arc::new(Watch::new(Arc::clone(&self.ticks), self.shared.limits.answer_bytes));
        let (shared, socket) = (
            Arc::clone(&self.shared),
            Watched {
                stream,
                watch: Arc::clone(&watch),
                received: Bytes::new(),
            },
        );
        let task = tokio::spawn(async move {
            connection::serve(shared, socket).await;
            drop(load);
        });
        Some(Open {
            watch,
            task: task.abort_handle(),
        })
    }

    /// Closes the connection that has been idle for longest, if one has been idle for long enough, and otherwise, with
    /// `includes_bodies`, the one that has been sending a body for longest.
    fn evict(&mut self, includes_bodies: bool) -> bool {
        let candidates = self.open.iter().enumerate().filter_map(|(at, connection)| {
            let rank = self.patience.eviction_rank(&connection.watch);
            let rank = rank.filter(|(is_idle, _)| *is_idle || includes_bodies)?;
            (!connection.task.is_finished()).then_some((rank, Reverse(at)))
        });
        let evicted = candidates.max().map(|(_, Reverse(at))| self.open.swap_remove(at));
        evicted.is_some_and(|connection| {
            connection.task.abort();
            true
        })
    }

    /// Answers that there are too many connections.
    fn refuse(&self, assigned: AssignedConnection) {
        let refusals = Arc::clone(&self.refusals);
        if refusals.fetch_add(1, Relaxed) >= REFUSALS {
            refusals.fetch_sub(1, Relaxed);
            return;
        }
        tokio::spawn(async move {
            let _ = timeout(REFUSING, send_refusal(assigned.stream)).await;
            refusals.fetch_sub(1, Relaxed);
        });
    }
}

/// Sends the refusal, and reads what the client sends meanwhile: closing a socket with unread bytes discards the
/// refusal.
async fn send_refusal(stream: std::net::TcpStream) -> io::Result<()> {
    let stream = TcpStream::from_std(stream)?;
    let body = unavailable("The server has reached its maximum number of connections.");
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nserver: Server\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.writable().await?;
    // The send buffer of a new socket holds all of it.
    stream.try_write(&[head.into_bytes(), body].concat())?;
    SockRef::from(&stream).shutdown(Shutdown::Write)?;
    drain(&stream).await;
    Ok(())
}

/// The maximum number of ticks of each phase.
struct Patience {
    period: Duration,
    head: u32,
    body: u32,
    answer: u32,
    idle: u32,
    eviction: u32,
}

impl Patience {
    fn new(limits: &Limits) -> Patience {
        let times = [limits.head_time, limits.body_time, limits.answer_time, limits.idle_time];
        let shortest = times.into_iter().min().unwrap_or_default();
        let period = (shortest / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
        let ticks = |time: Duration| u32::try_from(time.as_micros() / period.as_micros()).unwrap_or(u32::MAX);
        Patience {
            period,
            head: ticks(limits.head_time),
            body: ticks(limits.body_time),
            answer: ticks(limits.answer_time),
            idle: ticks(limits.idle_time),
            eviction: ticks(limits.eviction_time),
        }
    }

    /// Returns how soon a connection is replaced by another: whether it is idle, and for how long it has been in its phase.
    fn eviction_rank(&self, watch: &Watch) -> Option<(bool, u32)> {
        let idle = match watch.phase() {
            Phase::New | Phase::Head | Phase::Idle => true,
            Phase::Body => false,
            Phase::Busy | Phase::Lost | Phase::Answering | Phase::Streaming => return None,
        };
        Some((idle, watch.age())).filter(|(_, age)| *age >= self.eviction)
    }

    /// Ends stalled connections, and removes those that have ended.
    fn sweep(&self, open: &mut Vec<Open>) {
        open.retain(|connection| {
            let most = match connection.watch.phase() {
                Phase::New | Phase::Head => self.head,
                Phase::Body => self.body,
                Phase::Answering => self.answer,
                Phase::Idle => self.idle,
                Phase::Busy | Phase::Lost | Phase::Streaming => u32::MAX,
            };
            if connection.watch.age() > most {
                if connection.watch.phase() == Phase::Answering {
                    // The kernel could otherwise send its buffered bytes to a slow reader for hours.
                    connection.watch.reset();
                }
                connection.task.abort();
            }
            !connection.task.is_finished()
        });
    }
}

/// Ends idle connections, and waits for running requests.
async fn finish(mut open: Vec<Open>, longest: Duration) {
    let deadline = Instant::now() + longest;
    while !open.is_empty() && Instant::now() < deadline {
        for connection in &open {
            if matches!(
                connection.watch.phase(),
                Phase::New | Phase::Idle | Phase::Lost | Phase::Streaming
            ) {
                connection.task.abort();
            }
        }
        open.retain(|connection| !connection.task.is_finished());
        if !open.is_empty() {
            sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io::Read;

    use dynatwin_engine::http::{Answer, HttpRequest};
    use dynatwin_engine::{Clock, Moment};
    use tokio::io::AsyncReadExt;
    use tokio::task::yield_now;

    use super::*;
    use crate::response::internal_error;
    use crate::server::Options;

    #[test]
    fn the_connection_that_has_been_idle_for_longest_is_replaced() {
        let ticks = Arc::new(AtomicU32::new(0));
        let patience = Patience::new(&Limits {
            eviction_time: Duration::from_secs(2),
            ..Limits::default()
        });
        let entered = |phase: Phase, at: u32| {
            ticks.store(at, Relaxed);
            let watch = Watch::new(Arc::clone(&ticks), 1);
            watch.enter(phase);
            watch
        };
        // From the first to be replaced to the last.
        let replaced = [
            entered(Phase::Head, 1),
            entered(Phase::Idle, 2),
            entered(Phase::New, 3),
            entered(Phase::Body, 0),
            entered(Phase::Body, 1),
        ];
        let kept = [
            entered(Phase::Idle, 99),
            entered(Phase::Body, 99),
            entered(Phase::Busy, 0),
            entered(Phase::Lost, 0),
            entered(Phase::Answering, 0),
            entered(Phase::Streaming, 0),
        ];
        ticks.store(100, Relaxed);
        let ranks: Vec<_> = replaced.iter().map(|watch| patience.eviction_rank(watch)).collect();
        assert!(ranks.iter().all(Option::is_some) && ranks.is_sorted_by(|first, next| first > next));
        for watch in &kept {
            assert_eq!(patience.eviction_rank(watch), None, "{:?}", watch.phase());
        }
    }

    /// The connections of a worker, none at first.
    fn connections(pool: &Arc<Pool>, limits: Limits) -> Connections<NoRequests> {
        let mut options = Options::port(0);
        options.limits = limits;
        let backend = Arc::new(NoRequests(Clock::settable(Moment::START)));
        Connections {
            patience: Patience::new(&options.limits),
            shared: Arc::new(Shared::new(backend, options, &[])),
            pool: Arc::clone(pool),
            number: 0,
            open: Vec::new(),
            ticks: Arc::default(),
            refusals: Arc::default(),
        }
    }

    /// One connection is evicted at a time, and those with a body only on request.
    #[test]
    fn connections_are_evicted_by_their_phase_and_age() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for includes_bodies in [false, true] {
                let limits = Limits {
                    eviction_time: Duration::from_secs(2),
                    ..Limits::default()
                };
                let mut connections = connections(&Pool::new(1, 0).0, limits);
                for (phase, at) in [
                    (Phase::Idle, 4),
                    (Phase::Body, 1),
                    (Phase::New, 2),
                    (Phase::Busy, 0),
                    (Phase::Body, 0),
                    (Phase::Head, 3),
                    (Phase::Idle, 2),
                    (Phase::Idle, 99),
                ] {
                    connections.ticks.store(at, Relaxed);
                    let watch = Arc::new(Watch::new(Arc::clone(&connections.ticks), 1));
                    watch.enter(phase);
                    let task = tokio::spawn(pending::<()>()).abort_handle();
                    connections.open.push(Open { watch, task });
                }
                connections.ticks.store(100, Relaxed);
                // Of connections that have been idle equally long, the one that was opened first is evicted.
                let idle = [
                    (Phase::New, 98),
                    (Phase::Idle, 98),
                    (Phase::Head, 97),
                    (Phase::Idle, 96),
                ];
                let bodies = [(Phase::Body, 100), (Phase::Body, 99)];
                let expected = idle.into_iter().chain(bodies.into_iter().filter(|_| includes_bodies));
                for (phase, age) in expected {
                    let before: Vec<_> = connections.open.iter().map(|open| Arc::clone(&open.watch)).collect();
                    assert!(connections.evict(includes_bodies), "{phase:?}");
                    let is_open =
                        |watch: &Arc<Watch>| connections.open.iter().any(|open| Arc::ptr_eq(&open.watch, watch));
                    let evicted: Vec<_> = before.iter().filter(|watch| !is_open(watch)).collect();
                    assert_eq!(
                        evicted
                            .iter()
                            .map(|watch| (watch.phase(), watch.age()))
                            .collect::<Vec<_>>(),
                        [(phase, age)]
                    );
                }
                assert!(!connections.evict(includes_bodies));
                let kept = if includes_bodies { 2 } else { 4 };
                assert_eq!(connections.open.len(), kept);
            }
        });
    }

    struct NoRequests(Clock);

    impl Backend for NoRequests {
        fn handle(&self, _: &HttpRequest<'_>) -> Answer {
            internal_error()
        }

        fn clock(&self) -> &Clock {
            &self.0
        }
    }

    /// The two ends of a connection: the client's, and the accepted one.
    fn pair() -> (std::net::TcpStream, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap().0;
        for stream in [&client, &accepted] {
            stream.set_nonblocking(true).unwrap();
        }
        (client, accepted)
    }

    fn loads(pool: &Pool) -> Vec<usize> {
        pool.peers.iter().map(|peer| peer.load.load(Relaxed)).collect()
    }

    fn served(mailbox: &mut Mailbox) -> AssignedConnection {
        match mailbox.1.try_recv() {
            Ok(Message::Serve(assigned)) => assigned,
            _ => panic!("worker {} has no connection", mailbox.0),
        }
    }

    #[test]
    fn connections_are_assigned_to_the_worker_with_the_fewest() {
        let (pool, mut mailboxes) = Pool::new(2, 3);
        let mut assigned = Vec::new();
        for (worker, crowded, after) in [
            (0, None, [1, 0]),
            (1, None, [1, 1]),
            (0, None, [2, 1]),
            // The maximum number is reached.
            (1, Some(0), [2, 2]),
            (0, Some(0), [3, 2]),
        ] {
            pool.assign(pair().1);
            let connection = served(&mut mailboxes[worker]);
            assert_eq!(connection.crowded, crowded, "{after:?}");
            assert_eq!(loads(&pool), after);
            assigned.push(connection);
        }
        pool.make_room();
        assert!(matches!(mailboxes[0].1.try_recv(), Ok(Message::MakeRoom)));
        assert!(mailboxes[1].1.try_recv().is_err());
        // Three of them end, so there is room for one more.
        assigned.drain(..3);
        assert_eq!(loads(&pool), [1, 1]);
        pool.assign(pair().1);
        assert_eq!(served(&mut mailboxes[0]).crowded, None);
        drop(assigned);
        assert_eq!(loads(&pool), [0, 0]);
    }

    /// Each worker is asked twice, in turn, and the connection is part of the load of the one that is asked.
    #[test]
    fn a_connection_without_room_is_passed_on() {
        for workers in 1..=4 {
            let (pool, mut mailboxes) = Pool::new(workers, 0);
            pool.assign(pair().1);
            for number in 0..2 * workers {
                let worker = number % workers;
                let assigned = served(&mut mailboxes[worker]);
                assert_eq!(assigned.crowded, Some(number), "{workers} workers");
                let expected: Vec<usize> = (0..workers).map(|other| usize::from(other == worker)).collect();
                assert_eq!(loads(&pool), expected);
                let refused = pool.pass_on(worker, assigned);
                assert_eq!(
                    refused.is_some(),
                    number + 1 == 2 * workers,
                    "{workers} workers: {number}"
                );
            }
            assert!(mailboxes.iter_mut().all(|mailbox| mailbox.1.try_recv().is_err()));
            assert_eq!(loads(&pool), vec![0; workers]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_lack_of_files_is_recognized() {
        for (code, expected) in [(22, false), (23, true), (24, true), (25, false), (103, false)] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(is_out_of_files(&error), expected, "{error}");
        }
        assert!(!is_out_of_files(&io::Error::other("23")));
    }

    #[test]
    fn limits_become_ticks() {
        let seconds = Duration::from_secs;
        let millis = Duration::from_millis;
        let limits = |[head, body, answer, idle, eviction]: [Duration; 5]| Limits {
            head_time: head,
            body_time: body,
            answer_time: answer,
            idle_time: idle,
            eviction_time: eviction,
            // These have no part in the period.
            stop_time: Duration::ZERO,
            heartbeat: Duration::ZERO,
            ..Limits::default()
        };
        let long = seconds(8);
        for (times, period, ticks) in [
            ([30, 60, 60, 300, 2].map(seconds), seconds(1), [30, 60, 60, 300, 2]),
            ([8, 9, 10, 11, 0].map(seconds), seconds(1), [8, 9, 10, 11, 0]),
            ([seconds(4), long, long, long, long], millis(500), [8, 16, 16, 16, 16]),
            ([long, seconds(4), long, long, long], millis(500), [16, 8, 16, 16, 16]),
            ([long, long, seconds(4), long, long], millis(500), [16, 16, 8, 16, 16]),
            ([long, long, long, seconds(4), long], millis(500), [16, 16, 16, 8, 16]),
            ([long, long, long, long, millis(999)], seconds(1), [8, 8, 8, 8, 0]),
            ([40, 80, 81, 84, 85].map(millis), millis(5), [8, 16, 16, 16, 17]),
            ([1, 4, 5, 9, 10].map(millis), millis(5), [0, 0, 1, 1, 2]),
            ([Duration::MAX; 5], seconds(1), [u32::MAX; 5]),
        ] {
            let patience = Patience::new(&limits(times));
            assert_eq!(patience.period, period, "{times:?}");
            let Patience {
                head,
                body,
                answer,
                idle,
                eviction,
                ..
            } = patience;
            assert_eq!([head, body, answer, idle, eviction], ticks, "{times:?}");
        }
    }

    /// A connection is ended once it has been in a phase for longer than the phase may last, and removed when it has ended.
    #[test]
    fn stalled_connections_are_swept() {
        let patience = Patience {
            period: Duration::ZERO,
            head: 1,
            body: 2,
            answer: 3,
            idle: 4,
            eviction: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for (phase, most) in [
                (Phase::New, Some(1)),
                (Phase::Head, Some(1)),
                (Phase::Body, Some(2)),
                (Phase::Answering, Some(3)),
                (Phase::Idle, Some(4)),
                (Phase::Busy, None),
                (Phase::Lost, None),
                (Phase::Streaming, None),
            ] {
                for age in [0, 1, 2, 3, 4, 5, u32::MAX] {
                    let ticks = Arc::new(AtomicU32::new(0));
                    let watch = Arc::new(Watch::new(Arc::clone(&ticks), 1));
                    watch.enter(phase);
                    ticks.store(age, Relaxed);
                    let task = tokio::spawn(pending::<()>()).abort_handle();
                    let ended = tokio::spawn(async {}).abort_handle();
                    yield_now().await;
                    let mut open = Vec::new();
                    for task in [&task, &ended, &task] {
                        let (watch, task) = (Arc::clone(&watch), task.clone());
                        open.push(Open { watch, task });
                    }
                    patience.sweep(&mut open);
                    yield_now().await;
                    let is_stalled = most.is_some_and(|most| age > most);
                    assert_eq!(task.is_finished(), is_stalled, "{phase:?}, {age}");
                    patience.sweep(&mut open);
                    assert_eq!(open.len(), if is_stalled { 0 } else { 2 }, "{phase:?}, {age}");
                    task.abort();
                }
            }
        });
    }

    /// A bounded number of refusals is sent at a time. Further connections are closed, and take no place.
    #[test]
    fn the_number_of_refusals_is_limited() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let (pool, mut mailboxes) = Pool::new(1, 0);
            let connections = connections(&pool, Limits::default());
            let mut refuse = || {
                let (client, accepted) = pair();
                pool.assign(accepted);
                connections.refuse(served(&mut mailboxes[0]));
                TcpStream::from_std(client).unwrap()
            };
            // Nothing is sent before this task waits.
            let refused: Vec<_> = (0..REFUSALS).map(|_| refuse()).collect();
            for _ in 0..=REFUSALS {
                // Reading would let the others proceed.
                let closed = refuse().into_std().unwrap();
                closed.set_nonblocking(false).unwrap();
                closed.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                assert_eq!((&closed).read(&mut [0]).unwrap(), 0);
                assert_eq!(connections.refusals.load(Relaxed), REFUSALS);
            }
            for mut client in refused {
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
            }
            while connections.refusals.load(Relaxed) > 0 {
                yield_now().await;
            }
            assert_eq!(loads(&pool), [0]);
            let mut answer = String::new();
            refuse().read_to_string(&mut answer).await.unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(
                head,
                format!(
                    "HTTP/1.1 503 Service Unavailable\r\nserver: Server\r\n\
                     content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\nconnection: close",
                    body.len()
                )
            );
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(
                body["message"],
                "The server has reached its maximum number of connections."
            );
        });
    }
}
