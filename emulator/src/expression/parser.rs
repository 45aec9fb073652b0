//! Parses a text to [`Parsed`], with one token of lookahead and without recursion, so that no nesting can overflow the
//! stack.
//!
//! Syntax errors come at the first token that cannot go on. All other faults of the text alone are found on the way and
//! reported in the service's order: redundant parentheses; then the leftmost of unknown or misplaced functions, reserved
//! words and list indexes; then a section used twice.

mod condition;
mod update;

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ast::{Body, CheckStep, Element, Grammar, Operand, Operator, Parsed, Span};
use super::lexer::{self, Token, TokenKind};
use super::{error, reserved};
use crate::value::Name;

/// Parses `text`; the error is the service's text without `Invalid <X>Expression: `.
pub(super) fn parse(text: &str, grammar: Grammar) -> Result<Parsed, String> {
    let mut parser = Parser::new(text, grammar);
    let body = parser.body()?;
    parser.finish(body)
}

/// Parses `text` and returns the position of each step; the error comes with the position of the offending token.
#[allow(clippy::type_complexity)]
pub(super) fn parse_with_places(
    text: &str,
    grammar: Grammar,
) -> Result<(Parsed, Vec<Span>), (String, Option<Range<usize>>)> {
    let mut parser = Parser::new(text, grammar);
    let body = match parser.body() {
        Ok(body) => body,
        Err(error) => return Err((error, Some(parser.current.start..parser.current.end))),
    };
    let spans = std::mem::take(&mut parser.places);
    let position = parser.error.as_ref().map(|(position, _)| *position);
    let range = position.filter(|_| !parser.redundant_parentheses).map(|position| {
        let token = lexer::token(text, position);
        token.start..token.end
    });
    match parser.finish(body) {
        Ok(parsed) => Ok((parsed, spans)),
        Err(error) => Err((error, range)),
    }
}

struct Parser<'t> {
    text: &'t str,
    before: Option<Token>,
    current: Token,
    parsed: Parsed,
    /// Literals and placeholders so far, with their indexes; the first character distinguishes them.
    interned: FxHashMap<&'t str, u32>,
    /// Where in the text each application begins.
    positions: Vec<usize>,
    /// Where in the text each step is.
    places: Vec<Span>,
    redundant_parentheses: bool,
    /// The leftmost error that is not a syntax error, with its position.
    error: Option<(usize, String)>,
    /// The first section used twice.
    section_twice: Option<&'static str>,
}

