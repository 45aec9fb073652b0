//! Which state of a partition a read sees, while reads may be stale.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::Context;
use crate::chance::{self, StableHash};
use crate::clock::Moment;
use crate::storage::{History, Table, Walk};
use crate::sync::Mutex;

/// Callers and partitions that are remembered at most; for more, a read that must not go back is a current one.
const MOST_READERS: usize = 1 << 18;

/// The state in which a read sees a partition; `None` if it sees it as it is. `key` names what is read, so that each key
/// has decisions of its own.
pub(super) fn state(
    context: &Context<'_>,
    table: &Table,
    place: usize,
    history: &History,
    key: &[u8],
    consistent: bool,
) -> Option<u64> {
    let present = history.present();
    let mut state = present;
    if !consistent {
        let seed = context.engine.seed();
        let name = StableHash::new(seed).bytes(table.name.as_bytes()).word(place as u64);
        let id = name.bytes(key).finish();
        let ordinal = context.engine.decided().next(context.scope.hash(), id);
        let decide = |what| chance::decide(seed, what, &id.to_le_bytes(), ordinal);
        if history.share >= 1.0 || chance::share(decide("whether a read is stale")) < history.share {
            state = history.state(context.now, history.staleness.of(decide("stale read")));
        }
    }
    if history.monotonic {
        // Each word by itself: the two numbers are small, and one must not cancel the other.
        let reader = StableHash::new(0).word(table.ordinal).word(place as u64);
        let reader = reader.bytes(context.caller.access_key.as_bytes()).finish();
        let forget = context.now.minus(history.staleness.longest());
        state = context
            .engine
            .readers()
            .advance(reader, state, present, (forget, context.now));
    }
    (state != present).then_some(state)
}

/// The same for a page, which is named by where it begins.
pub(super) fn state_of_page(
    context: &Context<'_>,
    table: &Table,
    place: usize,
    history: &History,
    walk: &Walk<'_>,
    consistent: bool,
) -> Option<u64> {
    let begin = if walk.forward {
        &walk.range.lower
    } else {
        &walk.range.upper
    };
    let key: &[u8] = match begin {
        Bound::Included(key) | Bound::Excluded(key) => &key.bytes,
        Bound::Unbounded => &[],
    };
    state(context, table, place, history, key, consistent)
}

/// The newest state that each caller has seen of each partition, where reads never go back.
///
/// ```
/// use dynatwin_engine::execute::Readers;
///
/// Readers::default().clear();
/// ```
#[derive(Debug, Default)]
pub struct Readers(Mutex<BTreeMap<u64, (u64, Moment)>>);

impl Readers {
    /// The state that a reader sees who would see `state`: that, or the one seen before if it is newer, and at most the
    /// present one. Readers who have not come since `forget` can see nothing older anyway.
    fn advance(&self, reader: u64, state: u64, present: u64, (forget, now): (Moment, Moment)) -> u64 {
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

    /// Forgets all.
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

    #[test]
    fn a_reader_never_goes_back() {
        let readers = Readers::default();
        let see = |reader, state, present| readers.advance(reader, state, present, (at(0), at(9)));
        assert_eq!(see(1, 5, 9), 5);
        assert_eq!(see(1, 3, 9), 5);
        assert_eq!(see(2, 3, 9), 3, "another reader has seen less");
        assert_eq!(see(1, 7, 9), 7);
        assert_eq!(see(1, 9, 6), 6, "nobody sees more than there is");
        readers.clear();
        assert_eq!(see(1, 3, 9), 3);
    }

    #[test]
    fn of_too_many_readers_the_new_ones_see_the_present() {
        let readers = Readers::default();
        let see = |reader, (forget, now)| readers.advance(reader, 5, 9, (at(forget), at(now)));
        for reader in 0..MOST_READERS as u64 - 1 {
            see(reader, (0, 10));
        }
        assert_eq!(see(u64::MAX, (0, 20)), 5, "there is room for one more");
        assert_eq!(see(u64::MAX - 1, (9, 20)), 9, "there is none");
        assert_eq!(see(7, (9, 20)), 5, "who is known stays known");
        // All but the two that have come later are forgotten, since they can see nothing older anyway.
        assert_eq!(see(u64::MAX - 1, (10, 20)), 5);
        assert_eq!(readers.0.lock().len(), 3);
    }
}
