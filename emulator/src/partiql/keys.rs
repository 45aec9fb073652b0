//! Keys in a WHERE clause: the item that a write addresses, and the key ranges that a SELECT reads.
//!
//! A SELECT is a Query when every branch of its clause fixes the partition key, and a Scan otherwise. The clause is taken
//! apart only as far as keys are concerned; whatever it reads, the whole clause is the filter.

use smallvec::{SmallVec, smallvec};

use crate::error::ApiError;
use crate::expression::{Condition, ConditionPart, KeyOperator};
use crate::key;
use crate::limits;
use crate::schema::{KeyAttribute, KeySchema};
use crate::value::{AttributeValue, Map, Name};

/// One way in which a clause can hold, as far as keys are concerned.
#[derive(Clone, Debug, Default)]
pub struct Branch<'r> {
    /// The value of the partition key.
    pub hash: Option<&'r AttributeValue>,
    /// Whether it demands two values of the partition key.
    pub contradicts: bool,
    /// The condition on the sort key.
    pub range: SmallVec<[KeyOperator<'r>; 1]>,
    /// Whether it demands that something about the sort key does not hold.
    pub negated: bool,
    /// The tests that are not about keys, as parts of the condition.
    pub filters: SmallVec<[u32; 4]>,
}

impl<'r> Branch<'r> {
    fn and(&self, other: &Branch<'r>) -> Branch<'r> {
        let mut both = self.clone();
        both.contradicts |=
            other.contradicts || other.hash.is_some_and(|hash| self.hash.is_some_and(|own| own != hash));
        both.hash = self.hash.or(other.hash);
        both.range.extend_from_slice(&other.range);
        both.negated |= other.negated;
        both.filters.extend_from_slice(&other.filters);
        both
    }
}

/// The branches of a clause.
struct Branches<'c, 'r> {
    condition: &'c Condition<'r>,
    hash: Option<&'c str>,
    range: Option<&'c str>,
}

/// The branches of a clause, if each of them fixes the partition key.
///
/// Conditions have a bounded number of operators, and so deep this recurs.
pub fn branches<'r>(schema: &KeySchema, condition: &Condition<'r>) -> Result<Option<Vec<Branch<'r>>>, ApiError> {
    let name = |attributes: &'_ [KeyAttribute]| attributes.first().map(|attribute| attribute.name.clone());
    let (hash, range) = (name(&schema.hash), name(&schema.range));
    let walk = Branches {
        condition,
        hash: hash.as_deref(),
        range: range.as_deref(),
    };
    if !walk.fixes_hash(condition.root()) {
        return Ok(None);
    }
    walk.expand(condition.root()).map(Some)
}

impl<'r> Branches<'_, 'r> {
    fn is_hash(&self, name: &str) -> bool {
        self.hash == Some(name)
    }

    fn is_range(&self, name: &str) -> bool {
        self.range == Some(name)
    }

    /// Whether a part holds only for known partition keys.
    fn fixes_hash(&self, part: u32) -> bool {
        match self.condition.part(part) {
            ConditionPart::And(left, right) => self.fixes_hash(left) || self.fixes_hash(right),
            ConditionPart::Or(left, right) => self.fixes_hash(left) && self.fixes_hash(right),
            ConditionPart::Clause(clause) => {
                self.is_hash(&clause.name) && matches!(clause.operator, KeyOperator::Eq(_))
            }
            ConditionPart::Member(name, _) => self.is_hash(&name),
            ConditionPart::Not(_) | ConditionPart::Test => false,
        }
    }

    /// Whether a part restricts keys in a way that narrows the range that is read.
    fn concerns_keys(&self, part: u32) -> bool {
        match self.condition.part(part) {
            ConditionPart::And(left, right) | ConditionPart::Or(left, right) => {
                self.concerns_keys(left) || self.concerns_keys(right)
            }
            ConditionPart::Clause(clause) => {
                self.is_range(&clause.name)
                    || (self.is_hash(&clause.name) && matches!(clause.operator, KeyOperator::Eq(_)))
            }
            ConditionPart::Member(name, _) => self.is_hash(&name) || self.is_range(&name),
            ConditionPart::Not(_) | ConditionPart::Test => self.denies_range(part),
        }
    }

    /// Whether a part is about the sort key, in a way that chooses nothing: `NOT sk = 1`, `sk <> 1`.
    fn denies_range(&self, part: u32) -> bool {
        match self.condition.part(part) {
            ConditionPart::And(left, right) | ConditionPart::Or(left, right) => {
                self.denies_range(left) || self.denies_range(right)
            }
            ConditionPart::Not(inner) => self.denies_range(inner),
            ConditionPart::Clause(clause) => self.is_range(&clause.name),
            ConditionPart::Member(name, _) => self.is_range(&name),
            ConditionPart::Test => self.condition.paths_of(part).any(|path| self.is_range(path.name())),
        }
    }

    fn expand(&self, part: u32) -> Result<Vec<Branch<'r>>, ApiError> {
        let filter = || Branch {
            filters: smallvec![part],
            ..Branch::default()
        };
        match self.condition.part(part) {
            ConditionPart::And(left, right) => {
                let (left, right) = (self.expand(left)?, self.expand(right)?);
                let pairs = left.iter().flat_map(|left| right.iter().map(|right| left.and(right)));
                bounded(pairs)
            }
            ConditionPart::Or(left, right) if self.concerns_keys(left) || self.concerns_keys(right) => {
                let (left, right) = (self.expand(left)?, self.expand(right)?);
                bounded(left.into_iter().chain(right))
            }
            ConditionPart::Clause(clause) if self.is_range(&clause.name) => Ok(vec![Branch {
                range: smallvec![clause.operator],
                ..Branch::default()
            }]),
            ConditionPart::Clause(clause) if self.is_hash(&clause.name) => Ok(vec![match clause.operator {
                KeyOperator::Eq(value) => Branch {
                    hash: Some(value),
                    ..Branch::default()
                },
                _ => filter(),
            }]),
            ConditionPart::Member(name, values) if self.is_hash(&name) => {
                bounded(values.into_iter().map(|value| Branch {
                    hash: Some(value),
                    ..Branch::default()
                }))
            }
            ConditionPart::Member(name, values) if self.is_range(&name) => {
                bounded(values.into_iter().map(|value| Branch {
                    range: smallvec![KeyOperator::Eq(value)],
                    ..Branch::default()
                }))
            }
            _ => Ok(vec![Branch {
                negated: self.denies_range(part),
                ..filter()
            }]),
        }
    }
}

