//! The operations of the API, one file each, in folders by feature. `drive` runs their stages: decode, check, plan, authorize,
//! execute, encode. The emulator's own controls are in `control`.

mod arn;
mod backups;
mod check;
mod control;
mod drive;
mod dump;
mod global_tables;
mod insights;
mod items;
mod kinesis;
mod output;
mod policies;
mod queries;
mod statements;
mod streams;
mod tables;
mod tags;
mod transactions;
mod transfers;

pub use control::{Allowed, CONTROLS, Control, Returns, Takes, answer as control_answer};

use crate::context::Context;
use crate::error::ApiError;
use crate::wire::encode::Writer;
use crate::wire::envelope::Service;

/// An operation of the API, with all that dispatch needs.
///
/// ```
/// use dynatwin_engine::api::OPERATIONS;
///
/// let mut names = OPERATIONS.iter().map(|operation| operation.name);
/// assert!(names.any(|name| name == "PutItem"));
/// ```
pub struct Operation {
    /// The service that `X-Amz-Target` names.
    pub service: Service,
    /// The name of the operation in `X-Amz-Target`.
    pub name: &'static str,
    /// Runs a request: reads its body, writes the response body.
    pub(crate) run: fn(&Context<'_>, &[u8], &mut Writer) -> Result<(), ApiError>,
}

macro_rules! operations {
    (@service) => { Service::DynamoDb };
    (@service $service:ident) => { Service::$service };
    ($($name:literal => $group:ident::$module:ident $(of $service:ident)?,)*) => {
        &[$(Operation {
            service: operations!(@service $($service)?),
            name: $name,
            run: drive::drive::<$group::$module::Operation>,
        },)*]
    };
}

/// Operations whose duration depends on the size of a table, or of objects in a bucket.
const LONG: &[&[u8]] = &[
    b"CreateBackup",
    b"DeleteBackup",
    b"DeleteTable",
    b"ExportTableToPointInTime",
    b"ImportTable",
    b"RestoreTableFromBackup",
    b"RestoreTableToPointInTime",
    b"SearchVectors",
    b"StartBulkPutItems",
    b"UpdateContinuousBackups",
    b"UpdateTable",
    b"UpdateTimeToLive",
];

/// Operations that may apply all due deletions by time to live of a table before they read.
const AWAITING_DUE_WORK: &[&[u8]] = &[
    b"DescribeTable",
    b"ExecuteStatement",
    b"GetRecords",
    b"GetShardIterator",
    b"Query",
    b"Scan",
];

fn name_of(target: &[u8]) -> &[u8] {
    target.rsplit(|byte| *byte == b'.').next().unwrap_or_default()
}

/// Whether the duration of the operation in an `X-Amz-Target` depends on the size of a table or of a transfer.
pub fn may_take_long(target: &[u8]) -> bool {
    is_long(name_of(target))
}

/// Whether the duration of the operation in an `X-Amz-Target` depends on the number of due deletions.
#[cold]
pub fn may_await_due_work(target: &[u8]) -> bool {
    AWAITING_DUE_WORK.contains(&name_of(target))
}

/// Whether the duration of the operation of this name depends on the size of a table or of a transfer.
#[inline]
pub fn is_long(name: &[u8]) -> bool {
    // The shortest of them is longer than the names of the most frequent operations.
    name.len() >= 11 && LONG.contains(&name)
}

/// All operations, by name. Any other name is answered with `UnknownOperationException`.
///
/// ```
/// use dynatwin_engine::api::OPERATIONS;
///
/// assert!(OPERATIONS.iter().any(|operation| operation.name == "PutItem"));
/// ```
pub static OPERATIONS: &[Operation] = operations! {
    "BatchExecuteStatement" => statements::batch_execute_statement,
    "BatchGetItem" => items::batch_get_item,
    "BatchWriteItem" => items::batch_write_item,
    "CancelBulkOperation" => transfers::cancel_bulk_operation,
    "CreateBackup" => backups::create_backup,
    "CreateGlobalTable" => global_tables::create_global_table,
    "CreateTable" => tables::create_table,
    "DeleteBackup" => backups::delete_backup,
    "DeleteItem" => items::delete_item,
    "DeleteResourcePolicy" => policies::delete_resource_policy,
    "DeleteTable" => tables::delete_table,
    "DescribeBackup" => backups::describe_backup,
    "DescribeBulkOperation" => transfers::describe_bulk_operation,
    "DescribeContinuousBackups" => backups::describe_continuous_backups,
    "DescribeContributorInsights" => insights::describe_contributor_insights,
    "DescribeEndpoints" => tables::describe_endpoints,
    "DescribeExport" => transfers::describe_export,
    "DescribeGlobalTable" => global_tables::describe_global_table,
    "DescribeGlobalTableSettings" => global_tables::describe_global_table_settings,
    "DescribeImport" => transfers::describe_import,
    "DescribeKinesisStreamingDestination" => kinesis::describe_kinesis_streaming_destination,
    "DescribeLimits" => tables::describe_limits,
    "DescribeStream" => streams::describe_stream of Streams,
    "DescribeTable" => tables::describe_table,
    "DescribeTableReplicaAutoScaling" => global_tables::describe_table_replica_auto_scaling,
    "DescribeTimeToLive" => tables::describe_time_to_live,
    "DisableKinesisStreamingDestination" => kinesis::disable_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination" => kinesis::enable_kinesis_streaming_destination,
    "ExecuteStatement" => statements::execute_statement,
    "ExecuteTransaction" => statements::execute_transaction,
    "ExportTableToPointInTime" => transfers::export_table_to_point_in_time,
    "GetItem" => items::get_item,
    "GetRecords" => streams::get_records of Streams,
    "GetResourcePolicy" => policies::get_resource_policy,
    "GetShardIterator" => streams::get_shard_iterator of Streams,
    "ImportTable" => transfers::import_table,
    "ListBackups" => backups::list_backups,
    "ListBulkOperations" => transfers::list_bulk_operations,
    "ListContributorInsights" => insights::list_contributor_insights,
    "ListExports" => transfers::list_exports,
    "ListGlobalTables" => global_tables::list_global_tables,
    "ListImports" => transfers::list_imports,
    "ListStreams" => streams::list_streams of Streams,
    "ListTables" => tables::list_tables,
    "ListTagsOfResource" => tags::list_tags_of_resource,
    "PutItem" => items::put_item,
    "PutResourcePolicy" => policies::put_resource_policy,
    "Query" => queries::query,
    "RestoreTableFromBackup" => backups::restore_table_from_backup,
    "RestoreTableToPointInTime" => backups::restore_table_to_point_in_time,
    "Scan" => queries::scan,
    "SearchVectors" => queries::search_vectors,
    "StartBulkPutItems" => transfers::start_bulk_put_items,
    "TagResource" => tags::tag_resource,
    "TransactGetItems" => transactions::transact_get_items,
    "TransactWriteItems" => transactions::transact_write_items,
    "UntagResource" => tags::untag_resource,
    "UpdateContinuousBackups" => backups::update_continuous_backups,
    "UpdateContributorInsights" => insights::update_contributor_insights,
    "UpdateGlobalTable" => global_tables::update_global_table,
    "UpdateGlobalTableSettings" => global_tables::update_global_table_settings,
    "UpdateItem" => items::update_item,
    "UpdateKinesisStreamingDestination" => kinesis::update_kinesis_streaming_destination,
    "UpdateTable" => tables::update_table,
    "UpdateTableReplicaAutoScaling" => global_tables::update_table_replica_auto_scaling,
    "UpdateTimeToLive" => tables::update_time_to_live,
};

/// Finds a service's operation by name.
pub fn find(service: Service, name: &str) -> Option<&'static Operation> {
    of_name(name).filter(|operation| operation.service == service)
}

