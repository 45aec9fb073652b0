//! DynamoDB JSON: a JSON object a line.

use std::io::{self, BufRead, Read};

use dynatwin_engine::error::ErrorKind;
use dynatwin_engine::limits;
use dynatwin_engine::request::ItemRecord;
use dynatwin_engine::transfer::Line;
use dynatwin_engine::wire::decode::Decode;
use dynatwin_engine::wire::encode::Writer;
use dynatwin_engine::wire::object::Object;

use crate::source::{Reading, TOO_LONG};

/// A line of an export.
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

/// Reads the records of an object. One that is no JSON is the last.
pub fn read(mut from: impl BufRead, reading: &mut Reading<'_>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // A record is no longer than a request may be.
        let length = (&mut from)
            .take(limits::REQUEST_BODY as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if length > limits::REQUEST_BODY {
            reading.bad(TOO_LONG);
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if !record(&line, reading) {
            return Ok(());
        }
    }
}

/// Takes a record in DynamoDB JSON; says whether reading can go on behind it.
pub fn record(json: &[u8], reading: &mut Reading<'_>) -> bool {
    match ItemRecord::decode(json) {
        Ok(record) => {
            reading.good(record);
            true
        }
        Err(error) => {
            reading.bad(error.message().unwrap_or("the record is no JSON"));
            // What is no JSON has no text.
            error.kind() != ErrorKind::Serialization || error.message().is_some()
        }
    }
}
