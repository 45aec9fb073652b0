//! The open store: append, sync, close.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::disk::{Disk, DiskFile, write_all};
use crate::error::AppendError;
use crate::format::{ALIGN, FILE_HEADER, FileKind, MAX_RECORD, RECORD_HEADER, RecordHeader, encode, file_header, hash};
use crate::manifest::{MANIFEST, Manifest, NEW_MANIFEST, Sealed, Segment, segment_name};
use crate::sync::Waiters;

/// The capacity that the append buffer may keep after a long record.
const KEPT_BUFFER: usize = 1024 * 1024;

/// The space that is reserved at a time for buffered records.
const RESERVED: u64 = if cfg!(test) { 2048 } else { 1024 * 1024 };

/// The most bytes that records wait with for [`Store::flush`].
const MAX_PENDING: usize = 1024 * 1024;

/// The number of segments from which on a snapshot is due.
const MOST_SEGMENTS: usize = 64;

/// A directory of log segments and at most one snapshot, open for appending. Made by [`Store::open`].
///
/// ```
/// # use dynatwin_store::{Directory, Entry, Store};
/// # let directory = std::env::temp_dir().join(format!("dynatwin-store-append-{}", std::process::id()));
/// # let (store, report) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
/// let first = store.append(b"first")?;
/// assert_eq!(store.append(b"second")?, first + 1);
/// store.sync()?;
/// # drop(store);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) id: u64,
    /// The manifest, and the state that depends on it. Locked before `log`.
    pub(crate) files: Mutex<Files>,
    /// The buffer from which pending records are written, locked during the write. Locked after `files` and before `log`.
    pub(crate) writing: Mutex<Vec<u8>>,
    pub(crate) log: Mutex<Log>,
    /// The sequence number after the last appended or buffered record.
    appended: AtomicU64,
    /// Every record with a smaller sequence number is in its file, or was lost by a write that failed and is covered by a
    /// later snapshot.
    pub(crate) written: AtomicU64,
    /// Every record with a smaller sequence number survives a power failure.
    pub(crate) synced: AtomicU64,
    /// Held while `fsync` runs, so that only one does.
    syncing: Mutex<()>,
    pub(crate) waiters: Waiters,
    pub(crate) snapshotting: AtomicBool,
    _lock: Box<dyn Send + Sync>,
}

pub(crate) struct Files {
    pub(crate) manifest: Manifest,
    /// A segment that the manifest lists and that nothing was appended to yet.
    pub(crate) spare: Option<Active>,
}

pub(crate) struct Log {
    pub(crate) active: Active,
    /// Segments that were appended to since the store was opened, and are not covered by a snapshot.
    pub(crate) earlier: Vec<Active>,
    /// The sequence number of the next record.
    pub(crate) next: u64,
    /// Whether a failed append may have left bytes after the active segment's end.
    torn: bool,
    /// Whether the store is closed.
    closed: bool,
    /// A failed `fsync`, or a failed write of buffered records.
    pub(crate) failure: Option<Failure>,
    buffer: Vec<u8>,
    /// Encoded records that are not written yet: the last bytes before the end of the active segment.
    pending: Vec<u8>,
    /// Up to where space is reserved in the active segment.
    reserved: u64,
    /// Whether the file system can reserve space.
    reserves: bool,
}

/// A segment that is or was appended to.
#[derive(Clone)]
pub(crate) struct Active {
    pub(crate) number: u64,
    pub(crate) file: Arc<dyn DiskFile>,
    /// The sequence number of its first record.
    pub(crate) first: u64,
    /// The position of the next record.
    pub(crate) end: u64,
    /// The sequence number after its last record.
    pub(crate) next: u64,
    /// Whether it was shortened, so that a sync includes it although its records are synced.
    shortened: bool,
}

/// A failure that leaves the log's contents unknown, when `next` was the next sequence number.
pub(crate) struct Failure {
    pub(crate) error: String,
    pub(crate) next: u64,
}

impl Store {
    pub(crate) fn new(disk: Box<dyn Disk>, lock: Box<dyn Send + Sync>, manifest: Manifest, active: Active) -> Store {
        let next = active.next;
        Store {
            shared: Arc::new(Shared {
                disk,
                id: manifest.id,
                files: Mutex::new(Files { manifest, spare: None }),
                log: Mutex::new(Log {
                    active,
                    earlier: Vec::new(),
                    next,
                    torn: false,
                    closed: false,
                    failure: None,
                    buffer: Vec::new(),
                    pending: Vec::new(),
                    reserved: 0,
                    reserves: true,
                }),
                writing: Mutex::default(),
                appended: AtomicU64::new(next),
                written: AtomicU64::new(next),
                synced: AtomicU64::new(next),
                syncing: Mutex::new(()),
                waiters: Waiters::default(),
                snapshotting: AtomicBool::new(false),
                _lock: lock,
            }),
        }
    }

