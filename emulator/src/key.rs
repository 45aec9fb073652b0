//! Keys encoded as bytes in the order of the values, and the token that determines a key's partition.
//!
//! A key is its components one after the other: the hash attributes, the range attributes and, in an index, the table's
//! own key. Each component is terminated, so no key is a prefix of another, and "begins with" is a range.

mod bytes;

use crate::digest;
use crate::error::ApiError;
use crate::limits;
use crate::number::Number;
use crate::schema::{Index, KeyAttribute, KeySchema, ScalarType};
use crate::value::{AttributeValue, Attributes, Item, Map};

pub use bytes::KeyBytes;

/// The prefix that the service adds to a partition key before hashing. Its eight bytes fill two words of MD5.
const TOKEN_PREFIX: [u8; 8] = *b"Outliers";

/// An item's place in a table or an index: the token of its partition key, then its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The token of the partition key.
    pub token: u64,
    pub bytes: KeyBytes,
}

impl Key {
    /// The key that a request names in full: exactly the table's key attributes, with values they can have.
    pub fn of_key(schema: &KeySchema, key: &Map) -> Result<Key, ApiError> {
        if key.len() != schema.hash.len() + schema.range.len() {
            return Err(ApiError::key_mismatch());
        }
        if let Some(encoded) = Key::valid(schema, key) {
            return Ok(encoded);
        }
        for attribute in schema.attributes() {
            if !key.get(&attribute.name).is_some_and(|value| attribute.kind.fits(value)) {
                return Err(ApiError::key_mismatch());
            }
        }
        Key::checked(schema, key)
    }

    /// The key of an item that is put.
    pub fn of_item(schema: &KeySchema, item: &Map) -> Result<Key, ApiError> {
        if let Some(encoded) = Key::valid(schema, item) {
            return Ok(encoded);
        }
        for attribute in schema.attributes() {
            match item.get(&attribute.name) {
                None => return Err(ApiError::missing_key(&attribute.name)),
                Some(value) if !attribute.kind.fits(value) => {
                    return Err(ApiError::key_type(
                        &attribute.name,
                        attribute.kind.name(),
                        value.type_name(),
                    ));
                }
                Some(_) => {}
            }
        }
        Key::checked(schema, item)
    }

    /// The key, if nothing at all is wrong with it: in one pass, since this is nearly always so.
    fn valid(schema: &KeySchema, map: &Map) -> Option<Key> {
        let mut bytes = KeyBytes::new();
        push_within(&mut bytes, &schema.hash, map, limits::HASH_KEY_SIZE)?;
        let token = token(kinds(&schema.hash), &bytes);
        push_within(&mut bytes, &schema.range, map, limits::RANGE_KEY_SIZE)?;
        Some(Key { token, bytes })
    }

    /// The key of these attributes: checks that none is empty or too long.
    fn checked(schema: &KeySchema, map: &Map) -> Result<Key, ApiError> {
        for attribute in schema.attributes() {
            if let Some(kind) = map.get(&attribute.name).and_then(empty_key_type) {
                return Err(ApiError::empty_key(&attribute.name, kind));
            }
        }
        for (attributes, limit) in [
            (&schema.hash, limits::HASH_KEY_SIZE),
            (&schema.range, limits::RANGE_KEY_SIZE),
        ] {
            let size: usize = attributes
                .iter()
                .filter_map(|attribute| map.get(&attribute.name))
                .map(key_size)
                .sum();
            if size > limit {
                return Err(if limit == limits::HASH_KEY_SIZE {
                    ApiError::hash_key_too_long()
                } else {
                    ApiError::range_key_too_long()
                });
            }
        }
        // All attributes were found above.
        Key::read(schema, map).ok_or_else(ApiError::key_mismatch)
    }

    /// The key of a stored item; `None` if an attribute is missing or has another type.
    pub fn read(schema: &KeySchema, item: &impl Attributes) -> Option<Key> {
        let mut bytes = KeyBytes::new();
        push_all(&mut bytes, &schema.hash, item)?;
        let token = token(kinds(&schema.hash), &bytes);
        push_all(&mut bytes, &schema.range, item)?;
        Some(Key { token, bytes })
    }

    /// The key of an item's entry in an index: the index's key, then the table's. `None` if the item is not in the index.
    pub fn of_entry(index: &Index, item: &impl Attributes, base: &Key) -> Option<Key> {
        let key = Key::place(index, item, base)?;
        may_be_indexed(index, item).then_some(key)
    }

