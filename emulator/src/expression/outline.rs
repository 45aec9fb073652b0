//! How an expression was understood: a tree of its operators, paths and values; or where it fails.

use super::ast::{Body, Grammar, Node, Operand};
use super::bind::Bound;
use super::condition::Condition;
use super::key_condition::KeyCondition;
use super::path::{Path, PathElement};
use super::projection::Projection;
use super::{ExpressionKind, Scope, error, parser};
use crate::error::ApiError;
use crate::value::{AttributeValue, Map};

/// A part of an expression, with what its placeholders stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    /// An operator, function or section, and what it works on.
    Part(&'static str, Vec<Outline>),
    /// A document path.
    Path(String),
    /// A value.
    Value(AttributeValue),
}

/// An expression that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Explored {
    /// The whole of it.
    pub outline: Outline,
    /// Whether it holds for the item at hand: of conditions and filters, if there is one.
    pub holds: Option<bool>,
}

/// Why an expression was not understood.
#[derive(Clone, Debug)]
pub struct ExpressionFault {
    /// The service's error.
    pub error: ApiError,
    /// Where in the text, in characters, if it is at one place.
    pub offset: Option<usize>,
}

/// Parses and binds an expression, and says how it was understood.
///
/// ```
/// use dynatwin_engine::expression::{Cache, ExpressionKind, Outline, Scope, explore};
/// use dynatwin_engine::request::Substitutions;
///
/// let (cache, substitutions) = (Cache::new(), Substitutions::default());
/// let mut scope = Scope::new(&substitutions, &cache).unwrap();
/// let explored = explore(&mut scope, ExpressionKind::Filter, "attribute_exists(a.b[0])", None).unwrap();
/// assert_eq!(explored.outline, Outline::Part("attribute_exists", vec![Outline::Path("a.b[0]".to_owned())]));
/// let fault = explore(&mut scope, ExpressionKind::Filter, "a = ", None).unwrap_err();
/// assert_eq!(fault.offset, Some(4));
/// ```
pub fn explore(
    scope: &mut Scope<'_>,
    kind: ExpressionKind,
    text: &str,
    item: Option<&Map>,
) -> Result<Explored, ExpressionFault> {
    let fault = |error: ApiError| ExpressionFault {
        offset: offset(kind, text, error.message().unwrap_or_default()),
        error,
    };
    let bound = scope.bind(kind, text).map_err(fault)?;
    let outline = outline(&bound);
    let mut holds = None;
    match kind {
        ExpressionKind::Condition | ExpressionKind::Filter => {
            let condition = Condition::new(bound);
            holds = item.map(|item| condition.matches(Some(item)));
        }
        ExpressionKind::KeyCondition => drop(KeyCondition::new(&bound).map_err(fault)?),
        ExpressionKind::Projection => {
            let projection = Projection::new(bound);
            drop(projection.map_err(|rest| fault(error::invalid(kind, rest)))?);
        }
        ExpressionKind::Update | ExpressionKind::SearchCondition => {}
    }
    Ok(Explored { outline, holds })
}

/// Where an expression fails: at the token that cannot go on, or at the first use of the placeholder that the error names.
fn offset(kind: ExpressionKind, text: &str, message: &str) -> Option<usize> {
    let named = message.rsplit(' ').next().filter(|word| word.starts_with([':', '#']));
    let at = match named {
        Some(placeholder) => text.find(placeholder),
        None => parser::fault_offset(text, Grammar::of(kind)),
    };
    at.and_then(|at| text.get(..at)).map(|before| before.chars().count())
}

fn outline(bound: &Bound<'_>) -> Outline {
    match &bound.parsed.body {
        Body::Condition { nodes, root, .. } => part(bound, nodes, *root),
        Body::Projection(paths) => {
            let paths = paths.iter().map(|span| path(Path::new(bound, *span)));
            Outline::Part("projection", paths.collect())
        }
        Body::Update(actions) => {
            let actions = actions.iter().map(|action| {
                let target = path(Path::new(bound, action.target));
                let value = action.value.map(|value| operand(bound, value));
                Outline::Part(action.clause.name(), std::iter::once(target).chain(value).collect())
            });
            Outline::Part("update", actions.collect())
        }
    }
}

/// A part of a condition. Its operators are counted, so this goes only so deep.
fn part(bound: &Bound<'_>, nodes: &[Node], at: u32) -> Outline {
    match nodes.get(at as usize) {
        Some(Node::And(left, right)) => {
            Outline::Part("AND", vec![part(bound, nodes, *left), part(bound, nodes, *right)])
        }
        Some(Node::Or(left, right)) => Outline::Part("OR", vec![part(bound, nodes, *left), part(bound, nodes, *right)]),
        Some(Node::Not(inner)) => Outline::Part("NOT", vec![part(bound, nodes, *inner)]),
        Some(Node::Test(application)) => applied(bound, *application),
        None => Outline::Part("", Vec::new()),
    }
}

fn applied(bound: &Bound<'_>, application: u32) -> Outline {
    let operands = bound.parsed.operands(application).iter();
    Outline::Part(
        bound.parsed.application(application).operator.name(),
        operands.map(|inner| operand(bound, *inner)).collect(),
    )
}

fn operand(bound: &Bound<'_>, operand: Operand) -> Outline {
    match operand {
        Operand::Path(span) => path(Path::new(bound, span)),
        Operand::Value(at) => Outline::Value(bound.value(at).clone()),
        Operand::Nested(at) => applied(bound, at),
    }
}

fn path(path: Path<'_>) -> Outline {
    let mut text = String::new();
    for (at, element) in path.elements().enumerate() {
        match element {
            PathElement::Name(name) => {
                if at > 0 {
                    text.push('.');
                }
                text.push_str(name);
            }
            PathElement::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    Outline::Path(text)
}
