//! Capacity that runs out. `examples/lessons` shows how applications handle it.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ProvisionedThroughput, PutRequest,
    ScalarAttributeType, WriteRequest,
};
use dynatwin::{Capacity, Conditions, Enforcement, Twin};

use crate::s;

const TABLE: &str = "Events";

/// Returns a twin that only enforces capacity, and a client without retries.
fn metered() -> (Twin, Client) {
    let twin = Twin::seeded(7);
    twin.set_conditions(Conditions {
        capacity: Capacity::Enforced(Enforcement::AWS),
        ..Conditions::CALM
    })
    .unwrap();
    let client = Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build());
    (twin, client)
}

async fn create(client: &Client, units: Option<i64>) {
    let mut request = client
        .create_table()
        .table_name(TABLE)
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name("pk")
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap(),
        )
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name("pk")
                .key_type(KeyType::Hash)
                .build()
                .unwrap(),
        );
    request = match units {
        None => request.billing_mode(BillingMode::PayPerRequest),
        Some(units) => request.provisioned_throughput(
            ProvisionedThroughput::builder()
                .read_capacity_units(units)
                .write_capacity_units(units)
                .build()
                .unwrap(),
        ),
    };
    request.send().await.unwrap();
}

async fn put(client: &Client, key: &str, bytes: usize) -> Result<(), SdkError<PutItemError>> {
    let request = client.put_item().table_name(TABLE).item("pk", s(key));
    request.item("v", s(&"v".repeat(bytes))).send().await.map(drop)
}

#[tokio::test]
async fn throttles_name_reason_and_resource() {
    let (_twin, client) = metered();
    create(&client, Some(1)).await;
    put(&client, "a", 1).await.unwrap();
    let error = put(&client, "b", 1).await.unwrap_err();
    assert_eq!(
        error.raw_response().map(|response| response.status().as_u16()),
        Some(400)
    );
    let error = error.into_service_error();
    assert_eq!(error.code(), Some("ProvisionedThroughputExceededException"));
    let PutItemError::ProvisionedThroughputExceededException(error) = error else {
        panic!("{error:?}");
    };
    let reasons: Vec<_> = error
        .throttling_reasons()
        .iter()
        .map(|each| (each.reason(), each.resource()))
        .collect();
    let resource = "arn:aws:dynamodb:us-east-1:000000000000:table/Events";
    assert_eq!(
        reasons,
        [(Some("TableWriteProvisionedThroughputExceeded"), Some(resource))]
    );
}

/// Returns this many puts, in batches of 25.
fn batches(count: usize) -> Vec<Vec<WriteRequest>> {
    let put = |at: usize| {
        let put = PutRequest::builder().item("pk", s(&format!("e{at}"))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let all: Vec<WriteRequest> = (0..count).map(put).collect();
    all.chunks(25).map(<[WriteRequest]>::to_vec).collect()
}

#[tokio::test]
async fn a_hot_key_is_throttled_while_the_table_is_idle() {
    let (twin, client) = metered();
    create(&client, None).await;
    let mut written = 0;
    let error = loop {
        // 100 units each, of the 4,000 units of the table and the 1,000 units of a partition.
        match put(&client, "celebrity", 102_000).await {
            Ok(()) => written += 1,
            Err(error) => break error.into_service_error(),
        }
    };
    assert_eq!(written, 10);
    let PutItemError::ThrottlingException(error) = error else {
        panic!("{error:?}");
    };
    let reasons: Vec<_> = error.throttling_reasons().iter().map(|each| each.reason()).collect();
    assert_eq!(reasons, [Some("TableWriteKeyRangeThroughputExceeded")]);
    // The capacity of other partitions is not used up.
    let partitions = twin.heat(TABLE).unwrap().resources[0].partitions.len();
    assert_eq!(partitions, 4);
    let mut passed = 0;
    for user in 0..100 {
        passed += usize::from(put(&client, &format!("user{user}"), 1).await.is_ok());
    }
    assert!((50..100).contains(&passed), "{passed}: three partitions of four");
    // The SDK's own retries are not enough, but a second is.
    twin.clock().advance(Duration::from_secs(1));
    put(&client, "celebrity", 102_000).await.unwrap();
}

#[tokio::test]
async fn nothing_is_throttled_in_calm() {
    let twin = Twin::seeded(7);
    let client = Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build());
    create(&client, Some(1)).await;
    for batch in batches(100) {
        let rest = client
            .batch_write_item()
            .request_items(TABLE, batch)
            .send()
            .await
            .unwrap();
        assert!(rest.unprocessed_items.unwrap_or_default().is_empty());
    }
}