    /// Appends a record and returns its sequence number. The record survives the end of the process; it survives a power
    /// failure once it is synced. If this fails, the log is as before.
    pub fn append(&self, record: &[u8]) -> Result<u64, AppendError> {
        if record.len() > MAX_RECORD {
            return Err(AppendError::TooLong(record.len()));
        }
        let hash = hash(record, self.shared.id);
        let synced = self.shared.synced.load(Ordering::Acquire);
        let mut writing = self.shared.writing.lock();
        let mut log = self.shared.log.lock();
        self.shared.write_pending(&mut writing, &mut log)?;
        let sequence = log.append(record, hash, synced, self.shared.id)?;
        self.shared.appended.store(log.next, Ordering::Release);
        self.shared.written.store(log.next, Ordering::Release);
        Ok(sequence)
    }

    /// Appends a record without writing it, if space can be reserved for it, and returns its sequence number. It survives
    /// the end of the process once [`Store::flush`] has returned. If this fails, the log is as before.
    pub fn buffer(&self, record: &[u8]) -> Result<u64, AppendError> {
        let hash = hash(record, self.shared.id);
        let synced = self.shared.synced.load(Ordering::Acquire);
        let mut log = self.shared.log.lock();
        if let Some(sequence) = log.buffer(record, hash, synced, self.shared.id)? {
            self.shared.appended.store(log.next, Ordering::Release);
            return Ok(sequence);
        }
        drop(log);
        self.append(record)
    }

    /// Whether buffered records are not written yet.
    pub fn has_pending(&self) -> bool {
        self.shared.written.load(Ordering::Acquire) < self.shared.appended.load(Ordering::Acquire)
    }

    /// Writes all buffered records, so that they survive the end of the process. One call writes those of all threads. If a
    /// write fails, the records are lost, and appends fail until a new snapshot is written.
    pub fn flush(&self) -> Result<(), AppendError> {
        self.shared.flush()
    }

    /// The sequence number that the next record gets.
    pub fn next_sequence(&self) -> u64 {
        self.shared.log.lock().next
    }

    /// Makes all appended records survive a power failure. A failed `fsync` is not repeated: what it should have written
    /// may be lost, so appends fail until [`SnapshotWriter::finish`](crate::SnapshotWriter::finish) has replaced the log.
    pub fn sync(&self) -> Result<(), AppendError> {
        let result = self.shared.sync();
        self.shared.waiters.wake_all();
        result
    }

    /// Why appends fail until a new snapshot is written, if they do.
    pub fn failure(&self) -> Option<AppendError> {
        self.shared.log.lock().failure()
    }

    /// Whether a snapshot is due: the log is longer than `least` bytes and than the last snapshot, or there are many segments,
    /// or an `fsync` failed.
    pub fn wants_snapshot(&self, least: u64) -> bool {
        let files = self.shared.files.lock();
        let snapshot = files.manifest.snapshot.as_ref().map_or(0, |snapshot| snapshot.length);
        let sealed = files
            .manifest
            .segments
            .iter()
            .filter_map(|segment| segment.sealed.as_ref());
        let sealed: u64 = sealed.map(|sealed| sealed.length).sum();
        let segments = files.manifest.segments.len();
        drop(files);
        let log = self.shared.log.lock();
        let open: u64 = log.earlier.iter().chain([&log.active]).map(|segment| segment.end).sum();
        log.failure.is_some() || segments > MOST_SEGMENTS || sealed + open > snapshot.max(least)
    }

    /// Syncs, and records in the manifest that everything was written; later appends fail. The directory is free once the
    /// store is dropped. Without this (or if it fails) the next opening checks the end of the log as after a crash.
    pub fn close(&self) {
        let ended = self.end_log();
        let _ = self.sync().and(ended).and_then(|()| self.seal());
        self.shared.waiters.stop();
    }

    /// Ends the log, so that a sync after this covers all of it.
    fn end_log(&self) -> Result<(), AppendError> {
        let mut log = self.shared.log.lock();
        log.closed = true;
        log.cut_torn_record()
    }

