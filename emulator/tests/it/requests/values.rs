//! Attribute values of the model: numbers, order, sizes and JSON, written from pages 02 and 03 of `docs/behavior`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::common::Choice;

pub type Item = BTreeMap<String, Val>;

/// An attribute value. Strings order by their UTF-8 bytes, binaries by unsigned bytes, numbers by value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Val {
    S(String),
    N(Number),
    B(Vec<u8>),
    Bool(bool),
    Null,
    L(Vec<Val>),
    M(Item),
    Ss(BTreeSet<String>),
    Ns(BTreeSet<Number>),
    Bs(BTreeSet<Vec<u8>>),
}

/// A decimal number: 0.d₁d₂d₃… × 10^point, without zeros at either end of the digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

impl Number {
    pub fn parse(text: &str) -> Number {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches(['+', '-']);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole
            .bytes()
            .chain(fraction.bytes())
            .map(|digit| digit - b'0')
            .collect();
        let exponent: i32 = exponent.trim_start_matches('+').parse().unwrap();
        Number::new(negative, digits, whole.len() as i32 + exponent)
    }

    fn new(negative: bool, mut digits: Vec<u8>, mut point: i32) -> Number {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        point -= zeros as i32;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let zero = digits.is_empty();
        Number {
            negative: negative && !zero,
            digits,
            point: if zero { 0 } else { point },
        }
    }

    /// Plain decimal notation, as in answers.
    pub fn text(&self) -> String {
        let length = self.digits.len() as i32;
        let digit = |at: i32| match self.digits.get(usize::try_from(at).unwrap_or(usize::MAX)) {
            Some(digit) => char::from(b'0' + digit),
            None => '0',
        };
        let mut text = String::from(if self.negative { "-" } else { "" });
        if self.point <= 0 {
            text.push('0');
        }
        text.extend((0..self.point).map(digit));
        if length > self.point {
            text.push('.');
            text.extend((self.point.min(0)..0).map(|_| '0'));
            text.extend((self.point.max(0)..length).map(digit));
        }
        text
    }

    /// One of several notations of the number, as in requests.
    fn spelled(&self, choice: &mut Choice) -> String {
        let text = self.text();
        match choice.below(4) {
            0 if text.len() < 50 => format!("{text}e0"),
            1 if text.contains('.') => format!("{text}0"),
            2 if !self.digits.is_empty() => {
                let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
                let sign = if self.negative { "-" } else { "" };
                format!("{sign}{digits}E{}", self.point - digits.len() as i32)
            }
            _ => text,
        }
    }

    pub fn negated(&self) -> Number {
        Number::new(!self.negative, self.digits.clone(), self.point)
    }

    /// The sum, unless DynamoDB cannot store it.
    pub fn plus(&self, other: &Number) -> Option<Number> {
        let bottom = |number: &Number| number.point - number.digits.len() as i32;
        let low = bottom(self).min(bottom(other));
        let high = self.point.max(other.point) + 1;
        let width = (high - low) as usize;
        // The digits of both, of the smallest power first, each with its sign.
        let mut sum = vec![0i32; width];
        for number in [self, other] {
            for (at, digit) in number.digits.iter().enumerate() {
                let power = (number.point - 1 - at as i32 - low) as usize;
                sum[power] += if number.negative {
                    -i32::from(*digit)
                } else {
                    i32::from(*digit)
                };
            }
        }
        let negative = sum
            .iter()
            .rev()
            .find(|digit| **digit != 0)
            .is_some_and(|digit| *digit < 0);
        if negative {
            sum.iter_mut().for_each(|digit| *digit = -*digit);
        }
        let mut carry = 0;
        for digit in &mut sum {
            let all = *digit + carry;
            *digit = all.rem_euclid(10);
            carry = all.div_euclid(10);
        }
        let digits = sum.iter().rev().map(|digit| *digit as u8).collect();
        let sum = Number::new(negative, digits, high);
        let storable = sum.digits.len() <= 38 && (sum.digits.is_empty() || (-129..=126).contains(&sum.point));
        storable.then_some(sum)
    }

