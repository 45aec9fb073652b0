//! [DescribeLimits](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html): quotas, not what
//! is left of them.

use crate::context::Context;
use crate::error::ApiError;
use crate::limits;
use crate::request::Empty;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    Empty::decode(body)?;
    context.judge_control("")?;
    let mut answer = Object::open(out);
    answer.integer("AccountMaxReadCapacityUnits", limits::ACCOUNT_UNITS);
    answer.integer("AccountMaxWriteCapacityUnits", limits::ACCOUNT_UNITS);
    answer.integer("TableMaxReadCapacityUnits", limits::TABLE_UNITS);
    answer.integer("TableMaxWriteCapacityUnits", limits::TABLE_UNITS);
    answer.close();
    Ok(())
}
