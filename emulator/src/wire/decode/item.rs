//! Decodes the operations on one item, and the legacy conditions that they share with Query and Scan.

use super::shape::{requests, structures};
use super::value_errors::{RequestPart, ValueErrorRank, ValueLayer};
use super::{DecodeOverlyNested, Decoder, Read, ValuePosition, decode_overly_nested};
use crate::request::{
    AttributeUpdate, DeleteItem, Expected, GetItem, LegacyCondition, NameSubstitutions, PutItem, UpdateItem,
};
use crate::value::Name;

const ENVELOPED: ValueLayer = ValueLayer::Current { enveloped: true };
const BARE: ValueLayer = ValueLayer::Current { enveloped: false };

requests! {
    PutItem: ENVELOPED,
    UpdateItem: ENVELOPED,
    DeleteItem: ENVELOPED,
    GetItem: BARE,
}

impl DecodeOverlyNested for PutItem {
    fn decode_overly_nested(body: &[u8]) -> Option<PutItem> {
        decode_overly_nested::<PutItem>(body, ENVELOPED)
    }
}

impl DecodeOverlyNested for UpdateItem {
    fn decode_overly_nested(body: &[u8]) -> Option<UpdateItem> {
        decode_overly_nested::<UpdateItem>(body, ENVELOPED)
    }
}

impl DecodeOverlyNested for DeleteItem {
    fn decode_overly_nested(body: &[u8]) -> Option<DeleteItem> {
        decode_overly_nested::<DeleteItem>(body, ENVELOPED)
    }
}

structures! {
    PutItem => PutItem, "PutItemInput" {
        "TableName" => table_name = Decoder::text,
        "Item" => item = Decoder::item,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValues" => return_values = Decoder::text,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ReturnItemCollectionMetrics" => return_item_collection_metrics = Decoder::text,
        "Expected" => expected = Decoder::expected,
        "ConditionalOperator" => conditional_operator = Decoder::text,
    }

    DeleteItem => DeleteItem, "DeleteItemInput" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValues" => return_values = Decoder::text,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ReturnItemCollectionMetrics" => return_item_collection_metrics = Decoder::text,
        "Expected" => expected = Decoder::expected,
        "ConditionalOperator" => conditional_operator = Decoder::text,
    }

    UpdateItem => UpdateItem, "UpdateItemInput" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "UpdateExpression" => update_expression = Decoder::text,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
        "ReturnValues" => return_values = Decoder::text,
        "ReturnValuesOnConditionCheckFailure" => return_values_on_condition_check_failure = Decoder::text,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
        "ReturnItemCollectionMetrics" => return_item_collection_metrics = Decoder::text,
        "AttributeUpdates" => attribute_updates = Decoder::attribute_updates,
        "Expected" => expected = Decoder::expected,
        "ConditionalOperator" => conditional_operator = Decoder::text,
    }

    GetItem => GetItem, "GetItemInput" {
        "TableName" => table_name = Decoder::text,
        "Key" => key = Decoder::attributes,
        "ConsistentRead" => consistent_read = Decoder::boolean,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "AttributesToGet" => attributes_to_get = Decoder::attributes_to_get,
        "ReturnConsumedCapacity" => return_consumed_capacity = Decoder::text,
    }

    Expected => Expected, "ExpectedAttributeValue" {
        "Value" => value = Decoder::value_member,
        "Exists" => exists = Decoder::boolean,
        "ComparisonOperator" => comparison_operator = Decoder::text,
        "AttributeValueList" => attribute_value_list = Decoder::value_list,
    }

    LegacyCondition => LegacyCondition, "Condition" {
        "AttributeValueList" => attribute_value_list = Decoder::value_list,
        "ComparisonOperator" => comparison_operator = Decoder::text,
    }

    AttributeUpdate => AttributeUpdate, "AttributeValueUpdate" {
        "Value" => value = Decoder::value_member,
        "Action" => action = Decoder::text,
    }
}

impl Decoder<'_> {
    pub(super) fn expression_names(&mut self) -> Read<NameSubstitutions> {
        self.map("java.lang.String", Decoder::text)
    }

    /// `AttributesToGet`. Names that are too long are a violation of the framework, which echoes them.
    pub(super) fn attributes_to_get(&mut self) -> Read<Vec<Name>> {
        let names = self.texts()?;
        if names.iter().any(Name::is_empty) {
            self.check_attribute_name("", ValueErrorRank::TopLevelName);
        }
        Ok(names)
    }

    fn expected(&mut self) -> Read<Vec<(Name, Expected)>> {
        self.legacy("com.amazonaws.dynamodb.v20120810.ExpectedAttributeValue", |decoder| {
            decoder.structure_at::<Expected>(ValuePosition::Element)
        })
    }

    fn attribute_updates(&mut self) -> Read<Vec<(Name, AttributeUpdate)>> {
        self.legacy("com.amazonaws.dynamodb.v20120810.AttributeValueUpdate", |decoder| {
            decoder.structure_at::<AttributeUpdate>(ValuePosition::Element)
        })
    }

    pub(super) fn conditions(&mut self) -> Read<Vec<(Name, LegacyCondition)>> {
        self.legacy("com.amazonaws.dynamodb.v20120810.Condition", |decoder| {
            decoder.structure_at::<LegacyCondition>(ValuePosition::Element)
        })
    }

    fn legacy<T: Default>(&mut self, class: &str, value: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<(Name, T)>> {
        let outer = self.value_errors.enter(RequestPart::Legacy);
        let map = self.map(class, value)?;
        for (name, _) in &map {
            self.check_attribute_name(name, ValueErrorRank::TopLevelName);
        }
        self.value_errors.enter(outer);
        Ok(map)
    }
}
