//! The manifest: which files make up the store, in order.
//!
//! It is text, and is replaced as a whole:
//!
//! ```text
//! dynatwin-store 1
//! id 8f3c52d1a0b4e677
//! next-file 5
//! snapshot 3 next=120 records=80 length=20480
//! sealed 2 first=120 next=130 length=4096
//! open 4
//! checksum 0123456789abcdef
//! ```

use std::fmt::Write;
use std::io;

use twox_hash::XxHash3_64;

use crate::disk::Disk;
use crate::format::FileKind;

/// The name of the file.
pub(crate) const MANIFEST: &str = "MANIFEST";

/// The name of a new manifest until it is complete.
pub(crate) const NEW_MANIFEST: &str = "MANIFEST.new";

/// The format of the manifest itself.
const VERSION: u16 = 1;

/// The longest manifest that is read; each open adds at most one line of some 80 bytes, and each snapshot removes them.
pub(crate) const MAX_LENGTH: u64 = 64 * 1024 * 1024;

/// The files of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Distinguishes this store's files from those of others.
    pub(crate) id: u64,
    /// The number of the next file.
    pub(crate) next_file: u64,
    pub(crate) snapshot: Option<SnapshotFile>,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotFile {
    pub(crate) number: u64,
    /// The sequence number of the first record that the snapshot does not cover.
    pub(crate) next: u64,
    pub(crate) records: u64,
    pub(crate) length: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// Set once nothing is appended any more and everything is synced.
    pub(crate) sealed: Option<Sealed>,
}

/// The extent of a sealed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) length: u64,
}

/// Why a manifest is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ManifestError {
    Damaged,
    UnknownVersion(u16),
}

impl Manifest {
    pub(crate) fn new(id: u64) -> Manifest {
        Manifest {
            id,
            next_file: 1,
            snapshot: None,
            segments: Vec::new(),
        }
    }

    /// The sequence number of the first record that is not in the snapshot.
    pub(crate) fn first(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.next)
    }

    /// The number of a new file. Numbers of files that exist are skipped: other programs may have written them.
    pub(crate) fn take_number(&mut self, disk: &dyn Disk) -> io::Result<u64> {
        loop {
            let number = self.next_file;
            self.next_file += 1;
            if !exists(disk, &segment_name(number))? && !exists(disk, &snapshot_name(number))? {
                return Ok(number);
            }
        }
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> Vec<String> {
        let snapshot = self.snapshot.iter().map(|snapshot| snapshot_name(snapshot.number));
        let segments = self.segments.iter().map(|segment| segment_name(segment.number));
        snapshot.chain(segments).collect()
    }

    pub(crate) fn encode(&self) -> String {
        let mut text = format!(
            "dynatwin-store {VERSION}\nid {:016x}\nnext-file {}\n",
            self.id, self.next_file
        );
        // Writing to a string does not fail.
        if let Some(SnapshotFile {
            number,
            next,
            records,
            length,
        }) = &self.snapshot
        {
            let _ = writeln!(text, "snapshot {number} next={next} records={records} length={length}");
        }
        for Segment { number, sealed } in &self.segments {
            let _ = match sealed {
                Some(Sealed { first, next, length }) => {
                    writeln!(text, "sealed {number} first={first} next={next} length={length}")
                }
                None => writeln!(text, "open {number}"),
            };
        }
        let hash = XxHash3_64::oneshot(text.as_bytes());
        let _ = writeln!(text, "checksum {hash:016x}");
        text
    }

    /// Decodes the bytes of [`encode`](Manifest::encode), and accepts no others.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::Damaged)?;
        let version = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("dynatwin-store "));
        if let Some(version) = version.and_then(|version| version.parse::<u16>().ok())
            && version != VERSION
            && has_checksum(text)
        {
            return Err(ManifestError::UnknownVersion(version));
        }
        let manifest = parse(text).ok_or(ManifestError::Damaged)?;
        if manifest.encode() == text {
            Ok(manifest)
        } else {
            Err(ManifestError::Damaged)
        }
    }
}

/// Whether the last line is the checksum of the others, as in every version.
fn has_checksum(text: &str) -> bool {
    text.rfind("checksum ").is_some_and(|at| {
        let hash = XxHash3_64::oneshot(&text.as_bytes()[..at]);
        text[at..] == format!("checksum {hash:016x}\n")
    })
}

