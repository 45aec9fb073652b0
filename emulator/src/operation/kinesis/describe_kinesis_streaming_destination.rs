//! [DescribeKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeKinesisStreamingDestination.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{self, Access, ControlAccess, Target};
use crate::request::TableOnly;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The description of a destination that could not be enabled (measured).
const NO_PERMISSION: &str = "User does not have a permission to use kinesis stream";

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = Target;
    type Outcome = Moment;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        plan::sub_resource(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.table.name)));
    }

    fn execute(context: &Context<'_>, _: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok(context.now)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let now = outcome;
        let mut answer = Object::open(out);
        answer.string("TableName", &plan.table.name);
        let mut list = answer.list("KinesisDataStreamDestinations");
        for destination in plan.shape.attached.shown_destinations(now) {
            let status = destination.status(now);
            let mut element = list.object();
            element.string("StreamArn", &destination.stream_arn);
            element.string("DestinationStatus", status);
            if status == "ENABLE_FAILED" {
                element.string("DestinationStatusDescription", NO_PERMISSION);
            }
            if let Some(precision) = destination.shown_precision(now) {
                element.string("ApproximateCreationDateTimePrecision", precision);
            }
            element.close();
        }
        list.close();
        answer.close();
    }
}
