//! Full-jitter backoff, which recovers from `ProvisionedThroughputExceededException`.
//!
//! The SDK makes three attempts within about a second, which is not enough for a larger burst. Full jitter sleeps for a
//! random part of a bound that doubles with each attempt, so that callers that were throttled together do not retry
//! together.

use std::future::Future;
use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::{Client, Error};

use crate::{Outcome, pace};

/// The limits of a backoff.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The upper bound of the first wait.
    pub base: Duration,
    /// The maximum of the bound.
    pub cap: Duration,
    /// The number of attempts after which the error is returned.
    pub attempts: u32,
}

impl Backoff {
    /// The values that the guides recommend.
    pub const FULL_JITTER: Backoff = Backoff {
        base: Duration::from_millis(100),
        cap: Duration::from_secs(20),
        attempts: 8,
    };

    /// Returns `random(0, min(cap, base * 2^attempt))`, where the first attempt is 0.
    pub fn pause(self, attempt: u32, random: &mut fastrand::Rng) -> Duration {
        let bound = self.base.saturating_mul(2u32.saturating_pow(attempt)).min(self.cap);
        bound.mul_f64(random.f64())
    }
}

/// Returns whether a retry can succeed.
pub fn is_throttled(error: &Error) -> bool {
    matches!(
        error.code(),
        Some("ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded")
    )
}

/// Calls `attempt` until it is not throttled, or the attempts are used up.
pub async fn with_backoff<T, F>(
    client: &Client,
    backoff: Backoff,
    random: &mut fastrand::Rng,
    attempt: impl Fn() -> F,
) -> Outcome<T>
where
    F: Future<Output = Outcome<T>>,
{
    let mut made = 0;
    loop {
        match attempt().await {
            Err(error) if is_throttled(&error) && made + 1 < backoff.attempts => {
                pace::sleep(client, backoff.pause(made, random)).await;
                made += 1;
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::error::ProvisionedThroughputExceededException;
    use dynatwin::{Exceeded, Moment, Rule, Twin, Verdict};
    use tokio::task::JoinSet;

    use super::*;
    use crate::s;
    use crate::support::{Table, metered, without_retries};

    const ORDERS: u64 = 20;
    const UNITS: u64 = 5;

    /// An order consumes one unit.
    async fn put_order(client: &Client, order: u64) -> Outcome<()> {
        let put = client.put_item().table_name("Orders");
        put.item("PK", s(format!("ORDER#{order}")))
            .item("SK", s("META"))
            .send()
            .await?;
        Ok(())
    }

    /// Sends this many orders at once to a table with five units a second. Returns the failed ones.
    async fn burst(twin: &Twin, client: &Client, orders: u64, backoff: Option<Backoff>) -> Vec<Error> {
        Table::new("Orders").provisioned(UNITS as i64).create(twin).await;
        let mut writers = JoinSet::new();
        let seed = twin.seed();
        for order in 0..orders {
            let client = client.clone();
            writers.spawn(async move {
                let Some(backoff) = backoff else {
                    return put_order(&client, order).await;
                };
                let mut random = fastrand::Rng::with_seed(order + (seed << 32));
                with_backoff(&client, backoff, &mut random, || put_order(&client, order)).await
            });
        }
        writers.join_all().await.into_iter().filter_map(Result::err).collect()
    }

    #[tokio::test]
    async fn a_burst_without_backoff_loses_orders() {
        let twin = metered(7);
        let failed = burst(&twin, &without_retries(&twin), ORDERS, None).await;
        assert_eq!(
            failed.len() as u64,
            ORDERS - UNITS,
            "what one second's capacity does not cover"
        );
        assert_eq!(twin.items("Orders").unwrap().len() as u64, UNITS);
        for error in failed {
            let Error::ProvisionedThroughputExceededException(error) = error else {
                panic!("{error:?}");
            };
            assert_eq!(reason(&error), "TableWriteProvisionedThroughputExceeded");
        }
    }

    fn reason(error: &ProvisionedThroughputExceededException) -> &str {
        error.throttling_reasons()[0].reason().unwrap()
    }

    #[tokio::test]
    async fn full_jitter_brings_every_order_through() {
        for seed in 0..3 {
            let twin = metered(seed);
            let failed = burst(&twin, &without_retries(&twin), ORDERS, Some(Backoff::FULL_JITTER)).await;
            assert!(failed.is_empty(), "{failed:?}");
            assert_eq!(twin.items("Orders").unwrap().len() as u64, ORDERS);

            let table = &twin.heat("Orders").unwrap().resources[0];
            let throttled = table.write.throttles(Exceeded::ProvisionedThroughput);
            assert!(
                throttled >= ORDERS - UNITS,
                "{throttled}: each of those was throttled at least once"
            );
            assert_eq!(table.write.units.as_f64(), ORDERS as f64, "no order is paid for twice");
            let took = twin.clock().now().since(Moment::START);
            assert!(
                took >= Duration::from_secs(3),
                "{took:?}: no worker exceeds the available capacity"
            );
        }
    }

    #[tokio::test]
    async fn the_sdks_own_three_attempts_are_too_few_for_a_larger_burst() {
        let twin = metered(7);
        let failed = burst(&twin, &twin.client(), 2 * ORDERS, None).await;
        assert!(!failed.is_empty());
        let stored = twin.items("Orders").unwrap().len() as u64;
        assert!(stored > UNITS, "{stored}: they do help");
        assert_eq!(stored + failed.len() as u64, 2 * ORDERS);
    }

    #[tokio::test]
    async fn retries_end_and_other_errors_are_not_retried() {
        let twin = Twin::seeded(7);
        let client = without_retries(&twin);
        Table::new("Orders").create(&twin).await;
        let mut random = fastrand::Rng::with_seed(7);
        for (verdict, attempts) in [(Verdict::Throttle(None), 8), (Verdict::InternalServerError, 1)] {
            let rule = twin.faults().add(Rule::new(verdict).operation("PutItem"));
            let outcome = with_backoff(&client, Backoff::FULL_JITTER, &mut random, || put_order(&client, 1)).await;
            assert!(outcome.is_err());
            rule.assert_fired(attempts);
        }
    }

    #[test]
    fn a_pause_is_anything_up_to_a_bound_that_doubles() {
        let mut random = fastrand::Rng::with_seed(7);
        for (attempt, bound) in [(0, 100), (1, 200), (4, 1_600), (7, 12_800), (8, 20_000), (1000, 20_000)] {
            let mut longest = Duration::ZERO;
            for _ in 0..1000 {
                longest = longest.max(Backoff::FULL_JITTER.pause(attempt, &mut random));
            }
            let bound = Duration::from_millis(bound);
            assert!(
                longest <= bound && longest > bound.mul_f64(0.99),
                "{attempt}: {longest:?} of {bound:?}"
            );
        }
    }
}
