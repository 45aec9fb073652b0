//! Replaces the log by a snapshot, while records are still being appended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::disk::{DiskFile, write_all};
use crate::error::AppendError;
use crate::format::{FileKind, MAX_RECORD, RecordHeader, encode, file_header, hash};
use crate::manifest::{SnapshotFile, snapshot_name};
use crate::store::{Active, Shared, Store};

/// The number of bytes that are written at a time.
const SLICE: usize = 1024 * 1024;

/// The number of bytes that are written before they are synced: a long `fsync` at the end would delay those of the log.
const SYNCED_SLICE: u64 = 16 * 1024 * 1024;

/// A snapshot that is being written.
///
/// The order is: [`Store::begin_snapshot`]; [`start`](SnapshotWriter::start) while the state does not change;
/// [`push`](SnapshotWriter::push) for each record that makes up that state; [`finish`](SnapshotWriter::finish).
/// A snapshot that is dropped before is removed, and the log stays.
///
/// ```
/// # use dynatwin_store::{Directory, Entry, Store};
/// # let directory = std::env::temp_dir().join(format!("dynatwin-store-snapshot-{}", std::process::id()));
/// # let (store, report) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
/// store.append(b"a = 1")?;
/// store.append(b"a = 2")?;
/// if let Some(mut snapshot) = store.begin_snapshot()? {
///     snapshot.start()?;
///     snapshot.push(b"a = 2")?;
///     snapshot.finish()?;
/// }
/// # drop(store);
/// let (store, report) = Store::open(Directory::at(&directory), &mut |_| Ok(()), &mut |_| ())?;
/// assert_eq!((report.snapshot_records, report.log_records), (1, 0));
/// # drop(store);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SnapshotWriter {
    shared: Arc<Shared>,
    file: Box<dyn DiskFile>,
    number: u64,
    spare: Option<Active>,
    /// The first segment and sequence number that the snapshot does not cover.
    from: Option<(u64, u64)>,
    buffer: Vec<u8>,
    end: u64,
    synced: u64,
    records: u64,
    /// Whether the manifest may list the file.
    listed: bool,
}

impl Store {
    /// Begins a snapshot; `None` if one is being written. Slow operations are done here, so that
    /// [`SnapshotWriter::start`] is fast.
    pub fn begin_snapshot(&self) -> Result<Option<SnapshotWriter>, AppendError> {
        let shared = &self.shared;
        if shared.snapshotting.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let prepared = shared.empty_segment().and_then(|spare| {
            let number = shared.files.lock().manifest.take_number(&*shared.disk)?;
            let file = shared.disk.create(&snapshot_name(number))?;
            Ok((spare, number, file))
        });
        match prepared {
            Ok((spare, number, file)) => Ok(Some(SnapshotWriter {
                shared: Arc::clone(shared),
                file,
                number,
                spare: Some(spare),
                from: None,
                buffer: file_header(FileKind::Snapshot, number, shared.id).to_vec(),
                end: 0,
                synced: 0,
                records: 0,
                listed: false,
            })),
            Err(error) => {
                shared.snapshotting.store(false, Ordering::Release);
                Err(failed(&error))
            }
        }
    }
}

fn failed(error: &io::Error) -> AppendError {
    AppendError::Write(error.to_string())
}

impl SnapshotWriter {
    /// Divides the log: the snapshot stands for all records appended before, and later ones stay. Returns the sequence
    /// number of the first that stays. Its only I/O is writing buffered records and removing what a failed append has left.
    pub fn start(&mut self) -> Result<u64, AppendError> {
        let mut files = self.shared.files.lock();
        let mut writing = self.shared.writing.lock();
        let mut log = self.shared.log.lock();
        self.shared.write_pending(&mut writing, &mut log)?;
        if let Some(spare) = &self.spare {
            log.switch(spare.clone())?;
            self.from = Some((spare.number, log.next));
            self.spare = None;
            files.spare = None;
        }
        Ok(log.next)
    }

    /// Adds a record. They are returned in this order.
    pub fn push(&mut self, record: &[u8]) -> Result<(), AppendError> {
        if record.len() > MAX_RECORD {
            return Err(AppendError::TooLong(record.len()));
        }
        let header = RecordHeader {
            length: record.len() as u32,
            sequence: self.records,
            synced: 0,
            hash: hash(record, self.shared.id),
        };
        encode(header, record, self.shared.id, &mut self.buffer);
        self.records += 1;
        if self.buffer.len() >= SLICE {
            self.flush().map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Completes the snapshot, and removes the segments that it replaces.
    pub fn finish(mut self) -> Result<(), AppendError> {
        self.start()?;
        self.complete().map_err(|error| failed(&error))
    }

    fn complete(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync()?;
        let Some((first_segment, next)) = self.from else {
            return Ok(());
        };
        let shared = Arc::clone(&self.shared);
        let mut files = shared.files.lock();
        let mut manifest = files.manifest.clone();
        let before = manifest.names();
        manifest.snapshot = Some(SnapshotFile {
            number: self.number,
            next,
            records: self.records,
            length: self.end,
        });
        manifest.segments.retain(|segment| segment.number >= first_segment);
        shared.disk.sync_names()?;
        self.listed = true;
        shared.write_manifest(&mut files, manifest)?;
        let now = files.manifest.names();
        drop(files);
        self.replace_log(first_segment, next);
        for name in before.iter().filter(|name| !now.contains(name)) {
            // Remaining files are removed when the store is opened.
            let _ = shared.disk.remove(name);
        }
        Ok(())
    }

    /// The records that the snapshot covers are synced now, and the others begin with `first_segment`.
    fn replace_log(&self, first_segment: u64, next: u64) {
        let mut log = self.shared.log.lock();
        log.earlier.retain(|segment| segment.number >= first_segment);
        if log.failure.as_ref().is_some_and(|failure| failure.next <= next) {
            log.failure = None;
            // The snapshot contains the records that a failed write has lost.
            self.shared.written.fetch_max(next, Ordering::AcqRel);
        }
        self.shared.synced.fetch_max(next, Ordering::AcqRel);
        drop(log);
        self.shared.waiters.wake_all();
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all(&*self.file, &self.buffer, self.end)?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        if self.end - self.synced >= SYNCED_SLICE {
            self.file.sync()?;
            self.synced = self.end;
        }
        Ok(())
    }
}

impl Drop for SnapshotWriter {
    fn drop(&mut self) {
        if !self.listed {
            let _ = self.shared.disk.remove(&snapshot_name(self.number));
        }
        self.shared.snapshotting.store(false, Ordering::Release);
    }
}
