//! Capacity that runs out, and how applications live with it.

use std::collections::{HashMap, HashSet};
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

/// A twin that enforces capacity and nothing else, and a client that does not try again by itself.
fn metered() -> (Twin, Client) {
    let twin = Twin::seeded(7);
    twin.set_conditions(Conditions {
        capacity: Capacity::Enforced(Enforcement::AWS),
        ..Conditions::CALM
    });
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

/// Full jitter, as AWS's guides have it: sleep for a random part of a bound that doubles.
async fn put_with_full_jitter(twin: &Twin, client: &Client, key: &str, random: &mut u64) -> u32 {
    let (base, cap) = (Duration::from_millis(50), Duration::from_secs(20));
    for attempt in 0..30 {
        match put(client, key, 1).await {
            Ok(()) => return attempt,
            Err(error) => {
                let error = error.into_service_error();
                assert!(error.is_provisioned_throughput_exceeded_exception(), "{error:?}");
            }
        }
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let share = f64::from(u32::try_from(*random >> 32).unwrap()) / f64::from(u32::MAX);
        let bound = (base * 2u32.pow(attempt.min(20))).min(cap);
        twin.clock().sleep(bound.mul_f64(share)).await;
    }
    panic!("{key} was never written");
}

#[tokio::test]
async fn full_jitter_recovers_from_throttling() {
    let (twin, client) = metered();
    create(&client, Some(5)).await;
    let start = twin.clock().now();
    let mut random = 7;
    let mut retries = 0;
    for at in 0..100 {
        retries += put_with_full_jitter(&twin, &client, &format!("e{at}"), &mut random).await;
    }
    assert_eq!(twin.items(TABLE).unwrap().len(), 100);
    assert!(retries > 10, "{retries}: five units a second are not enough");
    let took = twin.clock().now().since(start);
    // The first second's units are there at once.
    assert!(
        took >= Duration::from_secs(19),
        "{took:?}: nobody can be faster than capacity comes"
    );
    let heat = twin.heat(TABLE).unwrap();
    assert_eq!(heat.resources[0].write.units.as_f64(), 100.0);
    assert_eq!(heat.resources[0].write.all_throttles(), u64::from(retries));
}

#[tokio::test]
async fn what_throttles_says_why_and_of_what() {
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

/// So many puts, in batches of 25.
fn batches(count: usize) -> Vec<Vec<WriteRequest>> {
    let put = |at: usize| {
        let put = PutRequest::builder().item("pk", s(&format!("e{at}"))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let all: Vec<WriteRequest> = (0..count).map(put).collect();
    all.chunks(25).map(<[WriteRequest]>::to_vec).collect()
}

/// Sends a batch, as often as it is refused as a whole; gives what came back of it.
async fn send(twin: &Twin, client: &Client, batch: Vec<WriteRequest>) -> Vec<WriteRequest> {
    loop {
        let request = client.batch_write_item().request_items(TABLE, batch.clone()).send();
        match request.await {
            Ok(answer) => {
                let mut rest: HashMap<String, Vec<WriteRequest>> = answer.unprocessed_items.unwrap_or_default();
                return rest.remove(TABLE).unwrap_or_default();
            }
            Err(error) => {
                let error = error.into_service_error();
                assert!(error.is_provisioned_throughput_exceeded_exception(), "{error:?}");
                twin.clock().sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn stored(twin: &Twin) -> HashSet<String> {
    let items = twin.items(TABLE).unwrap();
    items.iter().map(|item| item["pk"].as_s().unwrap().clone()).collect()
}

#[tokio::test]
async fn who_ignores_unprocessed_items_loses_data() {
    let (twin, client) = metered();
    create(&client, Some(10)).await;
    let mut returned = 0;
    for batch in batches(150) {
        // No error, so all is well: the mistake.
        returned += send(&twin, &client, batch).await.len();
    }
    assert!(returned > 0);
    assert_eq!(stored(&twin).len(), 150 - returned);
}

#[tokio::test]
async fn who_sends_unprocessed_items_again_loses_nothing() {
    let (twin, client) = metered();
    create(&client, Some(10)).await;
    let mut rounds = 0;
    for batch in batches(150) {
        let mut rest = send(&twin, &client, batch).await;
        while !rest.is_empty() {
            rounds += 1;
            twin.clock().sleep(Duration::from_millis(500)).await;
            rest = send(&twin, &client, rest).await;
        }
    }
    assert!(rounds > 5, "{rounds}");
    assert_eq!(stored(&twin).len(), 150);
}

#[tokio::test]
async fn a_hot_key_is_throttled_while_the_table_is_idle() {
    let (twin, client) = metered();
    create(&client, None).await;
    let mut written = 0;
    let error = loop {
        // 100 units each, of the 4,000 that the table has, and the 1,000 that a partition has.
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
    // Somebody else's partition has all of its own.
    let partitions = twin.heat(TABLE).unwrap().resources[0].partitions.len();
    assert_eq!(partitions, 4);
    let mut passed = 0;
    for user in 0..100 {
        passed += usize::from(put(&client, &format!("user{user}"), 1).await.is_ok());
    }
    assert!((50..100).contains(&passed), "{passed}: three partitions of four");
    // The SDK's own retries are no way out, but a second is.
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
