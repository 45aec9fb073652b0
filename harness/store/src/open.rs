//! Opens a store: reads everything, finds the end of the log, and begins a new segment.

use std::hash::{BuildHasher, RandomState};
use std::io;

use crate::disk::{Disk, DiskFile, Lock, read_full, write_all};
use crate::error::OpenError;
use crate::format::{FILE_HEADER, FileKind, HeaderError, begins_as_store_file, is_without_records};
use crate::manifest::{
    MANIFEST, MAX_LENGTH, Manifest, ManifestError, NEW_MANIFEST, Sealed, Segment, SnapshotFile, segment_name,
    snapshot_name, store_file,
};
use crate::scan::{Bad, LaterRecords, ReadError, Reader, Step};
use crate::store::{Active, Store, replace_manifest};

/// After how many bytes progress is reported.
const REPORTED: u64 = 8 * 1024 * 1024;

/// The offset of one in this many records is remembered.
const MARKED: u64 = if cfg!(test) { 2 } else { 1024 };

/// The number of bytes that are rewritten at a time.
const REWRITTEN: usize = 1024 * 1024;

/// A record that was found.
///
/// ```
/// use dynatwin_store::Entry;
///
/// let describe = |entry| match entry {
///     Entry::Snapshot(record) => format!("{} bytes of the snapshot", record.len()),
///     Entry::Log { sequence, .. } => format!("record {sequence}"),
/// };
/// assert_eq!(describe(Entry::Log { sequence: 3, record: b"put" }), "record 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A part of the snapshot. All of them precede those of the log.
    Snapshot(&'a [u8]),
    /// A record of the log.
    Log {
        /// The sequence number, which append returned.
        sequence: u64,
        /// The bytes of the record.
        record: &'a [u8],
    },
}

/// The progress of opening a store.
///
/// ```
/// use dynatwin_store::Progress;
///
/// let Progress { read, total } = Progress { read: 25, total: 100 };
/// assert_eq!(100 * read / total, 25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The bytes that have been read so far.
    pub read: u64,
    /// Bytes of all files together.
    pub total: u64,
}

/// The findings of opening a store.
///
/// ```
/// # use dynatwin_store::{Directory, Entry, Store};
/// # let directory = std::env::temp_dir().join(format!("dynatwin-store-report-{}", std::process::id()));
/// # let (store, report) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
/// assert_eq!((report.snapshot_records, report.log_records, report.cut), (0, 0, None));
/// # drop(store);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of records in the snapshot.
    pub snapshot_records: u64,
    /// The number of records in the log.
    pub log_records: u64,
    /// The end of the log that was incomplete and was removed.
    pub cut: Option<Cut>,
}

/// The end of a log that was never synced, and was only written in part.
///
/// ```
/// use dynatwin_store::Cut;
///
/// let cut = Cut { file: "000001.wal".into(), offset: 64, bytes: 9, records: 0, problem: "the record is incomplete".into() };
/// assert_eq!(cut.offset, 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The name of the log file.
    pub file: String,
    /// The length after the end was removed, in bytes.
    pub offset: u64,
    /// The number of bytes removed.
    pub bytes: u64,
    /// Complete records among them, which a power failure left behind a gap.
    pub records: u64,
    /// The finding at `offset`.
    pub problem: String,
}

type EntryVisitor<'v> = &'v mut dyn FnMut(Entry<'_>) -> Result<(), String>;

impl Store {
    /// Opens a directory, and creates the store if there is none. Passes each record to `visit`, in order, and reports
    /// the progress. If `visit` refuses a record, opening fails.
    ///
    /// An incomplete end of the log is removed and reported. Any other damage is an error, and changes nothing.
    pub fn open(
        disk: impl Disk,
        visit: EntryVisitor<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Store, Report), OpenError> {
        let directory = disk.name();
        let lock = match disk.lock() {
            Ok(Lock::Held(lock)) => lock,
            Ok(Lock::Taken(process)) => return Err(OpenError::InUse { directory, process }),
            Err(error) => {
                return Err(OpenError::Io {
                    directory,
                    action: "be created or locked".into(),
                    error,
                });
            }
        };
        let mut opening = Opening {
            disk: &disk,
            directory,
            visit,
            progress,
            done: Progress { read: 0, total: 0 },
            reported: 0,
            report: Report::default(),
            synced: 0,
        };
        let (manifest, active) = opening.run()?;
        let report = opening.report;
        Ok((Store::new(Box::new(disk), lock, manifest, active), report))
    }
}

struct Opening<'a> {
    disk: &'a dyn Disk,
    directory: String,
    visit: EntryVisitor<'a>,
    progress: &'a mut dyn FnMut(Progress),
    done: Progress,
    reported: u64,
    report: Report,
    /// Records with smaller sequence numbers were synced.
    synced: u64,
}

