//! The item count and size in a table's descriptions: updated only at intervals, as the service does.

use std::sync::Arc;

use crate::sync::Mutex;
use crate::value::Name;

/// The number of items, and their total size.
pub type ItemCount = (usize, usize);

/// The counts of a table and its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub table: ItemCount,
    /// The entries of its indexes.
    pub(super) indexes: Vec<(Name, ItemCount)>,
}

impl Census {
    /// The entries of an index; zero if it did not exist yet.
    pub fn index(&self, name: &str) -> ItemCount {
        let mut indexes = self.indexes.iter();
        let found = indexes.find(|(index, _)| index == name);
        found.map(|(_, count)| *count).unwrap_or_default()
    }
}

/// The last census of a table, and the number of the period in which it was taken.
#[derive(Debug, Default)]
pub(super) struct Censuses(Mutex<(u64, Arc<Census>)>);

impl Censuses {
    /// The census of a period, if it has been taken. The lock encloses no other.
    pub(super) fn of_period(&self, period: u64) -> Option<Arc<Census>> {
        let last = self.0.lock();
        (last.0 == period).then(|| Arc::clone(&last.1))
    }

    /// The last census and its period. A new table has that of the first period, in which it is described as empty.
    pub(super) fn last(&self) -> (u64, Arc<Census>) {
        self.0.lock().clone()
    }

    pub(super) fn set(&self, period: u64, census: Arc<Census>) {
        *self.0.lock() = (period, census);
    }
}
