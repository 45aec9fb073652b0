//! Records entries in the journal. Runs only while requests are recorded.

use super::advise;
use super::page_cost::{PageCost, tokens_read};
use crate::capacity::Direction;
use crate::change::{self, Change};
use crate::context::Context;
use crate::error::{ApiError, Detail, ErrorKind, ThrottlingReason};
use crate::journal::{Injected, ItemAction, Permission, RecordedAccess, RequestRecorder};
use crate::plan::{Access, Get, ItemRequest, PageRange, PageRead, Target, VectorSearch, Write, WriteAction};
use crate::schema::{Definition, Index, KeySchema};
use crate::storage::Page;
use crate::value::{Item, Map, Name};

/// The key's attributes of a key or item.
pub(super) fn key_of(schema: &KeySchema, attributes: &Map) -> Map {
    let there = schema.attributes().filter_map(|attribute| {
        let value = attributes.get(&attribute.name)?;
        Some((attribute.name.clone(), value.clone()))
    });
    there.collect()
}

fn item_action(action: &WriteAction<'_>) -> ItemAction {
    match action {
        WriteAction::Put(_) | WriteAction::Insert(_) => ItemAction::Put,
        WriteAction::Update { .. } => ItemAction::Update,
        WriteAction::Delete => ItemAction::Delete,
        WriteAction::Check => ItemAction::ConditionCheck,
    }
}

fn access_of(act: ItemAction, target: &Target, attributes: &Map, token: u64) -> RecordedAccess {
    let mut access = RecordedAccess {
        key: key_of(&target.definition().key, attributes),
        ..RecordedAccess::new(act, target.table.name.clone())
    };
    place(&mut access, target, None, (token, token));
    access
}

/// Records the accessed tokens, and the capacity partitions that they belong to.
fn place(access: &mut RecordedAccess, target: &Target, index: Option<&Index>, (first, last): (u64, u64)) {
    access.tokens = Some((first, last));
    let capacity = &target.table.capacity;
    if capacity.is_counted() {
        // A local index uses the table's capacity.
        let global = index.filter(|index| !index.local).map(|index| index.name.as_str());
        let ledger = capacity.lock();
        let partition = |token| ledger.as_ref().map(|ledger| ledger.partition_of(global, token));
        access.partitions = partition(first).zip(partition(last));
    }
}

/// Records the error of an access, and the limits it exceeded.
fn fail(access: &mut RecordedAccess, error: &ApiError) {
    access.error = Some(error.kind());
    if let Detail::Throttling(reasons) = error.detail() {
        let limit = |reason: &ThrottlingReason| (Name::new(reason.reason), Name::new(&reason.resource));
        access.limits = reasons.iter().map(limit).collect();
    }
}

/// Records an entry that was rejected before its execution.
#[cold]
pub(super) fn refused(context: &Context<'_>, access: &Access<'_, '_>, error: &ApiError) {
    let Access::Items(access) = access else { return };
    context.record(|recorder| match access.request {
        ItemRequest::Write(write) => wrote(recorder, write, Err(error), None),
        ItemRequest::Get(get, _) => read_item(recorder, get, Err(error)),
        ItemRequest::Page(read, range) => paged(recorder, read, range, Err(error)),
        ItemRequest::Search(search) => searched(recorder, search, Err(error)),
    });
}

/// Records the permissions that an entry needs.
#[cold]
pub(super) fn permitted(context: &Context<'_>, access: &Access<'_, '_>) {
    let mut needed = access.also(context);
    needed.push(access.request(context));
    // A repeated transaction needs the same permissions as the first time.
    needed.retain(|request| context.operation != "TransactWriteItems" || request.action != "GetItem");
    context.record(|recorder| {
        for request in needed {
            recorder.need(Permission {
                action: request.action,
                resource: request.resource.as_ref().into(),
                leading_keys: request.partition_keys.map(|[first, ..]| first),
                attributes: request.attributes,
                select: request.select,
                return_values: request.return_values,
            });
        }
    });
}

/// Records an injected failure of an entry.
#[cold]
pub(super) fn injected(context: &Context<'_>, injected: Injected, error: &ApiError) {
    context.record(|recorder| recorder.inject(injected, error.kind()));
}

/// Records a read of one item.
#[cold]
pub(super) fn read_item(recorder: &mut RequestRecorder, get: &Get<'_>, read: Result<Option<&Item>, &ApiError>) {
    let mut access = access_of(ItemAction::Get, &get.target, &get.attributes, get.key.token);
    match read {
        Ok(item) => {
            access.read = get.units(item);
            access.scanned = item.is_some().into();
            recorder.answer(item.is_some().into());
            recorder.spend_read(&access.table, None, access.read);
        }
        Err(error) => {
            fail(&mut access, error);
            recorder.fail(&access.table, error, false);
        }
    }
    recorder.accessed(access);
}

/// Records a single write. One whose condition has failed costs as much as the stored item.
#[cold]
pub(super) fn wrote(
    recorder: &mut RequestRecorder,
    write: &Write<'_>,
    written: Result<&Change, &ApiError>,
    stored: Option<&Item>,
) {
    let mut access = access_of(
        item_action(&write.action),
        &write.target,
        &write.attributes,
        write.key.token,
    );
    match written {
        Ok(change) => {
            let consumed = change.consumed(&access.table);
            access.write = consumed.total();
            recorder.spend(&consumed, Direction::Write);
        }
        Err(error) => {
            fail(&mut access, error);
            recorder.fail(&access.table, error, false);
            if error.kind() == ErrorKind::ConditionalCheckFailed {
                access.write = change::failure_units(write.target.definition(), stored);
                recorder.spend_write(&access.table, None, access.write);
            }
        }
    }
    recorder.accessed(access);
}

