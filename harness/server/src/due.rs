//! What is due happens though nobody asks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dynatwin_engine::clock::Moment;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::delivery::real;
use crate::door::Door;

/// The longest sleep between two looks: the next due moment changes, and so may the clock.
const NAP: Duration = Duration::from_millis(250);

/// Does what is due until the server stops.
pub(crate) async fn keep<D: Door>(door: Arc<D>, mut stop: watch::Receiver<bool>) {
    loop {
        let nap = look(&*door);
        tokio::select! {
            () = sleep(nap) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Does what is due now; returns for how long to sleep. What is still due then waits for the next look.
fn look<D: Door>(door: &D) -> Duration {
    let clock = door.clock();
    // A bug in what is due must not end the server's time.
    let next = catch_unwind(AssertUnwindSafe(|| door.keep_up())).unwrap_or(Moment::NEVER);
    let left = next.since(clock.now());
    match clock.speed() {
        Some(speed) if !left.is_zero() => real(left, speed).min(NAP),
        _ => NAP,
    }
}
