//! [ListTagsOfResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTagsOfResource.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::arn::ArnResource;
use crate::operation::drive::Stages;
use crate::operation::tags::{self, Tags};
use crate::plan::{Access, ControlAccess};
use crate::request::ListTagsOfResource;
use crate::value::Text;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

/// All tags fit on one page: a resource has at most fifty. So no token is ever issued, and tokens in requests are ignored.
impl Stages for Operation {
    type Request = ListTagsOfResource;
    type Checked<'r> = Option<&'r Text>;
    type Plan<'r> = ArnResource<'r>;
    type Outcome = Tags;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(request.resource_arn.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        tags::resource(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan.arn)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let table = tags::table(context, plan)?;
        Ok(tags::of(&table.shape(), plan.stream, context.now).to_vec())
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        let mut list = answer.list("Tags");
        for (key, value) in &outcome {
            let mut tag = list.object();
            tag.string("Key", key);
            tag.string("Value", value);
            tag.close();
        }
        list.close();
        answer.close();
    }
}
