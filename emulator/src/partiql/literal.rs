//! Converts literals to values. Errors name the place inside of the value, `root[0].k`, and the position in the
//! statement.

use std::fmt::Write;

use super::ast::{Id, NodeKind, Span};
use super::error::{self, statement_error, statement_error_at};
use super::lower::{Constant, Lowering};
use crate::error::ApiError;
use crate::limits;
use crate::number::{Number, NumberError};
use crate::value::{AttributeValue, Map, Text};

const ROOT: &str = "root";

impl Lowering<'_> {
    pub(super) fn constant(&self, id: Id) -> Result<Constant, ApiError> {
        match self.tree.node(id).kind {
            NodeKind::Parameter(at) if (at as usize) < self.parameters.len() => Ok(Constant::Parameter(at)),
            NodeKind::Parameter(_) => Err(ApiError::parameter_count()),
            _ => self.literal(id, &mut ROOT.to_owned(), 0).map(Constant::Literal),
        }
    }

    /// A value inside `depth` lists and maps. The depth of values is bounded.
    fn literal(&self, id: Id, path: &mut String, depth: usize) -> Result<AttributeValue, ApiError> {
        let node = self.tree.node(id);
        if depth > limits::NESTING {
            return Err(too_deep(path));
        }
        let unsupported = |what: &str| {
            let text = format!("Unsupported data type: {what} under key {path}");
            Err(statement_error_at(text, self.place(node.token)))
        };
        match &node.kind {
            NodeKind::Null => Ok(AttributeValue::Null),
            NodeKind::Bool(flag) => Ok(AttributeValue::Bool(*flag)),
            NodeKind::String(text) => Ok(AttributeValue::S(text.clone())),
            NodeKind::Number(text) => number(text, path).map(AttributeValue::N),
            NodeKind::Missing => Err(error::missing_value()),
            NodeKind::Ion(kind) => {
                let text = format!("Ion Literals are not supported: {kind} under key {path}");
                Err(statement_error_at(text, self.place(node.token)))
            }
            NodeKind::Parameter(_) => unsupported("Parameter"),
            NodeKind::Variable(name) if depth == 0 => unsupported(name),
            NodeKind::Variable(_) => unsupported("VariableReference"),
            NodeKind::Path { .. } => unsupported("Path"),
            NodeKind::Bag(members) => self.bag(id, *members),
            NodeKind::List(span) | NodeKind::Struct(span)
                if depth >= limits::NESTING && self.tree.list(*span).is_empty() =>
            {
                Err(too_deep(path))
            }
            NodeKind::List(elements) => self.list(*elements, path, depth + 1),
            NodeKind::Struct(members) => self.structure(*members, path, depth + 1),
            NodeKind::Call { .. }
            | NodeKind::Foreign(_)
            | NodeKind::Signed(..)
            | NodeKind::Not(_)
            | NodeKind::Binary(..)
            | NodeKind::Between { .. }
            | NodeKind::In { .. }
            | NodeKind::Is { .. } => unsupported(node.kind.spelling().filter(|_| depth == 0).unwrap_or("NAry")),
        }
    }

    fn list(&self, elements: Span, path: &mut String, depth: usize) -> Result<AttributeValue, ApiError> {
        let mut list = Vec::new();
        for (at, element) in self.tree.list(elements).iter().enumerate() {
            let length = path.len();
            // Writing to a string does not fail.
            let _ = write!(path, "[{at}]");
            list.push(self.literal(*element, path, depth)?);
            path.truncate(length);
        }
        Ok(AttributeValue::L(list))
    }

    fn structure(&self, members: Span, path: &mut String, depth: usize) -> Result<AttributeValue, ApiError> {
        let mut map = Map::new();
        for pair in self.tree.list(members).chunks(2) {
            let &[key, value] = pair else { continue };
            let name = self.key(key, path)?;
            let length = path.len();
            let _ = write!(path, ".{name}");
            let value = self.literal(value, path, depth)?;
            path.truncate(length);
            self.put(&mut map, key, &name, value, path)?;
        }
        Ok(AttributeValue::M(map))
    }

    /// The name of a member, which is a string.
    fn key(&self, key: Id, path: &str) -> Result<Text, ApiError> {
        let node = self.tree.node(key);
        let kind = match &node.kind {
            NodeKind::String(name) if name.is_empty() => return Err(error::empty_component()),
            NodeKind::String(name) => return Ok(name.clone()),
            NodeKind::Variable(_) => "VariableReference",
            NodeKind::Parameter(_) => "Parameter",
            NodeKind::Path { .. } => "Path",
            NodeKind::List(_) | NodeKind::Bag(_) => "Seq",
            NodeKind::Struct(_) => "Struct",
            NodeKind::Number(text) if text.contains(['.', 'e', 'E']) => "DECIMAL",
            NodeKind::Number(_) => "INT",
            NodeKind::Null => "NULL",
            NodeKind::Bool(_) => "BOOL",
            NodeKind::Ion(_) => "Literal",
            NodeKind::Missing => "LiteralMissing",
            _ => "NAry",
        };
        Err(statement_error_at(
            format_args!("Tuple keys must be of type String. Actual type: {kind} under {path}"),
            self.place(node.token),
        ))
    }

    fn put(&self, map: &mut Map, key: Id, name: &Text, value: AttributeValue, path: &str) -> Result<(), ApiError> {
        if map.insert(name.clone(), value).is_none() {
            return Ok(());
        }
        Err(self.duplicate(key, name, path))
    }

    fn duplicate(&self, key: Id, name: &Text, path: &str) -> ApiError {
        statement_error_at(
            format_args!("Duplicate keys in tuple. Key: {name} under {path}"),
            self.place(self.tree.node(key).token),
        )
    }

    /// The attributes of an INSERT's item, sorted by name. Each value is a separate root, and may be a parameter.
    pub(super) fn item(&self, value: Id) -> Result<Vec<(Text, Constant)>, ApiError> {
        let node = self.tree.node(value);
        let NodeKind::Struct(members) = node.kind else {
            return Err(statement_error_at(
                "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.",
                self.place(node.token),
            ));
        };
        let mut item: Vec<(Text, Constant)> = Vec::new();
        for pair in self.tree.list(members).chunks(2) {
            let &[key, value] = pair else { continue };
            let name = self.key(key, ROOT)?;
            let value = self.constant(value)?;
            if value.value(self.parameters).depth() > limits::NESTING {
                return Err(statement_error(ApiError::NESTING_STORED));
            }
            match item.binary_search_by(|(other, _)| other.cmp(&name)) {
                Ok(_) => return Err(self.duplicate(key, &name, ROOT)),
                Err(at) => item.insert(at, (name, value)),
            }
        }
        Ok(item)
    }

    /// `<<…>>`: a set of strings or of numbers.
    fn bag(&self, bag: Id, members: Span) -> Result<AttributeValue, ApiError> {
        let members = self.tree.list(members);
        let mut texts: Vec<Text> = Vec::new();
        let mut written: Vec<&str> = Vec::new();
        let mut numbers: Vec<Number> = Vec::new();
        for member in members {
            let node = self.tree.node(*member);
            match &node.kind {
                NodeKind::String(text) => texts.push(text.clone()),
                NodeKind::Number(text) => {
                    written.push(text);
                    numbers.push(number(text, ROOT)?);
                }
                _ => return Err(statement_error_at(error::bag_type(), self.place(node.token))),
            }
        }
        if members.is_empty() {
            return Err(statement_error_at(
                "Empty bags are not supported",
                self.place(self.tree.node(bag).token),
            ));
        }
        if !texts.is_empty() && !numbers.is_empty() {
            return Err(statement_error(error::bag_type()));
        }
        if numbers.is_empty() {
            let shown = texts.join(", ");
            return AttributeValue::string_set(texts)
                .ok_or_else(|| ApiError::invalid(format_args!("Input collection [{shown}] contains duplicates.")));
        }
        AttributeValue::number_set(numbers).ok_or_else(|| {
            let shown = written.join(", ");
            ApiError::invalid(format_args!(
                "Input collection [{shown}] contains duplicates! under {ROOT}"
            ))
        })
    }
}

fn too_deep(path: &str) -> ApiError {
    statement_error(format!("{} under {path}", ApiError::NESTING_STORED))
}

/// A number; errors include its path.
fn number(text: &str, path: &str) -> Result<Number, ApiError> {
    Number::parse(text.as_bytes()).map_err(|error| {
        let error = match error {
            NumberError::OverflowBeyondInt => NumberError::Overflow,
            other => other,
        };
        statement_error(format!("{} under {path}", ApiError::number_text(error, text, false)))
    })
}
