//! [BatchGetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).

use crate::capacity::Consumed;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::{self, RefusalScope, Refusals, is_throttle};
use crate::expression::Projection;
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::output;
use crate::operation::queries::reading;
use crate::plan::{self, Access, Get, ItemAccess, ItemRequest, Target};
use crate::request::{BatchGetItem, BatchKey, KeysAndAttributes};
use crate::value::{Item, Name, Text};
use crate::wire;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

/// The request, and its `RequestItems` as sent, if an error echoes them.
pub struct Request {
    members: BatchGetItem,
    echo: Option<String>,
}

impl Decode for Request {
    fn decode(body: &[u8]) -> Result<Request, ApiError> {
        let members = BatchGetItem::decode(body)?;
        let mut tables = members.request_items.iter().flatten();
        let echo = tables.any(|(name, _)| !output::is_table_name(name)).then(|| {
            let text = wire::reader::member_text(body, "RequestItems");
            text.unwrap_or_default().to_owned()
        });
        Ok(Request { members, echo })
    }
}

type TableKeys = (Text, KeysAndAttributes);

/// The reads of one table.
struct TableGets<'r> {
    requested: &'r TableKeys,
    name: Name,
    gets: Vec<(Get<'r>, &'r BatchKey)>,
    projection: Option<Projection<'r>>,
}

pub struct Checked<'r> {
    tables: &'r [TableKeys],
    projections: Vec<Option<Projection<'r>>>,
    report: CapacityReport,
}

pub struct Plan<'r> {
    tables: Vec<TableGets<'r>>,
    report: CapacityReport,
}

/// The result of reading one table.
pub struct TableRead {
    items: Vec<Item>,
    /// The positions of unprocessed reads.
    unprocessed: Vec<usize>,
    consumed: Consumed,
}

impl Stages for Operation {
    type Request = Request;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Vec<TableRead>;

    const REFUSAL: RefusalScope = RefusalScope::Throttled;

