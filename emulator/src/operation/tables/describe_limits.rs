//! [DescribeLimits](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html): quotas, not what
//! is left of them.

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::limits;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess};
use crate::request::Empty;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = Empty;
    type Checked<'r> = ();
    type Plan<'r> = ();
    type Outcome = ();

    fn check<'r>(_: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        Ok(())
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
        answer.integer("AccountMaxReadCapacityUnits", limits::ACCOUNT_UNITS);
        answer.integer("AccountMaxWriteCapacityUnits", limits::ACCOUNT_UNITS);
        answer.integer("TableMaxReadCapacityUnits", limits::TABLE_UNITS);
        answer.integer("TableMaxWriteCapacityUnits", limits::TABLE_UNITS);
        answer.close();
    }
}
