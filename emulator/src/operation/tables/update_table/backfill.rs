//! Filling the indexes that an UpdateTable has added.

use std::sync::Arc;
use std::time::Duration;

use crate::capacity::Direction;
use crate::clock::Moment;
use crate::context::Context;
use crate::error::ApiError;
use crate::limits;
use crate::schema::{BillingMode, Index};
use crate::storage::{Job, JobKind, Shape, Table};
use crate::value::Name;

/// Fills the indexes that `shape` is creating. Concurrent requests see them as `CREATING`. Returns the settings afterwards.
pub(super) fn run(context: &Context<'_>, table: &Table, shape: Arc<Shape>) -> Result<Arc<Shape>, ApiError> {
    if !shape.jobs.iter().any(Job::is_filling) {
        return Ok(shape);
    }
    for job in &shape.jobs {
        if let JobKind::CreateIndex {
            index,
            allocated,
            earliest,
        } = &job.work
            && job.is_filling()
        {
            let units = table.backfill(index).as_f64();
            let end = allocated.plus(duration(context, table, &shape, index, units));
            if let Some(ledger) = table.capacity.lock().as_mut() {
                ledger.share_with_backfill(index, (*allocated, end), context.now);
            }
            table.end_backfill(index, end.max(*earliest), context.now)?;
        }
    }
    Ok(table.shape())
}

/// The time that writing these units takes at the index's rate: zero where changes take no time.
fn duration(context: &Context<'_>, table: &Table, shape: &Shape, index: &Name, units: f64) -> Duration {
    if !shape.takes_time() {
        return Duration::ZERO;
    }
    let seconds = units / rate(table, shape, index, context.now).max(1) as f64;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// The write units per second of a backfill. It shares those of the index with concurrent writes (Developer Guide,
/// "Managing Global Secondary Indexes"); the guide does not say how, and in the emulator each has half of the
/// provisioned units. On demand the service adds what it needs.
fn rate(table: &Table, shape: &Shape, index: &Name, now: Moment) -> u64 {
    let provisioned = |(_, index): (usize, &Index)| index.throughput.write.div_ceil(2);
    match shape.definition.billing {
        BillingMode::Provisioned => shape.definition.index(index).map_or(0, provisioned),
        BillingMode::PayPerRequest => {
            let mut ledger = table.capacity.lock();
            let counted = ledger
                .as_mut()
                .and_then(|ledger| ledger.rate(Some(index), Direction::Write, now));
            counted.unwrap_or(limits::ON_DEMAND_WRITE_UNITS)
        }
    }
}