    fn size(&self) -> usize {
        let text = self.text();
        let (whole, fraction) = text
            .trim_start_matches('-')
            .split_once('.')
            .unwrap_or((text.trim_start_matches('-'), ""));
        let whole = whole.trim_start_matches('0');
        let whole = if fraction.is_empty() {
            whole.trim_end_matches('0')
        } else {
            whole
        };
        let fraction = if whole.is_empty() {
            fraction.trim_start_matches('0')
        } else {
            fraction
        };
        1 + whole.len().div_ceil(2) + fraction.len().div_ceil(2) + usize::from(self.negative)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let rank = |number: &Number| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        };
        let magnitude = || (self.point, &self.digits).cmp(&(other.point, &other.digits));
        rank(self).cmp(&rank(other)).then_with(|| match rank(self) {
            -1 => magnitude().reverse(),
            _ => magnitude(),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0usize, |bits, at| bits << 8 | usize::from(*group.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let shown = at <= group.len();
            text.push(if shown {
                char::from(ALPHABET[bits >> (18 - 6 * at) & 63])
            } else {
                '='
            });
        }
    }
    text
}

impl Val {
    pub fn number(text: &str) -> Val {
        Val::N(Number::parse(text))
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Val::S(_) => "S",
            Val::N(_) => "N",
            Val::B(_) => "B",
            Val::Bool(_) => "BOOL",
            Val::Null => "NULL",
            Val::L(_) => "L",
            Val::M(_) => "M",
            Val::Ss(_) => "SS",
            Val::Ns(_) => "NS",
            Val::Bs(_) => "BS",
        }
    }

    /// Whether values of the type have an order.
    pub fn scalar(&self) -> bool {
        matches!(self, Val::S(_) | Val::N(_) | Val::B(_))
    }

    pub fn json(&self) -> Value {
        self.json_with(&mut Number::text)
    }

    /// The value as a request may write it: numbers in any notation.
    pub fn sent(&self, choice: &mut Choice) -> Value {
        self.json_with(&mut |number| number.spelled(choice))
    }

    fn json_with(&self, spell: &mut dyn FnMut(&Number) -> String) -> Value {
        let content = match self {
            Val::S(text) => json!(text),
            Val::N(number) => spell(number).into(),
            Val::B(bytes) => base64(bytes).into(),
            Val::Bool(value) => json!(value),
            Val::Null => json!(true),
            Val::L(members) => members.iter().map(|member| member.json_with(spell)).collect(),
            Val::M(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.json_with(spell)));
                Value::Object(members.collect())
            }
            Val::Ss(members) => json!(members),
            Val::Ns(members) => members.iter().map(&mut *spell).collect(),
            Val::Bs(members) => members.iter().map(|member| base64(member)).collect(),
        };
        json!({self.kind(): content})
    }

    pub fn size(&self) -> usize {
        match self {
            Val::S(text) => text.len(),
            Val::N(number) => number.size(),
            Val::B(bytes) => bytes.len(),
            Val::Bool(_) | Val::Null => 1,
            Val::L(members) => 3 + members.iter().map(|member| 1 + member.size()).sum::<usize>(),
            Val::M(members) => 3 + members.len() + item_size(members),
            Val::Ss(members) => members.iter().map(String::len).sum(),
            Val::Ns(members) => members.iter().map(Number::size).sum(),
            Val::Bs(members) => members.iter().map(Vec::len).sum(),
        }
    }
}

pub fn item_size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value.size()).sum()
}

pub fn item_json(item: &Item) -> Value {
    let members = item.iter().map(|(name, value)| (name.clone(), value.json()));
    Value::Object(members.collect::<Map<_, _>>())
}

pub fn item_sent(item: &Item, choice: &mut Choice) -> Value {
    let members = item.iter().map(|(name, value)| (name.clone(), value.sent(choice)));
    Value::Object(members.collect::<Map<_, _>>())
}

pub fn one_of<T: Clone>(choice: &mut Choice, of: &[T]) -> T {
    of[choice.below(of.len() as u64) as usize].clone()
}

const STRINGS: [&str; 11] = [
    "",
    "a",
    "ab",
    "b",
    "A",
    "é",
    "\u{ff5e}",
    "\u{1f600}",
    "\u{1f600}a",
    "aé",
    "ba",
];
const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "1",
    "2",
    "3",
    "10",
    "-1",
    "-2.5",
    "0.1",
    "1.5",
    "12345678901234567890123456789012345678",
    "1E125",
    "-1E-130",
    "0.001",
    "100.5",
    "1200",
    "-3",
    "9.9999999999999999999999999999999999999E125",
    "4",
    "5",
];
const BYTES: [&[u8]; 7] = [&[], &[0], &[1], &[1, 2], &[255], &[0, 255, 7], &[127]];

