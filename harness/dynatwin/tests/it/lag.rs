//! Applications under production lag: correct code keeps working, and common mistakes fail. `examples/lessons` has more
//! of them.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate,
    KeySchemaElement, KeyType, Projection, ProjectionType, ScalarAttributeType, TransactWriteItem, Update,
};
use dynatwin::{Conditions, Lag, Moment, Rule, TimeToLive, Twin, Verdict};

use crate::{TABLE, create_table, n, s};

type Item = HashMap<String, AttributeValue>;

/// The table that all tests here use, with an index of the items by `dedupe`.
async fn create_indexed(client: &Client) {
    create_table(client).await;
    let attribute = AttributeDefinition::builder()
        .attribute_name("dedupe")
        .attribute_type(ScalarAttributeType::S)
        .build();
    let key = KeySchemaElement::builder()
        .attribute_name("dedupe")
        .key_type(KeyType::Hash)
        .build();
    let index = CreateGlobalSecondaryIndexAction::builder()
        .index_name("by-dedupe")
        .key_schema(key.unwrap())
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build();
    client
        .update_table()
        .table_name(TABLE)
        .attribute_definitions(attribute.unwrap())
        .global_secondary_index_updates(GlobalSecondaryIndexUpdate::builder().create(index.unwrap()).build())
        .send()
        .await
        .unwrap();
}

fn number(item: &Item, name: &str) -> i64 {
    item[name].as_n().unwrap().parse().unwrap()
}

/// Returns a session as read by an application that relies on time to live, or `None`.
async fn session(client: &Client, id: usize) -> Option<Item> {
    let read = client.get_item().table_name(TABLE);
    let read = read.key("PK", s(&format!("SESSION#{id}"))).key("SK", s("-"));
    read.send().await.unwrap().item
}

#[tokio::test]
async fn using_a_session_cancels_its_late_deletion() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    twin.set_conditions(Conditions {
        time_to_live: TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48))),
        ..Conditions::CALM
    })
    .unwrap();
    let ends = twin.clock().now().plus(Duration::from_hours(1));
    let put = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("SESSION#0"))
        .item("SK", s("-"));
    put.item("expiresAt", n(ends.seconds())).send().await.unwrap();
    twin.clock().advance(Duration::from_hours(40));
    let again = twin.clock().now().plus(Duration::from_hours(1));
    let touch = client
        .update_item()
        .table_name(TABLE)
        .key("PK", s("SESSION#0"))
        .key("SK", s("-"));
    let touch = touch
        .update_expression("SET expiresAt = :e")
        .expression_attribute_values(":e", n(again.seconds()));
    touch.send().await.unwrap();
    twin.clock().set(ends.plus(Duration::from_hours(48)));
    assert!(session(&client, 0).await.is_some());
    assert_eq!(twin.expire_now(TABLE), Ok(1), "expired, and not deleted yet");
    assert_eq!(session(&client, 0).await, None);
}

/// The mistake: enqueues a job unless the index contains one with the same name.
async fn enqueue_by_index(client: &Client, name: &str, id: usize) -> bool {
    let query = client.query().table_name(TABLE).index_name("by-dedupe");
    let query = query.key_condition_expression("dedupe = :d");
    let found = query.expression_attribute_values(":d", s(name)).send().await.unwrap();
    if found.count() > 0 {
        return false;
    }
    let put = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s(&format!("JOB#{id}")))
        .item("SK", s("-"));
    put.item("dedupe", s(name)).send().await.unwrap();
    true
}

/// Enqueues a job under a key derived from its name: the table decides.
async fn enqueue_by_key(client: &Client, name: &str) -> bool {
    let put = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s(&format!("JOB#{name}")))
        .item("SK", s("-"));
    let put = put
        .item("dedupe", s(name))
        .condition_expression("attribute_not_exists(PK)");
    match put.send().await {
        Ok(_) => true,
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_job_is_enqueued_once_despite_a_lagging_index() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_indexed(&client).await;
    twin.set_index_lag(TABLE, "by-dedupe", Lag::Fixed(Duration::from_mins(1)))
        .unwrap();
    let mut accepted = [0, 0];
    for id in 0..10 {
        accepted[0] += usize::from(enqueue_by_index(&client, "seems", id).await);
        accepted[1] += usize::from(enqueue_by_key(&client, "is").await);
    }
    assert_eq!(accepted, [10, 1]);
    twin.clock().advance(Duration::from_mins(1));
    assert!(!enqueue_by_index(&client, "seems", 11).await, "the index has caught up");

    // A worker that finds jobs through the index finds one late, and must not run it twice.
    twin.set_index_lag(TABLE, "by-dedupe", None).unwrap();
    twin.pause_index(TABLE, "by-dedupe").unwrap();
    assert!(enqueue_by_key(&client, "later").await);
    let find = || async {
        let query = client.query().table_name(TABLE).index_name("by-dedupe");
        let query = query.key_condition_expression("dedupe = :d");
        query
            .expression_attribute_values(":d", s("later"))
            .send()
            .await
            .unwrap()
            .count()
    };
    assert_eq!(find().await, 0);
    twin.resume_index(TABLE, "by-dedupe").unwrap();
    assert_eq!(find().await, 1);
    assert!(twin.pause_index(TABLE, "by-name").is_err());
}

