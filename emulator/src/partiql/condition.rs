//! Lowers WHERE clauses and the right sides of SET to expressions. It visits the nodes in the order of the tree, in
//! which children come first, so it needs no recursion.

use super::ast::{Binary, Id, Node, NodeKind, Span};
use super::error::{self, statement_error, statement_error_at};
use super::lexer::{self, Token};
use super::lower::{Constant, Lowering};
use crate::error::ApiError;
use crate::expression::{ExpressionBuilder, Logic, Operator, Term};
use crate::value::{AttributeValue, Type};

/// The result of lowering an expression.
#[derive(Clone, Copy)]
enum Lowered {
    Term(Term),
    Logic(Logic),
}
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionRole {
    Condition,
    Update,
}

impl ExpressionRole {
    fn unsupported(self, operator: &str) -> ApiError {
        let expression = match self {
            ExpressionRole::Condition => "Condition",
            ExpressionRole::Update => "Update",
        };
        statement_error(format!(
            "Unsupported operator in {expression} Expression. Operator: {operator}"
        ))
    }
}

struct Expressions<'l, 's> {
    lowering: &'l mut Lowering<'s>,
    builder: &'l mut ExpressionBuilder,
    setting: ExpressionRole,
    /// The results of lowering the expressions up to the current one; `None` for those in another role.
    lowered: Vec<Option<Lowered>>,
}

impl Lowering<'_> {
    /// Lowers the condition of a WHERE clause.
    pub(super) fn condition(&mut self, builder: &mut ExpressionBuilder, root: Id) -> Result<Logic, ApiError> {
        match self.expressions(builder, root, ExpressionRole::Condition)? {
            Lowered::Logic(logic) => Ok(logic),
            Lowered::Term(_) => Err(statement_error(
                "WHERE clause must contain an expression that resolves to a boolean",
            )),
        }
    }

    /// Lowers the right side of an assignment.
    pub(super) fn right_side(&mut self, builder: &mut ExpressionBuilder, root: Id) -> Result<Term, ApiError> {
        let kind = &self.tree.node(root).kind;
        match kind {
            NodeKind::Is { .. } => return Err(statement_error("IS operator is not supported in update expressions")),
            NodeKind::Not(_)
            | NodeKind::Between { .. }
            | NodeKind::In { .. }
            | NodeKind::Binary(Binary::And | Binary::Or, ..) => {
                return Err(ExpressionRole::Update.unsupported(kind.spelling().unwrap_or_default()));
            }
            _ => {}
        }
        match self.expressions(builder, root, ExpressionRole::Update)? {
            Lowered::Term(term) => Ok(term),
            Lowered::Logic(_) => Err(ExpressionRole::Update.unsupported("=")),
        }
    }

    fn expressions(
        &mut self,
        builder: &mut ExpressionBuilder,
        root: Id,
        setting: ExpressionRole,
    ) -> Result<Lowered, ApiError> {
        let mut wanted = vec![false; root as usize + 1];
        self.mark(root, &mut wanted);
        let mut expressions = Expressions {
            lowering: self,
            builder,
            setting,
            lowered: vec![None; root as usize + 1],
        };
        for (at, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let lowered = expressions.lower(at as Id)?;
            expressions.lowered[at] = Some(lowered);
        }
        expressions.get(root)
    }

    /// Marks the operands of a root, except inside paths and literals.
    fn mark(&self, root: Id, wanted: &mut [bool]) {
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            wanted[id as usize] = true;
            match &self.tree.node(id).kind {
                NodeKind::Binary(_, left, right) => todo.extend([*left, *right]),
                NodeKind::Signed(_, inner) | NodeKind::Not(inner) => todo.push(*inner),
                NodeKind::Between {
                    value, lower, upper, ..
                } => todo.extend([*value, *lower, *upper]),
                NodeKind::In { value, list, .. } => {
                    todo.push(*value);
                    if let Some(members) = self.members(*list) {
                        todo.extend(self.tree.list(members));
                    }
                }
                NodeKind::Is { value, .. } => todo.push(*value),
                NodeKind::Call { arguments, .. } => todo.extend(self.tree.list(*arguments)),
                _ => {}
            }
        }
    }

    /// The members on the right side of IN.
    fn members(&self, list: Id) -> Option<Span> {
        match self.tree.node(list).kind {
            NodeKind::List(members) | NodeKind::Bag(members) => Some(members).filter(|span| span.start < span.end),
            _ => None,
        }
    }
}

