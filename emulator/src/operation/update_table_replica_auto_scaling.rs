//! [UpdateTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTableReplicaAutoScaling.html).

use super::{auto_scaling, check};
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::request::UpdateReplicaAutoScaling;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateReplicaAutoScaling::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let mut faults = Violations::new();
    for member in [&request.index_updates, &request.write, &request.replica_updates] {
        faults.add(member.as_ref());
    }
    faults.finish()?;
    auto_scaling::not_global(context, name)
}
