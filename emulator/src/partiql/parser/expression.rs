//! Parses expressions by the precedence of their operators. The constructs that enclose the current term are kept on a
//! stack of frames.

use super::super::ast::{Binary, Id, NodeKind, PathStep, Span};
use super::super::error::{self, not_well_formed};
use super::super::lexer::{Keyword, Operator, Token, TokenKind};
use super::{Parse, Parser, unquoted};
use crate::value::Name;

const OR: u8 = 10;
const AND: u8 = 20;
const NOT: u8 = 30;
const EQUALITY: u8 = 40;
const COMPARISON: u8 = 50;
const SUM: u8 = 60;
const PRODUCT: u8 = 70;

/// An open construct to the left of the term that is being read.
enum Frame {
    /// A sign, which binds tighter than anything between terms.
    Sign {
        token: Token,
        sign: Operator,
    },
    Not(Token),
    Infix {
        operator: Binary,
        token: Token,
        left: Id,
        precedence: u8,
    },
    Between {
        negated: bool,
        token: Token,
        value: Id,
        lower: Option<Id>,
    },
    In {
        negated: bool,
        token: Token,
        value: Id,
    },
    Index {
        base: Id,
        steps: Vec<PathStep>,
    },
    Container {
        kind: Container,
        token: Token,
        items: Vec<Id>,
    },
}

#[derive(Clone, PartialEq)]
enum Container {
    Group,
    List,
    Bag,
    Struct,
    Call(Name),
}

impl Container {
    fn close(&self) -> (TokenKind, &'static str) {
        match self {
            Container::Group | Container::Call(_) => (TokenKind::CloseParenthesis, "RIGHT_PAREN"),
            Container::List => (TokenKind::CloseBracket, "RIGHT_BRACKET"),
            Container::Bag => (TokenKind::CloseBag, "RIGHT_DOUBLE_ANGLE_BRACKET"),
            Container::Struct => (TokenKind::CloseBrace, "RIGHT_CURLY"),
        }
    }
}

enum Next {
    Term,
    Done(Id),
}

impl Frame {
    fn precedence(&self) -> Option<u8> {
        match self {
            Frame::Infix { precedence, .. } => Some(*precedence),
            Frame::Between { .. } => Some(COMPARISON),
            Frame::In { .. } => Some(EQUALITY),
            Frame::Not(_) => Some(NOT),
            Frame::Sign { .. } | Frame::Index { .. } | Frame::Container { .. } => None,
        }
    }
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<Id> {
        let mut frames: Vec<Frame> = Vec::new();
        loop {
            let Some(term) = self.open(&mut frames)? else { continue };
            if let Next::Done(id) = self.after(&mut frames, term)? {
                return Ok(id);
            }
        }
    }

    /// Reads one token that may begin a term: returns the term, or `None` if it only opened something.
    fn open(&mut self, frames: &mut Vec<Frame>) -> Parse<Option<Id>> {
        let token = self.advance();
        let kind = match token.kind {
            TokenKind::Operator(sign @ (Operator::Plus | Operator::Minus)) => {
                frames.push(Frame::Sign { token, sign });
                return Ok(None);
            }
            TokenKind::Operator(Operator::At) => return self.scoped().map(Some),
            TokenKind::Operator(_) => return Err(not_well_formed("Unexpected operator")),
            TokenKind::OpenParenthesis if self.head() == TokenKind::CloseParenthesis => {
                return Err(not_well_formed("Expression group cannot be empty"));
            }
            TokenKind::OpenParenthesis => return Ok(self.container(frames, Container::Group, token)),
            TokenKind::OpenBracket => return Ok(self.container(frames, Container::List, token)),
            TokenKind::OpenBag => return Ok(self.container(frames, Container::Bag, token)),
            TokenKind::OpenBrace => return Ok(self.container(frames, Container::Struct, token)),
            TokenKind::Identifier | TokenKind::Quoted if self.head() == TokenKind::OpenParenthesis => {
                return Ok(self.call(frames, token));
            }
            TokenKind::Identifier | TokenKind::Quoted => NodeKind::Variable(self.name_of(token)),
            TokenKind::String => NodeKind::String(unquoted(token.text(self.text), "'")),
            TokenKind::Number => NodeKind::Number(Name::new(token.text(self.text))),
            TokenKind::Ion => NodeKind::Ion(ion_type(token.text(self.text))),
            TokenKind::Parameter => {
                self.tree.parameters += 1;
                NodeKind::Parameter(self.tree.parameters - 1)
            }
            TokenKind::Keyword(keyword) => return self.keyword(frames, token, keyword),
            _ => return Err(not_well_formed("Unexpected term")),
        };
        Ok(Some(self.tree.add(kind, token)))
    }

