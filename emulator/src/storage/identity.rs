//! The identity of a table, which never changes.

use super::scope::Scope;
use crate::clock::Moment;
use crate::value::Name;

/// The number of a table, unique among the tables of an engine.
pub type TableId = u64;

/// The immutable properties of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIdentity {
    pub scope: Scope,
    pub name: Name,
    pub arn: String,
    pub id: String,
    /// Its position in the order of locks, unique among the tables of an engine.
    pub ordinal: TableId,
    pub created: Moment,
}
