//! Writes answers as JSON, from front to back.

use crate::clock::Moment;
use crate::number::Number;
use crate::sort;
use crate::value::{AttributeValue, Item, Map, json};

/// Writes JSON. Commas are added as needed, so callers write only names and values.
///
/// ```
/// use dynatwin_engine::attributes::AttributeValue;
/// use dynatwin_engine::json::Writer;
///
/// let mut writer = Writer::new();
/// writer.open_object();
/// writer.name("Count").integer(2);
/// writer.name("Items").open_list();
/// writer.value(&AttributeValue::Null).value(&AttributeValue::string("a\"b"));
/// writer.close_list().close_object();
/// assert_eq!(writer.finish(), br#"{"Count":2,"Items":[{"NULL":true},{"S":"a\"b"}]}"#);
/// ```
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>, NumberSets);

/// In which order number sets are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NumberSets {
    /// By value, as they are stored.
    #[default]
    Sorted,
    /// By hash, as the service's older layer reads them out of a Java `HashSet` (observed 2026).
    Hashed,
}

impl From<Vec<u8>> for Writer {
    fn from(written: Vec<u8>) -> Writer {
        Writer(written, NumberSets::Sorted)
    }
}

impl Writer {
    /// A writer of nothing yet.
    pub const fn new() -> Writer {
        Writer(Vec::new(), NumberSets::Sorted)
    }

    /// A writer with room for this many bytes.
    pub fn with_capacity(bytes: usize) -> Writer {
        Writer(Vec::with_capacity(bytes), NumberSets::Sorted)
    }

    /// Writes number sets by hash from here on, as Scan, TransactGetItems and PartiQL do.
    pub fn order_number_sets_by_hash(&mut self) {
        self.1 = NumberSets::Hashed;
    }

    /// Makes room for this many more bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    /// Returns the JSON that was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the comma, if one is needed before the next value.
    #[inline]
    fn separate(&mut self) {
        if !matches!(self.0.last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(b',');
        }
    }

    /// Writes the `{` of an object.
    pub fn open_object(&mut self) -> &mut Writer {
        self.separate();
        self.0.push(b'{');
        self
    }

    /// Writes the `}` of the object.
    pub fn close_object(&mut self) -> &mut Writer {
        self.0.push(b'}');
        self
    }

    /// Writes the `[` of a list.
    pub fn open_list(&mut self) -> &mut Writer {
        self.separate();
        self.0.push(b'[');
        self
    }

    /// Writes the `]` of the list.
    pub fn close_list(&mut self) -> &mut Writer {
        self.0.push(b']');
        self
    }

    /// Writes the name of a member; write its value next.
    pub fn name(&mut self, name: &str) -> &mut Writer {
        self.string(name);
        self.0.push(b':');
        self
    }

    /// Writes a string, with the escapes that the service uses.
    pub fn string(&mut self, text: &str) -> &mut Writer {
        self.separate();
        json::push_text(&mut self.0, text);
        self
    }

    /// Writes a number without fraction.
    pub fn integer(&mut self, number: i64) -> &mut Writer {
        self.separate();
        self.whole(number);
        self
    }

    fn whole(&mut self, number: i64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            self.0.push(b'-');
        }
        self.0.extend_from_slice(&digits[at..]);
    }

    /// A number with a fraction, even if it is `.0`: `1.0`, `0.5`. NaN and infinities become 0.
    pub fn double(&mut self, number: f64) -> &mut Writer {
        self.separate();
        let number = if number.is_finite() { number } else { 0.0 };
        if number.abs() < 1e15 && number.fract() == 0.0 {
            self.whole(number as i64);
            self.0.extend_from_slice(b".0");
        } else {
            self.0.extend_from_slice(format!("{number:?}").as_bytes());
        }
        self
    }

    /// Writes a 32-bit number as the shortest decimal that parses to it.
    pub fn float(&mut self, number: f32) -> &mut Writer {
        self.separate();
        let number = if number.is_finite() { number } else { 0.0 };
        self.0.extend_from_slice(format!("{number:?}").as_bytes());
        self
    }

    /// Writes `null`, the literal without a value.
    pub fn null(&mut self) -> &mut Writer {
        self.separate();
        self.0.extend_from_slice(b"null");
        self
    }

    /// Writes `true` or `false`, unquoted.
    pub fn boolean(&mut self, flag: bool) -> &mut Writer {
        self.separate();
        self.0.extend_from_slice(if flag { b"true" } else { b"false" });
        self
    }

    /// A moment: seconds since the epoch, with a fraction down to the millisecond.
    pub fn moment(&mut self, moment: Moment) -> &mut Writer {
        self.double(moment.micros().div_euclid(1000) as f64 / 1000.0)
    }

    /// JSON that was written before.
    pub fn json(&mut self, encoded: &[u8]) -> &mut Writer {
        // An item is mostly followed by a few closing brackets: reserve room for both at once.
        self.0.reserve(encoded.len() + 32);
        self.separate();
        self.0.extend_from_slice(encoded);
        self
    }

    /// Writes an item's attributes as an object.
    pub fn item(&mut self, item: &Item) -> &mut Writer {
        if self.1 == NumberSets::Hashed && item.may_have_number_sets() {
            return self.attributes(&item.attributes());
        }
        self.json(item.json())
    }

    /// Named values: an item, a key, the inside of an `M`.
    pub fn attributes(&mut self, attributes: &Map) -> &mut Writer {
        self.separate();
        let has_sets = || attributes.iter().any(|(_, value)| value.has_number_sets());
        if self.1 == NumberSets::Hashed && has_sets() {
            json::push_map(&mut self.0, &hashed_map(attributes));
        } else {
            json::push_map(&mut self.0, attributes);
        }
        self
    }

    /// Writes an attribute value with its type.
    pub fn value(&mut self, value: &AttributeValue) -> &mut Writer {
        self.separate();
        if self.1 == NumberSets::Hashed && value.has_number_sets() {
            json::push_value(&mut self.0, &hashed(value));
        } else {
            json::push_value(&mut self.0, value);
        }
        self
    }
}

