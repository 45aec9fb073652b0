//! The emulator's clock. The engine reads no system clock: a [`TimeSource`] is passed in.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{AtomicBool, AtomicI64, Mutex, Ordering};

/// A moment: microseconds since the Unix epoch.
///
/// ```
/// use dynatwin_engine::Moment;
/// use std::time::Duration;
///
/// let start = Moment::from_seconds(1_767_225_600);
/// assert_eq!(start.to_string(), "2026-01-01T00:00:00.000Z");
/// assert_eq!(start.plus(Duration::from_millis(1500)).seconds(), 1_767_225_601);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// A moment before all others.
    pub const FIRST: Moment = Moment(i64::MIN);
    /// A moment after all others, for events that never happen.
    pub const NEVER: Moment = Moment(i64::MAX);
    /// The moment at which settable clocks start: 2026-01-01T00:00:00Z.
    pub const START: Moment = Moment::from_seconds(1_767_225_600);

    /// The moment this many seconds after the epoch.
    pub const fn from_seconds(seconds: i64) -> Moment {
        Moment(seconds.saturating_mul(1_000_000))
    }

    /// The moment this many microseconds after the epoch.
    pub const fn from_micros(micros: i64) -> Moment {
        Moment(micros)
    }

    /// Microseconds since the Unix epoch; negative before it.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The moment `duration` later; [`NEVER`](Moment::NEVER) instead of an overflow.
    pub fn plus(self, duration: Duration) -> Moment {
        Moment(
            self.0
                .saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// The moment `duration` earlier; [`FIRST`](Moment::FIRST) instead of an overflow.
    pub fn minus(self, duration: Duration) -> Moment {
        Moment(
            self.0
                .saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; nothing if it is not.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Year, month, day and the remaining microseconds of the day (proleptic Gregorian calendar).
    fn civil(self) -> (i64, i64, i64, i64) {
        let days = self.0.div_euclid(86_400_000_000);
        let micros = self.0.rem_euclid(86_400_000_000);
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_index + 2) / 5 + 1;
        let month = if month_index < 10 {
            month_index + 3
        } else {
            month_index - 9
        };
        (year_of_era + era * 400 + i64::from(month <= 2), month, day, micros)
    }

    /// The moment as HTTP writes dates: `Thu, 01 Jan 2026 00:00:00 GMT`.
    pub fn http_date(self) -> String {
        let (year, month, day, micros) = self.civil();
        let weekday = (self.0.div_euclid(86_400_000_000) + 4).rem_euclid(7);
        let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let seconds = micros / 1_000_000;
        format!(
            "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
            names[weekday as usize],
            months[(month - 1) as usize],
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    /// Reads `2026-01-01T00:00:00Z`, with or without a fraction of a second of up to six digits.
    pub fn parse(text: &str) -> Option<Moment> {
        /// Each 0 is a digit.
        const FORM: &[u8; 19] = b"0000-00-00T00:00:00";
        let text = text.strip_suffix('Z')?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_like = |(byte, form): (u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            mark => byte == *mark,
        };
        if whole.len() != FORM.len() || !whole.bytes().zip(FORM).all(is_like) {
            return None;
        }
        let number = |at: Range<usize>| whole[at].parse::<i64>().ok();
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let fits = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && fraction.len() <= 6
            && fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !fits {
            return None;
        }
        let shifted_year = year - i64::from(month <= 2);
        let era = shifted_year.div_euclid(400);
        let year_of_era = shifted_year.rem_euclid(400);
        let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
        let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
        let micros = format!("{fraction:0<6}").parse::<i64>().ok()?;
        let moment = Moment((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros);
        // 30 February does not exist.
        (moment.civil().2 == day).then_some(moment)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, micros) = self.civil();
        let seconds = micros / 1_000_000;
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            micros / 1000 % 1000
        )
    }
}

/// A source of time, such as the system clock.
///
/// ```
/// use dynatwin_engine::{Moment, TimeSource};
///
/// let stopped = || Moment::START;
/// assert_eq!(TimeSource::now(&stopped), Moment::START);
/// ```
pub trait TimeSource: Send + Sync {
    /// The moment it is now.
    fn now(&self) -> Moment;
}

impl<F: Fn() -> Moment + Send + Sync> TimeSource for F {
    fn now(&self) -> Moment {
        self()
    }
}

/// The emulator's clock: the system's with an offset, an accelerated one, or a settable one.
///
/// Time is monotonic. Clones share one clock.
///
/// ```
/// use dynatwin_engine::{Clock, Moment};
/// use std::time::Duration;
///
/// let clock = Clock::settable(Moment::START);
/// clock.advance(Duration::from_secs(48 * 3600));
/// assert_eq!(clock.now().to_string(), "2026-01-03T00:00:00.000Z");
/// ```
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

/// How a clock was moved, besides its source's time.
///
/// ```
/// use dynatwin_engine::{Clock, Moment};
/// use std::time::Duration;
///
/// let clock = Clock::settable(Moment::START);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.adjustment().offset, Moment::START.micros() + 60_000_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockAdjustment {
    /// What is added to the source's time, in microseconds; of a settable clock its moment.
    pub offset: i64,
    /// The moment at which it is frozen, if it is.
    pub frozen_at: Option<Moment>,
}

struct Inner {
    source: ClockSource,
    /// For a settable clock the moment, otherwise the offset from the source, in microseconds.
    value: AtomicI64,
    /// The latest moment returned, so that time stays monotonic when the source steps back.
    latest: AtomicI64,
    /// Whether the clock is frozen: it then shows `latest`.
    frozen: AtomicBool,
    /// Held while a running clock is moved, frozen or unfrozen.
    hand: Mutex<()>,
    /// The initial content of `value`.
    initial: i64,
}

enum ClockSource {
    System(Box<dyn TimeSource>),
    Accelerated {
        source: Box<dyn TimeSource>,
        since: Moment,
        start: Moment,
        speed: f64,
    },
    Settable,
}

impl Clock {
    /// The source's time; [`advance`](Clock::advance) adds to it.
    pub fn system(source: impl TimeSource + 'static) -> Clock {
        Clock::of(ClockSource::System(Box::new(source)), 0)
    }

    /// A clock that starts at `start` and runs `speed` times as fast as the source.
    pub fn accelerated(source: impl TimeSource + 'static, start: Moment, speed: f64) -> Clock {
        let since = source.now();
        Clock::of(
            ClockSource::Accelerated {
                source: Box::new(source),
                since,
                start,
                speed,
            },
            0,
        )
    }

    /// A clock that stays at `start` until it is moved.
    pub fn settable(start: Moment) -> Clock {
        Clock::of(ClockSource::Settable, start.micros())
    }

    fn of(source: ClockSource, value: i64) -> Clock {
        Clock(Arc::new(Inner {
            source,
            value: AtomicI64::new(value),
            latest: AtomicI64::new(i64::MIN),
            frozen: AtomicBool::new(false),
            hand: Mutex::new(()),
            initial: value,
        }))
    }

    /// Resets the clock to its start and unfreezes it: a settable or an accelerated clock shows the
    /// moment it started with, the system's clock loses its offset. This is the only way in which time goes back,
    /// so nothing that was dated by the clock may outlive it.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Moment};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::settable(Moment::START);
    /// clock.advance(Duration::from_secs(60));
    /// clock.restart();
    /// assert_eq!(clock.now(), Moment::START);
    /// ```
    pub fn restart(&self) {
        let _hand = self.0.hand.lock();
        self.0.value.store(self.0.initial, Ordering::Release);
        if let ClockSource::Accelerated { start, .. } = &self.0.source {
            let elapsed = self.running().saturating_sub(start.0);
            self.0.value.store(elapsed.saturating_neg(), Ordering::Release);
        }
        self.0.latest.store(i64::MIN, Ordering::Release);
        self.0.frozen.store(false, Ordering::Release);
    }

    /// How far the clock was moved from its source, to be persisted.
    pub fn adjustment(&self) -> ClockAdjustment {
        let frozen = self.is_frozen();
        ClockAdjustment {
            offset: self.0.value.load(Ordering::Acquire),
            frozen_at: frozen.then(|| self.now()),
        }
    }

    /// Applies an adjustment to a clock of the same kind: a new process continues the clock of an earlier one. An accelerated
    /// clock runs from its own start, so [set](Clock::set) its moment as well.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Moment};
    /// use std::time::Duration;
    ///
    /// let clock = || Clock::system(|| Moment::START);
    /// let before = clock();
    /// before.advance(Duration::from_secs(60));
    /// before.freeze();
    /// let after = clock();
    /// after.restore(before.adjustment());
    /// assert_eq!((after.now(), after.is_frozen()), (before.now(), true));
    /// ```
    pub fn restore(&self, adjustment: ClockAdjustment) {
        let _hand = self.0.hand.lock();
        self.0.value.store(adjustment.offset, Ordering::Release);
        if let Some(moment) = adjustment.frozen_at {
            self.0.latest.store(moment.0, Ordering::Release);
            self.0.frozen.store(true, Ordering::Release);
        }
    }

    /// The moment it is now.
    pub fn now(&self) -> Moment {
        if self.is_settable() {
            return Moment(self.0.value.load(Ordering::Acquire));
        }
        if self.is_frozen() {
            return Moment(self.0.latest.load(Ordering::Acquire));
        }
        let read = self.running();
        let before = self.0.latest.fetch_max(read, Ordering::AcqRel);
        Moment(before.max(read))
    }

    /// Whether a moment has come. The source is read only if the clock has not shown that moment before.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Moment};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::settable(Moment::START);
    /// assert!(clock.has_reached(Moment::START));
    /// assert!(!clock.has_reached(Moment::START.plus(Duration::from_secs(1))));
    /// ```
    pub fn has_reached(&self, moment: Moment) -> bool {
        self.0.latest.load(Ordering::Acquire) >= moment.0 || self.now() >= moment
    }

    /// The time of a running clock if it had never been frozen.
    fn running(&self) -> i64 {
        let read = match &self.0.source {
            ClockSource::Settable => 0,
            ClockSource::System(source) => source.now().0,
            ClockSource::Accelerated {
                source,
                since,
                start,
                speed,
            } => {
                let elapsed = (source.now().0 - since.0) as f64 * speed;
                start.0.saturating_add(elapsed as i64)
            }
        };
        read.saturating_add(self.0.value.load(Ordering::Acquire))
    }

    /// Moves the clock forward; a clock of the system gets an offset.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        if self.is_settable() {
            return add(&self.0.value, by);
        }
        let _hand = self.0.hand.lock();
        add(
            if self.is_frozen() {
                &self.0.latest
            } else {
                &self.0.value
            },
            by,
        );
    }

    /// Freezes the clock: only [`advance`](Clock::advance) and [`set`](Clock::set) move it until
    /// [`unfreeze`](Clock::unfreeze). Sleeping on it does not.
    ///
    /// ```
    /// use dynatwin_engine::{Clock, Moment};
    ///
    /// let clock = Clock::settable(Moment::START);
    /// clock.freeze();
    /// assert!(clock.is_frozen() && clock.speed().is_none());
    /// ```
    pub fn freeze(&self) {
        let _hand = self.0.hand.lock();
        // Records the moment at which it freezes as the latest.
        self.now();
        self.0.frozen.store(true, Ordering::Release);
    }

    /// Lets a frozen clock continue from its moment.
    pub fn unfreeze(&self) {
        let _hand = self.0.hand.lock();
        if self.is_frozen() && !self.is_settable() {
            let stood = self.0.latest.load(Ordering::Acquire);
            add(&self.0.value, stood.saturating_sub(self.running()));
        }
        self.0.frozen.store(false, Ordering::Release);
    }

    /// Whether the clock is frozen by [`freeze`](Clock::freeze).
    pub fn is_frozen(&self) -> bool {
        self.0.frozen.load(Ordering::Acquire)
    }

    /// Moves the clock to `moment` if that is later; returns whether it was.
    pub fn set(&self, moment: Moment) -> bool {
        if self.is_settable() {
            return self.0.value.fetch_max(moment.0, Ordering::AcqRel) <= moment.0;
        }
        let now = self.now();
        self.advance(moment.since(now));
        moment >= now
    }

    /// Whether the clock stands still until it is advanced. Sleeping on such a clock advances it, unless it is frozen.
    pub fn is_settable(&self) -> bool {
        matches!(self.0.source, ClockSource::Settable)
    }

    /// How many of the clock's seconds pass in one of the source's; `None` if the clock stands still.
    pub fn speed(&self) -> Option<f64> {
        match &self.0.source {
            _ if self.is_frozen() => None,
            ClockSource::Settable => None,
            ClockSource::System(_) => Some(1.0),
            ClockSource::Accelerated { speed, .. } => Some(*speed),
        }
    }
}

