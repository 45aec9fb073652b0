//! The records of a bucket's objects.

use std::io::{self, BufRead, BufReader, Read};

use dynatwin_engine::attributes::ItemRecord;
use dynatwin_engine::transfers::{Compression, Failure, Format, ImportSource, Record};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::bucket::{Bucket, Object};
use crate::{csv, ion, json};

/// The error of a record that is longer than a request may be.
pub const TOO_LONG: &str = "the record is too long";

/// An object that is being read.
pub struct Reading<'r> {
    key: &'r str,
    number: u64,
    take: &'r mut dyn FnMut(Record),
}

impl Reading<'_> {
    /// Passes on a valid record.
    pub fn good(&mut self, record: ItemRecord) {
        self.pass_on(Ok(record));
    }

    /// Passes on the error of an invalid record.
    pub fn bad(&mut self, why: impl Into<String>) {
        self.pass_on(Err(why.into()));
    }

    fn pass_on(&mut self, read: Result<ItemRecord, String>) {
        self.number += 1;
        (self.take)(Record {
            object: self.key.to_owned(),
            number: self.number,
            read,
        });
    }
}

/// Reads all objects with a prefix, and returns the number of their bytes.
pub fn read(bucket: &Bucket, source: &ImportSource, take: &mut dyn FnMut(Record)) -> Result<u64, Failure> {
    let mut bytes = 0;
    for object in bucket.objects(&source.prefix)? {
        let mut reading = Reading {
            key: &object.key,
            number: 0,
            take: &mut *take,
        };
        match read_object(&object, source, &mut reading) {
            Ok(length) => bytes += length,
            // An unreadable object, or one that is not compressed as declared, counts as an invalid record; the other
            // objects are read.
            Err(error) => reading.bad(error.to_string()),
        }
    }
    Ok(bytes)
}

fn read_object(object: &Object, source: &ImportSource, reading: &mut Reading<'_>) -> io::Result<u64> {
    let (file, length) = object.open()?;
    let file = BufReader::new(file);
    match source.compression {
        Compression::None => records(file, source, reading)?,
        Compression::Gzip if length == 0 => {}
        Compression::Gzip => records(BufReader::new(MultiGzDecoder::new(file)), source, reading)?,
        Compression::Zstd => records(BufReader::new(Frames::new(file)), source, reading)?,
    }
    Ok(length)
}

fn records(from: impl BufRead, source: &ImportSource, reading: &mut Reading<'_>) -> io::Result<()> {
    match source.format {
        Format::DynamoDbJson => json::read(from, reading),
        Format::Ion => ion::read(from, reading),
        Format::Csv => csv::read(from, source, reading),
    }
}

/// The decompressed contents of consecutive zstd frames.
struct Frames<R: BufRead> {
    state: State<R>,
}

enum State<R: BufRead> {
    Between(R),
    Inside(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Lost,
}

impl<R: BufRead> Frames<R> {
    fn new(from: R) -> Frames<R> {
        Frames {
            state: State::Between(from),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Lost) {
                State::Lost => return Ok(0),
                State::Between(mut from) => {
                    if from.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(from);
                    let decoder = decoder.map_err(|error| io::Error::other(error.to_string()))?;
                    self.state = State::Inside(Box::new(decoder));
                }
                State::Inside(mut decoder) => {
                    let length = decoder.read(buffer)?;
                    if length > 0 {
                        self.state = State::Inside(decoder);
                        return Ok(length);
                    }
                    self.state = State::Between(decoder.into_inner());
                }
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Reads an object as CSV without a key, and returns which records are valid and why the others are not.
    pub fn read_records(
        read: impl FnOnce(&ImportSource, &mut Reading<'_>) -> io::Result<()>,
    ) -> Vec<Result<(), String>> {
        let source = ImportSource {
            bucket: String::new(),
            prefix: String::new(),
            format: Format::Csv,
            compression: Compression::None,
            delimiter: ',',
            header: None,
            keys: Vec::new(),
        };
        let mut records = Vec::new();
        let mut take = |record: Record| records.push(record.read.map(drop));
        let mut reading = Reading {
            key: "object",
            number: 0,
            take: &mut take,
        };
        if let Err(error) = read(&source, &mut reading) {
            reading.bad(error.to_string());
        }
        records
    }

    /// Records are numbered from 1 in their object, valid or not.
    #[test]
    fn all_records_are_numbered() {
        for validity in [
            &[true, false, false, true][..],
            &[false, true, false],
            &[false, false],
            &[true, true],
        ] {
            let mut numbers = Vec::new();
            let mut take = |record: Record| numbers.push((record.number, record.read.is_ok()));
            let mut reading = Reading {
                key: "object",
                number: 0,
                take: &mut take,
            };
            for is_valid in validity {
                if *is_valid {
                    reading.good(ItemRecord::read(br#"{"Item":{"pk":{"S":"a"}}}"#).unwrap());
                } else {
                    reading.bad("invalid");
                }
            }
            let expected: Vec<_> = (1..).zip(validity.iter().copied()).collect();
            assert_eq!(numbers, expected);
        }
    }
}
