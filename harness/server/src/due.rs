//! A timer that applies due work without requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dynatwin_engine::Moment;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::backend::Backend;
use crate::delivery::real;

/// The longest sleep between two checks: the next due moment and the clock may change meanwhile.
const NAP: Duration = Duration::from_millis(250);

/// Applies due work until the server stops.
pub(crate) async fn keep<D: Backend>(backend: Arc<D>, mut stop: watch::Receiver<bool>) {
    loop {
        let nap = run(&*backend);
        tokio::select! {
            () = sleep(nap) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Applies due work now; returns how long to sleep. Remaining due work waits for the next call.
fn run<D: Backend>(backend: &D) -> Duration {
    let clock = backend.clock();
    // A panic in due work must not stop the timer.
    let next = catch_unwind(AssertUnwindSafe(|| backend.run_background_work())).unwrap_or(Moment::NEVER);
    let left = next.since(clock.now());
    match clock.speed() {
        Some(speed) if !left.is_zero() => real(left, speed).min(NAP),
        _ => NAP,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use dynatwin_engine::Clock;
    use dynatwin_engine::http::{Answer, HttpRequest};
    use tokio::time::Instant;

    use super::*;

    /// Has due work this long after now; panics if there is no next moment.
    struct Due {
        clock: Clock,
        after: Option<Duration>,
        looked: AtomicUsize,
    }

    impl Due {
        fn new(clock: Clock, after: Option<Duration>) -> Due {
            let looked = AtomicUsize::new(0);
            Due { clock, after, looked }
        }
    }

    impl Backend for Due {
        fn handle(&self, _: &HttpRequest<'_>) -> Answer {
            panic!("no request is expected");
        }

        fn clock(&self) -> &Clock {
            &self.clock
        }

        fn run_background_work(&self) -> Moment {
            self.looked.fetch_add(1, Ordering::SeqCst);
            let after = self.after.expect("a next moment");
            self.clock.now().plus(after)
        }
    }

    #[test]
    fn the_next_check_is_when_work_is_due_or_soon() {
        let system = || Clock::system(|| Moment::START);
        let fast = || Clock::accelerated(|| Moment::START, Moment::START, 10.0);
        let frozen = || {
            let clock = system();
            clock.freeze();
            clock
        };
        let settable = || Clock::settable(Moment::START);
        for (clock, after, expect) in [
            (system(), 100, 100),
            (system(), 249, 249),
            (system(), 251, 250),
            (system(), 86_400_000, 250),
            (fast(), 1000, 100),
            (fast(), 1, 1),
            (fast(), 2501, 250),
            // What is left of due work does not keep the thread busy.
            (system(), 0, 250),
            (frozen(), 100, 250),
            (settable(), 100, 250),
        ] {
            let context = format!("{clock:?}, {after} ms");
            let due = Due::new(clock, Some(Duration::from_millis(after)));
            assert_eq!(run(&due), Duration::from_millis(expect), "{context}");
        }
        assert_eq!(run(&Due::new(system(), Some(Duration::MAX))), NAP);
    }

    /// A clock that is frozen when the server starts may run later.
    #[tokio::test(start_paused = true)]
    async fn due_work_is_applied_once_a_frozen_clock_runs() {
        for (clock, expected) in [
            (Clock::system(|| Moment::START), 4),
            (Clock::accelerated(|| Moment::START, Moment::START, 10.0), 20),
            (Clock::settable(Moment::START), 4),
        ] {
            let context = format!("{clock:?}");
            clock.freeze();
            let due = Arc::new(Due::new(clock, Some(Duration::from_millis(500))));
            let (stop, stopped) = watch::channel(false);
            let keeping = tokio::spawn(keep(Arc::clone(&due), stopped));
            sleep(Duration::from_millis(990)).await;
            assert_eq!(due.looked.swap(0, Ordering::SeqCst), 4, "{context}, frozen");
            due.clock.unfreeze();
            // The last nap on the frozen clock ends after 10 ms.
            sleep(Duration::from_secs(1)).await;
            assert_eq!(due.looked.load(Ordering::SeqCst), expected, "{context}");
            stop.send_replace(true);
            keeping.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn due_work_that_panics_is_tried_again_until_the_stop() {
        for after in [None, Some(Duration::from_millis(125))] {
            let started = Instant::now();
            let due = Arc::new(Due::new(Clock::system(|| Moment::START), after));
            let (stop, stopped) = watch::channel(false);
            let keeping = tokio::spawn(keep(Arc::clone(&due), stopped));
            sleep(Duration::from_millis(1010)).await;
            assert_eq!(due.looked.load(Ordering::SeqCst), if after.is_some() { 9 } else { 5 });
            stop.send_replace(true);
            keeping.await.unwrap();
            assert_eq!(started.elapsed(), Duration::from_millis(1010), "the stop does not wait");
        }
    }
}