    fn check<'r>(request: &'r mut Request, caches: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let request = &*request;
        let report = check_members(request)?;
        let tables = request.members.request_items.as_deref().unwrap_or_default();
        let projections = check_kinds(tables, caches)?;
        check_values(tables)?;
        check_duplicates(tables)?;
        Ok(Checked {
            tables,
            projections,
            report,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        // All tables must exist before any key is checked against its schema.
        let targets = checked.tables.iter().map(|(name, _)| plan::table(context, name));
        let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
        let tables = checked.tables.iter().zip(checked.projections).zip(targets);
        let tables = tables.map(|((requested, projection), target)| plan_table(target, requested, projection));
        Ok(Plan {
            tables: tables.collect::<Result<_, _>>()?,
            report: checked.report,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        for table in &plan.tables {
            for (get, _) in &table.gets {
                each(Access::Items(ItemAccess {
                    return_consumed_capacity: Some(plan.report.name()),
                    ..ItemRequest::Get(get, table.projection.as_ref()).into()
                }));
            }
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, mut refusals: Refusals) -> Result<Vec<TableRead>, ApiError> {
        let mut bytes = 0;
        let mut throttle = None;
        let mut processed = 0;
        let mut entry = 0;
        let mut reads = Vec::with_capacity(plan.tables.len());
        for table in &plan.tables {
            let mut read = TableRead {
                items: Vec::with_capacity(table.gets.len()),
                unprocessed: Vec::new(),
                consumed: Consumed::new(table.name.clone()),
            };
            for (at, (get, _)) in table.gets.iter().enumerate() {
                let verdict = refusals.of(entry);
                entry += 1;
                if bytes >= limits::BATCH_GET_SIZE {
                    read.unprocessed.push(at);
                    continue;
                }
                match verdict.and_then(|()| execute::get_within(context, get, limits::BATCH_GET_SIZE - bytes)) {
                    Err(error) if is_throttle(&error) => {
                        read.unprocessed.push(at);
                        throttle = Some(error);
                    }
                    Err(error) => return Err(error),
                    Ok(None) => {
                        bytes = limits::BATCH_GET_SIZE;
                        read.unprocessed.push(at);
                    }
                    Ok(Some(item)) => {
                        processed += 1;
                        bytes += item.as_ref().map_or(0, Item::size);
                        read.consumed.table += get.units(item.as_ref());
                        read.items.extend(item);
                    }
                }
            }
            reads.push(read);
        }
        match throttle {
            Some(error) if processed == 0 => Err(error),
            _ => Ok(reads),
        }
    }

    fn encode(plan: &Plan<'_>, reads: Vec<TableRead>, out: &mut Writer) {
        let mut answer = Object::open(out);
        let mut responses = answer.object("Responses");
        for (table, read) in plan.tables.iter().zip(&reads) {
            let mut items = responses.list(&table.requested.0);
            for item in &read.items {
                match &table.projection {
                    None => items.item(item),
                    Some(projection) => items.map(&projection.apply_to(item)),
                }
            }
            items.close();
        }
        responses.close();
        let mut unprocessed = answer.object("UnprocessedKeys");
        for (table, read) in plan.tables.iter().zip(&reads) {
            if !read.unprocessed.is_empty() {
                encode_unprocessed(&mut unprocessed, table, &read.unprocessed);
            }
        }
        unprocessed.close();
        if plan.report != CapacityReport::None {
            output::consumed_capacities(&mut answer, reads.iter().map(|read| &read.consumed), plan.report);
        }
        answer.close();
    }
}

/// Appends the unprocessed reads of a table as they were sent.
fn encode_unprocessed(unprocessed: &mut Object<'_>, read: &TableGets<'_>, rest: &[usize]) {
    let (name, requested) = read.requested;
    let mut table = unprocessed.object(name);
    let mut keys = table.list("Keys");
    rest.iter().for_each(|at| keys.map(&read.gets[*at].1.attributes));
    keys.close();
    if let Some(consistent) = requested.consistent_read {
        table.boolean("ConsistentRead", consistent);
    }
    if let Some(expression) = &requested.projection_expression {
        table.string("ProjectionExpression", expression);
    }
    if let Some(names) = &requested.substitutions.names {
        let mut object = table.object("ExpressionAttributeNames");
        names.iter().for_each(|(alias, name)| object.string(alias, name));
        object.close();
    }
    if let Some(names) = &requested.attributes_to_get {
        table.strings("AttributesToGet", names.iter().map(compact_str::CompactString::as_str));
    }
    table.close();
}

fn check_members(Request { members: request, echo }: &Request) -> Result<CapacityReport, ApiError> {
    // Violations of the moved layer are reported separately.
    let mut violations = Violations::new();
    if let Some(tables) = &request.request_items {
        output::list_length(&mut violations, tables.len(), "RequestItems", limits::BATCH_GET_KEYS);
        for (name, requested) in tables {
            let path = format!("RequestItems.{name}.member.Keys");
            let length = requested.keys.as_ref().map_or(1, Vec::len);
            output::list_length(&mut violations, length, &path, limits::BATCH_GET_KEYS);
        }
    }
    violations.finish()?;
    let mut violations = Violations::new();
    match &request.request_items {
        None => violations.missing("requestItems"),
        Some(tables) => {
            if let Some(echo) = echo {
                violations.value(echo, "requestItems", output::TABLE_NAME_KEYS);
            }
            for (name, _) in tables.iter().filter(|(_, requested)| requested.keys.is_none()) {
                violations.missing(format_args!("requestItems.{name}.member.keys"));
            }
            for (name, requested) in tables {
                let path = format!("requestItems.{name}.member.attributesToGet");
                check::attributes_to_get(&mut violations, requested.attributes_to_get.as_deref(), &path);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    violations.finish()?;
    let keys = request
        .request_items
        .iter()
        .flatten()
        .filter_map(|(_, requested)| requested.keys.as_ref())
        .map(Vec::len);
    if keys.sum::<usize>() > limits::BATCH_GET_KEYS {
        return Err(ApiError::validation(
            "Too many items requested for the BatchGetItem call",
        ));
    }
    Ok(report)
}

/// The projection of each table. An expression and legacy attributes cannot be combined, even on different tables.
fn check_kinds<'r>(tables: &'r [TableKeys], caches: &'r Caches) -> Result<Vec<Option<Projection<'r>>>, ApiError> {
    check::mixing(
        &[(
            "AttributesToGet",
            tables
                .iter()
                .any(|(_, requested)| requested.attributes_to_get.is_some()),
        )],
        &[(
            "ProjectionExpression",
            tables
                .iter()
                .any(|(_, requested)| requested.projection_expression.is_some()),
        )],
    )?;
    let checked = tables.iter().map(|(_, requested)| {
        let text = requested.projection_expression.as_ref();
        check::substitutions_need_expression(&requested.substitutions, text.is_some(), None)?;
        let projection = reading::projection(&requested.substitutions, text, caches)?;
        let legacy = reading::attributes_to_get(requested.attributes_to_get.as_deref())?;
        Ok(projection.or(legacy))
    });
    checked.collect()
}

fn check_values(tables: &[TableKeys]) -> Result<(), ApiError> {
    let mut keys = tables.iter().flat_map(|(_, requested)| requested.keys.iter().flatten());
    keys.find_map(|key| key.violation.clone()).map_or(Ok(()), Err)
}

/// Duplicate keys are found before any table is looked up: keys are compared as they were sent, and numbers that were
/// written differently are parsed once.
fn check_duplicates(tables: &[TableKeys]) -> Result<(), ApiError> {
    for (_, requested) in tables {
        let keys = requested.keys.as_deref().unwrap_or_default();
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].contains(key) {
                return Err(ApiError::duplicate_keys());
            }
        }
    }
    Ok(())
}

fn plan_table<'r>(
    target: Target,
    requested: &'r TableKeys,
    projection: Option<Projection<'r>>,
) -> Result<TableGets<'r>, ApiError> {
    let of_table = &requested.1;
    let keys = of_table.keys.as_deref().unwrap_or_default();
    let mut gets: Vec<(Get<'r>, &'r BatchKey)> = Vec::with_capacity(keys.len());
    for key in keys {
        let mut get = plan::get(target.clone(), &key.attributes)?;
        get.consistent = of_table.consistent_read.unwrap_or(false);
        // Only numbers can be written differently and be equal.
        if key.numbers.is_empty() || gets.iter().all(|(other, _)| other.key != get.key) {
            gets.push((get, key));
        }
    }
    if let Some(projection) = &projection {
        plan::check_below_keys(target.definition(), projection.paths())?;
    }
    Ok(TableGets {
        requested,
        name: target.requested_name(),
        gets,
        projection,
    })
}
