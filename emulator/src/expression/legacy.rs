//! The legacy parameters, lowered to bound expressions. Their names are always whole top-level names.
//!
//! Errors have no envelope, like those of expressions; two of them, about missing members and words that are not in an
//! enumeration, are the framework's and contain its envelope.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::ast::{Body, CheckStep, Clause, Element, Grammar, Op, Operand, Operator, Parsed, Span, UpdateAction};
use super::bind::Bound;
use super::condition::Condition;
use super::key_condition::{KeyClause, KeyCondition, KeyOperator};
use super::projection::Projection;
use super::update::Update;
use crate::error::ApiError;
use crate::request::{AttributeUpdate, Expected, LegacyCondition};
use crate::value::{AttributeValue, Name, Type};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Plain(Operator),
    NotContains,
    Null,
    NotNull,
}

const COMPARISONS: [(&str, Comparison); 13] = [
    ("EQ", Comparison::Plain(Operator::Eq)),
    ("NE", Comparison::Plain(Operator::Ne)),
    ("LE", Comparison::Plain(Operator::Le)),
    ("LT", Comparison::Plain(Operator::Lt)),
    ("GE", Comparison::Plain(Operator::Ge)),
    ("GT", Comparison::Plain(Operator::Gt)),
    ("BETWEEN", Comparison::Plain(Operator::Between)),
    ("IN", Comparison::Plain(Operator::In)),
    ("BEGINS_WITH", Comparison::Plain(Operator::BeginsWith)),
    ("CONTAINS", Comparison::Plain(Operator::Contains)),
    ("NOT_CONTAINS", Comparison::NotContains),
    ("NULL", Comparison::Null),
    ("NOT_NULL", Comparison::NotNull),
];

impl Comparison {
    fn parse(word: &str) -> Result<Comparison, ApiError> {
        let found = COMPARISONS.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, comparison)| *comparison)
            .ok_or_else(ApiError::legacy_operator_unknown)
    }

    fn takes(self, count: usize) -> bool {
        match self {
            Comparison::Null | Comparison::NotNull => count == 0,
            Comparison::Plain(Operator::Between) => count == 2,
            Comparison::Plain(Operator::In) => count > 0,
            _ => count == 1,
        }
    }

    fn fits(self, kind: Type) -> bool {
        let scalar = matches!(kind, Type::S | Type::N | Type::B);
        match self {
            Comparison::Plain(Operator::Eq | Operator::Ne) | Comparison::Null | Comparison::NotNull => true,
            Comparison::Plain(Operator::BeginsWith) => matches!(kind, Type::S | Type::B),
            Comparison::Plain(Operator::Contains) | Comparison::NotContains => {
                scalar || matches!(kind, Type::Bool | Type::Null)
            }
            Comparison::Plain(_) => scalar,
        }
    }

    /// Checks the arguments: how many, of which types, of one type, and in order.
    fn check(self, word: &str, arguments: &[AttributeValue]) -> Result<(), ApiError> {
        if !self.takes(arguments.len()) {
            return Err(ApiError::legacy_argument_count(word));
        }
        if let Some(wrong) = arguments.iter().find(|argument| !self.fits(argument.kind())) {
            return Err(ApiError::legacy_argument_type(word, wrong.type_name()));
        }
        if arguments.windows(2).any(|pair| pair[0].kind() != pair[1].kind()) {
            return Err(ApiError::legacy_argument_types_differ());
        }
        let reversed = |pair: &[AttributeValue]| pair[0].partial_order(&pair[1]) == Some(Ordering::Greater);
        if self == Comparison::Plain(Operator::Between) && arguments.windows(2).any(reversed) {
            return Err(ApiError::legacy_between_order());
        }
        Ok(())
    }
}

/// Whether a text is a `ComparisonOperator`.
pub fn is_comparison(word: &str) -> bool {
    COMPARISONS.iter().any(|(name, _)| *name == word)
}

