//! Tokens of the expression language.

/// The keywords, in any case.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name,
    Alias,
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
    /// A character that begins no token.
    Stray,
    /// The end of the text.
    End,
}

/// A token and its position in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
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
            kind: TokenKind::End,
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

fn scan(source: &str, start: usize) -> (TokenKind, usize) {
    let rest = &source.as_bytes()[start..];
    let word = |from: usize| from + rest[from..].iter().take_while(|byte| is_word(**byte)).count();
    let second = rest.get(1).copied();
    match rest[0] {
        b'a'..=b'z' | b'A'..=b'Z' => {
            let length = word(0);
            (name_or_keyword(&source[start..start + length]), length)
        }
        b'#' if second.is_some_and(is_word) => (TokenKind::Alias, word(1)),
        b':' if second.is_some_and(is_word) => (TokenKind::Value, word(1)),
        b'0' => (TokenKind::Digits, 1),
        b'1'..=b'9' => (
            TokenKind::Digits,
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        ),
        b'=' => (TokenKind::Eq, 1),
        b'<' if second == Some(b'>') => (TokenKind::Ne, 2),
        b'<' if second == Some(b'=') => (TokenKind::Le, 2),
        b'<' => (TokenKind::Lt, 1),
        b'>' if second == Some(b'=') => (TokenKind::Ge, 2),
        b'>' => (TokenKind::Gt, 1),
        b'+' => (TokenKind::Plus, 1),
        b'-' => (TokenKind::Minus, 1),
        b',' => (TokenKind::Comma, 1),
        b'(' => (TokenKind::Open, 1),
        b')' => (TokenKind::Close, 1),
        b'[' => (TokenKind::OpenBracket, 1),
        b']' => (TokenKind::CloseBracket, 1),
        b'.' => (TokenKind::Dot, 1),
        _ => (
            TokenKind::Stray,
            source[start..].chars().next().map_or(1, char::len_utf8),
        ),
    }
}

fn name_or_keyword(word: &str) -> TokenKind {
    KEYWORDS
        .iter()
        .find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        .map_or(TokenKind::Name, |(_, keyword)| TokenKind::Keyword(*keyword))
}

/// The part of a syntax error about the unexpected token and its surroundings: the source from the start of the token
/// before it, or of the source, to the end of the token after it (compared with DynamoDB Local, about 100 probes).
pub(super) fn syntax_error(source: &str, before: Option<Token>, unexpected: Token) -> String {
    let shown = if unexpected.kind == TokenKind::End {
        "<EOF>"
    } else {
        unexpected.text(source)
    };
    let start = before.map_or(0, |before| before.start);
    // The service counts UTF-16 units: of a character outside the basic plane the second half is the token after it.
    let end = if unexpected.kind == TokenKind::End || unexpected.text(source).chars().any(|c| c.len_utf16() == 2) {
        unexpected.end
    } else {
        token(source, unexpected.end).end
    };
    super::error::syntax(shown, &source[start..end])
}
