//! A stream as settings and checkpoints contain it.

use std::collections::VecDeque;

use super::lineage::LineageState;
use super::record::Record;
use crate::clock::Moment;
use crate::schema::{KeySchema, StreamView};
use crate::value::Name;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    pub at: Moment,
    /// From when on it is `DISABLED`.
    pub settled: Moment,
}

/// A stream in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    pub(in crate::storage) arn: String,
    pub(in crate::storage) label: String,
    pub(in crate::storage) table: Name,
    pub(in crate::storage) key: KeySchema,
    pub(in crate::storage) view: StreamView,
    pub(in crate::storage) created: Moment,
    pub(in crate::storage) enabled_at: Moment,
    pub(in crate::storage) seed: u64,
    pub(in crate::storage) end: Option<StreamEnd>,
    /// The next numbers: of a record, and of a shard.
    pub(in crate::storage) numbers: (u64, i64),
    pub(in crate::storage) starts: Vec<u64>,
    pub(in crate::storage) lineages: Vec<LineageState>,
}

impl StreamState {
    /// Takes the records out: lists of them, each with its shard, in order.
    pub(in crate::storage) fn take_records(&mut self) -> impl Iterator<Item = (String, VecDeque<Record>)> {
        let shards = self.lineages.iter_mut().flat_map(|lineage| &mut lineage.shards);
        shards.map(|shard| (shard.id.clone(), std::mem::take(&mut shard.records)))
    }
}

/// A stream's label: a moment to the millisecond.
pub(in crate::storage) fn label_of(created: Moment) -> String {
    let mut label = created.to_string();
    label.pop(); // the Z
    label
}
