//! Typed requests of the API, as the wire decodes them and as PartiQL statements are lowered to.
//!
//! A member is an `Option` where the request may leave it out, required or not: the framework's checks report what is
//! missing, with all other violations. Enumeration values are stored as sent, for the same reason.

use crate::error::ApiError;
use crate::value::{AttributeValue, Map, Name, SentItem, Text};

/// A member that is a list of names.
pub type Names = Vec<Name>;
/// `ExpressionAttributeNames`: placeholder and attribute name, in the order sent.
pub type NameSubstitutions = Vec<(Name, Name)>;
/// `ExpressionAttributeValues`: placeholder and value, in the order sent.
pub type ValueSubstitutions = Vec<(Name, AttributeValue)>;

/// The members that every request with expressions shares.
///
/// ```
/// use dynatwin_engine::attributes::Substitutions;
///
/// let substitutions = Substitutions { names: Some(vec![("#s".into(), "status".into())]), values: None };
/// assert_ne!(substitutions, Substitutions::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Substitutions {
    /// The value of `ExpressionAttributeNames`, in the order sent.
    pub names: Option<NameSubstitutions>,
    /// The value of `ExpressionAttributeValues`, in the order sent.
    pub values: Option<ValueSubstitutions>,
}

/// The violations in the values of one action of a batch or transaction. Actions are checked one after the other, so an
/// error stays with its action until its turn; other requests are rejected while they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueViolations {
    /// The first violation in `Item` or `Key`.
    pub attributes: Option<ApiError>,
    /// The first violation in `ExpressionAttributeValues`.
    pub substitutions: Option<ApiError>,
}

/// An element of `Keys` of BatchGetItem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchKey {
    pub attributes: Map,
    /// The texts of its numbers as they were sent, by attribute: keys that are written differently do not count as
    /// duplicates.
    pub numbers: Vec<(Name, Name)>,
    /// The errors of its values.
    pub violation: Option<ApiError>,
}

/// `ExpectedAttributeValue` of the legacy `Expected`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // the API's own names
pub struct Expected {
    pub value: Option<AttributeValue>,
    pub exists: Option<bool>,
    pub comparison_operator: Option<Text>,
    pub attribute_value_list: Option<Vec<AttributeValue>>,
}

/// `Condition` of the legacy `KeyConditions`, `QueryFilter` and `ScanFilter`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct LegacyCondition {
    pub attribute_value_list: Option<Vec<AttributeValue>>,
    pub comparison_operator: Option<Text>,
}

/// `AttributeValueUpdate` of the legacy `AttributeUpdates`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct AttributeUpdate {
    pub value: Option<AttributeValue>,
    pub action: Option<Text>,
}

macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident { $($member:ident: $kind:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            #[allow(missing_docs, clippy::struct_field_names)] // the members are the API's own
            pub struct $name { $(pub $member: $kind,)* }
        )*
    };
}

mod admin;
mod backup;
mod streams;
mod transfer;

pub use admin::*;
pub use backup::*;
pub use streams::*;
pub use transfer::*;

