//! [BatchWriteItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html).

use crate::capacity::Consumed;
use crate::change::Change;
use crate::context::{Caches, Context};
use crate::error::{ApiError, ErrorKind, Violations};
use crate::execute::{self, RefusalScope, Refusals, is_throttle};
use crate::key::Key;
use crate::limits;
use crate::operation::check::{self, CapacityReport};
use crate::operation::drive::Stages;
use crate::operation::dump;
use crate::operation::items::single_write;
use crate::operation::output::{self, Collection};
use crate::plan::{self, Access, ItemAccess, Target, Write, WriteAction, WriteCondition};
use crate::request::{BatchWriteItem, WriteRequest};
use crate::schema::ScalarType;
use crate::value::{Map, SentItem, Text};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

pub struct Operation;

/// The writes of one table.
struct TableWrites<'r> {
    name: &'r str,
    writes: Vec<ItemWrite<'r>>,
}

#[derive(Clone, Copy)]
enum ItemWrite<'r> {
    Put(&'r SentItem),
    Delete(&'r Map),
}

pub struct Checked<'r> {
    tables: Vec<TableWrites<'r>>,
    report: CapacityReport,
    metrics: bool,
}

pub struct Plan<'r> {
    tables: Vec<TableWrites<'r>>,
    targets: Vec<Target>,
    /// The writes, each with the position of its table, and its own among those of the table.
    writes: Vec<(usize, usize, Write<'r>)>,
    report: CapacityReport,
    metrics: bool,
}

/// The result of the writes, by table.
pub struct Outcome {
    consumed: Vec<Option<Consumed>>,
    unprocessed: Vec<Vec<usize>>,
    collections: Vec<Vec<Collection>>,
}

impl Stages for Operation {
    type Request = BatchWriteItem;
    type Checked<'r> = Checked<'r>;
    type Plan<'r> = Plan<'r>;
    type Outcome = Outcome;

    const REFUSAL: RefusalScope = RefusalScope::Throttled;

