//! [UpdateItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html).

use super::check::{self, ReturnValues, words};
use super::single_write::{self, ReturnOptions};
use crate::change::Change;
use crate::error::{ApiError, Violations, constraint};
use crate::execute::{Action, Context};
use crate::expression::{ExpressionKind, Scope, Update, legacy};
use crate::plan::{self, WriteCondition};
use crate::request::UpdateItem;
use crate::value::Item;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let mut request = UpdateItem::decode(body)?;
    let wanted = wanted(&request)?;
    let key = request.key.take().unwrap_or_default();
    let returns = check::return_values(request.return_values.as_ref()).unwrap_or(ReturnValues::None);
    check_kinds(&request).map_err(ApiError::enveloped)?;
    let cache = context.engine.expressions();
    let mut scope = Scope::new_enveloped(&request.substitutions, cache)?;
    let legacy_update = request
        .attribute_updates
        .as_deref()
        .map(legacy::attribute_updates)
        .transpose()?;
    let expected = single_write::expected(request.expected.as_ref(), request.conditional_operator.as_ref())
        .map_err(ApiError::enveloped)?;
    if request.condition_expression.as_deref() == Some("") {
        // An empty condition is found before any fault of the update, an empty one too.
        scope
            .condition(ExpressionKind::Condition, "")
            .map_err(ApiError::enveloped)?;
    }
    let update = match &request.update_expression {
        Some(text) => Some(scope.update(text).map_err(ApiError::enveloped)?),
        None => legacy_update,
    };
    let condition = single_write::condition(&mut scope, request.condition_expression.as_ref())
        .and_then(|condition| scope.check_all_used().map(|()| condition))
        .map_err(ApiError::enveloped)?;
    let target = single_write::table(context, request.table_name.as_ref())?;
    let shape = std::sync::Arc::clone(&target.shape);
    let guard = WriteCondition {
        condition: condition.or(expected),
        show_item: wanted.show_item,
    };
    // The key is checked before what the update does to key attributes.
    let mut write = plan::keyed(target, &key, Action::Check, guard)?;
    if let Some(update) = &update {
        plan::check_update_keys(&shape.definition, update)?;
        plan::check_update_index_keys(&shape.definition, update)?;
    }
    write.action = Action::Update {
        update,
        key: &key,
        charged: true,
    };
    single_write::run(context, &write, wanted, out, |change, answer| {
        if let Action::Update { update, .. } = &write.action {
            attributes(returns, update.as_ref(), change, answer);
        }
    })
}

/// Without a key the older layer speaks, all faults at once; with one the newer, one fault at a time.
fn wanted(request: &UpdateItem) -> Result<ReturnOptions, ApiError> {
    let capacity = request.return_consumed_capacity.as_ref();
    let on_failure = request.return_values_on_condition_check_failure.as_ref();
    let failure_path = "returnValuesOnConditionCheckFailure";
    let mut faults = Violations::new();
    if request.key.is_none() {
        check::return_consumed_capacity(&mut faults, capacity);
        check::echoed_table_name(&mut faults, request.table_name.as_ref(), "tableName");
        if let (None, Some(word)) = (
            check::return_values(request.return_values.as_ref()),
            &request.return_values,
        ) {
            faults.value(word, "returnValues", constraint::one_of(words::RETURN_VALUES_OLDER));
        }
        check::echoed_conditional_operator(&mut faults, request.conditional_operator.as_ref());
        faults.missing("key");
        faults.finish()?;
    }
    let mut faults = Violations::new();
    check::table_name(&mut faults, request.table_name.as_ref())?;
    faults.finish()?;
    if check::return_values(request.return_values.as_ref()).is_none() {
        return Err(ApiError::validation(check::unknown_return_values()).enveloped());
    }
    let mut faults = Violations::new();
    let show_item = check::return_values_on_failure(&mut faults, on_failure, failure_path);
    faults.finish()?;
    let mut faults = Violations::new();
    let metrics = check::return_item_collection_metrics(&mut faults, request.return_item_collection_metrics.as_ref());
    faults.finish()?;
    let mut faults = Violations::new();
    let report = check::return_consumed_capacity(&mut faults, capacity);
    faults.finish()?;
    Ok(ReturnOptions {
        report,
        metrics,
        show_item,
    })
}

/// Expressions and legacy parameters do not go together, and substitutions need an expression.
fn check_kinds(request: &UpdateItem) -> Result<(), ApiError> {
    let has_expression = request.update_expression.is_some() || request.condition_expression.is_some();
    check::mixing(
        &[
            ("AttributeUpdates", request.attribute_updates.is_some()),
            ("Expected", request.expected.is_some()),
            ("ConditionalOperator", request.conditional_operator.is_some()),
        ],
        &[
            ("UpdateExpression", request.update_expression.is_some()),
            ("ConditionExpression", request.condition_expression.is_some()),
        ],
    )?;
    check::substitutions_need_expression(&request.substitutions, has_expression, None)
}

/// Appends what `ReturnValues` asked for, if anything of it is there.
fn attributes(returns: ReturnValues, update: Option<&Update<'_>>, change: &Change, answer: &mut Object<'_>) {
    let side: &Option<Item> = match returns {
        ReturnValues::None => return,
        ReturnValues::AllOld | ReturnValues::UpdatedOld => &change.old,
        ReturnValues::AllNew | ReturnValues::UpdatedNew => &change.new,
    };
    let Some(item) = side else { return };
    if matches!(returns, ReturnValues::AllOld | ReturnValues::AllNew) {
        answer.item("Attributes", item);
        return;
    }
    let touched = update.map(|update| update.touched(item)).unwrap_or_default();
    if !touched.is_empty() {
        answer.map("Attributes", &touched);
    }
}
