//! Counting the items of a table and the entries of its indexes.

use std::sync::Arc;

use super::super::census::Census;
use super::super::shape::Shape;
use super::Table;
use crate::clock::Moment;

impl Table {
    /// The counts in its descriptions at `now`: those taken by the first description in this period of
    /// `statistics_age`. A new table is described as empty during the first period.
    pub fn census(&self, shape: &Shape, now: Moment) -> Arc<Census> {
        let age = shape.conditions.statistics_age.as_micros();
        if age == 0 {
            return Arc::new(self.take_census(shape));
        }
        let period = now.since(self.created).as_micros() / age;
        self.censuses.of_period(period, || self.take_census(shape))
    }

    fn take_census(&self, shape: &Shape) -> Census {
        let definition = &shape.definition;
        let mut indexes = Vec::new();
        for (at, index) in definition.locals.iter().enumerate() {
            indexes.push((index.name.clone(), self.count_local(at)));
        }
        for (index, contents) in definition.globals.iter().zip(&shape.indexes) {
            indexes.push((index.name.clone(), contents.count()));
        }
        for (index, contents) in definition.vectors.iter().zip(&shape.vectors) {
            indexes.push((index.name.clone(), contents.count()));
        }
        for (index, contents) in &shape.leaving {
            indexes.push((index.clone(), contents.count()));
        }
        Census {
            table: self.count(),
            indexes,
        }
    }

    /// The number of items, and their total size.
    pub fn count(&self) -> (usize, usize) {
        self.partitions.iter().fold((0, 0), |(count, bytes), partition| {
            let contents = partition.read();
            (count + contents.len(), bytes + contents.bytes())
        })
    }

    /// The number of entries of a local index, and their total size.
    pub fn count_local(&self, local: usize) -> (usize, usize) {
        self.partitions.iter().fold((0, 0), |sum, partition| {
            let contents = partition.read();
            contents
                .local_entries(local)
                .fold(sum, |(count, bytes), (_, item)| (count + 1, bytes + item.size()))
        })
    }
}
