//! What the guides to DynamoDB teach about time, capacity and failure, as code.
//!
//! Each file is one lesson: what to do, as an application has it; what people do instead, which passes every test against a
//! stand-in that never throttles and never lags; and tests under conditions that tell the two apart.
//!
//! | File | The lesson |
//! |---|---|
//! | [`backoff`] | full jitter recovers from `ProvisionedThroughputExceededException`; without it a burst loses writes |
//! | [`batches`] | a batch that is throttled in part is no error: who ignores `UnprocessedItems` loses data |
//! | [`sessions`] | what has expired can be read for two days more |
//! | [`hot_keys`] | one key is throttled while its table is idle |
//! | [`rate_limit`] | counting through an index lets too many through |
//! | [`jobs`] | a lookup in an index does not keep a job from running twice |
//! | [`tokens`] | a client token makes a transaction happen once, for ten minutes |
//! | [`tenants`] | a tenant reads the items of others by Scan, and the policy that stops it |
//! | [`retries`] | what the SDK tries again by itself, and what its retry meets |
//!
//! The code takes time and sleep from its client's configuration ([`pace`]). In production these are the system's, in the
//! tests the twin's: hours pass, and no test waits.
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

/// An item as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

/// What a call to DynamoDB gives in the end.
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

/// Whether a conditional write found its condition true; any other failure is an error.
fn held<T>(answer: Result<T, impl Into<Error>>) -> Outcome<bool> {
    match answer.map_err(Into::into) {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(false),
        Err(error) => Err(error),
    }
}
