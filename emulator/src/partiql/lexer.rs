//! The tokens of a statement, as in PartiQL's reference parser: keywords of several words are one token.

use super::error::not_well_formed;
use crate::error::ApiError;

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    /// Its start and end, in bytes.
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub(super) fn text(self, statement: &str) -> &str {
        statement
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Identifier,
    /// A name in double quotes.
    Quoted,
    String,
    Number,
    /// A literal of Ion, in backticks.
    Ion,
    Keyword(Keyword),
    Operator(Operator),
    Star,
    Dot,
    Comma,
    Colon,
    Semicolon,
    Parameter,
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenBag,
    CloseBag,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Slash,
    Percent,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    Concat,
    At,
}

impl Operator {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Slash => "/",
            Operator::Percent => "%",
            Operator::Lt => "<",
            Operator::Le => "<=",
            Operator::Gt => ">",
            Operator::Ge => ">=",
            Operator::Eq => "=",
            Operator::Ne => "<>",
            Operator::Concat => "||",
            Operator::At => "@",
        }
    }
}

/// The keywords of statements, and one variant for words that are only reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Keyword {
    All, AllNew, AllOld, And, As, Asc, At, Between, By, Case, Cast, Conflict, Create, Cross, Delete, Desc, Distinct, Do,
    Drop, Exists, False, From, Group, Having, In, Inner, InsertInto, Is, IsNot, Join, Left, Like, Limit, Missing,
    ModifiedNew, ModifiedOld, Not, NotBetween, NotIn, NotLike, Null, On, Or, Order, Outer, Pivot, Remove, Returning, Right,
    Full, Select, Set, True, Update, Value, Values, Where, With,
    /// The name of a function, and reserved otherwise: `size`, `upper`.
    Function,
    /// The name of a function over many rows, and reserved otherwise: `count`.
    Aggregate,
    /// The name of a type, and reserved otherwise.
    Type,
    Reserved,
}

/// Keywords with a meaning, sorted.
#[rustfmt::skip]
const WORDS: &[(&str, Keyword)] = &[
    ("all", Keyword::All), ("and", Keyword::And), ("as", Keyword::As), ("asc", Keyword::Asc), ("at", Keyword::At),
    ("avg", Keyword::Aggregate), ("between", Keyword::Between), ("by", Keyword::By), ("case", Keyword::Case),
    ("cast", Keyword::Cast), ("conflict", Keyword::Conflict), ("count", Keyword::Aggregate),
    ("create", Keyword::Create), ("cross", Keyword::Cross), ("delete", Keyword::Delete), ("desc", Keyword::Desc),
    ("distinct", Keyword::Distinct), ("do", Keyword::Do), ("drop", Keyword::Drop), ("exists", Keyword::Exists),
    ("false", Keyword::False), ("from", Keyword::From), ("full", Keyword::Full), ("group", Keyword::Group),
    ("having", Keyword::Having), ("in", Keyword::In), ("inner", Keyword::Inner), ("is", Keyword::Is),
    ("join", Keyword::Join), ("left", Keyword::Left), ("like", Keyword::Like), ("limit", Keyword::Limit),
    ("max", Keyword::Aggregate), ("min", Keyword::Aggregate), ("missing", Keyword::Missing), ("not", Keyword::Not),
    ("null", Keyword::Null), ("on", Keyword::On), ("or", Keyword::Or), ("order", Keyword::Order),
    ("outer", Keyword::Outer), ("pivot", Keyword::Pivot), ("remove", Keyword::Remove),
    ("returning", Keyword::Returning), ("right", Keyword::Right), ("select", Keyword::Select), ("set", Keyword::Set),
    ("sum", Keyword::Aggregate), ("true", Keyword::True), ("update", Keyword::Update), ("value", Keyword::Value),
    ("values", Keyword::Values), ("where", Keyword::Where), ("with", Keyword::With),
];

/// Names of functions that are reserved, sorted.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "bit_length", "char_length", "character_length", "coalesce", "date_add", "date_diff", "lower", "nullif",
    "octet_length", "size", "substring", "trim", "upper",
];

#[rustfmt::skip]
const TYPES: &[&str] = &[
    "bag", "blob", "bool", "boolean", "char", "character", "clob", "date", "decimal", "float", "int", "integer", "list",
    "numeric", "real", "sexp", "smallint", "string", "struct", "symbol", "time", "timestamp", "tuple", "varchar",
];

