//! [CancelBulkOperation](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CancelBulkOperation.html).

use crate::operation::drive::Stages;
use std::sync::Arc;

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Refusals;
use crate::operation::transfers;
use crate::operation::transfers::describe_bulk_operation::{self, WORDS};
use crate::plan::{Access, ControlAccess};
use crate::request::BulkOperationOnly;
use crate::storage::{Transfer, TransferKind};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

/// Items that are already written are kept.
impl Stages for Operation {
    type Request = BulkOperationOnly;
    type Checked<'r> = &'r str;
    type Plan<'r> = &'r str;
    type Outcome = (Arc<Transfer>, &'static str);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        transfers::arn(request.bulk_operation_arn.as_ref(), TransferKind::BulkPut, WORDS)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::arn(plan)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let transfer = transfers::find(context, TransferKind::BulkPut, plan)?;
        transfer.cancel(context.now)?;
        let status = describe_bulk_operation::status(&transfer, context.now);
        Ok((transfer, status))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (transfer, status) = outcome;
        let mut answer = Object::open(out);
        answer.string("BulkOperationArn", &transfer.arn);
        answer.string("BulkOperationStatus", status);
        answer.close();
    }
}