    fn check<'r>(request: &'r mut BatchWriteItem, _: &'r Caches) -> Result<Checked<'r>, ApiError> {
        let (report, metrics) = check_members(request)?;
        let tables = read(request)?;
        Ok(Checked {
            tables,
            report,
            metrics,
        })
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Checked<'r>) -> Result<Plan<'r>, ApiError> {
        let Checked {
            tables,
            report,
            metrics,
        } = checked;
        let targets = tables.iter().map(|table| plan::table(context, table.name));
        let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
        let mut writes = Vec::new();
        let mut keys = Vec::new();
        for (at, (table, target)) in tables.iter().zip(&targets).enumerate() {
            check_keys(&mut keys, target, &table.writes)?;
            for (number, write) in table.writes.iter().enumerate() {
                writes.push((at, number, plan_write(target.clone(), *write)?));
            }
        }
        Ok(Plan {
            tables,
            targets,
            writes,
            report,
            metrics,
        })
    }

    fn access(plan: &Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        for (_, _, write) in &plan.writes {
            each(Access::Items(ItemAccess {
                return_consumed_capacity: Some(plan.report.name()),
                ..ItemAccess::from(write)
            }));
        }
    }

    fn execute(context: &Context<'_>, plan: &Plan<'_>, mut refusals: Refusals) -> Result<Outcome, ApiError> {
        let mut outcome = Outcome {
            consumed: vec![None; plan.tables.len()],
            unprocessed: vec![Vec::new(); plan.tables.len()],
            collections: plan.tables.iter().map(|_| Vec::new()).collect(),
        };
        let mut throttle = None;
        for (entry, (at, number, write)) in plan.writes.iter().enumerate() {
            match refusals.of(entry).and_then(|()| execute::write(context, write)) {
                Err(error) if is_throttle(&error) => {
                    outcome.unprocessed[*at].push(*number);
                    throttle = Some(error);
                }
                // The operation never reports a conflict: an item locked by a transaction is returned as unprocessed.
                Err(error) if error.kind() == ErrorKind::TransactionConflict => outcome.unprocessed[*at].push(*number),
                Err(error) => return Err(error),
                Ok(change) => outcome.add(*at, write, &change, plan.metrics),
            }
        }
        match throttle {
            Some(error) if outcome.consumed.iter().all(Option::is_none) => Err(error),
            _ => Ok(outcome),
        }
    }

    fn encode(plan: &Plan<'_>, outcome: Outcome, out: &mut Writer) {
        let mut answer = Object::open(out);
        let mut rest = answer.object("UnprocessedItems");
        let by_table = plan.tables.iter().zip(&outcome.unprocessed);
        for (table, numbers) in by_table.filter(|(_, numbers)| !numbers.is_empty()) {
            let mut list = rest.list(table.name);
            for number in numbers {
                table.writes[*number].encode(&mut list);
            }
            list.close();
        }
        rest.close();
        let names = plan.targets.iter().map(Target::requested_name);
        let collections: Vec<(Text, Vec<Collection>)> = names.zip(outcome.collections).collect();
        output::batch_collection_metrics(&mut answer, &collections);
        if plan.report != CapacityReport::None {
            output::consumed_capacities(&mut answer, outcome.consumed.iter().flatten(), plan.report);
        }
        answer.close();
    }
}

impl Outcome {
    /// Adds the result of a write.
    fn add(&mut self, table: usize, write: &Write<'_>, change: &Change, metrics: bool) {
        let cost = change.consumed(&write.target.requested_name());
        match &mut self.consumed[table] {
            Some(sum) => sum.merge(cost),
            none => *none = Some(cost),
        }
        if metrics && !write.target.definition().locals.is_empty() {
            let collection = single_write::collection(write, change);
            output::note_collection(&mut self.collections[table], collection);
        }
    }
}

impl ItemWrite<'_> {
    /// Appends the write as it was sent.
    fn encode(self, list: &mut List<'_>) {
        let mut entry = list.object();
        match self {
            ItemWrite::Put(sent) => {
                let mut put = entry.object("PutRequest");
                put.item("Item", &sent.item);
                put.close();
            }
            ItemWrite::Delete(key) => {
                let mut delete = entry.object("DeleteRequest");
                delete.map("Key", key);
                delete.close();
            }
        }
        entry.close();
    }
}

/// The model's constraints first, all reported together, then an empty map, then the names of the tables. So an unknown
/// enumeration value hides an invalid name, and is reported together with a list that is too long (us-east-1, October
/// 2026).
fn check_members(request: &BatchWriteItem) -> Result<(CapacityReport, bool), ApiError> {
    let mut violations = Violations::new();
    let report = check::return_consumed_capacity(&mut violations, request.return_consumed_capacity.as_ref());
    let metrics =
        check::return_item_collection_metrics(&mut violations, request.return_item_collection_metrics.as_ref());
    let Some(tables) = &request.request_items else {
        violations.missing("requestItems");
        return violations.finish().map(|()| (report, metrics));
    };
    let bad_name = tables.iter().any(|(name, _)| !output::is_table_name(name));
    let bad_count = |writes: usize| !(1..=limits::BATCH_WRITES).contains(&writes);
    if tables.iter().any(|(_, writes)| bad_count(writes.len())) {
        if bad_name && violations.is_empty() {
            violations.value(dump::request_items(tables), "requestItems", output::TABLE_NAME_KEYS);
        }
        violations.value(dump::request_items(tables), "requestItems", WRITES_OF_A_TABLE);
    }
    check_writes(&mut violations, tables);
    violations.finish()?;
    if tables.is_empty() {
        return Err(ApiError::validation(
            "The requestItems parameter is required for BatchWriteItem",
        ));
    }
    let mut violations = Violations::new();
    if bad_name {
        violations.value(dump::request_items(tables), "requestItems", output::TABLE_NAME_KEYS);
    }
    violations.finish()?;
    if tables.iter().map(|(_, writes)| writes.len()).sum::<usize>() > limits::BATCH_WRITES {
        return Err(ApiError::validation(
            "Too many items requested for the BatchWriteItem call",
        ));
    }
    Ok((report, metrics))
}

