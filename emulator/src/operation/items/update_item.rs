//! [UpdateItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html).

use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::expression::{Bindings, ExpressionKind, Update, legacy};
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::items::single_write::{self, CheckedWrite, OlderFrameworkMembers, ReturnOptions, WritePlan};
use crate::plan::{self, Access, WriteAction, WriteCondition};
use crate::request::UpdateItem;
use crate::value::Map;
use crate::wire::decode::DecodeOverlyNested;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = UpdateItem;
    type Checked<'r> = CheckedWrite<'r, (Option<Update<'r>>, &'r Map)>;
    type Plan<'r> = WritePlan<'r>;
    type Outcome = Change;

    fn decode_error(body: &[u8], error: ApiError) -> ApiError {
        let request = UpdateItem::decode_overly_nested(body);
        let checked = request.map_or(Ok(()), |request| older_framework_members(&request).check());
        checked.err().unwrap_or(error)
    }

    fn check<'r>(request: &'r mut UpdateItem, caches: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &*request;
        let returns = check_members(request)?;
        check_kinds(request).map_err(ApiError::enveloped)?;
        let mut scope = Bindings::new_enveloped(&request.substitutions, &caches.expressions)?;
        let legacy_update = request
            .attribute_updates
            .as_deref()
            .map(legacy::attribute_updates)
            .transpose()?;
        let expected = single_write::expected(request.expected.as_ref(), request.conditional_operator.as_ref())
            .map_err(ApiError::enveloped)?;
        if request.condition_expression.as_deref() == Some("") {
            // An empty condition is reported before any error of the update, even if that is empty too.
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
        Ok(CheckedWrite {
            table: check::text(request.table_name.as_ref()),
            condition: WriteCondition {
                condition: condition.or(expected),
                show_item: returns.show_item,
            },
            returns,
            action: (update, check::key(request.key.as_ref())),
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<WritePlan<'r>, ApiError> {
        let target = plan::table(context, checked.table)?;
        let (update, key) = checked.action;
        let action = WriteAction::Update { update, charged: true };
        let write = plan::keyed(target, key, action, checked.condition)?;
        Ok(WritePlan {
            write,
            returns: checked.returns,
        })
    }

    fn access(plan: &WritePlan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(plan.access());
    }

    fn execute(context: &Context<'_>, plan: &WritePlan<'_>, _: Refusals) -> Result<Change, ApiError> {
        execute::write(context, &plan.write)
    }

    fn encode(plan: &WritePlan<'_>, change: Change, out: &mut Writer) {
        single_write::encode(plan, &change, out);
    }
}

fn older_framework_members(request: &UpdateItem) -> OlderFrameworkMembers<'_> {
    OlderFrameworkMembers {
        table: request.table_name.as_ref(),
        capacity: request.return_consumed_capacity.as_ref(),
        values: request.return_values.as_ref(),
        operator: request.conditional_operator.as_ref(),
        missing: request.key.is_none().then_some("key"),
    }
}

/// Without a key the older layer reports all violations at once; with one the newer layer reports one at a time.
fn check_members(request: &UpdateItem) -> Result<ReturnOptions, ApiError> {
    let capacity = request.return_consumed_capacity.as_ref();
    let on_failure = request.return_values_on_condition_check_failure.as_ref();
    let failure_path = "returnValuesOnConditionCheckFailure";
    let values = check::return_values(request.return_values.as_ref());
    if request.key.is_none() {
        older_framework_members(request).check()?;
    }
    let mut violations = Violations::new();
    check::table_name(&mut violations, request.table_name.as_ref())?;
    violations.finish()?;
    let Some(values) = values else {
        return Err(ApiError::validation(check::unknown_return_values()).enveloped());
    };
    let mut violations = Violations::new();
    let show_item = check::return_values_on_failure(&mut violations, on_failure, failure_path);
    violations.finish()?;
    let mut violations = Violations::new();
    let metrics =
        check::return_item_collection_metrics(&mut violations, request.return_item_collection_metrics.as_ref());
    violations.finish()?;
    let mut violations = Violations::new();
    let report = check::return_consumed_capacity(&mut violations, capacity);
    violations.finish()?;
    Ok(ReturnOptions {
        report,
        values,
        metrics,
        show_item,
    })
}

/// Expressions and legacy parameters cannot be combined, and substitutions require an expression.
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
