//! Searches of a vector index: every entry is measured, so what comes back is exact.

use std::cmp::Ordering;

use super::due;
use super::{Context, Target};
use crate::change::vector::{self, Entry};
use crate::schema::VectorIndex;
use crate::storage::KeyRange;

/// What is searched for.
pub struct Search<'s> {
    /// The index's place among the vector indexes.
    pub at: usize,
    /// The index.
    pub index: &'s VectorIndex,
    /// Where in it.
    pub range: KeyRange,
    /// Near what.
    pub vector: &'s [f32],
    /// How many at most.
    pub most: usize,
}

/// An entry that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// How near it is.
    pub score: f32,
    /// The entry.
    pub entry: Entry,
}

/// The nearest entries of those that `keep` lets pass, nearest first. Of those that are equally near, the first by key comes
/// first.
pub fn search(
    context: &Context<'_>,
    target: &Target,
    search: &Search<'_>,
    keep: impl Fn(&Entry) -> bool,
) -> Vec<Found> {
    let Target { table, shape, .. } = target;
    let (index, range, now) = (&shape.vectors[search.at], &search.range, context.now);
    let settled = |is_due: &dyn Fn() -> bool| index.settled_within(range, now, is_due);
    let entries = due::with_nothing_due(table, shape, now, || index.within(range, now), settled);
    let distance = search.index.distance;
    let mut nearest: Vec<Found> = Vec::with_capacity(search.most + 1);
    for entry in entries {
        if !keep(&entry) {
            continue;
        }
        let score = vector::score(distance, entry.vector(), search.vector);
        let behind = |found: &Found| vector::nearer(distance, found.score, score) != Ordering::Greater;
        let place = nearest.partition_point(behind);
        nearest.insert(place, Found { score, entry });
        nearest.truncate(search.most);
    }
    nearest
}
