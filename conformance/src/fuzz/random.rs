//! Random choices from a seed.

/// A generator (splitmix64): the same seed gives the same choices.
///
/// ```
/// use dynatwin_conformance::fuzz::Random;
///
/// assert_eq!(Random::new(7).below(100), Random::new(7).below(100));
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number of the sequence, from the whole range of `u64`.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.number() % bound).unwrap_or(0)
    }

    /// Returns true with this probability in percent.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// An element of the list, each with the same probability.
    pub fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}