pub fn string(choice: &mut Choice) -> String {
    one_of(choice, &STRINGS).to_owned()
}

pub fn number(choice: &mut Choice) -> Number {
    Number::parse(one_of(choice, &NUMBERS))
}

pub fn bytes(choice: &mut Choice) -> Vec<u8> {
    one_of(choice, &BYTES).to_vec()
}

pub fn of_kind(choice: &mut Choice, kind: &str, depth: u32) -> Val {
    let count = choice.below(4);
    match kind {
        "S" => Val::S(string(choice)),
        "N" => Val::N(number(choice)),
        "B" => Val::B(bytes(choice)),
        "BOOL" => Val::Bool(choice.one_in(2)),
        "NULL" => Val::Null,
        "L" => Val::L((0..count).map(|_| any(choice, depth)).collect()),
        "M" => {
            let members = (0..count).map(|_| (one_of(choice, &["x", "y", "z"]).to_owned(), any(choice, depth)));
            Val::M(members.collect())
        }
        "SS" => Val::Ss((0..=count).map(|_| string(choice)).collect()),
        "NS" => Val::Ns((0..=count).map(|_| number(choice)).collect()),
        _ => Val::Bs((0..=count).map(|_| bytes(choice)).collect()),
    }
}

pub const KINDS: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"];

/// Any value; containers nest to the depth.
pub fn any(choice: &mut Choice, depth: u32) -> Val {
    let kinds = if depth == 0 { &KINDS[..8] } else { &KINDS[..] };
    let kind = one_of(choice, kinds);
    of_kind(choice, kind, depth.saturating_sub(1))
}

/// A key value: one of few, never empty.
pub fn key(choice: &mut Choice, kind: &str, count: u64) -> Val {
    key_at(kind, choice.below(count) as usize)
}

fn key_at(kind: &str, at: usize) -> Val {
    match kind {
        "S" => Val::S(["a", "b", "\u{ff5e}", "\u{1f600}", "ab", "B", "é"][at].to_owned()),
        "N" => Val::number(["1", "2", "-1", "10", "0", "1.5", "-20"][at]),
        _ => Val::B([&[1][..], &[2], &[255], &[1, 2], &[0], &[127, 128], &[3]][at].to_vec()),
    }
}

/// The value of a JSON representation that the engine answers.
fn from_json(value: &Value) -> Val {
    let (kind, content) = value.as_object().unwrap().iter().next().unwrap();
    let text = |content: &Value| content.as_str().unwrap().to_owned();
    let list = || content.as_array().unwrap().iter();
    match kind.as_str() {
        "S" => Val::S(text(content)),
        "N" => Val::N(Number::parse(&text(content))),
        "B" => Val::B(from_base64(&text(content))),
        "BOOL" => Val::Bool(content == &Value::Bool(true)),
        "NULL" => Val::Null,
        "L" => Val::L(list().map(from_json).collect()),
        "M" => Val::M(item_from_json(content)),
        "SS" => Val::Ss(list().map(text).collect()),
        "NS" => Val::Ns(list().map(|number| Number::parse(&text(number))).collect()),
        _ => Val::Bs(list().map(|member| from_base64(&text(member))).collect()),
    }
}

pub fn item_from_json(value: &Value) -> Item {
    let members = value.as_object().unwrap().iter();
    members.map(|(name, value)| (name.clone(), from_json(value))).collect()
}

/// The binary that has this representation, of those in use.
fn from_base64(text: &str) -> Vec<u8> {
    let used = BYTES
        .iter()
        .map(|bytes| bytes.to_vec())
        .chain((0..7).filter_map(|at| match key_at("B", at) {
            Val::B(bytes) => Some(bytes),
            _ => None,
        }));
    used.into_iter().find(|bytes| base64(bytes) == text).unwrap()
}

/// Sorts the members of all number sets in an answer.
pub fn sort_number_sets(answer: &mut Value) {
    match answer {
        Value::Array(list) => list.iter_mut().for_each(sort_number_sets),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Array(list) if name == "NS" && list.iter().all(Value::is_string) => {
                        list.sort_by_cached_key(|member| Number::parse(member.as_str().unwrap()));
                    }
                    _ => sort_number_sets(value),
                }
            }
        }
        _ => {}
    }
}
