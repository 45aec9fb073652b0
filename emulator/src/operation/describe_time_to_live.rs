//! [DescribeTimeToLive](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTimeToLive.html).

use super::check;
use crate::context::Context;
use crate::error::ApiError;
use crate::plan;
use crate::request::TableOnly;
use crate::storage::Stage;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = TableOnly::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let target = plan::table_in_any_state(context, name)?;
    context.judge_control(&target.table.name)?;
    let state = match target.table.stage(&target.shape, context.now) {
        Stage::Standing => None,
        Stage::Deleting => Some("DELETING"),
        Stage::Unknown | Stage::Creating => Some("CREATING"),
    };
    if let Some(state) = state {
        return Err(ApiError::validation(format!(
            "Cannot describe time to live while table is in {state} state: Current table state is {state}"
        )));
    }
    let mut answer = Object::open(out);
    let mut description = answer.object("TimeToLiveDescription");
    match &target.shape.time_to_live {
        Some(attribute) => {
            description.string("TimeToLiveStatus", "ENABLED");
            description.string("AttributeName", attribute);
        }
        None => description.string("TimeToLiveStatus", "DISABLED"),
    }
    description.close();
    answer.close();
    Ok(())
}
