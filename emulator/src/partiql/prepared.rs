//! A statement with its parameters, after all checks that need no table.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ast::{self, Assignment, Id, NodeKind, Returning, Statement as Written};
use super::error::{statement_error, statement_error_at};
use super::lower::{Constant, Lowering, OwnedPathElement};
use super::parser;
use crate::cache::{ParsedText, TextCache};
use crate::error::ApiError;
use crate::expression::{AttributeNames, BuiltExpression, Clause, Condition, ExpressionBuilder, Projection, Update};
use crate::limits;
use crate::value::{AttributeValue, Item, Map, Name, SentItem};

/// A statement, parsed and lowered, with its parameters.
#[derive(Debug)]
pub struct Prepared {
    lowered: Arc<Lowered>,
    parameters: Vec<AttributeValue>,
    /// The item of an INSERT.
    item: Option<SentItem>,
}

/// A statement, parsed and lowered, without values for its parameters.
#[derive(Debug)]
struct Lowered {
    text: Box<str>,
    table: Name,
    index: Option<Name>,
    /// The constants of its expressions.
    constants: Vec<Constant>,
    /// The number of its question marks.
    parameters: usize,
    body: StatementBody,
}

#[derive(Debug)]
enum StatementBody {
    Select {
        columns: Option<(BuiltExpression, Vec<Name>)>,
        condition: Option<BuiltExpression>,
        /// The attributes that must equal constants, each with its constant's position, if that is the whole condition.
        equalities: SmallVec<[(Name, u32); 2]>,
        order: Vec<(Name, bool)>,
        exists: bool,
    },
    /// The item's attributes, sorted by name.
    Insert(Vec<(Name, Constant)>),
    Update {
        update: BuiltExpression,
        condition: Option<BuiltExpression>,
        returning: Option<Returning>,
    },
    Delete {
        condition: Option<BuiltExpression>,
        returning: Option<Returning>,
    },
}

/// A bounded cache of lowered statements. Statements that have errors are not cached.
pub struct StatementCache(TextCache<Lowered>);

impl StatementCache {
    pub fn new() -> StatementCache {
        StatementCache(TextCache::new())
    }

    /// The lowered form of a statement, from the cache or lowered now.
    fn lower(&self, text: &str, parameters: &[AttributeValue]) -> Result<Arc<Lowered>, ApiError> {
        if let Some(lowered) = self.0.find(text, ())
            && lowered.accepts(parameters)
        {
            return Ok(lowered);
        }
        let (lowered, is_reusable) = Lowered::new(text, parameters)?;
        let lowered = Arc::new(lowered);
        if is_reusable {
            self.0.insert(lowered.clone());
        }
        Ok(lowered)
    }
}

/// A statement with bound expressions.
pub enum Statement<'r> {
    Select(Select<'r>),
    Exists(Select<'r>),
    Insert(&'r SentItem),
    Update {
        update: Update<'r>,
        /// Of which item, and on which condition.
        condition: Option<Condition<'r>>,
    },
    Delete {
        /// Of which item, and on which condition.
        condition: Option<Condition<'r>>,
    },
}

pub struct Select<'r> {
    /// The columns; `None` for `*`.
    pub columns: Option<Columns<'r>>,
    pub condition: Option<Condition<'r>>,
    /// The attributes that must equal constants, each with its constant's position, if that is the whole WHERE clause.
    pub equalities: &'r [(Name, u32)],
    /// The ORDER BY clause: attributes, each with whether it descends.
    pub order: &'r [(Name, bool)],
}

/// The projection of a SELECT: paths, each under its last name.
pub struct Columns<'r> {
    pub projection: Projection<'r>,
    names: &'r [Name],
}

impl<'r> Columns<'r> {
    /// The projected parts of an item.
    pub fn apply(&self, item: &Item) -> Map {
        shown(&self.projection, self.names, item)
    }

    /// The paths, and the names they are shown under.
    pub fn into_parts(self) -> (Projection<'r>, &'r [Name]) {
        (self.projection, self.names)
    }
}

/// The projected parts of an item: each path under its name.
pub fn shown(projection: &Projection<'_>, names: &[Name], item: &Item) -> Map {
    let mut wanted = AttributeNames::new();
    projection.names_as_written().for_each(|name| wanted.add(name));
    let item = item.pick(&wanted);
    let values = names.iter().cloned().zip(projection.values(&item));
    values
        .filter_map(|(name, value)| Some((name, value?.clone())))
        .collect()
}

