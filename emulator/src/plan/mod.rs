//! Plans: what a request will do, bound to its tables. Planning is the first stage that reads a table's definition, and
//! changes nothing.

mod access;
mod paths;
mod read;
mod select;
mod target;
mod write;

pub use access::{Access, ControlAccess, ItemAccess, ItemRequest, RegionActions, RequestTags, key_text};
pub use paths::check_below_keys;
pub use read::{Get, PageRange, PageRead, ReadSource, Select, VectorSearch, get, transact_get};
pub use select::SelectRanges;
pub use target::Target;
pub use write::{DeferredError, Write, WriteAction, WriteCondition, check_item_size, insert, keyed, put};

use crate::context::{Context, Missing};
use crate::error::ApiError;
use crate::expression::{KeyCondition, KeyOperator, Projection};
use crate::key::{self, Key, KeyBytes};
use crate::schema::{Definition, Index, KeyAttribute, KeySchema, VectorIndex};
use crate::storage::{KeyRange, Scope, TableStage};
use crate::value::{AttributeValue, Map};

/// The name in a `TableName`, which may be an ARN.
pub fn plain_name(name_or_arn: &str) -> &str {
    name_or_arn
        .strip_prefix("arn:")
        .and_then(|rest| rest.split_once(":table/"))
        .map_or(name_or_arn, |(_, name)| name)
}

/// The table of a data-plane request.
pub fn table(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    let found = find(context, name_or_arn).filter(|target| target.shape.is_active(context.now));
    found.ok_or_else(|| {
        context.note_missing(|| Missing::Table(name_or_arn.to_owned()));
        note_other_regions(context, plain_name(name_or_arn));
        ApiError::table_not_found()
    })
}

/// The region in an ARN, if it is not the caller's. With tables shared by all regions there is no other one.
fn other_region<'n>(context: &Context<'_>, name_or_arn: &'n str) -> Option<&'n str> {
    let region = name_or_arn.strip_prefix("arn:")?.split(':').nth(2)?;
    (region != context.region && !context.scope.region.is_empty()).then_some(region)
}

/// The table of a control-plane request, in any state.
pub fn table_in_any_state(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    if other_region(context, name_or_arn).is_some() {
        return Err(ApiError::arn_region(name_or_arn));
    }
    visible(context, &context.scope_of(name_or_arn), name_or_arn)
}

/// The table of a control-plane request, in any state, whose ARN may be of another region of the account.
pub fn table_in_any_region(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    let Some(region) = other_region(context, name_or_arn) else {
        return table_in_any_state(context, name_or_arn);
    };
    let scope = Scope {
        region: region.into(),
        ..context.scope.clone()
    };
    visible(context, &scope, name_or_arn)
}

fn visible(context: &Context<'_>, scope: &Scope, name_or_arn: &str) -> Result<Target, ApiError> {
    let found = find_in(context, scope, name_or_arn).filter(|target| !target.table.is_hidden(context.now));
    found.ok_or_else(|| {
        let name = plain_name(name_or_arn);
        context.note_missing(|| Missing::Table(name_or_arn.to_owned()));
        note_other_regions(context, name);
        ApiError::table_not_found_named(name)
    })
}

/// The table of a request on a sub-resource, which does not find tables that were just created.
pub fn sub_resource(context: &Context<'_>, name_or_arn: &str) -> Result<Target, ApiError> {
    let target = table_in_any_state(context, name_or_arn)?;
    if target.table.stage(&target.shape, context.now) == TableStage::Unknown {
        return Err(ApiError::table_not_found_named(&target.table.name));
    }
    Ok(target)
}

fn find(context: &Context<'_>, name_or_arn: &str) -> Option<Target> {
    find_in(context, &context.scope_of(name_or_arn), name_or_arn)
}

#[inline]
fn find_in(context: &Context<'_>, scope: &Scope, name_or_arn: &str) -> Option<Target> {
    context.record(|recorder| recorder.name_table(plain_name(name_or_arn)));
    let table = context.engine.catalog().table(scope, plain_name(name_or_arn))?;
    let shape = table.shape();
    if shape.is_gone(context.now) {
        return None;
    }
    // An ARN of another region or account names another table.
    let by_arn = name_or_arn.starts_with("arn:");
    if by_arn && table.arn != name_or_arn {
        return None;
    }
    Some(Target { table, shape, by_arn })
}

/// The maximum number of other places of a missing table that are named.
const PLACES_NAMED: usize = 3;