    fn keyword(&mut self, frames: &mut Vec<Frame>, token: Token, keyword: Keyword) -> Parse<Option<Id>> {
        let kind = match keyword {
            Keyword::Not => {
                frames.push(Frame::Not(token));
                return Ok(None);
            }
            Keyword::Null => NodeKind::Null,
            Keyword::Missing => NodeKind::Missing,
            Keyword::True => NodeKind::Bool(true),
            Keyword::False => NodeKind::Bool(false),
            Keyword::Function | Keyword::Exists | Keyword::Aggregate if self.head() == TokenKind::OpenParenthesis => {
                if keyword == Keyword::Aggregate && self.peek(1).kind == TokenKind::Star {
                    self.at += 2;
                    self.close(TokenKind::CloseParenthesis, "RIGHT_PAREN")?;
                    let name = Name::new(token.text(self.text));
                    return Ok(Some(self.tree.add(NodeKind::Foreign(name), token)));
                }
                return Ok(self.call(frames, token));
            }
            Keyword::Select | Keyword::Case => {
                let word = token.text(self.text).to_ascii_uppercase();
                return Err(error::unsupported_token(&word, self.place(token)));
            }
            Keyword::Cast if self.head() == TokenKind::OpenParenthesis => {
                let place = self.place(self.peek(0));
                return Err(error::unsupported_token(token.text(self.text), place));
            }
            _ => return Err(not_well_formed("Unexpected keyword")),
        };
        Ok(Some(self.tree.add(kind, token)))
    }

    fn scoped(&mut self) -> Parse<Id> {
        let token = self.advance();
        if !matches!(token.kind, TokenKind::Identifier | TokenKind::Quoted) {
            return Err(not_well_formed("Identifier must follow @-operator"));
        }
        let name = self.name_of(token);
        Ok(self.tree.add(NodeKind::Variable(name), token))
    }

    fn call(&mut self, frames: &mut Vec<Frame>, token: Token) -> Option<Id> {
        self.advance();
        let name = Name::from(self.name_of(token).to_lowercase());
        self.container(frames, Container::Call(name), token)
    }

    /// Opens a container, or creates it at once if it is empty.
    fn container(&mut self, frames: &mut Vec<Frame>, kind: Container, token: Token) -> Option<Id> {
        if self.take(kind.close().0) {
            return Some(self.contain(kind, token, &[]));
        }
        let items = Vec::new();
        frames.push(Frame::Container { kind, token, items });
        None
    }

    fn contain(&mut self, kind: Container, token: Token, items: &[Id]) -> Id {
        let list = self.tree.add_list(items);
        let kind = match kind {
            Container::Group | Container::List => NodeKind::List(list),
            Container::Bag => NodeKind::Bag(list),
            Container::Struct => NodeKind::Struct(list),
            Container::Call(name) => NodeKind::Call { name, arguments: list },
        };
        self.tree.add(kind, token)
    }

    /// Continues after a term: its path, the signs before it, and the operators and brackets after it.
    fn after(&mut self, frames: &mut Vec<Frame>, mut term: Id) -> Parse<Next> {
        let mut steps: Vec<PathStep> = Vec::new();
        loop {
            if self.path_goes_on(frames, &mut term, &mut steps)? {
                return Ok(Next::Term);
            }
            while let Some(Frame::Sign { token, sign }) = frames.pop_if(|frame| matches!(frame, Frame::Sign { .. })) {
                term = self.signed(token, sign, term);
            }
            if self.infix(frames, &mut term)? {
                return Ok(Next::Term);
            }
            // At this point all binary operators are closed, and the open constructs are brackets.
            match frames.pop() {
                None => return Ok(Next::Done(term)),
                Some(Frame::Index { base, steps: before }) => {
                    self.close(TokenKind::CloseBracket, "RIGHT_BRACKET")?;
                    steps = before;
                    steps.push(PathStep::Index(term));
                    term = base;
                }
                Some(Frame::Container { kind, token, mut items }) => {
                    items.push(term);
                    if kind == Container::Struct && items.len() % 2 == 1 {
                        self.close(TokenKind::Colon, "COLON")?;
                        frames.push(Frame::Container { kind, token, items });
                        return Ok(Next::Term);
                    }
                    if self.take(TokenKind::Comma) {
                        frames.push(Frame::Container { kind, token, items });
                        return Ok(Next::Term);
                    }
                    let (close, name) = kind.close();
                    self.close(close, name)?;
                    let of_in = matches!(frames.last(), Some(Frame::In { .. }));
                    term = match items[..] {
                        // Parentheses around one term are not a list, except for IN.
                        [one] if kind == Container::Group && !of_in => one,
                        _ => self.contain(kind, token, &items),
                    };
                }
                // `infix` leaves nothing else.
                Some(_) => return Err(not_well_formed("Unexpected term")),
            }
        }
    }

