//! The definition in a CreateTable request: billing, keys, indexes, in the order in which the service checks them
//! (recorded on AWS, us-east-1 and us-west-2, October 2026).

use super::quota::{self, ThroughputOwner};
use super::{shape, vector};
use crate::context::Context;
use crate::error::ApiError;
use crate::limits;
use crate::operation::check::one_of;
use crate::operation::tables::kms;
use crate::operation::tags;
use crate::request::{
    AttributeDefinition, CreateTable, KeySchemaElement, OnDemandThroughput as OnDemandRequest,
    Projection as ProjectionRequest, ProvisionedThroughput, SecondaryIndex, SseSpecification, WarmThroughput,
};
use crate::schema::{
    Adjustments, BillingMode, Definition, Encryption, Index, KeyAttribute, KeySchema, OnDemandThroughput, Projection,
    ScalarType, StreamView, Throughput, VectorIndex, initial_warm,
};
use crate::sort;
use crate::value::{Name, Text};

/// The maximum number of units in a request.
const MOST_UNITS: i64 = 1_000_000_000_000;

pub(in crate::operation) type Types = Vec<KeyAttribute>;

pub(in crate::operation) fn read(context: &Context<'_>, request: &CreateTable) -> Result<Definition, ApiError> {
    // Such a request has neither keys nor throughput: the new table has those of its source.
    if request.global_table_source_arn.is_some() {
        return Err(ApiError::invalid(
            "GlobalTableSourceArn: global tables of several accounts are not supported by this endpoint",
        ));
    }
    let billing = match one_of(request.billing_mode.as_ref()) {
        Some("PAY_PER_REQUEST") => BillingMode::PayPerRequest,
        _ => BillingMode::Provisioned,
    };
    let throughput = table_throughput(request, billing)?;
    let on_demand = on_demand(request.on_demand_throughput.as_ref(), billing, &ThroughputOwner::Table)?;
    let warm = warm(
        request.warm_throughput.as_ref(),
        billing,
        throughput,
        &ThroughputOwner::Table,
    )?;
    let types = attribute_types(request.attribute_definitions.as_deref().unwrap_or_default())?;
    let elements = request.key_schema.as_deref().unwrap_or_default();
    let key = table_key(elements, &types)?;
    let locals = local_indexes(request, &key, &types)?;
    let globals = global_indexes(request, &types, billing)?;
    let vectors = vector::read(request.vector_indexes.as_deref(), &types, billing)?;
    check_indexes_together(&globals, &locals, &vectors)?;
    check_all_used(&types, &key, &globals, &locals, &vectors)?;
    stream(request)?;
    shape::check_settings_replication(request.global_table_settings_replication_mode.as_ref())?;
    let class = request.table_class.as_ref().map(table_class).transpose()?;
    let encryption = encryption(context, request.sse_specification.as_ref())?;
    let tags = tags::read(request.tags.as_deref().unwrap_or_default())?;
    let definition = Definition {
        key,
        attributes: types,
        locals,
        globals,
        vectors,
        billing,
        throughput,
        adjustments: Adjustments::default(),
        on_demand_since: (billing == BillingMode::PayPerRequest).then_some(context.now),
        on_demand,
        warm,
        class,
        class_changed: None,
        deletion_protection: request.deletion_protection_enabled.unwrap_or(false),
        encryption,
        tags,
    };
    check_quotas(context, &definition)?;
    Ok(definition)
}

/// Checks the quotas of an account, after the request itself has been checked.
pub(in crate::operation) fn check_quotas(context: &Context<'_>, definition: &Definition) -> Result<(), ApiError> {
    let table = (definition.throughput, definition.on_demand, definition.warm);
    check_throughput_quotas(context, table, &ThroughputOwner::Table)?;
    let mut indexes = definition.globals.iter();
    indexes.try_for_each(|each| check_index_quotas(context, each))
}

/// Checks the quotas of an account for a global index.
pub(in crate::operation) fn check_index_quotas(context: &Context<'_>, index: &Index) -> Result<(), ApiError> {
    let of = ThroughputOwner::Index(&index.name);
    check_throughput_quotas(context, (index.throughput, index.on_demand, index.warm), &of)
}

