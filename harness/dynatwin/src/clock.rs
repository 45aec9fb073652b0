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

    /// Lets time stand until [`unfreeze`](TwinClock::unfreeze), on any clock: nothing but [`advance`](TwinClock::advance) and
    /// [`set`](TwinClock::set) moves it. Who sleeps meanwhile sleeps until then.
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

    /// Lets time go on from where it stood.
    pub fn unfreeze(&self) {
        self.clock().unfreeze();
        self.wake(Moment::NEVER);
    }

    /// Whether time stands by [`freeze`](TwinClock::freeze).
    pub fn is_frozen(&self) -> bool {
        self.clock().is_frozen()
    }

    /// Whether the clock stands still unless it is moved.
    pub fn is_settable(&self) -> bool {
        self.clock().is_settable()
    }

    /// Sleeps on this clock. A settable clock moves to the end of the earliest sleep, and no real time passes; any other
    /// clock lets the time pass, on tokio's timer. Moving the clock by hand wakes who has slept long enough.
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

    /// Moves the clock to the end of the earliest sleep though nobody polls that sleeper, and takes it out of the way.
    fn pass_over(&self, earliest: Moment) {
        self.set(earliest);
        let mut sleepers = self.0.sleepers.lock();
        sleepers.waiting = sleepers.waiting.split_off(&(earliest, u64::MAX));
    }

    /// After the clock has moved: what is due happens, and sleepers wake up.
    fn moved(&self) {
        self.0.engine.run_due();
        // On a clock that runs by itself all sleepers look again how much is left.
        self.wake(if self.is_settable() { self.now() } else { Moment::NEVER });
    }

    /// Lets sleepers look again whose sleep ends by `until`.
    fn wake(&self, until: Moment) {
        let awake: Vec<Waker> = {
            let sleepers = self.0.sleepers.lock();
            let awake = sleepers.waiting.range(..=(until, u64::MAX));
            awake.map(|(_, waker)| waker.clone()).collect()
        };
        awake.into_iter().for_each(Waker::wake);
    }
}

/// How long `duration` of a clock at `speed` takes; a timer counts whole milliseconds, so it is never nothing.
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

/// How long others wait, in real time, for the first sleeper to be polled.
const COURTESY: Duration = Duration::from_millis(100);

/// How often they call it after that: real time also passes when the machine is busy, and it was never its turn. It needs two
/// turns, to look at the clock and to move it.
const CALLS: u8 = 3;

/// A sleep.
///
/// On a settable clock the sleeper that wakes first moves the clock, and not before everybody else who is awake has had a
/// turn: so a request's timeout and its backoff, both asleep in one task, end in the order of their times. A first sleeper
/// that nobody polls is passed over after a moment of real time, so that nobody waits for ever.
struct Sleeping {
    clock: TwinClock,
    deadline: Moment,
    id: Option<u64>,
    /// Whether the others have had their turn since this became the first to wake.
    yielded: bool,
    /// The first to wake, while that is another one; how often it was called.
    waits_for: Option<(Moment, u64)>,
    calls: u8,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Sleeping {
    /// Enters the sleeper, or its new waker; gives the first to wake, and whether that is this one.
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

    /// Whether so much real time has passed since this was first asked; if not, the task is woken when it has.
    fn passed(&mut self, duration: Duration, context: &mut Context<'_>) -> bool {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(duration)));
        let passed = timer.as_mut().poll(context).is_ready();
        if passed {
            self.timer = None;
        }
        passed
    }

    /// A settable clock: moves it if it is this sleeper's turn. Says whether to look at the clock again.
    fn take_turn(&mut self, context: &mut Context<'_>) -> bool {
        let (earliest, first) = self.register(context.waker());
        if !self.clock.0.moves || self.clock.is_frozen() {
            return false;
        }
        if !first {
            self.yielded = false;
            return self.outwait(earliest, context);
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

    /// Waits for the first sleeper to move the clock, and passes it over if nobody polls it. Says whether to look at the clock
    /// again.
    fn outwait(&mut self, earliest: (Moment, u64), context: &mut Context<'_>) -> bool {
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
        self.clock.pass_over(earliest.0);
        true
    }

    /// Any other clock, frozen: waits until it is moved or goes on. Says whether it has gone on meanwhile.
    fn stand(&mut self, context: &mut Context<'_>) -> bool {
        self.register(context.waker());
        self.timer = None;
        !self.clock.is_frozen()
    }

    /// Any other clock: waits for what is left of the time. Says whether to look at the clock again.
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
                None => self.stand(context),
                Some(speed) => self.wait(speed, context),
            };
            if !again {
                return Poll::Pending;
            }
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
