//! [EnableKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_EnableKinesisStreamingDestination.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::kinesis::{self, DestinationPlan};
use crate::plan::{Access, ControlAccess};
use crate::request::KinesisDestination;
use crate::storage::{Destination, Phase};
use crate::value::Text;
use crate::wire::encode::Writer;

/// The member with the configuration.
const CONFIGURATION: &str = "EnableKinesisStreamingConfiguration";
/// Measured: 2 to 7 s until it is `ACTIVE`, about 2 s until it has failed.
const ENABLING: f64 = 0.75;
const FAILING: f64 = 0.33;

pub struct Operation;

impl Stages for Operation {
    type Request = KinesisDestination;
    type Checked<'r> = (&'r str, &'r Text, Option<&'static str>);
    type Plan<'r> = DestinationPlan<'r>;
    type Outcome = Destination;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let (name, stream_arn) = kinesis::check(request, "enableKinesisStreamingConfiguration")?;
        Ok((name, stream_arn, kinesis::precision(request.configuration.as_ref())))
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let (name, stream_arn, precision) = checked;
        DestinationPlan::new(context, (name, stream_arn), precision)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let fails = !is_stream(context, plan.stream_arn);
        kinesis::change(context, &plan.target.table, |table, shape| {
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
                stream_arn: plan.stream_arn.clone(),
                phase: Phase::Enabling { until, fails },
                precision: plan.precision,
            })
        })
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let configuration = Some((CONFIGURATION, plan.precision));
        kinesis::answer(out, plan.name, &outcome, "ENABLING", configuration);
    }
}

/// Whether an ARN can be that of a Kinesis stream to which the table may write: one of the table's region. The service
/// checks this only after it has responded.
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
