//! [ListImports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListImports.html).

use super::describe_import;
use super::transfers::{self, Listing};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::ListImports;
use crate::storage::{TransferKind, TransferRequest};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

const DEFAULT: usize = 25;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListImports::decode(body)?;
    let listing = Listing {
        kind: TransferKind::Import,
        table_arn: request.table_arn.as_ref(),
        most: request.page_size,
        limit: ("pageSize", DEFAULT),
        next_token: request.next_token.as_ref(),
        member: "ImportSummaryList",
    };
    transfers::list(context, out, &listing, |object, transfer| {
        if let TransferRequest::Import(request) = &transfer.about {
            let status = describe_import::status(transfer, context, false);
            describe_import::head(object, transfer, request, context, status);
        }
    })
}
