//! [UpdateGlobalTableSettings](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateGlobalTableSettings.html).

use std::convert::Infallible;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::global_tables::legacy;
use crate::operation::tables::create_table::shape;
use crate::plan::{Access, ControlAccess};
use crate::wire::decode::admin::UpdateGlobalTableSettings;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateGlobalTableSettings;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = Infallible;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &request.0;
        let mut violations = Violations::new();
        legacy::check_name(&mut violations, request.global_table_name.as_ref());
        shape::billing_mode(&mut violations, request.billing_mode.as_ref(), "globalTableBillingMode");
        if let Some(units) = request.write_capacity_units.filter(|units| *units < 1) {
            let least = constraint::min_value(1);
            violations.value(units, "globalTableProvisionedWriteCapacityUnits", least);
        }
        for settings in [
            &request.write_scaling,
            &request.index_settings,
            &request.replica_settings,
        ] {
            violations.add(settings.as_ref());
        }
        violations.finish()?;
        Ok(check::text(request.global_table_name.as_ref()))
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::global_table(plan)));
    }

    fn execute(_: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Err(ApiError::global_table_not_found(plan))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, _: &mut Writer) {
        match outcome {}
    }
}
