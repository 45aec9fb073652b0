//! [TagResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::arn::ArnResource;
use crate::operation::drive::Stages;
use crate::operation::tags::{self, Tags};
use crate::plan::{Access, ControlAccess, RequestTags};
use crate::request::TagResource;
use crate::wire::encode::Writer;

pub struct Operation;

/// The response has no body at all, not even `{}`.
impl Stages for Operation {
    type Request = TagResource;
    type Checked<'r> = &'r TagResource;
    type Plan<'r> = (ArnResource<'r>, Tags);
    type Outcome = ();

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(request)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        let resource = tags::resource(context, checked.resource_arn.as_ref())?;
        let given = checked.tags.as_deref().unwrap_or_default();
        if given.is_empty() {
            return Err(ApiError::validation("Atleast one Tag needs to be provided as Input."));
        }
        Ok((resource, tags::read(given)?))
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(
            ControlAccess::arn(plan.0.arn).with_tags(RequestTags::Given(&plan.1)),
        ));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let (resource, given) = plan;
        let table = tags::table(context, resource)?;
        tags::change(context, &table, resource.stream, given, |tags| {
            for (key, value) in given {
                match tags.iter_mut().find(|(there, _)| there == key) {
                    Some((_, there)) => there.clone_from(value),
                    None => tags.push((key.clone(), value.clone())),
                }
            }
            tags::check_count(tags.len())
        })
    }

    fn encode(_: &Self::Plan<'_>, (): Self::Outcome, _: &mut Writer) {}
}
