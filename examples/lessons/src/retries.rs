//! What the SDK retries automatically, and retries that find their own write.
//!
//! The SDK for Rust retries after throttling, a server error, a reset connection and a lost answer, with three attempts in all.
//! There are corresponding tests of the SDKs for JavaScript (`wasm/npm/test/retries.test.js` in process,
//! `examples/node-guide/retries.test.mjs` over HTTP) and Python (`examples/python-guide/test_retries.py`).
//!
//! A lost answer is the difficult case: the write was applied, and its retry finds the item. The retry of a conditional
//! write is then refused, although this caller made the condition false. [`create_once`] detects this.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

use crate::{Item, Outcome, s, text};

/// The result of creating an item that must be new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// This call created the item.
    Here,
    /// Another call has created it.
    Elsewhere,
}

/// Creates an item that must not exist. `maker` is unique to the call: if the write is refused because of an item with
/// the same maker, this call created it, and only the answer was lost.
pub async fn create_once(client: &Client, table: &str, item: Item, maker: &str) -> Outcome<Created> {
    let put = client
        .put_item()
        .table_name(table)
        .set_item(Some(item))
        .item("maker", s(maker));
    let put = put
        .condition_expression("attribute_not_exists(PK)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    match put.send().await.map_err(aws_sdk_dynamodb::Error::from) {
        Ok(_) => Ok(Created::Here),
        Err(aws_sdk_dynamodb::Error::ConditionalCheckFailedException(refused)) => Ok(match refused.item() {
            Some(there) if made_by(there, maker) => Created::Here,
            _ => Created::Elsewhere,
        }),
        Err(error) => Err(error),
    }
}

fn made_by(item: &std::collections::HashMap<String, AttributeValue>, maker: &str) -> bool {
    text(item, "maker") == Some(maker)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use aws_sdk_dynamodb::error::ProvideErrorMetadata;
    use dynatwin::{Moment, Rule, Twin, Verdict};

    use super::*;
    use crate::support::{Table, stored};

    async fn orders() -> (Twin, Client) {
        let twin = Twin::seeded(7);
        Table::new("Orders").create(&twin).await;
        let client = twin.client();
        (twin, client)
    }

    fn order() -> Item {
        Item::from([("PK".into(), s("ORDER#1")), ("SK".into(), s("META"))])
    }

    #[tokio::test]
    async fn what_fails_twice_passes_at_the_third_attempt() {
        for verdict in [
            Verdict::Throttle(None),
            Verdict::InternalServerError,
            Verdict::ServiceUnavailable,
            Verdict::Reset,
            Verdict::Truncate(1),
            Verdict::AnswerLost,
        ] {
            let (twin, client) = orders().await;
            let rule = twin.faults().add(Rule::new(verdict).operation("PutItem").first(2));
            let start = Instant::now();
            client
                .put_item()
                .table_name("Orders")
                .set_item(Some(order()))
                .send()
                .await
                .unwrap();
            rule.assert_fired(2);
            assert_eq!(rule.matched(), 3, "{verdict:?}: three attempts, no more");
            assert!(
                twin.clock().now() > Moment::START,
                "{verdict:?}: it paused, by the twin's clock"
            );
            assert!(start.elapsed() < Duration::from_secs(1), "{verdict:?}: and not by ours");
        }
    }

    #[tokio::test]
    async fn what_fails_three_times_fails() {
        let (twin, client) = orders().await;
        let rule = twin
            .faults()
            .add(Rule::new(Verdict::Throttle(None)).operation("PutItem"));
        let put = client
            .put_item()
            .table_name("Orders")
            .set_item(Some(order()))
            .send()
            .await;
        assert_eq!(put.unwrap_err().code(), Some("ThrottlingException"));
        rule.assert_fired(3);
    }

    #[tokio::test]
    async fn the_retry_of_a_lost_answer_meets_its_own_write() {
        let (twin, client) = orders().await;
        let rule = twin
            .faults()
            .add(Rule::new(Verdict::AnswerLost).operation("PutItem").first(1));
        let put = client.put_item().table_name("Orders").set_item(Some(order()));
        let refused = put
            .condition_expression("attribute_not_exists(PK)")
            .send()
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Some("ConditionalCheckFailedException"));
        assert_eq!((rule.fired(), rule.matched()), (1, 2));
        assert!(
            stored(&twin, "Orders", "ORDER#1", "META").is_some(),
            "it was carried out all the same"
        );
    }

    #[tokio::test]
    async fn a_marked_write_is_recognized_on_retry() {
        let (twin, client) = orders().await;
        let _rule = twin
            .faults()
            .add(Rule::new(Verdict::AnswerLost).operation("PutItem").first(1));
        let first = create_once(&client, "Orders", order(), "call-1").await.unwrap();
        assert_eq!(first, Created::Here);
        let second = create_once(&client, "Orders", order(), "call-2").await.unwrap();
        assert_eq!(second, Created::Elsewhere);
    }
}
