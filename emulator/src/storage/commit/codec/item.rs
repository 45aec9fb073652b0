//! Keys, items, and the entries of vector indexes.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Binary, DecodeError, Input, write_all, write_bytes};
use crate::change::vector;
use crate::key::{Key, KeyBytes};
use crate::value::{AttributeValue, Item, Map, Name};
use crate::wire::reader::{Reader, SyntaxError, Token};

/// Levels of lists and maps in a value: items have 32 at most.
const LEVELS: usize = 64;

const NOT_AN_ITEM: DecodeError = DecodeError("an item is not one");

impl Binary for Key {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.token.to_le_bytes());
        write_bytes(&self.bytes, out);
    }

    fn read(input: &mut Input<'_>) -> Result<Key, DecodeError> {
        let token = input.take(8)?.first_chunk().copied().unwrap_or_default();
        Ok(Key {
            token: u64::from_le_bytes(token),
            bytes: KeyBytes::from_slice(input.bytes()?),
        })
    }
}

impl Binary for Item {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.json(), out);
    }

    fn read(input: &mut Input<'_>) -> Result<Item, DecodeError> {
        let json = input.bytes()?;
        let item = read_item(json).map_err(|SyntaxError| NOT_AN_ITEM)?;
        // Other texts of the same item are refused too.
        if item.json() == json {
            Ok(item)
        } else {
            Err(NOT_AN_ITEM)
        }
    }
}

impl Binary for vector::VectorEntry {
    fn write(&self, out: &mut Vec<u8>) {
        self.item().write(out);
        write_all(self.vector().iter(), out);
        self.size().write(out);
    }

    fn read(input: &mut Input<'_>) -> Result<vector::VectorEntry, DecodeError> {
        let item = Item::read(input)?;
        let vector: Vec<f32> = Binary::read(input)?;
        let size = usize::read(input)?;
        Ok(vector::VectorEntry::of_size(item, Arc::from(vector), size))
    }
}

fn read_item(json: &[u8]) -> Result<Item, SyntaxError> {
    let mut reader = Reader::new(json)?;
    let map = read_map(&mut reader, LEVELS)?;
    reader.end()?;
    Ok(Item::new(&map))
}

fn read_map(reader: &mut Reader<'_>, levels: usize) -> Result<Map, SyntaxError> {
    if reader.peek()? != Token::Object {
        return Err(SyntaxError);
    }
    reader.enter()?;
    let mut entries: Vec<(Name, AttributeValue)> = Vec::new();
    while let Some(name) = reader.member(entries.is_empty())? {
        entries.push((name.as_ref().into(), read_value(reader, levels)?));
    }
    Ok(Map::from_entries(entries))
}

fn read_value(reader: &mut Reader<'_>, levels: usize) -> Result<AttributeValue, SyntaxError> {
    let levels = levels.checked_sub(1).ok_or(SyntaxError)?;
    if reader.peek()? != Token::Object {
        return Err(SyntaxError);
    }
    reader.enter()?;
    let kind = reader.member(true)?.ok_or(SyntaxError)?;
    let value = match kind.as_ref() {
        "S" => AttributeValue::S(reader.string()?.as_ref().into()),
        "N" => AttributeValue::N(number(&reader.string()?)?),
        "B" => AttributeValue::B(bytes(&reader.string()?)?),
        "BOOL" => {
            let is_true = reader.peek()? == Token::True;
            reader.word(if is_true { "true" } else { "false" })?;
            AttributeValue::Bool(is_true)
        }
        "NULL" => {
            reader.word("true")?;
            AttributeValue::Null
        }
        "M" => AttributeValue::M(read_map(reader, levels)?),
        "L" => AttributeValue::L(read_list(reader, |reader| read_value(reader, levels))?),
        "SS" => {
            let set = read_list(reader, |reader| Ok(reader.string()?.as_ref().into()))?;
            AttributeValue::string_set(set).ok_or(SyntaxError)?
        }
        "NS" => {
            let set = read_list(reader, |reader| number(&reader.string()?))?;
            AttributeValue::number_set(set).ok_or(SyntaxError)?
        }
        "BS" => {
            let set = read_list(reader, |reader| bytes(&reader.string()?))?;
            AttributeValue::binary_set(set).ok_or(SyntaxError)?
        }
        _ => return Err(SyntaxError),
    };
    match reader.member(false)? {
        None => Ok(value),
        Some(_) => Err(SyntaxError),
    }
}

fn read_list<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    if reader.peek()? != Token::List {
        return Err(SyntaxError);
    }
    reader.enter()?;
    let mut list = Vec::new();
    while reader.element(list.is_empty())? {
        list.push(read(reader)?);
    }
    Ok(list)
}

fn number(text: &str) -> Result<crate::number::Number, SyntaxError> {
    text.parse().map_err(|_| SyntaxError)
}

fn bytes(text: &str) -> Result<Box<[u8]>, SyntaxError> {
    let bytes = STANDARD.decode(text).map_err(|_| SyntaxError)?;
    Ok(bytes.into_boxed_slice())
}
