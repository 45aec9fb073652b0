//! Expressions that are built instead of parsed: PartiQL statements are lowered to them, and they are evaluated like
//! any other.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ast::{Body, CheckStep, Clause, Element, Grammar, Node, Op, Operand, Operator, Parsed, Span, UpdateAction};
use super::bind::Bound;
use super::condition::Condition;
use super::path::{self, PathElement};
use super::projection::Projection;
use super::update::Update;
use crate::error::ApiError;
use crate::value::{AttributeValue, Name};

/// An operand of a builder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term(Operand);

impl Term {
    /// The place of its value, if it is a constant.
    pub fn constant(self) -> Option<u32> {
        match self.0 {
            Operand::Value(at) => Some(at),
            _ => None,
        }
    }
}

/// A condition in a builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logic(u32);

/// An expression that is being built. Constants are named by their position among values that are supplied later.
#[derive(Debug)]
pub struct ExpressionBuilder {
    parsed: Parsed,
    nodes: Vec<Node>,
    actions: Vec<UpdateAction>,
    paths: Vec<Span>,
}

/// A finished builder, to be bound to its values.
#[derive(Clone, Debug)]
pub struct BuiltExpression {
    parsed: Arc<Parsed>,
    /// The number of values that it takes.
    values: usize,
}

impl ExpressionBuilder {
    /// A condition of nothing yet.
    pub fn condition() -> ExpressionBuilder {
        ExpressionBuilder::new(Grammar::Condition)
    }

    /// An update of nothing yet.
    pub fn update() -> ExpressionBuilder {
        ExpressionBuilder::new(Grammar::Update)
    }

    /// A projection of nothing yet.
    pub fn projection() -> ExpressionBuilder {
        ExpressionBuilder::new(Grammar::Projection)
    }

    fn new(grammar: Grammar) -> ExpressionBuilder {
        ExpressionBuilder {
            parsed: Parsed::empty("", grammar),
            nodes: Vec::new(),
            actions: Vec::new(),
            paths: Vec::new(),
        }
    }

