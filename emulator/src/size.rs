//! The size of an item, to the byte, as the 400 KB gate and the capacity units measure it.
//!
//! Names and strings count their UTF-8 bytes, binaries their raw bytes, numbers the formula of
//! [`Number::size`](crate::number::Number::size). A list or map costs 3 bytes and one more for each element.
//! Source: the Developer Guide, "Item sizes and formats"; numbers measured on AWS.

use crate::value::AttributeValue;

/// The bytes a value counts for.
pub fn of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.size(),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Bool(_) | AttributeValue::Null => 1,
        AttributeValue::L(list) => 3 + list.iter().map(|element| 1 + of_value(element)).sum::<usize>(),
        AttributeValue::M(map) => {
            3 + map
                .iter()
                .map(|(name, value)| 1 + name.len() + of_value(value))
                .sum::<usize>()
        }
        AttributeValue::Ss(set) => set.iter().map(compact_str::CompactString::len).sum(),
        AttributeValue::Ns(set) => set.iter().map(|number| number.size()).sum(),
        AttributeValue::Bs(set) => set.iter().map(|bytes| bytes.len()).sum(),
    }
}

/// The bytes an attribute counts for: its name and its value.
pub fn of_attribute(name: &str, value: &AttributeValue) -> usize {
    name.len() + of_value(value)
}