/// Words that are only reserved (each answered so by DynamoDB Local, which carries the service's parser), sorted.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "absolute", "action", "add", "allocate", "alter", "any", "are", "assertion", "authorization", "begin", "bit",
    "cascade", "cascaded", "catalog", "check", "close", "collate", "collation", "column", "commit", "connect",
    "connection", "constraint", "constraints", "continue", "convert", "corresponding", "current", "current_date",
    "current_time", "current_timestamp", "current_user", "cursor", "deallocate", "dec", "declare", "default",
    "deferrable", "deferred", "describe", "descriptor", "diagnostics", "disconnect", "domain", "double", "else", "end",
    "escape", "except", "exception", "exec", "execute", "external", "extract", "fetch", "first", "for", "foreign",
    "found", "get", "global", "go", "goto", "grant", "identity", "immediate", "index", "indicator", "initially", "input",
    "insensitive", "insert", "intersect", "interval", "into", "isolation", "key", "language", "last", "let", "level",
    "local", "match", "modified", "module", "names", "national", "natural", "nchar", "new", "next", "no", "nothing", "of",
    "old", "only", "open", "option", "output", "overlaps", "pad", "partial", "position", "precision", "prepare",
    "preserve", "primary", "prior", "privileges", "procedure", "public", "read", "references", "relative", "restrict",
    "revoke", "rollback", "rows", "schema", "scroll", "section", "session", "session_user", "some", "space", "sql",
    "sqlcode", "sqlerror", "sqlstate", "system_user", "table", "temporary", "then", "to", "transaction", "translate",
    "translation", "union", "unique", "unknown", "unpivot", "usage", "user", "using", "varying", "view", "when",
    "whenever", "work", "write", "zone",
];

#[rustfmt::skip]
const PAIRS: &[(&str, &str, Keyword)] = &[
    ("all", "new", Keyword::AllNew), ("all", "old", Keyword::AllOld), ("insert", "into", Keyword::InsertInto),
    ("is", "not", Keyword::IsNot), ("modified", "new", Keyword::ModifiedNew), ("modified", "old", Keyword::ModifiedOld),
    ("not", "between", Keyword::NotBetween), ("not", "in", Keyword::NotIn), ("not", "like", Keyword::NotLike),
];

fn keyword(word: &str) -> Option<Keyword> {
    if let Ok(at) = WORDS.binary_search_by(|(name, _)| (*name).cmp(word)) {
        return Some(WORDS[at].1);
    }
    for (words, keyword) in [
        (FUNCTIONS, Keyword::Function),
        (TYPES, Keyword::Type),
        (RESERVED, Keyword::Reserved),
    ] {
        if words.binary_search(&word).is_ok() {
            return Some(keyword);
        }
    }
    None
}

