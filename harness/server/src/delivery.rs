//! Waits until an answer may be delivered, by the emulator's clock.

use std::time::Duration;

use dynatwin_engine::http::StillDelay;
use dynatwin_engine::{Clock, Moment};

/// The longest sleep between two reads of the clock, which may be adjusted meanwhile.
pub(crate) const NAP: Duration = Duration::from_millis(100);

/// Waits until the delivery time of an answer.
///
/// The clients of a server share its clock. On a settable one latency is not applied, and the waits of fault rules
/// (`still.held`) do not advance the clock: they end when it has advanced that far, or after the same real time, which
/// does not count while the clock is frozen. All other delays advance it.
pub(crate) async fn wait_for_delivery(clock: &Clock, at: Moment, still: StillDelay) {
    if clock.has_reached(at) {
        return;
    }
    if !clock.is_settable() {
        return wait_until(clock, at).await;
    }
    let held_until = at.minus(still.latency);
    wait_until(clock, held_until.minus(still.held)).await;
    let mut left = still.held;
    while !left.is_zero() && clock.now() < held_until {
        let nap = left.min(NAP);
        tokio::time::sleep(nap).await;
        if !clock.is_frozen() {
            left -= nap;
        }
    }
}

/// Waits until `at`. A clock that stands still is advanced to it, unless it is frozen.
async fn wait_until(clock: &Clock, at: Moment) {
    loop {
        let left = at.since(clock.now());
        if left.is_zero() {
            return;
        }
        match clock.speed() {
            Some(speed) => tokio::time::sleep(real(left, speed).min(NAP)).await,
            None if clock.is_frozen() => tokio::time::sleep(NAP).await,
            None => {
                clock.set(at);
            }
        }
    }
}

/// Returns the real time that a span of the emulator's time takes, never zero, to avoid busy waiting.
pub(crate) fn real(left: Duration, speed: f64) -> Duration {
    Duration::try_from_secs_f64(left.as_secs_f64() / speed)
        .unwrap_or(Duration::MAX)
        .max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn emulated_time_takes_as_long_as_the_speed_of_its_clock_lets_it() {
        for (left, speed, expect) in [
            (1000, 1.0, 1000),
            (1000, 2.0, 500),
            (1000, 0.5, 2000),
            (1000, 3600.0, 1),
            (0, 1.0, 1),
        ] {
            let [left, expect] = [left, expect].map(Duration::from_millis);
            assert_eq!(real(left, speed), expect, "{left:?} at {speed}");
        }
        assert_eq!(real(Duration::MAX, 1e-6), Duration::MAX);
    }

    /// The time source of a running clock, by the time that the test moves.
    fn source() -> impl Fn() -> Moment + Send + Sync + 'static {
        let started = Instant::now();
        move || Moment::START.plus(started.elapsed())
    }

    fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    fn still(held: u64, latency: u64) -> StillDelay {
        StillDelay {
            held: millis(held),
            latency: millis(latency),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_clock_reaches_the_delivery_by_itself() {
        let clocks: [(fn() -> Clock, u32); 3] = [
            (|| Clock::system(source()), 1),
            (|| Clock::accelerated(source(), Moment::START, 1.0), 1),
            (|| Clock::accelerated(source(), Moment::START, 2.0), 2),
        ];
        for (clock, speed) in clocks {
            // Held time and latency are part of the delivery time.
            for (wait, still) in [
                (0, still(0, 0)),
                (20, still(0, 0)),
                (100, still(0, 100)),
                (950, still(500, 0)),
                (60_000, still(1, 1)),
            ] {
                let clock = clock();
                let started = Instant::now();
                let at = clock.now().plus(millis(wait));
                wait_for_delivery(&clock, at, still).await;
                let expect = millis(wait) / speed;
                assert_eq!(started.elapsed(), expect, "{wait} ms at speed {speed}");
                assert!(clock.now() >= at);
            }
        }
    }

    /// Runs `adjust` after a time, and returns how long the delivery takes.
    async fn delivered_after(
        clock: &Clock,
        at: Moment,
        still: StillDelay,
        adjusted: Duration,
        adjust: impl FnOnce(&Clock) + Send + 'static,
    ) -> Duration {
        let started = Instant::now();
        let adjusting = clock.clone();
        let adjusting = tokio::spawn(async move {
            tokio::time::sleep(adjusted).await;
            adjust(&adjusting);
        });
        wait_for_delivery(clock, at, still).await;
        let took = started.elapsed();
        adjusting.await.unwrap();
        took
    }

    /// A wait ends soon after the clock has been moved to its end.
    #[tokio::test(start_paused = true)]
    async fn a_wait_regards_adjustments_of_the_clock() {
        let day = Duration::from_hours(24);
        let system = Clock::system(source());
        let at = system.now().plus(day);
        let took = delivered_after(&system, at, still(0, 0), millis(130), move |clock| clock.advance(day)).await;
        assert_eq!(took, millis(200));

        let frozen = Clock::system(source());
        frozen.freeze();
        let at = frozen.now().plus(millis(100));
        let took = delivered_after(&frozen, at, still(0, 0), millis(250), Clock::unfreeze).await;
        assert_eq!(took, millis(350));

        let settable = Clock::settable(Moment::START);
        settable.freeze();
        let at = settable.now().plus(day);
        let took = delivered_after(&settable, at, still(0, 0), millis(250), Clock::unfreeze).await;
        assert_eq!((took, settable.now()), (millis(300), at));
    }

    /// A settable clock is advanced by all delays but those of latency and of held answers.
    #[tokio::test(start_paused = true)]
    async fn a_settable_clock_is_advanced_by_delays_that_move_it() {
        for (moves, held, latency) in [
            (0, 0, 0),
            (5000, 0, 0),
            (0, 0, 5000),
            (0, 250, 0),
            (5000, 0, 3000),
            (5000, 250, 3000),
            (1, 99, 1),
        ] {
            let context = format!("moves {moves}, held {held}, latency {latency}");
            let clock = Clock::settable(Moment::START);
            let at = clock.now().plus(millis(moves + held + latency));
            let started = Instant::now();
            wait_for_delivery(&clock, at, still(held, latency)).await;
            assert_eq!(clock.now(), Moment::START.plus(millis(moves)), "{context}");
            assert_eq!(started.elapsed(), millis(held), "{context}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_answer_is_released_by_its_time_or_by_the_clock() {
        for (held, latency, advanced, after, expect) in [
            // Advanced too late, too little, and by enough.
            (250, 0, 1000, 260, 250),
            (250, 0, 249, 20, 250),
            (250, 0, 250, 20, 100),
            (86_400_000, 0, 86_400_000, 150, 200),
            // Latency is not waited for.
            (86_400_000, 5000, 86_400_000, 150, 200),
        ] {
            let context = format!("held {held}, latency {latency}, advanced {advanced} after {after}");
            let clock = Clock::settable(Moment::START);
            let at = clock.now().plus(millis(held + latency));
            let still = still(held, latency);
            let advance = move |clock: &Clock| clock.advance(millis(advanced));
            let took = delivered_after(&clock, at, still, millis(after), advance).await;
            assert_eq!(took, millis(expect), "{context}");
            assert_eq!(clock.now(), Moment::START.plus(millis(advanced)), "{context}");
        }
        // Real time does not count while the clock is frozen.
        let clock = Clock::settable(Moment::START);
        clock.freeze();
        let at = clock.now().plus(millis(250));
        let took = delivered_after(&clock, at, still(250, 0), millis(1010), Clock::unfreeze).await;
        assert_eq!((took, clock.now()), (millis(1250), Moment::START));
    }
}
