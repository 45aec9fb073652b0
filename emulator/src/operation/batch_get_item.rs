//! [BatchGetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).

use super::check::{self, Report};
use super::{output, reading};
use crate::capacity::Consumed;
use crate::error::{ApiError, Violations};
use crate::execute::{self, Context, Get, is_throttle};
use crate::expression::Projection;
use crate::limits;
use crate::plan::{self, Target};
use crate::request::{BatchGetItem, BatchKey, KeysAndAttributes};
use crate::value::{Item, Text};
use crate::wire;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

type TableKeys = (Text, KeysAndAttributes);
type Planned<'r> = (Get<'r>, &'r BatchKey);

/// What was read of one table, and what was not.
struct TableRead<'r> {
    asked: &'r TableKeys,
    items: Vec<Item>,
    unprocessed: Vec<&'r BatchKey>,
    projection: Option<Projection<'r>>,
    consumed: Consumed,
}

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = BatchGetItem::decode(body)?;
    let report = check_members(&request, body)?;
    let tables = request.request_items.as_deref().unwrap_or_default();
    let projections = check_kinds(context, tables)?;
    check_values(tables)?;
    check_duplicates(tables)?;
    // All tables are there before a key of any is held against its schema.
    let targets = tables.iter().map(|(name, _)| plan::table(context, name));
    let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
    let mut planned: Vec<(Vec<Planned<'_>>, TableRead<'_>)> = Vec::with_capacity(tables.len());
    for ((asked, projection), target) in tables.iter().zip(projections).zip(targets) {
        planned.push(plan(target, asked, projection)?);
    }
    let mut bytes = 0;
    let mut throttle = None;
    let mut processed = 0;
    for (gets, read) in &mut planned {
        for (get, key) in gets {
            if bytes >= limits::BATCH_GET_SIZE {
                read.unprocessed.push(key);
                continue;
            }
            match execute::get_within(context, get, limits::BATCH_GET_SIZE - bytes) {
                Err(error) if is_throttle(&error) => {
                    read.unprocessed.push(key);
                    throttle = Some(error);
                }
                Err(error) => return Err(error),
                Ok(None) => {
                    bytes = limits::BATCH_GET_SIZE;
                    read.unprocessed.push(key);
                }
                Ok(Some(item)) => {
                    processed += 1;
                    bytes += item.as_ref().map_or(0, Item::size);
                    read.consumed.table += get.units(item.as_ref());
                    read.items.extend(item);
                }
            }
        }
    }
    if let (0, Some(error)) = (processed, throttle) {
        return Err(error);
    }
    let reads: Vec<TableRead<'_>> = planned.into_iter().map(|(_, read)| read).collect();
    encode(out, &reads, report);
    Ok(())
}

