//! [DescribeTableReplicaAutoScaling](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTableReplicaAutoScaling.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::global_tables::auto_scaling::{self, GlobalTable};
use crate::plan::{self, Access, ControlAccess};
use crate::request::TableOnly;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = (GlobalTable, String, Moment);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(plan::plain_name(plan))));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let global = auto_scaling::find(context, plan)?;
        Ok((global, context.account.to_owned(), context.now))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (global, account, now) = outcome;
        auto_scaling::describe(out, &global, &account, now);
    }
}
