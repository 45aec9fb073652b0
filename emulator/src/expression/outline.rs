//! Explains how a text is parsed and bound, and where it is invalid.

use std::ops::Range;

use super::ast::{Body, CheckStep, Node, Operand, Parsed, Span};
use super::bind::Bound;
use super::condition::Condition;
use super::key_condition;
use super::path::Path;
use super::{ExpressionKind, KeyCondition, Operator, check, error};
use crate::value::{AttributeValue, Map};

/// A part of an expression, with its place in the text as a range of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineNode {
    /// How many parts it is inside of.
    pub depth: usize,
    pub part: OutlinePart,
    /// Its place in the text.
    pub range: Range<usize>,
    source: Source,
}

/// The kind of a part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum OutlinePart {
    Logic(&'static str),
    Operator(Operator),
    /// A section's action: `SET`, `REMOVE`, `ADD` or `DELETE`.
    Action(&'static str),
    /// A document path with its names resolved, such as `a.b[1]`.
    Path(String),
    /// A placeholder for a value, and the value if it is defined.
    Value(Option<AttributeValue>),
}

/// The value of a part for an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Truth(bool),
    /// Its value; `None` if the item has no such value.
    Value(Option<AttributeValue>),
    /// No value: a constant, or a part of an update.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Logic(u32),
    CheckStep(usize),
    Action(usize),
}

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineError {
    /// The message of the service's error.
    pub message: String,
    /// The part of the text at fault, in bytes, if it is one part.
    pub range: Option<Range<usize>>,
}

/// The parse and binding of an expression: its parts in tree order, each before its children.
pub struct Outline<'r> {
    /// The parts; empty if the text cannot be parsed.
    pub nodes: Vec<OutlineNode>,
    /// Why the expression is refused, if it is.
    pub error: Option<OutlineError>,
    bound: Option<Bound<'r>>,
}

impl<'r> Outline<'r> {
    /// Of a text that cannot be parsed.
    pub(super) fn refused(kind: ExpressionKind, rest: &str, range: Option<Range<usize>>) -> Outline<'r> {
        let message = error::invalid(kind, rest).message().unwrap_or_default().to_owned();
        Outline {
            nodes: Vec::new(),
            error: Some(OutlineError { message, range }),
            bound: None,
        }
    }

    /// Of a text that is refused before it is parsed.
    pub(super) fn unparsed(message: &str) -> Outline<'r> {
        let error = OutlineError {
            message: message.to_owned(),
            range: None,
        };
        Outline {
            nodes: Vec::new(),
            error: Some(error),
            bound: None,
        }
    }

    /// Of a parsed text; `spans` has the place of each step.
    pub(super) fn new(kind: ExpressionKind, bound: Bound<'r>, spans: &[Span]) -> Outline<'r> {
        let tree = ParsedTree::new(&bound.parsed, spans);
        let error = first_error(kind, &bound, &tree);
        Outline {
            nodes: tree.nodes(&bound),
            error,
            bound: Some(bound),
        }
    }

    /// The value of each part for an item, in the order of `nodes`. Both sides of an AND and OR are evaluated.
    pub fn evaluate(&self, item: &Map) -> Vec<Outcome> {
        let Some(bound) = self.bound.as_ref().filter(|_| self.error.is_none()) else {
            return self.nodes.iter().map(|_| Outcome::Nothing).collect();
        };
        let is_condition = matches!(bound.parsed.body, Body::Condition { .. });
        let condition = Condition::new(bound.clone());
        let truths = truths(bound, &condition, item);
        let of = |node: &OutlineNode| match node.source {
            Source::Logic(at) => Outcome::Truth(truths[at as usize]),
            Source::Action(_) => Outcome::Nothing,
            Source::CheckStep(at) => match bound.parsed.steps[at] {
                CheckStep::Path(span) => Outcome::Value(Path::new(bound, span).find(item).cloned()),
                CheckStep::Value(_) => Outcome::Nothing,
                CheckStep::Apply(_) if !is_condition => Outcome::Nothing,
                CheckStep::Apply(at) if bound.parsed.application(at).operator == Operator::Size => {
                    let size = condition.see(Operand::Nested(at), item);
                    Outcome::Value(size.map(std::borrow::Cow::into_owned))
                }
                CheckStep::Apply(at) => Outcome::Truth(condition.test(at, item)),
            },
        };
        self.nodes.iter().map(of).collect()
    }
}

