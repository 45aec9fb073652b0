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
    let taken = Taken::default();
    let delimiter = u8::try_from(source.delimiter).unwrap_or(b',');
    let metered = Metered {
        from,
        delimiter,
        taken: &taken,
    };
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(metered);
    let mut header = source.header.clone();
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).map_err(io::Error::other)? {
        taken.reset();
        if row.len() > quotas::ITEM_SIZE {
            reading.bad(format!(
                "the line has {} values, more than an item has bytes",
                row.len()
            ));
            return Ok(());
        }
        let Some(names) = &header else {
            header = Some(row.iter().map(Name::from).collect());
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

/// The bytes read since the end of the last record.
#[derive(Default)]
struct Taken {
    bytes: Cell<usize>,
    delimiters: Cell<usize>,
}

impl Taken {
    fn reset(&self) {
        self.bytes.set(0);
        self.delimiters.set(0);
    }
}

/// The delimiters that a record may have: the values of an item, and what the CSV reader reads ahead.
const MOST_DELIMITERS: usize = 2 * quotas::ITEM_SIZE;

/// A reader that fails when too much has been read since the end of the last record. The number of delimiters is limited
/// because the CSV reader keeps the position of each value, which takes eight times the memory of a delimiter.
struct Metered<'t, R> {
    from: R,
    delimiter: u8,
    taken: &'t Taken,
}

impl<R: BufRead> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        let bytes = self.taken.bytes.get() + count;
        let new = buffer[..count].iter().map(|byte| usize::from(*byte == self.delimiter));
        let delimiters = self.taken.delimiters.get() + new.sum::<usize>();
        if bytes > quotas::REQUEST_BODY || delimiters > MOST_DELIMITERS {
            return Err(io::Error::other(TOO_LONG));
        }
        self.taken.bytes.set(bytes);
        self.taken.delimiters.set(delimiters);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::read_records;

    /// Counts the bytes that are read.
    struct Counted<'c>(io::Take<io::Repeat>, &'c Cell<usize>);

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            self.1.set(self.1.get() + count);
            Ok(count)
        }
    }

    /// Neither a header nor a line has more values than an item has bytes.
    #[test]
    fn the_number_of_values_is_limited() {
        let too_many = |values: usize| Err(format!("the line has {values} values, more than an item has bytes"));
        let not_one = |values: usize| Err(format!("the line has {values} values, not 1"));
        const MOST: usize = quotas::ITEM_SIZE;
        for (header, values, expect) in [
            ("pk\n", MOST, vec![not_one(MOST), Ok(())]),
            ("pk\n", MOST + 1, vec![too_many(MOST + 1)]),
            ("", MOST, vec![Err(format!("the line has 1 values, not {MOST}"))]),
            ("", MOST + 1, vec![too_many(MOST + 1)]),
            ("", MOST_DELIMITERS + 1, vec![too_many(MOST_DELIMITERS + 1)]),
            ("", MOST_DELIMITERS + 2, vec![Err(TOO_LONG.to_owned())]),
        ] {
            let text = format!("{header}{}\na", ",".repeat(values - 1));
            let records = read_records(|source, reading| read(text.as_bytes(), source, reading));
            assert_eq!(records, expect, "{header:?}, {values} values");
        }
        // The limit is that of each line.
        let text = format!("pk\n{}", format!("{}\n", ",".repeat(MOST - 1)).repeat(4));
        let records = read_records(|source, reading| read(text.as_bytes(), source, reading));
        assert_eq!(records, vec![not_one(MOST); 4]);
    }

    #[test]
    fn little_is_read_of_a_record_of_delimiters() {
        for (byte, most) in [(b',', 900_000), (b'"', 17_000_000), (b'x', 17_000_000)] {
            let read_bytes = Cell::new(0);
            let from = io::BufReader::new(Counted(io::repeat(byte).take(300_000_000), &read_bytes));
            let records = read_records(|source, reading| read(from, source, reading));
            assert_eq!(records, [Err(TOO_LONG.to_owned())], "{byte}");
            assert!(read_bytes.get() <= most, "{byte}: {}", read_bytes.get());
        }
    }
}
