//! [ListExports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html).

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::Verdicts;
use crate::operation::drive::Stages;
use crate::operation::transfers::describe_export;
use crate::operation::transfers::{Listing, TransferPage};
use crate::plan::Access;
use crate::request::ListExports;
use crate::storage::{TransferKind, TransferRequest};
use crate::wire::encode::Writer;

const DEFAULT: usize = 25;

pub struct Operation;

impl Stages for Operation {
    type Request = ListExports;
    type Checked<'r> = Listing<'r>;
    type Plan<'r> = Listing<'r>;
    type Outcome = TransferPage;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let listing = Listing {
            kind: TransferKind::Export,
            table_arn: request.table_arn.as_ref(),
            most: request.max_results,
            limit: ("maxResults", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "ExportSummaries",
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
            object.string("ExportArn", &transfer.arn);
            object.string("ExportStatus", describe_export::status(transfer, outcome.now));
            if let TransferRequest::Export(request) = &transfer.about {
                object.string("ExportType", request.export_type.as_deref().unwrap_or("FULL_EXPORT"));
            }
        });
    }
}
