//! [DescribeKinesisStreamingDestination](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeKinesisStreamingDestination.html).

use super::check;
use crate::context::Context;
use crate::error::ApiError;
use crate::plan;
use crate::request::TableOnly;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// What a destination says that could not be enabled (measured).
const NO_PERMISSION: &str = "User does not have a permission to use kinesis stream";

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = TableOnly::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let target = plan::sub_resource(context, name)?;
    context.judge_control(&target.table.name)?;
    let mut answer = Object::open(out);
    answer.string("TableName", &target.table.name);
    let mut list = answer.list("KinesisDataStreamDestinations");
    for destination in target.shape.attached.shown_destinations(context.now) {
        let status = destination.status(context.now);
        let mut element = list.object();
        element.string("StreamArn", &destination.stream_arn);
        element.string("DestinationStatus", status);
        if status == "ENABLE_FAILED" {
            element.string("DestinationStatusDescription", NO_PERMISSION);
        }
        if let Some(precision) = destination.shown_precision(context.now) {
            element.string("ApproximateCreationDateTimePrecision", precision);
        }
        element.close();
    }
    list.close();
    answer.close();
    Ok(())
}
