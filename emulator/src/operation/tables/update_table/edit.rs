//! The change of a table's settings by an UpdateTable.

use std::sync::Arc;

use compact_str::CompactString;

use crate::clock::Moment;
use crate::context::Context;
use crate::error::ApiError;
use crate::operation::tables::description::GlobalView;
use crate::request::UpdateTable;
use crate::schema::Definition;
use crate::storage::{Job, JobKind, Shape, Table, TableSettings};

/// The result of the update.
pub struct Outcome {
    pub(super) shape: Arc<Shape>,
    pub(super) now: Moment,
    /// The table's replicas before the change, if it changes them.
    pub(super) replicas: Option<GlobalView>,
}

/// Rejects changes of a table that is being created or deleted.
pub(super) fn check_active(table: &Table, shape: &TableSettings, now: Moment) -> Result<(), ApiError> {
    let name = &table.name;
    if shape.is_deleting() {
        return Err(ApiError::in_use(format_args!("Table is being deleted: {name}")));
    }
    if shape.is_restoring(now) || (now < shape.active_at && table.is_replica()) {
        return Err(ApiError::table_not_found_named(name));
    }
    if now < shape.active_at {
        return Err(ApiError::in_use(format_args!("Table is being created: {name}")));
    }
    Ok(())
}

/// A change of a table's settings, under all locks of the table. If it fails nothing is changed.
pub(super) struct TableUpdate<'e> {
    pub(super) context: &'e Context<'e>,
    pub(super) table: &'e Table,
    pub(super) shape: &'e mut TableSettings,
    pub(super) request: &'e UpdateTable,
}

impl TableUpdate<'_> {
    pub(super) fn definition(&mut self) -> &mut Definition {
        Arc::make_mut(&mut self.shape.definition)
    }

    /// Whether changes take time and have a cooldown.
    pub(super) fn takes_time(&self) -> bool {
        self.shape.takes_time()
    }

    /// When a change completes that takes `times` times as long as the creation of a table (measured: about 6 s).
    pub(super) fn after(&self, what: &str, times: f64) -> Moment {
        self.shape.later(self.context.now, what, &self.table.name, times)
    }

    pub(super) fn begin(&mut self, work: JobKind, until: Moment) {
        self.shape.jobs.push(Job { work, until });
    }

    /// The names of the indexes whose jobs match.
    pub(super) fn indexes_in(&self, matches: impl Fn(&JobKind) -> bool) -> Option<String> {
        let jobs = self.shape.jobs.iter().filter(|job| matches(&job.work));
        let names: Vec<&str> = jobs.filter_map(Job::index).map(CompactString::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The indexes for which the service is still allocating resources.
    pub(super) fn allocating(&self) -> Option<String> {
        let now = self.context.now;
        self.indexes_in(|work| matches!(work, JobKind::CreateIndex { allocated, .. } if *allocated > now))
    }

    /// The indexes that are being deleted.
    pub(super) fn deleting(&self) -> Option<String> {
        self.indexes_in(|work| matches!(work, JobKind::DeleteIndex { .. } | JobKind::DeleteVectorIndex { .. }))
    }
}
