//! [GetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html).

use super::check::{self, Report};
use super::{output, reading};
use crate::capacity::Consumed;
use crate::error::{ApiError, Violations};
use crate::execute::{self, Context};
use crate::plan;
use crate::request::GetItem;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = GetItem::decode(body)?;
    if request.table_name.as_deref() == Some("") {
        return Err(check::empty_table_name());
    }
    let mut faults = Violations::new();
    if request.key.is_none() {
        faults.missing("key");
    }
    check::table_name(&mut faults, request.table_name.as_ref())?;
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    check::attributes_to_get(&mut faults, request.attributes_to_get.as_deref(), "attributesToGet");
    faults.finish()?;
    let has_expression = request.projection_expression.is_some();
    check::mixing(
        &[("AttributesToGet", request.attributes_to_get.is_some())],
        &[("ProjectionExpression", has_expression)],
    )?;
    check::substitutions_need_expression(&request.substitutions, has_expression, None)?;
    let legacy = reading::attributes_to_get(request.attributes_to_get.as_deref())?;
    let cache = context.engine.expressions();
    let text = request.projection_expression.as_ref();
    let projection = reading::projection(&request.substitutions, text, cache)?.or(legacy);
    let target = plan::table(context, request.table_name.as_deref().unwrap_or_default())?;
    let key = request.key.unwrap_or_default();
    let mut get = plan::get(target, &key)?;
    get.consistent = request.consistent_read.unwrap_or(false);
    let item = execute::get(context, &get)?;
    if let Some(item) = &item {
        // An item's JSON is a little longer than its size.
        out.reserve(item.size() + item.size() / 4 + 128);
    }
    let mut answer = Object::open(out);
    if let Some(item) = &item {
        reading::item(&mut answer, "Item", item, projection.as_ref());
    }
    if report != Report::None {
        let mut consumed = Consumed::new(get.target.asked_name());
        consumed.table = get.units(item.as_ref());
        output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, report);
    }
    answer.close();
    Ok(())
}
