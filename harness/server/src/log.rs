//! The operator's log, on standard error.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

/// The level of the log.
///
/// ```
/// use dynatwin_server::Log;
///
/// assert_eq!(Log::named("requests"), Some(Log::Requests));
/// assert!(Log::Requests > Log::Errors);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// Logs no requests.
    Off,
    /// Server errors, and the engine's notes about requests.
    #[default]
    Errors,
    /// Errors, notes, and a line for each request.
    Requests,
}

impl Log {
    /// Returns the level with this name: `off`, `errors` or `requests`.
    pub fn named(name: &str) -> Option<Log> {
        match name {
            "off" => Some(Log::Off),
            "errors" => Some(Log::Errors),
            "requests" => Some(Log::Requests),
            _ => None,
        }
    }

    /// Writes a line of `level`, with terminal control characters escaped. Errors are ignored, because standard error
    /// may be closed.
    pub(crate) fn line(self, level: Log, line: fmt::Arguments<'_>) {
        if self >= level {
            let _ = writeln!(io::stderr().lock(), "{}", escaped(&line.to_string()));
        }
    }
}

/// Returns text as one line: control characters and those that change the direction of text are escaped as in Rust.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_unsafe(char) {
            escaped.extend(char.escape_unicode());
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

fn is_unsafe(char: char) -> bool {
    let directs = matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    char.is_control() || directs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines() {
        for (text, expect) in [
            (
                "2026-01-01T00:00:00.000Z GetItem 200",
                "2026-01-01T00:00:00.000Z GetItem 200",
            ),
            ("Größe 表", "Größe 表"),
            ("a\n2026 forged", "a\\u{a}2026 forged"),
            ("\u{1b}[2J\r\t", "\\u{1b}[2J\\u{d}\\u{9}"),
            ("\u{9b}31m\u{7f}\0", "\\u{9b}31m\\u{7f}\\u{0}"),
            ("\u{202e}txt\u{2028}", "\\u{202e}txt\\u{2028}"),
        ] {
            assert_eq!(escaped(text), expect);
        }
        for (first, last) in [
            ('\u{61c}', '\u{61c}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{feff}', '\u{feff}'),
        ] {
            for char in first..=last {
                assert_eq!(escaped(&char.to_string()), char.escape_unicode().to_string());
            }
        }
    }

    /// The neighbors of the escaped characters are letters, marks and blanks of other scripts.
    #[test]
    fn other_characters_stay() {
        for char in [
            ' ',
            '~',
            '\u{a0}',
            '\u{61b}',
            '\u{61d}',
            '\u{200a}',
            '\u{2010}',
            '\u{2027}',
            '\u{202f}',
            '\u{205f}',
            '\u{2070}',
            '\u{fefe}',
            '\u{ff00}',
            '\u{1f600}',
        ] {
            assert_eq!(
                escaped(&char.to_string()),
                char.to_string(),
                "{}",
                char.escape_unicode()
            );
        }
        for char in ['\0', '\u{1f}', '\u{7f}', '\u{80}', '\u{9f}'] {
            assert_eq!(escaped(&char.to_string()), char.escape_unicode().to_string());
        }
    }

    #[test]
    fn levels_have_names_and_an_order() {
        for (name, level) in [
            ("off", Some(Log::Off)),
            ("errors", Some(Log::Errors)),
            ("requests", Some(Log::Requests)),
            ("", None),
            ("Errors", None),
            ("request", None),
        ] {
            assert_eq!(Log::named(name), level, "{name}");
        }
        assert!([Log::Off, Log::Errors, Log::Requests].is_sorted_by(|one, next| one < next));
        assert_eq!(Log::default(), Log::Errors);
    }
}
