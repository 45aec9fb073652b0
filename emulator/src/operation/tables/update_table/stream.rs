//! Enabling and disabling a stream (docs/behavior: 04 4.1 and 5.3).

use super::edit::TableUpdate;
use crate::error::ApiError;
use crate::request::StreamSpecification;
use crate::schema::StreamView;
use crate::storage::{Job, JobKind, TableStream};

/// Measured: 4 to 5 s.
const SWITCH: f64 = 0.75;

/// The requested stream view, or `None` to disable it.
fn view(requested: &StreamSpecification) -> Result<Option<StreamView>, ApiError> {
    let view = requested.stream_view_type.as_deref();
    match (requested.stream_enabled, view) {
        (Some(true), None) => Err(ApiError::invalid(
            "If stream is being enabled then UpdateViewType is required",
        )),
        (Some(true), Some(view)) => Ok(StreamView::from_name(view)),
        (_, Some(_)) => Err(ApiError::invalid(
            "If stream is being disabled, then UpdateViewType must not be specified",
        )),
        (_, None) => Ok(None),
    }
}

pub(super) fn check(requested: Option<&StreamSpecification>) -> Result<(), ApiError> {
    requested.map_or(Ok(()), |requested| view(requested).map(drop))
}

impl TableUpdate<'_> {
    /// The change of the stream in progress, as the service names it.
    fn switching(&self) -> Option<String> {
        self.shape.jobs.iter().find_map(|job| match &job.work {
            JobKind::Stream { label, enables } => {
                let operation = if *enables { "ENABLE" } else { "DISABLE" };
                let table = &self.table.name;
                Some(format!("Table: {table} Stream: {label} Operation: {operation}"))
            }
            _ => None,
        })
    }

    /// Rejects a change of `what` while the stream is being enabled or disabled.
    pub(super) fn refuse_while_stream_switches(&self, what: &str) -> Result<(), ApiError> {
        match self.switching() {
            None => Ok(()),
            Some(switch) => Err(ApiError::in_use(format_args!(
                "Can't {what} when stream status is being updated. {switch}"
            ))),
        }
    }

    /// Whether the stream is being enabled or disabled.
    pub(super) fn stream_switches(&self) -> bool {
        self.switching().is_some()
    }

    /// Enables or disables the stream, after all checks of the request.
    pub(super) fn stream(&mut self) -> Result<(), ApiError> {
        let Some(requested) = &self.request.stream_specification else {
            return Ok(());
        };
        let view = view(requested)?;
        self.check_switch()?;
        let name = &self.table.name;
        match (self.shape.has_stream(), view) {
            (true, Some(_)) => {
                return Err(ApiError::validation(format!(
                    "Table already has an enabled stream: TableName: {name}"
                )));
            }
            (false, None) => {
                return Err(ApiError::validation(format!(
                    "Table has no stream to disable: TableName: {name}"
                )));
            }
            _ => {}
        }
        let until = self.after("stream", SWITCH);
        match view {
            None => self.shape.close_stream(self.context.now, until),
            Some(view) => {
                let region = self.context.engine.catalog().region_or_new(&self.context.scope);
                let starts = self.shape.shard_starts(self.context.now);
                self.shape.open_stream(TableStream {
                    created: region.stream_label(&self.table.arn, self.context.now),
                    view,
                    enabled_at: until,
                    starts,
                    end: None,
                });
            }
        }
        let label = self.shape.stream_settings.as_ref().map(TableStream::label);
        let work = JobKind::Stream {
            label: label.unwrap_or_default(),
            enables: view.is_some(),
        };
        self.begin(work, until);
        Ok(())
    }

    fn check_switch(&self) -> Result<(), ApiError> {
        if let Some(switch) = self.switching() {
            return Err(ApiError::in_use(format_args!(
                "A stream status change is currently in progress. {switch}"
            )));
        }
        // A change of billing in this request can be combined with a stream.
        let own = self.request.billing_mode.is_some();
        let busy = |job: &Job| job.is_throughput() && !(own && matches!(job.work, JobKind::Billing));
        if self.shape.jobs.iter().any(busy) {
            return Err(ApiError::in_use(format_args!(
                "Can't enable or disable stream while table IOPS are being updated. Table: {}",
                self.table.name
            )));
        }
        if self.allocating().is_some() {
            return Err(ApiError::in_use(
                "Can't change stream status when an index is being created",
            ));
        }
        Ok(())
    }
}
