//! The state that is shared while a statement's expressions are lowered: its parameters, constants, paths and target.

use super::ast::{Id, NodeKind, PathStep, Tree};
use super::error::{self, SourcePosition, statement_error, statement_error_at};
use super::lexer::Token;
use crate::error::ApiError;
use crate::expression::{ExpressionBuilder, PathElement, Term};
use crate::value::{AttributeValue, Name};

/// A statement that is being lowered.
pub(super) struct Lowering<'s> {
    pub statement: &'s str,
    pub tree: &'s Tree,
    /// The values of the question marks.
    pub parameters: &'s [AttributeValue],
    /// The constants of the statement's expressions.
    pub constants: Vec<Constant>,
    /// Whether the expressions depend on the values of the parameters.
    pub depends_on_values: bool,
}

/// A constant of a statement.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    Literal(AttributeValue),
    /// A question mark, by its position among them.
    Parameter(u32),
}

impl Constant {
    /// Its value, with these parameters, which include it.
    pub(super) fn value<'r>(&'r self, parameters: &'r [AttributeValue]) -> &'r AttributeValue {
        static NOTHING: AttributeValue = AttributeValue::Null;
        match self {
            Constant::Literal(value) => value,
            Constant::Parameter(at) => parameters.get(*at as usize).unwrap_or(&NOTHING),
        }
    }
}

/// One element of a path, owned.
#[derive(PartialEq)]
pub(super) enum OwnedPathElement {
    Name(Name),
    Index(usize),
}

impl<'s> Lowering<'s> {
    pub(super) fn new(statement: &'s str, tree: &'s Tree, parameters: &'s [AttributeValue]) -> Lowering<'s> {
        Lowering {
            statement,
            tree,
            parameters,
            constants: Vec::new(),
            depends_on_values: false,
        }
    }

    pub(super) fn place(&self, token: Token) -> SourcePosition {
        SourcePosition::of(self.statement, token)
    }

    /// A constant as an operand.
    pub(super) fn value(&mut self, builder: &mut ExpressionBuilder, value: Constant) -> Term {
        self.constants.push(value);
        builder.value((self.constants.len() - 1) as u32)
    }

    /// The elements of a document path, or its error.
    pub(super) fn elements(&self, id: Id) -> Result<Vec<OwnedPathElement>, ApiError> {
        let node = self.tree.node(id);
        let (base, steps) = match &node.kind {
            NodeKind::Variable(_) => (id, &[][..]),
            NodeKind::Path { base, steps } => (*base, self.tree.steps(*steps)),
            _ => return Err(error::path_component(self.place(node.token))),
        };
        let NodeKind::Variable(name) = &self.tree.node(base).kind else {
            return Err(error::path_component(self.place(node.token)));
        };
        let mut elements = vec![named(name)?];
        for step in steps {
            elements.push(self.element(step)?);
        }
        Ok(elements)
    }

    fn element(&self, step: &PathStep) -> Result<OwnedPathElement, ApiError> {
        let index = match step {
            PathStep::Name(name) => return named(name),
            PathStep::Wildcard(token) => {
                let text = "Wildcard path component like a[*].b are not supported";
                return Err(statement_error_at(text, self.place(*token)));
            }
            PathStep::Unpivot(token) => {
                let text = "Unpivot path component like a.*.b are not supported";
                return Err(statement_error_at(text, self.place(*token)));
            }
            PathStep::Index(index) => self.tree.node(*index),
        };
        let place = self.place(index.token);
        match &index.kind {
            NodeKind::String(name) | NodeKind::Variable(name) => named(name),
            NodeKind::Number(text)
                if text
                    .strip_prefix('-')
                    .unwrap_or(text)
                    .bytes()
                    .all(|byte| byte.is_ascii_digit()) =>
            {
                match text.parse::<i32>().map(usize::try_from) {
                    Ok(Ok(index)) => Ok(OwnedPathElement::Index(index)),
                    _ => Err(error::list_index(text, place)),
                }
            }
            _ => Err(error::path_component(place)),
        }
    }

    /// A document path as an operand.
    pub(super) fn path(&self, builder: &mut ExpressionBuilder, id: Id) -> Result<Term, ApiError> {
        let elements = self.elements(id)?;
        let elements: Vec<PathElement<'_>> = elements.iter().map(OwnedPathElement::borrowed).collect();
        Ok(builder.path(&elements))
    }

    /// The table and the index that a statement names.
    pub(super) fn target(&self, id: Id) -> Result<(Name, Option<Name>), ApiError> {
        let node = self.tree.node(id);
        let (base, steps) = match &node.kind {
            NodeKind::Variable(_) => (id, &[][..]),
            NodeKind::Path { base, steps } => (*base, self.tree.steps(*steps)),
            _ => return Err(statement_error("Unexpected from source")),
        };
        let NodeKind::Variable(table) = &self.tree.node(base).kind else {
            return Err(statement_error("Unexpected from source"));
        };
        let mut index = None;
        for (at, step) in steps.iter().enumerate() {
            let name = match step {
                PathStep::Name(name) => name,
                PathStep::Index(index) => match &self.tree.node(*index).kind {
                    NodeKind::String(name) | NodeKind::Variable(name) => name,
                    _ => return Err(statement_error("Invalid list expression in source.")),
                },
                PathStep::Wildcard(_) | PathStep::Unpivot(_) => return Err(statement_error("Unexpected from source")),
            };
            if at > 0 {
                return Err(statement_error(
                    "A path may contain at most 2 components in the FROM clause",
                ));
            }
            index = Some(name.clone());
        }
        if table.is_empty() || index.as_ref().is_some_and(Name::is_empty) {
            return Err(error::empty_component());
        }
        check_table_name(table)?;
        Ok((table.clone(), index))
    }
}

impl OwnedPathElement {
    fn borrowed(&self) -> PathElement<'_> {
        match self {
            OwnedPathElement::Name(name) => PathElement::Name(name),
            OwnedPathElement::Index(index) => PathElement::Index(*index),
        }
    }
}

fn named(name: &Name) -> Result<OwnedPathElement, ApiError> {
    if name.is_empty() {
        return Err(error::empty_component());
    }
    Ok(OwnedPathElement::Name(name.clone()))
}

/// A name that no table can have, unless it is an ARN.
fn check_table_name(name: &str) -> Result<(), ApiError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.starts_with("arn:") || ((3..=255).contains(&name.len()) && name.bytes().all(plain)) {
        return Ok(());
    }
    Err(statement_error(
        "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.",
    ))
}
