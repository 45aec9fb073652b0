//! [UntagResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UntagResource.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::arn::ArnResource;
use crate::operation::drive::Stages;
use crate::operation::tags;
use crate::plan::{Access, ControlAccess, RequestTags};
use crate::request::UntagResource;
use crate::value::Text;
use crate::wire::encode::Writer;

pub struct Operation;

/// The response has no body at all, not even `{}`. Keys without a tag are ignored.
impl Stages for Operation {
    type Request = UntagResource;
    type Checked<'r> = &'r UntagResource;
    type Plan<'r> = (ArnResource<'r>, &'r [Text]);
    type Outcome = ();

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let resource = tags::resource(context, checked.resource_arn.as_ref())?;
        let keys = checked.tag_keys.as_deref().unwrap_or_default();
        if keys.is_empty() {
            return Err(ApiError::validation(
                "Atleast one Tag Key needs to be provided as Input.",
            ));
        }
        keys.iter().try_for_each(|key| tags::checked_key(Some(key)).map(drop))?;
        tags::check_count(keys.len())?;
        Ok((resource, keys))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::arn(plan.0.arn).with_tags(RequestTags::Removed(plan.1)),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (resource, keys) = plan;
        let table = tags::table(context, resource)?;
        tags::change(context, &table, resource.stream, &Vec::new(), |tags| {
            tags.retain(|(key, _)| !keys.iter().any(|gone| gone == key));
            Ok(())
        })
    }

    fn encode(_: &Self::Plan<'_>, (): Self::Outcome, _: &mut Writer) {}
}
