//! The twin's clock, which is also the SDK's sleep implementation and time source.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use aws_smithy_async::time::TimeSource;
use dynatwin_engine::{Clock, Engine, Moment};
use parking_lot::Mutex;

/// Returns the system's clock as an engine [`Clock`].
pub fn system_clock() -> Clock {
    Clock::system(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// The twin's clock. Clones share one clock. To the SDK it is a sleep implementation and a time source.
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
    /// Whether a sleep advances a settable clock.
    moves: bool,
    sleepers: Mutex<Sleepers>,
}

/// The sleepers on a settable clock, by the moment at which they wake.
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

    /// Returns the moment that requests observe.
    pub fn now(&self) -> Moment {
        self.clock().now()
    }

    /// Returns the current moment as the standard library's type.
    pub fn system_time(&self) -> SystemTime {
        let micros = u64::try_from(self.now().micros()).unwrap_or(0);
        UNIX_EPOCH + Duration::from_micros(micros)
    }

    /// Advances the clock, and applies all due work before it returns: expired items are deleted, index changes
    /// applied.
    pub fn advance(&self, by: Duration) {
        self.clock().advance(by);
        self.moved();
    }

    /// Sets the clock to `moment` and applies all due work, unless `moment` is in the past; returns whether the clock
    /// was set.
    pub fn set(&self, moment: Moment) -> bool {
        let ahead = self.clock().set(moment);
        self.moved();
        ahead
    }

    /// Stops time until [`unfreeze`](TwinClock::unfreeze), on any clock: only [`advance`](TwinClock::advance) and
    /// [`set`](TwinClock::set) change it. Sleeps last until then.
    ///
    /// ```
    /// use dynatwin::Twin;
    ///
    /// let clock = Twin::new().clock();
    /// clock.freeze();
    /// assert_eq!(clock.now(), clock.now());
    /// clock.unfreeze();
    /// ```
    pub fn freeze(&self) {
        self.clock().freeze();
        self.moved();
    }

    /// Lets a frozen clock continue from where it stood.
    pub fn unfreeze(&self) {
        self.clock().unfreeze();
        self.wake(Moment::NEVER);
    }

    /// Returns whether the clock is [frozen](TwinClock::freeze).
    pub fn is_frozen(&self) -> bool {
        self.clock().is_frozen()
    }

    /// Returns whether the clock stands still until it is advanced.
    pub fn is_settable(&self) -> bool {
        self.clock().is_settable()
    }

    /// Sleeps on this clock. A settable clock advances to the end of the earliest sleep, and no real time passes; any
    /// other clock waits on tokio's timer. Advancing the clock wakes the sleepers whose time has come.
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
        Sleeping {
            clock: self.clone(),
            deadline: self.now().plus(duration),
            id: None,
            yielded: false,
            waits_for: None,
            calls: 0,
            timer: None,
        }
    }

    /// Advances the clock to the end of the earliest sleep although that sleeper is not polled, and removes the
    /// sleeper.
    fn skip_sleeper(&self, earliest: Moment) {
        self.set(earliest);
        let mut sleepers = self.0.sleepers.lock();
        sleepers.waiting = sleepers.waiting.split_off(&(earliest, u64::MAX));
    }

    /// Applies due work and wakes all sleepers after the clock has started again: a frozen one runs.
    pub(crate) fn restarted(&self) {
        self.0.engine.run_due();
        self.wake(Moment::NEVER);
    }

    /// Applies due work and wakes sleepers after the clock has changed.
    fn moved(&self) {
        self.0.engine.run_due();
        // On a clock that runs by itself all sleepers recompute their remaining time.
        self.wake(if self.is_settable() { self.now() } else { Moment::NEVER });
    }

    /// Wakes the sleepers whose sleep ends by `until`.
    fn wake(&self, until: Moment) {
        let awake: Vec<Waker> = {
            let sleepers = self.0.sleepers.lock();
            let awake = sleepers.waiting.range(..=(until, u64::MAX));
            awake.map(|(_, waker)| waker.clone()).collect()
        };
        awake.into_iter().for_each(Waker::wake);
    }
}

