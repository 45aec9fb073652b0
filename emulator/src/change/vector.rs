//! Vectors: the entry of an item in a vector index, the items that an index rejects, and the distance between two
//! vectors.
//!
//! An index keeps vectors in 32-bit floating point numbers and measures in them; the table keeps every digit. A vector
//! counts as its name and four bytes for each element, where a write and an index are measured; an item's own size is that
//! of its list (docs/behavior: 04 14).

use std::sync::Arc;

use crate::error::ApiError;
use crate::key::{self, Key, KeyBytes};
use crate::limits;
use crate::number::Number;
use crate::schema::{Definition, Distance, KeySchema, Projection, SearchAttribute, VectorIndex};
use crate::value::size;
use crate::value::{AttributeValue, Item};

const ELEMENT: usize = 4;

/// The entry of an item in a vector index.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorEntry {
    item: Item,
    vector: Arc<[f32]>,
    size: usize,
}

impl VectorEntry {
    /// The entry of an item, or of its projection, whose attribute `name` holds the vector.
    pub fn new(name: &str, item: Item, vector: Arc<[f32]>) -> VectorEntry {
        let size = item.size() - vector_in(name, &item) + compact_size(name, vector.len());
        VectorEntry { item, vector, size }
    }

    /// The entry of an item with a vector, which is charged for this many bytes.
    pub fn of_size(item: Item, vector: Arc<[f32]>, size: usize) -> VectorEntry {
        VectorEntry { item, vector, size }
    }

    /// The stored item. The vector's attribute may be present or not; do not read it here.
    pub fn item(&self) -> &Item {
        &self.item
    }

    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// The bytes it is charged and counted for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether both entries are equal as seen through an index over the attribute `name`.
    pub fn same_view(&self, other: &VectorEntry, name: &str) -> bool {
        let rest = |entry: &VectorEntry| entry.item.filter(|other| other != name);
        self.vector == other.vector && (self.item.same(&other.item) || rest(self) == rest(other))
    }
}

/// The bytes of a vector in an item.
fn vector_in(name: &str, item: &Item) -> usize {
    item.get(name).map_or(0, |value| size::of_attribute(name, &value))
}

fn compact_size(name: &str, dimensions: usize) -> usize {
    name.len() + ELEMENT * dimensions
}

/// The vector in a value, if it has this many elements.
fn read(value: &AttributeValue, dimensions: usize) -> Option<Arc<[f32]>> {
    let AttributeValue::L(list) = value else { return None };
    if list.len() != dimensions {
        return None;
    }
    let element = |element: &AttributeValue| match element {
        AttributeValue::N(number) => Some(number.to_f32()).filter(|number| number.is_finite()),
        _ => None,
    };
    list.iter().map(element).collect()
}

/// The entry of an item and its key. `None` if the item has no vector, or lacks the attribute that partitions the
/// index; items written before the index was created may hold values of other types.
pub fn entry(index: &VectorIndex, item: &Item, table: &KeySchema, base: &Key) -> Option<(Key, VectorEntry)> {
    let vector = read(&item.get(&index.attribute)?, index.dimensions)?;
    let key = place(index, item, base)?;
    let kept = if index.projection == Projection::All {
        item.clone()
    } else {
        Item::new(&item.filter(|name| name != index.attribute && index.projects(name, table)))
    };
    Some((key, VectorEntry::new(&index.attribute, kept, vector)))
}

/// Entries lie by the attribute that divides the index, then by the table's key.
fn place(index: &VectorIndex, item: &Item, base: &Key) -> Option<Key> {
    let Some(hash) = index.hash() else {
        return Some(base.clone());
    };
    let value = item.get(&hash.name)?;
    let sound = hash.kind.fits(&value)
        && key::empty_key_type(&value).is_none()
        && key::key_size(&value) <= limits::HASH_KEY_SIZE;
    sound.then(|| {
        let mut key = partition(hash, &value);
        key.bytes.extend_from_slice(&base.bytes);
        key
    })
}

/// The token of all entries with this value of the dividing attribute, and the bytes with which their keys begin.
pub fn partition(hash: &SearchAttribute, value: &AttributeValue) -> Key {
    let mut bytes = KeyBytes::new();
    key::push_component(&mut bytes, value);
    let token = key::token([hash.kind], &bytes);
    Key { token, bytes }
}

/// The bytes that a write of an item is charged for on its table: a vector that an index accepts counts in the index's
/// format.
pub fn written_size(definition: &Definition, item: &Item) -> usize {
    let mut size = item.size();
    for (at, index) in definition.vectors.iter().enumerate() {
        let name = &index.attribute;
        let earlier = definition.vectors[..at].iter().any(|other| other.attribute == *name);
        if !earlier
            && item
                .get(name)
                .is_some_and(|value| read(&value, index.dimensions).is_some())
        {
            size = size - vector_in(name, item) + compact_size(name, index.dimensions);
        }
    }
    size
}

