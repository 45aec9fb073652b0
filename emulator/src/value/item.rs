//! Stored items.

mod packing;

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::hint;
use std::ops::Range;

use smallvec::SmallVec;
use triomphe::ThinArc;

use super::json::{self, JsonAttributes};
use super::size;
use super::{AttributeValue, Map, Name};

pub use packing::{pack, repack, size_class};

/// A stored item: immutable and cheap to clone. It is stored as its JSON on the wire, together with its size, so that it is
/// small and sent by copying; single attributes are decoded on access. A new item has an allocation of its own; `pack` moves
/// items to one that they share.
///
/// ```
/// use dynatwin_engine::attributes::{AttributeValue, Item, Map};
///
/// let item = Item::new(&Map::from_entries(vec![("pk".into(), AttributeValue::string("a"))]));
/// assert_eq!(item.size(), 3);
/// assert_eq!(item.get("pk"), Some(AttributeValue::string("a")));
/// assert_eq!(item.json(), br#"{"pk":{"S":"a"}}"#);
/// ```
#[derive(Clone)]
pub struct Item {
    /// The JSON of one item or of several, each followed by its header. Its own header is the number of items.
    block: ThinArc<u32, u8>,
    /// The position of this item's JSON in the block; 0 only in a block of its own.
    start: u32,
    /// The length of the JSON.
    length: u32,
}

/// An item's size in bytes and, in the highest bit, whether it may contain a number set.
#[derive(Clone, Copy)]
struct Header(u32);

impl Header {
    const NUMBER_SETS: u32 = 1 << 31;
    /// The bytes of a header.
    const LENGTH: usize = 4;

    fn new(size: usize, has_number_sets: bool) -> Header {
        let size = u32::try_from(size).unwrap_or(u32::MAX).min(Header::NUMBER_SETS - 1);
        Header(size | if has_number_sets { Header::NUMBER_SETS } else { 0 })
    }
}

/// The size of a cache line in bytes.
const CACHE_LINE: usize = 64;

