//! The bytes of log segments and snapshots.
//!
//! A file is a header of 40 bytes and records. All numbers are little-endian; hashes are XXH3 with 64 bits, and those of
//! records are seeded with the store's id.
//!
//! | File header | |
//! |---|---|
//! | 0..8 | `DYNATWIN` |
//! | 8..10 | format version |
//! | 10..12 | kind: 1 log segment, 2 snapshot |
//! | 12..16 | zero |
//! | 16..24 | the file's number |
//! | 24..32 | the store's id |
//! | 32..40 | hash of the above |
//!
//! | Record header, format 1 | |
//! |---|---|
//! | 0..4 | length of the record |
//! | 4..8 | zero |
//! | 8..16 | sequence number, without gaps across segments; in a snapshot counted from 0 |
//! | 16..24 | every record with a smaller sequence number was synced when this one was written |
//! | 24..32 | hash of the record |
//! | 32..40 | hash of the above |
//!
//! Zeros follow a record up to a multiple of 8 bytes. So a sector that a power failure left unwritten takes 8 bytes or more of
//! each record that it has a part of.

use twox_hash::XxHash3_64;

/// The longest record, in bytes.
pub const MAX_RECORD: usize = 2 * 1024 * 1024 * 1024 - 1;

/// The format that is written.
pub(crate) const VERSION: u16 = 1;

/// The length of a file's header.
pub(crate) const FILE_HEADER: usize = 40;

/// The length of a record's header in the format that is written.
pub(crate) const RECORD_HEADER: usize = 40;

/// A record is padded to a multiple of this.
pub(crate) const ALIGN: usize = 8;

const MAGIC: &[u8; 8] = b"DYNATWIN";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Log,
    Snapshot,
}

impl FileKind {
    fn code(self) -> u16 {
        match self {
            FileKind::Log => 1,
            FileKind::Snapshot => 2,
        }
    }
}

/// How a format version lays out its record headers.
pub(crate) struct Layout {
    version: u16,
    /// The length of a record's header.
    pub(crate) header: usize,
    /// A record is padded to a multiple of this.
    align: usize,
    /// Decodes a header whose hash is right.
    decode: fn(&[u8], u64) -> Option<RecordHeader>,
}

/// The formats that can be read. A new format adds a row; rows are never removed.
static LAYOUTS: &[Layout] = &[
    Layout {
        version: VERSION,
        header: RECORD_HEADER,
        align: ALIGN,
        decode: decode_header,
    },
    // No release wrote this format. It keeps the migration path under test until there is a second one.
    #[cfg(test)]
    Layout {
        version: older::VERSION,
        header: older::RECORD_HEADER,
        align: 1,
        decode: older::decode_header,
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) length: u32,
    pub(crate) sequence: u64,
    pub(crate) synced: u64,
    pub(crate) hash: u64,
}

impl Layout {
    /// The header at the beginning of `bytes`, if its hash is right and its length is within bounds.
    pub(crate) fn decode(&self, bytes: &[u8], id: u64) -> Option<RecordHeader> {
        let header = (self.decode)(bytes.get(..self.header)?, id)?;
        (header.length as usize <= MAX_RECORD).then_some(header)
    }

    /// The length of a record with its padding.
    pub(crate) fn padded(&self, length: usize) -> usize {
        length.next_multiple_of(self.align)
    }
}

/// Why a file's header is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The content is not what the store wrote.
    Damaged(&'static str),
    /// It is intact, and of a format that is not read here.
    UnknownVersion(u16),
}

pub(crate) fn file_header(kind: FileKind, number: u64, id: u64) -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header[10..12].copy_from_slice(&kind.code().to_le_bytes());
    header[16..24].copy_from_slice(&number.to_le_bytes());
    header[24..32].copy_from_slice(&id.to_le_bytes());
    let hash = XxHash3_64::oneshot(&header[..32]);
    header[32..].copy_from_slice(&hash.to_le_bytes());
    header
}

