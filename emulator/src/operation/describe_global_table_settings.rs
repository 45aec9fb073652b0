//! [DescribeGlobalTableSettings](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeGlobalTableSettings.html).

use super::legacy_global_tables as legacy;
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::wire::decode::GlobalTableOnly;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], _: &mut Writer) -> Result<(), ApiError> {
    let request = GlobalTableOnly::decode(body)?;
    let mut faults = Violations::new();
    legacy::check_name(&mut faults, request.global_table_name.as_ref());
    faults.finish()?;
    context.judge_control(request.global_table_name.as_deref().unwrap_or_default())?;
    Err(legacy::not_found(request.global_table_name.as_deref()))
}