/// Finds an operation of either service by name: no name is in both.
pub fn of_name(name: &str) -> Option<&'static Operation> {
    let first = usize::from(*LENGTHS.get(name.len())?);
    let as_long = BY_LENGTH[first..].iter().map(|&at| &OPERATIONS[usize::from(at)]);
    let mut as_long = as_long.take_while(|operation| operation.name.len() == name.len());
    as_long.find(|operation| operation.name == name)
}

/// The positions of the operations, ordered by the length of their names, so that a lookup compares few names.
static BY_LENGTH: [u8; OPERATIONS.len()] = by_length();

/// The position in `BY_LENGTH` of the first name of each length.
static LENGTHS: [u8; LONGEST + 1] = lengths();

/// An upper bound on the length of names.
const LONGEST: usize = 63;

const fn by_length() -> [u8; OPERATIONS.len()] {
    let mut places = [0; OPERATIONS.len()];
    let (mut filled, mut length) = (0, 0);
    while length <= LONGEST {
        let mut at = 0;
        while at < OPERATIONS.len() {
            if OPERATIONS[at].name.len() == length {
                places[filled] = at as u8;
                filled += 1;
            }
            at += 1;
        }
        length += 1;
    }
    assert!(filled == OPERATIONS.len(), "a name is longer than the longest");
    places
}

const fn lengths() -> [u8; LONGEST + 1] {
    let mut first = [0; LONGEST + 1];
    let mut at = 0;
    while at < OPERATIONS.len() {
        let mut longer = OPERATIONS[at].name.len() + 1;
        while longer <= LONGEST {
            first[longer] += 1;
            longer += 1;
        }
        at += 1;
    }
    first
}

/// The service that has an operation of this name.
pub fn service_of(name: &str) -> Service {
    of_name(name).map_or(Service::DynamoDb, |operation| operation.service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name() {
        for operation in OPERATIONS {
            let found = find(operation.service, operation.name).map(|found| found.name);
            assert_eq!(found, Some(operation.name));
            let other = match operation.service {
                Service::DynamoDb => Service::Streams,
                Service::Streams => Service::DynamoDb,
            };
            assert!(find(other, operation.name).is_none());
            assert_eq!(service_of(operation.name), operation.service);
        }
        assert!(find(Service::DynamoDb, "putItem").is_none());
    }

    #[test]
    fn long_operations_are_found_by_their_target() {
        let names = |is: fn(&[u8]) -> bool| -> Vec<&[u8]> {
            let names = OPERATIONS.iter().map(|operation| operation.name);
            let targets = names.map(|name| (name.as_bytes(), format!("DynamoDB_20120810.{name}")));
            let found = targets.filter(|(_, target)| is(target.as_bytes()));
            found.map(|(name, _)| name).collect()
        };
        assert_eq!(names(may_take_long), LONG);
        assert_eq!(names(may_await_due_work), AWAITING_DUE_WORK);
    }
}
