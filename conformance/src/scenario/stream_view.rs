//! A view of a table, rebuilt from its stream: the total of each customer's orders.
//!
//! Each change subtracts the old order from its customer's total and adds the new one, so a change that is missed, read
//! twice or out of order becomes visible. A consumer saves its position in each shard together with the totals, so a
//! consumer that continues from there counts no change twice. A shard is read after its parent.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use aws_sdk_dynamodbstreams as streams;
use streams::types::{AttributeValue, Record, Shard, ShardIteratorType};

use crate::check::{Failure, Outcome, ensure, equal, item, n, number, present, race, s, text, transact};
use crate::context::{Context, Table};

pub(super) async fn run(context: &Context) -> Outcome {
    let table = Table::new("orders").keys("pk", "sk").stream().time_to_live("expiresAt");
    let orders = Orders {
        client: context.client().clone(),
        table: context.create(table).await?,
    };
    let streams = context.streams();
    let mut consumer = Consumer::default();

    // Fifty customers order concurrently.
    race(50, |customer| {
        let orders = orders.clone();
        async move {
            orders
                .place(&format!("c{:02}", customer % 20), &format!("o{customer}"), 10)
                .await
        }
    })
    .await?;
    consumer.catch_up(context, &orders).await?;

    // One order changes its amount, one is written unchanged, one moves to another customer, one is cancelled.
    orders.place("c01", "o1", 25).await?;
    orders.place("c02", "o2", 10).await?;
    orders.hand_over("o3", "c03", "c04", 10).await?;
    orders.cancel("c05", "o5").await?;

    // A consumer that stops before it has saved anything has no effect.
    let saved = consumer.clone();
    let stream = orders.stream(streams).await?;
    consumer.read_all(streams, &stream, 2).await?;
    let mut consumer = saved;
    // If shards are split meanwhile, the changes of each order stay in order.
    context.split_shards(&orders.table)?;
    for amount in 11..=15 {
        orders.place("c06", "o6", amount).await?;
    }
    consumer.catch_up(context, &orders).await?;
    equal("c06 in all", consumer.totals.get("c06"), Some(&(15 + 10 + 10)))?;

    // An expired order leaves the view as well, if the consumer reads within a day.
    let Some(clock) = context.clock() else { return Ok(()) };
    orders.expires("c07", "o7", context.now() + 3600).await?;
    for _ in 0..5 {
        clock.advance(Duration::from_hours(12));
        consumer.catch_up(context, &orders).await?;
    }
    equal("c07 in the end", consumer.totals.get("c07"), Some(&20))
}

#[derive(Clone)]
struct Orders {
    client: Client,
    table: String,
}

impl Orders {
    async fn place(&self, customer: &str, order: &str, amount: i64) -> Outcome {
        let order = item([("pk", s(customer)), ("sk", s(order)), ("amount", n(amount))]);
        let put = self.client.put_item().table_name(&self.table);
        put.set_item(Some(order)).send().await?;
        Ok(())
    }

    async fn expires(&self, customer: &str, order: &str, at: i64) -> Outcome {
        let update = self.client.update_item().table_name(&self.table);
        let update = update.key("pk", s(customer)).key("sk", s(order));
        let update = update.update_expression("SET expiresAt = :at");
        update.expression_attribute_values(":at", n(at)).send().await?;
        Ok(())
    }

    async fn cancel(&self, customer: &str, order: &str) -> Outcome {
        let delete = self.client.delete_item().table_name(&self.table);
        delete.key("pk", s(customer)).key("sk", s(order)).send().await?;
        Ok(())
    }

    async fn hand_over(&self, order: &str, from: &str, to: &str, amount: i64) -> Outcome {
        let delete = Delete::builder().table_name(&self.table);
        let delete = delete.key("pk", s(from)).key("sk", s(order)).build()?;
        let order = item([("pk", s(to)), ("sk", s(order)), ("amount", n(amount))]);
        let put = Put::builder().table_name(&self.table).set_item(Some(order)).build()?;
        let request = self.client.transact_write_items();
        let request = request.transact_items(TransactWriteItem::builder().delete(delete).build());
        let request = request.transact_items(TransactWriteItem::builder().put(put).build());
        equal("handing over", transact(request).await?, Ok(()))
    }

    /// The total of each customer's orders, from the table itself.
    async fn totals(&self) -> Outcome<BTreeMap<String, i64>> {
        let scan = self.client.scan().table_name(&self.table).consistent_read(true);
        let mut totals = BTreeMap::new();
        for order in scan.send().await?.items() {
            *totals.entry(text(order, "pk")?.to_owned()).or_default() += number(order, "amount")?;
        }
        Ok(totals)
    }

