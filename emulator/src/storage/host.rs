//! The state that the tables of an engine share.

use std::sync::Arc;

use super::agenda::Wakes;
use super::commit::RegionLog;
use crate::clock::Moment;
use crate::journal::EventLog;
use crate::reclaim::Reclaimer;
use crate::sync::{AtomicI64, AtomicU64, Ordering};

/// The state that the tables of an engine share.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub reclaimer: Reclaimer,
    /// Whether requests run only some of many due deletions by time to live.
    pub sliced: bool,
    /// The log of the region's commits.
    pub log: RegionLog,
    /// The steps of a settable clock whose due work is being applied.
    pub steps: Arc<ClockSteps>,
    /// The log of internal events.
    pub events: Arc<EventLog>,
    /// The number of writes to global tables.
    pub writes: Arc<AtomicU64>,
    /// The scopes with queued changes from other regions.
    pub wakes: Arc<Wakes>,
}

/// The steps of a settable clock that apply due work: each has a moment, moves the clock up to it, and ends when all work that is
/// due by then has been applied.
#[derive(Debug)]
pub struct ClockSteps {
    /// The number of steps.
    count: AtomicU64,
    /// The latest of their moments, in microseconds.
    until: AtomicI64,
}

impl Default for ClockSteps {
    fn default() -> ClockSteps {
        ClockSteps {
            count: AtomicU64::new(0),
            until: AtomicI64::new(Moment::FIRST.micros()),
        }
    }
}

impl ClockSteps {
    /// Begins a step, before the clock moves.
    pub fn begin(&self, until: Moment) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.until.fetch_max(until.micros(), Ordering::AcqRel);
    }

    /// Ends a step. If another step begins concurrently, [`until`](ClockSteps::until) may return [`FIRST`](Moment::FIRST) during it;
    /// requests then apply the due work themselves.
    pub fn end(&self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.until.store(Moment::FIRST.micros(), Ordering::Release);
        }
    }

    /// Whether there is a step.
    pub fn is_open(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// The moment up to which a step applies due work; [`FIRST`](Moment::FIRST) if there is none.
    pub fn until(&self) -> Moment {
        Moment::from_micros(self.until.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_last_until_the_latest_of_their_moments() {
        let (steps, at) = (ClockSteps::default(), Moment::from_seconds);
        assert!(!steps.is_open() && steps.until() == Moment::FIRST);
        for (moment, until) in [(at(20), at(20)), (at(10), at(20)), (at(30), at(30))] {
            steps.begin(moment);
            assert_eq!(steps.until(), until);
        }
        for open in [true, true, false] {
            assert_eq!(steps.until(), at(30));
            steps.end();
            assert_eq!(steps.is_open(), open);
        }
        assert_eq!(steps.until(), Moment::FIRST);
    }
}
