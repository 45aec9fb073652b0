//! [GetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html).

use crate::capacity::Consumed;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Refusals};
use crate::expression::Projection;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::output;
use crate::operation::queries::reading;
use crate::plan::{self, Access, Get, ItemAccess, ItemRequest};
use crate::request::GetItem;
use crate::value::{Item, Map};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

pub struct Checked<'r> {
    table: &'r str,
    key: &'r Map,
    consistent: bool,
    projection: Option<Projection<'r>>,
    report: CapacityReport,
}

pub struct Plan<'r> {
    get: Get<'r>,
    projection: Option<Projection<'r>>,
    report: CapacityReport,
}

impl Stages for Operation {
    type Request = GetItem;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Option<Item>;

    fn check<'r>(request: &'r mut GetItem, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        if request.table_name.as_deref() == Some("") {
            return Err(check::empty_table_name());
        }
        let mut violations = Violations::new();
        if request.key.is_none() {
            violations.missing("key");
        }
        check::table_name(&mut violations, request.table_name.as_ref())?;
        let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
        check::attributes_to_get(&mut violations, request.attributes_to_get.as_deref(), "attributesToGet");
        violations.finish()?;
        let has_expression = request.projection_expression.is_some();
        check::mixing(
            &[("AttributesToGet", request.attributes_to_get.is_some())],
            &[("ProjectionExpression", has_expression)],
        )?;
        check::substitutions_need_expression(&request.substitutions, has_expression, None)?;
        let legacy = reading::attributes_to_get(request.attributes_to_get.as_deref())?;
        let text = request.projection_expression.as_ref();
        let projection = reading::projection(&request.substitutions, text, caches)?.or(legacy);
        Ok(Checked {
            table: check::text(request.table_name.as_ref()),
            key: check::key(request.key.as_ref()),
            consistent: request.consistent_read.unwrap_or(false),
            projection,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let target = plan::table(context, checked.table)?;
        let mut get = plan::get(target, checked.key)?;
        get.consistent = checked.consistent;
        if let Some(projection) = &checked.projection {
            plan::check_below_keys(get.target.definition(), projection.paths())?;
        }
        Ok(Plan {
            get,
            projection: checked.projection,
            report: checked.report,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Items(ItemAccess {
            return_consumed_capacity: Some(plan.report.name()),
            ..ItemRequest::Get(&plan.get, plan.projection.as_ref()).into()
        }));
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, _: Refusals) -> Result<Option<Item>, ApiError> {
        execute::get(context, &plan.get)
    }

    fn encode(plan: &Plan<'_>, item: Option<Item>, out: &mut Writer) {
        if let Some(item) = &item {
            // An item's JSON is a little longer than its size.
            out.reserve(item.size() + item.size() / 4 + 128);
        }
        let mut answer = Object::open(out);
        if let Some(item) = &item {
            reading::item(&mut answer, "Item", item, plan.projection.as_ref());
        }
        if plan.report != CapacityReport::None {
            let mut consumed = Consumed::new(plan.get.target.requested_name());
            consumed.table = plan.get.units(item.as_ref());
            output::consumed_capacity(answer.member("ConsumedCapacity"), &consumed, plan.report);
        }
        answer.close();
    }
}
