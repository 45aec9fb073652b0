//! What the operations on Contributor Insights share (docs/behavior: 04 12.2).
//!
//! Nothing is counted: CloudWatch is another service. The calls, their states and their errors are the service's.

use super::check;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations};
use crate::plan;
use crate::plan::Target;
use crate::request::ContributorInsights;
use crate::schema::{Index, KeySchema};

/// `IndexName`, checked with what else is wrong.
pub fn check_index_name(faults: &mut Violations, request: &ContributorInsights) {
    if let Some(index) = &request.index_name {
        check::plain_name(faults, index, "indexName");
    }
}

/// The table of a request, and the global index, if it names one.
pub fn target<'r>(
    context: &Context<'_>,
    request: &'r ContributorInsights,
) -> Result<(Target, Option<&'r str>), ApiError> {
    let name = check::control_table_name(request.table_name.as_ref())?;
    let target = plan::sub_resource(context, name)?;
    context.judge_control(&target.table.name)?;
    let index = request.index_name.as_deref();
    if let Some(index) = index
        && !target.definition().globals.iter().any(|each| each.name == index)
    {
        return Err(ApiError::new(
            ErrorKind::ResourceNotFound,
            format!(
                "Requested resource not found: Index: {index} not found for table: {}",
                target.table.name
            ),
        ));
    }
    Ok((target, index))
}

/// The key of the table or of its index: how many rules watch it depends on that.
pub fn key<'t>(target: &'t Target, index: Option<&str>) -> &'t KeySchema {
    let globals = &target.definition().globals;
    let found: Option<&Index> = index.and_then(|index| globals.iter().find(|each| each.name == index));
    found.map_or(&target.definition().key, |index| &index.key)
}
