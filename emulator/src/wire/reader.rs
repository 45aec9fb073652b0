//! A pull reader of strict JSON over bytes. It builds no tree, and borrows keys and texts without escapes.
//!
//! Strict means RFC 8259 and no more: no byte order mark, no comments, no trailing commas, nothing after the end. The
//! reader is not recursive: the caller decides how deep to go, and [`Reader::skip`] skips any depth in a loop.

use std::borrow::Cow;

use super::scan::plain_length;

/// The body is not valid JSON. The service's error has no further details, and neither has this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError;

/// The type of the next value, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    String,
    Number,
    True,
    False,
    Null,
    List,
    Object,
}

/// Reads one JSON text from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// The JSON of a member of a body that is an object, as it was received: some errors echo it.
pub fn member_text<'a>(body: &'a [u8], name: &str) -> Option<&'a str> {
    let mut reader = Reader::new(body).ok()?;
    reader.peek().ok()?;
    reader.enter().ok()?;
    let mut first = true;
    let mut found = None;
    while let Some(member) = reader.member(first).ok()? {
        first = false;
        reader.peek().ok()?;
        let start = reader.at;
        reader.skip().ok()?;
        if member == name {
            found = reader.text.get(start..reader.at);
        }
    }
    found
}

/// Whether `body` is JSON from its first to its last byte.
pub fn check_syntax(body: &[u8]) -> Result<(), SyntaxError> {
    let mut reader = Reader::new(body)?;
    reader.skip()?;
    reader.end()
}

impl<'a> Reader<'a> {
    /// A reader at the start of `body`, which must be UTF-8.
    pub fn new(body: &'a [u8]) -> Result<Reader<'a>, SyntaxError> {
        let text = simdutf8::basic::from_utf8(body).map_err(|_| SyntaxError)?;
        Ok(Reader { text, at: 0 })
    }

    /// Line and column of the last token, counted from one, columns in bytes.
    pub fn position(&self) -> (usize, usize) {
        let read = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = memchr::memrchr(b'\n', read).map_or(0, |end| end + 1);
        (memchr::memchr_iter(b'\n', read).count() + 1, self.at - line)
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not blank.
    #[inline]
    fn next_non_blank(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// The type of the next value.
    #[inline]
    pub fn peek(&mut self) -> Result<Token, SyntaxError> {
        match self.next_non_blank() {
            Some(b'"') => Ok(Token::String),
            Some(b'{') => Ok(Token::Object),
            Some(b'[') => Ok(Token::List),
            Some(b'-' | b'0'..=b'9') => Ok(Token::Number),
            Some(b't') => Ok(Token::True),
            Some(b'f') => Ok(Token::False),
            Some(b'n') => Ok(Token::Null),
            _ => Err(SyntaxError),
        }
    }

    /// Enters the list or object that [`Reader::peek`] has seen.
    #[inline]
    pub fn enter(&mut self) -> Result<(), SyntaxError> {
        match self.next_non_blank() {
            Some(b'{' | b'[') => {
                self.at += 1;
                Ok(())
            }
            _ => Err(SyntaxError),
        }
    }

    /// The name of the object's next member, with the reader positioned before its value; `None` at the end of the object.
    #[inline]
    pub fn member(&mut self, first: bool) -> Result<Option<Cow<'a, str>>, SyntaxError> {
        match self.next_non_blank() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.next_non_blank();
            }
            _ if !first => return Err(SyntaxError),
            _ => {}
        }
        let name = self.string()?;
        self.colon()?;
        Ok(Some(name))
    }

