//! [UpdateKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateKinesisStreamingDestination.html).

use super::kinesis;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::UpdateKinesisDestination;
use crate::storage::{Destination, Phase};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// The member that says how.
const CONFIGURATION: &str = "UpdateKinesisStreamingConfiguration";
/// Measured: about 2 minutes.
const UPDATING: f64 = 20.0;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateKinesisDestination::decode(body)?.destination;
    let (name, stream_arn) = kinesis::check(&request, "updateKinesisStreamingConfiguration")?;
    let Some(precision) = kinesis::precision(request.configuration.as_ref()) else {
        return Err(ApiError::validation(
            "Streaming destination cannot be updated with given parameters: UpdateKinesisStreamingConfiguration cannot be null or contain only null values",
        ));
    };
    let destination = kinesis::change(context, name, |table, shape| {
        let Some(there) = shape.attached.destination(stream_arn, context.now) else {
            return Err(ApiError::validation(format!(
                "No streaming destination with streamArn: {stream_arn} found for table with tableName: {}",
                table.name
            )));
        };
        if there.status(context.now) != "ACTIVE" {
            return Err(kinesis::not_in_state(format_args!(
                "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. TableName: {}, kdsArn: {stream_arn}",
                table.name
            )));
        }
        // A destination without a precision has that of milliseconds.
        if there.precision.unwrap_or("MILLISECOND") == precision {
            return Err(ApiError::validation(format!(
                "Invalid Request: Precision is already set to the desired value of {precision} for tableId: {}, kdsArn: {stream_arn}",
                table.id
            )));
        }
        Ok(Destination {
            stream_arn: stream_arn.clone(),
            phase: Phase::Updating {
                until: shape.later(context.now, "kinesis precision", &table.name, UPDATING),
                was: there.precision,
            },
            precision: Some(precision),
        })
    })?;
    kinesis::answer(
        out,
        name,
        &destination,
        "UPDATING",
        Some((CONFIGURATION, Some(precision))),
    );
    Ok(())
}
