//! The size of an item in bytes, which the 400 KB limit and the capacity units are based on.
//!
//! Names and strings count their UTF-8 bytes, binaries their raw bytes, numbers the formula of
//! [`Number::size`](crate::number::Number::size). A list or map costs 3 bytes and one more for each element.
//! Source: the Developer Guide, "Item sizes and formats"; numbers measured on AWS.

use super::AttributeValue;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    fn bytes(length: usize) -> Box<[u8]> {
        vec![7; length].into()
    }

    #[test]
    fn values() {
        let text = AttributeValue::string;
        let list = |elements: &[AttributeValue]| AttributeValue::L(elements.to_vec());
        let map = |entries: &[(&str, AttributeValue)]| {
            let entries = entries.iter().map(|(name, value)| ((*name).into(), value.clone()));
            AttributeValue::M(entries.collect::<Map>())
        };
        for (value, expect) in [
            (text(""), 0),
            (text("né"), 3),
            (AttributeValue::N("-123".parse().unwrap()), 4),
            (AttributeValue::B(bytes(5)), 5),
            (AttributeValue::Bool(false), 1),
            (AttributeValue::Null, 1),
            (list(&[]), 3),
            (list(&[text("a"), text("bc")]), 3 + 2 + 3),
            (list(&[list(&[text("a")])]), 3 + 1 + 3 + 2),
            (map(&[]), 3),
            (
                map(&[("né", text("a")), ("x", AttributeValue::Null)]),
                3 + 1 + 3 + 1 + 1 + 1 + 1,
            ),
            (AttributeValue::string_set(vec!["a".into(), "bc".into()]).unwrap(), 3),
            (
                AttributeValue::number_set(vec![1.into(), (-123).into()]).unwrap(),
                2 + 4,
            ),
            (AttributeValue::binary_set(vec![bytes(1), bytes(4)]).unwrap(), 5),
        ] {
            assert_eq!(of_value(&value), expect, "{value:?}");
            assert_eq!(of_attribute("né", &value), 3 + expect, "{value:?}");
        }
    }
}