/// What is open around the operand that is being read.
enum Frame {
    Parenthesis,
    Call {
        operator: Operator,
        position: usize,
        arguments: SmallVec<[Operand; 2]>,
    },
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, grammar: Grammar) -> Parser<'t> {
        Parser {
            text,
            before: None,
            current: lexer::token(text, 0),
            parsed: Parsed::empty(text, grammar),
            interned: FxHashMap::default(),
            positions: Vec::new(),
            places: Vec::new(),
            redundant_parentheses: false,
            error: None,
            section_twice: None,
        }
    }

    fn body(&mut self) -> Result<Body, String> {
        match self.parsed.grammar {
            Grammar::Condition => self.condition(),
            Grammar::Update => self.update(),
            Grammar::Projection => self.projection(),
        }
    }

    /// Notes the place of a step that ends with the token before this one.
    fn place(&mut self, start: usize) {
        let end = self.before.map_or(start, |before| before.end);
        self.places.push(Span::new(start, end));
    }

    fn finish(mut self, body: Body) -> Result<Parsed, String> {
        if self.redundant_parentheses {
            return Err(error::REDUNDANT_PARENTHESES.to_owned());
        }
        if let Some((_, error)) = self.error {
            return Err(error);
        }
        if let Some(section) = self.section_twice {
            return Err(error::section_twice(section));
        }
        self.parsed.body = body;
        Ok(self.parsed)
    }

    fn advance(&mut self) -> Token {
        let token = self.current;
        self.current = lexer::token(self.text, token.end);
        self.before = Some(token);
        token
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.current.kind == kind
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Token, String> {
        if self.at(kind) {
            Ok(self.advance())
        } else {
            self.syntax_error()
        }
    }

    fn syntax_error<T>(&self) -> Result<T, String> {
        Err(lexer::syntax_error(self.text, self.before, self.current))
    }

    /// Records an error that is reported once the syntax is known to be valid, unless there is one further left.
    fn note(&mut self, position: usize, error: impl FnOnce() -> String) {
        if self.error.as_ref().is_none_or(|(earlier, _)| position < *earlier) {
            self.error = Some((position, error()));
        }
    }

    fn projection(&mut self) -> Result<Body, String> {
        let mut paths = Vec::new();
        loop {
            paths.push(self.path()?);
            match self.current.kind {
                TokenKind::Comma => self.advance(),
                TokenKind::End => return Ok(Body::Projection(paths)),
                _ => return self.syntax_error(),
            };
        }
    }

    fn path(&mut self) -> Result<Span, String> {
        match self.current.kind {
            TokenKind::Name | TokenKind::Alias => {
                let first = self.advance();
                self.path_from(first)
            }
            _ => self.syntax_error(),
        }
    }

    /// The rest of a document path whose first element has been read.
    fn path_from(&mut self, first: Token) -> Result<Span, String> {
        let start = self.parsed.elements.len();
        self.name_element(first);
        loop {
            match self.current.kind {
                TokenKind::Dot => {
                    self.advance();
                    if !self.at(TokenKind::Name) && !self.at(TokenKind::Alias) {
                        return self.syntax_error();
                    }
                    let name = self.advance();
                    self.name_element(name);
                }
                TokenKind::OpenBracket => {
                    self.advance();
                    let index = self.expect(TokenKind::Digits)?;
                    self.index_element(index);
                    self.expect(TokenKind::CloseBracket)?;
                }
                _ => break,
            }
        }
        let path = Span::new(start, self.parsed.elements.len());
        self.parsed.steps.push(CheckStep::Path(path));
        self.place(first.start);
        Ok(path)
    }

    fn name_element(&mut self, token: Token) {
        let text = token.text(self.text);
        let element = if token.kind == TokenKind::Alias {
            Element::Alias(intern(&mut self.interned, &mut self.parsed.names, text))
        } else {
            if reserved::is_reserved(text) {
                self.note(token.start, || error::reserved(text));
            }
            Element::Literal(intern(&mut self.interned, &mut self.parsed.literals, text))
        };
        self.parsed.elements.push(element);
    }

    fn index_element(&mut self, token: Token) {
        let text = token.text(self.text);
        let index = text.parse::<i32>().unwrap_or_else(|_| {
            self.note(token.start, || error::list_index(text));
            0
        });
        self.parsed.elements.push(Element::Index(index.unsigned_abs()));
    }

    /// A path, a value, a function call, or one of these in parentheses; and whether it was in parentheses.
    fn operand(&mut self) -> Result<(Operand, bool), String> {
        let mut frames: Vec<Frame> = Vec::new();
        'begin: loop {
            let mut operand = match self.current.kind {
                TokenKind::Open => {
                    self.advance();
                    frames.push(Frame::Parenthesis);
                    continue 'begin;
                }
                TokenKind::Value => self.value(),
                TokenKind::Name | TokenKind::Alias => {
                    let first = self.advance();
                    if first.kind == TokenKind::Name && self.at(TokenKind::Open) {
                        self.advance();
                        frames.push(self.call(first));
                        continue 'begin;
                    }
                    Operand::Path(self.path_from(first)?)
                }
                _ => return self.syntax_error(),
            };
            let mut wrapped = false;
            loop {
                match frames.last_mut() {
                    None => return Ok((operand, wrapped)),
                    Some(Frame::Parenthesis) => {
                        self.expect(TokenKind::Close)?;
                        frames.pop();
                        self.redundant_parentheses |= wrapped;
                        wrapped = true;
                    }
                    Some(Frame::Call { arguments, .. }) => {
                        arguments.push(operand);
                        self.as_operand(operand);
                        if self.at(TokenKind::Comma) {
                            self.advance();
                            continue 'begin;
                        }
                        self.expect(TokenKind::Close)?;
                        if let Some(Frame::Call {
                            operator,
                            position,
                            arguments,
                        }) = frames.pop()
                        {
                            operand = Operand::Nested(self.apply(operator, position, arguments));
                        }
                        wrapped = false;
                    }
                }
            }
        }
    }

    fn value(&mut self) -> Operand {
        let token = self.advance();
        let value = intern(&mut self.interned, &mut self.parsed.values, token.text(self.text));
        self.parsed.steps.push(CheckStep::Value(value));
        self.place(token.start);
        Operand::Value(value)
    }

    /// The beginning of a call of the function `token` names.
    fn call(&mut self, token: Token) -> Frame {
        let name = token.text(self.text);
        let function = Operator::function(name);
        let of_updates = self.parsed.grammar == Grammar::Update;
        match function {
            None => self.note(token.start, || error::unknown_function(name)),
            Some(function) if function.is_of_updates() == of_updates => {}
            Some(_) if of_updates => self.note(token.start, || error::not_in_update(name)),
            Some(_) => self.note(token.start, || error::not_in_condition(name)),
        }
        Frame::Call {
            operator: function.unwrap_or(Operator::Size), // never evaluated: the error is recorded
            position: token.start,
            arguments: SmallVec::new(),
        }
    }

    /// Adds an operator or function that began at `position`, and counts it.
    fn apply(&mut self, operator: Operator, position: usize, operands: impl IntoIterator<Item = Operand>) -> u32 {
        self.parsed.operators += 1;
        self.positions.push(position);
        self.place(position);
        self.parsed.apply(operator, operands)
    }

    /// Records an error if a function that cannot be an operand is used as one.
    fn as_operand(&mut self, operand: Operand) {
        if let Operand::Nested(at) = operand {
            let operator = self.parsed.application(at).operator;
            if operator.is_predicate() || operator == Operator::ListAppend {
                self.note(self.positions[at as usize], || {
                    error::misplaced_function(operator.name())
                });
            }
        }
    }
}

/// The index of `text` in `list`, which holds each text once.
fn intern<'t>(interned: &mut FxHashMap<&'t str, u32>, list: &mut Vec<Name>, text: &'t str) -> u32 {
    *interned.entry(text).or_insert_with(|| {
        list.push(Name::new(text));
        (list.len() - 1) as u32
    })
}