/// Checks that an index accepts an item that is written.
pub fn check(index: &VectorIndex, item: &Item, updated: bool) -> Result<(), ApiError> {
    if let Some(value) = item.get(&index.attribute) {
        check_vector(index, &value)?;
    }
    let mut attributes = index.search.iter();
    attributes.try_for_each(|attribute| match item.get(&attribute.name) {
        Some(value) => check_attribute(index, attribute, &value, updated),
        None => Ok(()),
    })
}

fn check_vector(index: &VectorIndex, value: &AttributeValue) -> Result<(), ApiError> {
    let (name, attribute) = (&index.name, &index.attribute);
    let AttributeValue::L(list) = value else {
        return Err(ApiError::vector_invalid(format_args!(
            "Invalid type for parameter {attribute}, Expected: 32-bit floating point number list IndexName: {name}"
        )));
    };
    if list.len() != index.dimensions {
        return Err(ApiError::vector_invalid(format_args!(
            "Invalid size for parameter {attribute}, Expected: {}, Actual: {} IndexName: {name}",
            index.dimensions,
            list.len()
        )));
    }
    for (at, element) in list.iter().enumerate() {
        match element {
            AttributeValue::N(number) if number.to_f32().is_finite() => {}
            AttributeValue::N(number) => {
                return Err(ApiError::vector_invalid(format_args!(
                    "Invalid value for parameter {attribute}[{at}], Value: {} is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: {name}",
                    scientific(*number)
                )));
            }
            other => {
                return Err(ApiError::vector_invalid(format_args!(
                    "Invalid type for parameter {attribute}[{at}], Expected: 32-bit floating point number, Actual: {}. IndexName: {name}",
                    other.type_name()
                )));
            }
        }
    }
    Ok(())
}

fn check_attribute(
    index: &VectorIndex,
    attribute: &SearchAttribute,
    value: &AttributeValue,
    updated: bool,
) -> Result<(), ApiError> {
    let (name, kind) = (&attribute.name, attribute.kind);
    if !kind.fits(value) {
        return Err(ApiError::vector_invalid(format_args!(
            "Attribute '{name}' type mismatch. Expected: {}, Actual: {}. IndexName: {}",
            kind.name(),
            value.type_name(),
            index.name
        )));
    }
    if !attribute.hash {
        return Ok(());
    }
    match key::empty_key_type(value) {
        Some(kind) if updated => Err(ApiError::empty_index_key_update(kind)),
        Some(kind) => Err(ApiError::empty_index_key(name, kind, &index.name)),
        None if key::key_size(value) > limits::HASH_KEY_SIZE => Err(ApiError::hash_key_too_long()),
        None => Ok(()),
    }
}

