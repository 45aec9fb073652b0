//! Frees large values outside of requests: a table's items are a million small allocations, and the last reference may
//! be dropped by a request, or under a lock.

use std::fmt;
use std::sync::Arc;

/// Frees values away from requests. The engine has no threads; its host may have one for this.
///
/// ```
/// use dynatwin_engine::Reclaim;
/// use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
/// use std::sync::Arc;
///
/// struct InThread;
///
/// impl Reclaim for InThread {
///     fn reclaim(&self, garbage: Box<dyn Send>) {
///         std::thread::spawn(move || drop(garbage));
///     }
/// }
///
/// let clock = Clock::settable(Moment::START);
/// let settings = Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false };
/// let engine = Engine::new(settings).with_reclaimer(Arc::new(InThread));
/// assert_eq!(engine.seed(), 7);
/// ```
pub trait Reclaim: Send + Sync {
    /// Takes a value over, to drop it soon. The caller waits for nothing.
    fn reclaim(&self, garbage: Box<dyn Send>);
}

/// Entries from which on freeing is worth another thread; fewer are freed in less than a millisecond.
const WORTH_IT: usize = 1000;

/// The host's [`Reclaim`], if it has one. Without it values are dropped at once.
#[derive(Clone, Default)]
pub struct Reclaimer(Option<Arc<dyn Reclaim>>);

impl Reclaimer {
    pub fn new(host: Arc<dyn Reclaim>) -> Reclaimer {
        Reclaimer(Some(host))
    }

    /// Frees a value with this number of entries.
    pub fn reclaim(&self, entries: usize, garbage: impl Send + 'static) {
        match &self.0 {
            Some(host) if entries >= WORTH_IT => host.reclaim(Box::new(garbage)),
            _ => drop(garbage),
        }
    }
}

impl fmt::Debug for Reclaimer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reclaimer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Mutex;

    #[derive(Default)]
    struct Freed(Mutex<usize>);

    impl Reclaim for Freed {
        fn reclaim(&self, _: Box<dyn Send>) {
            *self.0.lock() += 1;
        }
    }

    #[test]
    fn values_of_many_entries_are_the_hosts() {
        for (entries, expect) in [(0, 0), (WORTH_IT - 1, 0), (WORTH_IT, 1), (WORTH_IT + 1, 1)] {
            let freed = Arc::new(Freed::default());
            Reclaimer::new(Arc::clone(&freed) as Arc<dyn Reclaim>).reclaim(entries, ());
            assert_eq!(*freed.0.lock(), expect, "{entries} entries");
        }
    }
}
