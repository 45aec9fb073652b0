//! [GetResourcePolicy](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetResourcePolicy.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::drive::Stages;
use crate::operation::policies::{self, PolicyPlan};
use crate::plan::Access;
use crate::request::ResourcePolicy;
use crate::wire::decode::admin::GetResourcePolicy;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = GetResourcePolicy;
    type Checked<'r> = &'r ResourcePolicy;
    type Plan<'r> = PolicyPlan<'r>;
    type Outcome = (String, i64);

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
        policies::check_stream(context, plan)?;
        let policy = plan.target.shape.attached.policy(plan.resource.stream);
        let shown = policy.and_then(|policy| policy.shown(context.now));
        let (document, id) = shown.ok_or_else(|| ApiError::policy_not_found(plan.resource.arn))?;
        Ok((document.to_string(), *id))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (document, id) = outcome;
        let mut answer = Object::open(out);
        answer.string("Policy", &document);
        answer.string("RevisionId", &id.to_string());
        answer.close();
    }
}
