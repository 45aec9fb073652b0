//! Search conditions of SearchVectors, which narrow a search by attributes of the index.

use smallvec::SmallVec;

use super::ast::{Body, Node, Operand, Operator};
use super::bind::Bound;
use super::path::Path;
use crate::error::ApiError;
use crate::value::{AttributeValue, Item, Name};

/// Equalities that all hold for a result; whether they fit the index is checked later.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchCondition<'r> {
    /// The attributes and their values, in the order written; no two have the same name.
    pub clauses: SmallVec<[(Name, &'r AttributeValue); 2]>,
}

impl<'r> SearchCondition<'r> {
    /// Walks the condition from its root, left before right, up to the first invalid clause.
    pub(super) fn new(bound: &Bound<'r>) -> Result<SearchCondition<'r>, ApiError> {
        let mut clauses: SmallVec<[(Name, &'r AttributeValue); 2]> = SmallVec::new();
        let Body::Condition { nodes, root, .. } = &bound.parsed.body else {
            return Ok(SearchCondition { clauses });
        };
        let mut pending: SmallVec<[u32; 8]> = SmallVec::from_slice(&[*root]);
        while let Some(node) = pending.pop() {
            match nodes[node as usize] {
                Node::And(left, right) => pending.extend([right, left]),
                Node::Or(..) | Node::Not(_) => return Err(ApiError::search_comparator()),
                Node::Test(application) => {
                    let clause = clause(bound, application)?;
                    if clauses.iter().any(|(other, _)| *other == clause.0) {
                        return Err(ApiError::search_twice());
                    }
                    clauses.push(clause);
                }
            }
        }
        Ok(SearchCondition { clauses })
    }

    /// The value that an attribute must have, if it is named.
    pub fn value_of(&self, name: &str) -> Option<&'r AttributeValue> {
        self.clauses
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| *value)
    }

    /// Whether all hold of an item.
    pub fn matches(&self, item: &Item) -> bool {
        let mut clauses = self.clauses.iter();
        clauses.all(|(name, value)| item.get(name).as_ref() == Some(*value))
    }
}

/// An equality of an attribute and a value, in either order.
fn clause<'r>(bound: &Bound<'r>, application: u32) -> Result<(Name, &'r AttributeValue), ApiError> {
    if bound.parsed.application(application).operator != Operator::Eq {
        return Err(ApiError::search_comparator());
    }
    match *bound.parsed.operands(application) {
        [Operand::Path(span), Operand::Value(value)] | [Operand::Value(value), Operand::Path(span)] => {
            let path = Path::new(bound, span);
            if path.is_nested() {
                return Err(ApiError::search_path_nested());
            }
            Ok((Name::new(path.name()), bound.value(value)))
        }
        _ => Err(ApiError::search_comparator()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Bindings, Cache};
    use crate::request::Substitutions;

    #[test]
    fn a_search_condition_is_an_equality() {
        let values = vec![(":t".into(), AttributeValue::string("acme"))];
        let substitutions = Substitutions {
            names: None,
            values: Some(values),
        };
        let cache = Cache::new();
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let condition = scope.search_condition("tenant = :t").unwrap();
        assert_eq!(condition.value_of("tenant"), Some(&AttributeValue::string("acme")));
        assert!(scope.search_condition("tenant > :t").is_err());
    }

    #[test]
    fn an_invalid_search_condition_is_refused_with_a_reason() {
        let comparator = "Invalid comparator used in SearchConditionExpression";
        let nested = "SearchConditionExpression cannot have conditions on nested attributes";
        let twice = "SearchConditionExpression must only contain one condition per attribute";
        let substitutions = Substitutions {
            names: Some(vec![("#t".into(), "tenant".into())]),
            values: Some(vec![
                (":t".into(), AttributeValue::string("acme")),
                (":u".into(), AttributeValue::string("other")),
            ]),
        };
        let cache = Cache::new();
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        for (text, expect) in [
            ("tenant = :t", None),
            (":t = tenant AND cat = :t AND kind = :t", None),
            ("tenant <> :t", Some(comparator)),
            ("tenant = :t OR cat = :t", Some(comparator)),
            ("cat = :t AND NOT tenant = :t", Some(comparator)),
            ("tenant = cat", Some(comparator)),
            (":t = :u", Some(comparator)),
            ("size(tenant) = :t", Some(comparator)),
            ("tenant IN (:t)", Some(comparator)),
            ("begins_with(tenant, :t)", Some(comparator)),
            ("tenant.a = :t", Some(nested)),
            ("cat = :t AND :t = tenant[0]", Some(nested)),
            ("tenant = :t AND tenant = :t", Some(twice)),
            ("tenant = :t AND :u = #t", Some(twice)),
            ("tenant = :t AND cat = :t AND tenant = :u", Some(twice)),
            ("cat = :t AND (tenant = :t AND (kind = :u AND #t = :u))", Some(twice)),
        ] {
            let error = scope.search_condition(text).err();
            let expect = expect.map(|why| format!("Invalid SearchConditionExpression: {why}"));
            assert_eq!(error.as_ref().and_then(ApiError::message), expect.as_deref(), "{text}");
        }
    }
}
