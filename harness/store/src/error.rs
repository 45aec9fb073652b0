//! The errors of opening a store and appending to it.

use std::fmt;
use std::io;

/// Why a store cannot be opened.
///
/// ```
/// use dynatwin_store::OpenError;
///
/// let error = OpenError::InUse { directory: "/data".into(), process: Some(7) };
/// assert_eq!(error.to_string(), "/data is in use by another process (7); stop it, or choose another directory");
/// ```
#[derive(Debug)]
pub enum OpenError {
    /// Another process has the directory open.
    InUse {
        /// The directory of the store.
        directory: String,
        /// The id of the process, if known.
        process: Option<u32>,
    },
    /// The content of a file is not what the store wrote.
    Damaged {
        /// The directory of the store.
        directory: String,
        /// The name of the file.
        file: String,
        /// Where in the file the damage begins.
        offset: u64,
        /// The problem at that offset.
        problem: String,
    },
    /// Another program has written a file where the store would have its own.
    Foreign {
        /// The directory of the store.
        directory: String,
        /// The name of the file.
        file: String,
    },
    /// A file has a format that this version does not read.
    UnknownFormat {
        /// The directory of the store.
        directory: String,
        /// The name of the file.
        file: String,
        /// The version in the file's header.
        version: u16,
    },
    /// The caller refused a record.
    Record {
        /// The directory of the store.
        directory: String,
        /// The name of the file.
        file: String,
        /// Where in the file the record begins.
        offset: u64,
        /// The reason that the caller gave.
        problem: String,
    },
    /// An operation of the file system failed.
    Io {
        /// The directory of the store.
        directory: String,
        /// The attempted operation, such as `read 000001.wal`.
        action: String,
        /// The error of the file system.
        error: io::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::InUse { directory, process } => {
                write!(formatter, "{directory} is in use by another process")?;
                match process {
                    Some(process) => write!(formatter, " ({process}); stop it, or choose another directory"),
                    None => write!(formatter, "; stop it, or choose another directory"),
                }
            }
            OpenError::Damaged {
                directory,
                file,
                offset,
                problem,
            } => write!(
                formatter,
                "{directory}/{file} is damaged at byte {offset}: {problem}. Nothing was changed; restore the directory from a copy"
            ),
            OpenError::Foreign { directory, file } => write!(
                formatter,
                "{directory}/{file} was not written by this store. Nothing was changed; move the file elsewhere, or choose another directory"
            ),
            OpenError::UnknownFormat {
                directory,
                file,
                version,
            } => write!(
                formatter,
                "{directory}/{file} has format {version}, which this version does not read: use a newer one"
            ),
            OpenError::Record {
                directory,
                file,
                offset,
                problem,
            } => write!(
                formatter,
                "{directory}/{file}: the record at byte {offset} cannot be applied: {problem}"
            ),
            OpenError::Io {
                directory,
                action,
                error,
            } => write!(formatter, "{directory}: cannot {action}: {error}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Why a record was not appended, or is not known to survive a power failure.
///
/// ```
/// use dynatwin_store::AppendError;
///
/// assert_eq!(AppendError::Closed.to_string(), "the log is closed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendError {
    /// The write failed; the log ends with the last complete record, and a later append may succeed.
    Write(String),
    /// An earlier `fsync`, or write of buffered records, failed. Appends fail until a new snapshot is written.
    Unsynced(String),
    /// The store was [closed](crate::Store::close) before.
    Closed,
    /// The record is longer than [`MAX_RECORD`](crate::MAX_RECORD).
    TooLong(usize),
}

impl fmt::Display for AppendError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::Write(error) => write!(formatter, "the log cannot be written: {error}"),
            AppendError::Unsynced(error) => write!(
                formatter,
                "the log could not be stored ({error}), and a new snapshot must be written first"
            ),
            AppendError::Closed => formatter.write_str("the log is closed"),
            AppendError::TooLong(length) => write!(formatter, "a record of {length} bytes is too long"),
        }
    }
}

impl std::error::Error for AppendError {}
