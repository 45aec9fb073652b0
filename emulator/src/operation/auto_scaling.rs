//! What the operations on the scaling of replicas share: they know global tables alone (docs/behavior: 04 1.1 and
//! 12.6), and no table has a replica yet.

use crate::context::Context;
use crate::error::{ApiError, ErrorKind};
use crate::plan;

/// The answer on a table that is not there, or has no replica.
pub fn not_global(context: &Context<'_>, name: &str) -> Result<(), ApiError> {
    let name = plan::plain_name(name);
    context.judge_control(name)?;
    Err(ApiError::new(
        ErrorKind::ResourceNotFound,
        format!("Global table with name: '{name}' does not exist."),
    ))
}
