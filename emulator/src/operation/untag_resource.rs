//! [UntagResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UntagResource.html).

use super::tags;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::UntagResource;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// Success has no body at all, not even `{}`. Keys that no tag has are passed over.
pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = UntagResource::decode(body)?;
    let resource = tags::resource(context, request.resource_arn.as_ref())?;
    let keys = request.tag_keys.unwrap_or_default();
    if keys.is_empty() {
        return Err(ApiError::validation(
            "Atleast one Tag Key needs to be provided as Input.",
        ));
    }
    let table = tags::table(context, &resource)?;
    tags::change(context, &table, resource.stream, &Vec::new(), |tags| {
        tags.retain(|(key, _)| !keys.iter().any(|gone| gone == key));
        Ok(())
    })
}