    /// The position of a start key in an index, where an entry need not exist.
    pub fn place(index: &Index, attributes: &impl Attributes, base: &Key) -> Option<Key> {
        let mut key = Key::read(&index.key, attributes)?;
        if index.local {
            // A local index is stored with the item collection of its table, whose hash key it shares.
            key.token = base.token;
        }
        key.bytes.extend_from_slice(&base.bytes);
        Some(key)
    }
}

/// The type of an empty key value: `string` or `binary`; `None` if it is not empty.
pub fn empty_key_type(value: &AttributeValue) -> Option<&'static str> {
    match value {
        AttributeValue::S(text) if text.is_empty() => Some("string"),
        AttributeValue::B(bytes) if bytes.is_empty() => Some("binary"),
        _ => None,
    }
}

/// The bytes a key value counts for against the limits of keys; numbers never reach them.
pub fn key_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Whether the values of an index's key are neither empty nor too long. Writes ensure that; items that are older than
/// the index may violate it, and have no entry in it.
fn may_be_indexed(index: &Index, item: &impl Attributes) -> bool {
    let fits = |attributes: &[KeyAttribute], limit: usize| {
        let mut size = 0;
        let values = attributes
            .iter()
            .filter_map(|attribute| item.attribute(&attribute.name));
        for value in values {
            if empty_key_type(&value).is_some() {
                return false;
            }
            size += key_size(&value);
        }
        size <= limit
    };
    fits(&index.key.hash, limits::HASH_KEY_SIZE) && fits(&index.key.range, limits::RANGE_KEY_SIZE)
}

/// Checks an item's values for an index's key: types, and no empty or oversized value.
pub fn check_entry(index: &Index, item: &impl Attributes, updated: bool) -> Result<(), ApiError> {
    for attribute in index.key.attributes() {
        let Some(value) = item.attribute(&attribute.name) else {
            continue;
        };
        if !attribute.kind.fits(&value) {
            return Err(if updated {
                ApiError::validation(
                    "The update expression attempted to update the secondary index key to unsupported type",
                )
            } else {
                ApiError::index_key_type(&attribute.name, attribute.kind.name(), value.type_name(), &index.name)
            });
        }
        if let Some(kind) = empty_key_type(&value) {
            return Err(if updated {
                ApiError::empty_index_key_update(kind)
            } else {
                ApiError::empty_index_key(&attribute.name, kind, &index.name)
            });
        }
    }
    for (attributes, limit, error) in [
        (
            &index.key.hash,
            limits::HASH_KEY_SIZE,
            ApiError::hash_key_too_long as fn() -> ApiError,
        ),
        (&index.key.range, limits::RANGE_KEY_SIZE, ApiError::range_key_too_long),
    ] {
        let size: usize = attributes
            .iter()
            .filter_map(|attribute| item.attribute(&attribute.name))
            .map(|value| key_size(&value))
            .sum();
        if size > limit {
            return Err(error());
        }
    }
    Ok(())
}

/// The types of key attributes.
pub fn kinds(attributes: &[KeyAttribute]) -> impl ExactSizeIterator<Item = ScalarType> {
    attributes.iter().map(|attribute| attribute.kind)
}

/// The token of encoded hash attributes: the first 64 bits of the MD5 of `Outliers` and the values' bytes. Ascending
/// tokens are the order of a Scan (recorded of AWS: the sample table ProductCatalog is scanned as 205, 203, 202, 201,
/// 204, 102, 103, 101; other keys as dynalite scans them).
pub fn token<I>(kinds: I, encoded: &[u8]) -> u64
where
    I: IntoIterator<Item = ScalarType, IntoIter: ExactSizeIterator>,
{
    let mut kinds = kinds.into_iter().peekable();
    if kinds.len() == 1
        && let Some(raw) = kinds.peek().and_then(|kind| plain_value(*kind, encoded))
    {
        return digest::md5_start(TOKEN_PREFIX, raw);
    }
    let mut raw = KeyBytes::new();
    let mut rest = encoded;
    for kind in kinds {
        rest = take_value(kind, rest, &mut raw);
    }
    digest::md5_start(TOKEN_PREFIX, &raw)
}

/// Returns the token of a partition key, if the value is a string, number or binary value: the position of its items in the
/// table. [`PartitionHeat`](crate::monitoring::PartitionHeat) has the tokens of a partition.
///
/// ```
/// use dynatwin_engine::attributes::{AttributeValue, partition_token};
///
/// let token = |id: &str| partition_token(&AttributeValue::N(id.parse().unwrap())).unwrap();
/// assert!(["205", "203", "202", "201", "204", "102", "103", "101"].is_sorted_by_key(|id| token(id)));
/// ```
pub fn partition_token(value: &AttributeValue) -> Option<u64> {
    let kinds = [ScalarType::S, ScalarType::N, ScalarType::B];
    let kind = kinds.into_iter().find(|kind| kind.fits(value))?;
    let mut encoded = KeyBytes::new();
    push_component(&mut encoded, value);
    Some(token([kind], &encoded))
}

