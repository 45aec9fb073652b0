//! [GetResourcePolicy](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetResourcePolicy.html).

use super::policies;
use crate::context::Context;
use crate::error::ApiError;
use crate::wire::decode::GetResourcePolicy;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = GetResourcePolicy::decode(body)?;
    let resource = policies::check(context, &request, false)?;
    let target = policies::target(context, &resource)?;
    let policy = target.shape.attached.policy(resource.stream);
    let shown = policy.and_then(|policy| policy.shown(context.now));
    let (document, id) = shown.ok_or_else(|| policies::not_found(&resource))?;
    let mut answer = Object::open(out);
    answer.string("Policy", document);
    answer.string("RevisionId", &id.to_string());
    answer.close();
    Ok(())
}
