//! [UpdateGlobalTableSettings](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateGlobalTableSettings.html).

use super::create_table::shape;
use super::legacy_global_tables as legacy;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::wire::decode::UpdateGlobalTableSettings;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = UpdateGlobalTableSettings::decode(body)?;
    let mut faults = Violations::new();
    legacy::check_name(&mut faults, request.global_table_name.as_ref());
    shape::billing_mode(&mut faults, request.billing_mode.as_ref(), "globalTableBillingMode");
    if let Some(units) = request.write_capacity_units.filter(|units| *units < 1) {
        let least = constraint::min_value(1);
        faults.value(units, "globalTableProvisionedWriteCapacityUnits", least);
    }
    for settings in [
        &request.write_scaling,
        &request.index_settings,
        &request.replica_settings,
    ] {
        faults.add(settings.as_ref());
    }
    faults.finish()?;
    context.judge_control(request.global_table_name.as_deref().unwrap_or_default())?;
    Err(legacy::not_found(request.global_table_name.as_deref()))
}
