//! Reads and writes the JSON of attribute values.
//!
//! The written JSON is canonical: names are sorted, there is no white space, and equal values have equal JSON. Only
//! such JSON is read here. `wire::reader` reads the JSON of requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::scan::{plain_length, specials};
use super::{AttributeValue, Map, Name, Text};
use crate::number::Number;

#[inline]
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let plain = plain_length(bytes);
    out.extend_from_slice(&bytes[..plain]);
    if plain < bytes.len() {
        push_escaped(out, &bytes[plain..]);
    }
    out.push(b'"');
}

/// Appends a text whose first character must be escaped.
#[cold]
fn push_escaped(out: &mut Vec<u8>, mut rest: &[u8]) {
    while let Some((special, after)) = rest.split_first() {
        match special {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *special]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(*control)]);
            }
        }
        let plain = plain_length(after);
        out.extend_from_slice(&after[..plain]);
        rest = &after[plain..];
    }
}

pub fn push_map(out: &mut Vec<u8>, map: &Map) {
    out.push(b'{');
    push_sequence(out, map, |out, (name, value)| push_attribute(out, name, value));
    out.push(b'}');
}

/// Appends a name and its value.
#[inline]
pub(super) fn push_attribute(out: &mut Vec<u8>, name: &str, value: &AttributeValue) {
    push_text(out, name);
    out.push(b':');
    push_value(out, value);
}

/// Whether JSON that was read as this attribute, and begins with its unescaped name and a colon, equals the output of
/// [`push_attribute`]. Only the common forms are recognized.
#[inline]
pub(super) fn is_canonical(sent: &[u8], name: &str, value: &AttributeValue) -> bool {
    let value_start = name.len() + r#""":"#.len();
    match value {
        // With white space, escapes or other members it would be longer.
        AttributeValue::S(text) => sent.len() == value_start + r#"{"S":""}"#.len() + text.len(),
        AttributeValue::N(_) => sent.get(value_start..).is_some_and(is_canonical_integer),
        _ => false,
    }
}

/// Whether JSON is that of a number of few digits without sign, point, exponent or leading zeros.
fn is_canonical_integer(value: &[u8]) -> bool {
    let digits = value
        .strip_prefix(br#"{"N":""#)
        .and_then(|rest| rest.strip_suffix(br#""}"#));
    match digits {
        Some(b"0") => true,
        Some([b'1'..=b'9', rest @ ..]) => rest.len() < 16 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Appends a value with its type. The depth of values is bounded when a request is decoded, so this recursion is bounded.
pub fn push_value(out: &mut Vec<u8>, value: &AttributeValue) {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(value.type_name().as_bytes());
    out.extend_from_slice(b"\":");
    match value {
        AttributeValue::S(text) => push_text(out, text),
        AttributeValue::N(number) => push_number(out, *number),
        AttributeValue::B(bytes) => push_base64(out, bytes),
        AttributeValue::Bool(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        AttributeValue::Null => out.extend_from_slice(b"true"),
        AttributeValue::L(list) => push_list(out, list, push_value),
        AttributeValue::M(map) => push_map(out, map),
        AttributeValue::Ss(set) => push_list(out, set, |out, text| push_text(out, text)),
        AttributeValue::Ns(set) => push_list(out, set, |out, number| push_number(out, *number)),
        AttributeValue::Bs(set) => push_list(out, set, |out, bytes| push_base64(out, bytes)),
    }
    out.push(b'}');
}

fn push_number(out: &mut Vec<u8>, number: Number) {
    out.push(b'"');
    number.write(out);
    out.push(b'"');
}

fn push_list<'a, T: 'a>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = &'a T>,
    push: impl FnMut(&mut Vec<u8>, &'a T),
) {
    out.push(b'[');
    push_sequence(out, elements, push);
    out.push(b']');
}

fn push_sequence<T>(out: &mut Vec<u8>, elements: impl IntoIterator<Item = T>, mut push: impl FnMut(&mut Vec<u8>, T)) {
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, element);
    }
}

fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    // The space is exactly that of padded base64, so this always fits.
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

/// An attribute in an item's JSON.
#[derive(Clone, Copy)]
pub(super) struct JsonAttribute<'a> {
    /// Its start, including the name, and its end.
    pub start: usize,
    pub end: usize,
    name: &'a [u8],
    /// Whether the name has escapes.
    escaped: bool,
    value: &'a [u8],
}

impl JsonAttribute<'_> {
    /// Whether this is the attribute's name.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        if self.escaped {
            return unescaped(self.name) == name.as_bytes();
        }
        self.name == name.as_bytes()
    }

    pub fn name(&self) -> Name {
        text_of(self.name, self.escaped)
    }

    /// How the name compares with another.
    #[inline]
    pub fn cmp_name(&self, name: &str) -> std::cmp::Ordering {
        if self.escaped {
            return unescaped(self.name).as_slice().cmp(name.as_bytes());
        }
        self.name.cmp(name.as_bytes())
    }

    pub fn value(&self) -> AttributeValue {
        Cursor {
            json: self.value,
            at: 0,
        }
        .value()
    }
}

/// The attributes of an item's JSON, in the order of their names.
#[derive(Clone)]
pub(super) struct JsonAttributes<'a> {
    json: &'a [u8],
    /// Where the bracket or comma before the next attribute is.
    at: usize,
}

