//! [CreateGlobalTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateGlobalTable.html).

use super::legacy_global_tables as legacy;
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::wire::decode::CreateGlobalTable;
use crate::wire::encode::Writer;

/// The service refuses this everywhere: UpdateTable with `ReplicaUpdates` is what makes a global table.
pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = CreateGlobalTable::decode(body)?;
    let mut faults = Violations::new();
    legacy::check_name(&mut faults, request.global_table_name.as_ref());
    if request.replication_group.is_none() {
        faults.missing("replicationGroup");
    }
    faults.finish()?;
    context.judge_control(request.global_table_name.as_deref().unwrap_or_default())?;
    Err(ApiError::invalid(
        "DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).",
    ))
}
