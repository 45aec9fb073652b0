//! One key is throttled while its table is idle.
//!
//! A partition serves 1,000 write units a second, whatever the table's throughput is, and all items of one partition
//! key are in one partition. Keys such as `TODAY` or `GLOBAL` send every write there. The solution is to spread such a
//! key over several keys, and to read these together.
//!
//! | PK | SK |
//! |---|---|
//! | `DAY#2026-01-01` | `EVENT#…`: hot |
//! | `DAY#2026-01-01#0` to `#9` | `EVENT#…`: spread |

use aws_sdk_dynamodb::Client;

use crate::{Item, Outcome, s, text};

/// The number of partition keys over which a day is spread.
pub const SHARDS: u64 = 10;

/// The mistake: all events of a day have one key.
pub async fn record_by_day(client: &Client, table: &str, day: &str, event: u64, payload: &str) -> Outcome<()> {
    put(client, table, &format!("DAY#{day}"), event, payload).await
}

/// Records an event under one of the day's keys. The event determines which one, so it can be found again.
pub async fn record_spread(client: &Client, table: &str, day: &str, event: u64, payload: &str) -> Outcome<()> {
    put(client, table, &format!("DAY#{day}#{}", event % SHARDS), event, payload).await
}

async fn put(client: &Client, table: &str, key: &str, event: u64, payload: &str) -> Outcome<()> {
    let put = client.put_item().table_name(table).item("PK", s(key));
    put.item("SK", s(format!("EVENT#{event:06}")))
        .item("payload", s(payload))
        .send()
        .await?;
    Ok(())
}

/// Returns the events of a spread day, in order.
pub async fn read_spread(client: &Client, table: &str, day: &str) -> Outcome<Vec<Item>> {
    let mut events = Vec::new();
    for shard in 0..SHARDS {
        let query = client.query().table_name(table).key_condition_expression("PK = :pk");
        let query = query.expression_attribute_values(":pk", s(format!("DAY#{day}#{shard}")));
        let mut pages = query.into_paginator().items().send();
        while let Some(event) = pages.next().await {
            events.push(event?);
        }
    }
    events.sort_by(|a, b| text(a, "SK").cmp(&text(b, "SK")));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::Error;
    use dynatwin::{Exceeded, Twin};
    use dynatwin_engine::attributes::AttributeValue;

    use super::*;
    use crate::support::{Table, metered, without_retries};

    const DAY: &str = "2026-01-01";
    /// Events of ten units each: 1,500 of the 4,000 units of the table in one second.
    const EVENTS: u64 = 150;

    async fn table() -> (Twin, Client) {
        let twin = metered(7);
        Table::new("Events").create(&twin).await;
        twin.watch_heat("Events", true).unwrap();
        let client = without_retries(&twin);
        (twin, client)
    }

    fn payload() -> String {
        "x".repeat(10_000)
    }

    #[tokio::test]
    async fn one_key_is_throttled_while_its_table_is_idle() {
        let (twin, client) = table().await;
        let mut refused = Vec::new();
        for event in 0..EVENTS {
            if let Err(error) = record_by_day(&client, "Events", DAY, event, &payload()).await {
                refused.push(error);
            }
        }
        assert_eq!(refused.len(), 50, "1,000 units are what a partition has");
        for error in refused {
            let Error::ThrottlingException(error) = error else {
                panic!("{error:?}");
            };
            let reason = &error.throttling_reasons()[0];
            assert_eq!(reason.reason(), Some("TableWriteKeyRangeThroughputExceeded"));
        }

        let heat = twin.heat("Events").unwrap();
        let table = &heat.resources[0];
        assert_eq!(
            table.left[1].as_f64(),
            3_000.0,
            "the table has three quarters of its units left"
        );
        assert_eq!(table.write.throttles(Exceeded::KeyRangeThroughput), 50);
        let throttled = table
            .partitions
            .iter()
            .filter(|partition| partition.write.throttles > 0);
        assert_eq!(throttled.count(), 1, "of {}", table.partitions.len());
        // The hottest key is the cause.
        assert_eq!(heat.keys[0].0, AttributeValue::S("DAY#2026-01-01".into()));
        assert_eq!(heat.keys[0].1.as_f64(), 1_000.0);
    }

    #[tokio::test]
    async fn writes_spread_over_ten_keys_are_not_throttled() {
        let (twin, client) = table().await;
        for event in 0..EVENTS {
            record_spread(&client, "Events", DAY, event, &payload()).await.unwrap();
        }
        let heat = twin.heat("Events").unwrap();
        assert_eq!(heat.resources[0].write.all_throttles(), 0);
        assert_eq!(heat.keys.len() as u64, SHARDS);

        let events = read_spread(&twin.client(), "Events", DAY).await.unwrap();
        let names: Vec<_> = events.iter().map(|event| text(event, "SK").unwrap()).collect();
        let expect: Vec<_> = (0..EVENTS).map(|event| format!("EVENT#{event:06}")).collect();
        assert_eq!(names, expect);
    }
}
