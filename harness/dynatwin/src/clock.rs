//! The twin's clock as tests and the SDK see it: sleeps included.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use aws_smithy_async::time::TimeSource;
use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::engine::Engine;
use dynatwin_engine::sync::Mutex;

/// The system's clock, as an engine's [`Clock`].
pub fn system_clock() -> Clock {
    Clock::system(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// The twin's clock. Clones share one clock.
///
/// ```
/// use dynatwin::Twin;
/// use std::time::Duration;
///
/// let twin = Twin::seeded(7);
/// assert_eq!(twin.clock().now().to_string(), "2026-01-01T00:00:00.000Z");
/// twin.clock().advance(Duration::from_secs(7 * 24 * 3600));
/// assert_eq!(twin.clock().now().to_string(), "2026-01-08T00:00:00.000Z");
/// ```
#[derive(Clone)]
pub struct TwinClock(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    /// Whether a settable clock moves when somebody sleeps on it.
    moves: bool,
    sleepers: Mutex<Sleepers>,
}

/// Who sleeps on a settable clock, by the moment at which they wake.
#[derive(Default)]
struct Sleepers {
    last: u64,
    waiting: BTreeMap<(Moment, u64), Waker>,
}

impl TwinClock {
    pub(crate) fn new(engine: Arc<Engine>, moves: bool) -> TwinClock {
        TwinClock(Arc::new(Inner {
            engine,
            moves,
            sleepers: Mutex::new(Sleepers::default()),
        }))
    }

    fn clock(&self) -> &Clock {
        self.0.engine.clock()
    }

    /// The moment it is now.
    pub fn now(&self) -> Moment {
        self.clock().now()
    }

    /// The moment it is now, as the standard library has it.
    pub fn system_time(&self) -> SystemTime {
        let micros = u64::try_from(self.now().micros()).unwrap_or(0);
        UNIX_EPOCH + Duration::from_micros(micros)
    }

    /// Moves the clock forward, and does what has become due before it returns: expired items are deleted, indexes
    /// caught up.
    pub fn advance(&self, by: Duration) {
        self.clock().advance(by);
        self.moved();
    }

    /// Moves the clock to `moment`, if that is ahead, and does what has become due; says whether it was ahead.
    pub fn set(&self, moment: Moment) -> bool {
        let ahead = self.clock().set(moment);
        self.moved();
        ahead
    }

    /// Whether the clock stands still unless it is moved.
    pub fn is_settable(&self) -> bool {
        self.clock().is_settable()
    }

    /// Sleeps on this clock. A settable clock moves to the end of the earliest sleep, and no real time passes; any other
    /// clock lets the time pass.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use dynatwin::Twin;
    /// use std::time::Duration;
    ///
    /// let twin = Twin::seeded(7);
    /// twin.clock().sleep(Duration::from_secs(3600)).await;
    /// assert_eq!(twin.clock().now().to_string(), "2026-01-01T01:00:00.000Z");
    /// # });
    /// ```
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + Sync + 'static + use<> {
        let clock = self.clone();
        let deadline = clock.now().plus(duration);
        async move {
            match clock.clock().speed() {
                None => Sleeping::until(clock, deadline).await,
                Some(speed) => tokio::time::sleep(real(duration, speed)).await,
            }
        }
    }

    /// After the clock has moved: what is due happens, and who has slept long enough wakes up.
    fn moved(&self) {
        self.0.engine.run_due();
        let sleepers = self.0.sleepers.lock();
        let now = self.now();
        let awake: Vec<Waker> = sleepers
            .waiting
            .iter()
            .take_while(|((deadline, _), _)| *deadline <= now)
            .map(|(_, waker)| waker.clone())
            .collect();
        drop(sleepers);
        awake.into_iter().for_each(Waker::wake);
    }
}

/// How long `duration` of a clock at `speed` takes.
fn real(duration: Duration, speed: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() / speed).unwrap_or(Duration::MAX)
}

impl fmt::Debug for TwinClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TwinClock({})", self.now())
    }
}

impl AsyncSleep for TwinClock {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(TwinClock::sleep(self, duration))
    }
}

impl TimeSource for TwinClock {
    fn now(&self) -> SystemTime {
        self.system_time()
    }
}

/// A sleep on a settable clock.
///
/// Only the sleeper that wakes first may move the clock, and not before everybody else who is awake has had a turn: so a
/// request's timeout and its backoff, both asleep in one task, end in the order of their times.
struct Sleeping {
    clock: TwinClock,
    deadline: Moment,
    id: Option<u64>,
}

impl Sleeping {
    fn until(clock: TwinClock, deadline: Moment) -> Sleeping {
        Sleeping {
            clock,
            deadline,
            id: None,
        }
    }

    /// Enters the sleeper, or its new waker; says whether it was entered before and is the first to wake.
    fn register(&mut self, waker: &Waker) -> bool {
        let mut sleepers = self.clock.0.sleepers.lock();
        let entered = self.id.is_some();
        let id = *self.id.get_or_insert_with(|| {
            sleepers.last += 1;
            sleepers.last
        });
        sleepers.waiting.insert((self.deadline, id), waker.clone());
        let first = sleepers.waiting.keys().next() == Some(&(self.deadline, id));
        entered && first
    }

    /// Strikes the sleeper out, and lets the next one have its turn.
    fn leave(&mut self) {
        let Some(id) = self.id.take() else { return };
        let next = {
            let mut sleepers = self.clock.0.sleepers.lock();
            sleepers.waiting.remove(&(self.deadline, id));
            sleepers.waiting.values().next().cloned()
        };
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() < self.deadline {
            let entered = self.id.is_some();
            let first = self.register(context.waker());
            if !self.clock.0.moves {
                return Poll::Pending;
            }
            if !first {
                if !entered {
                    context.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            let deadline = self.deadline;
            self.clock.set(deadline);
        }
        self.leave();
        Poll::Ready(())
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.leave();
    }
}
