//! Literals into values. Faults name the place inside of the value, `root[0].k`, and the place in the statement.

use std::fmt::Write;

use super::ast::{Id, Kind, Span};
use super::error::{self, fault, fault_at};
use super::lower::Lowering;
use crate::error::ApiError;
use crate::limits;
use crate::number::{Number, NumberError};
use crate::value::{AttributeValue, Map, Text};

const ROOT: &str = "root";

impl Lowering<'_> {
    /// The value of a literal or of a parameter.
    pub(super) fn constant(&mut self, id: Id) -> Result<AttributeValue, ApiError> {
        if let Kind::Parameter(at) = self.tree.node(id).kind {
            return self.parameter(at);
        }
        self.literal(id, &mut ROOT.to_owned(), 0)
    }

    /// Each question mark stands for a parameter of its own, which is taken over.
    fn parameter(&mut self, at: u32) -> Result<AttributeValue, ApiError> {
        let parameter = self.parameters.get_mut(at as usize).and_then(Option::take);
        parameter.ok_or_else(ApiError::parameter_count)
    }

    /// One value inside of `depth` lists and maps. It goes no deeper than values may.
    fn literal(&self, id: Id, path: &mut String, depth: usize) -> Result<AttributeValue, ApiError> {
        let node = self.tree.node(id);
        if depth > limits::NESTING {
            return Err(too_deep(path));
        }
        let unsupported = |what: &str| {
            let text = format!("Unsupported data type: {what} under key {path}");
            Err(fault_at(text, self.place(node.token)))
        };
        match &node.kind {
            Kind::Null => Ok(AttributeValue::Null),
            Kind::Bool(flag) => Ok(AttributeValue::Bool(*flag)),
            Kind::String(text) => Ok(AttributeValue::S(text.clone())),
            Kind::Number(text) => number(text, path).map(AttributeValue::N),
            Kind::Missing => Err(error::missing_value()),
            Kind::Ion(kind) => {
                let text = format!("Ion Literals are not supported: {kind} under key {path}");
                Err(fault_at(text, self.place(node.token)))
            }
            Kind::Parameter(_) => unsupported("Parameter"),
            Kind::Variable(name) if depth == 0 => unsupported(name),
            Kind::Variable(_) => unsupported("VariableReference"),
            Kind::Path { .. } => unsupported("Path"),
            Kind::Bag(members) => self.bag(id, *members),
            Kind::List(span) | Kind::Struct(span) if depth >= limits::NESTING && self.tree.list(*span).is_empty() => {
                Err(too_deep(path))
            }
            Kind::List(elements) => self.list(*elements, path, depth + 1),
            Kind::Struct(members) => self.structure(*members, path, depth + 1),
            Kind::Call { .. }
            | Kind::Foreign(_)
            | Kind::Signed(..)
            | Kind::Not(_)
            | Kind::Binary(..)
            | Kind::Between { .. }
            | Kind::In { .. }
            | Kind::Is { .. } => unsupported(node.kind.spelling().filter(|_| depth == 0).unwrap_or("NAry")),
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
            Kind::String(name) if name.is_empty() => return Err(error::empty_component()),
            Kind::String(name) => return Ok(name.clone()),
            Kind::Variable(_) => "VariableReference",
            Kind::Parameter(_) => "Parameter",
            Kind::Path { .. } => "Path",
            Kind::List(_) | Kind::Bag(_) => "Seq",
            Kind::Struct(_) => "Struct",
            Kind::Number(text) if text.contains(['.', 'e', 'E']) => "DECIMAL",
            Kind::Number(_) => "INT",
            Kind::Null => "NULL",
            Kind::Bool(_) => "BOOL",
            Kind::Ion(_) => "Literal",
            Kind::Missing => "LiteralMissing",
            _ => "NAry",
        };
        Err(fault_at(
            format_args!("Tuple keys must be of type String. Actual type: {kind} under {path}"),
            self.place(node.token),
        ))
    }

    fn put(&self, map: &mut Map, key: Id, name: &Text, value: AttributeValue, path: &str) -> Result<(), ApiError> {
        if map.insert(name.clone(), value).is_none() {
            return Ok(());
        }
        Err(fault_at(
            format_args!("Duplicate keys in tuple. Key: {name} under {path}"),
            self.place(self.tree.node(key).token),
        ))
    }

    /// The item of an INSERT. Each of its values is a root of its own, and may be a parameter.
    pub(super) fn item(&mut self, value: Id) -> Result<Map, ApiError> {
        let node = self.tree.node(value);
        let Kind::Struct(members) = node.kind else {
            return Err(fault_at(
                "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.",
                self.place(node.token),
            ));
        };
        let mut item = Map::new();
        for pair in self.tree.list(members).chunks(2) {
            let &[key, value] = pair else { continue };
            let name = self.key(key, ROOT)?;
            let value = self.constant(value)?;
            if value.depth() > limits::NESTING {
                return Err(fault(ApiError::NESTING_STORED));
            }
            self.put(&mut item, key, &name, value, ROOT)?;
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
                Kind::String(text) => texts.push(text.clone()),
                Kind::Number(text) => {
                    written.push(text);
                    numbers.push(number(text, ROOT)?);
                }
                _ => return Err(fault_at(error::bag_type(), self.place(node.token))),
            }
        }
        if members.is_empty() {
            return Err(fault_at(
                "Empty bags are not supported",
                self.place(self.tree.node(bag).token),
            ));
        }
        if !texts.is_empty() && !numbers.is_empty() {
            return Err(fault(error::bag_type()));
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
    fault(format!("{} under {path}", ApiError::NESTING_STORED))
}

/// A number, whose faults name where it stands.
fn number(text: &str, path: &str) -> Result<Number, ApiError> {
    Number::parse(text.as_bytes()).map_err(|error| {
        let error = match error {
            NumberError::OverflowBeyondInt => NumberError::Overflow,
            other => other,
        };
        fault(format!("{} under {path}", ApiError::number_text(error, text, false)))
    })
}
