//! Late, broken and lost answers.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemOutput};
use dynatwin::{Conditions, Lag, Latency, Moment, Rule, Twin, Verdict};

use crate::{TABLE, create_table, s};

type Put = Result<PutItemOutput, SdkError<PutItemError>>;

/// Sends one put without retries under a rule, with a client that has these timeouts.
async fn put_under(verdict: Verdict, timeouts: TimeoutConfig) -> (Twin, Put) {
    put_with_latency(Conditions::CALM.latency, verdict, timeouts).await
}

async fn put_with_latency(latency: Option<Latency>, verdict: Verdict, timeouts: TimeoutConfig) -> (Twin, Put) {
    let twin = Twin::seeded(7);
    create_table(&twin.client()).await;
    let conditions = Conditions {
        latency,
        ..Conditions::CALM
    };
    twin.set_conditions(conditions).unwrap();
    let config = twin
        .config()
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    let _rule = twin.faults().add(Rule::new(verdict).operation("PutItem"));
    let start = Instant::now();
    let request = Client::from_conf(config.build()).put_item().table_name(TABLE);
    let put = request.item("PK", s("a")).item("SK", s("-")).send().await;
    assert!(start.elapsed() < Duration::from_secs(2), "no real time passes");
    (twin, put)
}

fn patient() -> TimeoutConfig {
    TimeoutConfig::disabled()
}

fn attempt_within(timeout: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(timeout).build()
}

fn read_within(timeout: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().read_timeout(timeout).build()
}

fn connect_within(timeout: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(timeout).build()
}

/// The SDK's defaults: only connecting has a timeout.
fn unchanged() -> TimeoutConfig {
    TimeoutConfig::builder().build()
}

#[tokio::test]
async fn a_late_answer_advances_the_clock() {
    let (twin, put) = put_under(Verdict::Wait(Duration::from_secs(30)), patient()).await;
    put.unwrap();
    assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_secs(30)));
}

#[tokio::test]
async fn a_client_with_a_timeout_does_not_wait_for_it() {
    for timeouts in [
        attempt_within(Duration::from_secs(5)),
        read_within(Duration::from_secs(5)),
    ] {
        let (twin, put) = put_under(Verdict::Wait(Duration::from_secs(30)), timeouts).await;
        assert!(is_timeout(&put), "{put:?}");
        assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_secs(5)));
        assert_eq!(twin.items(TABLE).unwrap().len(), 1, "it was carried out");
    }
}

#[tokio::test]
async fn a_timeout_for_connecting_does_not_limit_the_answer() {
    for timeouts in [connect_within(Duration::from_secs(2)), unchanged()] {
        let wait = Verdict::Wait(Duration::from_secs(30));
        let (twin, put) = put_under(wait, timeouts.clone()).await;
        assert!(put.is_ok(), "{timeouts:?}: {put:?}");
        assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_secs(30)));
        let (twin, put) = put_under(Verdict::AnswerLost, timeouts.clone()).await;
        assert!(is_timeout(&put), "{timeouts:?}: {put:?}");
        assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_mins(1)));
    }
}

#[tokio::test]
async fn a_timeout_longer_than_the_wait_has_no_effect() {
    let (twin, put) = put_under(
        Verdict::Wait(Duration::from_secs(3)),
        attempt_within(Duration::from_secs(5)),
    )
    .await;
    put.unwrap();
    assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_secs(3)));
}

#[tokio::test]
async fn an_answer_that_arrives_with_the_end_of_the_timeout_is_in_time() {
    for (wait, is_late) in [(5000, false), (5001, true)] {
        let wait = Verdict::Wait(Duration::from_millis(wait));
        let (_, put) = put_under(wait, read_within(Duration::from_secs(5))).await;
        assert_eq!(is_timeout(&put), is_late, "{wait:?}: {put:?}");
    }
}

