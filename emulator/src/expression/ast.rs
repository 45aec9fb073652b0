//! A parsed expression: flat arrays whose elements refer to each other by index.
//!
//! Nothing here is nested by pointers, so that no expression, however deep its parentheses or functions, can overflow a
//! stack when it is checked, evaluated or dropped.

use smallvec::SmallVec;

use crate::sync::Once;
use crate::value::{Name, Type};

/// The three grammars. Conditions, filters and key conditions share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Grammar {
    Condition,
    Update,
    Projection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The part of `all` that this span means.
    pub(super) fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.start as usize..self.end as usize]
    }
}

/// One element of a document path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// A name as written: index into [`Parsed::literals`].
    Literal(u32),
    /// A `#name`: index into [`Parsed::names`].
    Alias(u32),
    /// A position in a list.
    Index(u32),
}

/// An operand of an operator or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A document path: a span of [`Parsed::elements`].
    Path(Span),
    /// A `:value`: index into [`Parsed::values`].
    Value(u32),
    /// The result of a function: index into [`Parsed::applications`].
    Nested(u32),
}

/// The operators and functions that take operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the language's own words
pub enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Between,
    In,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Size,
    IfNotExists,
    ListAppend,
    Plus,
    Minus,
}

impl Operator {
    /// The name in the service's texts.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::Eq => "=",
            Operator::Ne => "<>",
            Operator::Lt => "<",
            Operator::Le => "<=",
            Operator::Gt => ">",
            Operator::Ge => ">=",
            Operator::Between => "BETWEEN",
            Operator::In => "IN",
            Operator::AttributeExists => "attribute_exists",
            Operator::AttributeNotExists => "attribute_not_exists",
            Operator::AttributeType => "attribute_type",
            Operator::BeginsWith => "begins_with",
            Operator::Contains => "contains",
            Operator::Size => "size",
            Operator::IfNotExists => "if_not_exists",
            Operator::ListAppend => "list_append",
            Operator::Plus => "+",
            Operator::Minus => "-",
        }
    }

    /// The function of this name. Case matters.
    pub fn function(name: &str) -> Option<Operator> {
        use Operator::*;
        [
            AttributeExists,
            AttributeNotExists,
            AttributeType,
            BeginsWith,
            Contains,
            Size,
            IfNotExists,
            ListAppend,
        ]
        .into_iter()
        .find(|function| function.name() == name)
    }

    /// The number of operands of a function; `None` for an operator, whose number the syntax determines.
    pub(super) const fn arity(self) -> Option<usize> {
        match self {
            Operator::AttributeExists | Operator::AttributeNotExists | Operator::Size => Some(1),
            Operator::AttributeType
            | Operator::BeginsWith
            | Operator::Contains
            | Operator::IfNotExists
            | Operator::ListAppend => Some(2),
            _ => None,
        }
    }

    /// Whether the function belongs to updates; the others belong to conditions.
    pub const fn is_of_updates(self) -> bool {
        matches!(self, Operator::IfNotExists | Operator::ListAppend)
    }

    /// Whether this function is a condition by itself.
    pub const fn is_predicate(self) -> bool {
        matches!(
            self,
            Operator::AttributeExists
                | Operator::AttributeNotExists
                | Operator::AttributeType
                | Operator::BeginsWith
                | Operator::Contains
        )
    }
}

/// An operator or function and its operands, a span of [`Parsed::operands`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Application {
    pub operator: Operator,
    pub operands: Span,
}

/// A step of the static checks: operands in the order in which they are written, each operator after its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum CheckStep {
    Path(Span),
    Value(u32),
    Apply(u32),
}

/// A condition as a tree, for checks of its structure: key conditions, and the attributes that a statement reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    And(u32, u32),
    Or(u32, u32),
    Not(u32),
    Test(u32),
}

/// A condition as a program over one truth value, for evaluation: it needs no stack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Test(u32),
    Not,
    /// Jumps if the truth value is false: the right side of an AND is skipped.
    JumpIfFalse(u32),
    /// Jumps if the truth value is true: the right side of an OR is skipped.
    JumpIfTrue(u32),
}