/// Notes for the operator that a missing table exists under another key or region, the most common mistake.
fn note_other_regions(context: &Context<'_>, name: &str) {
    let mut elsewhere: Vec<String> = context
        .engine
        .catalog()
        .scopes()
        .into_iter()
        .filter(|(scope, region)| *scope != context.scope && region.tables.read().contains_key(name))
        .map(|(scope, _)| format!("access key {}, region {}", scope.account, scope.region))
        .collect();
    if elsewhere.len() > PLACES_NAMED {
        let others = elsewhere.len() - PLACES_NAMED;
        elsewhere.truncate(PLACES_NAMED);
        elsewhere.push(format!("{others} others"));
    }
    if !elsewhere.is_empty() {
        context.note(format!(
            "{}: no table {name} for access key {}, region {}; there is one for {}. Each access key and region has tables of its own (--shared-db gives all the same).",
            context.operation,
            context.scope.account,
            context.scope.region,
            elsewhere.join(" and for "),
        ));
    }
}

/// The index that a Query or Scan reads, and its position.
pub fn source<'t>(
    context: &Context<'_>,
    target: &'t Target,
    index: Option<&str>,
) -> Result<(ReadSource, Option<&'t Index>), ApiError> {
    let Some(name) = index else {
        return Ok((ReadSource::Table, None));
    };
    if target.definition().vector_index(name).is_some() {
        return Err(ApiError::not_on_vector_index(context.operation));
    }
    let (at, index) = target
        .definition()
        .index(name)
        .ok_or_else(|| index_not_found(context, target, name))?;
    if target.shape.is_creating(name, context.now) {
        return Err(ApiError::validation(format!(
            "Cannot read from backfilling global secondary index: {name}"
        )));
    }
    Ok((
        if index.local {
            ReadSource::Local(at)
        } else {
            ReadSource::Global(at)
        },
        Some(index),
    ))
}

#[cold]
fn index_not_found(context: &Context<'_>, target: &Target, name: &str) -> ApiError {
    context.note_missing(|| Missing::Index(target.table.resource_arn(Some(name))));
    ApiError::index_not_found(name)
}

/// The vector index to search. It is not found while the service allocates resources for it.
pub fn vector_index<'t>(
    context: &Context<'_>,
    target: &'t Target,
    name: &str,
) -> Result<(usize, &'t VectorIndex), ApiError> {
    let found = target.definition().vector_index(name);
    let found = found.filter(|_| !target.shape.is_allocating(name, context.now));
    let found = found.ok_or_else(|| index_not_found(context, target, name))?;
    if target.shape.is_creating(name, context.now) {
        return Err(ApiError::validation(format!(
            "Cannot search backfilling vector index: {name}"
        )));
    }
    Ok(found)
}

/// The keys that a key condition selects.
pub struct KeySelection {
    /// As a range of encoded keys.
    pub range: KeyRange,
    /// Only the hash attributes' part.
    pub hash: KeyBytes,
    /// Whether the condition restricts a range attribute too.
    pub restricts_range: bool,
}