impl Prepared {
    /// Parses and lowers a statement. Parameters it has no question marks for are passed over.
    pub fn new(
        statement: &str,
        mut parameters: Vec<AttributeValue>,
        cache: &StatementCache,
    ) -> Result<Prepared, ApiError> {
        let lowered = cache.lower(statement, &parameters)?;
        let item = match &lowered.body {
            StatementBody::Insert(attributes) => Some(item(attributes, &mut parameters)),
            _ => None,
        };
        Ok(Prepared {
            lowered,
            parameters,
            item,
        })
    }

    /// The table of a statement, even if the statement has other errors; `None` if it does not parse.
    pub fn table_of(statement: &str) -> Option<Name> {
        let (written, tree) = parser::parse(statement).ok()?;
        let target = Lowering::new(statement, &tree, &[]).target(written.target());
        target.ok().map(|(table, _)| table)
    }

    pub fn text(&self) -> &str {
        &self.lowered.text
    }

    pub fn table(&self) -> &Name {
        &self.lowered.table
    }

    pub fn index(&self) -> Option<&Name> {
        self.lowered.index.as_ref()
    }

    /// The values of its expressions, be they parameters or literals.
    pub fn values(&self) -> impl Iterator<Item = &AttributeValue> {
        let constants = self.lowered.constants.iter();
        constants.map(|constant| constant.value(&self.parameters))
    }

    /// Whether the statement reads; the others write, or occur among writes.
    pub fn reads(&self) -> bool {
        matches!(self.lowered.body, StatementBody::Select { exists: false, .. })
    }

    /// The IAM action of the statement.
    pub fn action(&self) -> &'static str {
        match self.lowered.body {
            StatementBody::Select { .. } => "PartiQLSelect",
            StatementBody::Insert { .. } => "PartiQLInsert",
            StatementBody::Update { .. } => "PartiQLUpdate",
            StatementBody::Delete { .. } => "PartiQLDelete",
        }
    }

    /// Whether the statement is an EXISTS.
    pub fn is_exists(&self) -> bool {
        matches!(self.lowered.body, StatementBody::Select { exists: true, .. })
    }

    /// The values that the statement returns of the item that it writes.
    pub fn returning(&self) -> Option<Returning> {
        match self.lowered.body {
            StatementBody::Update { returning, .. } | StatementBody::Delete { returning, .. } => returning,
            _ => None,
        }
    }

    /// Binds the statement's expressions to its values, with every check that needs no table.
    pub fn bind(&self) -> Result<Statement<'_>, ApiError> {
        let bound = |condition: &Option<BuiltExpression>| {
            let condition = condition.as_ref();
            condition.map(|built| built.condition(self.values())).transpose()
        };
        Ok(match &self.lowered.body {
            StatementBody::Select {
                columns,
                condition,
                equalities,
                order,
                exists,
            } => {
                let columns = columns.as_ref().map(|(built, names)| {
                    let projection = built.projection()?;
                    Ok::<_, ApiError>(Columns { projection, names })
                });
                let select = Select {
                    columns: columns.transpose()?,
                    condition: bound(condition)?,
                    equalities,
                    order,
                };
                if *exists {
                    Statement::Exists(select)
                } else {
                    Statement::Select(select)
                }
            }
            StatementBody::Insert(_) => Statement::Insert(self.item.as_ref().ok_or_else(ApiError::internal)?),
            StatementBody::Update { update, condition, .. } => Statement::Update {
                update: update.update(self.values())?,
                condition: bound(condition)?,
            },
            StatementBody::Delete { condition, .. } => Statement::Delete {
                condition: bound(condition)?,
            },
        })
    }
}

/// The item of an INSERT; parameters are moved into it.
fn item(attributes: &[(Name, Constant)], parameters: &mut [AttributeValue]) -> SentItem {
    let attributes = attributes.iter().map(|(name, constant)| {
        let value = match constant {
            Constant::Literal(value) => value.clone(),
            Constant::Parameter(at) => std::mem::replace(&mut parameters[*at as usize], AttributeValue::Null),
        };
        (name.clone(), value)
    });
    SentItem::from(attributes.collect::<Map>())
}

impl Lowered {
    /// Lowers a statement. Returns as well whether it is the same for other parameters.
    fn new(statement: &str, parameters: &[AttributeValue]) -> Result<(Lowered, bool), ApiError> {
        let (written, tree) = parser::parse(statement)?;
        let mut lowering = Lowering::new(statement, &tree, parameters);
        let target = written.target();
        let body = match &written {
            Written::Select(select) => lowering.select(select, false)?,
            Written::Exists(select) => lowering.select(select, true)?,
            Written::Insert { target, value } => lowering.insert(*target, *value)?,
            Written::Update {
                assignments,
                condition,
                returning,
                ..
            } => {
                lowering.no_index(target)?;
                lowering.update(assignments, *condition, *returning)?
            }
            Written::Delete {
                condition, returning, ..
            } => {
                lowering.no_index(target)?;
                lowering.delete(*condition, *returning)?
            }
        };
        let (table, index) = lowering.target(target)?;
        let is_reusable = !lowering.depends_on_values;
        let lowered = Lowered {
            text: statement.into(),
            table,
            index,
            constants: lowering.constants,
            parameters: tree.parameters as usize,
            body,
        };
        Ok((lowered, is_reusable))
    }

