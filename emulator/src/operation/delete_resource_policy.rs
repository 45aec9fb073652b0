//! [DeleteResourcePolicy](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteResourcePolicy.html).

use super::policies;
use crate::context::Context;
use crate::error::ApiError;
use crate::wire::decode::DeleteResourcePolicy;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// A resource that has no policy answers without an id.
pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = DeleteResourcePolicy::decode(body)?;
    let resource = policies::check(context, &request, false)?;
    let expected = request.expected_revision_id.as_deref();
    let id = policies::change(context, &resource, expected, None)?;
    let mut answer = Object::open(out);
    if let Some(id) = id {
        answer.string("RevisionId", &id.to_string());
    }
    answer.close();
    Ok(())
}
