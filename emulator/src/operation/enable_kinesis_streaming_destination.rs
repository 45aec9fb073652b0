//! [EnableKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_EnableKinesisStreamingDestination.html).

use super::{check, kinesis};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::KinesisDestination;
use crate::storage::{Destination, Phase};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// The member that says how.
const CONFIGURATION: &str = "EnableKinesisStreamingConfiguration";
/// Measured: 2 to 7 s until it is `ACTIVE`, about 2 s until it has failed.
const ENABLING: f64 = 0.75;
const FAILING: f64 = 0.33;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = KinesisDestination::decode(body)?;
    let (name, stream_arn) = kinesis::check(&request, "enableKinesisStreamingConfiguration")?;
    let precision = kinesis::precision(request.configuration.as_ref());
    let fails = !is_stream(context, stream_arn);
    let destination = kinesis::change(context, name, |table, shape| {
        if shape
            .attached
            .shown_destinations(context.now)
            .any(|each| each.is_live(context.now))
        {
            return Err(kinesis::not_in_state(
                "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation.",
            ));
        }
        let times = if fails { FAILING } else { ENABLING };
        let until = shape.later(context.now, "kinesis", &table.name, times);
        Ok(Destination {
            stream_arn: stream_arn.clone(),
            phase: Phase::Enabling { until, fails },
            precision,
        })
    })?;
    kinesis::answer(out, name, &destination, "ENABLING", Some((CONFIGURATION, precision)));
    Ok(())
}

/// Whether an ARN can be that of a Kinesis stream which the table may write to: one of the table's region. The service
/// finds out only after it has answered.
fn is_stream(context: &Context<'_>, arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, "kinesis", region, account, resource] = parts[..] else {
        return false;
    };
    let here = region == context.region || context.scope.region.is_empty();
    partition.starts_with("aws")
        && here
        && account.len() == 12
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && resource.strip_prefix("stream/").is_some_and(check::is_name)
}
