//! The item count and size in a table's descriptions: updated only at intervals, as the service does.

use std::sync::Arc;

use super::table::{Shape, Table};
use crate::clock::Moment;
use crate::sync::Mutex;
use crate::value::Name;

/// The number of items, and their total size.
pub type ItemCount = (usize, usize);

/// The counts of a table and its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub table: ItemCount,
    /// The entries of its indexes.
    indexes: Vec<(Name, ItemCount)>,
}

impl Census {
    /// The entries of an index; zero if it did not exist yet.
    pub fn index(&self, name: &str) -> ItemCount {
        let mut indexes = self.indexes.iter();
        let found = indexes.find(|(index, _)| index == name);
        found.map(|(_, count)| *count).unwrap_or_default()
    }

    fn take(table: &Table, shape: &Shape) -> Census {
        let definition = &shape.definition;
        let mut indexes = Vec::new();
        for (at, index) in definition.locals.iter().enumerate() {
            indexes.push((index.name.clone(), table.count_local(at)));
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
            table: table.count(),
            indexes,
        }
    }
}

/// The last census of a table, and the number of the period in which it was taken.
#[derive(Debug, Default)]
pub(super) struct Censuses(Mutex<(u128, Arc<Census>)>);

impl Table {
    /// The counts in its descriptions at `now`: those taken by the first description in this period of
    /// `statistics_age`. A new table is described as empty during the first period.
    pub fn census(&self, shape: &Shape, now: Moment) -> Arc<Census> {
        let age = shape.conditions.statistics_age.as_micros();
        if age == 0 {
            return Arc::new(Census::take(self, shape));
        }
        let period = now.since(self.created).as_micros() / age;
        let known = {
            let last = self.censuses.0.lock();
            (last.0 == period).then(|| Arc::clone(&last.1))
        };
        if let Some(known) = known {
            return known;
        }
        let census = Arc::new(Census::take(self, shape));
        *self.censuses.0.lock() = (period, Arc::clone(&census));
        census
    }
}
