//! Decodes requests on exports, imports and bulk operations, and the records of their files.

use super::Decoder;
use super::shape::{requests, structures};
use super::table::NO_VALUES;
use super::value_errors::ValueLayer;
use crate::request::{
    AttributeDefinition, BulkOperationOnly, CreateTable, CsvOptions, DescribeExport, DescribeImport,
    ExportTableToPointInTime, FilterSpecification, ImportTable, IncrementalExportSpecification, InputFormatOptions,
    InputS3Configuration, ItemRecord, KeySchemaElement, ListBulkOperations, ListExports, ListImports,
    OnDemandThroughput, OutputS3Configuration, ProvisionedThroughput, S3BucketSource, SecondaryIndex, SseSpecification,
    StartBulkPutItems, VectorIndex,
};
use crate::transfer::InvalidRecord;

requests! {
    ExportTableToPointInTime: ValueLayer::Current { enveloped: false },
    DescribeExport: NO_VALUES,
    DescribeImport: NO_VALUES,
    BulkOperationOnly: NO_VALUES,
    ListExports: NO_VALUES,
    ListImports: NO_VALUES,
    ListBulkOperations: NO_VALUES,
    ImportTable: NO_VALUES,
    StartBulkPutItems: NO_VALUES,
}

impl ItemRecord {
    /// Reads a record in DynamoDB JSON.
    ///
    /// ```
    /// use dynatwin_engine::attributes::{AttributeValue, InvalidRecord, ItemRecord};
    ///
    /// let record = ItemRecord::read(br#"{"Item": {"pk": {"S": "a"}}, "Unknown": 1}"#).unwrap();
    /// assert_eq!(record.item.unwrap().get("pk"), Some(&AttributeValue::string("a")));
    /// let invalid = InvalidRecord::Value("Unexpected field type".to_owned());
    /// assert_eq!(ItemRecord::read(br#"{"Item": 5}"#), Err(invalid));
    /// assert_eq!(ItemRecord::read(b"{"), Err(InvalidRecord::Json));
    /// ```
    pub fn read(json: &[u8]) -> Result<ItemRecord, InvalidRecord> {
        let record = super::decode::<ItemRecord>(json, ValueLayer::Current { enveloped: false });
        record.map_err(|error| match error.message() {
            Some(message) => InvalidRecord::Value(message.to_owned()),
            // The error for invalid JSON has no message.
            None => InvalidRecord::Json,
        })
    }
}

struct TableCreationParameters;

