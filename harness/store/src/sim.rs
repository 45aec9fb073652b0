//! A simulated disk in memory that fails on request, and computes what a power failure leaves. For tests, with the
//! feature `sim`.
//!
//! ```
//! use dynatwin_store::Store;
//! use dynatwin_store::sim::{Fault, SimDisk};
//!
//! let disk = SimDisk::new();
//! let (store, _) = Store::open(disk.clone(), &mut |_| Ok(()), &mut |_| ())?;
//! store.append(b"synced")?;
//! store.sync()?;
//! store.append(b"not synced")?;
//! disk.fail_at(disk.operations() + 1, Fault::Full);
//! assert!(store.append(b"refused").is_err());
//!
//! let left = |disk: SimDisk| Store::open(disk, &mut |_| Ok(()), &mut |_| ()).map(|(_, report)| report.log_records);
//! assert_eq!(left(disk.after_kill())?, 2);
//! assert_eq!(left(disk.after_power_failure(None))?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::disk::{Disk, DiskFile, Lock};

const SECTOR: usize = 512;

/// The number of operations that a full disk refuses before it has space again.
const FULL_FOR: u32 = 3;

/// The effect on an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, once. Of a failed sync the pages count as written, as in Linux.
    Error,
    /// Half of a write is done, and the next operation fails too, once.
    Twice,
    /// The disk is full: half of a write is done, and some more operations fail.
    Full,
    /// Half of a write is done, and the process ends.
    Torn,
    /// The process ends before it.
    Kill,
}

/// A directory in memory. Clones are the same directory.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>, Arc<Mutex<Calls>>);

type Call = Option<Box<dyn FnOnce() + Send>>;

/// Functions that are called once, when the next operation on a file is done and not yet reported.
#[derive(Default)]
struct Calls {
    sync: Call,
    write: Call,
}

#[derive(Clone, Default)]
struct State {
    files: Vec<FileState>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Changes of names since they were last synced.
    changes: Vec<Change>,
    operations: u64,
    fault: Option<(u64, Fault)>,
    full: u32,
    dead: bool,
    locked: Option<u64>,
    locks: u64,
    /// Whether no space can be reserved.
    reserves_nothing: bool,
}

#[derive(Clone)]
enum Change {
    Set(String, usize),
    Remove(String),
    Rename(String, String),
}

/// A file as the process sees it, and as the disk has it.
#[derive(Clone, Default)]
struct FileState {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that differ and that a sync writes.
    dirty: BTreeSet<usize>,
    resized: bool,
    /// Up to where a full disk has space.
    reserved: usize,
}

struct SimFile {
    disk: SimDisk,
    file: usize,
}

struct SimLock {
    disk: SimDisk,
    number: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.0.lock();
        if state.locked == Some(self.number) {
            state.locked = None;
        }
    }
}

fn failed(kind: io::ErrorKind) -> io::Error {
    kind.into()
}

impl SimDisk {
    /// Creates an empty directory without planned failures.
    pub fn new() -> SimDisk {
        SimDisk(Arc::default(), Arc::default())
    }

    fn of(state: State) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// An empty directory of a file system that cannot reserve space.
    pub fn without_reservation() -> SimDisk {
        SimDisk::of(State {
            reserves_nothing: true,
            ..State::default()
        })
    }

    /// Calls a function when the next sync of a file is done and not yet reported.
    pub fn during_next_sync(&self, call: impl FnOnce() + Send + 'static) {
        self.1.lock().sync = Some(Box::new(call));
    }

    /// Calls a function when the next write to a file is done and not yet reported.
    pub fn during_next_write(&self, call: impl FnOnce() + Send + 'static) {
        self.1.lock().write = Some(Box::new(call));
    }

    /// A disk with these files, all of them durable.
    pub fn with(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> SimDisk {
        let disk = SimDisk::new();
        let mut state = disk.0.lock();
        for (at, (name, bytes)) in files.into_iter().enumerate() {
            state.files.push(FileState {
                now: bytes.clone(),
                durable: bytes,
                ..FileState::default()
            });
            state.names.insert(name.clone(), at);
            state.durable_names.insert(name, at);
        }
        drop(state);
        disk
    }

    /// All files as the process sees them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.0.lock();
        let file = |(name, at): (&String, &usize)| (name.clone(), state.files[*at].now.clone());
        state.names.iter().map(file).collect()
    }

