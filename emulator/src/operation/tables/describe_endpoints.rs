//! [DescribeEndpoints](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeEndpoints.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess};
use crate::request::Empty;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The time for which a client may cache the response.
const CACHE_MINUTES: i64 = 1440;

pub struct Operation;

impl Stages for Operation {
    type Request = Empty;
    type Checked<'r> = ();
    type Plan<'r> = &'r str;
    type Outcome = ();

    fn check<'r>(_: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(())
    }

    fn plan<'r>(context: &'r Context<'_>, (): Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(context.region)
    }

    fn access(_: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::any()));
    }

    fn execute(_: &Context<'_>, _: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok(())
    }

    fn encode(plan: &Self::Plan<'_>, (): Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        let mut endpoints = answer.list("Endpoints");
        let mut endpoint = endpoints.object();
        // A host without a scheme, as in the service's response.
        endpoint.string("Address", &format!("dynamodb.{plan}.amazonaws.com"));
        endpoint.integer("CachePeriodInMinutes", CACHE_MINUTES);
        endpoint.close();
        endpoints.close();
        answer.close();
    }
}
