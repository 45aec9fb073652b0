//! [UpdateGlobalTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateGlobalTable.html).

use std::convert::Infallible;

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::global_tables::legacy;
use crate::plan::{Access, ControlAccess};
use crate::wire::decode::admin::UpdateGlobalTable;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateGlobalTable;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = Infallible;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &request.0;
        let mut violations = Violations::new();
        legacy::check_name(&mut violations, request.global_table_name.as_ref());
        if request.replica_updates.is_none() {
            violations.missing("replicaUpdates");
        }
        for (at, update) in request.replica_updates.iter().flatten().enumerate() {
            for (action, name) in [(&update.create, "create"), (&update.delete, "delete")] {
                if action.as_ref().is_some_and(|action| action.region_name.is_none()) {
                    violations.missing(format_args!("replicaUpdates.{}.member.{name}.regionName", at + 1));
                }
            }
        }
        violations.finish()?;
        if request.replica_updates.as_ref().is_some_and(Vec::is_empty) {
            return Err(ApiError::validation("One or more parameter values were invalid"));
        }
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
