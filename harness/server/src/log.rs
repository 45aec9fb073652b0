//! The operator's log, on standard error.

use std::fmt;
use std::io::{self, Write};

/// How much is written to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// Nothing.
    Off,
    /// What went wrong on the twin's side, and what the engine has to say about a request.
    #[default]
    Errors,
    /// That, and a line for each request.
    Requests,
}

impl Log {
    /// The level of this name: `off`, `errors` or `requests`.
    pub fn named(name: &str) -> Option<Log> {
        match name {
            "off" => Some(Log::Off),
            "errors" => Some(Log::Errors),
            "requests" => Some(Log::Requests),
            _ => None,
        }
    }

    /// Writes a line that belongs to `level`. That nobody reads the log is no reason to fail.
    pub(crate) fn line(self, level: Log, line: fmt::Arguments<'_>) {
        if self >= level {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}