/// Saturating, so that an absurd step ends at the end of time and not before its beginning.
fn add(value: &AtomicI64, by: i64) {
    let add = |value: i64| Some(value.saturating_add(by));
    let _ = value.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Clock({})", self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:00:00.000Z", 951_825_600),
            ("2026-01-01T00:00:00.000Z", 1_767_225_600),
            ("2026-12-31T23:59:59.000Z", 1_798_761_599),
        ] {
            assert_eq!(Moment::from_seconds(seconds).to_string(), text);
            assert_eq!(Moment::parse(text), Some(Moment::from_seconds(seconds)));
        }
        for (text, micros) in [
            ("2026-02-30T00:00:00Z", None),
            ("2026-01-01T00:00:00.000001Z", Some(1)),
            ("2026-01-01T00:00:00.0000001Z", None),
            ("2026-01-01T00:00:00.0019995Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:60:00Z", None),
            ("2026-01-01T00:00:60Z", None),
            ("2026-00-01T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-00T00:00:00Z", None),
            ("2026-04-31T00:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("2026-+3-04T05:06:07Z", None),
            ("2026-3-04T05:06:07Z", None),
            ("+2026-03-04T05:06:07Z", None),
            ("2026-03-04T05:06:7Z", None),
            ("2026-03-04T05:06:07:08Z", None),
            ("2026-03-04-05T05:06:07Z", None),
            ("2026-03-04T05:06:07.+5Z", None),
            ("10000-01-01T00:00:00Z", None),
            ("2026-01-01 00:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T23:59:59.999999Z", Some(86_399_999_999)),
        ] {
            let found = Moment::parse(text).map(|moment| moment.micros() - Moment::START.micros());
            assert_eq!(found, micros, "{text}");
        }
        assert_eq!(
            Moment::parse("2026-01-01T00:00:00.5Z").unwrap().micros() % 1_000_000,
            500_000
        );
        assert_eq!(Moment::from_micros(1_999).to_string(), "1970-01-01T00:00:00.001Z");
        for (seconds, expect) in [
            (1_767_225_600, "Thu, 01 Jan 2026 00:00:00 GMT"),
            (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
            (951_825_600, "Tue, 29 Feb 2000 12:00:00 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] {
            assert_eq!(Moment::from_seconds(seconds).http_date(), expect);
        }
    }

    #[test]
    fn time_never_goes_back() {
        let source = Arc::new(AtomicI64::new(5_000_000));
        let read = Arc::clone(&source);
        let clock = Clock::system(move || Moment(read.load(Ordering::SeqCst)));
        assert_eq!(clock.now().seconds(), 5);
        source.store(1_000_000, Ordering::SeqCst);
        assert_eq!(clock.now().seconds(), 5);
        clock.advance(Duration::from_secs(10));
        assert_eq!(clock.now().seconds(), 11);
        assert!(!clock.set(Moment::from_seconds(3)));
        assert!(clock.set(Moment::from_seconds(20)));
        assert!(clock.set(Moment::from_seconds(20)), "the present is not in the past");
        assert_eq!(clock.now().seconds(), 20);
    }

    #[test]
    fn a_clock_restarts_where_it_started() {
        let seconds = Arc::new(AtomicI64::new(1000));
        let read = || {
            let read = Arc::clone(&seconds);
            move || Moment::from_seconds(read.load(Ordering::SeqCst))
        };
        let (system, accelerated) = (Clock::system(read()), Clock::accelerated(read(), Moment::START, 60.0));
        let settable = Clock::settable(Moment::START);
        for clock in [&system, &accelerated, &settable] {
            clock.advance(Duration::from_hours(1));
            clock.freeze();
        }
        seconds.store(1010, Ordering::SeqCst);
        for (clock, start) in [
            (&system, Moment::from_seconds(1010)),
            (&accelerated, Moment::START),
            (&settable, Moment::START),
        ] {
            clock.restart();
            assert_eq!((clock.now(), clock.is_frozen()), (start, false));
        }
        seconds.store(1011, Ordering::SeqCst);
        assert_eq!(system.now(), Moment::from_seconds(1011));
        assert_eq!(accelerated.now(), Moment::START.plus(Duration::from_mins(1)));
    }

    #[test]
    fn a_frozen_clock_stands_and_goes_on_from_there() {
        let source = Arc::new(AtomicI64::new(0));
        let second = || source.fetch_add(1_000_000, Ordering::SeqCst);
        let read = || {
            let source = Arc::clone(&source);
            move || Moment(source.load(Ordering::SeqCst))
        };
        for (clock, step) in [
            (Clock::system(read()), 1),
            (Clock::accelerated(read(), Moment::START, 3600.0), 3600),
            (Clock::settable(Moment::START), 0),
        ] {
            second();
            clock.freeze();
            let stood = clock.now().seconds();
            second();
            clock.freeze();
            assert_eq!((clock.now().seconds(), clock.speed()), (stood, None));
            clock.advance(Duration::from_secs(10));
            assert!(clock.set(Moment::from_seconds(stood + 20)));
            assert!(!clock.set(Moment::from_seconds(stood)));
            second();
            assert_eq!(clock.now().seconds(), stood + 20);
            clock.unfreeze();
            assert_eq!(clock.now().seconds(), stood + 20, "time does not jump");
            second();
            assert_eq!(clock.now().seconds(), stood + 20 + step);
            clock.unfreeze();
            assert_eq!(clock.now().seconds(), stood + 20 + step);
            // A clock that is not frozen goes on, whether or not it was read before.
            second();
            clock.unfreeze();
            assert_eq!(clock.now().seconds(), stood + 20 + 2 * step);
        }
    }

    /// A clock takes over the time of another one, and stands where that one stands.
    #[test]
    fn an_adjustment_is_restored() {
        let source = || || Moment::from_seconds(100);
        for frozen in [false, true] {
            let (clock, other) = (Clock::system(source()), Clock::system(source()));
            clock.advance(Duration::from_secs(7));
            if frozen {
                clock.freeze();
                clock.advance(Duration::from_secs(2));
            }
            let seconds = if frozen { 109 } else { 107 };
            assert_eq!(clock.now(), Moment::from_seconds(seconds));
            other.restore(clock.adjustment());
            assert_eq!((other.now(), other.is_frozen()), (clock.now(), frozen));
            other.unfreeze();
            assert_eq!(other.now(), Moment::from_seconds(seconds), "time does not jump");
        }
    }

    /// The speed of a clock, and whether a moment has come, also without reading the clock.
    #[test]
    fn a_clock_shows_its_speed_and_what_it_has_reached() {
        let seconds = Arc::new(AtomicI64::new(100));
        let read = || {
            let read = Arc::clone(&seconds);
            move || Moment::from_seconds(read.load(Ordering::SeqCst))
        };
        let start = Moment::from_seconds(100);
        for (clock, speed) in [
            (Clock::system(read()), Some(1.0)),
            (Clock::accelerated(read(), start, 60.0), Some(60.0)),
            (Clock::settable(start), None),
        ] {
            assert_eq!((clock.speed(), clock.is_settable()), (speed, speed.is_none()));
            let reached = |seconds: i64| clock.has_reached(Moment::from_seconds(seconds));
            assert_eq!([99, 100, 101].map(reached), [true, true, false], "{speed:?}");
            clock.advance(Duration::from_secs(1));
            assert_eq!([100, 101, 102].map(reached), [true, true, false], "{speed:?}");
            // A later reading of another request, which the source does not repeat.
            if speed == Some(1.0) {
                seconds.store(200, Ordering::SeqCst);
                assert!(reached(201) && !reached(202));
                seconds.store(50, Ordering::SeqCst);
                assert_eq!([200, 201, 202].map(reached), [true, true, false]);
                seconds.store(100, Ordering::SeqCst);
            }
        }
    }

    #[test]
    fn a_settable_clock_only_goes_forward() {
        let clock = Clock::settable(Moment::from_seconds(10));
        for (to, expect) in [(10, true), (9, false), (11, true)] {
            assert_eq!(clock.set(Moment::from_seconds(to)), expect, "{to}");
        }
        assert_eq!(clock.now(), Moment::from_seconds(11));
    }

    #[test]
    fn an_accelerated_clock_runs_ahead() {
        let source = Arc::new(AtomicI64::new(0));
        let read = Arc::clone(&source);
        let clock = Clock::accelerated(move || Moment(read.load(Ordering::SeqCst)), Moment::START, 3600.0);
        source.store(1_000_000, Ordering::SeqCst);
        assert_eq!(clock.now(), Moment::START.plus(Duration::from_hours(1)));
    }
}
