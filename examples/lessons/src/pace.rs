//! The time, and waiting, as the client's configuration has them.
//!
//! An application that asks its client for the time needs no clock of its own to be tested: the twin's clients come with the
//! twin's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::AsyncSleep;

/// The time, in whole seconds since 1970.
pub fn now(client: &Client) -> i64 {
    let time = client
        .config()
        .time_source()
        .map_or_else(SystemTime::now, |source| source.now());
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Waits. Every client that can try again has something to sleep by.
pub async fn sleep(client: &Client, pause: Duration) {
    if let Some(sleep) = client.config().sleep_impl() {
        sleep.sleep(pause).await;
    }
}