/// The intact part of a segment.
struct ReadSegment {
    sealed: Sealed,
    /// Sequence numbers and offsets of some records.
    marks: Vec<(u64, u64)>,
}

/// Rewrites a part of a file and syncs it. An earlier process may have failed to sync it: the system then keeps the
/// unwritten bytes in its cache, and does not write them again.
fn rewrite(file: &dyn DiskFile, mut from: u64, to: u64) -> io::Result<()> {
    let mut buffer = vec![0; REWRITTEN];
    while from < to {
        let length = (to - from).min(REWRITTEN as u64) as usize;
        let read = read_full(file, &mut buffer[..length], from)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_all(file, &buffer[..length], from)?;
        from += length as u64;
    }
    file.sync()
}

/// Returns the files whose names are those of segments and snapshots, with the kind and number in them.
fn store_files(names: &[String]) -> impl Iterator<Item = (&str, FileKind, u64)> {
    let parsed = names.iter().map(|name| (name, store_file(name)));
    parsed.filter_map(|(name, parsed)| parsed.map(|(kind, number)| (name.as_str(), kind, number)))
}

/// Reads the header of a file, and one byte of what follows it.
fn beginning(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let mut beginning = vec![0; FILE_HEADER + 1];
    let read = read_full(file, &mut beginning, 0)?;
    beginning.truncate(read);
    Ok(beginning)
}

/// Where the intact part of the log ends, within a segment.
struct End {
    /// The segment's place in the manifest.
    segment: usize,
    bad: Bad,
}

