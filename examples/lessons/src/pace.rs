//! Time and sleep from the client's configuration.
//!
//! An application that reads the time from its client needs no other clock in tests: the twin's clients have the twin's
//! clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::AsyncSleep;

/// Returns the time, in whole seconds since 1970.
pub fn now(client: &Client) -> i64 {
    let time = client
        .config()
        .time_source()
        .map_or_else(SystemTime::now, |source| source.now());
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Sleeps. Every client with retries has a sleep implementation.
pub async fn sleep(client: &Client, pause: Duration) {
    if let Some(sleep) = client.config().sleep_impl() {
        sleep.sleep(pause).await;
    }
}
