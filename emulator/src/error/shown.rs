//! Prints attribute values as the service does in its texts.

use std::fmt::{self, Display};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::value::AttributeValue;

/// A value that can be a key: `{N:2}`. Only strings, numbers and binaries occur.
pub(crate) struct KeyValueText<'a>(pub &'a AttributeValue);

impl Display for KeyValueText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttributeValue::S(text) => write!(formatter, "{{S:{text}}}"),
            AttributeValue::N(number) => write!(formatter, "{{N:{number}}}"),
            AttributeValue::B(bytes) => write!(formatter, "{{B:{}}}", Base64Display::new(bytes, &STANDARD)),
            other => write!(formatter, "{{{}}}", other.type_name()),
        }
    }
}
