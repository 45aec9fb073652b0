//! Conditions, projections and updates: as texts, and as what they mean (page 02 of `docs/behavior`).

use serde_json::{Map, Value};

use super::values::{Item, KINDS, Val, any, key, of_kind, one_of};
use crate::common::Choice;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Name(String),
    At(usize),
}

/// A document path; the first step is a name.
pub type Path = Vec<Step>;

pub fn name(text: &str) -> Path {
    vec![Step::Name(text.to_owned())]
}

pub fn top(path: &Path) -> &str {
    match &path[0] {
        Step::Name(name) => name,
        Step::At(_) => unreachable!("a path begins with a name"),
    }
}

/// A path below one of the names. Only the attributes `a` to `f` are documents.
pub fn any_path(choice: &mut Choice, names: &[&str]) -> Path {
    let first = one_of(choice, names);
    let mut path = name(first);
    while DOCUMENTS.contains(&first) && path.len() < 4 && choice.one_in(3) {
        path.push(match choice.below(2) {
            0 => Step::At(choice.below(4) as usize),
            _ => Step::Name(one_of(choice, &["x", "y", "z"]).to_owned()),
        });
    }
    path
}

pub const DOCUMENTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn child<'a>(value: &'a Val, step: &Step) -> Option<&'a Val> {
    match (value, step) {
        (Val::M(members), Step::Name(name)) => members.get(name),
        (Val::L(members), Step::At(at)) => members.get(*at),
        _ => None,
    }
}

pub fn get<'a>(item: &'a Item, path: &[Step]) -> Option<&'a Val> {
    let Step::Name(first) = &path[0] else { return None };
    path[1..]
        .iter()
        .try_fold(item.get(first)?, |value, step| child(value, step))
}

fn get_mut<'a>(item: &'a mut Item, path: &[Step]) -> Option<&'a mut Val> {
    let Step::Name(first) = &path[0] else { return None };
    path[1..]
        .iter()
        .try_fold(item.get_mut(first)?, |value, step| match (value, step) {
            (Val::M(members), Step::Name(name)) => members.get_mut(name),
            (Val::L(members), Step::At(at)) => members.get_mut(*at),
            _ => None,
        })
}

/// Whether one path contains the other, or both use one position as a list and as a map.
pub fn collide(one: &Path, other: &Path) -> bool {
    for (left, right) in one.iter().zip(other) {
        match (left, right) {
            _ if left == right => {}
            (Step::Name(_), Step::Name(_)) | (Step::At(_), Step::At(_)) => return false,
            _ => return true,
        }
    }
    true
}

pub fn any_collide(paths: &[&Path]) -> bool {
    paths
        .iter()
        .enumerate()
        .any(|(at, path)| paths[..at].iter().any(|other| collide(path, other)))
}

/// What the paths leave of a value: siblings are left out, elements of lists close up.
fn part(value: &Val, paths: &[&[Step]]) -> Option<Val> {
    if paths.iter().any(|path| path.is_empty()) {
        return Some(value.clone());
    }
    let below = |step: Step, value: &Val| {
        let paths: Vec<&[Step]> = paths
            .iter()
            .filter(|path| path[0] == step)
            .map(|path| &path[1..])
            .collect();
        if paths.is_empty() { None } else { part(value, &paths) }
    };
    match value {
        Val::M(members) => {
            let parts = members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), below(Step::Name(name.clone()), value)?)));
            let parts: Item = parts.collect();
            (!parts.is_empty()).then_some(Val::M(parts))
        }
        Val::L(members) => {
            let parts = members
                .iter()
                .enumerate()
                .filter_map(|(at, value)| below(Step::At(at), value));
            let parts: Vec<Val> = parts.collect();
            (!parts.is_empty()).then_some(Val::L(parts))
        }
        _ => None,
    }
}

pub fn project(item: &Item, paths: &[Path]) -> Item {
    let paths: Vec<&[Step]> = paths.iter().map(Vec::as_slice).collect();
    match part(&Val::M(item.clone()), &paths) {
        Some(Val::M(item)) => item,
        _ => Item::new(),
    }
}