impl Opening<'_> {
    fn run(&mut self) -> Result<(Manifest, Active), OpenError> {
        let names = self.io("list its files", self.disk.names())?;
        let mut manifest = self.manifest(&names)?;
        if let Some(missing) = manifest.names().iter().find(|name| !names.contains(name)) {
            return Err(self.damaged(missing, 0, "the file is missing"));
        }
        self.done.total = self.total(&manifest)?;
        if let Some(snapshot) = &manifest.snapshot {
            self.snapshot(snapshot, manifest.id)?;
        }
        let first = manifest.first();
        let mut next = first;
        let mut read = Vec::new();
        let mut cut = None;
        let mut before = None;
        for (at, segment) in manifest.segments.iter().enumerate() {
            let (segment_read, bad) = self.segment(segment, before, manifest.id, &mut next)?;
            before = Some(segment);
            read.push(segment_read);
            if let Some(bad) = bad {
                cut = self.judge(&manifest, End { segment: at, bad }, next)?;
                break;
            }
        }
        self.report.log_records = next - first;
        self.done.read = self.done.total;
        (self.progress)(self.done);
        let own = self.own_files(&manifest, &names, next)?;
        // Until here nothing was changed.
        if cut.is_some() {
            self.shorten(&manifest, &read)?;
        }
        self.report.cut = cut;
        let active = self.begin(&mut manifest, &read, next)?;
        let listed = manifest.names();
        for name in own
            .into_iter()
            .filter(|name| !listed.iter().any(|listed| listed == name))
        {
            // Files that cannot be removed now are removed the next time.
            let _ = self.disk.remove(name);
        }
        Ok((manifest, active))
    }

    /// Reads the manifest, or creates that of an empty store.
    fn manifest(&mut self, names: &[String]) -> Result<Manifest, OpenError> {
        if !names.iter().any(|name| name == MANIFEST) {
            for (name, ..) in store_files(names) {
                let file = self.io(&format!("open {name}"), self.disk.open(name))?;
                let beginning = self.io(&format!("read {name}"), beginning(&*file))?;
                // A crash before the first manifest leaves a file without records.
                if is_without_records(&beginning) {
                    continue;
                }
                if begins_as_store_file(&beginning) {
                    return Err(self.damaged(MANIFEST, 0, "the file is missing"));
                }
                return Err(self.foreign(name));
            }
            return Ok(Manifest::new(RandomState::new().hash_one(0)));
        }
        let read = self.disk.open(MANIFEST).and_then(|file| {
            let length = file.len()?.min(MAX_LENGTH) as usize;
            let mut bytes = vec![0; length];
            let read = read_full(&*file, &mut bytes, 0)?;
            bytes.truncate(read);
            Ok(bytes)
        });
        let bytes = self.io("read MANIFEST", read)?;
        Manifest::decode(&bytes).map_err(|error| match error {
            ManifestError::Damaged => self.damaged(MANIFEST, 0, "its contents do not match its checksum"),
            ManifestError::UnknownVersion(version) => self.unknown(MANIFEST, version),
        })
    }

    fn total(&self, manifest: &Manifest) -> Result<u64, OpenError> {
        let lengths = manifest.names().into_iter().map(|name| {
            let length = self.disk.open(&name).and_then(|file| file.len());
            self.io(&format!("open {name}"), length)
        });
        lengths.sum()
    }

    fn snapshot(&mut self, snapshot: &SnapshotFile, id: u64) -> Result<(), OpenError> {
        let name = snapshot_name(snapshot.number);
        let file = self.io(&format!("open {name}"), self.disk.open(&name))?;
        let mut reader = self.opened(&name, Reader::new(&*file, FileKind::Snapshot, snapshot.number, id))?;
        if reader.length() != snapshot.length {
            return Err(self.wrong_length(&name, reader.length(), snapshot.length));
        }
        let mut records = 0;
        loop {
            let step = reader.next();
            match self.io(&format!("read {name}"), step)? {
                Step::Record { offset, header, record } => {
                    if header.sequence != records {
                        return Err(self.damaged(&name, offset, "a record of the snapshot is missing"));
                    }
                    self.deliver(&name, offset, Entry::Snapshot(record))?;
                    records += 1;
                }
                Step::Bad(bad) => return Err(self.damaged(&name, bad.offset, bad.problem)),
                Step::End if records == snapshot.records => break,
                Step::End => return Err(self.damaged(&name, reader.position(), "records at its end are missing")),
            }
        }
        self.report.snapshot_records = records;
        Ok(())
    }

    /// Reads a segment from the record `next` on. Returns its intact part, and what follows it if that is not the end
    /// of the file.
    fn segment(
        &mut self,
        segment: &Segment,
        before: Option<&Segment>,
        id: u64,
        next: &mut u64,
    ) -> Result<(ReadSegment, Option<Bad>), OpenError> {
        let (first, mut marks) = (*next, Vec::new());
        // Only the segment before can have lost records that were never synced.
        let may_follow_gap = before.is_some_and(|before| before.sealed.is_none());
        let name = segment_name(segment.number);
        let file = self.io(&format!("open {name}"), self.disk.open(&name))?;
        let mut reader = self.opened(&name, Reader::new(&*file, FileKind::Log, segment.number, id))?;
        if let Some(sealed) = &segment.sealed {
            if reader.length() != sealed.length {
                return Err(self.wrong_length(&name, reader.length(), sealed.length));
            }
            if sealed.first != *next {
                let problem = format!("its first record is {}, not {next}: a segment is missing", sealed.first);
                return Err(self.damaged(&name, 0, &problem));
            }
        }
        let bad = loop {
            let end = reader.position();
            let step = reader.next();
            match self.io(&format!("read {name}"), step)? {
                Step::Record { header, .. } if header.sequence > *next => {
                    break Some(Bad {
                        offset: end,
                        problem: "records before this one are missing",
                        torn: may_follow_gap && end == FILE_HEADER as u64,
                    });
                }
                Step::Record { offset, header, .. } if header.sequence < *next => {
                    return Err(self.damaged(&name, offset, "a record occurs twice"));
                }
                Step::Record { offset, header, record } => {
                    let sequence = header.sequence;
                    self.synced = self.synced.max(header.synced);
                    if (sequence - first).is_multiple_of(MARKED) {
                        marks.push((sequence, offset));
                    }
                    self.deliver(&name, offset, Entry::Log { sequence, record })?;
                    *next += 1;
                }
                Step::Bad(bad) => break Some(bad),
                Step::End => break None,
            }
        };
        let end = bad.map_or(reader.position(), |bad| bad.offset);
        match (&segment.sealed, bad) {
            (Some(_), Some(bad)) => Err(self.damaged(&name, bad.offset, bad.problem)),
            (Some(sealed), None) if sealed.next != *next => {
                Err(self.damaged(&name, end, "records at its end are missing"))
            }
            _ => {
                let sealed = Sealed {
                    first,
                    next: *next,
                    length: end,
                };
                Ok((ReadSegment { sealed, marks }, bad))
            }
        }
    }

    /// Decides whether the damaged part was never synced, so that a crash explains it.
    fn judge(&mut self, manifest: &Manifest, end: End, next: u64) -> Result<Option<Cut>, OpenError> {
        let (mut behind, mut bytes) = (LaterRecords::default(), 0);
        for (at, segment) in manifest.segments.iter().enumerate().skip(end.segment) {
            let name = segment_name(segment.number);
            let file = self.io(&format!("open {name}"), self.disk.open(&name))?;
            let mut reader = self.opened(&name, Reader::new(&*file, FileKind::Log, segment.number, manifest.id))?;
            if at == end.segment {
                reader.skip_to(end.bad.offset);
            }
            bytes += reader.length() - reader.position();
            let found = reader.find_later_records(next);
            let found = self.io(&format!("read {name}"), found)?;
            behind.records += found.records;
            behind.synced = behind.synced.max(found.synced);
        }
        let file = segment_name(manifest.segments[end.segment].number);
        let Bad { offset, problem, torn } = end.bad;
        if behind.synced > next {
            let problem = format!("{problem}, and records behind it were written after it was synced");
            return Err(self.damaged(&file, offset, &problem));
        }
        if !torn {
            return Err(self.damaged(&file, offset, problem));
        }
        Ok(Some(Cut {
            file,
            offset,
            bytes,
            records: behind.records,
            problem: problem.into(),
        }))
    }

    /// Removes the damaged part, the last segment first, so that after a crash in between the next opening decides the same.
    fn shorten(&self, manifest: &Manifest, read: &[ReadSegment]) -> Result<(), OpenError> {
        for (at, segment) in manifest.segments.iter().enumerate().skip(read.len() - 1).rev() {
            let length = read.get(at).map_or(FILE_HEADER as u64, |segment| segment.sealed.length);
            let name = segment_name(segment.number);
            let shortened = self.disk.open(&name).and_then(|file| {
                file.set_len(length)?;
                file.sync()
            });
            self.io(&format!("shorten {name}"), shortened)?;
        }
        Ok(())
    }

    /// Returns the names of the files that this store has written. Fails if one that the manifest does not list, as a crash
    /// leaves them, is a log file with later records.
    fn own_files<'n>(
        &mut self,
        manifest: &Manifest,
        names: &'n [String],
        next: u64,
    ) -> Result<Vec<&'n str>, OpenError> {
        let listed = manifest.names();
        let mut own: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| *name == NEW_MANIFEST)
            .collect();
        for (name, kind, number) in store_files(names) {
            if listed.iter().any(|listed| listed == name) {
                own.push(name);
                continue;
            }
            let file = self.io(&format!("open {name}"), self.disk.open(name))?;
            let beginning = self.io(&format!("read {name}"), beginning(&*file))?;
            match Reader::new(&*file, kind, number, manifest.id) {
                Ok(mut reader) if kind == FileKind::Log => {
                    let found = reader.find_later_records(next);
                    if self.io(&format!("read {name}"), found)?.records > 0 {
                        return Err(self.damaged(
                            MANIFEST,
                            0,
                            &format!("it does not list {name}, which has later records"),
                        ));
                    }
                }
                Ok(_) => {}
                Err(_) if is_without_records(&beginning) => {}
                Err(_) => continue,
            }
            own.push(name);
        }
        Ok(own)
    }

    /// Seals the segments that were read, and begins a new one.
    fn begin(&mut self, manifest: &mut Manifest, read: &[ReadSegment], next: u64) -> Result<Active, OpenError> {
        let mut kept = Vec::new();
        for (segment, ReadSegment { sealed, marks }) in manifest.segments.iter().zip(read) {
            if segment.sealed.is_none() {
                let unsynced = marks.iter().rfind(|(sequence, _)| *sequence <= self.synced);
                let from = unsynced.or(marks.first()).map_or(sealed.length, |(_, offset)| *offset);
                let name = segment_name(segment.number);
                let rewritten = self
                    .disk
                    .open(&name)
                    .and_then(|file| rewrite(&*file, from, sealed.length));
                self.io(&format!("write and sync {name}"), rewritten)?;
            }
            if sealed.first < sealed.next {
                kept.push(Segment {
                    number: segment.number,
                    sealed: Some(sealed.clone()),
                });
            }
        }
        manifest.segments = kept;
        let number = self.io("be written", manifest.take_number(self.disk))?;
        manifest.segments.push(Segment { number, sealed: None });
        let begun = Active::create(self.disk, manifest.id, number, next).and_then(|active| {
            self.disk.sync_names()?;
            replace_manifest(self.disk, manifest)?;
            Ok(active)
        });
        self.io("be written", begun)
    }

    /// Gives a record to the caller.
    fn deliver(&mut self, name: &str, offset: u64, entry: Entry<'_>) -> Result<(), OpenError> {
        let (Entry::Snapshot(record) | Entry::Log { record, .. }) = entry;
        self.done.read += record.len() as u64;
        if self.done.read - self.reported >= REPORTED {
            self.reported = self.done.read;
            (self.progress)(self.done);
        }
        (self.visit)(entry).map_err(|problem| OpenError::Record {
            directory: self.directory.clone(),
            file: name.to_owned(),
            offset,
            problem,
        })
    }

    fn opened<'f>(&self, name: &str, reader: Result<Reader<'f>, ReadError>) -> Result<Reader<'f>, OpenError> {
        reader.map_err(|error| match error {
            ReadError::Header(HeaderError::Damaged(problem)) => self.damaged(name, 0, problem),
            ReadError::Header(HeaderError::UnknownVersion(version)) => self.unknown(name, version),
            ReadError::Io(error) => OpenError::Io {
                directory: self.directory.clone(),
                action: format!("read {name}"),
                error,
            },
        })
    }

    fn io<T>(&self, action: &str, result: io::Result<T>) -> Result<T, OpenError> {
        result.map_err(|error| OpenError::Io {
            directory: self.directory.clone(),
            action: action.to_owned(),
            error,
        })
    }

    fn damaged(&self, file: &str, offset: u64, problem: &str) -> OpenError {
        OpenError::Damaged {
            directory: self.directory.clone(),
            file: file.to_owned(),
            offset,
            problem: problem.to_owned(),
        }
    }

    fn foreign(&self, file: &str) -> OpenError {
        OpenError::Foreign {
            directory: self.directory.clone(),
            file: file.to_owned(),
        }
    }

    fn wrong_length(&self, file: &str, found: u64, expected: u64) -> OpenError {
        let problem = format!("it has {found} bytes instead of {expected}");
        self.damaged(file, found.min(expected), &problem)
    }

    fn unknown(&self, file: &str, version: u16) -> OpenError {
        OpenError::UnknownFormat {
            directory: self.directory.clone(),
            file: file.to_owned(),
            version,
        }
    }
}
