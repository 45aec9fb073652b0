//! Tokens of the expression language.

/// The words that are never names, in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Or,
    Not,
    Between,
    In,
    Set,
    Remove,
    Add,
    Delete,
}

const KEYWORDS: [(&str, Keyword); 9] = [
    ("AND", Keyword::And),
    ("OR", Keyword::Or),
    ("NOT", Keyword::Not),
    ("BETWEEN", Keyword::Between),
    ("IN", Keyword::In),
    ("SET", Keyword::Set),
    ("REMOVE", Keyword::Remove),
    ("ADD", Keyword::Add),
    ("DELETE", Keyword::Delete),
];

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name as written.
    Name,
    /// `#name`.
    Alias,
    /// `:value`.
    Value,
    /// Digits: `0`, or digits that begin with another.
    Digits,
    Keyword(Keyword),
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Plus,
    Minus,
    Comma,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Dot,
    /// A character that is no token of the language.
    Stray,
    /// The end of the text.
    End,
}

/// A token and where it stands, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub(super) fn text(self, source: &str) -> &str {
        &source[self.start..self.end]
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The first token of `source` at or after `from`, which is a character's boundary. The end token reaches over the
/// blanks before it, so that they are part of what a syntax error shows.
pub(super) fn token(source: &str, from: usize) -> Token {
    let bytes = source.as_bytes();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let Some(start) = bytes[from..]
        .iter()
        .position(|byte| !blank(byte))
        .map(|skip| from + skip)
    else {
        return Token {
            kind: Kind::End,
            start: from,
            end: bytes.len(),
        };
    };
    let (kind, length) = scan(source, start);
    Token {
        kind,
        start,
        end: start + length,
    }
}

fn scan(source: &str, start: usize) -> (Kind, usize) {
    let rest = &source.as_bytes()[start..];
    let word = |from: usize| from + rest[from..].iter().take_while(|byte| is_word(**byte)).count();
    let second = rest.get(1).copied();
    match rest[0] {
        b'a'..=b'z' | b'A'..=b'Z' => {
            let length = word(0);
            (name_or_keyword(&source[start..start + length]), length)
        }
        b'#' if second.is_some_and(is_word) => (Kind::Alias, word(1)),
        b':' if second.is_some_and(is_word) => (Kind::Value, word(1)),
        b'0' => (Kind::Digits, 1),
        b'1'..=b'9' => (
            Kind::Digits,
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        ),
        b'=' => (Kind::Eq, 1),
        b'<' if second == Some(b'>') => (Kind::Ne, 2),
        b'<' if second == Some(b'=') => (Kind::Le, 2),
        b'<' => (Kind::Lt, 1),
        b'>' if second == Some(b'=') => (Kind::Ge, 2),
        b'>' => (Kind::Gt, 1),
        b'+' => (Kind::Plus, 1),
        b'-' => (Kind::Minus, 1),
        b',' => (Kind::Comma, 1),
        b'(' => (Kind::Open, 1),
        b')' => (Kind::Close, 1),
        b'[' => (Kind::OpenBracket, 1),
        b']' => (Kind::CloseBracket, 1),
        b'.' => (Kind::Dot, 1),
        _ => (Kind::Stray, source[start..].chars().next().map_or(1, char::len_utf8)),
    }
}

fn name_or_keyword(word: &str) -> Kind {
    KEYWORDS
        .iter()
        .find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        .map_or(Kind::Name, |(_, keyword)| Kind::Keyword(*keyword))
}

/// What a syntax error says about the token at fault and its surroundings: the source from the start of the token before
/// it to the end of the token after it (compared with DynamoDB Local, about 100 probes).
pub(super) fn syntax_error(source: &str, before: Option<Token>, fault: Token) -> String {
    let shown = if fault.kind == Kind::End {
        "<EOF>"
    } else {
        fault.text(source)
    };
    let start = before.map_or(fault.start, |before| before.start);
    // The service counts UTF-16 units: of a character outside the basic plane the second half is the token after it.
    let end = if fault.kind == Kind::End || fault.text(source).chars().any(|c| c.len_utf16() == 2) {
        fault.end
    } else {
        token(source, fault.end).end
    };
    super::error::syntax(shown, &source[start..end])
}