/// The texts of a request's expressions or of a statement, and the names and values that they refer to.
pub struct Text {
    choice: Choice,
    statement: bool,
    names: Map<String, Value>,
    values: Map<String, Value>,
    pub parameters: Vec<Value>,
}

impl Text {
    pub fn expressions(choice: &mut Choice) -> Text {
        Text {
            choice: Choice(choice.next()),
            statement: false,
            names: Map::new(),
            values: Map::new(),
            parameters: Vec::new(),
        }
    }

    pub fn statement(choice: &mut Choice) -> Text {
        Text {
            statement: true,
            ..Text::expressions(choice)
        }
    }

    pub fn value(&mut self, value: &Val) -> String {
        let sent = value.sent(&mut self.choice);
        if self.statement {
            if self.choice.one_in(2) {
                match value {
                    Val::S(text) => return format!("'{text}'"),
                    Val::N(number) => return number.text(),
                    _ => {}
                }
            }
            self.parameters.push(sent);
            return "?".to_owned();
        }
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), sent);
        name
    }

    pub fn path(&mut self, path: &Path) -> String {
        let mut text = String::new();
        for step in path {
            match step {
                Step::At(at) => text.extend(["[", &at.to_string(), "]"]),
                Step::Name(name) => {
                    text += if text.is_empty() { "" } else { "." };
                    text += &self.name(name);
                }
            }
        }
        text
    }

    fn name(&mut self, name: &str) -> String {
        if self.statement {
            return format!("\"{name}\"");
        }
        if self.choice.one_in(3) {
            self.names.insert(format!("#{name}"), name.into());
            return format!("#{name}");
        }
        name.to_owned()
    }

    pub fn paths(&mut self, paths: &[Path]) -> String {
        let paths: Vec<String> = paths.iter().map(|path| self.path(path)).collect();
        paths.join(", ")
    }

    /// Adds the names and values to a request.
    pub fn finish(self, body: &mut Value) {
        if !self.names.is_empty() {
            body["ExpressionAttributeNames"] = self.names.into();
        }
        if !self.values.is_empty() {
            body["ExpressionAttributeValues"] = self.values.into();
        }
        if !self.parameters.is_empty() {
            body["Parameters"] = self.parameters.into();
        }
    }
}

#[derive(Clone, Debug)]
pub enum Operand {
    Path(Path),
    Size(Path),
    Value(Val),
}

impl Operand {
    fn text(&self, text: &mut Text) -> String {
        match self {
            Operand::Path(path) => text.path(path),
            Operand::Size(path) => format!("size({})", text.path(path)),
            Operand::Value(value) => text.value(value),
        }
    }

    fn of(&self, item: &Item) -> Option<Val> {
        let count = |count: usize| Some(Val::number(&count.to_string()));
        match self {
            Operand::Path(path) => get(item, path).cloned(),
            Operand::Value(value) => Some(value.clone()),
            Operand::Size(path) => match get(item, path)? {
                Val::S(text) => count(text.encode_utf16().count()),
                Val::B(bytes) => count(bytes.len()),
                Val::L(members) => count(members.len()),
                Val::M(members) => count(members.len()),
                Val::Ss(members) => count(members.len()),
                Val::Ns(members) => count(members.len()),
                Val::Bs(members) => count(members.len()),
                _ => None,
            },
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Operand::Path(path) | Operand::Size(path) => Some(path),
            Operand::Value(_) => None,
        }
    }

    /// A constant that has no order.
    fn unordered(&self) -> bool {
        matches!(self, Operand::Value(value) if !value.scalar())
    }
}