/// A thread keeps at most this much memory in which it writes items.
const LARGEST_BUFFER: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Item {
    /// An item of these attributes.
    pub fn new(attributes: &Map) -> Item {
        let header = Header::new(size_of(attributes), has_number_sets(attributes));
        Item::written(header, |out| json::push_map(out, attributes))
    }

    /// An item with the JSON that a function writes. It is written to a buffer of the thread and then copied: its length is
    /// not known before, and a buffer for each item would be allocated and freed.
    #[inline]
    fn written(header: Header, write: impl FnOnce(&mut Vec<u8>)) -> Item {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.clear();
            write(buffer);
            // A request has at most 16 MB.
            let length = buffer.len() as u32;
            buffer.extend_from_slice(&header.0.to_ne_bytes());
            let block = ThinArc::from_header_and_slice(1, buffer);
            buffer.shrink_to(LARGEST_BUFFER);
            Item {
                block,
                start: 0,
                length,
            }
        })
    }

    fn entries(&self) -> JsonAttributes<'_> {
        JsonAttributes::new(self.json())
    }

    /// The attributes, all of them decoded.
    pub fn attributes(&self) -> Map {
        let entries = self.entries().map(|entry| (entry.name(), entry.value()));
        Map(entries.collect())
    }

    /// The attributes with these names, which are sorted, decoded.
    pub fn pick(&self, names: &[&str]) -> Map {
        self.pick_places(names, |_| true).attributes
    }

    /// The attributes with these sorted names, with their positions. Those whose names are `read`, by position,
    /// are decoded; the others are null.
    pub(crate) fn pick_places<'n>(&self, names: &'n [&'n str], read: impl Fn(usize) -> bool) -> PartialItem<'n> {
        if names.is_empty() {
            return PartialItem::default();
        }
        let mut picked = Vec::with_capacity(names.len());
        let mut places = SmallVec::with_capacity(names.len());
        let mut wanted = names.iter();
        let mut next = wanted.next();
        for entry in self.entries() {
            while let Some(name) = next {
                match entry.cmp_name(name) {
                    Ordering::Less => break,
                    Ordering::Equal => {
                        let is_read = read(places.len());
                        let value = if is_read { entry.value() } else { AttributeValue::Null };
                        picked.push(((*name).into(), value));
                        places.push((entry.start, entry.end));
                        next = wanted.next();
                        break;
                    }
                    Ordering::Greater => {
                        places.push((entry.start, entry.start));
                        next = wanted.next();
                    }
                }
            }
            if next.is_none() {
                break;
            }
        }
        let end = self.json().len();
        places.resize(names.len(), (end, end));
        PartialItem {
            names,
            places,
            attributes: Map(picked),
        }
    }

    /// The attributes whose names match, decoded.
    pub fn filter(&self, wanted: impl Fn(&str) -> bool) -> Map {
        let entries = self.entries().filter_map(|entry| {
            let name = entry.name();
            wanted(&name).then(|| (name, entry.value()))
        });
        Map(entries.collect())
    }

    /// Decodes one attribute; `None` if the item does not have it.
    pub fn get(&self, name: &str) -> Option<AttributeValue> {
        let entry = self.entries().find(|entry| entry.is(name))?;
        Some(entry.value())
    }

    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.entries().count()
    }

    /// Whether the item has no attributes.
    pub fn is_empty(&self) -> bool {
        self.entries().next().is_none()
    }

    /// This item with attributes set or removed (`None`), which are sorted by name and among those selected by
    /// it and decoded. All others are copied as they are.
    pub(crate) fn replace(
        &self,
        picked: &PartialItem<'_>,
        changes: &[(&str, Option<Cow<'_, AttributeValue>>)],
    ) -> Item {
        let json = self.json();
        let mut size = self.size();
        let mut picks = picked.names.iter().zip(&picked.places);
        let mut places: SmallVec<[(usize, usize); 4]> = SmallVec::with_capacity(changes.len());
        for (name, new) in changes {
            let place = picks.find(|(other, _)| *other == name);
            let (start, end) = place.map_or((json.len(), json.len()), |(_, place)| *place);
            places.push((start, end));
            if end > start
                && let Some(old) = picked.attributes.get(name)
            {
                size -= size::of_attribute(name, old);
            }
            if let Some(new) = new {
                size += size::of_attribute(name, new);
            }
        }
        let added = changes.iter().filter_map(|(_, new)| new.as_deref());
        let has_number_sets = self.may_have_number_sets() || added.into_iter().any(AttributeValue::has_number_sets);
        Item::written(Header::new(size, has_number_sets), |out| {
            out.push(b'{');
            // The start of the part that has not been copied yet.
            let mut rest = 1;
            for ((name, new), (start, end)) in changes.iter().zip(places) {
                push_kept(out, json, rest, start - 1);
                rest = if end > start { end + 1 } else { rest.max(start) };
                if let Some(new) = new {
                    separate(out);
                    json::push_attribute(out, name, new);
                }
            }
            push_kept(out, json, rest, json.len() - 1);
            out.push(b'}');
        })
    }

    /// The size in bytes, as the service measures it.
    #[inline]
    pub fn size(&self) -> usize {
        (self.header().0 & !Header::NUMBER_SETS) as usize
    }

    #[inline]
    fn header(&self) -> Header {
        let header = self.block.slice.get(self.places().end..).and_then(<[u8]>::first_chunk);
        Header(header.map_or(0, |bytes| u32::from_ne_bytes(*bytes)))
    }

    /// Loads the size into the processor's cache, without waiting for it.
    #[inline]
    pub fn preload_size(&self) {
        hint::black_box(self.block.header.header);
        hint::black_box(self.block.slice.get(self.places().end).copied());
    }

    /// Loads the JSON into the processor's cache, without waiting for it.
    #[inline]
    pub fn preload(&self) {
        let json = self.json();
        let mut at = 0;
        while let Some(byte) = json.get(at) {
            hint::black_box(*byte);
            at += CACHE_LINE;
        }
    }

    /// The places of the JSON in the block.
    #[inline]
    fn places(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }

    /// Whether a value may contain a number set. An update that removes the last one does not clear this.
    pub fn may_have_number_sets(&self) -> bool {
        self.header().0 & Header::NUMBER_SETS != 0
    }

    /// The item as JSON on the wire.
    #[inline]
    pub fn json(&self) -> &[u8] {
        self.block.slice.get(self.places()).unwrap_or_default()
    }

    /// The length of the JSON, without reading it.
    #[inline]
    pub fn json_length(&self) -> usize {
        self.length as usize
    }

    /// Whether both are the same stored item, not merely equal ones.
    pub fn same(&self, other: &Item) -> bool {
        std::ptr::eq(self.json(), other.json())
    }
}

fn separate(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
}

/// Copies the attributes between two places, if there are any.
fn push_kept(out: &mut Vec<u8>, json: &[u8], start: usize, end: usize) {
    if start < end {
        separate(out);
        out.extend_from_slice(&json[start..end]);
    }
}

/// Attributes that were picked of an item.
#[derive(Clone, Debug, Default)]
pub struct PartialItem<'n> {
    /// The attributes; those not decoded are null.
    pub attributes: Map,
    names: &'n [&'n str],
    /// Where each begins and ends in the item's JSON. An absent one has the position where it would be inserted.
    places: SmallVec<[(usize, usize); 8]>,
}

