//! [ListExports](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html).

use crate::clock::Moment;
use crate::operation::transfers::{Listing, TransferList, describe_export};
use crate::request::ListExports;
use crate::storage::{Transfer, TransferKind, TransferRequest};
use crate::wire::object::Object;

const DEFAULT: usize = 25;

pub struct Operation;

impl TransferList for Operation {
    type Request = ListExports;

    fn listing(request: &Self::Request) -> Listing<'_> {
        Listing {
            kind: TransferKind::Export,
            table_arn: request.table_arn.as_ref(),
            most: request.max_results,
            limit: ("maxResults", DEFAULT),
            next_token: request.next_token.as_ref(),
            member: "ExportSummaries",
        }
    }

    fn summarize(object: &mut Object<'_>, transfer: &Transfer, now: Moment) {
        object.string("ExportArn", &transfer.arn);
        object.string("ExportStatus", describe_export::status(transfer, now));
        if let TransferRequest::Export(request) = &transfer.about {
            object.string("ExportType", request.export_type.as_deref().unwrap_or("FULL_EXPORT"));
        }
    }
}