#[tokio::test]
async fn a_lost_answer_ends_with_the_timeout() {
    for (timeouts, seconds) in [
        (attempt_within(Duration::from_secs(2)), 2),
        (read_within(Duration::from_secs(2)), 2),
        (read_within(Duration::from_secs(90)), 90),
    ] {
        let (twin, put) = put_under(Verdict::AnswerLost, timeouts).await;
        assert!(is_timeout(&put), "{put:?}");
        assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_secs(seconds)));
        assert_eq!(twin.items(TABLE).unwrap().len(), 1, "it was carried out");
    }
}

#[tokio::test]
async fn a_lost_answer_times_out_for_a_client_without_a_timeout() {
    let (twin, put) = put_under(Verdict::AnswerLost, patient()).await;
    assert!(is_timeout(&put), "{put:?}");
    assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_mins(1)));
}

#[tokio::test]
async fn a_reset_connection_is_a_dispatch_failure() {
    let (twin, put) = put_under(Verdict::Reset, patient()).await;
    let error = put.unwrap_err();
    assert!(
        matches!(&error, SdkError::DispatchFailure(failure) if failure.is_io()),
        "{error:?}"
    );
    assert!(twin.items(TABLE).unwrap().is_empty(), "nothing was carried out");
}

#[tokio::test]
async fn a_truncated_answer_is_a_response_error() {
    // The answer is `{}`.
    for (bytes, is_whole) in [(0, false), (1, false), (2, true), (3, true)] {
        let (twin, put) = put_under(Verdict::Truncate(bytes), patient()).await;
        if is_whole {
            assert!(put.is_ok(), "{bytes} bytes: {put:?}");
        } else {
            assert!(matches!(put, Err(SdkError::ResponseError(_))), "{bytes} bytes: {put:?}");
        }
        assert_eq!(twin.items(TABLE).unwrap().len(), 1, "it was carried out");
    }
}

/// A rule's effect on the answer is independent of the latency.
#[tokio::test]
async fn a_late_answer_can_be_truncated_reset_or_lost() {
    let latency = Latency {
        write: Lag::Fixed(Duration::from_millis(200)),
        per_kilobyte: Duration::ZERO,
        ..Latency::AWS
    };
    let (twin, put) = put_with_latency(Some(latency), Verdict::Truncate(1), patient()).await;
    assert!(matches!(put, Err(SdkError::ResponseError(_))), "{put:?}");
    assert_eq!(twin.items(TABLE).unwrap().len(), 1, "it was carried out");
    assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_millis(200)));

    let (twin, put) = put_with_latency(Some(latency), Verdict::Truncate(1000), patient()).await;
    assert!(put.is_ok(), "the answer is shorter: {put:?}");
    assert_eq!(twin.clock().now(), Moment::START.plus(Duration::from_millis(200)));

    let (twin, put) = put_with_latency(Some(latency), Verdict::Reset, patient()).await;
    assert!(
        matches!(&put, Err(SdkError::DispatchFailure(failure)) if failure.is_io()),
        "{put:?}"
    );
    assert!(twin.items(TABLE).unwrap().is_empty(), "nothing was carried out");

    let (twin, put) = put_with_latency(Some(latency), Verdict::AnswerLost, patient()).await;
    assert!(is_timeout(&put), "{put:?}");
    assert_eq!(twin.items(TABLE).unwrap().len(), 1, "it was carried out");
}

#[tokio::test]
async fn a_retry_recovers_from_a_reset_connection() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    for verdict in [Verdict::Reset, Verdict::Truncate(1), Verdict::AnswerLost] {
        let rule = twin.faults().add(Rule::new(verdict).operation("PutItem").first(1));
        crate::put(&client, "a").await.unwrap();
        assert_eq!((rule.fired(), rule.matched()), (1, 2), "{verdict:?}");
    }
}

fn is_timeout(put: &Put) -> bool {
    match put {
        Err(SdkError::TimeoutError(_)) => true,
        Err(SdkError::DispatchFailure(failure)) => failure.is_timeout(),
        _ => false,
    }
}