fn bounded<'r>(branches: impl Iterator<Item = Branch<'r>>) -> Result<Vec<Branch<'r>>, ApiError> {
    let branches: Vec<Branch<'r>> = branches.take(limits::STATEMENT_READS + 1).collect();
    if branches.len() > limits::STATEMENT_READS {
        return Err(ApiError::too_many_reads());
    }
    Ok(branches)
}

/// A value that a key is held against must be of the key's type.
pub fn check_key_value(attribute: &KeyAttribute, value: &AttributeValue) -> Result<(), ApiError> {
    if attribute.kind.fits(value) {
        return match key::empty_key_type(value) {
            Some(kind) => Err(ApiError::empty_key(&attribute.name, kind)),
            None => Ok(()),
        };
    }
    if value.can_be_key() {
        Err(ApiError::statement_key_type(&attribute.name))
    } else {
        Err(ApiError::statement_key_value(&attribute.name, value.type_name()))
    }
}

/// The key of the item that a SELECT in a batch or transaction reads: its clause fixes the whole key and nothing else.
pub fn only_key(schema: &KeySchema, condition: &Condition<'_>) -> Option<Map> {
    let branches = branches(schema, condition).ok()??;
    let [branch] = branches.as_slice() else { return None };
    if branch.contradicts || branch.negated || !branch.filters.is_empty() {
        return None;
    }
    let mut key = Map::new();
    key.insert(schema.hash.first()?.name.clone(), branch.hash?.clone());
    match (schema.range.first(), branch.range.as_slice()) {
        (None, []) => Some(key),
        (Some(attribute), [KeyOperator::Eq(value)]) => {
            key.insert(attribute.name.clone(), AttributeValue::clone(value));
            Some(key)
        }
        _ => None,
    }
}

/// The key of a write's item, from equalities that must all hold; and whether the clause has other conditions.
pub fn written_key(schema: &KeySchema, condition: Option<&Condition<'_>>) -> Result<(Map, bool), ApiError> {
    let mut found: SmallVec<[(Name, &AttributeValue); 2]> = SmallVec::new();
    let mut more = false;
    let mut todo: Vec<u32> = condition.map(Condition::root).into_iter().collect();
    while let (Some(part), Some(condition)) = (todo.pop(), condition) {
        match condition.part(part) {
            ConditionPart::And(left, right) => todo.extend([right, left]),
            ConditionPart::Clause(clause) if schema.contains(&clause.name) => match clause.operator {
                KeyOperator::Eq(value) => match found.iter().find(|(name, _)| *name == clause.name) {
                    Some((_, other)) if *other != value => return Err(ApiError::several_values_of_key(&clause.name)),
                    Some(_) => {}
                    None => found.push((clause.name, value)),
                },
                _ => more = true,
            },
            _ => more = true,
        }
    }
    if found.len() < schema.attributes().count() {
        return Err(ApiError::mandatory_equality());
    }
    let key = found.into_iter().map(|(name, value)| (name, value.clone())).collect();
    Ok((key, more))
}
