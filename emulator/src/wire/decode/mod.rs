//! Decodes bodies into typed requests, with the service's serialization errors and its validation of attribute values.
//!
//! A body is read once, front to back. What is no JSON beats everything; then the first member of the wrong type; then
//! the attribute value that breaks a rule ([`value_errors`]), which is only known to be the worst that is wrong when the whole
//! body has been read. Unknown members are skipped, nulls count as absent, and of duplicate members the last
//! one counts.

pub mod admin;
mod backup;
mod item;
mod query;
mod scalar;
mod scaling;
mod search;
mod shape;
mod statement;
mod streams;
mod table;
mod transact;
mod transfer;
mod validated;
mod value;
pub mod value_errors;

use std::borrow::Cow;

use super::reader::{Reader, SyntaxError, Token, check_syntax};
use crate::error::{ApiError, ErrorKind};
use crate::value::Name;
use value_errors::{ValueErrors, ValueLayer};

/// A request that can be read from a body.
pub trait Decode: Sized {
    /// Decodes the request, or returns the service's error about the body.
    fn decode(body: &[u8]) -> Result<Self, ApiError>;
}

/// A request that the older framework checks if a value is nested too deeply for the current one.
pub trait DecodeOverlyNested: Decode {
    /// Decodes a body with such a value; returns `None` for any other body.
    fn decode_overly_nested(body: &[u8]) -> Option<Self>;
}

/// The error of a body that is not a JSON object: the one without a text.
pub fn not_json() -> ApiError {
    ApiError::without_message(ErrorKind::Serialization)
}

/// Why reading stops before the end.
#[derive(Debug)]
enum DecodeStop {
    /// The body read so far is not valid JSON.
    Syntax,
    /// A value is not of the member's type.
    Mismatch(Cow<'static, str>),
}

impl From<SyntaxError> for DecodeStop {
    fn from(_: SyntaxError) -> DecodeStop {
        DecodeStop::Syntax
    }
}

type Read<T> = Result<T, DecodeStop>;

/// A structure of the API: its name in the service's texts, and its members.
trait StructureShape {
    /// The type that the body is decoded into.
    type Into: Default;
    /// The name of the service's class.
    const CLASS: &'static str;

    /// Reads the member `name`, or passes over it.
    fn member(into: &mut Self::Into, name: &str, decoder: &mut Decoder<'_>) -> Read<()>;
}

/// The position of a value: errors about members differ from those about elements of lists and maps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    Member,
    Element,
}

struct Decoder<'a> {
    reader: Reader<'a>,
    value_errors: ValueErrors,
    /// The texts of numbers as sent, by attribute, if they are needed.
    numbers: Option<Vec<(Name, Name)>>,
}

/// Reads a member, given its name.
type ReadMember<'m> = dyn FnMut(&mut Decoder<'_>, &str) -> Read<()> + 'm;

/// Reads a whole body as the structure `S`.
fn decode<S: StructureShape>(body: &[u8], layer: ValueLayer) -> Result<S::Into, ApiError> {
    let mut request = S::Into::default();
    read_body(body, layer, &mut |decoder, name| S::member(&mut request, name, decoder))?;
    Ok(request)
}

/// Decodes a body with a value that is nested so deeply that the older framework checks the request; returns `None` for any
/// other body. Levels beyond `limits::NESTING_KEPT` are skipped.
fn decode_overly_nested<S: StructureShape>(body: &[u8], layer: ValueLayer) -> Option<S::Into> {
    let mut request = S::Into::default();
    let mut decoder = Decoder {
        reader: Reader::new(body).ok()?,
        value_errors: ValueErrors::new(layer),
        numbers: None,
    };
    let read = decoder.document(&mut |decoder, name| S::member(&mut request, name, decoder));
    (read.is_ok() && decoder.value_errors.is_overly_nested()).then_some(request)
}

/// Reads a whole body, member by member. Compiled once for all requests.
fn read_body(body: &[u8], layer: ValueLayer, member: &mut ReadMember<'_>) -> Result<(), ApiError> {
    let reader = Reader::new(body).map_err(|_| not_json())?;
    let mut decoder = Decoder {
        reader,
        value_errors: ValueErrors::new(layer),
        numbers: None,
    };
    match decoder.document(member) {
        Ok(()) => decoder.value_errors.finish(),
        Err(DecodeStop::Mismatch(text)) if check_syntax(body).is_ok() => {
            Err(ApiError::new(ErrorKind::Serialization, text))
        }
        Err(_) => Err(not_json()),
    }
}

impl Decoder<'_> {
    fn document(&mut self, member: &mut ReadMember<'_>) -> Read<()> {
        if self.reader.peek()? != Token::Object {
            return Err(DecodeStop::Syntax);
        }
        self.members(member)?;
        self.reader.end()?;
        Ok(())
    }

    /// Reads a member's value, unless it is null.
    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.reader.null()? {
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// Reads a member's value into its field; null leaves it absent.
    #[inline]
    fn field<T>(&mut self, field: &mut Option<T>, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<()> {
        *field = self.optional(read)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