    pub fn path(&mut self, elements: &[PathElement<'_>]) -> Term {
        let start = self.parsed.elements.len();
        for element in elements {
            self.parsed.elements.push(match element {
                PathElement::Index(index) => Element::Index(*index as u32),
                PathElement::Name(name) => {
                    self.parsed.literals.push(Name::new(name));
                    Element::Literal((self.parsed.literals.len() - 1) as u32)
                }
            });
        }
        let span = Span::new(start, self.parsed.elements.len());
        self.parsed.steps.push(CheckStep::Path(span));
        Term(Operand::Path(span))
    }

    pub fn value(&mut self, at: u32) -> Term {
        self.parsed.steps.push(CheckStep::Value(at));
        Term(Operand::Value(at))
    }

    fn applied(&mut self, operator: Operator, operands: &[Term]) -> u32 {
        self.parsed.operators += 1;
        self.parsed.apply(operator, operands.iter().map(|term| term.0))
    }

    /// The result of a function or of arithmetic.
    pub fn result(&mut self, operator: Operator, operands: &[Term]) -> Term {
        Term(Operand::Nested(self.applied(operator, operands)))
    }

    /// A comparison, or a function that is a condition.
    pub fn test(&mut self, operator: Operator, operands: &[Term]) -> Logic {
        let application = self.applied(operator, operands);
        self.node(Node::Test(application))
    }

    pub fn and(&mut self, left: Logic, right: Logic) -> Logic {
        self.parsed.operators += 1;
        self.node(Node::And(left.0, right.0))
    }

    pub fn or(&mut self, left: Logic, right: Logic) -> Logic {
        self.parsed.operators += 1;
        self.node(Node::Or(left.0, right.0))
    }

    pub fn not(&mut self, inner: Logic) -> Logic {
        self.parsed.operators += 1;
        self.node(Node::Not(inner.0))
    }

    fn node(&mut self, node: Node) -> Logic {
        self.nodes.push(node);
        Logic((self.nodes.len() - 1) as u32)
    }

    /// Adds an action of an update; a target that is not a path changes nothing.
    pub fn act(&mut self, clause: Clause, target: Term, value: Option<Term>) {
        let Operand::Path(target) = target.0 else { return };
        let start = self.actions.last().map_or(0, |action| action.steps.end as usize);
        self.actions.push(UpdateAction {
            clause,
            target,
            value: value.map(|value| value.0),
            steps: Span::new(start, self.parsed.steps.len()),
        });
    }

    /// Adds a path to a projection.
    pub fn show(&mut self, path: Term) {
        if let Operand::Path(span) = path.0 {
            self.paths.push(span);
        }
    }

    /// The condition with this root and number of values.
    pub fn finish_condition(mut self, root: Logic, values: usize) -> BuiltExpression {
        let program = program(&self.nodes, root.0);
        let nodes = std::mem::take(&mut self.nodes);
        let root = root.0;
        self.finish(Body::Condition { nodes, root, program }, values)
    }

    /// The update with this number of values. Its actions are checked as those of a statement: the last one first.
    pub fn finish_update(mut self, values: usize) -> BuiltExpression {
        let mut actions = std::mem::take(&mut self.actions);
        actions.reverse();
        self.finish(Body::Update(actions), values)
    }

    pub fn finish_projection(mut self) -> BuiltExpression {
        let paths = std::mem::take(&mut self.paths);
        self.finish(Body::Projection(paths), 0)
    }

    fn finish(self, body: Body, values: usize) -> BuiltExpression {
        let parsed = Arc::new(Parsed { body, ..self.parsed });
        BuiltExpression { parsed, values }
    }
}

/// A tree compiled to a program over one truth value. The tree may be as deep as it has nodes, so pending work is kept
/// on an explicit stack.
fn program(nodes: &[Node], root: u32) -> Vec<Op> {
    enum Todo {
        Visit(u32),
        Negate,
        /// The right side of an AND or OR, after the left one.
        Right {
            and: bool,
            right: u32,
        },
        /// The end of the jump over a right side.
        End {
            and: bool,
            jump: usize,
        },
    }
    let mut program = Vec::with_capacity(nodes.len());
    let mut todo = vec![Todo::Visit(root)];
    while let Some(step) = todo.pop() {
        match step {
            Todo::Visit(node) => match nodes[node as usize] {
                Node::Test(application) => program.push(Op::Test(application)),
                Node::Not(inner) => todo.extend([Todo::Negate, Todo::Visit(inner)]),
                Node::And(left, right) => todo.extend([Todo::Right { and: true, right }, Todo::Visit(left)]),
                Node::Or(left, right) => todo.extend([Todo::Right { and: false, right }, Todo::Visit(left)]),
            },
            Todo::Negate => program.push(Op::Not),
            Todo::Right { and, right } => {
                let jump = program.len();
                program.push(Op::Not); // becomes the jump, whose end is not known yet
                todo.extend([Todo::End { and, jump }, Todo::Visit(right)]);
            }
            Todo::End { and, jump } => {
                let end = program.len() as u32;
                program[jump] = if and { Op::JumpIfFalse(end) } else { Op::JumpIfTrue(end) };
            }
        }
    }
    program
}

impl BuiltExpression {
    /// Binds and checks; texts do not begin with `Invalid …Expression: `, since there is no such member.
    fn bind<'r>(&self, values: impl IntoIterator<Item = &'r AttributeValue>) -> Result<Bound<'r>, ApiError> {
        let mut bound = Bound {
            parsed: Arc::clone(&self.parsed),
            names: SmallVec::new(),
            values: SmallVec::new(),
            is_passed: false,
        };
        for value in values.into_iter().take(self.values) {
            bound.values.push(Some(value));
        }
        bound.check().map_err(ApiError::validation)?;
        Ok(bound)
    }

    pub fn condition<'r>(
        &self,
        values: impl IntoIterator<Item = &'r AttributeValue>,
    ) -> Result<Condition<'r>, ApiError> {
        self.bind(values).map(Condition::new)
    }

    pub fn update<'r>(&self, values: impl IntoIterator<Item = &'r AttributeValue>) -> Result<Update<'r>, ApiError> {
        self.bind(values).map(Update::new)
    }

    /// The projection. Of two paths at odds the later one is named first, as a statement's are.
    pub fn projection<'r>(&self) -> Result<Projection<'r>, ApiError> {
        let bound = self.bind(&[])?;
        if let Body::Projection(paths) = &bound.parsed.body {
            path::sorted(&bound, paths.iter().rev().copied()).map_err(ApiError::validation)?;
        }
        Projection::new(bound).map_err(ApiError::validation)
    }

    /// The attributes that must equal constants, by the position of each, if the condition is nothing else.
    pub fn equalities(&self) -> Option<SmallVec<[(Name, u32); 2]>> {
        let mut equalities = SmallVec::new();
        let Body::Condition { nodes, root, .. } = &self.parsed.body else {
            return None;
        };
        let mut pending: SmallVec<[u32; 8]> = SmallVec::from_slice(&[*root]);
        while let Some(node) = pending.pop() {
            let application = match nodes[node as usize] {
                Node::And(left, right) => {
                    pending.extend([right, left]);
                    continue;
                }
                Node::Test(application) => application,
                Node::Or(..) | Node::Not(_) => return None,
            };
            let (Operator::Eq, [Operand::Path(span), Operand::Value(at)] | [Operand::Value(at), Operand::Path(span)]) = (
                self.parsed.application(application).operator,
                self.parsed.operands(application),
            ) else {
                return None;
            };
            let [Element::Literal(name)] = span.of(&self.parsed.elements) else {
                return None;
            };
            equalities.push((self.parsed.literals[*name as usize].clone(), *at));
        }
        Some(equalities)
    }

    /// The approximate memory of the expression.
    pub fn weight(&self) -> usize {
        self.parsed.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[test]
    fn a_built_condition_matches_like_a_parsed_one() {
        let values = [AttributeValue::Bool(true)];
        let mut builder = ExpressionBuilder::condition();
        let operands = [builder.path(&[PathElement::Name("a")]), builder.value(0)];
        let test = builder.test(Operator::Eq, &operands);
        let drafted = builder.finish_condition(test, 1);
        let condition = drafted.condition(&values).unwrap();
        assert!(condition.matches(Some(&Map::from_entries(vec![("a".into(), AttributeValue::Bool(true))]))));
        assert!(!condition.matches(None));
    }
}