    /// Whether the statement can be lowered with these parameters without an error.
    fn accepts(&self, parameters: &[AttributeValue]) -> bool {
        let is_shallow = |value: &AttributeValue| value.depth() <= limits::NESTING;
        let inserts = matches!(self.body, StatementBody::Insert(_));
        parameters.len() >= self.parameters && (!inserts || parameters.iter().all(is_shallow))
    }

    fn expressions(&self) -> impl Iterator<Item = &BuiltExpression> {
        let (first, second) = match &self.body {
            StatementBody::Select { columns, condition, .. } => {
                (columns.as_ref().map(|(built, _)| built), condition.as_ref())
            }
            StatementBody::Insert(_) => (None, None),
            StatementBody::Update { update, condition, .. } => (Some(update), condition.as_ref()),
            StatementBody::Delete { condition, .. } => (None, condition.as_ref()),
        };
        first.into_iter().chain(second)
    }
}

impl ParsedText for Lowered {
    type Grammar = ();

    fn text(&self) -> &str {
        &self.text
    }

    fn grammar(&self) {}

    fn weight(&self) -> usize {
        let expressions: usize = self.expressions().map(BuiltExpression::weight).sum();
        // A constant takes at least two bytes of text, inside of lists too.
        let constants = (self.text.len() / 2).max(self.constants.capacity()) * size_of::<(Name, Constant)>();
        size_of::<Lowered>() + 2 * self.text.len() + constants + expressions
    }
}