#[derive(Clone, Debug)]
pub enum Condition {
    Compare(Operand, &'static str, Operand),
    Between(Operand, Operand, Operand),
    In(Operand, Vec<Operand>),
    Exists(Path),
    NotExists(Path),
    Type(Path, &'static str),
    BeginsWith(Operand, Operand),
    Contains(Operand, Operand),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

fn compared(left: Option<&Val>, operator: &str, right: Option<&Val>) -> bool {
    let equal = left.is_some() && left == right;
    let (Some(left), Some(right)) = (left, right) else {
        return operator == "<>";
    };
    let ordered = left.scalar() && left.kind() == right.kind();
    match operator {
        "=" => equal,
        "<>" => !equal,
        "<" => ordered && left < right,
        "<=" => ordered && left <= right,
        ">" => ordered && left > right,
        _ => ordered && left >= right,
    }
}

fn within<T: PartialEq>(whole: &[T], part: &[T]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

impl Condition {
    /// A condition on the names; most are valid.
    pub fn any(choice: &mut Choice, names: &[&str], depth: u32) -> Condition {
        let path = any_path(choice, names);
        let operand = |choice: &mut Choice| match choice.below(5) {
            0 => Operand::Size(path.clone()),
            _ => Operand::Path(path.clone()),
        };
        // A second operand: a constant, or another path.
        let other = |choice: &mut Choice, scalar: bool| {
            let second = any_path(choice, names);
            match choice.below(8) {
                0 if second != path => Operand::Path(second),
                1 if second != path => Operand::Size(second),
                _ if scalar && !choice.one_in(30) => {
                    let kind = one_of(choice, &["S", "N", "B", "S", "N"]);
                    Operand::Value(of_kind(choice, kind, 0))
                }
                _ => Operand::Value(any(choice, 2)),
            }
        };
        let boxed = |choice: &mut Choice| Box::new(Condition::any(choice, names, depth - 1));
        match choice.below(if depth == 0 { 11 } else { 16 }) {
            0..=2 => {
                let operator = one_of(choice, &["=", "<>", "<", "<=", ">", ">="]);
                let (left, right) = (
                    operand(choice),
                    other(choice, operator.contains(['<', '>']) && operator != "<>"),
                );
                match choice.below(3) {
                    0 => Condition::Compare(right, operator, left),
                    _ => Condition::Compare(left, operator, right),
                }
            }
            3 => {
                let (lower, upper) = (other(choice, true), other(choice, true));
                match (&lower, &upper) {
                    (Operand::Value(low), Operand::Value(_)) if !choice.one_in(10) => {
                        let high = of_kind(choice, low.kind(), 0);
                        let (low, high) = (low.clone().min(high.clone()), low.clone().max(high));
                        Condition::Between(operand(choice), Operand::Value(low), Operand::Value(high))
                    }
                    _ => Condition::Between(operand(choice), lower, upper),
                }
            }
            4 => {
                let count = 1 + choice.below(3);
                Condition::In(operand(choice), (0..count).map(|_| other(choice, false)).collect())
            }
            5 => Condition::Exists(path),
            6 => Condition::NotExists(path),
            7 => Condition::Type(path, one_of(choice, &KINDS)),
            8 => {
                let kind = if choice.one_in(20) {
                    "N"
                } else {
                    one_of(choice, &["S", "S", "B"])
                };
                Condition::BeginsWith(Operand::Path(path), Operand::Value(of_kind(choice, kind, 0)))
            }
            9 => Condition::Contains(Operand::Path(path.clone()), other(choice, false)),
            10 => {
                let kind = one_of(choice, &["S", "B", "SS", "NS", "BS", "L"]);
                Condition::Contains(Operand::Value(of_kind(choice, kind, 1)), Operand::Path(path))
            }
            11 | 12 => Condition::Not(boxed(choice)),
            13 | 14 => Condition::And(boxed(choice), boxed(choice)),
            _ => Condition::Or(boxed(choice), boxed(choice)),
        }
    }

    pub fn text(&self, text: &mut Text) -> String {
        match self {
            Condition::Compare(left, operator, right) => format!("{} {operator} {}", left.text(text), right.text(text)),
            Condition::Between(operand, lower, upper) => {
                format!(
                    "{} BETWEEN {} AND {}",
                    operand.text(text),
                    lower.text(text),
                    upper.text(text)
                )
            }
            Condition::In(operand, list) => {
                let left = operand.text(text);
                let list: Vec<String> = list.iter().map(|operand| operand.text(text)).collect();
                format!("{left} IN ({})", list.join(", "))
            }
            Condition::Exists(path) => format!("attribute_exists({})", text.path(path)),
            Condition::NotExists(path) => format!("attribute_not_exists({})", text.path(path)),
            Condition::Type(path, kind) => {
                format!(
                    "attribute_type({}, {})",
                    text.path(path),
                    text.value(&Val::S((*kind).to_owned()))
                )
            }
            Condition::BeginsWith(left, right) => format!("begins_with({}, {})", left.text(text), right.text(text)),
            Condition::Contains(left, right) => format!("contains({}, {})", left.text(text), right.text(text)),
            Condition::Not(inner) => format!("NOT {}", inner.nested(text)),
            Condition::And(left, right) => format!("{} AND {}", left.nested(text), right.nested(text)),
            Condition::Or(left, right) => format!("{} OR {}", left.nested(text), right.nested(text)),
        }
    }

    /// In parentheses if they group something: doubled ones are refused.
    pub fn nested(&self, text: &mut Text) -> String {
        match self {
            Condition::Not(_) | Condition::And(..) | Condition::Or(..) => format!("({})", self.text(text)),
            _ => self.text(text),
        }
    }

    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Condition::Compare(left, operator, right) => {
                compared(left.of(item).as_ref(), operator, right.of(item).as_ref())
            }
            Condition::Between(operand, lower, upper) => {
                let value = operand.of(item);
                compared(lower.of(item).as_ref(), "<=", value.as_ref())
                    && compared(value.as_ref(), "<=", upper.of(item).as_ref())
            }
            Condition::In(operand, list) => {
                let value = operand.of(item);
                list.iter()
                    .any(|operand| compared(value.as_ref(), "=", operand.of(item).as_ref()))
            }
            Condition::Exists(path) => get(item, path).is_some(),
            Condition::NotExists(path) => get(item, path).is_none(),
            Condition::Type(path, kind) => get(item, path).is_some_and(|value| value.kind() == *kind),
            Condition::BeginsWith(left, right) => match (left.of(item), right.of(item)) {
                (Some(Val::S(text)), Some(Val::S(prefix))) => text.starts_with(&prefix),
                (Some(Val::B(bytes)), Some(Val::B(prefix))) => bytes.starts_with(&prefix),
                _ => false,
            },
            Condition::Contains(left, right) => match (left.of(item), right.of(item)) {
                (Some(Val::S(text)), Some(Val::S(part))) => text.contains(&part),
                (Some(Val::B(bytes)), Some(Val::B(part))) => within(&bytes, &part),
                (Some(Val::Ss(set)), Some(Val::S(member))) => set.contains(&member),
                (Some(Val::Ns(set)), Some(Val::N(member))) => set.contains(&member),
                (Some(Val::Bs(set)), Some(Val::B(member))) => set.contains(&member),
                (Some(Val::L(list)), Some(member)) => list.contains(&member),
                _ => false,
            },
            Condition::Not(inner) => !inner.holds(item),
            Condition::And(left, right) => left.holds(item) && right.holds(item),
            Condition::Or(left, right) => left.holds(item) || right.holds(item),
        }
    }

    /// Whether the request is accepted, as far as that depends on the operands.
    pub fn valid(&self) -> bool {
        match self {
            Condition::Compare(left, operator, right) => {
                matches!(*operator, "=" | "<>") || !left.unordered() && !right.unordered()
            }
            Condition::Between(_, lower, upper) => match (lower, upper) {
                _ if lower.unordered() || upper.unordered() => false,
                (Operand::Value(low), Operand::Value(high)) => low.kind() == high.kind() && low <= high,
                _ => true,
            },
            Condition::BeginsWith(_, Operand::Value(prefix)) => matches!(prefix, Val::S(_) | Val::B(_)),
            Condition::Not(inner) => inner.valid(),
            Condition::And(left, right) | Condition::Or(left, right) => left.valid() && right.valid(),
            _ => true,
        }
    }

    /// The top-level attributes that the condition names.
    pub fn attributes(&self) -> Vec<&str> {
        let operands: Vec<&Operand> = match self {
            Condition::Compare(left, _, right) => vec![left, right],
            Condition::Between(operand, lower, upper) => vec![operand, lower, upper],
            Condition::In(operand, list) => std::iter::once(operand).chain(list).collect(),
            Condition::Exists(path) | Condition::NotExists(path) | Condition::Type(path, _) => return vec![top(path)],
            Condition::BeginsWith(left, right) | Condition::Contains(left, right) => vec![left, right],
            Condition::Not(inner) => return inner.attributes(),
            Condition::And(left, right) | Condition::Or(left, right) => {
                return [left.attributes(), right.attributes()].concat();
            }
        };
        operands.into_iter().filter_map(Operand::path).map(top).collect()
    }
}

/// The right side of a SET.
#[derive(Clone, Debug)]
pub enum Source {
    Value(Val),
    Path(Path),
    Sum(Box<Source>, &'static str, Box<Source>),
    IfNotExists(Path, Val),
    Append(Box<Source>, Box<Source>),
}

#[derive(Clone, Debug)]
pub enum Action {
    Set(Path, Source),
    Remove(Path),
    Add(Path, Val),
    Delete(Path, Val),
}

/// Why an update does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// ValidationException.
    Invalid,
    /// The documentation does not say.
    Open,
}

impl Source {
    fn any(choice: &mut Choice) -> Source {
        let value = |choice: &mut Choice, kind| {
            let path = any_path(choice, &DOCUMENTS);
            let boxed = |source| Box::new(source);
            boxed(match choice.below(3) {
                0 => Source::Path(path),
                1 => Source::IfNotExists(path, of_kind(choice, kind, 1)),
                _ if choice.one_in(15) => Source::Value(any(choice, 1)),
                _ => Source::Value(of_kind(choice, kind, 1)),
            })
        };
        match choice.below(8) {
            0 => Source::Path(any_path(choice, &["a", "b", "c", "d", "pk", "e", "f"])),
            1 | 2 => Source::Sum(value(choice, "N"), one_of(choice, &["+", "-"]), value(choice, "N")),
            3 => Source::IfNotExists(any_path(choice, &DOCUMENTS), any(choice, 2)),
            4 | 5 => Source::Append(value(choice, "L"), value(choice, "L")),
            _ => Source::Value(any(choice, 2)),
        }
    }

    fn text(&self, text: &mut Text) -> String {
        match self {
            Source::Value(value) => text.value(value),
            Source::Path(path) => text.path(path),
            Source::Sum(left, operator, right) => format!("{} {operator} {}", left.text(text), right.text(text)),
            Source::IfNotExists(path, value) => format!("if_not_exists({}, {})", text.path(path), text.value(value)),
            Source::Append(left, right) => format!("list_append({}, {})", left.text(text), right.text(text)),
        }
    }

    fn valid(&self) -> bool {
        let only = |source: &Source, kind| !matches!(source, Source::Value(value) if value.kind() != kind);
        match self {
            Source::Sum(left, _, right) => only(left, "N") && only(right, "N"),
            Source::Append(left, right) => only(left, "L") && only(right, "L"),
            _ => true,
        }
    }

    fn of(&self, item: &Item) -> Result<Val, Failure> {
        match self {
            Source::Value(value) => Ok(value.clone()),
            Source::Path(path) => get(item, path).cloned().ok_or(Failure::Invalid),
            Source::IfNotExists(path, value) => Ok(get(item, path).unwrap_or(value).clone()),
            Source::Sum(left, operator, right) => match (left.of(item)?, right.of(item)?) {
                (Val::N(left), Val::N(right)) => {
                    let right = if *operator == "-" { right.negated() } else { right };
                    left.plus(&right).map(Val::N).ok_or(Failure::Invalid)
                }
                _ => Err(Failure::Invalid),
            },
            Source::Append(left, right) => match (left.of(item)?, right.of(item)?) {
                (Val::L(left), Val::L(right)) => Ok(Val::L([left, right].concat())),
                _ => Err(Failure::Invalid),
            },
        }
    }
}

impl Action {
    pub fn path(&self) -> &Path {
        match self {
            Action::Set(path, _) | Action::Remove(path) | Action::Add(path, _) | Action::Delete(path, _) => path,
        }
    }

    fn valid(&self) -> bool {
        let set = |value: &Val| matches!(value, Val::Ss(_) | Val::Ns(_) | Val::Bs(_));
        match self {
            Action::Set(_, source) => source.valid(),
            Action::Remove(_) => true,
            Action::Add(_, value) => set(value) || matches!(value, Val::N(_)),
            Action::Delete(_, value) => set(value),
        }
    }
}

/// The actions of an update expression or of an UPDATE statement.
#[derive(Clone, Debug)]
pub struct Update(pub Vec<Action>);

/// An index key that an update may set, with its type.
pub type Typed = (&'static str, &'static str);

impl Update {
    pub fn any(choice: &mut Choice, keys: &[Typed], statement: bool) -> Update {
        let mut actions: Vec<Action> = Vec::new();
        for _ in 0..=choice.below(4) {
            let action = Update::action(choice, keys, statement);
            let path = action.path();
            // Most updates have no overlapping paths.
            if !actions.iter().any(|other| collide(other.path(), path)) || choice.one_in(40) {
                actions.push(action);
            }
        }
        Update(actions)
    }

    fn action(choice: &mut Choice, keys: &[Typed], statement: bool) -> Action {
        if !keys.is_empty() && choice.one_in(5) {
            let (attribute, kind) = one_of(choice, keys);
            let kind = if choice.one_in(12) {
                one_of(choice, &KINDS)
            } else {
                kind
            };
            let value = if choice.one_in(15) {
                of_kind(choice, kind, 0)
            } else {
                key(choice, kind, 7)
            };
            return match choice.below(3) {
                0 => Action::Remove(name(attribute)),
                1 if choice.one_in(2) => Action::Set(name(attribute), Source::any(choice)),
                _ => Action::Set(name(attribute), Source::Value(value)),
            };
        }
        let path = any_path(choice, &DOCUMENTS);
        match choice.below(if statement { 6 } else { 9 }) {
            0..=3 => Action::Set(path, Source::any(choice)),
            4 | 5 => Action::Remove(path),
            6 | 7 => {
                let kind = if choice.one_in(20) {
                    one_of(choice, &KINDS)
                } else {
                    one_of(choice, &["N", "SS", "NS", "BS", "N"])
                };
                Action::Add(path, of_kind(choice, kind, 0))
            }
            _ => {
                let kind = if choice.one_in(20) {
                    one_of(choice, &KINDS)
                } else {
                    one_of(choice, &["SS", "NS", "BS"])
                };
                Action::Delete(path, of_kind(choice, kind, 0))
            }
        }
    }

    pub fn text(&self, text: &mut Text) -> String {
        let mut sections: Vec<(&str, Vec<String>)> = Vec::new();
        for action in &self.0 {
            let path = text.path(action.path());
            let (section, entry) = match action {
                Action::Set(_, source) => ("SET", format!("{path} = {}", source.text(text))),
                Action::Remove(_) => ("REMOVE", path),
                Action::Add(_, value) => ("ADD", format!("{path} {}", text.value(value))),
                Action::Delete(_, value) => ("DELETE", format!("{path} {}", text.value(value))),
            };
            match sections.iter_mut().find(|(name, _)| *name == section) {
                // A statement has a clause for each action.
                Some((_, entries)) if !text.statement => entries.push(entry),
                _ => sections.push((section, vec![entry])),
            }
        }
        let sections: Vec<String> = sections
            .iter()
            .map(|(name, entries)| format!("{name} {}", entries.join(", ")))
            .collect();
        sections.join(" ")
    }

    pub fn valid(&self) -> bool {
        let paths: Vec<&Path> = self.0.iter().map(Action::path).collect();
        !any_collide(&paths) && self.0.iter().all(Action::valid)
    }

    /// The attributes that are set to constants.
    pub fn constants(&self) -> Item {
        let constants = self.0.iter().filter_map(|action| match action {
            Action::Set(path, Source::Value(value)) if path.len() == 1 => Some((top(path).to_owned(), value.clone())),
            _ => None,
        });
        constants.collect()
    }

    pub fn paths(&self) -> Vec<Path> {
        self.0.iter().map(Action::path).cloned().collect()
    }

    /// The item after the update; `None` if there is none before and the update only removes.
    pub fn apply(&self, key: &Item, old: Option<&Item>) -> Result<Option<Item>, Failure> {
        let removes = |action: &Action| matches!(action, Action::Remove(_) | Action::Delete(..));
        if old.is_none() && !self.0.is_empty() && self.0.iter().any(removes) {
            let nested = self.0.iter().any(|action| removes(action) && action.path().len() > 1);
            let plain = self.0.iter().all(|action| matches!(action, Action::Remove(_)));
            match self.0.iter().all(removes) {
                true if plain || !nested => return Ok(None),
                _ if nested => return Err(Failure::Open),
                _ => {}
            }
        }
        let old = old.unwrap_or(key);
        let mut new = old.clone();
        let mut appended: Vec<(&Path, Val)> = Vec::new();
        let mut removed: Vec<&Path> = Vec::new();
        let mut open = false;
        for action in &self.0 {
            let path = action.path();
            let stored = get(old, path);
            let parent = match path.len() {
                1 => true,
                length => matches!(
                    (get(old, &path[..length - 1]), &path[length - 1]),
                    (Some(Val::M(_)), Step::Name(_)) | (Some(Val::L(_)), Step::At(_))
                ),
            };
            if !parent {
                return Err(Failure::Invalid);
            }
            let in_list = matches!(path.last(), Some(Step::At(_)));
            let value = match action {
                Action::Remove(_) => {
                    removed.extend(stored.is_some().then_some(path));
                    continue;
                }
                Action::Set(_, source) => source.of(old)?,
                Action::Add(_, value) => {
                    open |= in_list && stored.is_none();
                    match (stored, value) {
                        (None, value) => value.clone(),
                        (Some(Val::N(left)), Val::N(right)) => left.plus(right).map(Val::N).ok_or(Failure::Invalid)?,
                        (Some(Val::Ss(left)), Val::Ss(right)) => Val::Ss(left | right),
                        (Some(Val::Ns(left)), Val::Ns(right)) => Val::Ns(left | right),
                        (Some(Val::Bs(left)), Val::Bs(right)) => Val::Bs(left | right),
                        _ => return Err(Failure::Invalid),
                    }
                }
                Action::Delete(_, value) => {
                    let (rest, empty) = match (stored, value) {
                        (None, _) => continue,
                        (Some(Val::Ss(left)), Val::Ss(right)) => (Val::Ss(left - right), left.is_subset(right)),
                        (Some(Val::Ns(left)), Val::Ns(right)) => (Val::Ns(left - right), left.is_subset(right)),
                        (Some(Val::Bs(left)), Val::Bs(right)) => (Val::Bs(left - right), left.is_subset(right)),
                        _ => return Err(Failure::Invalid),
                    };
                    if empty {
                        open |= in_list;
                        removed.push(path);
                        continue;
                    }
                    rest
                }
            };
            if stored.is_none() && in_list {
                appended.push((path, value));
            } else {
                place(&mut new, path, value);
            }
        }
        appended.sort_by_key(|(path, _)| *path);
        for (path, value) in appended {
            if let Some(Val::L(members)) = get_mut(&mut new, &path[..path.len() - 1]) {
                members.push(value);
            }
        }
        // From the end: positions are those of the item before.
        removed.sort();
        for path in removed.into_iter().rev() {
            remove(&mut new, path);
        }
        if open { Err(Failure::Open) } else { Ok(Some(new)) }
    }
}

fn place(item: &mut Item, path: &Path, value: Val) {
    let (last, parent) = path.split_last().unwrap();
    let members = match parent {
        [] => Some(item),
        _ => match get_mut(item, parent) {
            Some(Val::M(members)) => Some(members),
            Some(Val::L(members)) => {
                if let Step::At(at) = last {
                    members[*at] = value;
                }
                return;
            }
            _ => None,
        },
    };
    if let (Some(members), Step::Name(name)) = (members, last) {
        members.insert(name.clone(), value);
    }
}

fn remove(item: &mut Item, path: &Path) {
    let (last, parent) = path.split_last().unwrap();
    let holder = if parent.is_empty() { None } else { get_mut(item, parent) };
    match (holder, last) {
        (Some(Val::L(members)), Step::At(at)) => drop(members.remove(*at)),
        (Some(Val::M(members)), Step::Name(name)) => drop(members.remove(name)),
        (None, Step::Name(name)) => drop(item.remove(name)),
        _ => {}
    }
}
