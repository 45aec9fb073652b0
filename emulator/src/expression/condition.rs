//! Conditions and filters on an item.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem;

use smallvec::SmallVec;

use super::ast::{Body, Node, Op, Operand, Operator};
use super::bind::{AttributeNames, Bound};
use super::key_condition::{self, KeyClause};
use super::path::Path;
use crate::number::Number;
use crate::value::{AttributeValue, Item, Map, Name, Type};

/// A node of a condition, for checks of its structure. Numbers refer to other nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionPart<'r> {
    And(u32, u32),
    Or(u32, u32),
    Not(u32),
    /// One whole attribute held against constants, as a key condition can.
    Clause(KeyClause<'r>),
    /// One whole attribute that is one of constants.
    Member(Name, SmallVec<[&'r AttributeValue; 8]>),
    Test,
}

/// A condition bound to a request's names and values.
#[derive(Clone)]
pub struct Condition<'r> {
    bound: Bound<'r>,
}

/// An operand's value; `None` if it has none.
type OperandValue<'a> = Option<Cow<'a, AttributeValue>>;

impl<'r> Condition<'r> {
    pub(super) fn new(bound: Bound<'r>) -> Condition<'r> {
        Condition { bound }
    }

    /// Whether the condition holds for the item, or for the absence of one.
    pub fn matches(&self, item: Option<&Map>) -> bool {
        static NO_ITEM: Map = Map::new();
        let item = item.unwrap_or(&NO_ITEM);
        let Body::Condition { program, .. } = &self.bound.parsed.body else {
            return false;
        };
        let mut truth = true; // what a condition without tests is: `Expected: {}`
        let mut at = 0;
        while let Some(op) = program.get(at) {
            at += 1;
            match *op {
                Op::Test(application) => truth = self.test(application, item),
                Op::Not => truth = !truth,
                Op::JumpIfFalse(to) if !truth => at = to as usize,
                Op::JumpIfTrue(to) if truth => at = to as usize,
                Op::JumpIfFalse(_) | Op::JumpIfTrue(_) => {}
            }
        }
        truth
    }

    /// Whether the condition holds for a stored item.
    pub fn matches_item(&self, item: &Item) -> bool {
        let mut names = AttributeNames::new();
        self.add_names(&mut names);
        self.matches(Some(&item.pick(&names)))
    }

    /// Adds the attributes that the condition reads.
    pub fn add_names<'a>(&'a self, names: &mut AttributeNames<'a>) {
        self.bound.add_names(names);
    }

    /// Every path the condition reads, in the order written.
    pub fn paths(&self) -> impl Iterator<Item = Path<'_>> {
        self.bound.paths()
    }

    /// The constant at a position.
    pub fn constant(&self, at: u32) -> &'r AttributeValue {
        self.bound.value(at)
    }

    /// The part that is the whole condition.
    pub fn root(&self) -> u32 {
        match &self.bound.parsed.body {
            Body::Condition { root, .. } => *root,
            _ => 0,
        }
    }

    /// A node of the condition. Conditions of the legacy parameters consist of comparisons only.
    pub fn part(&self, part: u32) -> ConditionPart<'r> {
        match self.node(part) {
            None => ConditionPart::Test,
            Some(Node::And(left, right)) => ConditionPart::And(left, right),
            Some(Node::Or(left, right)) => ConditionPart::Or(left, right),
            Some(Node::Not(inner)) => ConditionPart::Not(inner),
            Some(Node::Test(application)) => match key_condition::clause(&self.bound, application) {
                Ok(clause) => ConditionPart::Clause(clause),
                Err(_) => self.member(application).unwrap_or(ConditionPart::Test),
            },
        }
    }

    fn node(&self, part: u32) -> Option<Node> {
        match &self.bound.parsed.body {
            Body::Condition { nodes, .. } => nodes.get(part as usize).copied(),
            _ => None,
        }
    }

    /// An application as `attribute IN constants`, if it is that.
    fn member(&self, application: u32) -> Option<ConditionPart<'r>> {
        if self.bound.parsed.application(application).operator != Operator::In {
            return None;
        }
        let (first, rest) = self.bound.parsed.operands(application).split_first()?;
        let path = self.bound.path(*first).filter(|path| !path.is_nested())?;
        let values: Option<_> = rest.iter().map(|operand| self.bound.constant(*operand)).collect();
        Some(ConditionPart::Member(Name::new(path.name()), values?))
    }

    /// The paths that a part, which is a test, reads, in the order written.
    pub fn paths_of(&self, part: u32) -> impl Iterator<Item = Path<'_>> {
        let operands = match self.node(part) {
            Some(Node::Test(application)) => self.bound.parsed.operands(application),
            _ => &[],
        };
        let inner = |operand: &Operand| match *operand {
            Operand::Nested(at) => self.bound.parsed.operands(at).first().copied().unwrap_or(*operand),
            plain => plain,
        };
        operands
            .iter()
            .filter_map(move |operand| self.bound.path(inner(operand)))
    }

    /// Whether an application holds for an item.
    pub(super) fn test(&self, application: u32, item: &Map) -> bool {
        let operands = self.bound.parsed.operands(application);
        let seen = |at: usize| operands.get(at).and_then(|operand| self.see(*operand, item));
        match self.bound.parsed.application(application).operator {
            Operator::Eq => seen(0).is_some_and(|left| seen(1) == Some(left)),
            Operator::Ne => seen(0).is_none_or(|left| seen(1) != Some(left)),
            Operator::Lt => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_lt),
            Operator::Le => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_le),
            Operator::Gt => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_gt),
            Operator::Ge => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_ge),
            Operator::Between => {
                let value = seen(0);
                compare(&value, &seen(1)).is_some_and(Ordering::is_ge)
                    && compare(&value, &seen(2)).is_some_and(Ordering::is_le)
            }
            Operator::In => {
                seen(0).is_some_and(|value| (1..operands.len()).any(|at| seen(at).as_ref() == Some(&value)))
            }
            Operator::AttributeExists => seen(0).is_some(),
            Operator::AttributeNotExists => seen(0).is_none(),
            Operator::AttributeType => seen(0).is_some_and(|value| has_type(&value, seen(1).as_deref())),
            Operator::BeginsWith => both(seen(0), seen(1), begins_with),
            Operator::Contains => both(seen(0), seen(1), contains),
            Operator::Size | Operator::IfNotExists | Operator::ListAppend | Operator::Plus | Operator::Minus => false,
        }
    }

    /// The value of an operand. Of functions only `size` is an operand in conditions, and never of another function.
    pub(super) fn see<'a>(&'a self, operand: Operand, item: &'a Map) -> OperandValue<'a> {
        match operand {
            Operand::Nested(at) => {
                let inner = *self.bound.parsed.operands(at).first()?;
                let count = size(self.plain(inner, item)?)?;
                Some(Cow::Owned(AttributeValue::N(Number::from(count as i64))))
            }
            plain => self.plain(plain, item).map(Cow::Borrowed),
        }
    }

    fn plain<'a>(&'a self, operand: Operand, item: &'a Map) -> Option<&'a AttributeValue> {
        match operand {
            Operand::Path(span) => Path::new(&self.bound, span).find(item),
            Operand::Value(at) => Some(self.bound.value(at)),
            Operand::Nested(_) => None,
        }
    }
}

