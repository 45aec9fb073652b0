//! Shared by the operations on Contributor Insights (docs/behavior: 04 12.2).
//!
//! Nothing is counted, since CloudWatch is another service. The calls, their states and their errors match the service's.

pub(super) mod describe_contributor_insights;
pub(super) mod list_contributor_insights;
pub(super) mod update_contributor_insights;

use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations};
use crate::operation::check;
use crate::plan::{self, Target};
use crate::request::ContributorInsights;
use crate::schema::{Index, KeySchema};

/// Checks `IndexName`, together with the other members.
pub fn check_index_name(violations: &mut Violations, request: &ContributorInsights) {
    if let Some(index) = &request.index_name {
        check::plain_name(violations, index, "indexName");
    }
}

/// A request about the insights of a table, or of one of its global indexes.
pub struct InsightsPlan<'r> {
    pub target: Target,
    /// The index, if the request names one.
    pub index: Option<&'r str>,
}

impl<'r> InsightsPlan<'r> {
    pub fn new(context: &Context<'_>, request: &'r ContributorInsights) -> Result<InsightsPlan<'r>, ApiError> {
        let name = check::control_table_name(request.table_name.as_ref())?;
        Ok(InsightsPlan {
            target: plan::sub_resource(context, name)?,
            index: request.index_name.as_deref(),
        })
    }

    /// Checks that the index exists.
    pub fn check_index(&self) -> Result<(), ApiError> {
        let globals = &self.target.definition().globals;
        match self.index {
            Some(index) if !globals.iter().any(|each| each.name == index) => Err(ApiError::new(
                ErrorKind::ResourceNotFound,
                format!(
                    "Requested resource not found: Index: {index} not found for table: {}",
                    self.target.table.name
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The key of the table or of its index, which determines the number of its rules.
pub fn key<'t>(target: &'t Target, index: Option<&str>) -> &'t KeySchema {
    let globals = &target.definition().globals;
    let found: Option<&Index> = index.and_then(|index| globals.iter().find(|each| each.name == index));
    found.map_or(&target.definition().key, |index| &index.key)
}
