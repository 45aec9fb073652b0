//! CSV: a header, unless it is given, and one item per line. Keys have their declared types, other attributes are
//! strings.

use std::cell::Cell;
use std::io::{self, BufRead, Read};

use csv::{ReaderBuilder, StringRecord};
use dynatwin_engine::attributes::{Name, ScalarType};
use dynatwin_engine::json::{Object, Writer};
use dynatwin_engine::quotas;
use dynatwin_engine::transfers::ImportSource;

use crate::json;
use crate::source::{Reading, TOO_LONG};

/// Reads the records of an object, each at most as long as a request may be. Reading ends at a longer one.
pub fn read(from: impl BufRead, source: &ImportSource, reading: &mut Reading<'_>) -> io::Result<()> {
    let taken = Cell::new(0);
    let mut reader = ReaderBuilder::new()
        .delimiter(u8::try_from(source.delimiter).unwrap_or(b','))
        .has_headers(false)
        .flexible(true)
        .from_reader(Metered { from, taken: &taken });
    let mut header = source.header.clone();
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).map_err(io::Error::other)? {
        taken.set(0);
        if row.len() > quotas::ITEM_SIZE {
            reading.bad(format!(
                "the line has {} values, more than an item has bytes",
                row.len()
            ));
            return Ok(());
        }
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

/// A reader that fails when too much has been read since `taken` was set to 0, to limit the size of a record.
struct Metered<'t, R> {
    from: R,
    taken: &'t Cell<usize>,
}

impl<R: BufRead> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        let taken = self.taken.get() + count;
        if taken > quotas::REQUEST_BODY {
            return Err(io::Error::other(TOO_LONG));
        }
        self.taken.set(taken);
        Ok(count)
    }
}

/// Converts a line to DynamoDB JSON.
fn item(row: &StringRecord, names: &[Name], source: &ImportSource) -> Vec<u8> {
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
