//! DynamoDB JSON: one or more JSON objects per line.

use std::io::{self, BufRead, Read};

use dynatwin_engine::attributes::{InvalidRecord, ItemRecord};
use dynatwin_engine::json::{Object, Writer};
use dynatwin_engine::quotas;
use dynatwin_engine::transfers::Line;

use crate::source::{Reading, TOO_LONG};

/// Returns a line of an export.
pub fn line(line: &Line) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut object = Object::open(&mut writer);
    match line {
        Line::Item(item) => object.item("Item", item),
        Line::Change { at, keys, old, new } => {
            let mut metadata = object.object("Metadata");
            let mut micros = metadata.object("WriteTimestampMicros");
            micros.string("N", &at.micros().to_string());
            micros.close();
            metadata.close();
            object.map("Keys", keys);
            if let Some(old) = old {
                object.item("OldImage", old);
            }
            if let Some(new) = new {
                object.item("NewImage", new);
            }
        }
    }
    object.close();
    let mut bytes = writer.finish();
    bytes.push(b'\n');
    bytes
}

/// Reads the records of an object. Reading ends at invalid JSON.
pub fn read(mut from: impl BufRead, reading: &mut Reading<'_>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // A record is at most as long as a request may be, without its line end.
        let length = (&mut from)
            .take(quotas::REQUEST_BODY as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if length - usize::from(line.ends_with(b"\n")) > quotas::REQUEST_BODY {
            reading.bad(TOO_LONG);
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if !records(&line, reading) {
            return Ok(());
        }
    }
}

/// Passes on the records of a line; returns whether reading can continue after it. The service also accepts several
/// objects in one line (October 2026).
fn records(mut line: &[u8], reading: &mut Reading<'_>) -> bool {
    while !line.is_empty() {
        let end = object_end(line).filter(|end| line[*end..].trim_ascii_start().starts_with(b"{"));
        let (first, rest) = line.split_at(end.unwrap_or(line.len()));
        if !record(first, reading) {
            return false;
        }
        line = rest.trim_ascii_start();
    }
    true
}

/// Returns where the first object of a text ends, if it is closed.
fn object_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Passes on a record in DynamoDB JSON; returns whether reading can continue after it.
pub fn record(json: &[u8], reading: &mut Reading<'_>) -> bool {
    match ItemRecord::read(json) {
        Ok(record) => {
            reading.good(record);
            true
        }
        Err(error) => {
            reading.bad(error.to_string());
            error != InvalidRecord::Json
        }
    }
}
