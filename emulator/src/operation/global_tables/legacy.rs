//! Shared by the operations on global tables of version 2017.11.29. The service no longer creates such tables, so none
//! exists, whatever the name (recorded in October 2026; docs/behavior: 04 12.5).

use crate::error::Violations;
use crate::operation::check;
use crate::value::Text;

/// Checks `GlobalTableName`, together with the other members.
pub fn check_name(violations: &mut Violations, name: Option<&Text>) {
    match name {
        None => violations.missing("globalTableName"),
        Some(name) => check::plain_name(violations, name, "globalTableName"),
    }
}