    /// The names of all segments, oldest first.
    pub fn segments(&self) -> Vec<String> {
        let names = self.files().into_keys();
        names
            .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "wal"))
            .collect()
    }

    /// The number of operations.
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// Lets the operation of this number fail, counted from the disk's creation.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.0.lock().fault = Some((operation, fault));
    }

    /// Whether a planned failure has ended the process.
    pub fn is_dead(&self) -> bool {
        self.0.lock().dead
    }

    /// The disk as another process finds it after this one ended.
    pub fn after_kill(&self) -> SimDisk {
        let state = self.0.lock().clone();
        SimDisk::of(State {
            operations: 0,
            fault: None,
            full: 0,
            dead: false,
            locked: None,
            ..state
        })
    }

    /// The disk after a power failure. Unsynced data is lost; with a seed, each sector, length and name is lost or kept
    /// randomly.
    pub fn after_power_failure(&self, seed: Option<u64>) -> SimDisk {
        let mut state = self.0.lock().clone();
        let mut chance = seed.unwrap_or_default() | 1;
        let mut kept = || {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            seed.is_some() && chance >> 20 & 1 == 1
        };
        for file in &mut state.files {
            file.lose(&mut kept);
        }
        let mut names = state.durable_names.clone();
        for change in state.changes.drain(..) {
            if kept() {
                change.apply(&mut names);
            }
        }
        state.names.clone_from(&names);
        state.durable_names = names;
        SimDisk::of(state).after_kill()
    }

    /// Counts an operation, and fails it if it is to fail. `half` does a part of it.
    fn operate(&self, takes_space: bool, half: impl FnOnce(&mut State)) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.0.lock();
        state.operations += 1;
        if state.dead {
            return Err(failed(io::ErrorKind::BrokenPipe));
        }
        let due = state.fault.filter(|(operation, _)| *operation == state.operations);
        match due.map(|(_, fault)| fault) {
            Some(Fault::Error) => {
                return Err(failed(io::ErrorKind::Other));
            }
            Some(Fault::Twice) => {
                half(&mut state);
                state.fault = Some((state.operations + 1, Fault::Error));
                return Err(failed(io::ErrorKind::Other));
            }
            Some(Fault::Full) => {
                state.full = FULL_FOR;
                half(&mut state);
            }
            Some(Fault::Torn) => {
                half(&mut state);
                state.dead = true;
            }
            Some(Fault::Kill) => state.dead = true,
            None => {}
        }
        if state.dead {
            return Err(failed(io::ErrorKind::BrokenPipe));
        }
        if state.full > 0 {
            state.full -= 1;
            if takes_space {
                return Err(failed(io::ErrorKind::StorageFull));
            }
        }
        Ok(state)
    }

    fn change(state: &mut State, change: Change) {
        change.apply(&mut state.names);
        state.changes.push(change);
    }

    fn file(&self, file: usize) -> Box<dyn DiskFile> {
        Box::new(SimFile {
            disk: self.clone(),
            file,
        })
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Change::Set(name, file) => {
                names.insert(name.clone(), *file);
            }
            Change::Remove(name) => {
                names.remove(name);
            }
            Change::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl FileState {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if end > self.now.len() {
            self.now.resize(end, 0);
        }
        self.now[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            self.dirty.insert(sector);
        }
    }

    fn sync(&mut self) {
        self.durable.resize(self.now.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            self.write_back(sector);
        }
        self.resized = false;
    }

    /// Writes a sector to the disk, as far as the file reaches.
    fn write_back(&mut self, sector: usize) {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(self.now.len());
        if start < end {
            if self.durable.len() < end {
                self.durable.resize(end, 0);
            }
            self.durable[start..end].copy_from_slice(&self.now[start..end]);
        }
    }

    fn lose(&mut self, kept: &mut impl FnMut() -> bool) {
        if self.resized && kept() {
            self.durable.truncate(self.now.len());
        }
        for sector in std::mem::take(&mut self.dirty) {
            if kept() {
                self.write_back(sector);
            }
        }
        self.now.clone_from(&self.durable);
        self.resized = false;
    }
}

impl Disk for SimDisk {
    fn name(&self) -> String {
        "sim".into()
    }

    fn lock(&self) -> io::Result<Lock> {
        let mut state = self.operate(false, |_| ())?;
        if state.locked.is_some() {
            return Ok(Lock::Taken(None));
        }
        state.locks += 1;
        let number = state.locks;
        state.locked = Some(number);
        let disk = self.clone();
        Ok(Lock::Held(Box::new(SimLock { disk, number })))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let state = self.operate(false, |_| ())?;
        Ok(state.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.operate(true, |_| ())?;
        state.files.push(FileState::default());
        let file = state.files.len() - 1;
        SimDisk::change(&mut state, Change::Set(name.into(), file));
        Ok(self.file(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let state = self.operate(false, |_| ())?;
        let file = state.names.get(name).ok_or(failed(io::ErrorKind::NotFound))?;
        Ok(self.file(*file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.operate(false, |_| ())?;
        SimDisk::change(&mut state, Change::Rename(from.into(), to.into()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.operate(false, |_| ())?;
        SimDisk::change(&mut state, Change::Remove(name.into()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.operate(false, |_| ())?;
        state.changes.clear();
        state.durable_names = state.names.clone();
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let state = self.disk.operate(false, |_| ())?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.operate(false, |_| ())?;
        let bytes = state.files[self.file].now.get(offset as usize..).unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let half = |state: &mut State| state.files[self.file].write(&bytes[..bytes.len() / 2], offset as usize);
        let is_reserved = offset as usize + bytes.len() <= self.disk.0.lock().files[self.file].reserved;
        let written = self
            .disk
            .operate(!is_reserved, half)
            .map(|mut state| state.files[self.file].write(bytes, offset as usize));
        let during = self.disk.1.lock().write.take();
        during.into_iter().for_each(|call| call());
        written.map(|()| bytes.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.operate(false, |_| ())?;
        let file = &mut state.files[self.file];
        file.now.resize(len as usize, 0);
        file.resized = true;
        file.reserved = len as usize;
        Ok(())
    }

    fn reserve(&self, _: u64, end: u64) -> io::Result<bool> {
        let mut state = self.disk.operate(true, |_| ())?;
        if state.reserves_nothing {
            return Ok(false);
        }
        let file = &mut state.files[self.file];
        file.reserved = file.reserved.max(end as usize);
        Ok(true)
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self
            .disk
            .operate(false, |_| ())
            .map(|mut state| state.files[self.file].sync());
        let during = self.disk.1.lock().sync.take();
        during.into_iter().for_each(|call| call());
        if synced.is_err() {
            // The pages are not written again.
            let mut state = self.disk.0.lock();
            if !state.dead {
                state.files[self.file].dirty.clear();
            }
        }
        synced
    }
}
