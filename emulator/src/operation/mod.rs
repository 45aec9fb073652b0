//! The operations of the API, one file each: decode, validate, plan, execute, encode, in the order in which AWS checks.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod check;
mod create_table;
mod delete_item;
mod delete_table;
mod describe_endpoints;
mod describe_limits;
mod describe_table;
mod describe_time_to_live;
mod description;
mod dump;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod list_tables;
mod list_tags_of_resource;
mod output;
mod put_item;
mod query;
mod reading;
mod scan;
mod single_write;
mod statement;
mod tag_resource;
mod tags;
mod transact_get_items;
mod transact_write_items;
mod transaction;
mod untag_resource;
mod update_item;
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
    ($($name:literal $access:ident $action:literal => $module:ident,)*) => {
        &[$(Operation {
            service: Service::DynamoDb,
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
    "CreateTable" Control "dynamodb:CreateTable" => create_table,
    "DeleteItem" Write "dynamodb:DeleteItem" => delete_item,
    "DeleteTable" Control "dynamodb:DeleteTable" => delete_table,
    "DescribeEndpoints" Control "dynamodb:DescribeEndpoints" => describe_endpoints,
    "DescribeLimits" Control "dynamodb:DescribeLimits" => describe_limits,
    "DescribeTable" Control "dynamodb:DescribeTable" => describe_table,
    "DescribeTimeToLive" Control "dynamodb:DescribeTimeToLive" => describe_time_to_live,
    "ExecuteStatement" Write "dynamodb:PartiQLSelect" => execute_statement,
    "ExecuteTransaction" Write "dynamodb:PartiQLSelect" => execute_transaction,
    "GetItem" Read "dynamodb:GetItem" => get_item,
    "ListTables" Control "dynamodb:ListTables" => list_tables,
    "ListTagsOfResource" Control "dynamodb:ListTagsOfResource" => list_tags_of_resource,
    "PutItem" Write "dynamodb:PutItem" => put_item,
    "Query" Read "dynamodb:Query" => query,
    "Scan" Read "dynamodb:Scan" => scan,
    "TagResource" Control "dynamodb:TagResource" => tag_resource,
    "TransactGetItems" Read "dynamodb:GetItem" => transact_get_items,
    "TransactWriteItems" Write "dynamodb:PutItem" => transact_write_items,
    "UntagResource" Control "dynamodb:UntagResource" => untag_resource,
    "UpdateItem" Write "dynamodb:UpdateItem" => update_item,
    "UpdateTable" Control "dynamodb:UpdateTable" => update_table,
    "UpdateTimeToLive" Control "dynamodb:UpdateTimeToLive" => update_time_to_live,
};

/// The operation of this name.
pub fn find(service: Service, name: &str) -> Option<&'static Operation> {
    let at = OPERATIONS.binary_search_by(|operation| operation.name.cmp(name)).ok()?;
    Some(&OPERATIONS[at]).filter(|operation| operation.service == service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name() {
        for operation in OPERATIONS {
            let found = find(operation.service, operation.name).map(|found| found.name);
            assert_eq!(found, Some(operation.name));
            assert!(find(Service::Streams, operation.name).is_none());
        }
        assert!(find(Service::DynamoDb, "putItem").is_none());
    }
}
