//! Tests of the twin's public API in one binary, because linking the SDK is expensive.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod access;
mod buckets;
mod capacity;
mod concurrency;
mod delivery;
mod lag;
mod outages;
mod regions;
mod retries;
mod settings;
mod statements;
mod streams;
mod table;
mod time;
mod watch;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TimeToLiveSpecification,
};

/// The name of the table that all tests here use.
const TABLE: &str = "Tasks";

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A table `PK`/`SK` with time to live on `expiresAt`.
async fn create_table(client: &Client) {
    let mut request = client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, role) in [("PK", KeyType::Hash), ("SK", KeyType::Range)] {
        request = request
            .attribute_definitions(
                AttributeDefinition::builder()
                    .attribute_name(name)
                    .attribute_type(ScalarAttributeType::S)
                    .build()
                    .unwrap(),
            )
            .key_schema(
                KeySchemaElement::builder()
                    .attribute_name(name)
                    .key_type(role)
                    .build()
                    .unwrap(),
            );
    }
    request.send().await.unwrap();
    let specification = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("expiresAt")
        .build()
        .unwrap();
    client
        .update_time_to_live()
        .table_name(TABLE)
        .time_to_live_specification(specification)
        .send()
        .await
        .unwrap();
}

/// Puts an item with only its key.
async fn put(client: &Client, pk: &str) -> Result<(), aws_sdk_dynamodb::Error> {
    client
        .put_item()
        .table_name(TABLE)
        .item("PK", s(pk))
        .item("SK", s("-"))
        .send()
        .await?;
    Ok(())
}
