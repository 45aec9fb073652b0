//! What a plan is bound to.

use std::sync::Arc;

use crate::schema::Definition;
use crate::storage::{Shape, Table};
use crate::value::Name;

/// A table and its shape at the time of planning.
#[derive(Clone, Debug)]
pub struct Target {
    /// The table.
    pub table: Arc<Table>,
    /// Its shape.
    pub shape: Arc<Shape>,
    /// Whether the request named it by its ARN.
    pub by_arn: bool,
}

impl Target {
    /// The table as the request named it. Who has sent an ARN finds the ARN in the answer.
    pub fn asked_name(&self) -> Name {
        if self.by_arn {
            Name::new(&self.table.arn)
        } else {
            self.table.name.clone()
        }
    }

    /// The table's definition.
    pub fn definition(&self) -> &Definition {
        &self.shape.definition
    }
}
