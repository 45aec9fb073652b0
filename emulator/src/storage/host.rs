//! The state that the tables of an engine share.

use std::sync::Arc;

use super::agenda::Wakes;
use super::commit::RegionLog;
use crate::journal::EventLog;
use crate::reclaim::Reclaimer;
use crate::sync::AtomicU64;

/// The state that the tables of an engine share.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub reclaimer: Reclaimer,
    /// Whether requests run only some of many due deletions by time to live.
    pub sliced: bool,
    /// The log of the region's commits.
    pub log: RegionLog,
    /// The log of internal events.
    pub events: Arc<EventLog>,
    /// The number of writes to global tables.
    pub writes: Arc<AtomicU64>,
    /// The scopes with queued changes from other regions.
    pub wakes: Arc<Wakes>,
}
