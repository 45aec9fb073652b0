//! [CancelBulkOperation](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CancelBulkOperation.html).

use super::describe_bulk_operation::{self, WORDS};
use super::transfers;
use crate::context::Context;
use crate::error::ApiError;
use crate::request::BulkOperationOnly;
use crate::storage::TransferKind;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// What is done stays as it is.
pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = BulkOperationOnly::decode(body)?;
    let transfer = transfers::find(
        context,
        request.bulk_operation_arn.as_ref(),
        TransferKind::BulkPut,
        WORDS,
    )?;
    transfer.cancel(context.now)?;
    let mut answer = Object::open(out);
    answer.string("BulkOperationArn", &transfer.arn);
    answer.string(
        "BulkOperationStatus",
        describe_bulk_operation::status(&transfer, context.now),
    );
    answer.close();
    Ok(())
}
