//! File operations, behind traits so that tests can simulate a failing disk.

use std::fs::{self, File};
use std::io::{self, Read, Write};
#[cfg(not(unix))]
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The name of the file that is locked while a store is open.
const LOCK_FILE: &str = "LOCK";

/// The operations on a directory of files that a store needs.
///
/// ```
/// use dynatwin_store::{Directory, Disk};
///
/// let directory = std::env::temp_dir().join(format!("dynatwin-store-disk-{}", std::process::id()));
/// let disk = Directory::at(&directory);
/// let lock = disk.lock()?;
/// disk.create("000001.wal")?.write_at(b"first", 0)?;
/// assert_eq!(disk.open("000001.wal")?.len()?, 5);
/// # drop(lock);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Disk: Send + Sync + 'static {
    /// The directory's name, for messages.
    fn name(&self) -> String;
    /// Takes the directory's lock, creating the directory if it is missing.
    fn lock(&self) -> io::Result<Lock>;
    /// The names of all files, in any order.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Creates an empty file, replacing one of the same name.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file, replacing one of the new name atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file; an error if it does not exist.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals survive a power failure.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file, written and synced by several threads.
///
/// ```
/// use dynatwin_store::{Directory, Disk};
///
/// let directory = std::env::temp_dir().join(format!("dynatwin-store-file-{}", std::process::id()));
/// let disk = Directory::at(&directory);
/// let lock = disk.lock()?;
/// let file = disk.create("000001.wal")?;
/// assert!(file.is_empty()?);
/// file.write_at(b"first", 0)?;
/// let mut read = [0; 5];
/// assert_eq!((file.read_at(&mut read, 0)?, &read), (5, b"first"));
/// # drop(lock);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait DiskFile: Send + Sync {
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the length is 0.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads from `offset`; returns the number of bytes read, 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at `offset`, growing the file; returns the number of bytes written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Truncates or extends the file.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Reserves space between two offsets, so that no write there fails for lack of space; the length stays. Returns whether
    /// the file system can do this.
    fn reserve(&self, from: u64, end: u64) -> io::Result<bool>;
    /// Makes all written bytes survive a power failure.
    fn sync(&self) -> io::Result<()>;
}

/// The result of taking a directory's lock.
///
/// ```
/// use dynatwin_store::{Directory, Disk, Lock};
///
/// let directory = std::env::temp_dir().join(format!("dynatwin-store-lock-{}", std::process::id()));
/// let lock = Directory::at(&directory).lock()?;
/// assert!(matches!(lock, Lock::Held(_)));
/// # drop(lock);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub enum Lock {
    /// The lock is held until this value is dropped.
    Held(Box<dyn Send + Sync>),
    /// Another process holds the lock; its id, if it could be read.
    Taken(Option<u32>),
}

/// Writes all bytes at `offset`.
pub(crate) fn write_all(file: &dyn DiskFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills as much of `buffer` as the file has from `offset` on; returns how much that is.
pub(crate) fn read_full(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A directory of the file system.
///
/// ```
/// use dynatwin_store::{Directory, Disk};
///
/// assert_eq!(Directory::at("/var/lib/dynatwin").name(), "/var/lib/dynatwin");
/// ```
#[derive(Clone, Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// The directory of this path, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Directory {
        Directory(path.into())
    }

    /// The path that [`at`](Directory::at) received.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Creates a directory and those it is in, so that they survive a power failure.
fn create_durably(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_durably(parent)?;
    }
    fs::create_dir(path)?;
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new(".")),
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Syncs a directory's entries. Other systems than Unix have no handle of a directory to sync.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

