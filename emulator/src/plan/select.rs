//! The key ranges that a SELECT reads, one after the other, or the whole table.

use smallvec::{SmallVec, smallvec};

use super::PageRange;
use crate::error::ApiError;
use crate::expression::{Condition, ConditionPart, KeyClause, KeyCondition, KeyOperator};
use crate::key::{self, KeyBytes};
use crate::partiql::{self, Branch, Select};
use crate::schema::{Definition, Index, KeyAttribute, KeySchema};
use crate::sort;
use crate::storage::{KeyRange, Segment};
use crate::value::{AttributeValue, Name};

/// The plan of a SELECT.
pub struct SelectRanges<'r> {
    /// The ranges, in the order in which they are read.
    pub ranges: SmallVec<[PageRange<'r>; 1]>,
    /// Whether keys ascend within a range.
    pub forward: bool,
    /// Whether the WHERE clause demands nothing but one key of the table or index.
    pub is_key: bool,
}

impl<'r> SelectRanges<'r> {
    /// Plans a SELECT of a table or index.
    pub fn plan(
        definition: &Definition,
        index: Option<&Index>,
        select: &Select<'r>,
    ) -> Result<SelectRanges<'r>, ApiError> {
        let schema = index.map_or(&definition.key, |index| &index.key);
        if let Some(key) = SelectRanges::of_key(schema, select)? {
            return Ok(key);
        }
        let branches = match &select.condition {
            Some(condition) => partiql::branches(schema, condition)?,
            None => None,
        };
        let Some(branches) = branches else {
            if !select.order.is_empty() {
                return Err(ApiError::validation(
                    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
                ));
            }
            return Ok(SelectRanges::everything());
        };
        let direction = SortDirection::new(schema, select.order)?;
        check_values(schema, &branches)?;
        if let (Some(index), Some(condition)) = (index, &select.condition) {
            check_filters(definition, index, condition, &branches)?;
        }
        let mut partitions = partitions(schema, &branches)?;
        if partitions.iter().all(|(_, ranges)| ranges.is_empty())
            && let Some(hash) = branches.first().and_then(|branch| branch.hash)
        {
            // A Query that can find nothing is still one (docs/behavior: 05 1.5).
            partitions = vec![(hash, vec![selection(schema, hash, None)?.cleared()])];
        }
        if partitions.len() > 1 && direction.orders_partitions.is_none() && !select.order.is_empty() {
            return Err(ApiError::validation(
                "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
            ));
        }
        if direction.orders_partitions == Some(false) {
            partitions.reverse();
        }
        if !direction.forward {
            partitions.iter_mut().for_each(|(_, ranges)| ranges.reverse());
        }
        let ranges = partitions.into_iter().flat_map(|(partition, ranges)| {
            ranges.into_iter().map(move |keys| PageRange {
                keys,
                partition: smallvec![partition],
            })
        });
        Ok(SelectRanges {
            ranges: ranges.collect(),
            forward: direction.forward,
            is_key: false,
        })
    }

    /// The plan of a clause that consists of one equality for each attribute of the key.
    fn of_key(schema: &KeySchema, select: &Select<'r>) -> Result<Option<SelectRanges<'r>>, ApiError> {
        let equalities = select.equalities;
        let is_whole = equalities.len() == schema.hash.len() + schema.range.len() && select.order.is_empty();
        let Some(condition) = select.condition.as_ref().filter(|_| is_whole) else {
            return Ok(None);
        };
        let mut values: SmallVec<[&AttributeValue; 2]> = SmallVec::new();
        for attribute in schema.attributes() {
            let Some((_, at)) = equalities.iter().find(|(name, _)| *name == attribute.name) else {
                return Ok(None);
            };
            values.push(condition.constant(*at));
        }
        let mut bytes = KeyBytes::new();
        let mut token = 0;
        for (at, (attribute, value)) in schema.attributes().zip(&values).enumerate() {
            partiql::check_key_value(attribute, value)?;
            key::push_component(&mut bytes, value);
            if at == 0 {
                token = key::token(key::kinds(&schema.hash), &bytes);
            }
        }
        let upper = key::after_prefix(&bytes);
        Ok(Some(SelectRanges {
            ranges: smallvec![PageRange {
                keys: KeyRange::of_token(token, bytes, upper),
                partition: smallvec![values[0]],
            }],
            forward: true,
            is_key: true,
        }))
    }

    fn everything() -> SelectRanges<'r> {
        let keys = KeyRange::of_segment(Segment::ALL);
        SelectRanges {
            ranges: smallvec![PageRange {
                keys,
                partition: SmallVec::new(),
            }],
            forward: true,
            is_key: false,
        }
    }
}

/// The direction of ORDER BY.
struct SortDirection {
    /// Whether partitions are sorted by their keys, ascending or descending, if requested.
    orders_partitions: Option<bool>,
    forward: bool,
}

