//! [TransactGetItems](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html).

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, RefusalScope, Refusals, cancellation_reason};
use crate::expression::Projection;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::dump;
use crate::operation::output;
use crate::operation::queries::reading;
use crate::operation::transactions::transaction::{self, TransactionItems};
use crate::plan::{self, Access, Get, ItemAccess, ItemRequest};
use crate::request::{TransactGet, TransactGetItems};
use crate::value::Item;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

pub struct Checked<'r> {
    gets: Vec<&'r TransactGet>,
    projections: Vec<Option<Projection<'r>>>,
    report: CapacityReport,
}

pub struct Plan<'r> {
    gets: Vec<Get<'r>>,
    projections: Vec<Option<Projection<'r>>>,
    report: CapacityReport,
}

impl Stages for Operation {
    type Request = TransactGetItems;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Vec<Option<Item>>;

    const REFUSAL: RefusalScope = RefusalScope::Transaction;

    fn check<'r>(request: &'r mut TransactGetItems, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let report = check_members(request)?;
        let actions = request.transact_items.as_deref().unwrap_or_default();
        let gets: Vec<&TransactGet> = actions.iter().filter_map(|action| action.get.as_ref()).collect();
        let projections = actions.iter().zip(&gets).map(|(action, get)| {
            check::substitutions_need_expression(&get.substitutions, get.projection_expression.is_some(), None)?;
            let projection = reading::projection(&get.substitutions, get.projection_expression.as_ref(), caches)?;
            action.violations.attributes.clone().map_or(Ok(projection), Err)
        });
        Ok(Checked {
            projections: projections.collect::<Result<_, _>>()?,
            gets,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        Ok(Plan {
            gets: plan_all(context, &checked.gets, &checked.projections)?,
            projections: checked.projections,
            report: checked.report,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        for (get, projection) in plan.gets.iter().zip(&plan.projections) {
            each(Access::Items(ItemAccess {
                return_consumed_capacity: Some(plan.report.name()),
                ..ItemRequest::Get(get, projection.as_ref()).into()
            }));
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, refusals: Refusals) -> Result<Vec<Option<Item>>, ApiError> {
        let items = execute::transact_get(context, &plan.gets, refusals)?;
        transaction::check_response(&items)?;
        Ok(items)
    }

    fn encode(plan: &Plan<'_>, items: Vec<Option<Item>>, out: &mut Writer) {
        out.order_number_sets_by_hash();
        let mut answer = Object::open(out);
        let mut responses = answer.list("Responses");
        for (item, projection) in items.iter().zip(&plan.projections) {
            let mut response = responses.object();
            if let Some(item) = item {
                reading::item(&mut response, "Item", item, projection.as_ref());
            }
            response.close();
        }
        responses.close();
        if plan.report != CapacityReport::None {
            let consumed = transaction::read(&plan.gets, &items);
            output::consumed_capacities(&mut answer, consumed.iter(), plan.report);
        }
        answer.close();
    }
}

fn check_members(request: &TransactGetItems) -> Result<CapacityReport, ApiError> {
    let mut violations = Violations::new();
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    match request.transact_items.as_deref() {
        None => violations.missing("transactItems"),
        Some(items) => {
            transaction::check_count(&mut violations, items.len(), || dump::transact_gets(items));
            for (at, item) in items.iter().enumerate() {
                let path = format!("transactItems.{}.member.get", at + 1);
                let Some(get) = &item.get else {
                    violations.missing(path);
                    continue;
                };
                check::echoed_table_name(&mut violations, get.table_name.as_ref(), &format!("{path}.tableName"));
                if get.key.is_none() {
                    violations.missing(format_args!("{path}.key"));
                }
            }
        }
    }
    violations.finish()?;
    Ok(report)
}

/// Finds the tables, rejects duplicate items, and plans the reads: a key or a projection that does not match the schema
/// cancels the transaction.
fn plan_all<'r>(
    context: &Context<'_>,
    requested: &[&'r TransactGet],
    projections: &[Option<Projection<'_>>],
) -> Result<Vec<Get<'r>>, ApiError> {
    let mut targets = Vec::with_capacity(requested.len());
    let mut seen = TransactionItems::default();
    for get in requested {
        let target = plan::table(context, get.table_name.as_deref().unwrap_or_default())?;
        if !seen.add(&target, check::key(get.key.as_ref())) {
            return Err(ApiError::duplicate_transaction_item());
        }
        targets.push(target);
    }
    let planned = requested
        .iter()
        .zip(targets)
        .zip(projections)
        .map(|((get, target), projection)| {
            let get = plan::transact_get(target, check::key(get.key.as_ref()))?;
            if let Some(projection) = projection {
                plan::check_below_keys(get.target.definition(), projection.paths())?;
            }
            Ok(get)
        });
    let planned: Vec<Result<Get<'r>, ApiError>> = planned.collect();
    if planned.iter().all(Result::is_ok) {
        return Ok(planned.into_iter().flatten().collect());
    }
    Err(ApiError::transaction_cancelled(
        planned
            .into_iter()
            .map(|each| cancellation_reason(each.err()))
            .collect(),
    ))
}
