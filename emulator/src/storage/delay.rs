//! The delay until a change is visible in an index or a stream.
//!
//! A delay depends on the item and on the number of its earlier changes, never on the time: so it is the same on every
//! clock, however threads interleave.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chance::{self, StableHash};
use crate::conditions::Lag;
use crate::key::Key;

/// The maximum number of items whose changes are counted; beyond it counting starts again.
const MOST_ITEMS: usize = 1 << 20;

/// The delays of changes on their way to one destination.
#[derive(Clone, Copy, Debug)]
pub struct Propagation<'s> {
    pub seed: u64,
    /// The name of the destination.
    pub place: &'s str,
    /// The distribution of the delays.
    pub lag: Lag,
}

impl Propagation<'_> {
    /// The hash of an item for this destination.
    pub(super) fn item(&self, key: &Key) -> u64 {
        let name = StableHash::new(self.seed).bytes(self.place.as_bytes());
        name.bytes(&key.bytes).finish()
    }
}

/// The number of delayed changes of each item for one destination.
#[derive(Debug, Default)]
pub(super) struct Delays(pub(super) BTreeMap<u64, u64>);

impl Delays {
    /// The delay of the next change of an item, by [its hash](Propagation::item).
    pub(super) fn next(&mut self, item: u64, propagation: &Propagation<'_>) -> Duration {
        let lag = propagation.lag;
        if lag.is_none() || matches!(lag, Lag::Fixed(_)) {
            return lag.longest();
        }
        if self.0.len() >= MOST_ITEMS {
            self.0.clear();
        }
        let ordinal = self.0.entry(item).or_default();
        *ordinal += 1;
        let decision = chance::decide(propagation.seed, "propagation", &item.to_le_bytes(), *ordinal);
        lag.of(decision)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn delays_follow_the_distribution_of_their_lag() {
        let [typical, p99, longest] = [1, 10, 100].map(Duration::from_secs);
        for (lag, least, most) in [
            (Lag::None, Duration::ZERO, Duration::ZERO),
            (Lag::Fixed(typical), typical, typical),
            (Lag::Fixed(Duration::ZERO), Duration::ZERO, Duration::ZERO),
            (
                Lag::Seeded {
                    typical: Duration::ZERO,
                    longest: Duration::ZERO,
                },
                Duration::ZERO,
                Duration::ZERO,
            ),
            (Lag::Seeded { typical, longest }, Duration::ZERO, longest),
            (Lag::LongTail { typical, p99, longest }, typical / 2, longest),
        ] {
            let mut delays = Delays::default();
            let propagation = Propagation {
                seed: 1,
                place: "by-g",
                lag,
            };
            let found: BTreeSet<Duration> = (0..100).map(|_| delays.next(7, &propagation)).collect();
            assert!(found.iter().all(|delay| (least..=most).contains(delay)), "{lag:?}");
            let varies = least < most;
            assert_eq!(found.len() > 90, varies, "{lag:?}: {found:?}");
            // A change without a lag takes a shorter way into a queue that is empty, so only others may be counted.
            assert_eq!(delays.0.is_empty(), !varies, "{lag:?}");
            let within = found.iter().filter(|delay| **delay <= typical).count();
            assert!(
                !varies || (35..=65).contains(&within),
                "{lag:?}: {within} of 100 are typical"
            );
        }
    }

    #[test]
    fn counters_are_bounded() {
        let typical = Duration::from_secs(1);
        let propagation = Propagation {
            seed: 1,
            place: "by-g",
            lag: Lag::Seeded {
                typical,
                longest: typical,
            },
        };
        let mut delays = Delays((0..MOST_ITEMS as u64 - 1).map(|item| (item, 1)).collect());
        delays.next(u64::MAX, &propagation);
        assert_eq!(delays.0.len(), MOST_ITEMS);
        delays.next(0, &propagation);
        assert_eq!((delays.0.len(), delays.0[&0]), (1, 1), "counting has restarted");
    }
}
