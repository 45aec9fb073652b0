//! [DescribeEndpoints](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeEndpoints.html).

use crate::context::Context;
use crate::error::ApiError;
use crate::request::Empty;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// For how long a client may use the answer.
const CACHE_MINUTES: i64 = 1440;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    Empty::decode(body)?;
    context.judge_control("")?;
    let mut answer = Object::open(out);
    let mut endpoints = answer.list("Endpoints");
    let mut endpoint = endpoints.object();
    // A host without a scheme, as the service answers.
    endpoint.string("Address", &format!("dynamodb.{}.amazonaws.com", context.region));
    endpoint.integer("CachePeriodInMinutes", CACHE_MINUTES);
    endpoint.close();
    endpoints.close();
    answer.close();
    Ok(())
}