/// A number far from zero, as one writes it.
fn scientific(number: Number) -> String {
    let mut digits = [0; 40];
    let count = number.significant_digits(&mut digits);
    let digits = String::from_utf8_lossy(&digits[..count]);
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let sign = if number.is_negative() { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{}", number.magnitude())
}

/// The proximity of two vectors of equal length, in 32-bit arithmetic. On overflow, and if the length of a vector for
/// `COSINE` underflows, it is computed in 64 bits and clamped to the range of scores.
pub fn score(distance: Distance, left: &[f32], right: &[f32]) -> f32 {
    let score = match distance {
        Distance::DotProduct => sum(left, right, |one, other| one * other),
        Distance::Euclidean => sum(left, right, |one, other| (one - other) * (one - other)).sqrt(),
        Distance::Cosine => match norm(left) * norm(right) {
            0.0 => 1.0,
            norms => 1.0 - sum(left, right, |one, other| one * other) / norms,
        },
    };
    let score = if score.is_finite() {
        score
    } else {
        wide_score(distance, left, right).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
    };
    match distance {
        // What is rounded must not make one vector nearer to another than to itself.
        Distance::Cosine => score.clamp(0.0, 2.0),
        Distance::DotProduct | Distance::Euclidean => score,
    }
}

fn sum(left: &[f32], right: &[f32], of: impl Fn(f32, f32) -> f32) -> f32 {
    left.iter().zip(right).map(|(one, other)| of(*one, *other)).sum()
}

/// The length of a vector; NaN if its square overflows or underflows, so that no product with it looks finite.
fn norm(vector: &[f32]) -> f32 {
    let square = sum(vector, vector, |one, other| one * other);
    if square.is_normal() || vector.iter().all(|element| *element == 0.0) {
        square.sqrt()
    } else {
        f32::NAN
    }
}

fn wide_score(distance: Distance, left: &[f32], right: &[f32]) -> f64 {
    let pairs = || {
        left.iter()
            .zip(right)
            .map(|(one, other)| (f64::from(*one), f64::from(*other)))
    };
    let products = |vector: &[f32]| vector.iter().map(|one| f64::from(*one).powi(2)).sum::<f64>();
    let dot = || pairs().map(|(one, other)| one * other).sum::<f64>();
    match distance {
        Distance::DotProduct => dot(),
        Distance::Euclidean => pairs().map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt(),
        Distance::Cosine => match products(left).sqrt() * products(right).sqrt() {
            0.0 => 1.0,
            norms => 1.0 - dot() / norms,
        },
    }
}

/// An element as the index returns it: the shortest decimal that parses to it, always with a fraction.
pub fn shown(element: f32) -> String {
    let text = element.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// Whether the first of two scores ranks before the second.
pub fn nearer(distance: Distance, one: f32, other: f32) -> std::cmp::Ordering {
    match distance {
        Distance::DotProduct => other.total_cmp(&one),
        Distance::Cosine | Distance::Euclidean => one.total_cmp(&other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[test]
    fn scores() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        for (distance, left, right, expect) in [
            (Distance::Cosine, &[1.0, 0.0][..], &[2.0, 0.0][..], 0.0),
            (Distance::Cosine, &[1.0, 0.0], &[-3.0, 0.0], 2.0),
            (Distance::Cosine, &[1.0, 0.0], &[0.0, 5.0], 1.0),
            (Distance::Cosine, &[1.0, 0.0], &[1.0, 1.0], 1.0 - half),
            (Distance::Cosine, &[1.0, 0.0], &[0.0, 0.0], 1.0),
            (Distance::Cosine, &[0.0, 0.0], &[0.0, 0.0], 1.0),
            (Distance::Cosine, &[3e38, 3e38], &[3e38, 3e38], 0.0),
            (Distance::Cosine, &[3e38, 0.0], &[-1.0, 0.0], 2.0),
            (Distance::Cosine, &[3e38, 3e38], &[3e38, 0.0], 1.0 - half),
            (Distance::Cosine, &[3e38, 3e38], &[0.0, 2.0], 1.0 - half),
            (Distance::Cosine, &[3e38, 0.0], &[0.0, 3e38], 1.0),
            (Distance::Cosine, &[3e38, 3e38], &[0.0, 0.0], 1.0),
            (Distance::Cosine, &[1e-24, 1e-24], &[1e-24, 1e-24], 0.0),
            (Distance::Cosine, &[1e-20, 1e-20], &[1.0, 0.0], 1.0 - half),
            (Distance::Cosine, &[1e-30, 0.0], &[-1e30, 0.0], 2.0),
            (Distance::Cosine, &[1e-30, 0.0], &[0.0, 0.0], 1.0),
            (Distance::Cosine, &[0.1, 0.2, 0.3], &[0.1, 0.2, 0.3], 1.192_092_9e-7),
            (Distance::Euclidean, &[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 0.0),
            (Distance::Euclidean, &[0.0, 0.0], &[3.0, 4.0], 5.0),
            (Distance::Euclidean, &[3e38], &[-3e38], f32::MAX),
            (Distance::Euclidean, &[2e38], &[-1e38], 3e38),
            (Distance::DotProduct, &[1.0, 2.0], &[3.0, 4.0], 11.0),
            (Distance::DotProduct, &[1.0, -2.0], &[3.0, 4.0], -5.0),
            (Distance::DotProduct, &[3e38, 3e38], &[3e38, -3e38], 0.0),
            // A sum that would be different in 64-bit arithmetic.
            (Distance::DotProduct, &[16_777_216.0, 1.0], &[1.0, 1.0], 16_777_216.0),
        ] {
            let found = score(distance, left, right);
            assert!(
                (found - expect).abs() <= f32::EPSILON * expect.abs(),
                "{distance:?} {left:?} {right:?}: {found}"
            );
        }
    }

    #[test]
    fn the_nearest_vector_comes_first() {
        for (distance, expect) in [
            (Distance::Cosine, [-1.0, 0.5, 2.0]),
            (Distance::Euclidean, [-1.0, 0.5, 2.0]),
            (Distance::DotProduct, [2.0, 0.5, -1.0]),
        ] {
            let mut scores = [0.5, 2.0, -1.0];
            scores.sort_by(|one, other| nearer(distance, *one, *other));
            assert_eq!(scores, expect);
        }
    }

    #[test]
    fn elements_and_numbers_as_they_are_shown() {
        for (element, expect) in [
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (0.1, "0.1"),
            (16_777_216.0, "16777216.0"),
            (1e-7, "0.0000001"),
        ] {
            assert_eq!(shown(element), expect);
        }
        for (number, expect) in [
            ("1e39", "1e39"),
            ("-3.5e38", "-3.5e38"),
            ("340282360000000000000000000000000000000", "3.4028236e38"),
        ] {
            assert_eq!(scientific(number.parse().unwrap()), expect);
        }
    }

    #[test]
    fn a_component_takes_four_bytes() {
        let entry = VectorEntry::new("embedding", Item::new(&Map::new()), [1.0, 0.5].into());
        assert_eq!(entry.size(), 9 + 2 * 4);
    }
}