/// A bound expression in the making.
struct Lowering<'r> {
    parsed: Parsed,
    names: SmallVec<[Option<&'r str>; 4]>,
    values: SmallVec<[Option<&'r AttributeValue>; 4]>,
}

impl<'r> Lowering<'r> {
    fn new(grammar: Grammar) -> Lowering<'r> {
        Lowering {
            parsed: Parsed::empty("", grammar),
            names: SmallVec::new(),
            values: SmallVec::new(),
        }
    }

    fn path(&mut self, name: &'r str) -> Span {
        let at = self.names.len();
        self.names.push(Some(name));
        self.parsed.elements.push(Element::Alias(at as u32));
        let path = Span::new(at, at + 1);
        self.parsed.steps.push(CheckStep::Path(path));
        path
    }

    fn value(&mut self, value: &'r AttributeValue) -> Operand {
        self.values.push(Some(value));
        Operand::Value((self.values.len() - 1) as u32)
    }

    fn finish(self, body: Body) -> Bound<'r> {
        Bound {
            parsed: Arc::new(Parsed { body, ..self.parsed }),
            names: self.names,
            values: self.values,
            is_passed: false,
        }
    }

    /// The tests of one condition, which leave its truth behind.
    fn test(&mut self, name: &'r str, comparison: Comparison, arguments: &'r [AttributeValue], program: &mut Vec<Op>) {
        let path = self.path(name);
        let left = Operand::Path(path);
        let operator = match comparison {
            Comparison::Null => Operator::AttributeNotExists,
            Comparison::NotNull => Operator::AttributeExists,
            Comparison::NotContains => Operator::Contains,
            Comparison::Plain(operator) => operator,
        };
        if comparison == Comparison::NotContains {
            // A missing attribute fails NOT_CONTAINS.
            program.push(Op::Test(self.parsed.apply(Operator::AttributeExists, [left])));
            program.push(Op::JumpIfFalse((program.len() + 3) as u32));
        }
        let mut operands: SmallVec<[Operand; 3]> = SmallVec::from_slice(&[left]);
        operands.extend(arguments.iter().map(|argument| self.value(argument)));
        program.push(Op::Test(self.parsed.apply(operator, operands)));
        if comparison == Comparison::NotContains {
            program.push(Op::Not);
        }
    }
}

/// A condition on one attribute, checked.
type Checked<'r> = (&'r str, Comparison, &'r [AttributeValue]);

fn lower<'r>(
    conditions: impl Iterator<Item = Result<Checked<'r>, ApiError>>,
    or: bool,
) -> Result<Condition<'r>, ApiError> {
    let mut lowering = Lowering::new(Grammar::Condition);
    let mut program = Vec::new();
    let mut jumps = Vec::new();
    for condition in conditions {
        let (name, comparison, arguments) = condition?;
        if !program.is_empty() {
            jumps.push(program.len());
            program.push(Op::Not); // becomes a jump to the end, which is not known yet
        }
        lowering.test(name, comparison, arguments, &mut program);
    }
    let end = program.len() as u32;
    for jump in jumps {
        program[jump] = if or { Op::JumpIfTrue(end) } else { Op::JumpIfFalse(end) };
    }
    let body = Body::Condition {
        nodes: Vec::new(),
        root: 0,
        program,
    };
    Ok(Condition::new(lowering.finish(body)))
}

/// Checks `ConditionalOperator` against the number of conditions; returns whether it is OR.
fn is_or(conditional_operator: Option<&str>, conditions: usize) -> Result<bool, ApiError> {
    match (conditional_operator, conditions) {
        (None, _) => Ok(false),
        (Some(_), 0) => Err(ApiError::conditional_operator_alone()),
        (Some(_), 1) => Err(ApiError::conditional_operator_of_one()),
        (Some("AND"), _) => Ok(false),
        (Some("OR"), _) => Ok(true),
        (Some(_), _) => Err(ApiError::conditional_operator_unknown()),
    }
}

/// Lowers `Expected` and `ConditionalOperator`, either of which may be absent.
pub fn expected<'r>(
    expected: Option<&'r Vec<(Name, Expected)>>,
    conditional_operator: Option<&str>,
) -> Result<Condition<'r>, ApiError> {
    let entries = expected.map(Vec::as_slice).unwrap_or_default();
    let checked: Vec<_> = entries.iter().map(expectation).collect::<Result<_, _>>()?;
    let or = is_or(conditional_operator, entries.len())?;
    lower(checked.into_iter().map(Ok), or)
}

fn expectation((name, expected): &(Name, Expected)) -> Result<Checked<'_>, ApiError> {
    let value = expected.value.as_ref().map(std::slice::from_ref);
    let list = expected.attribute_value_list.as_deref();
    let Some(word) = expected.comparison_operator.as_deref() else {
        if list.is_some() {
            return Err(match value {
                Some(_) => ApiError::expected_value_and_list(name),
                None => ApiError::expected_list_without_operator(name),
            });
        }
        return match (expected.exists, value) {
            (Some(false), None) => Ok((name, Comparison::Null, &[])),
            (Some(false), Some(_)) => Err(ApiError::expected_value_of_absent(name)),
            (_, Some(value)) => Ok((name, Comparison::Plain(Operator::Eq), value)),
            (exists, None) => Err(ApiError::expected_without_value(exists, name)),
        };
    };
    if expected.exists.is_some() {
        return Err(ApiError::expected_exists_and_operator(name));
    }
    if value.is_some() && list.is_some() {
        return Err(ApiError::expected_value_and_list(name));
    }
    let comparison = Comparison::parse(word)?;
    let arguments = match value.or(list) {
        Some(arguments) => arguments,
        None if comparison.takes(0) => &[],
        None => return Err(ApiError::expected_without_arguments(word, name)),
    };
    comparison.check(word, arguments)?;
    Ok((name, comparison, arguments))
}

