//! Request ids.

use std::fmt;

use compact_str::CompactString;

use crate::chance::StableHash;
use crate::sync::{AtomicU64, Ordering};

/// The suffix of the service's ids.
const TAIL: &[u8; 26] = b"VV4KQNSO5AEMVJF66Q9ASUAAJG";
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// Generates request ids: the n-th of a seed is always the same.
pub struct RequestIds {
    seed: u64,
    made: AtomicU64,
}

impl RequestIds {
    /// Ids of this seed, from the first.
    pub fn new(seed: u64) -> RequestIds {
        RequestIds {
            seed,
            made: AtomicU64::new(0),
        }
    }

    /// The next id: 52 characters of `[0-9A-Z]`.
    pub fn next(&self) -> CompactString {
        let mut hash = StableHash::new(self.seed).word(self.made.fetch_add(1, Ordering::Relaxed));
        let mut id = [0; 52];
        let (head, tail) = id.split_at_mut(26);
        tail.copy_from_slice(TAIL);
        for part in head.chunks_mut(12) {
            hash = hash.word(1);
            let mut bits = hash.finish();
            for letter in part {
                *letter = LETTERS[(bits & 31) as usize];
                bits >>= 5;
            }
        }
        // All of it is ASCII.
        CompactString::from(std::str::from_utf8(&id).unwrap_or_default())
    }
}

impl fmt::Debug for RequestIds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestIds")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_have_the_form_and_do_not_repeat() {
        let ids = RequestIds::new(0);
        let made: HashSet<_> = (0..10_000).map(|_| ids.next()).collect();
        assert_eq!(made.len(), 10_000);
        for id in made {
            assert!(
                id.len() == 52
                    && id
                        .bytes()
                        .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()),
                "{id}"
            );
        }
    }

    #[test]
    fn ids_are_reproducible() {
        let ids = RequestIds::new(7);
        let id = ids.next();
        assert_eq!(id.len(), 52);
        assert_eq!(id, RequestIds::new(7).next());
        assert_ne!(id, ids.next());
    }
}
