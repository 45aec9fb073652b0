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

    /// Recorded decisions stay as they are: a seed repeats a run of another version, on another target.
    #[test]
    fn decisions_never_change() {
        for (seed, what, key, ordinal, expect) in [
            (0, "", &b""[..], 0, 0xae3f_49d7_227c_9823),
            (7, "stale", &b"pk"[..], 0, 0xd2d1_a0a4_c2c2_ba7f),
            (7, "stale", &b"pk"[..], 1, 0x97f0_4aff_c3cf_4e7c),
            (8, "stale", &b"pk"[..], 0, 0x7a14_5bbd_a493_acc7),
            (7, "propagation", &b"12345678"[..], 3, 0x1e09_5c01_319d_c8ff),
            (
                7,
                "propagation",
                &b"a key of several words"[..],
                u64::MAX,
                0xdb19_4f36_6af9_96e5,
            ),
        ] {
            assert_eq!(
                decide(seed, what, key, ordinal),
                expect,
                "{seed} {what} {key:?} {ordinal}"
            );
        }
        // What is added is divided as it was added.
        let hash = |parts: &[&[u8]]| {
            parts
                .iter()
                .fold(StableHash::new(7), |hash, part| hash.bytes(part))
                .finish()
        };
        let divided: [&[&[u8]]; 6] = [
            &[b"ab", b"c"],
            &[b"a", b"bc"],
            &[b"abc"],
            &[b"abc", b""],
            &[b"abc\0"],
            &[b"", b"abc"],
        ];
        for (at, one) in divided.iter().enumerate() {
            assert!(divided[..at].iter().all(|other| hash(one) != hash(other)), "{one:?}");
        }
    }

    #[test]
    fn a_share_is_from_zero_up_to_one() {
        for (decision, expect) in [(0, 0.0), (1 << 62, 0.25), (1 << 63, 0.5), (3 << 62, 0.75), (2047, 0.0)] {
            assert_eq!(share(decision), expect, "{decision}");
        }
        assert!(share(u64::MAX) < 1.0 && share(u64::MAX) > 0.999_999);
    }
}
