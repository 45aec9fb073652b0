//! The DynamoDB guides' lessons about time, capacity and failure, as code.
//!
//! Each file is one lesson: the correct code; a common mistake, which passes every test against an emulator that never
//! throttles and never lags; and tests under conditions in which the mistake fails.
//!
//! | File | The lesson |
//! |---|---|
//! | [`backoff`] | full jitter recovers from `ProvisionedThroughputExceededException`; without it a burst loses writes |
//! | [`batches`] | a partly throttled batch is not an error: ignoring `UnprocessedItems` loses data |
//! | [`sessions`] | expired items can be read for two days more |
//! | [`hot_keys`] | one key is throttled while its table is idle |
//! | [`rate_limit`] | counting through an index lets too many through |
//! | [`jobs`] | a lookup in an index does not keep a job from running twice |
//! | [`tokens`] | a client token makes a transaction idempotent, for ten minutes |
//! | [`regions`] | a version check passes in two regions of a global table, and one write is lost |
//! | [`tenants`] | a tenant reads the items of others by Scan, and the policy that stops it |
//! | [`retries`] | what the SDK retries automatically, and retries that find their own write |
//!
//! The code takes time and sleep from its client's configuration ([`pace`]). In production these are the system's, in
//! tests the twin's, so hours pass without waiting.
#![allow(
    clippy::result_large_err,
    reason = "the SDK's error is what an application passes on"
)]

pub mod backoff;
pub mod batches;
pub mod hot_keys;
pub mod jobs;
pub mod pace;
pub mod rate_limit;
pub mod regions;
pub mod retries;
pub mod sessions;
pub mod tenants;
pub mod tokens;

#[cfg(test)]
mod support;

use std::collections::HashMap;

use aws_sdk_dynamodb::Error;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::AttributeValue;

/// An item of the SDK's type.
pub type Item = HashMap<String, AttributeValue>;

/// The result of a call to DynamoDB.
pub type Outcome<T> = Result<T, Error>;

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn number(item: &Item, name: &str) -> Option<i64> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

/// Returns whether a conditional write found its condition true; any other failure is an error.
fn held<T>(answer: Result<T, impl Into<Error>>) -> Outcome<bool> {
    match answer.map_err(Into::into) {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(false),
        Err(error) => Err(error),
    }
}
