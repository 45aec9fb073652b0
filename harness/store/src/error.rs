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

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn errors_name_the_file_and_what_to_do() {
        let (directory, file) = ("/data".to_owned(), "000001.wal".to_owned());
        let in_use = |process| OpenError::InUse {
            directory: directory.clone(),
            process,
        };
        for (error, expect) in [
            (
                in_use(Some(7)),
                "/data is in use by another process (7); stop it, or choose another directory",
            ),
            (
                in_use(None),
                "/data is in use by another process; stop it, or choose another directory",
            ),
            (
                OpenError::Damaged {
                    directory: directory.clone(),
                    file: file.clone(),
                    offset: 40,
                    problem: "the file ends within a record".to_owned(),
                },
                "/data/000001.wal is damaged at byte 40: the file ends within a record. Nothing was changed; restore the \
                 directory from a copy",
            ),
            (
                OpenError::Foreign {
                    directory: directory.clone(),
                    file: file.clone(),
                },
                "/data/000001.wal was not written by this store. Nothing was changed; move the file elsewhere, or choose \
                 another directory",
            ),
            (
                OpenError::UnknownFormat {
                    directory: directory.clone(),
                    file: file.clone(),
                    version: 2,
                },
                "/data/000001.wal has format 2, which this version does not read: use a newer one",
            ),
            (
                OpenError::Record {
                    directory: directory.clone(),
                    file,
                    offset: 88,
                    problem: "not a commit".to_owned(),
                },
                "/data/000001.wal: the record at byte 88 cannot be applied: not a commit",
            ),
            (
                OpenError::Io {
                    directory,
                    action: "read 000001.wal".to_owned(),
                    error: io::Error::other("no such device"),
                },
                "/data: cannot read 000001.wal: no such device",
            ),
        ] {
            assert_eq!(error.to_string(), expect);
            assert_eq!(
                error.source().map(ToString::to_string),
                expect.ends_with("no such device").then(|| "no such device".to_owned())
            );
        }
        for (error, expect) in [
            (
                AppendError::Write("no space".to_owned()),
                "the log cannot be written: no space",
            ),
            (
                AppendError::Unsynced("broken".to_owned()),
                "the log could not be stored (broken), and a new snapshot must be written first",
            ),
            (AppendError::Closed, "the log is closed"),
            (AppendError::TooLong(9), "a record of 9 bytes is too long"),
        ] {
            assert_eq!(error.to_string(), expect);
        }
    }
}
