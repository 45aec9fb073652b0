//! [TransactGetItems](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html).

use super::check::{self, Report};
use super::transaction::{self, Items};
use super::{dump, output, reading};
use crate::error::{ApiError, Violations};
use crate::execute::{self, Context, Get, cancellation_reason};
use crate::expression::Projection;
use crate::plan;
use crate::request::{TransactGet, TransactGetItems};
use crate::value::{Item, Map};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = TransactGetItems::decode(body)?;
    let report = check_members(&request)?;
    let actions = request.transact_items.as_deref().unwrap_or_default();
    let asked: Vec<&TransactGet> = actions.iter().filter_map(|action| action.get.as_ref()).collect();
    let cache = context.engine.expressions();
    let projections = actions
        .iter()
        .zip(&asked)
        .map(|(action, get)| {
            check::substitutions_need_expression(&get.substitutions, get.projection_expression.is_some(), None)?;
            let projection = reading::projection(&get.substitutions, get.projection_expression.as_ref(), cache)?;
            action.faults.attributes.clone().map_or(Ok(projection), Err)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let gets = plan_all(context, &asked)?;
    let items = execute::transact_get(context, &gets)?;
    transaction::check_response(&items)?;
    encode(out, &gets, &items, &projections, report);
    Ok(())
}

fn check_members(request: &TransactGetItems) -> Result<Report, ApiError> {
    let mut faults = Violations::new();
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    match request.transact_items.as_deref() {
        None => faults.missing("transactItems"),
        Some(items) => {
            transaction::check_count(&mut faults, items.len(), || dump::transact_gets(items));
            for (at, item) in items.iter().enumerate() {
                let path = format!("transactItems.{}.member.get", at + 1);
                let Some(get) = &item.get else {
                    faults.missing(path);
                    continue;
                };
                check::echoed_table_name(&mut faults, get.table_name.as_ref(), &format!("{path}.tableName"));
                if get.key.is_none() {
                    faults.missing(format_args!("{path}.key"));
                }
            }
        }
    }
    faults.finish()?;
    Ok(report)
}

/// The tables, no item twice, and keys that fit: one that does not cancels the transaction.
fn plan_all<'r>(context: &Context<'_>, asked: &[&'r TransactGet]) -> Result<Vec<Get<'r>>, ApiError> {
    static NO_KEY: Map = Map::new();
    let mut targets = Vec::with_capacity(asked.len());
    let mut seen = Items::default();
    for get in asked {
        let target = plan::table(context, get.table_name.as_deref().unwrap_or_default())?;
        if !seen.add(&target, get.key.as_ref().unwrap_or(&NO_KEY)) {
            return Err(ApiError::duplicate_transaction_item());
        }
        targets.push(target);
    }
    let planned = asked
        .iter()
        .zip(targets)
        .map(|(get, target)| plan::transact_get(target, get.key.as_ref().unwrap_or(&NO_KEY)));
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

fn encode(
    out: &mut Writer,
    gets: &[Get<'_>],
    items: &[Option<Item>],
    projections: &[Option<Projection<'_>>],
    report: Report,
) {
    out.order_number_sets_by_hash();
    let mut answer = Object::open(out);
    let mut responses = answer.list("Responses");
    for (item, projection) in items.iter().zip(projections) {
        let mut response = responses.object();
        if let Some(item) = item {
            reading::item(&mut response, "Item", item, projection.as_ref());
        }
        response.close();
    }
    responses.close();
    if report != Report::None {
        let consumed = transaction::read(gets, items);
        output::consumed_capacities(&mut answer, consumed.iter(), report);
    }
    answer.close();
}
