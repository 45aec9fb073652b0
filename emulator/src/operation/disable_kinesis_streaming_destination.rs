//! [DisableKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DisableKinesisStreamingDestination.html).

use super::kinesis;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::KinesisDestination;
use crate::storage::{Destination, Phase};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// Measured: about 2 s.
const DISABLING: f64 = 0.33;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = KinesisDestination::decode(body)?;
    let (name, stream_arn) = kinesis::check(&request, "enableKinesisStreamingConfiguration")?;
    if request.configuration.is_some() {
        return Err(ApiError::validation(
            "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters",
        ));
    }
    let destination = kinesis::change(context, name, |table, shape| {
        let there = shape.attached.destination(stream_arn, context.now);
        let Some(there) = there.filter(|there| there.status(context.now) == "ACTIVE") else {
            return Err(kinesis::not_in_state(
                "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.",
            ));
        };
        let until = shape.later(context.now, "kinesis off", &table.name, DISABLING);
        Ok(Destination {
            phase: Phase::Disabling { until },
            ..there.clone()
        })
    })?;
    kinesis::answer(out, name, &destination, "DISABLING", None);
    Ok(())
}