/// A value whose sets of numbers are in the order of their Java hashes. The depth of values was bounded when their request
/// was decoded, so this recursion is bounded.
fn hashed(value: &AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::Ns(set) => AttributeValue::Ns(by_hash(set).into_iter().copied().collect()),
        AttributeValue::L(list) => AttributeValue::L(list.iter().map(hashed).collect()),
        AttributeValue::M(map) => AttributeValue::M(hashed_map(map)),
        other => other.clone(),
    }
}

fn hashed_map(map: &Map) -> Map {
    map.iter().map(|(name, value)| (name.clone(), hashed(value))).collect()
}

/// The numbers in the order of a Java `HashSet` to which they were added by value: by bucket, of which there are 16, and
/// twice as many whenever three quarters of them are exceeded.
fn by_hash<'n>(numbers: impl IntoIterator<Item = &'n Number>) -> Vec<&'n Number> {
    let mut numbers: Vec<&Number> = numbers.into_iter().collect();
    let buckets = (numbers.len() * 4).div_ceil(3).next_power_of_two().max(16) as u32;
    sort::sort_by_key(&mut numbers, |number| {
        let hash = number.java_hash() as u32;
        (hash ^ (hash >> 16)) & (buckets - 1)
    });
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(write: impl Fn(&mut Writer) -> &mut Writer, expect: &str) {
        let mut writer = Writer::new();
        write(&mut writer);
        assert_eq!(String::from_utf8(writer.finish()).unwrap(), expect);
    }

    #[test]
    fn scalars() {
        for (text, expect) in [
            ("", r#""""#),
            ("plain", r#""plain""#),
            ("é😀\u{7f}", "\"é😀\u{7f}\""),
            ("a\"b\\c/", r#""a\"b\\c/""#),
            ("\n\r\t\u{8}\u{c}\0\u{1f}", r#""\n\r\t\b\f\u0000\u001f""#),
            (
                "\n a longer text with\n\n breaks",
                r#""\n a longer text with\n\n breaks""#,
            ),
        ] {
            check(|writer| writer.string(text), expect);
        }
        for (number, expect) in [
            (0, "0"),
            (-7, "-7"),
            (i64::MAX, "9223372036854775807"),
            (i64::MIN, "-9223372036854775808"),
        ] {
            check(|writer| writer.integer(number), expect);
        }
        for (number, expect) in [
            (1.0, "1.0"),
            (0.5, "0.5"),
            (0.0, "0.0"),
            (-2.5, "-2.5"),
            (120.0, "120.0"),
            (f64::NAN, "0.0"),
        ] {
            check(|writer| writer.double(number), expect);
        }
        for (micros, expect) in [
            (1_767_225_600_000_000, "1767225600.0"),
            (1_767_225_600_123_999, "1767225600.123"),
            (1_500_000, "1.5"),
        ] {
            check(|writer| writer.moment(Moment::from_micros(micros)), expect);
        }
    }

    #[test]
    fn values() {
        use AttributeValue as V;
        let number = |text: &str| text.parse().unwrap();
        for (value, expect) in [
            (V::string("a"), r#"{"S":"a"}"#),
            (V::N(number("1e3")), r#"{"N":"1000"}"#),
            (V::B(Box::from(&b""[..])), r#"{"B":""}"#),
            (V::B(Box::from(&[0xff_u8][..])), r#"{"B":"/w=="}"#),
            (V::B(Box::from(&b"abcd"[..])), r#"{"B":"YWJjZA=="}"#),
            (V::Bool(false), r#"{"BOOL":false}"#),
            (V::Null, r#"{"NULL":true}"#),
            (V::L(vec![]), r#"{"L":[]}"#),
            (
                V::L(vec![V::Null, V::M(Map::new())]),
                r#"{"L":[{"NULL":true},{"M":{}}]}"#,
            ),
            (
                V::string_set(vec!["b".into(), "".into()]).unwrap(),
                r#"{"SS":["","b"]}"#,
            ),
            (
                V::number_set(vec![number("10"), number("-1")]).unwrap(),
                r#"{"NS":["-1","10"]}"#,
            ),
            (
                V::binary_set(vec![Box::from(&[1_u8][..]), Box::default()]).unwrap(),
                r#"{"BS":["","AQ=="]}"#,
            ),
        ] {
            check(|writer| writer.value(&value), expect);
            let map: Map = [("k".into(), value.clone()), ("a".into(), value)].into_iter().collect();
            check(
                |writer| writer.attributes(&map),
                &format!(r#"{{"a":{expect},"k":{expect}}}"#),
            );
        }
    }

    /// A Java `HashSet` has 16 buckets up to 12 members, and 32 up to 24. The hash of a small whole number is 31 times it.
    #[test]
    fn number_sets_are_in_the_order_of_their_buckets() {
        let others = |count: i64| (2..2 + count).collect::<Vec<i64>>();
        for (members, expect) in [
            (vec![1, 9], vec![9, 1]),
            (vec![1, 2, 3, 16], vec![16, 3, 2, 1]),
            ([vec![1, 17], others(10)].concat(), vec![1, 17]),
            ([vec![1, 17], others(11)].concat(), vec![17, 1]),
        ] {
            let mut numbers: Vec<Number> = members.iter().map(|number| Number::from(*number)).collect();
            sort::sort(&mut numbers);
            let order = by_hash(&numbers).into_iter();
            let shown: Vec<Number> = order
                .filter(|number| expect.iter().any(|shown| Number::from(*shown) == **number))
                .copied()
                .collect();
            let expect: Vec<Number> = expect.iter().map(|number| Number::from(*number)).collect();
            assert_eq!(shown, expect, "{members:?}");
        }
    }

    #[test]
    fn number_sets_are_ordered_wherever_they_are() {
        use AttributeValue as V;
        let set = V::number_set(vec![Number::from(1), Number::from(9)]).unwrap();
        let map: Map = [("a".into(), V::L(vec![set.clone(), V::Null]))].into_iter().collect();
        let item: Map = [
            ("m".into(), V::M(map)),
            ("s".into(), set.clone()),
            ("t".into(), V::Null),
        ]
        .into_iter()
        .collect();
        for (hashed, order) in [(false, r#"["1","9"]"#), (true, r#"["9","1"]"#)] {
            let expect = format!(
                r#"{{"m":{{"M":{{"a":{{"L":[{{"NS":{order}}},{{"NULL":true}}]}}}}}},"s":{{"NS":{order}}},"t":{{"NULL":true}}}}"#
            );
            let writer = || {
                let mut writer = Writer::new();
                if hashed {
                    writer.order_number_sets_by_hash();
                }
                writer
            };
            let written = |write: &dyn Fn(&mut Writer)| {
                let mut writer = writer();
                write(&mut writer);
                String::from_utf8(writer.finish()).unwrap()
            };
            // A set may be the only one, and anywhere in a list or map.
            for (before, after) in [(vec![], vec![V::Null]), (vec![V::Null], vec![]), (vec![], vec![])] {
                let list = V::L([before, vec![set.clone()], after].concat());
                let map: Map = [("a".into(), V::Null), ("l".into(), list)].into_iter().collect();
                let only: Map = [("m".into(), V::M(map.clone()))].into_iter().collect();
                let texts = [
                    written(&|writer| {
                        writer.attributes(&only);
                    }),
                    written(&|writer| {
                        writer.item(&Item::new(&only));
                    }),
                    written(&|writer| {
                        writer.value(&V::M(map.clone()));
                    }),
                ];
                for text in texts {
                    assert!(text.contains(&format!(r#"{{"NS":{order}}}"#)), "{text}");
                }
            }
            assert_eq!(
                written(&|writer| {
                    writer.attributes(&item);
                }),
                expect
            );
            assert_eq!(
                written(&|writer| {
                    writer.item(&Item::new(&item));
                }),
                expect
            );
            assert_eq!(
                written(&|writer| {
                    writer.value(&V::M(item.clone()));
                }),
                format!(r#"{{"M":{expect}}}"#)
            );
            assert_eq!(
                written(&|writer| {
                    writer.open_list().null().value(&set).null().close_list();
                }),
                format!(r#"[null,{{"NS":{order}}},null]"#)
            );
        }
    }

    #[test]
    fn commas_separate_members() {
        let item = Item::new(&[("pk".into(), AttributeValue::string("a"))].into_iter().collect());
        check(
            |writer| {
                writer.open_list().open_object().close_object().open_object();
                writer
                    .name("a")
                    .boolean(true)
                    .name("b")
                    .json(b"1")
                    .name("c")
                    .item(&item)
                    .close_object();
                writer.open_list().close_list().string("").item(&item).close_list()
            },
            r#"[{},{"a":true,"b":1,"c":{"pk":{"S":"a"}}},[],"",{"pk":{"S":"a"}}]"#,
        );
    }
}