/// Returns the real time that `duration` takes on a clock at `speed`, at least one millisecond, the resolution of the
/// timer.
fn real(duration: Duration, speed: f64) -> Duration {
    let real = Duration::try_from_secs_f64(duration.as_secs_f64() / speed).unwrap_or(Duration::MAX);
    real.max(Duration::from_millis(1))
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

/// The real time for which other sleepers wait until the first one is polled.
const COURTESY: Duration = Duration::from_millis(100);

/// How often they wake it after that, since real time also passes when the machine is busy. It needs two polls: one to
/// read the clock and one to advance it.
const CALLS: u8 = 3;

/// A sleep.
///
/// On a settable clock the sleeper that wakes first advances the clock, but only after every other runnable task has
/// been polled, so that a request's timeout and its backoff, both asleep in one task, end in the order of their times.
/// A first sleeper that is not polled is skipped after a short real time, so that no sleeper waits for ever.
struct Sleeping {
    clock: TwinClock,
    deadline: Moment,
    id: Option<u64>,
    /// Whether the other tasks have been polled since this sleeper became the first to wake.
    yielded: bool,
    /// The first to wake, if it is another sleeper, and how often it was woken.
    waits_for: Option<(Moment, u64)>,
    calls: u8,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Sleeping {
    /// Registers the sleeper or its new waker; returns the first to wake, and whether that is this one.
    fn register(&mut self, waker: &Waker) -> ((Moment, u64), bool) {
        let mut sleepers = self.clock.0.sleepers.lock();
        let id = *self.id.get_or_insert_with(|| {
            sleepers.last += 1;
            sleepers.last
        });
        let own = (self.deadline, id);
        sleepers.waiting.insert(own, waker.clone());
        let first = sleepers.waiting.keys().next().copied().unwrap_or(own);
        (first, first == own)
    }

    /// Removes the sleeper and wakes the next one.
    fn remove_sleeper(&mut self) {
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

    /// Returns whether this much real time has passed since the first call; if not, the task is woken when it has.
    fn passed(&mut self, duration: Duration, context: &mut Context<'_>) -> bool {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(duration)));
        let passed = timer.as_mut().poll(context).is_ready();
        if passed {
            self.timer = None;
        }
        passed
    }

    /// Advances a settable clock if this sleeper is the next one. Returns whether to read the clock again.
    fn take_turn(&mut self, context: &mut Context<'_>) -> bool {
        let (earliest, first) = self.register(context.waker());
        if !self.clock.0.moves || self.clock.is_frozen() {
            return false;
        }
        if !first {
            self.yielded = false;
            return self.wait_for_sleeper(earliest, context);
        }
        self.timer = None;
        if self.yielded {
            self.clock.set(earliest.0);
        } else {
            self.yielded = true;
            context.waker().wake_by_ref();
        }
        self.clock.now() >= earliest.0
    }

    /// Waits for the first sleeper to advance the clock, and skips it if it is not polled. Returns whether to read the
    /// clock again.
    fn wait_for_sleeper(&mut self, earliest: (Moment, u64), context: &mut Context<'_>) -> bool {
        if self.waits_for != Some(earliest) {
            self.waits_for = Some(earliest);
            self.calls = 0;
            self.timer = None;
        }
        let patient = self.calls == 0;
        if patient && (tokio::runtime::Handle::try_current().is_err() || !self.passed(COURTESY, context)) {
            return false;
        }
        if self.calls < CALLS {
            self.calls += 1;
            self.clock.wake(earliest.0);
            context.waker().wake_by_ref();
            return false;
        }
        self.clock.skip_sleeper(earliest.0);
        true
    }

    /// Waits on a frozen clock until it is advanced or unfrozen. Returns whether it was unfrozen meanwhile.
    fn wait_while_frozen(&mut self, context: &mut Context<'_>) -> bool {
        self.register(context.waker());
        self.timer = None;
        !self.clock.is_frozen()
    }

    /// Waits for the remaining time on a running clock. Returns whether to read the clock again.
    fn wait(&mut self, speed: f64, context: &mut Context<'_>) -> bool {
        self.register(context.waker());
        self.timer = None;
        let left = self.deadline.since(self.clock.now());
        self.passed(real(left, speed), context)
    }
}

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        while self.clock.now() < self.deadline {
            let again = match self.clock.clock().speed() {
                None if self.clock.is_settable() => self.take_turn(context),
                None => self.wait_while_frozen(context),
                Some(speed) => self.wait(speed, context),
            };
            if !again {
                return Poll::Pending;
            }
        }
        self.remove_sleeper();
        Poll::Ready(())
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.remove_sleeper();
    }
}
