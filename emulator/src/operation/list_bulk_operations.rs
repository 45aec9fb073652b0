//! [ListBulkOperations](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBulkOperations.html).

use super::describe_bulk_operation;
use super::transfers::{self, Listing};
use crate::context::Context;
use crate::error::ApiError;
use crate::request::ListBulkOperations;
use crate::storage::TransferKind;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

const DEFAULT: usize = 10;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListBulkOperations::decode(body)?;
    let listing = Listing {
        kind: TransferKind::BulkPut,
        table_arn: None,
        most: request.max_results,
        limit: ("maxResults", DEFAULT),
        next_token: request.next_token.as_ref(),
        member: "BulkOperationsSummaryList",
    };
    transfers::list(context, out, &listing, |object, transfer| {
        let end = transfer.progress().end;
        object.string("BulkOperationArn", &transfer.arn);
        object.string(
            "BulkOperationStatus",
            describe_bulk_operation::status(transfer, context.now),
        );
        object.timestamp("StartTime", transfer.start);
        if context.now >= end {
            object.timestamp("EndTime", end);
        }
    })
}