/// Matches a key condition to the schema of the table, or of the index, that is queried.
pub fn key_selection(
    schema: &KeySchema,
    index: Option<&Index>,
    condition: &KeyCondition<'_>,
) -> Result<KeySelection, ApiError> {
    let clauses = &condition.clauses;
    let limit = schema.hash.len() + schema.range.len();
    let clause_of = |name: &str| clauses.iter().find(|clause| clause.name == name);
    if schema.hash.len() == 1 && schema.range.len() <= 1 {
        if clauses.len() > 2 {
            return Err(ApiError::too_many_conditions(clauses.len(), limit));
        }
        // The number is checked before the names (both DynamoDB Local and dynoxide).
        if clauses.len() > limit {
            return Err(condition_not_supported());
        }
        // A missing equality of the partition key is reported before other missing elements (both DynamoDB Local and dynoxide),
        // and after a value of the wrong type (both DynamoDB Local and dynalite).
        if let Some(attribute) = schema.hash.first()
            && let Some(clause) = clause_of(&attribute.name)
            && !matches!(clause.operator, KeyOperator::Eq(_))
        {
            let mut values = clause.operator.values();
            return Err(if values.all(|value| attribute.kind.fits(value)) {
                condition_not_supported()
            } else {
                wrong_condition_type()
            });
        }
        if let Some(missing) = missing_element(schema, &|name| clause_of(name).is_some(), clauses.len()) {
            return Err(missing);
        }
    }
    let mut hash = KeyBytes::new();
    for attribute in &schema.hash {
        match clause_of(&attribute.name).map(|clause| &clause.operator) {
            Some(KeyOperator::Eq(value)) => {
                check_operand(index, attribute, value)?;
                key::push_component(&mut hash, value);
            }
            Some(_) if schema.hash.len() == 1 => return Err(condition_not_supported()),
            _ => return Err(hash_needs_equality(schema)),
        }
    }
    if let Some(clause) = clauses.iter().find(|clause| !schema.contains(&clause.name)) {
        let missing = schema
            .range
            .first()
            .map_or(clause.name.as_str(), |attribute| attribute.name.as_str());
        return Err(ApiError::key_condition_missed(missing));
    }
    check_range_prefix(schema, &|name| clause_of(name).map(|clause| &clause.operator))?;
    let token = key::token(key::kinds(&schema.hash), &hash);
    let mut prefix = KeyBytes::from_slice(&hash);
    let mut restricts_range = false;
    for attribute in &schema.range {
        let Some(clause) = clause_of(&attribute.name) else {
            break;
        };
        restricts_range = true;
        for value in clause.operator.values() {
            check_operand(index, attribute, value)?;
        }
        let KeyOperator::Eq(value) = &clause.operator else {
            let range = range_of(token, &prefix, &clause.operator)?;
            return Ok(KeySelection {
                range,
                hash,
                restricts_range,
            });
        };
        key::push_component(&mut prefix, value);
    }
    let upper = key::after_prefix(&prefix);
    Ok(KeySelection {
        range: KeyRange::of_token(token, prefix, upper),
        hash,
        restricts_range,
    })
}

/// The error for a condition with wrong attributes, on a key of one hash and at most one range attribute.
fn missing_element(schema: &KeySchema, has: &dyn Fn(&str) -> bool, clauses: usize) -> Option<ApiError> {
    let missed = |name: &str| Some(ApiError::key_condition_missed(name));
    let hash = schema.hash.first()?;
    if !has(&hash.name) {
        return missed(&hash.name);
    }
    match schema.range.first() {
        Some(range) if clauses > 1 && !has(&range.name) => missed(&range.name),
        _ => None,
    }
}

fn condition_not_supported() -> ApiError {
    ApiError::validation("Query key condition not supported")
}

fn wrong_condition_type() -> ApiError {
    ApiError::invalid("Condition parameter type does not match schema type")
}

fn hash_needs_equality(schema: &KeySchema) -> ApiError {
    let names: Vec<&str> = schema.hash.iter().map(|attribute| attribute.name.as_str()).collect();
    ApiError::validation(format!(
        "HASH key attributes {} must have equality conditions specified in the query",
        names.join(", ")
    ))
}

/// Range conditions cover the range attributes from the left, and all but the last are equalities.
fn check_range_prefix<'c, 'v: 'c>(
    schema: &KeySchema,
    operator: &dyn Fn(&str) -> Option<&'c KeyOperator<'v>>,
) -> Result<(), ApiError> {
    let Some(last) = schema
        .range
        .iter()
        .rposition(|attribute| operator(&attribute.name).is_some())
    else {
        return Ok(());
    };
    let offenders: Vec<&str> = schema.range[..last]
        .iter()
        .filter(|attribute| !matches!(operator(&attribute.name), Some(KeyOperator::Eq(_))))
        .map(|attribute| attribute.name.as_str())
        .collect();
    if offenders.is_empty() {
        return Ok(());
    }
    Err(ApiError::validation(format!(
        "RANGE key attributes {} must have equality conditions specified in the query because a condition is present on key attribute {}",
        offenders.join(", "),
        schema.range[last].name
    )))
}

fn check_operand(index: Option<&Index>, attribute: &KeyAttribute, value: &AttributeValue) -> Result<(), ApiError> {
    if !attribute.kind.fits(value) {
        return Err(wrong_condition_type());
    }
    match (key::empty_key_type(value), index) {
        (None, _) => Ok(()),
        (Some(kind), None) => Err(ApiError::empty_key(&attribute.name, kind)),
        (Some(kind), Some(index)) => Err(ApiError::empty_index_key(&attribute.name, kind, &index.name)),
    }
}

