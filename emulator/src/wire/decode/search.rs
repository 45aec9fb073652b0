//! Decodes SearchVectors. The service decodes it with another reader than all other requests: errors for missing
//! members and wrong types have that reader's texts, with the position in the body.

use super::value_errors::{ValueErrors, ValueLayer};
use super::{Decode, DecodeStop, Decoder, Read, ValuePosition, not_json};
use crate::error::{ApiError, ErrorKind};
use crate::request::SearchVectors;
use crate::value::AttributeValue;
use crate::wire::reader::{Reader, Token, check_syntax};

/// The members that must be there, in the order in which the first missing one is named.
const REQUIRED: [&str; 4] = ["TableName", "IndexName", "SearchVector", "TopK"];

/// The expected type of a member's value.
#[derive(Clone, Copy)]
enum ValueType {
    Text,
    Sequence,
    Whole,
    Map,
}

impl ValueType {
    const fn name(self) -> &'static str {
        match self {
            ValueType::Text => "a string",
            ValueType::Sequence => "a sequence",
            ValueType::Whole => "i32",
            ValueType::Map => "a map",
        }
    }
}

impl Decode for SearchVectors {
    fn decode(body: &[u8]) -> Result<SearchVectors, ApiError> {
        let mut decoder = Decoder {
            reader: Reader::new(body).map_err(|_| not_json())?,
            value_errors: ValueErrors::new(ValueLayer::Current { enveloped: false }),
            numbers: None,
        };
        let mut request = SearchVectors::default();
        let mut there = [false; REQUIRED.len()];
        match decoder.search_vectors(&mut request, &mut there) {
            Ok(()) => {}
            Err(DecodeStop::Mismatch(text)) if check_syntax(body).is_ok() => {
                return Err(ApiError::new(ErrorKind::Serialization, text));
            }
            Err(_) => return Err(not_json()),
        }
        if let Some(at) = there.iter().position(|there| !there) {
            let (line, column) = decoder.reader.position();
            return Err(ApiError::validation(format!(
                "missing field `{}` at line {line} column {column}",
                REQUIRED[at]
            )));
        }
        decoder.value_errors.finish().map(|()| request)
    }
}

impl Decoder<'_> {
    fn search_vectors(&mut self, request: &mut SearchVectors, there: &mut [bool; REQUIRED.len()]) -> Read<()> {
        if self.reader.peek()? != Token::Object {
            return Err(DecodeStop::Syntax);
        }
        self.reader.enter()?;
        let mut first = true;
        while let Some(name) = self.reader.member(first)? {
            first = false;
            if let Some(at) = REQUIRED.iter().position(|required| *required == name) {
                there[at] = true;
            }
            match name.as_ref() {
                "TableName" => request.table_name = self.required(ValueType::Text, Decoder::text)?,
                "IndexName" => request.index_name = self.required(ValueType::Text, Decoder::text)?,
                "SearchVector" => request.search_vector = self.required(ValueType::Sequence, Decoder::vector)?,
                "TopK" => request.top_k = self.required(ValueType::Whole, Decoder::integer)?,
                "SearchConditionExpression" => {
                    request.search_condition_expression = self.optional_of(ValueType::Text, Decoder::text)?;
                }
                "ProjectionExpression" => {
                    request.projection_expression = self.optional_of(ValueType::Text, Decoder::text)?;
                }
                "ReturnConsumedCapacity" => {
                    request.return_consumed_capacity = self.optional_of(ValueType::Text, Decoder::text)?;
                }
                "ExpressionAttributeNames" => {
                    request.substitutions.names = self.optional_of(ValueType::Map, Decoder::expression_names)?;
                }
                "ExpressionAttributeValues" => {
                    request.substitutions.values = self.optional_of(ValueType::Map, Decoder::expression_values)?;
                }
                _ => self.reader.skip()?,
            }
        }
        Ok(self.reader.end()?)
    }

    fn optional_of<T>(&mut self, kind: ValueType, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.reader.null()? {
            return Ok(None);
        }
        self.required(kind, read).map(Some)
    }

    fn required<T>(&mut self, kind: ValueType, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let fits = match (kind, self.reader.peek()?) {
            (ValueType::Text, Token::String) | (ValueType::Sequence, Token::List) | (ValueType::Map, Token::Object) => {
                true
            }
            (ValueType::Whole, Token::Number) => {
                let mut ahead = self.reader;
                !ahead.number()?.contains(['.', 'e', 'E'])
            }
            _ => false,
        };
        if fits { read(self) } else { Err(self.wrong_type(kind)?) }
    }

    /// The other reader's error for the next value.
    fn wrong_type(&mut self, kind: ValueType) -> Read<DecodeStop> {
        let found = match self.reader.peek()? {
            Token::Object => "map".to_owned(),
            Token::List => "sequence".to_owned(),
            Token::Null => {
                self.reader.null()?;
                "null".to_owned()
            }
            Token::String => format!("string \"{}\"", self.reader.string()?),
            Token::True | Token::False => {
                let flag = self.boolean()?;
                format!("boolean `{flag}`")
            }
            Token::Number => {
                let text = self.reader.number()?;
                if text.contains(['.', 'e', 'E']) {
                    format!("floating point `{text}`")
                } else {
                    format!("integer `{text}`")
                }
            }
        };
        let (line, column) = self.reader.position();
        Ok(DecodeStop::Mismatch(
            format!(
                "invalid type: {found}, expected {} at line {line} column {column}",
                kind.name()
            )
            .into(),
        ))
    }

    /// The elements of a search vector; `None` for an element that is not a 32-bit floating point number.
    fn vector(&mut self) -> Read<Vec<Option<f32>>> {
        self.list(ValuePosition::Member, |decoder| {
            // An invalid element is reported for the whole vector, later.
            let before = decoder.value_errors.set_aside();
            let value = decoder.value_member()?;
            let invalid = decoder.value_errors.set_aside().has_any();
            decoder.value_errors.restore(before);
            Ok(match value {
                AttributeValue::N(number) if !invalid => Some(number.to_f32()).filter(|number| number.is_finite()),
                _ => None,
            })
        })
    }
}