/// Lowers `QueryFilter` or `ScanFilter`, whichever `member` names (`queryFilter`, `scanFilter`), and
/// `ConditionalOperator`; either may be absent.
pub fn filter<'r>(
    member: &str,
    filter: Option<&'r Vec<(Name, LegacyCondition)>>,
    conditional_operator: Option<&str>,
) -> Result<Condition<'r>, ApiError> {
    let entries = filter.map(Vec::as_slice).unwrap_or_default();
    let checked: Vec<_> = entries
        .iter()
        .map(|entry| condition(member, entry))
        .collect::<Result<_, _>>()?;
    let or = is_or(conditional_operator, entries.len())?;
    lower(checked.into_iter().map(Ok), or)
}

fn condition<'r>(member: &str, (name, condition): &'r (Name, LegacyCondition)) -> Result<Checked<'r>, ApiError> {
    let word = condition.comparison_operator.as_deref();
    let word = word.ok_or_else(|| ApiError::legacy_operator_missing(member, name))?;
    let comparison = Comparison::parse(word)?;
    let arguments = condition.attribute_value_list.as_deref().unwrap_or_default();
    comparison.check(word, arguments)?;
    Ok((name, comparison, arguments))
}

/// Lowers `KeyConditions`. Their number, keys and operators are checked against the table's schema later.
pub fn key_conditions(conditions: &[(Name, LegacyCondition)]) -> Result<KeyCondition<'_>, ApiError> {
    let clause = |entry| {
        let (name, comparison, arguments) = condition("keyConditions", entry)?;
        let operator = match (comparison, arguments) {
            (Comparison::Plain(Operator::Eq), [value]) => KeyOperator::Eq(value),
            (Comparison::Plain(Operator::Lt), [value]) => KeyOperator::Lt(value),
            (Comparison::Plain(Operator::Le), [value]) => KeyOperator::Le(value),
            (Comparison::Plain(Operator::Gt), [value]) => KeyOperator::Gt(value),
            (Comparison::Plain(Operator::Ge), [value]) => KeyOperator::Ge(value),
            (Comparison::Plain(Operator::BeginsWith), [value]) => KeyOperator::BeginsWith(value),
            (Comparison::Plain(Operator::Between), [lower, upper]) => KeyOperator::Between(lower, upper),
            (_, arguments) => KeyOperator::NotIndexable(arguments.first()),
        };
        let name = Name::new(name);
        Ok(KeyClause { name, operator })
    };
    let clauses = conditions.iter().map(clause).collect::<Result<_, ApiError>>()?;
    Ok(KeyCondition { clauses })
}

pub fn attribute_updates(updates: &[(Name, AttributeUpdate)]) -> Result<Update<'_>, ApiError> {
    let mut lowering = Lowering::new(Grammar::Update);
    let mut actions = Vec::with_capacity(updates.len());
    for (name, update) in updates {
        let (clause, value) = action(update)?;
        let start = lowering.parsed.steps.len();
        let target = lowering.path(name);
        actions.push(UpdateAction {
            clause,
            target,
            value: value.map(|value| lowering.value(value)),
            steps: Span::new(start, lowering.parsed.steps.len()),
        });
    }
    Ok(Update::new_legacy(lowering.finish(Body::Update(actions))))
}

fn action(update: &AttributeUpdate) -> Result<(Clause, Option<&AttributeValue>), ApiError> {
    let clause = match update.action.as_deref() {
        None | Some("PUT") => Clause::Set,
        Some("ADD") => Clause::Add,
        Some("DELETE") => Clause::Delete,
        Some(_) => return Err(ApiError::update_action_unknown()),
    };
    let Some(value) = &update.value else {
        return match clause {
            Clause::Delete => Ok((Clause::Remove, None)),
            _ => Err(ApiError::update_without_value()),
        };
    };
    let kind = value.kind();
    let is_set = matches!(kind, Type::Ss | Type::Ns | Type::Bs);
    match clause {
        Clause::Delete if !is_set => Err(ApiError::update_delete_type(kind.name())),
        Clause::Add if !is_set && !matches!(kind, Type::N | Type::L) => Err(ApiError::update_add_type(kind.name())),
        clause => Ok((clause, Some(value))),
    }
}

pub fn attributes_to_get(names: &[Name]) -> Result<Projection<'_>, ApiError> {
    let mut seen = FxHashSet::default();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(ApiError::duplicate_attribute_to_get(twice));
    }
    let mut lowering = Lowering::new(Grammar::Projection);
    let paths = names.iter().map(|name| lowering.path(name)).collect();
    Projection::new(lowering.finish(Body::Projection(paths))).map_err(ApiError::validation)
}