/// The size of attributes, as the service measures it.
fn size_of(attributes: &Map) -> usize {
    attributes
        .iter()
        .map(|(name, value)| size::of_attribute(name, value))
        .sum()
}

fn has_number_sets(attributes: &Map) -> bool {
    attributes.iter().any(|(_, value)| value.has_number_sets())
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        // Equal attributes have equal JSON.
        self.json() == other.json()
    }
}

impl Eq for Item {}

impl Default for Item {
    fn default() -> Item {
        Item::new(&Map::new())
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries().map(|entry| (entry.name(), entry.value()));
        formatter.debug_map().entries(entries).finish()
    }
}

/// An item in a request: its attributes, and the item as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentItem {
    pub attributes: Map,
    /// The attributes as an item.
    pub item: Item,
}

impl From<Map> for SentItem {
    fn from(attributes: Map) -> SentItem {
        let item = Item::new(&attributes);
        SentItem { attributes, item }
    }
}

/// Up to this many attributes of a request are sorted in place, with their JSON beside them.
const FEW: usize = 16;

impl SentItem {
    /// An item from attributes in any order; of several with one name the last counts. Each comes with its JSON from
    /// its name to the end of its value, which is copied if it is canonical; it is empty if the name is written otherwise.
    pub fn of_entries(mut entries: Vec<(Name, AttributeValue)>, mut sent: SmallVec<[&[u8]; FEW]>) -> SentItem {
        if entries.len() > FEW {
            return Map::from_entries(entries).into();
        }
        if !sort(&mut entries, &mut sent) {
            return Map::from_entries(entries).into();
        }
        let attributes = Map(entries);
        let header = Header::new(size_of(&attributes), has_number_sets(&attributes));
        let item = Item::written(header, |out| {
            out.push(b'{');
            for ((name, value), sent) in attributes.iter().zip(sent) {
                separate(out);
                if json::is_canonical(sent, name, value) {
                    out.extend_from_slice(sent);
                } else {
                    json::push_attribute(out, name, value);
                }
            }
            out.push(b'}');
        });
        SentItem { attributes, item }
    }
}

/// Sorts a few attributes by name, together with their JSON. Returns `false`, and leaves an unspecified order, if two
/// names are equal.
fn sort(entries: &mut [(Name, AttributeValue)], sent: &mut [&[u8]]) -> bool {
    let mut prefixes = [0; FEW];
    for (place, (name, _)) in prefixes.iter_mut().zip(&*entries) {
        *place = prefix(name);
    }
    for end in 1..entries.len() {
        for at in (0..end).rev() {
            let order = prefixes[at]
                .cmp(&prefixes[at + 1])
                .then_with(|| entries[at].0.cmp(&entries[at + 1].0));
            match order {
                Ordering::Less => break,
                Ordering::Equal => return false,
                Ordering::Greater => {}
            }
            prefixes.swap(at, at + 1);
            entries.swap(at, at + 1);
            sent.swap(at, at + 1);
        }
    }
    true
}

/// The first eight bytes of a name as a number that orders names as they do.
fn prefix(name: &str) -> u64 {
    let bytes = name.as_bytes();
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => bytes
            .iter()
            .rev()
            .fold(0, |prefix, byte| prefix >> 8 | u64::from(*byte) << 56),
    }
}

/// Access to attributes: a map holds them decoded, an item decodes them on access.
pub trait Attributes {
    /// The value under a name.
    fn attribute(&self, name: &str) -> Option<Cow<'_, AttributeValue>>;
}

impl Attributes for Map {
    #[inline]
    fn attribute(&self, name: &str) -> Option<Cow<'_, AttributeValue>> {
        self.get(name).map(Cow::Borrowed)
    }
}

impl Attributes for Item {
    fn attribute(&self, name: &str) -> Option<Cow<'_, AttributeValue>> {
        self.get(name).map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::Number;
    use crate::value::Text;

    fn text() -> impl Strategy<Value = Text> {
        // JSON escapes quotes, backslashes and control characters.
        "[a-c\"\\\\\n\u{1}é,:{}\\[\\]]{0,12}".prop_map(Text::from)
    }

    fn number() -> impl Strategy<Value = Number> {
        (any::<i64>(), -40..40i32).prop_map(|(digits, exponent)| format!("{digits}e{exponent}").parse().unwrap())
    }

