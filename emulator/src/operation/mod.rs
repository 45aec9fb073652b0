//! The operations of the API, one file each, and the driver that runs their stages: decode, check, plan, authorize, execute,
//! encode. And the controls of the emulator itself.

mod account;
mod arn;
mod auto_scaling;
mod backups;
mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod cancel_bulk_operation;
mod check;
mod control;
mod create_backup;
mod create_global_table;
mod create_table;
mod delete_backup;
mod delete_item;
mod delete_resource_policy;
mod delete_table;
mod describe_backup;
mod describe_bulk_operation;
mod describe_continuous_backups;
mod describe_contributor_insights;
mod describe_endpoints;
mod describe_export;
mod describe_global_table;
mod describe_global_table_settings;
mod describe_import;
mod describe_kinesis_streaming_destination;
mod describe_limits;
mod describe_stream;
mod describe_table;
mod describe_table_replica_auto_scaling;
mod describe_time_to_live;
mod description;
mod disable_kinesis_streaming_destination;
mod drive;
mod dump;
mod enable_kinesis_streaming_destination;
mod execute_statement;
mod execute_transaction;
mod export_table_to_point_in_time;
mod get_item;
mod get_records;
mod get_resource_policy;
mod get_shard_iterator;
mod import_table;
mod insights;
mod kinesis;
mod kms;
mod legacy_global_tables;
mod list_backups;
mod list_bulk_operations;
mod list_contributor_insights;
mod list_exports;
mod list_global_tables;
mod list_imports;
mod list_streams;
mod list_tables;
mod list_tags_of_resource;
mod output;
mod policies;
mod put_item;
mod put_resource_policy;
mod query;
mod reading;
mod restore;
mod restore_table_from_backup;
mod restore_table_to_point_in_time;
mod scan;
mod search_vectors;
mod single_write;
mod start_bulk_put_items;
mod statement;
mod streams;
mod tag_resource;
mod tags;
mod transact_get_items;
mod transact_write_items;
mod transaction;
mod transfers;
mod untag_resource;
mod update_continuous_backups;
mod update_contributor_insights;
mod update_global_table;
mod update_global_table_settings;
mod update_item;
mod update_kinesis_streaming_destination;
mod update_table;
mod update_table_replica_auto_scaling;
mod update_time_to_live;

pub use control::{Allowed, ControlRequest, answer as control_answer};

use crate::context::Context;
use crate::error::ApiError;
use crate::wire::control::Refusal;
use crate::wire::encode::Writer;
use crate::wire::envelope::Service;