    /// Records in the manifest how long the segments are, all of which are synced.
    fn seal(&self) -> Result<(), AppendError> {
        let mut files = self.shared.files.lock();
        let mut log = self.shared.log.lock();
        log.release();
        let mut manifest = files.manifest.clone();
        manifest
            .segments
            .retain(|segment| segment.sealed.is_some() || log.segments().any(|active| active.number == segment.number));
        for active in log.segments() {
            if let Some(segment) = manifest
                .segments
                .iter_mut()
                .find(|segment| segment.number == active.number)
            {
                segment.sealed = Some(active.sealed());
            }
        }
        drop(log);
        let written = self.shared.write_manifest(&mut files, manifest);
        written.map_err(|error| AppendError::Write(error.to_string()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.waiters.stop();
    }
}

impl Active {
    pub(crate) fn create(disk: &dyn Disk, id: u64, number: u64, next: u64) -> io::Result<Active> {
        let file = disk.create(&segment_name(number))?;
        write_all(&*file, &file_header(FileKind::Log, number, id), 0)?;
        file.sync()?;
        Ok(Active {
            number,
            file: Arc::from(file),
            first: next,
            end: FILE_HEADER as u64,
            next,
            shortened: false,
        })
    }

    pub(crate) fn sealed(&self) -> Sealed {
        Sealed {
            first: self.first,
            next: self.next,
            length: self.end,
        }
    }
}

impl Log {
    fn append(&mut self, record: &[u8], hash: u64, synced: u64, id: u64) -> Result<u64, AppendError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if self.closed {
            return Err(AppendError::Closed);
        }
        self.cut_torn_record()?;
        let header = self.header(record, hash, synced);
        self.buffer.clear();
        encode(header, record, id, &mut self.buffer);
        let written = write_all(&*self.active.file, &self.buffer, self.active.end);
        let length = self.buffer.len() as u64;
        self.buffer.shrink_to(KEPT_BUFFER);
        if let Err(error) = written {
            self.torn = true;
            // If this fails too, the next append tries again.
            let _ = self.cut_torn_record();
            return Err(AppendError::Write(error.to_string()));
        }
        self.active.end += length;
        self.next += 1;
        self.active.next = self.next;
        Ok(header.sequence)
    }

    /// Adds a record to the pending ones. Returns nothing if it has to be written at once.
    fn buffer(&mut self, record: &[u8], hash: u64, synced: u64, id: u64) -> Result<Option<u64>, AppendError> {
        let longest = (RECORD_HEADER + record.len().next_multiple_of(ALIGN)) as u64;
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if self.closed {
            return Err(AppendError::Closed);
        }
        if self.torn || self.pending.len() + record.len() > MAX_PENDING || !self.reserve(longest) {
            return Ok(None);
        }
        let before = self.pending.len();
        let header = self.header(record, hash, synced);
        encode(header, record, id, &mut self.pending);
        self.active.end += (self.pending.len() - before) as u64;
        self.next += 1;
        self.active.next = self.next;
        Ok(Some(header.sequence))
    }

    fn header(&self, record: &[u8], hash: u64, synced: u64) -> RecordHeader {
        RecordHeader {
            length: record.len() as u32,
            sequence: self.next,
            synced,
            hash,
        }
    }

    /// Reserves space at the end of the active segment, in bytes. A write without reserved space reports why it fails.
    fn reserve(&mut self, length: u64) -> bool {
        let end = self.active.end + length;
        if self.reserves && end > self.reserved {
            let most = end + RESERVED;
            match self.active.file.reserve(self.active.end, most) {
                Ok(true) => self.reserved = most,
                Ok(false) => self.reserves = false,
                Err(_) => {}
            }
        }
        end <= self.reserved
    }

    /// Gives unused reserved space back to the file system.
    fn release(&mut self) {
        if self.reserved > self.active.end {
            // Space that cannot be released now is released when the segment is removed.
            let _ = self.active.file.set_len(self.active.end);
        }
        self.reserved = 0;
    }

    /// Removes the bytes that a failed append has left.
    fn cut_torn_record(&mut self) -> Result<(), AppendError> {
        if self.torn {
            let cut = self.active.file.set_len(self.active.end);
            cut.map_err(|error| AppendError::Write(error.to_string()))?;
            self.torn = false;
            self.active.shortened = true;
            // The file system releases the space behind the new end.
            self.reserved = 0;
        }
        Ok(())
    }

    /// Moves all pending records to an empty buffer. Returns the file they belong to, the offset, and the next sequence number.
    fn take_pending(&mut self, buffer: &mut Vec<u8>) -> Result<(Arc<dyn DiskFile>, u64, u64), AppendError> {
        if let Some(failure) = self.failure().filter(|_| self.pending.is_empty()) {
            // An earlier write has lost them.
            return Err(failure);
        }
        std::mem::swap(&mut self.pending, buffer);
        let from = self.active.end - buffer.len() as u64;
        Ok((Arc::clone(&self.active.file), from, self.next))
    }

    pub(crate) fn failure(&self) -> Option<AppendError> {
        let failure = self.failure.as_ref()?;
        Some(AppendError::Unsynced(failure.error.clone()))
    }

    /// All segments that were appended to, oldest first.
    fn segments(&self) -> impl Iterator<Item = &Active> {
        self.earlier.iter().chain([&self.active])
    }

    /// Appends to another, empty segment from now on.
    pub(crate) fn switch(&mut self, mut to: Active) -> Result<(), AppendError> {
        self.cut_torn_record()?;
        self.release();
        (to.first, to.next) = (self.next, self.next);
        let before = std::mem::replace(&mut self.active, to);
        self.earlier.push(before);
        Ok(())
    }
}

impl Shared {
    fn flush(&self) -> Result<(), AppendError> {
        let until = self.appended.load(Ordering::Acquire);
        if self.written.load(Ordering::Acquire) >= until {
            return Ok(());
        }
        let mut writing = self.writing.lock();
        if self.written.load(Ordering::Acquire) >= until {
            return Ok(());
        }
        let (file, from, next) = self.log.lock().take_pending(&mut writing)?;
        // Other threads go on appending.
        let result = write_all(&*file, &writing, from);
        self.wrote(&mut writing, next, result, None)
    }

