//! The operations of the API, one file each: decode, validate, plan, execute, encode, in the order in which AWS checks.

mod arn;
mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod check;
mod create_global_table;
mod create_table;
mod delete_item;
mod delete_resource_policy;
mod delete_table;
mod describe_contributor_insights;
mod describe_endpoints;
mod describe_global_table;
mod describe_global_table_settings;
mod describe_kinesis_streaming_destination;
mod describe_limits;
mod describe_stream;
mod describe_table;
mod describe_time_to_live;
mod description;
mod disable_kinesis_streaming_destination;
mod dump;
mod enable_kinesis_streaming_destination;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod get_records;
mod get_resource_policy;
mod get_shard_iterator;
mod insights;
mod kinesis;
mod legacy_global_tables;
mod list_contributor_insights;
mod list_global_tables;
mod list_streams;
mod list_tables;
mod list_tags_of_resource;
mod output;
mod policies;
mod put_item;
mod put_resource_policy;
mod query;
mod reading;
mod scan;
mod search_vectors;
mod single_write;
mod statement;
mod streams;
mod tag_resource;
mod tags;
mod transact_get_items;
mod transact_write_items;
mod transaction;
mod untag_resource;
mod update_contributor_insights;
mod update_global_table;
mod update_global_table_settings;
mod update_item;
mod update_kinesis_streaming_destination;
mod update_table;
mod update_time_to_live;

use crate::error::ApiError;
use crate::execute::Context;
use crate::wire::encode::Writer;
use crate::wire::envelope::Service;

/// What an operation does with tables: which AWS's policies and the fault rules distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads items.
    Read,
    /// Writes items.
    Write,
    /// Makes, changes, lists or removes tables.
    Control,
}

