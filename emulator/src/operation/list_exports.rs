//! [ListExports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html).

use super::describe_export;
use super::transfers::{self, Listing};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::ListExports;
use crate::storage::{TransferKind, TransferRequest};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

const DEFAULT: usize = 25;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListExports::decode(body)?;
    let listing = Listing {
        kind: TransferKind::Export,
        table_arn: request.table_arn.as_ref(),
        most: request.max_results,
        limit: ("maxResults", DEFAULT),
        next_token: request.next_token.as_ref(),
        member: "ExportSummaries",
    };
    transfers::list(context, out, &listing, |object, transfer| {
        object.string("ExportArn", &transfer.arn);
        object.string("ExportStatus", describe_export::status(transfer, context.now));
        if let TransferRequest::Export(request) = &transfer.about {
            object.string("ExportType", request.export_type.as_deref().unwrap_or("FULL_EXPORT"));
        }
    })
}