impl Lowering<'_> {
    fn filter(&mut self, condition: Option<Id>) -> Result<Option<BuiltExpression>, ApiError> {
        let Some(root) = condition else { return Ok(None) };
        let mut builder = ExpressionBuilder::condition();
        let logic = self.condition(&mut builder, root)?;
        Ok(Some(builder.finish_condition(logic, self.constants.len())))
    }

    fn select(&mut self, select: &ast::Select, exists: bool) -> Result<StatementBody, ApiError> {
        let columns = if select.columns.is_empty() {
            None
        } else {
            Some(self.columns(&select.columns)?)
        };
        let order = self.order(select)?;
        let condition = self.filter(select.condition)?;
        let equalities = condition.as_ref().and_then(BuiltExpression::equalities);
        Ok(StatementBody::Select {
            columns,
            condition,
            equalities: equalities.unwrap_or_default(),
            order,
            exists,
        })
    }

    fn columns(&self, ids: &[Id]) -> Result<(BuiltExpression, Vec<Name>), ApiError> {
        let mut builder = ExpressionBuilder::projection();
        let mut names: Vec<Name> = Vec::with_capacity(ids.len());
        for id in ids {
            if let NodeKind::Path { steps, .. } = &self.tree.node(*id).kind
                && let Some(ast::PathStep::Unpivot(_)) = self.tree.steps(*steps).last()
            {
                return Err(statement_error(
                    "Changing item's hierarchy while reading isn't supported",
                ));
            }
            let name = label(&self.elements(*id)?);
            if names.contains(&name) {
                return Err(statement_error(format!(
                    "Duplicate identifiers in select clause: {name}"
                )));
            }
            names.push(name);
            let path = self.path(&mut builder, *id)?;
            builder.show(path);
        }
        Ok((builder.finish_projection(), names))
    }

    fn order(&self, select: &ast::Select) -> Result<Vec<(Name, bool)>, ApiError> {
        if select.order.is_empty() {
            return Ok(Vec::new());
        }
        if select.condition.is_none() {
            return Err(statement_error(
                "Must have WHERE clause in the statement when using ORDER BY clause.",
            ));
        }
        let keys = select.order.iter().map(|(id, descending)| {
            let node = self.tree.node(*id);
            let kind = match &node.kind {
                NodeKind::Variable(name) => return Ok((name.clone(), *descending)),
                NodeKind::Path { .. } => "PATH",
                NodeKind::Number(text) | NodeKind::String(text) => text,
                NodeKind::Parameter(_) => "PARAMETER",
                other => other.spelling().unwrap_or("EXPRESSION"),
            };
            Err(statement_error_at(
                format_args!("Argument to ORDER BY must be of type VariableReference. Type: {kind}"),
                self.place(node.token),
            ))
        });
        keys.collect()
    }

    /// A statement that writes names a table, not an index.
    fn no_index(&self, target: Id) -> Result<(), ApiError> {
        match self.target(target)? {
            (_, Some(_)) => Err(statement_error("This operation is not supported on an index")),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, target: Id, value: Id) -> Result<StatementBody, ApiError> {
        if let (_, Some(_)) = self.target(target)? {
            let place = self.place(self.tree.node(target).token);
            return Err(statement_error_at(
                "FROM clause may only contain a single table name in data manipulation statements",
                place,
            ));
        }
        self.item(value).map(StatementBody::Insert)
    }

    fn update(
        &mut self,
        assignments: &[Assignment],
        condition: Option<Id>,
        returning: Option<Returning>,
    ) -> Result<StatementBody, ApiError> {
        let mut builder = ExpressionBuilder::update();
        for assignment in assignments {
            match *assignment {
                Assignment::Remove(path) => {
                    let target = self.path(&mut builder, path)?;
                    builder.act(Clause::Remove, target, None);
                }
                Assignment::Set(path, value) => {
                    let target = self.path(&mut builder, path)?;
                    let (clause, value) = match self.set_function(path, value)? {
                        Some((clause, set)) => (clause, self.value(&mut builder, set)),
                        None => (Clause::Set, self.right_side(&mut builder, value)?),
                    };
                    builder.act(clause, target, Some(value));
                }
            }
        }
        // The update's values precede those of the condition; each binds to the values up to its own.
        let update = builder.finish_update(self.constants.len());
        let condition = self.filter(condition)?;
        Ok(StatementBody::Update {
            update,
            condition,
            returning,
        })
    }

    /// `set_add(path, set)` and `set_delete(path, set)`, which change the path that they are assigned to.
    fn set_function(&mut self, path: Id, value: Id) -> Result<Option<(Clause, Constant)>, ApiError> {
        let node = self.tree.node(value);
        let NodeKind::Call { name, arguments } = &node.kind else {
            return Ok(None);
        };
        let name = name.to_ascii_uppercase();
        let clause = match name.as_str() {
            "SET_ADD" => Clause::Add,
            "SET_DELETE" => Clause::Delete,
            _ => return Ok(None),
        };
        let place = self.place(node.token);
        let &[first, second] = self.tree.list(*arguments) else {
            return Err(statement_error_at(
                format_args!("{name} must have exactly two arguments"),
                place,
            ));
        };
        let target = self.elements(path)?;
        let same = self
            .elements(first)
            .is_ok_and(|elements| elements.iter().eq(target.iter()));
        if !same {
            let text = format!("The first argument to {name} must equal the assignment value");
            return Err(statement_error_at(text, place));
        }
        let constant = matches!(self.tree.node(second).kind, NodeKind::Bag(_) | NodeKind::Parameter(_));
        let set = if constant { Some(self.constant(second)?) } else { None };
        self.depends_on_values |= matches!(set, Some(Constant::Parameter(_)));
        match set.as_ref().map(|set| set.value(self.parameters)).zip(set.clone()) {
            Some((AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_), set)) => {
                Ok(Some((clause, set)))
            }
            _ => Err(statement_error_at(
                format_args!("The second argument to {name} must be a value with type SET"),
                self.place(self.tree.node(first).token),
            )),
        }
    }

    fn delete(&mut self, condition: Option<Id>, returning: Option<Returning>) -> Result<StatementBody, ApiError> {
        if let Some(other) = returning.filter(|returning| *returning != Returning::AllOld) {
            return Err(statement_error(format!(
                "Invalid returning clause: RETURNING {} *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
                other.name()
            )));
        }
        let condition = self.filter(condition)?;
        Ok(StatementBody::Delete { condition, returning })
    }
}

/// The name of a column: its last name, with the positions after it.
fn label(elements: &[OwnedPathElement]) -> Name {
    let last = elements
        .iter()
        .rposition(|element| matches!(element, OwnedPathElement::Name(_)))
        .unwrap_or(0);
    let parts = elements[last..].iter().map(|element| match element {
        OwnedPathElement::Name(name) => name.to_string(),
        OwnedPathElement::Index(index) => format!("[{index}]"),
    });
    Name::from(parts.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_prepared_and_bound() {
        let parameters = vec![AttributeValue::string("a")];
        let prepared = Prepared::new(
            "SELECT * FROM Music WHERE Artist = ?",
            parameters,
            &StatementCache::new(),
        )
        .unwrap();
        assert_eq!(prepared.table(), "Music");
        assert!(matches!(prepared.bind().unwrap(), Statement::Select(_)));
        let error = Prepared::new("SELECT * FROM", Vec::new(), &StatementCache::new()).unwrap_err();
        assert_eq!(
            error.message(),
            Some("Statement wasn't well formed, can't be processed: Unexpected term")
        );
    }
}
