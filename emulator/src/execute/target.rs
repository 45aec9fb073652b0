//! What a plan is bound to.

use std::sync::Arc;

use crate::schema::Definition;
use crate::storage::{Shape, Table};

/// A table and its shape at the time of planning.
#[derive(Clone, Debug)]
pub struct Target {
    /// The table.
    pub table: Arc<Table>,
    /// Its shape.
    pub shape: Arc<Shape>,
}

impl Target {
    /// The table's definition.
    pub fn definition(&self) -> &Definition {
        &self.shape.definition
    }
}
