//! The SDK's retries under a settable clock: they advance the twin's clock and take no real time.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use dynatwin::{Conditions, Moment, Rule, Twin, Verdict};

use crate::{TABLE, create_table, put};

#[tokio::test]
async fn a_put_throttled_twice_succeeds_at_the_third_attempt() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    let throttle = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).operation("PutItem").first(2));
    let start = Instant::now();

    put(&client, "a").await.unwrap();

    assert_eq!((throttle.fired(), throttle.matched()), (2, 3));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    assert!(twin.clock().now() > Moment::START, "the backoff moves the clock");
    assert_eq!(twin.items(TABLE).unwrap().len(), 1);
}

#[tokio::test]
async fn one_seed_gives_identical_retry_times() {
    let mut ends = Vec::new();
    for _ in 0..2 {
        let twin = Twin::seeded(7);
        let client = twin.client();
        create_table(&client).await;
        let _throttle = twin.faults().add(Rule::new(Verdict::Throttle(None)).share(0.3));
        for at in 0..20 {
            let _ = put(&client, &at.to_string()).await;
        }
        ends.push((twin.clock().now(), twin.items(TABLE)));
    }
    assert_eq!(ends[0], ends[1]);
    assert!(ends[0].0 > Moment::START, "three in ten of twenty fail now and then");
}

/// Returns the answers of eight tasks on eight threads, each with its own key.
async fn outcomes_of_run(run: usize) -> Vec<Vec<String>> {
    let twin = Twin::seeded(7);
    create_table(&twin.client()).await;
    twin.set_conditions(Conditions {
        internal_errors: 0.1,
        throttles: 0.1,
        ..Conditions::CALM
    })
    .unwrap();
    twin.faults().add(Rule::new(Verdict::Throttle(None)).share(0.3)).keep();
    let client = Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build());
    let tasks: Vec<_> = (0..8)
        .map(|task: usize| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut outcomes = Vec::new();
                for at in 0..8 {
                    // Another order each time.
                    for _ in 0..(run * 7 + task * 3 + at * run) % 5 {
                        tokio::task::yield_now().await;
                    }
                    let error = put(&client, &task.to_string()).await.err();
                    outcomes.push(error.map_or_else(|| "ok".to_owned(), |error| format!("{:?}", error.code())));
                }
                outcomes
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_seed_gives_each_key_the_same_outcomes_however_tasks_interleave() {
    let first = outcomes_of_run(0).await;
    let all = first.concat();
    assert!(
        ["ok", "Some(\"ThrottlingException\")", "Some(\"InternalServerError\")"]
            .iter()
            .all(|outcome| all.iter().any(|seen| seen == outcome))
    );
    for run in 1..12 {
        assert_eq!(outcomes_of_run(run).await, first, "seed 7, run {run}");
    }
}

#[tokio::test]
async fn no_attempt_is_left_when_all_are_throttled() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    let throttle = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).operation("PutItem"));

    let error = put(&client, "a").await.unwrap_err();

    assert!(
        matches!(error, aws_sdk_dynamodb::Error::ThrottlingException(_)),
        "{error:?}"
    );
    assert_eq!(throttle.fired(), 3);
    drop(throttle);
    put(&client, "a").await.unwrap();
}

#[tokio::test]
async fn one_client_does_not_use_up_the_retries_of_another() {
    let twin = Twin::seeded(7);
    create_table(&twin.client()).await;
    let throttle = twin
        .faults()
        .add(Rule::new(Verdict::InternalServerError).operation("PutItem"));
    for _ in 0..100 {
        let before = throttle.fired();
        put(&twin.client(), "a").await.unwrap_err();
        assert_eq!(throttle.fired() - before, 3);
    }
}

#[tokio::test]
async fn retries_can_be_turned_off() {
    let twin = Twin::seeded(7);
    create_table(&twin.client()).await;
    let client = Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build());
    let throttle = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).operation("PutItem"));
    put(&client, "a").await.unwrap_err();
    assert_eq!(throttle.fired(), 1);
    assert_eq!(twin.clock().now(), Moment::START);
}