/// The constraints on the list of a table's writes, as the service prints them.
const WRITES_OF_A_TABLE: &str = "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]";

/// Checks that each write has an item or a key.
fn check_writes(violations: &mut Violations, tables: &[(Text, Vec<WriteRequest>)]) {
    for (name, writes) in tables {
        for (at, write) in writes.iter().enumerate() {
            let path = format!("requestItems.{name}.member.{}.member", at + 1);
            if write.put_request.as_ref().is_some_and(|put| put.item.is_none()) {
                violations.missing(format_args!("{path}.putRequest.item"));
            }
            if write.delete_request.as_ref().is_some_and(|delete| delete.key.is_none()) {
                violations.missing(format_args!("{path}.deleteRequest.key"));
            }
        }
    }
}

/// The writes, each exactly one put or delete, and no item too large.
fn read(request: &BatchWriteItem) -> Result<Vec<TableWrites<'_>>, ApiError> {
    let tables = request.request_items.as_deref().unwrap_or_default();
    let tables = tables.iter().map(|(name, writes)| {
        let writes = writes.iter().map(read_write).collect::<Result<Vec<_>, _>>()?;
        Ok(TableWrites { name, writes })
    });
    tables.collect()
}

fn read_write(write: &WriteRequest) -> Result<ItemWrite<'_>, ApiError> {
    if write.put_request.is_some() == write.delete_request.is_some() {
        // The service uses the same text for both and for neither.
        return Err(ApiError::validation(ApiError::AMBIGUOUS_VALUE));
    }
    write.violations.attributes.clone().map_or(Ok(()), Err)?;
    if let Some(sent) = write.put_request.as_ref().and_then(|put| put.item.as_ref()) {
        plan::check_item_size(&sent.item)?;
        return Ok(ItemWrite::Put(sent));
    }
    let delete = write.delete_request.as_ref();
    Ok(ItemWrite::Delete(check::key(
        delete.and_then(|delete| delete.key.as_ref()),
    )))
}

/// The key of a write. Every error in a put's key has the text of a key that does not match the schema.
fn key_of(target: &Target, write: ItemWrite<'_>) -> Result<Key, ApiError> {
    let schema = &target.definition().key;
    match write {
        ItemWrite::Delete(key) => Key::of_key(schema, key),
        ItemWrite::Put(sent) => {
            let fits = |name: &str, kind: ScalarType| sent.attributes.get(name).is_some_and(|value| kind.fits(value));
            if !schema
                .attributes()
                .all(|attribute| fits(&attribute.name, attribute.kind))
            {
                return Err(ApiError::key_mismatch());
            }
            Key::of_item(schema, &sent.attributes)
        }
    }
}

/// Checks that the keys match the schema and that none occurs twice, in order. A table may be named by its name and by
/// its ARN, so `keys` has the keys of all tables.
fn check_keys(keys: &mut Vec<(u64, Key)>, target: &Target, writes: &[ItemWrite<'_>]) -> Result<(), ApiError> {
    keys.reserve(writes.len());
    for write in writes {
        let key = (target.table.ordinal, key_of(target, *write)?);
        if keys.contains(&key) {
            return Err(ApiError::duplicate_keys());
        }
        keys.push(key);
    }
    Ok(())
}

fn plan_write(target: Target, write: ItemWrite<'_>) -> Result<Write<'_>, ApiError> {
    match write {
        ItemWrite::Put(sent) => plan::put(target, sent, WriteCondition::default()),
        ItemWrite::Delete(key) => plan::keyed(target, key, WriteAction::Delete, WriteCondition::default()),
    }
}
