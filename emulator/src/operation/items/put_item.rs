//! [PutItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html).

use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::expression::Bindings;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::items::single_write::{self, CheckedWrite, OlderFrameworkMembers, ReturnMembers, WritePlan};
use crate::plan::{self, Access, WriteCondition};
use crate::request::PutItem;
use crate::value::SentItem;
use crate::wire::decode::DecodeOverlyNested;
use crate::wire::encode::Writer;

pub struct Operation;

impl Stages for Operation {
    type Request = PutItem;
    type Checked<'r> = CheckedWrite<'r, &'r SentItem>;
    type Plan<'r> = WritePlan<'r>;
    type Outcome = Change;

    fn decode_error(body: &[u8], error: ApiError) -> ApiError {
        let request = PutItem::decode_overly_nested(body);
        let checked = request.map_or(Ok(()), |request| {
            let members = OlderFrameworkMembers {
                table: request.table_name.as_ref(),
                capacity: request.return_consumed_capacity.as_ref(),
                values: request.return_values.as_ref(),
                operator: request.conditional_operator.as_ref(),
                missing: request.item.is_none().then_some("item"),
            };
            members.check_with_old_values()
        });
        checked.err().unwrap_or(error)
    }

    fn check<'r>(request: &'r mut PutItem, caches: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let request = &*request;
        let mut violations = Violations::new();
        check::table_name(&mut violations, request.table_name.as_ref())?;
        if request.item.is_none() {
            violations.missing("item");
        }
        let members = ReturnMembers {
            capacity: request.return_consumed_capacity.as_ref(),
            values: request.return_values.as_ref(),
            metrics: request.return_item_collection_metrics.as_ref(),
            on_failure: request.return_values_on_condition_check_failure.as_ref(),
        };
        let mut returns = members.check(&mut violations);
        violations.finish()?;
        let Some(sent) = &request.item else {
            return Err(ApiError::internal());
        };
        single_write::check_kinds(
            request.condition_expression.is_some(),
            request.expected.is_some(),
            request.conditional_operator.is_some(),
            &request.substitutions,
        )?;
        let expected = single_write::expected(request.expected.as_ref(), request.conditional_operator.as_ref())
            .map_err(ApiError::enveloped)?;
        let mut scope = Bindings::new_enveloped(&request.substitutions, &caches.expressions)?;
        let condition =
            single_write::condition(&mut scope, request.condition_expression.as_ref()).map_err(ApiError::enveloped)?;
        returns.values = single_write::old_or_none(request.return_values.as_ref())?;
        plan::check_item_size(&sent.item)?;
        scope.check_all_used().map_err(ApiError::enveloped)?;
        Ok(CheckedWrite {
            table: check::text(request.table_name.as_ref()),
            condition: WriteCondition {
                condition: condition.or(expected),
                show_item: returns.show_item,
            },
            returns,
            action: sent,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<WritePlan<'r>, ApiError> {
        let target = plan::table(context, checked.table)?;
        let write = plan::put(target, checked.action, checked.condition)?;
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
