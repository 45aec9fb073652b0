//! Attribute values and maps.

use std::borrow::Cow;
use std::cmp::Ordering;

use compact_str::CompactString;

use crate::number::Number;
use crate::sort;

/// The name of an attribute. Short names, as nearly all are, are stored inline.
pub type Name = CompactString;
/// The text of an `S`.
pub type Text = CompactString;

/// A value of an attribute: one of DynamoDB's ten types.
///
/// Sets are sorted and free of duplicates: the constructor sorts ([`AttributeValue::string_set`] and the like).
///
/// ```
/// use dynatwin_engine::attributes::AttributeValue;
///
/// let tags = AttributeValue::string_set(vec!["b".into(), "a".into()]).unwrap();
/// assert_eq!(tags.type_name(), "SS");
/// assert_eq!(tags, AttributeValue::string_set(vec!["a".into(), "b".into()]).unwrap());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// A string, sent as `{"S": "…"}`.
    S(Text),
    /// A number, sent as `{"N": "…"}`.
    N(Number),
    /// A binary value, sent as `{"B": "…"}` in base64.
    B(Box<[u8]>),
    /// A boolean, sent as `{"BOOL": true}`.
    Bool(bool),
    /// The null value, sent as `{"NULL": true}`.
    Null,
    /// A list, sent as `{"L": […]}`.
    L(Vec<AttributeValue>),
    /// A map, sent as `{"M": {…}}`.
    M(Map),
    /// String set, sorted by bytes.
    Ss(Vec<Text>),
    /// Number set, sorted by value.
    Ns(Vec<Number>),
    /// Binary set, sorted by bytes.
    Bs(Vec<Box<[u8]>>),
}

/// The types of attribute values, in the order in which the service's texts have no order: ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    S,
    N,
    B,
    Ss,
    Ns,
    Bs,
    Bool,
    Null,
    L,
    M,
}

impl Type {
    /// The name on the wire: `S`, `BOOL`, …
    pub const fn name(self) -> &'static str {
        match self {
            Type::S => "S",
            Type::N => "N",
            Type::B => "B",
            Type::Ss => "SS",
            Type::Ns => "NS",
            Type::Bs => "BS",
            Type::Bool => "BOOL",
            Type::Null => "NULL",
            Type::L => "L",
            Type::M => "M",
        }
    }

    /// The type with this name on the wire.
    pub fn from_name(name: &str) -> Option<Type> {
        use Type::*;
        [S, N, B, Ss, Ns, Bs, Bool, Null, L, M]
            .into_iter()
            .find(|candidate| candidate.name() == name)
    }
}

impl AttributeValue {
    /// Whether it is or contains a number set. The depth of values is bounded, which bounds the recursion.
    pub fn has_number_sets(&self) -> bool {
        match self {
            AttributeValue::Ns(_) => true,
            AttributeValue::L(list) => list.iter().any(AttributeValue::has_number_sets),
            AttributeValue::M(map) => map.iter().any(|(_, value)| value.has_number_sets()),
            _ => false,
        }
    }

    /// A value of type `S` with this text.
    pub fn string(text: &str) -> AttributeValue {
        AttributeValue::S(Text::new(text))
    }

    /// A string set from members in any order; `None` if one repeats.
    pub fn string_set(mut members: Vec<Text>) -> Option<AttributeValue> {
        sort::sort(&mut members);
        members
            .is_sorted_by(|left, right| left < right)
            .then_some(AttributeValue::Ss(members))
    }

    /// A number set from members in any order; `None` if one repeats by value.
    pub fn number_set(mut members: Vec<Number>) -> Option<AttributeValue> {
        sort::sort(&mut members);
        members
            .is_sorted_by(|left, right| left < right)
            .then_some(AttributeValue::Ns(members))
    }

    /// A binary set from members in any order; `None` if one repeats.
    pub fn binary_set(mut members: Vec<Box<[u8]>>) -> Option<AttributeValue> {
        sort::sort(&mut members);
        members
            .is_sorted_by(|left, right| left < right)
            .then_some(AttributeValue::Bs(members))
    }

