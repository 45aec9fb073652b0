//! [DescribeTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::{self, Refusals};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::tables::description::{self, TableView};
use crate::plan::{self, Access, ControlAccess, Target};
use crate::request::TableOnly;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = Target;
    type Outcome = Moment;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        plan::table_in_any_state(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::target(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        // The counts include the work that is due.
        execute::notice_due(&plan.table, context.now);
        Ok(context.now)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let table = &plan.table;
        description::table(out, "Table", table, &table.shape(), TableView::At(outcome));
    }
}
