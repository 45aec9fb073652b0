//! Decodes Query, Scan, and the batches.

use super::shape::{requests, structures};
use super::value_errors::ValueLayer;
use super::{Decoder, Read, ValuePosition};
use crate::request::{
    BatchGetItem, BatchKey, BatchWriteItem, DeleteRequest, KeysAndAttributes, PutRequest, Query, Scan, WriteRequest,
};
use crate::sort;
use crate::value::{Map, Text};

requests! {
    Query: ValueLayer::Current { enveloped: false },
    Scan: ValueLayer::Older,
    BatchGetItem: ValueLayer::Current { enveloped: false },
    BatchWriteItem: ValueLayer::Older,
}

structures! {
    Query => Query, "QueryInput" {
        "TableName" => table_name = Decoder::text,
        "IndexName" => index_name = Decoder::text,
        "KeyConditionExpression" => key_condition_expression = Decoder::text,
        "FilterExpression" => filter_expression = Decoder::text,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "Select" => select = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "ScanIndexForward" => scan_index_forward = Decoder::boolean,
        "ExclusiveStartKey" => exclusive_start_key = Decoder::start_key,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "KeyConditions" => key_conditions = Decoder::conditions,
        "QueryFilter" => query_filter = Decoder::conditions,
        "ConditionalOperator" => conditional_operator = Decoder::text,
        "AttributesToGet" => attributes_to_get = Decoder::attributes_to_get,
    }

    Scan => Scan, "ScanInput" {
        "TableName" => table_name = Decoder::text,
        "IndexName" => index_name = Decoder::text,
        "FilterExpression" => filter_expression = Decoder::text,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "Select" => select = Decoder::text,
        "Limit" => limit = Decoder::integer,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "Segment" => segment = Decoder::integer,
        "TotalSegments" => total_segments = Decoder::integer,
        "ExclusiveStartKey" => exclusive_start_key = Decoder::start_key,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ScanFilter" => scan_filter = Decoder::conditions,
        "ConditionalOperator" => conditional_operator = Decoder::text,
        "AttributesToGet" => attributes_to_get = Decoder::attributes_to_get,
    }

    BatchGetItem => BatchGetItem, "BatchGetItemInput" {
        "RequestItems" => request_items = Decoder::tables_read,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }

    KeysAndAttributes => KeysAndAttributes, "KeysAndAttributes" {
        "Keys" => keys = Decoder::keys,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "AttributesToGet" => attributes_to_get = Decoder::attributes_to_get,
    }

    BatchWriteItem => BatchWriteItem, "BatchWriteItemInput" {
        "RequestItems" => request_items = Decoder::tables_written,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ReturnItemCollectionMetrics" => return_item_collection_metrics = Decoder::text,
    }

    WriteRequest => WriteRequest, "WriteRequest" {
        "PutRequest" => put_request = Decoder::structure::<PutRequest>,
        "DeleteRequest" => delete_request = Decoder::structure::<DeleteRequest>,
    }

    PutRequest => PutRequest, "PutRequest" {
        "Item" => item = Decoder::item,
    }

    DeleteRequest => DeleteRequest, "DeleteRequest" {
        "Key" => key = Decoder::attributes,
    }
}

impl Decoder<'_> {
    fn keys(&mut self) -> Read<Vec<BatchKey>> {
        self.list(ValuePosition::Member, |decoder| {
            decoder.numbers = Some(Vec::new());
            let attributes = decoder.attributes_element()?;
            let mut numbers = decoder.numbers.take().unwrap_or_default();
            sort::sort(&mut numbers);
            Ok(BatchKey {
                attributes,
                numbers,
                violation: decoder.value_errors.take().attributes,
            })
        })
    }

    fn start_key(&mut self) -> Read<Map> {
        let before = self.value_errors.set_aside();
        let key = self.attributes()?;
        self.value_errors.restore_of_start_key(before);
        Ok(key)
    }

    fn tables_read(&mut self) -> Read<Vec<(Text, KeysAndAttributes)>> {
        self.map("com.amazonaws.dynamodb.v20120810.KeysAndAttributes", |decoder| {
            decoder.structure_at::<KeysAndAttributes>(ValuePosition::Element)
        })
    }

    fn tables_written(&mut self) -> Read<Vec<(Text, Vec<WriteRequest>)>> {
        self.map(
            "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>",
            |decoder| {
                decoder.structures::<WriteRequest>(ValuePosition::Element, |decoder, write| {
                    write.violations = decoder.value_errors.take();
                })
            },
        )
    }
}
