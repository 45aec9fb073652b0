//! The static checks that need bound placeholders, in the service's order.
//!
//! A condition is walked once, each operator after its operands. An update is walked three times: paths and placeholders;
//! ADD and DELETE; functions and arithmetic. Updates and projections are walked from the last action or path back, as
//! DynamoDB Local does, which carries the service's own parser.

use super::ast::{Application, Body, CheckStep, Clause, Element, Operand, Operator, Span, UpdateAction};
use super::bind::Bound;
use super::error;
use super::path::{self, Path};
use crate::limits;
use crate::value::{AttributeValue, Type};

type Check = Result<(), String>;

/// All checks of the expression's kind.
pub(super) fn all(bound: &Bound<'_>) -> Check {
    match &bound.parsed.body {
        Body::Condition { .. } => condition(bound),
        Body::Update(actions) => update(bound, actions),
        Body::Projection(paths) => projection(bound, paths),
    }
}

/// The step at which a check fails with this text.
pub(super) fn find(bound: &Bound<'_>, text: &str) -> Option<usize> {
    let fails = |check: Check| check.is_err_and(|found| found == text);
    let mut steps = bound.parsed.steps.iter();
    let at = steps.position(|one| fails(step(bound, *one)));
    let section = || match &bound.parsed.body {
        Body::Update(actions) => {
            let action = actions.iter().find(|action| fails(section_operand(bound, action)))?;
            action.steps.end.checked_sub(1).map(|last| last as usize)
        }
        _ => None,
    };
    at.or_else(section)
}

fn step(bound: &Bound<'_>, step: CheckStep) -> Check {
    match step {
        CheckStep::Apply(at) => application(bound, bound.parsed.application(at)),
        other => placeholder(bound, other),
    }
}

pub(super) fn condition(bound: &Bound<'_>) -> Check {
    bound.parsed.steps.iter().try_for_each(|one| step(bound, *one))?;
    operators(bound)
}

pub(super) fn update(bound: &Bound<'_>, actions: &[UpdateAction]) -> Check {
    let steps = |action: &UpdateAction| action.steps.of(&bound.parsed.steps);
    for action in actions.iter().rev() {
        steps(action).iter().try_for_each(|step| placeholder(bound, *step))?;
    }
    path::check_apart(bound, actions.iter().map(|action| action.target))?;
    for action in actions.iter().rev() {
        section_operand(bound, action)?;
    }
    for action in actions.iter().rev() {
        for step in steps(action) {
            if let CheckStep::Apply(at) = *step {
                application(bound, bound.parsed.application(at))?;
            }
        }
    }
    operators(bound)
}

/// Overlap is checked where the paths are put in order, in [`super::projection`].
pub(super) fn projection(bound: &Bound<'_>, paths: &[Span]) -> Check {
    paths
        .iter()
        .rev()
        .try_for_each(|path| placeholder(bound, CheckStep::Path(*path)))
}

fn operators(bound: &Bound<'_>) -> Check {
    if bound.parsed.operators as usize > limits::EXPRESSION_OPERATORS {
        return Err(error::too_many_operators());
    }
    Ok(())
}

/// A path must not be too long, and its names and values must be defined.
fn placeholder(bound: &Bound<'_>, step: CheckStep) -> Check {
    let parsed = &bound.parsed;
    match step {
        CheckStep::Path(span) => {
            if span.len() > limits::PATH_DEPTH {
                return Err(error::path_too_deep(span.len()));
            }
            for element in span.of(&parsed.elements) {
                if let Element::Alias(at) = *element
                    && bound.names[at as usize].is_none()
                {
                    return Err(error::undefined_name(&parsed.names[at as usize]));
                }
            }
        }
        CheckStep::Value(at) if bound.values[at as usize].is_none() => {
            return Err(error::undefined_value(&parsed.values[at as usize]));
        }
        CheckStep::Value(_) | CheckStep::Apply(_) => {}
    }
    Ok(())
}

fn application(bound: &Bound<'_>, application: Application) -> Check {
    let operator = application.operator;
    let operands = application.operands.of(&bound.parsed.operands);
    if operator.arity().is_some_and(|arity| arity != operands.len()) {
        return Err(error::operand_count(operator.name(), operands.len()));
    }
    requires_path(operator, operands)?;
    if operator == Operator::AttributeType {
        // The type of its second operand is checked after distinctness.
        distinct(bound, operator, operands)?;
        return attribute_type(bound, operands);
    }
    types(bound, operator, operands)?;
    if operator == Operator::Between {
        between(bound, operands)?;
    }
    distinct(bound, operator, operands)?;
    in_operands(operator, operands)
}

