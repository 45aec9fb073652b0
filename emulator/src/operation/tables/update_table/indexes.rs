//! The creation, change and deletion of global indexes (docs/behavior: 04 1.1, 4.1 and 5.4).

use std::sync::Arc;

use super::edit::TableUpdate;
use super::request::ONE_ONLINE_INDEX;
use super::throughput::{ThroughputOwner, check_changes, raise_warm};
use crate::clock::Moment;
use crate::error::{ApiError, ErrorKind};
use crate::limits;
use crate::operation::tables::create_table::definition::{self, Types};
use crate::operation::tables::create_table::vector;
use crate::request::SecondaryIndex;
use crate::schema::{BillingMode, Definition, Index, KeyAttribute, KeySchema};
use crate::storage::JobKind;
use crate::value::Name;

/// Measured: 24 to 56 s in which the service allocates resources.
const ALLOCATION: f64 = 6.0;
/// Measured: about 8.5 or 16.5 minutes until the index is `ACTIVE`, even on an empty table.
const CREATION: f64 = 85.0;
/// Measured: 2.6 to 6 s.
pub(super) const DELETION: f64 = 0.7;
/// Measured: 2 to 4 s.
const UNITS: f64 = 0.5;

impl TableUpdate<'_> {
    /// Applies the changes in their order; if one is rejected, none is applied.
    pub(super) fn indexes(&mut self) -> Result<(), ApiError> {
        let request = self.request;
        for element in request.global_secondary_index_updates.iter().flatten() {
            if let Some(requested) = &element.update {
                self.update_index(requested)?;
            }
            if let Some(requested) = &element.create {
                self.create_index(requested)?;
            }
            if let Some(requested) = &element.delete {
                self.delete_index(requested)?;
            }
        }
        Ok(())
    }

    /// The position of a global index, or the service's error for a missing one.
    fn find(&self, name: &str, verb: &str) -> Result<usize, ApiError> {
        let deletes = |work: &JobKind| matches!(work, JobKind::DeleteIndex { index, .. } if index.name == name);
        match self.shape.definition.index(name) {
            None if self.shape.jobs.iter().any(|job| deletes(&job.work)) => {
                // Two spaces, as the service writes it.
                let table = &self.table.name;
                Err(ApiError::in_use(format_args!(
                    "Index is being deleted.  Table: {table} Index: {name}"
                )))
            }
            Some((at, index)) if !index.local => Ok(at),
            Some(_) => Err(ApiError::validation(format!(
                "Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}"
            ))),
            None => Err(self.no_such_index(name)),
        }
    }

    pub(super) fn no_such_index(&self, name: &str) -> ApiError {
        let table = &self.table.name;
        ApiError::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Index {name} for table {table}"),
        )
    }

    /// Rejects the name of an existing index of any kind.
    pub(super) fn check_new(&self, name: &str) -> Result<(), ApiError> {
        if self.shape.definition.has_index(name) {
            return Err(ApiError::validation(
                "Attempting to create an index which already exists",
            ));
        }
        Ok(())
    }

    /// Rejects the deletion of an index for which the service is still allocating resources.
    pub(super) fn refuse_while_allocating(&self, name: &str) -> Result<(), ApiError> {
        let (table, now) = (&self.table.name, self.context.now);
        let allocates = |work: &JobKind| matches!(work, JobKind::CreateIndex { index, allocated, .. } if index == name && *allocated > now);
        if self.shape.jobs.iter().any(|job| allocates(&job.work)) {
            return Err(ApiError::in_use(format_args!(
                "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is active. Table: {table} Index: {name}"
            )));
        }
        Ok(())
    }

    /// Rejects the creation or deletion of an index while the table or another index is being changed.
    pub(super) fn check_online(&self, own: &str) -> Result<(), ApiError> {
        let table = &self.table.name;
        let busy = |work: &JobKind| match work {
            JobKind::CreateIndex { index, .. } => index != own,
            JobKind::DeleteIndex { .. } | JobKind::DeleteVectorIndex { .. } => true,
            _ => false,
        };
        if self.shape.jobs.iter().any(|job| busy(&job.work)) {
            return Err(ApiError::subscriber_limit(ONE_ONLINE_INDEX));
        }
        // A change of billing in this request can be combined with an index.
        let jobs = || self.shape.jobs.iter();
        let own = |work: &JobKind| self.request.billing_mode.is_some() && matches!(work, JobKind::Billing);
        if jobs().any(|job| job.is_throughput() && !own(&job.work)) {
            return Err(ApiError::in_use(format_args!(
                "Can't create or delete indexes while table IOPS are being updated. Table: {table}"
            )));
        }
        if self.stream_switches() {
            return Err(ApiError::in_use(
                "Can't create or delete an index when stream status is being updated.",
            ));
        }
        if jobs().any(|job| matches!(job.work, JobKind::Class { .. })) {
            return Err(ApiError::in_use(
                "Can't create or delete an index when a table class update is in progress.",
            ));
        }
        Ok(())
    }

    fn create_index(&mut self, requested: &SecondaryIndex) -> Result<(), ApiError> {
        let name = requested.index_name.clone().unwrap_or_default();
        self.check_online("")?;
        self.check_new(&name)?;
        if self.shape.definition.globals.len() >= limits::GLOBAL_INDEXES {
            return Err(ApiError::subscriber_limit(
                "Number of global secondary indexes exceeds per-table limit of 20",
            ));
        }
        let types = self.request.attribute_definitions.as_deref().unwrap_or_default();
        if types.is_empty() {
            return Err(ApiError::invalid(format_args!(
                "AttributeDefinitions is not specified for index: {name}"
            )));
        }
        let types = definition::attribute_types(types)?;
        let billing = self.shape.definition.billing;
        let index = definition::global_index(requested, &types, billing, &|requested| check_units(requested, billing))?;
        for vectors in &self.shape.definition.vectors {
            vector::check_not_defined(&vectors.attribute, &index.key.attributes().cloned().collect())?;
        }
        check_types(&self.shape.definition, &index)?;
        definition::check_index_quotas(self.context, &index)?;
        let work = self.creation(&name);
        let definition = self.definition();
        add_types(&mut definition.attributes, &index.key);
        definition.globals.push(index);
        definition::check_projected(&definition.globals, &definition.locals)?;
        self.begin(work, Moment::NEVER);
        Ok(())
    }

    /// The job that creates an index. It ends when the index has been filled, but not before `earliest`.
    pub(super) fn creation(&self, name: &Name) -> JobKind {
        let after = |times| (self.shape).much_later(self.context.now, "index", &self.table.name, times);
        JobKind::CreateIndex {
            index: name.clone(),
            allocated: after(ALLOCATION),
            earliest: after(CREATION),
        }
    }

    fn delete_index(&mut self, requested: &SecondaryIndex) -> Result<(), ApiError> {
        let name = requested.index_name.as_deref().unwrap_or_default();
        self.check_online(name)?;
        let at = self.find(name, "delete")?;
        self.refuse_while_allocating(name)?;
        let updates = |work: &JobKind| matches!(work, JobKind::UpdateIndex { index, .. } if index == name);
        if self.shape.jobs.iter().any(|job| updates(&job.work)) {
            return Err(self.being_updated(name));
        }
        self.shape.jobs.retain(|job| !job.concerns(name));
        let until = self.after("index deletion", DELETION);
        Arc::make_mut(&mut self.shape.attached).forget_insights(Some(name));
        self.shape.index_lags.remove(name);
        let definition = self.definition();
        let index = Box::new(definition.globals.remove(at));
        prune_types(definition);
        self.begin(JobKind::DeleteIndex { at, index }, until);
        Ok(())
    }

    /// Two spaces, as the service writes it.
    fn being_updated(&self, name: &str) -> ApiError {
        let table = &self.table.name;
        ApiError::in_use(format_args!("Index is being updated.  Table: {table} Index: {name}"))
    }

    fn update_index(&mut self, requested: &SecondaryIndex) -> Result<(), ApiError> {
        let name = requested.index_name.as_deref().unwrap_or_default();
        let now = self.context.now;
        let at = self.find(name, "update")?;
        for job in self
            .shape
            .jobs
            .iter()
            .filter(|job| job.index().is_some_and(|index| index == name))
        {
            match &job.work {
                JobKind::CreateIndex { allocated, .. } if *allocated > now => {
                    return Err(ApiError::in_use(format_args!(
                        "Index is being created but is not backfilling yet.  Table: {} Index: {name}",
                        self.table.name
                    )));
                }
                JobKind::UpdateIndex { .. } => return Err(self.being_updated(name)),
                _ => {}
            }
        }
        let billing = self.shape.definition.billing;
        let was = self.shape.definition.globals[at].throughput;
        let mut index = self.shape.definition.globals[at].clone();
        let decreases = index.adjustments.decreases_on(now);
        if let Some(units) = &requested.provisioned_throughput {
            if billing == BillingMode::PayPerRequest {
                return Err(ApiError::invalid(format_args!(
                    "The only Updates for index: {name} when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"
                )));
            }
            let units = definition::throughput_of(units)?;
            check_changes(was, units, &ThroughputOwner::Index(name))?;
            self.check_most(units, &ThroughputOwner::Index(name))?;
            self.check_decrease(was, units, &index.adjustments)?;
            index.adjustments.note(was, units, now);
            index.throughput = units;
            index.warm = Some(raise_warm(index.warm, (billing, was), (billing, units)));
        }
        if let Some(limits) = &requested.on_demand_throughput {
            index.on_demand = self.merge_on_demand(index.on_demand, limits, &ThroughputOwner::Index(name))?;
        }
        let index_name = index.name.clone();
        self.definition().globals[at] = index;
        if requested.provisioned_throughput.is_some() || requested.on_demand_throughput.is_some() {
            let work = JobKind::UpdateIndex {
                index: index_name,
                was,
                decreases,
            };
            self.begin(work, self.after("index throughput", UNITS));
        }
        match &requested.warm_throughput {
            Some(requested) => self.warm_index(at, requested),
            None => Ok(()),
        }
    }
}