/// Reads a manifest leniently: the caller compares the accepted bytes with their encoding.
fn parse(text: &str) -> Option<Manifest> {
    let mut lines = text.lines().skip(1);
    let id = u64::from_str_radix(lines.next()?.strip_prefix("id ")?, 16).ok()?;
    let next_file = lines.next()?.strip_prefix("next-file ")?.parse().ok()?;
    let mut manifest = Manifest {
        id,
        next_file,
        snapshot: None,
        segments: Vec::new(),
    };
    for line in lines {
        let mut words = line.split(' ');
        let kind = words.next()?;
        if kind == "checksum" {
            break;
        }
        let number = words.next()?.parse().ok()?;
        let mut field = |name: &str| -> Option<u64> {
            let value = words.next()?.strip_prefix(name)?.strip_prefix('=')?;
            value.parse().ok()
        };
        match kind {
            "snapshot" => {
                manifest.snapshot = Some(SnapshotFile {
                    number,
                    next: field("next")?,
                    records: field("records")?,
                    length: field("length")?,
                });
            }
            "sealed" => manifest.segments.push(Segment {
                number,
                sealed: Some(Sealed {
                    first: field("first")?,
                    next: field("next")?,
                    length: field("length")?,
                }),
            }),
            "open" => manifest.segments.push(Segment { number, sealed: None }),
            _ => return None,
        }
    }
    Some(manifest)
}

fn exists(disk: &dyn Disk, name: &str) -> io::Result<bool> {
    match disk.open(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:06}.wal")
}

pub(crate) fn snapshot_name(number: u64) -> String {
    format!("{number:06}.snapshot")
}

/// Returns the kind and number of a file whose name is a segment's or snapshot's.
pub(crate) fn store_file(name: &str) -> Option<(FileKind, u64)> {
    let (number, suffix) = name.split_once('.')?;
    let number = number.parse().ok()?;
    let (kind, own_name) = match suffix {
        "wal" => (FileKind::Log, segment_name(number)),
        "snapshot" => (FileKind::Snapshot, snapshot_name(number)),
        _ => return None,
    };
    (own_name == name).then_some((kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Manifest {
        Manifest {
            id: 0xabc,
            next_file: 9,
            snapshot: Some(SnapshotFile {
                number: 3,
                next: 120,
                records: 80,
                length: 20_480,
            }),
            segments: vec![
                Segment {
                    number: 4,
                    sealed: Some(Sealed {
                        first: 120,
                        next: 130,
                        length: 4096,
                    }),
                },
                Segment {
                    number: 8,
                    sealed: None,
                },
            ],
        }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        for manifest in [Manifest::new(1), full()] {
            assert_eq!(Manifest::decode(manifest.encode().as_bytes()), Ok(manifest));
        }
        assert_eq!(full().names(), ["000003.snapshot", "000004.wal", "000008.wal"]);
    }

    #[test]
    fn changed_manifests_are_refused() {
        let good = full().encode().into_bytes();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(Manifest::decode(&bad).is_err(), "byte {at}, bit {bit}");
            }
            assert!(Manifest::decode(&good[..at]).is_err(), "{at} bytes");
        }
        let newer = full().encode().replace("dynatwin-store 1", "dynatwin-store 2");
        assert_eq!(Manifest::decode(newer.as_bytes()), Err(ManifestError::Damaged));
        let body = newer.split("checksum").next().unwrap();
        let newer = format!("{body}checksum {:016x}\n", XxHash3_64::oneshot(body.as_bytes()));
        assert_eq!(
            Manifest::decode(newer.as_bytes()),
            Err(ManifestError::UnknownVersion(2))
        );
    }

    #[test]
    fn names() {
        for (name, expected) in [
            ("000001.wal", Some((FileKind::Log, 1))),
            ("000002.snapshot", Some((FileKind::Snapshot, 2))),
            ("1234567.wal", Some((FileKind::Log, 1_234_567))),
            ("LOCK", None),
            ("MANIFEST", None),
            ("1.wal", None),
            ("0000001.wal", None),
            ("+00001.wal", None),
            ("00000x.wal", None),
            ("000001.wal.old", None),
            ("99999999999999999999999.wal", None),
            ("shared-local-instance.db", None),
        ] {
            assert_eq!(store_file(name), expected, "{name}");
        }
    }
}
