//! CSV: a header with the attributes' names, and an item on each line.

use std::collections::HashSet;
use std::io::Read;

use csv::{Reader, ReaderBuilder, StringRecord};

use crate::error::Error;
use crate::seed::{Attributes, Items, SeedItem};

/// The items of a CSV file. As in ImportTable, keys have their declared types and other attributes are strings; an empty field
/// is an absent attribute.
pub(crate) fn read(file: &str, table: &str, from: impl Read + Send + 'static) -> Result<Items, Error> {
    let mut reader = ReaderBuilder::new().from_reader(from);
    let header = reader.headers().map_err(|error| of_csv(file, &error))?;
    let names: Vec<String> = header
        .iter()
        .map(|name| name.trim_start_matches('\u{feff}').to_owned())
        .collect();
    if names.iter().all(String::is_empty) {
        return Err(Error::new(file, "the file has no header with the attributes' names").at_line(1));
    }
    let mut seen = HashSet::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !seen.insert(name) {
            return Err(Error::new(file, format!("`{name}` occurs twice")).at_line(1));
        }
    }
    Ok(Items {
        table: table.to_owned(),
        items: Box::new(Rows {
            file: file.to_owned(),
            names,
            reader,
            failed: false,
        }),
    })
}

struct Rows<R> {
    file: String,
    names: Vec<String>,
    reader: Reader<R>,
    failed: bool,
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<SeedItem, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let mut row = StringRecord::new();
        let read = loop {
            match self.reader.read_record(&mut row) {
                // Spreadsheets write rows of empty fields for empty rows.
                Ok(true) if row.iter().all(str::is_empty) => {}
                read => break read,
            }
        };
        match read {
            Ok(false) => None,
            Ok(true) => {
                let fields = self.names.iter().zip(&row).filter(|(_, text)| !text.is_empty());
                Some(Ok(SeedItem {
                    file: self.file.clone(),
                    line: row.position().map_or(0, |position| position.line() as usize),
                    attributes: Attributes::Texts(fields.map(|(name, text)| (name.clone(), text.to_owned())).collect()),
                }))
            }
            Err(error) => {
                self.failed = true;
                Some(Err(of_csv(&self.file, &error)))
            }
        }
    }
}

fn of_csv(file: &str, error: &csv::Error) -> Error {
    let described = Error::new(file, error.to_string());
    match error.position() {
        Some(position) => described.at_line(position.line() as usize),
        None => described,
    }
}
