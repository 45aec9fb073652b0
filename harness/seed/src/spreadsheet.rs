//! CSV: a header with the attributes' names, and an item on each line.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use crate::error::Error;
use crate::seed::{Attributes, Items, SeedItem};

/// The items of a CSV file. As in ImportTable, keys have their declared types and other attributes are strings; an empty field
/// is an absent attribute.
pub(crate) fn read(file: &str, table: &str, from: impl Read + Send + 'static) -> Result<Items, Error> {
    let breaks = Breaks::default();
    let mut lines = Lines {
        breaks: Arc::clone(&breaks),
        line: 1,
    };
    let mut reader = ReaderBuilder::new().from_reader(Counted {
        from,
        breaks,
        offset: 0,
        after_return: false,
    });
    let header = reader
        .headers()
        .map_err(|error| of_csv(file, &error, &mut lines))?
        .clone();
    let line = header.position().map_or(1, |start| lines.line_of(start.byte()));
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    if names.iter().all(String::is_empty) {
        return Err(Error::new(file, "the file has no header with the attributes' names").at_line(line));
    }
    let mut seen = HashSet::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !seen.insert(name) {
            return Err(Error::new(file, format!("`{name}` occurs twice")).at_line(line));
        }
    }
    Ok(Items {
        table: table.to_owned(),
        items: Box::new(Rows {
            file: file.to_owned(),
            names,
            reader,
            lines,
            failed: false,
        }),
    })
}

struct Rows<R> {
    file: String,
    names: Vec<String>,
    reader: Reader<Counted<R>>,
    lines: Lines,
    failed: bool,
}

/// The ends of the lines that were read ahead: the offset of each carriage return and line feed, and whether it ends a line. A line
/// feed after a carriage return does not.
type Breaks = Arc<Mutex<VecDeque<(u64, bool)>>>;

/// A text whose line ends are recorded as it is read.
struct Counted<R> {
    from: R,
    breaks: Breaks,
    offset: u64,
    after_return: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        let mut breaks = self.breaks.lock().unwrap_or_else(PoisonError::into_inner);
        for (&byte, offset) in buffer[..length].iter().zip(self.offset..) {
            match byte {
                b'\r' => breaks.push_back((offset, true)),
                b'\n' => breaks.push_back((offset, !self.after_return)),
                _ => {}
            }
            self.after_return = byte == b'\r';
        }
        self.offset += length as u64;
        Ok(length)
    }
}

/// Counts lines from record to record.
struct Lines {
    breaks: Breaks,
    line: usize,
}

impl Lines {
    /// The line of the record that begins at an offset, after blank lines. A record's position is that before them.
    fn line_of(&mut self, mut start: u64) -> usize {
        let mut breaks = self.breaks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(&(offset, ends_line)) = breaks.front() {
            if offset > start {
                break;
            }
            if offset == start {
                start += 1;
            }
            self.line += usize::from(ends_line);
            breaks.pop_front();
        }
        self.line
    }
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
                    line: row.position().map_or(0, |start| self.lines.line_of(start.byte())),
                    attributes: Attributes::Texts(fields.map(|(name, text)| (name.clone(), text.to_owned())).collect()),
                }))
            }
            Err(error) => {
                self.failed = true;
                Some(Err(of_csv(&self.file, &error, &mut self.lines)))
            }
        }
    }
}

fn of_csv(file: &str, error: &csv::Error, lines: &mut Lines) -> Error {
    let message = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("CSV error: the record has {len} fields, and the header {expected_len}")
        }
        ErrorKind::Utf8 { err, .. } => format!("CSV error: {err}"),
        _ => error.to_string(),
    };
    let described = Error::new(file, message);
    match error.position() {
        Some(position) => described.at_line(lines.line_of(position.byte())),
        None => described,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is read byte by byte.
    struct Bytewise(io::Cursor<Vec<u8>>);

    impl Read for Bytewise {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    /// The lines of the items and the messages of errors, until the items end, however the file is read.
    fn lines(text: impl AsRef<[u8]>) -> Vec<Result<usize, String>> {
        let line = |item: SeedItem| item.line;
        let lines_of = |items: Items| {
            let items = items.items;
            let lines = items.map(|item| item.map(line).map_err(|error| error.to_string()));
            lines.collect::<Vec<_>>()
        };
        let text = || io::Cursor::new(text.as_ref().to_vec());
        let lines = lines_of(read("x.csv", "T", text()).unwrap());
        assert_eq!(lines_of(read("x.csv", "T", Bytewise(text())).unwrap()), lines);
        lines
    }

    /// An error ends the items.
    #[test]
    fn nothing_is_read_after_an_error() {
        for (text, error) in [
            (
                &b"id,v\na,1\nb\nc,3\n"[..],
                "x.csv:3: CSV error: the record has 1 fields, and the header 2",
            ),
            (
                b"id,v\na,1\nb,2,3\nc,3\n",
                "x.csv:3: CSV error: the record has 3 fields, and the header 2",
            ),
            (
                b"id,v\na,1\nb,\xff\nc,3\n",
                "x.csv:3: CSV error: invalid utf-8: invalid UTF-8 in field 1 near byte index 0",
            ),
        ] {
            assert_eq!(lines(text), [Ok(2), Err(error.to_owned())]);
        }
        for (text, expected) in [
            ("id\na\nb\n", [Ok(2), Ok(3)]),
            ("id\na\n\nb\n", [Ok(2), Ok(4)]),
            ("\n\nid\na\n\n\nb", [Ok(4), Ok(7)]),
            ("id\r\n\r\na\r\n\r\n\r\nb\r\n", [Ok(3), Ok(6)]),
            ("id\n#a\n#b\n", [Ok(2), Ok(3)]),
            ("#id\na\n#b\n", [Ok(2), Ok(3)]),
        ] {
            assert_eq!(lines(text), expected, "{text:?}");
        }
        for (text, line) in [("id,id\n", 1), ("\nid,id\n", 2), ("\r\n\r\nid,id", 3), ("\n\n,\n", 3)] {
            let error = read("x.csv", "T", text.as_bytes()).err().unwrap();
            assert_eq!(error.line(), Some(line), "{text:?}");
        }
        let error = read("x.csv", "T", &b"id,\xff\na,1\n"[..]).err().unwrap().to_string();
        assert!(error.starts_with("x.csv:1: CSV error: invalid utf-8"), "{error}");
    }

    /// Lines are counted in files that are read in several parts, also if one ends between a carriage return and a line feed.
    #[test]
    fn lines_of_long_files_are_counted() {
        for end in ["\n", "\r\n", "\r"] {
            for pad in 0..3 {
                let rows = (0..3_000).map(|row| format!("{row:04},\"a{end}b\"{end}"));
                let rows = rows.collect::<Vec<_>>().concat();
                let text = format!("id,v{end}{}{rows}", end.repeat(pad));
                let first = 2 + pad;
                let expected: Vec<_> = (0..3_000).map(|row| Ok(first + 2 * row)).collect();
                assert_eq!(lines(text), expected, "{end:?} {pad}");
            }
        }
    }
}
