//! Counts decisions that have no ordinal of their own.

use std::collections::BTreeMap;

use crate::sync::Mutex;

/// The number of decisions of each kind, for decisions that have no other ordinal.
#[derive(Debug, Default)]
pub struct Ordinals(Mutex<OrdinalCounts>);

#[derive(Debug, Default)]
pub(super) struct OrdinalCounts(BTreeMap<(u64, u64), u64>);

/// The maximum number of counters; beyond it counting restarts.
const MOST_ORDINALS: usize = 1 << 20;

impl Ordinals {
    /// Counts a decision with this hash, of the owner with this one; the first is 1.
    pub fn next(&self, owner: u64, id: u64) -> u64 {
        self.0.lock().next(owner, id)
    }

    pub fn clear(&self) {
        self.0.lock().0.clear();
    }
}

impl OrdinalCounts {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn next(&mut self, owner: u64, id: u64) -> u64 {
        if self.0.len() >= MOST_ORDINALS {
            self.0.clear();
        }
        let ordinal = self.0.entry((owner, id)).or_default();
        *ordinal += 1;
        *ordinal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_counted_by_owner_and_id() {
        let ordinals = Ordinals::default();
        let counted = [(0, 7), (0, 7), (0, 8), (1, 7)].map(|(owner, id)| ordinals.next(owner, id));
        assert_eq!(counted, [1, 2, 1, 1]);
        ordinals.clear();
        assert_eq!(ordinals.next(0, 7), 1);
    }

    #[test]
    fn counters_are_bounded() {
        let ordinals = Ordinals::default();
        (0..MOST_ORDINALS as u64).for_each(|id| assert_eq!(ordinals.next(0, id), 1));
        assert_eq!(ordinals.0.lock().0.len(), MOST_ORDINALS);
        assert_eq!(ordinals.next(0, 0), 1, "counting has restarted");
        assert_eq!(ordinals.0.lock().0.len(), 1);
    }
}