/// Records the writes of a transaction that was executed.
#[cold]
pub(super) fn wrote_all<'c>(
    recorder: &mut RequestRecorder,
    writes: &[Result<Write<'_>, ApiError>],
    changes: impl Iterator<Item = &'c Change>,
) {
    for (write, change) in writes.iter().flatten().zip(changes) {
        let consumed = change.consumed(&write.target.table.name);
        recorder.spend(&consumed, Direction::Write);
        let access = access_of(
            item_action(&write.action),
            &write.target,
            &write.attributes,
            write.key.token,
        );
        recorder.accessed(RecordedAccess {
            write: consumed.total(),
            ..access
        });
    }
}

/// Records the writes of a transaction that the commit log has refused.
#[cold]
pub(super) fn refused_all(recorder: &mut RequestRecorder, writes: &[Result<Write<'_>, ApiError>], error: &ApiError) {
    for write in writes.iter().flatten() {
        wrote(recorder, write, Err(error), None);
    }
}

/// Records the writes of a cancelled transaction.
#[cold]
pub(super) fn cancelled_writes(
    recorder: &mut RequestRecorder,
    writes: &[Result<Write<'_>, ApiError>],
    failures: &[Option<ApiError>],
) {
    for (write, failure) in writes.iter().zip(failures) {
        let Ok(write) = write else { continue };
        let access = access_of(
            item_action(&write.action),
            &write.target,
            &write.attributes,
            write.key.token,
        );
        cancelled(recorder, access, failure.as_ref());
    }
}

/// Records the reads of a cancelled transaction.
#[cold]
pub(super) fn cancelled_gets(recorder: &mut RequestRecorder, gets: &[Get<'_>], failures: &[Option<ApiError>]) {
    for (get, failure) in gets.iter().zip(failures) {
        cancelled(
            recorder,
            access_of(ItemAction::Get, &get.target, &get.attributes, get.key.token),
            failure.as_ref(),
        );
    }
}

fn cancelled(recorder: &mut RequestRecorder, mut access: RecordedAccess, failure: Option<&ApiError>) {
    if let Some(error) = failure {
        fail(&mut access, error);
        recorder.fail(&access.table, error, true);
    }
    recorder.accessed(access);
}

/// The possible targets of a Query of a table: the table and its indexes, with the first attribute of each partition
/// key.
fn partition_keys(definition: &Definition) -> Vec<(Option<Name>, Name)> {
    let first = |key: &KeySchema| key.hash.first().map(|attribute| attribute.name.clone());
    let table = first(&definition.key).map(|name| (None, name));
    // A local index has the table's partition key.
    let indexes = definition.globals.iter();
    let indexes = indexes.filter_map(|index| Some((Some(index.name.clone()), first(&index.key)?)));
    table.into_iter().chain(indexes).collect()
}

/// Records a page that was read or rejected, and its cost.
#[cold]
pub(super) fn paged(
    recorder: &mut RequestRecorder,
    read: &PageRead<'_>,
    range: &PageRange<'_>,
    page: Result<(&Page, PageCost), &ApiError>,
) {
    let table = &read.target.table.name;
    let definition = read.target.definition();
    let mut access = RecordedAccess::new(ItemAction::of_range(!range.partition.is_empty()), table.clone());
    access.index = read.index().map(|index| index.name.clone());
    let tokens = page.as_ref().map_or_else(
        |_| (range.keys.tokens().0, range.keys.last_token()),
        |(page, _)| tokens_read(read, &range.keys, page.cut_after()),
    );
    place(&mut access, &read.target, read.index(), tokens);
    access.filter = advise::filter_trace(read, range, recorder.at()).map(Box::new);
    let schema = read.index().map_or(&definition.key, |index| &index.key);
    let values = schema.hash.iter().zip(&range.partition);
    access.key = values
        .map(|(attribute, value)| (attribute.name.clone(), (*value).clone()))
        .collect();
    match page {
        Ok((page, cost)) => {
            let consumed = cost.consumed(read, table);
            access.read = consumed.total();
            access.scanned = page.count() as u64;
            recorder.spend(&consumed, Direction::Read);
        }
        Err(error) => {
            fail(&mut access, error);
            recorder.fail(table, error, false);
        }
    }
    if access.act == ItemAction::Scan {
        recorder.scan(&access, partition_keys(definition));
    }
    recorder.accessed(access);
}

/// Records a search of a vector index and its number of results.
#[cold]
pub(super) fn searched(recorder: &mut RequestRecorder, search: &VectorSearch<'_>, found: Result<usize, &ApiError>) {
    let mut access = RecordedAccess::new(ItemAction::SearchVectors, search.target.table.name.clone());
    access.index = Some(search.index().name.clone());
    match found {
        Ok(found) => recorder.answer(found as u64),
        Err(error) => {
            fail(&mut access, error);
            recorder.fail(&access.table, error, false);
        }
    }
    recorder.accessed(access);
}