/// An operation of the API: everything that dispatch needs to know of it.
pub struct Operation {
    /// Its service.
    pub service: Service,
    /// Its name in `X-Amz-Target`.
    pub name: &'static str,
    /// Carries out a request: reads the body, appends the answer's body.
    pub run: fn(&Context<'_>, &[u8], &mut Writer) -> Result<(), ApiError>,
}

macro_rules! operations {
    (@service) => { Service::DynamoDb };
    (@service $service:ident) => { Service::$service };
    ($($name:literal => $module:ident $(of $service:ident)?,)*) => {
        &[$(Operation {
            service: operations!(@service $($service)?),
            name: $name,
            run: drive::drive::<$module::Operation>,
        },)*]
    };
}

/// Operations that take time with the size of a table, or of what is read from a bucket.
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

/// Whether the operation of an `X-Amz-Target` takes time with the size of a table or of a transfer.
pub fn may_take_long(target: &[u8]) -> bool {
    let name = target.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    is_long(name)
}

/// Whether the operation of this name takes time with the size of a table or of a transfer.
#[inline]
pub fn is_long(name: &[u8]) -> bool {
    // The shortest of them is longer than the names of most requests.
    name.len() >= 11 && LONG.contains(&name)
}

/// Every operation there is, by name. What is not here answers `UnknownOperationException`.
///
/// ```
/// use dynatwin_engine::operation::OPERATIONS;
///
/// assert!(OPERATIONS.iter().any(|operation| operation.name == "PutItem"));
/// ```
pub static OPERATIONS: &[Operation] = operations! {
    "BatchExecuteStatement" => batch_execute_statement,
    "BatchGetItem" => batch_get_item,
    "BatchWriteItem" => batch_write_item,
    "CancelBulkOperation" => cancel_bulk_operation,
    "CreateBackup" => create_backup,
    "CreateGlobalTable" => create_global_table,
    "CreateTable" => create_table,
    "DeleteBackup" => delete_backup,
    "DeleteItem" => delete_item,
    "DeleteResourcePolicy" => delete_resource_policy,
    "DeleteTable" => delete_table,
    "DescribeBackup" => describe_backup,
    "DescribeBulkOperation" => describe_bulk_operation,
    "DescribeContinuousBackups" => describe_continuous_backups,
    "DescribeContributorInsights" => describe_contributor_insights,
    "DescribeEndpoints" => describe_endpoints,
    "DescribeExport" => describe_export,
    "DescribeGlobalTable" => describe_global_table,
    "DescribeGlobalTableSettings" => describe_global_table_settings,
    "DescribeImport" => describe_import,
    "DescribeKinesisStreamingDestination" => describe_kinesis_streaming_destination,
    "DescribeLimits" => describe_limits,
    "DescribeStream" => describe_stream of Streams,
    "DescribeTable" => describe_table,
    "DescribeTableReplicaAutoScaling" => describe_table_replica_auto_scaling,
    "DescribeTimeToLive" => describe_time_to_live,
    "DisableKinesisStreamingDestination" => disable_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination" => enable_kinesis_streaming_destination,
    "ExecuteStatement" => execute_statement,
    "ExecuteTransaction" => execute_transaction,
    "ExportTableToPointInTime" => export_table_to_point_in_time,
    "GetItem" => get_item,
    "GetRecords" => get_records of Streams,
    "GetResourcePolicy" => get_resource_policy,
    "GetShardIterator" => get_shard_iterator of Streams,
    "ImportTable" => import_table,
    "ListBackups" => list_backups,
    "ListBulkOperations" => list_bulk_operations,
    "ListContributorInsights" => list_contributor_insights,
    "ListExports" => list_exports,
    "ListGlobalTables" => list_global_tables,
    "ListImports" => list_imports,
    "ListStreams" => list_streams of Streams,
    "ListTables" => list_tables,
    "ListTagsOfResource" => list_tags_of_resource,
    "PutItem" => put_item,
    "PutResourcePolicy" => put_resource_policy,
    "Query" => query,
    "RestoreTableFromBackup" => restore_table_from_backup,
    "RestoreTableToPointInTime" => restore_table_to_point_in_time,
    "Scan" => scan,
    "SearchVectors" => search_vectors,
    "StartBulkPutItems" => start_bulk_put_items,
    "TagResource" => tag_resource,
    "TransactGetItems" => transact_get_items,
    "TransactWriteItems" => transact_write_items,
    "UntagResource" => untag_resource,
    "UpdateContinuousBackups" => update_continuous_backups,
    "UpdateContributorInsights" => update_contributor_insights,
    "UpdateGlobalTable" => update_global_table,
    "UpdateGlobalTableSettings" => update_global_table_settings,
    "UpdateItem" => update_item,
    "UpdateKinesisStreamingDestination" => update_kinesis_streaming_destination,
    "UpdateTable" => update_table,
    "UpdateTableReplicaAutoScaling" => update_table_replica_auto_scaling,
    "UpdateTimeToLive" => update_time_to_live,
};

/// A control of the twin: what its owner does to it over HTTP, and no request of the API can. `X-Amz-Target` leads to none.
pub struct Control {
    /// Its name in the description that [`CONTROLS`] has.
    pub name: &'static str,
    /// Its HTTP method: what is not got changes something.
    pub method: &'static str,
    /// Its path, with names in braces.
    pub path: &'static str,
    /// Whether a request for it has a body; `None`: it may have one.
    pub takes_body: Option<bool>,
    /// Carries it out: appends the answer's body.
    pub run: fn(&ControlRequest<'_>, &mut Writer) -> Result<(), Refusal>,
}

macro_rules! controls {
    (@body) => { Some(false) };
    (@body body) => { Some(true) };
    (@body options) => { None };
    ($($name:literal $method:ident $path:literal => $module:ident::$run:ident $(takes $body:tt)?,)*) => {
        &[$(Control {
            name: $name,
            method: stringify!($method),
            path: $path,
            takes_body: controls!(@body $($body)?),
            run: control::$module::$run,
        },)*]
    };
}

/// Every control there is. `openapi.json`, which one of them answers, describes the same ones.
///
/// ```
/// use dynatwin_engine::operation::CONTROLS;
///
/// assert!(CONTROLS.iter().all(|control| control.path.starts_with("/_dynatwin/")));
/// ```
pub static CONTROLS: &[Control] = controls! {
    "getOverview" GET "/_dynatwin/" => overview::show,
    "getOpenApi" GET "/_dynatwin/openapi.json" => overview::openapi,
    "reset" POST "/_dynatwin/reset" => overview::reset takes options,
    "getClock" GET "/_dynatwin/clock" => clock::show,
    "setClock" PUT "/_dynatwin/clock" => clock::set takes body,
    "advanceClock" POST "/_dynatwin/clock/advance" => clock::advance takes body,
    "freezeClock" POST "/_dynatwin/clock/freeze" => clock::freeze,
    "unfreezeClock" POST "/_dynatwin/clock/unfreeze" => clock::unfreeze,
    "getConditions" GET "/_dynatwin/conditions" => conditions::show,
    "setConditions" PUT "/_dynatwin/conditions" => conditions::set takes body,
    "listFaults" GET "/_dynatwin/faults" => faults::list,
    "addFault" POST "/_dynatwin/faults" => faults::add takes body,
    "clearFaults" DELETE "/_dynatwin/faults" => faults::clear,
    "getFault" GET "/_dynatwin/faults/{id}" => faults::show,
    "removeFault" DELETE "/_dynatwin/faults/{id}" => faults::remove,
    "startOutage" POST "/_dynatwin/outages" => faults::start_outage takes body,
    "watch" POST "/_dynatwin/watch" => watch::watch takes options,
    "unwatch" POST "/_dynatwin/unwatch" => watch::unwatch,
    "getMetrics" GET "/_dynatwin/metrics" => watch::metrics,
    "getMetricsByMinute" GET "/_dynatwin/metrics/minutes" => watch::minutes,
    "listRequests" GET "/_dynatwin/requests" => watch::requests,
    "getRequest" GET "/_dynatwin/requests/{number}" => watch::request,
    "explainRequest" GET "/_dynatwin/requests/{number}/explain" => explain::request,
    "forgetRequests" DELETE "/_dynatwin/requests" => watch::forget,
    "listEvents" GET "/_dynatwin/events" => events::list,
    "listScans" GET "/_dynatwin/scans" => watch::scans,
    "listTables" GET "/_dynatwin/tables" => tables::list,
    "listPending" GET "/_dynatwin/pending" => items::all_pending,
    "getPending" GET "/_dynatwin/tables/{table}/pending" => items::pending,
    "listItems" GET "/_dynatwin/tables/{table}/items" => items::list,
    "getPlace" GET "/_dynatwin/tables/{table}/place" => items::place,
    "getTableConditions" GET "/_dynatwin/tables/{table}/conditions" => conditions::show_table,
    "setTableConditions" PUT "/_dynatwin/tables/{table}/conditions" => conditions::set_table takes body,
    "clearTableConditions" DELETE "/_dynatwin/tables/{table}/conditions" => conditions::clear_table,
    "expireNow" POST "/_dynatwin/tables/{table}/expire-now" => tables::expire_now,
    "splitShards" POST "/_dynatwin/tables/{table}/split-shards" => tables::split_shards,
    "getHeat" GET "/_dynatwin/tables/{table}/heat" => tables::heat,
    "watchHeat" POST "/_dynatwin/tables/{table}/heat/watch" => tables::watch_heat,
    "unwatchHeat" POST "/_dynatwin/tables/{table}/heat/unwatch" => tables::unwatch_heat,
    "getAccess" GET "/_dynatwin/access" => access::show,
    "setAccess" PUT "/_dynatwin/access" => access::set takes body,
    "removeAccess" DELETE "/_dynatwin/access" => access::remove,
    "addSession" POST "/_dynatwin/access/sessions" => access::add_session takes body,
    "explainAccess" POST "/_dynatwin/access/explain" => access::explain takes body,
    "listIndexes" GET "/_dynatwin/tables/{table}/indexes" => indexes::list,
    "pauseIndex" POST "/_dynatwin/tables/{table}/indexes/{index}/pause" => indexes::pause,
    "resumeIndex" POST "/_dynatwin/tables/{table}/indexes/{index}/resume" => indexes::resume,
    "setIndexLag" PUT "/_dynatwin/tables/{table}/indexes/{index}/lag" => indexes::set_lag takes body,
    "clearIndexLag" DELETE "/_dynatwin/tables/{table}/indexes/{index}/lag" => indexes::clear_lag,
};

/// The words of an enumeration that the request may use.
fn one_of(word: Option<&crate::value::Text>) -> Option<&str> {
    word.map(crate::value::Text::as_str)
}

/// A service's operation of this name.
pub fn find(service: Service, name: &str) -> Option<&'static Operation> {
    of_name(name).filter(|operation| operation.service == service)
}

/// The operation of this name, of whichever service: no name is in both.
pub fn of_name(name: &str) -> Option<&'static Operation> {
    let first = usize::from(*LENGTHS.get(name.len())?);
    let as_long = BY_LENGTH[first..].iter().map(|&at| &OPERATIONS[usize::from(at)]);
    let mut as_long = as_long.take_while(|operation| operation.name.len() == name.len());
    as_long.find(|operation| operation.name == name)
}

/// The places of the operations, the shorter name first: a name is compared with few others then.
static BY_LENGTH: [u8; OPERATIONS.len()] = by_length();

/// From where on the names of a length stand there.
static LENGTHS: [u8; LONGEST + 1] = lengths();

/// The longest name that there may be.
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
}
