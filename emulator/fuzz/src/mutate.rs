//! A mutation of JSON values, because mutated bytes rarely are another valid request.

use serde_json::{Value, json};

/// A small random number generator, so that a mutation depends on the fuzzer's seed alone (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides.max(1)
    }
}

/// The names and words that mutations insert.
pub struct Vocabulary {
    names: &'static [&'static str],
    words: &'static [&'static str],
}

/// The vocabulary of requests.
pub const REQUEST: Vocabulary = Vocabulary {
    names: &NAMES,
    words: &WORDS,
};

/// The vocabulary of policies.
pub const POLICY: Vocabulary = Vocabulary {
    names: &POLICY_NAMES,
    words: &POLICY_WORDS,
};

/// Changes one value of one line, a word and a JSON value; returns `None` if it is of another form.
pub fn mutate(input: &[u8], seed: u32, vocabulary: &Vocabulary) -> Option<Vec<u8>> {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    let text = std::str::from_utf8(input).ok()?;
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let at = dice.roll(lines.len());
    if dice.roll(8) == 0 {
        rearrange(&mut lines, at, &mut dice);
        return Some(lines.join("\n").into_bytes());
    }
    let (name, body) = lines[at].split_once(' ')?;
    let mut body: Value = serde_json::from_str(body).ok()?;
    let donor = lines[dice.roll(lines.len())]
        .split_once(' ')
        .and_then(|(_, body)| serde_json::from_str(body).ok());
    change(&mut body, &donor.unwrap_or_else(|| json!({})), &mut dice, vocabulary);
    lines[at] = format!("{name} {body}");
    Some(lines.join("\n").into_bytes())
}

fn rearrange(lines: &mut Vec<String>, at: usize, dice: &mut Dice) {
    let other = dice.roll(lines.len());
    match dice.roll(4) {
        0 => lines.swap(at, other),
        1 => drop(lines.remove(at)),
        2 => lines.insert(other, lines[at].clone()),
        _ => lines.insert(at, format!("+ {}", [1, 60, 900, 90_000, 400_000][dice.roll(5)])),
    }
}

/// Returns the number of values in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(object) => object.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns the value at a position in reading order.
fn place<'v>(value: &'v mut Value, at: &mut usize) -> Option<&'v mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|inner| place(inner, at)),
        Value::Object(object) => object.values_mut().find_map(|inner| place(inner, at)),
        _ => None,
    }
}

fn change(body: &mut Value, donor: &Value, dice: &mut Dice, vocabulary: &Vocabulary) {
    let mut from = dice.roll(count(donor));
    let given = place(&mut donor.clone(), &mut from).cloned().unwrap_or(Value::Null);
    let mut at = dice.roll(count(body));
    let Some(there) = place(body, &mut at) else { return };
    match (there, dice.roll(6)) {
        (Value::Object(object), 0) => {
            let names: Vec<String> = object.keys().cloned().collect();
            if let Some(name) = names.get(dice.roll(names.len())) {
                object.remove(name);
            }
        }
        (Value::Object(object), 1) => {
            object.insert(vocabulary.names[dice.roll(vocabulary.names.len())].into(), given);
        }
        (Value::Object(object), 2) => {
            let names: Vec<String> = object.keys().cloned().collect();
            if let Some(value) = names.get(dice.roll(names.len())).and_then(|name| object.remove(name)) {
                object.insert(vocabulary.names[dice.roll(vocabulary.names.len())].into(), value);
            }
        }
        (Value::Array(list), 0) if !list.is_empty() => drop(list.remove(dice.roll(list.len()))),
        (Value::Array(list), 1) if list.len() < 128 => list.push(given),
        (Value::String(text), 0..=2) => splice(text, dice, vocabulary),
        (there, 3) => *there = odd(dice),
        (there, _) => *there = given,
    }
}

/// Inserts a word into the text, or cuts the text there.
fn splice(text: &mut String, dice: &mut Dice, vocabulary: &Vocabulary) {
    let mut at = dice.roll(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    if dice.roll(4) == 0 {
        text.truncate(at);
    } else {
        text.insert_str(at, vocabulary.words[dice.roll(vocabulary.words.len())]);
    }
}

fn odd(dice: &mut Dice) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e300),
        json!(9_223_372_036_854_775_807_i64),
        json!(""),
        json!([]),
        json!({}),
        json!({"S": ""}),
        json!({"N": "1e125"}),
        json!({"N": "-0.00000000000000000000000000000000000001"}),
        json!({"L": []}),
        json!({"M": {}}),
        json!({"SS": ["a", "a"]}),
        json!({"B": "="}),
        json!({"NULL": false}),
        json!("arn:aws:dynamodb:us-east-1:000000000000:table/t"),
    ];
    values[dice.roll(values.len())].clone()
}

const NAMES: [&str; 22] = [
    "pk",
    "sk",
    "a",
    "#a",
    ":a",
    "S",
    "N",
    "B",
    "BOOL",
    "NULL",
    "L",
    "M",
    "SS",
    "NS",
    "BS",
    "Limit",
    "Key",
    "Item",
    "IndexName",
    "ExclusiveStartKey",
    "ReturnValues",
    "ConsistentRead",
];

const WORDS: [&str; 30] = [
    " AND ",
    " OR ",
    " NOT ",
    "(",
    ")",
    "[0]",
    ".",
    ":a",
    "#a",
    " = ",
    " <> ",
    " BETWEEN ",
    " IN (",
    ", ",
    "SET ",
    "REMOVE ",
    "ADD ",
    "DELETE ",
    "size(",
    "begins_with(",
    "if_not_exists(",
    "list_append(",
    "attribute_type(",
    "'",
    "\"",
    "?",
    "SELECT * FROM ",
    " WHERE ",
    "<<",
    "{'a':",
];

const POLICY_NAMES: [&str; 39] = [
    "Version",
    "Id",
    "Statement",
    "Sid",
    "Effect",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Principal",
    "NotPrincipal",
    "Condition",
    "AWS",
    "Service",
    "Federated",
    "CanonicalUser",
    "StringEquals",
    "StringNotLike",
    "ForAllValues:StringLike",
    "ForAnyValue:StringEquals",
    "ForAllValues:StringNotEqualsIfExists",
    "StringEqualsIgnoreCaseIfExists",
    "NumericLessThan",
    "DateGreaterThanIfExists",
    "Bool",
    "BinaryEquals",
    "IpAddress",
    "NotIpAddressIfExists",
    "ArnLike",
    "ForAnyValue:ArnNotEquals",
    "Null",
    "aws:username",
    "aws:SourceIp",
    "aws:CurrentTime",
    "aws:SecureTransport",
    "aws:SourceArn",
    "aws:TagKeys",
    "dynamodb:LeadingKeys",
    "dynamodb:Attributes",
];

const POLICY_WORDS: [&str; 28] = [
    "*",
    "?",
    ":",
    "/",
    "${aws:username}",
    "${aws:PrincipalTag/team, 'x'}",
    "${*}",
    "${",
    "}",
    "arn:aws:dynamodb:",
    "us-east-1",
    "123456789012",
    ":table/",
    "/index/",
    "dynamodb:",
    "IfExists",
    "ForAllValues:",
    "Allow",
    "Deny",
    "2012-10-17",
    "2008-10-17",
    "true",
    "10.0.0.0/8",
    "2001:db8::/32",
    "2026-01-01T00:00:00Z",
    "-1e400",
    "root",
    "arn:aws:iam::123456789012:user/ann",
];
