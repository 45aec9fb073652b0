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
