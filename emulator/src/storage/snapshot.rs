//! A table at one moment.

use std::sync::Arc;

use super::items::Items;
use super::recovery::{ItemChange, RecoveryLog};
use super::shape::Shape;
use crate::clock::Moment;
use crate::key::Key;

/// A partition at one moment.
#[derive(Clone, Debug)]
pub struct PartitionSnapshot {
    pub items: Items,
    /// Earlier versions, while point-in-time recovery is enabled.
    pub log: Option<RecoveryLog>,
}

/// A table at one moment. It shares everything with the table until that is written to.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub shape: Arc<Shape>,
    pub partitions: Vec<PartitionSnapshot>,
}

impl Snapshot {
    /// Drops the history for point-in-time recovery, which a backup does not need.
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

    /// The items, partition by partition.
    pub fn items(&self) -> Vec<Items> {
        self.partitions.iter().map(|part| part.items.clone()).collect()
    }

    /// The items at `moment`, including its changes, partition by partition. The caller ensures that it lies within the
    /// recovery window.
    pub fn items_at(&self, moment: Moment) -> Vec<Items> {
        let roll_back = |part: &PartitionSnapshot| {
            let mut items = part.items.clone();
            if let Some(log) = &part.log {
                log.roll_back(&mut items, |at| at > moment);
            }
            items
        };
        self.partitions.iter().map(roll_back).collect()
    }

    /// The changes of items from `from` on and before `to`, partition by partition.
    pub fn changes(&self, from: Moment, to: Moment) -> Vec<Vec<(Key, ItemChange)>> {
        let changes = |part: &PartitionSnapshot| match &part.log {
            Some(log) => log.between(&part.items, from, to),
            None => Vec::new(),
        };
        self.partitions.iter().map(changes).collect()
    }
}
