//! Full-jitter backoff: a throttled write is retried after a random time below a limit that doubles; a request that
//! cannot succeed is not retried.
//!
//! Where the target has fault rules the scenario throttles requests; elsewhere the write succeeds at once, without
//! waiting.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use dynatwin::{Rule, Verdict};

use crate::check::{Outcome, ensure, equal, item, s};
use crate::context::{Context, Table};

const BASE: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 8;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("backoff")).await?;
    // The store retries by itself, so the SDK must not.
    let config = context.client().config().to_builder();
    let store = Store {
        context,
        client: Client::from_conf(config.retry_config(RetryConfig::disabled()).build()),
        table: &table,
    };
    let throttle = |first| {
        let rule = Rule::new(Verdict::Throttle(None)).operation("PutItem").table(&table);
        context.faults().map(|faults| faults.add(rule.first(first)))
    };

    let five = throttle(5);
    let waits = store.put("a").await?;
    if five.is_some() {
        ensure(waits.len() >= 5, format!("five throttles took {} waits", waits.len()))?;
    }
    for (attempt, wait) in (0..).zip(&waits) {
        ensure(*wait <= limit(attempt), format!("wait {attempt} was {wait:?}"))?;
    }
    drop(five);

    // If the throttling continues, the store gives up and returns the reason.
    if let Some(rule) = throttle(u64::MAX) {
        let gave_up = store.put("b").await.err().map(|failure| failure.to_string());
        let said = gave_up.unwrap_or_default();
        ensure(
            said.contains("ThrottlingException") || said.contains("Throughput"),
            format!("it said {said:?}"),
        )?;
        equal("attempts", rule.fired(), u64::from(ATTEMPTS))?;
    }
    // An invalid request remains invalid.
    let nowhere = Store {
        table: "dynatwin-no-such-table",
        ..store
    };
    ensure(nowhere.put("c").await.is_err(), "a missing table took a write")
}

/// The longest wait after this attempt: it doubles each time.
fn limit(attempt: u32) -> Duration {
    LONGEST.min(BASE * 2_u32.pow(attempt))
}

struct Store<'a> {
    context: &'a Context,
    client: Client,
    table: &'a str,
}

impl Store<'_> {
    /// Puts an item; returns the waits before each further attempt.
    async fn put(&self, key: &str) -> Outcome<Vec<Duration>> {
        let mut waits = Vec::new();
        loop {
            let put = self
                .client
                .put_item()
                .table_name(self.table)
                .set_item(Some(item([("pk", s(key))])));
            let Err(error) = put.send().await else { return Ok(waits) };
            let attempt = u32::try_from(waits.len())?;
            if attempt + 1 == ATTEMPTS || !passes(error.code()) {
                return Err(error.into());
            }
            let wait = limit(attempt).mul_f64(random(key, attempt));
            self.context.sleep(wait).await;
            waits.push(wait);
        }
    }
}

/// Whether a retry may succeed.
fn passes(code: Option<&str>) -> bool {
    const PASSING: [&str; 4] = [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "InternalServerError",
    ];
    code.is_some_and(|code| PASSING.contains(&code))
}

/// From 0 to 1: the whole range, so that clients throttled together retry at different times.
fn random(key: &str, attempt: u32) -> f64 {
    use std::hash::{BuildHasher, RandomState};
    f64::from(RandomState::new().hash_one((key, attempt)) as u32) / f64::from(u32::MAX)
}
