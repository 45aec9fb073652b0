//! Parses a statement, with one token of lookahead and without recursion, so that no nesting can overflow a stack.
//!
//! The details of syntax errors are those of PartiQL's reference parser, which the service uses. Valid syntax that is
//! rejected anyway is recorded, and reported if the rest has no syntax error.

mod expression;

use super::ast::{Assignment, Id, NodeKind, PathStep, Returning, Select, Statement, Tree};
use super::error::{self, SourcePosition, not_well_formed, statement_error, statement_error_at};
use super::lexer::{self, Keyword, Operator, Token, TokenKind};
use crate::error::ApiError;
use crate::value::Name;

type Parse<T> = Result<T, ApiError>;

pub(super) fn parse(text: &str) -> Parse<(Statement, Tree)> {
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser {
        text,
        at: 0,
        tree: Tree::with_capacity(tokens.len()),
        tokens,
        refusal: None,
    };
    let statement = parser.statement()?;
    parser.finish()?;
    match parser.refusal {
        Some(refusal) => Err(refusal),
        None => Ok((statement, parser.tree)),
    }
}

struct Parser<'s> {
    text: &'s str,
    tokens: Vec<Token>,
    at: usize,
    tree: Tree,
    /// The first thing met that the service refuses though it parses.
    refusal: Option<ApiError>,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Token {
        // The last token marks the end.
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn head(&self) -> TokenKind {
        self.peek(0).kind
    }

    fn advance(&mut self) -> Token {
        let token = self.peek(0);
        self.at += 1;
        token
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let there = self.head() == kind;
        self.at += usize::from(there);
        there
    }

    fn takes(&mut self, keyword: Keyword) -> bool {
        self.take(TokenKind::Keyword(keyword))
    }

    fn expect_keyword(&mut self, keyword: Keyword, name: &str) -> Parse<()> {
        if self.takes(keyword) {
            return Ok(());
        }
        Err(not_well_formed(format_args!("Expected {name} keyword")))
    }

    fn place(&self, token: Token) -> SourcePosition {
        SourcePosition::of(self.text, token)
    }

    fn refuse(&mut self, refusal: ApiError) {
        self.refusal.get_or_insert(refusal);
    }

    fn finish(&mut self) -> Parse<()> {
        let ended = self.take(TokenKind::Semicolon);
        match self.head() {
            TokenKind::End => Ok(()),
            _ if ended => Err(not_well_formed(
                "Unexpected token after semicolon. (Only one query is allowed.)",
            )),
            _ => Err(not_well_formed("Unexpected token after expression")),
        }
    }

    fn statement(&mut self) -> Parse<Statement> {
        let TokenKind::Keyword(keyword) = self.head() else {
            return self.bare_expression();
        };
        match keyword {
            Keyword::Select => {
                self.advance();
                self.select().map(Statement::Select)
            }
            Keyword::Exists
                if self.peek(1).kind == TokenKind::OpenParenthesis
                    && self.peek(2).kind == TokenKind::Keyword(Keyword::Select) =>
            {
                self.at += 3;
                let select = self.select()?;
                self.close(TokenKind::CloseParenthesis, "RIGHT_PAREN")?;
                Ok(Statement::Exists(select))
            }
            Keyword::InsertInto => self.insert(),
            Keyword::Update => self.update(),
            Keyword::Delete => self.delete(),
            Keyword::From => self.update_from(),
            Keyword::Create | Keyword::Drop => self.definition(keyword),
            Keyword::Pivot => Err(statement_error(
                "Select projection doesn't support value or pivot keywords",
            )),
            _ => self.bare_expression(),
        }
    }

    fn close(&mut self, kind: TokenKind, name: &str) -> Parse<()> {
        if self.take(kind) {
            return Ok(());
        }
        Err(not_well_formed(format_args!("Expected {name}")))
    }

    /// An expression that DynamoDB does not accept as a statement.
    fn bare_expression(&mut self) -> Parse<Statement> {
        let id = self.expression()?;
        self.finish()?;
        Err(match operation_name(&self.tree.node(id).kind) {
            Some(name) => error::unsupported_operation(name),
            None => ApiError::exists_misplaced(),
        })
    }

    /// `CREATE TABLE …`, `DROP INDEX …`: statements of the language that DynamoDB has not.
    fn definition(&mut self, keyword: Keyword) -> Parse<Statement> {
        let what = self.peek(1).text(self.text).to_ascii_lowercase();
        let create = keyword == Keyword::Create;
        let verb = if create { "Create" } else { "Drop" };
        match what.as_str() {
            "table" => Err(error::unsupported_operation(&format!("{verb}Table"))),
            "index" => Err(error::unsupported_operation(&format!("{verb}Index"))),
            _ => Err(not_well_formed(format_args!(
                "Unexpected token following {}",
                verb.to_ascii_uppercase()
            ))),
        }
    }

    fn select(&mut self) -> Parse<Select> {
        let first = self.peek(0);
        if self.takes(Keyword::Distinct) {
            let word = first.text(self.text).to_ascii_uppercase();
            self.refuse(statement_error(format!("Unsupported token in expression: {word}")));
        } else {
            self.takes(Keyword::All);
        }
        if self.takes(Keyword::Value) {
            self.expression()?;
            self.refuse(statement_error(
                "Select projection doesn't support value or pivot keywords",
            ));
        }
        let columns = if self.refusal.is_some() && self.head() == TokenKind::Keyword(Keyword::From) {
            Vec::new()
        } else {
            self.columns()?
        };
        if !self.takes(Keyword::From) {
            return Err(not_well_formed("Expected FROM after SELECT list"));
        }
        let from = self.source()?;
        let condition = self.condition()?;
        let order = self.order()?;
        self.foreign_clauses()?;
        Ok(Select {
            columns,
            from,
            condition,
            order,
        })
    }

    /// The columns of a SELECT; empty for `*`.
    fn columns(&mut self) -> Parse<Vec<Id>> {
        let mut columns = Vec::new();
        let mut all = false;
        loop {
            match self.head() {
                TokenKind::Star => {
                    self.advance();
                    all = true;
                }
                TokenKind::Keyword(Keyword::From) => {
                    return Err(not_well_formed(
                        "Expected identifier or an expression but found unexpected keyword 'from' in a select list.",
                    ));
                }
                _ => {
                    columns.push(self.expression()?);
                    self.alias()?;
                }
            }
            if !self.take(TokenKind::Comma) {
                break;
            }
        }
        if all && !columns.is_empty() {
            return Err(not_well_formed(
                "Other expressions may not be present in the select list when '*' is used without dot notation.",
            ));
        }
        Ok(columns)
    }

    /// Another name for a column or a table, which DynamoDB does not take.
    fn alias(&mut self) -> Parse<()> {
        let named = self.takes(Keyword::As);
        if matches!(self.head(), TokenKind::Identifier | TokenKind::Quoted) {
            self.advance();
            self.refuse(error::aliasing());
        } else if named {
            return Err(not_well_formed("Expected identifier for alias"));
        }
        while self.takes(Keyword::At) || self.takes(Keyword::By) {
            if !matches!(self.head(), TokenKind::Identifier | TokenKind::Quoted) {
                return Err(not_well_formed("Expected identifier for alias"));
            }
            self.advance();
            self.refuse(error::aliasing());
        }
        Ok(())
    }

    /// The source of a SELECT: one table or index, even if several are written.
    fn source(&mut self) -> Parse<Id> {
        let from = self.expression()?;
        self.alias()?;
        loop {
            let mut joins = 0;
            while let TokenKind::Keyword(
                Keyword::Inner | Keyword::Left | Keyword::Right | Keyword::Full | Keyword::Outer | Keyword::Cross,
            ) = self.head()
            {
                self.advance();
                joins += 1;
            }
            if self.takes(Keyword::Join) {
                self.expression()?;
                self.alias()?;
                if self.takes(Keyword::On) {
                    self.expression()?;
                }
            } else if joins > 0 {
                return Err(not_well_formed("Expected JOIN keyword"));
            } else if self.take(TokenKind::Comma) {
                self.expression()?;
                self.alias()?;
            } else {
                return Ok(from);
            }
            self.refuse(statement_error(
                "Only select from a single table or index is supported.",
            ));
        }
    }

    fn condition(&mut self) -> Parse<Option<Id>> {
        if self.takes(Keyword::Where) {
            return self.expression().map(Some);
        }
        Ok(None)
    }

    fn order(&mut self) -> Parse<Vec<(Id, bool)>> {
        let mut order = Vec::new();
        if !self.takes(Keyword::Order) {
            return Ok(order);
        }
        self.expect_keyword(Keyword::By, "BY")?;
        loop {
            let key = self.expression()?;
            let descending = self.takes(Keyword::Desc);
            if !descending {
                self.takes(Keyword::Asc);
            }
            order.push((key, descending));
            if !self.take(TokenKind::Comma) {
                return Ok(order);
            }
        }
    }

    /// The clauses that the language has and DynamoDB does not.
    fn foreign_clauses(&mut self) -> Parse<()> {
        if self.takes(Keyword::Group) {
            self.expect_keyword(Keyword::By, "BY")?;
            loop {
                self.expression()?;
                self.alias()?;
                if !self.take(TokenKind::Comma) {
                    break;
                }
            }
            self.refuse(error::unsupported_clause("GROUP BY"));
        }
        for (keyword, name) in [(Keyword::Having, "HAVING"), (Keyword::Limit, "LIMIT")] {
            if self.takes(keyword) {
                let id = self.expression()?;
                let place = self.place(self.tree.node(id).token);
                self.refuse(statement_error_at(format_args!("Unsupported clause: {name}"), place));
            }
        }
        Ok(())
    }

    fn insert(&mut self) -> Parse<Statement> {
        self.advance();
        let target = self.simple_path()?;
        if !self.takes(Keyword::Value) {
            if self.takes(Keyword::Values) {
                loop {
                    if self.head() != TokenKind::OpenParenthesis {
                        return Err(not_well_formed("Expected LEFT_PAREN for row value constructor"));
                    }
                    self.expression()?;
                    if !self.take(TokenKind::Comma) {
                        break;
                    }
                }
            } else {
                self.expression()?;
            }
            self.refuse(error::unsupported_operation("InsertOp"));
            return Ok(Statement::Insert { target, value: target });
        }
        let value = self.expression()?;
        if self.takes(Keyword::At) {
            self.expression()?;
            self.refuse(error::unsupported_clause("AT"));
        }
        self.on_conflict()?;
        if self.returning()?.is_some() {
            self.refuse(statement_error("RETURNING is not supported in INSERT"));
        }
        Ok(Statement::Insert { target, value })
    }

    fn on_conflict(&mut self) -> Parse<()> {
        if !self.takes(Keyword::On) {
            return Ok(());
        }
        let wrong = || not_well_formed("invalid ON CONFLICT syntax");
        if !(self.takes(Keyword::Conflict) && self.takes(Keyword::Where)) {
            return Err(wrong());
        }
        self.expression()?;
        if !self.takes(Keyword::Do) || !self.advance().text(self.text).eq_ignore_ascii_case("nothing") {
            return Err(wrong());
        }
        self.refuse(error::unsupported_clause("ON CONFLICT"));
        Ok(())
    }

    fn update(&mut self) -> Parse<Statement> {
        self.advance();
        let target = self.simple_path()?;
        self.alias()?;
        let assignments = self.assignments()?;
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Update {
            target,
            assignments,
            condition,
            returning,
        })
    }

    /// `FROM t WHERE … SET …`: an UPDATE in another order.
    fn update_from(&mut self) -> Parse<Statement> {
        self.advance();
        let target = self.source()?;
        let condition = self.condition()?;
        let assignments = self.assignments()?;
        let returning = self.returning()?;
        Ok(Statement::Update {
            target,
            assignments,
            condition,
            returning,
        })
    }

    fn assignments(&mut self) -> Parse<Vec<Assignment>> {
        let mut assignments = Vec::new();
        loop {
            if self.takes(Keyword::Set) {
                loop {
                    let path = self.simple_path()?;
                    if !self.take(TokenKind::Operator(Operator::Eq)) {
                        return Err(not_well_formed("Expected assignment for SET"));
                    }
                    assignments.push(Assignment::Set(path, self.expression()?));
                    if !self.take(TokenKind::Comma) {
                        break;
                    }
                }
            } else if self.takes(Keyword::Remove) {
                assignments.push(Assignment::Remove(self.simple_path()?));
            } else if assignments.is_empty() {
                return Err(not_well_formed("Expected data manipulation"));
            } else {
                return Ok(assignments);
            }
        }
    }

    fn delete(&mut self) -> Parse<Statement> {
        self.advance();
        if !self.takes(Keyword::From) {
            return Err(not_well_formed("Expected FROM after DELETE"));
        }
        let target = self.simple_path()?;
        self.alias()?;
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Delete {
            target,
            condition,
            returning,
        })
    }

    fn returning(&mut self) -> Parse<Option<Returning>> {
        if !self.takes(Keyword::Returning) {
            return Ok(None);
        }
        let mut found = None;
        loop {
            let returning = match self.head() {
                TokenKind::Keyword(Keyword::AllOld) => Returning::AllOld,
                TokenKind::Keyword(Keyword::AllNew) => Returning::AllNew,
                TokenKind::Keyword(Keyword::ModifiedOld) => Returning::ModifiedOld,
                TokenKind::Keyword(Keyword::ModifiedNew) => Returning::ModifiedNew,
                _ => {
                    return Err(not_well_formed(
                        "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
                    ));
                }
            };
            self.advance();
            if !self.take(TokenKind::Star) {
                self.expression()?;
                self.refuse(statement_error(
                    "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
                ));
            }
            if found.replace(returning).is_some() {
                self.refuse(statement_error(
                    "Invalid syntax with multiple returning elements in RETURNING clause",
                ));
            }
            if !self.take(TokenKind::Comma) {
                return Ok(found);
            }
        }
    }

    /// A path of names and literals, which can be written to.
    fn simple_path(&mut self) -> Parse<Id> {
        let token = self.advance();
        if !matches!(token.kind, TokenKind::Identifier | TokenKind::Quoted) {
            return Err(not_well_formed("Expected identifier for simple path"));
        }
        let name = self.name_of(token);
        let base = self.tree.add(NodeKind::Variable(name), token);
        let mut steps: Vec<PathStep> = Vec::new();
        loop {
            if self.take(TokenKind::Dot) {
                let token = self.advance();
                steps.push(match token.kind {
                    TokenKind::Identifier | TokenKind::Quoted => PathStep::Name(self.name_of(token)),
                    TokenKind::Star => return Err(not_well_formed("Invalid path dot component for simple path")),
                    _ => return Err(not_well_formed("Invalid path dot component")),
                });
            } else if self.take(TokenKind::OpenBracket) {
                if self.head() == TokenKind::Star {
                    return Err(not_well_formed("Invalid path component for simple path"));
                }
                let index = self.expression()?;
                self.close(TokenKind::CloseBracket, "RIGHT_BRACKET")?;
                if !matches!(
                    self.tree.node(index).kind,
                    NodeKind::Number(_)
                        | NodeKind::String(_)
                        | NodeKind::Variable(_)
                        | NodeKind::Null
                        | NodeKind::Bool(_)
                        | NodeKind::Missing
                        | NodeKind::Ion(_)
                ) {
                    return Err(not_well_formed("Invalid path component for simple path"));
                }
                steps.push(PathStep::Index(index));
            } else {
                break;
            }
        }
        Ok(self.path(base, steps))
    }

    /// A name, without its quotes.
    fn name_of(&self, token: Token) -> Name {
        let text = token.text(self.text);
        if token.kind == TokenKind::Quoted {
            unquoted(text, "\"")
        } else {
            Name::new(text)
        }
    }
}

/// A text without its quotes, and with doubled ones single.
fn unquoted(text: &str, quote: &str) -> Name {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains(quote) {
        Name::from(inner.replace(&quote.repeat(2), quote))
    } else {
        Name::new(inner)
    }
}

/// The service's term for an expression in the position of a statement; `None` for operators and functions, which
/// it takes for an EXISTS.
fn operation_name(kind: &NodeKind) -> Option<&'static str> {
    Some(match kind {
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) | NodeKind::Ion(_) => "Lit",
        NodeKind::Missing => "Missing",
        NodeKind::Parameter(_) => "Parameter",
        NodeKind::Variable(_) => "Id",
        NodeKind::Path { .. } => "Path",
        NodeKind::List(_) => "List",
        NodeKind::Bag(_) => "Bag",
        NodeKind::Struct(_) => "Struct",
        NodeKind::Is { .. } => "IsType",
        _ => return None,
    })
}
