//! The cost and latency of replication to a table.

use std::time::Duration;

use crate::capacity::units::Units;
use crate::change::Change;
use crate::journal::Samples;
use crate::sorted::SortedMap;
use crate::sync::Mutex;
use crate::value::Name;

/// The changes that have arrived at a table from other regions since its creation.
#[derive(Debug, Default)]
pub struct ReplicationCounts(Mutex<ReplicationTotals>);

#[derive(Debug, Default)]
struct ReplicationTotals {
    /// Milliseconds from the write to its arrival, by region.
    latencies: SortedMap<Name, Samples>,
    /// Replicated write units of the table, and write units of its global indexes.
    units: SortedMap<Option<Name>, Units>,
}

impl ReplicationCounts {
    /// Counts a change from a region with its latency, and its effect here.
    pub fn add(&self, source: &Name, latency: Duration, change: Option<&Change>) {
        let mut counts = self.0.lock();
        let milliseconds = latency.as_secs_f64() * 1000.0;
        counts.latencies.get_or_default(source).add(milliseconds);
        let Some(change) = change else { return };
        for part in change.cost() {
            *counts.units.get_or_default(&part.global.cloned()) += part.units;
        }
    }

    /// The latencies of the changes from a region, in milliseconds.
    pub fn latency_from(&self, source: &str) -> Option<Samples> {
        self.0.lock().latencies.get(source).copied()
    }

    /// The consumed write units, of the table and of its global indexes.
    pub fn units(&self) -> Vec<(Option<Name>, Units)> {
        let counts = self.0.lock();
        counts
            .units
            .iter()
            .map(|(index, units)| (index.clone(), *units))
            .collect()
    }
}
