//! [UpdateTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTableReplicaAutoScaling.html).

use super::{auto_scaling, check};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Context;
use crate::request::{AutoScaling, UpdateReplicaAutoScaling};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateReplicaAutoScaling::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let mut faults = Violations::new();
    if let Some(updates) = &request.index_updates {
        if updates.is_empty() {
            faults.value("[]", "globalSecondaryIndexUpdates", constraint::min_length(1));
        }
        for (at, update) in updates.iter().enumerate() {
            let path = format!("globalSecondaryIndexUpdates.{}.member", at + 1);
            if let Some(index) = &update.index_name {
                check::plain_name(&mut faults, index, &format!("{path}.indexName"));
            }
            let path = format!("{path}.provisionedWriteCapacityAutoScalingUpdate");
            units(&mut faults, update.write.as_ref(), &path);
        }
    }
    units(
        &mut faults,
        request.write.as_ref(),
        "provisionedWriteCapacityAutoScalingUpdate",
    );
    if let Some(updates) = &request.replica_updates {
        if updates.is_empty() {
            faults.value("[]", "replicaUpdates", constraint::min_length(1));
        }
        for (at, update) in updates.iter().enumerate() {
            let path = format!("replicaUpdates.{}.member", at + 1);
            if update.region_name.is_none() {
                faults.missing(format_args!("{path}.regionName"));
            }
            let path = format!("{path}.replicaProvisionedReadCapacityAutoScalingUpdate");
            units(&mut faults, update.read.as_ref(), &path);
        }
    }
    faults.finish()?;
    auto_scaling::not_global(context, name)
}

fn units(faults: &mut Violations, scaling: Option<&AutoScaling>, path: &str) {
    let Some(scaling) = scaling else { return };
    for (units, name) in [
        (scaling.minimum_units, "minimumUnits"),
        (scaling.maximum_units, "maximumUnits"),
    ] {
        if let Some(units) = units.filter(|units| *units < 1) {
            faults.value(units, format_args!("{path}.{name}"), constraint::min_value(1));
        }
    }
}
