//! [ListImports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListImports.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Verdicts;
use crate::operation::drive::Stages;
use crate::operation::transfers::describe_import;
use crate::operation::transfers::{Listing, TransferPage};
use crate::plan::Access;
use crate::request::ListImports;
use crate::storage::{TransferKind, TransferRequest};
use crate::wire::encode::Writer;

const DEFAULT: usize = 25;

pub struct Operation;

impl Stages for Operation {
    type Request = ListImports;
    type Checked<'r> = Listing<'r>;
    type Plan<'r> = Listing<'r>;
    type Outcome = TransferPage;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let listing = Listing {
            kind: TransferKind::Import,
            table_arn: request.table_arn.as_ref(),
            most: request.page_size,
            limit: ("pageSize", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "ImportSummaryList",
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
            if let TransferRequest::Import(request) = &transfer.about {
                let status = describe_import::status(transfer, outcome.now, false);
                describe_import::head(object, transfer, request, status);
            }
        });
    }
}