structures! {
    IncrementalExportSpecification => IncrementalExportSpecification, "IncrementalExportSpecification" {
        "ExportFromTime" => export_from_time = Decoder::timestamp,
        "ExportToTime" => export_to_time = Decoder::timestamp,
        "ExportViewType" => export_view_type = Decoder::text,
    }

    FilterSpecification => FilterSpecification, "FilterSpecification" {
        "FilterExpression" => filter_expression = Decoder::text,
        "ProjectionExpression" => projection_expression = Decoder::text,
        "KeyConditionExpression" => key_condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
    }

    ExportTableToPointInTime => ExportTableToPointInTime, "ExportTableToPointInTimeInput" {
        "TableArn" => table_arn = Decoder::text,
        "ExportTime" => export_time = Decoder::timestamp,
        "ClientToken" => client_token = Decoder::text,
        "S3Bucket" => s3_bucket = Decoder::text,
        "S3BucketOwner" => s3_bucket_owner = Decoder::text,
        "S3Prefix" => s3_prefix = Decoder::text,
        "S3SseAlgorithm" => s3_sse_algorithm = Decoder::text,
        "S3SseKmsKeyId" => s3_sse_kms_key_id = Decoder::text,
        "ExportFormat" => export_format = Decoder::text,
        "ExportType" => export_type = Decoder::text,
        "IncrementalExportSpecification" => incremental = Decoder::structure::<IncrementalExportSpecification>,
        "FilterSpecification" => filter = Decoder::structure::<FilterSpecification>,
    }

    DescribeExport => DescribeExport, "DescribeExportInput" {
        "ExportArn" => export_arn = Decoder::text,
    }

    DescribeImport => DescribeImport, "DescribeImportInput" {
        "ImportArn" => import_arn = Decoder::text,
    }

    BulkOperationOnly => BulkOperationOnly, "BulkOperationInput" {
        "BulkOperationArn" => bulk_operation_arn = Decoder::text,
    }

    ListExports => ListExports, "ListExportsInput" {
        "TableArn" => table_arn = Decoder::text,
        "MaxResults" => max_results = Decoder::integer,
        "NextToken" => next_token = Decoder::text,
    }

    ListImports => ListImports, "ListImportsInput" {
        "TableArn" => table_arn = Decoder::text,
        "PageSize" => page_size = Decoder::integer,
        "NextToken" => next_token = Decoder::text,
    }

    ListBulkOperations => ListBulkOperations, "ListBulkOperationsInput" {
        "MaxResults" => max_results = Decoder::integer,
        "NextToken" => next_token = Decoder::text,
    }

    S3BucketSource => S3BucketSource, "S3BucketSource" {
        "S3BucketOwner" => s3_bucket_owner = Decoder::text,
        "S3Bucket" => s3_bucket = Decoder::text,
        "S3KeyPrefix" => s3_key_prefix = Decoder::text,
    }

    CsvOptions => CsvOptions, "CsvOptions" {
        "Delimiter" => delimiter = Decoder::text,
        "HeaderList" => header_list = Decoder::texts,
    }

    InputFormatOptions => InputFormatOptions, "InputFormatOptions" {
        "Csv" => csv = Decoder::structure::<CsvOptions>,
    }

    ImportTable => ImportTable, "ImportTableInput" {
        "ClientToken" => client_token = Decoder::text,
        "S3BucketSource" => source = Decoder::structure::<S3BucketSource>,
        "InputFormat" => input_format = Decoder::text,
        "InputFormatOptions" => input_format_options = Decoder::structure::<InputFormatOptions>,
        "InputCompressionType" => input_compression_type = Decoder::text,
        "TableCreationParameters" => table = Decoder::structure::<TableCreationParameters>,
    }

    TableCreationParameters => CreateTable, "TableCreationParameters" {
        "TableName" => table_name = Decoder::text,
        "AttributeDefinitions" => attribute_definitions = Decoder::structure_list::<AttributeDefinition>,
        "KeySchema" => key_schema = Decoder::structure_list::<KeySchemaElement>,
        "BillingMode" => billing_mode = Decoder::text,
        "ProvisionedThroughput" => provisioned_throughput = Decoder::structure::<ProvisionedThroughput>,
        "OnDemandThroughput" => on_demand_throughput = Decoder::structure::<OnDemandThroughput>,
        "SSESpecification" => sse_specification = Decoder::structure::<SseSpecification>,
        "GlobalSecondaryIndexes" => global_secondary_indexes = Decoder::structure_list::<SecondaryIndex>,
        "VectorIndexes" => vector_indexes = Decoder::structure_list::<VectorIndex>,
    }

    InputS3Configuration => InputS3Configuration, "InputS3Configuration" {
        "S3BucketOwner" => source.s3_bucket_owner = Decoder::text,
        "S3Bucket" => source.s3_bucket = Decoder::text,
        "S3KeyPrefix" => source.s3_key_prefix = Decoder::text,
        "InputFormat" => input_format = Decoder::text,
        "InputCompressionType" => input_compression_type = Decoder::text,
    }

    OutputS3Configuration => OutputS3Configuration, "OutputS3Configuration" {
        "S3BucketOwner" => place.s3_bucket_owner = Decoder::text,
        "S3Bucket" => place.s3_bucket = Decoder::text,
        "S3KeyPrefix" => place.s3_key_prefix = Decoder::text,
        "S3SseAlgorithm" => s3_sse_algorithm = Decoder::text,
        "S3SseKmsKeyId" => s3_sse_kms_key_id = Decoder::text,
        "OutputType" => output_type = Decoder::texts,
    }

    StartBulkPutItems => StartBulkPutItems, "StartBulkPutItemsInput" {
        "ClientToken" => client_token = Decoder::text,
        "InputS3Configuration" => input = Decoder::structure::<InputS3Configuration>,
        "OutputS3Configuration" => output = Decoder::structure::<OutputS3Configuration>,
        "TableName" => table_name = Decoder::text,
        "MaxWriteRequestUnits" => max_write_request_units = Decoder::long,
        "PerformanceTier" => performance_tier = Decoder::text,
    }

    ItemRecord => ItemRecord, "ItemRecord" {
        "Item" => item = Decoder::attributes,
        "ConditionExpression" => condition_expression = Decoder::text,
        "ExpressionAttributeNames" => substitutions.names = Decoder::expression_names,
        "ExpressionAttributeValues" => substitutions.values = Decoder::expression_values,
    }
}
