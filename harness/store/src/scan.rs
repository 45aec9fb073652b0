//! Reads the records of one file, and distinguishes a torn write from damage.

use std::io;

use crate::disk::{DiskFile, read_full};
use crate::format::{FILE_HEADER, FileKind, HeaderError, Layout, RecordHeader, hash, read_file_header};

/// The smallest piece of a file that a power failure leaves unwritten.
const SECTOR: u64 = 512;

/// The minimum number of zero bytes that count as an unwritten sector.
const LEAST_ZEROS: u64 = 8;

/// The number of bytes that are read at a time.
const CHUNK: usize = 1024 * 1024;

/// A file that is read from its beginning to its end.
pub(crate) struct Reader<'a> {
    file: &'a dyn DiskFile,
    layout: &'static Layout,
    id: u64,
    length: u64,
    /// Bytes of the file from `start` on.
    buffer: Vec<u8>,
    start: u64,
    at: u64,
}

/// The next thing in a file.
#[derive(Debug)]
pub(crate) enum Step<'b> {
    Record {
        offset: u64,
        header: RecordHeader,
        record: &'b [u8],
    },
    /// The end of the file, right after a record.
    End,
    Bad(Bad),
}

/// A place where a record should be and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) offset: u64,
    pub(crate) problem: &'static str,
    /// Whether a write that was interrupted can have left it so.
    pub(crate) torn: bool,
}

/// Why a file cannot be read.
pub(crate) enum ReadError {
    Header(HeaderError),
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

/// The bytes and records behind an unreadable place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaterRecords {
    pub(crate) records: u64,
    /// The sequence number below which, by their headers, everything was synced.
    pub(crate) synced: u64,
}

impl<'a> Reader<'a> {
    /// A reader behind the file's header, which is checked.
    pub(crate) fn new(file: &'a dyn DiskFile, kind: FileKind, number: u64, id: u64) -> Result<Reader<'a>, ReadError> {
        let mut header = [0; FILE_HEADER];
        let read = read_full(file, &mut header, 0)?;
        let layout = read_file_header(&header[..read], kind, number, id).map_err(ReadError::Header)?;
        Ok(Reader {
            file,
            layout,
            id,
            length: file.len()?,
            buffer: Vec::new(),
            start: 0,
            at: FILE_HEADER as u64,
        })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The position up to which the file has been read.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    pub(crate) fn skip_to(&mut self, offset: u64) {
        self.at = offset;
    }

    pub(crate) fn next(&mut self) -> io::Result<Step<'_>> {
        let offset = self.at;
        if offset == self.length {
            return Ok(Step::End);
        }
        let bad = |problem, torn| Ok(Step::Bad(Bad { offset, problem, torn }));
        let header_length = self.layout.header as u64;
        if self.length - offset < header_length {
            return bad("the file ends within the header of a record", true);
        }
        self.fill(offset, self.layout.header)?;
        let Some(header) = self.layout.decode(self.bytes(offset, self.layout.header), self.id) else {
            let torn = self.has_unwritten_sector(offset, offset + header_length)?;
            return bad("the checksum of a record's header does not match", torn);
        };
        let (body, length) = (offset + header_length, header.length as usize);
        let padded = self.layout.padded(length);
        if self.length - body < padded as u64 {
            return bad("the file ends within a record", true);
        }
        self.fill(offset, self.layout.header + padded)?;
        if !self.is_intact(body, &header) {
            let torn = self.has_unwritten_sector(body, body + padded as u64)?;
            return bad("the checksum of a record does not match", torn);
        }
        self.at = body + padded as u64;
        Ok(Step::Record {
            offset,
            header,
            record: self.bytes(body, length),
        })
    }

    /// Searches every offset from the current position on for intact records with sequence numbers of at least `expected`.
    pub(crate) fn find_later_records(&mut self, expected: u64) -> io::Result<LaterRecords> {
        let mut behind = LaterRecords::default();
        let header_length = self.layout.header;
        let mut offset = self.at;
        while self.length.saturating_sub(offset) >= header_length as u64 {
            self.fill(offset, header_length)?;
            let header = self.layout.decode(self.bytes(offset, header_length), self.id);
            let body = offset + header_length as u64;
            let padded = header.map_or(0, |header| self.layout.padded(header.length as usize));
            let fits = padded as u64 <= self.length - body;
            let Some(header) = header.filter(|header| header.sequence >= expected && fits) else {
                offset += 1;
                continue;
            };
            self.fill(offset, header_length + padded)?;
            if !self.is_intact(body, &header) {
                offset += 1;
                continue;
            }
            behind.records += 1;
            behind.synced = behind.synced.max(header.synced);
            offset = body + padded as u64;
        }
        Ok(behind)
    }

    /// Whether the record at `body`, which the buffer contains, is intact.
    fn is_intact(&self, body: u64, header: &RecordHeader) -> bool {
        let length = header.length as usize;
        let padding = self.bytes(body + length as u64, self.layout.padded(length) - length);
        hash(self.bytes(body, length), self.id) == header.hash && padding.iter().all(|byte| *byte == 0)
    }

    /// Whether a sector that has a part in the range was left unwritten: its bytes from the range's start on are zero.
    fn has_unwritten_sector(&mut self, from: u64, to: u64) -> io::Result<bool> {
        let mut sector = from / SECTOR * SECTOR;
        while sector < to {
            let (start, end) = (sector.max(from), (sector + SECTOR).min(self.length));
            let length = (end - start) as usize;
            self.fill(start, length)?;
            if end - start >= LEAST_ZEROS && self.bytes(start, length).iter().all(|byte| *byte == 0) {
                return Ok(true);
            }
            sector += SECTOR;
        }
        Ok(false)
    }

    /// Makes `length` bytes from `offset` on available in the buffer; they must be within the file.
    fn fill(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let end = offset + length as u64;
        if offset >= self.start && end <= self.start + self.buffer.len() as u64 {
            return Ok(());
        }
        let wanted = (self.length - offset).min(length.max(CHUNK) as u64) as usize;
        self.buffer.resize(wanted, 0);
        self.start = offset;
        let read = read_full(self.file, &mut self.buffer, offset)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.truncate(read);
        Ok(())
    }

    fn bytes(&self, offset: u64, length: usize) -> &[u8] {
        let at = (offset - self.start) as usize;
        &self.buffer[at..at + length]
    }
}