    fn value() -> impl Strategy<Value = AttributeValue> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..6).prop_map(Vec::into_boxed_slice);
        let scalar = prop_oneof![
            text().prop_map(AttributeValue::S),
            number().prop_map(AttributeValue::N),
            bytes().prop_map(AttributeValue::B),
            any::<bool>().prop_map(AttributeValue::Bool),
            Just(AttributeValue::Null),
            proptest::collection::btree_set(text(), 1..4).prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
            proptest::collection::btree_set(number(), 1..4)
                .prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
            proptest::collection::btree_set(bytes(), 1..4)
                .prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
        ];
        scalar.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
                proptest::collection::vec((text(), inner), 0..4)
                    .prop_map(|entries| AttributeValue::M(Map::from_entries(entries))),
            ]
        })
    }

    #[test]
    fn names_are_sorted_by_their_bytes() {
        let sorted = [
            "a",
            "attribut",
            "attribute",
            "attribute1",
            "attribute10",
            "attribute2",
            "attributf",
            "b",
            "é",
        ];
        for start in 0..sorted.len() {
            let mut names: Vec<&str> = sorted.into_iter().rev().collect();
            names.rotate_left(start);
            let mut entries: Vec<_> = names
                .iter()
                .map(|name| (Name::new(*name), AttributeValue::Null))
                .collect();
            let mut sent: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            assert!(sort(&mut entries, &mut sent));
            assert_eq!(sent, sorted.map(str::as_bytes), "{names:?}");
            assert!(entries.iter().zip(sorted).all(|((name, _), expect)| name == expect));
        }
    }

    /// JSON has an escape of its own for some control characters.
    #[test]
    fn every_character_is_read_back() {
        let escapes = [
            "\\n", "\\r", "\\t", "\\b", "\\f", "\\\"", "\\\\", "\\u0000", "\\u000b", "\\u001f", "\\u001a",
        ];
        let all: String = (0..0x100).filter_map(char::from_u32).chain(['é', '€', '😀']).collect();
        for text in all.chars().map(String::from).chain([all.clone()]) {
            let text = Text::from(format!("a{text}b"));
            let value = AttributeValue::S(text.clone());
            let item = Item::new(&[(text.clone(), value.clone())].into_iter().collect());
            assert_eq!(item.get(&text), Some(value), "{text:?}");
        }
        let item = Item::new(&[("a".into(), AttributeValue::S(all.into()))].into_iter().collect());
        let json = String::from_utf8(item.json().to_vec()).unwrap();
        for escape in escapes {
            assert_eq!(json.matches(escape).count(), 1, "{escape}");
        }
        assert!(Item::default().is_empty() && !item.is_empty());
    }

    fn map() -> impl Strategy<Value = Map> {
        proptest::collection::vec((text(), value()), 0..6).prop_map(Map::from_entries)
    }

    proptest! {
        #[test]
        fn an_item_has_the_attributes_it_was_made_of(attributes in map(), other in text()) {
            let item = Item::new(&attributes);
            prop_assert_eq!(&item.attributes(), &attributes);
            prop_assert_eq!(item.len(), attributes.len());
            prop_assert_eq!(item.size(), size_of(&attributes));
            prop_assert_eq!(item.may_have_number_sets(), has_number_sets(&attributes));
            for (name, value) in &attributes {
                prop_assert_eq!(item.get(name), Some(value.clone()));
            }
            prop_assert_eq!(item.get(&other), attributes.get(&other).cloned());
        }

        #[test]
        fn equal_attributes_have_equal_json(one in map(), two in map()) {
            prop_assert_eq!(Item::new(&one) == Item::new(&two), one == two);
            prop_assert_eq!(Item::new(&one), Item::new(&one.clone()));
        }

        #[test]
        fn what_is_picked_and_replaced_is_as_in_a_map(before in map(), new in map(), others in map(), bits in any::<u8>()) {
            let named = |at: usize| bits & (1 << at) != 0;
            let mut names: Vec<&str> = before.iter().enumerate().filter(|(at, _)| named(*at)).map(|(_, (name, _))| name.as_str()).collect();
            names.extend(new.iter().chain(&others).map(|(name, _)| name.as_str()));
            names.sort_unstable();
            names.dedup();
            let item = Item::new(&before);
            let picked = item.pick(&names);
            let is_named = |name: &str| names.contains(&name);
            prop_assert_eq!(&picked, &before.iter().filter(|(name, _)| is_named(name)).cloned().collect::<Map>());
            prop_assert_eq!(&picked, &item.filter(is_named));
            let mut expected = before.clone();
            for name in &names {
                expected.remove(name);
            }
            for (name, value) in &new {
                expected.insert(name.clone(), value.clone());
            }
            let changes: Vec<_> = names.iter().map(|name| (*name, new.get(name).map(Cow::Borrowed))).collect();
            let replaced = item.replace(&item.pick_places(&names, |_| true), &changes);
            prop_assert_eq!(&replaced, &Item::new(&expected));
            prop_assert_eq!(replaced.size(), size_of(&expected));
            prop_assert!(replaced.may_have_number_sets() || !has_number_sets(&expected));
        }
    }
}
