//! Shared by both kinds of restore: which settings of the source can be overridden, and the table that is created
//! (docs/behavior: 04 9.3).

use std::sync::Arc;

use crate::clock::Moment;
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::limits;
use crate::operation::check;
use crate::operation::check::one_of;
use crate::operation::tables::create_table::quota::ThroughputOwner;
use crate::operation::tables::create_table::{self, Extras, definition, shape, vector};
use crate::operation::tables::description::{self, TableView};
use crate::request::{
    KeySchemaElement, Overrides, Projection as ProjectionRequest, SecondaryIndex, VectorIndex as VectorIndexRequest,
};
use crate::schema::{Adjustments, BillingMode, Definition, Index, Projection, Throughput, VectorIndex};
use crate::sort;
use crate::storage::{Items, Region, Restored, Table};
use crate::value::{Name, Text};
use crate::wire::encode::Writer;

/// The additional IAM actions on the new table that both require (docs/behavior: 07 2.1).
pub const ACTIONS: &[&str] = &[
    "BatchWriteItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "UpdateItem",
];

/// The model's constraints on the members of both requests.
pub fn check_members(violations: &mut Violations, target: Option<&Text>, overrides: &Overrides) {
    match target {
        None => violations.missing("targetTableName"),
        Some(name) => check::plain_name(violations, name, "targetTableName"),
    }
    shape::billing_mode(violations, overrides.billing_mode.as_ref(), "billingModeOverride");
    let units = overrides.provisioned_throughput.as_ref();
    shape::throughput(violations, units, "provisionedThroughputOverride");
    for (indexes, path, most) in [
        (&overrides.global_secondary_indexes, "globalSecondaryIndexOverride", 8),
        (&overrides.local_secondary_indexes, "localSecondaryIndexOverride", 2),
    ] {
        for (at, each) in indexes.iter().flatten().enumerate() {
            shape::index(violations, each, &format!("{path}.{}.member", at + 1), most);
        }
    }
    shape::encryption(
        violations,
        overrides.sse_specification.as_ref(),
        "sSESpecificationOverride",
    );
    for (at, each) in overrides.vector_indexes.iter().flatten().enumerate() {
        shape::vector_index(violations, each, &format!("vectorIndexOverride.{}.member", at + 1));
    }
}

/// A restore from another region requires encryption settings.
pub fn check_region(context: &Context<'_>, region: &str, overrides: &Overrides) -> Result<(), ApiError> {
    let foreign = region != context.region && !context.scope.region.is_empty();
    if foreign && overrides.sse_specification.is_none() {
        return Err(ApiError::invalid_request(
            "sseSpecificationOverride must be provided for cross-region restores",
        ));
    }
    Ok(())
}

/// The restored table's definition: the source's with overrides, without the settings that are never restored (tags,
/// deletion protection, table class, the history of its throughput).
pub fn definition(context: &Context<'_>, source: &Definition, overrides: &Overrides) -> Result<Definition, ApiError> {
    let (billing, throughput) = billing(source, overrides)?;
    let locals = match &overrides.local_secondary_indexes {
        None => source.locals.clone(),
        Some(requested) => selected_indexes(requested, &source.locals, billing)?,
    };
    let globals = match &overrides.global_secondary_indexes {
        None => source.globals.clone(),
        Some(requested) => selected_indexes(requested, &source.globals, billing)?,
    };
    let globals = globals.into_iter().map(|index| with_throughput(index, billing));
    let globals = globals.collect::<Result<Vec<Index>, ApiError>>()?;
    let vectors = match &overrides.vector_indexes {
        None => source.vectors.clone(),
        Some(requested) => picked_vectors(requested, &source.vectors)?,
    };
    if !vectors.is_empty() {
        vector::check_billing(billing)?;
    }
    definition::check_names(&globals, &locals, &vectors)?;
    let on_demand = match &overrides.on_demand_throughput {
        None => source.on_demand.filter(|_| billing == BillingMode::PayPerRequest),
        requested => definition::on_demand(requested.as_ref(), billing, &ThroughputOwner::Table)?,
    };
    let encryption = match &overrides.sse_specification {
        None => source.encryption.clone(),
        requested => definition::encryption(context, requested.as_ref())?,
    };
    let used = |name: &Name| {
        source.key.contains(name)
            || globals.iter().chain(&locals).any(|index| index.key.contains(name))
            || vectors.iter().any(|index| index.search_attribute(name).is_some())
    };
    let attributes = source.attributes.iter().filter(|each| used(&each.name)).cloned();
    let definition = Definition {
        attributes: attributes.collect(),
        locals,
        globals,
        vectors,
        billing,
        throughput,
        adjustments: Adjustments::default(),
        on_demand_since: (billing == BillingMode::PayPerRequest).then_some(context.now),
        on_demand,
        warm: None,
        class: None,
        class_changed: None,
        deletion_protection: false,
        encryption,
        tags: Vec::new(),
        ..source.clone()
    };
    definition::check_quotas(context, &definition)?;
    Ok(definition)
}

