//! [DescribeTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTableReplicaAutoScaling.html).

use super::{auto_scaling, check};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::TableOnly;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = TableOnly::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    auto_scaling::not_global(context, name)
}