/// Checks a new index's throughput against the table's billing.
fn check_units(requested: &SecondaryIndex, billing: BillingMode) -> Result<(), ApiError> {
    let name = requested.index_name.as_deref().unwrap_or_default();
    match (billing, &requested.provisioned_throughput) {
        (BillingMode::PayPerRequest, Some(_)) => Err(ApiError::invalid(format_args!(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} when BillingMode is PAY_PER_REQUEST"
        ))),
        (BillingMode::Provisioned, None) => Err(ApiError::invalid(format_args!(
            "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"
        ))),
        _ => Ok(()),
    }
}

/// Checks that an attribute has one type in all keys.
fn check_types(definition: &Definition, index: &Index) -> Result<(), ApiError> {
    let roles = |key: &KeySchema, attribute: &KeyAttribute| {
        let role = if key.hash.iter().any(|hash| hash.name == attribute.name) {
            "HASH"
        } else {
            "RANGE"
        };
        format!(
            "Schema:[SchemaElement: key{{{}:{}:{role}}}]",
            attribute.name,
            attribute.kind.name()
        )
    };
    for new in index.key.attributes() {
        let Some(old) = definition
            .attributes
            .iter()
            .find(|old| old.name == new.name && old.kind != new.kind)
        else {
            continue;
        };
        let mut keys = std::iter::once(&definition.key).chain(definition.indexes().map(|index| &index.key));
        let used = keys.find(|key| key.contains(&old.name)).unwrap_or(&definition.key);
        return Err(ApiError::invalid(format_args!(
            "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. Existing schema: {} New schema: {}",
            roles(used, old),
            roles(&index.key, new)
        )));
    }
    Ok(())
}

/// Adds the types of a new key to those of a table, sorted by name.
fn add_types(types: &mut Types, key: &KeySchema) {
    for attribute in key.attributes() {
        if let Err(at) = types.binary_search_by(|there| there.name.cmp(&attribute.name)) {
            types.insert(at, attribute.clone());
        }
    }
}

/// Removes the types of attributes that are not part of any key.
pub(super) fn prune_types(definition: &mut Definition) {
    let mut types = std::mem::take(&mut definition.attributes);
    types.retain(|attribute| {
        let name = &attribute.name;
        let mut vectors = definition.vectors.iter();
        definition.key.contains(name)
            || definition.indexes().any(|index| index.key.contains(name))
            || vectors.any(|index| index.search_attribute(name).is_some())
    });
    definition.attributes = types;
}
