//! The bytes held by a stream or the recovery logs of a table, and the limit set by the table's conditions.

use crate::sync::{Counter, Ordering};

const WITHIN: u64 = 0;
const REACHED: u64 = 1;
const NOTED: u64 = 2;

/// A count of bytes, and whether its limit has been reached.
#[derive(Debug)]
pub struct ByteBudget {
    bytes: Counter,
    limit: Counter,
}

impl ByteBudget {
    pub fn new() -> ByteBudget {
        ByteBudget {
            bytes: Counter::new(0),
            limit: Counter::new(WITHIN),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Replaces a part of `old` bytes by one of `new` bytes.
    pub fn replace(&self, old: u64, new: u64) {
        // The sum wraps around, so a difference below zero is subtracted.
        self.bytes.fetch_add(new.wrapping_sub(old), Ordering::Relaxed);
    }

    /// Whether there is no room for `more` bytes; records that the limit has been reached.
    pub fn is_full(&self, limit: Option<u64>, more: u64) -> bool {
        let is_full = limit.is_some_and(|limit| self.bytes().saturating_add(more) > limit);
        if is_full && self.limit.load(Ordering::Relaxed) == WITHIN {
            self.limit.store(REACHED, Ordering::Relaxed);
        }
        is_full
    }

    /// Whether the limit has been reached and not reported yet. Returns `true` once.
    pub fn take_report(&self) -> bool {
        self.limit.load(Ordering::Relaxed) == REACHED
            && self
                .limit
                .compare_exchange(REACHED, NOTED, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