fn billing(source: &Definition, overrides: &Overrides) -> Result<(BillingMode, Throughput), ApiError> {
    let requested = overrides.provisioned_throughput.as_ref();
    let refuse = |text: &str| Err(ApiError::invalid_request(text));
    match (one_of(overrides.billing_mode.as_ref()), requested) {
        (Some("PAY_PER_REQUEST"), Some(_)) => {
            refuse("Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST")
        }
        (Some("PAY_PER_REQUEST"), None) => Ok((BillingMode::PayPerRequest, Throughput::default())),
        (Some(_), None) => refuse("Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
        (None, Some(_)) if source.billing == BillingMode::PayPerRequest => {
            refuse("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
        }
        (_, Some(requested)) => Ok((BillingMode::Provisioned, definition::throughput_of(requested)?)),
        (None, None) => Ok((source.billing, source.throughput)),
    }
}

/// The requested subset of the source's indexes, under their new names.
fn selected_indexes(
    requested: &[SecondaryIndex],
    there: &[Index],
    billing: BillingMode,
) -> Result<Vec<Index>, ApiError> {
    let pick = |requested: &SecondaryIndex| {
        let name = requested.index_name.clone().unwrap_or_default();
        let Some(source) = there.iter().find(|index| is_same(requested, index)) else {
            return Err(no_such_index(&name));
        };
        if requested.warm_throughput.is_some() {
            // According to the API model this fails; the text has not been recorded.
            return Err(ApiError::invalid_request(format_args!(
                "WarmThroughput cannot be specified for index {name}"
            )));
        }
        let throughput = requested.provisioned_throughput.as_ref().map(definition::throughput_of);
        Ok(Index {
            throughput: throughput.transpose()?.unwrap_or_default(),
            on_demand: definition::on_demand(
                requested.on_demand_throughput.as_ref(),
                billing,
                &ThroughputOwner::Index(&name),
            )?,
            name,
            ..source.clone()
        })
    };
    requested.iter().map(pick).collect()
}

/// The text for secondary indexes; for vector indexes none has been recorded.
fn no_such_index(name: &str) -> ApiError {
    ApiError::invalid_request(format_args!(
        "Index {name} does not match a secondary index that existed in the source table and cannot be created during the restore operation"
    ))
}

/// The requested subset of the source's vector indexes.
fn picked_vectors(requested: &[VectorIndexRequest], there: &[VectorIndex]) -> Result<Vec<VectorIndex>, ApiError> {
    let pick = |requested: &VectorIndexRequest| {
        let name = requested.index_name.clone().unwrap_or_default();
        match there.iter().find(|index| is_same_vector(requested, index)) {
            None => Err(no_such_index(&name)),
            Some(source) => Ok(VectorIndex { name, ..source.clone() }),
        }
    };
    requested.iter().map(pick).collect()
}

fn is_same_vector(requested: &VectorIndexRequest, index: &VectorIndex) -> bool {
    let attribute = requested.vector_attribute.as_ref();
    let attribute = attribute.and_then(|each| each.attribute_name.as_ref());
    let search = requested.search_schema.iter().flatten();
    let search = search.map(|each| {
        let role = one_of(each.search_schema_element_type.as_ref());
        (each.attribute_name.as_deref(), role)
    });
    let there = index.search.iter();
    attribute == Some(&index.attribute)
        && search.eq(there.map(|each| (Some(each.name.as_str()), Some(each.role()))))
        && requested.dimensions.and_then(|count| usize::try_from(count).ok()) == Some(index.dimensions)
        && one_of(requested.distance_function.as_ref()) == Some(index.distance.name())
        && is_same_projection(requested.projection.as_ref(), &index.projection)
}

/// Whether keys and projection equal those of an index.
fn is_same(requested: &SecondaryIndex, index: &Index) -> bool {
    let kinds = [("HASH", &index.key.hash), ("RANGE", &index.key.range)];
    let named = |element: &KeySchemaElement| {
        let name = element.attribute_name.clone().unwrap_or_default();
        (one_of(element.key_type.as_ref()).unwrap_or_default().to_owned(), name)
    };
    let there = kinds.iter().flat_map(|(kind, attributes)| {
        attributes
            .iter()
            .map(move |attribute| ((*kind).to_owned(), attribute.name.clone()))
    });
    let keys = requested.key_schema.iter().flatten().map(named).eq(there);
    keys && is_same_projection(requested.projection.as_ref(), &index.projection)
}

fn is_same_projection(requested: Option<&ProjectionRequest>, there: &Projection) -> bool {
    let requested = requested.cloned().unwrap_or_default();
    let mut names = requested.non_key_attributes.unwrap_or_default();
    sort::sort(&mut names);
    match (there, one_of(requested.projection_type.as_ref())) {
        (Projection::All, Some("ALL")) | (Projection::KeysOnly, Some("KEYS_ONLY")) => names.is_empty(),
        (Projection::Include(kept), Some("INCLUDE")) => names == *kept,
        _ => false,
    }
}

fn with_throughput(index: Index, billing: BillingMode) -> Result<Index, ApiError> {
    if billing == BillingMode::Provisioned && index.throughput == Throughput::default() {
        return Err(ApiError::invalid_request(format_args!(
            "Must specify provisioned throughput for index {}",
            index.name
        )));
    }
    let on_demand = billing == BillingMode::PayPerRequest;
    Ok(Index {
        throughput: if on_demand {
            Throughput::default()
        } else {
            index.throughput
        },
        adjustments: Adjustments::default(),
        on_demand: index.on_demand.filter(|_| on_demand),
        warm: None,
        ..index
    })
}

/// Creates the table and fills it. `claim` returns whether the source remains free until the table exists.
pub fn make(
    context: &Context<'_>,
    (name, definition): (&Text, Definition),
    items: &[Items],
    restored: Restored,
    claim: impl FnOnce(&Table) -> Result<(), ApiError>,
) -> Result<RestoredTable, ApiError> {
    let region = context.engine.catalog().region_or_new(&context.scope);
    check_target(context, &region, name)?;
    let table = create_table::make(context, &region, name.clone(), definition, Extras::of(restored))?;
    let items = items.iter().flat_map(Items::iter);
    table.fill(items.map(|(key, item)| (key.clone(), item.clone())), context.now)?;
    let mut tables = region.tables.write();
    // A concurrent request may have created a table of this name.
    check_named(context, tables.get(name))?;
    create_table::check_quota(context, name, &table.shape().definition, &tables)?;
    claim(&table)?;
    tables.insert(&table, context.now)?;
    drop(tables);
    Ok((table, context.now))
}

/// A table created from a backup or from another table's past, and when.
pub type RestoredTable = (Arc<Table>, Moment);

/// Writes a response with the description of a restored table.
pub fn encode((table, now): &RestoredTable, out: &mut Writer) {
    let look = TableView::Created(*now);
    description::table(out, "TableDescription", table, &table.shape(), look);
}

fn check_target(context: &Context<'_>, region: &Region, name: &str) -> Result<(), ApiError> {
    let tables = region.tables.read();
    check_named(context, tables.get(name))?;
    let running = tables.values().filter(|table| table.shape().is_restoring(context.now));
    if running.count() >= limits::RESTORES {
        return Err(ApiError::subscriber_limit(
            "Only 50 restore operations can be done simultaneously",
        ));
    }
    Ok(())
}

/// Rejects a target that exists.
fn check_named(context: &Context<'_>, there: Option<&Arc<Table>>) -> Result<(), ApiError> {
    let Some(table) = there else { return Ok(()) };
    let shape = table.shape();
    if shape.is_gone(context.now) {
        return Ok(());
    }
    match shape.restored.as_deref().filter(|_| shape.is_restoring(context.now)) {
        Some(Restored {
            backup_arn, table_arn, ..
        }) => Err(ApiError::restore_target_in_use(
            &table.name,
            backup_arn.as_ref().unwrap_or(table_arn),
        )),
        None => Err(ApiError::restore_target_exists(&table.name)),
    }
}
