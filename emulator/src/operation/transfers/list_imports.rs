//! [ListImports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListImports.html).

use crate::clock::Moment;
use crate::operation::transfers::{Listing, TransferList, describe_import};
use crate::request::ListImports;
use crate::storage::{Transfer, TransferKind, TransferRequest};
use crate::wire::object::Object;

const DEFAULT: usize = 25;

pub struct Operation;

impl TransferList for Operation {
    type Request = ListImports;

    fn listing(request: &Self::Request) -> Listing<'_> {
        Listing {
            kind: TransferKind::Import,
            table_arn: request.table_arn.as_ref(),
            most: request.page_size,
            limit: ("pageSize", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "ImportSummaryList",
        }
    }

    fn summarize(object: &mut Object<'_>, transfer: &Transfer, now: Moment) {
        if let TransferRequest::Import(request) = &transfer.about {
            let status = describe_import::status(transfer, now, false);
            describe_import::head(object, transfer, request, status);
        }
    }
}