/// The keys with `prefix` whose next component satisfies an operator other than equality.
fn range_of(token: u64, prefix: &KeyBytes, operator: &KeyOperator<'_>) -> Result<KeyRange, ApiError> {
    let with = |value: &AttributeValue| {
        let mut bytes = KeyBytes::from_slice(prefix);
        key::push_component(&mut bytes, value);
        bytes
    };
    let end = key::after_prefix(prefix);
    let nothing = || KeyRange::of_token(token, prefix.clone(), Some(prefix.clone()));
    Ok(match operator {
        KeyOperator::Eq(value) => KeyRange::of_token(token, with(value), key::after_prefix(&with(value))),
        KeyOperator::Lt(value) => KeyRange::of_token(token, prefix.clone(), Some(with(value))),
        KeyOperator::Le(value) => KeyRange::of_token(token, prefix.clone(), key::after_prefix(&with(value))),
        KeyOperator::Gt(value) => {
            key::after_prefix(&with(value)).map_or_else(nothing, |lower| KeyRange::of_token(token, lower, end))
        }
        KeyOperator::Ge(value) => KeyRange::of_token(token, with(value), end),
        KeyOperator::Between(low, high) => KeyRange::of_token(token, with(low), key::after_prefix(&with(high))),
        KeyOperator::BeginsWith(value) => {
            let mut bytes = KeyBytes::from_slice(prefix);
            match value {
                AttributeValue::S(text) => key::push_prefix(&mut bytes, text.as_bytes()),
                AttributeValue::B(raw) => key::push_prefix(&mut bytes, raw),
                _ => return Ok(nothing()),
            }
            let upper = key::after_prefix(&bytes);
            KeyRange::of_token(token, bytes, upper)
        }
        KeyOperator::NotIndexable(_) => return Err(ApiError::key_not_indexable()),
    })
}

/// The position of an `ExclusiveStartKey` in the table or index. `None` if it does not fit the schema.
pub fn start_key(definition: &Definition, index: Option<&Index>, start: &Map) -> Option<Key> {
    let names = definition
        .key
        .attributes()
        .chain(index.iter().flat_map(|index| index.key.attributes()));
    let mut expected: Vec<&str> = Vec::with_capacity(start.len());
    for attribute in names {
        if !attribute.kind.fits(start.get(&attribute.name)?) {
            return None;
        }
        if !expected.contains(&attribute.name.as_str()) {
            expected.push(&attribute.name);
        }
    }
    if expected.len() != start.len() {
        return None;
    }
    let base = Key::read(&definition.key, start)?;
    match index {
        None => Some(base),
        Some(index) => Key::place(index, start, &base),
    }
}

/// Checks that the start key of a Query lies in the range of its condition. `attributes` are those that `start` encodes.
///
/// The range condition is checked first, for any partition (recaptured in October 2026).
pub fn check_start(
    index: Option<&Index>,
    schema: &KeySchema,
    selection: &KeySelection,
    start: &Key,
    attributes: &Map,
) -> Result<(), ApiError> {
    let of_table = index.is_none_or(|index| index.local);
    if index.is_none() && schema.range.is_empty() {
        return Err(ApiError::start_key_of_one_item(attributes));
    }
    let mut hash = KeyBytes::new();
    for value in schema
        .hash
        .iter()
        .filter_map(|attribute| attributes.get(&attribute.name))
    {
        key::push_component(&mut hash, value);
    }
    if selection.restricts_range {
        let mut bytes = selection.hash.clone();
        bytes.extend_from_slice(start.bytes.get(hash.len()..).unwrap_or_default());
        let token = selection.range.tokens().0;
        if !selection.range.contains(&Key { token, bytes }) {
            return Err(ApiError::start_key_outside_range());
        }
    }
    if hash == selection.hash {
        Ok(())
    } else if selection.restricts_range && of_table {
        Err(ApiError::start_key_of_one_row())
    } else {
        Err(ApiError::start_key_outside_query())
    }
}

/// The attributes of a projection that a global index does not have, if any.
pub fn check_projected(definition: &Definition, index: &Index, projection: &Projection<'_>) -> Result<(), ApiError> {
    let mut missing: Vec<&str> = Vec::new();
    for name in projection.names_as_written() {
        if !index.projects(name, &definition.key) && !missing.contains(&name) {
            missing.push(name);
        }
    }
    if index.local || missing.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(format_args!(
        "Global secondary index {} does not project [{}]",
        index.name,
        missing.join(", ")
    )))
}