/// The bytes of the value that a component encodes, if they appear in it unescaped.
fn plain_value(kind: ScalarType, component: &[u8]) -> Option<&[u8]> {
    match (kind, component) {
        (ScalarType::N, _) => Some(number_value(component)),
        (_, [raw @ .., 0, 0]) if !has_zero(raw) => Some(raw),
        _ => None,
    }
}

/// Appends the bytes of the value that the first component encodes; returns the rest after the component.
fn take_value<'a>(kind: ScalarType, encoded: &'a [u8], raw: &mut KeyBytes) -> &'a [u8] {
    if kind == ScalarType::N {
        let end = match encoded.first() {
            Some(0..NUMBER_ZERO) => NEGATIVE_END,
            _ => POSITIVE_END,
        };
        let length = encoded
            .iter()
            .skip(1)
            .position(|byte| *byte == end)
            .map_or(0, |at| at + 2);
        let (component, rest) = encoded.split_at_checked(length).unwrap_or((encoded, &[]));
        raw.extend_from_slice(number_value(component));
        return rest;
    }
    let mut rest = encoded;
    loop {
        match rest {
            [0, 0xff, after @ ..] => {
                raw.push(0);
                rest = after;
            }
            [0, _, after @ ..] => return after,
            [byte, after @ ..] => {
                raw.push(*byte);
                rest = after;
            }
            [] => return rest,
        }
    }
}

/// A number's component without the end that the service's own encoding does not have.
fn number_value(component: &[u8]) -> &[u8] {
    match component {
        [value @ .., POSITIVE_END] => value,
        [value @ .., NEGATIVE_END] if value.len() > NUMBER_BYTES => value,
        _ => component,
    }
}

fn push_within(bytes: &mut KeyBytes, attributes: &[KeyAttribute], map: &Map, limit: usize) -> Option<()> {
    let mut size = 0;
    for attribute in attributes {
        let raw = match (attribute.kind, map.get(&attribute.name)?) {
            (ScalarType::S, AttributeValue::S(text)) => text.as_bytes(),
            (ScalarType::B, AttributeValue::B(raw)) => raw,
            (ScalarType::N, AttributeValue::N(number)) => {
                push_number(bytes, *number);
                continue;
            }
            _ => return None,
        };
        size += raw.len();
        if raw.is_empty() || size > limit {
            return None;
        }
        push_terminated(bytes, raw);
    }
    Some(())
}

fn push_all(bytes: &mut KeyBytes, attributes: &[KeyAttribute], item: &impl Attributes) -> Option<()> {
    for attribute in attributes {
        let value = item.attribute(&attribute.name)?;
        if !attribute.kind.fits(&value) {
            return None;
        }
        push_component(bytes, &value);
    }
    Some(())
}

pub fn push_component(bytes: &mut KeyBytes, value: &AttributeValue) {
    match value {
        AttributeValue::S(text) => push_terminated(bytes, text.as_bytes()),
        AttributeValue::B(raw) => push_terminated(bytes, raw),
        AttributeValue::N(number) => push_number(bytes, *number),
        _ => {}
    }
}

/// Appends the beginning of a component that all strings or binaries with this prefix share.
pub fn push_prefix(bytes: &mut KeyBytes, prefix: &[u8]) {
    if !has_zero(prefix) {
        bytes.extend_from_slice(prefix);
        return;
    }
    for &byte in prefix {
        bytes.push(byte);
        if byte == 0 {
            bytes.push(0xff);
        }
    }
}

/// Whether there is a zero byte. Keys are short, so each step examines eight bytes; the last steps may overlap.
fn has_zero(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_in = |chunk: &[u8; 8]| {
        let word = u64::from_ne_bytes(*chunk);
        word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
    };
    match bytes.last_chunk() {
        Some(last) => bytes.as_chunks().0.iter().any(zero_in) || zero_in(last),
        None => bytes.contains(&0),
    }
}

/// A zero byte is followed by 0xff inside a component and by 0 at its end, which sorts before anything longer.
fn push_terminated(bytes: &mut KeyBytes, raw: &[u8]) {
    push_prefix(bytes, raw);
    bytes.extend_from_slice(&[0, 0]);
}

