//! [ListBulkOperations](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBulkOperations.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Verdicts;
use crate::operation::drive::Stages;
use crate::operation::transfers::describe_bulk_operation;
use crate::operation::transfers::{Listing, TransferPage};
use crate::plan::Access;
use crate::request::ListBulkOperations;
use crate::storage::TransferKind;
use crate::wire::encode::Writer;

const DEFAULT: usize = 10;

pub struct Operation;

impl Stages for Operation {
    type Request = ListBulkOperations;
    type Checked<'r> = Listing<'r>;
    type Plan<'r> = Listing<'r>;
    type Outcome = TransferPage;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let listing = Listing {
            kind: TransferKind::BulkPut,
            table_arn: None,
            most: request.max_results,
            limit: ("maxResults", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "BulkOperationsSummaryList",
        };
        listing.check()?;
        Ok(listing)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(plan.access()));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Verdicts) -> Result<Self::Outcome, ApiError> {
        plan.find(context)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        plan.encode(&outcome, out, |object, transfer| {
            let end = transfer.progress().end;
            let status = describe_bulk_operation::status(transfer, outcome.now);
            object.string("BulkOperationArn", &transfer.arn);
            object.string("BulkOperationStatus", status);
            object.timestamp("StartTime", transfer.start);
            if outcome.now >= end {
                object.timestamp("EndTime", end);
            }
        });
    }
}
