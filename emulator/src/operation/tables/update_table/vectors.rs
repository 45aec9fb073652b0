//! The creation and deletion of vector indexes (docs/behavior: 04 4.1 and 14.2).

use super::edit::TableUpdate;
use super::indexes::{DELETION, prune_types};
use crate::clock::Moment;
use crate::error::ApiError;
use crate::limits;
use crate::operation::tables::create_table::{definition, vector};
use crate::request::VectorIndex as ReturnMembers;
use crate::schema::{BillingMode, KeyAttribute};
use crate::storage::JobKind;

impl TableUpdate<'_> {
    /// Applies the changes in their order; if one is rejected, none is applied.
    pub(super) fn vectors(&mut self) -> Result<(), ApiError> {
        let request = self.request;
        for element in request.vector_index_updates.iter().flatten() {
            if let Some(requested) = &element.create {
                self.create_vector_index(requested)?;
            }
            if let Some(requested) = &element.delete {
                self.delete_vector_index(requested.index_name.as_deref().unwrap_or_default())?;
            }
        }
        self.check_vectors_on_demand()
    }

    /// Checks that a table with vector indexes is on demand.
    fn check_vectors_on_demand(&self) -> Result<(), ApiError> {
        let definition = &self.shape.definition;
        if definition.billing == BillingMode::Provisioned && !definition.vectors.is_empty() {
            return Err(ApiError::invalid(
                "Tables with vector indexes must be in PAY_PER_REQUEST mode",
            ));
        }
        Ok(())
    }

    fn create_vector_index(&mut self, requested: &ReturnMembers) -> Result<(), ApiError> {
        let name = requested.index_name.clone().unwrap_or_default();
        self.check_online("")?;
        self.check_new(&name)?;
        if self.shape.definition.vectors.len() >= limits::VECTOR_INDEXES {
            return Err(ApiError::subscriber_limit(
                "Number of vector secondary indexes exceeds per-table limit of 5",
            ));
        }
        let types = self.request.attribute_definitions.as_deref().unwrap_or_default();
        let types = definition::attribute_types(types)?;
        let index = vector::index(requested, &types, self.shape.definition.billing)?;
        vector::check_not_defined(&index.attribute, &self.shape.definition.attributes)?;
        vector::check_dimensions(&index, &self.shape.definition.vectors)?;
        let work = self.creation(&name);
        let definition = self.definition();
        for attribute in &index.search {
            let there = definition.attributes.iter().find(|there| there.name == attribute.name);
            if there.is_some_and(|there| there.kind != attribute.kind) {
                return Err(ApiError::invalid(format_args!(
                    "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. Attribute: {}",
                    attribute.name
                )));
            }
            if let Err(at) = definition
                .attributes
                .binary_search_by(|there| there.name.cmp(&attribute.name))
            {
                let (name, kind) = (attribute.name.clone(), attribute.kind);
                definition.attributes.insert(at, KeyAttribute { name, kind });
            }
        }
        definition.vectors.push(index);
        self.begin(work, Moment::NEVER);
        Ok(())
    }

    fn delete_vector_index(&mut self, name: &str) -> Result<(), ApiError> {
        self.check_online(name)?;
        let Some((at, _)) = self.shape.definition.vector_index(name) else {
            return Err(self.no_such_index(name));
        };
        self.refuse_while_allocating(name)?;
        self.shape.jobs.retain(|job| !job.concerns(name));
        let until = self.after("index deletion", DELETION);
        let definition = self.definition();
        let index = Box::new(definition.vectors.remove(at));
        prune_types(definition);
        self.begin(JobKind::DeleteVectorIndex { at, index }, until);
        Ok(())
    }
}
