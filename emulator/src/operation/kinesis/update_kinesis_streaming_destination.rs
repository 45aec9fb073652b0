//! [UpdateKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateKinesisStreamingDestination.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::kinesis::{self, DestinationPlan};
use crate::plan::{Access, ControlAccess};
use crate::request::UpdateKinesisDestination;
use crate::storage::{Destination, Phase};
use crate::value::Text;
use crate::wire::encode::Writer;

/// The member with the configuration.
const CONFIGURATION: &str = "UpdateKinesisStreamingConfiguration";
/// Duration as a multiple of the lag of a table's status; measured: about 2 minutes.
const UPDATING: f64 = 20.0;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateKinesisDestination;
    type Checked<'r> = (&'r str, &'r Text, Option<&'static str>);
    type Plan<'r> = DestinationPlan<'r>;
    type Outcome = Destination;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &request.destination;
        let (name, stream_arn) = kinesis::check(request, "updateKinesisStreamingConfiguration")?;
        let precision = kinesis::precision(request.configuration.as_ref());
        if precision.is_none() {
            return Err(ApiError::validation(
                "Streaming destination cannot be updated with given parameters: UpdateKinesisStreamingConfiguration cannot be null or contain only null values",
            ));
        }
        Ok((name, stream_arn, precision))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, stream_arn, precision) = checked;
        DestinationPlan::new(context, (name, stream_arn), precision)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (stream_arn, precision) = (plan.stream_arn, plan.precision.unwrap_or("MILLISECOND"));
        kinesis::change(context, &plan.target.table, |table, shape| {
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
            // The default precision of a destination is milliseconds.
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
        })
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let configuration = Some((CONFIGURATION, plan.precision));
        kinesis::answer(out, plan.name, &outcome, "UPDATING", configuration);
    }
}