    /// Writes all buffered records while nothing is appended.
    pub(crate) fn write_pending(&self, writing: &mut Vec<u8>, log: &mut Log) -> Result<(), AppendError> {
        if log.pending.is_empty() {
            return Ok(());
        }
        let (file, from, next) = log.take_pending(writing)?;
        let result = write_all(&*file, writing, from);
        self.wrote(writing, next, result, Some(log))
    }

    /// Records how the write of all pending records before `next` ended.
    fn wrote(
        &self,
        writing: &mut Vec<u8>,
        next: u64,
        result: io::Result<()>,
        log: Option<&mut Log>,
    ) -> Result<(), AppendError> {
        writing.clear();
        writing.shrink_to(KEPT_BUFFER);
        let Err(error) = result else {
            self.written.store(next, Ordering::Release);
            return Ok(());
        };
        let lose = |log: &mut Log| {
            log.pending = Vec::new();
            let error = error.to_string();
            log.failure = Some(Failure { error, next: log.next });
        };
        match log {
            Some(log) => lose(log),
            None => lose(&mut self.log.lock()),
        }
        Err(AppendError::Unsynced(error.to_string()))
    }

    fn sync(&self) -> Result<(), AppendError> {
        let _only = self.syncing.lock();
        self.flush()?;
        let (files, next) = {
            let log = self.log.lock();
            if let Some(failure) = log.failure() {
                return Err(failure);
            }
            let synced = self.synced.load(Ordering::Acquire);
            let unsynced = log
                .segments()
                .filter(|segment| segment.next > synced || segment.shortened);
            (
                unsynced.map(|segment| Arc::clone(&segment.file)).collect::<Vec<_>>(),
                self.written.load(Ordering::Acquire),
            )
        };
        for file in files {
            if let Err(error) = file.sync() {
                let mut log = self.log.lock();
                log.failure = Some(Failure {
                    error: error.to_string(),
                    next: log.next,
                });
                return Err(AppendError::Unsynced(error.to_string()));
            }
        }
        self.synced.fetch_max(next, Ordering::AcqRel);
        Ok(())
    }

    /// Returns the outcome for the records before `next`, or `None` while they may still be synced.
    pub(crate) fn synced_or_failed(&self, next: u64) -> Option<Result<(), AppendError>> {
        if self.synced.load(Ordering::Acquire) >= next {
            return Some(Ok(()));
        }
        self.log.lock().failure().map(Err)
    }

    /// Replaces the manifest. If this fails, the directory has the old one or the new one.
    pub(crate) fn write_manifest(&self, files: &mut Files, manifest: Manifest) -> io::Result<()> {
        replace_manifest(&*self.disk, &manifest)?;
        files.manifest = manifest;
        Ok(())
    }

    /// Returns an empty segment that the manifest lists; creates one if there is no spare.
    pub(crate) fn empty_segment(&self) -> io::Result<Active> {
        let mut files = self.files.lock();
        if let Some(spare) = files.spare.clone() {
            return Ok(spare);
        }
        let mut manifest = files.manifest.clone();
        let number = manifest.take_number(&*self.disk)?;
        // A number is used only once, even if a later step fails: the directory may contain the file, or its name.
        files.manifest.next_file = manifest.next_file;
        let spare = Active::create(&*self.disk, self.id, number, 0)?;
        self.disk.sync_names()?;
        manifest.segments.push(Segment { number, sealed: None });
        self.write_manifest(&mut files, manifest)?;
        files.spare = Some(spare.clone());
        Ok(spare)
    }
}

pub(crate) fn replace_manifest(disk: &dyn Disk, manifest: &Manifest) -> io::Result<()> {
    let file = disk.create(NEW_MANIFEST)?;
    write_all(&*file, manifest.encode().as_bytes(), 0)?;
    file.sync()?;
    disk.rename(NEW_MANIFEST, MANIFEST)?;
    disk.sync_names()
}