impl<'s> Expressions<'_, 's> {
    fn get(&self, id: Id) -> Result<Lowered, ApiError> {
        // Everything referenced was lowered before.
        self.lowered[id as usize].ok_or_else(ApiError::internal)
    }

    fn node(&self, id: Id) -> &'s Node {
        self.lowering.tree.node(id)
    }

    fn lower(&mut self, id: Id) -> Result<Lowered, ApiError> {
        let node = self.node(id);
        match &node.kind {
            NodeKind::Variable(_) | NodeKind::Path { .. } => self.lowering.path(self.builder, id).map(Lowered::Term),
            NodeKind::Signed(sign, _) if self.setting == ExpressionRole::Update => {
                Err(error::operand_count(sign.name(), 1))
            }
            NodeKind::Signed(sign, _) => Err(self.setting.unsupported(sign.name())),
            NodeKind::Not(inner) => match self.get(*inner)? {
                Lowered::Logic(inner) => Ok(Lowered::Logic(self.builder.not(inner))),
                Lowered::Term(_) if self.is_call(*inner) => Err(error::operand_type("NOT", Type::N.name())),
                Lowered::Term(_) => Err(statement_error("The argument to NOT must be a Type or Expression")),
            },
            NodeKind::Binary(binary, left, right) => self.binary(*binary, *left, *right),
            NodeKind::Between {
                negated,
                value,
                lower,
                upper,
            } => {
                let operands = [
                    self.term(*value, "BETWEEN")?,
                    self.term(*lower, "BETWEEN")?,
                    self.term(*upper, "BETWEEN")?,
                ];
                Ok(self.test(*negated, Operator::Between, &operands))
            }
            NodeKind::In { negated, value, list } => self.within(*negated, *value, *list),
            NodeKind::Is { negated, value, kind } => self.is(*negated, *value, kind, node.token),
            NodeKind::Call { name, arguments } => self.call(name, *arguments, node.token),
            NodeKind::Foreign(word) => Err(error::unsupported_token(word, self.lowering.place(node.token))),
            _ => {
                let value = self.lowering.constant(id)?;
                Ok(Lowered::Term(self.lowering.value(self.builder, value)))
            }
        }
    }

    /// Whether an expression is a call: one that is not a condition returns a number.
    fn is_call(&self, id: Id) -> bool {
        matches!(self.node(id).kind, NodeKind::Call { .. })
    }

    fn test(&mut self, negated: bool, operator: Operator, operands: &[Term]) -> Lowered {
        let test = self.builder.test(operator, operands);
        Lowered::Logic(if negated { self.builder.not(test) } else { test })
    }

    /// An operand of an operator or function, which takes no conditions.
    fn term(&self, id: Id, operator: &str) -> Result<Term, ApiError> {
        match self.get(id)? {
            Lowered::Term(term) => Ok(term),
            Lowered::Logic(_) => Err(error::operand_type(operator, Type::Bool.name())),
        }
    }

    fn binary(&mut self, binary: Binary, left: Id, right: Id) -> Result<Lowered, ApiError> {
        let operator = match binary {
            Binary::And | Binary::Or => return self.connected(binary == Binary::And, left, right),
            Binary::Multiply => return Err(self.setting.unsupported("*")),
            Binary::Like => return Err(self.setting.unsupported("like")),
            Binary::Operator(operator) => operator,
        };
        let comparison = match operator {
            lexer::Operator::Eq => Operator::Eq,
            lexer::Operator::Ne => Operator::Ne,
            lexer::Operator::Lt => Operator::Lt,
            lexer::Operator::Le => Operator::Le,
            lexer::Operator::Gt => Operator::Gt,
            lexer::Operator::Ge => Operator::Ge,
            lexer::Operator::Plus if self.setting == ExpressionRole::Update => Operator::Plus,
            lexer::Operator::Minus if self.setting == ExpressionRole::Update => Operator::Minus,
            _ => return Err(self.setting.unsupported(operator.name())),
        };
        if matches!(comparison, Operator::Plus | Operator::Minus) {
            let operands = [self.term(left, operator.name())?, self.term(right, operator.name())?];
            return Ok(Lowered::Term(self.builder.result(comparison, &operands)));
        }
        if self.setting == ExpressionRole::Update {
            return Err(self.setting.unsupported(operator.name()));
        }
        match (self.get(left)?, self.get(right)?) {
            (Lowered::Term(left), Lowered::Term(right)) => Ok(self.test(false, comparison, &[left, right])),
            (Lowered::Logic(logic), Lowered::Term(term)) | (Lowered::Term(term), Lowered::Logic(logic)) => {
                self.boolean_comparison(comparison, logic, term)
            }
            (Lowered::Logic(_), Lowered::Logic(_)) => Err(self.setting.unsupported(operator.name())),
        }
    }

    fn connected(&mut self, and: bool, left: Id, right: Id) -> Result<Lowered, ApiError> {
        let (Lowered::Logic(first), Lowered::Logic(second)) = (self.get(left)?, self.get(right)?) else {
            let bare = |id: Id| matches!(self.get(id), Ok(Lowered::Term(_))) && !self.is_call(id);
            if bare(left) || bare(right) {
                return Err(statement_error("The arguments to AND/OR must be Expressions"));
            }
            return Err(error::operand_type(if and { "AND" } else { "OR" }, Type::N.name()));
        };
        Ok(Lowered::Logic(if and {
            self.builder.and(first, second)
        } else {
            self.builder.or(first, second)
        }))
    }

    /// Compares a condition with a constant: a constant other than `true` and `false` never equals it.
    fn boolean_comparison(&mut self, comparison: Operator, logic: Logic, term: Term) -> Result<Lowered, ApiError> {
        if !matches!(comparison, Operator::Eq | Operator::Ne) {
            return Err(error::operand_type(comparison.name(), Type::Bool.name()));
        }
        let equal = comparison == Operator::Eq;
        let constant = term.constant().and_then(|at| self.lowering.constants.get(at as usize));
        self.lowering.depends_on_values |= matches!(constant, Some(Constant::Parameter(_)));
        match constant.map(|constant| constant.value(self.lowering.parameters)) {
            Some(AttributeValue::Bool(flag)) if *flag == equal => Ok(Lowered::Logic(logic)),
            Some(AttributeValue::Bool(_)) => Ok(Lowered::Logic(self.builder.not(logic))),
            Some(_) => {
                // The condition still counts: it is checked, and then left out.
                let bool = |flag| Constant::Literal(AttributeValue::Bool(flag));
                let no = self.lowering.value(self.builder, bool(false));
                let yes = self.lowering.value(self.builder, bool(true));
                let never = self.builder.test(comparison, &[no, yes]);
                Ok(Lowered::Logic(if equal {
                    self.builder.and(never, logic)
                } else {
                    self.builder.or(never, logic)
                }))
            }
            None => Err(self.setting.unsupported(comparison.name())),
        }
    }

    fn within(&mut self, negated: bool, value: Id, list: Id) -> Result<Lowered, ApiError> {
        let tree = self.lowering.tree;
        let members = self.lowering.members(list).ok_or_else(error::in_operator)?;
        let mut operands = vec![self.term(value, "IN")?];
        for member in tree.list(members) {
            operands.push(self.term(*member, "IN")?);
        }
        Ok(self.test(negated, Operator::In, &operands))
    }

    fn is(&mut self, negated: bool, value: Id, kind: &str, token: Token) -> Result<Lowered, ApiError> {
        let letter = match kind {
            "MISSING" => None,
            "NULL" => Some("NULL"),
            "BOOLEAN" => Some("BOOL"),
            "BLOB" => Some("B"),
            "STRING" => Some("S"),
            "NUMERIC" => Some("N"),
            "STRUCT" | "TUPLE" => Some("M"),
            "LIST" => Some("L"),
            other => {
                return Err(statement_error_at(
                    format_args!(
                        "Unsupported data type for IS operator: {other}. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
                    ),
                    self.lowering.place(token),
                ));
            }
        };
        let simple = !matches!(self.node(value).kind, NodeKind::Call { .. });
        let (true, Lowered::Term(term)) = (simple, self.get(value)?) else {
            return Err(statement_error(
                "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
            ));
        };
        let Some(letter) = letter else {
            return Ok(self.test(negated, Operator::AttributeNotExists, &[term]));
        };
        let name = self
            .lowering
            .value(self.builder, Constant::Literal(AttributeValue::string(letter)));
        Ok(self.test(negated, Operator::AttributeType, &[term, name]))
    }

    fn call(&mut self, name: &str, arguments: Span, token: Token) -> Result<Lowered, ApiError> {
        if matches!(name, "count" | "sum" | "min" | "max" | "avg") {
            return Err(error::unsupported_token(name, self.lowering.place(token)));
        }
        let function =
            Operator::function(name).ok_or_else(|| error::unknown_function(name, self.lowering.place(token)))?;
        if function.is_of_updates() != (self.setting == ExpressionRole::Update) {
            let expression = match self.setting {
                ExpressionRole::Condition => "a condition",
                ExpressionRole::Update => "an update",
            };
            return Err(statement_error(format!(
                "The function is not allowed in {expression} expression; function: {}",
                function.name()
            )));
        }
        let tree = self.lowering.tree;
        let operands: Vec<Term> = tree
            .list(arguments)
            .iter()
            .map(|argument| self.term(*argument, function.name()))
            .collect::<Result<_, _>>()?;
        if function.is_predicate() {
            return Ok(self.test(false, function, &operands));
        }
        Ok(Lowered::Term(self.builder.result(function, &operands)))
    }
}
