//! Shared by the operations on Kinesis destinations (docs/behavior: 04 12.1).
//!
//! No records are delivered, since there is no Kinesis. The calls, their states and their errors match the service's.

pub(super) mod describe_kinesis_streaming_destination;
pub(super) mod disable_kinesis_streaming_destination;
pub(super) mod enable_kinesis_streaming_destination;
pub(super) mod update_kinesis_streaming_destination;

use std::sync::Arc;

use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::operation::check::{self, words};
use crate::plan::{self, Target};
use crate::request::{KinesisConfiguration, KinesisDestination};
use crate::storage::{Attachments, Destination, Table, TableSettings, TableStage};
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The precision of a configuration that the model's constraints have checked.
pub fn precision(configuration: Option<&KinesisConfiguration>) -> Option<&'static str> {
    match configuration?.precision.as_deref()? {
        "MICROSECOND" => Some("MICROSECOND"),
        _ => Some("MILLISECOND"),
    }
}

/// Checks the members alone: the table's name and the stream's ARN. `member` is the name of the configuration.
pub fn check<'r>(request: &'r KinesisDestination, member: &str) -> Result<(&'r str, &'r Text), ApiError> {
    let name = check::control_table_name(request.table_name.as_ref())?;
    let mut violations = Violations::new();
    match &request.stream_arn {
        None => violations.missing("streamArn"),
        Some(arn) if arn.chars().count() < 37 => violations.value(arn, "streamArn", constraint::min_length(37)),
        Some(arn) if arn.chars().count() > 1024 => violations.value(arn, "streamArn", constraint::max_length(1024)),
        Some(_) => {}
    }
    let word = request
        .configuration
        .as_ref()
        .and_then(|each| each.precision.as_deref());
    if let Some(word) = word.filter(|word| !matches!(*word, "MILLISECOND" | "MICROSECOND")) {
        let path = format!("{member}.approximateCreationDateTimePrecision");
        violations.value(word, path, constraint::one_of(words::DATE_TIME_PRECISION));
    }
    violations.finish()?;
    let stream_arn = request.stream_arn.as_ref().ok_or_else(ApiError::internal)?;
    Ok((name, stream_arn))
}

/// A request that changes a table's destinations.
pub struct DestinationPlan<'r> {
    pub target: Target,
    /// The table's name as it was sent.
    pub name: &'r str,
    /// The ARN of the Kinesis stream.
    pub stream_arn: &'r Text,
    /// The precision of its configuration.
    pub precision: Option<&'static str>,
}

impl<'r> DestinationPlan<'r> {
    pub fn new(
        context: &Context<'_>,
        (name, stream_arn): (&'r str, &'r Text),
        precision: Option<&'static str>,
    ) -> Result<DestinationPlan<'r>, ApiError> {
        Ok(DestinationPlan {
            target: plan::sub_resource(context, name)?,
            name,
            stream_arn,
            precision,
        })
    }
}

/// The error for a destination in the wrong state.
pub fn not_in_state(why: impl std::fmt::Display) -> ApiError {
    ApiError::validation(format!(
        "Table is not in a valid state to enable Kinesis Streaming Destination: {why}"
    ))
}

/// Changes a table's destinations; `change` returns the new one.
pub fn change(
    context: &Context<'_>,
    table: &Table,
    change: impl FnOnce(&Table, &TableSettings) -> Result<Destination, ApiError>,
) -> Result<Destination, ApiError> {
    let mut made = None;
    table.reshape(context.now, |shape| {
        if table.stage(shape, context.now) == TableStage::Deleting {
            // The error is measured; the text after the colon follows the pattern of the others.
            return Err(not_in_state("TableStatus must be ACTIVE to perform this operation."));
        }
        let destination = change(table, shape)?;
        let attached: &mut Attachments = Arc::make_mut(&mut shape.attached);
        attached.set_destination(destination.clone(), context.now);
        made = Some(destination);
        Ok(())
    })?;
    made.ok_or_else(ApiError::internal)
}

/// Writes the response to a change: its intermediate state, even if it takes no time. `echo` is the member of the
/// configuration and its precision, which the response has even if the request does not.
pub fn answer(
    out: &mut Writer,
    table: &str,
    destination: &Destination,
    status: &str,
    echo: Option<(&str, Option<&str>)>,
) {
    let mut answer = Object::open(out);
    answer.string("TableName", plan::plain_name(table));
    answer.string("StreamArn", &destination.stream_arn);
    answer.string("DestinationStatus", status);
    if let Some((member, precision)) = echo {
        let mut configuration = answer.object(member);
        if let Some(precision) = precision {
            configuration.string("ApproximateCreationDateTimePrecision", precision);
        }
        configuration.close();
    }
    answer.close();
}
