//! Shared by the operations on PartiQL statements: their members, their tables, and the plans of statements.

use crate::capacity::Consumed;
use crate::change::Change;
use crate::context::Context;
use crate::error::{ApiError, ErrorKind, Violations, constraint};
use crate::execute;
use crate::expression::Condition;
use crate::key;
use crate::limits;
use crate::operation::check;
use crate::partiql::{self, Prepared, Returning, Statement};
use crate::plan::{self, Target, Write, WriteAction, WriteCondition};
use crate::request::BatchStatement;
use crate::schema::KeySchema;
use crate::value::{AttributeValue, Map, Text};

/// The model's constraints on a statement and its parameters; `path` is the prefix of their names.
pub fn check_members(
    violations: &mut Violations,
    path: &str,
    statement: Option<&Text>,
    parameters: Option<&Vec<AttributeValue>>,
) {
    match statement {
        None => violations.missing(format_args!("{path}statement")),
        Some(text) if text.is_empty() => {
            violations.value("", format_args!("{path}statement"), constraint::min_length(1));
        }
        Some(text) if text.len() > limits::STATEMENT_LENGTH && text.chars().count() > limits::STATEMENT_LENGTH => {
            let most = constraint::max_length(limits::STATEMENT_LENGTH);
            violations.value(text, format_args!("{path}statement"), most);
        }
        Some(_) => {}
    }
    if parameters.is_some_and(Vec::is_empty) {
        violations.value("[]", format_args!("{path}parameters"), constraint::min_length(1));
    }
}

/// The table of a statement. Statements do not support keys of several attributes.
pub fn table(context: &Context<'_>, prepared: &Prepared) -> Result<Target, ApiError> {
    let target = plan::table(context, prepared.table())
        .map_err(|error| execute::unplanned_actions(context, &[prepared.action()], error))?;
    if has_keys_of_several_attributes(&target) {
        return Err(several_attributes());
    }
    Ok(target)
}

fn has_keys_of_several_attributes(target: &Target) -> bool {
    let several = |key: &KeySchema| key.hash.len() > 1 || key.range.len() > 1;
    target.definition().globals.iter().any(|index| several(&index.key))
}

fn several_attributes() -> ApiError {
    ApiError::validation(
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.",
    )
}

/// For a statement that parses, a key of several attributes is reported before any other error.
pub fn overruled(context: &Context<'_>, statement: Option<&str>, error: ApiError) -> ApiError {
    let validates = error.kind() == ErrorKind::Validation;
    let table = statement.filter(|_| validates).and_then(Prepared::table_of);
    match table.and_then(|table| plan::table(context, &table).ok()) {
        Some(target) if has_keys_of_several_attributes(&target) => several_attributes(),
        _ => error,
    }
}

/// The key of the item that a statement writes, or reads with EXISTS; `None` for SELECT.
pub fn written_key(statement: &Statement<'_>, target: &Target) -> Result<Map, ApiError> {
    let schema = &target.definition().key;
    match statement {
        Statement::Insert(sent) => Ok(key::key_attributes(&sent.item, schema, None)),
        Statement::Update { condition, .. } | Statement::Delete { condition, .. } => {
            Ok(partiql::written_key(schema, condition.as_ref())?.0)
        }
        Statement::Exists(select) => {
            let key = partiql::written_key(schema, select.condition.as_ref()).ok();
            key.filter(|(_, more)| *more).map(|(key, _)| key).ok_or_else(|| {
                ApiError::validation("EXISTS() must contain a single item read with additional condition")
            })
        }
        Statement::Select(_) => Ok(Map::new()),
    }
}

/// Checks that the key is complete, and of the table's types. Transactions leave that to their actions.
pub fn check_key(statement: &Statement<'_>, target: &Target, key: &Map) -> Result<(), ApiError> {
    let inserts = matches!(statement, Statement::Insert(_));
    for attribute in target.definition().key.attributes() {
        let value = key
            .get(&attribute.name)
            .ok_or_else(|| ApiError::statement_key_missing(&attribute.name))?;
        // An item's key is checked against the table's types only, not its value.
        if inserts && !value.can_be_key() {
            return Err(ApiError::statement_key_type(&attribute.name));
        }
        partiql::check_key_value(attribute, value)?;
    }
    Ok(())
}

/// Plans a statement that writes; `None` for SELECT.
pub fn write<'r>(statement: Statement<'r>, target: Target, key: Map, show_item: bool) -> Result<Write<'r>, ApiError> {
    let write_condition = |condition: Option<Condition<'r>>| WriteCondition { condition, show_item };
    match statement {
        Statement::Insert(sent) => {
            plan::check_item_size(&sent.item)?;
            plan::insert(target, sent)
        }
        Statement::Update { update, condition, .. } => {
            let action = WriteAction::Update {
                update: Some(update),
                charged: false,
            };
            // The clause contains the key, so it never holds for a missing item.
            let write = plan::keyed(target, key, action, write_condition(condition))?;
            write.check_update_keys()?;
            Ok(write)
        }
        Statement::Delete { condition, .. } => {
            let mut write = plan::keyed(target, key, WriteAction::Delete, write_condition(condition))?;
            write.passes_if_missing = true;
            Ok(write)
        }
        Statement::Exists(select) | Statement::Select(select) => {
            plan::keyed(target, key, WriteAction::Check, write_condition(select.condition))
        }
    }
}

/// The item requested by a write's RETURNING clause, unless it is empty.
pub fn returned(returning: Option<Returning>, write: &Write<'_>, change: &Change) -> Option<Map> {
    let returning = returning?;
    let item = match returning {
        Returning::AllOld | Returning::ModifiedOld => &change.old,
        Returning::AllNew | Returning::ModifiedNew => &change.new,
    };
    let item = item.as_ref()?;
    match &write.action {
        WriteAction::Update {
            update: Some(update), ..
        } if matches!(returning, Returning::ModifiedOld | Returning::ModifiedNew) => {
            Some(update.touched(item)).filter(|touched| !touched.is_empty())
        }
        _ => Some(item.attributes()),
    }
}

/// The cost of a write of one item.
pub fn cost(write: &Write<'_>, change: &Change) -> Consumed {
    change.consumed(&write.target.requested_name())
}

/// The model's constraints on one of several statements.
pub fn check_element(violations: &mut Violations, path: &str, sent: &BatchStatement) {
    check_members(violations, path, sent.statement.as_ref(), sent.parameters.as_ref());
    let on_failure = sent.return_values_on_condition_check_failure.as_ref();
    let path = format!("{path}returnValuesOnConditionCheckFailure");
    check::return_values_on_failure(violations, on_failure, &path);
}