    /// Whether the list has another element, with the reader before it.
    #[inline]
    pub fn element(&mut self, first: bool) -> Result<bool, SyntaxError> {
        match self.next_non_blank() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                Ok(true)
            }
            _ if first => Ok(true),
            _ => Err(SyntaxError),
        }
    }

    #[inline]
    fn colon(&mut self) -> Result<(), SyntaxError> {
        if self.next_non_blank() != Some(b':') {
            return Err(SyntaxError);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        if self.next_non_blank() != Some(b'"') {
            return Err(SyntaxError);
        }
        let start = self.at + 1;
        let rest = self.text.as_bytes().get(start..).ok_or(SyntaxError)?;
        let length = plain_length(rest);
        let plain = self.text.get(start..start + length).ok_or(SyntaxError)?;
        self.at = start + length;
        match rest.get(length) {
            Some(b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(plain))
            }
            Some(b'\\') => {
                // Room for a line of text, so that short strings are not moved as they grow.
                let mut text = String::with_capacity(length + (rest.len() - length).min(128));
                text.push_str(plain);
                self.escaped_string(text).map(Cow::Owned)
            }
            _ => Err(SyntaxError),
        }
    }

    /// A string that begins with `text`, from the escape behind that.
    #[cold]
    fn escaped_string(&mut self, mut text: String) -> Result<String, SyntaxError> {
        self.rest_of_string(|part| text.push_str(part))?;
        Ok(text)
    }

    /// The text of an object that is nothing but `{"S":"text"}`, with a member of one letter and nothing escaped, and
    /// that letter: the form of most attribute values. `None`, with nothing read, for any other form.
    #[inline]
    pub fn lettered_text(&mut self) -> Option<(u8, &'a str)> {
        let [b'{', b'"', letter @ (b'A'..=b'Z' | b'a'..=b'z'), b'"', b':', rest @ ..] =
            self.text.as_bytes().get(self.at..)?
        else {
            return None;
        };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"\"")?;
        let length = plain_length(rest);
        if !rest.get(length..)?.starts_with(b"\"}") {
            return None;
        }
        let start = self.text.len() - rest.len();
        let text = self.text.get(start..)?.get(..length)?;
        self.at = start + length + 2;
        Some((*letter, text))
    }

    /// Reads from inside a string past its closing quote; passes on the plain parts and the escaped letters between them.
    fn rest_of_string(&mut self, mut part: impl FnMut(&str)) -> Result<(), SyntaxError> {
        loop {
            let rest = self.text.get(self.at..).ok_or(SyntaxError)?;
            let (plain, special) = rest
                .split_at_checked(plain_length(rest.as_bytes()))
                .ok_or(SyntaxError)?;
            part(plain);
            self.at += plain.len() + 1;
            match special.as_bytes().first() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => part(self.escape()?.encode_utf8(&mut [0; 4])),
                _ => return Err(SyntaxError),
            }
        }
    }

    /// The letter of an escape, from behind its backslash.
    fn escape(&mut self) -> Result<char, SyntaxError> {
        let kind = self.byte().ok_or(SyntaxError)?;
        self.at += 1;
        Ok(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(SyntaxError),
        })
    }

    /// One UTF-16 unit, or a surrogate pair. A lone surrogate is not a character.
    fn unicode_escape(&mut self) -> Result<char, SyntaxError> {
        let unit = self.hexadecimal()?;
        if !(0xd800..0xe000).contains(&unit) {
            return char::from_u32(unit).ok_or(SyntaxError);
        }
        if !self
            .text
            .as_bytes()
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(b"\\u"))
        {
            return Err(SyntaxError);
        }
        self.at += 2;
        let low = self.hexadecimal()?;
        if unit >= 0xdc00 || !(0xdc00..0xe000).contains(&low) {
            return Err(SyntaxError);
        }
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).ok_or(SyntaxError)
    }

    fn hexadecimal(&mut self) -> Result<u32, SyntaxError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self
                .byte()
                .and_then(|byte| char::from(byte).to_digit(16))
                .ok_or(SyntaxError)?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The number of bytes read.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The bytes read since an offset.
    #[inline]
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.text.as_bytes().get(start..self.at).unwrap_or_default()
    }

    /// Skips a null, if it is next.
    #[inline]
    pub fn null(&mut self) -> Result<bool, SyntaxError> {
        if self.next_non_blank() != Some(b'n') {
            return Ok(false);
        }
        self.word("null").map(|()| true)
    }

    /// Reads a number, as written.
    pub fn number(&mut self) -> Result<&'a str, SyntaxError> {
        self.next_non_blank();
        let start = self.at;
        self.accept(b"-");
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(SyntaxError),
        }
        if self.accept(b".") {
            self.digits()?;
        }
        if self.accept(b"eE") {
            self.accept(b"+-");
            self.digits()?;
        }
        self.text.get(start..self.at).ok_or(SyntaxError)
    }

    fn accept(&mut self, any: &[u8]) -> bool {
        let found = self.byte().is_some_and(|byte| any.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(SyntaxError) }
    }

    pub fn word(&mut self, word: &str) -> Result<(), SyntaxError> {
        self.next_non_blank();
        match self.text.as_bytes().get(self.at..) {
            Some(rest) if rest.starts_with(word.as_bytes()) => {
                self.at += word.len();
                Ok(())
            }
            _ => Err(SyntaxError),
        }
    }

    /// Passes over the next value, however deep it is.
    pub fn skip(&mut self) -> Result<(), SyntaxError> {
        let mut open = OpenContainers::default();
        loop {
            let entered = match self.peek()? {
                Token::String => {
                    self.at += 1;
                    self.rest_of_string(|_| {})?;
                    false
                }
                Token::Number => {
                    self.number()?;
                    false
                }
                Token::True => self.word("true").map(|()| false)?,
                Token::False => self.word("false").map(|()| false)?,
                Token::Null => self.word("null").map(|()| false)?,
                token @ (Token::List | Token::Object) => {
                    self.at += 1;
                    open.push(token == Token::Object);
                    true
                }
            };
            if !self.next_inside(&mut open, entered)? {
                return Ok(());
            }
        }
    }

    /// Closes the containers that end here and moves to the next value of the innermost open one; `false` if nothing is
    /// open.
    fn next_inside(&mut self, open: &mut OpenContainers, mut first: bool) -> Result<bool, SyntaxError> {
        while let Some(object) = open.innermost() {
            let more = if object {
                self.skip_name(first)?
            } else {
                self.element(first)?
            };
            if more {
                return Ok(true);
            }
            open.pop();
            first = false;
        }
        Ok(false)
    }

    /// [`Reader::member`] for a member that is not used.
    fn skip_name(&mut self, first: bool) -> Result<bool, SyntaxError> {
        match self.next_non_blank() {
            Some(b'}') => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !first => self.at += 1,
            _ if !first => return Err(SyntaxError),
            _ => {}
        }
        if self.next_non_blank() != Some(b'"') {
            return Err(SyntaxError);
        }
        self.at += 1;
        self.rest_of_string(|_| {})?;
        self.colon()?;
        Ok(true)
    }

    /// Checks that nothing but blanks follows.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        if self.next_non_blank().is_none() {
            Ok(())
        } else {
            Err(SyntaxError)
        }
    }
}