impl SortDirection {
    fn new(schema: &KeySchema, order: &[(Name, bool)]) -> Result<SortDirection, ApiError> {
        if let Some((name, _)) = order.iter().find(|(name, _)| !schema.contains(name)) {
            return Err(ApiError::validation(format!(
                "Attribute {name} in ORDER BY clause must be part of the primary key"
            )));
        }
        let ascends = |attribute: Option<&KeyAttribute>| {
            let attribute = attribute?;
            let found = order.iter().find(|(name, _)| *name == attribute.name);
            found.map(|(_, descending)| !descending)
        };
        // By the partition key alone, even ascending, the sort key descends (recorded, eu-west-2, September 2026).
        let forward = ascends(schema.range.first()).unwrap_or(order.is_empty());
        Ok(SortDirection {
            orders_partitions: ascends(schema.hash.first()),
            forward,
        })
    }
}

fn check_values(schema: &KeySchema, branches: &[Branch<'_>]) -> Result<(), ApiError> {
    let (hash, range) = (schema.hash.first(), schema.range.first());
    for branch in branches {
        if let (Some(attribute), Some(value)) = (hash, branch.hash) {
            partiql::check_key_value(attribute, value)?;
        }
        if let Some(attribute) = range {
            for value in branch.range.iter().flat_map(|operator| operator.values()) {
                partiql::check_key_value(attribute, value)?;
            }
        }
    }
    Ok(())
}

/// A keyed read of an index must not filter by attributes that the index lacks: an error if every branch does.
fn check_filters(
    definition: &Definition,
    index: &Index,
    condition: &Condition<'_>,
    branches: &[Branch<'_>],
) -> Result<(), ApiError> {
    let mut missing: Vec<Name> = Vec::new();
    for branch in branches {
        let before = missing.len();
        let mut any = false;
        let mut todo: Vec<u32> = branch.filters.to_vec();
        while let Some(part) = todo.pop() {
            match condition.part(part) {
                ConditionPart::And(left, right) | ConditionPart::Or(left, right) => todo.extend([right, left]),
                ConditionPart::Not(inner) => todo.push(inner),
                ConditionPart::Clause(_) | ConditionPart::Member(..) | ConditionPart::Test => {
                    for path in condition.paths_of(part) {
                        if index.projects(path.name(), &definition.key) {
                            continue;
                        }
                        any = true;
                        if !missing.iter().any(|name| name == path.name()) {
                            missing.push(Name::new(path.name()));
                        }
                    }
                }
            }
        }
        if !any {
            missing.truncate(before);
            return Ok(());
        }
    }
    let missing: Vec<&str> = missing.iter().map(Name::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ApiError::filter_not_projected(&index.name, &missing))
}

type PartitionRanges<'r> = (&'r AttributeValue, Vec<KeyRange>);

/// The ranges of each partition key, in the order of the keys.
fn partitions<'r>(schema: &KeySchema, branches: &[Branch<'r>]) -> Result<Vec<PartitionRanges<'r>>, ApiError> {
    let mut sorted: Vec<(KeyBytes, &AttributeValue, &Branch<'r>)> = branches
        .iter()
        .filter(|branch| !branch.contradicts)
        .filter_map(|branch| {
            let value = branch.hash?;
            let mut bytes = KeyBytes::new();
            key::push_component(&mut bytes, value);
            Some((bytes, value, branch))
        })
        .collect();
    sort::sort_by(&mut sorted, |left, right| left.0.cmp(&right.0));
    let groups = sorted.chunk_by(|left, right| left.0 == right.0);
    groups
        .map(|group| {
            let value = group[0].1;
            if group.len() > 1 && group.iter().any(|(_, _, branch)| branch.negated) {
                // Negated conditions on the sort key may overlap: the partition is read once, and filtered.
                return Ok((value, vec![selection(schema, value, None)?]));
            }
            let mut ranges = group
                .iter()
                .map(|(_, _, branch)| {
                    let Some((first, others)) = branch.range.split_first() else {
                        return selection(schema, value, None);
                    };
                    let first = selection(schema, value, Some(*first))?;
                    others.iter().try_fold(first, |range, operator| {
                        Ok(range.intersection(selection(schema, value, Some(*operator))?))
                    })
                })
                .collect::<Result<Vec<KeyRange>, ApiError>>()?;
            ranges.retain(|range| !range.is_empty());
            sort::sort_by(&mut ranges, KeyRange::compare_lower);
            if ranges.windows(2).any(|pair| pair[0].overlaps(&pair[1])) {
                return Err(ApiError::overlapping_conditions());
            }
            Ok((value, ranges))
        })
        .collect()
}

/// The keys of one partition that satisfy one condition on the sort key.
fn selection<'r>(
    schema: &KeySchema,
    hash: &'r AttributeValue,
    range: Option<KeyOperator<'r>>,
) -> Result<KeyRange, ApiError> {
    let name = |attribute: Option<&KeyAttribute>| attribute.map(|attribute| attribute.name.clone());
    let hash = name(schema.hash.first()).map(|name| KeyClause {
        name,
        operator: KeyOperator::Eq(hash),
    });
    let range = range.and_then(|operator| {
        let name = name(schema.range.first())?;
        Some(KeyClause { name, operator })
    });
    let clauses = hash.into_iter().chain(range).collect();
    super::key_selection(schema, None, &KeyCondition { clauses }).map(|selection| selection.range)
}
