//! Webhooks that are delivered repeatedly: the first writer processes the event.

use aws_sdk_dynamodb::Client;

use crate::check::{Outcome, equal, item, n, number, present, race, s, won};
use crate::context::{Context, Table};

const RACERS: usize = 50;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context.create(Table::new("webhooks").keys("PK", "SK")).await?;
    for event in ["evt_001", "evt_002", "evt_003"] {
        let deliveries = race(RACERS, |racer| {
            let (client, table) = (context.client().clone(), table.clone());
            async move { first_delivery(&client, &table, event, racer).await }
        })
        .await?;
        let winners: Vec<_> = (0..RACERS).filter(|racer| deliveries[*racer]).collect();
        equal("winners", winners.len(), 1)?;

        let read = context.client().get_item().table_name(&table).consistent_read(true);
        let read = read
            .key("PK", s("WEBHOOK#stripe"))
            .key("SK", s(format!("EVENT#{event}")));
        let stored = present("the event", read.send().await?.item)?;
        equal("stored by", number(&stored, "by")?, i64::try_from(winners[0])?)?;
    }
    Ok(())
}

/// Whether this is the first delivery of the event, which is the one to process.
async fn first_delivery(client: &Client, table: &str, event: &str, racer: usize) -> Outcome<bool> {
    let item = item([
        ("PK", s("WEBHOOK#stripe")),
        ("SK", s(format!("EVENT#{event}"))),
        ("entityType", s("WebhookEvent")),
        ("by", n(racer)),
    ]);
    let put = client.put_item().table_name(table).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(PK) AND attribute_not_exists(SK)");
    won(put.send().await)
}