    async fn stream(&self, streams: &streams::Client) -> Outcome<String> {
        let listed = streams.list_streams().table_name(&self.table).send().await?;
        let stream = listed.streams().first().and_then(|stream| stream.stream_arn());
        Ok(present("the stream", stream)?.to_owned())
    }
}

/// The saved state: the totals, and the position in each shard.
#[derive(Clone, Debug, Default)]
struct Consumer {
    totals: BTreeMap<String, i64>,
    shards: HashMap<String, ShardPosition>,
}

/// The last change that was read, and whether the shard ends after it.
#[derive(Clone, Debug, Default)]
struct ShardPosition {
    last: Option<String>,
    over: bool,
}

impl Consumer {
    /// Reads until the view equals the table.
    async fn catch_up(&mut self, context: &Context, orders: &Orders) -> Outcome {
        let stream = orders.stream(context.streams()).await?;
        for _ in 0..600 {
            self.read_all(context.streams(), &stream, 1000).await?;
            if self.totals == orders.totals().await? {
                return Ok(());
            }
            // A poll of several pages counts as a reader of its shard for a second, and a shard may have two readers.
            context.sleep(Duration::from_secs(1)).await;
        }
        let (view, table) = (&self.totals, orders.totals().await?);
        Err(Failure::new(format!("the view stays {view:?}, the table is {table:?}")))
    }

    /// Reads each shard whose parent has been read, in pages of this many changes.
    async fn read_all(&mut self, streams: &streams::Client, stream: &str, page: i32) -> Outcome {
        let mut from = None;
        loop {
            let describe = streams.describe_stream().stream_arn(stream);
            let answer = describe.set_exclusive_start_shard_id(from).send().await?;
            let description = present("StreamDescription", answer.stream_description())?;
            for shard in description.shards() {
                self.read(streams, stream, shard, page).await?;
            }
            from = description.last_evaluated_shard_id().map(str::to_owned);
            if from.is_none() {
                return Ok(());
            }
        }
    }

    async fn read(&mut self, streams: &streams::Client, stream: &str, shard: &Shard, page: i32) -> Outcome {
        let parent = shard.parent_shard_id().and_then(|parent| self.shards.get(parent));
        let waits = parent.is_some_and(|parent| !parent.over);
        let name = present("ShardId", shard.shard_id())?;
        let place = self.shards.entry(name.to_owned()).or_default().clone();
        if place.over || waits {
            return Ok(());
        }
        let mut iterator = Some(start(streams, stream, name, place.last).await?);
        while let Some(at) = iterator {
            let records = streams.get_records().shard_iterator(at).limit(page).send().await?;
            for record in records.records() {
                self.apply(name, record)?;
            }
            iterator = records.next_shard_iterator;
            if iterator.is_some() && records.records.is_none_or(|records| records.is_empty()) {
                return Ok(());
            }
        }
        self.shards.entry(name.to_owned()).or_default().over = true;
        Ok(())
    }

    fn apply(&mut self, shard: &str, record: &Record) -> Outcome {
        let change = present("dynamodb", record.dynamodb())?;
        let number = present("SequenceNumber", change.sequence_number())?;
        let place = self.shards.entry(shard.to_owned()).or_default();
        let last = place.last.replace(number.to_owned());
        let rises = last.is_none_or(|last| (last.len(), last.as_str()) < (number.len(), number));
        ensure(rises, "a shard's changes are out of order")?;
        for (image, sign) in [(change.old_image(), -1), (change.new_image(), 1)] {
            let Some(image) = image else { continue };
            let (Some(AttributeValue::S(customer)), Some(AttributeValue::N(amount))) =
                (image.get("pk"), image.get("amount"))
            else {
                return Err(Failure::new(format!("no order: {image:?}")));
            };
            *self.totals.entry(customer.clone()).or_default() += sign * amount.parse::<i64>()?;
        }
        self.totals.retain(|_, total| *total != 0);
        Ok(())
    }
}

/// An iterator after this change, or from the start of the shard.
async fn start(streams: &streams::Client, stream: &str, shard: &str, last: Option<String>) -> Outcome<String> {
    let kind = match last {
        Some(_) => ShardIteratorType::AfterSequenceNumber,
        None => ShardIteratorType::TrimHorizon,
    };
    let iterator = streams.get_shard_iterator().stream_arn(stream).shard_id(shard);
    let iterator = iterator.shard_iterator_type(kind).set_sequence_number(last);
    present("ShardIterator", iterator.send().await?.shard_iterator)
}
