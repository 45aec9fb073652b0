//! [DescribeTable](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html).

use super::check;
use super::description::{self, TableView};
use crate::context::Context;
use crate::error::ApiError;
use crate::execute;
use crate::plan;
use crate::request::TableOnly;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = TableOnly::decode(body)?;
    let name = check::control_table_name(request.table_name.as_ref())?;
    let target = plan::table_in_any_state(context, name)?;
    context.judge_control(&target.table.name)?;
    // The counts are of what is there now.
    execute::notice_due(&target.table, context.now);
    description::table(
        out,
        "Table",
        &target.table,
        &target.table.shape(),
        TableView::At(context.now),
    );
    Ok(())
}