/// Whether each node of a condition holds: operands come before their operators.
fn truths(bound: &Bound<'_>, condition: &Condition<'_>, item: &Map) -> Vec<bool> {
    let Body::Condition { nodes, .. } = &bound.parsed.body else {
        return Vec::new();
    };
    let mut truths: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let truth = match *node {
            Node::And(left, right) => truths[left as usize] && truths[right as usize],
            Node::Or(left, right) => truths[left as usize] || truths[right as usize],
            Node::Not(inner) => !truths[inner as usize],
            Node::Test(application) => condition.test(application, item),
        };
        truths.push(truth);
    }
    truths
}

/// The tree of a parsed text.
struct ParsedTree<'a> {
    parsed: &'a Parsed,
    spans: &'a [Span],
    /// The steps that are operands of each step.
    operands: Vec<Vec<usize>>,
    /// The step of each application.
    applications: Vec<usize>,
}

impl<'a> ParsedTree<'a> {
    fn new(parsed: &'a Parsed, spans: &'a [Span]) -> ParsedTree<'a> {
        let mut operands = vec![Vec::new(); parsed.steps.len()];
        let mut applications = vec![0; parsed.applications.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, step) in parsed.steps.iter().enumerate() {
            if let CheckStep::Apply(application) = *step {
                let count = parsed.application(application).operands.len();
                operands[at] = open.split_off(open.len().saturating_sub(count));
                applications[application as usize] = at;
            }
            open.push(at);
        }
        ParsedTree {
            parsed,
            spans,
            operands,
            applications,
        }
    }

    fn roots(&self) -> Vec<Source> {
        match &self.parsed.body {
            Body::Condition { root, .. } => vec![Source::Logic(*root)],
            Body::Update(actions) => (0..actions.len()).map(Source::Action).collect(),
            Body::Projection(_) => (0..self.parsed.steps.len()).map(Source::CheckStep).collect(),
        }
    }

    /// A node of a condition that is a test is the test's step.
    fn resolved(&self, source: Source) -> Source {
        match (source, &self.parsed.body) {
            (Source::Logic(at), Body::Condition { nodes, .. }) => match nodes[at as usize] {
                Node::Test(application) => Source::CheckStep(self.applications[application as usize]),
                _ => source,
            },
            _ => source,
        }
    }

    fn inside(&self, source: Source) -> Vec<Source> {
        match (source, &self.parsed.body) {
            (Source::CheckStep(at), _) => self.operands[at].iter().map(|step| Source::CheckStep(*step)).collect(),
            (Source::Logic(at), Body::Condition { nodes, .. }) => match nodes[at as usize] {
                Node::And(left, right) | Node::Or(left, right) => vec![Source::Logic(left), Source::Logic(right)],
                Node::Not(inner) => vec![Source::Logic(inner)],
                Node::Test(_) => Vec::new(),
            },
            (Source::Action(at), Body::Update(actions)) => {
                let Span { start, end } = actions[at].steps;
                let value = (end - start > 1).then(|| Source::CheckStep(end as usize - 1));
                std::iter::once(Source::CheckStep(start as usize))
                    .chain(value)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn nodes(&self, bound: &Bound<'_>) -> Vec<OutlineNode> {
        let mut nodes: Vec<OutlineNode> = Vec::new();
        let mut open: Vec<(Source, usize)> = self.roots().into_iter().rev().map(|root| (root, 0)).collect();
        while let Some((source, depth)) = open.pop() {
            let source = self.resolved(source);
            open.extend(self.inside(source).into_iter().rev().map(|inner| (inner, depth + 1)));
            nodes.push(OutlineNode {
                depth,
                part: self.part(bound, source),
                range: match source {
                    Source::CheckStep(at) => range(self.spans[at]),
                    Source::Logic(_) | Source::Action(_) => Range {
                        start: usize::MAX,
                        end: 0,
                    },
                },
                source,
            });
        }
        // A part without a position of its own spans its children.
        for at in (0..nodes.len()).rev() {
            let depth = nodes[at].depth;
            let inner = nodes[at + 1..].iter().take_while(|node| node.depth > depth);
            let (start, end) = inner.fold((nodes[at].range.start, nodes[at].range.end), |(start, end), node| {
                (start.min(node.range.start), end.max(node.range.end))
            });
            nodes[at].range = start..end;
        }
        nodes
    }

    fn part(&self, bound: &Bound<'_>, source: Source) -> OutlinePart {
        match (source, &self.parsed.body) {
            (Source::CheckStep(at), _) => match self.parsed.steps[at] {
                CheckStep::Path(span) => OutlinePart::Path(written(&Path::new(bound, span))),
                CheckStep::Value(at) => OutlinePart::Value(bound.values[at as usize].cloned()),
                CheckStep::Apply(at) => OutlinePart::Operator(self.parsed.application(at).operator),
            },
            (Source::Logic(at), Body::Condition { nodes, .. }) => OutlinePart::Logic(match nodes[at as usize] {
                Node::And(..) => "AND",
                Node::Or(..) => "OR",
                Node::Not(_) | Node::Test(_) => "NOT",
            }),
            (Source::Action(at), Body::Update(actions)) => OutlinePart::Action(actions[at].clause.name()),
            _ => OutlinePart::Logic(""),
        }
    }

    fn range_of_application(&self, application: u32) -> Range<usize> {
        range(self.spans[self.applications[application as usize]])
    }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// A path in expression syntax, with its names resolved.
fn written(path: &Path<'_>) -> String {
    let mut text = String::new();
    for element in path.elements() {
        if !text.is_empty() && matches!(element, super::PathElement::Name(_)) {
            text.push('.');
        }
        text.push_str(&element.to_string());
    }
    text
}

/// The first error that the service reports, and its place.
fn first_error(kind: ExpressionKind, bound: &Bound<'_>, tree: &ParsedTree<'_>) -> Option<OutlineError> {
    let Err(rest) = check::all(bound) else {
        return shape(kind, bound, tree);
    };
    let at = check::find(bound, &rest);
    let message = error::invalid(kind, rest).message().unwrap_or_default().to_owned();
    Some(OutlineError {
        message,
        range: at.map(|step| range(tree.spans[step])),
    })
}

/// Why a condition is not a key condition.
fn shape(kind: ExpressionKind, bound: &Bound<'_>, tree: &ParsedTree<'_>) -> Option<OutlineError> {
    if kind != ExpressionKind::KeyCondition {
        return None;
    }
    let error = KeyCondition::new(bound).err()?;
    let message = error.message().unwrap_or_default().to_owned();
    let applications = 0..bound.parsed.applications.len() as u32;
    let mut invalid = applications.filter(|application| {
        let clause = key_condition::clause(bound, *application);
        clause.is_err_and(|error| error.message() == Some(message.as_str()))
    });
    Some(OutlineError {
        range: invalid.next().map(|application| tree.range_of_application(application)),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Bindings, Cache};
    use crate::request::Substitutions;
    use crate::value::AttributeValue;

    #[test]
    fn errors_are_located() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        for (kind, text, range) in [
            (ExpressionKind::Filter, "a = b AND status = c", Some(10..16)),
            (ExpressionKind::Filter, "a.status = b", Some(2..8)),
            (ExpressionKind::Filter, "b = a[99999999999]", Some(6..17)),
            (ExpressionKind::Filter, "a = b OR foo(c)", Some(9..12)),
            (ExpressionKind::Filter, "a = if_not_exists(b, c)", Some(4..17)),
            (ExpressionKind::Update, "SET a = size(b)", Some(8..12)),
            (ExpressionKind::Update, "SET a = b, status = c", Some(11..17)),
            (ExpressionKind::Projection, "a, b[0].status", Some(8..14)),
            (ExpressionKind::Projection, "a, b b", Some(5..6)),
            (ExpressionKind::Filter, "a =", Some(3..3)),
            (ExpressionKind::KeyCondition, "a <> b AND c <> d", Some(0..6)),
            (
                ExpressionKind::KeyCondition,
                "attribute_exists(a) AND attribute_exists(c)",
                Some(0..19),
            ),
        ] {
            let error = scope.outline(kind, text).error.unwrap();
            assert_eq!(error.range, range, "{text}: {}", error.message);
        }
        for (text, fits) in [("é".repeat(2048), true), ("é".repeat(2049), false)] {
            let error = scope.outline(ExpressionKind::Filter, &text).error.unwrap();
            assert_eq!(!error.message.contains("Expression size"), fits, "{}", error.message);
        }
    }

    /// The position of an error is that of the faulty action's value, among several actions.
    #[test]
    fn values_of_sections_are_located() {
        let cache = Cache::new();
        let set = AttributeValue::string_set(vec!["a".into()]).unwrap();
        let substitutions = Substitutions {
            names: None,
            values: Some(vec![
                (":n".into(), AttributeValue::N(1.into())),
                (":s".into(), set),
                (":x".into(), AttributeValue::string("x")),
            ]),
        };
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        for (text, range) in [
            ("ADD a :x", 6..8),
            ("ADD a :x, b :n", 6..8),
            ("ADD a :n, b :x", 12..14),
            ("DELETE a :s, b :n, c :s", 15..17),
            ("SET a = :n ADD b :s DELETE c :x", 29..31),
        ] {
            let error = scope.outline(ExpressionKind::Update, text).error.unwrap();
            assert_eq!(error.range, Some(range), "{text}: {}", error.message);
        }
    }

    /// The error about redundant parentheses has no place, even if another one has.
    #[test]
    fn redundant_parentheses_are_not_located() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        for (text, range) in [
            ("status = a", Some(0..6)),
            ("(a = b) AND status = a", Some(12..18)),
            ("((a = b)) AND status = a", None),
            ("((a = b))", None),
        ] {
            let error = scope.outline(ExpressionKind::Filter, text).error.unwrap();
            let redundant = error.message.contains("redundant parentheses");
            assert_eq!(
                (error.range.clone(), redundant),
                (range.clone(), range.is_none()),
                "{text}: {}",
                error.message
            );
        }
    }

    /// An expression with an error has no values.
    #[test]
    fn only_valid_expressions_are_evaluated() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let item: Map = [("a".into(), AttributeValue::string("x"))].into_iter().collect();
        for (text, valid) in [
            ("attribute_exists(a)", true),
            ("size(a) > b", true),
            ("a = :b", false),
            ("size(a) > :b", false),
            ("a = a", false),
        ] {
            let outline = scope.outline(ExpressionKind::Filter, text);
            let values = outline.evaluate(&item);
            assert_eq!(
                (outline.error.is_none(), values.len()),
                (valid, outline.nodes.len()),
                "{text}"
            );
            let some = values.iter().any(|value| !matches!(value, Outcome::Nothing));
            assert_eq!(some, valid, "{text}");
        }
    }

    #[test]
    fn a_text_has_a_largest_size() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let sized = |size: usize| format!("a = b{}", " ".repeat(size - 5));
        for (text, expect) in [
            (sized(4096), None),
            (
                sized(4097),
                Some(
                    "Invalid FilterExpression: Expression size has exceeded the maximum allowed size; expression size: 4097",
                ),
            ),
            (
                String::new(),
                Some("Invalid FilterExpression: The expression can not be empty;"),
            ),
        ] {
            let outline = scope.outline(ExpressionKind::Filter, &text);
            assert_eq!(outline.nodes.is_empty(), expect.is_some());
            assert_eq!(outline.error.map(|error| error.message).as_deref(), expect);
        }
    }

    #[test]
    fn an_outline_locates_the_syntax_error() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let outline = scope.outline(ExpressionKind::Filter, "size(a) > :b");
        let error = outline.error.unwrap();
        assert_eq!(error.range, Some(10..12), "{}", error.message);
        assert_eq!(outline.nodes[2].part, OutlinePart::Path("a".to_owned()));
    }
}
