//! Splits a stream of text Ion after each top-level value, so that one record at a time is in memory.

use std::io::{self, BufRead};
use std::mem::take;

/// The state after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    /// After a slash that may start a comment.
    Slash,
    LineComment,
    BlockComment,
    /// After an asterisk in a comment.
    Asterisk,
    /// After a brace that may start a blob.
    Brace,
    Blob,
    /// After a brace in a blob.
    BlobBrace,
    /// In a text between quotes of this kind.
    Short(u8),
    ShortEscape(u8),
    /// After one or two single quotes that may start a long string.
    Quotes(u8),
    /// In a long string, after this many single quotes.
    Long(u8),
    LongEscape,
}

/// A top-level value with the text before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// The offset of its first byte in the stream.
    pub start: u64,
    /// The bytes of the value.
    pub bytes: Vec<u8>,
}

/// Why the stream cannot be split.
#[derive(Debug)]
pub enum Unsplit {
    /// A value is longer than the limit.
    TooLong,
    /// The stream cannot be read.
    Unread(io::Error),
}

/// Splits a stream into pieces.
pub struct Splitter<R> {
    from: R,
    limit: usize,
    state: State,
    depth: usize,
    /// Whether a comment between two values is being skipped.
    skips: bool,
    at: u64,
    piece: Piece,
}

impl<R: BufRead> Splitter<R> {
    /// Splits into pieces of at most `limit` bytes.
    pub fn new(from: R, limit: usize) -> Splitter<R> {
        Splitter {
            from,
            limit,
            state: State::Plain,
            depth: 0,
            skips: false,
            at: 0,
            piece: Piece {
                start: 0,
                bytes: Vec::new(),
            },
        }
    }

    /// Returns the next piece. The last one ends with the stream, and may contain no value.
    pub fn next(&mut self) -> Result<Option<Piece>, Unsplit> {
        loop {
            let buffer = self.from.fill_buf().map_err(Unsplit::Unread)?;
            if buffer.is_empty() {
                return Ok(self.rest());
            }
            let mut ends = None;
            for (index, byte) in buffer.iter().enumerate() {
                if self.piece.bytes.is_empty() && !self.skips {
                    self.piece.start = self.at;
                }
                self.at += 1;
                let is_last = step(
                    *byte,
                    &mut self.state,
                    &mut self.depth,
                    &mut self.skips,
                    &mut self.piece.bytes,
                );
                if self.piece.bytes.len() > self.limit {
                    return Err(Unsplit::TooLong);
                }
                if is_last {
                    ends = Some(index + 1);
                    break;
                }
            }
            let used = ends.unwrap_or(buffer.len());
            self.from.consume(used);
            if ends.is_some() {
                return Ok(Some(self.cut()));
            }
        }
    }

    fn cut(&mut self) -> Piece {
        Piece {
            start: self.piece.start,
            bytes: take(&mut self.piece.bytes),
        }
    }

    /// Returns the rest at the end of the stream.
    fn rest(&mut self) -> Option<Piece> {
        if take(&mut self.skips) && matches!(self.state, State::BlockComment | State::Asterisk) {
            // The parser reports an unterminated comment.
            self.piece.bytes.extend_from_slice(b"/*");
        }
        (!self.piece.bytes.is_empty()).then(|| self.cut())
    }
}

/// Processes a byte; returns whether a top-level value ends with it.
fn step(byte: u8, state: &mut State, depth: &mut usize, skips: &mut bool, piece: &mut Vec<u8>) -> bool {
    let is_between = piece.is_empty();
    if is_between && (*skips || byte.is_ascii_whitespace()) {
        *state = next(byte, *state, depth);
        *skips &= *state != State::Plain;
        return false;
    }
    piece.push(byte);
    let before = *depth;
    *state = next(byte, *state, depth);
    if piece.len() == 2 && matches!(*state, State::LineComment | State::BlockComment) {
        *skips = true;
        piece.clear();
    }
    before > 0 && *depth == 0
}

fn next(byte: u8, state: State, depth: &mut usize) -> State {
    use State::{
        Asterisk, Blob, BlobBrace, BlockComment, Brace, LineComment, Long, LongEscape, Plain, Quotes, Short,
        ShortEscape, Slash,
    };
    match (state, byte) {
        (Slash, b'/') => LineComment,
        (Slash, b'*') => BlockComment,
        (LineComment, b'\n' | b'\r') | (Asterisk, b'/') => Plain,
        (LineComment, _) => LineComment,
        (BlockComment | Asterisk, b'*') => Asterisk,
        (BlockComment | Asterisk, _) => BlockComment,
        // The braces of a blob count as one.
        (Brace, b'{') => Blob,
        (Blob, b'}') => BlobBrace,
        (BlobBrace, b'}') => close(depth),
        (Blob | BlobBrace, _) => Blob,
        (Short(quote), b'\\') => ShortEscape(quote),
        (Short(quote), _) if byte == quote => Plain,
        (Short(quote) | ShortEscape(quote), _) => Short(quote),
        (Quotes(1), b'\'') => Quotes(2),
        (Quotes(2), b'\'') => Long(0),
        // The previous quote started a symbol.
        (Quotes(1), _) => next(byte, Short(b'\''), depth),
        (Long(2), b'\'') => Plain,
        (Long(quotes), b'\'') => Long(quotes + 1),
        (Long(_), b'\\') => LongEscape,
        (Long(_) | LongEscape, _) => Long(0),
        (Plain | Slash | Brace | Quotes(_), _) => plain(byte, depth),
    }
}

