//! Key conditions of Query.

use smallvec::SmallVec;

use super::ast::{Body, Node, Operand, Operator};
use super::bind::Bound;
use crate::error::ApiError;
use crate::value::{AttributeValue, Name};

/// The condition of a key clause on its attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the operators' own names
pub enum KeyOperator<'r> {
    Eq(&'r AttributeValue),
    Lt(&'r AttributeValue),
    Le(&'r AttributeValue),
    Gt(&'r AttributeValue),
    Ge(&'r AttributeValue),
    /// From the first to the second, both included.
    Between(&'r AttributeValue, &'r AttributeValue),
    BeginsWith(&'r AttributeValue),
    /// One of the legacy operators that no key attribute can have, and the first of its arguments, which are of one type.
    NotIndexable(Option<&'r AttributeValue>),
}

impl<'r> KeyOperator<'r> {
    /// The values compared with, in the order written.
    pub fn values(self) -> impl Iterator<Item = &'r AttributeValue> {
        let (first, second) = match self {
            KeyOperator::Eq(value)
            | KeyOperator::Lt(value)
            | KeyOperator::Le(value)
            | KeyOperator::Gt(value)
            | KeyOperator::Ge(value)
            | KeyOperator::BeginsWith(value) => (Some(value), None),
            KeyOperator::Between(lower, upper) => (Some(lower), Some(upper)),
            KeyOperator::NotIndexable(value) => (value, None),
        };
        first.into_iter().chain(second)
    }
}

/// One clause of a key condition.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyClause<'r> {
    pub name: Name,
    /// The condition on the key attribute.
    pub operator: KeyOperator<'r>,
}

/// A key condition of valid structure; whether it fits the table's keys is checked later.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCondition<'r> {
    /// The clauses in the order written; no two have the same name.
    pub clauses: SmallVec<[KeyClause<'r>; 2]>,
}

impl<'r> KeyCondition<'r> {
    /// Walks the condition from its root, left before right, up to the first invalid clause.
    pub(super) fn new(bound: &Bound<'r>) -> Result<KeyCondition<'r>, ApiError> {
        let mut clauses: SmallVec<[KeyClause<'r>; 2]> = SmallVec::new();
        let Body::Condition { nodes, root, .. } = &bound.parsed.body else {
            return Ok(KeyCondition { clauses });
        };
        let mut pending: SmallVec<[u32; 8]> = SmallVec::from_slice(&[*root]);
        while let Some(node) = pending.pop() {
            match nodes[node as usize] {
                Node::And(left, right) => pending.extend([right, left]),
                Node::Or(..) => return Err(ApiError::key_operator("OR")),
                Node::Not(_) => return Err(ApiError::key_operator("NOT")),
                Node::Test(application) => {
                    let clause = clause(bound, application)?;
                    if clauses.iter().any(|other| other.name == clause.name) {
                        return Err(ApiError::key_twice());
                    }
                    clauses.push(clause);
                }
            }
        }
        Ok(KeyCondition { clauses })
    }
}

/// One application as a clause, if it is one.
pub(super) fn clause<'r>(bound: &Bound<'r>, application: u32) -> Result<KeyClause<'r>, ApiError> {
    let operator = bound.parsed.application(application).operator;
    let key_first = match operator {
        Operator::Eq | Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => false,
        Operator::Between | Operator::BeginsWith => true,
        other => return Err(ApiError::key_operator(other.name())),
    };
    let mut name: Option<&str> = None;
    let mut mirrored = false;
    let mut values: SmallVec<[&'r AttributeValue; 2]> = SmallVec::new();
    for (at, operand) in bound.parsed.operands(application).iter().enumerate() {
        match *operand {
            Operand::Nested(_) => return Err(ApiError::key_clause_nested()),
            Operand::Value(_) if key_first && at == 0 => return Err(ApiError::key_not_first(operator.name())),
            Operand::Value(value) => values.push(bound.value(value)),
            Operand::Path(_) if name.is_some() => return Err(ApiError::key_clause_with_names()),
            Operand::Path(span) => {
                let path = super::path::Path::new(bound, span);
                if path.is_nested() {
                    return Err(ApiError::key_path_nested());
                }
                name = Some(path.name());
                mirrored = at > 0;
            }
        }
    }
    let (Some(name), Some(&first)) = (name, values.first()) else {
        return Err(ApiError::key_clause_without_name());
    };
    let operator = match (operator, mirrored) {
        (Operator::Lt, false) | (Operator::Gt, true) => KeyOperator::Lt(first),
        (Operator::Le, false) | (Operator::Ge, true) => KeyOperator::Le(first),
        (Operator::Gt, false) | (Operator::Lt, true) => KeyOperator::Gt(first),
        (Operator::Ge, false) | (Operator::Le, true) => KeyOperator::Ge(first),
        (Operator::BeginsWith, _) => KeyOperator::BeginsWith(first),
        (Operator::Between, _) => KeyOperator::Between(first, values.get(1).copied().unwrap_or(first)),
        _ => KeyOperator::Eq(first),
    };
    Ok(KeyClause {
        name: Name::new(name),
        operator,
    })
}
