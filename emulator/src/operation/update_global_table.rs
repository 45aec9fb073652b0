//! [UpdateGlobalTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateGlobalTable.html).

use super::legacy_global_tables as legacy;
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::wire::decode::UpdateGlobalTable;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateGlobalTable::decode(body)?;
    let mut faults = Violations::new();
    legacy::check_name(&mut faults, request.global_table_name.as_ref());
    if request.replica_updates.is_none() {
        faults.missing("replicaUpdates");
    }
    for (at, update) in request.replica_updates.iter().flatten().enumerate() {
        for (action, name) in [(&update.create, "create"), (&update.delete, "delete")] {
            if action.as_ref().is_some_and(|action| action.region_name.is_none()) {
                faults.missing(format_args!("replicaUpdates.{}.member.{name}.regionName", at + 1));
            }
        }
    }
    faults.finish()?;
    if request.replica_updates.as_ref().is_some_and(Vec::is_empty) {
        return Err(ApiError::validation("One or more parameter values were invalid"));
    }
    context.judge_control(request.global_table_name.as_deref().unwrap_or_default())?;
    Err(legacy::not_found(request.global_table_name.as_deref()))
}
