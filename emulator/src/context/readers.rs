//! The latest state of each partition that a caller has read, for monotonic reads.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::storage::ChangePosition;
use crate::sync::Mutex;

/// Callers and partitions that are remembered at most; for more, a read that must not go back is a current one.
const MOST_READERS: usize = 1 << 18;

/// The newest state that each caller has seen of each partition, where reads never go back.
#[derive(Debug, Default)]
pub struct Readers(Mutex<BTreeMap<u64, (ChangePosition, Moment)>>);

impl Readers {
    /// The state that a reader sees when `state` is chosen: `state` itself, or the one it saw before if that is newer, and at
    /// most the present one. Readers idle since `forget` cannot see an older state anyway.
    pub fn advance(
        &self,
        reader: u64,
        state: ChangePosition,
        present: ChangePosition,
        (forget, now): (Moment, Moment),
    ) -> ChangePosition {
        let mut seen = self.0.lock();
        if seen.len() >= MOST_READERS && !seen.contains_key(&reader) {
            seen.retain(|_, (_, last)| *last > forget);
            if seen.len() >= MOST_READERS {
                return present;
            }
        }
        let entry = seen.entry(reader).or_insert((state, now));
        *entry = (entry.0.max(state).min(present), entry.1.max(now));
        entry.0
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    /// The state after a change of a second.
    fn state(second: i64) -> ChangePosition {
        ChangePosition {
            at: at(second),
            number: 0,
        }
    }

    /// [`Readers::advance`], with the second of each state.
    fn advance(readers: &Readers, reader: u64, (of, present): (i64, i64), (forget, now): (i64, i64)) -> i64 {
        let seen = readers.advance(reader, state(of), state(present), (at(forget), at(now)));
        seen.at.seconds()
    }

    #[test]
    fn a_reader_never_goes_back() {
        let readers = Readers::default();
        let see = |reader, state, present| advance(&readers, reader, (state, present), (0, 9));
        assert_eq!(see(1, 5, 9), 5);
        assert_eq!(see(1, 3, 9), 5);
        assert_eq!(see(2, 3, 9), 3, "another reader has seen less");
        assert_eq!(see(1, 7, 9), 7);
        assert_eq!(see(1, 9, 6), 6, "nobody sees more than there is");
        readers.clear();
        assert_eq!(see(1, 3, 9), 3);
    }

    #[test]
    fn new_readers_beyond_the_limit_read_the_present_state() {
        let readers = Readers::default();
        let see = |reader, times| advance(&readers, reader, (5, 9), times);
        for reader in 0..MOST_READERS as u64 - 1 {
            see(reader, (0, 10));
        }
        assert_eq!(see(u64::MAX, (0, 20)), 5, "there is room for one more");
        assert_eq!(see(u64::MAX - 1, (9, 20)), 9, "there is none");
        assert_eq!(see(7, (9, 20)), 5, "who is known stays known");
        // All but the two latest readers are forgotten: no state older than theirs can be read any more.
        assert_eq!(see(u64::MAX - 1, (10, 20)), 5);
        assert_eq!(readers.0.lock().len(), 3);
    }
}
