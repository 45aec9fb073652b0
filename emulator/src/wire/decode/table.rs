//! Decodes requests on tables and their settings.

use super::shape::{aliases, requests, structures};
use super::value_errors::ValueLayer;
use super::{Decoder, scaling};
use crate::request::{
    AttributeDefinition, CreateTable, Empty, IndexUpdate, KeySchemaElement, ListTables, ListTagsOfResource,
    OnDemandThroughput, Projection, ProvisionedThroughput, ReplicaUpdate, SearchSchemaElement, SecondaryIndex,
    SseSpecification, StreamSpecification, TableOnly, Tag, TagResource, TimeToLiveSpecification, UntagResource,
    UpdateTable, UpdateTimeToLive, VectorAttribute, VectorIndex, VectorIndexUpdate, WarmThroughput, WitnessUpdate,
};

/// These requests contain no attribute values, so the layer does not matter.
pub(super) const NO_VALUES: ValueLayer = ValueLayer::Current { enveloped: false };

/// The members of a local index, which has no separate throughput.
pub(super) struct LocalSecondaryIndex;

/// The members of an index that may change.
struct IndexThroughput;

/// The member that names an index to delete.
struct IndexName;

/// The member that names a vector index to delete.
struct VectorIndexName;

requests! {
    CreateTable: NO_VALUES,
    Empty: NO_VALUES,
    UpdateTable: NO_VALUES,
    TagResource: NO_VALUES,
    UntagResource: NO_VALUES,
    ListTagsOfResource: NO_VALUES,
    TableOnly: NO_VALUES,
    ListTables: NO_VALUES,
    UpdateTimeToLive: NO_VALUES,
}

aliases! {
    CreateIndexAction of SecondaryIndex, "CreateGlobalSecondaryIndexAction";
    CreateVectorIndexAction of VectorIndex, "CreateVectorIndexAction";
}