fn check_throughput_quotas(
    context: &Context<'_>,
    (units, on_demand, warm): (Throughput, Option<OnDemandThroughput>, Option<Throughput>),
    of: &ThroughputOwner<'_>,
) -> Result<(), ApiError> {
    quota::provisioned(context, units, of)?;
    if let Some(limits) = on_demand {
        quota::on_demand(context, limits.max_read.unwrap_or(0), "MaxReadRequestUnits", of)?;
        quota::on_demand(context, limits.max_write.unwrap_or(0), "MaxWriteRequestUnits", of)?;
    }
    if let Some(warm) = warm {
        quota::warm(context, warm.read, "ReadUnitsPerSecond", of)?;
        quota::warm(context, warm.write, "WriteUnitsPerSecond", of)?;
    }
    Ok(())
}

fn units(value: Option<i64>, name: &str) -> Result<u64, ApiError> {
    let value = value.unwrap_or(0);
    if value > MOST_UNITS {
        return Err(ApiError::validation(format!(
            "Given value {value} for {name} is out of bounds"
        )));
    }
    Ok(value.max(0) as u64)
}

fn table_throughput(request: &CreateTable, billing: BillingMode) -> Result<Throughput, ApiError> {
    match (billing, &request.provisioned_throughput) {
        (BillingMode::PayPerRequest, None) => Ok(Throughput::default()),
        (BillingMode::PayPerRequest, Some(_)) => Err(ApiError::invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        )),
        (BillingMode::Provisioned, None) => Err(ApiError::invalid(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )),
        (BillingMode::Provisioned, Some(requested)) => throughput_of(requested),
    }
}

/// The units of a request.
pub(in crate::operation) fn throughput_of(requested: &ProvisionedThroughput) -> Result<Throughput, ApiError> {
    Ok(Throughput {
        read: units(requested.read_capacity_units, "ReadCapacityUnits")?,
        write: units(requested.write_capacity_units, "WriteCapacityUnits")?,
    })
}

pub(in crate::operation) fn on_demand(
    requested: Option<&OnDemandRequest>,
    billing: BillingMode,
    of: &ThroughputOwner<'_>,
) -> Result<Option<OnDemandThroughput>, ApiError> {
    let Some(requested) = requested else { return Ok(None) };
    for (value, name) in [
        (requested.max_read_request_units, "MaxReadRequestUnits"),
        (requested.max_write_request_units, "MaxWriteRequestUnits"),
    ] {
        let Some(value) = value else { continue };
        if billing == BillingMode::Provisioned {
            return Err(ApiError::invalid(format_args!(
                "{name} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
            )));
        }
        if value < 1 {
            return Err(ApiError::invalid(format_args!(
                "Requested {name} for OnDemandThroughput for {} is outside of valid range",
                of.spaced()
            )));
        }
    }
    Ok(Some(OnDemandThroughput {
        max_read: requested.max_read_request_units,
        max_write: requested.max_write_request_units,
    }))
}

fn warm(
    requested: Option<&WarmThroughput>,
    billing: BillingMode,
    throughput: Throughput,
    of: &ThroughputOwner<'_>,
) -> Result<Option<Throughput>, ApiError> {
    let Some(requested) = requested else {
        return Ok(None);
    };
    let of = of.plain();
    let initial = initial_warm(billing, throughput);
    for (value, least, name, provisioned) in [
        (
            requested.read_units_per_second,
            initial.read,
            "ReadUnitsPerSecond",
            "ReadCapacityUnits",
        ),
        (
            requested.write_units_per_second,
            initial.write,
            "WriteUnitsPerSecond",
            "WriteCapacityUnits",
        ),
    ] {
        if value.is_none_or(|value| value >= least as i64) {
            continue;
        }
        return Err(match billing {
            BillingMode::PayPerRequest => ApiError::invalid(format_args!(
                "Requested {name} for WarmThroughput for {of} is lower than initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html"
            )),
            BillingMode::Provisioned => ApiError::invalid(format_args!(
                "Requested {name} for WarmThroughput for {of} is lower than {provisioned} of ProvisionedThroughput"
            )),
        });
    }
    Ok(Some(Throughput {
        read: requested
            .read_units_per_second
            .map_or(initial.read, |value| value as u64),
        write: requested
            .write_units_per_second
            .map_or(initial.write, |value| value as u64),
    }))
}

/// The attribute definitions, sorted by name.
pub(in crate::operation) fn attribute_types(definitions: &[AttributeDefinition]) -> Result<Types, ApiError> {
    let mut types = Types::new();
    for definition in definitions {
        // The model's constraints have checked both members.
        let (Some(name), Some(kind)) = (
            &definition.attribute_name,
            one_of(definition.attribute_type.as_ref()).and_then(ScalarType::from_name),
        ) else {
            continue;
        };
        match types.binary_search_by(|attribute| attribute.name.cmp(name)) {
            Ok(_) => return Err(ApiError::validation(format!("Attribute Name is duplicated: {name}"))),
            Err(at) => types.insert(
                at,
                KeyAttribute {
                    name: name.clone(),
                    kind,
                },
            ),
        }
    }
    Ok(types)
}

