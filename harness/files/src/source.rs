//! The records of a bucket's objects.

use std::io::{self, BufRead, BufReader, Read};

use dynatwin_engine::attributes::ItemRecord;
use dynatwin_engine::transfers::{Compression, Failure, Format, ImportSource, Record};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

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

/// The decompressed contents of consecutive zstd frames, without skippable ones.
struct Frames<R> {
    from: R,
    /// The decoder of the current frame.
    decoder: Option<Box<FrameDecoder>>,
}

impl<R: BufRead> Frames<R> {
    fn new(from: R) -> Frames<R> {
        Frames { from, decoder: None }
    }

    /// Reads a frame's header, or skips a skippable frame.
    fn begin(&mut self) -> io::Result<()> {
        let mut decoder = FrameDecoder::new();
        match decoder.init(&mut self.from) {
            Ok(()) => self.decoder = Some(Box::new(decoder)),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = u64::from(length);
                if io::copy(&mut (&mut self.from).take(length), &mut io::sink())? < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                if self.from.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin()?;
                continue;
            };
            if decoder.can_collect() > 0 {
                return decoder.read(buffer);
            }
            if decoder.is_finished() {
                self.decoder = None;
                continue;
            }
            let decoded = decoder.decode_blocks(&mut self.from, BlockDecodingStrategy::UptoBlocks(1));
            decoded.map_err(|error| io::Error::other(error.to_string()))?;
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

    fn skippable(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x50 | kind, 0x2a, 0x4d, 0x18];
        frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        frame.extend_from_slice(bytes);
        frame
    }

    /// A file is any sequence of frames. pzstd writes a skippable one, which has the length of the next, before each.
    #[test]
    fn zstd_frames() {
        let frame = |text: &str| {
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
        };
        let (one, two, empty, byte) = (frame("one"), frame("two"), frame(""), frame("x"));
        let (skipped, nothing) = (skippable(0, &[0xff; 300]), skippable(15, b""));
        for (name, frames, expect) in [
            ("nothing", vec![], Some("")),
            ("one frame", vec![&one], Some("one")),
            ("two frames", vec![&one, &two], Some("onetwo")),
            ("an empty frame", vec![&empty], Some("")),
            ("frames of one byte", vec![&byte, &byte, &one, &byte], Some("xxonex")),
            (
                "empty frames",
                vec![&empty, &one, &empty, &empty, &two, &empty],
                Some("onetwo"),
            ),
            ("skippable at the beginning", vec![&skipped, &one], Some("one")),
            ("skippable in the middle", vec![&one, &skipped, &two], Some("onetwo")),
            ("skippable at the end", vec![&one, &skipped], Some("one")),
            ("only skippable", vec![&skipped, &nothing], Some("")),
            ("as of pzstd", vec![&nothing, &one, &nothing, &two], Some("onetwo")),
            ("a truncated skippable frame", vec![&one, &skipped[..50].to_vec()], None),
            ("a truncated header", vec![&one, &skipped[..6].to_vec()], None),
            ("a truncated frame", vec![&one[..one.len() - 1].to_vec()], None),
            ("no frame", vec![&one, &b"text".to_vec()], None),
        ] {
            let bytes: Vec<u8> = frames.into_iter().flatten().copied().collect();
            for buffer in [1, 3, 4096] {
                let mut text = String::new();
                let read = Frames::new(BufReader::with_capacity(buffer, &bytes[..])).read_to_string(&mut text);
                assert_eq!(read.ok().map(|_| &*text), expect, "{name}, {buffer} bytes at a time");
            }
        }
    }
}