/// Checks a file's header, and returns how its records are laid out.
pub(crate) fn read_file_header(
    header: &[u8],
    kind: FileKind,
    number: u64,
    id: u64,
) -> Result<&'static Layout, HeaderError> {
    let header = header
        .get(..FILE_HEADER)
        .ok_or(HeaderError::Damaged("the file is shorter than its header"))?;
    if &header[..8] != MAGIC {
        return Err(HeaderError::Damaged("it does not begin as a file of a store"));
    }
    if XxHash3_64::oneshot(&header[..32]) != u64_at(header, 32) {
        return Err(HeaderError::Damaged("the checksum of the file's header does not match"));
    }
    let version = u16::from_le_bytes([header[8], header[9]]);
    let layout = LAYOUTS
        .iter()
        .find(|layout| layout.version == version)
        .ok_or(HeaderError::UnknownVersion(version))?;
    if u16::from_le_bytes([header[10], header[11]]) != kind.code() || header[12..16] != [0; 4] {
        return Err(HeaderError::Damaged("the file's content does not match its name"));
    }
    if u64_at(header, 16) != number || u64_at(header, 24) != id {
        return Err(HeaderError::Damaged(
            "the file belongs to another place or another store",
        ));
    }
    Ok(layout)
}

/// Whether the bytes of a file begin as the header of a store's file.
pub(crate) fn begins_as_store_file(content: &[u8]) -> bool {
    content.starts_with(MAGIC)
}

/// Whether a file of a store could have been left without records by a crash: it is empty, has zeros for what a power failure
/// left unwritten, or has a header, or the beginning of one.
pub(crate) fn is_without_records(content: &[u8]) -> bool {
    let is_header = begins_as_store_file(content) || MAGIC.starts_with(content);
    content.len() <= FILE_HEADER && (is_header || content.iter().all(|byte| *byte == 0))
}

/// The hash of a record's bytes.
pub(crate) fn hash(record: &[u8], id: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(id, record)
}

/// Appends a record with its header and padding to `buffer`.
pub(crate) fn encode(header: RecordHeader, record: &[u8], id: u64, buffer: &mut Vec<u8>) {
    encode_header(header, id, buffer);
    buffer.extend_from_slice(record);
    let padding = record.len().next_multiple_of(ALIGN) - record.len();
    buffer.resize(buffer.len() + padding, 0);
}

fn encode_header(header: RecordHeader, id: u64, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    buffer.extend_from_slice(&header.length.to_le_bytes());
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&header.sequence.to_le_bytes());
    buffer.extend_from_slice(&header.synced.to_le_bytes());
    buffer.extend_from_slice(&header.hash.to_le_bytes());
    let hash = hash(&buffer[start..], id);
    buffer.extend_from_slice(&hash.to_le_bytes());
}

