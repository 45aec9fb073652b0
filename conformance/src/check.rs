//! Checks and failures of scenarios, which never panic.

use std::collections::HashMap;
use std::fmt::{self, Debug, Display};
use std::future::Future;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

/// An item, or a part of one, of the SDK's type.
pub type Item = HashMap<String, AttributeValue>;

/// The result of a scenario.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a scenario failed, as text for the report.
///
/// ```
/// use dynatwin_conformance::check::Failure;
///
/// let failure: Failure = std::io::Error::other("no route").into();
/// assert_eq!(failure.to_string(), "no route");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    words: String,
    transport: bool,
}

impl Failure {
    /// Creates a failure with this text.
    pub fn new(words: impl Into<String>) -> Failure {
        Failure {
            words: words.into(),
            transport: false,
        }
    }

    /// Marks the failure as one of the transport: no answer arrived.
    #[must_use]
    pub fn of_transport(self) -> Failure {
        Failure {
            transport: true,
            ..self
        }
    }

    /// Returns whether no answer arrived, so that the target's answer is unknown.
    pub fn is_of_transport(&self) -> bool {
        self.transport
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(words(&error))
    }
}

/// Formats an error with all its sources.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut under = error.source();
    while let Some(error) = under {
        words.push_str(": ");
        words.push_str(&error.to_string());
        under = error.source();
    }
    words
}

/// Checks that a condition holds.
pub fn ensure(holds: bool, words: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failure::new(words)) }
}

/// Checks that two values are equal.
pub fn equal<T: PartialEq<U> + Debug, U: Debug>(what: &str, actual: T, expect: U) -> Outcome {
    if actual == expect {
        return Ok(());
    }
    Err(Failure::new(format!("{what}: expected {expect:?}, got {actual:?}")))
}

/// Checks that a value is present.
pub fn present<T>(what: &str, value: Option<T>) -> Outcome<T> {
    value.ok_or_else(|| Failure::new(format!("{what} is missing")))
}

/// Checks that a request was refused with this error code; returns the error.
pub fn refused<T, E>(what: &str, result: Result<T, SdkError<E>>, code: &str) -> Outcome<SdkError<E>>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match result {
        Ok(_) => Err(Failure::new(format!("{what} was accepted; expected {code}"))),
        Err(error) if error.code() == Some(code) => Ok(error),
        Err(error) => Err(Failure::new(format!("{what}: expected {code}, got {}", words(&error)))),
    }
}

/// Returns whether a conditional request succeeded: `false` if its condition failed; any other error is a failure.
pub fn won<T, E>(result: Result<T, SdkError<E>>) -> Outcome<bool>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sends a transaction; returns the reason of each action if it was cancelled. Conflicts with other transactions and
/// throttling are retried: nothing is known of the condition of a throttled action.
pub async fn transact(request: TransactWriteItemsFluentBuilder) -> Outcome<Result<(), Vec<String>>> {
    const THROTTLED: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];
    const PASSING: [&str; 2] = ["None", "TransactionConflict"];
    for _ in 0..1000 {
        let cancelled = match request.clone().send().await.map_err(SdkError::into_service_error) {
            Ok(_) => return Ok(Ok(())),
            Err(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
            Err(error) => return Err(error.into()),
        };
        let reasons = cancelled.cancellation_reasons().iter();
        let codes: Vec<_> = reasons
            .map(|reason| reason.code().unwrap_or_default().to_owned())
            .collect();
        ensure(!codes.is_empty(), "a cancelled transaction gave no reasons")?;
        let throttled = codes.iter().any(|code| THROTTLED.contains(&code.as_str()));
        if !throttled && codes.iter().any(|code| !PASSING.contains(&code.as_str())) {
            return Ok(Err(codes));
        }
        tokio::task::yield_now().await;
    }
    Err(Failure::new("the transaction was cancelled a thousand times by others"))
}

/// Runs `count` tasks concurrently, and returns their results in the order of their numbers.
pub async fn race<T, F>(count: usize, racer: impl Fn(usize) -> F) -> Outcome<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    let running: Vec<_> = (0..count).map(|at| tokio::spawn(racer(at))).collect();
    let mut results = Vec::with_capacity(count);
    for task in running {
        results.push(task.await??);
    }
    Ok(results)
}

/// A value of type `S`.
pub fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A value of type `N`, from anything that prints as a number.
pub fn n(number: impl Display) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Returns an item with these attributes.
pub fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns a string attribute of an item.
pub fn text<'a>(item: &'a Item, name: &str) -> Outcome<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Ok(text),
        other => Err(Failure::new(format!("{name} should be a string, and is {other:?}"))),
    }
}

/// Returns a number attribute of an item.
pub fn number(item: &Item, name: &str) -> Outcome<i64> {
    match item.get(name) {
        Some(AttributeValue::N(text)) => Ok(text.parse()?),
        other => Err(Failure::new(format!("{name} should be a number, and is {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_their_texts() {
        assert_eq!(equal("count", 1, 1), Ok(()));
        assert_eq!(equal("count", 1, 2), Err(Failure::new("count: expected 2, got 1")));
        assert_eq!(present::<u8>("item", None), Err(Failure::new("item is missing")));
        let stored = item([("a", s("x")), ("b", n(7))]);
        assert_eq!(text(&stored, "a"), Ok("x"));
        assert_eq!(number(&stored, "b"), Ok(7));
        assert!(number(&stored, "a").is_err());
    }

    /// A cancellation that says nothing about the conditions is retried, and any other is an outcome.
    #[tokio::test]
    async fn cancelled_transactions() {
        use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
        use dynatwin::{Rule, Twin, Verdict};
        for (throttled, condition, expected) in [
            (0, "attribute_not_exists(pk)", Ok(())),
            (
                0,
                "attribute_exists(pk)",
                Err(vec!["ConditionalCheckFailed".to_owned()]),
            ),
            (2, "attribute_not_exists(pk)", Ok(())),
            (
                2,
                "attribute_exists(pk)",
                Err(vec!["ConditionalCheckFailed".to_owned()]),
            ),
        ] {
            let twin = Twin::seeded(7);
            twin.table("tab").hash("pk").create().await.unwrap();
            let rule = Rule::new(Verdict::Throttle(None)).operation("TransactWriteItems");
            let _rule = (throttled > 0).then(|| twin.faults().add(rule.first(throttled)));
            let put = Put::builder().table_name("tab").item("pk", s("a"));
            let put = put.condition_expression(condition).build().unwrap();
            let client = aws_sdk_dynamodb::Client::from_conf(
                twin.config()
                    .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled())
                    .build(),
            );
            let action = TransactWriteItem::builder().put(put).build();
            let outcome = transact(client.transact_write_items().transact_items(action)).await;
            assert_eq!(outcome, Ok(expected), "{throttled} throttled, {condition}");
        }
    }

    #[tokio::test]
    async fn concurrent_tasks_keep_their_order_and_failures_are_returned() {
        let all = race(4, |at| async move { Ok(at) }).await;
        assert_eq!(all, Ok(vec![0, 1, 2, 3]));
        let failed = race(4, |at| async move { equal("at", at, 0) }).await;
        assert_eq!(failed, Err(Failure::new("at: expected 0, got 1")));
        assert!(race(1, |_| async { panic!("a bug") as Outcome }).await.is_err());
    }
}
