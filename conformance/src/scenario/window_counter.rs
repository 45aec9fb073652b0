//! A rate limit by counting: one item for each user and minute, incremented with `ADD`.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnValue;

use crate::check::{Outcome, equal, n, number, present, race, s};
use crate::context::{Context, Table};

const REQUESTS: usize = 40;
const LIMIT: i64 = 25;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context
        .create(Table::new("rates").keys("PK", "SK").time_to_live("expiresAt"))
        .await?;
    let window = |minute: i64| format!("WINDOW#{minute}");
    let minute = context.now() / 60;

    let mut counts = race(REQUESTS, |_| {
        let (client, table, window) = (context.client().clone(), table.clone(), window(minute));
        let ends = (minute + 1) * 60;
        async move { hit(&client, &table, &window, ends).await }
    })
    .await?;
    counts.sort_unstable();
    // Each request gets its own count, so exactly as many as the limit are admitted.
    let expect: Vec<i64> = (1..).take(REQUESTS).collect();
    equal("counts", &counts, &expect)?;
    let allowed = counts.iter().filter(|count| **count <= LIMIT).count();
    equal("requests let through", allowed, usize::try_from(LIMIT)?)?;

    let next = hit(context.client(), &table, &window(minute + 1), (minute + 2) * 60).await?;
    equal("the next window's count", next, 1)
}

/// Counts a request; returns the count of the current window.
async fn hit(client: &Client, table: &str, window: &str, ends: i64) -> Outcome<i64> {
    let update = client.update_item().table_name(table);
    let answer = update
        .key("PK", s("RATE#masa"))
        .key("SK", s(window))
        .update_expression("SET expiresAt = if_not_exists(expiresAt, :ends) ADD hits :one")
        .expression_attribute_values(":one", n(1))
        .expression_attribute_values(":ends", n(ends + 3600))
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await?;
    let updated = present("attributes", answer.attributes)?;
    equal("updated attributes", updated.len(), 2)?;
    number(&updated, "hits")
}
