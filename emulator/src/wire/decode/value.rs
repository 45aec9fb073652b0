//! Decodes attribute values, and checks them while they are read.

use std::borrow::Cow;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::scalar::decode_base64;
use super::shape::{NOT_A_FIELD, last_of_equals, make_room};
use super::value_errors::{BrokenRule, RequestPart, ValueErrorRank};
use super::{DecodeStop, Decoder, Read, ValuePosition};
use crate::error::ApiError;
use crate::limits;
use crate::number::{Number, NumberError};
use crate::request::ValueSubstitutions;
use crate::sort;
use crate::value::{AttributeValue, Map, Name, SentItem, Text, Type};
use crate::wire::reader::{Reader, SyntaxError, Token};

/// The service's name of the values of an attribute map.
const VALUE: &str = "com.amazonaws.dynamodb.v20120810.AttributeValue";

impl<'a> Decoder<'a> {
    pub(super) fn attributes(&mut self) -> Read<Map> {
        self.attribute_map(ValuePosition::Member, 0)
    }

    /// The `Item` of a put.
    pub(super) fn item(&mut self) -> Read<SentItem> {
        let mut sent = SmallVec::new();
        let entries = self.attribute_entries(ValuePosition::Member, 0, |decoder, name, start| {
            sent.push(match name {
                Cow::Borrowed(name) => decoder.sent_attribute(name, start),
                Cow::Owned(_) => &[],
            });
        })?;
        Ok(SentItem::of_entries(entries, sent))
    }