impl Disk for Directory {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn lock(&self) -> io::Result<Lock> {
        create_durably(&self.0)?;
        let path = self.0.join(LOCK_FILE);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Where a locked file cannot be read, the message has no process id.
                let _ = file.read_to_string(&mut text);
                return Ok(Lock::Taken(text.trim().parse().ok()));
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
        // The process id only serves the message above: a full disk does not prevent a start.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lock::Held(Box::new(file)))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.0)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(self.0.join(name))?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = File::options().read(true).write(true).open(self.0.join(name))?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.0)
    }
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }

    #[cfg(not(unix))]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.write(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, from: u64, end: u64) -> io::Result<bool> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        use rustix::process::{Resource, getrlimit};

        // The kernel compares the limit with the length, which does not change here.
        if getrlimit(Resource::Fsize).current.is_some_and(|most| end > most) {
            return Err(Errno::FBIG.into());
        }
        match fallocate(self, FallocateFlags::KEEP_SIZE, from, end - from) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A file that does at most 3 bytes at a time, after an interruption, and ends writes before `full`.
    struct Slow {
        bytes: Mutex<Vec<u8>>,
        interrupted: Mutex<bool>,
        full: usize,
    }

    impl Slow {
        fn new(bytes: &[u8], full: usize) -> Slow {
            Slow {
                bytes: Mutex::new(bytes.to_vec()),
                interrupted: Mutex::new(false),
                full,
            }
        }

        fn interrupt(&self) -> io::Result<()> {
            let mut interrupted = self.interrupted.lock().unwrap();
            *interrupted = !*interrupted;
            if *interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        }
    }

    impl DiskFile for Slow {
        fn len(&self) -> io::Result<u64> {
            Ok(self.bytes.lock().unwrap().len() as u64)
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.interrupt()?;
            let bytes = self.bytes.lock().unwrap();
            let left = bytes.get(offset as usize..).ok_or(io::ErrorKind::InvalidInput)?;
            let length = left.len().min(buffer.len()).min(3);
            buffer[..length].copy_from_slice(&left[..length]);
            Ok(length)
        }

        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            self.interrupt()?;
            let length = bytes.len().min(3).min(self.full - offset as usize);
            let (start, mut written) = (offset as usize, self.bytes.lock().unwrap());
            let end = written.len().max(start + length);
            written.resize(end, 0);
            written[start..start + length].copy_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn reserve(&self, _: u64, _: u64) -> io::Result<bool> {
            Ok(false)
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A system call may be interrupted, and may do a part of what it is asked for.
    #[test]
    fn short_reads_and_writes_are_continued() {
        let file = Slow::new(b"..", 100);
        write_all(&file, b"0123456789", 2).unwrap();
        assert_eq!(*file.bytes.lock().unwrap(), b"..0123456789");
        for (length, offset, expected) in [
            (4, 2, &b"0123"[..]),
            (7, 5, b"3456789"),
            (20, 4, b"23456789"),
            (5, 12, b""),
        ] {
            let mut buffer = vec![0; length];
            let read = read_full(&file, &mut buffer, offset).unwrap();
            assert_eq!(&buffer[..read], expected, "{length} bytes at {offset}");
        }
        let failed = read_full(&file, &mut [0; 5], 13).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::InvalidInput);
        let failed = write_all(&Slow::new(b"", 4), b"12345", 0).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::WriteZero);
    }

    /// A crash can leave a file that is created again.
    #[test]
    fn a_created_file_is_empty_and_a_renamed_one_replaces_another() {
        let path = std::env::temp_dir().join(format!("dynatwin-store-created-{}", std::process::id()));
        let directory = Directory::at(&path);
        let lock = directory.lock().unwrap();
        directory.create("new").unwrap().write_at(b"longer", 0).unwrap();
        directory.create("old").unwrap().write_at(b"old", 0).unwrap();
        let file = directory.create("new").unwrap();
        assert!(file.is_empty().unwrap());
        file.write_at(b"new", 0).unwrap();
        directory.rename("new", "old").unwrap();
        let mut found = [0; 9];
        let renamed = directory.open("old").unwrap();
        assert_eq!((renamed.read_at(&mut found, 0).unwrap(), &found[..3]), (3, &b"new"[..]));
        let mut names = directory.names().unwrap();
        names.sort();
        assert_eq!(names, ["LOCK", "old"]);
        directory.remove("old").unwrap();
        assert!(directory.remove("old").is_err() && directory.open("old").is_err());
        drop(lock);
        fs::remove_dir_all(&path).unwrap();
    }

    /// Space is reserved behind the end of a file, whose length stays, or not at all.
    #[cfg(target_os = "linux")]
    #[test]
    fn reserved_space_does_not_count_as_length() {
        use std::os::unix::fs::MetadataExt;

        let path = std::env::temp_dir().join(format!("dynatwin-store-reserved-{}", std::process::id()));
        let directory = Directory::at(&path);
        let lock = directory.lock().unwrap();
        let file = directory.create("file").unwrap();
        file.write_at(b"record", 0).unwrap();
        let taken = || fs::metadata(path.join("file")).unwrap().blocks() * 512;
        let megabyte = 1024 * 1024;
        for (from, end) in [(6, megabyte), (megabyte, 2 * megabyte)] {
            let reserves = file.reserve(from, end).unwrap();
            assert_eq!(file.len().unwrap(), 6, "{from} to {end}");
            assert!(
                !reserves || (end..2 * end).contains(&taken()),
                "{from} to {end}: {}",
                taken()
            );
        }
        file.set_len(6).unwrap();
        assert!(taken() < 128 * 1024, "{}", taken());
        drop((lock, file));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_directory_is_created_with_those_it_is_in() {
        let base = std::env::temp_dir().join(format!("dynatwin-store-nested-{}", std::process::id()));
        let directory = Directory::at(base.join("a/b/c"));
        for _ in 0..2 {
            assert!(matches!(directory.lock().unwrap(), Lock::Held(_)));
        }
        assert!(directory.path().is_dir());
        fs::remove_dir_all(&base).unwrap();
        // The parent of a relative path of one name.
        assert!(create_durably(Path::new("")).is_ok());
    }
}
