//! A rate limit over a sliding window: as many slots as the limit, each reserved in a transaction with its record.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Put, Select, TransactWriteItem};

use crate::check::{Outcome, ensure, equal, item, n, race, s, transact};
use crate::context::{Context, Table};

const LIMIT: usize = 5;
/// The length of the window in milliseconds.
const WINDOW: i64 = 60_000;

pub(super) async fn run(context: &Context) -> Outcome {
    let table = context
        .create(Table::new("window").keys("pk", "sk").time_to_live("ttl"))
        .await?;
    let limiter = Limiter {
        client: context.client().clone(),
        table,
    };
    let start = context.now() * 1000;

    for at in [start, start + WINDOW + 1] {
        let admitted = race(50, |racer| {
            let limiter = limiter.clone();
            async move { limiter.admit("slow-api", at, racer).await }
        })
        .await?;
        let admitted = admitted.into_iter().filter(|admitted| *admitted).count();
        equal("admitted among fifty", admitted, LIMIT)?;
        equal("records in the window", limiter.count("slow-api", at).await?, LIMIT)?;
    }
    equal(
        "records in both windows",
        limiter.count("slow-api", start).await?,
        2 * LIMIT,
    )?;
    ensure(
        !limiter.admit("slow-api", start + WINDOW + 2, 50).await?,
        "a full window admitted one more",
    )?;
    ensure(
        limiter.admit("other-api", start, 0).await?,
        "each resource has a limit of its own",
    )
}

#[derive(Clone)]
struct Limiter {
    client: Client,
    table: String,
}

impl Limiter {
    /// Reserves a slot at this time, if one is free.
    async fn admit(&self, resource: &str, now: i64, racer: usize) -> Outcome<bool> {
        // Clients start at different slots, so that they do not all contend for the first.
        for step in 0..LIMIT {
            if self.reserve(resource, (racer + step) % LIMIT, now, racer).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn reserve(&self, resource: &str, slot: usize, now: i64, racer: usize) -> Outcome<bool> {
        let partition = || s(format!("RATELIMIT#{resource}"));
        let slot = Put::builder()
            .table_name(&self.table)
            .set_item(Some(item([
                ("pk", partition()),
                ("sk", s(format!("SLOT#{slot}"))),
                ("timestamp", n(now)),
            ])))
            .condition_expression("attribute_not_exists(pk) OR #timestamp < :windowStart")
            .expression_attribute_names("#timestamp", "timestamp")
            .expression_attribute_values(":windowStart", n(now - WINDOW));
        let record = Put::builder().table_name(&self.table).set_item(Some(item([
            ("pk", partition()),
            ("sk", s(format!("TS#{now:020}#{racer}"))),
            ("ttl", n(now / 1000 + 3600)),
        ])));
        let request = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().put(slot.build()?).build())
            .transact_items(TransactWriteItem::builder().put(record.build()?).build());
        Ok(transact(request).await?.is_ok())
    }

    /// The number of requests admitted in the window that ends at `now` or later.
    async fn count(&self, resource: &str, now: i64) -> Outcome<usize> {
        let mut count = 0;
        let mut from = None;
        loop {
            let query = self
                .client
                .query()
                .table_name(&self.table)
                .select(Select::Count)
                .limit(3);
            let page = query
                .key_condition_expression("pk = :pk AND sk BETWEEN :start AND :end")
                .expression_attribute_values(":pk", s(format!("RATELIMIT#{resource}")))
                .expression_attribute_values(":start", s(format!("TS#{now:020}")))
                .expression_attribute_values(":end", s("TS#~"))
                .consistent_read(true)
                .set_exclusive_start_key(from)
                .send()
                .await?;
            ensure(page.items.is_none(), "a count came with items")?;
            count += usize::try_from(page.count)?;
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(count);
            }
        }
    }
}