impl<'a> JsonAttributes<'a> {
    pub fn new(json: &'a [u8]) -> JsonAttributes<'a> {
        JsonAttributes { json, at: 0 }
    }
}

impl<'a> Iterator for JsonAttributes<'a> {
    type Item = JsonAttribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonAttribute<'a>> {
        let start = self.at + 1;
        if self.json.get(start) != Some(&b'"') {
            return None;
        }
        let (name_end, escaped) = end_of_string(self.json, start + 1);
        let value = name_end + 2;
        let end = end_of_value(self.json, value);
        self.at = end;
        Some(JsonAttribute {
            start,
            end,
            name: &self.json[start + 1..name_end],
            escaped,
            value: &self.json[value..end],
        })
    }
}

/// Where the quote is that ends a string, and whether the string has escapes. `at` is after its first quote.
#[inline]
fn end_of_string(json: &[u8], mut at: usize) -> (usize, bool) {
    let mut escaped = false;
    loop {
        at += quote_or_backslash(&json[at..]);
        if json[at] == b'"' {
            return (at, escaped);
        }
        escaped = true;
        at += 2;
    }
}

/// The number of bytes before the first quote or backslash.
#[inline]
fn quote_or_backslash(json: &[u8]) -> usize {
    // Most names and many texts end within a few words, which is cheaper than a call.
    let (words, _) = json.as_chunks::<8>();
    for (at, word) in words.iter().take(4).enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return 8 * at + (special.trailing_zeros() / 8) as usize;
        }
    }
    memchr::memchr2(b'"', b'\\', json).unwrap_or(json.len())
}

/// The start of the value inside its type.
#[inline]
fn content_of(json: &[u8], at: usize) -> usize {
    // `{"S":`, `{"SS":`, `{"BOOL":`
    match (json[at + 3], json[at + 4]) {
        (b'"', _) => at + 5,
        (_, b'"') => at + 6,
        _ => at + 8,
    }
}

/// The end of a value with its type around it that begins at `at`.
#[inline]
fn end_of_value(json: &[u8], at: usize) -> usize {
    let content = content_of(json, at);
    let end = match json[content] {
        b'"' => end_of_string(json, content + 1).0 + 1,
        b't' => content + 4,
        b'f' => content + 5,
        _ => end_of_nested(json, content),
    };
    end + 1
}

/// The end of a list or object that begins at `at`.
fn end_of_nested(json: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    loop {
        match json[at] {
            b'"' => at = end_of_string(json, at + 1).0,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
}

/// A text without its escapes.
fn text_of(raw: &[u8], escaped: bool) -> Text {
    let text = if escaped {
        Text::from_utf8(unescaped(raw))
    } else {
        Text::from_utf8(raw)
    };
    // It was written from a text.
    text.unwrap_or_default()
}

#[cold]
fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let (byte, length) = match rest[at + 1] {
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'b' => (0x08, 2),
            b'f' => (0x0c, 2),
            // Control characters: `\u00` and two digits.
            b'u' => (hexadecimal(rest[at + 4]) << 4 | hexadecimal(rest[at + 5]), 6),
            same => (same, 2),
        };
        text.push(byte);
        rest = &rest[at + length..];
    }
    text.extend_from_slice(rest);
    text
}

fn hexadecimal(digit: u8) -> u8 {
    match digit {
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'0'),
    }
}

/// Reads values that were written here.
struct Cursor<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A value with its type, whose depth was bounded when its request was decoded.
    fn value(&mut self) -> AttributeValue {
        let kind = self.at + 2;
        self.at = content_of(self.json, self.at);
        let value = match (self.json[kind], self.json[kind + 1]) {
            (b'S', b'"') => AttributeValue::S(self.text()),
            (b'N', b'"') => AttributeValue::N(self.number()),
            (b'B', b'"') => AttributeValue::B(self.binary()),
            (b'L', _) => AttributeValue::L(self.list(Cursor::value)),
            (b'M', _) => AttributeValue::M(self.map()),
            (b'S', _) => AttributeValue::Ss(self.list(Cursor::text)),
            (b'N', b'S') => AttributeValue::Ns(self.list(Cursor::number)),
            (b'B', b'S') => AttributeValue::Bs(self.list(Cursor::binary)),
            (b'B', _) => {
                let flag = self.json[self.at] == b't';
                self.at += if flag { 4 } else { 5 };
                AttributeValue::Bool(flag)
            }
            _ => {
                self.at += 4;
                AttributeValue::Null
            }
        };
        self.at += 1;
        value
    }

    /// A string as it was written, and whether it has escapes.
    fn raw(&mut self) -> (&'a [u8], bool) {
        let start = self.at + 1;
        let (end, escaped) = end_of_string(self.json, start);
        self.at = end + 1;
        (&self.json[start..end], escaped)
    }

    fn text(&mut self) -> Text {
        let (raw, escaped) = self.raw();
        text_of(raw, escaped)
    }

    fn number(&mut self) -> Number {
        Number::parse(self.raw().0).unwrap_or(Number::ZERO)
    }

    fn binary(&mut self) -> Box<[u8]> {
        STANDARD.decode(self.raw().0).unwrap_or_default().into()
    }

    fn list<T>(&mut self, element: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut list = Vec::new();
        self.at += 1;
        while self.json[self.at] != b']' {
            if self.json[self.at] == b',' {
                self.at += 1;
            }
            list.push(element(self));
        }
        self.at += 1;
        list
    }

    fn map(&mut self) -> Map {
        let mut entries = Vec::new();
        self.at += 1;
        while self.json[self.at] != b'}' {
            if self.json[self.at] == b',' {
                self.at += 1;
            }
            let name = self.text();
            self.at += 1;
            entries.push((name, self.value()));
        }
        self.at += 1;
        Map(entries)
    }
}
