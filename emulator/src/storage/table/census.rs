//! Counting the items of a table and the entries of its indexes.

use std::sync::Arc;

use super::super::census::Census;
use super::super::commit::{Committed, Mutation};
use super::super::shape::Shape;
use super::Table;
use crate::clock::Moment;

impl Table {
    /// The counts in its descriptions at `now`: those taken by the first description in this period of
    /// `statistics_age`. A new table is described as empty during the first period.
    pub fn census(&self, shape: &Shape, now: Moment) -> Arc<Census> {
        let age = shape.conditions.statistics_age.as_micros();
        if age == 0 {
            return Arc::new(self.take_census(shape, now));
        }
        // Moments are microseconds in 64 bits.
        let period = (now.since(self.created).as_micros() / age) as u64;
        if let Some(census) = self.censuses.of_period(period) {
            return census;
        }
        let census = Arc::new(self.take_census(shape, now));
        let committed = self.log().begin_due(now, || {
            vec![Mutation::TakeCensus {
                table: self.ordinal,
                period,
                census: Census::clone(&census),
            }]
        });
        self.set_census(&committed, period, Arc::clone(&census));
        census
    }

    /// Keeps the census of a period.
    pub(in crate::storage) fn set_census(&self, _: &Committed<'_>, period: u64, census: Arc<Census>) {
        self.censuses.set(period, census);
    }

    fn take_census(&self, shape: &Shape, now: Moment) -> Census {
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
        for (index, contents) in shape.leaving(now) {
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
