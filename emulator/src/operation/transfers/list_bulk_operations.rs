//! [ListBulkOperations](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBulkOperations.html).

use crate::clock::Moment;
use crate::operation::transfers::{Listing, TransferList, describe_bulk_operation};
use crate::request::ListBulkOperations;
use crate::storage::{Transfer, TransferKind};
use crate::wire::object::Object;

const DEFAULT: usize = 10;

pub struct Operation;

impl TransferList for Operation {
    type Request = ListBulkOperations;

    fn listing(request: &Self::Request) -> Listing<'_> {
        Listing {
            kind: TransferKind::BulkPut,
            table_arn: None,
            most: request.max_results,
            limit: ("maxResults", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "BulkOperationsSummaryList",
        }
    }

    fn summarize(object: &mut Object<'_>, transfer: &Transfer, now: Moment) {
        let end = transfer.progress().end;
        let status = describe_bulk_operation::status(transfer, now);
        object.string("BulkOperationArn", &transfer.arn);
        object.string("BulkOperationStatus", status);
        object.timestamp("StartTime", transfer.start);
        if now >= end {
            object.timestamp("EndTime", end);
        }
    }
}
