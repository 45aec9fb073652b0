//! Read and write units of single items and pages (Developer Guide, "Read and write operations").

/// Bytes of an item that one write unit pays for.
const WRITE_UNIT: usize = 1024;
/// Bytes of items that one strongly consistent read unit pays for.
const READ_UNIT: usize = 4096;

/// Bytes that a write to a vector index, and a search, is charged for at least.
const LEAST_VECTOR_BYTES: usize = 1024;

/// Units as in an answer's `CapacityUnits`, counted in halves: an eventually consistent read costs half a unit.
///
/// ```
/// use dynatwin_engine::monitoring::Units;
///
/// assert_eq!(Units::whole(3).times(2).as_f64(), 6.0);
/// assert!(Units::ZERO.is_zero());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Units(u64);

impl Units {
    /// No units, as of a request that failed validation.
    pub const ZERO: Units = Units(0);

    /// So many whole units, without halves.
    pub const fn whole(units: u64) -> Units {
        Units(units * 2)
    }

    /// This many halves of a unit.
    pub(super) const fn halves(halves: u64) -> Units {
        Units(halves)
    }

    /// How many halves of a unit this is.
    pub(super) const fn in_halves(self) -> u64 {
        self.0
    }

    /// What is left of this without `other`; nothing if that is more.
    #[must_use]
    pub const fn without(self, other: Units) -> Units {
        Units(self.0.saturating_sub(other.0))
    }

    /// The number that `ConsumedCapacity` reports.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 2.0
    }

    /// Whether no half unit is consumed.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The units of `factor` equal requests.
    pub const fn times(self, factor: u64) -> Units {
        Units(self.0 * factor)
    }
}

impl std::ops::Add for Units {
    type Output = Units;

    fn add(self, other: Units) -> Units {
        Units(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Units {
    fn add_assign(&mut self, other: Units) {
        self.0 += other.0;
    }
}

impl std::iter::Sum for Units {
    fn sum<I: Iterator<Item = Units>>(units: I) -> Units {
        units.fold(Units::ZERO, |sum, more| sum + more)
    }
}

/// A read of `size` bytes: an item, or all items of a page. What is not there costs as much as the smallest item.
pub fn read(size: usize, consistent: bool) -> Units {
    let blocks = size.div_ceil(READ_UNIT).max(1) as u64;
    Units(blocks * if consistent { 2 } else { 1 })
}

/// A write of an item of `size` bytes: the larger of before and after.
pub fn write(size: usize) -> Units {
    Units::whole(size.div_ceil(WRITE_UNIT).max(1) as u64)
}

/// The bytes that an entry of a vector index is charged for, or that a search returns.
pub fn vector_bytes(size: usize) -> u64 {
    size.max(LEAST_VECTOR_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding() {
        for (size, eventual, consistent, written) in [
            (0, 0.5, 1.0, 1.0),
            (1, 0.5, 1.0, 1.0),
            (1024, 0.5, 1.0, 1.0),
            (1025, 0.5, 1.0, 2.0),
            (4096, 0.5, 1.0, 4.0),
            (4097, 1.0, 2.0, 5.0),
        ] {
            let costs = [read(size, false), read(size, true), write(size)].map(Units::as_f64);
            assert_eq!(costs, [eventual, consistent, written], "{size}");
        }
    }

    #[test]
    fn sums() {
        let (one, three) = (Units::whole(1), Units::halves(3));
        assert_eq!((one + three).as_f64(), 2.5);
        assert_eq!([one, three].into_iter().sum::<Units>(), one + three);
        let mut sum = one;
        sum += three;
        assert_eq!((sum.in_halves(), three.times(2)), (5, Units::whole(3)));
        assert_eq!(
            (three.without(one), one.without(three)),
            (Units::halves(1), Units::ZERO)
        );
        assert!(Units::ZERO.is_zero() && !Units::halves(1).is_zero());
    }

    #[test]
    fn vectors_have_a_least_price() {
        assert_eq!([0, 1024, 1025].map(vector_bytes), [1024, 1024, 1025]);
    }
}