    /// Reads steps of a path; returns whether an index was opened. The steps become a path when no more follow.
    fn path_goes_on(&mut self, frames: &mut Vec<Frame>, term: &mut Id, steps: &mut Vec<PathStep>) -> Parse<bool> {
        loop {
            if self.take(TokenKind::Dot) {
                let token = self.advance();
                steps.push(match token.kind {
                    TokenKind::Identifier | TokenKind::Quoted => PathStep::Name(self.name_of(token)),
                    TokenKind::Star => PathStep::Unpivot(token),
                    _ => return Err(not_well_formed("Invalid path dot component")),
                });
            } else if self.head() == TokenKind::OpenBracket {
                self.advance();
                if self.head() != TokenKind::Star {
                    let base = *term;
                    let steps = std::mem::take(steps);
                    frames.push(Frame::Index { base, steps });
                    return Ok(true);
                }
                let token = self.advance();
                steps.push(PathStep::Wildcard(token));
                self.close(TokenKind::CloseBracket, "RIGHT_BRACKET")?;
            } else {
                *term = self.path(*term, std::mem::take(steps));
                return Ok(false);
            }
        }
    }

    pub(super) fn path(&mut self, base: Id, steps: Vec<PathStep>) -> Id {
        if steps.is_empty() {
            return base;
        }
        let token = self.tree.node(base).token;
        let start = self.tree.steps.len() as u32;
        self.tree.steps.extend(steps);
        let end = self.tree.steps.len() as u32;
        let steps = Span { start, end };
        self.tree.add(NodeKind::Path { base, steps }, token)
    }

    /// A term with a sign: of a number it becomes a part.
    fn signed(&mut self, token: Token, sign: Operator, term: Id) -> Id {
        match &mut self.tree.nodes[term as usize].kind {
            NodeKind::Number(number) if sign == Operator::Minus => {
                *number = match number.strip_prefix('-') {
                    Some(rest) => Name::new(rest),
                    None => Name::from(format!("-{number}")),
                };
                term
            }
            NodeKind::Number(_) => term,
            _ => self.tree.add(NodeKind::Signed(sign, term), token),
        }
    }

    /// Closes the operators that bind tighter than the next one, and opens that one; returns whether a term must
    /// follow.
    fn infix(&mut self, frames: &mut Vec<Frame>, term: &mut Id) -> Parse<bool> {
        loop {
            let token = self.peek(0);
            let precedence = precedence(token.kind);
            while let Some(open) = frames.last().and_then(Frame::precedence)
                && precedence.is_none_or(|precedence| open >= precedence)
            {
                if self.reduce(frames, term)? {
                    return Ok(true);
                }
            }
            let Some(precedence) = precedence else { return Ok(false) };
            self.advance();
            if let TokenKind::Keyword(Keyword::Is | Keyword::IsNot) = token.kind {
                let kind = self.type_name()?;
                let negated = token.kind == TokenKind::Keyword(Keyword::IsNot);
                let value = *term;
                *term = self.tree.add(NodeKind::Is { negated, value, kind }, token);
                continue;
            }
            if self.head() == TokenKind::End {
                return Err(not_well_formed("Missing right-hand side expression of infix operator"));
            }
            frames.push(infix_frame(token, precedence, *term));
            return Ok(true);
        }
    }

