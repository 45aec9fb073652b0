//! Searches of a vector index: the distance to every entry is computed, so results are exact.

use std::cmp::Ordering;

use super::{due, trace};
use crate::change::vector::{self, VectorEntry};
use crate::context::Context;
use crate::limits;
use crate::plan::VectorSearch;

/// A result of a search.
#[derive(Clone, Debug)]
pub struct SearchHit {
    pub score: f32,
    pub entry: VectorEntry,
}

/// The nearest entries that satisfy the condition, nearest first, as many as fit in one response. Ties are ordered by key.
pub fn search(context: &Context<'_>, search: &VectorSearch<'_>) -> Vec<SearchHit> {
    let mut found = nearest(context, search);
    found.truncate(within_one_answer(found.iter().map(|found| found.entry.item().size())));
    context.record(|recorder| trace::searched(recorder, search, Ok(found.len())));
    found
}

fn nearest(context: &Context<'_>, search: &VectorSearch<'_>) -> Vec<SearchHit> {
    let (table, shape) = (&search.target.table, &search.target.shape);
    let (index, range, now) = (&shape.vectors[search.at], &search.range, context.now);
    let settled = |is_due: &dyn Fn() -> bool| index.settled_within(range, now, is_due);
    let entries = due::with_nothing_due(table, shape, now, || index.within(range, now), settled);
    let distance = search.index().distance;
    let mut nearest: Vec<SearchHit> = Vec::with_capacity(search.most + 1);
    for entry in entries {
        let condition = search.condition.as_ref();
        if !condition.is_none_or(|condition| condition.matches(entry.item())) {
            continue;
        }
        let score = vector::score(distance, entry.vector(), &search.vector);
        let behind = |found: &SearchHit| vector::nearer(distance, found.score, score) != Ordering::Greater;
        let place = nearest.partition_point(behind);
        nearest.insert(place, SearchHit { score, entry });
        nearest.truncate(search.most);
    }
    nearest
}

/// The number of results of these sizes that fit in one response.
fn within_one_answer(sizes: impl Iterator<Item = usize>) -> usize {
    let mut total = 0;
    let fits = |size: &usize| {
        total += size;
        total <= limits::SEARCH_SIZE
    };
    sizes.take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_sixteen_megabytes_at_most() {
        const MB: usize = 1 << 20;
        for (sizes, expect) in [
            (&[][..], 0),
            (&[16 * MB], 1),
            (&[16 * MB + 1], 0),
            (&[8 * MB, 8 * MB], 2),
            (&[8 * MB, 8 * MB, 1], 2),
            (&[8 * MB, 8 * MB + 1, 1], 1),
        ] {
            assert_eq!(within_one_answer(sizes.iter().copied()), expect, "{sizes:?}");
        }
    }
}
