//! Texts about attribute values, shared by the decoder and the evaluation of updates.

use std::borrow::Cow;

use super::ApiError;
use crate::number::NumberError;

impl ApiError {
    /// The sentence for a number that cannot be read; `text` is the number as it was sent.
    pub fn number_text(error: NumberError, text: &str, older_layer: bool) -> Cow<'static, str> {
        match error {
            NumberError::NotNumeric if text.is_empty() && older_layer => {
                "The parameter cannot be converted to a numeric value".into()
            }
            NumberError::NotNumeric => format!("The parameter cannot be converted to a numeric value: {text}").into(),
            NumberError::TooPrecise => "Attempting to store more than 38 significant digits in a Number".into(),
            NumberError::OverflowBeyondInt if older_layer => ApiError::UNDERFLOW.into(),
            NumberError::Overflow | NumberError::OverflowBeyondInt => ApiError::OVERFLOW.into(),
            NumberError::Underflow => ApiError::UNDERFLOW.into(),
        }
    }

    /// A number above the largest.
    pub const OVERFLOW: &'static str =
        "Number overflow. Attempting to store a number with magnitude larger than supported range";
    /// A number below the smallest.
    pub const UNDERFLOW: &'static str =
        "Number underflow. Attempting to store a number with magnitude smaller than supported range";
    /// A value nested too deep, in a request.
    pub const NESTING: &'static str = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
    /// An update stores a value that is nested too deep.
    pub const NESTING_STORED: &'static str = "Nesting Levels have exceeded supported limits";
    /// A value without a type.
    pub const EMPTY_VALUE: &'static str =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    /// A value with two types.
    pub const AMBIGUOUS_VALUE: &'static str =
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
    /// The message about `{"NULL": false}`.
    pub const NULL_FALSE: &'static str =
        "One or more parameter values were invalid: Null attribute value types must have the value of true";
    /// An attribute whose name is over 64 KB (measured in September 2026).
    pub const LONG_NAME: &'static str = "Attribute name is too large, must be less than 65536 bytes";
    /// An attribute without a name.
    pub const EMPTY_NAME: &'static str = "Empty attribute name";
}
