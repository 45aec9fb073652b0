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
}
