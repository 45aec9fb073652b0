//! Parses conditions: `NOT` binds tightest, then `AND`, then `OR`; the last two are left-associative.

use super::super::ast::{Body, Node, Op, Operand, Operator};
use super::super::error;
use super::super::lexer::{Keyword, TokenKind};
use super::Parser;

/// What is open to the left of the condition that is being read.
#[derive(Clone, Copy)]
enum OpenConstruct {
    Parenthesis,
    Not,
    /// A left side, and the jump over the right side.
    And {
        left: u32,
        jump: usize,
    },
    Or {
        left: u32,
        jump: usize,
    },
}

#[derive(Default)]
struct ConditionBuilder {
    nodes: Vec<Node>,
    program: Vec<Op>,
    open: Vec<OpenConstruct>,
}

impl ConditionBuilder {
    fn node(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    fn test(&mut self, application: u32) -> u32 {
        self.program.push(Op::Test(application));
        self.node(Node::Test(application))
    }

    /// Opens an AND or OR after its left side.
    fn connect(&mut self, left: u32, is_and: bool) {
        let jump = self.program.len();
        let (op, open) = if is_and {
            (Op::JumpIfFalse(0), OpenConstruct::And { left, jump })
        } else {
            (Op::JumpIfTrue(0), OpenConstruct::Or { left, jump })
        };
        self.program.push(op);
        self.open.push(open);
    }

    /// Closes the open constructs to the left of `node` that bind as tight as the following one: NOT and AND always, OR
    /// on request.
    fn reduce(&mut self, mut node: u32, or: bool) -> u32 {
        loop {
            node = match self.open.last().copied() {
                Some(OpenConstruct::Not) => {
                    self.program.push(Op::Not);
                    self.node(Node::Not(node))
                }
                Some(OpenConstruct::And { left, jump }) => {
                    self.program[jump] = Op::JumpIfFalse(self.program.len() as u32);
                    self.node(Node::And(left, node))
                }
                Some(OpenConstruct::Or { left, jump }) if or => {
                    self.program[jump] = Op::JumpIfTrue(self.program.len() as u32);
                    self.node(Node::Or(left, node))
                }
                _ => return node,
            };
            self.open.pop();
        }
    }
}

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Result<Body, String> {
        let mut builder = ConditionBuilder::default();
        loop {
            self.open_condition(&mut builder);
            let (node, wrapped) = self.term(&mut builder)?;
            if let Some(root) = self.close_condition(&mut builder, node, wrapped)? {
                return Ok(Body::Condition {
                    nodes: builder.nodes,
                    root,
                    program: builder.program,
                });
            }
        }
    }

    /// Reads the `NOT`s and parentheses before a term.
    fn open_condition(&mut self, builder: &mut ConditionBuilder) {
        loop {
            match self.current.kind {
                TokenKind::Keyword(Keyword::Not) => {
                    self.parsed.operators += 1;
                    builder.open.push(OpenConstruct::Not);
                }
                TokenKind::Open => builder.open.push(OpenConstruct::Parenthesis),
                _ => return,
            }
            self.advance();
        }
    }

    /// A comparison or a predicate; and whether it is one in parentheses. Parentheses opened before it can turn out to
    /// stand around its first operand only.
    fn term(&mut self, builder: &mut ConditionBuilder) -> Result<(u32, bool), String> {
        let position = self.current.start;
        let (operand, mut wrapped) = self.operand()?;
        loop {
            match self.current.kind {
                TokenKind::Close if matches!(builder.open.last(), Some(OpenConstruct::Parenthesis)) => {
                    self.close_parenthesis(builder, &mut wrapped);
                }
                kind => {
                    return match (comparison(kind), operand) {
                        (Some(operator), _) => {
                            let application = self.comparison(operator, position, operand)?;
                            Ok((builder.test(application), false))
                        }
                        (None, Operand::Nested(application)) => {
                            self.as_predicate(application);
                            Ok((builder.test(application), wrapped))
                        }
                        (None, _) => self.syntax_error(),
                    };
                }
            }
        }
    }

    fn close_parenthesis(&mut self, builder: &mut ConditionBuilder, wrapped: &mut bool) {
        self.advance();
        builder.open.pop();
        self.redundant_parentheses |= *wrapped;
        *wrapped = true;
    }

    /// Continues after a complete condition: with the next one (`None`), or at the end of all.
    fn close_condition(
        &mut self,
        builder: &mut ConditionBuilder,
        mut node: u32,
        mut wrapped: bool,
    ) -> Result<Option<u32>, String> {
        loop {
            let or = match self.current.kind {
                TokenKind::Keyword(Keyword::And) => false,
                TokenKind::Keyword(Keyword::Or) | TokenKind::Close | TokenKind::End => true,
                _ => return self.syntax_error(),
            };
            let reduced = builder.reduce(node, or);
            wrapped &= reduced == node;
            node = reduced;
            match (self.current.kind, builder.open.last()) {
                (TokenKind::Keyword(keyword), _) => {
                    self.parsed.operators += 1;
                    builder.connect(node, keyword == Keyword::And);
                    self.advance();
                    return Ok(None);
                }
                (TokenKind::Close, Some(OpenConstruct::Parenthesis)) => self.close_parenthesis(builder, &mut wrapped),
                (TokenKind::End, None) => return Ok(Some(node)),
                _ => return self.syntax_error(),
            }
        }
    }

    /// The rest of a comparison, `BETWEEN` or `IN`, from its operator on.
    fn comparison(&mut self, operator: Operator, position: usize, left: Operand) -> Result<u32, String> {
        self.advance();
        self.as_operand(left);
        let mut operands = vec![left];
        match operator {
            Operator::Between => {
                operands.push(self.right_side()?);
                self.expect(TokenKind::Keyword(Keyword::And))?;
                operands.push(self.right_side()?);
            }
            Operator::In => {
                self.expect(TokenKind::Open)?;
                loop {
                    operands.push(self.right_side()?);
                    if !self.at(TokenKind::Comma) {
                        break;
                    }
                    self.advance();
                }
                self.expect(TokenKind::Close)?;
            }
            _ => operands.push(self.right_side()?),
        }
        Ok(self.apply(operator, position, operands))
    }

    fn right_side(&mut self) -> Result<Operand, String> {
        let (operand, _) = self.operand()?;
        self.as_operand(operand);
        Ok(operand)
    }

    /// Records an error if a function that is not a condition is used as one.
    fn as_predicate(&mut self, application: u32) {
        let operator = self.parsed.application(application).operator;
        if !operator.is_predicate() {
            self.note(self.positions[application as usize], || {
                error::misplaced_function(operator.name())
            });
        }
    }
}

fn comparison(kind: TokenKind) -> Option<Operator> {
    Some(match kind {
        TokenKind::Eq => Operator::Eq,
        TokenKind::Ne => Operator::Ne,
        TokenKind::Lt => Operator::Lt,
        TokenKind::Le => Operator::Le,
        TokenKind::Gt => Operator::Gt,
        TokenKind::Ge => Operator::Ge,
        TokenKind::Keyword(Keyword::Between) => Operator::Between,
        TokenKind::Keyword(Keyword::In) => Operator::In,
        _ => return None,
    })
}
