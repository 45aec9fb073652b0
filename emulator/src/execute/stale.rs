//! Chooses the state of a partition that a read observes, while reads may be stale.

use std::ops::Bound;

use crate::chance::{self, StableHash};
use crate::clock::Moment;
use crate::context::Context;
use crate::storage::{ChangePosition, Contents, History, Table, Walk};

/// The state of a partition that a read observes; `None` for the present one. `key` identifies the read item or range,
/// so that each key has its own decisions.
pub(super) fn state(
    context: &Context<'_>,
    table: &Table,
    place: usize,
    (contents, history): (&Contents, &History),
    key: &[u8],
    consistent: bool,
) -> Option<ChangePosition> {
    let mut state = None;
    if !consistent {
        let seed = context.engine.seed();
        let name = StableHash::new(seed).bytes(table.name.as_bytes()).word(place as u64);
        let id = name.bytes(key).finish();
        let ordinal = context.engine.decided().next(context.scope.hash(), id);
        let decide = |what| chance::decide(seed, what, &id.to_le_bytes(), ordinal);
        if history.share >= 1.0 || chance::share(decide("whether a read is stale")) < history.share {
            state = Some(history.state(context.now, history.staleness.of(decide("stale read"))));
        }
    }
    if history.monotonic {
        // Hashed separately: the two numbers are small, and must not cancel each other.
        let reader = StableHash::new(0).word(table.ordinal).word(place as u64);
        let reader = reader.bytes(context.caller.access_key.as_bytes()).finish();
        let forget = context.now.minus(history.staleness.longest());
        let present = history.present();
        let chosen = state.map_or(present, |state| state.min(present));
        let times = (forget, context.now);
        state = Some(context.engine.readers().advance(reader, chosen, present, times));
    }
    let state = state?;
    let replaced = next_change(table, (contents, history), state, context.now)?;
    context.record(|recorder| recorder.set_read_age(context.now.since(replaced)));
    Some(state)
}

/// When the first change after a state happened, or became due by `now` without being applied.
fn next_change(
    table: &Table,
    (contents, history): (&Contents, &History),
    state: ChangePosition,
    now: Moment,
) -> Option<Moment> {
    let applied = history.next_change(state);
    if table.is_sliced() {
        return applied;
    }
    let due = contents.next_deletion_due(state.at).filter(|due| *due <= now);
    applied.into_iter().chain(due).min()
}

/// The state in which a page sees a partition; the page is identified by its start.
pub(super) fn state_of_page(
    context: &Context<'_>,
    table: &Table,
    place: usize,
    (contents, history): (&Contents, &History),
    walk: &Walk<'_>,
    consistent: bool,
) -> Option<ChangePosition> {
    let begin = if walk.forward {
        &walk.range.lower
    } else {
        &walk.range.upper
    };
    let key: &[u8] = match begin {
        Bound::Included(key) | Bound::Excluded(key) => &key.bytes,
        Bound::Unbounded => &[],
    };
    state(context, table, place, (contents, history), key, consistent)
}
