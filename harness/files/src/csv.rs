//! CSV: a header, unless it is given, and an item a line. Keys have their declared type, all else is a string.

use std::io::{self, BufRead};

use csv::{ReaderBuilder, StringRecord};
use dynatwin_engine::schema::ScalarType;
use dynatwin_engine::transfer::Source;
use dynatwin_engine::value::Name;
use dynatwin_engine::wire::encode::Writer;
use dynatwin_engine::wire::object::Object;

use crate::json;
use crate::source::Reading;

/// Reads the records of an object.
pub fn read(from: impl BufRead, source: &Source, reading: &mut Reading<'_>) -> io::Result<()> {
    let mut reader = ReaderBuilder::new()
        .delimiter(u8::try_from(source.delimiter).unwrap_or(b','))
        .has_headers(false)
        .flexible(true)
        .from_reader(from);
    let mut header = source.header.clone();
    for row in reader.records() {
        let row = row.map_err(io::Error::other)?;
        let Some(names) = &header else {
            header = Some(
                row.iter()
                    .map(|name| Name::from(name.trim_start_matches('\u{feff}')))
                    .collect(),
            );
            continue;
        };
        if row.len() == names.len() {
            json::record(&item(&row, names, source), reading);
        } else {
            reading.bad(format!("the line has {} values, not {}", row.len(), names.len()));
        }
    }
    Ok(())
}

/// The line as a record in DynamoDB JSON.
fn item(row: &StringRecord, names: &[Name], source: &Source) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut record = Object::open(&mut writer);
    let mut item = record.object("Item");
    for (name, text) in names.iter().zip(row) {
        let key = source.keys.iter().find(|key| key.name == name);
        let mut value = item.object(name);
        value.string(key.map_or(ScalarType::S, |key| key.kind).name(), text);
        value.close();
    }
    item.close();
    record.close();
    writer.finish()
}
