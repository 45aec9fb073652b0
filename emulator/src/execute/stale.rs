//! Chooses the state of a partition that a read observes, while reads may be stale.

use std::ops::Bound;

use crate::chance::{self, StableHash};
use crate::context::Context;
use crate::storage::{History, Table, Walk};

/// The state of a partition that a read observes; `None` for the present one. `key` identifies the read item or range,
/// so that each key has its own decisions.
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
        // Hashed separately: the two numbers are small, and must not cancel each other.
        let reader = StableHash::new(0).word(table.ordinal).word(place as u64);
        let reader = reader.bytes(context.caller.access_key.as_bytes()).finish();
        let forget = context.now.minus(history.staleness.longest());
        state = context
            .engine
            .readers()
            .advance(reader, state, present, (forget, context.now));
    }
    let stale = (state != present).then_some(state);
    if let Some(state) = stale {
        context.record(|recorder| recorder.set_read_age(history.age(state, context.now)));
    }
    stale
}

/// The state in which a page sees a partition; the page is identified by its start.
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
