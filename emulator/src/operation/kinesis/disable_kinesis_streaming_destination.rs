//! [DisableKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DisableKinesisStreamingDestination.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::kinesis::{self, DestinationPlan};
use crate::plan::{Access, ControlAccess};
use crate::request::KinesisDestination;
use crate::storage::{Destination, Phase};
use crate::value::Text;
use crate::wire::encode::Writer;

/// Duration as a multiple of the lag of a table's status; measured: about 2 s.
const DISABLING: f64 = 0.33;

pub struct Operation;

impl Stages for Operation {
    type Request = KinesisDestination;
    type Checked<'r> = (&'r str, &'r Text, Option<&'static str>);
    type Plan<'r> = DestinationPlan<'r>;
    type Outcome = Destination;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let (name, stream_arn) = kinesis::check(request, "enableKinesisStreamingConfiguration")?;
        if request.configuration.is_some() {
            return Err(ApiError::validation(
                "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters",
            ));
        }
        Ok((name, stream_arn, None))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, stream_arn, precision) = checked;
        DestinationPlan::new(context, (name, stream_arn), precision)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        kinesis::change(context, &plan.target.table, |table, shape| {
            let there = shape.attached.destination(plan.stream_arn, context.now);
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
        })
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        kinesis::answer(out, plan.name, &outcome, "DISABLING", None);
    }
}
