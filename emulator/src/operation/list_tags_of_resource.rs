//! [ListTagsOfResource](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTagsOfResource.html).

use super::tags;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::ListTagsOfResource;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// All tags are one page: a resource has at most fifty. So no token is ever handed out, and one that comes is ignored.
pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListTagsOfResource::decode(body)?;
    let resource = tags::resource(context, request.resource_arn.as_ref())?;
    let table = tags::table(context, &resource)?;
    let shape = table.shape();
    let mut answer = Object::open(out);
    let mut list = answer.list("Tags");
    for (key, value) in tags::of(&shape, resource.stream, context.now) {
        let mut tag = list.object();
        tag.string("Key", key);
        tag.string("Value", value);
        tag.close();
    }
    list.close();
    answer.close();
    Ok(())
}
