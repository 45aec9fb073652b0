//! Requests on exports, imports and bulk operations.

use super::{CreateTable, Substitutions};
use crate::clock::Moment;
use crate::value::{Map, Name, Text};

requests! {
    IncrementalExportSpecification {
        export_from_time: Option<Moment>,
        export_to_time: Option<Moment>,
        export_view_type: Option<Text>,
    }

    FilterSpecification {
        filter_expression: Option<Text>,
        projection_expression: Option<Text>,
        key_condition_expression: Option<Text>,
        substitutions: Substitutions,
    }

    ExportTableToPointInTime {
        table_arn: Option<Text>,
        export_time: Option<Moment>,
        client_token: Option<Text>,
        s3_bucket: Option<Text>,
        s3_bucket_owner: Option<Text>,
        s3_prefix: Option<Text>,
        s3_sse_algorithm: Option<Text>,
        s3_sse_kms_key_id: Option<Text>,
        export_format: Option<Text>,
        export_type: Option<Text>,
        incremental: Option<IncrementalExportSpecification>,
        filter: Option<FilterSpecification>,
    }

    DescribeExport {
        export_arn: Option<Text>,
    }

    DescribeImport {
        import_arn: Option<Text>,
    }

    /// A request that names one bulk operation: DescribeBulkOperation, CancelBulkOperation.
    BulkOperationOnly {
        bulk_operation_arn: Option<Text>,
    }

    ListExports {
        table_arn: Option<Text>,
        max_results: Option<i64>,
        next_token: Option<Text>,
    }

    ListImports {
        table_arn: Option<Text>,
        page_size: Option<i64>,
        next_token: Option<Text>,
    }

    ListBulkOperations {
        max_results: Option<i64>,
        next_token: Option<Text>,
    }

    /// `S3BucketSource`, and the place of a bulk operation's input.
    S3BucketSource {
        s3_bucket_owner: Option<Text>,
        s3_bucket: Option<Text>,
        s3_key_prefix: Option<Text>,
    }

    CsvOptions {
        delimiter: Option<Text>,
        header_list: Option<Vec<Name>>,
    }

    InputFormatOptions {
        csv: Option<CsvOptions>,
    }

    ImportTable {
        client_token: Option<Text>,
        source: Option<S3BucketSource>,
        input_format: Option<Text>,
        input_format_options: Option<InputFormatOptions>,
        input_compression_type: Option<Text>,
        table: Option<CreateTable>,
    }

    InputS3Configuration {
        source: S3BucketSource,
        input_format: Option<Text>,
        input_compression_type: Option<Text>,
    }

    OutputS3Configuration {
        place: S3BucketSource,
        s3_sse_algorithm: Option<Text>,
        s3_sse_kms_key_id: Option<Text>,
        output_type: Option<Vec<Name>>,
    }

    StartBulkPutItems {
        client_token: Option<Text>,
        input: Option<InputS3Configuration>,
        output: Option<OutputS3Configuration>,
        table_name: Option<Text>,
        max_write_request_units: Option<i64>,
        performance_tier: Option<Text>,
    }

    /// One record of an import's or a bulk operation's input: an item, and the condition on which it is written.
    ItemRecord {
        item: Option<Map>,
        condition_expression: Option<Text>,
        substitutions: Substitutions,
    }
}
