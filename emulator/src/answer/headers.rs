//! The headers of answers.

use std::borrow::Cow;
use std::fmt;

/// The end of a line in HTTP/1.
const LINE_END: &str = "\r\n";
/// What separates a header's name from its value.
const SEPARATOR: &str = ": ";
/// The room that the headers of most answers need.
const ROOM: usize = 192;

/// The headers of an answer: lower-case names and values. They are stored as lines of HTTP/1, which a transport of that
/// version copies as they are.
///
/// ```
/// use dynatwin_engine::http::AnswerHeaders;
///
/// let mut headers = AnswerHeaders::from([("server", "Server"), ("vary", "Origin")]);
/// headers.push("x-amz-crc32", "2745614147");
/// headers.remove("vary");
/// assert_eq!(headers.get("x-amz-crc32"), Some("2745614147"));
/// assert_eq!(headers.lines(), "server: Server\r\nx-amz-crc32: 2745614147\r\n");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AnswerHeaders {
    lines: Cow<'static, str>,
}

impl AnswerHeaders {
    /// No headers.
    pub const fn new() -> AnswerHeaders {
        AnswerHeaders {
            lines: Cow::Borrowed(""),
        }
    }

    /// No headers, with room for those of most answers.
    pub(crate) fn with_room() -> AnswerHeaders {
        AnswerHeaders {
            lines: Cow::Owned(String::with_capacity(ROOM)),
        }
    }

    /// The headers of these lines, each with its line end.
    pub(crate) const fn of_lines(lines: &'static str) -> AnswerHeaders {
        AnswerHeaders {
            lines: Cow::Borrowed(lines),
        }
    }

    /// Adds a header. Control characters of its value, which HTTP does not allow, are replaced by spaces.
    pub fn push(&mut self, name: &str, value: &str) {
        if value.chars().any(char::is_control) {
            let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.push_valid(name, &value);
        } else {
            self.push_valid(name, value);
        }
    }

    /// Adds a header whose value has no control characters.
    #[inline]
    pub(crate) fn push_valid(&mut self, name: &str, value: &str) {
        let lines = self.lines.to_mut();
        for part in [name, SEPARATOR, value, LINE_END] {
            lines.push_str(part);
        }
    }

    /// The value of the first header of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// Removes all headers of a name.
    pub fn remove(&mut self, name: &str) {
        let mut kept = AnswerHeaders::new();
        let others = self.iter().filter(|(other, _)| *other != name);
        others.for_each(|(name, value)| kept.push_valid(name, value));
        *self = kept;
    }

    /// The names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines
            .split_terminator(LINE_END)
            .filter_map(|line| line.split_once(SEPARATOR))
    }

    /// The headers as HTTP/1 writes them: a line for each, with its line end.
    pub fn lines(&self) -> &str {
        &self.lines
    }
}

impl<const N: usize> From<[(&str, &str); N]> for AnswerHeaders {
    fn from(all: [(&str, &str); N]) -> AnswerHeaders {
        let mut headers = AnswerHeaders::new();
        all.iter().for_each(|(name, value)| headers.push(name, value));
        headers
    }
}

impl fmt::Debug for AnswerHeaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_added() {
        let mut headers = AnswerHeaders::new();
        for (name, value, read) in [
            ("a", "1", "1"),
            ("b", "", ""),
            ("a", "2: 3", "2: 3"),
            ("c", "x\r\nset-cookie: y", "x  set-cookie: y"),
            ("d", "é\u{7f}\t", "é  "),
        ] {
            headers.push(name, value);
            assert_eq!(headers.iter().last(), Some((name, read)));
        }
        assert_eq!(headers.iter().count(), 5);
        assert_eq!((headers.get("a"), headers.get("e")), (Some("1"), None));
        headers.remove("a");
        let names: Vec<_> = headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "c", "d"]);
        let headers = AnswerHeaders::from([("a", "1"), ("b", "2")]);
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
    }
}