    /// Closes the top frame, whose last term is complete; returns whether it needs another.
    fn reduce(&mut self, frames: &mut Vec<Frame>, term: &mut Id) -> Parse<bool> {
        let Some(frame) = frames.pop() else { return Ok(false) };
        let last = *term;
        let (kind, token) = match frame {
            Frame::Not(token) => (NodeKind::Not(last), token),
            Frame::Infix {
                operator, token, left, ..
            } => (NodeKind::Binary(operator, left, last), token),
            Frame::In { negated, token, value } => {
                let list = last;
                (NodeKind::In { negated, value, list }, token)
            }
            Frame::Between {
                negated,
                token,
                value,
                lower: None,
            } => {
                self.expect_keyword(Keyword::And, "AND")?;
                let lower = Some(last);
                frames.push(Frame::Between {
                    negated,
                    token,
                    value,
                    lower,
                });
                return Ok(true);
            }
            Frame::Between {
                negated,
                token,
                value,
                lower: Some(lower),
            } => {
                let upper = last;
                let kind = NodeKind::Between {
                    negated,
                    value,
                    lower,
                    upper,
                };
                (kind, token)
            }
            Frame::Sign { .. } | Frame::Index { .. } | Frame::Container { .. } => return Ok(false),
        };
        *term = self.tree.add(kind, token);
        Ok(false)
    }

    /// A type after IS, by its own name.
    fn type_name(&mut self) -> Parse<Name> {
        let token = self.advance();
        match token.kind {
            TokenKind::Keyword(Keyword::Type | Keyword::Missing | Keyword::Null) => {}
            _ => return Err(not_well_formed("Expected type name")),
        }
        if self.take(TokenKind::OpenParenthesis) {
            while self.take(TokenKind::Number) || self.take(TokenKind::Comma) {}
            self.close(TokenKind::CloseParenthesis, "RIGHT_PAREN")?;
        }
        let name = token.text(self.text).to_ascii_uppercase();
        Ok(Name::new(match name.as_str() {
            "INT" => "INTEGER",
            "BOOL" => "BOOLEAN",
            "CHAR" => "CHARACTER",
            "VARCHAR" => "CHARACTER_VARYING",
            other => other,
        }))
    }
}

fn precedence(kind: TokenKind) -> Option<u8> {
    match kind {
        TokenKind::Star => Some(PRODUCT),
        TokenKind::Operator(operator) => match operator {
            Operator::Slash | Operator::Percent => Some(PRODUCT),
            Operator::Plus | Operator::Minus | Operator::Concat => Some(SUM),
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => Some(COMPARISON),
            Operator::Eq | Operator::Ne => Some(EQUALITY),
            Operator::At => None,
        },
        TokenKind::Keyword(keyword) => match keyword {
            Keyword::Or => Some(OR),
            Keyword::And => Some(AND),
            Keyword::Is | Keyword::IsNot | Keyword::In | Keyword::NotIn => Some(EQUALITY),
            Keyword::Between | Keyword::NotBetween | Keyword::Like | Keyword::NotLike => Some(COMPARISON),
            _ => None,
        },
        _ => None,
    }
}

fn infix_frame(token: Token, precedence: u8, left: Id) -> Frame {
    let value = left;
    let operator = match token.kind {
        TokenKind::Keyword(word @ (Keyword::Between | Keyword::NotBetween)) => {
            return Frame::Between {
                negated: word == Keyword::NotBetween,
                token,
                value,
                lower: None,
            };
        }
        TokenKind::Keyword(word @ (Keyword::In | Keyword::NotIn)) => {
            let negated = word == Keyword::NotIn;
            return Frame::In { negated, token, value };
        }
        TokenKind::Keyword(Keyword::Or) => Binary::Or,
        TokenKind::Keyword(Keyword::And) => Binary::And,
        TokenKind::Keyword(_) => Binary::Like,
        TokenKind::Operator(operator) => Binary::Operator(operator),
        _ => Binary::Multiply,
    };
    Frame::Infix {
        operator,
        token,
        left,
        precedence,
    }
}

/// The type of a literal of Ion, roughly: it is only named in the refusal.
fn ion_type(text: &str) -> &'static str {
    let text = text.trim_matches('`').trim();
    match text.bytes().next() {
        Some(b'"') => "STRING",
        Some(b'[') => "LIST",
        Some(b'(') => "SEXP",
        Some(b'{') if text.starts_with("{{") => "BLOB",
        Some(b'{') => "STRUCT",
        Some(b'0'..=b'9' | b'-') if text.contains(['e', 'E']) => "FLOAT",
        Some(b'0'..=b'9' | b'-') if text.contains('T') => "TIMESTAMP",
        Some(b'0'..=b'9' | b'-') if text.contains('.') => "DECIMAL",
        Some(b'0'..=b'9' | b'-') => "INT",
        _ if matches!(text, "true" | "false") => "BOOL",
        _ if text.starts_with("null") => "NULL",
        _ => "SYMBOL",
    }
}
