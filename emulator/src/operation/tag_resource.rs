//! [TagResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html).

use super::tags;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::TagResource;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// Success has no body at all, not even `{}`.
pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = TagResource::decode(body)?;
    let resource = tags::resource(context, request.resource_arn.as_ref())?;
    let asked = request.tags.unwrap_or_default();
    if asked.is_empty() {
        return Err(ApiError::validation("Atleast one Tag needs to be provided as Input."));
    }
    let asked = tags::read(&asked)?;
    let table = tags::table(context, &resource)?;
    tags::change(context, &table, resource.stream, &asked, |tags| {
        for (key, value) in &asked {
            match tags.iter_mut().find(|(there, _)| there == key) {
                Some((_, there)) => there.clone_from(value),
                None => tags.push((key.clone(), value.clone())),
            }
        }
        tags::check_count(tags)
    })
}