fn plain(byte: u8, depth: &mut usize) -> State {
    match byte {
        b'/' => State::Slash,
        b'"' => State::Short(b'"'),
        b'\'' => State::Quotes(1),
        b'{' => {
            *depth += 1;
            State::Brace
        }
        b'[' => {
            *depth += 1;
            State::Plain
        }
        b'}' | b']' => close(depth),
        _ => State::Plain,
    }
}

fn close(depth: &mut usize) -> State {
    *depth = depth.saturating_sub(1);
    State::Plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, buffer: usize, limit: usize) -> Vec<String> {
        let mut splitter = Splitter::new(io::BufReader::with_capacity(buffer, text.as_bytes()), limit);
        let mut pieces = Vec::new();
        loop {
            match splitter.next() {
                Ok(Some(piece)) => {
                    assert!(text[piece.start as usize..].starts_with(&String::from_utf8_lossy(&piece.bytes)[..1]));
                    pieces.push(String::from_utf8(piece.bytes).unwrap());
                }
                Ok(None) => return pieces,
                Err(error) => {
                    pieces.push(format!("{error:?}"));
                    return pieces;
                }
            }
        }
    }

    #[test]
    fn values_are_cut_behind_their_ends() {
        for (text, expect) in [
            ("", &[][..]),
            (" \n // nothing\n /* at all */ ", &[]),
            ("{a:1}{b:2}", &["{a:1}", "{b:2}"]),
            (
                "$ion_1_0 {a:{b:[1,{c:2}]}}\n$ion_1_0 {d:1}\n",
                &["$ion_1_0 {a:{b:[1,{c:2}]}}", "$ion_1_0 {d:1}"],
            ),
            (r#"{a:"}\"}"}{b:'}\'}'}"#, &[r#"{a:"}\"}"}"#, r"{b:'}\'}'}"]),
            ("{a:'''}'}''}\\'''}'''}{b:''}", &["{a:'''}'}''}\\'''}'''}", "{b:''}"]),
            ("{a:{{ab//cd==}}}{b:{{}}}", &["{a:{{ab//cd==}}}", "{b:{{}}}"]),
            ("{a:1 //}\n}{b:/*}*/2}", &["{a:1 //}\n}", "{b:/*}*/2}"]),
            ("/*c**/ {a:1}//{\n{b:2}", &["{a:1}", "{b:2}"]),
            ("[1] ]{a:1}", &["[1]", "]{a:1}"]),
            ("{a:1} /* open", &["{a:1}", "/*"]),
            ("{a:1} /* open *", &["{a:1}", "/*"]),
            ("{a:1} // closed", &["{a:1}"]),
            ("// a\r{a:1 //}\r}// b\r\n{b:2}", &["{a:1 //}\r}", "{b:2}"]),
            ("{a:1} {b:", &["{a:1}", "{b:"]),
            ("{{AQ==}}{a:1}", &["{{AQ==}}", "{a:1}"]),
            ("word", &["word"]),
            ("{}{a:1}", &["{}", "{a:1}"]),
            ("{a:{{b}c}}}{{}b}}{a:1}", &["{a:{{b}c}}}", "{{}b}}", "{a:1}"]),
            ("{a:{ {}}}{b:1}", &["{a:{ {}}}", "{b:1}"]),
            (r"{'\'}':1}{'}\\':2}{b:1}", &[r"{'\'}':1}", r"{'}\\':2}", "{b:1}"]),
            (r#"{a:"\\"}{b:"'}"}{c:1}"#, &[r#"{a:"\\"}"#, r#"{b:"'}"}"#, "{c:1}"]),
            (
                "{a:'''b'c''d}'''}{e:''''''}{f:1}",
                &["{a:'''b'c''d}'''}", "{e:''''''}", "{f:1}"],
            ),
            ("{a:'''b''' '''}'''}{c:1}", &["{a:'''b''' '''}'''}", "{c:1}"]),
            ("{//}\n}{/*}*/}{b:1}", &["{//}\n}", "{/*}*/}", "{b:1}"]),
            ("{a:1/2}{b:/}/{c:1}", &["{a:1/2}", "{b:/}", "/{c:1}"]),
            ("/**/{a:1}/***/{b:2}/*/{c:3}*/{d:4}", &["{a:1}", "{b:2}", "{d:4}"]),
            ("/*/{a:1}", &["/*"]),
            ("////*\n{a:1}", &["{a:1}"]),
            ("[[1],{a:[2]}][3]{a:1}", &["[[1],{a:[2]}]", "[3]", "{a:1}"]),
        ] {
            for buffer in [1, 3, 4096] {
                assert_eq!(pieces(text, buffer, 100), expect, "{text}");
            }
        }
    }

    #[test]
    fn values_have_a_limit_and_what_is_between_them_has_none() {
        let space = " ".repeat(1000);
        let comment = format!("//{space}\n/*{space}*/");
        let text = format!("{space}{{a:1}}{comment}{{b:2}}");
        assert_eq!(pieces(&text, 64, 10), ["{a:1}", "{b:2}"]);
        for (limit, cut) in [(6, vec!["{a:12}", "{b:2}"]), (5, vec!["TooLong"])] {
            assert_eq!(pieces("{a:12}{b:2}", 64, limit), cut, "a limit of {limit}");
        }
        for text in ["{a:", "\"", "'''", "{{", "word", "$ion_1_0 //", "{//", "{/*"] {
            let text = format!("{text}{}", "a".repeat(1000));
            assert_eq!(pieces(&text, 64, 100), ["TooLong"], "{text}");
        }
    }
}
