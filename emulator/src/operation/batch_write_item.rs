//! [BatchWriteItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html).

use super::check::{self, Report};
use super::output::{self, Collection};
use super::{dump, single_write};
use crate::capacity::Consumed;
use crate::error::{ApiError, ErrorKind, Violations};
use crate::execute::{self, Action, Context, Write, is_throttle};
use crate::key::Key;
use crate::limits;
use crate::plan::{self, Target, WriteCondition};
use crate::request::{BatchWriteItem, WriteRequest};
use crate::schema::ScalarType;
use crate::value::{Map, SentItem, Text};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The writes of one table, as they were asked for and with the items that are put.
struct TableWrites {
    name: Text,
    writes: Vec<ItemWrite>,
}

enum ItemWrite {
    Put(SentItem),
    Delete(Map),
}

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = BatchWriteItem::decode(body)?;
    let (report, metrics) = check_members(&request)?;
    let tables = read(request)?;
    let mut planned: Vec<(usize, usize, Write<'_>)> = Vec::new();
    let mut targets: Vec<Target> = Vec::with_capacity(tables.len());
    for table in &tables {
        targets.push(plan::table(context, &table.name)?);
    }
    let mut keys = Vec::new();
    for (at, (table, target)) in tables.iter().zip(&targets).enumerate() {
        check_keys(&mut keys, target, &table.writes)?;
        for (number, write) in table.writes.iter().enumerate() {
            planned.push((at, number, plan_write(target.clone(), write)?));
        }
    }
    let mut consumed: Vec<Option<Consumed>> = vec![None; tables.len()];
    let mut unprocessed: Vec<Vec<usize>> = vec![Vec::new(); tables.len()];
    let mut collections: Vec<Vec<Collection>> = tables.iter().map(|_| Vec::new()).collect();
    let mut throttle = None;
    for (at, number, write) in &planned {
        match execute::write(context, write) {
            Err(error) if is_throttle(&error) => {
                unprocessed[*at].push(*number);
                throttle = Some(error);
            }
            // The operation knows no conflict: an item that a transaction holds is one that could not be processed.
            Err(error) if error.kind() == ErrorKind::TransactionConflict => unprocessed[*at].push(*number),
            Err(error) => return Err(error),
            Ok(change) => {
                let cost = change.consumed(&write.target.asked_name(), 1);
                match &mut consumed[*at] {
                    Some(sum) => sum.merge(cost),
                    none => *none = Some(cost),
                }
                if metrics && !write.target.definition().locals.is_empty() {
                    let collection = single_write::collection(write, &change);
                    output::note_collection(&mut collections[*at], collection);
                }
            }
        }
    }
    if let (true, Some(error)) = (consumed.iter().all(Option::is_none), throttle) {
        return Err(error);
    }
    let mut answer = Object::open(out);
    let mut rest = answer.object("UnprocessedItems");
    for (table, numbers) in tables
        .iter()
        .zip(&unprocessed)
        .filter(|(_, numbers)| !numbers.is_empty())
    {
        let mut list = rest.list(&table.name);
        for number in numbers {
            let mut entry = list.object();
            match &table.writes[*number] {
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
        list.close();
    }
    rest.close();
    let collections: Vec<(Text, Vec<Collection>)> = targets.iter().map(Target::asked_name).zip(collections).collect();
    output::batch_collection_metrics(&mut answer, &collections);
    if report != Report::None {
        output::consumed_capacities(&mut answer, consumed.iter().flatten(), report);
    }
    answer.close();
    Ok(())
}

/// The framework's checks: those of the model together, then an empty map, then the names of the tables. So an unknown
/// word hides a bad name, and stands beside a list that is too long (us-east-1, October 2026).
fn check_members(request: &BatchWriteItem) -> Result<(Report, bool), ApiError> {
    let mut faults = Violations::new();
    let report = check::return_consumed_capacity(&mut faults, request.return_consumed_capacity.as_ref());
    let metrics = check::return_item_collection_metrics(&mut faults, request.return_item_collection_metrics.as_ref());
    let Some(tables) = &request.request_items else {
        faults.missing("requestItems");
        return faults.finish().map(|()| (report, metrics));
    };
    let bad_name = tables.iter().any(|(name, _)| !output::is_table_name(name));
    let bad_count = |writes: usize| !(1..=limits::BATCH_WRITES).contains(&writes);
    if tables.iter().any(|(_, writes)| bad_count(writes.len())) {
        if bad_name && faults.is_empty() {
            faults.value(dump::request_items(tables), "requestItems", output::TABLE_NAME_KEYS);
        }
        faults.value(dump::request_items(tables), "requestItems", WRITES_OF_A_TABLE);
    }
    check_writes(&mut faults, tables);
    faults.finish()?;
    if tables.is_empty() {
        return Err(ApiError::validation(
            "The requestItems parameter is required for BatchWriteItem",
        ));
    }
    let mut faults = Violations::new();
    if bad_name {
        faults.value(dump::request_items(tables), "requestItems", output::TABLE_NAME_KEYS);
    }
    faults.finish()?;
    if tables.iter().map(|(_, writes)| writes.len()).sum::<usize>() > limits::BATCH_WRITES {
        return Err(ApiError::validation(
            "Too many items requested for the BatchWriteItem call",
        ));
    }
    Ok((report, metrics))
}

/// What the list of a table's writes has to be, as the service lists it.
const WRITES_OF_A_TABLE: &str = "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]";

/// Checks that each write has an item or a key.
fn check_writes(faults: &mut Violations, tables: &[(Text, Vec<WriteRequest>)]) {
    for (name, writes) in tables {
        for (at, write) in writes.iter().enumerate() {
            let path = format!("requestItems.{name}.member.{}.member", at + 1);
            if write.put_request.as_ref().is_some_and(|put| put.item.is_none()) {
                faults.missing(format_args!("{path}.putRequest.item"));
            }
            if write.delete_request.as_ref().is_some_and(|delete| delete.key.is_none()) {
                faults.missing(format_args!("{path}.deleteRequest.key"));
            }
        }
    }
}

/// The writes, each exactly one put or delete, and no item too large.
fn read(request: BatchWriteItem) -> Result<Vec<TableWrites>, ApiError> {
    let tables = request.request_items.unwrap_or_default();
    let one_of = |write: WriteRequest| {
        if write.put_request.is_some() == write.delete_request.is_some() {
            // The text is the service's, for both and for neither.
            return Err(ApiError::validation(ApiError::AMBIGUOUS_VALUE));
        }
        write.faults.attributes.map_or(Ok(()), Err)?;
        match write.put_request {
            Some(put) => {
                let sent = put.item.unwrap_or_default();
                plan::check_item_size(&sent.item)?;
                Ok(ItemWrite::Put(sent))
            }
            None => Ok(ItemWrite::Delete(
                write.delete_request.and_then(|delete| delete.key).unwrap_or_default(),
            )),
        }
    };
    tables
        .into_iter()
        .map(|(name, writes)| {
            let writes = writes.into_iter().map(one_of).collect::<Result<Vec<_>, _>>()?;
            Ok(TableWrites { name, writes })
        })
        .collect()
}

/// The key of a write. Whatever is wrong about a put's key has the words of a key that does not fit.
fn key_of(target: &Target, write: &ItemWrite) -> Result<Key, ApiError> {
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

/// The keys fit, and none comes twice: whichever fault comes first is said. A table may be asked for by its name and by its
/// ARN, so `keys` has those of all tables.
fn check_keys(keys: &mut Vec<(u64, Key)>, target: &Target, writes: &[ItemWrite]) -> Result<(), ApiError> {
    keys.reserve(writes.len());
    for write in writes {
        let key = (target.table.ordinal, key_of(target, write)?);
        if keys.contains(&key) {
            return Err(ApiError::duplicate_keys());
        }
        keys.push(key);
    }
    Ok(())
}

fn plan_write(target: Target, write: &ItemWrite) -> Result<Write<'_>, ApiError> {
    match write {
        ItemWrite::Put(sent) => plan::put(target, sent, WriteCondition::default()),
        ItemWrite::Delete(key) => plan::keyed(target, key, Action::Delete, WriteCondition::default()),
    }
}
