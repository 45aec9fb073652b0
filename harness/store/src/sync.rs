//! Waits until records are synced: many waiters share one `fsync`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::AppendError;
use crate::store::{Shared, Store};

/// Waiters for an `fsync`.
#[derive(Default)]
pub(crate) struct Waiters {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    wakers: Vec<Waker>,
    stopped: bool,
}

impl Waiters {
    /// Wakes all waiters, which check again.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.state.lock().wakers);
        for waker in wakers {
            waker.wake();
        }
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_all();
    }

    fn add(&self, waker: &Waker) {
        let mut state = self.state.lock();
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        drop(state);
        self.wake.notify_all();
    }

    /// Returns when a thread waits, `interval` has passed, or the store was closed; returns whether to continue.
    fn wait(&self, interval: Duration) -> bool {
        let mut state = self.state.lock();
        if state.wakers.is_empty() && !state.stopped {
            self.wake.wait_for(&mut state, interval);
        }
        !state.stopped
    }
}

/// Resolves once a record survives a power failure, or cannot be known to.
///
/// ```
/// # use dynatwin_store::{Directory, Entry, Store};
/// # let directory = std::env::temp_dir().join(format!("dynatwin-store-sync-{}", std::process::id()));
/// # let (store, report) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
///
/// let sequence = store.append(b"first")?;
/// let mut synced = pin!(store.until_synced(sequence));
/// let mut context = Context::from_waker(Waker::noop());
/// assert_eq!(synced.as_mut().poll(&mut context), Poll::Pending);
/// store.sync()?;
/// assert_eq!(synced.as_mut().poll(&mut context), Poll::Ready(Ok(())));
/// # drop(store);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UntilSynced {
    shared: Arc<Shared>,
    /// The first sequence number that need not be synced.
    next: u64,
}

impl Future for UntilSynced {
    type Output = Result<(), AppendError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(result) = self.shared.synced_or_failed(self.next) {
            return Poll::Ready(result);
        }
        self.shared.waiters.add(context.waker());
        // A sync in between has woken no thread.
        match self.shared.synced_or_failed(self.next) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl Store {
    /// Resolves once every record that was appended until now is synced. Something must call [`Store::sync_continuously`].
    pub fn until_appended_is_synced(&self) -> UntilSynced {
        let next = self.shared.log.lock().next;
        UntilSynced {
            shared: Arc::clone(&self.shared),
            next,
        }
    }

    /// Resolves once the record of this sequence number is synced. Something must call [`Store::sync_continuously`].
    pub fn until_synced(&self, sequence: u64) -> UntilSynced {
        UntilSynced {
            shared: Arc::clone(&self.shared),
            next: sequence + 1,
        }
    }

    /// Syncs when a thread waits for it, and appended records at least each `interval`; returns when the store is
    /// closed. Calls `failed` for each `fsync` that fails.
    pub fn sync_continuously(&self, interval: Duration, mut failed: impl FnMut(&AppendError)) {
        while self.shared.waiters.wait(interval) {
            let was_unsynced = self.failure().is_some();
            if let Err(error) = self.sync()
                && !was_unsynced
            {
                failed(&error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::sim::{Fault, SimDisk};

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Each round syncs, and fails while no snapshot has replaced the log, but only the `fsync` that failed is reported.
    #[test]
    fn a_log_that_stays_unsynced_is_reported_once() {
        let disk = SimDisk::new();
        let (store, _) = Store::open(disk.clone(), &mut |_| Ok(()), &mut |_| ()).unwrap();
        store.append(b"record").unwrap();
        disk.fail_at(disk.operations() + 1, Fault::Error);
        let wakes = Arc::new(Wakes::default());
        let failures = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                store.sync_continuously(Duration::from_hours(1), |_| {
                    failures.fetch_add(1, Ordering::SeqCst);
                });
            });
            for round in 1..=4 {
                store.shared.waiters.add(&Arc::clone(&wakes).into());
                while wakes.0.load(Ordering::SeqCst) < round {
                    std::thread::yield_now();
                }
            }
            store.close();
        });
        assert_eq!(failures.load(Ordering::SeqCst), 1);
    }
}
