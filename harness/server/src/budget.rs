//! A limit on the bytes of requests and answers in memory, over all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A number of bytes that leases share.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Budget> {
        Arc::new(Budget {
            limit,
            used: AtomicUsize::new(0),
        })
    }

    pub(crate) fn lease(self: &Arc<Budget>) -> Lease {
        Lease {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

/// Bytes taken from a budget, returned when the lease is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    budget: Arc<Budget>,
    bytes: usize,
}

/// The budget is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Lease {
    /// Grows the lease to this many bytes.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        let used = self.budget.used.fetch_add(more, Relaxed);
        if used.saturating_add(more) > self.budget.limit {
            self.budget.used.fetch_sub(more, Relaxed);
            return Err(Exhausted);
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_given_back() {
        let budget = Budget::new(10);
        let (mut first, mut second) = (budget.lease(), budget.lease());
        assert_eq!(first.grow_to(6), Ok(()));
        assert_eq!(second.grow_to(5), Err(Exhausted));
        assert_eq!(second.grow_to(4), Ok(()));
        assert_eq!(first.grow_to(7), Err(Exhausted));
        drop(second);
        assert_eq!(first.grow_to(10), Ok(()));
        assert_eq!(first.grow_to(3), Ok(()), "what it has is enough");
        drop(first);
        assert_eq!(budget.used.load(Relaxed), 0);
    }

    #[test]
    fn a_lease_of_any_size_can_be_refused() {
        let budget = Budget::new(10);
        let (mut first, mut second) = (budget.lease(), budget.lease());
        assert_eq!(first.grow_to(1), Ok(()));
        assert_eq!(second.grow_to(usize::MAX), Err(Exhausted));
        assert_eq!(first.grow_to(usize::MAX), Err(Exhausted));
        assert_eq!(budget.used.load(Relaxed), 1);
        assert_eq!(second.grow_to(9), Ok(()));
        assert_eq!(second.grow_to(9), Ok(()));
        drop(second);
        assert_eq!(budget.used.load(Relaxed), 1);
        let mut nothing = Budget::new(0).lease();
        assert_eq!((nothing.grow_to(0), nothing.grow_to(1)), (Ok(()), Err(Exhausted)));
    }
}
