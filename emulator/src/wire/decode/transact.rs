//! Decodes the transactions.

use super::shape::{requests, structures};
use super::value_errors::ValueLayer;
use super::{Decoder, Read, ValuePosition};
use crate::request::{
    ConditionCheck, TransactDelete, TransactGet, TransactGetItem, TransactGetItems, TransactPut, TransactUpdate,
    TransactWriteItem, TransactWriteItems,
};

requests! {
    TransactWriteItems: ValueLayer::Older,
    TransactGetItems: ValueLayer::Older,
}

structures! {
    TransactWriteItems => TransactWriteItems, "TransactWriteItemsInput" {
        "TransactItems" => transact_items = Decoder::writes,
        "ClientRequestToken" => client_request_token = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ReturnItemCollectionMetrics" => return_item_collection_metrics = Decoder::text,
    }

    TransactWriteItem => TransactWriteItem, "TransactWriteItem" {
        "ConditionCheck" => condition_check = Decoder::structure::<ConditionCheck>,
        "Put" => put = Decoder::structure::<TransactPut>,
        "Delete" => delete = Decoder::structure::<TransactDelete>,
        "Update" => update = Decoder::structure::<TransactUpdate>,
    }

    ConditionCheck => ConditionCheck, "ConditionCheck" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    TransactPut => TransactPut, "Put" {
        "TableName" => table_name = Decoder::text,
        "Item" => item = Decoder::item,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    TransactDelete => TransactDelete, "Delete" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    TransactUpdate => TransactUpdate, "Update" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "UpdateExpression" => update_expression = Decoder::text,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
    }

    TransactGetItems => TransactGetItems, "TransactGetItemsInput" {
        "TransactItems" => transact_items = Decoder::gets,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }

    TransactGetItem => TransactGetItem, "TransactGetItem" {
        "Get" => get = Decoder::structure::<TransactGet>,
    }

    TransactGet => TransactGet, "Get" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
    }
}

impl Decoder<'_> {
    fn writes(&mut self) -> Read<Vec<TransactWriteItem>> {
        self.structures::<TransactWriteItem>(ValuePosition::Member, |decoder, action| {
            action.violations = decoder.value_errors.take();
        })
    }

    fn gets(&mut self) -> Read<Vec<TransactGetItem>> {
        self.structures::<TransactGetItem>(ValuePosition::Member, |decoder, action| {
            action.violations = decoder.value_errors.take();
        })
    }
}