/// The lists and objects around the reader while it skips, a bit each: set for an object.
#[derive(Default)]
struct OpenContainers {
    full: Vec<u64>,
    last: u64,
    count: u32,
}

impl OpenContainers {
    fn push(&mut self, object: bool) {
        if self.count == 64 {
            self.full.push(self.last);
            self.count = 0;
        }
        self.last = self.last << 1 | u64::from(object);
        self.count += 1;
    }

    fn pop(&mut self) {
        self.last >>= 1;
        self.count = self.count.saturating_sub(1);
        if self.count == 0
            && let Some(word) = self.full.pop()
        {
            self.last = word;
            self.count = 64;
        }
    }

    fn innermost(&self) -> Option<bool> {
        (self.count > 0).then_some(self.last & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn syntax() {
        for (text, good) in [
            ("{}", true),
            (" [ ] ", true),
            ("null", true),
            ("-0.5e+10", true),
            (r#"{"a":[1,{"b":[[],{}]},"c"],"d":true}"#, true),
            (r#""\u00e9\ud83d\ude00\n\/""#, true),
            ("\"\u{7f}\u{1f600}\"", true),
            ("", false),
            (" ", false),
            ("{", false),
            ("[1,]", false),
            ("[,1]", false),
            ("[true,false,null,true]", true),
            ("[1 2]", false),
            ("[true false]", false),
            ("[false null]", false),
            ("[null true]", false),
            (r#"[{"a":true "b":1}]"#, false),
            ("[1}", false),
            (r#"{"a":1]"#, false),
            (r#"{"a":1,}"#, false),
            (r#"{,"a":1}"#, false),
            (r#"{"a" 1}"#, false),
            (r#"{"a":}"#, false),
            ("{1:2}", false),
            ("{a:2}", false),
            ("{'a':2}", false),
            ("{} x", false),
            ("{}{}", false),
            ("// c\n{}", false),
            ("\u{feff}{}", false),
            ("01", false),
            ("1.", false),
            (".5", false),
            ("+1", false),
            ("1e", false),
            ("-", false),
            ("nul", false),
            ("True", false),
            ("NaN", false),
            ("\"a\nb\"", false),
            (r#""\x""#, false),
            (r#""\u12g4""#, false),
            (r#""\uD83D\uDE00\ud800\udc00\udbff\udfff\ud7ff\ue000""#, true),
            (r#""\u12g4""#, false),
            (r#""\u123""#, false),
            (r#""\ude00\ude00""#, false),
            (r#""\udc00\udc00""#, false),
            (r#""\ud800\udbff""#, false),
            (r#""\ud800\ue000""#, false),
            (r#""\ud83d\nde00""#, false),
            (r#""\ud83dxxde00""#, false),
            (r#""\ud83d\ud83d\ude00""#, false),
            (r#""\ud83d""#, false),
            (r#""\ud83d\u0041""#, false),
            (r#""\ude00\ud83d""#, false),
            (r#""open"#, false),
            (r#""open\"#, false),
        ] {
            assert_eq!(check_syntax(text.as_bytes()).is_ok(), good, "{text}");
        }
        for bytes in [
            &b"\"\xff\""[..],
            b"\"\xc0\x80\"",
            b"\"\xed\xa0\x80\"",
            b"\xff\xfe{\0}\0",
        ] {
            assert_eq!(check_syntax(bytes), Err(SyntaxError));
        }
    }

    #[test]
    fn strings() {
        for (text, expect, borrowed) in [
            (r#""""#, "", true),
            (
                r#" "plain and long enough to leave the inline form""#,
                "plain and long enough to leave the inline form",
                true,
            ),
            ("\"é😀\"", "é😀", true),
            (r#""a\"b\\c\/d""#, "a\"b\\c/d", false),
            (r#""\b\f\n\r\t\u0000""#, "\u{8}\u{c}\n\r\t\0", false),
            (r#""x\u00E9\ud83d\ude00y""#, "xé😀y", false),
        ] {
            let read = Reader::new(text.as_bytes()).unwrap().string().unwrap();
            assert_eq!(read, expect);
            assert_eq!(matches!(read, Cow::Borrowed(_)), borrowed, "{text}");
        }
    }

    #[test]
    fn lettered_texts() {
        for (text, expect) in [
            (r#"{"S":"abc"}"#, Some((b'S', "abc"))),
            (r#"{"N": ""}"#, Some((b'N', ""))),
            (
                "{\"x\":\"é and a text that is longer than a word\"}",
                Some((b'x', "é and a text that is longer than a word")),
            ),
            (r#"{"S":"a\n"}"#, None),
            (r#"{"S":"a" }"#, None),
            (r#"{"S":"a","N":"1"}"#, None),
            (r#"{"SS":"a"}"#, None),
            // Not a one-letter name: one that ends too soon, one that continues, and an invalid one.
            (r#"{""":"a"}"#, None),
            (r#"{"\":"a"}"#, None),
            ("{\"\n\":\"a\"}", None),
            (r#"{"S":5}"#, None),
            (r#"{"S":"a"#, None),
            (r#"{"S":"a""#, None),
            (r#"{"S":"#, None),
            ("{\"é\":\"a\"}", None),
            ("{", None),
            ("", None),
        ] {
            let mut reader = Reader::new(text.as_bytes()).unwrap();
            assert_eq!(reader.lettered_text(), expect, "{text}");
            assert_eq!(reader.at, if expect.is_some() { text.len() } else { 0 }, "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let run = || {
            for depth in [63, 64, 65, 1000, 1_000_000] {
                for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                    let body = format!("{}0{}", open.repeat(depth), close.repeat(depth));
                    assert_eq!(check_syntax(body.as_bytes()), Ok(()));
                    assert_eq!(check_syntax(&body.as_bytes()[..body.len() - 1]), Err(SyntaxError));
                    assert_eq!(check_syntax(open.repeat(depth).as_bytes()), Err(SyntaxError));
                }
                let mixed = format!("{}0{}", "[{\"a\":".repeat(depth), "}]".repeat(depth));
                assert_eq!(check_syntax(mixed.as_bytes()), Ok(()));
            }
        };
        std::thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(run)
            .unwrap()
            .join()
            .unwrap();
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json(text in r#"[\[\]{}:,"a0 .e\\ntu-]{0,12}"#) {
            // serde_json also rejects lone surrogates and anything after the value.
            let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            prop_assert_eq!(check_syntax(text.as_bytes()).is_ok(), theirs);
        }
    }

    #[test]
    fn members_are_read_in_order() {
        let mut reader = Reader::new(br#"{"Limit": 5, "other": [1, {}]}"#).unwrap();
        reader.enter().unwrap();
        assert_eq!(reader.member(true).unwrap().as_deref(), Some("Limit"));
        assert_eq!(reader.number(), Ok("5"));
        assert_eq!(reader.member(false).unwrap().as_deref(), Some("other"));
        reader.skip().unwrap();
        assert_eq!(reader.member(false), Ok(None));
        assert_eq!(reader.end(), Ok(()));
    }
}