    /// An attribute from its name, which has no escapes, to the end of its value, which begins at `start`; empty if white
    /// space follows the name.
    fn sent_attribute(&self, name: &str, start: usize) -> &'a [u8] {
        let Some(before) = start.checked_sub(name.len() + r#""":"#.len()) else {
            return &[];
        };
        let sent = self.reader.since(before);
        if sent.get(1 + name.len()..start - before) == Some(br#"":"#) {
            sent
        } else {
            &[]
        }
    }

    pub(super) fn attributes_element(&mut self) -> Read<Map> {
        self.attribute_map_with(ValuePosition::Element, 0, Decoder::name_numbers)
    }

    pub(super) fn expression_values(&mut self) -> Read<ValueSubstitutions> {
        let outer = self.value_errors.enter(RequestPart::ExpressionValues);
        self.expect_map(ValuePosition::Member, VALUE)?;
        self.reader.enter()?;
        let mut values = ValueSubstitutions::new();
        while let Some(placeholder) = self.reader.member(values.is_empty())? {
            let before = self.value_errors.set_aside();
            let value = self.value(ValuePosition::Element, 0)?;
            self.value_errors.restore_with_placeholder(before, &placeholder);
            make_room(&mut values);
            values.push((CompactString::from(placeholder), value));
        }
        self.value_errors.enter(outer);
        Ok(last_of_equals(values))
    }

    /// A value that is a member of a legacy condition.
    pub(super) fn value_member(&mut self) -> Read<AttributeValue> {
        self.value(ValuePosition::Member, 0)
    }

    pub(super) fn value_list(&mut self) -> Read<Vec<AttributeValue>> {
        self.expect_list()?;
        self.values(0)
    }

    /// The parameters of a statement.
    pub(super) fn parameters(&mut self) -> Read<Vec<AttributeValue>> {
        let outer = self.value_errors.enter(RequestPart::Parameters);
        let values = self.value_list();
        self.value_errors.enter(outer);
        values
    }

    fn expect_list(&mut self) -> Read<()> {
        if self.reader.peek()? == Token::List {
            return Ok(());
        }
        // The reader of lists reports every other type.
        self.list(ValuePosition::Member, |_| Ok(())).map(drop)
    }

    fn attribute_map(&mut self, place: ValuePosition, depth: usize) -> Read<Map> {
        self.attribute_map_with(place, depth, |_, _| {})
    }

    fn attribute_map_with(&mut self, place: ValuePosition, depth: usize, after: impl Fn(&mut Self, &str)) -> Read<Map> {
        let entries = self.attribute_entries(place, depth, |decoder, name, _| after(decoder, name))?;
        Ok(Map::from_entries(entries))
    }

    /// The attributes in the order sent, with a callback after each, which gets its name and the position of its value.
    #[inline]
    fn attribute_entries(
        &mut self,
        place: ValuePosition,
        depth: usize,
        mut after: impl FnMut(&mut Self, &Cow<'a, str>, usize),
    ) -> Read<Vec<(Name, AttributeValue)>> {
        self.expect_map(place, VALUE)?;
        self.reader.enter()?;
        let rank = if depth == 0 {
            ValueErrorRank::TopLevelName
        } else {
            ValueErrorRank::NestedName
        };
        let mut entries = Vec::new();
        while let Some(name) = self.reader.member(entries.is_empty())? {
            self.check_attribute_name(&name, rank);
            let start = self.reader.offset();
            let value = self.value(ValuePosition::Element, depth)?;
            after(self, &name, start);
            make_room(&mut entries);
            entries.push((CompactString::from(name), value));
        }
        Ok(entries)
    }

    /// Notes an attribute's name that is empty or too long.
    #[inline]
    pub(super) fn check_attribute_name(&mut self, name: &str, rank: ValueErrorRank) {
        if !(1..=limits::ATTRIBUTE_NAME_SIZE).contains(&name.len()) {
            let text = if name.is_empty() {
                ApiError::EMPTY_NAME
            } else {
                ApiError::LONG_NAME
            };
            self.value_errors.note(BrokenRule::Content, rank, text);
        }
    }

    /// Assigns the numbers stored last to this attribute.
    fn name_numbers(&mut self, attribute: &str) {
        let kept = self.numbers.iter_mut().flatten().rev();
        kept.take_while(|(name, _)| name.is_empty())
            .for_each(|(name, _)| *name = attribute.into());
    }

    fn values(&mut self, depth: usize) -> Read<Vec<AttributeValue>> {
        self.reader.enter()?;
        let mut list = Vec::new();
        while self.reader.element(list.is_empty())? {
            list.push(self.value(ValuePosition::Element, depth)?);
        }
        Ok(list)
    }

    /// A value inside `depth` maps and lists. An invalid one is recorded as an error, and decoded as a null.
    fn value(&mut self, place: ValuePosition, depth: usize) -> Read<AttributeValue> {
        if self.reader.null()? {
            return Ok(self.refuse(BrokenRule::Shape, ApiError::EMPTY_VALUE));
        }
        if let Some(value) = self.scalar_in_short()? {
            return Ok(value);
        }
        self.expect_structure(place, "AttributeValue")?;
        self.reader.enter()?;
        let mut found = None;
        let mut first = true;
        while let Some(name) = self.reader.member(first)? {
            first = false;
            match type_named(&name) {
                Some(_) if self.reader.null()? => {}
                Some(kind) => match found {
                    Some((other, _)) if other != kind => {
                        self.typed(kind, depth)?;
                        self.refuse(BrokenRule::Shape, ApiError::AMBIGUOUS_VALUE);
                    }
                    _ => found = Some((kind, self.typed(kind, depth)?)),
                },
                None => self.reader.skip()?,
            }
        }
        Ok(match found {
            Some((_, value)) => value,
            None => self.refuse(BrokenRule::Shape, ApiError::EMPTY_VALUE),
        })
    }

    /// A value of the most common form, in one step; `None`, with nothing read, if it has another form.
    #[inline]
    fn scalar_in_short(&mut self) -> Read<Option<AttributeValue>> {
        Ok(Some(match self.reader.lettered_text() {
            None => return Ok(None),
            Some((b'S', text)) => AttributeValue::S(Text::new(text)),
            Some((b'N', text)) => AttributeValue::N(self.validated_decimal(text)),
            Some((b'B', text)) => AttributeValue::B(decode_base64(text.as_bytes()).map_err(DecodeStop::Mismatch)?),
            Some((b'L' | b'M', _)) => return Err(DecodeStop::Mismatch(NOT_A_FIELD.into())),
            // No other type has a name of one letter.
            Some(_) => self.refuse(BrokenRule::Shape, ApiError::EMPTY_VALUE),
        }))
    }

    fn refuse(&mut self, rule: BrokenRule, text: impl Into<Cow<'static, str>>) -> AttributeValue {
        self.value_errors.note(rule, ValueErrorRank::Value, text);
        AttributeValue::Null
    }

    fn typed(&mut self, kind: Type, depth: usize) -> Read<AttributeValue> {
        match kind {
            Type::S => self.text().map(AttributeValue::S),
            Type::N => self.decimal().map(AttributeValue::N),
            Type::B => self.blob().map(AttributeValue::B),
            Type::Bool => self.boolean().map(AttributeValue::Bool),
            Type::Null => self.null_value(),
            Type::Ss => self.string_set(),
            Type::Ns => self.number_set(),
            Type::Bs => self.binary_set(),
            Type::L | Type::M => self.container(kind, depth + 1),
        }
    }

    fn null_value(&mut self) -> Read<AttributeValue> {
        if !self.boolean()? {
            self.refuse(BrokenRule::Content, ApiError::NULL_FALSE);
        }
        Ok(AttributeValue::Null)
    }

    /// A list or map, at this depth.
    fn container(&mut self, kind: Type, depth: usize) -> Read<AttributeValue> {
        match kind {
            Type::M => self.expect_map(ValuePosition::Member, VALUE)?,
            _ => self.expect_list()?,
        }
        if depth > self.most_nested() {
            self.value_errors.note_depth(depth);
        }
        if depth > limits::NESTING_KEPT {
            self.reader.skip()?;
            return Ok(AttributeValue::Null);
        }
        Ok(match kind {
            Type::M => AttributeValue::M(self.attribute_map(ValuePosition::Member, depth)?),
            _ => AttributeValue::L(self.values(depth)?),
        })
    }

    /// Expression values of a transaction, and the parameters of a statement, are only refused up front when they are deeper than anything that is stored:
    /// one of 32 levels passed, one of 40 did not (measured, us-east-1, 2026-10).
    fn most_nested(&self) -> usize {
        let deeper = matches!(
            self.value_errors.part(),
            RequestPart::ExpressionValues | RequestPart::Parameters
        );
        limits::NESTING + usize::from(self.value_errors.older() && deeper)
    }

    fn decimal(&mut self) -> Read<Number> {
        let text = self.borrowed_text()?;
        Ok(self.validated_decimal(&text))
    }

    fn validated_decimal(&mut self, text: &str) -> Number {
        if let Some(numbers) = &mut self.numbers {
            numbers.push((Name::default(), text.into()));
        }
        Number::parse(text.as_bytes()).unwrap_or_else(|error| {
            let older = self.value_errors.older();
            let error = if older { as_older_violation(error, text) } else { error };
            self.refuse(BrokenRule::Content, ApiError::number_text(error, text, older));
            Number::ZERO
        })
    }

    fn set<T>(
        &mut self,
        texts: SetTexts,
        filler: fn() -> T,
        member: impl FnMut(&mut Self) -> Read<T>,
        build: impl FnOnce(Vec<T>) -> Option<AttributeValue>,
        repeats: impl FnOnce(Reader<'a>, bool) -> String,
    ) -> Read<AttributeValue> {
        let _ = self.reader.peek()?;
        let start = self.reader;
        let mut has_null = false;
        let absent = || {
            has_null = true;
            filler()
        };
        let members = self.list_or(ValuePosition::Member, absent, member)?;
        if members.is_empty() {
            return Ok(self.refuse(BrokenRule::Content, texts.empty));
        }
        if has_null {
            let (rule, text) = texts.null;
            return Ok(self.refuse(rule, text));
        }
        Ok(match build(members) {
            Some(set) => set,
            None => self.refuse(BrokenRule::Content, repeats(start, self.value_errors.older())),
        })
    }

    fn string_set(&mut self) -> Read<AttributeValue> {
        const TEXTS: SetTexts = SetTexts {
            empty: "One or more parameter values were invalid: An string set  may not be empty",
            null: (
                BrokenRule::Content,
                "One or more parameter values were invalid: An string set may not have a null string as a member",
            ),
        };
        self.set(
            TEXTS,
            Default::default,
            Decoder::text,
            AttributeValue::string_set,
            |start, older| {
                let list = collection(start, older, ", ", |text| text.as_bytes().to_vec());
                format!("One or more parameter values were invalid: Input collection [{list}] contains duplicates.")
            },
        )
    }

    fn number_set(&mut self) -> Read<AttributeValue> {
        const TEXTS: SetTexts = SetTexts {
            empty: "One or more parameter values were invalid: An number set  may not be empty",
            null: (
                BrokenRule::Content,
                "The parameter cannot be converted to a numeric value",
            ),
        };
        self.set(
            TEXTS,
            || Number::ZERO,
            Decoder::decimal,
            AttributeValue::number_set,
            |_, older| {
                if older {
                    "Input collection contains duplicates".to_owned()
                } else {
                    "One or more parameter values were invalid: Input collection contains duplicates.".to_owned()
                }
            },
        )
    }

    fn binary_set(&mut self) -> Read<AttributeValue> {
        const TEXTS: SetTexts = SetTexts {
            empty: "One or more parameter values were invalid: Binary sets should not be empty",
            null: (BrokenRule::Shape, ApiError::EMPTY_VALUE),
        };
        self.set(TEXTS, Default::default, Decoder::blob, AttributeValue::binary_set, |start, older| {
            let list = collection(start, older, if older { ", " } else { "," }, |text| {
                decode_base64(text.as_bytes()).unwrap_or_default().into_vec()
            });
            format!(
                "One or more parameter values were invalid: Input collection [{list}]of type BS contains duplicates."
            )
        })
    }
}

/// The texts for an empty set, and for a null among its members.
struct SetTexts {
    empty: &'static str,
    null: (BrokenRule, &'static str),
}

/// The type with this name. It is looked up for each value, so no list of names is searched.
#[inline]
fn type_named(name: &str) -> Option<Type> {
    Some(match name.as_bytes() {
        b"S" => Type::S,
        b"N" => Type::N,
        b"B" => Type::B,
        b"L" => Type::L,
        b"M" => Type::M,
        b"SS" => Type::Ss,
        b"NS" => Type::Ns,
        b"BS" => Type::Bs,
        b"BOOL" => Type::Bool,
        b"NULL" => Type::Null,
        _ => return None,
    })
}

/// The members of a set with duplicates, as the service prints them: the older layer as sent, the current one in quotes and
/// in order up to the first duplicate, then as sent (measured, us-east-1, 2026-10). `start` is before the set.
fn collection(start: Reader<'_>, older: bool, separator: &str, order: impl Fn(&str) -> Vec<u8>) -> String {
    let mut members = strings_again(start).unwrap_or_default();
    if !older {
        let repeat = sort::first_repeat(members.iter().map(|member| order(member)));
        sort::sort_by_key(&mut members[..repeat.unwrap_or(0)], |member| order(member));
    }
    let members: Vec<String> = members
        .into_iter()
        .map(|member| {
            if older {
                member.into_owned()
            } else {
                format!("\"{member}\"")
            }
        })
        .collect();
    members.join(separator)
}

/// The strings of a list that was read before.
fn strings_again(mut reader: Reader<'_>) -> Result<Vec<Cow<'_, str>>, SyntaxError> {
    reader.enter()?;
    let mut strings = Vec::new();
    while reader.element(strings.is_empty())? {
        strings.push(match reader.peek()? {
            Token::String => reader.string()?,
            _ => reader.skip().map(|()| Cow::Borrowed(""))?,
        });
    }
    Ok(strings)
}

/// The older layer knows exponents of 32 bits and takes larger ones for no number.
fn as_older_violation(error: NumberError, text: &str) -> NumberError {
    match text.split_once(['e', 'E']) {
        Some((_, exponent)) if exponent.parse::<i32>().is_err() => NumberError::NotNumeric,
        _ => error,
    }
}