fn both(left: OperandValue<'_>, right: OperandValue<'_>, holds: fn(&AttributeValue, &AttributeValue) -> bool) -> bool {
    left.is_some_and(|left| right.is_some_and(|right| holds(&left, &right)))
}

fn compare(left: &OperandValue<'_>, right: &OperandValue<'_>) -> Option<Ordering> {
    left.as_ref()?.partial_order(right.as_ref()?)
}

fn has_type(value: &AttributeValue, name: Option<&AttributeValue>) -> bool {
    match name {
        Some(AttributeValue::S(name)) => Type::from_name(name) == Some(value.kind()),
        _ => false,
    }
}

pub(super) fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix.as_str()),
        (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
        _ => false,
    }
}

fn contains(whole: &AttributeValue, part: &AttributeValue) -> bool {
    match (whole, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
        (AttributeValue::B(bytes), AttributeValue::B(part)) => memmem::find(bytes, part).is_some(),
        (AttributeValue::Ss(set), AttributeValue::S(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::Ns(set), AttributeValue::N(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::Bs(set), AttributeValue::B(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::L(list), element) => list.contains(element),
        _ => false,
    }
}

/// The result of `size`: strings count UTF-16 units, binaries bytes, the rest their members.
fn size(value: &AttributeValue) -> Option<usize> {
    match value {
        AttributeValue::S(text) => Some(text.chars().map(char::len_utf16).sum()),
        AttributeValue::B(bytes) => Some(bytes.len()),
        AttributeValue::Ss(set) => Some(set.len()),
        AttributeValue::Ns(set) => Some(set.len()),
        AttributeValue::Bs(set) => Some(set.len()),
        AttributeValue::L(list) => Some(list.len()),
        AttributeValue::M(map) => Some(map.len()),
        AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::Null => None,
    }
}