/// The statement's tokens; the last one is the end. The error for an invalid token has no detail.
pub(super) fn tokens(statement: &str) -> Result<Vec<Token>, ApiError> {
    let mut tokens: Vec<Token> = Vec::with_capacity(statement.len() / 4 + 2);
    let mut lexer = Lexer { statement, at: 0 };
    loop {
        let token = lexer.next().ok_or_else(|| not_well_formed(""))?;
        if let Some(last) = tokens.last_mut()
            && let (TokenKind::Keyword(_), TokenKind::Keyword(_)) = (last.kind, token.kind)
        {
            let same = |token: Token, word: &str| token.text(statement).eq_ignore_ascii_case(word);
            let pair = PAIRS
                .iter()
                .find(|(first, second, _)| same(*last, first) && same(token, second));
            if let Some((_, _, keyword)) = pair {
                last.kind = TokenKind::Keyword(*keyword);
                last.end = token.end;
                continue;
            }
        }
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    statement: &'s str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.statement.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips blanks and comments; `None` if a comment does not end.
    fn skip_blanks(&mut self) -> Option<()> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.at += 1,
                (b'-', b'-') => {
                    let rest = &self.statement[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                (b'/', b'*') => {
                    let end = self.statement[self.at + 2..].find("*/")?;
                    self.at += end + 4;
                }
                _ => return Some(()),
            }
        }
    }

    fn next(&mut self) -> Option<Token> {
        self.skip_blanks()?;
        let start = self.at;
        let kind = if start == self.statement.len() {
            TokenKind::End
        } else {
            self.kind()?
        };
        Some(Token {
            kind,
            start: start as u32,
            end: self.at as u32,
        })
    }

    fn kind(&mut self) -> Option<TokenKind> {
        let (kind, length) = match (self.peek(0), self.peek(1)) {
            (b'\'', _) => return self.quoted(b'\'', TokenKind::String),
            (b'"', _) => return self.quoted(b'"', TokenKind::Quoted),
            (b'`', _) => return self.ion(),
            (b'0'..=b'9', _) | (b'.', b'0'..=b'9') => return self.number(),
            (b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$', _) => return Some(self.word()),
            (b'<', b'<') => (TokenKind::OpenBag, 2),
            (b'>', b'>') => (TokenKind::CloseBag, 2),
            (b'<', b'>') | (b'!', b'=') => (TokenKind::Operator(Operator::Ne), 2),
            (b'<', b'=') => (TokenKind::Operator(Operator::Le), 2),
            (b'>', b'=') => (TokenKind::Operator(Operator::Ge), 2),
            (b'|', b'|') => (TokenKind::Operator(Operator::Concat), 2),
            (b'<', _) => (TokenKind::Operator(Operator::Lt), 1),
            (b'>', _) => (TokenKind::Operator(Operator::Gt), 1),
            (b'=', _) => (TokenKind::Operator(Operator::Eq), 1),
            (b'+', _) => (TokenKind::Operator(Operator::Plus), 1),
            (b'-', _) => (TokenKind::Operator(Operator::Minus), 1),
            (b'/', _) => (TokenKind::Operator(Operator::Slash), 1),
            (b'%', _) => (TokenKind::Operator(Operator::Percent), 1),
            (b'@', _) => (TokenKind::Operator(Operator::At), 1),
            (b'*', _) => (TokenKind::Star, 1),
            (b'.', _) => (TokenKind::Dot, 1),
            (b',', _) => (TokenKind::Comma, 1),
            (b':', _) => (TokenKind::Colon, 1),
            (b';', _) => (TokenKind::Semicolon, 1),
            (b'?', _) => (TokenKind::Parameter, 1),
            (b'(', _) => (TokenKind::OpenParenthesis, 1),
            (b')', _) => (TokenKind::CloseParenthesis, 1),
            (b'[', _) => (TokenKind::OpenBracket, 1),
            (b']', _) => (TokenKind::CloseBracket, 1),
            (b'{', _) => (TokenKind::OpenBrace, 1),
            (b'}', _) => (TokenKind::CloseBrace, 1),
            _ => return None,
        };
        self.at += length;
        Some(kind)
    }

    /// A quoted text, in which the quote is doubled.
    fn quoted(&mut self, quote: u8, kind: TokenKind) -> Option<TokenKind> {
        self.at += 1;
        loop {
            let rest = &self.statement.as_bytes()[self.at..];
            self.at += memchr::memchr(quote, rest)? + 1;
            if self.peek(0) != quote {
                return Some(kind);
            }
            self.at += 1;
        }
    }

    fn ion(&mut self) -> Option<TokenKind> {
        self.at += 1;
        self.at += self.statement[self.at..].find('`')? + 1;
        Some(TokenKind::Ion)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    /// A number. Its exponent must fit 32 bits, and no letter may follow.
    fn number(&mut self) -> Option<TokenKind> {
        self.digits();
        if self.peek(0) == b'.' {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            self.at += 1;
            let start = self.at;
            if matches!(self.peek(0), b'+' | b'-') {
                self.at += 1;
            }
            if self.digits() == 0 {
                return None;
            }
            self.statement[start..self.at].parse::<i32>().ok()?;
        }
        let word = self.peek(0);
        (!word.is_ascii_alphabetic() && word != b'_' && word != b'$').then_some(TokenKind::Number)
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while matches!(self.peek(0), b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'$') {
            self.at += 1;
        }
        let word = &self.statement[start..self.at];
        // No keyword is longer than this.
        if word.len() > 20 {
            return TokenKind::Identifier;
        }
        keyword(&word.to_ascii_lowercase()).map_or(TokenKind::Identifier, TokenKind::Keyword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted_by(|left, right| left.0 < right.0));
        for words in [FUNCTIONS, TYPES, RESERVED] {
            assert!(words.is_sorted_by(|left, right| left < right));
        }
    }

    fn kinds(statement: &str) -> Option<Vec<TokenKind>> {
        tokens(statement)
            .ok()
            .map(|tokens| tokens.into_iter().map(|token| token.kind).collect())
    }

    #[test]
    fn tokens_are_told_apart() {
        use TokenKind::*;
        for (statement, expect) in [
            ("", &[End][..]),
            ("a_1$ /* c */ -- d", &[Identifier, End]),
            ("a -- b\nc", &[Identifier, Identifier, End]),
            ("a--b\r\n\tc", &[Identifier, Identifier, End]),
            ("a\r\nb\rc", &[Identifier, Identifier, Identifier, End]),
            ("/* a * / b **/ c /**/ d", &[Identifier, Identifier, End]),
            ("/*/ a */ b", &[Identifier, End]),
            ("'it''s' \"a\"\"b\"", &[String, Quoted, End]),
            (
                "<<1>> <> !=",
                &[
                    OpenBag,
                    Number,
                    CloseBag,
                    Operator(super::Operator::Ne),
                    Operator(super::Operator::Ne),
                    End,
                ],
            ),
            (
                "is  not\nnot in",
                &[Keyword(super::Keyword::IsNot), Keyword(super::Keyword::NotIn), End],
            ),
            ("Modified OLD *", &[Keyword(super::Keyword::ModifiedOld), Star, End]),
            (".5 1.e1 1e-9", &[Number, Number, Number, End]),
            (
                "m.\"k\"[0]",
                &[Identifier, Dot, Quoted, OpenBracket, Number, CloseBracket, End],
            ),
        ] {
            assert_eq!(kinds(statement).as_deref(), Some(expect), "{statement}");
        }
    }

    #[test]
    fn invalid_tokens_are_refused() {
        for statement in [
            "'a",
            "\"a",
            "`a",
            "/* a",
            "/*/",
            "#",
            "1e2147483648",
            "1e",
            "1a",
            "!",
            "|",
            "é",
            "\\",
            "\0",
        ] {
            assert_eq!(kinds(statement), None, "{statement}");
        }
    }
}
