//! [PutItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html).

use super::check;
use super::single_write::{self, ReturnMembers};
use crate::error::{ApiError, Violations};
use crate::execute::Context;
use crate::expression::Scope;
use crate::plan::{self, WriteCondition};
use crate::request::PutItem;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let mut request = PutItem::decode(body)?;
    let item = request.item.take();
    let mut faults = Violations::new();
    check::table_name(&mut faults, request.table_name.as_ref())?;
    if item.is_none() {
        faults.missing("item");
    }
    let asked = ReturnMembers {
        capacity: request.return_consumed_capacity.as_ref(),
        values: request.return_values.as_ref(),
        metrics: request.return_item_collection_metrics.as_ref(),
        on_failure: request.return_values_on_condition_check_failure.as_ref(),
    };
    let wanted = asked.check(&mut faults);
    faults.finish()?;
    single_write::check_kinds(
        request.condition_expression.is_some(),
        request.expected.is_some(),
        request.conditional_operator.is_some(),
        &request.substitutions,
    )?;
    let sent = item.unwrap_or_default();
    let expected = single_write::expected(request.expected.as_ref(), request.conditional_operator.as_ref())
        .map_err(ApiError::enveloped)?;
    let cache = context.engine.expressions();
    let mut scope = Scope::new_enveloped(&request.substitutions, cache)?;
    let condition =
        single_write::condition(&mut scope, request.condition_expression.as_ref()).map_err(ApiError::enveloped)?;
    let returns_old = single_write::old_or_nothing(request.return_values.as_ref())?;
    plan::check_item_size(&sent.item)?;
    scope.check_all_used().map_err(ApiError::enveloped)?;
    let target = single_write::table(context, request.table_name.as_ref())?;
    let guard = WriteCondition {
        condition: condition.or(expected),
        show_item: wanted.show_item,
    };
    let write = plan::put(target, &sent, guard)?;
    single_write::run(context, &write, wanted, out, |change, answer| {
        if let Some(old) = change.old.as_ref().filter(|_| returns_old) {
            answer.item("Attributes", old);
        }
    })
}