structures! {
    CreateTable => CreateTable, "CreateTableInput" {
        "TableName" => table_name = Decoder::text,
        "AttributeDefinitions" => attribute_definitions = Decoder::structure_list::<AttributeDefinition>,
        "KeySchema" => key_schema = Decoder::structure_list::<KeySchemaElement>,
        "LocalSecondaryIndexes" => local_secondary_indexes = Decoder::structure_list::<LocalSecondaryIndex>,
        "GlobalSecondaryIndexes" => global_secondary_indexes = Decoder::structure_list::<SecondaryIndex>,
        "BillingMode" => billing_mode = Decoder::text,
        "ProvisionedThroughput" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughput" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "WarmThroughput" => warm_throughput = Decoder::structure::<WarmThroughput>,
        "StreamSpecification" => stream_specification = Decoder::structure::<StreamSpecification>,
        "SSESpecification" => sse_specification = Decoder::structure::<SseSpecification>,
        "Tags" => tags = Decoder::structure_list::<Tag>,
        "TableClass" => table_class = Decoder::text,
        "DeletionProtectionEnabled" => deletion_protection_enabled = Decoder::boolean,
        "VectorIndexes" => vector_indexes = Decoder::structure_list::<VectorIndex>,
        "ResourcePolicy" => resource_policy = Decoder::text,
        "GlobalTableSourceArn" => global_table_source_arn = Decoder::text,
        "GlobalTableSettingsReplicationMode" => global_table_settings_replication_mode = Decoder::text,
    }

    AttributeDefinition => AttributeDefinition, "AttributeDefinition" {
        "AttributeName" => attribute_name = Decoder::text,
        "AttributeType" => attribute_type = Decoder::text,
    }

    KeySchemaElement => KeySchemaElement, "KeySchemaElement" {
        "AttributeName" => attribute_name = Decoder::text,
        "KeyType" => key_type = Decoder::text,
    }

    SecondaryIndex => SecondaryIndex, "GlobalSecondaryIndex" {
        "IndexName" => index_name = Decoder::text,
        "KeySchema" => key_schema = Decoder::structure_list::<KeySchemaElement>,
        "Projection" => projection = Decoder::structure::<Projection>,
        "ProvisionedThroughput" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughput" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "WarmThroughput" => warm_throughput = Decoder::structure::<WarmThroughput>,
    }

    LocalSecondaryIndex => SecondaryIndex, "LocalSecondaryIndex" {
        "IndexName" => index_name = Decoder::text,
        "KeySchema" => key_schema = Decoder::structure_list::<KeySchemaElement>,
        "Projection" => projection = Decoder::structure::<Projection>,
    }

    VectorIndex => VectorIndex, "VectorIndex" {
        "IndexName" => index_name = Decoder::text,
        "VectorAttribute" => vector_attribute = Decoder::structure::<VectorAttribute>,
        "SearchSchema" => search_schema = Decoder::structure_list::<SearchSchemaElement>,
        "Projection" => projection = Decoder::structure::<Projection>,
        "Dimensions" => dimensions = Decoder::long,
        "DistanceFunction" => distance_function = Decoder::text,
    }

    VectorAttribute => VectorAttribute, "VectorAttributeDefinition" {
        "AttributeName" => attribute_name = Decoder::text,
    }

    SearchSchemaElement => SearchSchemaElement, "SearchSchemaElement" {
        "AttributeName" => attribute_name = Decoder::text,
        "SearchSchemaElementType" => search_schema_element_type = Decoder::text,
    }

    VectorIndexName => VectorIndex, "DeleteVectorIndexAction" {
        "IndexName" => index_name = Decoder::text,
    }

    VectorIndexUpdate => VectorIndexUpdate, "VectorIndexUpdate" {
        "Create" => create = Decoder::structure::<CreateVectorIndexAction>,
        "Delete" => delete = Decoder::structure::<VectorIndexName>,
    }

    Projection => Projection, "Projection" {
        "ProjectionType" => projection_type = Decoder::text,
        "NonKeyAttributes" => non_key_attributes = Decoder::texts,
    }

    ProvisionedThroughput => ProvisionedThroughput, "ProvisionedThroughput" {
        "ReadCapacityUnits" => read_capacity_units = Decoder::long,
        "WriteCapacityUnits" => write_capacity_units = Decoder::long,
    }

    OnDemandThroughput => OnDemandThroughput, "OnDemandThroughput" {
        "MaxReadRequestUnits" => max_read_request_units = Decoder::long,
        "MaxWriteRequestUnits" => max_write_request_units = Decoder::long,
    }

    WarmThroughput => WarmThroughput, "WarmThroughput" {
        "ReadUnitsPerSecond" => read_units_per_second = Decoder::long,
        "WriteUnitsPerSecond" => write_units_per_second = Decoder::long,
    }

    StreamSpecification => StreamSpecification, "StreamSpecification" {
        "StreamEnabled" => stream_enabled = Decoder::boolean,
        "StreamViewType" => stream_view_type = Decoder::text,
    }

    SseSpecification => SseSpecification, "SSESpecification" {
        "Enabled" => enabled = Decoder::boolean,
        "SSEType" => sse_type = Decoder::text,
        "KMSMasterKeyId" => kms_master_key_id = Decoder::text,
    }

    Tag => Tag, "Tag" {
        "Key" => key = Decoder::text,
        "Value" => value = Decoder::text,
    }

    IndexThroughput => SecondaryIndex, "UpdateGlobalSecondaryIndexAction" {
        "IndexName" => index_name = Decoder::text,
        "ProvisionedThroughput" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughput" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "WarmThroughput" => warm_throughput = Decoder::structure::<WarmThroughput>,
    }

    IndexName => SecondaryIndex, "DeleteGlobalSecondaryIndexAction" {
        "IndexName" => index_name = Decoder::text,
    }

    IndexUpdate => IndexUpdate, "GlobalSecondaryIndexUpdate" {
        "Update" => update = Decoder::structure::<IndexThroughput>,
        "Create" => create = Decoder::structure::<CreateIndexAction>,
        "Delete" => delete = Decoder::structure::<IndexName>,
    }

    UpdateTable => UpdateTable, "UpdateTableInput" {
        "TableName" => table_name = Decoder::text,
        "AttributeDefinitions" => attribute_definitions = Decoder::structure_list::<AttributeDefinition>,
        "BillingMode" => billing_mode = Decoder::text,
        "ProvisionedThroughput" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "GlobalSecondaryIndexUpdates" => global_secondary_index_updates = Decoder::structure_list::<IndexUpdate>,
        "StreamSpecification" => stream_specification = Decoder::structure::<StreamSpecification>,
        "SSESpecification" => sse_specification = Decoder::structure::<SseSpecification>,
        "ReplicaUpdates" => replica_updates = |decoder|
            decoder.validated_and(scaling::REPLICATION, "replicaUpdates", Decoder::structure_list::<ReplicaUpdate>),
        "TableClass" => table_class = Decoder::text,
        "DeletionProtectionEnabled" => deletion_protection_enabled = Decoder::boolean,
        "MultiRegionConsistency" => multi_region_consistency = Decoder::text,
        "GlobalTableWitnessUpdates" => global_table_witness_updates = |decoder|
            decoder.validated_and(scaling::WITNESSES, "globalTableWitnessUpdates", Decoder::structure_list::<WitnessUpdate>),
        "DisassociationProtectionEnabled" => disassociation_protection_enabled = Decoder::boolean,
        "GlobalTableSettingsReplicationMode" => global_table_settings_replication_mode = Decoder::text,
        "OnDemandThroughput" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "WarmThroughput" => warm_throughput = Decoder::structure::<WarmThroughput>,
        "VectorIndexUpdates" => vector_index_updates = Decoder::structure_list::<VectorIndexUpdate>,
    }

    TagResource => TagResource, "TagResourceInput" {
        "ResourceArn" => resource_arn = Decoder::text,
        "Tags" => tags = Decoder::structure_list::<Tag>,
    }

    UntagResource => UntagResource, "UntagResourceInput" {
        "ResourceArn" => resource_arn = Decoder::text,
        "TagKeys" => tag_keys = Decoder::texts,
    }

    ListTagsOfResource => ListTagsOfResource, "ListTagsOfResourceInput" {
        "ResourceArn" => resource_arn = Decoder::text,
        "NextToken" => next_token = Decoder::text,
    }

    TableOnly => TableOnly, "TableInput" {
        "TableName" => table_name = Decoder::text,
    }

    ListTables => ListTables, "ListTablesInput" {
        "ExclusiveStartTableName" => exclusive_start_table_name = Decoder::text,
        "Limit" => limit = Decoder::integer,
    }

    TimeToLiveSpecification => TimeToLiveSpecification, "TimeToLiveSpecification" {
        "Enabled" => enabled = Decoder::boolean,
        "AttributeName" => attribute_name = Decoder::text,
    }

    UpdateTimeToLive => UpdateTimeToLive, "UpdateTimeToLiveInput" {
        "TableName" => table_name = Decoder::text,
        "TimeToLiveSpecification" => time_to_live_specification = Decoder::structure::<TimeToLiveSpecification>,
    }
}

impl super::StructureShape for Empty {
    type Into = Empty;
    const CLASS: &'static str = "Input";

    /// Unknown members are skipped: here, all.
    fn member(_: &mut Empty, _: &str, decoder: &mut Decoder<'_>) -> super::Read<()> {
        Ok(decoder.reader.skip()?)
    }
}
