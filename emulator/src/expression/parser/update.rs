//! Update expressions: sections of actions.

use super::super::ast::{Body, Clause, Operand, Operator, Span, UpdateAction};
use super::super::lexer::{Keyword, TokenKind};
use super::Parser;

impl Parser<'_> {
    pub(super) fn update(&mut self) -> Result<Body, String> {
        let mut actions = Vec::new();
        let mut seen: Vec<Clause> = Vec::new();
        loop {
            let Some(clause) = section(self.current.kind) else {
                return self.syntax_error();
            };
            if seen.contains(&clause) {
                self.section_twice.get_or_insert(clause.name());
            } else {
                seen.push(clause);
            }
            self.advance();
            self.actions(clause, &mut actions)?;
            if self.at(TokenKind::End) {
                return Ok(Body::Update(actions));
            }
        }
    }

    /// The actions of a section, up to the first token that cannot belong to it.
    fn actions(&mut self, clause: Clause, actions: &mut Vec<UpdateAction>) -> Result<(), String> {
        loop {
            let start = self.parsed.steps.len();
            let target = self.path()?;
            let value = match clause {
                Clause::Set => {
                    self.expect(TokenKind::Eq)?;
                    Some(self.set_value()?)
                }
                Clause::Remove => None,
                Clause::Add | Clause::Delete if self.at(TokenKind::Value) => Some(self.value()),
                Clause::Add | Clause::Delete => return self.syntax_error(),
            };
            actions.push(UpdateAction {
                clause,
                target,
                value,
                steps: Span::new(start, self.parsed.steps.len()),
            });
            if !self.at(TokenKind::Comma) {
                return Ok(());
            }
            self.advance();
        }
    }

    /// An operand, or a sum or difference of two; the first operand and the whole may be in parentheses.
    fn set_value(&mut self) -> Result<Operand, String> {
        let position = self.current.start;
        let mut open = 0;
        while self.at(TokenKind::Open) {
            self.advance();
            open += 1;
        }
        let (operand, _) = self.operand()?;
        self.close(&mut open);
        let operator = match self.current.kind {
            TokenKind::Plus => Operator::Plus,
            TokenKind::Minus => Operator::Minus,
            _ if open == 0 => return Ok(operand),
            _ => return self.syntax_error(),
        };
        self.advance();
        self.as_operand(operand);
        let (right, _) = self.operand()?;
        self.as_operand(right);
        let application = self.apply(operator, position, [operand, right]);
        self.close(&mut open);
        if open > 0 {
            return self.syntax_error();
        }
        Ok(Operand::Nested(application))
    }

    /// Closes as many of the open parentheses as are closed here: of two pairs around one thing, one is redundant.
    fn close(&mut self, open: &mut usize) {
        let before = *open;
        while *open > 0 && self.at(TokenKind::Close) {
            self.advance();
            *open -= 1;
        }
        self.redundant_parentheses |= before - *open > 1;
    }
}

fn section(kind: TokenKind) -> Option<Clause> {
    Some(match kind {
        TokenKind::Keyword(Keyword::Set) => Clause::Set,
        TokenKind::Keyword(Keyword::Remove) => Clause::Remove,
        TokenKind::Keyword(Keyword::Add) => Clause::Add,
        TokenKind::Keyword(Keyword::Delete) => Clause::Delete,
        _ => return None,
    })
}
