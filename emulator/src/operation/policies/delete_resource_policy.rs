//! [DeleteResourcePolicy](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteResourcePolicy.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::policies::{self, PolicyPlan};
use crate::plan::Access;
use crate::request::ResourcePolicy;
use crate::wire::decode::admin::DeleteResourcePolicy;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

/// For a resource without a policy, the response has no id.
impl Stages for Operation {
    type Request = DeleteResourcePolicy;
    type Checked<'r> = &'r ResourcePolicy;
    type Plan<'r> = PolicyPlan<'r>;
    type Outcome = Option<i64>;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(&request.0)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        PolicyPlan::new(context, checked, false)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(plan.access()));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        policies::change(context, plan)
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        if let Some(id) = outcome {
            answer.string("RevisionId", &id.to_string());
        }
        answer.close();
    }
}
