//! The table or index that a plan is bound to.

use std::sync::Arc;

use crate::schema::{Definition, Index};
use crate::storage::{Shape, Table};

use super::ReadSource;
use crate::value::{AttributeValue, Map, Name};

/// A table and its shape at the time of planning.
#[derive(Clone, Debug)]
pub struct Target {
    pub table: Arc<Table>,
    pub shape: Arc<Shape>,
    /// Whether the request named it by its ARN.
    pub by_arn: bool,
}

impl Target {
    /// The table as named in the request: responses contain the ARN if the request did.
    pub fn requested_name(&self) -> Name {
        if self.by_arn {
            Name::new(&self.table.arn)
        } else {
            self.table.name.clone()
        }
    }

    pub fn definition(&self) -> &Definition {
        &self.shape.definition
    }

    /// The value of the table's partition key in a key or item.
    pub fn partition_of<'m>(&self, map: &'m Map) -> Option<&'m AttributeValue> {
        map.get(&self.definition().key.hash.first()?.name)
    }

    /// The index that is read, if one is.
    pub fn index_of(&self, source: ReadSource) -> Option<&Index> {
        match source {
            ReadSource::Table => None,
            ReadSource::Local(at) => self.definition().locals.get(at),
            ReadSource::Global(at) => self.definition().globals.get(at),
        }
    }
}
