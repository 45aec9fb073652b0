//! [UpdateTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTableReplicaAutoScaling.html).

use std::convert::Infallible;

use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::execute::Verdicts;
use crate::expression::Cache;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::global_tables::auto_scaling;
use crate::plan::{self, Access, ControlAccess};
use crate::request::UpdateReplicaAutoScaling;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateReplicaAutoScaling;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = Infallible;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Cache) -> Result<Self::Checked<'r>, ApiError> {
        let name = check::control_table_name(request.table_name.as_ref())?;
        let mut violations = Violations::new();
        for member in [&request.index_updates, &request.write, &request.replica_updates] {
            violations.add(member.as_ref());
        }
        violations.finish()?;
        Ok(plan::plain_name(name))
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(plan)));
    }

    fn execute(_: &Context<'_>, plan: &Self::Plan<'_>, _: Verdicts) -> Result<Self::Outcome, ApiError> {
        Err(auto_scaling::not_global(plan))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, _: &mut Writer) {
        match outcome {}
    }
}
