//! Seeded decisions: each is a hash of the seed, the kind of decision, the key, and the ordinal of the decision.
//!
//! There is no shared generator, so the interleaving of threads does not matter: the same seed and the same order per
//! key give the same decisions.

/// A 64-bit hash that never changes between versions, targets or runs: FNV-1a, finished by SplitMix64.
///
/// All seeded decisions derive from it, so changing it changes behavior.
///
/// ```
/// use dynatwin_engine::StableHash;
///
/// let hash = |key: &[u8]| StableHash::new(7).bytes(key).finish();
/// assert_eq!(hash(b"a"), hash(b"a"));
/// assert_ne!(hash(b"a"), hash(b"b"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StableHash(u64);

impl StableHash {
    /// A hash that starts from `seed`.
    pub const fn new(seed: u64) -> StableHash {
        StableHash(0xcbf2_9ce4_8422_2325 ^ seed)
    }

    /// The hash of everything added so far, followed by these bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> StableHash {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self = self.word(u64::from_le_bytes(word));
        }
        let mut last = [0; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last)).word(bytes.len() as u64)
    }

    /// The hash of everything added so far, followed by this number.
    #[must_use]
    pub const fn word(self, word: u64) -> StableHash {
        StableHash(mix(self.0 ^ word))
    }

    /// The hash of everything that was added.
    pub const fn finish(self) -> u64 {
        mix(self.0)
    }
}

const fn mix(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A decision on `what` for `key`, the `ordinal`-th of its kind.
pub fn decide(seed: u64, what: &str, key: &[u8], ordinal: u64) -> u64 {
    StableHash::new(seed)
        .bytes(what.as_bytes())
        .bytes(key)
        .word(ordinal)
        .finish()
}

/// A decision as a number from 0 up to 1.
pub fn share(decision: u64) -> f64 {
    (decision >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_depend_on_their_ordinal() {
        assert_eq!(decide(7, "stale", b"pk", 0), decide(7, "stale", b"pk", 0));
        assert_ne!(decide(7, "stale", b"pk", 0), decide(7, "stale", b"pk", 1));
        assert!((0.0..1.0).contains(&share(decide(7, "stale", b"pk", 0))));
    }
}
