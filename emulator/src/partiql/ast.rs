//! A parsed statement: flat arrays whose elements refer to each other by index, so that no nesting can overflow a
//! stack. The children of an expression come before it in [`Tree::nodes`].

use super::lexer::{Operator, Token};
use crate::value::Name;

/// The index of an expression in [`Tree::nodes`].
pub(super) type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Operator(Operator),
    Multiply,
    /// `LIKE` and `NOT LIKE`, which no condition takes.
    Like,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    Null,
    Missing,
    Bool(bool),
    /// A number, as written but for its sign.
    Number(Name),
    String(Name),
    /// A literal of Ion, by its type.
    Ion(&'static str),
    /// A question mark, by its place among them.
    Parameter(u32),
    Variable(Name),
    Path {
        base: Id,
        steps: Span,
    },
    Call {
        name: Name,
        arguments: Span,
    },
    List(Span),
    Bag(Span),
    /// Names and values in turn.
    Struct(Span),
    /// `-a` or `+a`, where `a` is not a number literal.
    Signed(Operator, Id),
    Not(Id),
    Binary(Binary, Id, Id),
    Between {
        negated: bool,
        value: Id,
        lower: Id,
        upper: Id,
    },
    In {
        negated: bool,
        value: Id,
        list: Id,
    },
    Is {
        negated: bool,
        value: Id,
        kind: Name,
    },
    /// Constructs of the language that DynamoDB does not support: a subquery, CASE, CAST, an aggregate.
    Foreign(Name),
}

/// An expression and the token that it is named by in errors.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: NodeKind,
    pub token: Token,
}

impl NodeKind {
    /// An operator or a function as errors spell it.
    pub(super) fn spelling(&self) -> Option<&str> {
        Some(match self {
            NodeKind::Signed(sign, _) => sign.name(),
            NodeKind::Not(_) => "not",
            NodeKind::Between { .. } => "between",
            NodeKind::In { .. } => "in",
            NodeKind::Is { .. } => "is",
            NodeKind::Call { name, .. } | NodeKind::Foreign(name) => name,
            NodeKind::Binary(binary, ..) => match binary {
                Binary::Or => "or",
                Binary::And => "and",
                Binary::Multiply => "*",
                Binary::Like => "like",
                Binary::Operator(operator) => operator.name(),
            },
            _ => return None,
        })
    }
}
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PathStep {
    Name(Name),
    Index(Id),
    Wildcard(Token),
    Unpivot(Token),
}

/// The expressions of a statement.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub lists: Vec<Id>,
    pub steps: Vec<PathStep>,
    /// The number of question marks.
    pub parameters: u32,
}

impl Tree {
    /// An empty tree with room for this many expressions.
    pub(super) fn with_capacity(nodes: usize) -> Tree {
        Tree {
            nodes: Vec::with_capacity(nodes),
            ..Tree::default()
        }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub(super) fn list(&self, span: Span) -> &[Id] {
        &self.lists[span.start as usize..span.end as usize]
    }

    pub(super) fn steps(&self, span: Span) -> &[PathStep] {
        &self.steps[span.start as usize..span.end as usize]
    }

    pub(super) fn add(&mut self, kind: NodeKind, token: Token) -> Id {
        self.nodes.push(Node { kind, token });
        (self.nodes.len() - 1) as Id
    }

    pub(super) fn add_list(&mut self, ids: &[Id]) -> Span {
        let start = self.lists.len() as u32;
        self.lists.extend_from_slice(ids);
        Span {
            start,
            end: self.lists.len() as u32,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    AllOld,
    AllNew,
    ModifiedOld,
    ModifiedNew,
}

impl Returning {
    pub const fn name(self) -> &'static str {
        match self {
            Returning::AllOld => "ALL OLD",
            Returning::AllNew => "ALL NEW",
            Returning::ModifiedOld => "MODIFIED OLD",
            Returning::ModifiedNew => "MODIFIED NEW",
        }
    }

    /// The value of `ReturnValues` with the same meaning.
    pub const fn return_values(self) -> &'static str {
        match self {
            Returning::AllOld => "ALL_OLD",
            Returning::AllNew => "ALL_NEW",
            Returning::ModifiedOld => "UPDATED_OLD",
            Returning::ModifiedNew => "UPDATED_NEW",
        }
    }
}

#[derive(Debug)]
pub(super) struct Select {
    /// The columns; empty for `*`.
    pub columns: Vec<Id>,
    pub from: Id,
    pub condition: Option<Id>,
    /// Each with whether it descends.
    pub order: Vec<(Id, bool)>,
}

/// A part of an UPDATE.
#[derive(Clone, Copy, Debug)]
pub(super) enum Assignment {
    Set(Id, Id),
    Remove(Id),
}

#[derive(Debug)]
pub(super) enum Statement {
    Select(Select),
    Insert {
        target: Id,
        value: Id,
    },
    Update {
        target: Id,
        assignments: Vec<Assignment>,
        condition: Option<Id>,
        returning: Option<Returning>,
    },
    Delete {
        target: Id,
        condition: Option<Id>,
        returning: Option<Returning>,
    },
    Exists(Select),
}

impl Statement {
    /// The table or index that the statement names.
    pub(super) fn target(&self) -> Id {
        match self {
            Statement::Select(select) | Statement::Exists(select) => select.from,
            Statement::Insert { target, .. } | Statement::Update { target, .. } | Statement::Delete { target, .. } => {
                *target
            }
        }
    }
}