fn decode_header(bytes: &[u8], id: u64) -> Option<RecordHeader> {
    let header = RecordHeader {
        length: u32_at(bytes, 0),
        sequence: u64_at(bytes, 8),
        synced: u64_at(bytes, 16),
        hash: u64_at(bytes, 24),
    };
    // Cheap tests first: the search for a record tries every offset.
    let plausible = bytes[4..8] == [0; 4] && header.synced <= header.sequence;
    (plausible && hash(&bytes[..32], id) == u64_at(bytes, 32)).then_some(header)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// A format as an older release could have written it: record headers have no `synced`.
#[cfg(test)]
pub(crate) mod older {
    use super::{FILE_HEADER, FileKind, RecordHeader, XxHash3_64, file_header, hash, u32_at, u64_at};

    pub(crate) const VERSION: u16 = 0;
    pub(crate) const RECORD_HEADER: usize = 32;

    pub(super) fn decode_header(bytes: &[u8], id: u64) -> Option<RecordHeader> {
        let header = RecordHeader {
            length: u32_at(bytes, 0),
            sequence: u64_at(bytes, 8),
            synced: 0,
            hash: u64_at(bytes, 16),
        };
        (bytes[4..8] == [0; 4] && hash(&bytes[..24], id) == u64_at(bytes, 24)).then_some(header)
    }

    /// A whole file in the older format.
    pub(crate) fn file(kind: FileKind, number: u64, id: u64, first: u64, records: &[&[u8]]) -> Vec<u8> {
        let mut file = file_header(kind, number, id).to_vec();
        file[8..10].copy_from_slice(&VERSION.to_le_bytes());
        let header_hash = XxHash3_64::oneshot(&file[..32]);
        file[32..FILE_HEADER].copy_from_slice(&header_hash.to_le_bytes());
        for (record, sequence) in records.iter().zip(first..) {
            let start = file.len();
            file.extend_from_slice(&(record.len() as u32).to_le_bytes());
            file.extend_from_slice(&[0; 4]);
            file.extend_from_slice(&sequence.to_le_bytes());
            file.extend_from_slice(&hash(record, id).to_le_bytes());
            let header_hash = hash(&file[start..], id);
            file.extend_from_slice(&header_hash.to_le_bytes());
            file.extend_from_slice(record);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_headers() {
        let header = file_header(FileKind::Log, 7, 99);
        assert_eq!(
            read_file_header(&header, FileKind::Log, 7, 99).unwrap().version,
            VERSION
        );
        let elsewhere = "the file belongs to another place or another store";
        for (kind, number, id, problem) in [
            (FileKind::Snapshot, 7, 99, "the file's content does not match its name"),
            (FileKind::Log, 8, 99, elsewhere),
            (FileKind::Log, 7, 98, elsewhere),
        ] {
            let refused = read_file_header(&header, kind, number, id).err();
            assert_eq!(refused, Some(HeaderError::Damaged(problem)));
        }
        for at in 0..=FILE_HEADER {
            let (mut flipped, problem) = match at {
                ..8 => (header.to_vec(), "it does not begin as a file of a store"),
                8..FILE_HEADER => (header.to_vec(), "the checksum of the file's header does not match"),
                _ => (header[..39].to_vec(), "the file is shorter than its header"),
            };
            if let Some(byte) = flipped.get_mut(at) {
                *byte ^= 1;
            }
            let refused = read_file_header(&flipped, FileKind::Log, 7, 99).err();
            assert_eq!(refused, Some(HeaderError::Damaged(problem)), "byte {at}");
        }
        let mut newer = header;
        newer[8] = 200;
        let hash = XxHash3_64::oneshot(&newer[..32]);
        newer[32..].copy_from_slice(&hash.to_le_bytes());
        let refused = read_file_header(&newer, FileKind::Log, 7, 99).err();
        assert_eq!(refused, Some(HeaderError::UnknownVersion(200)));
        let mut reserved = header;
        reserved[13] = 1;
        let hash = XxHash3_64::oneshot(&reserved[..32]);
        reserved[32..].copy_from_slice(&hash.to_le_bytes());
        assert!(matches!(
            read_file_header(&reserved, FileKind::Log, 7, 99),
            Err(HeaderError::Damaged(_))
        ));
    }

    #[test]
    fn record_headers() {
        let header = RecordHeader {
            length: 5,
            sequence: 9,
            synced: 4,
            hash: 77,
        };
        let mut bytes = Vec::new();
        encode_header(header, 3, &mut bytes);
        assert_eq!(bytes.len(), RECORD_HEADER);
        assert_eq!(LAYOUTS[0].decode(&bytes, 3), Some(header));
        assert_eq!(LAYOUTS[0].decode(&bytes, 4), None, "the record of another store");
        assert_eq!(LAYOUTS[0].decode(&bytes[..39], 3), None);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(LAYOUTS[0].decode(&flipped, 3), None, "byte {at}");
        }
        for (synced, is_valid) in [(9, true), (10, false)] {
            bytes.clear();
            encode_header(RecordHeader { synced, ..header }, 3, &mut bytes);
            assert_eq!(
                LAYOUTS[0].decode(&bytes, 3).is_some(),
                is_valid,
                "synced before {synced}"
            );
        }
        let longest = MAX_RECORD as u32;
        for (length, is_valid) in [(longest, true), (longest + 1, false), (u32::MAX, false)] {
            bytes.clear();
            encode_header(RecordHeader { length, ..header }, 3, &mut bytes);
            assert_eq!(LAYOUTS[0].decode(&bytes, 3).is_some(), is_valid, "{length} bytes");
        }
        bytes.clear();
        encode_header(header, 3, &mut bytes);
        bytes[5] = 1;
        let hash = super::hash(&bytes[..32], 3);
        bytes[32..].copy_from_slice(&hash.to_le_bytes());
        assert_eq!(LAYOUTS[0].decode(&bytes, 3), None, "reserved bytes");
    }
}
