//! [PutResourcePolicy](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html).

use super::policies;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::ResourcePolicy;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;
use crate::wire::policy::Document;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ResourcePolicy::decode(body)?;
    let resource = policies::check(context, &request, true)?;
    let policy = request.policy.as_deref().unwrap_or_default();
    let document = Document::read(policy, resource.stream.is_some())?;
    let expected = request.expected_revision_id.as_deref();
    let id = policies::change(context, &resource, expected, Some(document.text()))?;
    let mut answer = Object::open(out);
    if let Some(id) = id {
        answer.string("RevisionId", &id.to_string());
    }
    answer.close();
    Ok(())
}
