//! Exports and imports through a folder in place of S3.

use std::fs;
use std::path::Path;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, ExportStatus, ImportStatus, InputCompressionType, InputFormat, KeySchemaElement,
    KeyType, PointInTimeRecoverySpecification, S3BucketSource, ScalarAttributeType, TableCreationParameters,
};
use dynatwin::{Clock, Moment, Twin};

use crate::{TABLE, create_table, s};

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder()
        .attribute_name(name)
        .key_type(kind)
        .build()
        .unwrap()
}

fn text(name: &str) -> AttributeDefinition {
    let kind = ScalarAttributeType::S;
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(kind)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_table_goes_through_a_bucket() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("buckets");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("exports")).unwrap();
    let clock = Clock::settable(Moment::START);
    let twin = Twin::builder().seed(7).clock(clock).buckets(&folder).build();
    let client = twin.client();
    create_table(&client).await;
    let item = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("a"))
        .item("SK", s("b"));
    item.item("note", s("kept")).send().await.unwrap();
    let recovery = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true);
    let recovery = recovery.build().unwrap();
    let request = client.update_continuous_backups().table_name(TABLE);
    request
        .point_in_time_recovery_specification(recovery)
        .send()
        .await
        .unwrap();

    let table = client
        .describe_table()
        .table_name(TABLE)
        .send()
        .await
        .unwrap()
        .table
        .unwrap();
    let export = client
        .export_table_to_point_in_time()
        .table_arn(table.table_arn.unwrap());
    let export = export
        .s3_bucket("exports")
        .send()
        .await
        .unwrap()
        .export_description
        .unwrap();
    assert_eq!(export.export_status, Some(ExportStatus::InProgress));
    let export = client.describe_export().export_arn(export.export_arn.unwrap());
    let export = export.send().await.unwrap().export_description.unwrap();
    assert_eq!(export.export_status, Some(ExportStatus::Completed));
    let manifest = export.export_manifest.unwrap();
    assert!(folder.join("exports").join(&manifest).is_file());

    let data = manifest.replace("manifest-summary.json", "data/");
    let source = S3BucketSource::builder()
        .s3_bucket("exports")
        .s3_key_prefix(data)
        .build()
        .unwrap();
    let parameters = TableCreationParameters::builder()
        .table_name("Copy")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(text("PK"))
        .attribute_definitions(text("SK"))
        .key_schema(key("PK", KeyType::Hash))
        .key_schema(key("SK", KeyType::Range));
    let import = client
        .import_table()
        .s3_bucket_source(source)
        .input_format(InputFormat::DynamodbJson)
        .input_compression_type(InputCompressionType::Gzip)
        .table_creation_parameters(parameters.build().unwrap());
    let import = import.send().await.unwrap().import_table_description.unwrap();
    let import = client.describe_import().import_arn(import.import_arn.unwrap());
    let import = import.send().await.unwrap().import_table_description.unwrap();
    assert_eq!(import.import_status, Some(ImportStatus::Completed));
    assert_eq!(twin.items("Copy"), twin.items(TABLE));
}
