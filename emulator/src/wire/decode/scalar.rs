//! Decodes strings, flags, numbers and binary values, with the service's errors for values of other types.

use std::borrow::Cow;

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine as _};

use super::{DecodeStop, Decoder, Read};
use crate::clock::Moment;
use crate::value::Text;
use crate::wire::reader::Token;

/// The error for an unexpected JSON object.
pub(super) const UNEXPECTED_OBJECT: &str = "Start of structure or map found where not expected";
/// The error for a string that is not a valid blob, and for all other scalars.
const NOT_BASE64: &str = "only base-64-encoded strings are convertible to bytes";

impl<'a> Decoder<'a> {
    /// A string, borrowed from the body if it has no escapes.
    pub(super) fn borrowed_text(&mut self) -> Read<Cow<'a, str>> {
        match self.reader.peek()? {
            Token::String => Ok(self.reader.string()?),
            other => Err(self.mismatch(other, "String", "class java.lang.String")?),
        }
    }

    pub(super) fn text(&mut self) -> Read<Text> {
        self.borrowed_text().map(Text::from)
    }

    /// A flag; quoted words for yes and no are accepted.
    pub(super) fn boolean(&mut self) -> Read<bool> {
        match self.reader.peek()? {
            Token::True => Ok(self.reader.word("true").map(|()| true)?),
            Token::False => Ok(self.reader.word("false").map(|()| false)?),
            Token::String => {
                let text = self.reader.string()?;
                let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
                if is_one_of(&["true", "t", "yes", "y", "1"]) {
                    Ok(true)
                } else if is_one_of(&["false", "f", "no", "n", "0"]) {
                    Ok(false)
                } else {
                    Err(DecodeStop::Mismatch("Unexpected token received from parser".into()))
                }
            }
            other => Err(self.mismatch(other, "Boolean", "class java.lang.Boolean")?),
        }
    }

    /// A whole number of 32 bits.
    pub(super) fn integer(&mut self) -> Read<i64> {
        let number = self.whole("Integer", "class java.lang.Integer")?;
        Ok(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
    }

    /// A whole number of 64 bits.
    pub(super) fn long(&mut self) -> Read<i64> {
        self.whole("Long", "class java.lang.Long")
    }

    pub(super) fn double(&mut self) -> Read<f64> {
        match self.reader.peek()? {
            Token::Number => Ok(self.reader.number()?.parse().unwrap_or_default()),
            other => Err(self.mismatch(other, "Double", "class java.lang.Double")?),
        }
    }

    fn whole(&mut self, expected: &str, class: &str) -> Read<i64> {
        match self.reader.peek()? {
            Token::Number => {
                let text = self.reader.number()?;
                // Fractions are truncated, and numbers that are too large become the largest: `as` does both.
                Ok(text
                    .parse::<i64>()
                    .or_else(|_| text.parse::<f64>().map(|number| number as i64))
                    .unwrap_or(0))
            }
            other => Err(self.mismatch(other, expected, class)?),
        }
    }

    /// A moment: seconds since the epoch, with a fraction.
    pub(super) fn timestamp(&mut self) -> Read<Moment> {
        match self.reader.peek()? {
            Token::Number => {
                let text = self.reader.number()?;
                // Numbers that are too large become the largest: `as` does that.
                let seconds = text.parse::<f64>().unwrap_or(0.0);
                Ok(Moment::from_micros((seconds * 1e6).round() as i64))
            }
            other => Err(self.mismatch(other, "Date", "class java.util.Date")?),
        }
    }

    /// Bytes in padded standard base64.
    pub(super) fn blob(&mut self) -> Read<Box<[u8]>> {
        match self.reader.peek()? {
            Token::String => {
                let text = self.reader.string()?;
                decode_base64(text.as_bytes()).map_err(DecodeStop::Mismatch)
            }
            Token::List => Err(DecodeStop::Mismatch(
                "Unrecognized collection type class java.nio.ByteBuffer".into(),
            )),
            Token::Object => Err(DecodeStop::Mismatch(UNEXPECTED_OBJECT.into())),
            _ => Err(DecodeStop::Mismatch(NOT_BASE64.into())),
        }
    }

    /// The error for `found` where a scalar was expected.
    fn mismatch(&mut self, found: Token, expected: &str, class: &str) -> Read<DecodeStop> {
        let found = match found {
            Token::List => {
                return Ok(DecodeStop::Mismatch(
                    format!("Unrecognized collection type {class}").into(),
                ));
            }
            Token::Object => return Ok(DecodeStop::Mismatch(UNEXPECTED_OBJECT.into())),
            Token::String => "STRING_VALUE",
            Token::True => "TRUE_VALUE",
            Token::False => "FALSE_VALUE",
            Token::Null => "NULL_VALUE",
            Token::Number if self.reader.number()?.contains(['.', 'e', 'E']) => "DECIMAL_VALUE",
            Token::Number => "NUMBER_VALUE",
        };
        Ok(DecodeStop::Mismatch(
            format!("{found} cannot be converted to {expected}").into(),
        ))
    }
}

/// The decoded bytes, or the service's error.
pub(super) fn decode_base64(text: &[u8]) -> Result<Box<[u8]>, Cow<'static, str>> {
    if !text.len().is_multiple_of(4) {
        let found = text.len();
        return Err(format!("Base64 encoded length is expected a multiple of 4 bytes but found: {found}").into());
    }
    match STANDARD.decode(text) {
        Ok(bytes) => Ok(bytes.into_boxed_slice()),
        // The spelling is the service's.
        Err(DecodeError::InvalidLastSymbol(..)) => Err("Invalid last non-pad Base64 character dectected".into()),
        Err(DecodeError::InvalidByte(_, byte)) if byte.is_ascii() => {
            Err(format!("Invalid base 64 character: '{}'", char::from(byte)).into())
        }
        Err(_) => Err(NOT_BASE64.into()),
    }
}