fn shown<'n>(names: impl Iterator<Item = &'n Name>) -> String {
    names.map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn element_name(element: &KeySchemaElement) -> Name {
    element.attribute_name.clone().unwrap_or_default()
}

fn is_hash(element: &KeySchemaElement) -> bool {
    one_of(element.key_type.as_ref()) == Some("HASH")
}

/// The attributes of key elements, with their types.
fn defined(elements: &[KeySchemaElement], types: &Types) -> Result<Vec<KeyAttribute>, ApiError> {
    let find = |element: &KeySchemaElement| {
        types
            .iter()
            .find(|attribute| Some(&attribute.name) == element.attribute_name.as_ref())
            .cloned()
    };
    elements.iter().map(find).collect::<Option<Vec<_>>>().ok_or_else(|| {
        if elements.len() > types.len() {
            return ApiError::validation("Invalid KeySchema: Some index key attribute have no definition");
        }
        let keys: Vec<Name> = elements.iter().map(element_name).collect();
        ApiError::invalid(format_args!(
            "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], AttributeDefinitions: [{}]",
            shown(keys.iter()),
            shown(types.iter().map(|attribute| &attribute.name))
        ))
    })
}

const FIRST_NOT_HASH: &str = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
const SECOND_NOT_RANGE: &str = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type";
const SAME_NAME: &str = "Both the Hash Key and the Range Key element in the KeySchema have the same name";

/// A key of one hash and at most one range attribute.
fn table_key(elements: &[KeySchemaElement], types: &Types) -> Result<KeySchema, ApiError> {
    if !elements.first().is_some_and(is_hash) {
        return Err(ApiError::validation(FIRST_NOT_HASH));
    }
    if elements.get(1).is_some_and(is_hash) {
        return Err(ApiError::validation(SECOND_NOT_RANGE));
    }
    let same = elements.len() == 2 && element_name(&elements[0]) == element_name(&elements[1]);
    if same && types.len() > 1 {
        return Err(ApiError::validation(SAME_NAME));
    }
    if same {
        return Err(ApiError::validation(
            "Invalid KeySchema: Some index key attribute have no definition",
        ));
    }
    let mut attributes = defined(elements, types)?.into_iter();
    Ok(KeySchema::new(attributes.next(), attributes))
}

/// A key of up to four hash and four range attributes.
fn global_key(elements: &[KeySchemaElement], types: &Types) -> Result<KeySchema, ApiError> {
    if elements.len() <= 2 && !elements.get(1).is_some_and(is_hash) {
        return table_key(elements, types);
    }
    if !elements.first().is_some_and(is_hash) {
        return Err(ApiError::validation(FIRST_NOT_HASH));
    }
    let hashes = elements.iter().take_while(|element| is_hash(element)).count();
    if elements[hashes..].iter().any(is_hash) {
        return Err(ApiError::invalid(
            "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ));
    }
    for (count, kind) in [(hashes, "HASH"), (elements.len() - hashes, "RANGE")] {
        if count > 4 {
            return Err(ApiError::invalid(format_args!(
                "The KeySchema exceeds the maximum allowed number of {kind} key attributes"
            )));
        }
    }
    let mut names: Vec<Name> = elements.iter().map(element_name).collect();
    sort::sort_unique(&mut names);
    if names.len() < elements.len() {
        return Err(ApiError::validation(
            "The KeySchema contains multiple key attributes with the same name",
        ));
    }
    let mut attributes = defined(elements, types)?;
    let range = attributes.split_off(hashes);
    Ok(KeySchema::new(attributes, range))
}

fn local_indexes(request: &CreateTable, table: &KeySchema, types: &Types) -> Result<Vec<Index>, ApiError> {
    let Some(requested) = &request.local_secondary_indexes else {
        return Ok(Vec::new());
    };
    if requested.is_empty() {
        return Err(ApiError::invalid("List of LocalSecondaryIndexes is empty"));
    }
    if table.range.is_empty() {
        return Err(ApiError::invalid(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ));
    }
    let local = |requested: &SecondaryIndex| {
        let name = requested.index_name.clone().unwrap_or_default();
        let key = table_key(requested.key_schema.as_deref().unwrap_or_default(), types)?;
        if key.range.is_empty() {
            return Err(ApiError::invalid(format_args!(
                "Index KeySchema does not have a range key for index: {name}"
            )));
        }
        if key.hash != table.hash {
            return Err(ApiError::invalid(format_args!(
                "Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. index hash key: {}, table hash key: {}",
                shown(key.hash.iter().map(|attribute| &attribute.name)),
                shown(table.hash.iter().map(|attribute| &attribute.name))
            )));
        }
        let projection = projection(requested.projection.as_ref())?;
        Ok(Index {
            name,
            key,
            projection,
            local: true,
            throughput: Throughput::default(),
            adjustments: Adjustments::default(),
            on_demand: None,
            warm: None,
        })
    };
    requested.iter().map(local).collect()
}

fn global_indexes(request: &CreateTable, types: &Types, billing: BillingMode) -> Result<Vec<Index>, ApiError> {
    let Some(requested) = &request.global_secondary_indexes else {
        return Ok(Vec::new());
    };
    if requested.is_empty() {
        return Err(ApiError::invalid("List of GlobalSecondaryIndexes is empty"));
    }
    let global = |requested: &SecondaryIndex| {
        let name = requested.index_name.as_deref().unwrap_or_default();
        match (billing, &requested.provisioned_throughput) {
            (BillingMode::PayPerRequest, Some(_)) => Err(ApiError::invalid(format_args!(
                "ProvisionedThroughput should not be specified for index: {name} when BillingMode is PAY_PER_REQUEST"
            ))),
            (BillingMode::Provisioned, None) => Err(ApiError::invalid(format_args!(
                "ProvisionedThroughput is not specified for index: {name}"
            ))),
            _ => Ok(()),
        }
    };
    requested
        .iter()
        .map(|requested| global_index(requested, types, billing, &global))
        .collect()
}

/// A global index; `check` checks its throughput against the table's billing, with the error text of its operation.
pub(in crate::operation) fn global_index(
    requested: &SecondaryIndex,
    types: &Types,
    billing: BillingMode,
    check: &dyn Fn(&SecondaryIndex) -> Result<(), ApiError>,
) -> Result<Index, ApiError> {
    let name = requested.index_name.clone().unwrap_or_default();
    let key = global_key(requested.key_schema.as_deref().unwrap_or_default(), types)?;
    let projection = projection(requested.projection.as_ref())?;
    check(requested)?;
    let throughput = match &requested.provisioned_throughput {
        None => Throughput::default(),
        Some(requested) => throughput_of(requested)?,
    };
    let on_demand = on_demand(
        requested.on_demand_throughput.as_ref(),
        billing,
        &ThroughputOwner::Index(&name),
    )?;
    let warm = warm(
        requested.warm_throughput.as_ref(),
        billing,
        throughput,
        &ThroughputOwner::Index(&name),
    )?;
    Ok(Index {
        name,
        key,
        projection,
        local: false,
        throughput,
        adjustments: Adjustments::default(),
        on_demand,
        warm,
    })
}

pub(super) fn projection(requested: Option<&ProjectionRequest>) -> Result<Projection, ApiError> {
    let requested = requested.cloned().unwrap_or_default();
    let word = one_of(requested.projection_type.as_ref());
    match (word, requested.non_key_attributes) {
        (Some("INCLUDE"), Some(mut names)) => {
            sort::sort(&mut names);
            if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(ApiError::invalid(format_args!(
                    "Duplicate element in NonKeyAttributes: {twice}"
                )));
            }
            Ok(Projection::Include(names))
        }
        (Some("INCLUDE"), None) => Err(ApiError::invalid(
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        )),
        (Some("ALL"), None) => Ok(Projection::All),
        (Some("KEYS_ONLY"), None) => Ok(Projection::KeysOnly),
        (Some(word), Some(_)) => Err(ApiError::invalid(format_args!(
            "ProjectionType is {word}, but NonKeyAttributes is specified"
        ))),
        (None | Some(_), _) => Err(ApiError::invalid("Unknown ProjectionType: null")),
    }
}

/// Checks that no two indexes of a table share a name.
pub(in crate::operation) fn check_names(
    globals: &[Index],
    locals: &[Index],
    vectors: &[VectorIndex],
) -> Result<(), ApiError> {
    let keyed = globals.iter().chain(locals).map(|index| &index.name);
    let names: Vec<&Name> = keyed.chain(vectors.iter().map(|index| &index.name)).collect();
    match sort::first_repeat(names.iter()) {
        Some(at) => Err(ApiError::invalid(format_args!("Duplicate index name: {}", names[at]))),
        None => Ok(()),
    }
}

fn check_indexes_together(globals: &[Index], locals: &[Index], vectors: &[VectorIndex]) -> Result<(), ApiError> {
    check_names(globals, locals, vectors)?;
    if globals.len() > limits::GLOBAL_INDEXES {
        return Err(ApiError::invalid(
            "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ));
    }
    if locals.len() > limits::LOCAL_INDEXES {
        return Err(ApiError::invalid(
            "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ));
    }
    if vectors.len() > limits::VECTOR_INDEXES {
        return Err(ApiError::invalid("VectorIndex count exceeds the per-table limit of 5"));
    }
    check_projected(globals, locals)
}

/// Checks how many projected attributes all indexes of a table name.
pub(in crate::operation) fn check_projected(globals: &[Index], locals: &[Index]) -> Result<(), ApiError> {
    let projected: usize = globals
        .iter()
        .chain(locals)
        .map(|index| {
            if let Projection::Include(names) = &index.projection {
                names.len()
            } else {
                0
            }
        })
        .sum();
    if projected > limits::PROJECTED_ATTRIBUTES {
        // The limit is documented; its text has not been recorded.
        return Err(ApiError::invalid(
            "Number of attributes in NonKeyAttributes exceeds per-table limit of 100",
        ));
    }
    Ok(())
}

fn check_all_used(
    types: &Types,
    key: &KeySchema,
    globals: &[Index],
    locals: &[Index],
    vectors: &[VectorIndex],
) -> Result<(), ApiError> {
    let indexes = || globals.iter().chain(locals);
    let searched = vectors.iter().flat_map(|index| &index.search);
    let mut used: Vec<&Name> = key
        .attributes()
        .chain(indexes().flat_map(|index| index.key.attributes()))
        .map(|each| &each.name)
        .chain(searched.map(|each| &each.name))
        .collect();
    sort::sort_unique(&mut used);
    if used.len() == types.len() {
        return Ok(());
    }
    if indexes().next().is_none() && vectors.is_empty() {
        return Err(ApiError::invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
        ));
    }
    Err(ApiError::invalid(format_args!(
        "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        shown(types.iter().map(|attribute| &attribute.name)),
        shown(used.into_iter())
    )))
}

/// The stream of the new table.
pub(super) fn stream(request: &CreateTable) -> Result<Option<StreamView>, ApiError> {
    let Some(stream) = &request.stream_specification else {
        return Ok(None);
    };
    let view = one_of(stream.stream_view_type.as_ref());
    match (stream.stream_enabled, view) {
        (Some(true), None) => Err(ApiError::invalid(
            "Table is being created with a stream enabled, UpdateViewType is required",
        )),
        (Some(true), Some(view)) => Ok(StreamView::from_name(view)),
        (_, Some(_)) => Err(ApiError::invalid(
            "Table is being created with a stream disabled, UpdateViewType should not be specified",
        )),
        (_, None) => Ok(None),
    }
}

pub(in crate::operation) fn table_class(word: &Text) -> Result<&'static str, ApiError> {
    match word.as_str() {
        "STANDARD" => Ok("STANDARD"),
        "STANDARD_INFREQUENT_ACCESS" => Ok("STANDARD_INFREQUENT_ACCESS"),
        _ => Err(ApiError::validation(
            "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
        )),
    }
}

pub(in crate::operation) fn encryption(
    context: &Context<'_>,
    requested: Option<&SseSpecification>,
) -> Result<Option<Encryption>, ApiError> {
    let Some(requested) = requested else {
        return Ok(None);
    };
    let kind = one_of(requested.sse_type.as_ref());
    let key = one_of(requested.kms_master_key_id.as_ref());
    match (requested.enabled, kind, key) {
        (Some(false), Some(_), _) => Err(ApiError::invalid("SSEType can not be specified if Enabled is false")),
        (Some(false), None, Some(_)) => Err(ApiError::invalid(
            "KMSMasterKeyId can not be specified if Enabled is false",
        )),
        (_, Some("AES256"), _) => Err(ApiError::invalid("SSEType AES256 is not supported")),
        (_, None, Some(_)) => Err(ApiError::invalid(
            "SSEType KMS is required if KMSMasterKeyId is specified",
        )),
        (None | Some(false), None, None) => Ok(None),
        (_, _, key) => Ok(Some(Encryption {
            key_arn: kms::key_arn(context, key),
        })),
    }
}