/// The first byte of zero: negative numbers have lower ones.
const NUMBER_ZERO: u8 = 0x80;
/// The end of a component of zero or a positive number.
const POSITIVE_END: u8 = 0;
/// The end of a component of a negative number.
const NEGATIVE_END: u8 = 102;
/// The most bytes that the digits of a number take.
const NUMBER_BYTES: usize = 20;

/// Sign and exponent in one byte, then one for each pair of digits, as the service hashes numbers (inferred from the order
/// in which they are scanned): `192 + e` and pairs plus 1, or for a negative number `63 - e` and 101 minus pairs. The end
/// prevents one number from being the prefix of another.
fn push_number(bytes: &mut KeyBytes, number: Number) {
    if number.is_zero() {
        bytes.extend_from_slice(&[NUMBER_ZERO, POSITIVE_END]);
        return;
    }
    let mut digits = [0; 40];
    let count = number.significant_digits(&mut digits);
    let digits = &digits[..count];
    // The number of digits before the decimal point. Pairs are aligned to it, so an odd number begins with a single digit.
    let point = number.magnitude() + 1;
    let exponent = (point + 1) >> 1;
    // Exponents go from -64 to 63, so both fit a byte.
    let first = if number.is_negative() {
        63 - exponent
    } else {
        192 + exponent
    };
    bytes.push(first as u8);
    let (single, pairs) = digits.split_at(usize::from(point % 2 != 0));
    let mut push = |pair: u8| bytes.push(if number.is_negative() { 101 - pair } else { pair + 1 });
    single.iter().for_each(|digit| push(digit - b'0'));
    for pair in pairs.chunks(2) {
        push((pair[0] - b'0') * 10 + pair.get(1).map_or(0, |digit| digit - b'0'));
    }
    bytes.push(if number.is_negative() {
        NEGATIVE_END
    } else {
        POSITIVE_END
    });
}

/// The first key after all keys with this prefix; `None` if there is no such key.
pub fn after_prefix(prefix: &[u8]) -> Option<KeyBytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut bytes = KeyBytes::from_slice(&prefix[..=last]);
    bytes[last] += 1;
    Some(bytes)
}

