//! Errors in files, with their location.

use std::fmt;
use std::path::Path;

/// Why a file cannot be loaded, with the file and, where it is known, the line.
///
/// ```
/// use dynatwin_seed::Error;
///
/// let error = Error::new("tables.json", "the file is empty").at_line(3);
/// assert_eq!(error.to_string(), "tables.json:3: the file is empty");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Error {
    /// An error of a file as a whole.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Error {
        Error {
            file: file.into(),
            line: None,
            message: message.into(),
        }
    }

    /// Creates an error from a system error about a file.
    pub(crate) fn of_path(path: &Path, error: impl fmt::Display) -> Error {
        Error::new(path.display().to_string(), error.to_string())
    }

    /// Adds the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Error {
        self.line = Some(line);
        self
    }

    /// The line, counted from 1, if the error belongs to one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns the message without file and line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for Error {}

/// An error at a line of a document whose file the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub line: usize,
    pub message: String,
}

impl Problem {
    pub fn new(line: usize, message: impl Into<String>) -> Problem {
        Problem {
            line,
            message: message.into(),
        }
    }

    pub fn of_file(self, file: &str) -> Error {
        Error::new(file, self.message).at_line(self.line)
    }
}