/// Returns a transaction that increments a counter.
fn count(pk: &str) -> TransactWriteItem {
    let update = Update::builder()
        .table_name(TABLE)
        .key("PK", s(pk))
        .key("SK", s("-"))
        .update_expression("ADD calls :one")
        .expression_attribute_values(":one", n(1));
    TransactWriteItem::builder().update(update.build().unwrap()).build()
}

async fn flying(flight: Duration) -> (Twin, Client) {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    twin.set_conditions(Conditions {
        transaction_time: Lag::Fixed(flight),
        ..Conditions::CALM
    })
    .unwrap();
    (twin, client)
}

#[tokio::test]
async fn conflicting_transactions_are_retried() {
    let (twin, client) = flying(Duration::from_millis(30)).await;
    let conflicts = std::sync::atomic::AtomicUsize::new(0);
    let worker = |id: u64| {
        let (client, clock, conflicts) = (client.clone(), twin.clock(), &conflicts);
        async move {
            loop {
                let actions = [count("SHARED"), count(&format!("OWN#{id}"))];
                let request = client.transact_write_items().set_transact_items(Some(actions.into()));
                match request.send().await {
                    Ok(_) => return,
                    Err(error) => {
                        let error = error.into_service_error();
                        assert!(error.is_transaction_canceled_exception(), "{error:?}");
                        conflicts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
                clock.sleep(Duration::from_millis(20 + 7 * id)).await;
            }
        }
    };
    tokio::join!(worker(1), worker(2), worker(3), worker(4));
    assert!(conflicts.into_inner() > 0);
    let shared = twin.item(TABLE, [("PK", s("SHARED")), ("SK", s("-"))]).unwrap();
    assert_eq!(number(&shared, "calls"), 4);
    assert_eq!(twin.items(TABLE).unwrap().len(), 5);
}

#[tokio::test]
async fn a_transaction_retried_while_pending_is_applied_once() {
    let (twin, _) = flying(Duration::from_secs(5)).await;
    // The first attempt times out before the transaction is applied, and its retries with the same token find it
    // pending.
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_millis(100))
        .build();
    let retries = RetryConfig::standard().with_max_attempts(10);
    let client = Client::from_conf(twin.config().timeout_config(timeouts).retry_config(retries).build());
    client
        .transact_write_items()
        .transact_items(count("ONCE"))
        .send()
        .await
        .unwrap();
    let counted = twin.item(TABLE, [("PK", s("ONCE")), ("SK", s("-"))]).unwrap();
    assert_eq!(number(&counted, "calls"), 1);
    assert!(
        twin.clock().now() >= Moment::START.plus(Duration::from_secs(5)),
        "no attempt succeeds before"
    );
}

#[tokio::test]
async fn a_fault_that_never_occurred_is_reported() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    let rule = || Rule::new(Verdict::Throttle(None));
    let throttle = twin
        .faults()
        .add(rule().operation("PutItem").caller("dynatwin").first(2));
    drop(twin.faults().add(rule().operation("PutItem").caller("somebody")));
    crate::put(&client, "a").await.unwrap();
    throttle.assert_fired(2);
    for times in [1, 3] {
        let asserts = std::panic::AssertUnwindSafe(|| throttle.assert_fired(times));
        assert!(std::panic::catch_unwind(asserts).is_err(), "{times}");
    }
    assert_eq!(throttle.matched(), 3, "the third attempt passes");
    let idle = twin.faults().never_fired();
    assert_eq!(idle.len(), 1);
    assert_eq!(
        idle[0].rule.to_string(),
        r#"{"verdict":"throttle","operation":"PutItem","caller":"somebody"}"#
    );
}
