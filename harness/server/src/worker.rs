//! Threads that serve connections, each with a runtime of its own: a connection stays with one thread, so that neither its
//! wake-ups nor its buffers cross cores. One more thread accepts, and gives each connection to who has the fewest.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::connection;
use crate::door::Door;
use crate::server::{Limits, Shared};
use crate::watch::{Phase, Watch, Watched};

/// After an accept that failed, for want of file descriptors mostly.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a stop looks whether all is done.
const LOOK: Duration = Duration::from_millis(5);

/// A connection on its way to its worker.
pub(crate) struct Arrival {
    stream: std::net::TcpStream,
    held: Held,
}

/// What a connection holds while it is open.
struct Held {
    load: Arc<AtomicUsize>,
    _room: OwnedSemaphorePermit,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A worker as the acceptor knows it.
#[derive(Clone)]
pub(crate) struct Colleague {
    pub(crate) sender: mpsc::UnboundedSender<Arrival>,
    pub(crate) load: Arc<AtomicUsize>,
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(
    sockets: Vec<TcpListener>,
    colleagues: Vec<Colleague>,
    room: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    for socket in sockets {
        tokio::spawn(accept_on(socket, colleagues.clone(), Arc::clone(&room)));
    }
    // An error means that the server is gone.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn accept_on(socket: TcpListener, colleagues: Vec<Colleague>, room: Arc<Semaphore>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(socket) else {
        return;
    };
    while let Ok(room) = Arc::clone(&room).acquire_owned().await {
        let accepted = match listener.accept().await {
            Ok((stream, _)) => stream.set_nodelay(true).and_then(|()| stream.into_std()),
            Err(error) => Err(error),
        };
        match accepted {
            Ok(stream) => hand_over(stream, room, &colleagues),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

fn hand_over(stream: std::net::TcpStream, room: OwnedSemaphorePermit, colleagues: &[Colleague]) {
    let idlest = colleagues
        .iter()
        .min_by_key(|colleague| colleague.load.load(Ordering::Relaxed));
    if let Some(colleague) = idlest {
        colleague.load.fetch_add(1, Ordering::Relaxed);
        let held = Held {
            load: Arc::clone(&colleague.load),
            _room: room,
        };
        // A worker that is gone drops it.
        let _ = colleague.sender.send(Arrival { stream, held });
    }
}

/// A connection as its worker keeps it.
struct Open {
    watch: Arc<Watch>,
    task: AbortHandle,
}

/// Serves connections until the server stops.
pub(crate) async fn work<D: Door>(
    shared: Arc<Shared<D>>,
    mut arrivals: mpsc::UnboundedReceiver<Arrival>,
    mut stop: watch::Receiver<bool>,
) {
    let ticks = Arc::new(AtomicU32::new(0));
    let patience = Patience::new(&shared.limits);
    let mut ticking = interval(patience.period);
    ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut open: Vec<Open> = Vec::new();
    loop {
        tokio::select! {
            arrival = arrivals.recv() => match arrival {
                Some(arrival) => open.extend(spawn(&shared, arrival, &ticks)),
                None => break,
            },
            _ = ticking.tick(), if !open.is_empty() => {
                ticks.fetch_add(1, Ordering::Relaxed);
                patience.sweep(&mut open);
            }
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    finish(open, shared.limits.stop_time).await;
}

fn spawn<D: Door>(shared: &Arc<Shared<D>>, arrival: Arrival, ticks: &Arc<AtomicU32>) -> Option<Open> {
    let Arrival { stream, held } = arrival;
    let stream = TcpStream::from_std(stream).ok()?;
    let watch = Arc::new(Watch::new(Arc::clone(ticks)));
    let (shared, socket) = (
        Arc::clone(shared),
        Watched {
            stream,
            watch: Arc::clone(&watch),
        },
    );
    let task = tokio::spawn(async move {
        connection::serve(shared, socket).await;
        drop(held);
    });
    Some(Open {
        watch,
        task: task.abort_handle(),
    })
}

/// How many ticks each phase may last.
struct Patience {
    period: Duration,
    head: u32,
    body: u32,
    answer: u32,
    idle: u32,
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
        }
    }

    /// Ends the connections that stall, and forgets those that have ended.
    fn sweep(&self, open: &mut Vec<Open>) {
        open.retain(|connection| {
            let most = match connection.watch.phase() {
                Phase::New | Phase::Head => self.head,
                Phase::Body => self.body,
                Phase::Answering => self.answer,
                Phase::Idle => self.idle,
                Phase::Busy | Phase::Lost => u32::MAX,
            };
            if connection.watch.age() > most {
                connection.task.abort();
            }
            !connection.task.is_finished()
        });
    }
}

/// Ends what waits, and waits for what runs.
async fn finish(mut open: Vec<Open>, longest: Duration) {
    let deadline = Instant::now() + longest;
    while !open.is_empty() && Instant::now() < deadline {
        for connection in &open {
            if matches!(connection.watch.phase(), Phase::New | Phase::Idle | Phase::Lost) {
                connection.task.abort();
            }
        }
        open.retain(|connection| !connection.task.is_finished());
        if !open.is_empty() {
            sleep(LOOK).await;
        }
    }
}