requests! {
    PutItem {
        table_name: Option<Text>,
        item: Option<SentItem>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values: Option<Text>,
        return_values_on_condition_check_failure: Option<Text>,
        return_consumed_capacity: Option<Text>,
        return_item_collection_metrics: Option<Text>,
        expected: Option<Vec<(Name, Expected)>>,
        conditional_operator: Option<Text>,
    }

    DeleteItem {
        table_name: Option<Text>,
        key: Option<Map>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values: Option<Text>,
        return_values_on_condition_check_failure: Option<Text>,
        return_consumed_capacity: Option<Text>,
        return_item_collection_metrics: Option<Text>,
        expected: Option<Vec<(Name, Expected)>>,
        conditional_operator: Option<Text>,
    }

    UpdateItem {
        table_name: Option<Text>,
        key: Option<Map>,
        update_expression: Option<Text>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values: Option<Text>,
        return_values_on_condition_check_failure: Option<Text>,
        return_consumed_capacity: Option<Text>,
        return_item_collection_metrics: Option<Text>,
        attribute_updates: Option<Vec<(Name, AttributeUpdate)>>,
        expected: Option<Vec<(Name, Expected)>>,
        conditional_operator: Option<Text>,
    }

    GetItem {
        table_name: Option<Text>,
        key: Option<Map>,
        consistent_read: Option<bool>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
        attributes_to_get: Option<Names>,
        return_consumed_capacity: Option<Text>,
    }

    Query {
        table_name: Option<Text>,
        index_name: Option<Text>,
        key_condition_expression: Option<Text>,
        filter_expression: Option<Text>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
        select: Option<Text>,
        limit: Option<i64>,
        consistent_read: Option<bool>,
        scan_index_forward: Option<bool>,
        exclusive_start_key: Option<Map>,
        return_consumed_capacity: Option<Text>,
        key_conditions: Option<Vec<(Name, LegacyCondition)>>,
        query_filter: Option<Vec<(Name, LegacyCondition)>>,
        conditional_operator: Option<Text>,
        attributes_to_get: Option<Names>,
    }

    Scan {
        table_name: Option<Text>,
        index_name: Option<Text>,
        filter_expression: Option<Text>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
        select: Option<Text>,
        limit: Option<i64>,
        consistent_read: Option<bool>,
        segment: Option<i64>,
        total_segments: Option<i64>,
        exclusive_start_key: Option<Map>,
        return_consumed_capacity: Option<Text>,
        scan_filter: Option<Vec<(Name, LegacyCondition)>>,
        conditional_operator: Option<Text>,
        attributes_to_get: Option<Names>,
    }

    /// Element of `RequestItems` in BatchGetItem.
    KeysAndAttributes {
        keys: Option<Vec<BatchKey>>,
        consistent_read: Option<bool>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
        attributes_to_get: Option<Names>,
    }

    BatchGetItem {
        request_items: Option<Vec<(Text, KeysAndAttributes)>>,
        return_consumed_capacity: Option<Text>,
    }

    /// `WriteRequest` of BatchWriteItem: exactly one of its members is present.
    WriteRequest {
        put_request: Option<PutRequest>,
        delete_request: Option<DeleteRequest>,
        violations: ValueViolations,
    }

    PutRequest {
        item: Option<SentItem>,
    }

    DeleteRequest {
        key: Option<Map>,
    }

    BatchWriteItem {
        request_items: Option<Vec<(Text, Vec<WriteRequest>)>>,
        return_consumed_capacity: Option<Text>,
        return_item_collection_metrics: Option<Text>,
    }

    ConditionCheck {
        table_name: Option<Text>,
        key: Option<Map>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values_on_condition_check_failure: Option<Text>,
    }

    TransactPut {
        table_name: Option<Text>,
        item: Option<SentItem>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values_on_condition_check_failure: Option<Text>,
    }

    TransactDelete {
        table_name: Option<Text>,
        key: Option<Map>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values_on_condition_check_failure: Option<Text>,
    }

    TransactUpdate {
        table_name: Option<Text>,
        key: Option<Map>,
        update_expression: Option<Text>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
        return_values_on_condition_check_failure: Option<Text>,
    }

    /// `TransactWriteItem`: exactly one of its members is present.
    TransactWriteItem {
        condition_check: Option<ConditionCheck>,
        put: Option<TransactPut>,
        delete: Option<TransactDelete>,
        update: Option<TransactUpdate>,
        violations: ValueViolations,
    }

    TransactWriteItems {
        transact_items: Option<Vec<TransactWriteItem>>,
        client_request_token: Option<Text>,
        return_consumed_capacity: Option<Text>,
        return_item_collection_metrics: Option<Text>,
    }

    TransactGet {
        table_name: Option<Text>,
        key: Option<Map>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
    }

    TransactGetItem {
        get: Option<TransactGet>,
        violations: ValueViolations,
    }

    TransactGetItems {
        transact_items: Option<Vec<TransactGetItem>>,
        return_consumed_capacity: Option<Text>,
    }

    ExecuteStatement {
        statement: Option<Text>,
        parameters: Option<Vec<AttributeValue>>,
        consistent_read: Option<bool>,
        next_token: Option<Text>,
        return_consumed_capacity: Option<Text>,
        limit: Option<i64>,
        return_values_on_condition_check_failure: Option<Text>,
    }

    /// `BatchStatementRequest`, and `ParameterizedStatement`, which has no `ConsistentRead`.
    BatchStatement {
        statement: Option<Text>,
        parameters: Option<Vec<AttributeValue>>,
        consistent_read: Option<bool>,
        return_values_on_condition_check_failure: Option<Text>,
        violations: ValueViolations,
    }

    BatchExecuteStatement {
        statements: Option<Vec<BatchStatement>>,
        return_consumed_capacity: Option<Text>,
    }

    ExecuteTransaction {
        transact_statements: Option<Vec<BatchStatement>>,
        client_request_token: Option<Text>,
        return_consumed_capacity: Option<Text>,
    }

    KeySchemaElement {
        attribute_name: Option<Name>,
        key_type: Option<Text>,
    }

    AttributeDefinition {
        attribute_name: Option<Name>,
        attribute_type: Option<Text>,
    }

    Projection {
        projection_type: Option<Text>,
        non_key_attributes: Option<Names>,
    }

    ProvisionedThroughput {
        read_capacity_units: Option<i64>,
        write_capacity_units: Option<i64>,
    }

    OnDemandThroughput {
        max_read_request_units: Option<i64>,
        max_write_request_units: Option<i64>,
    }

    WarmThroughput {
        read_units_per_second: Option<i64>,
        write_units_per_second: Option<i64>,
    }

    /// `GlobalSecondaryIndex` or `LocalSecondaryIndex` of CreateTable; a local one has no throughput.
    SecondaryIndex {
        index_name: Option<Text>,
        key_schema: Option<Vec<KeySchemaElement>>,
        projection: Option<Projection>,
        provisioned_throughput: Option<ProvisionedThroughput>,
        on_demand_throughput: Option<OnDemandThroughput>,
        warm_throughput: Option<WarmThroughput>,
    }

    VectorAttribute {
        attribute_name: Option<Name>,
    }

    SearchSchemaElement {
        attribute_name: Option<Name>,
        search_schema_element_type: Option<Text>,
    }

    /// `VectorIndex` of CreateTable, and of UpdateTable's changes.
    VectorIndex {
        index_name: Option<Text>,
        vector_attribute: Option<VectorAttribute>,
        search_schema: Option<Vec<SearchSchemaElement>>,
        projection: Option<Projection>,
        dimensions: Option<i64>,
        distance_function: Option<Text>,
    }

    /// An element of `VectorIndexUpdates`: exactly one of its members is present.
    VectorIndexUpdate {
        create: Option<VectorIndex>,
        delete: Option<VectorIndex>,
    }

    SearchVectors {
        table_name: Text,
        index_name: Text,
        search_vector: Vec<Option<f32>>,
        top_k: i64,
        search_condition_expression: Option<Text>,
        projection_expression: Option<Text>,
        substitutions: Substitutions,
        return_consumed_capacity: Option<Text>,
    }

    StreamSpecification {
        stream_enabled: Option<bool>,
        stream_view_type: Option<Text>,
    }

    SseSpecification {
        enabled: Option<bool>,
        sse_type: Option<Text>,
        kms_master_key_id: Option<Text>,
    }

    Tag {
        key: Option<Text>,
        value: Option<Text>,
    }

    CreateTable {
        table_name: Option<Text>,
        attribute_definitions: Option<Vec<AttributeDefinition>>,
        key_schema: Option<Vec<KeySchemaElement>>,
        local_secondary_indexes: Option<Vec<SecondaryIndex>>,
        global_secondary_indexes: Option<Vec<SecondaryIndex>>,
        billing_mode: Option<Text>,
        provisioned_throughput: Option<ProvisionedThroughput>,
        on_demand_throughput: Option<OnDemandThroughput>,
        warm_throughput: Option<WarmThroughput>,
        stream_specification: Option<StreamSpecification>,
        sse_specification: Option<SseSpecification>,
        tags: Option<Vec<Tag>>,
        table_class: Option<Text>,
        deletion_protection_enabled: Option<bool>,
        vector_indexes: Option<Vec<VectorIndex>>,
        resource_policy: Option<Text>,
        global_table_source_arn: Option<Text>,
        global_table_settings_replication_mode: Option<Text>,
    }

    /// A request that names one table and nothing else: DescribeTable, DeleteTable, DescribeTimeToLive.
    TableOnly {
        table_name: Option<Text>,
    }

    /// A request without members: DescribeEndpoints, DescribeLimits.
    Empty {}

    /// An element of `GlobalSecondaryIndexUpdates`: exactly one of its members is there, with the members that it may have.
    IndexUpdate {
        update: Option<SecondaryIndex>,
        create: Option<SecondaryIndex>,
        delete: Option<SecondaryIndex>,
    }

    UpdateTable {
        table_name: Option<Text>,
        attribute_definitions: Option<Vec<AttributeDefinition>>,
        billing_mode: Option<Text>,
        provisioned_throughput: Option<ProvisionedThroughput>,
        global_secondary_index_updates: Option<Vec<IndexUpdate>>,
        stream_specification: Option<StreamSpecification>,
        sse_specification: Option<SseSpecification>,
        replica_updates: Option<Validated<Vec<ReplicaUpdate>>>,
        table_class: Option<Text>,
        deletion_protection_enabled: Option<bool>,
        multi_region_consistency: Option<Text>,
        disassociation_protection_enabled: Option<bool>,
        global_table_witness_updates: Option<Validated<Vec<WitnessUpdate>>>,
        global_table_settings_replication_mode: Option<Text>,
        on_demand_throughput: Option<OnDemandThroughput>,
        warm_throughput: Option<WarmThroughput>,
        vector_index_updates: Option<Vec<VectorIndexUpdate>>,
    }

    TagResource {
        resource_arn: Option<Text>,
        tags: Option<Vec<Tag>>,
    }

    UntagResource {
        resource_arn: Option<Text>,
        tag_keys: Option<Vec<Text>>,
    }

    ListTagsOfResource {
        resource_arn: Option<Text>,
        next_token: Option<Text>,
    }

    ListTables {
        exclusive_start_table_name: Option<Text>,
        limit: Option<i64>,
    }

    TimeToLiveSpecification {
        enabled: Option<bool>,
        attribute_name: Option<Name>,
    }

    UpdateTimeToLive {
        table_name: Option<Text>,
        time_to_live_specification: Option<TimeToLiveSpecification>,
    }
}