fn requires_path(operator: Operator, operands: &[Operand]) -> Check {
    let required = matches!(
        operator,
        Operator::AttributeExists | Operator::AttributeNotExists | Operator::IfNotExists
    );
    if required && !matches!(operands.first(), Some(Operand::Path(_))) {
        return Err(error::requires_path(operator.name()));
    }
    Ok(())
}

/// The type of an operand if it does not depend on the item.
fn known_type(bound: &Bound<'_>, operand: Operand) -> Option<Type> {
    match operand {
        Operand::Path(_) => None,
        Operand::Value(at) => Some(bound.value(at).kind()),
        Operand::Nested(at) => (bound.parsed.application(at).operator == Operator::Size).then_some(Type::N),
    }
}

fn types(bound: &Bound<'_>, operator: Operator, operands: &[Operand]) -> Check {
    let fits: fn(Type) -> bool = match operator {
        Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge | Operator::Between => {
            |kind| matches!(kind, Type::S | Type::N | Type::B)
        }
        Operator::BeginsWith => |kind| matches!(kind, Type::S | Type::B),
        Operator::Size => |kind| !matches!(kind, Type::N | Type::Bool | Type::Null),
        Operator::Plus | Operator::Minus => |kind| kind == Type::N,
        Operator::ListAppend => |kind| kind == Type::L,
        _ => return Ok(()),
    };
    for operand in operands {
        if let Some(kind) = known_type(bound, *operand).filter(|kind| !fits(*kind)) {
            return Err(error::operand_type(operator.name(), kind.name()));
        }
    }
    Ok(())
}

fn attribute_type(bound: &Bound<'_>, operands: &[Operand]) -> Check {
    let name = Operator::AttributeType.name();
    let Some(second) = operands.get(1) else {
        return Ok(());
    };
    match known_type(bound, *second) {
        None => Err(error::operand_type(name, error::ALL_TYPES)),
        Some(Type::S) => match bound.constant(*second) {
            Some(AttributeValue::S(text)) if Type::from_name(text).is_none() => Err(error::unknown_type(text)),
            _ => Ok(()),
        },
        Some(kind) => Err(error::operand_type(name, kind.name())),
    }
}

/// The bounds of BETWEEN, if both are constants.
fn between(bound: &Bound<'_>, operands: &[Operand]) -> Check {
    let constant = |at: usize| operands.get(at).and_then(|operand| bound.constant(*operand));
    let (Some(lower), Some(upper)) = (constant(1), constant(2)) else {
        return Ok(());
    };
    if lower.kind() != upper.kind() {
        return Err(error::between_types(lower, upper));
    }
    if lower.partial_order(upper).is_some_and(std::cmp::Ordering::is_gt) {
        return Err(error::between_order(lower, upper));
    }
    Ok(())
}

fn distinct(bound: &Bound<'_>, operator: Operator, operands: &[Operand]) -> Check {
    if matches!(operator, Operator::Plus | Operator::Minus | Operator::ListAppend) {
        return Ok(());
    }
    let Some((Operand::Path(first), rest)) = operands.split_first() else {
        return Ok(());
    };
    let first = Path::new(bound, *first);
    if rest.iter().any(|operand| bound.path(*operand) == Some(first)) {
        return Err(error::not_distinct(operator.name(), first));
    }
    Ok(())
}

fn in_operands(operator: Operator, operands: &[Operand]) -> Check {
    if operator == Operator::In && operands.len() - 1 > limits::IN_OPERANDS {
        return Err(error::too_many_in_operands(operands.len() - 1));
    }
    Ok(())
}

fn section_operand(bound: &Bound<'_>, action: &UpdateAction) -> Check {
    let Some(kind) = action
        .value
        .and_then(|value| bound.constant(value))
        .map(AttributeValue::kind)
    else {
        return Ok(());
    };
    let is_set = matches!(kind, Type::Ss | Type::Ns | Type::Bs);
    let fits = match action.clause {
        Clause::Add => is_set || kind == Type::N,
        Clause::Delete => is_set,
        Clause::Set | Clause::Remove => true,
    };
    if fits {
        return Ok(());
    }
    Err(error::section_operand_type(action.clause.name(), kind))
}