fn encode(out: &mut Writer, reads: &[TableRead<'_>], report: Report) {
    let mut answer = Object::open(out);
    let mut responses = answer.object("Responses");
    for read in reads {
        let mut items = responses.list(&read.asked.0);
        for item in &read.items {
            match &read.projection {
                None => items.item(item),
                Some(projection) => items.map(&projection.apply_to(item)),
            }
        }
        items.close();
    }
    responses.close();
    let mut unprocessed = answer.object("UnprocessedKeys");
    for read in reads.iter().filter(|read| !read.unprocessed.is_empty()) {
        let (name, asked) = read.asked;
        let mut table = unprocessed.object(name);
        let mut keys = table.list("Keys");
        read.unprocessed.iter().for_each(|key| keys.map(&key.attributes));
        keys.close();
        if let Some(consistent) = asked.consistent_read {
            table.boolean("ConsistentRead", consistent);
        }
        if let Some(expression) = &asked.projection_expression {
            table.string("ProjectionExpression", expression);
        }
        if let Some(names) = &asked.substitutions.names {
            let mut object = table.object("ExpressionAttributeNames");
            names.iter().for_each(|(alias, name)| object.string(alias, name));
            object.close();
        }
        if let Some(names) = &asked.attributes_to_get {
            table.strings("AttributesToGet", names.iter().map(compact_str::CompactString::as_str));
        }
        table.close();
    }
    unprocessed.close();
    if report != Report::None {
        output::consumed_capacities(&mut answer, reads.iter().map(|read| &read.consumed), report);
    }
    answer.close();
}

fn check_members(request: &BatchGetItem, body: &[u8]) -> Result<Report, ApiError> {
    // What the moved layer says stands alone.
    let mut faults = Violations::new();
    if let Some(tables) = &request.request_items {
        output::list_length(&mut faults, tables.len(), "RequestItems", limits::BATCH_GET_KEYS);
        for (name, asked) in tables {
            let path = format!("RequestItems.{name}.member.Keys");
            let length = asked.keys.as_ref().map_or(1, Vec::len);
            output::list_length(&mut faults, length, &path, limits::BATCH_GET_KEYS);
        }
    }
    faults.finish()?;
    let mut faults = Violations::new();
    match &request.request_items {
        None => faults.missing("requestItems"),
        Some(tables) => {
            if tables.iter().any(|(name, _)| !output::is_table_name(name)) {
                // The map is echoed as it was received.
                let echo = wire::reader::member_text(body, "RequestItems").unwrap_or_default();
                faults.value(echo, "requestItems", output::TABLE_NAME_KEYS);
            }
            for (name, _) in tables.iter().filter(|(_, asked)| asked.keys.is_none()) {
                faults.missing(format_args!("requestItems.{name}.member.keys"));
            }
            for (name, asked) in tables {
                let path = format!("requestItems.{name}.member.attributesToGet");
                check::attributes_to_get(&mut faults, asked.attributes_to_get.as_deref(), &path);
            }
        }
    }
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    faults.finish()?;
    let keys = request
        .request_items
        .iter()
        .flatten()
        .filter_map(|(_, asked)| asked.keys.as_ref())
        .map(Vec::len);
    if keys.sum::<usize>() > limits::BATCH_GET_KEYS {
        return Err(ApiError::validation(
            "Too many items requested for the BatchGetItem call",
        ));
    }
    Ok(report)
}

/// The projection of each table. A projection here and legacy attributes there do not go together, even on different
/// tables.
fn check_kinds<'r>(context: &Context<'r>, tables: &'r [TableKeys]) -> Result<Vec<Option<Projection<'r>>>, ApiError> {
    check::mixing(
        &[(
            "AttributesToGet",
            tables.iter().any(|(_, asked)| asked.attributes_to_get.is_some()),
        )],
        &[(
            "ProjectionExpression",
            tables.iter().any(|(_, asked)| asked.projection_expression.is_some()),
        )],
    )?;
    let cache = context.engine.expressions();
    let checked = tables.iter().map(|(_, asked)| {
        let text = asked.projection_expression.as_ref();
        check::substitutions_need_expression(&asked.substitutions, text.is_some(), None)?;
        let projection = reading::projection(&asked.substitutions, text, cache)?;
        let legacy = reading::attributes_to_get(asked.attributes_to_get.as_deref())?;
        Ok(projection.or(legacy))
    });
    checked.collect()
}

fn check_values(tables: &[TableKeys]) -> Result<(), ApiError> {
    let mut keys = tables.iter().flat_map(|(_, asked)| asked.keys.iter().flatten());
    keys.find_map(|key| key.fault.clone()).map_or(Ok(()), Err)
}

/// The same key twice is found before any table is looked up: keys are compared as they were sent, and numbers that were
/// written differently are read once.
fn check_duplicates(tables: &[TableKeys]) -> Result<(), ApiError> {
    for (_, asked) in tables {
        let keys = asked.keys.as_deref().unwrap_or_default();
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].contains(key) {
                return Err(ApiError::duplicate_keys());
            }
        }
    }
    Ok(())
}

fn plan<'r>(
    target: Target,
    asked: &'r TableKeys,
    projection: Option<Projection<'r>>,
) -> Result<(Vec<Planned<'r>>, TableRead<'r>), ApiError> {
    let of_table = &asked.1;
    let keys = of_table.keys.as_deref().unwrap_or_default();
    let mut gets: Vec<Planned<'_>> = Vec::with_capacity(keys.len());
    for key in keys {
        let mut get = plan::get(target.clone(), &key.attributes)?;
        get.consistent = of_table.consistent_read.unwrap_or(false);
        // Only numbers can be written differently and be the same.
        if key.numbers.is_empty() || gets.iter().all(|(other, _)| other.key != get.key) {
            gets.push((get, key));
        }
    }
    let consumed = Consumed::new(target.asked_name());
    Ok((
        gets,
        TableRead {
            asked,
            items: Vec::new(),
            unprocessed: Vec::new(),
            projection,
            consumed,
        },
    ))
}