/// An operation of the API: everything that dispatch needs to know of it.
pub struct Operation {
    /// Its service.
    pub service: Service,
    /// Its name in `X-Amz-Target`.
    pub name: &'static str,
    /// What it does with tables.
    pub access: Access,
    /// The IAM action that allows it. Batches and transactions are allowed by their parts' actions as well.
    pub action: &'static str,
    /// Carries out a request: reads the body, appends the answer's body.
    pub run: fn(&Context<'_>, &[u8], &mut Writer) -> Result<(), ApiError>,
}

macro_rules! operations {
    (@service) => { Service::DynamoDb };
    (@service $service:ident) => { Service::$service };
    ($($name:literal $access:ident $action:literal => $module:ident $(of $service:ident)?,)*) => {
        &[$(Operation {
            service: operations!(@service $($service)?),
            name: $name,
            access: Access::$access,
            action: $action,
            run: $module::run,
        },)*]
    };
}

/// Every operation there is, by name. What is not here answers `UnknownOperationException`.
///
/// ```
/// use dynatwin_engine::operation::OPERATIONS;
///
/// assert!(OPERATIONS.iter().any(|operation| operation.name == "PutItem"));
/// ```
pub static OPERATIONS: &[Operation] = operations! {
    "BatchExecuteStatement" Write "dynamodb:PartiQLSelect" => batch_execute_statement,
    "BatchGetItem" Read "dynamodb:BatchGetItem" => batch_get_item,
    "BatchWriteItem" Write "dynamodb:BatchWriteItem" => batch_write_item,
    "CreateGlobalTable" Control "dynamodb:CreateGlobalTable" => create_global_table,
    "CreateTable" Control "dynamodb:CreateTable" => create_table,
    "DeleteItem" Write "dynamodb:DeleteItem" => delete_item,
    "DeleteResourcePolicy" Control "dynamodb:DeleteResourcePolicy" => delete_resource_policy,
    "DeleteTable" Control "dynamodb:DeleteTable" => delete_table,
    "DescribeContributorInsights" Control "dynamodb:DescribeContributorInsights" => describe_contributor_insights,
    "DescribeEndpoints" Control "dynamodb:DescribeEndpoints" => describe_endpoints,
    "DescribeGlobalTable" Control "dynamodb:DescribeGlobalTable" => describe_global_table,
    "DescribeGlobalTableSettings" Control "dynamodb:DescribeGlobalTableSettings" => describe_global_table_settings,
    "DescribeKinesisStreamingDestination" Control "dynamodb:DescribeKinesisStreamingDestination" => describe_kinesis_streaming_destination,
    "DescribeLimits" Control "dynamodb:DescribeLimits" => describe_limits,
    "DescribeStream" Control "dynamodb:DescribeStream" => describe_stream of Streams,
    "DescribeTable" Control "dynamodb:DescribeTable" => describe_table,
    "DescribeTimeToLive" Control "dynamodb:DescribeTimeToLive" => describe_time_to_live,
    "DisableKinesisStreamingDestination" Control "dynamodb:DisableKinesisStreamingDestination" => disable_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination" Control "dynamodb:EnableKinesisStreamingDestination" => enable_kinesis_streaming_destination,
    "ExecuteStatement" Write "dynamodb:PartiQLSelect" => execute_statement,
    "ExecuteTransaction" Write "dynamodb:PartiQLSelect" => execute_transaction,
    "GetItem" Read "dynamodb:GetItem" => get_item,
    "GetRecords" Read "dynamodb:GetRecords" => get_records of Streams,
    "GetResourcePolicy" Control "dynamodb:GetResourcePolicy" => get_resource_policy,
    "GetShardIterator" Read "dynamodb:GetShardIterator" => get_shard_iterator of Streams,
    "ListContributorInsights" Control "dynamodb:ListContributorInsights" => list_contributor_insights,
    "ListGlobalTables" Control "dynamodb:ListGlobalTables" => list_global_tables,
    "ListStreams" Control "dynamodb:ListStreams" => list_streams of Streams,
    "ListTables" Control "dynamodb:ListTables" => list_tables,
    "ListTagsOfResource" Control "dynamodb:ListTagsOfResource" => list_tags_of_resource,
    "PutItem" Write "dynamodb:PutItem" => put_item,
    "PutResourcePolicy" Control "dynamodb:PutResourcePolicy" => put_resource_policy,
    "Query" Read "dynamodb:Query" => query,
    "Scan" Read "dynamodb:Scan" => scan,
    "SearchVectors" Read "dynamodb:SearchVectors" => search_vectors,
    "TagResource" Control "dynamodb:TagResource" => tag_resource,
    "TransactGetItems" Read "dynamodb:GetItem" => transact_get_items,
    "TransactWriteItems" Write "dynamodb:PutItem" => transact_write_items,
    "UntagResource" Control "dynamodb:UntagResource" => untag_resource,
    "UpdateContributorInsights" Control "dynamodb:UpdateContributorInsights" => update_contributor_insights,
    "UpdateGlobalTable" Control "dynamodb:UpdateGlobalTable" => update_global_table,
    "UpdateGlobalTableSettings" Control "dynamodb:UpdateGlobalTableSettings" => update_global_table_settings,
    "UpdateItem" Write "dynamodb:UpdateItem" => update_item,
    "UpdateKinesisStreamingDestination" Control "dynamodb:UpdateKinesisStreamingDestination" => update_kinesis_streaming_destination,
    "UpdateTable" Control "dynamodb:UpdateTable" => update_table,
    "UpdateTimeToLive" Control "dynamodb:UpdateTimeToLive" => update_time_to_live,
};

/// A service's operation of this name.
pub fn find(service: Service, name: &str) -> Option<&'static Operation> {
    of_name(name).filter(|operation| operation.service == service)
}

/// The operation of this name, of whichever service: no name is in both.
pub fn of_name(name: &str) -> Option<&'static Operation> {
    let at = OPERATIONS.binary_search_by(|operation| operation.name.cmp(name)).ok()?;
    Some(&OPERATIONS[at])
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
