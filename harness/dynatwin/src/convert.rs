//! Conversions between the engine's items and the SDK's.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue as Sdk;
use dynatwin_engine::attributes::{AttributeValue, Item, Map};

/// Converts an item to the SDK's type.
pub(crate) fn item(item: &Item) -> HashMap<String, Sdk> {
    map(&item.attributes())
}

pub(crate) fn map(attributes: &Map) -> HashMap<String, Sdk> {
    attributes
        .iter()
        .map(|(name, attribute)| (name.to_string(), value(attribute)))
        .collect()
}

pub(crate) fn value(attribute: &AttributeValue) -> Sdk {
    match attribute {
        AttributeValue::S(text) => Sdk::S(text.to_string()),
        AttributeValue::N(number) => Sdk::N(number.to_string()),
        AttributeValue::B(bytes) => Sdk::B(Blob::new(bytes.to_vec())),
        AttributeValue::Bool(flag) => Sdk::Bool(*flag),
        AttributeValue::Null => Sdk::Null(true),
        AttributeValue::L(list) => Sdk::L(list.iter().map(value).collect()),
        AttributeValue::M(entries) => Sdk::M(map(entries)),
        AttributeValue::Ss(members) => Sdk::Ss(members.iter().map(ToString::to_string).collect()),
        AttributeValue::Ns(members) => Sdk::Ns(members.iter().map(ToString::to_string).collect()),
        AttributeValue::Bs(members) => Sdk::Bs(members.iter().map(|bytes| Blob::new(bytes.to_vec())).collect()),
    }
}

/// Returns whether a key attribute of the SDK's type equals a stored one. Numbers are compared by value: `1` equals
/// `1.0`.
pub(crate) fn same_key(stored: &AttributeValue, requested: &Sdk) -> bool {
    match (stored, requested) {
        (AttributeValue::S(stored), Sdk::S(requested)) => stored == requested,
        (AttributeValue::N(stored), Sdk::N(requested)) => requested.parse().is_ok_and(|requested| *stored == requested),
        (AttributeValue::B(stored), Sdk::B(requested)) => **stored == *requested.as_ref(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_carried_over() {
        let number = |text: &str| text.parse().unwrap();
        let stored = Item::new(&Map::from_entries(vec![
            ("s".into(), AttributeValue::string("text")),
            ("n".into(), AttributeValue::N(number("1.50"))),
            ("b".into(), AttributeValue::B(Box::new([1, 2]))),
            ("bool".into(), AttributeValue::Bool(true)),
            ("null".into(), AttributeValue::Null),
            ("l".into(), AttributeValue::L(vec![AttributeValue::Null])),
            (
                "m".into(),
                AttributeValue::M(Map::from_entries(vec![("a".into(), AttributeValue::Bool(false))])),
            ),
            (
                "ss".into(),
                AttributeValue::string_set(vec!["b".into(), "a".into()]).unwrap(),
            ),
            (
                "ns".into(),
                AttributeValue::number_set(vec![number("2"), number("1")]).unwrap(),
            ),
            ("bs".into(), AttributeValue::binary_set(vec![Box::new([9])]).unwrap()),
        ]));
        let expect = HashMap::from(
            [
                ("s", Sdk::S("text".into())),
                ("n", Sdk::N("1.5".into())),
                ("b", Sdk::B(Blob::new([1, 2]))),
                ("bool", Sdk::Bool(true)),
                ("null", Sdk::Null(true)),
                ("l", Sdk::L(vec![Sdk::Null(true)])),
                ("m", Sdk::M(HashMap::from([("a".to_owned(), Sdk::Bool(false))]))),
                ("ss", Sdk::Ss(vec!["a".into(), "b".into()])),
                ("ns", Sdk::Ns(vec!["1".into(), "2".into()])),
                ("bs", Sdk::Bs(vec![Blob::new([9])])),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        assert_eq!(item(&stored), expect);
    }

    #[test]
    fn keys_are_equal_by_value() {
        let number = AttributeValue::N("1".parse().unwrap());
        let large = AttributeValue::N("12345678901234567890".parse().unwrap());
        for (stored, requested, expect) in [
            (AttributeValue::string("a"), Sdk::S("a".into()), true),
            (AttributeValue::string("a"), Sdk::S("b".into()), false),
            (AttributeValue::string("1"), Sdk::N("1".into()), false),
            (number.clone(), Sdk::N("1.0".into()), true),
            (number, Sdk::N("one".into()), false),
            (large.clone(), Sdk::N("12345678901234567890".into()), true),
            (large, Sdk::N("12345678901234567891".into()), false),
            (AttributeValue::string("a"), Sdk::S("ab".into()), false),
            (AttributeValue::string("ab"), Sdk::S("a".into()), false),
            (AttributeValue::B(Box::new([1])), Sdk::B(Blob::new([1])), true),
            (AttributeValue::B(Box::new([1, 2])), Sdk::B(Blob::new([1, 2])), true),
            (AttributeValue::B(Box::new([1])), Sdk::B(Blob::new([1, 2])), false),
            (AttributeValue::B(Box::new([1, 2])), Sdk::B(Blob::new([1])), false),
            (AttributeValue::B(Box::new([1, 2])), Sdk::B(Blob::new([1, 3])), false),
            (AttributeValue::B(Box::new([1])), Sdk::B(Blob::new([])), false),
            (AttributeValue::B(Box::new(*b"a")), Sdk::S("a".into()), false),
        ] {
            assert_eq!(same_key(&stored, &requested), expect, "{stored:?} {requested:?}");
        }
    }
}