/// The key attributes of an item, for `LastEvaluatedKey` and its like: the table's, and the index's if one was read.
pub fn key_attributes(item: &Item, table: &KeySchema, index: Option<&Index>) -> Map {
    let wanted = |name: &str| table.contains(name) || index.is_some_and(|index| index.key.contains(name));
    item.filter(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ScalarType;

    fn encoded(value: &AttributeValue) -> KeyBytes {
        let mut bytes = KeyBytes::new();
        push_component(&mut bytes, value);
        bytes
    }

    fn ascending(values: &[AttributeValue]) {
        for pair in values.windows(2) {
            assert!(encoded(&pair[0]) < encoded(&pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn the_order_of_bytes_is_the_order_of_values() {
        ascending(
            &[
                "", "\0", "\0\0", "\0a", "\u{1}", "a", "a\0", "a\0b", "ab", "b", "é", "😀",
            ]
            .map(AttributeValue::string),
        );
        ascending(
            &[&[][..], &[0], &[0, 0], &[0, 255], &[1], &[255], &[255, 0], &[255, 255]]
                .map(|raw| AttributeValue::B(raw.into())),
        );
        let numbers = [
            "-9.9e125",
            "-100",
            "-99.5",
            "-99",
            "-11",
            "-10",
            "-1.01",
            "-1",
            "-0.5",
            "-1e-130",
            "0",
            "1e-130",
            "0.5",
            "1",
            "1.01",
            "10",
            "11",
            "99",
            "99.5",
            "100",
            "12345678901234567890123456789012345678",
            "9.9e125",
        ];
        ascending(&numbers.map(|text| AttributeValue::N(text.parse().unwrap())));
    }

    #[test]
    fn tokens_are_of_the_values_bytes() {
        let text = |text: &str| (ScalarType::S, AttributeValue::string(text), text.as_bytes().to_vec());
        let number =
            |text: &str, bytes: &[u8]| (ScalarType::N, AttributeValue::N(text.parse().unwrap()), bytes.to_vec());
        let binary = |raw: &[u8]| (ScalarType::B, AttributeValue::B(raw.into()), raw.to_vec());
        // No end where all twenty bytes of digits are taken: a single digit, and the last one before a zero.
        let longest = [&[63 - 19, 101 - 9][..], &[101 - 99; 18], &[101 - 90]].concat();
        // An end where nineteen bytes of digits are taken.
        let long = [&[63 - 19, 101 - 9][..], &[101 - 99; 18], &[102]].concat();
        let long_of_pairs = [&[63 - 19][..], &[101 - 99; 19], &[102]].concat();
        let lines = [
            vec![text("a")],
            vec![text("")],
            vec![text("\0")],
            vec![text("a\0b\0\0")],
            vec![text(&"x".repeat(2048))],
            vec![binary(&[0, 0xff, 0, 0])],
            vec![binary(&[102, 0])],
            vec![number("0", &[0x80])],
            vec![number("1", &[193, 2])],
            vec![number("100", &[194, 2])],
            vec![number("205", &[194, 3, 6])],
            vec![number("1.5", &[193, 2, 51])],
            vec![number("0.25", &[192, 26])],
            vec![number("-1", &[62, 100, 102])],
            vec![number("-15.5", &[62, 86, 51, 102])],
            vec![number("1e-130", &[128, 2])],
            vec![number("-1e-130", &[127, 100, 102])],
            vec![number("9.9e125", &[255, 100])],
            vec![number("-9.9e125", &[0, 2, 102])],
            vec![number(&format!("-{}.9", "9".repeat(37)), &longest)],
            vec![number(&format!("-{}", "9".repeat(37)), &long)],
            vec![number(&format!("-{}", "9".repeat(38)), &long_of_pairs)],
            vec![
                text("a\0"),
                number("-1", &[62, 100, 102]),
                number("7", &[193, 8]),
                text("b"),
                binary(&[0]),
            ],
        ];
        for line in lines {
            let mut bytes = KeyBytes::new();
            line.iter().for_each(|(_, value, _)| push_component(&mut bytes, value));
            let raw: Vec<u8> = line.iter().flat_map(|(.., raw)| raw.clone()).collect();
            let expect = digest::md5_start(TOKEN_PREFIX, &raw);
            assert_eq!(token(line.iter().map(|(kind, ..)| *kind), &bytes), expect, "{line:?}");
        }
    }

    #[test]
    fn zeros_are_found() {
        for length in 0..40 {
            for filler in [1, 0x7f, 0x80, 0xff] {
                let mut bytes = vec![filler; length];
                assert!(!has_zero(&bytes), "{filler} {length}");
                for at in 0..length {
                    bytes[at] = 0;
                    assert!(has_zero(&bytes), "{filler} {length} {at}");
                    bytes[at] = filler;
                }
            }
        }
    }

    #[test]
    fn after_a_prefix() {
        assert_eq!(after_prefix(b"ab").as_deref(), Some(&b"ac"[..]));
        assert_eq!(after_prefix(&[1, 0xff]).as_deref(), Some(&[2][..]));
        assert_eq!(after_prefix(&[0xff, 0xff]), None);
    }

    #[test]
    fn keys_are_checked() {
        let schema = KeySchema::new(
            [KeyAttribute {
                name: "pk".into(),
                kind: ScalarType::S,
            }],
            [KeyAttribute {
                name: "sk".into(),
                kind: ScalarType::S,
            }],
        );
        let map = |entries: &[(&str, &str)]| -> Map {
            entries
                .iter()
                .map(|(name, text)| ((*name).into(), AttributeValue::string(text)))
                .collect()
        };
        let long = "x".repeat(2049);
        for (entries, expect) in [
            (&[("pk", "a")][..], "The provided key element does not match the schema"),
            (
                &[("pk", "a"), ("sk", "b"), ("x", "c")],
                "The provided key element does not match the schema",
            ),
            (
                &[("pk", ""), ("sk", "b")],
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
            ),
            (
                &[("pk", &long), ("sk", "b")],
                "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
            ),
            (
                &[("pk", "a"), ("sk", &long[..1025])],
                "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
            ),
        ] {
            let error = Key::of_key(&schema, &map(entries)).unwrap_err();
            assert_eq!(error.message(), Some(expect));
        }
        assert!(Key::of_key(&schema, &map(&[("pk", &long[..2048]), ("sk", &long[..1024])])).is_ok());
        let error = Key::of_item(&schema, &map(&[("pk", "a")])).unwrap_err();
        assert_eq!(
            error.message(),
            Some("One or more parameter values were invalid: Missing the key sk in the item")
        );
    }

    #[test]
    fn equal_numbers_have_equal_keys() {
        let schema = KeySchema::new(
            [KeyAttribute {
                name: "pk".into(),
                kind: ScalarType::N,
            }],
            [],
        );
        let key = |text: &str| Map::from_entries(vec![("pk".into(), AttributeValue::N(text.parse().unwrap()))]);
        assert_eq!(
            Key::of_key(&schema, &key("1")).unwrap(),
            Key::of_key(&schema, &key("1.0")).unwrap()
        );
    }
}
