//! A partly throttled batch is answered with a 200.
//!
//! Entries that were not written come back as `UnprocessedItems`. The SDK returns no error and retries nothing; the
//! application must do that.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};

use crate::backoff::{Backoff, is_throttled};
use crate::{Item, Outcome, pace};

/// The maximum number of entries of a BatchWriteItem.
const BATCH: usize = 25;

/// Writes all items, and returns after all are written: unprocessed entries are retried with backoff. The backoff
/// restarts after each round that wrote something.
pub async fn write_all(client: &Client, table: &str, items: Vec<Item>, random: &mut fastrand::Rng) -> Outcome<()> {
    for batch in puts(items)?.chunks(BATCH) {
        let mut left = batch.to_vec();
        let mut attempt = 0;
        while !left.is_empty() {
            let before = left.len();
            left = match send(client, table, left.clone()).await {
                // No entry was written.
                Err(error) if is_throttled(&error) && attempt < Backoff::FULL_JITTER.attempts => left,
                outcome => outcome?,
            };
            attempt = if left.len() < before { 0 } else { attempt + 1 };
            if !left.is_empty() {
                pace::sleep(client, Backoff::FULL_JITTER.pause(attempt, random)).await;
            }
        }
    }
    Ok(())
}

/// The mistake: every call succeeds, and unprocessed entries are lost.
pub async fn write_and_hope(client: &Client, table: &str, items: Vec<Item>) -> Outcome<()> {
    for batch in puts(items)?.chunks(BATCH) {
        send(client, table, batch.to_vec()).await?;
    }
    Ok(())
}

fn puts(items: Vec<Item>) -> Outcome<Vec<WriteRequest>> {
    let put = |item| {
        Ok(WriteRequest::builder()
            .put_request(PutRequest::builder().set_item(Some(item)).build()?)
            .build())
    };
    items.into_iter().map(put).collect()
}

/// Sends one batch; returns the unprocessed entries.
async fn send(client: &Client, table: &str, batch: Vec<WriteRequest>) -> Outcome<Vec<WriteRequest>> {
    let answer = client.batch_write_item().request_items(table, batch).send().await?;
    let mut unprocessed = answer.unprocessed_items.unwrap_or_default();
    Ok(unprocessed.remove(table).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use dynatwin::{Rule, Twin, Verdict};

    use super::*;
    use crate::s;
    use crate::support::{Table, metered};

    const ITEMS: usize = 120;

    fn items() -> Vec<Item> {
        let item = |at| Item::from([("PK".into(), s(format!("ORDER#{at}"))), ("SK".into(), s("META"))]);
        (0..ITEMS).map(item).collect()
    }

    fn written(twin: &Twin) -> usize {
        let items = twin.items("Orders").unwrap();
        items
            .iter()
            .map(|item| item["PK"].as_s().unwrap())
            .collect::<HashSet<_>>()
            .len()
    }

    #[tokio::test]
    async fn ignoring_unprocessed_items_loses_data() {
        let twin = metered(7);
        Table::new("Orders").provisioned(10).create(&twin).await;
        // The SDK's own retries only apply to batches that are throttled completely.
        let outcome = write_and_hope(&twin.client(), "Orders", items()).await;
        assert!(outcome.is_ok(), "there is no error: {outcome:?}");
        assert!(written(&twin) < ITEMS / 2, "{} of {ITEMS}", written(&twin));
    }

    #[tokio::test]
    async fn resending_unprocessed_items_loses_none() {
        let twin = metered(7);
        Table::new("Orders").provisioned(10).create(&twin).await;
        let mut random = fastrand::Rng::with_seed(7);
        write_all(&twin.client(), "Orders", items(), &mut random).await.unwrap();
        assert_eq!(written(&twin), ITEMS);
        let table = &twin.heat("Orders").unwrap().resources[0];
        assert!(table.write.all_throttles() > 0);
        assert_eq!(table.write.units.as_f64(), ITEMS as f64, "none is written twice");
    }

    #[tokio::test]
    async fn the_same_with_rules_instead_of_capacity() {
        for seed in 0..5 {
            let twin = Twin::seeded(seed);
            Table::new("Orders").create(&twin).await;
            // Every second entry, in any batch.
            let rule = Rule::new(Verdict::Throttle(None))
                .operation("BatchWriteItem")
                .share(0.5);
            let throttle = twin.faults().add(rule);
            write_and_hope(&twin.client(), "Orders", items()).await.unwrap();
            assert_eq!(written(&twin) as u64, ITEMS as u64 - throttle.fired());
            let mut random = fastrand::Rng::with_seed(seed);
            write_all(&twin.client(), "Orders", items(), &mut random).await.unwrap();
            assert_eq!(written(&twin), ITEMS);
        }
    }

    #[tokio::test]
    async fn a_table_that_takes_nothing_is_an_error_in_the_end() {
        let twin = Twin::seeded(7);
        Table::new("Orders").create(&twin).await;
        let _throttle = twin
            .faults()
            .add(Rule::new(Verdict::Throttle(None)).operation("BatchWriteItem"));
        let mut random = fastrand::Rng::with_seed(7);
        let error = write_all(&twin.client(), "Orders", items(), &mut random)
            .await
            .unwrap_err();
        assert!(is_throttled(&error), "{error:?}");
    }
}