/// The four sections of an update expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the language's own words
pub enum Clause {
    Set,
    Remove,
    Add,
    Delete,
}

impl Clause {
    pub const fn name(self) -> &'static str {
        match self {
            Clause::Set => "SET",
            Clause::Remove => "REMOVE",
            Clause::Add => "ADD",
            Clause::Delete => "DELETE",
        }
    }
}

/// One action of an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateAction {
    pub clause: Clause,
    pub target: Span,
    /// The value to set, add or delete; `None` for REMOVE.
    pub value: Option<Operand>,
    /// The action's part of [`Parsed::steps`].
    pub steps: Span,
}

/// The parts that depend on the grammar.
#[derive(Debug)]
pub(super) enum Body {
    Condition {
        nodes: Vec<Node>,
        root: u32,
        program: Vec<Op>,
    },
    Update(Vec<UpdateAction>),
    Projection(Vec<Span>),
}

/// Names and types of values with which an expression has passed its static checks.
#[derive(Debug)]
pub(super) struct PassedBinding {
    pub names: SmallVec<[Name; 4]>,
    pub types: SmallVec<[Type; 8]>,
    /// The attributes that the expression uses with these names, each with whether its value is read; `None` if there are many.
    pub attributes: Option<SmallVec<[(Name, bool); 4]>>,
}

/// A parsed expression, before placeholders are bound.
#[derive(Debug)]
pub(super) struct Parsed {
    pub text: Box<str>,
    pub grammar: Grammar,
    /// Names as written, each once.
    pub literals: Vec<Name>,
    pub names: Vec<Name>,
    pub values: Vec<Name>,
    pub elements: Vec<Element>,
    pub operands: Vec<Operand>,
    pub applications: Vec<Application>,
    pub steps: Vec<CheckStep>,
    pub operators: u32,
    pub body: Body,
    /// The first binding that has passed the checks: they need not be repeated for the same names and types.
    pub passed: Once<PassedBinding>,
}

impl Parsed {
    /// An expression with nothing in it yet.
    pub(super) fn empty(text: &str, grammar: Grammar) -> Parsed {
        Parsed {
            text: text.into(),
            grammar,
            literals: Vec::new(),
            names: Vec::new(),
            values: Vec::new(),
            elements: Vec::new(),
            operands: Vec::new(),
            applications: Vec::new(),
            steps: Vec::new(),
            operators: 0,
            body: Body::Projection(Vec::new()),
            passed: Once::new(),
        }
    }

    pub(super) fn application(&self, at: u32) -> Application {
        self.applications[at as usize]
    }

    pub(super) fn operands(&self, at: u32) -> &[Operand] {
        self.application(at).operands.of(&self.operands)
    }

    /// Adds an operator or function with its operands and returns its index.
    pub(super) fn apply(&mut self, operator: Operator, operands: impl IntoIterator<Item = Operand>) -> u32 {
        let start = self.operands.len();
        self.operands.extend(operands);
        self.applications.push(Application {
            operator,
            operands: Span::new(start, self.operands.len()),
        });
        let at = (self.applications.len() - 1) as u32;
        self.steps.push(CheckStep::Apply(at));
        at
    }

    /// The approximate memory of the expression.
    pub(super) fn weight(&self) -> usize {
        fn bytes<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        let body = match &self.body {
            Body::Condition { nodes, program, .. } => [bytes(nodes), bytes(program)],
            Body::Update(actions) => [bytes(actions), 0],
            Body::Projection(paths) => [bytes(paths), 0],
        };
        let lists = [
            size_of::<Parsed>(),
            // The text, and at most twice as much again in names too long to be stored inline.
            3 * self.text.len(),
            bytes(&self.literals),
            bytes(&self.names),
            bytes(&self.values),
            bytes(&self.elements),
            bytes(&self.operands),
            bytes(&self.applications),
            bytes(&self.steps),
        ];
        lists.iter().chain(&body).sum()
    }
}
