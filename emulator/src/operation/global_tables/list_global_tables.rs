//! [ListGlobalTables](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListGlobalTables.html).

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations, constraint};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess};
use crate::request::ListGlobalTables;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

/// It lists only tables of version 2017.11.29, which no longer exist.
impl Stages for Operation {
    type Request = ListGlobalTables;
    type Checked<'r> = ();
    type Plan<'r> = ();
    type Outcome = ();

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let mut violations = Violations::new();
        if let Some(start) = &request.exclusive_start_global_table_name {
            check::plain_name(&mut violations, start, "exclusiveStartGlobalTableName");
        }
        if let Some(limit) = request.limit.filter(|limit| *limit < 1) {
            violations.value(limit, "limit", constraint::min_value(1));
        }
        violations.finish()
    }

    fn plan<'r>(_: &'r Context<'_>, (): Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(())
    }

    fn access((): &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::any()));
    }

    fn execute(_: &Context<'_>, (): &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        Ok(())
    }

    fn encode((): &Self::Plan<'_>, (): Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        answer.list("GlobalTables").close();
        answer.close();
    }
}
