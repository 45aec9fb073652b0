//! A table at one moment, and what is kept of where a table came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::items::Items;
use super::recovery::{ItemChange, RecoveryLog};
use super::table::Shape;
use crate::clock::Moment;
use crate::key::Key;

/// A partition as it was at one moment.
#[derive(Clone, Debug)]
pub struct PartitionSnapshot {
    /// Its items.
    pub items: Items,
    /// Their sizes together.
    pub bytes: usize,
    /// What was there before, while point-in-time recovery is on.
    pub log: Option<RecoveryLog>,
}

/// A table as it was at one moment. It shares everything with the table until that is written to.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The shape.
    pub shape: Arc<Shape>,
    /// The partitions, in order.
    pub partitions: Vec<PartitionSnapshot>,
}

impl Snapshot {
    /// The same without what point-in-time recovery has kept, which a backup needs not.
    #[must_use]
    pub fn without_past(mut self) -> Snapshot {
        self.partitions.iter_mut().for_each(|part| part.log = None);
        if self.shape.recovery_logs.is_some() {
            let mut shape = Shape::clone(&self.shape);
            shape.recovery_logs = None;
            self.shape = Arc::new(shape);
        }
        self
    }

    /// How many items there are, and their sizes together.
    pub fn count(&self) -> (usize, usize) {
        self.partitions.iter().fold((0, 0), |(count, bytes), part| {
            (count + part.items.len(), bytes + part.bytes)
        })
    }

    /// The items, partition by partition.
    pub fn items(&self) -> Vec<Items> {
        self.partitions.iter().map(|part| part.items.clone()).collect()
    }

    /// The items as they were at `moment`, with what happened in it, partition by partition. The caller knows that this
    /// lies within what is kept.
    pub fn items_at(&self, moment: Moment) -> Vec<Items> {
        let lay_back = |part: &PartitionSnapshot| {
            let mut items = part.items.clone();
            if let Some(log) = &part.log {
                log.lay_back(&mut items, |at| at > moment);
            }
            items
        };
        self.partitions.iter().map(lay_back).collect()
    }

    /// What became of the items that were changed from `from` on and before `to`, partition by partition.
    pub fn changes(&self, from: Moment, to: Moment) -> Vec<BTreeMap<Key, ItemChange>> {
        let changes = |part: &PartitionSnapshot| match &part.log {
            Some(log) => log.between(&part.items, from, to),
            None => BTreeMap::new(),
        };
        self.partitions.iter().map(changes).collect()
    }
}

/// What a table was restored from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The backup, unless it was another table's past.
    pub backup_arn: Option<String>,
    /// The table that was backed up.
    pub table_arn: String,
    /// The moment that was restored.
    pub at: Moment,
    /// Whether the restore fails: then the table is gone when it would be ready.
    pub fails: bool,
}