    pub(crate) const fn kind(&self) -> Type {
        match self {
            AttributeValue::S(_) => Type::S,
            AttributeValue::N(_) => Type::N,
            AttributeValue::B(_) => Type::B,
            AttributeValue::Bool(_) => Type::Bool,
            AttributeValue::Null => Type::Null,
            AttributeValue::L(_) => Type::L,
            AttributeValue::M(_) => Type::M,
            AttributeValue::Ss(_) => Type::Ss,
            AttributeValue::Ns(_) => Type::Ns,
            AttributeValue::Bs(_) => Type::Bs,
        }
    }

    /// Whether it is of a type that keys can have.
    pub const fn can_be_key(&self) -> bool {
        matches!(self.kind(), Type::S | Type::N | Type::B)
    }

    /// The type's name on the wire.
    pub const fn type_name(&self) -> &'static str {
        self.kind().name()
    }

    /// How `<`, `<=`, `>` and `>=` order two values: by value within `S`, `N` and `B`, and not at all otherwise.
    pub fn partial_order(&self, other: &AttributeValue) -> Option<Ordering> {
        match (self, other) {
            (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
            (AttributeValue::N(left), AttributeValue::N(right)) => Some(left.cmp(right)),
            (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    /// The nesting depth of maps and lists: 0 for a scalar or a set, 1 for a list of scalars.
    pub fn depth(&self) -> usize {
        match self {
            AttributeValue::L(list) => 1 + list.iter().map(AttributeValue::depth).max().unwrap_or(0),
            AttributeValue::M(map) => 1 + map.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// Named values, sorted by name: the inside of an item and of an `M`.
///
/// ```
/// use dynatwin_engine::attributes::{AttributeValue, Map};
///
/// let mut map = Map::new();
/// map.insert("b".into(), AttributeValue::Null);
/// map.insert("a".into(), AttributeValue::Bool(true));
/// assert_eq!(map.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(map.get("b"), Some(&AttributeValue::Null));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map(pub(super) Vec<(Name, AttributeValue)>);

/// Entries up to which a map is walked and not searched.
const SMALL: usize = 8;

impl Map {
    /// A map without any entries.
    pub const fn new() -> Map {
        Map(Vec::new())
    }

    /// An empty map with room for `count` entries.
    pub fn with_capacity(count: usize) -> Map {
        Map(Vec::with_capacity(count))
    }

    /// Where an entry is. Small maps are walked: telling names apart by their lengths is cheaper than ordering them.
    fn position(&self, name: &str) -> Option<usize> {
        if self.0.len() <= SMALL {
            return self.0.iter().position(|(candidate, _)| candidate == name);
        }
        self.find(name).ok()
    }

    /// The position of an entry, or where to insert it.
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name))
    }

    /// The value under `name`; `None` if there is none.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.position(name).map(|at| &self.0[at].1)
    }

    /// The value under `name`, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AttributeValue> {
        self.position(name).map(|at| &mut self.0[at].1)
    }

    /// Puts `value` under `name`; returns the previous value.
    pub fn insert(&mut self, name: Name, value: AttributeValue) -> Option<AttributeValue> {
        match self.find(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Removes and returns the value under `name`.
    pub fn remove(&mut self, name: &str) -> Option<AttributeValue> {
        self.find(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Whether there is something under `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Iterates over the entries, sorted by name.
    pub fn iter(&self) -> std::slice::Iter<'_, (Name, AttributeValue)> {
        self.0.iter()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The map of entries in any order; of several with one name the last one stays.
    pub fn from_entries(entries: Vec<(Name, AttributeValue)>) -> Map {
        if entries.is_sorted_by(|left, right| left.0 < right.0) {
            return Map(entries);
        }
        let mut map = Map(entries);
        sort::sort_by(&mut map.0, |left, right| left.0.cmp(&right.0)); // stable: the last of equals is the last written
        if map.0.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            map.0.reverse();
            map.0.dedup_by(|earlier, kept| earlier.0 == kept.0);
            map.0.reverse();
        }
        map
    }
}

impl FromIterator<(Name, AttributeValue)> for Map {
    fn from_iter<I: IntoIterator<Item = (Name, AttributeValue)>>(entries: I) -> Map {
        Map::from_entries(entries.into_iter().collect())
    }
}

impl<'a> From<&'a Map> for Cow<'a, Map> {
    fn from(map: &'a Map) -> Cow<'a, Map> {
        Cow::Borrowed(map)
    }
}

impl From<Map> for Cow<'_, Map> {
    fn from(map: Map) -> Self {
        Cow::Owned(map)
    }
}

impl IntoIterator for Map {
    type Item = (Name, AttributeValue);
    type IntoIter = std::vec::IntoIter<(Name, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Name, AttributeValue);
    type IntoIter = std::slice::Iter<'a, (Name, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_names_wins() {
        let entries = [("b", "1"), ("a", "2"), ("b", "3"), ("a", "4")];
        let map: Map = entries
            .into_iter()
            .map(|(name, value)| (name.into(), AttributeValue::string(value)))
            .collect();
        assert_eq!(map.len(), 2);
        assert_eq!(map.get("a"), Some(&AttributeValue::string("4")));
        assert_eq!(map.get("b"), Some(&AttributeValue::string("3")));
    }

    #[test]
    fn the_deepest_member_counts() {
        use AttributeValue as V;
        let map = |values: [V; 2]| V::M(["a", "b"].map(Name::from).into_iter().zip(values).collect());
        let set = || V::string_set(vec!["a".into()]).unwrap();
        let one = || V::L(vec![V::Null, set()]);
        for (value, depth) in [
            (V::Null, 0),
            (set(), 0),
            (V::L(vec![]), 1),
            (V::M(Map::new()), 1),
            (one(), 1),
            (V::L(vec![V::Null, one()]), 2),
            (V::L(vec![one(), V::Null]), 2),
            (map([V::Null, one()]), 2),
            (map([one(), V::Null]), 2),
            (V::L(vec![V::Null, map([one(), V::Null]), one()]), 3),
        ] {
            assert_eq!(value.depth(), depth, "{value:?}");
        }
    }

    #[test]
    fn number_sets_are_found_at_any_depth() {
        use AttributeValue as V;
        let numbers = || V::number_set(vec!["1".parse().unwrap()]).unwrap();
        let map = |values: [V; 2]| V::M(["a", "b"].map(Name::from).into_iter().zip(values).collect());
        for (value, expect) in [
            (V::Null, false),
            (V::string_set(vec!["a".into()]).unwrap(), false),
            (V::binary_set(vec![Box::default()]).unwrap(), false),
            (V::N("1".parse().unwrap()), false),
            (V::L(vec![V::Null]), false),
            (numbers(), true),
            (V::L(vec![numbers(), V::Null]), true),
            (V::L(vec![V::Null, numbers()]), true),
            (map([V::Null, numbers()]), true),
            (map([V::L(vec![numbers()]), V::Null]), true),
            (map([map([V::Null, numbers()]), V::Null]), true),
            (V::L(vec![V::L(vec![numbers()])]), true),
            (V::L(vec![V::Null, map([numbers(), V::Null])]), true),
            (map([V::Null, V::Null]), false),
        ] {
            assert_eq!(value.has_number_sets(), expect, "{value:?}");
        }
    }

    /// A map is walked if it is small, and searched if it is not.
    #[test]
    fn entries_are_found_in_maps_of_any_size() {
        for size in 0..=2 * SMALL {
            let name = |at: usize| Name::from(format!("n{at:02}"));
            let number = |at: usize| AttributeValue::N(Number::from(at as i64));
            let mut map: Map = (0..size).rev().map(|at| (name(at), number(at))).collect();
            for at in 0..size {
                assert_eq!(map.get(&name(at)), Some(&number(at)), "{size} {at}");
            }
            assert_eq!((map.get("n"), map.get("n99"), map.len()), (None, None, size));
            if size > 0 {
                assert_eq!(map.remove(&name(size / 2)), Some(number(size / 2)));
                assert_eq!((map.get(&name(size / 2)), map.len()), (None, size - 1));
                assert_eq!(map.insert(name(size / 2), AttributeValue::Null), None);
                assert_eq!(
                    map.insert(name(size / 2), AttributeValue::Bool(true)),
                    Some(AttributeValue::Null)
                );
            }
            assert!(map.iter().map(|(name, _)| name).is_sorted());
        }
    }

    #[test]
    fn values_stay_small() {
        assert!(size_of::<AttributeValue>() <= 32, "{}", size_of::<AttributeValue>());
    }

    #[test]
    fn repeats_are_no_set() {
        assert_eq!(AttributeValue::string_set(vec!["a".into(), "a".into()]), None);
        let numbers = ["1", "1.0"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(AttributeValue::number_set(numbers), None);
    }
}
