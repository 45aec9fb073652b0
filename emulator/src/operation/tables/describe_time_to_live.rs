//! [DescribeTimeToLive](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTimeToLive.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{self, Access, ControlAccess, Target};
use crate::request::TableOnly;
use crate::storage::TableStage;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = TableOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = Target;
    type Outcome = ();

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.table_name.as_ref())
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        plan::table_in_any_state(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let state = match plan.table.stage(&plan.shape, context.now) {
            TableStage::Active => return Ok(()),
            TableStage::Deleting => "DELETING",
            TableStage::Unknown if plan.table.is_replica() => {
                return Err(ApiError::table_not_found_named(&plan.table.name));
            }
            TableStage::Unknown | TableStage::Creating => "CREATING",
        };
        Err(ApiError::validation(format!(
            "Cannot describe time to live while table is in {state} state: Current table state is {state}"
        )))
    }

    fn encode(plan: &Self::Plan<'_>, (): Self::Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        let mut description = answer.object("TimeToLiveDescription");
        match &plan.shape.time_to_live {
            Some(attribute) => {
                description.string("TimeToLiveStatus", "ENABLED");
                description.string("AttributeName", attribute);
            }
            None => description.string("TimeToLiveStatus", "DISABLED"),
        }
        description.close();
        answer.close();
    }
}
