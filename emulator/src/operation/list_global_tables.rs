//! [ListGlobalTables](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListGlobalTables.html).

use super::check;
use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::request::ListGlobalTables;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// It lists tables of version 2017.11.29 alone, and the service has none of them any more.
pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = ListGlobalTables::decode(body)?;
    let mut faults = Violations::new();
    if let Some(start) = &request.exclusive_start_global_table_name {
        check::plain_name(&mut faults, start, "exclusiveStartGlobalTableName");
    }
    if let Some(limit) = request.limit.filter(|limit| *limit < 1) {
        faults.value(limit, "limit", constraint::min_value(1));
    }
    faults.finish()?;
    context.judge_control("")?;
    let mut answer = Object::open(out);
    answer.list("GlobalTables").close();
    answer.close();
    Ok(())
}
